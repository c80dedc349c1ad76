"""The numbers of the original program for structured answers, with its own rules where they differ from the text.

It strips code fences wherever they stand, takes NaN and repeated keys, matches list items by an edit ratio above a low
threshold, asks for fewer keywords, looks for anchors across the borders of chunks, and leaves failed answers out of
its means. Sub-scores are kept to four places and scores to three, as it writes them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from statistics import quantiles
from typing import Any, NamedTuple

from ragworthy.metrics.answer_json import span
from ragworthy.metrics.grading import Scored, told
from ragworthy.metrics.kinds.texts import keywords
from ragworthy.metrics.kinds.values import decimal
from ragworthy.names import Failure
from ragworthy.records import ContextChunk, StructuredOutput
from ragworthy.text import letters, pairs_of, squeeze, unspaced

FIELDS = (
    ("target_audience", 0.10),
    ("main_topic", 0.10),
    ("sub_topic", 0.10),
    ("detailed_description", 0.30),
    ("original_evidence", 0.20),
    ("predicted_questions", 0.10),
    ("grounding", 0.10),
)
LABELS = ("target_audience", "main_topic", "sub_topic")
LISTS = {"detailed_description": (12, 0.13), "predicted_questions": (10, 0.33)}
"""How many items take part, and how alike two must be."""
KEYS = (*LABELS, "detailed_description", "original_evidence", "predicted_questions", "source_map")
_WORKS_FROM = 20
"""From this many scores on the 95th percentile is a quantile; below it is the greatest."""


class Found(NamedTuple):
    """What the program reads out of a text."""

    value: dict[str, Any] | None
    reason: Failure | None


def find(raw: str) -> Found:
    """The object in a text, and why the program's runner does not count it."""
    text = raw.strip()
    fenced = "```" in text
    if fenced:
        text = re.sub(r"```[a-zA-Z0-9_-]*\s*", "", text).strip()
    begin, end = span(text)
    if begin is None or end is None:
        return Found(None, Failure.PARSE_FAILED if begin is None else Failure.TRUNCATED_JSON)
    try:
        value = json.loads(text[begin:end])
    except (ValueError, RecursionError):
        return Found(None, Failure.PARSE_FAILED)
    if fenced:
        return Found(value, Failure.CODE_FENCE)
    if text[:begin].strip() or text[end:].strip():
        return Found(value, Failure.EXTRA_TEXT)
    return Found(value, _strict(value))


def _strict(value: Mapping[str, Any]) -> Failure | None:
    texts = [value.get(key) for key in (*LABELS, "original_evidence")]
    texts += [item for key in LISTS for item in _listed(value.get(key))[:12]]
    if any(isinstance(text, str) and text.strip() == "string" for text in texts):
        return Failure.PLACEHOLDER_STRING
    if any(key not in value for key in KEYS):
        return Failure.SCHEMA_FAILED
    lists = (*LISTS, "source_map")
    return None if all(isinstance(value[key], list) for key in lists) else Failure.SCHEMA_FAILED


def score(expected: Mapping[str, Any], output: StructuredOutput | None) -> Scored:
    """One answer as the program records it: parts where its scorer gives some, the score of its runner."""
    if output is None or output.error:
        reason = Failure.MISSING if output is None else Failure.PROVIDER_ERROR
        detail = "no output" if output is None else told(output.error)
        return Scored(Fraction(0), (), (), reason, detail, counted=False)
    found = find(output.raw or "")
    parts = _parts(expected, found.value, output.context or []) if found.value is not None else None
    if parts is None:
        return Scored(Fraction(0), (), (), found.reason or Failure.SCHEMA_FAILED, counted=False)
    total = sum(weight * parts[name][0] for name, weight in FIELDS)
    points = 0.0 if found.reason else round(100 * max(0.0, min(1.0, total)), 3)
    return Scored(
        decimal(points),
        tuple(decimal(round(parts[name][0], 4)) for name, _ in FIELDS),
        tuple(parts[name][1] for name, _ in FIELDS),
        found.reason,
        counted=found.reason is None,
    )


