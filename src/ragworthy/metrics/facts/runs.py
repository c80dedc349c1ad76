"""What is established about one retrieval run: at which ranks what is wanted was found, and what was cited.

A run is one wording of a question under one seed. Every metric in `retrieval.py` is a pure function of these facts.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.cited import Citation
from ragworthy.ids import all_stable
from ragworthy.metrics.facts.cites import citing, contradicts, held_of, pointed
from ragworthy.metrics.facts.contract import carries, finding, turned_round
from ragworthy.metrics.facts.pieces import is_lost
from ragworthy.metrics.facts.returned import Found, meant, returned
from ragworthy.metrics.facts.said import Said, said_in
from ragworthy.metrics.facts.wanted import Rules, Wanted
from ragworthy.records import RetrievalTrace
from ragworthy.text import fold

FARTHEST = 1.0
"""The distance of a citation that was never retrieved."""
KEPT = 256
"""Of so many questions it is known what earlier runs showed: the runs of a question mostly follow each other."""


class Facts(NamedTuple):
    """The facts of one run. Ranks start at 1; 0 stands for "not found"."""

    answerable: bool
    present: bool
    gone: bool
    """Whether nothing of what is relevant is in this version of the corpus."""
    returned: int
    blocks: tuple[int, ...]
    """For each relevant block the rank at which it was first found."""
    relevant: tuple[int, ...]
    """The ranks of distinct relevant ids."""
    gains: tuple[int, ...]
    ideal: tuple[int, ...]
    types: tuple[str, ...]
    anchor: int
    anchored: bool
    opaque: bool
    """Whether a block that was returned or cited, and is not relevant, has no known section."""
    negative: int
    negatives: bool
    answers: bool
    """Whether the traces carry answers at all."""
    by_rank: bool
    """Whether the citations are only the first results, because no answer was written."""
    errored: bool
    answered: bool
    covered: bool
    accurate: bool | None
    exact: bool | None
    distance: int | None
    cross_doc: bool
    delta_s: Fraction | None
    far: bool
    """Whether the citation is as far away as unrelated text, where distances are on a scale that says so."""
    key: str
    cited: tuple[str, ...]
    tokens: tuple[int, int] | None
    refused: bool = False
    in_scope: bool = True
    """Whether everything that is cited was returned."""
    named: bool = False
    """Whether a relevant block itself is cited, and not only its section."""
    lost: bool = False
    """Whether the gold text is in a relevant block and in none that was returned; known only with a corpus."""
    names: tuple[str, ...] = ()
    """The ids that were returned, in order."""
    probes: tuple[Fraction, Fraction] | None = None
    """The median and the 90th percentile of the distances of everything that was returned, where the trace has them."""
    top: Fraction | None = None
    """The distance of the first of them, where the trace has it."""
    before: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Each list before reranking by its name: for each relevant block the rank at which it stood there."""
    better: tuple[tuple[int, str], ...] = ()
    """For each k the list that is the better one over all questions."""
    rho: Fraction | None = None
    """How alike its order is to that of the index in use, where there is one."""
    as_live: bool | None = None
    """Whether it cites what the index in use cites."""
    claims: bool = False
    """Whether an answer says something that is not a refusal."""
    payload: bool = False
    """Whether a citation is more than an id with a range: the traceability payload."""
    contract: str = ""
    """What the traceability contract says of the citations of an answer: "ok", or the first thing that is wrong."""
    held: Fraction = Fraction(0)
    """How much of a relevant block the cited ranges hold: the share of its bytes, of the block that has most."""
    right: tuple[int, int] = (0, 0)
    """How many of the different ids that are cited are relevant, and how many relevant blocks they are."""
    by_id: bool = False
    """Whether the first citation is of a relevant block and has no bytes to compare, its own or those of the block."""


class Reading(NamedTuple):
    """The facts of a run, and what is needed to look at it again."""

    facts: Facts
    query: str
    names: tuple[str, ...]
    """The ids that were returned, in order; those of the facts too."""
    first: str | None
    """The id of the first citation."""
    recorded: float | None
    """Its semantic distance as the trace says."""
    model: tuple[str, str] | None
    """The model that the trace says it comes from."""
    state: str | None
    distances: Sequence[float | None] = ()
    """The distance of each result, as the trace says."""


def missing(wanted: Wanted, *, answers: bool = True) -> Facts:
    """The facts of a question that was never asked."""
    return Facts(
        answerable=wanted.answerable,
        present=False,
        gone=bool(wanted.blocks) and not any(wanted.blocks),
        returned=0,
        blocks=(0,) * len(wanted.blocks),
        relevant=(),
        gains=(),
        ideal=tuple(sorted(wanted.grades, reverse=True)),
        types=(),
        anchor=0,
        anchored=wanted.anchor is not None,
        opaque=False,
        negative=0,
        negatives=bool(wanted.negatives),
        answers=answers,
        by_rank=False,
        errored=False,
        answered=False,
        covered=False,
        accurate=None,
        exact=None,
        distance=None,
        cross_doc=False,
        delta_s=None,
        far=False,
        key="",
        cited=(),
        tokens=(0, wanted.section_tokens) if wanted.section_tokens else None,
    )


def read(wanted: Wanted, trace: RetrievalTrace, rules: Rules) -> Reading:
    """Establish the facts of one run."""
    return Runs(rules).read(wanted, trace)


