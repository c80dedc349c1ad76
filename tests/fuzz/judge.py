"""Run one case in its room, several times and ways, and say what is wrong."""

import contextlib
import random
from collections.abc import Iterator
from typing import NamedTuple

from fuzz import checks, reseal
from fuzz.case import Case
from fuzz.edits import Files, edited
from fuzz.room import Ending, Room, Snapshot, run
from fuzz.scenarios import scenario
from ragworthy.load import sources
from ragworthy.suites import fork


class Judged(NamedTuple):
    """The exit codes of a case, and what is wrong; empty when nothing is."""

    codes: list[int]
    problem: str


class Run(NamedTuple):
    """What the commands of a case did."""

    endings: list[Ending]
    problem: str
    before: Snapshot
    after: Snapshot


def judge(case: Case, room: Room, port: int) -> Judged:
    """Everything that must hold for a case."""
    files, commands = edited(scenario(case.scenario).files, case.commands, case.edits)
    commands = [[_filled(word, room, port) for word in command] for command in commands]
    room.lay(files)
    first = _run(case, commands, room, room.seen())
    codes = [ending.code for ending in first.endings]
    problem = first.problem or checks.of_files(commands, files, first.before, first.after) or room.disturbed()
    if not problem:
        new = {name: data for name, data in first.after.items() if name not in first.before}
        problem = checks.of_outputs(new)
    if problem:
        return Judged(codes, problem)
    room.restore(first.before, first.after, files)
    second = _run(case, commands, room, first.before)
    if second.endings != first.endings:
        return Judged(codes, f"the same input twice gives different output: {_apart(first, second)}")
    if checks.stable(second.after, commands) != checks.stable(first.after, commands):
        return Judged(codes, f"the same input twice gives different files: {_unlike(first.after, second.after)}")
    return Judged(codes, _other_ways(case, files, commands, room, first))


def _filled(word: str, room: Room, port: int) -> str:
    return word.replace("{ROOT}", str(room.root)).replace("{PORT}", str(port))


def _run(case: Case, commands: list[list[str]], room: Room, before: Snapshot) -> Run:
    """Run the commands one after the other; the first problem ends it."""
    endings: list[Ending] = []
    problem = ""
    for command in commands:
        if command[0] == "@reseal":
            reseal.reseal(command[1])
            continue
        ending = run(command)
        endings.append(ending)
        problem = checks.of_ending(case, command, ending) or checks.of_verified(command, ending)
        if case.garbage and not problem:
            problem = checks.of_garbage(command, ending)
        if problem:
            break
    return Run(endings, problem, before, room.seen())


def _other_ways(case: Case, files: Files, commands: list[list[str]], room: Room, first: Run) -> str:
    """Read in tiny blocks, and now and then by two processes: the bytes stay the same."""
    if commands[0][:2] != ["score", "answers"] or len(commands) > 1:
        return ""
    rng = random.Random(str(case.edits))
    size = rng.choice((1, 7, 64, 300))
    room.lay(files)
    with _tiny_blocks(size, 1):
        again = _run(case, commands, room, first.before)
    if checks.differs(first.endings, again.endings):
        return f"read in blocks of {size} bytes it gives different bytes: {_apart(first, again)}"
    if rng.random() < 0.05 and "reference" not in commands[0]:
        room.lay(files)
        with _tiny_blocks(64, 2):
            again = _run(case, [[*commands[0], "--jobs", "2"]], room, first.before)
        if checks.differs(first.endings, again.endings):
            return f"two processes give different bytes: {_apart(first, again)}"
    return ""


@contextlib.contextmanager
def _tiny_blocks(size: int, jobs: int) -> Iterator[None]:
    """Read in blocks of a few bytes, and let small files be worth several processes."""
    block, small = sources.BLOCK, fork.SMALL
    sources.BLOCK, fork.SMALL = size, 0 if jobs > 1 else small
    try:
        yield
    finally:
        sources.BLOCK, fork.SMALL = block, small


def _apart(one: Run, two: Run) -> str:
    for first, second in zip(one.endings, two.endings, strict=False):
        if first != second:
            return f"exit {first.code} and {second.code}: {first.err.strip()[:200]} / {second.err.strip()[:200]}"
    return f"{len(one.endings)} and {len(two.endings)} commands"


def _unlike(one: Snapshot, two: Snapshot) -> str:
    return ", ".join(sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name)))
