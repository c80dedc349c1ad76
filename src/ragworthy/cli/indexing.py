"""What `index`, `retrieve` and `gold` take. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.driving import model_flags
from ragworthy.cli.flags import common, count, whole
from ragworthy.cli.parser import command
from ragworthy.names import DEFAULT_K, DEFAULT_MODEL, RETRIEVAL_K


def indexes(group: argparse.ArgumentParser) -> None:
    """Every verb of `index`."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "build", "documents to an index; the old one stays until the new one is whole", "index:build")
    one.add_argument("--docs", required=True, metavar="DIR|FILE.jsonl",
                     help="a folder of .md .html .txt files, or {path, text} or block records")  # fmt: skip
    one.add_argument("--out", required=True, metavar="DIR", help="the index")
    one.add_argument("--dense", default=DEFAULT_MODEL, metavar="MODEL",
                     help="wordllama (default), minilm, openai:MODEL@URL, or none")  # fmt: skip
    one.add_argument("--limit", type=whole, default=2000, metavar="BYTES", help="longest prose chunk (default: 2000)")
    one.add_argument("--ann", choices=("auto", "flat", "hnsw"), default="auto", help="how vectors are searched")

    one = command(verbs, "search", "what a query finds, with sections, offsets and scores", "index:search_index")
    one.add_argument("index", metavar="DIR", help="the index")
    one.add_argument("query", metavar="QUERY", help="what to look for")
    one.add_argument("--k", type=whole, default=DEFAULT_K, metavar="K", help=f"how many results (default: {DEFAULT_K})")
    _asked(one)
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")

    one = command(verbs, "ask", "one question to the built-in pipeline, and why it answers or refuses", "index:ask")
    one.add_argument("index", metavar="DIR", help="the index")
    one.add_argument("question", metavar="QUESTION", help="what to ask")
    one.add_argument("--pipeline", metavar="FILE", help="what experiment tune wrote")
    one.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a knob (repeatable)")
    model_flags(one)
    one.add_argument("--trace", metavar="FILE", help="append what was asked and answered as a trace (.jsonl)")
    one.add_argument("--qid", metavar="ID", help="the question in that trace (default: made from its text)")
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")

    _index_pairs(verbs)


def _model(one: argparse.ArgumentParser) -> None:
    """Which model of distances is calibrated."""
    one.add_argument("--dense", metavar="MODEL",
                     help="the model to calibrate (default: the policy's delta_s_model, else wordllama or ngram, "
                          "whichever separates best)")  # fmt: skip
    one.add_argument("-c", "--config", metavar="FILE", help="the policy that names the model (default: ragworthy.toml)")


