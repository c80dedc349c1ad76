"""Time and memory of the paired tests, and how often the upper end of a clustered loss misses. Prints tables."""

import random
import resource
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ragworthy.paired import bounds, exact, swaps
from ragworthy.paired.widest import Changes, still
from ragworthy.proving import HOLDS


def timed(what: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"| {what} | {time.perf_counter() - start:.2f} s |")


def speed() -> None:
    draw = random.Random(14)
    columns = [{f"doc{g}": draw.randint(-3, 3) for g in range(10_000)} for _ in range(12)]
    seed = swaps.seed_of(14, "swap")
    swaps.swap_all([{f"{g}": 1 for g in range(20)}], seed=seed, draws=9)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("| work | time |\n|---|---|")
    timed("9,999 swaps of 10,000 clusters × 12 gates", lambda: swaps.swap_all(columns, seed=seed))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    half = (1000, 1000)
    timed("exact swap, 2,000 flips of each kind", lambda: exact.swap(half, half, half, Fraction(7123, 10007)))
    timed("McNemar, 100,000 flips", lambda: exact.mcnemar(50_300, 49_700))
    timed("e-value, 100,000 flips", lambda: exact.evalue(50_300, 49_700))
    print(f"\nMemory added by the swaps: {(after - before) / 1024:.0f} MB\n")


def misses(documents: int, size: int, share: float, worse: float, better: float, sets: int) -> list[float]:
    """Per cent of sets whose upper end lies below the true loss: delta method, Tango with the design effect, the widest
    of all as gates have it, and that where ten documents changed, so that a strict gate may pass.
    """
    draw, cases, missed = np.random.default_rng(5), documents * size, np.zeros(4)
    true = share * worse - better
    clusters = [str(n // size) for n in range(cases)]
    for _ in range(sets):
        lost = np.repeat(draw.random(documents) < share, size) & (draw.random(cases) < worse)
        won = ~lost & (draw.random(cases) < better / (1 - share * worse))
        found = bounds.lost([(int(not w), 1) for w in won], [(int(not b), 1) for b in lost], clusters)
        if found is None:
            raise RuntimeError("no cases")
        one = bounds.clustered(found.residuals, cases, loss=float(found.loss))
        other = bounds.tango_clustered(int(lost.sum()), int(won.sum()), cases, found.residuals)
        flips = (int(lost.sum()), int(won.sum()))
        single = bounds.lost(
            [(int(not w), 1) for w in won], [(int(not b), 1) for b in lost], list(map(str, range(cases)))
        )
        if single is None or one is None or other is None:
            raise RuntimeError("no cases")
        upper = still(documents, 1)
        if single.pulled:
            upper = Changes(found, single, cases, 1.0, flips, 1).upper
        changed = int(np.count_nonzero((lost.astype(int) - won).reshape(documents, size).sum(1)))
        missed += [one.high < true, other.high < true, upper < true, upper < true and changed >= HOLDS]
    return [float(share) for share in missed * 100 / sets]


def coverage(sets: int = 1_000) -> None:
    print("| documents × questions | that get worse | delta method misses | Tango, design effect | widest | passes |")
    print("|---|---|---|---|---|---|")
    for documents, size, share, worse, better in (
        (10, 20, 0.2, 0.5, 0.05),
        (20, 10, 0.1, 0.7, 0.02),
        (40, 5, 0.05, 0.7, 0.02),
        (40, 5, 0.1, 0.7, 0.02),
        (40, 5, 0.1, 1.0, 0.0),
        (40, 5, 0.3, 0.5, 0.05),
        (100, 5, 0.1, 0.7, 0.02),
        (200, 5, 0.1, 0.7, 0.02),
    ):
        found = " | ".join(f"{one:.1f} %" for one in misses(documents, size, share, worse, better, sets))
        print(f"| {documents} × {size} | {share * documents:.0f} | {found} |", flush=True)


if __name__ == "__main__":
    speed()
    coverage()
