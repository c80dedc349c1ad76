"""The sources' own scorers, run on files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragworthy.errors import UsageError, usage_error
from ragworthy.files import check_readable
from ragworthy.index.blocks import load_corpus
from ragworthy.metrics.facts.placed import place_of
from ragworthy.names import Verdict
from ragworthy.reference import answers as ref
from ragworthy.safe import json_text

_STOPS = (TypeError, ValueError, AttributeError, LookupError, RecursionError, OverflowError, ZeroDivisionError)
"""How the sources' programs end on input that they were not made for."""


def plain_lines(path: Path) -> Iterator[Any]:
    """The lines of a file as the sources' own scorers read them."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line.strip())


def stability_reference(gold: Path, runs: Path, limits: tuple[str, ...]) -> tuple[str, bool]:
    """What the sources' stability program prints, and whether it says pass."""
    from ragworthy.reference import stability as program

    for path in (gold, runs):
        check_readable(path)
    numbers = {name: float(number) for name, _, number in (one.partition("=") for one in limits)}
    try:
        printed = program.score(plain_lines(gold), plain_lines(runs), numbers)
    except _STOPS as error:
        raise _stopped(error) from None
    return json.dumps(printed, indent=2) + "\n", bool(printed["pass"])


def agreement_reference(first: Path, second: Path | None) -> tuple[str, bool, str]:
    """What the sources' agreement program prints, whether it says pass, and its table of disagreements."""
    from ragworthy.reference import agreement as program

    for path in (first, second) if second else (first,):
        check_readable(path)
    try:
        pairs = list(plain_lines(first))
        if second is not None:
            pairs = program.joined(pairs, list(plain_lines(second)))
        printed, table = program.score(pairs), program.tsv(pairs)
    except _STOPS as error:
        raise _stopped(error) from None
    return json.dumps(printed, indent=2) + "\n", bool(printed["pass"]), table


def _stopped(error: Exception) -> UsageError:
    reason = f"{type(error).__name__}: {error}"
    return usage_error(f"the reference scorer stops on this input ({reason})", code="RW-U02")


def reference(gold: Path, traces: Path, k: int, gates: str | None) -> tuple[str, bool]:
    """What the sources' own scorer prints, and whether it says pass."""
    for path in (gold, traces):
        check_readable(path)
    try:
        printed = ref.score(plain_lines(gold), plain_lines(traces), k, ref.DEFAULT_GATES if gates is None else gates)
        return json.dumps(printed, indent=2) + "\n", bool(printed["pass"])
    except _STOPS as error:
        raise _stopped(error) from None


def retrieval_reference(gold: Path, traces: Path, corpus: Path | None, k: int) -> tuple[str, Verdict]:
    """What the evaluator of the retrieval page returns, and the verdict of its gates."""
    from ragworthy.ids import section_key
    from ragworthy.reference import retrieval as page

    for path in (gold, traces):
        check_readable(path)
    known = load_corpus(corpus) if corpus is not None else None

    def section_of(name: str) -> str:
        place = known.place(name) if known is not None else place_of(name)
        return place.section or section_key(name)

    def gold_offsets(question: Any, name: str) -> Any:
        given = question.get("relevant_offsets", {}).get(name)
        if given is None and known is not None:
            given = known.place(name).span
        if given is None:
            raise usage_error(f'the bytes of "{name}" are not known: give relevant_offsets or --corpus', code="RW-U02")
        return given

    try:
        found = page.score(plain_lines(gold), plain_lines(traces), k, section_of=section_of, gold_offsets=gold_offsets)
        text = json_text(found, nan=True)
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError, ZeroDivisionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise usage_error(f"the reference evaluator stops on this input ({reason})", code="RW-U02") from None
    passed = page.passes(found)
    return text, Verdict.INVALID if passed is None else Verdict.SHIP if passed else Verdict.NO_SHIP
