"""Locked constraints of single questions: what is locked, what was echoed, and by which rule it is contradicted."""

from collections.abc import Iterable, Mapping
from typing import Any

from ragworthy.load.gold import name_of
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.constraints import against
from ragworthy.records import NO_ANSWER, Gold, Trace
from ragworthy.text import fold

BROKEN = f.NOT_ECHOED | f.CONTRADICTED


def locks_in(gold: Gold, trace: Trace, rules: f.Rules) -> dict[str, Any]:
    """The constraints of a question beside what its answer makes of them."""
    answer, locked = trace.answer_json or NO_ANSWER, gold.constraints or []
    fired = against(locked, fold((answer.claim or "").strip()), rules.contradictions)
    echo = answer.constraints_echo
    return {"locked": locked, "echo": echo, "against": [{"lock": lock, "rule": rule} for lock, rule in fired]}


def broken_in(gold: Gold, trace: Trace, rules: f.Rules, flags: int) -> dict[str, Any] | None:
    """The same, where one is broken."""
    return locks_in(gold, trace, rules) if flags & BROKEN else None


def broken_rows(
    flags: Mapping[str, int], golds: Iterable[Gold], traces: Iterable[Trace], rules: f.Rules
) -> dict[str, dict[str, Any]]:
    """The same for all questions that break one, by their ids; of several traces the last counts."""
    wanted = {qid for qid, one in flags.items() if one & BROKEN}
    if not wanted:
        return {}
    last = {name_of(one): one for one in traces if name_of(one) in wanted}
    kept = {name_of(one): one for one in golds if name_of(one) in wanted}
    return {qid: locks_in(kept[qid], last[qid], rules) for qid in flags if qid in wanted}


def lock_remarks(locks: Mapping[str, Any]) -> list[str]:
    """The same in words."""
    echo = locks["echo"]
    echoed = [str(one) for one in echo] if isinstance(echo, list) else [] if echo is None else [str(echo)]
    told = [f"locked: {'; '.join(locks['locked'])}", f"echoed: {'; '.join(echoed) or 'nothing'}"]
    return [*told, *(f'the claim contradicts "{one["lock"]}", by the rule {one["rule"]}' for one in locks["against"])]
