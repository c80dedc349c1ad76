"""What somebody wants compared, read: every suite of it with its values, its rows and the texts that are at hand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.comparing.row_files import is_rows, suites_of
from ragworthy.comparison.likeness import Made, told_of
from ragworthy.errors import Problem, UsageError
from ragworthy.files import check_readable, read_bytes, sha256_of, shown_path
from ragworthy.gold.commands import suite_of
from ragworthy.history.home import is_stored, opened
from ragworthy.load.baseline import as_baseline, load_report, suites_in
from ragworthy.load.questions import open_questions
from ragworthy.names import Verdict
from ragworthy.report.model import NO_GATE
from ragworthy.report.texts import Said, of_part, of_report
from ragworthy.result import Result
from ragworthy.rows import Rows, decoded
from ragworthy.runner.ended import SUMMARY, TRACES, check_beside
from ragworthy.suites import SUITES


class Given(NamedTuple):
    """What was given besides the two sides."""

    suite: str | None = None
    gold: Path | None = None
    qrels: Path | None = None
    store: str | None = None
    """Where the history is kept, where it is not the policy's or the usual one."""
    config: str | None = None
    """The policy that says where the history is kept."""
    jobs: int | None = 1


class Measured(NamedTuple):
    """One suite of a side."""

    made: Made
    values: Mapping[str, Fraction | None]
    rows: Rows | None
    rowless: str
    texts: Callable[[Sequence[str]], Mapping[str, Said]]
    notes: Sequence[str] = ()
    """What has to be said of it."""


class Side(NamedTuple):
    """One of the two."""

    name: str
    suites: Mapping[str, Measured]
    sha256: str | None = None
    verdict: str | None = None
    traces: Path | None = None
    """The traces that were scored, or those of the report where they are still there."""
    gold: Path | None = None
    path: Path | None = None
    """What was read."""


def side_of(given: Any, corpus: Path | None, more: Given) -> Side:
    """What a name, a path or a result stands for."""
    if isinstance(given, Result):
        return of_run("the result", given.report, None)
    text = str(given)
    if is_stored(text):
        return _stored(text, more)
    path = Path(text)
    if not path.is_dir():
        check_readable(path)
    if more.qrels is not None:
        return _scored(path, "retrieval", {"qrels": more.qrels, "run": path}, more)
    if path.is_dir():
        return _folder(path, corpus, more)
    if is_report(path):
        return _report(path, more)
    if path.suffix == ".csv":
        raise _unknown(text, "rows as .jsonl or .parquet: a table for people is not read again")
    if is_rows(path):
        return _rows(path, more)
    return _traces(path, path, more.gold, corpus, more)


def is_report(path: Path) -> bool:
    """Whether a file is meant to be a report."""
    return path.suffix == ".json"


# what was scored before


def _report(path: Path, more: Given) -> Side:
    """A JSON report."""
    names = [more.suite] if more.suite else suites_in(path)
    read = {name: load_report(path, name) for name in names}
    whole = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    suites = {
        name: Measured(
            made=one.made._replace(invalid=_reasons(whole)),
            values={key[1]: value for key, value in as_baseline(one, None).values.items() if key[0] is None},
            rows=one.rows,
            rowless=one.rowless,
            texts=of_report(name, whole["suites"][name], path.parent, more.gold),
        )
        for name, one in read.items()
    }
    first = next(iter(read.values()))
    return Side(shown_path(path), suites, first.sha256, first.verdict, path=path)


def _loads(slices: Iterable[str]) -> tuple[str, ...]:
    """The loads that a report on latency has."""
    return tuple(name for name in slices if name.startswith("load="))


def _rows(path: Path, more: Given) -> Side:
    """A file of rows."""
    suites = {
        name: Measured(
            made=Made(None, "", {}, known=False),
            values={},
            rows=told.rows,
            rowless="",
            texts=of_report(name, {"inputs": []}, path.parent, more.gold),
            notes=told.notes,
        )
        for name, told in suites_of(path, more.suite).items()
    }
    return Side(shown_path(path), suites, sha256_of(path), path=path)


def _stored(name: str, more: Given) -> Side:
    """An entry of the history."""
    store = opened(more.store, more.config)
    run = store.find(name)
    return of_run(name, store.report(run.id), None)._replace(sha256=run.report_sha256)


# what is scored now


