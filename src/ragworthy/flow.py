"""Read this first: load → measure → summarise → judge → report, for one suite and for a whole policy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import gates as g
from ragworthy.collector import without_gc
from ragworthy.errors import DataError, policy_error
from ragworthy.files import read_bytes
from ragworthy.load.plugins import Plugin, using_metrics
from ragworthy.load.sources import Source, open_source
from ragworthy.mustpass import Each
from ragworthy.names import Verdict
from ragworthy.policy.gate_checks import check_gates
from ragworthy.policy.packs import Pack, load_pack
from ragworthy.policy.sections import Section, check_settings, paths_of
from ragworthy.proving import ANYTIME, POINT, Tested
from ragworthy.rendering import brief as brief
from ragworthy.rendering import render as render
from ragworthy.rendering import short as short
from ragworthy.rendering import voice_of as voice_of
from ragworthy.report import model
from ragworthy.report import write as writing
from ragworthy.report.part import Part, with_unused
from ragworthy.suites import SUITES
from ragworthy.suites.comparing import Differences, baseline_of, differences_of, untested, with_good, with_passed
from ragworthy.suites.describe import describe
from ragworthy.suites.evidence import Bound, Evidence, Found
from ragworthy.suites.made import Beside, provenance, said_by
from ragworthy.suites.opened import Opened
from ragworthy.suites.protocol import Suite
from ragworthy.suites.ran import targets_of
from ragworthy.suites.request import Attempts
from ragworthy.suites.request import Progress as Progress
from ragworthy.suites.request import Request as Request
from ragworthy.suites.summarise import check_must_pass, must_pass, pulled_down, summarise

if TYPE_CHECKING:
    from ragworthy.differences import Difference
    from ragworthy.policy.read import Policy
    from ragworthy.report.html.material import History
    from ragworthy.report.sheet import Viewed


class Run(NamedTuple):
    """What came out: the report, and what each suite contributed to it."""

    report: dict[str, Any]
    parts: list[Part]

    @property
    def verdict(self) -> Verdict:
        """The one verdict."""
        return Verdict(self.report["verdict"])

    @property
    def judged(self) -> list[g.Judged]:
        """Every gate's outcome, in the order of the report."""
        return [one for part in self.parts for one in part.judged]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every question's row, suite by suite, in gold order."""
        if len(self.parts) == 1:
            return self.parts[0].rows()
        return ({**row, "suite": part.suite} for part in self.parts for row in part.rows())

    def table(self) -> Iterator[dict[str, Any]]:
        """The same with the texts of each question, for people."""
        for part in self.parts:
            texts = part.texts() if part.texts is not None else {}
            suite = {"suite": part.suite} if len(self.parts) > 1 else {}
            for row in part.rows():
                yield {**row, **suite, **texts.get(row["qid"], {})}


def gate(path: Path, *, today: date | None, packs: Iterable[str] = (), **options: Any) -> Run:
    """Run every suite of a policy file."""
    requests = requests_of(path, today=today, packs=packs, **options)
    check_stale(requests)
    return score_all(requests)


def requests_of(path: Path, *, today: date | None, packs: Iterable[str] = (), **options: Any) -> list[Request]:
    """What a policy file asks for; `packs` are more gate packs than it names."""
    from ragworthy.policy.read import load_policy

    return from_policy(load_policy(path, SUITES, today=today, packs=packs), **options)


def score(request: Request, progress: Progress | None = None) -> Run:
    """Score one suite."""
    return score_all([request], progress)


@without_gc()
def score_all(requests: Sequence[Request], progress: Progress | None = None) -> Run:
    """Score every suite, test all differences together, and come to one verdict."""
    for request in requests:
        with using_metrics(request.plugins):
            check_request(request)
    steps = [_last_step(request, progress) for request in requests]
    several = [step for step in steps if isinstance(step, Open)]
    proven, family = _prove(several), sum(map(_comparing, several))
    parts = with_unused([_part(request, step, proven, family) for request, step in zip(requests, steps, strict=True)])
    report = model.assemble(parts)
    if plugins := plugins_of(requests):
        report["provenance"]["plugins"] = [one.told() for one in plugins]
    if packs := packs_of(requests):
        report["provenance"]["packs"] = [one.told() for one in packs]
    if ran := targets_of(requests, parts):
        report["provenance"]["ran"] = ran
    run = Run(report, parts)
    return with_attempts(run, requests[0].attempts) if requests and requests[0].attempts is not None else run


