"""Metrics of the stability suite. Each maps one question with all its runs to a number, True or False, or None."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from ragworthy import edits
from ragworthy.metrics.answers import steps_of
from ragworthy.metrics.causes import Steps, depth_of
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.constraints import echoes
from ragworthy.metrics.facts.distinct import pairs_of
from ragworthy.metrics.facts.pieces import needed, tells
from ragworthy.metrics.registry import metric
from ragworthy.names import MIN_SUBSTR
from ragworthy.records import Gold, Run, Trace
from ragworthy.text import nfkc, short_piece_occurs, squeeze

SOURCE = "ProblemMap eval/eval_semantic_stability.md"


COMPARED = 20_000
"""So many characters of two claims are compared; comparing all of two that fill a book would take hours."""


class Said(NamedTuple):
    """What is established about one run."""

    refused: bool
    errored: bool
    claim: str | None
    """The claim as it is compared; None for a refusal or where there is none."""
    contains: bool
    hit: bool
    echoed: bool
    """Whether the echo is the set of locked constraints; so it is where these are not checked."""
    cited: frozenset[str]
    found: bool
    """Whether gold evidence was retrieved."""
    retrieved: tuple[str, ...]
    steps: Steps
    """The steps to a right answer that it took."""
    contradicted: bool = False
    """Whether the claim says the opposite of a locked constraint."""
    over_echoed: bool = False
    """Whether the echo has all locked constraints, and others besides."""
    astray: bool = False
    """Whether it cites what was not retrieved, where no gold evidence says what to cite."""

    @property
    def kept(self) -> bool:
        """Whether the locked constraints are kept."""
        return self.echoed and not self.contradicted


class Broken(NamedTuple):
    """A limit that a question does not keep."""

    name: str
    value: Fraction
    limit: str


class Question(NamedTuple):
    """One question with the runs that count; those that asked the very same thing again are left out."""

    answerable: bool
    constrained: bool
    """Whether it has locked constraints, and they are checked."""
    runs: tuple[Said, ...]
    broken: tuple[Broken, ...] = ()
    evidence: bool = True

    @property
    def missing(self) -> bool:
        """No run at all."""
        return not self.runs

    @property
    def errored(self) -> bool:
        """Nothing but errors."""
        return bool(self.runs) and all(run.errored for run in self.runs)

    @property
    def refused(self) -> bool:
        """Nothing but refusals, errors apart."""
        return not self.errored and bool(self.runs) and all(run.refused or run.errored for run in self.runs)


def canon(text: str) -> str:
    """A claim as it is compared: NFKC, lower case, without punctuation of any script, single spaces.

    >>> canon("X rejects NULL keys ."), canon("「X」 拒绝空键。")
    ('x rejects null keys', 'x 拒绝空键')
    """
    return squeeze(nfkc(text).lower().translate(_NO_PUNCTUATION))


class _Kept(dict[int, int | None]):
    """What becomes of each sign that was met so far, for `translate`: punctuation is dropped."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] == "P" else code
        return self[code]


_NO_PUNCTUATION = _Kept()


def said_by(rules: f.Rules, *, whole: bool = True) -> Callable[[Gold, Run], Said]:
    """A function that establishes what a run says, with refusals and hits as in the answers suite.

    `whole` says whether evidence that the corpus does not have is not in the index: see `answers.steps_of`.
    """
    flags_of, gold_flags = f.trace_flags(rules), f.gold_flags(rules)

    def said(gold: Gold, run: Run) -> Said:
        answer = run.answer_json if run.error is None else None
        trace = Trace(qid=run.name, retrieved_ids=run.retrieved_ids, answer_json=answer, error=run.error)
        facts = f.unpack(gold_flags(gold) | flags_of(gold, trace), rules.ks)
        claim = canon(answer.claim or "") if answer is not None and facts.claim else None
        contains = claim is not None and _contains(gold, claim, rules.short_words)
        locked = (gold.constraints or []) if rules.scu else []
        echoed = not locked or echoes(locked, answer.constraints_echo if answer is not None else None)
        steps = steps_of(facts, depth_of(rules.ks), whole=whole)
        return Said(
            refused=facts.refused,
            errored=facts.errored,
            claim=claim,
            contains=contains,
            hit=facts.hit,
            echoed=echoed,
            contradicted=facts.contradicted,
            over_echoed=facts.over_echoed,
            astray=facts.shipped and facts.by_text and facts.astray,
            cited=frozenset() if facts.refused or answer is None else _ids(answer.citations),
            found=facts.retrieved,
            retrieved=tuple(run.retrieved_ids or ()),
            steps=steps._replace(
                right=None if steps.right is None else contains,
                kept=echoed and not facts.contradicted if steps.right is not None and locked else None,
            ),
        )

    return said


