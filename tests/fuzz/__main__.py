"""The command line: run cases until the time is over, and close with one line that says what came out."""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from fuzz import keep
from fuzz.mutate import KINDS
from fuzz.pool import PATIENCE, Pool


def fuzz(given: argparse.Namespace, seed: int) -> int:
    """Run the cases; how many failed."""
    kinds: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    failures: Counter[str] = Counter()
    end = time.monotonic() + given.seconds
    number = 0
    with Pool(given.patience) as pool:
        while (number < given.cases) if given.cases else (time.monotonic() < end):
            result = pool.number(seed, number, given.kind)
            kinds[result.case.kind] += 1
            codes.update(result.codes)
            if result.problem:
                name = keep.signature(result)
                failures[name] += 1
                if failures[name] == 1:
                    smaller = keep.smaller(result, pool)
                    path = keep.keep(smaller, given.keep)
                    print(f"failure: case {number}: {smaller.problem}\n  {smaller.blame}\n  kept as {path}", flush=True)
                if not given.keep_going:
                    number += 1
                    break
            number += 1
    total = sum(failures.values())
    by_kind = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    by_code = ", ".join(f"exit {code}: {count}" for code, count in sorted(codes.items()))
    print(f"fuzz: seed {seed}, {number} cases ({by_kind}), {by_code}, {total} failures of {len(failures)} sorts")
    return total


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Damage input files at random and run every command.")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--cases", type=int, default=0, help="so many cases instead, however long they take")
    parser.add_argument("--seed", type=int, default=None, help="repeat the run of this seed; default: a new one")
    parser.add_argument("--kind", choices=sorted(KINDS), default=None, help="only this kind of case")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure; keep one of each sort")
    parser.add_argument(
        "--keep", type=Path, default=keep.KEPT, help="where failing cases go (default: tests/fuzz/kept)"
    )
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds after which a case hangs")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"fuzz: seed {seed}", flush=True)
    return int(fuzz(given, seed) > 0)


if __name__ == "__main__":
    sys.exit(main())
