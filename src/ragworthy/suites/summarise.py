"""Words become numbers, for the whole gold set and for every slice of it. The same for every suite."""

from collections.abc import Mapping, Sequence

from ragworthy import gates as g
from ragworthy.errors import PolicyError, Problem, policy_error
from ragworthy.metrics.registry import MetricName, Word, find
from ragworthy.mustpass import Said
from ragworthy.suites.evidence import Case, Evidence, Found, Summary
from ragworthy.suites.intervals import clustered
from ragworthy.suites.kept import with_rows
from ragworthy.suites.protocol import Suite
from ragworthy.suites.request import Request
from ragworthy.suites.slices import check_slices


def summarise(suite: Suite, request: Request, evidence: Evidence) -> Summary:
    """Every metric of every case, and of all of them."""
    names = suite.names(request, evidence)
    groups = suite.groups(evidence.cases)
    check_slices(request, groups, suite.own_slices(evidence))
    words = suite.words(names, evidence.cases)
    values = values_of(suite, names, evidence.cases, words, groups)
    summary = suite.adjust(request, evidence, Summary(names, values, words))
    return clustered(suite, evidence, with_rows(suite, request, evidence, summary))


def values_of(
    suite: Suite,
    names: Sequence[MetricName],
    cases: Sequence[Case],
    words: Mapping[str, Sequence[Word]],
    groups: Mapping[str | None, Sequence[int]],
) -> dict[tuple[str | None, str], g.Value]:
    """Every metric folded, for each group of cases."""
    values: dict[tuple[str | None, str], g.Value] = {}
    for group, members in groups.items():
        some = [suite.within(cases[nth], group) for nth in members]
        for name in names:
            if name.metric.over == "all":
                values[group, name.id] = suite.whole(name, some)
            else:
                said = words[name.id]
                values[group, name.id] = suite.value(name, some, [said[nth] for nth in members])
    return values


def check_must_pass(suite: Suite, request: Request) -> None:
    """Refuse `must_pass` on metrics that cannot say of one question alone that it is as good as it can be."""
    for gate in filter(_each, request.gates):
        name = find(gate.metric, default_k=1)
        if name is not None and not suite.judges_one(name):
            message, where = "expected min, max, max_drop or max_worse", str(request.policy or "")
            raise policy_error("RW-P03", message, where=where, field=f"{gate.metric}: must_pass")


def must_pass(suite: Suite, request: Request, evidence: Evidence) -> dict[tuple[str, str], Said]:
    """What each question that must pass says, metric by metric; of several runs, run by run."""
    said: dict[tuple[str, str], Said] = {}
    names = {name.id: name for name in suite.names(request, evidence)} if any(map(_each, request.gates)) else {}
    for gate in filter(_each, request.gates):
        name = names.get(gate.metric) or find(gate.metric, default_k=1)
        for qid in gate.must_pass if name is not None else ():
            case = suite.case_of(evidence, qid)
            if case is None:
                message = f'expected {suite.an_id(evidence)}, got "{qid}"'
                where = str(request.policy or "")
                raise PolicyError([Problem("RW-P09", message, where, f"{gate.metric}: must_pass")])
            runs = (case, *suite.again(evidence, qid)) if gate.metric in names else ()
            every = tuple(suite.says(names[gate.metric], one, evidence) for one in runs)
            said[gate.metric, qid] = every if len(every) > 1 else every[0] if every else None
    return said


def pulled_down(suite: Suite, found: Found, qid: str) -> list[str]:
    """The metrics of which one question alone says, in any of its runs, that it is not as good as it can be."""
    case = suite.case_of(found.evidence, qid)
    runs = () if case is None else (case, *suite.again(found.evidence, qid))
    judging = [name for name in found.summary.names if runs and suite.judges_one(name)]
    said = {name: [suite.says(name, one, found.evidence) for one in runs] for name in judging}
    return [name.id for name, every in said.items() if (not _best(name)) in every]


def _best(name: MetricName) -> bool:
    """What a metric says of a question that is as good as can be."""
    return name.metric.better == "higher"


def _each(gate: g.Gate) -> bool:
    return bool(gate.must_pass)
