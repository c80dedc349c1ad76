"""Spans, whoever recorded them: one model for OpenTelemetry, LangSmith, Langfuse, MLflow and Phoenix.

Attributes keep the names that they were recorded under; a format that has none of its own writes OpenInference's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ragworthy.adapters.documents import opened

RETRIEVER, RERANKER, LLM, EMBEDDING, EVALUATOR, CHAIN = (
    "RETRIEVER", "RERANKER", "LLM", "EMBEDDING", "EVALUATOR", "CHAIN",
)  # fmt: skip
BUILDER = "PROMPT"
"""A step that makes a prompt. Its text is never an answer."""
READ = (RETRIEVER, RERANKER, LLM)
"""Spans of these kinds are read whole; of all others only the outermost one of a trace is."""
EXAMPLE = "ragworthy.example"
"""The attribute under which a format puts the id of the question in the tool's own data set."""
INPUT = (
    "input.value", "langfuse.observation.input", "mlflow.spanInputs", "traceloop.entity.input", "gen_ai.task.input",
    "gen_ai.input.messages", "langfuse.trace.input",
)  # fmt: skip
OUTPUT = (
    "output.value", "langfuse.observation.output", "mlflow.spanOutputs", "traceloop.entity.output",
    "gen_ai.task.output", "gen_ai.output.messages", "langfuse.trace.output",
)  # fmt: skip
_KIND_KEYS = (
    "openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "gen_ai.operation.name",
    "traceloop.span.kind",
)  # fmt: skip
_KINDS = {
    "retriever": RETRIEVER, "retrieval": RETRIEVER, "vector_db_retrieve": RETRIEVER, "reranker": RERANKER,
    "rerank": RERANKER, "llm": LLM, "chat_model": LLM, "generation": LLM, "chat": LLM, "completion": LLM,
    "text_completion": LLM, "generate_content": LLM, "embedding": EMBEDDING, "embeddings": EMBEDDING,
    "evaluator": EVALUATOR, "evaluation": EVALUATOR, "unknown": "",
}  # fmt: skip
_METADATA = (
    "metadata.", "langfuse.observation.metadata.", "langfuse.trace.metadata.", "traceloop.association.properties.",
    "langsmith.metadata.",
)  # fmt: skip
_KEPT = ("metadata", "qid", EXAMPLE, "langfuse.experiment.item.id")
_BUILDER = re.compile(r"PromptBuilder(\.run(_async)?)?$")
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"\.(\d+)")


@dataclass(slots=True)
class Span:
    """One step of a pipeline."""

    trace: str
    id: str
    parent: str
    """Empty for the outermost step."""
    name: str
    kind: str
    """One of the kinds above; empty where the span does not say."""
    start: int | None
    """Nanoseconds since 1970."""
    end: int | None
    attributes: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    """What went wrong; empty where nothing did."""
    dropped: int = 0
    """How many attributes the recorder says it lost."""
    known: dict[str, Any] = field(default_factory=dict)
    """What was worked out once; see `ragworthy.adapters.recorded`."""

    def first(self, keys: Iterable[str]) -> Any:
        """The first of some attributes that is there."""
        return next((found for key in keys if (found := self.attributes.get(key)) not in (None, "")), None)

    @property
    def input(self) -> Any:
        """What went in, with JSON text opened."""
        return opened(self.first(INPUT))

    @property
    def output(self) -> Any:
        """What came out, with JSON text opened."""
        return opened(self.first(OUTPUT))

    def metadata(self, key: str) -> str:
        """A value that the user attached to the step or to its trace; empty where there is none."""
        for prefix in _METADATA:
            if name := _scalar(self.attributes.get(prefix + key)):
                return name
        held = opened(self.attributes.get("metadata"))
        name = _scalar(held.get(key)) if isinstance(held, Mapping) else ""
        return name or _scalar(self.attributes.get(key))

    @property
    def milliseconds(self) -> float | None:
        """How long it took."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return (microseconds(self.end) - microseconds(self.start)) / 1e3

    def lighten(self) -> None:
        """Forget what went in and came out; of a postprocessor what went in."""
        keys = (*_KEPT, *OUTPUT) if self.postprocesses else _KEPT
        kept = {key: value for key, value in self.attributes.items() if key in keys or key.startswith(_METADATA)}
        self.attributes = kept

    @property
    def postprocesses(self) -> bool:
        """Whether it is a node postprocessor of LlamaIndex that its recorder knows nothing about."""
        return self.kind == CHAIN and self.name.endswith("postprocess_nodes")

    @property
    def builds_prompt(self) -> bool:
        """Whether it is a prompt builder of Haystack, which recorders take for a model."""
        if _BUILDER.search(self.name) or _BUILDER.search(str(self.attributes.get("haystack.component.type", ""))):
            return True
        return self.kind == LLM and isinstance(held := self.output, Mapping) and {*held} == {"prompt"}

    @property
    def replies(self) -> bool:
        """Whether it gave `replies`, as generators of Haystack do; recorders take one of somebody's own for a chain."""
        held = self.first(OUTPUT)
        if not isinstance(held, str) or '"replies"' not in held:
            return False
        held = opened(held)
        return isinstance(held, Mapping) and isinstance(held.get("replies"), list)


