"""The long part, on the bundled documents: two indexes, the built-in pipeline on both, every suite, one verdict."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow, starter
from ragworthy.corpus.migration import read_table
from ragworthy.demo.acts import write
from ragworthy.experiments import latency, stability
from ragworthy.experiments.tune import SCORED, tune
from ragworthy.files import write_whole
from ragworthy.gold import retrieval as care
from ragworthy.pipeline.tuning import NAME as TUNING
from ragworthy.policy.read import load_policy
from ragworthy.runner import run as running
from ragworthy.runner.contract import Options, Target
from ragworthy.runner.ended import JOURNAL
from ragworthy.suites import SUITES

NAME = "pipeline"
RUNS = ("live", "shadow", "stability", "latency")
SEEDS = (0, 1)
LOADS = (5.0, 20.0)
CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {"mode": "hybrid", "rerank_depth": 10},
    {"mode": "hybrid", "rerank_depth": 0},
    {"mode": "bm25", "rerank_depth": 0},
)
POLICY = f"""\
# May the index of the new handbook take traffic, with the built-in pipeline on it?
version = 1
baseline = "live.report.json"       # the same pipeline on the index in use
defaults = false                    # only the gates below

[answers]
gold = "shadow/gold.scored.jsonl"
traces = "runs/shadow/traces.jsonl"
slices = ["topic"]

[retrieval]
gold = "retrieval_gold.jsonl"
traces = "runs/shadow.jsonl"
live = "runs/live.jsonl"
corpus = "index/shadow"
live_corpus = "index/live"
redirects = ["redirects.json"]

[stability]
gold = "shadow/gold.scored.jsonl"
runs = "runs/stability/traces.jsonl"

[latency]
gold = "shadow/gold.scored.jsonl"
runs = "runs/latency/latency.jsonl"

[[gate]]
metric = "answers.precision"
max_drop = 0.02
why = "no worse than on the index in use"

{starter.GATES}
[[gate]]
metric = "retrieval.recall@5"
max_drop = 0.02
why = "a new index must not lose what the live one finds"

[[gate]]
metric = "stability.failing_questions"
max = 0
why = "the same question in other words gets the same answer"

[[gate]]
metric = "latency.p95"
max = 2000
why = "nobody waits longer than two seconds"
"""

Told = Callable[[str], None]


class Made(NamedTuple):
    """What the demo leaves to look at."""

    run: flow.Run
    files: list[Path]
    """The reports and the receipt."""
    plots: list[Path]


def pipeline(folder: Path, tell: Told) -> Made:
    """Run the built-in pipeline on both indexes that are in the folder, and gate the new one against the old."""
    clear(folder)
    questions = _questions(folder, tell)
    for name in ("live", "shadow"):
        target, out = _target(folder, name), folder / f"runs/{name}"
        counts = running.run(running.plan(questions[name]), target, running.RunOptions(out)).counts
        tell(f"{name} index: {counts.answered} answered, {counts.refused} refused, {counts.errored} errors")
    _baseline(folder)
    _experiments(folder, tell)
    write_whole(folder / "ragworthy.toml", POLICY.encode())
    requests = flow.from_policy(load_policy(folder / "ragworthy.toml", SUITES, today=None), keep_rows=True)
    run = flow.score_all(requests)
    return Made(run, write(folder, NAME, run, requests), _plots(folder, run.report))


def clear(folder: Path) -> None:
    """Take away the runs of an earlier demo, which would not be overwritten, and nothing else."""
    for name in RUNS:
        if (folder / "runs" / name / JOURNAL).is_file():
            shutil.rmtree(folder / "runs" / name)


def _questions(folder: Path, tell: Told) -> dict[str, Path]:
    """The questions for each index, less those that the refusal threshold is tuned on."""
    gold = folder / "answers_gold.jsonl"
    write_whole(gold, starter.example("answers_gold.jsonl").encode())
    moved = folder / "answers_gold.shadow.jsonl"
    table = read_table(folder / "redirects.json")
    done = care.rebind(gold, [table], moved, old=folder / "index/live", new=folder / "index/shadow")
    tell(f"{len(done.rebound.items)} questions carried over to the new index, {len(done.rebound.review)} to review")
    for name, asked in (("live", gold), ("shadow", moved)):
        made = tune(folder / "index" / name, asked, folder / name)
        tell(
            f"{name} index: refuses under {made.chosen.threshold:.3f}, tuned on {made.tuning} questions "
            f"that are not scored; {made.scored} are"
        )
    return {name: folder / name / SCORED for name in ("live", "shadow")}


def _target(folder: Path, name: str) -> Target:
    return running.open_target(f"builtin:{folder / 'index' / name}", Options(), folder / name / TUNING)


def _baseline(folder: Path) -> None:
    """Score the answers on the index in use, with the ids of the new one, so that both can be compared."""
    table = read_table(folder / "redirects.json")
    carried = folder / "runs/live/carried.jsonl"
    old, new = folder / "index/live", folder / "index/shadow"
    care.rebind(folder / "runs/live/traces.jsonl", [table], carried, old=old, new=new)
    write_whole(folder / "live.toml", _only_answers().encode())
    run = flow.score_all(flow.from_policy(load_policy(folder / "live.toml", SUITES, today=None)))
    flow.write(folder / "live.report.json", run)


def _only_answers() -> str:
    """The policy for the index in use: the same rules for its answers, and nothing to compare with."""
    section = POLICY[POLICY.index("[answers]") : POLICY.index("[retrieval]")]
    return f"version = 1\n\n{section.replace('runs/shadow/traces', 'runs/live/carried')}{starter.GATES}"


def _experiments(folder: Path, tell: Told) -> None:
    """The new index in seeds, jitters and wordings, and under load in three configurations."""
    gold = folder / "shadow" / SCORED
    asked = stability.plan(gold, seeds=SEEDS)
    ran = stability.run(asked, _target(folder, "shadow"), running.RunOptions(folder / "runs/stability"))
    tell(f"stability: {ran.total} runs over seeds, jitters and wordings, {ran.counts.errored} errors")
    sweep = latency.plan(gold, CONFIGURATIONS, loads=LOADS)
    swept = latency.run(sweep, _target(folder, "shadow"), latency.Options(folder / "runs/latency"))
    held = ", ".join(f"{one.held_rps or 0:.2f} of {one.load_rps:g}/s" for one in swept.cells)
    tell(f"latency: {len(swept.cells)} cells of {len(sweep.asks)} requests in an open loop, held {held}")


def _plots(folder: Path, report: dict[str, Any]) -> list[Path]:
    """Accuracy against P95 as pictures, where the package that draws them is there."""
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return []
    from ragworthy.suites.latency.plot import write_plot

    plots = [folder / f"latency.{suffix}" for suffix in ("svg", "png")]
    for path in plots:
        write_plot(path, report["suites"]["latency"])
    return plots