Part = tuple[float, tuple[int, ...]]


def _parts(
    expected: Mapping[str, Any], got: Mapping[str, Any], context: Sequence[ContextChunk]
) -> dict[str, Part] | None:
    """Every part with its counts; None where the program's scorer gives up."""
    if any(key not in got for key in KEYS):
        return None
    if any(got[key] and not isinstance(got[key], list) for key in LISTS):
        return None
    parts: dict[str, Part] = {key: (_label(_text(expected.get(key)), _text(got[key])), ()) for key in LABELS}
    for key, (cap, threshold) in LISTS.items():
        parts[key] = _listing(_listed(expected.get(key))[:cap], _listed(got[key])[:cap], threshold)
    parts["original_evidence"] = _evidence(_text(expected.get("original_evidence")), _text(got["original_evidence"]))
    parts["grounding"] = _grounding(got["source_map"], context)
    return parts


def _text(value: Any) -> str:
    return str(value or "")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _label(expected: str, got: str) -> float:
    one, other = squeeze(expected), squeeze(got)
    if not one or not other:
        return 0.0
    if one in other or other in one:
        return 1.0
    pairs, others = pairs_of(unspaced(one)), pairs_of(unspaced(other))
    if not pairs or not others:
        return 1.0 if not pairs and not others else 0.0
    return 1.0 if len(pairs & others) / len(pairs | others) >= 0.72 else 0.0


def _listing(expected: list[Any], got: list[Any], threshold: float) -> Part:
    wanted = [text for text in (letters(str(item)) for item in expected) if text]
    given = [text for text in (letters(str(item)) for item in got) if text]
    if not wanted and not given:
        return 1.0, (0, 0, 0)
    pairs = sorted((-_ratio(one, other), i, j) for i, one in enumerate(wanted) for j, other in enumerate(given))
    left, right = set(range(len(wanted))), set(range(len(given)))
    matched = 0
    for likeness, i, j in pairs:
        if -likeness >= threshold and i in left and j in right:
            left.remove(i)
            right.remove(j)
            matched += 1
    counts = (matched, len(wanted), len(given))
    if not matched:
        return 0.0, counts
    recall, precision = matched / len(wanted), matched / len(given)
    return 2 * recall * precision / (recall + precision), counts


def _ratio(one: str, other: str) -> float:
    if one == other:
        return 1.0
    return 0.99 if one in other or other in one else SequenceMatcher(None, one, other).ratio()


def _evidence(expected: str, got: str) -> Part:
    text = squeeze(got)
    known = set(keywords(text)[:80])
    hits = sum(word in known for word in keywords(expected)[:30])
    length = len(text)
    return min(1.0, hits / 6) * (1.0 if length >= 25 else length / 25), (hits, length)


def _grounding(entries: Any, context: Sequence[ContextChunk]) -> Part:
    paths = {squeeze(chunk.source_path or "") for chunk in context} - {""}
    text = letters("\n".join(chunk.text or "" for chunk in context))
    good = total = 0
    for entry in _listed(entries)[:12]:
        for ref in _listed(entry.get("refs") if isinstance(entry, dict) else None)[:6]:
            if not isinstance(ref, dict):
                continue
            total += 1
            anchors = [letters(str(anchor)) for anchor in _listed(ref.get("anchors"))[:6]]
            file = squeeze(_text(ref.get("file")))
            good += bool(file) and (not paths or file in paths) and any(anchor and anchor in text for anchor in anchors)
    return good / total if total else 0.0, (good, total)


def p95(scores: Sequence[Fraction]) -> Fraction:
    """The 95th percentile as the program takes it."""
    if len(scores) < _WORKS_FROM:
        return max(scores)
    return decimal(quantiles(map(float, scores), n=20)[18])
