"""Spans of OpenTelemetry to live records: a trace waits until its outermost span is there, which ends last."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ragworthy.adapters.assembly import Rules, assembled, parts
from ragworthy.adapters.documents import doc_ids, markers
from ragworthy.adapters.otel import listed, otlp, sdk_span
from ragworthy.adapters.spans import Span
from ragworthy.errors import RagworthyError
from ragworthy.live.shapes import Live
from ragworthy.monitor.problems import NO_QUESTION, UNFINISHED, UNREADABLE
from ragworthy.text import clip

MOST_TRACES = 2000
MOST_BYTES = 16 << 20
"""So many traces wait at most, and so many bytes of spans as they were written; the oldest go first."""
_ABOUT = {
    "build": ("ragworthy.build", "service.version", "build"),
    "region": ("ragworthy.region", "cloud.region", "region"),
    "client": ("ragworthy.client", "user.id", "client"),
}
RECEIVED = "ragworthy.received"
"""Under this key a line of spans says when it was received, in microseconds: many send to one log, and one of them with
a wrong clock must not make the others late.
"""
_INDEX = ("ragworthy.index_hash", "index_hash")


class Made(NamedTuple):
    """A record, or why a trace gives none."""

    record: Live | None = None
    problem: str = ""
    why: str = ""
    received: int | None = None
    """When it came, where somebody sent it."""


class Traces:
    """Spans that wait, by trace, the oldest first."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[str, list[Span]] = OrderedDict()
        self.sizes: dict[str, int] = {}
        """How many bytes the spans of each trace took."""
        self.bytes = 0
        self._rules: Rules | None = None

    def take(self, line: bytes, where: str) -> Iterator[Made]:
        """The traces that a line of spans completes."""
        try:
            value = msgspec.json.decode(line)
            found = list(_spans(value, where))
        except (RagworthyError, msgspec.DecodeError, RecursionError) as error:
            told = error.problems[0].message if isinstance(error, RagworthyError) else str(error)
            yield Made(problem=UNREADABLE, why=clip(told, 160))
            return
        ended: dict[str, None] = {}
        each = len(line) // max(1, len(found)) + 1
        for span in found:
            self.waiting.setdefault(span.trace, []).append(span)
            self._grown(span.trace, each)
            if not span.parent:
                ended[span.trace] = None
        received = value.get(RECEIVED)
        for trace in ended:
            yield from self._whole(trace, received if isinstance(received, int) else None)
        while len(self.waiting) > MOST_TRACES or self.bytes > MOST_BYTES:
            yield from self._unfinished(next(iter(self.waiting)))

    def rest(self) -> Iterator[Made]:
        """The traces that nothing completed."""
        while self.waiting:
            yield from self._unfinished(next(iter(self.waiting)))

    def _grown(self, trace: str, size: int) -> None:
        self.sizes[trace] = self.sizes.get(trace, 0) + size
        self.bytes += size

    def _taken(self, trace: str) -> list[Span]:
        self.bytes -= self.sizes.pop(trace)
        return self.waiting.pop(trace)

    def _unfinished(self, trace: str) -> Iterator[Made]:
        self._taken(trace)
        yield Made(problem=UNFINISHED, why=f"trace {trace}")

    def _whole(self, trace: str, received: int | None) -> Iterator[Made]:
        spans = {span.id: span for span in self._taken(trace)}
        if self._rules is None:
            self._rules = Rules(doc_ids(None, set()), markers(None))
        for at, part in parts(trace, spans):
            read = assembled(at, part, self._rules)
            if read.record is None:
                yield Made(problem=NO_QUESTION, why=clip(f"trace {at}: {read.skip or read.damage}", 160))
            else:
                yield Made(record=_live(read.record, part), received=received)

    def state(self) -> list[tuple[int, list[dict[str, Any]]]]:
        """As plain values."""
        return [(self.sizes[trace], [_plain(span) for span in spans]) for trace, spans in self.waiting.items()]

    @classmethod
    def restore(cls, state: list[tuple[int, list[dict[str, Any]]]]) -> "Traces":
        """From plain values."""
        made = cls()
        for size, spans in state:
            trace = spans[0]["trace"]
            made.waiting[trace] = [Span(**span) for span in spans]
            made._grown(trace, size)
        return made


def _plain(span: Span) -> dict[str, Any]:
    names = ("trace", "id", "parent", "name", "kind", "start", "end", "attributes", "status", "dropped")
    return {name: getattr(span, name) for name in names}


def _spans(value: Any, where: str) -> Iterator[Span]:
    """The spans of a line; what its resource says about the service goes to each."""
    if not ("resourceSpans" in value or "resource_spans" in value):
        yield sdk_span(value, where)
        return
    for resource in listed(value, ("resourceSpans", "resource_spans"), where):
        about = resource.get("resource") if isinstance(resource, Mapping) else None
        held = about.get("attributes") if isinstance(about, Mapping) else None
        extra = {
            one["key"]: text
            for one in (held if isinstance(held, list) else [])
            if isinstance(one, Mapping)
            and isinstance(one.get("key"), str)
            and isinstance(one.get("value"), Mapping)
            and isinstance(text := next(iter(one["value"].values()), None), str)
        }
        for span in otlp({"resourceSpans": [resource]}, where):
            span.attributes = extra | span.attributes
            yield span


def _live(record: dict[str, Any], spans: Mapping[str, Span]) -> Live:
    """A trace of ours, with the time at which it ended and what its spans say of the service."""
    ended = max((span.end or span.start or 0 for span in spans.values()), default=0)
    first = list(spans.values())
    made: dict[str, Any] = {key: record[key] for key in _TAKEN if record.get(key) is not None}
    context: dict[str, str] = {}
    for name, keys in _ABOUT.items():
        told = next((str(found) for span in first if (found := span.first(keys)) is not None), None)
        if told is not None:
            context[name] = told
    index = next((str(found) for span in first if (found := span.first(_INDEX)) is not None), None)
    return msgspec.convert(made | {"ts": ended or None, "context": context, "index_hash": index}, Live, strict=False)


_TAKEN = ("qid", "query", "retrieved_ids", "topk", "answer_json", "error", "e2e_ms", "stage_ms")
