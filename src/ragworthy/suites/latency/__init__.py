"""The latency suite: time against accuracy, for each configuration and load."""

from typing import Annotated, NamedTuple

from ragworthy.names import DEFAULT_K
from ragworthy.policy.declare import (
    ANSWERS_GOLD,
    PROFILE,
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


class Latency(NamedTuple):
    """Settings of the latency suite. Which configuration is judged is not among what two runs must share: a report has
    it under `selection`.
    """

    profile: Annotated[str, PROFILE] = "default"
    configuration: Annotated[
        str | None,
        Key(
            "the id of the configuration to judge; default: the only one, else the best for the use",
            flag="--configuration",
            help="the configuration to judge (default: the best for the use)",
            metavar="ID",
            told=False,
        ),
    ] = None
    use: Annotated[
        str,
        Key(
            '"interactive" (the fastest that is accurate enough) or "batch" (the most accurate); default "interactive"',
            flag="--use",
            help="what it is chosen for",
            choices=("interactive", "batch"),
            told=False,
        ),
    ] = "interactive"
    frontier: Annotated[
        str,
        Key(
            '"usual" (no worse in both, better in one) or "strict" (better in both); default "usual"',
            flag="--frontier",
            help="which points are on the frontier",
            choices=("usual", "strict"),
            told=False,
        ),
    ] = "usual"
    batch_p95: Annotated[
        str,
        Key(
            "the P95 in milliseconds that batch use allows; default 2500",
            flag="--batch-p95",
            help="the P95 that batch use allows (default: 2500)",
            metavar="MS",
            reads="positive",
            told=False,
        ),
    ] = "2500"
    short_substr: Annotated[str, SHORT] = "word"
    refusals: Annotated[tuple[str, ...], REFUSED] = REFUSALS
    refusal_packs: Annotated[tuple[str, ...], REFUSAL_PACK] = ()
    refusal_starts: Annotated[tuple[str, ...], REFUSAL_START] = ()
    refusal_patterns: Annotated[tuple[str, ...], REFUSAL_PATTERN] = ()
    scu: Annotated[bool, SCU] = False
    rule_packs: Annotated[tuple[str, ...], RULE_PACKS._replace(quiet=True)] = ()
    slices: Annotated[tuple[str, ...], SLICES] = ()


DECLARED = Declared(
    name="latency",
    summary="latency against accuracy, per configuration and load",
    package="ragworthy.suites.latency",
    program="latency_sweep.py",
    page="ProblemMap eval/eval_latency_vs_accuracy.md §3",
    inputs=(
        ANSWERS_GOLD,
        Input(
            "runs",
            "path of the timed runs (.jsonl or .csv)",
            "the timed runs (.jsonl or .csv)",
            role="trace",
            needed=True,
            aliases=("traces",),
            record="Run",
            schema="runs",
        ),
        Input(
            "prices",
            "path of a TOML file with prices, for the cost of a correct answer",
            "prices as TOML, for the cost of a correct answer",
            form="file",
        ),
        Input(
            "corpus",
            "path of the chunk texts, for the share of the context that answers cite",
            "the index or its chunks: how much of the context is cited",
            form="corpus",
        ),
        Input(
            "plot",
            "",
            "draw accuracy against P95 (.png or .svg, repeatable)",
            form="outputs",
            suffixes=(".png", ".svg"),
        ),
    ),
    settings=Latency,
    example="p95=2000,precision=0.80",
    default_k=DEFAULT_K,
    flags=(
        "--gold",
        "--runs",
        "--prices",
        "--corpus",
        "--configuration",
        "--use",
        "--frontier",
        "--batch-p95",
        "--plot",
        "--scu-enforced",
        "--rule-pack",
        "--short-substr",
    ),
)
