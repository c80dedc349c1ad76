"""What must hold for every case, whatever was done to its files."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz import reseal
from fuzz.case import Case
from fuzz.edits import Files, Place
from fuzz.room import Ending, Snapshot
from ragworthy.metrics import registry

_OUTPUTS = ("-o", "--output", "--rows", "--receipt", "--bundle", "--tsv", "--plot", "--pairs-out", "--gold-out",
            "--spot-check", "--trace-out", "--chunks-out", "--qrels-out", "--run-out")  # fmt: skip
_VOLATILE = ("out/journal.jsonl", "out/timings.jsonl", "out/latency.jsonl", "out/latency.json")
"""Files with times in them: the only ones that may differ when a command is run again."""
_FROZEN = re.compile(rb'"(frozen_at|when)": ?"[0-9TZ:.+-]*"')
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 without the line feed, C1, what turns text round, and halves of surrogate pairs."""
_AGAINST = ("drop<=", "worse<=")


def of_ending(case: Case, command: list[str], ending: Ending) -> str:
    """What is wrong with the way a command ended; empty when nothing is."""
    if ending.fault:
        return ending.fault
    if ending.code not in case.expect:
        return f"exit {ending.code}, expected {list(case.expect)}: {_short(ending.err or ending.out)}"
    both = ending.out + ending.err
    if "Traceback (most recent" in both:
        return f"a traceback was shown: {_short(both)}"
    for text in case.never:
        if text in both:
            return f"{text!r} was printed: {_short(both)}"
    odd = control(both)
    if odd:
        return f"control characters in the output: {odd}"
    if forged(ending.out):
        return f"a second verdict in the output: {_short(ending.out)}"
    if command[0] in ("score", "gate"):
        return _of_score(command, ending)
    if ending.code == 2 and "[RW-" not in both and not both.startswith("usage:") and command[0] != "verify":
        return f"exit 2 without a code: {_short(both)}"
    return ""


def _of_score(command: list[str], ending: Ending) -> str:
    if ending.code == 2:
        if ending.out:
            return f"exit 2 with something on stdout: {_short(ending.out)}"
        if "[RW-" not in ending.err and not ending.err.startswith("usage:"):
            return f"exit 2 without a code: {_short(ending.err)}"
        return ""
    if ending.err:
        return f"exit {ending.code} with something on stderr: {_short(ending.err)}"
    return of_report(ending) if prints_json(command) else ""


def prints_json(command: list[str]) -> bool:
    """Whether the report is on stdout as JSON."""
    formats = [after for flag, after in pairwise(command) if flag == "--format"]
    reference = "reference" in command and "--profile" in command
    return bool(formats) and formats[-1] == "json" and not reference and "-q" not in command and "--item" not in command


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def of_report(ending: Ending) -> str:
    """What is wrong with a printed report: it must be JSON, say the exit code, and have ledgers that close."""
    try:
        report = json.loads(ending.out, parse_constant=_no_constant)
    except ValueError as error:
        return f"the report does not parse: {error}"
    if report.get("exit_code") != ending.code:
        return f"exit {ending.code}, but the report says {report.get('exit_code')}"
    for name, suite in report["suites"].items():
        problem = _of_suite(name, suite)
        if problem:
            return problem
    return ""


def _of_suite(name: str, suite: dict[str, Any]) -> str:
    for metric, body in suite["metrics"].items():
        ledger = body.get("ledger")
        if ledger is not None and sum(ledger.values()) != 2 * ledger["expected"]:
            return f"the ledger of {metric} does not close: {ledger}"
    if name != "answers":
        return ""
    counts = suite["counts"]
    total = counts["gold"]
    if any(body["ledger"]["expected"] != total for body in suite["metrics"].values()):
        return f"a ledger does not expect every question: {counts}"
    # a trace with an error is counted apart since `errored` is a fate of its own
    fates = counts["answered"] + counts["refused"] + counts["missing"]
    if not total or total not in (fates, fates + counts.get("errored", 0)):
        return f"the counts do not close: {counts}"
    if sum(suite["labels"].values()) != total:
        return f"the labels do not add up: {suite['labels']}"
    return ""


def control(text: str) -> str:
    """The first control character of a text that a terminal would obey, with what stands around it."""
    found = _CONTROL.search(text)
    return repr(text[max(0, found.start() - 30) : found.end() + 10]) if found else ""


def of_outputs(new: Snapshot) -> str:
    """What is wrong with the reports that were written."""
    for name, data in new.items():
        if name.startswith("report.") and name.endswith((".md", ".txt", ".xml")):
            text = data.decode("utf-8", "replace")
            odd = control(text)
            if odd:
                return f"control characters in {name}: {odd}"
            if forged(text):
                return f"a second verdict in {name}"
    return ""


def forged(text: str) -> bool:
    """Whether a text shows more than one verdict: then one of them came out of an input."""
    return any(len(re.findall(line, text)) > 1 for line in (r"(?m)^## .* Ragworthy: ", r"(?m)^verdict: "))