def _contains(gold: Gold, claim: str, short_words: bool) -> bool:
    """Whether a claim has the gold text, both as they are compared; without any to look for each claim will do."""
    return all(any(_occurs(piece, claim, short_words) for piece in group) for group in needed(gold))


def _occurs(piece: str, claim: str, short_words: bool) -> bool:
    wanted = canon(piece)
    if not tells(wanted):
        return False
    return wanted in claim if len(piece) >= MIN_SUBSTR else short_words and short_piece_occurs(wanted, claim)


def _ids(cited: object) -> frozenset[str]:
    if not isinstance(cited, list):
        return frozenset()
    return frozenset(one if isinstance(one, str) else repr(one) for one in cited)


# the metrics


@metric(
    better="lower",
    kind="count",
    cases="gold questions",
    event="failing",
    undefined="never: a count of nothing is 0",
    source=f"{SOURCE} §1, §4",
)
def failing_questions(question: Question) -> bool | None:
    """Number of questions that do not keep one of their limits, or have no runs."""
    return question.missing or bool(question.broken)


@metric(
    better="higher",
    kind="share",
    cases="runs of answerable questions",
    event="with the gold text in the claim",
    undefined="no answerable question has runs",
    source=f"{SOURCE} §1",
)
def acr(question: Question) -> tuple[int, int] | None:
    """Share of runs of answerable questions with the gold text in the claim; without gold evidence, citing in scope."""
    return _share(question, answerable=True, holds=lambda run: run.contains and not run.astray)


@metric(
    better="higher",
    kind="share",
    cases="runs of answerable questions",
    event="citing gold evidence",
    undefined="no answerable question has runs",
    source=f"{SOURCE} §1",
)
def cghc(question: Question) -> tuple[int, int] | None:
    """Share of runs of answerable questions that cite gold evidence and nothing outside what was retrieved."""
    return _share(question, answerable=True, holds=lambda run: run.hit) if question.evidence else None


@metric(
    better="higher",
    kind="mean",
    cases="answerable questions",
    event="citing the same in every run",
    undefined="no answerable question has runs",
    source=f"{SOURCE} §1",
)
def css(question: Question) -> Fraction | None:
    """Mean share of the ids cited in any run of an answerable question that are cited in all of its runs."""
    if question.missing or not question.answerable:
        return None
    sets = [run.cited for run in question.runs]
    union = frozenset[str]().union(*sets)
    if not union:  # nothing cited is the same in every run, unless errors are why
        return Fraction(0 if any(run.errored for run in question.runs) else 1)
    return Fraction(len(sets[0].intersection(*sets)), len(union))