def _index_pairs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What compares an index with something else."""
    one = command(verbs, "check", "every file, chunk and offset of an index, and a gold set against it", "index:check")
    one.add_argument("index", metavar="DIR", help="the index")
    one.add_argument(
        "--docs", metavar="DIR|FILE.jsonl", help="the documents, whose sections and chunks are checked too"
    )
    one.add_argument(
        "--reference", metavar="DIR|FILE", help="documents as they should read, to count errors of OCR and layout"
    )
    one.add_argument("--gold", metavar="FILE", help="a retrieval gold set whose ids must be in the index")
    one.add_argument("--calibrate", action="store_true", help="calibrate ΔS and store it in the lock of the gold set")
    _model(one)

    one = command(verbs, "diff", "a shadow index against the live one: is it as good?", "index:diff")
    one.add_argument("live", metavar="LIVE", help="the index in use")
    one.add_argument("shadow", metavar="SHADOW", help="the candidate index")
    one.add_argument("--gold", metavar="FILE", help="a retrieval gold set")
    one.add_argument("--queries", metavar="FILE", help="real queries without labels, one per line or as JSONL")
    one.add_argument("--k", default=RETRIEVAL_K, metavar="K", help=f"how many results count (default: {RETRIEVAL_K})")
    one.add_argument(
        "--gates", nargs="+", action="extend", metavar="NAME=VALUE",
        help="gates besides the default ones: recall, hits and nDCG not worse than live",
    )  # fmt: skip
    one.add_argument("--pack", action="append", default=[], metavar="NAME", help="a gate pack, e.g. promote")
    one.add_argument("--max-drop", default="0.02", metavar="X",
                     help="how far recall, hits and nDCG may fall behind live (default: 0.02)")  # fmt: skip
    one.add_argument("--canary", action="store_true", help="judge by the gates of the canary instead")
    one.add_argument("--delta-s", choices=("auto", "calibrated", "raw", "recorded"), default="auto",
                     help="where distances come from")  # fmt: skip
    _asked(one)
    common(one, receipt=False)

    one = command(verbs, "migrate", "where the blocks of one index have gone in another", "index:migrate")
    one.add_argument("old", metavar="OLD", help="the old index")
    one.add_argument("new", metavar="NEW", help="the new index")
    one.add_argument("-o", "--output", metavar="FILE", help="write the redirect table")
    one.add_argument("--cited", metavar="FILE", help="gold or traces whose ids must resolve (default: every block)")
    one.add_argument(
        "--same-source", action="store_true", help="both are of the same documents: offsets must not drift"
    )


def _asked(one: argparse.ArgumentParser) -> None:
    one.add_argument("--mode", choices=("auto", "bm25", "dense", "hybrid"), default="auto",
                     help="how to search (default: hybrid, or bm25 without vectors)")  # fmt: skip
    one.add_argument("--fusion", choices=("rrf", "intersection", "union"), default="rrf", help="how hybrid is joined")
    one.add_argument("--knee", action="store_true", help="cut the results where the scores fall")


def retrieve_flags(one: argparse.ArgumentParser) -> None:
    """Flags of `retrieve`."""
    one.add_argument("--index", required=True, metavar="DIR", help="the index")
    one.add_argument("--gold", required=True, metavar="FILE", help="the retrieval gold set")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the traces")
    one.add_argument("--k", type=whole, default=10, metavar="K", help="how many results (default: 10)")
    one.add_argument("--seeds", default="1,2", metavar="N,N", help="the seeds (default: 1,2)")
    one.add_argument("--cite", type=count, default=1, metavar="N",
                     help="how many first results stand for citations (default: 1; 0 writes none)")  # fmt: skip
    one.add_argument("--ts", default="1970-01-01T00:00:00Z", metavar="TIME",
                     help="the time in the traces, or now (default: a fixed one, so that bytes repeat)")  # fmt: skip
    _asked(one)


def gold_sets(group: argparse.ArgumentParser) -> None:
    """Every verb of `gold`."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "lint", "what is wrong or doubtful about a gold set", "gold:lint")
    one.add_argument("gold", nargs="+", metavar="GOLD", help="the gold set; several are looked at one after another")
    one.add_argument("--format", choices=("text", "json", "sarif", "github"),
                     help="format (default: by the suffix of -o, .json or .sarif, else text)")  # fmt: skip
    one.add_argument("--short-substr", choices=("reject", "word"), default="word", help="entries under 5 characters")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks: are ids and evidence in it?")
    one.add_argument("--definition", metavar="FILE", help="what a structured answer looks like (default: bundled)")
    one.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")

    one = command(verbs, "suggest", "evidence for questions that have none, for a person to accept", "gold:suggest")
    one.add_argument("gold", metavar="GOLD", help="the gold set (answers)")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks")
    one.add_argument("--accept", metavar="FILE", help="suggestions that somebody has answered in")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the suggestions, or the new gold set")
    one.add_argument("--candidates", type=whole, default=3, metavar="N", help="places for each question (default: 3)")
    one.add_argument("--all", action="store_true", help="questions that have evidence, too")

    one = command(verbs, "subset", "a smaller question set, drawn evenly and repeatably", "gold:subset")
    one.add_argument("questions", metavar="QUESTIONS", help="the question set (a JSON array or JSONL)")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the subset to write (.json)")
    one.add_argument("--size", type=whole, default=100, metavar="N", help="how many questions (default: 100)")
    one.add_argument("--seed", type=count, default=42, metavar="N", help="which draw (default: 42)")
    one.add_argument("--definition", metavar="FILE", help="what a structured answer looks like (default: bundled)")
    _gold_lock(verbs)


def _gold_lock(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What seals a gold set, compares it and carries it over."""
    one = command(verbs, "freeze", "seal a gold set with signatures and a reason", "gold:freeze")
    one.add_argument("gold", metavar="GOLD", help="the gold set")
    one.add_argument("--signer", action="append", required=True, metavar="NAME", help="who signs (repeatable)")
    one.add_argument("--reason", required=True, metavar="TEXT", help="why it is frozen, or what changed")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks: calibrates ΔS for a retrieval set")
    _model(one)
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    one.add_argument("--label", metavar="TEXT", help="what this version is called, e.g. v3")

    one = command(verbs, "verify", "whether a gold set is the frozen one", "gold:verify")
    one.add_argument("gold", metavar="GOLD", help="the gold set")
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    one.add_argument("--signer", action="append", default=[], metavar="NAME", help="who must have signed (repeatable)")

    one = command(verbs, "bind", "write the chunks that hold the evidence of a gold set", "gold:bind")
    one.add_argument("gold", metavar="GOLD", help="the gold set, with gold_evidence or gold_source; it is not touched")
    one.add_argument("--corpus", required=True, metavar="DIR|FILE", help="the index or its chunks")
    one.add_argument("-o", "--output", "--out", required=True, metavar="FILE", help="the gold set to write (.jsonl)")
    one.add_argument("--review", metavar="FILE", help="evidence to look at, with candidate chunks and their texts")
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")

    one = command(verbs, "rebind", "rewrite a gold set or traces for a new index", "gold:rebind")
    one.add_argument("file", metavar="FILE", help="a gold set or traces; the file itself is not touched")
    one.add_argument("--redirects", action="append", required=True, metavar="TABLE",
                     help="a redirect table (repeatable)")  # fmt: skip
    one.add_argument("--old", metavar="DIR|FILE", help="the old index or its chunks, for ids that name no section")
    one.add_argument("--new", metavar="DIR|FILE", help="the new index or its chunks, for ids that name no section")
    one.add_argument("-o", "--output", required=True, metavar="FILE",
                     help="the new file; log and review list beside it")  # fmt: skip

    one = command(verbs, "diff", "added, removed and changed questions, and what it means", "gold:diff")
    one.add_argument("old", metavar="OLD", help="the earlier gold set")
    one.add_argument("new", metavar="NEW", help="the later gold set")
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")