def with_attempts(run: Run, attempts: Attempts) -> Run:
    """The same with how often it was tried, which only a store of earlier runs knows."""
    return run._replace(report=run.report | {"attempts": attempts.told()})


def with_judged(run: Run, suite: str, judged: g.Judged) -> Run:
    """The same with one more gate of a suite, and the verdict that follows."""
    parts = [one._replace(judged=[*one.judged, judged]) if one.suite == suite else one for one in run.parts]
    kept = {key: run.report[key] for key in ("provenance", "attempts") if key in run.report}
    return Run(model.assemble(parts) | kept, parts)


class Open(NamedTuple):
    """Everything that was found of one suite, before it is judged."""

    suite: Suite
    found: Found
    bound: Bound
    each: Each
    differences: Differences
    then: Callable[[Part], Part] = lambda part: part
    """What is said besides of the part that comes of it."""


Proven = Mapping[tuple[str, g.Gate], Tested]
"""What the questions say of every gate that compares, by suite and gate."""


def _last_step(request: Request, progress: Progress | None) -> Open | Part:
    """What was found in the last step of a suite; or its part, where an earlier one was the last."""
    suite: Suite = SUITES[request.suite].load()
    with using_metrics(request.plugins), SUITES[request.suite].named(), suite.during():
        step = suite.steps(request, lambda one: score_suite(suite, one, progress))
        return step if isinstance(step, Part) else find(suite, step.request, progress)._replace(then=step.then)


def _part(request: Request, last: Open | Part, proven: Proven, family: int) -> Part:
    if isinstance(last, Part):
        return last
    with using_metrics(request.plugins), SUITES[request.suite].named(), last.suite.during():
        part = last.then(settle(last, proven, family))
    before = partial(_before, request, request.baseline) if request.baseline is not None else None
    return part._replace(look=lambda names: look(request, names).shown, before=before)


def _before(request: Request, baseline: Path, names: Sequence[str]) -> dict[str, str]:
    """What the baseline answered to some questions."""
    import json

    from ragworthy.report.texts import of_report

    body = json.loads(read_bytes(baseline))["suites"].get(request.suite)
    known = {} if body is None else of_report(request.suite, body, baseline.parent, None)(names)
    return {qid: said.claims[0] for qid, said in known.items() if said.claims}


def score_suite(suite: Suite, request: Request, progress: Progress | None = None) -> Part:
    """The whole flow of one suite alone."""
    found = find(suite, request, progress)
    return settle(found, _prove([found]), _comparing(found))


def find(suite: Suite, request: Request, progress: Progress | None = None) -> Open:
    """What the files of a suite say. What differs between suites is behind `suite`; the steps are these for all."""
    suite = suite.variant(request)
    opened = open_inputs(suite, request)
    evidence = suite.told(request, _read(suite, request, opened, progress))
    evidence = evidence._replace(provenance=_made(suite, request, opened, evidence) | dict(evidence.provenance))
    opened.check_unchanged()
    summary = summarise(suite, request, evidence)
    bound = with_good(suite.bind(request, evidence, summary, baseline_of(suite, opened, evidence, summary)))
    bound = with_passed(suite, bound, summary)
    each = must_pass(suite, request, evidence)
    found = Found(request, opened, evidence, summary, [], suite.frozen(opened, evidence))
    return Open(suite, found, bound, each, differences_of(suite, bound, summary))


def _made(suite: Suite, request: Request, opened: Opened, evidence: Evidence) -> dict[str, Any]:
    """How the traces were made, by what they and the index beside them say."""
    inputs = suite.inputs(request)
    corpus = next((request.get(one.key) for one in inputs if one.form == "corpus" and one.key == "corpus"), None)
    roles = {one.report_role for one in inputs if one.receipt_role == "trace" and one.form in ("records", "files")}
    traces = [source for role, source in opened.sources.items() if role.partition(":")[0] in roles]
    said = said_by(traces, request.jobs, request.parts, evidence.told, request.engine)
    return provenance(said, Beside(request.commit, corpus))


