"""Single questions of the answers suite for people, each with its whole text, as text and as Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragworthy.errors import usage_error
from ragworthy.load.decode import Decoder, Record
from ragworthy.load.gold import name_of, resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.names import HARMLESS
from ragworthy.records import NO_ANSWER, Gold, Trace
from ragworthy.safe import fill, uncommanded
from ragworthy.suites.answers.offenders import offender_of, remarks_of
from ragworthy.suites.answers.parallel.job import Offender as Kept
from ragworthy.suites.answers.read import Kept as Own
from ragworthy.suites.answers.wording import READS_LIKE, expected_text, missing_pieces
from ragworthy.suites.opened import Opened
from ragworthy.text import clip, visible

LONGEST = 20_000
"""Characters of one text."""
_GREEN, _RED = "32", "31"


class View(NamedTuple):
    """Everything that is known of one question."""

    qid: str
    label: str
    stage: str | None
    good: bool
    lines: list[tuple[str, str]]
    """Names and texts, in the order in which they are read."""


def look(own: Own, opened: Opened, ids: Sequence[str]) -> list[View]:
    """Some questions by their ids, in the order asked for; of several traces the last one counts."""
    place = {qid: nth for nth, qid in enumerate(own.qids)}
    if unknown := [name for name in ids if name not in place]:
        raise usage_error(f'--item: expected a qid of the gold set, got "{unknown[0]}"')
    wanted = frozenset(ids)
    golds = {name_of(one): one for one in _all(opened["gold"], Gold) if name_of(one) in wanted}
    traces = {name_of(one): one for one in _all(opened["trace"], Trace) if name_of(one) in wanted}
    opened.check_unchanged()
    bind = own.bindings.bind if own.bindings is not None else None
    return [_view(own, place[name], resolved(golds[name], bind), traces.get(name)) for name in ids]


def _all(source: Source, kind: type[Record]) -> Iterator[Record]:
    decoder = Decoder(kind)
    for block in source.blocks():
        yield from decoder.records(block)


def _view(own: Own, nth: int, gold: Gold, trace: Trace | None) -> View:
    flags, compared, qid = own.flags[nth], own.compared.get(nth), own.qids[nth]
    known = trace or Trace()
    answer = known.answer_json or NO_ANSWER
    kept = Kept(
        0,
        qid,
        flags,
        answer.claim,
        answer.citations,
        known.retrieved_ids or [],
        gold.gold_citations or [],
        gold.question,
        f.said_error(known) if flags & f.ERRORED else None,
        compared,
        expected_text(gold),
        missing_pieces(gold, known, own.how) if flags & f.ALL_OF else None,
    )
    one = offender_of(kept, own)
    remarks = [*([READS_LIKE] if flags & f.NEAR_REFUSAL else ()), *remarks_of(own).get(qid, ())]
    cited = one.citations if isinstance(one.citations, list) else [one.citations]
    told = {
        "question": one.question or "",
        "expected": kept.expected if gold.answerable else "a refusal",
        "claim": one.claim or "",
        "cites": _ids(cited),
        "gold": _ids(one.gold_citations),
        "retrieved": _ids(one.retrieved_ids),
        "why": "" if one.label in HARMLESS else one.why,
        "remarks": ", ".join(remarks),
    }
    lines = [(name, text) for name, text in told.items() if text]
    return View(qid, str(one.label), one.stage, one.label in HARMLESS, lines)


def _ids(given: Iterable[object]) -> str:
    return ", ".join(map(str, given)) or "none"


def _verdict(view: View) -> str:
    return f"{view.label} ({view.stage})" if view.stage else view.label


def render(views: Sequence[View], form: str, *, colour: bool = False) -> str:
    """Questions one after another, as text or Markdown."""
    return "\n".join(markdown(one) if form == "markdown" else text(one, colour=colour) for one in views)


def text(view: View, *, colour: bool = False) -> str:
    """A question for the terminal, each text whole and on lines of its own."""
    verdict = _verdict(view)
    if colour:
        verdict = f"\x1b[1;{_GREEN if view.good else _RED}m{verdict}\x1b[0m"
    lines = [f"{visible(clip(view.qid, 80))}  {verdict}"]
    for name, said in view.lines:
        first, *rest = map(visible, said[:LONGEST].splitlines() or [""])
        lines += [f"  {name:<9}  {first}".rstrip(), *(f"{' ' * 13}{line}".rstrip() for line in rest)]
    return "\n".join(map(uncommanded, lines)) + "\n"


def markdown(view: View) -> str:
    """A question for a pull request."""
    lines: list[str] = [fill("### {}: {}", clip(view.qid, 400), _verdict(view)), ""]
    for name, said in view.lines:
        lines += [fill("**{}:** {}", name, clip(said, LONGEST)), ""]
    return "\n".join(lines)
