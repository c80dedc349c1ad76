"""What one structured answer is worth: read, checked, compared field by field, and what is to blame where it fails."""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from ragworthy.metrics.answer_json import Parsed, parse
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import ABSENT, Definition, Field, value_at
from ragworthy.metrics.kinds.base import ALL, NONE, Match
from ragworthy.metrics.kinds.texts import Keywords, Listed, keywords
from ragworthy.names import Failure, Label, Stage
from ragworthy.records import StructuredOutput
from ragworthy.text import clip

PLACEHOLDERS_IN = 12
"""How many items of a list are looked at for a placeholder."""


class Scored(NamedTuple):
    """What one answer is worth. Without an answer, or with one that cannot be read, every part is 0."""

    score: Fraction
    """Between 0 and 100."""
    parts: tuple[Fraction, ...]
    """Between 0 and 1, in the order of the fields; empty where the original program gives none."""
    counts: tuple[tuple[int, ...], ...]
    """What the parts were counted from, in the order of the fields."""
    reason: Failure | None = None
    detail: str = ""
    repaired: bool = False
    over: tuple[str, ...] = ()
    """Lists with more items than they may have."""
    counted: bool = True
    """Whether it enters the means; in the original program only valid answers do."""
    thin: bool = False
    """Whether a match rests on a very short text that is in a much longer one."""
    stage: Stage | None = None
    """The part of the pipeline to look at first; None where the item is good."""

    @property
    def ok(self) -> bool:
        """Whether the answer is one valid object of the right shape."""
        return self.reason is None


Packed: TypeAlias = tuple[
    tuple[tuple[int, int], ...],
    tuple[tuple[int, ...], ...],
    Failure | None,
    str,
    bool,
    tuple[str, ...],
    bool,
    bool,
    Stage | None,
]
"""An item in whole numbers and texts: score and parts as fractions, then its other fields."""


def pack(item: Scored) -> Packed:
    """An item in whole numbers and texts, as it goes from one process to another."""
    parts = tuple((one.numerator, one.denominator) for one in (item.score, *item.parts))
    return parts, *item[2:]


class Unpacker:
    """Makes items of what was packed; equal numbers are kept once, which saves most of the memory."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], Fraction] = {}
        self._counts: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __call__(self, packed: Packed) -> Scored:
        numbers = [self._number(one) for one in packed[0]]
        counts = tuple(self._counts.setdefault(one, one) for one in packed[1])
        return Scored(numbers[0], tuple(numbers[1:]), counts, *packed[2:])

    def _number(self, pair: tuple[int, int]) -> Fraction:
        number = self._numbers.get(pair)
        if number is None:
            number = self._numbers[pair] = Fraction(*pair)
        return number


class Known(NamedTuple):
    """What is known of an answer before it is compared: its value, and what is wrong with it."""

    value: dict[str, Any] | None
    reason: Failure | None = None
    detail: str = ""
    repaired: bool = False


def read(definition: Definition, output: StructuredOutput | None, *, repair: bool = False) -> Known:
    """The object of an answer, checked: the first thing that is wrong with it is the reason it fails for.

    With `repair`, an object in a code fence or among other text is taken out of it, once and unchanged.
    """
    if output is None:
        return Known(None, Failure.MISSING, "no output")
    if output.error:
        return Known(None, Failure.PROVIDER_ERROR, told(output.error))
    if output.raw is None:
        return Known(None, Failure.PARSE_FAILED, "no raw text")
    parsed = parse(output.raw)
    if parsed.value is None or (parsed.reason is not None and not repair):
        return Known(None, parsed.reason, parsed.detail)
    return _checked(definition, parsed)


def told(error: Any) -> str:
    """What a provider said instead of an answer, on one line."""
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False, sort_keys=True)
    return clip(text, 200)


def _checked(definition: Definition, parsed: Parsed) -> Known:
    value = parsed.value or {}
    repaired = parsed.reason is not None
    if placeholder := _placeholder(definition, value):
        return Known(None, parsed.reason or Failure.PLACEHOLDER_STRING, placeholder, repaired)
    if wrong := _wrong(definition, value):
        return Known(None, parsed.reason or Failure.SCHEMA_FAILED, wrong, repaired)
    return Known(value, parsed.reason, parsed.detail, repaired)


def _placeholder(definition: Definition, value: Mapping[str, Any]) -> str | None:
    """The first text that holds a word of the template instead of an answer."""
    for field in definition.fields:
        got = value_at(value, field.at)
        if isinstance(field.rules, Listed):
            texts = got[:PLACEHOLDERS_IN] if isinstance(got, list) else []
        elif field.kind == "grounding" or (field.kind == "enum" and field.rules.wrong(got) is None):
            texts = []  # references are not texts, and one of the values of an enum is none of a template
        else:
            texts = [got]
        for text in texts:
            if isinstance(text, str) and text.strip() in definition.placeholders:
                return f'{field.key}: the placeholder "{text.strip()}"'
    return None


def _wrong(definition: Definition, value: Mapping[str, Any]) -> str | None:
    """The first field that is missing or of the wrong kind."""
    for field in definition.fields:
        got = value_at(value, field.at)
        if got is ABSENT or (got is None and not field.required):
            if field.required:
                return f"{field.key}: expected a value, got nothing"
            continue
        wrong = field.rules.wrong(got)
        if wrong is not None:
            return f"{field.key}: {wrong}"
    return None


def score(definition: Definition, wanted: tuple[Any, ...], known: Known, context: Context) -> Scored:
    """What an answer is worth: the weighted sum of its parts, each compared by the rules of its kind."""
    if known.value is None:
        parts = (NONE,) * len(definition.fields)
        counts = ((),) * len(definition.fields)
        return Scored(NONE, parts, counts, known.reason, known.detail, known.repaired)
    matches = [
        _compared(field, expected, value_at(known.value, field.at), context)
        for field, expected in zip(definition.fields, wanted, strict=True)
    ]
    over = tuple(field.name for field in definition.fields if _over(field, value_at(known.value, field.at)))
    parts = tuple(one.score for one in matches)
    return Scored(
        100 * min(ALL, max(NONE, weighted(definition, parts))),
        parts,
        tuple(one.counts for one in matches),
        known.reason,
        known.detail,
        known.repaired,
        over,
        thin=any(one.thin for one in matches),
    )


def weighted(definition: Definition, parts: tuple[Fraction, ...]) -> Fraction:
    """The weighted sum of the parts, exact; worked out in whole numbers, which is many times faster."""
    num, den = 0, 1
    for field, one in zip(definition.fields, parts, strict=True):
        if one.numerator:
            below = field.weight.denominator * one.denominator
            num = num * below + field.weight.numerator * one.numerator * den
            den *= below
    return Fraction(num, den)


def _compared(field: Field, expected: Any, got: Any, context: Context) -> Match:
    if field.kind == "grounding":
        return field.rules.compare(None, got if got is not ABSENT and got is not None else [], context)
    if isinstance(field.rules, Listed):  # a list that was left out is an empty one
        expected, got = [] if none(expected) else expected, [] if none(got) else got
    if none(expected) or none(got):  # only in fields that may be left out: right where both are
        return Match(ALL if none(expected) and none(got) else NONE)
    return field.rules.compare(expected, got, context)


def none(value: Any) -> bool:
    """Whether a field was left out."""
    return value is ABSENT or value is None


def _over(field: Field, got: Any) -> bool:
    limit = field.rules.limit if isinstance(field.rules, Listed) else 0
    return bool(limit) and isinstance(got, list) and len(got) > limit


def wanted_of(definition: Definition, expected: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The expected values, field by field."""
    fields = value_at(expected, definition.expected)
    return tuple(value_at(fields, field.at) for field in definition.fields)


