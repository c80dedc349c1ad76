"""A second look at gold and traces side by side: what was asked, which ids they know, and what answers cite.

The reader of a million traces keeps none of this. Files of up to 32 MiB are gone through once more; of larger ones only
the flags are known, and nothing is said here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragworthy.collector import without_gc
from ragworthy.load.decode import Decoder
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.echo import repeats
from ragworthy.metrics.facts.inside import only_inside
from ragworthy.metrics.facts.pieces import every_piece
from ragworthy.metrics.facts.tops import MANY
from ragworthy.records import Gold
from ragworthy.report.part import Note
from ragworthy.report.show import plural
from ragworthy.suites.unfitting import asked_as, unfitting
from ragworthy.text import compiled, fold, letters, squeeze, trim_fold

if TYPE_CHECKING:
    from ragworthy.suites.id_forms import Pair, Unseen

UP_TO = 32 << 20
FEW, DECIDING = 3, 10
"""From so many traces on, and from more than a tenth of all, other questions than the gold set's decide the numbers."""


class Glimpse(msgspec.Struct, frozen=True, gc=False):
    """A trace as a second look takes it in: what was asked, retrieved and cited. It was read as a trace before."""

    qid: Any = None
    q_id: Any = None
    question: Any = None
    query: Any = None
    q: Any = None
    retrieved_ids: list[str] | None = None
    answer_json: Any = None
    error: Any = None

    @property
    def asked(self) -> str | None:
        """The question that was answered; the text of a search only where nothing else is said."""
        for one in (self.question, self.q, self.query):
            if isinstance(one, str) and one.strip():
                return one
        return None

    @property
    def citations(self) -> Any:
        """What the answer cites."""
        return self.answer_json.get("citations") if isinstance(self.answer_json, dict) else None

    @property
    def claim(self) -> str:
        """What the answer says; nothing where there is none."""
        said = self.answer_json.get("claim") if isinstance(self.answer_json, dict) and self.error is None else None
        return said if isinstance(said, str) else ""


_NAMED = r"(?:quelle|source|fuente|dokument|document|doc|passage|abschnitt|extrait|fragmento|ref)s?\.?\ *"
_LIKE_MARKERS = rf"\((?:{_NAMED})?\d{{1,2}}\)|\b{_NAMED}\d{{1,2}}\b"
"""What models write to cite, besides the forms that are known: a number in round brackets, or a source's."""


class Fit(NamedTuple):
    """What a second look shows; nothing where there was none."""

    looked: bool = False
    compared: int = 0
    """Questions whose trace says what was asked, and whose gold item does."""
    others: Sequence[tuple[str, str]] = ()
    """Those that were asked something else, with what was asked."""
    traced: int = 0
    """Questions that have a trace."""
    unseen: "Unseen | None" = None
    """Gold ids that occur in no trace."""
    cited: int = 0
    """How many citations there are in all."""
    outside: int = 0
    """Those of ids that were not retrieved."""
    twisted: int = 0
    """Those of them that are a retrieved id in another form."""
    pair: "Pair | None" = None
    """The first of these: as it was cited, and as it was retrieved."""
    echoes: Sequence[str] = ()
    """Questions whose claim repeats the question."""
    inside: Sequence[str] = ()
    """Questions whose claim has the gold text only inside a longer number."""
    unread: tuple[int, str] = (0, "")
    """Claims that hold something like a marker, where nothing is cited at all, and the first such thing."""

    @property
    def elsewhere(self) -> bool:
        """Whether so many traces answer something else that the numbers rest on it, and enough can be compared."""
        few = len(self.others) < FEW or DECIDING * len(self.others) <= self.compared
        return (not few or 2 * len(self.others) > self.compared) and 2 * self.compared >= self.traced

    @property
    def invalid(self) -> tuple[str, ...]:
        """Why the traces cannot speak for this gold set."""
        return unfitting(self.others if self.elsewhere else (), self.compared, self.unseen)

    @property
    def notes(self) -> list[Note]:
        """What should be looked at."""
        others, lost = self.others, self.unseen
        asked = plural(len(others), "trace answers", "traces answer")
        first = asked_as(others[0]) if others else ""
        alike = lost is not None and lost.alike is not None
        return [
            Note("RW-W79", len(others), f"{asked} another question than the gold set asks, e.g. {first}",
                 [qid for qid, _ in others]),
            Note("RW-W82" if alike else "RW-W81", len(lost.names) if lost is not None else 0,
                 lost.told if lost is not None else ""),
            Note("RW-W82", self.twisted, self.told),
            Note("RW-W98", len(self.echoes), _repeating(self.echoes), list(self.echoes)),
            Note("RW-W101", len(self.inside), _inside(self.inside), list(self.inside)),
        ]  # fmt: skip

    @property
    def told(self) -> str:
        """How many citations differ in form only."""
        outside = plural(self.outside, "citation that was", "citations that were")
        return (
            f"{self.twisted:,} of {outside} not retrieved {'differs' if self.twisted == 1 else 'differ'} from a "
            f"retrieved id only in form: {self.pair}"
        )


def _repeating(qids: Sequence[str]) -> str:
    shown = f", e.g. that of {qids[0]}" if qids else ""
    return f"{plural(len(qids), 'claim repeats', 'claims repeat')} the question in place of an answer{shown}"


def _inside(qids: Sequence[str]) -> str:
    shown = f", e.g. that of {qids[0]}" if qids else ""
    many = plural(len(qids), "answer counts", "answers count")
    return f"{many} as right only because a gold piece is inside a longer number{shown}"