def _folder(path: Path, corpus: Path | None, more: Given) -> Side:
    """What `ragworthy run` left in a folder; its own gold set where none is named and that is still the same."""
    traces = path / TRACES
    if not traces.is_file():
        raise _unknown(str(path), f"the folder of a run, with {TRACES}: there is none in it")
    gold = more.gold or _own_gold(path / SUMMARY)
    if gold is not None:
        check_beside(traces, gold)
    return _traces(path, traces, gold, corpus, more)


def _own_gold(summary: Path) -> Path | None:
    """The gold set that a run asked, where it is still there and the same."""
    if not summary.is_file():
        return None
    try:
        told = msgspec.json.decode(read_bytes(summary), type=dict[str, Any]).get("gold") or {}
        path = Path(str(told.get("path") or ""))
        return path if path.is_file() and sha256_of(path) == told.get("sha256") else None
    except (msgspec.MsgspecError, AttributeError):
        return None


def _traces(name: Path, traces: Path, gold: Path | None, corpus: Path | None, more: Given) -> Side:
    if gold is None:
        raise UsageError([Problem("RW-Y01", "expected --gold GOLD besides traces, to score them, got none", str(name))])
    suite = more.suite or suite_of(open_questions("gold", gold))
    roles = {"gold": gold, "trace": traces, "corpus": corpus}
    named = {one.key: path for role, path in roles.items() if path and (one := SUITES[suite].by_role(role))}
    return _scored(name, suite, named, more)._replace(traces=traces, gold=gold)


def _scored(name: Path, suite: str, named: Mapping[str, Any], more: Given) -> Side:
    """Scored by the rules of the suite as nobody has changed them."""
    declared = SUITES[suite]
    settings = declared.settings()
    usual = () if more.qrels is not None else declared.default_gates(settings, named)
    gates = tuple(gate._replace(optional=True) for gate in usual)  # nobody asked for them: what matters is the evidence
    request = flow.Request(suite, named, settings, gates, unfrozen=True, jobs=more.jobs, keep_rows=True)
    run = flow.score(request)
    invalid = [reason for reason in run.report["invalid"] if reason != NO_GATE]
    verdict = run.report["verdict"]
    if verdict == Verdict.INVALID and not invalid:  # nobody asked for a gate: that none was measured is not a fault
        verdict = Verdict.INCONCLUSIVE.value
    report = run.report | {"invalid": invalid, "verdict": verdict}
    return of_run(shown_path(name), report, run)._replace(path=name, verdict=None)


def of_run(name: str, report: Mapping[str, Any], run: "flow.Run | None") -> Side:
    """What was scored just now."""
    suites = {}
    for nth, (suite, body) in enumerate(report["suites"].items()):
        found = body.get("rows")
        none = found.get("none") if isinstance(found, dict) else "no rows were kept"
        part = run.parts[nth] if run is not None else None
        suites[suite] = Measured(
            made=_made(body, report["verdict"])._replace(invalid=_reasons(report)),
            values=_values(body),
            rows=decoded(found) if isinstance(found, dict) and not isinstance(found.get("none"), str) else None,
            rowless="" if none is None else f"it has no rows ({none})",
            texts=of_report(suite, body, Path(), None) if part is None or part.texts is None else of_part(part),
        )
    return Side(name, suites, None, report["verdict"])


def _made(body: Mapping[str, Any], verdict: str) -> Made:
    gold = next((one["sha256"] for one in body["inputs"] if one["role"] == "gold"), None)
    return Made(gold, body["profile"], body["settings"], body["frozen"], verdict, _loads(body["slices"]), told_of(body))


def _reasons(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Why the evidence of a report is not valid, as far as it says that."""
    told = report.get("invalid")
    return tuple(map(str, told)) if isinstance(told, list) else ()


def _values(body: Mapping[str, Any]) -> dict[str, Fraction | None]:
    """The values of a body in memory, as exactly as they are written."""
    found: dict[str, Fraction | None] = {}
    for name, one in body["metrics"].items():
        if one["value"] is None:
            found[name] = None
        elif one.get("exact") is not None:
            found[name] = Fraction(one["exact"])
        elif one["num"] is not None:
            found[name] = Fraction(one["num"], one["den"] or 1)
        else:
            found[name] = Fraction(one["value"])
    return found


def _unknown(name: str, expected: str) -> UsageError:
    return UsageError([Problem("RW-Y02", f"expected {expected}", name)])
