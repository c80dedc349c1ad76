"""The stability suite: whether the same question gets the same answer over seeds, jitters and paraphrases."""

from typing import Annotated, NamedTuple

from ragworthy.policy.declare import (
    ANSWERS_GOLD,
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

LIMITS = ("acr=0.95", "cghc=0.95", "css=0.70", "ned50=0.20", "refusal_rate=0.98")
"""What each question must hold over its runs."""


class Stability(NamedTuple):
    """Settings of the stability suite."""

    limits: Annotated[
        tuple[str, ...],
        Key(
            "what each question must hold: acr, cghc, css, refusal_rate (least), ned50 (greatest)",
            flag="--limits",
            help="what each question must hold, e.g. acr=0.95,css=0.70,ned50=0.20",
            metavar="NAME=VALUE",
            reads="limits",
        ),
    ] = LIMITS
    short_substr: Annotated[str, SHORT] = "word"
    refusals: Annotated[tuple[str, ...], REFUSED] = REFUSALS
    refusal_packs: Annotated[tuple[str, ...], REFUSAL_PACK] = ()
    refusal_starts: Annotated[tuple[str, ...], REFUSAL_START] = ()
    refusal_patterns: Annotated[tuple[str, ...], REFUSAL_PATTERN] = ()
    scu: Annotated[bool, SCU._replace(quiet=True)] = False
    rule_packs: Annotated[tuple[str, ...], RULE_PACKS._replace(quiet=True)] = ()
    slices: Annotated[tuple[str, ...], SLICES] = ()


DECLARED = Declared(
    name="stability",
    summary="answers over seeds, jitters and paraphrases",
    package="ragworthy.suites.stability",
    program="semantic_stability.py",
    page="ProblemMap eval/eval_semantic_stability.md §4",
    inputs=(
        ANSWERS_GOLD,
        Input(
            "runs",
            "path of the runs: seeds, jitters, paraphrases",
            "the runs: seeds, jitters, paraphrases (.jsonl)",
            role="trace",
            needed=True,
            aliases=("traces",),
            of_run=True,
            record="Run",
            schema="runs",
        ),
        Input(
            "corpus",
            "path of the chunk texts, or of an index: whether evidence is there at all, and in which chunks",
            "the index or its chunks: whether the evidence is there at all",
            form="corpus",
        ),
    ),
    settings=Stability,
    example="failing_questions=0",
    flags=("--gold", "--runs", "--corpus", "--limits", "--scu-enforced", "--rule-pack", "--short-substr"),
)
