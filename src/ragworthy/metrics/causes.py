"""What went wrong with a question: one decision, the same in every suite that sees what was retrieved and answered."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ragworthy.names import DEFAULT_K, Cause, Stage

STAGE_OF = {
    Cause.NOT_IN_CORPUS: Stage.INDEX,
    Cause.NOT_RETRIEVED: Stage.RETRIEVAL,
    Cause.BELOW_K: Stage.RANKING,
    Cause.NOT_CITED: Stage.CITATION,
    Cause.OUT_OF_SCOPE: Stage.CITATION,
    Cause.CLAIM_WRONG: Stage.GENERATION,
    Cause.REFUSED: Stage.REFUSAL,
    Cause.ANSWERED: Stage.REFUSAL,
    Cause.CONSTRAINT_BROKEN: Stage.CONSTRAINTS,
    Cause.TARGET_ERROR: Stage.PIPELINE,
    Cause.MISSING: Stage.PIPELINE,
}
"""The part of the pipeline to look at first, by what went wrong."""


class Steps(NamedTuple):
    """The steps to a right answer, and whether each was taken; None where the files cannot show it."""

    answerable: bool
    present: bool = True
    errored: bool = False
    refused: bool = False
    in_corpus: bool | None = None
    """Whether the corpus that was given has any of the gold evidence."""
    retrieved: bool | None = None
    """Whether gold evidence is among the results, at any rank; with a corpus, the gold text too."""
    in_top: bool | None = None
    """Whether gold evidence is among the first k."""
    cited: bool | None = None
    in_scope: bool | None = None
    """Whether everything that is cited was retrieved."""
    right: bool | None = None
    """Whether the claim says what the gold set says."""
    kept: bool | None = None
    """Whether the locked constraints are kept."""
    first: bool = False
    """Whether the first result is all that counts, as no answer cites anything: `in_top` then says whether it is right.
    """


class Blame(NamedTuple):
    """What went wrong with a question, where to look first, and why, in words."""

    cause: Cause | None
    stage: Stage | None
    why: str


def cause_of(steps: Steps) -> Cause | None:
    """What went wrong: the earliest step that was not taken. None where every step was that the files can show.

    | trace   | question     | what is seen                                             | cause                     |
    |---------|--------------|----------------------------------------------------------|---------------------------|
    | none    | any          | nothing                                                  | missing                   |
    | error   | any          | an error, whatever was retrieved before it               | target_error              |
    | refusal | unanswerable | as it should be                                          | none                      |
    | answer  | unanswerable | whatever it says and cites                               | answered_without_evidence |
    | either  | answerable   | nothing of the evidence is in the corpus, none retrieved | not_in_corpus             |
    | either  | answerable   | no evidence, or not the gold text, among the results     | not_retrieved             |
    | either  | answerable   | the first evidence is below rank k                   | below_k                   |
    | refusal | answerable   | evidence among the first k                               | refused_with_evidence     |
    | answer  | answerable   | cites an id that was not retrieved, evidence or not      | out_of_scope              |
    | answer  | answerable   | everything cited was retrieved, none of it is evidence   | not_cited                 |
    | answer  | answerable   | cites evidence, and the claim is empty or wrong          | claim_wrong               |
    | answer  | answerable   | a right answer that breaks a locked constraint           | constraint_broken         |

    Evidence that was retrieved is in the index, whatever the corpus that was given holds. Nobody can tell what an
    answer rests on that cites an id which it was never given: that it does so comes before what else it cites.

    >>> cause_of(Steps(answerable=True, retrieved=True, in_top=False, refused=True)).value
    'below_k'
    >>> cause_of(Steps(answerable=False, errored=True)).value
    'target_error'
    """
    if not steps.present:
        return Cause.MISSING
    if steps.errored:
        return Cause.TARGET_ERROR
    if not steps.answerable:
        return None if steps.refused else Cause.ANSWERED
    if steps.in_corpus is False and not steps.retrieved:
        return Cause.NOT_IN_CORPUS
    if steps.retrieved is False:
        return Cause.NOT_RETRIEVED
    if steps.in_top is False:
        return Cause.BELOW_K
    if steps.refused:
        return Cause.REFUSED
    if steps.in_scope is False:
        return Cause.OUT_OF_SCOPE
    if steps.cited is False:
        return Cause.NOT_CITED
    if steps.right is False:
        return Cause.CLAIM_WRONG
    return Cause.CONSTRAINT_BROKEN if steps.kept is False else None


def stage_of(cause: Cause | None) -> Stage | None:
    """The stage to look at first; None where nothing went wrong."""
    return None if cause is None else STAGE_OF[cause]


def depth_of(ks: Sequence[int]) -> int:
    """The k below which evidence comes too late: 5 where it is one of them, else the largest.

    >>> depth_of((1, 3, 5, 10)), depth_of((3, 10)), depth_of(())
    (5, 10, 5)
    """
    return DEFAULT_K if DEFAULT_K in ks or not ks else max(ks)


# the way of all answerable questions

_WAY = (
    ("traced", (Cause.MISSING, Cause.TARGET_ERROR)),
    ("in_corpus", (Cause.NOT_IN_CORPUS,)),
    ("retrieved", (Cause.NOT_RETRIEVED,)),
    ("in_top", (Cause.BELOW_K,)),
    ("answered", (Cause.REFUSED,)),
    ("in_scope", (Cause.OUT_OF_SCOPE,)),
    ("cited", (Cause.NOT_CITED,)),
    ("right", (Cause.CLAIM_WRONG,)),
    ("kept", (Cause.CONSTRAINT_BROKEN,)),
)
"""The steps in their order, each with what it is called when a question is lost there."""
FIRST = "first"
"""What the step among the first k is called where only the first result counts."""
_ALWAYS = frozenset({"in_corpus", "retrieved", "in_top", "cited", "in_scope", "right"})
"""Steps that are shown although nothing is lost, where the files can show them at all."""


class Went(NamedTuple):
    """Questions that went the same way."""

    steps: Steps
    questions: int = 1
    fine: bool = False
    """Whether they are as they should be all the same, for the suite that looks."""


def waterfall(known: Iterable[Went]) -> list[dict[str, Any]]:
    """How many answerable questions are left after each step, how many were lost in it, how many of these are fine all
    the same, and of how many that are left nobody can tell whether they took the step.

    >>> top, low = Steps(True, retrieved=True, in_top=True), Steps(True, retrieved=True, in_top=False)
    >>> [tuple(one.values()) for one in waterfall([Went(top, 7), Went(low, 2), Went(low, 1, fine=True)])]
    [('asked', 10, 0, 0, 0), ('retrieved', 10, 0, 0, 0), ('in_top', 7, 3, 1, 0)]
    >>> waterfall([Went(top, 7), Went(Steps(True), 2)])[1]
    {'step': 'retrieved', 'left': 9, 'lost': 0, 'fine': 0, 'unknown': 2}
    """
    asked = [one for one in known if one.steps.answerable]
    lost, fine = Counter[Cause | None](), Counter[Cause | None]()
    unknown = Counter[str]()
    for one in asked:
        cause = cause_of(one.steps)
        lost[cause] += one.questions
        fine[cause] += one.questions if one.fine else 0
        for step in _taken(cause):
            unknown[step] += one.questions if _untold(one.steps, step) else 0
    left = lost.total()
    if not left:
        return []
    first = all(one.steps.first for one in asked if one.steps.in_top is not None)
    way: list[dict[str, Any]] = [{"step": "asked", "left": left, "lost": 0, "fine": 0, "unknown": 0}]
    for step, causes in _WAY:
        gone = sum(lost[cause] for cause in causes)
        left -= gone
        seen = step in _ALWAYS and any(getattr(one.steps, step) is not None for one in asked)
        if gone or seen:
            spared = sum(fine[cause] for cause in causes)
            name = FIRST if step == "in_top" and first else step
            way.append({"step": name, "left": left, "lost": gone, "fine": spared, "unknown": unknown[step]})
    return way


def _untold(steps: Steps, step: str) -> bool:
    """Whether nobody can tell that a step was taken: what evidence there is has to be known to say where it stands."""
    return step in _ALWAYS and getattr(steps, "retrieved" if step == "in_corpus" else step) is None


def _taken(cause: Cause | None) -> Iterator[str]:
    """The steps before the one in which a question was lost."""
    for step, causes in _WAY:
        if cause in causes:
            return
        yield step
