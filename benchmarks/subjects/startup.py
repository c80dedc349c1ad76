"""Before any work is done: a cold start, imports, and what is installed."""

import sys

import answers as generating
from runner import OURS, Bench, Line, Size, Subject, progress, run, side

COLD = "Three questions, whole processes, the fastest of some: what a small gold set costs."
IMPORTS = "Importing alone, in a fresh process. `ragworthy` imports what it needs where it needs it."
SIZES = (
    "Packages and megabytes with all that they ask for, compiled modules included, as they are installed side by side "
    "here; the interpreter and pip do not count."
)
PACKAGES = ("ragas", "deepeval", "ir_measures", "ranx", "bm25s", "rank_bm25")


def cold(bench: Bench) -> Subject:
    """The start of a process."""
    progress("cold start")
    pair = generating.example(bench.folder)
    times = 3 * bench.times
    lines, skipped = [], []
    for name, words in (("ragworthy score", ("score", "answers", *pair.arguments)), ("ragworthy --help", ("--help",))):
        ran = run([*OURS, *words], times)
        lines.append(Line(name, 3, ran))
    scorer = generating.sources_scorer(bench.folder)
    if scorer is None:
        skipped.append("the sources' scorer, which is in ../shared")
    else:
        ran = run([sys.executable, scorer, *pair.arguments], times)
        lines.append(Line("sources' scorer", 3, ran))
    return Subject("Cold start", COLD, "questions", tuple(lines), skipped=tuple(skipped))


def imported(bench: Bench) -> Subject:
    """The time of imports."""
    progress("imports")
    facts = []
    for name in ("ragworthy", "ragworthy.api"):
        ran = side(sys.executable, "imports", name, times=3 * bench.times)
        facts.append((f"`import {name}`", f"{1000 * ran.told['seconds']:.0f} ms"))
    for name in PACKAGES if bench.peers is not None else ():
        assert bench.peers is not None
        ran = side(bench.peers, "imports", name, times=bench.times)
        facts.append((f"`import {name}`", f"{1000 * ran.told['seconds']:,.0f} ms"))
    skipped = () if bench.peers is not None else ("the others: make peers",)
    return Subject("Imports", IMPORTS, "", (), tuple(facts), skipped)


def sizes(bench: Bench) -> Subject:
    """What is installed."""
    progress("installed sizes")
    found = []
    for name in ("ragworthy", "ragworthy[retrieval]"):
        told = side(sys.executable, "installed", name).told
        found.append(Size(name, told["packages"], told["bytes"] / 1e6))
    for name in PACKAGES if bench.peers is not None else ():
        assert bench.peers is not None
        told = side(bench.peers, "installed", name.replace("_", "-") if name == "rank_bm25" else name).told
        found.append(Size(name, told["packages"], told["bytes"] / 1e6))
    skipped = () if bench.peers is not None else ("the others: make peers",)
    return Subject("Installed size", SIZES, "", skipped=skipped, sizes=tuple(found))
