"""The retrieval suite: what an index finds, ranks and lets answers cite, alone and against the one in use."""

from typing import Annotated, NamedTuple

from ragworthy.names import DEFAULT_K, RETRIEVAL_K
from ragworthy.policy.declare import (
    REFUSAL_PACK,
    REFUSAL_PATTERN,
    REFUSAL_START,
    REFUSALS,
    REFUSED,
    SLICES,
    Declared,
    Input,
    Key,
)


class Retrieval(NamedTuple):
    """Settings of the retrieval suite."""

    ks: Annotated[
        tuple[int, ...],
        Key(
            "how many results count, or a list of such numbers; default [1, 3, 5, 10]",
            flag="--k",
            help=f"how many results count (default: {RETRIEVAL_K})",
            metavar="K",
            name="k",
            reads="ks",
        ),
    ] = tuple(map(int, RETRIEVAL_K.split(",")))
    delta_s: Annotated[
        str,
        Key(
            '"calibrated", "raw" or "recorded"; default: calibrated where the lock has a calibration',
            flag="--delta-s",
            help="where distances come from (auto: calibrated where the lock allows)",
            choices=("auto", "calibrated", "raw", "recorded"),
        ),
    ] = "auto"
    delta_s_model: Annotated[
        str | None,
        Key(
            '"wordllama", "ngram", "minilm" or "openai:MODEL@URL": the model of distances that are not recorded; '
            "default: the lock's, else wordllama. 'gold freeze' calibrates it instead of choosing one",
            flag="--delta-s-model",
            help="the model of distances (default: the lock's, else wordllama)",
            metavar="MODEL",
            told=False,
        ),
    ] = None
    anchor_scope: Annotated[
        str,
        Key(
            '"section" (the anchor section itself) or "subtree" (its subsections too)',
            flag="--anchor-scope",
            help="whether subsections of the anchor section count",
            choices=("section", "subtree"),
        ),
    ] = "section"
    refusals: Annotated[tuple[str, ...], REFUSED] = REFUSALS
    refusal_packs: Annotated[tuple[str, ...], REFUSAL_PACK] = ()
    refusal_starts: Annotated[tuple[str, ...], REFUSAL_START] = ()
    refusal_patterns: Annotated[tuple[str, ...], REFUSAL_PATTERN] = ()
    max_drop: Annotated[
        str,
        Key(
            "how far recall, hits and nDCG may fall behind the index in use, where no gate says so; default 0.02",
            flag="--max-drop",
            help="how far recall, hits and nDCG may fall behind live (default: 0.02)",
            metavar="X",
            reads="share",
            told=False,
        ),
    ] = "0.02"
    against_live: Annotated[
        bool,
        Key(
            "whether the index in use is the only yardstick by default, instead of the gates of the canary",
            flag="--against-live",
            help="judge by the index in use alone, not by the gates of the canary",
            told=False,
        ),
    ] = False
    slices: Annotated[
        tuple[str, ...],
        SLICES._replace(
            meaning="gold fields to split the numbers by, besides the type of the first relevant block",
        ),
    ] = ()


TREC = ("qrels", "run")
"""The files that replace gold and traces: ids and ranks, and nothing else."""
LIVE_RUN = "live_run"
"""The same for the index in use."""

DECLARED = Declared(
    name="retrieval",
    summary="ranks, coverage, citations by byte, ΔS, λ",
    package="ragworthy.suites.retrieval",
    program="score_run",
    page="seed001_retrieval_evaluation.md, Minimal evaluator pseudocode",
    inputs=(
        Input(
            "gold",
            "path of the retrieval gold set",
            "the retrieval gold set (.jsonl, .gz, .zst, .parquet)",
            needed=True,
            record="RetrievalGold",
            schema="gold.retrieval",
        ),
        Input(
            "traces",
            "path of the traces of the index that wants to go live",
            "the traces of the index that wants to go live",
            role="trace",
            flag="--trace",
            needed=True,
            record="RetrievalTrace",
            schema="trace.retrieval",
        ),
        Input("qrels", "", "TREC judgements, instead of --gold", role="gold", form="file"),
        Input("run", "", "a TREC run, instead of --trace", role="trace", form="file"),
        Input("live_run", "", "the TREC run in use, to compare with", role="live_run", form="file"),
        Input(
            "live",
            "path of the traces of the index in use, for max_drop and the comparison",
            "the traces of the index in use, to compare with",
            record="RetrievalTrace",
            schema="trace.retrieval",
        ),
        Input(
            "corpus",
            "path of the index (a folder) or of its chunks, for bytes, sections, types and distances",
            "the index, or its chunks: bytes, sections, types, distances",
            form="corpus",
        ),
        Input(
            "live_corpus",
            "path of the index in use (or of its chunks), where its bytes differ from those of the corpus",
            "the same for the index in use, when its bytes differ",
            form="corpus",
        ),
        Input(
            "redirects",
            "paths of redirect tables, oldest first, when ids have changed since the gold set was written",
            "a redirect table, oldest first (repeatable)",
            form="files",
        ),
        Input("live_redirects", "", "", form="files"),  # the same for `live`; `index diff` works it out itself
    ),
    settings=Retrieval,
    example="recall@5=0.80,coverage=0.70",
    default_k=DEFAULT_K,
    flags=(
        "--gold",
        "--trace",
        "--qrels",
        "--run",
        "--live-run",
        "--live",
        "--max-drop",
        "--against-live",
        "--k",
        "--corpus",
        "--live-corpus",
        "--redirects",
        "--delta-s",
        "--delta-s-model",
        "--anchor-scope",
    ),
)
