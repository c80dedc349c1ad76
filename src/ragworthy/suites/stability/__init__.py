"""The stability suite: whether the same question gets the same answer over seeds, jitters and paraphrases."""

from typing import Annotated, NamedTuple

from ragworthy.policy.declare import (
    REFUSAL_PACK,
    REFUSAL_PATTERN,
    REFUSAL_START,
    REFUSALS,
    REFUSED,
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
    slices: Annotated[tuple[str, ...], SLICES] = ()


DECLARED = Declared(
    name="stability",
    summary="answers over seeds, jitters and paraphrases",
    package="ragworthy.suites.stability",
    inputs=(
        Input(
            "gold",
            "path of the gold set of the answers",
            "the gold set of the answers",
            needed=True,
            record="Gold",
            schema="gold.answers",
        ),
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
    ),
    settings=Stability,
    example="failing_questions=0",
    flags=("--gold", "--runs", "--limits", "--short-substr"),
)
