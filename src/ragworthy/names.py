"""Words that mean one thing everywhere: verdicts, outcomes, exit codes, labels, stages."""

from enum import IntEnum, StrEnum
from typing import NamedTuple

VERSION = "0.2.0"
SUITES = ("answers", "retrieval", "structured", "stability", "latency", "agreement")
"""Every suite, in the order of reports: each is a folder of `suites` that declares what it reads and how it is set."""
REPORT_SCHEMA = "ragworthy.report/1"
LOCK_SCHEMA = "ragworthy.lock/1"
SUBSET_SCHEMA = "ragworthy.subset/1"
REFUSAL = "not in context"
REFUSAL_PACKS = {
    "en": ("en",),
    "zh": ("zh-Hans", "zh-Hant"),
    "zh-Hans": ("zh-Hans",),
    "zh-Hant": ("zh-Hant",),
    "ja": ("ja",),
    "es": ("es",),
    "de": ("de",),
    "fr": ("fr",),
}
"""The refusal packs that a name stands for."""
DEFAULT_MODEL = "wordllama"
"""The model behind distances and dense search, unless another one is named."""
RELEASE = 30
"""So many cases a release needs, and a slice that is to show anything."""
DEFAULT_K = 5
RETRIEVAL_K = "1,3,5,10"
MIN_SUBSTR = 5
"""A piece of gold text counts from this many characters up."""


class Size(NamedTuple):
    """How many questions a gold set needs for a use, and which source says so."""

    use: str
    least: int
    source: str


_SMOKE = Size("a smoke test", 10, "seed004_quality_and_readiness_gates.md")
REGRESSION = Size("a regression gate", 100, "Eval_Observability/regression_gate.md")
"""What is asked besides where a policy has `regression = true`."""
USUAL = (_SMOKE, Size("a release", RELEASE, "seed004_quality_and_readiness_gates.md"))
SIZES: dict[str, tuple[Size, ...]] = {
    "answers": USUAL,
    "retrieval": (_SMOKE, Size("a release", 200, "seed001_retrieval_evaluation.md")),
}
"""What the sources ask of a gold set, by suite, the smallest first; the other suites are asked what answers are."""
MOST_RETRIEVAL = 400
"""A retrieval gold set has up to so many questions."""


def too_small(cases: int, suite: str, *, regression: bool = False) -> Size | None:
    """The first use that a gold set is too small for; None where it is large enough for all.

    >>> too_small(1, "retrieval").use, too_small(50, "retrieval").least, too_small(50, "answers")
    ('a smoke test', 200, None)
    """
    asked = sorted((*SIZES.get(suite, USUAL), *([REGRESSION] if regression else [])), key=lambda one: one.least)
    return next((one for one in asked if cases < one.least), None)


class Verdict(StrEnum):
    """The one answer to "may this ship?", worst last."""

    SHIP = "SHIP"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_SHIP = "NO-SHIP"
    INVALID = "INVALID"

    def __bool__(self) -> bool:
        """Refused: `assert verdict` would hold of every one."""
        raise TypeError('a verdict is neither true nor false: compare it, as in verdict == "SHIP"')

    def __contains__(self, part: object) -> bool:
        """Refused: "SHIP" is in NO-SHIP, too."""
        raise TypeError('nothing is looked for inside a verdict: compare it, as in verdict == "SHIP"')


