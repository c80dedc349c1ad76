"""`--profile reference` of the agreement suite against what the sources' own program prints, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from places import SHARED
from ragworthy.reference import agreement as program

DATA = SHARED / "data" / "reference_runs" / "agreement"
Row = dict[str, Any]


def cases() -> list[Row]:
    found: list[Row] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    return found


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def pair(qid: str, scholar: str, auditor: str, **fields: Any) -> Row:
    return {"qid": qid, "scholar": {"label": scholar}, "auditor": {"label": auditor}, **fields}


@pytest.mark.data("data/reference_runs/agreement")
def test_every_recorded_case_is_printed_byte_for_byte() -> None:
    found = cases()
    assert len(found) == 8
    for case in found:
        pairs = read(DATA / case["pairs"])
        assert json.dumps(program.score(pairs), indent=2) + "\n" == case["stdout"]
        assert program.tsv(pairs) == case["tsv"]


@pytest.mark.data("data/reference_runs/agreement")
def test_two_files_say_the_same_as_their_pairs(tmp_path: Path) -> None:
    """Flags and citations are in pairs only; without them the two forms agree in everything they print."""
    for case in cases():
        pairs = sorted(read(DATA / case["pairs"]), key=lambda row: str(row["qid"]))
        sides = [
            write_jsonl(tmp_path / f"{side}.jsonl", [{"qid": row["qid"], **row[side]} for row in reversed(pairs)])
            for side in ("scholar", "auditor")
        ]
        bare = [{key: row[key] for key in ("qid", "scholar", "auditor")} for row in pairs]
        joined = program.joined(read(sides[0]), read(sides[1]))
        assert json.dumps(program.score(joined), indent=2) + "\n" == case["stdout"]
        assert program.tsv(joined) == program.tsv(bare)


@pytest.mark.data("data/reference_runs/agreement")
def test_the_command_prints_the_recorded_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for case in cases():
        words = ("score", "agreement", "--pairs", DATA / case["pairs"], "--profile", "reference")
        done = run_cli(*words)
        assert not list(tmp_path.iterdir())
        assert done.out == case["stdout"]
        assert done.code == (0 if json.loads(case["stdout"])["pass"] else 1)
        assert run_cli(*words, "--tsv", "apart.tsv") == done
        table = Path("apart.tsv")
        assert (table.read_text(encoding="utf-8") if case["tsv"] else "") == case["tsv"]
        table.unlink(missing_ok=True)


def test_w41_as_the_sources_print_it() -> None:
    labels = [("VALID", "VALID")] * 6 + [("NOT_IN_CONTEXT",) * 2] * 2 + [("REJECT", "REJECT"), ("VALID", "REJECT")]
    pairs = [pair(f"q{nth}", *both) for nth, both in enumerate(labels)]
    printed = program.score(pairs)
    assert (printed["percent_agreement"], printed["kappa"], printed["pass"]) == (0.9, 0.8077, True)
    assert program.tsv(pairs).splitlines()[1].split("\t")[1:] == ["VALID", "REJECT", "REJECT", "auditor_veto"]


def test_w42_one_label_only_fails_there() -> None:
    printed = program.score([pair(f"q{nth}", "VALID", "VALID") for nth in range(10)])
    assert (printed["percent_agreement"], printed["kappa"], printed["pass"]) == (1.0, 0.0, False)
    mixed = ["VALID"] * 6 + ["NOT_IN_CONTEXT"] * 4
    printed = program.score([pair("q", label, label) for label in mixed])
    assert (printed["kappa"], printed["pass"]) == (1.0, True)


def test_nothing_at_all_fails_with_zeros() -> None:
    printed = program.score([])
    assert list(printed.values())[:5] == [0, 0.0, 0.0, 0.0, 0]
    assert printed["pass"] is False


def test_only_the_abstentions_of_the_scholar_count() -> None:
    pairs = [pair(f"q{nth}", "VALID", "ABSTAIN" if nth < 5 else "VALID") for nth in range(10)]
    assert program.score(pairs)["abstain_rate"] == 0.0
    swapped = [pair(row["qid"], row["auditor"]["label"], row["scholar"]["label"]) for row in pairs]
    assert program.score(swapped)["abstain_rate"] == 0.5


def test_unknown_labels_leave_the_rates_and_stay_disagreements() -> None:
    pairs = [pair("a", "VALID", "VALID"), pair("b", "REJECT", "REJECT"), pair("c", "MAYBE", "VALID")]
    printed = program.score(pairs)
    assert (printed["n"], printed["percent_agreement"], printed["disagreements"]) == (2, 1.0, 1)
    assert program.tsv(pairs).splitlines()[1] == "c\tMAYBE\tVALID\tREJECT\tincoherent_pair"


def test_pairs_with_one_id_all_count() -> None:
    assert program.score([pair("a", "VALID", "VALID"), pair("a", "VALID", "REJECT")])["n"] == 2


def test_w45_rules_of_the_sources() -> None:
    rows = [
        pair("a", "NOT_IN_CONTEXT", "VALID", flags={"provenance_violation": True}),
        pair("b", "NOT_IN_CONTEXT", "VALID", answer_json={"citations": ["x"]}, retrieved_ids=["y"]),
        pair("c", "NOT_IN_CONTEXT", "VALID"),
        pair("d", "REJECT", "VALID"),
        pair("e", "ABSTAIN", "VALID"),
        pair("f", "VALID", "ABSTAIN"),
    ]
    assert [line.split("\t")[3:] for line in program.tsv(rows).splitlines()[1:]] == [
        ["REJECT", "hard_flag"],
        ["REJECT", "citation_out_of_scope"],
        ["VALID", "auditor_ok"],
        ["REJECT", "incoherent_pair"],
        ["REJECT", "incoherent_pair"],
        ["REJECT", "auditor_veto"],
    ]


def test_other_gates_decide_the_pass() -> None:
    pairs = [pair("a", "VALID", "VALID"), pair("b", "REJECT", "VALID"), pair("c", "REJECT", "REJECT")]
    assert program.score(pairs, {"pa": 0.5, "kappa": 0.3, "abstain": 0.0})["pass"] is True
    assert program.score(pairs)["pass"] is False
