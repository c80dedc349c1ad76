"""The daily run: the frozen gold set, asked of the shadow and of the live side, judged as everywhere."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow, receipts
from ragworthy.files import write_whole
from ragworthy.gold.commands import suite_of
from ragworthy.ids import config_id
from ragworthy.load.sources import open_source
from ragworthy.mirror.arms import Limits, ask, less
from ragworthy.names import TRACED
from ragworthy.policy.gate_text import Named
from ragworthy.runner.contract import Target, about
from ragworthy.runner.results import trace
from ragworthy.runner.run import Progress, plan
from ragworthy.safe import json_text
from ragworthy.suites import SUITES

REPORT, RECEIPT = "report.json", "receipt.json"
SEEDS = (1, 2)


class Asked(NamedTuple):
    """Whom the gold set is asked of, and with what."""

    gold: Path
    shadow: Target
    live: Target | None
    """The live side, where it can be asked."""
    live_traces: Path | None
    """Its traces over the same gold set, where it cannot."""
    corpora: Mapping[str, Path]
    """corpus and live_corpus."""
    redirects: tuple[Path, ...] = ()
    knobs: Mapping[str, Any] = {}


class Judged(NamedTuple):
    """What came of it."""

    run: flow.Run | None
    """None where a budget was used up before every question was asked."""
    sent: int
    spent: Fraction
    over: str
    finished: bool


def judged(
    given: Asked, folder: Path, limits: Limits, *, resume: bool, told: Callable[[Progress], None] | None = None
) -> Judged:
    """Ask, write the traces, score, and leave a report and a receipt that a rollout can be moved with."""
    suite = suite_of(open_source("gold", given.gold))
    more: dict[str, Any] = {"seeds": SEEDS, "paraphrases": "all"} if suite == "retrieval" else {}
    asks = plan(given.gold, knobs=dict(given.knobs), **more).asks
    sides = [("traces", given.shadow)] + ([("live", given.live)] if given.live is not None else [])
    inputs: dict[str, Any] = {"gold": given.gold}
    sent, spent = 0, Fraction(0)
    for key, target in sides[::-1]:
        left = less(limits, sent, spent)
        side = ask(asks, target, given.knobs, folder / key, left, resume=resume, told=told)
        sent, spent = sent + side.sent, spent + side.spent
        if not side.finished or None in side.entries:
            return Judged(None, sent, spent, side.over, side.finished)
        lines = [_line(one, entry, target) for one, entry in zip(asks, side.entries, strict=True)]
        inputs[key] = folder / f"{'shadow' if key == 'traces' else key}.jsonl"
        write_whole(inputs[key], b"".join(lines))
    if given.live_traces is not None and given.live is None:
        inputs["live"] = given.live_traces
    if suite == "retrieval":
        inputs |= {key: path for key, path in given.corpora.items() if key == "corpus" or "live" in inputs}
        inputs |= {"redirects": given.redirects} if given.redirects else {}
    else:
        inputs.pop("live", None)
        inputs |= {key: path for key, path in given.corpora.items() if key == "corpus"}
    return Judged(_scored(suite, inputs, folder), sent, spent, "", True)


def _line(one: Any, entry: Any, target: Target) -> bytes:
    told = trace(one, config_id({}), entry)
    made = {key: said for key, said in about(target).items() if key in TRACED.values()}
    told = told | {key: told.get(key, said) for key, said in made.items()}
    told.pop("stage_ms", None)  # a clock: the same answers are to give the same bytes
    return msgspec.json.encode(told) + b"\n"


def _scored(suite: str, inputs: Mapping[str, Any], folder: Path) -> flow.Run:
    declared = SUITES[suite]
    settings = declared.settings()
    usual: Sequence[Any] = declared.default_gates(settings, inputs)
    request = flow.Request(
        suite=suite,
        given=inputs,
        settings=settings,
        gates=Named(()).beside(tuple(usual), "point"),
        jobs=1,
        keep_rows=True,
    )
    run = flow.score(request)
    write_whole(folder / REPORT, json_text(run.report).encode())
    write_whole(folder / RECEIPT, receipts.make(run, [request], folder) + b"\n")
    return run
