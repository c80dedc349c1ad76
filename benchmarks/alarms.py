"""False alarms and delays on real streams: the alarms of docs/alarms.md, the fixed rules, and a repeated z-test.

The stream: SQuAD 2.0 questions as three real systems answered them (../shared/data/squad2), in their order. Each
record has four numbers: whether BERT's answer is right (as `cited`), whether NLNet's is (as `coverage`), whether BERT
refuses (`refused`), and the distance between question and cited text (`delta_s`) where it answers.

- "blocks": runs of ten neighbouring questions drawn at random, so that neighbours resemble each other as they do in
  sessions, and the long run is stationary.
- "arrival order": the 6,608 questions again and again, article by article. That is not stationary: an article of hard
  questions is a real drop of some minutes.

The baseline is a sample of the same stream, of 200, 2,000 or 20,000 records. A drop is planted by turning right answers
into wrong ones, or by adding to the distance. Everything is seeded; the tables repeat exactly.
"""

import argparse
import gzip
import json
import math
import statistics
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ragworthy.index.measure import measure
from ragworthy.live.alarms import MONTH, Alarms, Config
from ragworthy.live.minutes import Minute
from ragworthy.live.rules import RULES
from ragworthy.live.watch import Watch
from ragworthy.live.watched import WATCHED, Baseline, baseline_of

DATA = Path(__file__).resolve().parents[2] / "shared/data/squad2/dev"
UNIT = 1_000_000
BLOCK = 10
FIELDS = ("cited", "coverage", "refused", "delta_s")
DOWN = ("cited", "coverage")
RULES_OF = {"cited": ("chr_floor",), "coverage": ("coverage_drop",), "delta_s": ("delta_s_spike", "delta_s_batch")}
BASELINES = (200, 2_000, 20_000)
DROPS = (0.02, 0.05, 0.10)
WATCHES = tuple(watch for watch in WATCHED if watch.name in FIELDS)


class Pool(NamedTuple):
    """The questions in their order, a column for each field; a distance of -1 means that nothing was cited."""

    columns: dict[str, Any]

    @property
    def size(self) -> int:
        return len(self.columns["cited"])


