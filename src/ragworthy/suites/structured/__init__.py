"""The structured suite: JSON answers, field by field, against what was expected."""

from typing import Annotated, NamedTuple

from ragworthy.policy.declare import PROFILE, SLICES, Declared, Input, Key


class Structured(NamedTuple):
    """Settings of the structured suite."""

    repair: Annotated[
        bool,
        Key(
            "whether answers are taken out of code fences and other text; they score, but never pass the schema",
            flag="--repair",
            help="take answers out of code fences and other text; never a pass",
        ),
    ] = False
    profile: Annotated[str, PROFILE] = "default"
    slices: Annotated[
        tuple[str, ...],
        SLICES._replace(meaning="fields to split the numbers by, besides the strata of the definition"),
    ] = ()


REQUIRED = ("prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id")
"""What the outputs must say of themselves; the version of the question set is known without them."""
KEPT = ("effective_prompt_sha256", "retrieval", "generation")
"""What else is kept where all outputs agree on it."""
MADE = (*REQUIRED, "eval_set_version", *KEPT)
"""The keys of `meta` that say how an output was made; the others are not kept."""
ALSO = {"adapter_id": "registry_id"}
"""Another key that will do where there is no such key."""
WHOLE = "whole"
"""Under this key a request for the questions of a subset has the set that they were drawn from."""

DECLARED = Declared(
    name="structured",
    summary="JSON answers against expected fields",
    package="ragworthy.suites.structured",
    program="eval_json_v2.py",
    page="seed002_eval_json_v2.md §6",
    tools={"make_eval_subset.py": "gold subset"},
    inputs=(
        Input(
            "questions",
            "path of the question set: a JSON array, JSONL, or a subset",
            "the question set (a JSON array, JSONL, a subset)",
            role="gold",
            needed=True,
            aliases=("gold",),
            record="StructuredGold",
            schema="gold.structured",
        ),
        Input(
            "outputs",
            "path of the model's outputs",
            "what the model wrote (.jsonl)",
            role="trace",
            needed=True,
            aliases=("traces",),
            of_run=True,
            record="StructuredOutput",
            schema="outputs.structured",
        ),
        Input(
            "definition",
            "path of the definition of the answer; default: the bundled one",
            "what an answer looks like (default: the bundled definition)",
            form="file",
        ),
        Input(
            "subset",
            "path of the dev subset, which must pass before the whole set is scored",
            "a dev subset that must pass before the whole set is scored",
            form="file",
        ),
        Input(
            "prompt",
            "path of the prompt that the outputs must have been made with; its hash is compared with theirs",
            "the prompt file: the outputs must have been made with it",
            form="file",
        ),
        Input(
            "provenance",
            "path of a JSON object that says how the outputs were made, where their meta does not",
            "JSON: how the outputs were made, where their meta does not say",
            form="file",
        ),
    ),
    settings=Structured,
    example="score=95,schema_pass_rate=0.98",
    items="show one item, expected against got, instead of the report (repeatable)",
    flags=("--questions", "--outputs", "--definition", "--subset", "--prompt", "--provenance", "--repair", "--item"),
)