def fit_of(golds: Sequence[Gold], traces: Source, rules: Rules) -> Fit:
    """Hold the traces of a file against the questions that they answer, in gold order."""
    if not golds or traces.size > UP_TO:
        return Fit()
    with without_gc():
        return _fit(golds, traces, rules)


def _fit(golds: Sequence[Gold], traces: Source, rules: Rules) -> Fit:
    last: dict[Any, Glimpse] = {}
    seen: set[str] = set()
    for trace in _glimpses(traces):
        last[trace.qid or trace.q_id] = trace
        if trace.retrieved_ids:
            seen.update(trace.retrieved_ids)
        if trace.citations:
            seen.update(_ids(trace.citations))
    asked, cited, said = _Asked(), _Cited(), _Said(rules)
    for gold in golds:
        one = last.get(gold.qid or gold.q_id or "")
        if one is not None:
            asked.take(gold, one)
            cited.take(one)
            said.take(gold, one.claim)
    lost = None if rules.chunks is not None else _unseen(golds, seen)
    texts = Counter(text for _, text in asked.others)
    others = [(qid, text) for qid, text in asked.others if texts[text] == 1]
    compared = asked.same + len(others)
    unread = (0, "") if cited.all else _unread(one.claim for one in last.values() if one.claim)
    return Fit(
        True, compared, others, asked.traced, lost, cited.all, cited.outside, cited.twisted, cited.pair,
        said.echoes, said.inside, unread,
    )  # fmt: skip


def _unread(claims: Iterable[str]) -> tuple[int, str]:
    """How many claims hold something like a marker, and the first.

    >>> _unread(["It is so (Quelle 3).", "In 1990 (see below).", "As source 2 says, yes."])
    (2, '(Quelle 3)')
    """
    marker = compiled(_LIKE_MARKERS, re.IGNORECASE)
    found = [held[0] for claim in claims if (held := marker.search(claim)) is not None]
    return len(found), found[0] if found else ""


def _glimpses(source: Source) -> Iterator[Glimpse]:
    decoder = Decoder(Glimpse, lambda value: [])
    for block in source.blocks():
        yield from decoder.records(block)


def _plain(text: str) -> str:
    return letters(text) or squeeze(fold(text))


def _ids(given: Any) -> list[str]:
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


class _Asked:
    """What traces say that they were asked."""

    def __init__(self) -> None:
        self.same = 0
        self.others: list[tuple[str, str]] = []
        """Question and text. A text that is under several questions says nothing of what was asked."""
        self.traced = 0

    def take(self, gold: Gold, trace: Glimpse) -> None:
        """Hold the text of a trace against that of its question."""
        self.traced += 1
        text, question = trace.asked, gold.question
        if not text or not question:
            return
        if text == question or _plain(text) == _plain(question):
            self.same += 1
        else:
            self.others.append((gold.qid or gold.q_id or "", text))


class _Cited:
    """Citations, counted."""

    def __init__(self) -> None:
        self.all = self.outside = self.twisted = 0
        self.pair: Pair | None = None

    def take(self, trace: Glimpse) -> None:
        """Count the citations of a trace that did not end in an error."""
        if trace.error is not None:
            return
        names, retrieved = _ids(trace.citations), trace.retrieved_ids or []
        self.all += len(names)
        known = retrieved if len(names) < MANY else frozenset(retrieved)
        odd = [name for name in names if name not in known]
        if not odd:
            return
        from ragworthy.suites.id_forms import Forms, Pair

        self.outside += len(odd)
        forms = Forms(retrieved)
        for name in odd:
            meant = forms.meant(name)
            if meant is not None:
                self.twisted += 1
                self.pair = self.pair or Pair(name, meant)


class _Said:
    """Claims that are not what their rate takes them for."""

    def __init__(self, rules: Rules) -> None:
        self.echoes: list[str] = []
        self.inside: list[str] = []
        self._rules = rules
        self._refusals = frozenset(map(trim_fold, rules.refusals))

    def take(self, gold: Gold, claim: str) -> None:
        """Look at what was said to a question."""
        if claim and gold.question and repeats(claim, gold.question):
            self.echoes.append(gold.qid or gold.q_id or "")
        counts = claim and gold.answerable and only_inside(gold, claim, short_words=self._rules.short_words)
        if counts and not self._refuses(gold, claim):
            self.inside.append(gold.qid or gold.q_id or "")

    def _refuses(self, gold: Gold, claim: str) -> bool:
        rules = self._rules
        by_rule = rules.by_rule is not None and rules.by_rule.rule(
            claim, every_piece(gold), short_words=rules.short_words
        )  # fmt: skip
        return bool(by_rule) or trim_fold(claim) in self._refusals


def met_by(first: Fit, others: Sequence[Fit]) -> Fit:
    """The first run without gold ids that only a further run has met; one that knows none at all stays as it is."""
    lost = first.unseen
    if lost is None or lost.all:
        return first
    gone = [set(one.unseen.names) if one.unseen is not None else set[str]() for one in others]
    names = [name for name in lost.names if all(name in each for each in gone)]
    return first._replace(unseen=lost._replace(names=names) if names else None)


def _unseen(golds: Sequence[Gold], seen: set[str]) -> "Unseen | None":
    """Gold ids in no trace, looked for only where one is missing."""
    wanted = [name for gold in golds if gold.answerable for name in gold.gold_citations or ()]
    if seen.issuperset(wanted):
        return None
    from ragworthy.suites.id_forms import unseen

    return unseen(wanted, seen)