class Runs:
    """Reads runs one after another.

    A seed often changes nothing, or nothing but the answer: what follows from the same results, and from the same
    results and citations, is worked out once for the runs of a question.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._known: dict[str, _Known] = {}
        self.again = False
        """Whether the last run that was read has the facts of an earlier one."""

    def read(self, wanted: Wanted, trace: RetrievalTrace) -> Reading:
        """Establish the facts of one run."""
        rules, topk, distances = self._rules, trace.topk, trace.distances
        given = [one.id for one in topk] if topk is not None else trace.retrieved_ids or []
        names = all_stable(given)
        if rules.moves is not None:
            names = tuple([meant(one, None, trace, rules)[0] for one in given])
        facts = self._facts(wanted, names, trace)
        first = facts.cited[0] if facts.cited else None
        recorded = None
        if first is not None and distances is not None:
            recorded = distances[names.index(first)] if first in names else FARTHEST
        model = (trace.delta_s_model.name, trace.delta_s_model.weights) if trace.delta_s_model is not None else None
        return Reading(facts, trace.query or "", facts.names, first, recorded, model, trace.state, distances or ())

    def _facts(self, wanted: Wanted, names: tuple[str, ...], trace: RetrievalTrace) -> Facts:
        known = self._known_of(wanted)
        said = said_in(trace, self._rules)
        order = _order_of(names, trace) if self._rules.moves is None else None
        same = known.orders.get(order)
        if same is None:
            same = _Same(returned(wanted, names, trace, self._rules), {})
            if order is not None:
                known.orders[order] = same
        answer = None if known.by_claim else _answer_of(said, trace)
        self.again = answer in same.runs
        if self.again:
            return same.runs[answer]
        # Made once, with everything that was found: each copy of so many fields is a noticeable part of a run.
        found = known.unread | same.found | _answered(wanted, same.found, said, trace, self._rules)
        facts = Facts._make(found.values())
        if answer is not None:
            same.runs[answer] = facts
        return facts

    def _known_of(self, wanted: Wanted) -> "_Known":
        known = self._known.get(wanted.qid)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            by_claim = self._rules.texts is not None and bool(wanted.pieces)
            known = self._known[wanted.qid] = _Known(missing(wanted)._asdict(), by_claim, {})
        return known


class _Same(NamedTuple):
    """Runs with the same results: what their order shows, and the facts of each different answer to them."""

    found: Found
    runs: dict[Hashable, Facts]


class _Known(NamedTuple):
    """What earlier runs of a question showed."""

    unread: Found
    """The facts of a question that was never asked, each field in its place."""
    by_claim: bool
    """Whether claims are compared with texts: then every claim counts for itself."""
    orders: dict[Hashable, _Same]


def _order_of(names: tuple[str, ...], trace: RetrievalTrace) -> Hashable:
    """All that the order of the results is judged by; None where a run has more than ids, types and bytes.

    A citation takes its bytes from the result whose id it has to the letter, so revisions in ids count, too.
    """
    if trace.before_rerank is not None:
        return None
    if trace.topk is None:
        return names
    written = tuple([one.id for one in trace.topk])
    kinds, spans = [one.type for one in trace.topk], [one.offsets for one in trace.topk]
    if kinds.count(None) == spans.count(None) == len(names) and written == names:
        return names
    return written, tuple(kinds), tuple(spans)


def _answer_of(said: Said, trace: RetrievalTrace) -> Hashable:
    """All that an answer is judged by, beside the results; None where that is more than the ids and bytes it cites."""
    if trace.error is not None:
        return None
    if said.cited is None:
        return ()
    cited: list[Hashable] = []
    for one in said.cited:
        if isinstance(one, str):
            cited.append(one)
        elif carries(one) or one.unit is not None:
            return None
        else:
            cited.append((one.id, one.offsets))
    return tuple(cited), said.refused, said.speaks, trace.cited_by


def _answered(wanted: Wanted, found: Found, said: Said, trace: RetrievalTrace, rules: Rules) -> Found:
    """What the answer shows, where what was returned is known."""
    if trace.error is not None:
        # What was retrieved before an error counts as retrieved; nothing was answered, whatever is beside it.
        return {"answers": said.cited is not None, "errored": True}
    if said.cited is None:
        return {"answers": False}
    citations = [] if said.refused else [Citation(one) if isinstance(one, str) else one for one in said.cited]
    names, cited = found["names"], pointed(citations, trace, rules)
    shown = {
        "answers": True,
        "by_rank": trace.cited_by == "rank",
        "refused": not cited and said.refused,
        "in_scope": all([name in names for name, _ in cited]),
        "claims": said.speaks,
        "payload": any(map(carries, citations)),
        "held": held_of(wanted, citations, cited, rules),
        "contract": finding(citations, trace),
        "lost": any(found["blocks"]) and _is_lost(wanted, names, said, rules),
    }
    if not cited:
        return shown
    shown |= citing(wanted, cited, rules, opaque=found["opaque"])
    if turned_round(citations[0]) or contradicts(citations[0], shown, trace, rules):
        shown |= {"accurate": False, "exact": False, "by_id": False}  # it points nowhere, or elsewhere
    return shown


def _is_lost(wanted: Wanted, names: Sequence[str], said: Said, rules: Rules) -> bool:
    """Whether what the claim lacks is in a relevant block and in none that was returned, as in the answers suite.

    Where the gold set names short pieces, it is scored with them as words.
    """
    if rules.texts is None or not wanted.pieces or not said.claims:
        return False
    claim = "" if said.refused else fold(said.claims[-1])
    return is_lost(wanted.pieces, sorted(wanted.ids), claim, names, rules.texts, short_words=True)
