"""`--run`: a receipt or a JSON report. Its inputs are opened where they are still what they were; where they are not,
what the report itself knows of a question is shown, with what is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow, receipts, rows
from ragworthy.errors import DataError, RagworthyError, UsageError, data_error, usage_error
from ragworthy.files import read_bytes, sha256_of
from ragworthy.history.home import blessed_at
from ragworthy.index.found import MANIFEST
from ragworthy.load.packs import WITHOUT_FILE
from ragworthy.metrics.fold import as_number, of_nothing
from ragworthy.names import HARMLESS, REPORT_SCHEMA
from ragworthy.policy.declare import Declared, Input
from ragworthy.policy.read import load_policy
from ragworthy.policy.sections import check_settings
from ragworthy.records import SchemaOnly
from ragworthy.report.receipt import SCHEMA as RECEIPT_SCHEMA
from ragworthy.report.receipt import Input as Listed
from ragworthy.report.sheet import Answered, Expected, Sheet, Viewed, passages_of
from ragworthy.suites import SUITES
from ragworthy.suites.locked import asked_by
from ragworthy.suites.looking import id_of
from ragworthy.suites.retrieval import TREC


class Worst(msgspec.Struct, frozen=True):
    """An offender as a report has it."""

    qid: str
    label: str | None = None
    stage: str | None = None
    cause: str | None = None
    why: str | None = None
    question: str | None = None
    expected: str | None = None
    claim: str | None = None
    error: str | None = None
    citations: Any = None
    retrieved_ids: list[str] = []
    gold_citations: list[str] = []


class Body(msgspec.Struct, frozen=True):
    """What is needed of a suite in a report."""

    inputs: list[Listed]
    settings: dict[str, Any]
    offenders: list[Worst]
    profile: str = "default"
    form: str | None = None
    selection: dict[str, Any] | None = None
    rows: Any = None


class Report(msgspec.Struct, frozen=True):
    """What is needed of a report."""

    schema: str
    suites: dict[str, Body]
    provenance: dict[str, Any]


_UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What a report may lead to that no command wrote."""


class Given(NamedTuple):
    """A run: what can be read again, and what only the report knows."""

    requests: list[flow.Request]
    lost: dict[str, tuple[Body, list[str]]]
    """Suites whose inputs are not as they were, with what is missing."""


