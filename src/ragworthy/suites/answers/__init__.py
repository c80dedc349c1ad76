"""The answers suite: what a pipeline answers, cites and refuses, question by question."""

from typing import Annotated, NamedTuple

from ragworthy.names import DEFAULT_K
from ragworthy.policy.declare import (
    REFUSAL_PACK,
    REFUSAL_PATTERN,
    REFUSAL_START,
    REFUSALS,
    REFUSED,
    RULE_PACKS,
    SCU,
    SHORT,
    SLICES,
    Declared,
    Input,
    Key,
)


class Answers(NamedTuple):
    """Settings of the answers suite."""

    ks: Annotated[
        tuple[int, ...],
        Key(
            "how many retrieved ids count, or a list of such numbers; default 5",
            flag="--k",
            help="how many retrieved ids count; several: 1,5,10",
            metavar="K",
            name="k",
            reads="ks",
        ),
    ] = (DEFAULT_K,)
    short_substr: Annotated[str, SHORT] = "word"
    refusals: Annotated[tuple[str, ...], REFUSED] = REFUSALS
    refusal_packs: Annotated[tuple[str, ...], REFUSAL_PACK] = ()
    refusal_starts: Annotated[tuple[str, ...], REFUSAL_START] = ()
    refusal_patterns: Annotated[tuple[str, ...], REFUSAL_PATTERN] = ()
    scu: Annotated[bool, SCU] = False
    rule_packs: Annotated[tuple[str, ...], RULE_PACKS] = ()
    slices: Annotated[tuple[str, ...], SLICES] = ()


DECLARED = Declared(
    name="answers",
    summary="precision, citations, refusals, constraints, recall",
    package="ragworthy.suites.answers",
    program="score_eval.py",
    page="seed000_rag_precision_recall.md §4, seed003_rag_precision_recall_with_scorer.md §4",
    inputs=(
        Input(
            "gold",
            "path of the gold set",
            "the gold set (.jsonl, .gz, .zst, .parquet)",
            needed=True,
            record="Gold",
            schema="gold.answers",
        ),
        Input(
            "traces",
            "path of the traces; a list of paths where the same questions were asked in several runs",
            "the traces (repeatable: several runs of the same questions)",
            role="trace",
            flag="--trace",
            needed=True,
            of_run=True,
            record="Trace",
            schema="trace.answers",
            more="reruns",
        ),
        Input("reruns", "", "", role="trace", form="files", of_run=True),
        Input(
            "corpus",
            "path of the index or its chunks: binds gold evidence, and for answers.support",
            "the index or its chunks: binds gold evidence, and for answers.support",
            form="corpus",
        ),
    ),
    settings=Answers,
    example="precision=0.80,chr=0.75",
    default_k=None,
    flags=("--gold", "--trace", "--k", "--corpus", "--scu-enforced", "--rule-pack", "--short-substr", "--item"),
)
