"""What gates that compare are judged by: the questions of this run beside those of the baseline."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ragworthy import gates as g
from ragworthy.metrics.fold import as_number
from ragworthy.metrics.registry import MetricName
from ragworthy.names import Outcome
from ragworthy.proving import ANYTIME, POINT, Proving, Tested
from ragworthy.report import able
from ragworthy.rows import Rows, words_of
from ragworthy.suites.evidence import Bound, Evidence, Summary
from ragworthy.suites.opened import Opened
from ragworthy.suites.protocol import Suite

if TYPE_CHECKING:
    from ragworthy.differences import Difference

GOOD = ".good"
"""How the metric ends that can be read off labels."""
Differences = Mapping[g.Gate, "Difference | str"]
"""The difference that each gate is on, or why there is none."""


OTHERS = "its rows name other questions than the gold set has"
"""Why a report says nothing about this gold set, whatever hash it names."""

ROWLESS = "it says that it has too many questions for rows, and the gold set has not"
"""Why a report without rows is not of this gold set, whatever hash it names."""


def baseline_of(suite: Suite, opened: Opened, evidence: Evidence, summary: Summary) -> g.Baseline | None:
    """The earlier run, or why it cannot be compared: its rows are of other questions, for example."""
    found = suite.baseline(opened, evidence)
    if found is None or found.unlike is not None or not suite.rows_are_questions:
        return found
    from ragworthy.load.baseline import UNNAMED, WITHOUT

    if summary.rows is None or (found.rows is None and not found.rowless.startswith(WITHOUT)):
        return found
    if found.rows is None:
        return found if suite.name in UNNAMED else found._replace(unlike=ROWLESS)
    return found if {*found.rows.qids} == {*summary.rows.qids} else found._replace(unlike=OTHERS)


def differences_of(suite: Suite, bound: Bound, summary: Summary) -> Differences:
    """The differences that gates are on; nothing where no gate compares."""
    wanted = [gate for gate in bound.gates if gate.op in g.AGAINST and gate.evidence != POINT]
    baseline = bound.baseline
    if not wanted or baseline is None or baseline.unlike is not None:
        return {}
    if baseline.rows is None or summary.rows is None:
        whose, why = (baseline.name, baseline.rowless) if baseline.rows is None else ("this run", summary.rowless)
        return dict.fromkeys(wanted, f"{whose} holds no rows{f' ({why})' if why else ''}")
    from ragworthy.differences import difference, pair
    from ragworthy.unerrored import beside_errors

    pairs = pair(baseline.rows, summary.rows)
    known = {name.id: name.metric for name in summary.names}
    slices = {gate.slice for gate in wanted}
    parts = {group: pairs.of({*suite.members(summary.rows, group)}) for group in slices}
    found = {gate: difference(gate, known[gate.metric], parts[gate.slice]) for gate in wanted if gate.metric in known}
    return {
        gate: one if isinstance(one, str) else beside_errors(one, gate, known[gate.metric], parts[gate.slice])
        for gate, one in found.items()
    }


def tested_alone(suite: Suite, gate: g.Gate, baseline: g.Baseline, summary: Summary, proving: Proving) -> Tested | None:
    """What the questions say of one gate that is not part of a verdict; None where nothing can be compared."""
    found = differences_of(suite, Bound((gate,), baseline, ()), summary).get(gate)
    if found is None or isinstance(found, str):
        return None if found is None else Tested(without=found)
    from ragworthy.loss_tests import prove

    return prove({gate: found}, proving, {gate} if gate.evidence == ANYTIME else ())[gate]


def untested(found: Differences) -> dict[g.Gate, Tested]:
    """Gates whose difference cannot be tested, each with the reason."""
    return {gate: Tested(without=why) for gate, why in found.items() if isinstance(why, str)}


def with_good(bound: Bound) -> Bound:
    """The baseline with the share of good questions, which its labels say, where a gate asks for that."""
    baseline = bound.baseline
    asked = {(gate.slice, gate.metric) for gate in bound.gates if gate.metric.endswith(GOOD) and gate.op in g.AGAINST}
    if baseline is None or baseline.rows is None or not asked:
        return bound
    values = dict(baseline.values)
    for group, metric in asked:
        share = _share(baseline.rows, group, metric)
        if share is not None:
            values.setdefault((group, metric), share)
    return bound._replace(baseline=baseline._replace(values=values))


def _share(rows: Rows, group: str | None, metric: str) -> Fraction | None:
    """What the words of a rate come to: those of several runs are means, which some runs may be no case of."""
    words = words_of(rows, metric) or ()
    mine = [word for word, slices in zip(words, rows.slices, strict=False) if group is None or group in slices]
    pairs: list[Any] = [word if isinstance(word, tuple) else (word, 1) for word in mine if word is not None]
    part, whole = (sum((Fraction(pair[side]) for pair in pairs), Fraction(0)) for side in (0, 1))
    return part / whole if whole else None


def with_passed(suite: Suite, bound: Bound, summary: Summary) -> Bound:
    """The baseline with whether the questions that must pass ever did, where a word of a question says so."""
    baseline, names = bound.baseline, {name.id: name for name in summary.names}
    asked = [gate for gate in bound.gates if gate.must_pass and gate.metric in names]
    if not asked or baseline is None or baseline.rows is None or type(suite).says is not Suite.says:
        return bound
    places, passed = baseline.rows.places(), dict[tuple[str, str], bool]()
    for gate in asked:
        words = baseline.rows.words.get(gate.metric)
        for qid in gate.must_pass if words is not None else ():
            if words is not None and qid in places:
                passed[gate.metric, qid] = _ever(suite, names[gate.metric], words[places[qid]])
    return bound._replace(baseline=baseline._replace(passed=passed))


def _ever(suite: Suite, name: MetricName, word: Any) -> bool:
    """Whether a question was good, or was so in one of several runs."""
    if word is None:
        return False
    some = name.metric.kind == "rate" and 0 < as_number(word) < 1
    return some or suite.good(name, word)


def steps_of(judged: Sequence[g.Judged]) -> list[tuple[str, str]]:
    """What to do about losses that are neither proven nor excluded."""
    open_ones = [(one, one.tested) for one in judged if one.tested is not None and one.outcome is Outcome.UNDECIDED]
    if not open_ones:
        return []
    more = able.about_more(judged)
    told = [_counted(more[one.gate], tested) for one, tested in open_ones if one.gate in more]
    many = f"{', '.join(dict.fromkeys(told))} more" if told else "more"
    shared = any(tested.clusters < tested.cases for _, tested in open_ones)
    like = "of other documents" if shared else "like them"
    decide = f"{many} questions {like} decide it, in both runs, and so may more runs"
    do = f"look at the questions that are worse; {decide}"
    names = dict.fromkeys(g.name_of(one.gate) for one, _ in open_ones)
    return [(f"a loss is neither proven nor excluded: {', '.join(names)}", do)]


def _counted(more: int, tested: Tested) -> str:
    """About how many more questions, and how many documents these are where some share one.

    >>> _counted(480, Tested(cases=80, clusters=10)), _counted(60, Tested(cases=50, clusters=50))
    ('about 480 (60 documents)', 'about 60')
    """
    if tested.clusters == tested.cases:
        return f"about {more:,}"
    documents = math.ceil(Fraction(more * tested.clusters, tested.cases))
    return f"about {more:,} ({documents:,} document{'s' if documents != 1 else ''})"
