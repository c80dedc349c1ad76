"""What the pytest plugin tests: the questions of a gold set and the gates of a policy, each as one item."""

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import api, flow
from ragworthy import gates as g
from ragworthy.api_run import Ran, name_of, run
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, UsageError, data_error
from ragworthy.files import shown_path
from ragworthy.given import in_python, several
from ragworthy.gold.lint_retrieval import Question as Item
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.names import HARMLESS, Outcome
from ragworthy.policy.read import find_policy
from ragworthy.pytest_marks import OF_RUN, check_keywords
from ragworthy.records import RetrievalGold
from ragworthy.report.show import gate_name, gate_notes
from ragworthy.result import Result, check_must_pass, must_pass_gate, with_must_pass
from ragworthy.runner.ended import SUMMARY
from ragworthy.suites import SUITES
from ragworthy.text import clip

VERDICT = "verdict"
"""The item beside those of the gates: whatever keeps the whole from shipping."""


class How(NamedTuple):
    """What is asked and judged: the sections of a policy, or one gold set by its own."""

    policy: Path | None
    gold: Any
    traces: Any
    must_pass: tuple[str, ...]
    of_run: dict[str, Any]
    of_score: dict[str, Any]

    def key_of_run(self, target: Any) -> str:
        """The same where the same is asked, in every process of a test session."""
        asked = target if isinstance(target, str | None) else name_of(target)
        key = _hashed(self.policy, self.gold, asked, sorted(self.of_run.items()))
        # another object may be called the same, here or in another process
        return key if has_a_name(target) else f"{key}-{os.getpid()}-{id(target)}"

    def key(self, target: Any) -> str:
        """The same where the same is asked and judged alike."""
        return _hashed(self.key_of_run(target), self.traces, self.must_pass, sorted(self.of_score.items()))


def _hashed(*parts: Any) -> str:
    return hashlib.sha256("\n".join(map(_whole, parts)).encode()).hexdigest()[:16]


def _whole(part: Any) -> str:
    """All that a value is; of what does not show itself whole, as a data frame, which object it is."""
    if isinstance(part, list | tuple):
        return f"[{', '.join(map(_whole, part))}]"
    if isinstance(part, str | Path | dict | int | float | None):
        return repr(part)
    return f"{type(part).__qualname__} {os.getpid()} {id(part)}"


def has_a_name(target: Any) -> bool:
    """Whether every process of a session finds the same under the name of a target: a text, or what can be imported."""
    if target is None or isinstance(target, str):
        return True
    found = sys.modules.get(getattr(target, "__module__", None) or "")
    for part in getattr(target, "__qualname__", "?").split("."):
        found = getattr(found, part, None)
    return found is target


def how(named: Mapping[str, Any], policy: Path | None) -> How:
    """What the keywords of a marker say; `policy` is the one to take where they name neither policy nor gold set."""
    given = dict(named)
    check_keywords(given)
    own, gold, traces = given.pop("policy", None), given.pop("gold", None), given.pop("traces", None)
    must_pass = given.pop("must_pass", ())
    given.pop("target", None)
    if isinstance(must_pass, str):
        raise _nothing(f'must_pass: expected a list of ids, got a text: write ["{must_pass}"]')
    must_pass = several("must_pass", must_pass)
    of_run = {name: given.pop(name) for name in sorted(OF_RUN & given.keys())}
    if gold is None and (given or traces is not None):
        stray = next(iter(given), "traces")
        raise _nothing(f"{stray}: expected gold with it: what a policy judges, it says itself")
    if gold is not None and own is not None:
        raise _nothing("gold: expected it in the policy, or no policy")
    if gold is None:
        policy = Path(own) if own is not None else policy
        if policy is None:
            raise _nothing("expected a policy or a gold set, got neither")
    return How(policy if gold is None else None, gold, traces, must_pass, of_run, given)


def _nothing(message: str) -> UsageError:
    return UsageError([Problem("RW-U09", message, "ragworthy")])


def policy_in(*folders: Path) -> Path | None:
    """The policy of the first folder that has one; None where none has."""
    for folder in folders:
        if (folder / "ragworthy.toml").is_file():
            return folder / "ragworthy.toml"
        table = folder / "pyproject.toml"
        if table.is_file() and "[tool.ragworthy" in table.read_text(encoding="utf-8"):
            return table
    return None


# what there is to test, known before anything is asked


class Named(NamedTuple):
    """A gate as an item: its id in the session, and how it is found in a report."""

    id: str
    metric: str
    suite: str | None
    op: str
    slice: str | None
    threshold: str