_LABELS = {
    Failure.MISSING: Label.MISSING,
    Failure.PROVIDER_ERROR: Label.ERROR,
    Failure.TRUNCATED_JSON: Label.NOT_JSON,
    Failure.PARSE_FAILED: Label.NOT_JSON,
    Failure.CODE_FENCE: Label.WRAPPED,
    Failure.EXTRA_TEXT: Label.WRAPPED,
    Failure.PLACEHOLDER_STRING: Label.PLACEHOLDER,
    Failure.SCHEMA_FAILED: Label.SCHEMA_FAILED,
}


def label(item: Scored, good: Fraction) -> Label:
    """What became of an item."""
    if item.reason is not None:
        return _LABELS[item.reason]
    return Label.OK if item.score >= good else Label.LOW_SCORE


class Loss(NamedTuple):
    """A field that costs points."""

    field: Field
    part: Fraction
    points: Fraction


def losses(definition: Definition, item: Scored) -> list[Loss]:
    """The fields that cost points, most expensive first."""
    lost = [
        Loss(field, part, 100 * field.weight * (1 - part))
        for field, part in zip(definition.fields, item.parts, strict=True)
        if part < 1
    ]
    return sorted(lost, key=lambda one: -one.points)


def blame(
    definition: Definition, wanted: tuple[Any, ...], files: frozenset[str], item: Scored, context: Context
) -> Stage:
    """The part of the pipeline to look at first. `files` are those that the question says the answer comes from.

    Retrieval is blamed only where the context that was stored shows it.
    """
    if item.reason in (Failure.MISSING, Failure.PROVIDER_ERROR):
        return Stage.PIPELINE
    if item.reason is not None and item.score == 0:
        return Stage.GENERATION
    if files and context.paths and files.isdisjoint(context.paths):
        return Stage.RETRIEVAL
    lost = losses(definition, item)
    for field, expected in zip(definition.fields, wanted, strict=True):
        short = isinstance(field.rules, Keywords) and any(one.field is field for one in lost) and not none(expected)
        if short and context.has_text and not _holds(field.rules, expected, context):
            return Stage.RETRIEVAL
    return Stage.CITATION if lost and lost[0].field.kind == "grounding" else Stage.GENERATION


def _holds(rules: Any, expected: str, context: Context) -> bool:
    """Whether the context has enough of the keywords of the expected passage for full marks."""
    known = {word for chunk in context.chunks for word in keywords(chunk.text or "")}
    wanted = keywords(expected)[: rules.first]
    return bool(sum(word in known for word in wanted) >= min(rules.hits, len(wanted)))


def _down(part: Fraction) -> float:
    """A part below 1, to three places, never shown as 1."""
    return int(part * 1000) / 1000


def why(definition: Definition, item: Scored) -> str:
    """What went wrong with an item, in words."""
    if item.reason is not None and item.score == 0:
        return f"{item.reason}: {item.detail}" if item.detail else str(item.reason)
    lost = ", ".join(
        f"{one.field.name} {_down(one.part):g} (-{float(one.points):.3g})" for one in losses(definition, item)
    )
    return "; ".join(one for one in (item.reason, lost) if one)