def _prove(several: Sequence[Open]) -> Proven:
    """All differences of all suites as one family, on the same swaps: with more gates there is more luck."""
    tested: dict[tuple[str, g.Gate], Tested] = {}
    to_test: dict[tuple[str, g.Gate], Difference] = {}
    for one in several:
        tested |= {(one.suite.name, gate): why for gate, why in untested(one.differences).items()}
        to_test |= {(one.suite.name, gate): d for gate, d in one.differences.items() if not isinstance(d, str)}
    if not to_test:
        return tested
    from ragworthy.loss_tests import prove

    anytime = {key for key in to_test if key[1].evidence == ANYTIME}
    return tested | prove(to_test, several[0].found.request.proving, anytime)


def _comparing(one: Open) -> int:
    """How many gates of a suite compare, of those whose number there is."""
    values = one.found.summary.values
    wanted = [gate for gate in one.bound.gates if gate.op in g.AGAINST and gate.evidence != POINT]
    return sum(
        (value := values.get((gate.slice, gate.metric))) is not None and value.exact is not None for gate in wanted
    )


def settle(one: Open, proven: Proven, family: int) -> Part:
    """What was found becomes outcomes, and the part of the report."""
    suite, bound, found = one.suite, one.bound, one.found
    flips = {} if bound.baseline is None else bound.baseline.flips
    tested = {gate: proven[suite.name, gate]._replace(flips=flips.get(gate.metric)) for gate in one.differences}
    values = found.summary.values
    judged = g.judge(bound.gates, values, baseline=bound.baseline, waivers=bound.waivers, each=one.each, tested=tested)
    settled = g.excuse(suite.settle(judged, bound, found.evidence))
    judged = [each._replace(family=max(1, family)) for each in settled]
    return describe(suite, found._replace(judged=judged, against=bound.baseline))


class Looked(NamedTuple):
    """Single questions of one suite."""

    shown: "list[Viewed]"
    bad: dict[str, list[str]]
    """The metrics that each of them pulls down, by its id."""
    known: Callable[[], Iterable[str]]
    """The id of every question that there is."""


def look(request: Request, names: Sequence[str]) -> Looked:
    """Some questions with everything that is known of them, as far as the suite has them. Nothing is judged."""
    declared = SUITES[request.suite]
    with using_metrics(request.plugins), declared.named():
        check_request(request)
        suite: Suite = declared.load()
        request = suite.in_full(request)._replace(baseline=None, wanted=frozenset(names))
        suite = suite.variant(request)
        opened = open_inputs(suite, request)
        evidence = suite.told(request, _read(suite, request, opened, None))
        opened.check_unchanged()
        summary = summarise(suite, request, evidence)
        found = Found(request, opened, evidence, summary, [], suite.frozen(opened, evidence))
        there = [name for name in names if suite.case_of(evidence, name) is not None]
        bad = {name: pulled_down(suite, found, name) for name in there}
        return Looked(suite.items(found, there), bad, lambda: suite.known(found))


def _read(suite: Suite, request: Request, opened: Opened, progress: Progress | None) -> Evidence:
    """The evidence; where a file is something else altogether, an error in one line that says what."""
    try:
        return suite.read(opened, request, progress)
    except DataError as error:
        from ragworthy.load.foreign import name_misfits

        name_misfits(error, read_as(suite, request, opened))
        raise


def read_as(suite: Suite, request: Request, opened: Opened) -> Iterator[tuple[Source, str]]:
    """Every file with the type of its records."""
    for one in suite.inputs(request):
        given = request.get(one.key)
        if one.form == "records" and one.report_role in opened.sources:
            yield opened[one.report_role], one.record or ("Vote" if suite.name == "agreement" else "")
        elif one.key in ("qrels", "run") and given is not None:
            yield open_source(one.report_role, given), "Qrels" if one.key == "qrels" else "TrecRun"


def open_inputs(suite: Suite, request: Request) -> Opened:
    """Open what is read line by line, then the lock of the gold set and the baseline."""
    inputs = suite.inputs(request)
    gold = next((one.key for one in inputs if one.receipt_role == "gold" and one.form == "records"), "")
    opened = Opened(request, request.get(gold))
    for one in inputs:
        given = request.get(one.key)
        if one.form == "records" and (one.needed or given is not None):  # opening says what was expected
            known = request.engine.opened(one.report_role, given) if request.engine is not None else None
            opened.enter(known or suite.open(one.key, one.report_role, given))
    opened.read_rules()
    return opened