def questions(asked: How) -> list[str]:
    """The ids of the questions, in the order of the gold set."""
    with in_python():
        gold = asked.gold if asked.gold is not None else _section(asked).get("gold")
        items, problems = read_items(open_source("gold", gold), RetrievalGold)
        if problems:
            raise DataError(problems[:MOST_PROBLEMS], len(problems))
        if not items:
            raise data_error("RW-G05", "expected gold records, got none", where=open_source("gold", gold).given)
        found = [Item(*item).qid for item in items]
        check_must_pass(_suite(asked) or "answers", asked.must_pass, found)
        return found


def _requests(asked: How) -> list[flow.Request]:
    return flow.requests_of(find_policy(str(asked.policy)), today=None)


def _fit(request: flow.Request) -> bool:
    """Whether a pipeline can be asked for what a section judges."""
    return request.get("gold") is not None and request.get("traces") is not None


def _section(asked: How) -> flow.Request:
    """The section of a policy whose questions are tested: answers, or else the first with a gold set and traces."""
    fit = list(filter(_fit, _requests(asked)))
    if not fit:
        raise _nothing(f"{asked.policy}: expected a section with gold and traces, got none")
    return next((one for one in fit if one.suite == "answers"), fit[0])


def _suite(asked: How) -> str | None:
    """The suite whose questions are tested; None where a policy has none with traces."""
    if asked.gold is not None:
        return "answers"
    return _section(asked).suite if any(map(_fit, _requests(asked))) else None


def gates(asked: How) -> list[Named]:
    """Every gate that is known before anything is judged, each under an id of its own."""
    with in_python():
        if asked.gold is not None:
            known: list[g.Gate] = list(api.gates_of("answers", asked.of_score))
        else:
            known = [gate for request in _requests(asked) for gate in request.gates]
        if asked.must_pass:
            questions(asked)  # refuses those that are not there
            known.append(must_pass_gate(_suite(asked) or "answers", asked.must_pass))
    found: dict[str, Named] = {}
    for gate in known:
        name = f"{g.name_of(gate)}{'-must_pass' if gate.op == g.EACH else ''}"
        nth = sum(one == name or one.startswith(f"{name}-") for one in found)
        own = f"{name}-{nth + 1}" if name in found else name
        found[own] = Named(own, gate.metric, gate.suite, gate.op, gate.slice, gate.threshold)
    return list(found.values())


# what came of it


def told(asked: How, target: Any) -> str:
    """What is judged: who is asked, and what was recorded before."""
    found = []
    if target is not None:
        name = target if isinstance(target, str) else name_of(target)
        found.append(f"asked {re.sub(r'(?<=//)[^/@]*@', '', name.partition('?')[0])}")
    if asked.gold is not None:
        recorded = [("traces", asked.traces)] if target is None and asked.traces is not None else []
    else:
        recorded = [
            (one.key, request.get(one.key))
            for request in _requests(asked)
            for one in SUITES[request.suite].inputs
            if one.receipt_role == "trace" and not one.several and request.get(one.key) is not None
            if target is None or not _fit(request)
        ]
    for key, given in dict.fromkeys((key, _place(given)) for key, given in recorded):
        found.append(f"recorded {key} {given}")
    return ", ".join(found)


def _place(given: Any) -> str:
    return shown_path(Path(given)) if isinstance(given, str | Path) else "from memory"


def result_of(asked: How, target: Any, out: Path) -> Result:
    """Ask the target where there is one, once for each gold set, in folders under `out`; then judge."""
    result = _result_of(asked, target, out)
    if not asked.must_pass:
        return result
    with in_python():
        return with_must_pass(result, _suite(asked) or next(iter(result.report["suites"])), asked.must_pass)


def _result_of(asked: How, target: Any, out: Path) -> Result:
    if asked.gold is not None:
        if target is not None:
            return _ran(target, asked.gold, asked, out / "gold").score("answers", **asked.of_score)
        if asked.traces is None:
            with in_python():
                raise _nothing("expected a target or traces beside gold, got neither")
        return api.score("answers", gold=asked.gold, traces=asked.traces, **asked.of_score)
    if target is None:
        return api.gate(asked.policy)
    fresh: dict[str, api.Fresh] = {}
    with in_python():
        wanted = list(filter(_fit, _requests(asked)))
    for request in wanted:
        sha256 = open_source("gold", request.get("gold")).sha256()
        if sha256 not in fresh:
            ran = _ran(target, request.get("gold"), asked, out / sha256[:16])
            fresh[sha256] = api.Fresh(sha256, ran.path, ran.chunks)
    return api.gate_of(asked.policy, list(fresh.values()))


