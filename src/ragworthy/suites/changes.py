"""What changed against the baseline, question by question, for the report of a run that has one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ragworthy.comparison.compared import Run, Text, Texts, compare, no_texts, unchecked, values_only
from ragworthy.comparison.likeness import OTHERWISE, change_lines
from ragworthy.comparison.records import Suite as Compared
from ragworthy.gates import Baseline
from ragworthy.load.baseline import Earlier
from ragworthy.suites.comparing import baseline_of
from ragworthy.suites.evidence import Found, made_of
from ragworthy.suites.protocol import Suite

Kept = Callable[[], Mapping[str, Mapping[str, Any]]] | None
"""The texts of every question, read when somebody asks for them; None where the suite has none."""


def against_baseline(suite: Suite, found: Found, kept: Kept) -> dict[str, Any] | None:
    """The comparison with the baseline as the report has it; None where there is no baseline."""
    earlier = found.opened.earlier
    baseline = None if earlier is None else baseline_of(suite, found.opened, found.evidence, found.summary)
    if earlier is None or baseline is None:
        return None
    compared = _nothing(baseline.unlike) if baseline.unlike is not None else _compared(baseline, found, kept)
    notes = [*compared.notes, *_notes(earlier, found)]
    told: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(compared, against=earlier.path, notes=notes))
    return told


def _compared(baseline: Baseline, found: Found, kept: Kept) -> Compared:
    summary, left_out = found.summary, unchecked(found.evidence.settings)
    old = {name: value for (group, name), value in baseline.values.items() if group is None and not left_out(name)}
    new = {name.id: summary.values[None, name.id].exact for name in summary.names if not left_out(name.id)}
    known = {name.metric.id: name.metric for name in summary.names}
    if baseline.rows is None or summary.rows is None:
        return values_only(old, new, known, baseline.rowless if baseline.rows is None else summary.rowless)
    earlier, now = Run(baseline.rows, old), Run(summary.rows, new)
    return compare(earlier.without(left_out), now.without(left_out), known, _questions(kept))


def _questions(kept: Kept) -> Texts:
    """What was asked, for the questions that changed. Answers are left to `ragworthy compare`: here those of one side
    only are at hand.
    """
    if kept is None:
        return no_texts

    def of(qids: Sequence[str]) -> Mapping[str, Text]:
        texts = kept() if qids else {}
        return {qid: Text(question=texts[qid].get("question")) for qid in qids if qid in texts}

    return of


def _notes(earlier: Earlier, found: Found) -> list[str]:
    """What differs in how both runs were made."""
    now = made_of(found.evidence)
    changed = change_lines(earlier.made.told, now.told)
    return [f"{OTHERWISE}{'; '.join(changed)}"] if changed else []


def _nothing(unlike: str) -> Compared:
    return Compared(
        metrics={}, fixed=[], broken=[], moved=[], only_a=[], only_b=[], cases=0, changed=0, unlike=[unlike]
    )
