"""What every suite shows of a single question: what was expected, what was answered, and the texts behind the ids."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragworthy.errors import DataError
from ragworthy.ids import stable
from ragworthy.load.decode import Decoder
from ragworthy.metrics.facts.pieces import every_piece, needed, occurs, tells
from ragworthy.names import HARMLESS, MIN_SUBSTR
from ragworthy.records import Chunk, Gold, GoldSource, RetrievalGold
from ragworthy.report.sheet import Answered, Expected, Sheet, Viewed, passages_of
from ragworthy.suites.answers.wording import expected_text
from ragworthy.suites.evidence import Case, Found, Offender, Row
from ragworthy.text import fold, has_cjk

if TYPE_CHECKING:
    from ragworthy.load.sources import Source

BESIDE = "chunks.jsonl"
"""What `ragworthy run` writes beside its traces: the texts of everything that was retrieved."""


# what was expected, and what was answered


def expected_of(gold: Gold) -> Expected:
    """What a gold item of the answers suite expects."""
    return Expected(
        refusal=not gold.answerable,
        text=expected_text(gold),
        evidence=evidence_of(gold),
        ids=list(gold.gold_citations or ()),
    )


def evidence_of(gold: Gold | RetrievalGold) -> list[str]:
    """Texts and places that an item names as its evidence."""
    return [*(gold.gold_evidence or ()), *map(_place, gold.gold_source or ())]


def _place(one: str | GoldSource) -> str:
    if isinstance(one, str):
        return one
    where = ((name, getattr(one, name)) for name in ("section", "page"))
    return ", ".join([one.doc, *(f"{name} {value}" for name, value in where if value is not None)])


def matches(claim: str, pieces: Iterable[str], *, short_words: bool) -> list[tuple[int, int]]:
    """Where gold text is in a claim, as far as it is written there letter by letter.

    >>> matches("45 Days, or 145 days; Rome, Romeo", ["45 days", "rome"], short_words=True)
    [(0, 7), (13, 20), (22, 26)]
    """
    found: list[tuple[int, int]] = []
    for piece in filter(tells, pieces):
        if occurs([piece], fold(claim), short_words=short_words):
            found += [one.span() for one in re.finditer(_pattern(piece), claim, re.IGNORECASE)]
    apart: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if apart and begin <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((begin, end))
    return apart


def _pattern(piece: str) -> str:
    literal = re.escape(piece)
    return literal if len(fold(piece)) >= MIN_SUBSTR or has_cjk(piece) else rf"(?<!\w){literal}(?!\w)"


def answered_of(
    gold: Gold | None, claim: str | None, citations: Any, *, error: str | None = None, short_words: bool = True
) -> Answered:
    """An answer with the gold text in it marked, and what of it is there and what is not."""
    from ragworthy.metrics.facts.pieces import named

    has, lacks = list[str](), list[str]()
    groups = needed(gold) if gold is not None and gold.answerable and claim else []
    for group in groups:
        (has if occurs(group, fold(claim or ""), short_words=short_words) else lacks).append(named(group))
    return Answered(
        claim=claim,
        matches=matches(claim, every_piece(gold), short_words=short_words) if claim and gold is not None else [],
        has=has,
        lacks=lacks,
        citations=citations if citations is not None else [],
        error=error,
    )


# the texts behind ids


class Texts(NamedTuple):
    """The texts of some ids; or why none is known, and how to get them."""

    texts: dict[str, str]
    why: str = ""


def with_texts(found: Found, shown: Sequence[Viewed]) -> list[Viewed]:
    """Questions with the texts behind their ids, all of them from one reading of the corpus."""
    known = _known(found, frozenset(one.id for each in shown for one in each.sheet.passages))
    return [_with_own(found, one, known) for one in shown]


def _with_own(found: Found, shown: Viewed, known: "Texts") -> Viewed:
    """One of them with its texts, and what is to be said of those that are not there."""
    sheet = shown.sheet
    if not sheet.passages:
        return shown
    passages = [msgspec.structs.replace(one, text=known.texts.get(one.id)) for one in sheet.passages]
    notes = [known.why] if known.why else []
    lost = [] if known.why else sorted(one.id for one in passages if one.text is None)
    if lost:
        where = "the corpus" if found.request.get("corpus") is not None else f"{BESIDE} beside the traces"
        notes = [f"not in {where}, so without a text: {', '.join(lost[:5])}{' …' if len(lost) > 5 else ''}"]
    return shown.having(passages=passages, notes=[*sheet.notes, *notes])


def _known(found: Found, wanted: frozenset[str]) -> "Texts":
    """The texts of some ids: from the corpus, else from what a run wrote beside its traces. The file is streamed."""
    given = found.request.get("corpus")
    beside = _beside(found)
    if given is None and beside is None:
        return Texts({}, _how(found))
    from ragworthy.index.blocks import chunk_source

    try:
        return Texts(_streamed(chunk_source(given if given is not None else beside), wanted) if wanted else {})
    except DataError as error:
        return Texts({}, f"texts are not shown: {error.problems[0]}")


def _streamed(source: "Source", wanted: frozenset[str]) -> dict[str, str]:
    decoder, known = Decoder(Chunk), dict[str, str]()
    for block in source.blocks():
        for chunk in decoder.records(block):
            for name in (chunk.name, stable(chunk.name)):
                if name in wanted:
                    known.setdefault(name, chunk.text)
    return known


def _beside(found: Found) -> Path | None:
    """The texts that lie beside the traces."""
    for one in found.request.given:
        given = found.request.get(one)
        declared = next((each for each in _inputs(found) if each.key == one), None)
        if declared is not None and declared.receipt_role == "trace" and isinstance(given, (str, Path)):
            path = Path(given).parent / BESIDE
            return path if path.is_file() and path.resolve() != Path(given).resolve() else None
    return None


def _inputs(found: Found) -> Sequence[Any]:
    from ragworthy.suites import SUITES

    return SUITES[found.request.suite].inputs


def _how(found: Found) -> str:
    takes = any(one.key == "corpus" for one in _inputs(found))
    other = f"{BESIDE} of the run beside the traces ('ragworthy run' writes it)"
    return (
        f"no texts: give the index or its chunks (corpus, --corpus), or lay {other}"
        if takes
        else f"no texts: lay {other}"
    )


# a sheet


def sheet_of(case: Case, row: Row, one: Offender, found: Found, **more: Any) -> Sheet:
    """What a suite knows of a question as it is in a report; `with_texts` adds the texts behind its ids."""
    citations = one.citations if isinstance(one.citations, list) else [one.citations]
    cited = [name for name in map(id_of, citations) if name]
    gold = list(one.gold_citations)
    good = is_good(case)
    own: Mapping[str, Any] = one.own
    usual = {
        "expected": Expected(text=str(own.get("expected") or ""), ids=gold),
        "answer": None if one.claim is None and not citations else answered_of(None, one.claim, one.citations),
        "remarks": list(own.get("remarks") or ()),
    }
    return Sheet(
        suite=found.request.suite,
        qid=case.qid,
        good=good,
        label=None if case.label is None else str(case.label),
        stage=None if good or case.stage is None else str(case.stage),
        cause=None if good or case.cause is None else str(case.cause),
        why="" if good else one.why,
        question=one.question,
        passages=passages_of(gold, cited, one.retrieved_ids),
        metrics=row.metrics,
        undefined=row.undefined,
        **(usual | more),
    )


def viewed(case: Case, row: Row, one: Offender, found: Found) -> Viewed:
    """The same as it is shown."""
    return Viewed(sheet_of(case, row, one, found))


def is_good(case: Case) -> bool:
    """Whether a question is as it should be."""
    return case.label is None or case.label in HARMLESS


def id_of(cited: Any) -> str:
    """The id that a citation names; nothing where it names none."""
    if isinstance(cited, dict):
        cited = cited.get("id")
    return cited if isinstance(cited, str) else str(getattr(cited, "id", "") or "")
