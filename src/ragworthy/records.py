"""The single definition of what is read (gold, traces, chunks); fields that are never scored are skipped."""

from array import array
from typing import Any, TypeAlias

import msgspec

from ragworthy.cited import Citation as Citation
from ragworthy.cited import Result as Result
from ragworthy.errors import explained as explained


class GoldSource(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Where evidence stands: a document, and in it a section or a page where these are known."""

    doc: str
    section: str | None = None
    page: int | str | None = None

    def __str__(self) -> str:
        section = "" if self.section is None else f", section {self.section}"
        return f"{self.doc}{section}" + ("" if self.page is None else f", page {self.page}")


Sources: TypeAlias = list[str | GoldSource]
"""What `gold_source` holds: names of documents, or documents with a section or a page."""
Pieces: TypeAlias = list[str | list[str]]
"""What `gold_claim_all` holds: groups of pieces that mean the same; a text is a group of one."""


class Gold(msgspec.Struct, frozen=True, gc=False):
    """One gold question of the answers suite."""

    answerable: bool
    qid: str | None = None
    q_id: str | None = None
    question: str | None = None
    gold_claim_substr: list[str] | None = None
    """Pieces of text: a right claim has any of them."""
    gold_claim_all: Pieces | None = None
    """What a right claim has all of: a piece, or a group of which any piece will do."""
    gold_citations: list[str] | None = None
    constraints: list[str] | None = None
    gold_evidence: list[str] | None = None
    gold_source: Sources | None = None
    gold_groups: list[list[str]] | None = None
    """Where the evidence lies, bound: any id of a group will do, and every group is needed."""
    gold_reference: str | list[str] | None = None
    cluster: str | int | None = None


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a pipeline answered. Loosely typed where a wrong type is a finding and not a fault."""

    claim: str | None = None
    citations: Any = None
    constraints_echo: Any = None


class Trace(msgspec.Struct, frozen=True, gc=False):
    """What a pipeline did for one question in one run."""

    qid: str | None = None
    q_id: str | None = None
    retrieved_ids: list[str] | None = None
    answer_json: Answer | None = None
    error: Any = None
    error_code: str | None = None


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """A piece of the corpus with its text: a block, or a part of a long one. Ours have every field, others only some.

    `offsets` are UTF-8 bytes, half-open, into the canonical text of the document; `section_id` is a dotted path.
    """

    chunk_id: str | None = None
    id: str | None = None
    doc_id: str | None = None
    section_id: str | None = None
    type: str | None = None
    offsets: tuple[int, int] | None = None
    text: str
    title: str | None = None
    anchor: str | None = None
    tokens: int | None = None
    hash: str | None = None
    fp: str | None = None
    rev: str | None = None
    source_url: str | None = None
    attrs: dict[str, Any] | None = None
    snippet_id: str | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.chunk_id or self.id or self.snippet_id or ""


NO_ANSWER = Answer()


class RetrievalGold(msgspec.Struct, frozen=True, gc=False):
    """One gold question of the retrieval suite: its wordings, and the blocks, texts or documents that answer it."""

    qid: str | None = None
    q_id: str | None = None
    paraphrases: list[str] | None = None
    relevant: list[str] | None = None
    anchor_section: str | None = None
    negatives: list[str] | None = None
    relevant_offsets: dict[str, tuple[int, int]] | None = None
    grades: dict[str, int] | None = None
    index_hash: str | None = None
    answerable: bool = True
    question: str | None = None
    gold_citations: list[str] | None = None
    gold_evidence: list[str] | None = None
    gold_source: Sources | None = None
    gold_groups: list[list[str]] | None = None
    gold_claim_substr: list[str] | None = None
    gold_claim_all: Pieces | None = None
    cluster: str | int | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Cited(msgspec.Struct, frozen=True, gc=False):
    """An answer as far as this suite looks at it; the block of retrieval-traceability.md calls the claim `answer`."""

    claim: str | None = None
    answer: str | None = None
    citations: list[Citation | str] | None = None

    @property
    def text(self) -> str | None:
        """What it says, under whichever key it was written."""
        return self.answer if self.claim is None else self.claim


class DistanceModel(msgspec.Struct, frozen=True, gc=False):
    """The embedding model behind recorded distances."""

    name: str
    weights: str


Distances: TypeAlias = list[float | None] | None
"""One semantic distance for each retrieved block."""
_NO_DISTANCES = (None,) * 8
"""What most traces have under the keys of distances: one comparison shows it."""


class RetrievalTrace(msgspec.Struct, frozen=True, gc=False):
    """What one run returned for one wording, and what the answer cites; distances and states in every spelling."""

    qid: str | None = None
    q_id: str | None = None
    query: str | None = None
    topk: list[Result] | None = None
    retrieved_ids: list[str] | None = None
    answer_citations: list[Citation | str] | None = None
    answer: Cited | str | None = None
    answer_json: Cited | None = None
    paraphrase: int | None = None
    seed: int | None = None
    index_hash: str | None = None
    normaliser_id: str | None = None
    reranker_id: str | None = None
    analyzer: str | None = None
    allow_cross_section: bool | None = None
    delta_s_model: DistanceModel | None = None
    cited_by: str | None = None
    before_rerank: list[Result | str] | dict[str, list[Result | str]] | None = None
    deterministic: bool | None = None
    error: Any = None
    delta_s: Distances = None
    delta_s_1: Distances = msgspec.field(default=None, name="ΔS")
    delta_s_2: Distances = msgspec.field(default=None, name="ΔS_list")
    delta_s_3: Distances = msgspec.field(default=None, name="deltaS")
    delta_s_4: Distances = msgspec.field(default=None, name="dS")
    delta_s_5: Distances = msgspec.field(default=None, name="∆S")
    delta_s_6: Distances = msgspec.field(default=None, name="Î”S")
    delta_s_7: Distances = msgspec.field(default=None, name="ŒîS")
    lambda_state: str | None = None
    lambda_1: str | None = msgspec.field(default=None, name="λ_state")
    lambda_2: str | None = msgspec.field(default=None, name="λ")
    lambda_3: str | None = msgspec.field(default=None, name="λ_final")
    lambda_4: str | None = msgspec.field(default=None, name="Î»_state")
    lambda_5: str | None = msgspec.field(default=None, name="Œª_state")

    @property
    def name(self) -> str:
        """The id of the question, under whichever key it was written."""
        return self.qid or self.q_id or ""

    @property
    def distances(self) -> Distances:
        """The recorded distances, under whichever key they were written."""
        given = (
            self.delta_s, self.delta_s_1, self.delta_s_2, self.delta_s_3,
            self.delta_s_4, self.delta_s_5, self.delta_s_6, self.delta_s_7,
        )  # fmt: skip
        return None if given == _NO_DISTANCES else next(one for one in given if one is not None)

    @property
    def state(self) -> str | None:
        """The convergence mark that the pipeline itself wrote."""
        return self.lambda_state or self.lambda_1 or self.lambda_2 or self.lambda_3 or self.lambda_4 or self.lambda_5


class StructuredGold(msgspec.Struct, frozen=True, gc=False):
    """One question of a structured set, with the fields a right answer has."""

    id: str | None = None
    qid: str | None = None
    question: str | None = None
    expected: dict[str, Any] | None = None
    cluster: str | int | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.id or self.qid or ""


class ContextChunk(msgspec.Struct, frozen=True, gc=False):
    """One retrieved chunk that the model was given."""

    source_path: str | None = None
    text: str | None = None
    chunk_id: str | int | None = None
    score: float | None = None


class StructuredOutput(msgspec.Struct, frozen=True, gc=False):
    """What a model wrote for one question, with everything a scorer needs to judge it."""

    id: str | None = None
    qid: str | None = None
    raw: str | None = None
    context: list[ContextChunk] | None = None
    meta: dict[str, Any] | None = None
    error: Any = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.id or self.qid or ""


class Run(msgspec.Struct, frozen=True, gc=False):
    """One answer in an experiment: to which question, in which variation, under which load, and how long it took.

    Times are milliseconds. They may be in `stage_ms` or in fields of their own, under either name of a stage.
    """

    qid: str | None = None
    q_id: str | None = None
    q: str | None = None
    run_id: str | None = None
    seed: int | None = None
    jitter: str | None = None
    paraphrase: int | None = None
    noop: bool = False
    """Whether the variation left the question as it was."""
    knobs: dict[str, Any] | str | None = None
    config_id: str | None = None
    load_rps: float | None = None
    warmup: bool = False
    e2e_ms: float | None = None
    stage_ms: dict[str, float] | None = None
    retrieval_ms: float | None = None
    rerank_ms: float | None = None
    llm_ms: float | None = None
    guard_ms: float | None = None
    t_retrieve_ms: float | None = None
    t_reason_ms: float | None = None
    usage: dict[str, Any] | None = None
    retrieved_ids: list[str] | None = None
    answer_json: Answer | None = None
    error: Any = None
    error_code: str | None = None
    recorded_distance: float | list[float | None] | None = msgspec.field(default=None, name="ΔS")
    """Of what it cites first; or of everything returned, in its order, as retrieval traces have it."""
    delta_s_model: DistanceModel | None = None

    @property
    def name(self) -> str:
        """The id of the question, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Vote(msgspec.Struct, frozen=True, gc=False):
    """What one validator says about an answer."""

    label: str
    reason: str | None = None


class Pair(msgspec.Struct, frozen=True, gc=False):
    """What two validators say about the same answer."""

    qid: str | None = None
    q_id: str | None = None
    scholar: Vote | None = None
    auditor: Vote | None = None
    answer_json: Answer | None = None
    retrieved_ids: list[str] | None = None
    flags: dict[str, bool] | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.qid or self.q_id or ""


class LabelRow(msgspec.Struct, frozen=True, gc=False):
    """What one validator says about one answer, in a file of its own."""

    label: str
    qid: str | None = None
    q_id: str | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Rating(msgspec.Struct, frozen=True, gc=False):
    """What one rater says about one item."""

    rater: str
    label: str
    qid: str | None = None
    q_id: str | None = None

    @property
    def name(self) -> str:
        """The id of the item, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What one operator wrote down about one question; distances are taken under every spelling in use."""

    operator: str
    correct: bool
    qid: str | None = None
    q_id: str | None = None
    question: str | None = None
    expected_snippet: str | None = None
    candidate_snippet: str | None = None
    cost_usd: float | None = None
    fix: str | list[str] | None = None
    auditor: str | None = None  # of a second look at a record: who looks again,
    record: str | None = None  # the hash of that record,
    records: str | None = None  # and of the file that it was drawn from
    delta_s: float | None = None
    delta_s_1: float | None = msgspec.field(default=None, name="ΔS")
    delta_s_2: float | None = msgspec.field(default=None, name="deltaS")
    delta_s_3: float | None = msgspec.field(default=None, name="dS")
    delta_s_4: float | None = msgspec.field(default=None, name="∆S")
    delta_s_5: float | None = msgspec.field(default=None, name="Î”S")
    delta_s_6: float | None = msgspec.field(default=None, name="ŒîS")
    lambda_state: str | None = None
    lambda_1: str | None = msgspec.field(default=None, name="λ_state")
    lambda_2: str | None = msgspec.field(default=None, name="λ")
    lambda_3: str | None = msgspec.field(default=None, name="Î»_state")
    lambda_4: str | None = msgspec.field(default=None, name="Œª_state")

    @property
    def name(self) -> str:
        """The id of the question, under whichever key it was written."""
        return self.qid or self.q_id or ""

    @property
    def distance(self) -> float | None:
        """The recorded distance, under whichever key it was written."""
        given = (self.delta_s, self.delta_s_1, self.delta_s_2, self.delta_s_3, self.delta_s_4, self.delta_s_5)
        return next((one for one in (*given, self.delta_s_6) if one is not None), None)

    @property
    def state(self) -> str | None:
        """The convergence mark, under whichever key it was written."""
        return self.lambda_state or self.lambda_1 or self.lambda_2 or self.lambda_3 or self.lambda_4


class SchemaOnly(msgspec.Struct, frozen=True):
    """The part of a small file that says what it is; looked at before the rest."""

    schema: str


Ints: TypeAlias = "array[int]"
