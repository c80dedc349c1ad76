"""Metrics of the answers suite. Each maps the facts of one question to True, False or None, or to a number from 0 to 1.

The value of a rate is the share of True among the questions that are not None; a count is the number of True. Where
only a reference says what a right claim is, what looks for pieces of gold text has nothing to look for.
"""

from collections.abc import Iterable
from fractions import Fraction

from ragworthy.metrics.causes import Blame, Steps, cause_of, stage_of
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import metric
from ragworthy.names import HARMLESS, Cause, Label

SHIPPED = "shipped answers"


def cases_with(errors: int, cases: str) -> str:
    """What a rate is taken over, where errors replace some answers.

    >>> cases_with(1, "shipped answers"), cases_with(0, "shipped answers"), cases_with(1, "unanswerable questions")
    ('shipped answers and errors', 'shipped answers', 'unanswerable questions')
    """
    return f"{SHIPPED} and errors{cases.removeprefix(SHIPPED)}" if errors and cases.startswith(SHIPPED) else cases


@metric(
    better="higher",
    short=("precision",),
    cases="shipped answers",
    event="right and cited",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def precision(facts: Facts) -> bool | None:
    """Share of shipped answers that are right, well cited and keep their constraints. An error counts against it."""
    if not facts.tried or facts.by_text or facts.by_reference:
        return None
    return facts.answerable and facts.contains and facts.hit and facts.kept


@metric(
    better="higher",
    short=("chr",),
    cases="shipped answers",
    event="citing gold evidence",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def chr(facts: Facts) -> bool | None:
    """Share of shipped answers that cite gold evidence, and only what was retrieved. An error counts against it."""
    return facts.hit if facts.tried and not facts.by_text else None


@metric(
    better="lower",
    short=("under",),
    cases="unanswerable questions",
    event="answered",
    undefined="no unanswerable question",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def under_refusal(facts: Facts) -> bool | None:
    """Share of unanswerable questions that were answered anyway. An error is neither an answer nor a refusal."""
    return None if facts.answerable or facts.errored else facts.shipped


@metric(
    better="lower",
    short=("over",),
    cases="answerable questions",
    event="refused",
    undefined="no answerable question",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def over_refusal(facts: Facts) -> bool | None:
    """Share of answerable questions that were refused. An error is neither an answer nor a refusal."""
    return facts.refused if facts.answerable and not facts.errored else None


@metric(
    better="higher",
    at_k=True,
    cases="answerable questions",
    event="with all gold evidence in the first k",
    undefined="no answerable question with gold evidence",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def recall(facts: Facts, *, k: int) -> bool | None:
    """Share of answerable questions with all gold evidence among the first k retrieved."""
    return k in facts.all_in_top if facts.answerable and facts.evidence else None


@metric(
    better="higher",
    at_k=True,
    cases="answerable questions",
    event="with some gold evidence in the first k",
    undefined="no answerable question with gold evidence",
    needs="evidence",
    source="ProblemMap examples/example_05 §6.1, where it is called recall@k",
)
def hit(facts: Facts, *, k: int) -> bool | None:
    """Share of answerable questions with some gold evidence among the first k retrieved."""
    return k in facts.any_in_top if facts.answerable and facts.evidence else None


@metric(
    better="higher",
    short=("chr_ub",),
    at_k=True,
    cases="shipped answers",
    event="with gold evidence in the first k",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/README.md §0, CHR@k (upper bound)",
)
def chr_ceiling(facts: Facts, *, k: int) -> bool | None:
    """Best CHR that shipped answers could reach with their first k retrieved; bounds CHR only if k covers the list."""
    return k in facts.any_in_top if facts.tried and not facts.by_text else None


@metric(
    better="higher",
    cases="shipped answers",
    event="keeping their constraints",
    undefined="nothing was shipped",
    source="ProblemMap eval/README.md §0",
)
def scu(facts: Facts) -> bool | None:
    """Share of shipped answers that keep their locked constraints; an error does not."""
    return facts.kept if facts.tried else None


@metric(
    better="lower",
    kind="count",
    cases="shipped answers with constraints",
    event="breaking a constraint",
    undefined="never: a count of nothing is 0",
    source="ProblemMap eval/README.md §2",
)
def scu_violations(facts: Facts) -> bool | None:
    """Number of shipped answers that break their locked constraints."""
    return not facts.kept if facts.shipped and facts.constrained else None


@metric(
    better="higher",
    cases="traces",
    event="of the agreed shape",
    undefined="no trace",
    source="ProblemMap examples/example_08 §2, gate G5",
)
def compliance(facts: Facts) -> bool | None:
    """Share of traces that refuse, or answer with a non-empty claim and a list of citation ids."""
    return None if facts.missing else facts.refused or (facts.claim and facts.well_formed)


@metric(
    better="higher",
    cases="answerable questions",
    event="with the gold text in the claim",
    undefined="no answerable question",
    source="ProblemMap examples/example_08, claim containment",
)
def containment(facts: Facts) -> bool | None:
    """Share of answerable questions whose claim contains the gold text; without gold evidence, citing in scope."""
    if not facts.answerable or facts.by_reference:
        return None
    return facts.shipped and facts.contains and not (facts.by_text and facts.astray)


@metric(
    better="higher",
    kind="mean",
    needs="references",
    cases="answerable questions with a reference",
    event="in the words of the reference",
    undefined="no answerable question with gold_reference",
    source="Rajpurkar et al. 2016, SQuAD: token F1 as in the official script; docs/references.md",
)
def reference_f1(facts: Facts) -> Fraction | None:
    """Mean token F1 of claim and reference; a refusal, an error and a missing trace count 0."""
    found = facts.compared
    if found is None or not facts.answerable:
        return None
    return Fraction(found.num, found.den)


@metric(
    better="higher",
    kind="mean",
    needs="references",
    cases="answerable questions whose reference has details",
    event="stating all of them",
    undefined="no answerable question with numbers, dates or names in gold_reference",
    source="Ragworthy: docs/references.md",
)
def reference_details(facts: Facts) -> Fraction | None:
    """Mean share of the reference's numbers, dates, quantities and names that the claim states; 0 if it contradicts."""
    found = facts.compared
    if found is None or not found.details or not facts.answerable:
        return None
    return Fraction(0 if found.contradicted else found.stated, found.details)


@metric(
    better="higher",
    short=("cited_support",),
    cases="shipped answers to answerable questions",
    event="whose cited chunks hold the gold text",
    undefined="needs chunk texts (--corpus), gold text and shipped answers to answerable questions",
    source="ProblemMap eval/README.md §0, where CHR is described so",
)
def support(facts: Facts) -> bool | None:
    """Share of shipped answers to answerable questions where a cited chunk's text holds the gold text."""
    return facts.supported if facts.tried and facts.supportable and not facts.by_reference else None


@metric(
    better="lower",
    kind="count",
    cases="gold questions",
    event="without a trace",
    undefined="never: a count of nothing is 0",
    source="Ragworthy: every question needs a trace",
)
def missing(facts: Facts) -> bool | None:
    """Number of gold questions without a trace."""
    return facts.missing


OF_PIECES = frozenset({"answers.precision", "answers.containment", "answers.support"})
"""Metrics that look for pieces of gold text."""
OF_REFERENCES = frozenset({"answers.reference_f1", "answers.reference_details"})
NO_PIECES = "answerable questions have a gold_reference and no gold_claim_substr"


def by_reference_only(known: Iterable[Facts]) -> bool:
    """Whether only references say what right claims are: not one answerable question has pieces of text.

    Then precision is not measured. Otherwise it would be a number of answered unanswerable questions alone.
    """
    answerable = [facts.by_reference for facts in known if facts.answerable]
    return bool(answerable) and all(answerable)


@metric(
    better="higher",
    cases="questions",
    event="as they should be",
    undefined="there is no question",
    source="Ragworthy: the guard against a broad drop",
)
def good(facts: Facts) -> bool | None:
    """Share of questions with nothing wrong: right and cited where there is an answer, refused where there is none."""
    return label(facts) in HARMLESS


def label(facts: Facts) -> Label:
    """What became of the question: the first label that applies."""
    if facts.missing:
        return Label.MISSING
    if facts.errored:
        return Label.ERROR
    if facts.refused:
        return Label.OVER_REFUSAL if facts.answerable else Label.REFUSAL_OK
    if not facts.answerable:
        return Label.HALLUCINATION
    if not facts.claim:
        return Label.EMPTY_CLAIM
    if facts.astray:
        return Label.OUT_OF_SCOPE
    if not facts.by_text and not facts.hit:
        return Label.ANS_NO_HIT
    if not facts.contains or (facts.by_reference and _off(facts)):
        return Label.ANS_NO_CONTAIN
    return Label.OK if facts.kept else Label.SCU_VIOLATION


def _off(facts: Facts) -> bool:
    """Whether a claim is clearly not what the reference says: it contradicts it, states no detail, shares no word."""
    found = facts.compared
    if found is None:
        return False
    return found.contradicted or not (found.stated if found.details else found.num)


def steps_of(facts: Facts, k: int, *, whole: bool = True) -> Steps:
    """The steps of a question to a right answer. Without evidence only its text can be judged, and whether it cites
    what was retrieved.

    Where the corpus is not the `whole` index but what was retrieved from it, evidence that no chunk holds may be in the
    index all the same: it was not retrieved.
    """
    known = facts.answerable and not facts.by_text
    said = facts.answerable and facts.shipped
    return Steps(
        answerable=facts.answerable,
        present=facts.present,
        errored=facts.errored,
        refused=facts.refused,
        in_corpus=not facts.gone if known and whole and (facts.gone or facts.supportable) else None,
        retrieved=facts.retrieved and not facts.lost if known else None,
        in_top=k in facts.any_in_top if known else None,
        cited=facts.hit if known and said else None,
        in_scope=not facts.astray if said and (known or not facts.unlisted) else None,
        right=is_right(facts) if said else None,
        kept=facts.kept if said and facts.constrained else None,
    )


def is_right(facts: Facts) -> bool:
    """Whether a claim says what the gold set says, whatever it cites."""
    return facts.claim and facts.contains and not (facts.by_reference and _off(facts))


def blame(facts: Facts, k: int, *, whole: bool = True) -> Blame:
    """What went wrong, the stage to look at first, and why; nothing where the question is as it should be."""
    if label(facts) in HARMLESS:
        return Blame(None, None, "nothing to blame")
    cause = cause_of(steps_of(facts, k, whole=whole))
    return Blame(cause, stage_of(cause), _why(facts, k, cause))


def _why(facts: Facts, k: int, cause: Cause | None) -> str:
    """The reason in words. Those that are always the same are in a table; the others depend on the claim."""
    if cause in _WHYS:
        return _WHYS[cause]
    if cause is Cause.REFUSED:
        known = "the gold set has an answer" if facts.by_text else "gold evidence was retrieved"
        return f"refused although {known}"
    if cause is Cause.NOT_CITED:
        return f"gold evidence was retrieved but not cited{_wrong_too(facts)}"
    if cause is Cause.CLAIM_WRONG:
        return _wrong(facts)
    if cause is Cause.CONSTRAINT_BROKEN:
        return _BROKEN[facts.not_echoed + facts.over_echoed, facts.contradicted]
    seen = _unfound(facts, k, cause)
    return f"refused, and {seen}" if facts.refused else seen


_WHYS = {
    Cause.MISSING: "no trace was written for this question",
    Cause.TARGET_ERROR: "an error instead of an answer",
    Cause.ANSWERED: "answered although the gold set says that the corpus has no answer",
    Cause.OUT_OF_SCOPE: "cites an id that was not retrieved",
}


_BROKEN = {
    (1, False): "right, but the locked constraints were not echoed",
    (2, False): "right, but more was echoed than the locked constraints",
    (0, True): "the claim contradicts a locked constraint",
    (1, True): "the claim contradicts a locked constraint, and these were not echoed",
    (2, True): "the claim contradicts a locked constraint, and more than these was echoed",
}
"""How constraints are broken: whether the echo lacks some (1) or has others besides (2), and whether the claim
contradicts one."""


def _unfound(facts: Facts, k: int, cause: Cause | None) -> str:
    """Gold evidence that never reached the answer."""
    if cause is Cause.NOT_IN_CORPUS:
        return "no chunk of the corpus holds the gold evidence"
    if cause is Cause.BELOW_K:
        return f"gold evidence comes only after the first {k}"
    if not facts.retrieved:
        return "no gold evidence was retrieved"
    lost = "the gold text is in no chunk that was retrieved"
    return f"cites gold evidence, but {lost}" if facts.hit else lost


def _wrong_too(facts: Facts) -> str:
    """What is wrong with a claim besides its citations."""
    if is_right(facts):
        return ""
    if not facts.claim:
        return ", and the claim is empty"
    return f", and the claim {'is not what the reference says' if facts.contains else 'lacks the gold text'}"


def _wrong(facts: Facts) -> str:
    """What is wrong with a claim that cites the right evidence, or has none to cite."""
    if not facts.claim:
        return "the claim is empty"
    if facts.compared is not None and facts.contains:
        contradicted = facts.compared.contradicted
        return f"states {'another number than the reference' if contradicted else 'nothing of what the reference says'}"
    lacks = "the claim lacks the gold text"
    return lacks if facts.by_text else f"cites the right evidence, but {lacks}"