def open_run(path: Path) -> Given:
    """What a receipt or a report was made from."""
    data = read_bytes(path)
    try:
        schema = msgspec.json.decode(data, type=SchemaOnly).schema
        if schema == REPORT_SCHEMA:
            return _of_report(msgspec.json.decode(data, type=Report), path.parent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"expected a receipt or a JSON report, got: {error}"
        raise data_error("RW-U15", message, where=str(path)) from None
    if schema != RECEIPT_SCHEMA:
        message = f'expected "{RECEIPT_SCHEMA}" or "{REPORT_SCHEMA}", got "{schema}"'
        raise data_error("RW-U15", message, where=str(path), field="schema")
    requests, lost = receipts.requests_of(path)
    if lost:
        raise usage_error(f"{path}: expected the inputs as they were, got: {'; '.join(lost)}", code="RW-U14")
    return Given(requests, {})


def _of_report(report: Report, folder: Path) -> Given:
    SUITES.also(report.suites)
    policy = _policy(report, folder)
    given = Given([], {})
    for name, body in report.suites.items():
        request = policy.get(name) or _rebuilt(name, body, folder)
        lost = request if isinstance(request, list) else list(_moved(request, body))
        if isinstance(request, list) or lost:
            given.lost[name] = body, lost
        else:
            given.requests.append(request)
    return given


# what was read is still there


def _there(path: str, sha256: str, folder: Path) -> Path | None:
    """A file as it was, where the command is run or beside the report."""
    for one in (Path(path), folder / path):
        if _hash(one) == sha256:
            return one
    return None


def _hash(path: Path) -> str | None:
    try:
        return sha256_of(path / MANIFEST if path.is_dir() else path)
    except (DataError, OSError, ValueError):
        return None


def _policy(report: Report, folder: Path) -> dict[str, flow.Request]:
    """What the policy of a report asks for, where it is still the same."""
    told = report.provenance.get("policy")
    if not isinstance(told, dict):
        return {}
    path = _there(str(told.get("path")), str(told.get("sha256")), folder)
    if path is None:
        return {}
    try:
        policy = load_policy(path, SUITES, today=date.min)
        return {one.suite: one for one in flow.from_policy(policy, blessed=blessed_at(path))}
    except RagworthyError:
        return {}


def _moved(request: flow.Request, body: Body) -> Iterator[str]:
    """The inputs of a request that are not those of the report."""
    for one in body.inputs:
        given = next((request.get(each.key) for each in _inputs(request, one.role)), None)
        if given is None:
            yield f"{one.role}: {one.path}: it is not known where it stood"
        elif _hash(Path(given)) is None:
            yield f"{one.role}: {one.path}: it is not there"
        elif one.sha256 not in (_hash(Path(given)), _hash(Path(given) / "chunks.jsonl")):
            yield f"{one.role}: {one.path}: it is another file by now"


def _inputs(request: flow.Request, role: str) -> Iterator[Input]:
    for one in SUITES[request.suite].inputs:
        if one.report_role == role and isinstance(request.get(one.key), (str, Path)):
            yield one


# a request without a policy: the settings are in the report


def _rebuilt(name: str, body: Body, folder: Path) -> flow.Request | list[str]:
    """What `score` was asked; or what of it is not known."""
    declared = SUITES.get(name)
    if declared is None:
        return [f"there is no suite {name} here"]
    try:
        settings = _settings(declared, body)
        if not isinstance(settings, str):
            check_settings(settings, declared, "")
    except (RagworthyError, *_UNREADABLE):
        return ["settings: they are not those of this suite"]
    if isinstance(settings, str):
        return [settings]
    given: dict[str, Any] = {}
    lost = []
    trec = body.settings.get("conventions") == "trec_eval"
    for one in body.inputs:
        path = _there(one.path, one.sha256, folder)
        key = _key(declared, settings, one.role, trec=trec)
        if path is None or key is None:
            lost.append(f"{one.role}: {one.path}: it is not there, or it is another file by now")
        else:
            given[key] = path
    if lost:
        return lost
    gates = declared.default_gates(settings, given)
    allow = bool(body.settings.get("allow_gold_errors"))
    return flow.Request(name, given, settings, gates, unfrozen=True, allow_gold_errors=allow)


def _key(declared: Declared, settings: Any, role: str, *, trec: bool) -> str | None:
    other = ("gold", "traces") if trec else TREC
    fit = (one.key for one in declared.inputs_of(settings) if one.report_role == role and one.key not in other)
    return next(fit, None)


def _settings(declared: Declared, body: Body) -> Any:
    """The settings of a report; a text where one of them cannot be had again."""
    told = body.settings | {"profile": body.profile, "form": body.form} | (body.selection or {})
    told["rule_packs"] = asked_by(told)
    found: dict[str, Any] = {}
    for one in declared.fields():
        value = told.get(one.name)
        if value is None or one.name in ("delta_s", "frontier"):
            continue
        if one.key.reads == "packs" or one.field == "rule_packs":
            names = tuple(each.get("id", "") if isinstance(each, dict) else str(each) for each in value)
            if one.field == "rule_packs" and any(each not in WITHOUT_FILE for each in names):
                return f"{one.name}: it is not known where {', '.join(names)} stood"
            value = names
        if isinstance(value, dict):
            value = [f"{key}={each}" for key, each in value.items()]
        found[one.field] = tuple(value) if isinstance(value, list) else value
    if declared.name == "structured" and "definition" in told:
        from ragworthy.load.definition import bundled

        if bundled().sha256 != told["definition"].get("sha256"):
            return "definition: it is not known where it stood"
    return declared.settings(**found)


# what the report itself knows


def from_report(given: Mapping[str, tuple[Body, list[str]]], names: Sequence[str]) -> list[Viewed]:
    """What reports know of questions whose inputs are gone."""
    found = []
    for suite, (body, lost) in given.items():
        kept = _rows(body)
        places = kept.places() if kept is not None else {}
        worst = {one.qid: one for one in body.offenders}
        for name in names:
            if name in worst or name in places:
                notes = [f"from the report alone: {'; '.join(lost)}"]
                one = worst.get(name) or Worst(name)
                found.append(Viewed(_sheet(suite, one, kept, places.get(name), notes)))
    return found


def _rows(body: Body) -> rows.Rows | None:
    if body.rows is None:
        return None
    try:
        return rows.decoded(body.rows)
    except rows.UnreadableError:
        return None


def _sheet(suite: str, one: Worst, kept: rows.Rows | None, nth: int | None, notes: list[str]) -> Sheet:
    label, cause = one.label, one.cause
    metrics: dict[str, float] = {}
    if kept is not None and nth is not None:
        label, cause = kept.labels[nth], kept.causes[nth]
        words: Any = {name: column[nth] for name, column in kept.words.items() if column[nth] is not None}
        metrics = {name: float(as_number(word)) for name, word in words.items() if not of_nothing(word)}
    else:
        notes = [*notes, "the report holds no rows, so what metrics say of the question is not known"]
    cited = [name for name in map(id_of, one.citations if isinstance(one.citations, list) else ()) if name]
    return Sheet(
        suite=suite,
        qid=one.qid,
        good=label is None or label in HARMLESS,
        label=label,
        stage=one.stage,
        cause=cause,
        why=one.why or "",
        question=one.question,
        expected=Expected(text=one.expected or "", ids=one.gold_citations),
        answer=None if one.label is None else Answered(claim=one.claim, citations=one.citations or [], error=one.error),
        passages=passages_of(one.gold_citations, cited, one.retrieved_ids),
        metrics=metrics,
        notes=notes,
    )


def nothing_known(lost: Mapping[str, tuple[Body, list[str]]], path: Path, qid: str) -> UsageError:
    """That neither the inputs nor the report tell of a question."""
    told = "; ".join(f"{suite}: {', '.join(reasons)}" for suite, (_, reasons) in lost.items())
    message = f'{path}: expected the inputs as they were, or a report that tells of "{qid}", got: {told}'
    return usage_error(message, code="RW-U14")
