"""Two TREC runs over the same judgements: `score retrieval --qrels Q --run NEW --live-run OLD`."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, run_cli
from places import DATA

CRANFIELD = DATA / "ir_corpora/cranfield"
RUNS = {"new": "bm25s_lucene", "old": "rank_bm25_okapi"}


def compare(folder: Path, *flags: object) -> Done:
    files = ("--qrels", folder / "qrels.txt", "--run", folder / "new.txt", "--live-run", folder / "old.txt")
    return run_cli("score", "retrieval", *files, *flags)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Query 1: both found by the old run, one by the new. Query 2: only the new run finds it. Query 3: neither."""
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 1\n2 0 c 1\n3 0 d 1\n")
    (tmp_path / "old.txt").write_text("1 Q0 a 1 9 old\n1 Q0 b 2 8 old\n2 Q0 x 1 9 old\n")
    (tmp_path / "new.txt").write_text("1 Q0 a 1 9 new\n1 Q0 x 2 8 new\n2 Q0 c 1 9 new\n3 Q0 x 1 9 new\n")
    return tmp_path


def test_the_answer_comes_first(lab: Path) -> None:
    """recall@5: (1 + 0 + 0) / 3 before, (1/2 + 1 + 0) / 3 after."""
    done = compare(lab)
    lines = done.out.splitlines()
    assert done.code == 0, done.out + done.err
    assert lines[0] == "SHIP: all 3 gates hold"
    assert lines[2] == ("  recall@5   live 0.3333, shadow 0.5 (+0.1667): 1 question better, 1 worse, 1 the same")
    assert "retrieval: 3 judged queries" in lines
    assert "most changed: 2: rank-biased overlap 0.000" in done.out
    assert "''" not in done.out and "canary" not in done.out


def test_a_worse_run_does_not_ship(lab: Path) -> None:
    (lab / "new.txt").write_text("1 Q0 a 1 9 new\n2 Q0 x 1 9 new\n")
    done = compare(lab)
    assert done.code == 3  # a single query proves nothing
    assert done.out.startswith("INCONCLUSIVE: 2 of 3 gates are undecided\n")
    assert compare(lab, "--max-drop", "0.2").code == 0


@pytest.mark.parametrize("extra", [("--live", "old.txt"), ("--gold", "gold.jsonl")])
def test_no_mixture(lab: Path, extra: tuple[str, str]) -> None:
    done = compare(lab, *extra)
    assert done.code == 2
    assert done.err.startswith("expected --gold and --trace, or --qrels and --run, got a mixture [RW-U01]\n")


@pytest.mark.data("data/ir_corpora")
def test_cranfield_against_a_count_by_hand(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes((CRANFIELD / "qrels.txt").read_bytes())
    found: dict[str, dict[str, list[str]]] = {}
    for name, engine in RUNS.items():
        rows: list[dict[str, Any]] = [
            json.loads(line) for line in (CRANFIELD / f"ref_top20.{engine}.jsonl").read_text().splitlines()
        ]
        # scores that fall by rank: the order is that of the file
        text = [
            f"{row['qid']} Q0 {one['id']} 0 {100 - nth} {name}" for row in rows for nth, one in enumerate(row["topk"])
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(text) + "\n")
        found[name] = {row["qid"]: [one["id"] for one in row["topk"]] for row in rows}
    relevant: dict[str, set[str]] = {}
    for line in (CRANFIELD / "qrels.txt").read_text().splitlines():
        qid, _, doc, grade = line.split()
        relevant.setdefault(qid, set()).update({doc} if int(grade) > 0 else set())
    recall = {
        name: {qid: len(docs & {*found[name].get(qid, [])[:5]}) / max(1, len(docs)) for qid, docs in relevant.items()}
        for name in RUNS
    }
    delta = json.loads(compare(tmp_path, "--format", "json").out)["suites"]["retrieval"]["live"]["deltas"]
    got = delta["retrieval.recall@5"]
    assert got["live"] == pytest.approx(sum(recall["old"].values()) / len(relevant), abs=1e-9)
    assert got["shadow"] == pytest.approx(sum(recall["new"].values()) / len(relevant), abs=1e-9)
    assert got["up"] == sum(recall["new"][qid] > recall["old"][qid] for qid in relevant)
    assert got["down"] == sum(recall["new"][qid] < recall["old"][qid] for qid in relevant)
    assert got["up"] + got["down"] + got["same"] == len(relevant)


@pytest.mark.data("data/ir_corpora")
def test_what_is_imported_lints_clean(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    done = run_cli("import", "trec", "--qrels", CRANFIELD / "qrels.txt", "--gold-out", gold)
    assert done.code == 0, done.err
    done = run_cli("gold", "lint", gold)
    assert (done.code, done.out.splitlines()[-1]) == (0, "lint: 225 items, 0 errors, 0 warnings, 1 note (exit 0)")
