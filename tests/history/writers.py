"""Processes that write to a store and say what was confirmed. Run as a program: it forks, since starting takes longer.

writers.py together STORE REPORT CONFIRMED PROCESSES RUNS    so many processes at once, so many runs each
writers.py killed STORE REPORT CONFIRMED KILLS               one after the other, each ended by SIGKILL
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ragworthy.history.store import open_store

ID = 13
"""The bytes of an id and the end of its line."""


def write(store: str, report: dict[str, Any], confirmed: int, who: int, runs: int) -> None:
    """Add runs; each id is written down when the store has it."""
    kept = open_store(store)
    for nth in range(runs):
        mine = {**report, "provenance": {**report["provenance"], "writer": [who, nth]}}
        added = kept.add(mine, commit="c0ffee", receipt=f"{who} {nth}".encode())
        os.write(confirmed, f"{added.run}\n".encode())


def forked(store: str, report: dict[str, Any], confirmed: int, who: int, runs: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            write(store, report, confirmed, who, runs)
        except BaseException as error:  # noqa: BLE001 - a child must not go on as its parent
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return child


def main() -> int:
    what, store, name, told, *numbers = sys.argv[1:]
    report = json.loads(Path(name).read_text())
    confirmed = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if what == "together":
        processes, runs = map(int, numbers)
        children = [forked(store, report, confirmed, who, runs) for who in range(processes)]
        return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    chance = random.Random(7)
    ended = [0, 0]
    for who in range(int(numbers[0])):
        before = os.fstat(confirmed).st_size
        child = forked(store, report, confirmed, who, 10_000)
        if chance.random() < 0.8:  # after its first runs, at any moment; the others while it opens the store
            enough, until = before + ID * chance.randint(1, 2), time.monotonic() + 20
            while os.fstat(confirmed).st_size < enough and time.monotonic() < until:
                time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        ended[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL] += 1
    print(f"killed {ended[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
