"""The agreement suite: what two validators, several raters or operators agree on."""

from typing import Annotated, NamedTuple

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

FORMS = {
    "pairs": ("pairs",),
    "files": ("scholar", "auditor"),
    "traces": ("gold", "traces"),
    "raters": ("raters",),
    "operators": ("operators",),
}
"""The forms that votes come in, with the files of each."""
BESIDE = {"traces": ("corpus",), "operators": ("audit", "gold", "corpus")}
"""What may be beside them. Of the gold set that operators marked and the index that was searched, a report keeps the
hashes."""


class Agreement(NamedTuple):
    """Settings of the agreement suite. The form follows from the files that are there, and decides which of the others
    mean something: the suite tells those itself.
    """

    form: Annotated[str, Key("", choices=tuple(FORMS), python=False, told=False)] = "pairs"
    short_substr: Annotated[str, SHORT._replace(told=False)] = "word"
    refusals: Annotated[tuple[str, ...], REFUSED._replace(told=False)] = REFUSALS
    refusal_packs: Annotated[tuple[str, ...], REFUSAL_PACK] = ()
    refusal_starts: Annotated[tuple[str, ...], REFUSAL_START] = ()
    refusal_patterns: Annotated[tuple[str, ...], REFUSAL_PATTERN] = ()
    scu: Annotated[bool, SCU._replace(told=False)] = False
    rule_packs: Annotated[tuple[str, ...], RULE_PACKS._replace(told=False)] = ()
    release: Annotated[
        bool,
        Key(
            "whether this is a release, which needs three operators",
            flag="--release",
            help="a release: needs three operators",
            told=False,
        ),
    ] = False
    baseline_cost: Annotated[
        str | None,
        Key(
            "what a record cost before, for the halt at one and a half times",
            flag="--baseline-cost",
            help="what an operator record cost before",
            metavar="COST",
            reads="positive",
            told=False,
        ),
    ] = None
    fixes: Annotated[
        tuple[str, ...],
        Key(
            "the only fixes that operator records may name",
            flag="--fix",
            help="a fix that operator records may name (repeatable)",
            metavar="NAME",
            told=False,
        ),
    ] = ()
    slices: Annotated[tuple[str, ...], SLICES._replace(told=False)] = ()


DECLARED = Declared(
    name="agreement",
    summary="what two validators or more agree on",
    package="ragworthy.suites.agreement",
    program="cross_agent_consistency.py",
    page="ProblemMap eval/eval_cross_agent_consistency.md §5",
    inputs=(
        Input(
            "pairs",
            "path of the pairs: what both validators say about each answer",
            "what both validators say about each answer (.jsonl)",
            role="trace",
            shown="pairs",
            record="Pair",
            schema="pairs",
        ),
        Input(
            "scholar",
            "path of what the scholar says, with auditor instead of pairs",
            "what the first validator says, with --auditor",
            role="trace",
            shown="scholar",
        ),
        Input(
            "auditor",
            "path of what the auditor says",
            "what the second validator says",
            role="second",
            shown="auditor",
        ),
        Input(
            "gold",
            "path of a gold set, with traces instead of pairs: the two validators that come with ragworthy vote; with "
            "operators: the gold set that they marked",
            "a gold set, with --trace: the validators that come with it vote; with --operators: what they marked",
            record="Gold",
            schema="gold.answers",
        ),
        Input(
            "traces",
            "path of the traces they vote on",
            "the traces they vote on",
            role="trace",
            flag="--trace",
            record="Trace",
            schema="trace.answers",
        ),
        Input(
            "corpus",
            "path of the chunk texts, for what the auditor looks up in them",
            "the index or its chunks, for what the auditor looks up",
            form="corpus",
        ),
        Input(
            "raters",
            "path of the votes of several raters, instead of pairs",
            "the votes of several raters: {qid, rater, label}",
            role="trace",
            shown="raters",
        ),
        Input(
            "operators",
            "path of operator records, instead of pairs",
            "operator records",
            role="trace",
            shown="operators",
        ),
        Input(
            "audit",
            "path of the second look at some operator records",
            "a spot check that was filled in: a second look at some operator records",
        ),
        Input(
            "tsv",
            "path of the table of disagreements to write",
            "write the table of disagreements; without it none is written",
            form="output",
            called="the table of disagreements",
            begins=b"qid\t",
        ),
        Input("pairs_out", "", "write the votes on traces as pairs (.jsonl)", form="output"),
        Input("spot_check", "", "write a tenth of the operator records, to fill in (.jsonl)", form="output"),
    ),
    settings=Agreement,
    example="percent=0.90,kappa=0.75",
    flags=(
        "--pairs",
        "--scholar",
        "--auditor",
        "--gold",
        "--trace",
        "--corpus",
        "--raters",
        "--operators",
        "--audit",
        "--spot-check",
        "--fix",
        "--release",
        "--baseline-cost",
        "--tsv",
        "--pairs-out",
        "--scu-enforced",
        "--rule-pack",
        "--short-substr",
    ),
    forms=FORMS,
    beside=BESIDE,
)
