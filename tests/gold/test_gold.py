"""`gold freeze`, `verify` and `diff`, and what a lock means for the gate."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Done as Ran
from conftest import run_cli as ragworthy

Row = dict[str, Any]
SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three questions, all right, and a policy."""
    monkeypatch.chdir(tmp_path)
    write(*ITEMS)
    answers = {"a": "gold text", "b": "gold text", "z": "not in context"}
    traces = [
        {"qid": qid, "retrieved_ids": ["d#1"], "answer_json": {"claim": claim, "citations": ["d#1"] * (qid != "z")}}
        for qid, claim in answers.items()
    ]
    Path("traces.jsonl").write_text("".join(json.dumps(trace) + "\n" for trace in traces))
    Path("ragworthy.toml").write_text(SUITE)


def item(qid: str, /, **fields: Any) -> Row:
    row = {"qid": qid, "question": f"Où est {qid}?", "answerable": True}
    return row | {"gold_claim_substr": ["gold text"], "gold_citations": ["d#1"]} | fields


ITEMS = [item("a", weight=1.5), item("b"), item("z", answerable=False, gold_claim_substr=[], gold_citations=[])]


def write(*rows: Row, name: str = "gold.jsonl") -> None:
    Path(name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def freeze(*args: str, signer: str = "Ada") -> Row:
    """Freeze the gold set and read the lock."""
    done = ragworthy("gold", "freeze", "gold.jsonl", "--signer", signer, "--reason", "because", *args)
    assert (done.code, done.err) == (0, "")
    lock: Row = json.loads(Path("gold.lock").read_text())
    return lock


def canonical_hash(row: Row) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def gated(*args: str) -> Row:
    done = ragworthy("gate", "--format", "json", *args)
    assert done.err == ""
    report: Row = json.loads(done.out)
    assert report["exit_code"] == done.code
    return report


def warnings(report: Row) -> dict[str, str]:
    return {one["code"]: one["message"] for one in report["suites"]["answers"]["warnings"]}


def test_the_lock_holds_what_the_spec_asks_for() -> None:
    done = ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--signer", "Bob", "--reason", "first")
    digest = hashlib.sha256(Path("gold.jsonl").read_bytes()).hexdigest()
    assert done.out == (
        f"frozen: 3 items, sha256 {digest}, signed by Ada, Bob\nlock: gold.lock\n"
        "next: ragworthy gate -c ragworthy.toml\n"  # the policy that names the set
    )
    lock = json.loads(Path("gold.lock").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lock["frozen_at"])
    entry = {"when": lock["frozen_at"], "signers": ["Ada", "Bob"], "reason": "first", "new_sha256": digest}
    assert lock == {
        "schema": "ragworthy.lock/1",
        "gold": "gold.jsonl",
        "sha256": digest,
        "items": 3,
        "frozen_at": lock["frozen_at"],
        "signers": ["Ada", "Bob"],
        "reason": "first",
        "item_sha256": {row["qid"]: canonical_hash(row) for row in ITEMS},
        "history": [entry],
    }


def test_an_items_hash_does_not_depend_on_spelling() -> None:
    first = freeze()
    rows = [json.dumps(dict(reversed(row.items())), indent=None, ensure_ascii=True) for row in reversed(ITEMS)]
    Path("gold.jsonl").write_text("\n\n".join(rows) + "\n")
    second = freeze()
    assert second["item_sha256"] == first["item_sha256"]
    assert second["sha256"] != first["sha256"]


def test_a_second_freeze_keeps_the_history() -> None:
    first = freeze()
    write(item("b", gold_citations=["d#2"]), item("c"), ITEMS[2])
    done = ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Bob", "--reason", "DOC-12")
    assert done.out.splitlines()[:3] == ["added: c", "removed: a", "changed: b"]
    lock = json.loads(Path("gold.lock").read_text())
    assert lock["history"][0] == first["history"][0]
    assert lock["history"][1] == {
        "when": lock["frozen_at"],
        "signers": ["Bob"],
        "reason": "DOC-12",
        "new_sha256": lock["sha256"],
        "old_sha256": first["sha256"],
        "added": ["c"],
        "removed": ["a"],
        "changed": ["b"],
    }


@pytest.mark.parametrize("args", [["--reason", "r"], ["--signer", "Ada"]])
def test_a_freeze_needs_a_name_and_a_reason(args: list[str]) -> None:
    assert ragworthy("gold", "freeze", "gold.jsonl", *args).code == 2
    assert not Path("gold.lock").exists()


@pytest.mark.parametrize("args", [["--signer", " ", "--reason", "r"], ["--signer", "Ada", "--reason", ""]])
def test_a_blank_name_or_reason_is_no_signature(args: list[str]) -> None:
    assert ragworthy("gold", "freeze", "gold.jsonl", *args).code == 2
    assert not Path("gold.lock").exists()


def test_what_cannot_be_read_cannot_be_frozen() -> None:
    write(item("a"), item("a"))
    done = ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "r")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith('gold.jsonl:2: qid: expected a unique id, got "a" again [RW-G02]\n')
    assert not Path("gold.lock").exists()


