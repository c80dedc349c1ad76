"""Ways in which a loss could hide behind a baseline: a floor displaced, ties lost to rounding, rows taken away."""

import json
from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from made_runs import gated, lay

FLOOR = '[[gate]]\nmetric = "answers.precision"\nmin = 0.5\n'
DROP = '[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.02\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def policy(top: str, gates: str = "") -> None:
    section = '[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
    Path("ragworthy.toml").write_text(f"version = 1\n{top}\n{section}{gates}")


def test_a_tolerance_for_losses_takes_no_floor_away(tmp_path: Path) -> None:
    """A precision of 0.25 is no worse than before, and no pipeline that may ship."""
    lay(tmp_path, 40)
    policy("", '[[gate]]\nmetric = "answers.precision"\nmin = 0.1\n')
    gated(tmp_path, range(30), "-o", "base.json")
    policy('baseline = "base.json"', DROP)
    done = gated(tmp_path, range(30), "-o", "now.json", code=1)
    gates = json.loads(Path("now.json").read_text())["gates"]
    found = {one["op"]: one["outcome"] for one in gates if one["metric"] == "answers.precision"}
    assert found == {"drop<=": "pass", ">=": "fail"}, done.out


def trec(name: str, worse: Sequence[int]) -> None:
    """Sixty queries with three relevant documents each; some of these are among the first three."""
    lines = []
    for query in range(60):
        found = query % 3 + (query not in worse)
        ids = [f"d{query}_{nth}" for nth in range(found)] + [f"x{query}_{nth}" for nth in range(10 - found)]
        lines += [f"{query} Q0 {one} {rank} {10 - rank} run\n" for rank, one in enumerate(ids)]
    Path(name).write_text("".join(lines))


@pytest.mark.parametrize(("worse", "better"), [(9, 3), (9, 2), (7, 1)])
def test_ties_of_thirds_are_ties_in_trec_files_too(worse: int, better: int) -> None:
    """Every query that changed did so by one third: p is that of a coin thrown `worse + better` times."""
    Path("q.txt").write_text("".join(f"{query} 0 d{query}_{nth} 1\n" for query in range(60) for nth in range(3)))
    order = [(7 * nth) % 60 for nth in range(60)]
    trec("old.txt", order[:better])
    trec("new.txt", order[better : better + worse])
    scored = ("score", "retrieval", "--qrels", "q.txt", "--run")
    run_cli(*scored, "old.txt", "-o", "base.json", "-q", "--no-default-gates", "--gates", "precision@3=0.01")
    Path("g.toml").write_text('defaults = false\n[[gate]]\nmetric = "retrieval.precision@3"\nmax_drop = 0.01\n')
    done = run_cli(*scored, "new.txt", "--baseline", "base.json", "--gates", "g.toml", "-o", "now.json")
    gate = json.loads(Path("now.json").read_text())["gates"][0]
    flips = worse + better
    exact = sum(comb(flips, many) for many in range(worse, flips + 1)) / 2**flips
    assert (gate["paired"]["worse"], gate["paired"]["better"]) == (worse, better)
    assert gate["paired"]["p"] == exact
    assert done.code == (1 if exact <= 0.05 else 3)


def test_a_report_that_lost_its_rows_is_no_report_of_an_earlier_version(tmp_path: Path) -> None:
    lay(tmp_path, 40)
    policy("", FLOOR)
    gated(tmp_path, (), "-o", "base.json")
    body: dict[str, Any] = json.loads(Path("base.json").read_text())
    body["tool"]["version"] = "0.1.0"
    del body["suites"]["answers"]["rows"]
    Path("base.json").write_text(json.dumps(body))
    policy('baseline = "base.json"', FLOOR + DROP)
    done = gated(tmp_path, (), code=2)
    expected = "base.json: suites.answers.rows: expected rows in a report of version 0.1.0, got none [RW-B02]"
    assert expected in done.err


def test_verify_says_when_a_baseline_had_no_rows(tmp_path: Path) -> None:
    lay(tmp_path, 40)
    policy("", FLOOR)
    gated(tmp_path, (), "-o", "base.json")
    body: dict[str, Any] = json.loads(Path("base.json").read_text())
    body["tool"]["version"] = "0.1.0"
    for key in ("rows", "can_show"):
        del body["suites"]["answers"][key]
    Path("base.json").write_text(json.dumps(body))
    policy('baseline = "base.json"', FLOOR + DROP)
    gated(tmp_path, (), "--receipt", "r.json", "--no-history")
    told = run_cli("verify", "r.json")
    why = "the baseline holds no rows (it was written by an earlier version, which kept no rows)"
    assert f"baseline: judged by its point: {why}" in told.out.splitlines()


@pytest.mark.parametrize("place", ["r.json", ".ragworthy/receipt.json", "eval/r.json", "deep/er/r.json"])
def test_the_policys_own_baseline_is_no_override_wherever_the_receipt_stands(tmp_path: Path, place: str) -> None:
    lay(tmp_path, 40)
    policy("", FLOOR)
    Path("eval").mkdir()
    gated(tmp_path, (), "-o", "eval/b.json")
    policy('baseline = "eval/b.json"', FLOOR + DROP)
    gated(tmp_path, (), "--receipt", place)
    told = run_cli("verify", place)
    assert (told.code, "--baseline" in told.out) == (0, False), told.out
    gated(tmp_path, (), "--receipt", place, "--baseline", "eval/b.json")
    told = run_cli("verify", place)
    assert told.code == 0
    assert any(line.startswith("--baseline: compared with") for line in told.out.splitlines())
