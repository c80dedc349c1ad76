"""Questions of the retrieval suite as cases: each as the worst of its runs shows it."""

from collections.abc import Container

import msgspec

from ragworthy.metrics.facts.convergence import Arm, Asked
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.facts.wanted import Wanted
from ragworthy.metrics.runs_blamed import blame, found_in, label, steps_of
from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.suites.evidence import Case, Fate, Offender, share_of
from ragworthy.suites.slices import Slice

DEPTH = 5
"""How deep a relevant block may be before its question is an offender, unless another k was asked for."""
MOST_IDS = 10


def case_of(one: Asked, depth: int = DEPTH, *, whole: bool = True, known: Container[str] | None = None) -> Case:
    """A question as the worst of its runs shows it; its type is that of its first relevant block."""
    labels = _labels(one, depth)
    what = min(labels, key=SEVERITY.__getitem__)
    facts, held = one.question.facts[labels.index(what)], _is_held(one.wanted, known) if whole else None
    cause, stage, why = blame(facts, depth, held=held)
    types = tuple(f"type={kind}" for kind in one.wanted.types[:1] if kind)
    off = sum([run not in HARMLESS for run in labels])
    fate = Fate.ERRORED if one.question.errored else Fate.SCORED
    return Case(
        qid=one.wanted.qid,
        facts=one.question,
        fate=fate if one.question.runs else Fate.MISSING,
        label=what,
        stage=stage,
        why=why,
        slices=tuple(map(Slice, (*types, *one.wanted.slices))),
        rank=(SEVERITY[what], -off),
        own=one,
        cause=cause,
        steps=steps_of(facts, depth, held=held),
        good=share_of(len(one.question.facts) - off, len(one.question.runs)),
        worst=facts,
    )


def _labels(one: Asked, depth: int) -> list[Label]:
    """What became of each run of a question; many of them have the same facts, and not only equal ones."""
    runs = one.question.facts
    if len(runs) == 1:
        return [label(runs[0], depth)]
    known = {id(facts): facts for facts in runs}
    said = {key: label(facts, depth) for key, facts in known.items()}
    return [said[id(facts)] for facts in runs]


def _is_held(wanted: Wanted, known: Container[str] | None) -> bool | None:
    """Whether the index has anything of what is relevant: what redirects or evidence lead to, and ids it knows."""
    if not wanted.blocks:
        return None
    if not any(wanted.blocks):
        return False
    return None if known is None else any(name in known for block in wanted.blocks for name in block)


def worst(one: Asked, depth: int = DEPTH) -> Facts:
    """The run of a question that went worst."""
    labels = _labels(one, depth)
    return one.question.facts[labels.index(min(labels, key=SEVERITY.__getitem__))]


def established(case: Case, depth: int = DEPTH) -> dict[str, bool]:
    """What is known of a question: what holds of the worst of its runs."""
    one, facts = case.own, case.worst
    return {
        "answerable": one.wanted.answerable,
        "answered": facts.answered,
        "missing": not one.question.runs,
        "covered": facts.covered,
        "accurate": bool(facts.accurate),
        "hit": found_in(facts, depth),
    }


def offender_of(case: Case, depth: int = DEPTH) -> Offender:
    """A question with the run that went worst."""
    one: Asked = case.own
    facts: Facts = case.worst
    key = next((key for key, run in sorted(one.question.runs.items()) if run == facts), None)
    reading = one.runs[key] if key is not None else None
    runs = len(one.question.runs)
    alike = sum(label(run, depth) == case.label for run in one.question.facts)
    return Offender(
        qid=case.qid,
        label=case.label,
        stage=case.stage,
        cause=case.cause,
        why=case.why if runs < 2 else f"{case.why} (in {alike} of {runs} runs)",
        question=reading.query if reading else next(iter(one.wanted.wordings), None),
        claim=None,
        citations=list(facts.cited),
        retrieved_ids=list(reading.names[:MOST_IDS]) if reading else [],
        gold_citations=_gold_ids(one),
        own={"lambda": one.marked, "delta_s": None if facts.delta_s is None else float(facts.delta_s)},
    )


def _gold_ids(one: Asked) -> list[str]:
    """The relevant ids as they are now; one whose text is gone, and a document, as the gold set has it."""
    wanted = one.wanted
    blocks = [(name, wanted.blocks[number], number in wanted.named) for name, number in wanted.names.items()]
    now = [
        one
        for name, block, whole in blocks
        for one in ([name] if whole and block else sorted(block) or [f"{name} (gone)"])
    ]
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


def of_one_seed(arm: Arm) -> int:
    """How many of these lack nothing but another seed."""
    whole = [one.question for one in arm.asked if not one.question.counted]
    return sum(msgspec.structs.replace(one, steady=True).counted for one in whole)
