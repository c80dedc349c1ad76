"""What one file alone can show: a gold set without traces, or traces without a gold set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.gates import MAX, MIN
from ragworthy.gold import lint_text
from ragworthy.gold.commands import open_gold, suite_of
from ragworthy.load.chunks import read_lines
from ragworthy.load.foreign import check
from ragworthy.load.sources import open_source
from ragworthy.paired.power import cases_to_show
from ragworthy.prefill import slice_fields, toml
from ragworthy.report.show import plural
from ragworthy.stats import cases_needed
from ragworthy.suites import SUITES
from ragworthy.suites.answers.doctor import Recurring, recurring_among
from ragworthy.text import clip, visible

Records = list[dict[str, Any]]
SHOWN = 10
OF_TRACES = {
    "answers": ("answer_json",),
    "retrieval": ("topk", "retrieved_ids"),
    "stability": ("jitter", "seed"),
    "latency": ("e2e_ms", "stage_ms"),
    "structured": ("raw",),
}
"""A suite can read records that have one of these fields."""


def gold_lines(path: Path) -> list[str]:
    """What a gold set says, what it can measure, what is wrong with it."""
    source = open_gold(path)
    suite = suite_of(source)
    records = _records(path, "Gold") if suite != "structured" else []
    linted = lint_text.linted(path, suite, short_words=True)
    lines = [f"{source.given}: a gold set for the suite {suite}, {plural(linted.items, 'question')}"]
    if records:
        lines += ["", "What the items say", *_fields(records)]
    if suite == "answers":
        lines += ["", "What it can measure, once there are traces", *_measurable(records)]
        lines += ["", "What the gates can show", *_power(suite, records)]
    if fields := slice_fields(path) if records else []:
        lines += ["", "Fields to split the numbers by", f"  slices = {toml([name for name, _ in fields])}"]
    lines += ["", "What is wrong or doubtful", *(f"  {line}".rstrip() for line in lint_text.lines(linted))]
    return [*lines, "", f"next: ragworthy init --gold {visible(str(path))}"]


def trace_lines(path: Path) -> list[str]:
    """What traces hold, which suites can read them, and what recurs in them."""
    records = _records(path, "Trace")
    there = [name for name, fields in OF_TRACES.items() if any(field in one for one in records for field in fields)]
    if not there:
        check(open_source("trace", path), "Trace")
    errors = Counter(clip(str(one["error"]), 100) for one in records if one.get("error") is not None)
    lines = [
        f"{visible(str(path))}: {plural(len(records), 'trace')}",
        f"read by: {', '.join(there) if there else 'no suite: none of the fields that suites read is there'}",
        "",
        "What the traces hold",
        *_fields(records),
        *_nested(records),
    ]
    if errors:
        lines += ["", "Errors", *(f"  {count:>6,} ×  {visible(text)}" for text, count in errors.most_common(SHOWN))]
    lines += _recurring(recurring_among(_claims(records)))
    return [*lines, "", f"next: ragworthy init --gold GOLD.jsonl --trace {visible(str(path))}"]


def _records(path: Path, kind: str) -> Records:
    problems: list[Problem] = []
    records = [line.record for line in read_lines(path, problems)]
    if problems:
        check(open_source("gold", path), kind, strict=False)
        raise DataError(problems[:20], len(problems))
    if not records:
        raise data_error("RW-F04", "expected records, got none", where=str(path))
    return records


def _filled(value: Any) -> bool:
    return value is not None and value != [] and value != "" and value != {}


def _fields(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """How many records have each field with something in it, the most frequent first."""
    total = 0
    counts: Counter[str] = Counter()
    for one in records:
        total += 1
        counts.update(dict.fromkeys(one, 0) | {key: 1 for key, value in one.items() if _filled(value)})
    return [
        f"  {count:>6,} of {total:,}  {visible(clip(name, 60))}"
        for name, count in sorted(counts.items(), key=lambda pair: -pair[1])[:30]
    ]


def _nested(records: Records) -> list[str]:
    """The same inside answers, and how many ids were retrieved."""
    answers = [one["answer_json"] for one in records if isinstance(one.get("answer_json"), dict)]
    lines = [line.replace("  answer_json", "") for line in _fields(answers)] if answers else []
    lines = ["inside answer_json", *lines] if lines else []
    if answers and not any(_filled(one.get("citations")) for one in answers):
        lines.append("  no answer cites anything: precision and CHR will be 0; gate on containment and hit@k")
    counts = [len(one["retrieved_ids"]) for one in records if isinstance(one.get("retrieved_ids"), list)]
    if counts:
        lines.append(f"retrieved_ids: {min(counts):,} to {max(counts):,} a trace")
    return lines


def _claims(records: Records) -> list[str]:
    answers = (one.get("answer_json") for one in records)
    return [one["claim"] for one in answers if isinstance(one, dict) and isinstance(one.get("claim"), str)]


def _recurring(found: list[Recurring]) -> list[str]:
    if not found:
        return []
    refusing = [one.claim for one in found if one.refusal_like]
    lines = ["", "Claims that recur"]
    lines += [f"  {one.questions:>6,} ×  {visible(clip(one.claim, 100))}" for one in found[:SHOWN]]
    return [*lines, f"  refusals = {toml(refusing)}"] if refusing else lines


def _measurable(records: Records) -> list[str]:
    """Which metrics the fields of the items allow, and for how many questions."""
    wanted = [one for one in records if one.get("answerable") is True]
    closed = sum(one.get("answerable") is False for one in records)
    pieces = sum(any(_filled(one.get(key)) for key in _TEXTS) for one in wanted)
    placed = sum(any(_filled(one.get(key)) for key in _PLACES) for one in wanted)
    by_text = sum(not _filled(one.get("gold_citations")) and _filled(one.get("gold_evidence")) for one in wanted)
    references = sum(_filled(one.get("gold_reference")) for one in wanted)
    needs = "; give --corpus to bind evidence" if by_text else ""
    rows = [
        (pieces, "containment", "gold_claim_substr or gold_claim_all"),
        (placed, f"precision, chr, recall@k, hit@k{needs}", "gold_citations, gold_evidence or gold_source"),
        (references, "reference_f1, reference_details", "gold_reference"),
        (len(wanted), "over_refusal", "answerable = true"),
        (closed, "under_refusal", "answerable = false"),
    ]
    return [
        f"  yes  {names}: {plural(count, 'question')}" if count else f"  no   {names}: no item has {field}"
        for count, names, field in rows
    ]


_TEXTS = ("gold_claim_substr", "gold_claim_all")
_PLACES = ("gold_citations", "gold_evidence", "gold_source")


def _power(suite: str, records: Records) -> list[str]:
    """How many questions each usual gate has at most, and how many it takes where half as many are bad as it allows."""
    declared = SUITES[suite]
    closed = sum(one.get("answerable") is False for one in records)
    lines = []
    for gate in declared.default_gates(declared.settings(), {}):
        limit = Fraction(gate.threshold)
        needed = cases_needed(gate.op, limit) if gate.op in (MIN, MAX) else None
        about = cases_to_show(gate.op, limit, (1 + limit) / 2 if gate.op == MIN else limit / 2)
        if needed is None or about is None:
            continue
        most = {"answers.under_refusal": closed, "answers.over_refusal": len(records) - closed}.get(
            gate.metric, len(records)
        )
        sign = "≥" if gate.op == MIN else "≤"
        lines.append(
            f"  {'yes' if most >= about else 'no '}  {gate.metric} {sign} {gate.threshold}: at most "
            f"{plural(most, 'case')}, needs {needed.to_pass:,} clean ones, or about {about:,} with half as many "
            "bad ones as it allows"
        )
    return lines
