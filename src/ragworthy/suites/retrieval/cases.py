"""Every gold question with its runs as one case: what became of it, and where to look first."""

from ragworthy.metrics.facts.convergence import Arm, Asked
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.retrieval import blame, label
from ragworthy.names import HARMLESS, SEVERITY
from ragworthy.suites.evidence import Case, Fate, Offender

DEPTH = 5
"""How deep a relevant block may stand before its question is an offender."""
MOST_IDS = 10


def case_of(one: Asked) -> Case:
    """A question as the worst of its runs shows it; its type is that of its first relevant block."""
    facts = worst(one)
    what = label(facts, DEPTH)
    stage, why = blame(facts, DEPTH)
    types = tuple(f"type={kind}" for kind in one.wanted.types[:1] if kind)
    off = sum(label(run, DEPTH) not in HARMLESS for run in one.question.facts)
    fate = Fate.ERRORED if one.question.errored else Fate.SCORED
    return Case(
        qid=one.wanted.qid,
        facts=one.question,
        fate=fate if one.question.runs else Fate.MISSING,
        label=what,
        stage=None if what in HARMLESS else stage,
        why=why,
        slices=(*types, *one.wanted.slices),
        rank=(SEVERITY[what], -off),
        own=one,
    )


def worst(one: Asked) -> Facts:
    """The run of a question that went worst."""
    return min(one.question.facts, key=lambda facts: SEVERITY[label(facts, DEPTH)])


def established(one: Asked) -> dict[str, bool]:
    """What is known of a question: what holds of the worst of its runs."""
    facts = worst(one)
    return {
        "answerable": one.wanted.answerable,
        "answered": facts.answered,
        "missing": not one.question.runs,
        "covered": facts.covered,
        "accurate": bool(facts.accurate),
        "hit": any(0 < rank <= DEPTH for rank in facts.blocks),
    }


def offender_of(case: Case) -> Offender:
    """A question with the run that went worst."""
    one: Asked = case.own
    facts = worst(one)
    key = next((key for key, run in sorted(one.question.runs.items()) if run == facts), None)
    reading = one.runs[key] if key is not None else None
    runs = len(one.question.runs)
    alike = sum(label(run, DEPTH) == case.label for run in one.question.facts)
    return Offender(
        qid=case.qid,
        label=case.label,
        stage=case.stage,
        why=case.why if runs < 2 else f"{case.why} (in {alike} of {runs} runs)",
        question=reading.query if reading else next(iter(one.wanted.wordings), None),
        claim=None,
        citations=list(facts.cited),
        retrieved_ids=list(reading.names[:MOST_IDS]) if reading else [],
        gold_citations=_gold_ids(one),
        own={"lambda": one.marked, "delta_s": None if facts.delta_s is None else float(facts.delta_s)},
    )


def _gold_ids(one: Asked) -> list[str]:
    """The relevant ids as they are now; one whose text is gone as the gold set has it."""
    blocks = [(name, one.wanted.blocks[number]) for name, number in one.wanted.names.items()]
    now = [one for name, block in blocks for one in (sorted(block) or [f"{name} (gone)"])]
    return list(dict.fromkeys(now))


def counts_of(arm: Arm) -> dict[str, int]:
    """How many questions and runs there were, and what became of them."""
    return {
        "gold": len(arm.asked),
        "runs": arm.runs,
        "answered": sum(any(facts.answered for facts in one.question.facts) for one in arm.asked),
        "missing": sum(not one.question.runs for one in arm.asked),
        "errored": arm.errored,
        "errored_questions": sum(one.question.errored for one in arm.asked),
        "answerable": sum(one.wanted.answerable for one in arm.asked),
        "unanswerable": sum(not one.wanted.answerable for one in arm.asked),
        "incomplete": incomplete(arm),
        "cross_doc": sum(any(facts.cross_doc for facts in one.question.facts) for one in arm.asked),
        "duplicate_traces": arm.replaced,
        "orphan_traces": arm.orphans,
    }


def incomplete(arm: Arm) -> int:
    """How many questions were not asked in three wordings under two seeds."""
    return sum(one.question.asked and not one.question.counted for one in arm.asked)