def _lines(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from map(json.loads, file)


def pool() -> Pool:
    """Every question with what became of it."""
    texts = {chunk["id"]: chunk["text"] for chunk in _lines("corpus.jsonl")}
    bert = list(_lines("trace_bert_single.jsonl.gz"))
    nlnet = {trace["qid"]: trace for trace in _lines("trace_nlnet_single.jsonl.gz")}
    refused = [trace["answer_json"]["claim"] == "not in context" for trace in bert]
    first = [next(iter(trace["answer_json"]["citations"]), None) for trace in bert]
    cited = [(trace["q"], texts[name]) for trace, name in zip(bert, first, strict=True) if name is not None]
    model = measure("wordllama", list)
    distances = iter(model.distances([question for question, _ in cited], [text for _, text in cited]).tolist())
    delta_s = [-1.0 if name is None else next(distances) for name in first]
    return Pool(
        {
            "cited": np.array([trace["label"]["squad_em"] for trace in bert]),
            "coverage": np.array([nlnet[trace["qid"]]["label"]["squad_em"] for trace in bert]),
            "refused": np.array(refused, dtype=int),
            "delta_s": np.round(np.array(delta_s), 4),
        }
    )


class Drop(NamedTuple):
    """What gets worse, from which minute on, and by how much."""

    field: str
    at: int
    size: float
    over: int = 1
    """In how many minutes it comes about."""

    def now(self, minute: int) -> float:
        """How much worse it is at a minute."""
        return self.size * min(1.0, max(0, minute - self.at + 1) / self.over)


def stream(given: Pool, minutes: int, rate: int, seed: int, drop: Drop | None = None) -> Iterator[Minute]:
    """Minutes of blocks; with seed 0 the questions in their order."""
    draw = np.random.default_rng(seed)
    for at in range(1, minutes + 1):
        if seed:
            starts = draw.integers(0, given.size, rate // BLOCK)
            places = (starts[:, None] + np.arange(BLOCK)[None, :]).ravel() % given.size
        else:
            places = np.arange((at - 1) * rate, at * rate) % given.size
        made = Minute(at)
        made.records = rate
        for field in FIELDS:
            values = given.columns[field][places]
            if drop is not None and drop.field == field and at >= drop.at:
                values = worse(values, field, drop.now(at), float(given.columns[field].mean()), draw)
            if field == "delta_s":
                values = np.minimum(values[values >= 0], 1.0)
            units, counts = np.unique(np.round(values * UNIT).astype(int), return_counts=True)
            made.values[field] |= dict(zip(units.tolist(), counts.tolist(), strict=True))
        yield made


def worse(values: Any, field: str, size: float, mean: float, draw: Any) -> Any:
    """Right answers become wrong so that the share falls by a number of points; refusals and distances grow."""
    if field in DOWN:
        return values * (draw.random(len(values)) >= size / mean)
    if field == "refused":
        return np.maximum(values, draw.random(len(values)) < size / (1 - mean))
    return np.where(values >= 0, values + size, values)


def accepted(given: Pool, cases: int, seed: int, rate: int = 100) -> Baseline:
    """What a sample of so many records says; with seed 0 in the order of the questions."""
    return baseline_of(stream(given, cases // rate, rate, seed), WATCHES)


class Z:
    """Each minute a one-sided z-test of the last minutes against the number of the baseline."""

    def __init__(self, baseline: Baseline, least: float, fields: tuple[str, ...], length: int) -> None:
        self.baseline, self.least, self.fields = baseline, least, fields
        self.windows: dict[str, deque[tuple[int, float]]] = {field: deque(maxlen=length) for field in fields}
        self.firing: set[str] = set()

    def step(self, minute: Minute) -> list[str]:
        """The fields that begin to fire."""
        began = []
        for field in self.fields:
            window = self.windows[field]
            window.append((minute.count(field), float(minute.total(field))))
            cases = sum(count for count, _ in window)
            known = self.baseline.fields[field]
            if cases < 200:
                continue
            spread = known.variance if known.variance is not None else known.value * (1 - known.value)
            off = (sum(total for _, total in window) / cases - known.value) / math.sqrt(max(spread, 1e-9) / cases)
            fires = (-off if field in DOWN else off) > self.least
            if fires and field not in self.firing:
                began.append(field)
            (self.firing.add if fires else self.firing.discard)(field)
        return began


METHODS = ("anytime", "cusum", "fixed, rates", "fixed, ΔS", "z-test 5 %", "z-test 0.1 %")


def methods(baseline: Baseline, fields: tuple[str, ...], rate: int, *, rules: bool) -> Callable[[Minute], set[str]]:
    """A function that says which methods begin to fire at a minute."""
    part = len(fields) / len(FIELDS)  # a field alone gets its part of everything, so the thresholds stay the same
    watches = tuple(watch for watch in WATCHES if watch.name in fields)
    alarms = Alarms(Config(budget=0.1 * part, baseline_risk=0.01 * part, watches=watches), baseline)
    names = {name for field in fields for name in RULES_OF.get(field, ())}
    fixed = Watch([rule for rule in RULES if rule.name in names]) if rules else None
    length = max(5, 400 // rate)  # where five minutes hold too few
    tests = {"z-test 5 %": Z(baseline, 1.6449, fields, length), "z-test 0.1 %": Z(baseline, 3.0902, fields, length)}

    def step(minute: Minute) -> set[str]:
        found = {event.rule.partition(":")[0] for event in alarms.step(minute) if event.state == "firing"}
        if fixed is not None:
            began = [alert.rule for alert in fixed.step(minute) if alert.state == "firing"]
            found |= {"fixed, ΔS" if rule in RULES_OF["delta_s"] else "fixed, rates" for rule in began}
        return found | {name for name, test in tests.items() if test.step(minute)}

    return step


def false_alarms(given: Pool, months: int, rate: int, cases: int, seed: int) -> dict[str, float]:
    """False alarms per month of each method; every month has a baseline of its own. The fixed rules have none, and
    take longest: they see the first month only.
    """
    counts = dict.fromkeys(METHODS, 0)
    for month in range(months):
        baseline = accepted(given, cases, seed and 1000 * cases + month + 1, rate)
        step = methods(baseline, FIELDS, rate, rules=month == 0)
        for minute in stream(given, MONTH, rate, seed and seed + month):
            for name in step(minute):
                counts[name] += 1
    return {name: count / (1 if name.startswith("fixed") else months) for name, count in counts.items()}


def delays(
    given: Pool, drop: Drop, cases: int, repeats: int, horizon: int, *, in_order: bool = False
) -> dict[str, list[int]]:
    """Minutes until each method fires after a drop begins; those that never do are left out."""
    found: dict[str, list[int]] = {name: [] for name in METHODS}
    field, before = drop.field, drop.at - 1
    for nth in range(repeats):
        turned = Pool({name: np.roll(column, 731 * nth) for name, column in given.columns.items()})
        baseline = accepted(turned, cases, 0 if in_order else 77_000 + nth)
        step = methods(Baseline({field: baseline.fields[field]}), (field,), 100, rules=True)
        waiting = set(METHODS)
        for minute in stream(turned, before + horizon, 100, 0 if in_order else 500 + nth, drop):
            began = step(minute)
            if minute.at > before:
                for name in began & waiting:
                    found[name].append(minute.at - before)
                    waiting.discard(name)
                if not waiting & {"anytime", "cusum"}:
                    break
    return found


def shown(minutes: list[int], repeats: int) -> str:
    """The median where at least half fired, and how many did."""
    if not minutes:
        return "never"
    waits = sorted(minutes) + [10**9] * (repeats - len(minutes))
    middle = statistics.median_low(waits)
    told = f"{middle} min" if middle < 180 else f"{middle / 60:.1f} h"
    share = "" if len(minutes) == repeats else f" ({len(minutes)} of {repeats})"
    return f"{told}{share}" if middle < 10**9 else f"–{share}"


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--months", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--horizon", type=int, default=2 * 24 * 60)
    parser.add_argument("--only", choices=("false-alarms", "delays", "clumps"))
    given = parser.parse_args()
    if not DATA.exists():
        print("no ../shared/data: nothing to measure")
        return 0
    real = pool()
    means = {field: round(float(real.columns[field].mean()), 4) for field in FIELDS[:3]}
    print(f"questions: {real.size}, means: {means}", file=sys.stderr)
    if given.only in (None, "false-alarms"):
        _false_alarms(real, given.months)
    if given.only in (None, "clumps"):
        _clumps(real)
    if given.only in (None, "delays"):
        _delays(real, given.repeats, given.horizon)
    return 0


def _clumps(real: Pool) -> None:
    """Ten days of arrival order: what measuring the dispersion is good for, and what it is not."""
    print("| live | records per minute | baseline | dispersion | anytime | cusum |")
    print("|---|---|---|---|---|---|")
    middle = real.size // 2
    first, second = (
        Pool({name: column[part] for name, column in real.columns.items()})
        for part in (slice(None, middle), slice(middle, None))
    )
    rows = [
        *(("all articles", real, "the same", real, 0, rate, on) for rate in (100, 10) for on in (True, False)),
        *(("all articles", real, "blocks: less clumpy", real, 20_000_001, rate, True) for rate in (100, 10)),
        ("second half", second, "first half", first, 0, 100, True),
        ("first half", first, "second half", second, 0, 100, True),
    ]  # fmt: skip
    for live, pool_live, named, pool_before, seed, rate, measured in rows:
        baseline = accepted(pool_before, 20_000, seed, rate)
        if not measured:
            fields = {name: msgspec.structs.replace(one, dispersion=1.0) for name, one in baseline.fields.items()}
            baseline = Baseline(fields)
        step = methods(baseline, FIELDS, rate, rules=False)
        counts = {"anytime": 0, "cusum": 0}
        for minute in stream(pool_live, MONTH // 3, rate, 0):
            for name in step(minute) & set(counts):
                counts[name] += 1
        clumps = sorted(one.dispersion for one in baseline.fields.values())
        told = f"{clumps[0]:.1f} to {clumps[-1]:.1f}" if measured else "taken as 1"
        print(f"| {live} | {rate} | {named} | {told} | {counts['anytime']} | {counts['cusum']} |", flush=True)


def _false_alarms(real: Pool, months: int) -> None:
    print("| stream | months | records per minute | baseline | " + " | ".join(METHODS) + " |")
    print("|---|---|---|---|" + "---|" * len(METHODS))
    for title, rate, cases, seed, length in [
        *(("blocks", 100, cases, 40, months) for cases in BASELINES),
        ("blocks", 10, 2000, 60, months),
        ("arrival order", 100, 20_000, 0, 1),
        ("arrival order", 10, 20_000, 0, 1),
    ]:  # fmt: skip
        counts = false_alarms(real, length, rate, cases, seed)
        cells = " | ".join(f"{counts[name]:.1f}" for name in METHODS)
        print(f"| {title} | {length} | {rate} | {cases:,} | {cells} |", flush=True)


def _delays(real: Pool, repeats: int, horizon: int) -> None:
    print("| stream | drop | baseline | " + " | ".join(METHODS) + " |")
    print("|---|---|---|" + "---|" * len(METHODS))
    drops = [Drop(field, 301, size) for field in ("cited", "delta_s") for size in DROPS]
    slow = Drop("cited", 301, 0.05, over=24 * 60)
    cells = [("blocks", drop, cases) for drop in (*drops, slow) for cases in (*BASELINES, 200_000)]
    cells += [("arrival order", drop, cases) for drop in drops for cases in (20_000, 200_000)]
    for title, drop, cases in cells:
        found = delays(real, drop, cases, repeats, horizon, in_order=title != "blocks")
        told = " | ".join(shown(found[name], repeats) for name in METHODS)
        slowly = f" over {drop.over // 60} h" if drop.over > 1 else ""
        print(f"| {title} | `{drop.field}` {100 * drop.size:.0f} points{slowly} | {cases:,} | {told} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