def test_verify_says_whether_it_is_the_frozen_set() -> None:
    freeze()
    assert ragworthy("gold", "verify", "gold.jsonl") == Ran(
        0, "frozen: the gold set is the one signed by Ada (exit 0)\n", ""
    )
    write(item("b", notes="new"), item("c"), ITEMS[2])
    done = ragworthy("gold", "verify", "gold.jsonl")
    assert done.code == 4
    assert done.out.splitlines()[:3] == ["added: c", "removed: a", "changed: b"]
    assert done.out.splitlines()[-1].startswith("not frozen: ")
    assert done.out.endswith("[RW-L02] (exit 4)\n")


def test_a_reordered_file_has_the_same_items_but_other_bytes() -> None:
    freeze()
    write(*reversed(ITEMS))
    done = ragworthy("gold", "verify", "gold.jsonl")
    assert (done.code, done.out.splitlines()[0]) == (
        4, "the items are the same, but the bytes of the file differ (order or spacing)",
    )  # fmt: skip


def test_verify_asks_for_signers() -> None:
    freeze()
    assert ragworthy("gold", "verify", "gold.jsonl", "--signer", "Ada").code == 0
    done = ragworthy("gold", "verify", "gold.jsonl", "--signer", "Bob")
    assert (done.code, done.out.splitlines()[0].startswith("not signed by Bob")) == (4, True)
    assert "[RW-L03]" in done.out


def test_verify_without_a_lock_or_with_a_broken_one_is_exit_2() -> None:
    done = ragworthy("gold", "verify", "gold.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "gold.lock: expected a file, got nothing at this path [RW-F01]",
    )  # fmt: skip
    Path("gold.lock").write_text("{}")
    done = ragworthy("gold", "verify", "gold.jsonl")
    assert done.code == 2
    assert "[RW-L01]" in done.err


def test_a_lock_under_another_name() -> None:
    ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "r", "--lock", "locks/g.lock")
    assert not Path("gold.lock").exists()
    assert ragworthy("gold", "verify", "gold.jsonl", "--lock", "locks/g.lock").code == 0
    Path("ragworthy.toml").write_text(SUITE + 'lock = "locks/g.lock"\n')
    assert gated()["suites"]["answers"]["frozen"] == "frozen"


def test_an_unlocked_gold_set_is_a_warning() -> None:
    report = gated()
    assert (report["verdict"], report["suites"]["answers"]["frozen"]) == ("SHIP", "unlocked")
    assert warnings(report)["RW-W13"] == "the gold set has no lock file"


def test_a_frozen_gold_set_is_none() -> None:
    freeze()
    report = gated()
    assert (report["verdict"], report["suites"]["answers"]["frozen"]) == ("SHIP", "frozen")
    assert not {"RW-W13", "RW-W16"} & warnings(report).keys()
    assert report["provenance"]["lock"]["signers"] == ["Ada"]


def test_a_changed_gold_set_makes_the_verdict_invalid() -> None:
    freeze()
    write(item("a", weight=2), *ITEMS[1:])
    report = gated()
    assert (report["verdict"], report["exit_code"], report["suites"]["answers"]["frozen"]) == ("INVALID", 4, "broken")
    assert report["invalid"] == ["the gold set is not the frozen one (its SHA-256 differs from the lock)"]
    assert ragworthy("gate", "-q").out.startswith("verdict: INVALID (exit 4): the gold set is not the frozen one (")


