"""A policy for files that are there already: commented, and filled in with what a first look at them shows."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.errors import usage_error
from ragworthy.gates import MAX, MIN, Gate
from ragworthy.gold.commands import suite_of
from ragworthy.gold.following import UNNAMED, flags, items_of
from ragworthy.load.chunks import Line, read_lines
from ragworthy.load.questions import open_questions
from ragworthy.policy.declare import Declared, Setting
from ragworthy.report.show import number_of
from ragworthy.suites import SUITES
from ragworthy.text import visible

TRACES, OUTPUTS = "runs/latest/traces.jsonl", "runs/latest/outputs.jsonl"
"""Where `ragworthy run --out runs/latest` writes; the second for structured questions."""
CHUNKS = "chunks.jsonl"
"""What it writes beside them: the texts that were retrieved."""
FEW, MANY = 2, 12
"""A field with so many different values is worth splitting by."""
MOST_SLICES = 3
COLUMN = 40
"""Where comments begin."""
WHY = {
    "answers.precision": "what we ship must be right and cited",
    "answers.chr": "answers cite the evidence",
    "answers.containment": "answers hold what the gold set says",
    "answers.under_refusal": "no answer where the corpus has none",
    "answers.over_refusal": "no refusal where the corpus has the answer",
    "retrieval.recall": "what answers a question must be found",
    "retrieval.hit": "something that answers must be in sight",
    "latency.p95": "nobody waits longer than this",
}
INSTEAD: dict[str, tuple[tuple[str, str], ...]] = {
    "answers": (("answers.containment", "0.80"), ("answers.reference_f1", "")),
    "retrieval": (("retrieval.recall@5", ""),),
}
"""What is gated where the usual gates cannot be measured: the first that can be. Without a threshold of its own it must
be no worse than today."""
_NOT_SLICES = frozenset({"notes", "id", "qid", "q_id", "question", "index_hash", "imported"})


class Prefilled(NamedTuple):
    """A policy, and what was found on the way."""

    suite: str
    text: str
    notes: list[str]


def suite_for(given: Mapping[str, Path], named: str | None) -> str:
    """The suite that these files are for: the one that was named, or what flags and fields say."""
    if named is not None:
        return named
    if "questions" in given or "outputs" in given:
        return "structured"
    if {"pairs", "scholar", "auditor", "raters", "operators"} & set(given):
        return "agreement"
    if "runs" in given:
        first = next(iter(read_lines(given["runs"], [])), Line("", {})).record
        timed = {"e2e_ms", "load_rps", "stage_ms", "config_id"} & set(first)
        return "latency" if timed or given["runs"].suffix == ".csv" else "stability"
    if "gold" not in given:
        raise usage_error("expected --gold (or --questions, --pairs), got none: see 'ragworthy init --help'")
    return suite_of(open_questions("gold", given["gold"]))


def policy_for(given: Mapping[str, Path], folder: Path, *, suite: str | None = None) -> Prefilled:
    """A policy for these files, to be in this folder."""
    declared = SUITES[suite_for(given, suite)]
    there = _inputs(declared, given)
    there |= _beside(declared, there)
    settings, notes = declared.settings(), list[str]()
    found = _settings(declared, there)
    settings = settings._replace(**{key: value for key, (value, _) in found.items()})
    gates = declared.default_gates(settings, there)
    lacking = [one for one in declared.inputs if declared.required(one) and one.key not in there]
    if lacking:
        notes.append(f"{lacking[0].key} are not there yet: gates are the usual ones, and nothing was tried")
        written = [_gate(gate, None) for gate in gates]
    else:
        body = _scored(declared, there, settings, gates)
        written = _gates(declared.name, gates, body, notes)
    paths = {key: os.path.relpath(path, folder) for key, path in there.items()}
    paths |= {one.key: OUTPUTS if one.key == "outputs" else TRACES for one in lacking if one.of_run}
    text = "\n".join([*_head(declared, paths), *_told(declared, found), "", "\n\n".join(written), ""])
    return Prefilled(declared.name, text, notes)


def _inputs(declared: Declared, given: Mapping[str, Path]) -> dict[str, Path]:
    """The files under the keys of the suite."""
    found: dict[str, Path] = {}
    for name, path in given.items():
        one = next((one for one in declared.inputs if name in (one.key, one.option.lstrip("-"), *one.aliases)), None)
        if one is None:
            flags = ", ".join(each.option for each in declared.inputs if each.meaning and not each.written)
            raise usage_error(f"--{name}: the suite {declared.name} has no such file; it has {flags}")
        found[one.key] = path
    return found


def _beside(declared: Declared, there: Mapping[str, Path]) -> dict[str, Path]:
    """The retrieved texts that a run wrote beside its traces, where evidence has to be bound to some."""
    if not {"traces", "gold"} <= set(there) or "corpus" not in {one.key for one in declared.inputs}:
        return {}
    chunks = there["traces"].parent / CHUNKS
    if "corpus" in there or not chunks.is_file():
        return {}
    return (
        {"corpus": chunks} if UNNAMED in flags(items_of(open_questions("gold", there["gold"])), declared.name) else {}
    )


def _scored(declared: Declared, there: Mapping[str, Path], settings: Any, gates: tuple[Gate, ...]) -> dict[str, Any]:
    """What the suite says of the files as they are."""
    suite = declared.load()
    run = flow.score(suite.to_examine(flow.Request(declared.name, dict(there), settings, gates)))
    body: dict[str, Any] = run.parts[0].body
    return body


# settings that the files suggest


def _settings(declared: Declared, there: Mapping[str, Path]) -> dict[str, tuple[Any, str]]:
    """Settings that are not the usual ones, by their field, each with the reason."""
    known = {one.field for one in declared.fields()}
    found: dict[str, tuple[Any, str]] = {}
    gold = there.get("gold")
    if gold is not None and "slices" in known and (fields := slice_fields(gold)):
        values = ", ".join(f"{name} has {count} values" for name, count in fields)
        found["slices"] = (tuple(name for name, _ in fields), values)
    if (traces := there.get("traces")) is not None:
        found |= declared.load().suggested(traces)
    return found


def slice_fields(gold: Path) -> list[tuple[str, int]]:
    """Fields of a gold set with a few values each of which several questions have."""
    counts: dict[str, Counter[str]] = {}
    items = 0
    for line in read_lines(gold, []):
        items += 1
        for field, value in line.record.items():
            if isinstance(value, str) and field not in _NOT_SLICES and not field.startswith("gold_"):
                counts.setdefault(field, Counter())[value] += 1
    fit = [
        (field, len(values))
        for field, values in counts.items()
        if FEW <= len(values) <= MANY and values.total() >= 0.8 * items and values.total() >= 3 * len(values)
    ]
    return sorted(fit, key=lambda one: (one[1], one[0]))[:MOST_SLICES]


# how it is written


def _head(declared: Declared, paths: Mapping[str, str]) -> list[str]:
    lines = [
        "# What must hold before this pipeline ships. 'ragworthy gate' reads it; docs: 'ragworthy explain'.",
        "version = 1",
        _line('evidence = "point"', 'or "interval": the 95 % interval decides'),
        "",
        f"[{declared.name}]",
    ]
    return lines + [f"{key} = {toml(path)}" for key, path in paths.items()]


def _told(declared: Declared, found: Mapping[str, tuple[Any, str]]) -> list[str]:
    """Every setting: those that were found as they are, the others as comments."""
    lines = []
    for one in declared.fields():
        if not one.key.meaning:
            continue
        if one.field in found:
            value, why = found[one.field]
            lines.append(_line(f"{one.name} = {_value(one, value)}", why))
        elif one.default not in (None, "", {}):
            lines.append(_line(f"# {one.name} = {_value(one, one.default)}", one.key.meaning))
    return lines


def _value(one: Setting, value: Any) -> str:
    if one.key.reads == "ks" and len(value) == 1:
        return toml(value[0])
    return toml(value)


def _line(text: str, comment: str) -> str:
    return f"{text:<{COLUMN - 1}} # {visible(comment)}" if comment else text


def _gates(suite: str, gates: tuple[Gate, ...], body: dict[str, Any], notes: list[str]) -> list[str]:
    """The usual gates; those that cannot be measured as comments, and others in their place."""
    metrics = body["metrics"]
    lacking = {gate.metric: _undefined(metrics, gate) for gate in gates}
    lacking = {name: why for name, why in lacking.items() if why}
    written = [_gate(gate, metrics.get(gate.metric), lacking.get(gate.metric)) for gate in gates]
    if lacking:
        notes.append(f"not measured, so commented out: {', '.join(lacking)}")
        written += _instead(suite, metrics, {one.metric for one in gates})
    return written


def _instead(suite: str, metrics: Mapping[str, Any], there: set[str]) -> list[str]:
    for name, threshold in INSTEAD.get(suite, ()):
        if name in metrics and metrics[name]["value"] is not None and name not in there:
            gate = Gate(name, MIN, threshold or _floor(metrics[name]["value"]))
            return [_gate(gate, metrics[name], why="" if threshold else "no worse than today")]
    return []


def _undefined(metrics: Mapping[str, Any], gate: Gate) -> str | None:
    one = metrics.get(gate.metric)
    if one is None:
        return None if gate.suite else "not in this report"
    return one["undefined"] if one["value"] is None else None


def _floor(value: float) -> str:
    return f"{int(value * 100) / 100:.2f}"


def _gate(gate: Gate, today: Mapping[str, Any] | None, lacking: str | None = None, why: str = "") -> str:
    key = {MIN: "min", MAX: "max"}.get(gate.op, "max_drop")
    said = f"today {number_of(dict(today))}" if today is not None and today["value"] is not None else ""
    why = why or gate.why or WHY.get(gate.metric.partition("@")[0], "")
    lines = ["[[gate]]", f'metric = "{gate.metric}"', _line(f"{key} = {gate.threshold}", said)]
    lines += [f'suite = "{gate.suite}"'] if gate.suite and not gate.metric.startswith(f"{gate.suite}.") else []
    lines += [f"why = {toml(why)}"] if why else []
    if lacking:
        return "\n".join([f"# not measured: {visible(lacking)}", *(f"# {line}" for line in lines)])
    return "\n".join(lines)


def toml(value: Any) -> str:
    """A value as TOML writes it.

    >>> toml('a "b"'), toml(True), toml(("x", 1))
    ('"a \\\\"b\\\\""', 'true', '["x", 1]')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(ch if ch.isprintable() else f"\\U{ord(ch):08x}" for ch in escaped) + '"'
    return str(value)
