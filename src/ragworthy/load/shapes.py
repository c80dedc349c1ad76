"""What the records of other tools look like, and those of our own: by which fields each is known.

Nothing here reads a file. A shape is told by the first records alone, so every test asks for fields that only one tool
writes; a record that fits none is not guessed at.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Fields = Mapping[str, Any]


class Shape(NamedTuple):
    """Records of another tool."""

    what: str
    """What they are, as it follows "this is" or "these are"."""
    fits: Callable[[Fields], bool]
    reads: str = ""
    """The import that reads them; empty where none does."""
    gives: tuple[str, ...] = ("gold", "trace")
    """What that import can write."""
    do: str = ""
    """What to do where there is no import for it."""

    @property
    def sure(self) -> bool:
        """Whether these are not rows whose fields could be named: spans and runs, and answers of frameworks."""
        return self.reads in _RECORDED or (not self.reads and self.what.startswith(("a ", "an ")))


_RECORDED = ("otel", "phoenix", "mlflow", "langsmith", "langfuse")


def _any(fields: Fields, *names: str) -> bool:
    return any(name in fields for name in names)


def _all(fields: Fields, *names: str) -> bool:
    return all(name in fields for name in names)


def _inner(fields: Fields, name: str) -> Fields:
    """The object under a key; of a list the first one."""
    value = fields.get(name)
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else {}


def _sdk_span(fields: Fields) -> bool:
    return "attributes" in fields and _all(_inner(fields, "context"), "trace_id", "span_id")


def _phoenix(fields: Fields) -> bool:
    if _all(fields, "context.trace_id", "context.span_id"):
        return True
    return "span_kind" in fields and "attributes" in fields and "context" in fields


def _mlflow(fields: Fields) -> bool:
    if "info" in fields and "spans" in _inner(fields, "data"):
        return True
    info = _inner(fields, "info")
    return _any(info, "trace_location", "request_id", "execution_time_ms") and _any(fields, "data", "spans")


def _table(fields: Fields) -> bool:
    return {*fields} == {"columns", "data"} and isinstance(fields["columns"], list)


_OBSERVATIONS = (
    "SPAN", "GENERATION", "EVENT", "RETRIEVER", "CHAIN", "AGENT", "TOOL", "EMBEDDING", "EVALUATOR", "GUARDRAIL",
)  # fmt: skip


def _langfuse(fields: Fields) -> bool:
    kinds = (
        "SPAN",
        "GENERATION",
        "EVENT",
        "RETRIEVER",
        "CHAIN",
        "AGENT",
        "TOOL",
        "EMBEDDING",
        "EVALUATOR",
        "GUARDRAIL",
    )
    if "traceId" in fields and fields.get("type") in kinds:
        return True
    if "observations" in fields and _any(fields, "projectId", "sessionId", "userId", "htmlPath"):
        return True
    return _any(fields, "datasetId", "datasetName") and _any(fields, "expectedOutput", "sourceTraceId")


def _ragas(fields: Fields) -> bool:
    if "user_input" in fields:
        return _any(
            fields, "retrieved_contexts", "response", "reference", "reference_contexts", "retrieved_context_ids"
        )
    if "samples" in fields:
        return _ragas(_inner(fields, "samples"))
    return _all(fields, "question", "contexts") and _any(fields, "ground_truth", "ground_truths")


def _deepeval(fields: Fields) -> bool:
    if "input" in fields and _any(fields, "actual_output", "expected_output", "retrieval_context"):
        return True
    if "input" in fields and _any(fields, "actualOutput", "expectedOutput", "retrievalContext"):
        return True
    inner = _inner(fields, "testRunData") or fields
    return _any(inner, "testCases", "conversationalTestCases") or "goldens" in fields


def _promptfoo(fields: Fields) -> bool:
    results = fields.get("results")
    if isinstance(results, dict) and _any(results, "results", "stats", "prompts"):
        return True
    return "vars" in fields and _any(fields, "testCase", "promptIdx", "gradingResult")


def _squad(fields: Fields) -> bool:
    if "paragraphs" in _inner(fields, "data") or "paragraphs" in fields:
        return True
    return _all(fields, "context", "question") and "answer_start" in _inner(fields, "answers")


def _llama_index(fields: Fields) -> bool:
    node = _inner(fields, "node")
    return "source_nodes" in fields or _any(node, "id_", "class_name", "start_char_idx") or "id_" in fields


def _haystack(fields: Fields) -> bool:
    answer = _inner(fields, "answers") or fields
    return _all(answer, "data", "query", "documents") or _all(answer, "data", "query", "meta")


SHAPES = (
    Shape("OpenTelemetry spans in OTLP JSON", lambda one: "resourceSpans" in one, "otel", ("trace",)),
    Shape("spans of Phoenix", _phoenix, "phoenix", ("trace",)),
    Shape("OpenTelemetry spans in the SDK's JSON", _sdk_span, "otel", ("trace",)),
    Shape("a trace of MLflow", _mlflow, "mlflow", ("trace",)),
    Shape("a table of MLflow", _table, "mlflow"),
    Shape("runs of LangSmith or LangChain", lambda one: _all(one, "run_type", "inputs"), "langsmith", ("trace",)),
    Shape(
        "examples of LangSmith",
        lambda one: _all(one, "inputs", "outputs") and _any(one, "dataset_id", "source_run_id", "reference_example_id"),
        "langsmith",
        ("gold",),
    ),
    Shape("an export of Langfuse", _langfuse, "langfuse"),
    Shape("samples of ragas", _ragas, "ragas"),
    Shape("test cases of DeepEval", _deepeval, "deepeval"),
    Shape("results of promptfoo", _promptfoo, "promptfoo"),
    Shape("questions of SQuAD", _squad, "squad", ("gold", "chunks")),
    Shape("a file of a BEIR data set", lambda one: _all(one, "_id", "text"), "beir", ("gold", "chunks")),
    Shape(
        "a reply of an OpenAI-compatible service",
        lambda one: str(one.get("object", "")).startswith("chat.completion") or "message" in _inner(one, "choices"),
        do="a trace is {qid, answer_json: {claim, citations}, retrieved_ids}: ask the service with "
        "'ragworthy run', or write one such line for each reply",
    ),
    Shape(
        "an answer of LlamaIndex",
        _llama_index,
        do="a trace is {qid, answer_json: {claim, citations}, retrieved_ids}: write one such line for each response, "
        "with the ids of its source_nodes",
    ),
    Shape(
        "an answer of Haystack",
        _haystack,
        do="a trace is {qid, answer_json: {claim, citations}, retrieved_ids}: write one such line for each answer, "
        "with the ids of its documents",
    ),
    Shape(
        "documents of LangChain",
        lambda one: _all(one, "page_content", "metadata"),
        do="these are chunks: write {chunk_id, text} lines and give them as --corpus",
    ),
)
"""In the order in which they are tried: what is surer comes first."""


_HELD = {
    "gold": ("reference", "ground_truth", "ground_truths", "reference_contexts", "expected_output", "expectedOutput"),
    "trace": ("response", "answer", "actual_output", "actualOutput"),
    "chunks": ("retrieved_contexts", "contexts", "retrieval_context", "retrievalContext"),
}


def held_by(fields: Fields) -> list[str]:
    """What a sample of ragas or a test case of DeepEval gives: gold, trace, chunks.

    >>> held_by({"user_input": "?", "response": "!", "reference": None, "retrieved_contexts": []})
    ['trace', 'chunks']
    """
    return [role for role, names in _HELD.items() if any(fields.get(name) is not None for name in names)]


# our own


class Kind(NamedTuple):
    """Records of our own."""

    name: str
    what: str
    fits: Callable[[Fields], bool]


def _named(fields: Fields) -> bool:
    return _any(fields, "qid", "q_id")


KINDS = (
    Kind(
        "gold",
        "gold questions of the answers suite",
        lambda one: (
            _any(one, "gold_claim_substr", "gold_claim_all", "gold_citations")
            or _any(one, "gold_evidence", "gold_source", "gold_reference")
            or ("answerable" in one and not _any(one, "relevant", "anchor_section", "negatives", "relevant_offsets"))
        ),
    ),
    Kind(
        "retrieval gold",
        "gold questions of the retrieval suite",
        lambda one: _any(one, "relevant", "anchor_section", "negatives", "paraphrases", "gold_evidence", "gold_source"),
    ),
    Kind("questions", "questions with structured answers", lambda one: isinstance(one.get("expected"), dict)),
    Kind("outputs", "structured outputs", lambda one: "raw" in one and _any(one, "id", "qid")),
    Kind(
        "traces",
        "traces of a pipeline",
        lambda one: (
            _any(one, "answer_json", "topk", "retrieved_ids", "answer_citations", "e2e_ms", "stage_ms")
            or (_named(one) and "error" in one)
        ),
    ),
    Kind(
        "votes", "votes", lambda one: _any(one, "scholar", "auditor", "rater", "operator") or _all(one, "qid", "label")
    ),
    Kind("chunks", "chunks of a corpus", lambda one: _any(one, "chunk_id", "block_id") and "text" in one),
)

_FILES = {
    "report": "a report of Ragworthy",
    "receipt": "a receipt of Ragworthy",
    "lock": "the lock of a gold set",
    "subset": "a subset of questions",
    "redirects": "a redirect table",
    "lint": "findings of 'gold lint'",
}


def own_file(fields: Fields) -> str:
    """What a whole file of ours is, by its schema; nothing for others.

    >>> own_file({"schema": "ragworthy.report/1"}), own_file({"schema": "x"})
    ('a report of Ragworthy', '')
    """
    schema = fields.get("schema")
    if not isinstance(schema, str) or not schema.startswith("ragworthy."):
        return ""
    name = schema.removeprefix("ragworthy.").partition("/")[0]
    return _FILES.get(name, f"a file of Ragworthy ({name})")


def kinds_of(fields: Fields) -> set[str]:
    """The kinds of our own that a record may be."""
    return {kind.name for kind in KINDS if kind.fits(fields)}


def shape_of(fields: Fields) -> Shape | None:
    """The tool that wrote a record, where its fields tell.

    >>> shape_of({"user_input": "?", "response": "!"}).reads, shape_of({"question": "?"})
    ('ragas', None)
    """
    return next((shape for shape in SHAPES if shape.fits(fields)), None)