def test_unfrozen_scores_it_anyway_and_marks_the_report() -> None:
    freeze()
    write(item("a", weight=2), *ITEMS[1:])
    report = gated("--unfrozen", "-o", "r.md")
    assert (report["verdict"], report["suites"]["answers"]["frozen"]) == ("SHIP", "unfrozen")
    marked = "scored although the gold set is not the frozen one (its SHA-256 differs from the lock)"
    assert warnings(report)["RW-W16"] == marked
    assert marked in ragworthy("gate", "--full", "--unfrozen").out
    assert "- gold set: unfrozen" in Path("r.md").read_text()


def test_signers_the_policy_requires() -> None:
    freeze()
    Path("ragworthy.toml").write_text(SUITE + '[freeze]\nsigners = ["Ada", "Bob"]\n')
    report = gated()
    assert (report["exit_code"], report["invalid"]) == (4, ["the lock lacks the signature of Bob"])
    freeze("--signer", "Bob")
    assert gated()["exit_code"] == 0


def test_required_signers_without_a_lock_are_invalid_too() -> None:
    Path("ragworthy.toml").write_text(SUITE + '[freeze]\nsigners = ["Ada"]\n')
    assert gated()["exit_code"] == 4


@pytest.mark.parametrize(
    ("change", "fields", "meaning"),
    [
        ({"answerable": False}, "answerable", "the question changed sides: its earlier results cannot be compared"),
        ({"question": "Why?"}, "question", "another question under the same qid: give it a new qid instead"),
        ({"gold_claim_substr": ["other"]}, "gold_claim_substr",
         "other claims are right now: precision and containment are not comparable"),
        ({"gold_citations": ["d#9"]}, "gold_citations",
         "other evidence counts now: precision, CHR and recall are not comparable"),
        ({"constraints": ["x"]}, "constraints", "other constraints are locked now: SCU is not comparable"),
        ({"gold_citations": ["d#9"], "question": "Why?"}, "gold_citations, question",
         "another question under the same qid: give it a new qid instead"),
    ],
)  # fmt: skip
def test_diff_says_what_a_change_means(change: Row, fields: str, meaning: str) -> None:
    write(*ITEMS[:1], item("b", **change), *ITEMS[2:], name="new.jsonl")
    assert ragworthy("gold", "diff", "gold.jsonl", "new.jsonl") == Ran(
        0,
        f"changed: b ({fields}): {meaning}\n0 added, 0 removed, 1 changed\nruns over the two sets are not comparable\n",
        "",
    )


def test_diff_of_sets_that_score_alike() -> None:
    write(ITEMS[2], item("b", notes="n"), ITEMS[0], name="new.jsonl")
    assert ragworthy("gold", "diff", "gold.jsonl", "new.jsonl").out == (
        "changed: b (notes): not scored: nothing moves\n"
        "0 added, 0 removed, 1 changed\nruns over the two sets are comparable\n"
    )
    assert ragworthy("gold", "diff", "gold.jsonl", "gold.jsonl").out == (
        "0 added, 0 removed, 0 changed\nruns over the two sets are comparable\n"
    )


def test_diff_as_json_lists_added_and_removed() -> None:
    write(*ITEMS[1:], item("c"), name="new.jsonl")
    body = json.loads(ragworthy("gold", "diff", "gold.jsonl", "new.jsonl", "--format", "json").out)
    assert body == {
        "schema": "ragworthy.gold-diff/1",
        "changes": [
            {"qid": "a", "kind": "removed", "fields": [], "meaning": "a question less: totals are over another set"},
            {"qid": "c", "kind": "added", "fields": [], "meaning": "a new question: totals are over another set"},
        ],
    }


def test_ids_and_names_cannot_steer_the_terminal() -> None:
    freeze(signer="Ada\x1b[31m")
    write(*ITEMS, item("e\x1b[31m\nfrozen: the gold set"))
    for args in (["verify", "gold.jsonl"], ["freeze", "gold.jsonl", "--signer", "A", "--reason", "r"]):
        done = ragworthy("gold", *args)
        assert "\x1b" not in done.out
        assert not any(line.startswith("frozen: the gold set") for line in done.out.splitlines())
    write(*ITEMS, name="old.jsonl")
    assert "\x1b" not in ragworthy("gold", "diff", "old.jsonl", "gold.jsonl").out
