"""What became of one retrieval run, what went wrong with it, and where to look first."""

from ragworthy.metrics.causes import Blame, Steps, cause_of, stage_of
from ragworthy.metrics.facts.runs import Facts
from ragworthy.names import HARMLESS, Cause, Label, Stage


def label(facts: Facts, k: int) -> Label:
    """What became of one run: the first label that applies."""
    if not facts.present:
        return Label.MISSING
    if facts.errored:
        return Label.ERROR
    if not facts.answerable:
        return Label.UNANSWERABLE
    if facts.answers and not facts.answered:
        return Label.NOT_CITED
    if facts.answers and not facts.covered:
        return Label.NOT_COVERED
    if facts.answers and facts.accurate is False:
        return Label.OFF_TARGET
    if not found_in(facts, k):
        return Label.NOT_RETRIEVED
    if facts.far:
        return Label.FAR_OFF
    return Label.OK


def found_in(facts: Facts, k: int) -> bool:
    """Whether a relevant block is among the first k."""
    return any(0 < rank <= k for rank in facts.blocks)


def steps_of(facts: Facts, k: int, *, held: bool | None = None) -> Steps:
    """The steps of a run to a right answer, as far as this suite looks: what a claim says is no matter of it.

    `held` says whether the index has anything of what is relevant; None where nobody can tell. Where citations are only
    the first results, a relevant block that is not among these stands too low.
    """
    known = facts.answerable and facts.present
    told = known and facts.answered and not facts.by_rank
    silent = known and facts.answers and not facts.answered
    low = facts.by_rank and facts.answered and not facts.covered
    return Steps(
        answerable=facts.answerable,
        present=facts.present,
        errored=facts.errored,
        refused=facts.refused,
        in_corpus=held if known else None,
        retrieved=any(facts.blocks) and not facts.lost if known else None,
        in_top=found_in(facts, k) and not low if known else None,
        cited=facts.named or (facts.covered and facts.accurate is not False) if told else False if silent else None,
        in_scope=facts.in_scope if told else None,
        first=facts.by_rank and facts.answered,
    )


def blame(facts: Facts, k: int, *, held: bool | None = None) -> Blame:
    """What went wrong, the stage to look at first, and why; nothing where the run is as it should be.

    Only this suite knows of sections and distances. A section that was found without the block that answers is a matter
    of chunking; evidence that is cited in passing, or as far away as unrelated text, is none of the causes.
    """
    what = label(facts, k)
    if what in HARMLESS:
        return Blame(None, None, "nothing to blame")
    cause = cause_of(steps_of(facts, k, held=held))
    if cause is None and what is Label.FAR_OFF:
        return Blame(None, Stage.INDEX, "the cited text is as far from the question as unrelated text")
    if cause in (Cause.NOT_RETRIEVED, Cause.BELOW_K) and not found_in(facts, k):
        if what is Label.OFF_TARGET:
            return Blame(cause, Stage.CHUNKING, "the anchor section is cited, but not the bytes that answer")
        if 0 < facts.anchor <= k:
            why = f"the anchor section is among the first {k}, but no relevant block of it"
            return Blame(cause, Stage.CHUNKING, why)
    return Blame(cause, stage_of(cause) or Stage.CITATION, _why(facts, k, what, cause))


def _why(facts: Facts, k: int, what: Label, cause: Cause | None) -> str:
    if cause is None or (cause is Cause.NOT_CITED and facts.answered):
        cited = "another section is" if what is Label.NOT_COVERED else "other bytes are"
        return f"a relevant block is among the first {k}, but {cited} cited"
    if cause is Cause.BELOW_K:
        return f"the first relevant block is at rank {min(filter(None, facts.blocks))}"
    if cause is Cause.NOT_RETRIEVED and any(facts.blocks):
        return "a relevant block was returned, but none that has the gold text"
    if cause is Cause.NOT_RETRIEVED and facts.negative:
        return f"a hard negative is at rank {facts.negative}, and no relevant block was returned"
    return _WHYS[cause]


_WHYS = {
    Cause.MISSING: "no trace was written for this question",
    Cause.TARGET_ERROR: "an error instead of results",
    Cause.NOT_IN_CORPUS: "the text that answers it is not in this index",
    Cause.NOT_RETRIEVED: "no relevant block was returned",
    Cause.REFUSED: "refused although a relevant block was returned",
    Cause.NOT_CITED: "nothing is cited",
    Cause.OUT_OF_SCOPE: "cites a block that was not returned",
}