def _ran(target: Any, gold: Any, asked: How, out: Path) -> Ran:
    """The run of another process where that has ended, or a run."""
    if (out / SUMMARY).is_file():
        return Ran(out, gold, kept=True)
    return run(target, gold, out=out, resume=(out / "journal.jsonl").is_file(), **asked.of_run)


def asked_in(out: Path) -> bool:
    """Whether a run under this folder has ended."""
    return any(out.glob(f"*/{SUMMARY}"))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time, so that those of a session ask a pipeline once; without locks (Windows) each asks."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Question(NamedTuple):
    """A question of the gold set, and what became of it."""

    qid: str
    question: str
    claim: str
    label: str
    stage: str | None
    row: dict[str, Any]
    """The row of the report: metrics, facts, label, stage."""
    must_pass: bool
    """Whether the policy or the marker says that this question must pass."""
    failing: tuple[str, ...]
    """What it breaks of that."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with the answer."""
        return self.label in HARMLESS

    @property
    def why(self) -> str:
        """What is wrong, on one line."""
        stage = f" ({self.stage})" if self.stage else ""
        return clip(f"{self.label}{stage}: {self.question} -> {self.claim or 'no answer'}", 300)


class Judgement:
    """A result, with its questions and gates by id."""

    def __init__(self, result: Result, asked: How) -> None:
        self.result = result
        self._suite = _suite(asked) or next(iter(result.report["suites"]))
        self._each = [one for one in result.gates if one["op"] == g.EACH and _of(one, self._suite)]
        self._rows = {row["qid"]: row for row in result.table() if row.get("suite", self._suite) == self._suite}

    def question(self, qid: str) -> Question:
        """One question."""
        row = self._rows[qid]
        strict = [gate for gate in self._each if qid in gate["must_pass"]]
        failing = [f"{gate_name(gate)} must pass" for gate in strict if qid in gate["failing"]]
        return Question(
            qid,
            str(row.get("question") or ""),
            str(row.get("claim") or ""),
            str(row["label"]),
            str(row["stage"]) if row["stage"] else None,
            row,
            bool(strict),
            tuple(failing),
        )

    def gates(self, named: Named) -> list[dict[str, Any]]:
        """What the report has of a gate; several where each load has its own."""
        alike = [
            one
            for one in self.result.gates
            if (one["metric"], one.get("suite"), one["op"]) == (named.metric, named.suite, named.op)
        ]
        exact = [one for one in alike if (one["slice"], one["threshold"]) == (named.slice, named.threshold)]
        return exact or alike


def _of(gate: Mapping[str, Any], suite: str) -> bool:
    return (gate.get("suite") or str(gate["metric"]).partition(".")[0]) == suite


class Said(NamedTuple):
    """What an item of the session says: pass, fail, xfail or skip, and why."""

    outcome: str
    why: str


def said_of_question(one: Question) -> Said:
    """One that must pass and does not is a failure; another that is wrong is expected to be, and counted."""
    if one.failing:
        return Said("fail", f"{one.qid}: {', '.join(one.failing)}\n{one.why}")
    return Said("pass", "") if one.passed else Said("xfail", one.why)


def said_of_gate(one: Mapping[str, Any]) -> Said:
    """What a gate of a report says as a test."""
    shown = one["shown"]
    cases = f" ({shown['cases']})" if shown["cases"] else ""
    notes = "".join(f"\n  {note}" for note in gate_notes(dict(one)))
    undecided = "" if one["outcome"] in (Outcome.PASS, Outcome.FAIL) else f", {one['outcome'].replace('_', ' ')}"
    told = f"{gate_name(dict(one))}: {shown['value']}{cases}, expected {shown['rule']}{undecided}{notes}"
    if "waiver" in one:
        return Said("xfail", f"waived: {told}")
    if not one.get("judged", True) or (one["outcome"] == Outcome.NOT_MEASURED and one["optional"]):
        return Said("skip", f"{gate_name(dict(one))} was not judged: {one['reason']}")
    return Said("pass", "") if one["outcome"] == Outcome.PASS else Said("fail", told)


def went(counts: dict[str, int], total: int) -> str:
    """How the questions went, in words.

    >>> went({"passed": 5, "xfailed": 2, "failed": 1}, 8)
    '5 of 8 pass, 2 fail and need not pass (xfailed), 1 question must pass and fails'
    """
    fail = {outcome: "fails" if counts[outcome] == 1 else "fail" for outcome in ("xfailed", "failed")}
    expected = f"{counts['xfailed']} {fail['xfailed']} and need not pass (xfailed)"
    questions = "1 question" if counts["failed"] == 1 else f"{counts['failed']} questions"
    return f"{counts['passed']} of {total} pass, {expected}, {questions} must pass and {fail['failed']}"