def _scalar(value: Any) -> str:
    """A value as text, without the quotes of JSON."""
    value = opened(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def kind_of(attributes: Mapping[str, Any]) -> str:
    """The kind of a step by what any of the conventions says.

    >>> kind_of({"openinference.span.kind": "RETRIEVER"}), kind_of({"mlflow.spanType": '"CHAT_MODEL"'}), kind_of({})
    ('RETRIEVER', 'LLM', '')
    """
    for key in _KIND_KEYS:
        if said := _scalar(attributes.get(key)):
            return _KINDS.get(said.lower(), CHAIN)
    return ""


def nanoseconds(value: Any) -> int | None:
    """A time as nanoseconds since 1970: a number of them, its text, seconds as a fraction, or ISO 8601.

    >>> nanoseconds("1970-01-01T00:00:01.5Z"), nanoseconds("1500000000000000000"), nanoseconds("soon")
    (1500000000, 1500000000000000000, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"\d{1,20}", value)):
        return _scaled(int(value))
    if isinstance(value, float):
        return _scaled(int(value * 1e9)) if 0 <= value < 1e11 else None
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        time = datetime.fromisoformat(_FRACTION.sub(lambda found: "." + found[1][:6], value))
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round((time - _SINCE).total_seconds() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        return None


def microseconds(time: int | None) -> int:
    """A time in the microseconds in which the SDK writes it as text, so that both forms of a span last as long.

    >>> microseconds(1_700_000_000_053_636_700)
    1700000000053637
    """
    return 0 if time is None else (datetime.fromtimestamp(time / 1e9, UTC) - _SINCE) // timedelta(microseconds=1)


def _scaled(number: int) -> int | None:
    """Nanoseconds; smaller numbers are the milliseconds or microseconds that exports have."""
    if not 0 <= number < 1 << 63:
        return None
    if number < 10**14:
        return number * 1_000_000
    return number * 1000 if number < 10**17 else number


class Traces:
    """Spans by trace, in the order in which the traces first appear.

    Of the steps that are neither retrieval nor a model call only the outermost of each trace keeps what went in and
    came out: a chain of LangChain repeats every document in each of a dozen steps.
    """

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, str]] = {}
        """The file in which a trace first appears, and its hash."""
        self.repeated = 0
        self._spans: dict[str, dict[str, Span]] = {}
        self._outer: dict[tuple[str, str], Span] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def add(self, span: Span, file: tuple[str, str]) -> None:
        """Put a span into its trace."""
        self.files.setdefault(span.trace, file)
        held = self._spans.setdefault(span.trace, {})
        if span.id in held:
            self.repeated += 1
            return
        held[span.id] = span
        _correct(span)
        if span.kind in READ:
            return
        place = (span.trace, span.metadata("qid"))
        outer = self._outer.get(place)
        if span.first(INPUT) is None:
            if span.parent or span.first(OUTPUT) is None:
                span.lighten()
            return
        if outer is not None and not _wider(span, outer):
            span.lighten()
            return
        if outer is not None:
            outer.lighten()
        self._outer[place] = span

    def __iter__(self) -> Iterator[tuple[str, dict[str, Span]]]:
        yield from self._spans.items()


def _correct(span: Span) -> None:
    """Set the kind of a step of Haystack that its recorder mistook."""
    if span.builds_prompt:
        span.kind = BUILDER
    elif span.kind == CHAIN and span.parent and span.replies:
        span.kind = LLM


def _wider(span: Span, other: Span) -> bool:
    """Whether a step can hold another one: it is its parent, or it begins no later and ends no sooner."""
    if other.parent == span.id or not span.parent:
        return True
    if span.parent == other.id or not other.parent or None in (span.start, other.start, span.end, other.end):
        return False
    return (span.start, -(span.end or 0)) <= (other.start, -(other.end or 0))


def below(spans: Mapping[str, Span], marked: set[str]) -> set[str]:
    """The spans that have a marked one above them; parents that lead in a circle end at the first repetition."""
    known: dict[str, bool] = {}
    for start in spans:
        path: list[str] = []
        here: str = start
        on_path: set[str] = set()
        while here in spans and here not in known and here not in on_path:
            path.append(here)
            on_path.add(here)
            here = spans[here].parent
        under = here in known and (known[here] or here in marked)
        for one in reversed(path):
            known[one] = under
            under = under or one in marked
    return {one for one, under in known.items() if under}


def roots(spans: Mapping[str, Span]) -> list[Span]:
    """The outermost spans, the first to begin first; where parents lead in a circle, the first to begin of all."""
    found = [span for span in spans.values() if span.parent not in spans]
    return sorted(found or spans.values(), key=lambda span: (span.start or 0, -(span.end or 0)))[: len(found) or 1]