@metric(
    better="lower",
    kind="mean",
    cases="answerable questions with two claims",
    event="apart",
    undefined="no answerable question has two claims",
    source=f"{SOURCE} §1",
)
def ned50(question: Question) -> Fraction | None:
    """Mean over answerable questions of the median edit distance between two claims, as a share of the longer."""
    claims = [run.claim for run in question.runs if run.claim is not None or run.errored]
    if not question.answerable or len(claims) < 2:
        return None
    distances = sorted((_apart(one, other), many) for one, other, many in pairs_of(claims))
    below, odd = divmod(len(claims) * (len(claims) - 1) // 2 - 1, 2)
    ends = list(accumulate(many for _, many in distances))
    low, high = (distances[bisect_right(ends, place)][0] for place in (below, below + odd))
    return (low + high) / 2


def _apart(one: str | None, other: str | None) -> Fraction:
    """The edit distance of two claims over the length of the longer; an error (None) is like nothing."""
    if one is None or other is None:
        return Fraction(1)
    if one == other:
        return Fraction(0)
    one, other = one[:COMPARED], other[:COMPARED]
    return Fraction(edits.distance(one, other), max(len(one), len(other)))


@metric(
    better="higher",
    cases="answerable questions with constraints",
    event="keeping them in every run",
    undefined="constraints are not checked (scu), or no answerable question that has some has runs",
    source=f"{SOURCE} §1",
)
def scu_consistency(question: Question) -> bool | None:
    """Share of answerable questions with constraints whose every run echoes exactly these and contradicts none."""
    if question.missing or not question.answerable or not question.constrained:
        return None
    return all(run.kept for run in question.runs)


@metric(
    better="higher",
    kind="share",
    cases="runs of unanswerable questions",
    event="refused",
    undefined="no unanswerable question has runs",
    source=f"{SOURCE} §1: refusal preserved",
)
def refusal_rate(question: Question) -> tuple[int, int] | None:
    """Share of runs of unanswerable questions that refuse; an error is not a refusal, and no answer either."""
    return _share(question, answerable=False, holds=lambda run: run.refused)


@metric(
    better="higher",
    kind="share",
    cases="runs",
    event="doing as most runs of their question: refusing, or not",
    undefined="no question has runs",
    source=f"{SOURCE} §1",
)
def rcr(question: Question) -> tuple[int, int] | None:
    """Share of runs that refuse, or answer, as most runs of their question; says nothing of which is right."""
    if question.missing:
        return None
    refused, errored = (sum(getattr(run, name) for run in question.runs) for name in ("refused", "errored"))
    return max(refused, len(question.runs) - refused - errored), len(question.runs)


@metric(
    better="higher",
    kind="mean",
    short=("i_aa",),
    cases="questions with two runs",
    event="answered alike in every run",
    undefined="no question has two runs",
    source=f"{SOURCE}, named there without a definition",
)
def iaa(question: Question) -> Fraction | None:
    """Mean share of the pairs of runs of a question that agree in refusal, claim and citations."""
    total = len(question.runs) * (len(question.runs) - 1) // 2
    if not total:
        return None
    return Fraction(sum(many for one, other, many in pairs_of(question.runs) if alike(one, other)), total)


@metric(
    better="lower",
    kind="count",
    cases="gold questions",
    event="without a run",
    undefined="never: a count of nothing is 0",
    source="Ragworthy: every question needs runs",
)
def missing(question: Question) -> bool | None:
    """Number of gold questions without a run."""
    return question.missing


@metric(
    better="lower",
    cases="gold questions",
    event="failing",
    undefined="the gold set has no question",
    source=f"{SOURCE} §1, as a share: a count says nothing of how sure it is",
)
def unstable(question: Question) -> bool | None:
    """Share of questions that do not keep one of their limits, or have no runs."""
    return failing_questions(question)


def alike(one: Said, other: Said) -> bool:
    """Whether two runs say the same: refusal, claim and citations. An error says nothing."""
    if one.errored or other.errored:
        return False
    return (one.refused, one.claim, one.cited) == (other.refused, other.claim, other.cited)


def repeats(one: Said, other: Said) -> bool:
    """Whether one run does all that the other does: says the same, cites what was retrieved, echoes the same."""
    both = (one.hit, one.kept) == (other.hit, other.kept)
    return (one.errored and other.errored) or (alike(one, other) and both)


def _share(question: Question, *, answerable: bool, holds: Callable[[Said], bool]) -> tuple[int, int] | None:
    if question.missing or question.answerable is not answerable:
        return None
    return sum(map(holds, question.runs)), len(question.runs)


# the limits that each question keeps by itself

AT_LEAST: Mapping[str, Callable[[Question], Any]] = {
    "acr": acr,
    "cghc": cghc,
    "css": css,
    "refusal_rate": refusal_rate,
}
AT_MOST: Mapping[str, Callable[[Question], Any]] = {"ned50": ned50}


def judged(question: Question, limits: Mapping[str, str]) -> Question:
    """The question with the limits that it does not keep; constraints that are checked are kept in every run."""
    broken = []
    for name, limit in limits.items():
        word = (AT_LEAST.get(name) or AT_MOST[name])(question)
        if word is None:
            continue
        value = Fraction(*word) if isinstance(word, tuple) else word
        good = value <= Fraction(limit) if name in AT_MOST else value >= Fraction(limit)
        if not good:
            broken.append(Broken(name, value, limit))
    if scu_consistency(question) is False:
        broken.append(Broken("scu_consistency", Fraction(0), "1"))
    return question._replace(broken=tuple(broken))
