"""A span processor of OpenTelemetry that writes a trace when the outermost span has ended.

The spans are read by the code of `import otel`, so both give the same traces. Nothing of OpenTelemetry is needed to
import it.
"""

import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragworthy.adapters.otel import sdk_span
from ragworthy.adapters.replies import DocId
from ragworthy.adapters.spans import Span, Traces
from ragworthy.recorders.sink import Gold, Marker, Recorder, Sink, adopted, attempted, observing

_Key = tuple[int, int]
"""A span: its trace and its own number."""
_WHERE = "a span"
_MOST_GONE = 10_000


class _Group:
    """The spans below one that nothing of this process is around."""

    def __init__(self, root: _Key, qid: str) -> None:
        self.root = root
        self.qid = qid
        """The question that baggage names."""
        self.spans = Traces()
        self.count = 0
        self.open: set[_Key] = set()
        self.broken = ""
        self.began = time.monotonic()
        self.ended: float | None = None
        """When the outermost span ended."""


class SpanRecorder(Recorder):
    """Writes one trace for each outermost span, into a file of JSON lines.

        recorder = rw.SpanRecorder("runs/staging/traces.jsonl")
        provider.add_span_processor(recorder)

    A trace is written when its outermost span and all spans that began below it have ended. A span that is still open
    `grace` seconds after the outermost one is not waited for any longer, nor one at `force_flush`. Traces that do not
    end within `max_age` seconds, that have more than `max_spans` spans, or that are the oldest of more than
    `max_traces`, are given up, counted and named. It never raises into the pipeline: `summary` says what was written
    and what was not.
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """A processor that is a subclass of the SDK's own where that is installed: it may learn new methods."""
        made: Self = object.__new__(adopted(cls, "opentelemetry.sdk.trace", "SpanProcessor"))
        return made

    def __init__(
        self,
        path: str | Path,
        *,
        doc_id: DocId = None,
        marker: Marker = None,
        gold: Gold = None,
        chunks: str | Path | None = None,
        answer: str = "model",
        append: bool = True,
        grace: float = 10.0,
        max_age: float = 3600.0,
        max_traces: int = 1000,
        max_spans: int = 100_000,
    ) -> None:
        self._sink = Sink(
            "otel", path, doc_id=doc_id, marker=marker, gold=gold, chunks=chunks, answer=answer, append=append
        )
        self._grace = grace
        self._max_age = max_age
        self._max_traces = max_traces
        self._max_spans = max_spans
        self._groups: dict[_Key, _Group] = {}
        """By the outermost span, the oldest first."""
        self._where: dict[_Key, _Group] = {}
        """The group of every span that is open."""
        self._gone: dict[_Key, None] = {}
        """The latest spans that were open when their trace was written or given up: what is below them comes late."""
        self._next = 0.0
        self._lock = threading.Lock()

    # what the SDK calls

    @observing
    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """A span begins."""
        key = _key(span.context)
        above = span.parent
        inside = above is not None and not getattr(above, "is_remote", False)
        qid = _baggage(parent_context)
        with self._lock:
            group = self._where.get(_key(above)) if inside else None
            late = group is None and inside and _key(above) in self._gone
            if late:
                self._forget(key)
            else:
                group = group or self._groups.setdefault(key, _Group(key, qid))
                self._where[key] = group
                group.open.add(key)
        self._sweep()

    def _on_ending(self, span: Any) -> None:
        """Nothing: the span can still change."""

    @observing
    def on_end(self, span: Any) -> None:
        """A span has ended."""
        key = _key(span.context)
        with self._lock:
            group = self._where.pop(key, None)
        if group is None:
            self._sink.late(str(span.name))
            return
        read, wrong = attempted(lambda: _read(span))
        with self._lock:
            group.broken = group.broken or wrong
            if read is not None:
                if group.qid and not read.metadata("qid"):
                    read.attributes["qid"] = group.qid
                group.spans.add(read, ("", ""))
                group.count += 1
            group.open.discard(key)
            if key == group.root:
                group.ended = time.monotonic()
            done = group.ended is not None and not group.open
        if done:
            self._write(group)
        elif group.count > self._max_spans:
            self._drop(group, f"more than {self._max_spans:,} spans")
            self._gone.pop(group.root, None)  # it is around many questions: those that come now begin again
        self._sweep()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Write every trace whose outermost span has ended."""
        for group in [one for one in self._held() if one.ended is not None]:
            self._write(group)
        return True

    def shutdown(self) -> None:
        """Write what has ended, give up the rest, close the file."""
        self.force_flush()
        for group in self._held():
            self._drop(group, "the recorder was closed before the outermost span ended")
        self._sink.close()

    def close(self) -> None:
        """The same as `shutdown`."""
        self.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    # how groups end

    def _held(self) -> list[_Group]:
        with self._lock:
            return list(self._groups.values())

    def _taken(self, group: _Group) -> bool:
        """Whether a group was still there; it is not from now on."""
        with self._lock:
            for key in group.open:
                self._where.pop(key, None)
                self._forget(key)
            return self._groups.pop(group.root, None) is not None

    def _forget(self, key: _Key) -> None:
        self._gone[key] = None
        if len(self._gone) > _MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def _write(self, group: _Group) -> None:
        if self._taken(group):
            self._sink.finish_all(group.spans, group.broken)

    def _drop(self, group: _Group, why: str) -> None:
        if self._taken(group):
            spans = [span for _, held in group.spans for span in held.values()]
            self._sink.give_up(f"{group.root[0]:032x}", spans, why, group.qid)

    def _sweep(self) -> None:
        """End what has waited long enough; looked at once a second, and whenever there are too many."""
        now = time.monotonic()
        with self._lock:
            if now < self._next and len(self._groups) <= self._max_traces:
                return
            self._next = now + min(1.0, self._grace)
            held = list(self._groups.values())
        waited = [one for one in held if one.ended is not None and now - one.ended >= self._grace]
        for group in waited:
            self._write(group)
        held = [one for one in held if one.ended is None]
        over = max(0, len(held) - self._max_traces)
        for group in held[:over]:
            self._drop(group, f"more than {self._max_traces:,} traces were open")
        for group in held[over:]:
            if now - group.began > self._max_age:
                self._drop(group, f"its outermost span did not end within {self._max_age:g} seconds")


def _key(context: Any) -> _Key:
    return context.trace_id, context.span_id


def _read(span: Any) -> Span:
    """A span of the SDK as the import reads its JSON, which does not say what was dropped."""
    parent = span.parent
    status = span.status
    attributes = {str(key): _value(value) for key, value in dict(span.attributes or {}).items()}
    return sdk_span(
        {
            "context": {"trace_id": f"{span.context.trace_id:032x}", "span_id": f"{span.context.span_id:016x}"},
            "parent_id": f"{parent.span_id:016x}" if parent is not None else None,
            "name": span.name,
            "start_time": span.start_time,
            "end_time": span.end_time,
            "attributes": attributes,
            "status": {"status_code": status.status_code.name, "description": status.description},
            "events": [{"name": one.name, "attributes": dict(one.attributes or {})} for one in span.events],
            "dropped_attributes": span.dropped_attributes,
        },
        _WHERE,
    )


def _value(value: Any) -> Any:
    """A value of an attribute; sequences are lists, as in JSON."""
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return {str(key): _value(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _baggage(context: Any) -> str:
    """The qid that travels as baggage."""
    module = sys.modules.get("opentelemetry.baggage")
    qid = module.get_baggage("qid", context) if module is not None else None
    return str(qid) if isinstance(qid, str | int) and not isinstance(qid, bool) else ""
