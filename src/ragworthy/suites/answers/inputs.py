"""Everything one run reads, opened; and what is wrong with it, in words."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.load.decode import Decoder
from ragworthy.load.extras import Earlier, Lock, Pack
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Flaw, Gold, Measured


class Inputs(NamedTuple):
    """Everything that is read, opened."""

    gold: Source
    traces: Source
    corpus: Source | None
    chunks: dict[str, str] | None
    packs: tuple[Pack, ...]
    earlier: Earlier | None
    lock: Lock | None
    lock_path: Path | None

    def counted(self, measured: Measured) -> list[tuple[Source, int]]:
        """The record sources with how many records each holds."""
        counted = [(self.gold, sum(measured.tally.values())), (self.traces, measured.traces)]
        if self.corpus is not None and self.chunks is not None:
            counted.append((self.corpus, len(self.chunks)))
        return counted

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source in (self.gold, self.traces, self.corpus):
            if isinstance(source, FileSource):
                source.check_unchanged()


def lines(inputs: Inputs, role: str, offsets: Iterable[int]) -> dict[int, str]:
    """Places as file:line."""
    source = inputs.gold if role == "gold" else inputs.traces
    return {offset: f"{source.label}:{line}" for offset, line in source.lines_at(offsets).items()}


def stop_on_flaws(measured: Measured, inputs: Inputs) -> None:
    """Raise what is wrong with the files, gold first, each with its line."""
    if measured.flaw_count:
        short = sum(n for (flags, _), n in measured.tally.items() if flags & f.ONLY_SHORT and flags & f.RESCUABLE)
        advice = f'short_substr = "word" would make {short:,} of these items scorable' if short else ""
        problems = list(_problems(measured.flaws[:MOST_PROBLEMS], inputs))
        raise DataError(problems, measured.flaw_count, advice)
    if not measured.tally:
        raise data_error("RW-G05", "expected gold records, got none", where=inputs.gold.given)


def _problems(flaws: list[Flaw], inputs: Inputs) -> Iterator[Problem]:
    for flaw in flaws:
        source = inputs.gold if flaw.role == "gold" else inputs.traces
        line = source.lines_at([flaw.offset])[flaw.offset]
        yield Problem(flaw.code, flaw.message, f"{source.given}:{line}", flaw.field)


_QUESTIONS_UP_TO = 32 << 20


def repeated_questions(source: Source) -> list[tuple[str, str]]:
    """Pairs of qids with the same question text, in gold sets of up to 32 MiB ('gold lint' has no limit)."""
    if source.size > _QUESTIONS_UP_TO:
        return []
    decoder = Decoder(Gold)
    first: dict[str, str] = {}
    pairs = []
    for block in source.blocks():
        for gold in decoder.records(block):
            if gold.question:
                qid = gold.qid or gold.q_id or ""
                earlier = first.setdefault(gold.question, qid)
                if earlier != qid:
                    pairs.append((earlier, qid))
    return pairs


def plain_lines(path: Path) -> Iterator[Any]:
    """The lines of a file as the sources' own scorer reads them."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line.strip())