def plugins_of(requests: Sequence[Request]) -> list[Plugin]:
    """The code from elsewhere that a score runs: metrics that were named, and suites of other packages."""
    suites = [SUITES[request.suite].plugin for request in requests]
    found = [*(one for request in requests for one in request.plugins), *(one for one in suites if one is not None)]
    return list({one.name: one for one in found}.values())


def packs_of(requests: Sequence[Request]) -> list[Pack]:
    """The gate packs that were named."""
    return [load_pack(name) for name in dict.fromkeys(name for one in requests for name in one.gate_packs)]


def check_stale(requests: Sequence[Request]) -> None:
    """Refuse a policy whose answers were overtaken by a run in the same folder."""
    from ragworthy.runner.ended import check_beside

    for request in requests:
        inputs = SUITES[request.suite].inputs
        gold = next((request.get(one.key) for one in inputs if one.receipt_role == "gold"), None)
        for one in inputs:
            made = request.get(one.key) if one.of_run else None
            for path in made if isinstance(made, tuple) else (made,):
                if isinstance(path, (str, Path)) and isinstance(gold, (str, Path)):
                    check_beside(Path(path), Path(gold))


def check_request(request: Request) -> None:
    """Refuse gates and settings that cannot be meant, wherever they come from."""
    where = str(request.policy) if request.policy is not None else ""
    if not request.gates and request.get("qrels") is None:
        raise policy_error("RW-P11", "expected at least one gate, got none", where=where, field="gate")
    check_settings(request.settings, SUITES[request.suite], where)
    check_gates(request.gates, request.suite, where, SUITES[request.suite].metrics_of(request.given))
    if any(gate.must_pass for gate in request.gates):
        check_must_pass(SUITES[request.suite].load(), request)


def from_policy(policy: "Policy", *, blessed: Path | None = None, **options: Any) -> list[Request]:
    """What a policy asks for: one request for each suite it has a section for.

    `blessed` is the report of the run that the policy names as its baseline (`history:NAME`), out of the history or
    with a receipt that has its hash. A file that happens to lie where such reports are written is never taken.
    """
    from ragworthy.load.baseline import suites_in
    from ragworthy.policy.kept import BLESSED, unblessed
    from ragworthy.policy.read import resolve

    if not policy.suites:
        raise policy_error("RW-P12", "expected a section for a suite, got none", where=str(policy.path))
    asked = [_request(policy, section)._replace(**options) for section in policy.suites]
    if policy.baseline is None:
        return asked
    path = blessed if policy.baseline.startswith(BLESSED) else resolve(policy, policy.baseline)
    if path is None:
        why = unblessed(policy.baseline.removeprefix(BLESSED))
        return [one._replace(unblessed=why) for one in asked]
    known = suites_in(path)
    return [one._replace(baseline=path).with_known(known) for one in asked]


def _request(policy: "Policy", section: Section) -> Request:
    from ragworthy.policy.read import resolve, suite_of

    return Request(
        suite=section.suite,
        given=paths_of(section.there, policy.folder),
        settings=section.settings,
        gates=tuple(gate for gate in policy.gates if suite_of(gate) == section.suite),
        defaults=section.defaults is not False,
        waivers=policy.waivers,
        lock=resolve(policy, section.lock) if section.lock else None,
        signers=policy.signers,
        policy=policy.path,
        today=policy.today,
        regression=policy.regression,
        plugins=policy.plugins,
        gate_packs=tuple(one.name for one in policy.packs),
        more_packs=policy.more_packs,
        cluster=policy.cluster,
        allowed=policy.allowed,
        proving=policy.proving,
    )


# for people


def write(path: Path, run: "Run", history: "History | None" = None) -> None:
    """Write a report, or its rows, in the format of the file's suffix; a page with what earlier runs tell."""
    if writing.form_of(path) == "html":
        from ragworthy.report.html.gather import write as write_page
        from ragworthy.report.html.material import History

        write_page(path, run.report, run.parts, voice_of, history or History())
    else:
        writing.write(path, run.report, run.table if path.suffix == ".csv" else run.rows, voice_of)