class Outcome(StrEnum):
    """What one gate says."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not_measured"


class Exit(IntEnum):
    """Every exit code of the command line; the meaning is part of the contract with CI."""

    SHIP = 0
    NO_SHIP = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INVALID = 4
    DEFECT = 70
    INTERRUPTED = 130


_EXIT = {
    Verdict.SHIP: Exit.SHIP,
    Verdict.NO_SHIP: Exit.NO_SHIP,
    Verdict.INCONCLUSIVE: Exit.INCONCLUSIVE,
    Verdict.INVALID: Exit.INVALID,
}


def exit_code(verdict: Verdict) -> Exit:
    """The one place where a verdict becomes an exit code.

    >>> int(exit_code(Verdict.NO_SHIP))
    1
    """
    return _EXIT[verdict]


class Failure(StrEnum):
    """Why a structured answer is worth nothing, in the order in which they are looked for."""

    MISSING = "missing"
    PROVIDER_ERROR = "provider_error"
    TRUNCATED_JSON = "truncated_json"
    PARSE_FAILED = "parse_failed"
    CODE_FENCE = "code_fence"
    EXTRA_TEXT = "extra_text"
    PLACEHOLDER_STRING = "placeholder_string"
    SCHEMA_FAILED = "schema_failed"


class Label(StrEnum):
    """What became of one question, in the order offenders are listed; the harmless ones last."""

    HALLUCINATION = "HALLUCINATION"
    SCU_VIOLATION = "SCU_VIOLATION"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    ANS_NO_HIT = "ANS_NO_HIT"
    ANS_NO_CONTAIN = "ANS_NO_CONTAIN"
    EMPTY_CLAIM = "EMPTY_CLAIM"
    ERROR = "ERROR"
    MISSING = "MISSING"
    OVER_REFUSAL = "OVER_REFUSAL"
    NOT_CITED = "NOT_CITED"
    NOT_COVERED = "NOT_COVERED"
    OFF_TARGET = "OFF_TARGET"
    NOT_RETRIEVED = "NOT_RETRIEVED"
    FAR_OFF = "FAR_OFF"
    NOT_JSON = "NOT_JSON"
    WRAPPED = "WRAPPED"
    PLACEHOLDER = "PLACEHOLDER"
    SCHEMA_FAILED = "SCHEMA_FAILED"
    LOW_SCORE = "LOW_SCORE"
    UNSTABLE = "UNSTABLE"
    OVERRULED = "OVERRULED"
    DISAGREED = "DISAGREED"
    ABSTAINED = "ABSTAINED"
    ESCALATED = "ESCALATED"
    SINGLE = "SINGLE"
    OK = "OK"
    REFUSAL_OK = "REFUSAL_OK"
    UNANSWERABLE = "UNANSWERABLE"


SEVERITY = {label: rank for rank, label in enumerate(Label)}
HARMLESS = frozenset({Label.OK, Label.REFUSAL_OK, Label.UNANSWERABLE})


class Stage(StrEnum):
    """The part of the pipeline to look at first."""

    PIPELINE = "pipeline"
    INDEX = "index"
    CHUNKING = "chunking"
    RETRIEVAL = "retrieval"
    RANKING = "ranking"
    CITATION = "citation"
    GENERATION = "generation"
    REFUSAL = "refusal"
    CONSTRAINTS = "constraints"
    VOTES = "votes"


class Cause(StrEnum):
    """What went wrong with a question, in the order in which it is asked: the first that holds is to blame."""

    NOT_IN_CORPUS = "not_in_corpus"
    NOT_RETRIEVED = "not_retrieved"
    BELOW_K = "below_k"
    NOT_CITED = "not_cited"
    OUT_OF_SCOPE = "out_of_scope"
    CLAIM_WRONG = "claim_wrong"
    REFUSED = "refused_with_evidence"
    ANSWERED = "answered_without_evidence"
    CONSTRAINT_BROKEN = "constraint_broken"
    TARGET_ERROR = "target_error"
    MISSING = "missing"


TRACED = {
    "index_hash": "index_hash",
    "commit": "commit",
    "normaliser": "normaliser_id",
    "reranker": "reranker_id",
    "retriever": "retriever",
}
"""How a run was made, by the names of a report, each with the key that a trace says it under."""
MADE = tuple(TRACED)
AMBIGUOUS_IDS = "ambiguous_ids"
"""The field of a trace that lists ids under which other texts were retrieved too. Nothing is scored with such."""
