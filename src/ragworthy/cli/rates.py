"""What `index check` says of chunks as text: bleeding sections, headers and footers, errors against a reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ragworthy.corpus import proofread, rates
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.sources import read_documents
from ragworthy.errors import usage_error
from ragworthy.index.build import chunks_of
from ragworthy.records import Chunk
from ragworthy.report.show import plural
from ragworthy.text import clip

_SHOWN = 3


class Rated(NamedTuple):
    """Lines to print, and how many targets are missed."""

    lines: list[str]
    missed: int


def rate(chunks: Sequence[Chunk], reference: str | None, docs: str | None) -> Rated:
    """The rates of the chunking checklists, each with its target. Only errors against a reference count as missed:
    windows that overlap bleed by design, and whoever cuts them decides. `docs` are the documents before they were read.
    """
    lines = _sizes(chunks)
    outside = rates.bleed(chunks)
    if outside.part:
        bad = outside.share > rates.BLEED
        lines.append(f"bleed: {_told(outside, 'tokens')} belong to another section than their chunk{_target(bad, 0.1)}")
    shared = rates.overlap(chunks)
    if shared.part:
        bad = shared.share > rates.OVERLAP
        lines.append(f"overlap: {_told(shared, 'bytes')} are in chunks of two sections{_target(bad, 0.02)}")
    repeated = rates.repeated_lines(chunks)
    if repeated:
        shown = ", ".join(
            f'"{clip(one.text, 40)}" on {one.pages.part} of {one.pages.whole}' for one in repeated[:_SHOWN]
        )
        more = " …" if len(repeated) > _SHOWN else ""
        lines.append(f"headers and footers left in: {plural(len(repeated), 'line')} on most pages: {shown}{more}")
    read = _against(chunks, reference, docs) if reference is not None else Rated([], 0)
    return Rated([*lines, *read.lines], read.missed)


def _sizes(chunks: Sequence[Chunk]) -> list[str]:
    """How large chunks are: told, and judged by nobody, because the sources want different sizes."""
    found = rates.sizes(chunks)
    if found is None:
        return []
    above = f", {found.above:,} above {rates.LARGEST}" if found.above else ""
    return [f"chunk sizes: {found.least:,} to {found.most:,} tokens, median {float(found.median):g}{above}"]


def _against(chunks: Sequence[Chunk], reference: str, docs: str | None) -> Rated:
    wanted = chunks_of(ingest(read_documents(Path(reference))))
    found, absent = rates.compared(chunks, wanted)
    if not found:
        raise usage_error(f"--reference: expected a text of a document of the index, got others, e.g. {absent[0]}")
    lines, missed = [], 0
    for one in found:
        missed += not one.good
        lines.append(
            f"{one.doc_id}: WER {_told(one.words, 'words')}{_target(one.words.share > rates.WORDS, 0.025)}, "
            f"CER of headings and captions {_told(one.characters, 'characters')}"
            f"{_target(one.characters.share > rates.CHARACTERS, 0.01)}"
        )
    lines += [f"{doc}: not in the index" for doc in absent]
    sources = {one.doc_id: one.text for one in read_documents(Path(docs)) if one.text} if docs is not None else {}
    proof = _proof(proofread.proofread(chunks, wanted, sources))
    return Rated([*lines, *proof.lines], missed + proof.missed)


def _proof(proof: proofread.Proof) -> Rated:
    """What was counted over all documents; what there is none of is not mentioned."""
    lines, missed = [], 0
    if proof.headings.whole or proof.spurious.part:
        few, many = proof.headings.share < proofread.HEADINGS, proof.too_many_spurious
        found = f"{_told(proof.headings, 'headings')}{_target(few, float(proofread.HEADINGS), 'least')}"
        extra = f"{proof.spurious.part:,} spurious on {plural(proof.spurious.whole, 'page')}"
        limit = f" (the target is at most 1 in {proofread.PAGES_PER_SPURIOUS} pages)" if many else ""
        lines.append(f"headings found: {found}, {extra}{limit}")
        missed += few + many
    for what, rate, unit, target, side in (
        ("header rows of tables found", proof.tables, "tables", proofread.TABLES, "least"),
        ("words cut at the end of a line put together rightly", proof.hyphens, "words", proofread.HYPHENS, "least"),
        ("lines of the reference removed", proof.removed, "lines", proofread.REMOVED, "most"),
        ("headers or footers that the reference has not", proof.left, "pages", proofread.LEFT, "most"),
    ):
        if rate.whole and (side == "least" or rate.part):
            bad = rate.share < target if side == "least" else rate.share > target
            lines.append(f"{what}: {_told(rate, unit)}{_target(bad, float(target), side)}")
            missed += bad
    return Rated(lines, missed)


def _told(rate: rates.Rate, what: str) -> str:
    return f"{float(rate.share):.4f} ({rate.part:,} of {rate.whole:,} {what})"


def _target(missed: bool, limit: float, side: str = "most") -> str:
    return f" (the target is at {side} {limit:g})" if missed else ""
