"""What is wrong or doubtful about a set of questions with structured answers. Pure; `commands` reads and writes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.errors import Problem
from ragworthy.gold import lint as common
from ragworthy.gold.lint import Finding, finding
from ragworthy.load.lock import item_hash
from ragworthy.metrics.definition import ABSENT, Definition, Field, value_at
from ragworthy.metrics.facts.expected import expected_value, place_of, problems_of
from ragworthy.metrics.kinds.texts import Keywords, Listed, keywords
from ragworthy.names import too_small
from ragworthy.records import StructuredGold
from ragworthy.report.show import plural
from ragworthy.text import described, is_nfc, squeeze

PARTS = ("target_audience", "main_topic", "sub_topic", "detailed_description", "original_evidence")
"""What an entry of a source map can be about, where the definition has these fields."""


class Question(NamedTuple):
    """A question as the lint sees it."""

    line: int
    value: dict[str, Any]
    gold: StructuredGold

    @property
    def qid(self) -> str:
        """The question's id."""
        return self.gold.name

    @property
    def text(self) -> str:
        """The question without needless spaces: what tells it apart from others."""
        return squeeze(self.gold.question or "")


class Distinct(NamedTuple):
    """How many different questions there really are."""

    questions: int
    expected: int


def distinct(items: Sequence[Question]) -> Distinct:
    """How many different question texts and expected objects a set has."""
    expected = {item_hash(item.gold.expected) for item in items if item.gold.expected is not None}
    return Distinct(len({item.text for item in items if item.text}), len(expected))


def identities(items: Sequence[Question], label: str) -> list[Finding]:
    """Ids that are missing or repeated, and a set without questions."""
    return common.identities(items, label, "id")


def lint(items: Sequence[Question], label: str, definition: Definition) -> list[Finding]:
    """Every finding, in the order of the file."""
    found = identities(items, label)
    for item in items:
        found += [finding("error", code, item, label, *rest) for code, *rest in problems_of(item.gold, definition)]
        found += [finding("warning", code, item, label, *rest) for code, *rest in _doubts(item, definition)]
    found += _of_the_whole(items, label)
    return sorted(found, key=lambda one: (one.line, one.problem.code))


Doubt = tuple[str, str, str]


def _doubts(item: Question, definition: Definition) -> Iterator[Doubt]:
    """What is doubtful about a question alone."""
    texts = [item.gold.question or ""]
    for field in definition.fields:
        value = expected_value(item.gold.expected, definition, field)
        if field.kind == "grounding":
            yield from _source_map(item.gold.expected, definition, field)
        elif value is not ABSENT and value is not None and field.rules.unfit(value) is None:
            texts += value if isinstance(value, list) else [value] if isinstance(value, str) else []
            for code, message in _beyond_reach(value, field):
                yield code, place_of(definition, field), message
    if not all(map(is_nfc, texts)):
        yield "RW-W10", "", "text that is not in Unicode form NFC"


def _beyond_reach(value: Any, field: Field) -> Iterator[tuple[str, str]]:
    """Why no answer, or no quotation, can get full marks for a field."""
    rules = field.rules
    if isinstance(rules, Keywords):
        there, length = len(keywords(value)[: rules.first]), len(squeeze(value))
        if there < rules.hits:
            yield "RW-W42", f"{there} of the {rules.hits} keywords that full marks need: no answer can get them"
        if length < rules.length:
            yield "RW-W42", f"{length} of the {rules.length} characters that full marks need: quoting it is not enough"
    elif isinstance(rules, Listed):
        count = rules.count(value)
        if count > rules.cap:
            yield "RW-W51", f"{count} items, of which an answer can match {rules.cap}: none can get full marks"


def _source_map(expected: Mapping[str, Any] | None, definition: Definition, field: Field) -> Iterator[Doubt]:
    """What does not have the shape of a source map; it is beside the expected fields."""
    names = [one.name for one in definition.fields if one.kind != "grounding"]
    parts = PARTS if set(PARTS) <= set(names) else tuple(names)
    value = value_at(expected, field.at)
    place = f"expected.{field.key}"
    if value is not ABSENT and not isinstance(value, list):
        yield "RW-W43", place, f"expected a list, got {described(value)}"
    for nth, entry in enumerate(value if isinstance(value, list) else []):
        for where, message in _entry(entry, parts):
            yield "RW-W43", f"{place}[{nth}]{where}", message


Wrong = tuple[str, str]


def _entry(entry: Any, parts: tuple[str, ...]) -> Iterator[Wrong]:
    if not isinstance(entry, dict):
        yield "", f"expected an object, got {described(entry)}"
        return
    if entry.get("part") not in parts:
        yield ".part", f"expected one of {', '.join(parts)}, got {_got(entry, 'part')}"
    refs = entry.get("refs")
    if not isinstance(refs, list) or not refs:
        yield ".refs", f"expected a list of references, got {_got(entry, 'refs')}"
        return
    for nth, ref in enumerate(refs):
        for where, message in _ref(ref):
            yield f".refs[{nth}]{where}", message


def _ref(ref: Any) -> Iterator[Wrong]:
    if not isinstance(ref, dict):
        yield "", f"expected an object, got {described(ref)}"
        return
    if not _is_text(ref.get("file")):
        yield ".file", f"expected a file name, got {_got(ref, 'file')}"
    if "sheet" in ref and not _is_text(ref["sheet"]):
        yield ".sheet", f"expected a text, got {described(ref['sheet'])}"
    for key in ("row", "page"):
        if key in ref and not (type(ref[key]) is int and ref[key] >= 1):
            yield f".{key}", f"expected a whole number from 1 up, got {described(ref[key])}"
    if "anchors" in ref:
        anchors = ref["anchors"]
        if not isinstance(anchors, list) or not anchors:
            yield ".anchors", f"expected a list of texts, got {_got(ref, 'anchors')}"
        else:
            for nth, anchor in enumerate(anchors):
                if not _is_text(anchor):
                    yield f".anchors[{nth}]", f"expected a text, got {described(anchor)}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _got(value: Mapping[str, Any], key: str) -> str:
    if key not in value:
        return "nothing"
    return "an empty list" if value[key] == [] else described(value[key])


def _of_the_whole(items: Sequence[Question], label: str) -> list[Finding]:
    """Repeated questions, weights that nobody reads, and the size."""
    found = []
    groups: dict[str, list[Question]] = {}
    for item in items:
        if item.text:
            groups.setdefault(item.text, []).append(item)
    for first, *more in groups.values():
        if more:
            message = f"{len(more) + 1:,} questions have this text, the first is {first.qid or 'without an id'}"
            found.append(finding("warning", "RW-W41", first, label, "question", message))
    graded = [item for item in items if "grading" in item.value]
    if graded:
        message = f"weights that are not used, in {len(graded):,} of {len(items):,} questions"
        found.append(finding("warning", "RW-W46", graded[0], label, "grading", message))
    count = distinct(items).questions
    if items and (lacks := too_small(count, "structured")):
        what = "question" if count == len(items) else "distinct question"
        message = f"{plural(count, what)}: {lacks.use} needs at least {lacks.least}"
        found.append(Finding("warning", Problem("RW-W15", message, label), 1, ""))
    return found