def of_files(commands: list[list[str]], files: Files, before: Snapshot, after: Snapshot) -> str:
    """Inputs are byte-identical, and nothing is written but the outputs that were asked for."""
    whole: set[str] = set()
    folders: set[str] = set()
    again: set[str] = set()
    for command in commands:
        for name in _asked(command, files):
            (folders if name.endswith("/") else whole).add(name)
        if command[:2] == ["gold", "freeze"]:
            again.add("gold.lock")
        if command[0] == "@reseal":
            again.add(command[1])
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) or name in again or any(name.startswith(one) for one in folders):
            continue
        if name in before and not (name in whole and _unread(name, commands, files)):
            return f"an input was {'changed' if name in after else 'removed'}: {name}"
        if name not in whole:
            return f"a file that nobody asked for: {name}"
    return ""


def _unread(name: str, commands: list[list[str]], files: Files) -> bool:
    """Whether an output that was there before is not an input: then it is the caller's wish to replace it."""
    words = [word for command in commands for word in command]
    told = [data for file, data in files.items() if file.endswith(".toml") and isinstance(data, bytes)]
    return words.count(name) == 1 and name != "gold.lock" and not any(name.encode() in text for text in told)


def _asked(command: list[str], files: Files) -> Iterator[str]:
    """The outputs of a command; a folder ends with a slash."""
    for flag, value in pairwise(command):
        if flag in _OUTPUTS:
            yield value
            if command[0] == "gate" and value.endswith(".json"):
                yield f"{value.removesuffix('.json')}.html"  # the page is beside the report
        if flag == "--out":
            yield f"{value}/"
    if command[0] == "gate":
        yield ".ragworthy/"
        policy = files.get(command[command.index("-c") + 1] if "-c" in command else "ragworthy.toml")
        if isinstance(policy, bytes):
            yield from _table_of(policy)
    if command[:2] == ["gold", "freeze"] and "--lock" in command:
        lock = files.get(command[command.index("--lock") + 1])
        if isinstance(lock, Place) and lock.what == "link":  # a lock that was named is written where the link leads
            yield lock.target
    if command[:2] == ["gold", "rebind"]:
        yield from ("bound.log.jsonl", "bound.review.jsonl")


def _table_of(policy: bytes) -> Iterator[str]:
    """The table of disagreements that a policy names, where it names one."""
    try:
        table = tomllib.loads(policy.decode("utf-8"))
        name = table.get("tool", {}).get("ragworthy", table).get("agreement", {}).get("tsv")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(name, str):
        yield posixpath.normpath(name)


def of_garbage(command: list[str], ending: Ending) -> str:
    """Answers that are worth nothing never ship, unless each gate that was measured is one that they honestly meet."""
    if ending.code != 0:
        return ""
    if command[0] == "verify":
        shown = json.loads(Path(command[1]).read_bytes())
    elif prints_json(command):
        shown = json.loads(ending.out)
    else:
        return ""
    if shown["verdict"] != "SHIP":
        return ""
    gates = shown["gates"]
    passed = [gate for gate in gates if gate["outcome"] == "pass" and not gate["metric"].endswith(".missing")]
    if not passed and not any(gate.get("waiver") for gate in gates):
        return f"garbage ships although no gate was measured: {_gates(gates)}"
    unfair = [gate for gate in passed if not _honest(gate)]
    return f"garbage ships through {_gates(unfair)}" if unfair else ""


def _honest(gate: dict[str, Any]) -> bool:
    """Whether garbage may pass a gate: nothing is refused, so over-refusal is 0; what is right stays at 0."""
    named = registry.find(gate["metric"], default_k=5)
    higher = named is None or named.metric.better == "higher"
    value = gate["value"] if "value" in gate else gate["num"]
    if gate["op"] in _AGAINST:  # no worse than a baseline that is garbage too
        return "baseline" not in gate or (value >= gate["baseline"] if higher else value <= gate["baseline"])
    if gate["op"] == "each":
        return not higher
    return bool(value) if higher and gate["op"] == ">=" else not higher and gate["op"] == "<="


def _gates(gates: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{one['metric']} {one['op']} {one['threshold']} ({one.get('value', one.get('num'))})" for one in gates
    )[:300]


def of_verified(command: list[str], ending: Ending) -> str:
    """`verified` means that the very bytes come out again."""
    if command[0] != "verify" or "\nverified:" not in f"\n{ending.out}" or command[1].endswith(".zip"):
        return ""
    return reseal.difference(command[1])


def differs(one: list[Ending], two: list[Ending]) -> bool:
    """Whether two ways of reading disagree; where both files are damaged, either may be named first."""
    damaged = ("[RW-F12]", "[RW-F13]")
    last, other = one[-1], two[-1]
    both = last.code == other.code == 2 and all(any(code in end.err for code in damaged) for end in (last, other))
    return one != two and not both


def stable(files: Snapshot, commands: list[list[str]]) -> Snapshot:
    """The files whose bytes must repeat; the traces of the built-in pipeline say how long its stages took."""
    timed = any("builtin:live" in command for command in commands)
    out = (*_VOLATILE, "out/traces.jsonl", "out/run.json") if timed else _VOLATILE  # run.json has the hash of traces
    return {name: _undated(name, data) for name, data in files.items() if name not in out}


def _undated(name: str, data: bytes) -> bytes:
    """A lock without the second in which it was frozen: two runs may lie on both sides of one."""
    return _FROZEN.sub(rb'"\1": ""', data) if name.endswith(".lock") else data


def _short(text: str) -> str:
    return " ".join(text.split())[:400]
