"""What a line of a live log holds: a record for each question, a trace of a run, or spans."""

from typing import Any

import msgspec

NOTHING = msgspec.Raw()


class Hit(msgspec.Struct, frozen=True, gc=False):
    """A retrieved or cited block, under whichever key its id was written."""

    id: str | int | None = None
    chunk_id: str | int | None = None
    snippet_id: str | int | None = None
    section_id: str | None = None
    in_scope: bool | None = None
    type: Any = None
    """What it holds: prose, table, code or figure; something else that is called type is not a mistake of the log."""

    @property
    def name(self) -> str:
        """The id; empty where there is none."""
        found = next((one for one in (self.id, self.chunk_id, self.snippet_id) if one is not None), "")
        return str(found)


Named = str | int | Hit


class Retrieved(msgspec.Struct, frozen=True, gc=False):
    """What was retrieved, and by what."""

    topk: list[Named] | None = None
    metric: str | None = None
    analyzer: str | None = None
    index_hash: str | None = None
    embed_model: str | None = None
    delta_s: list[float | None] | None = msgspec.field(default=None, name="ΔS_list")
    delta_s_1: list[float | None] | None = msgspec.field(default=None, name="∆S_list")
    delta_s_2: list[float | None] | None = msgspec.field(default=None, name="delta_s")


class Answered(msgspec.Struct, frozen=True, gc=False):
    """What was answered."""

    claim: str | None = None
    citations: list[Named] | None = None
    coverage: float | bool | None = None
    accurate: float | bool | None = None
    refused: bool | None = None
    delta_s: float | None = msgspec.field(default=None, name="ΔS")
    delta_s_1: float | None = msgspec.field(default=None, name="∆S")
    delta_s_2: float | None = msgspec.field(default=None, name="delta_s")
    lambda_final: str | None = msgspec.field(default=None, name="λ_final")
    lambda_1: str | None = msgspec.field(default=None, name="lambda_final")


class Took(msgspec.Struct, frozen=True, gc=False):
    """How long it took, in milliseconds."""

    t_retrieve_ms: float | None = None
    t_reason_ms: float | None = None
    e2e_ms: float | None = None


class Context(msgspec.Struct, frozen=True, gc=False):
    """For whom, by what and where."""

    client: str | int | None = None
    build: str | int | None = None
    region: str | int | None = None
    trace_id: str | None = None
    """Only a span of OpenTelemetry has one."""


class Live(msgspec.Struct, frozen=True, gc=False):
    """One line of a log: a live record, a trace of a run, or spans, which are told by their keys."""

    ts: str | int | float | None = None
    timestamp: str | int | float | None = None
    started: str | int | float | None = None
    qid: str | int | None = None
    q_id: str | int | None = None
    question: str | None = None
    query: str | None = None
    q: str | None = None
    retrieval: Retrieved | None = None
    answer: Answered | str | None = None
    perf: Took | None = None
    context: Context | None = None
    error: Any = None
    paraphrase: int | None = None
    seed: int | None = None
    topk: list[Named] | None = None
    retrieved_ids: list[str | int] | None = None
    answer_json: Answered | None = None
    index_hash: str | None = None
    e2e_ms: float | None = None
    stage_ms: dict[str, float | None] | None = None
    delta_s: list[float | None] | float | None = msgspec.field(default=None, name="ΔS")
    resource_spans: msgspec.Raw = msgspec.field(default=NOTHING, name="resourceSpans")
    resource_spans_1: msgspec.Raw = msgspec.field(default=NOTHING, name="resource_spans")

    @property
    def spans(self) -> bool:
        """Whether the line holds spans of OpenTelemetry."""
        there = self.resource_spans is not NOTHING or self.resource_spans_1 is not NOTHING
        return there or (self.context is not None and self.context.trace_id is not None)

    @property
    def name(self) -> str:
        """The id of the question."""
        found = self.q_id if self.qid is None else self.qid
        return "" if found is None else str(found)


NO_RETRIEVAL, NO_ANSWER, NO_TIMES, NO_CONTEXT = Retrieved(), Answered(), Took(), Context()
