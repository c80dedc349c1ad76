"""The daily run of a mirror: the frozen gold set is judged, and what it leaves moves a rollout."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy import starter


@pytest.fixture
def laid(tmp_path: Path) -> starter.Laid:
    return starter.init(tmp_path)


def test_the_gold_set_is_judged_and_its_receipt_verifies(tmp_path: Path, laid: starter.Laid) -> None:
    traces, out = laid.traces[0], tmp_path / "out"
    words = ("mirror", "--live", traces, "--shadow", f"replay:{traces}", "--share", "1", "--gold", laid.gold)
    done = run_cli(*words, "--out", out)
    assert done.code == 0, done.out + done.err
    body = json.loads((out / "mirror.json").read_text(encoding="utf-8"))
    assert body["gold"]["verdict"] == body["verdict"] == "SHIP"
    assert {one["metric"] for one in body["gold"]["gates"]} >= {"answers.precision", "answers.chr"}
    assert "gold set: SHIP (gold/report.json, gold/receipt.json)\n" in done.out
    done = run_cli("verify", out / "gold" / "receipt.json", "--expect", "SHIP")
    assert done.code == 0, done.out


def test_a_gold_set_that_does_not_ship_decides(tmp_path: Path, laid: starter.Laid) -> None:
    """The answers cite first, and they are wrong."""
    lines = laid.traces[0].read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["answer_json"]["claim"] = "It is blue."
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ("mirror", "--live", laid.traces[0], "--shadow", f"replay:{wrong}", "--share", "1", "--max-uncited", "0.99")
    assert run_cli(*words, "--out", tmp_path / "without").code == 0
    assert run_cli(*words, "--out", tmp_path / "with", "--gold", laid.gold).code == 1


def test_a_budget_that_ends_in_the_gold_set_leaves_no_verdict(tmp_path: Path, laid: starter.Laid) -> None:
    traces = laid.traces[0]
    words = ("mirror", "--live", traces, "--shadow", f"replay:{traces}", "--share", "1", "--gold", laid.gold)
    done = run_cli(*words, "--out", tmp_path / "out", "--budget", "5")
    assert done.code == 4
    assert "INVALID: the gold set was not asked to its end: 5 requests are used up\n" in done.out
    assert "INVALID: the shadow was asked nothing\n" in done.out


def test_why_a_gold_set_is_invalid_is_said_in_the_report_of_the_mirror(tmp_path: Path, laid: starter.Laid) -> None:
    lines = laid.traces[0].read_text(encoding="utf-8").splitlines()
    broken = [{"qid": row["qid"], "q": row.get("q"), "error": "status 500"} for row in map(json.loads, lines)]
    errors = tmp_path / "errors.jsonl"
    errors.write_text("".join(json.dumps(row) + "\n" for row in broken), encoding="utf-8")
    words = ("mirror", "--live", laid.traces[0], "--shadow", f"replay:{errors}", "--share", "1", "--gold", laid.gold)
    done = run_cli(*words, "--out", tmp_path / "out", "--keep-going")
    assert done.code == 4, done.out + done.err
    reasons = json.loads((tmp_path / "out" / "gold" / "report.json").read_text(encoding="utf-8"))["invalid"]
    body = json.loads((tmp_path / "out" / "mirror.json").read_text(encoding="utf-8"))
    assert reasons and body["invalid"][1:] == [f"the gold set: {reason}" for reason in reasons]
    assert f"INVALID: the gold set: {reasons[0]}\n" in done.out


def test_a_corpus_that_is_missing_is_named_by_the_flag_of_the_mirror(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    row = {"qid": "1", "paraphrases": ["How long?", "For how long?", "Until when?"],
           "gold_evidence": ["Backups are kept for thirty days."]}  # fmt: skip
    gold.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "log.jsonl").write_text('{"qid": "a", "question": "How long?"}\n', encoding="utf-8")
    (tmp_path / "shadow.py").write_text(
        "import sys\nfor _ in sys.stdin:\n"
        """    print('{"retrieved_ids": ["a"], "answer_json": {"claim": "x", "citations": ["a"]}}', flush=True)\n""",
        encoding="utf-8",
    )
    shadow = f"cmd:{sys.executable} {tmp_path / 'shadow.py'}"
    words = ("--live", tmp_path / "log.jsonl", "--shadow", shadow, "--share", "1", "--gold", gold)
    done = run_cli("mirror", *words, "--out", tmp_path / "out")
    assert done.code == 2, done.out + done.err
    assert "expected the index whose chunks hold it (--shadow-corpus INDEX), got none [RW-G23]\n" in done.err
    assert "Give the index or its chunks with --shadow-corpus, or" in done.err


def test_two_indexes_from_mirror_to_rollout(tmp_path: Path) -> None:
    """Built-in indexes, a calibrated gold set: the receipt of the mirror is what a rollout is asked with."""
    import ragworthy

    harbor = tmp_path / "harbor"
    shutil.copytree(Path(ragworthy.__file__).parent / "examples", harbor)
    for name, corpus in (("live", "corpus"), ("shadow", "corpus_next")):
        assert run_cli("index", "build", "--docs", harbor / corpus, "--out", tmp_path / name).code == 0
    gold = tmp_path / "gold.jsonl"
    rows = (harbor / "retrieval_gold.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    gold.write_text("".join(line for line in rows if "R053" not in line), encoding="utf-8")
    frozen = ("--signer", "Ada", "--reason", "first", "--corpus", tmp_path / "live")
    assert run_cli("gold", "freeze", gold, *frozen).code == 0
    run_cli("index", "migrate", tmp_path / "live", tmp_path / "shadow", "-o", tmp_path / "moves.json")
    out = tmp_path / "out"
    done = run_cli(
        "mirror", "--live", f"builtin:{tmp_path / 'live'}", "--questions", gold, "--shadow",
        f"builtin:{tmp_path / 'shadow'}", "--share", "0.2", "--out", out, "--gold", gold, "--redirects",
        tmp_path / "moves.json",
    )  # fmt: skip
    assert done.code == 1, done.out + done.err  # extracted answers in three wordings are not a canary
    body = json.loads((out / "mirror.json").read_text(encoding="utf-8"))
    assert body["citations"]["told_by"].keys() == {"text"}
    ledger = tmp_path / "rollout.jsonl"
    signed = ("--by", "Ada", "--reason", "daily run", "--ledger", ledger)
    assert run_cli("rollout", "start", "next", "--live", "v1", "--shadow", "v2", *signed).code == 0
    done = run_cli("rollout", "advance", "--receipt", out / "gold" / "receipt.json", *signed)
    assert (
        done.code == 1 and "expected an index that is eligible for a canary, got one that is not [RW-Z03]" in done.out
    )


def test_distances_are_calibrated_where_a_lock_says_how(tmp_path: Path) -> None:
    """On the scale of the lock, relevant text is at most 0.45 away in nine of ten cases, whatever the model."""
    import ragworthy

    examples = Path(ragworthy.__file__).parent / "examples"
    gold = tmp_path / "gold.jsonl"
    shutil.copy(examples / "retrieval_gold.jsonl", gold)
    index = tmp_path / "index"
    assert run_cli("index", "build", "--docs", examples / "corpus", "--out", index).code == 0
    assert run_cli("gold", "freeze", gold, "--corpus", index, "--signer", "A", "--reason", "b").code == 0
    target = f"builtin:{index}"
    words = ("mirror", "--live", target, "--questions", gold, "--shadow", target, "--share", "0.4")
    medians = {}
    for name, more in {"raw": (), "calibrated": ("--lock", tmp_path / "gold.lock")}.items():
        assert run_cli(*words, "--out", tmp_path / name, *more).code == 0
        body = json.loads((tmp_path / name / "mirror.json").read_text(encoding="utf-8"))
        medians[name] = body["delta_s"]["shadow"]
        assert body["delta_s"]["moved"]["same"] == body["delta_s"]["shadow"]["n"] > 10
    assert medians["raw"]["source"] == "wordllama" and medians["raw"]["median"] > 0.45
    assert medians["calibrated"]["source"] == "ngram, calibrated" and medians["calibrated"]["p90"] <= 0.45
    done = run_cli(*words, "--out", tmp_path / "x", "--delta-s", "calibrated")
    assert done.code == 2 and "--delta-s calibrated: expected a calibration, got no lock with a calibration" in done.err
    assert not (tmp_path / "x").exists()
