"""Every command and flag. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.names import DEFAULT_K, RETRIEVAL_K, VERSION

DESCRIPTION = "Decide whether a RAG pipeline may ship: scores, gates, one verdict, a receipt."
EPILOG = (
    "exit codes: 0 SHIP, 1 NO-SHIP, 2 wrong usage or input, 3 INCONCLUSIVE, 4 INVALID, "
    "70 a defect of ours, 130 interrupted"
)


def parser() -> argparse.ArgumentParser:
    """Every command and flag."""
    top = argparse.ArgumentParser(prog="ragworthy", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"ragworthy {VERSION}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    one = _command(commands, "init", "lay down a policy, a tiny gold set and traces to start from", "start:init")
    one.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where (default: here)")

    one = _command(commands, "demo", "the whole job on the bundled example", "start:demo")
    one.add_argument("--out", default="demo-out", metavar="DIR", help="where the files go (default: demo-out)")
    _quiet(one)

    one = _command(commands, "gate", "run every suite of the policy: one verdict", "gate:gate")
    one.add_argument("-c", "--config", metavar="FILE", help="the policy (default: ragworthy.toml or pyproject.toml)")
    one.add_argument("--baseline", metavar="FILE", help="JSON report of an accepted run; overrides the policy")
    one.add_argument("--selftest", action="store_true", help="damage the traces and prove that each gate can fail")
    _common(one)

    score = _command(commands, "score", "one suite from files", None)
    suites = score.add_subparsers(dest="suite", metavar="SUITE", required=True)
    _answers(_command(suites, "answers", "precision, citations, refusals, constraints, recall", "gate:score_answers"))
    _retrieval(_command(suites, "retrieval", "ranks, coverage, citations by byte, ΔS, λ", "gate:score_retrieval"))
    _structured(_command(suites, "structured", "JSON answers against expected fields", "gate:score_structured"))

    _index(_command(commands, "index", "documents to an index; search, check, compare and migrate it", None))
    _retrieve(_command(commands, "retrieve", "traces for every paraphrase and seed of a gold set", "index:retrieve"))

    one = _command(
        commands,
        "verify",
        "re-derive a verdict from its receipt; exit 0 only when every byte agrees",
        "gate:verify",
    )
    one.add_argument("receipt", metavar="RECEIPT", help="a receipt written by gate or score")
    one.add_argument("--jobs", type=_jobs, metavar="N", help="how many processes (default: one for each core)")

    _gold(_command(commands, "gold", "the gold set's own quality, lock and changes", None))

    _exchange(commands)

    one = _command(commands, "explain", "definitions of metrics, codes and file formats", "explain:explain")
    one.add_argument("topic", nargs="*", metavar="METRIC|CODE|schema NAME|definition", help="what to explain")

    one = _command(commands, "doctor", "what these files can and cannot show, and why", "explain:doctor")
    one.add_argument("-c", "--config", metavar="FILE", help="a policy that names the files")
    one.add_argument("--gold", metavar="FILE", help="the gold set")
    one.add_argument("--trace", metavar="FILE", help="the traces")
    one.add_argument("--corpus", metavar="FILE", help="chunk texts")

    one = _command(commands, "completion", "print a completion script for your shell", "explain:completion")
    one.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")
    return top


def _command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str, run: str | None
) -> argparse.ArgumentParser:
    made = group.add_parser(name, help=summary, description=summary[:1].upper() + summary[1:] + ".")
    if run is not None:
        made.set_defaults(run=run)
    return made


def _quiet(one: argparse.ArgumentParser) -> None:
    one.add_argument("-q", "--quiet", action="store_true", help="print only the last line")
    one.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")


def _common(one: argparse.ArgumentParser, *, receipt: bool = True) -> None:
    _quiet(one)
    suffixes = ".json .md .xml .txt .jsonl .parquet"
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help=f"write a report (repeatable); format by suffix: {suffixes}")  # fmt: skip
    one.add_argument("--format", choices=("text", "json", "markdown", "junit"), default="text", help="format of stdout")
    one.add_argument("--rows", metavar="FILE", help="write every row (.jsonl or .parquet)")
    if receipt:
        one.add_argument("--receipt", metavar="FILE", help="write the receipt here")
    one.add_argument("--jobs", type=_jobs, metavar="N", help="how many processes (default: one for each core)")
    one.add_argument("--unfrozen", action="store_true", help="score although the gold set is not the frozen one")
    one.add_argument("--allow-gold-errors", action="store_true", help="score although the gold set has lint errors")


def _answers(one: argparse.ArgumentParser) -> None:
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set (.jsonl, .gz, .zst, .parquet)")
    one.add_argument("--trace", required=True, metavar="FILE", help="the traces")
    one.add_argument("--k", default=str(DEFAULT_K), metavar="K", help="how many retrieved ids count; several: 1,5,10")
    one.add_argument("--corpus", metavar="FILE", help="chunk texts, for answers.support")
    one.add_argument("--scu-enforced", "--scu_enforced", action="store_true", help="check locked constraints")
    one.add_argument(
        "--rule-pack", action="append", default=[], metavar="NAME", help="contradiction rules (repeatable)"
    )
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    _scored(one, "precision=0.80,chr=0.75")


def _scored(one: argparse.ArgumentParser, example: str, *, refusals: bool = True) -> None:
    """What every suite takes."""
    one.add_argument("--gates", nargs="+", metavar="NAME=VALUE", help=f"gates, e.g. {example}, or a TOML file")
    one.add_argument("--profile", choices=("default", "reference"), default="default",
                     help="reference: print what the sources' own scorer prints")  # fmt: skip
    one.add_argument("--baseline", metavar="FILE", help="JSON report of an accepted run")
    one.add_argument("--evidence", choices=("point", "interval"), default="point", help="what decides a gate")
    if refusals:
        one.add_argument(
            "--refusal", action="append", default=[], metavar="TEXT", help="another refusal text (repeatable)"
        )
    one.add_argument("--slice", action="append", default=[], metavar="FIELD", help="split by a gold field (repeatable)")
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    _common(one)


def _retrieval(one: argparse.ArgumentParser) -> None:
    one.add_argument("--gold", metavar="FILE", help="the retrieval gold set (.jsonl, .gz, .zst, .parquet)")
    one.add_argument("--trace", metavar="FILE", help="the traces of the index that wants to go live")
    one.add_argument("--qrels", metavar="FILE", help="TREC judgements, instead of --gold")
    one.add_argument("--run", dest="run_file", metavar="FILE", help="a TREC run, instead of --trace")
    one.add_argument("--live", metavar="FILE", help="the traces of the index in use, to compare with")
    one.add_argument("--k", default=RETRIEVAL_K, metavar="K", help=f"how many results count (default: {RETRIEVAL_K})")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index, or its chunks: bytes, sections, types, distances")
    one.add_argument("--live-corpus", metavar="DIR|FILE", help="the same for the index in use, when its bytes differ")
    one.add_argument("--redirects", action="append", default=[], metavar="FILE",
                     help="a redirect table, oldest first (repeatable)")  # fmt: skip
    one.add_argument("--delta-s", choices=("auto", "calibrated", "raw", "recorded"), default="auto",
                     help="where distances come from (auto: calibrated where the lock allows)")  # fmt: skip
    one.add_argument("--anchor-scope", choices=("section", "subtree"), default="section",
                     help="whether subsections of the anchor section count")  # fmt: skip
    _scored(one, "recall@5=0.80,coverage=0.70")


def _structured(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--questions", required=True, metavar="FILE", help="the question set (a JSON array, JSONL, a subset)"
    )
    one.add_argument("--outputs", required=True, metavar="FILE", help="what the model wrote (.jsonl)")
    one.add_argument("--definition", metavar="FILE", help="what an answer looks like (default: the bundled definition)")
    one.add_argument("--subset", metavar="FILE", help="a dev subset that must pass before the whole set is scored")
    one.add_argument(
        "--provenance", metavar="FILE", help="JSON: how the outputs were made, where their meta does not say"
    )
    one.add_argument(
        "--repair", action="store_true", help="take answers out of code fences and other text; never a pass"
    )
    one.add_argument("--item", action="append", default=[], metavar="ID",
                     help="show one item, expected against got, instead of the report (repeatable)")  # fmt: skip
    _scored(one, "score=95,schema_pass_rate=0.98", refusals=False)


def _gold(group: argparse.ArgumentParser) -> None:
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = _command(verbs, "lint", "what is wrong or doubtful about a gold set", "gold:lint")
    one.add_argument("gold", metavar="GOLD", help="the gold set")
    one.add_argument("--format", choices=("text", "json", "sarif"), default="text", help="format of stdout")
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks, for a retrieval gold set")
    one.add_argument("--definition", metavar="FILE", help="what a structured answer looks like (default: bundled)")
    one.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")

    one = _command(verbs, "subset", "a smaller question set, drawn evenly and repeatably", "gold:subset")
    one.add_argument("questions", metavar="QUESTIONS", help="the question set (a JSON array or JSONL)")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the subset to write (.json)")
    one.add_argument("--size", type=_whole, default=100, metavar="N", help="how many questions (default: 100)")
    one.add_argument("--seed", type=_count, default=42, metavar="N", help="which draw (default: 42)")
    one.add_argument("--definition", metavar="FILE", help="what a structured answer looks like (default: bundled)")
    _gold_lock(verbs)


def _gold_lock(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What seals a gold set, compares it and carries it over."""
    one = _command(verbs, "freeze", "seal a gold set with signatures and a reason", "gold:freeze")
    one.add_argument("gold", metavar="GOLD", help="the gold set")
    one.add_argument("--signer", action="append", required=True, metavar="NAME", help="who signs (repeatable)")
    one.add_argument("--reason", required=True, metavar="TEXT", help="why it is frozen, or what changed")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks: calibrates ΔS for a retrieval set")
    one.add_argument("--dense", default="wordllama", metavar="MODEL",
                     help="the model to calibrate (default: wordllama)")  # fmt: skip
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")

    one = _command(verbs, "verify", "whether a gold set is the frozen one", "gold:verify")
    one.add_argument("gold", metavar="GOLD", help="the gold set")
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    one.add_argument("--signer", action="append", default=[], metavar="NAME", help="who must have signed (repeatable)")

    one = _command(verbs, "rebind", "rewrite a gold set or traces for a new index", "gold:rebind")
    one.add_argument("file", metavar="FILE", help="a gold set or traces; the file itself is not touched")
    one.add_argument("--redirects", action="append", required=True, metavar="TABLE",
                     help="a redirect table (repeatable)")  # fmt: skip
    one.add_argument("--old", metavar="DIR|FILE", help="the old index or its chunks, for ids that name no section")
    one.add_argument("--new", metavar="DIR|FILE", help="the new index or its chunks, for ids that name no section")
    one.add_argument("-o", "--output", required=True, metavar="FILE",
                     help="the new file; log and review list beside it")  # fmt: skip

    one = _command(verbs, "diff", "added, removed and changed questions, and what it means", "gold:diff")
    one.add_argument("old", metavar="OLD", help="the earlier gold set")
    one.add_argument("new", metavar="NEW", help="the later gold set")
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")


def _index(group: argparse.ArgumentParser) -> None:
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = _command(verbs, "build", "documents to an index; the old one stays until the new one is whole", "index:build")
    one.add_argument("--docs", required=True, metavar="DIR|FILE.jsonl",
                     help="a folder of .md .html .txt files, or {path, text} or block records")  # fmt: skip
    one.add_argument("--out", required=True, metavar="DIR", help="the index")
    one.add_argument("--dense", default="wordllama", metavar="MODEL",
                     help="wordllama (default), minilm, openai:MODEL@URL, or none")  # fmt: skip
    one.add_argument("--limit", type=_whole, default=2000, metavar="BYTES", help="longest prose chunk (default: 2000)")
    one.add_argument("--ann", choices=("auto", "flat", "hnsw"), default="auto", help="how vectors are searched")

    one = _command(verbs, "search", "what a query finds, with sections, offsets and scores", "index:search_index")
    one.add_argument("index", metavar="DIR", help="the index")
    one.add_argument("query", metavar="QUERY", help="what to look for")
    one.add_argument(
        "--k", type=_whole, default=DEFAULT_K, metavar="K", help=f"how many results (default: {DEFAULT_K})"
    )
    _asked(one)
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")

    _index_pairs(verbs)


def _index_pairs(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What holds an index against something else."""
    one = _command(verbs, "check", "every file, chunk and offset of an index, and a gold set against it", "index:check")
    one.add_argument("index", metavar="DIR", help="the index")
    one.add_argument(
        "--docs", metavar="DIR|FILE.jsonl", help="the documents, whose sections and chunks are checked too"
    )
    one.add_argument("--gold", metavar="FILE", help="a retrieval gold set whose ids must be in the index")
    one.add_argument("--calibrate", action="store_true", help="calibrate ΔS and store it in the lock of the gold set")
    one.add_argument(
        "--dense", default="wordllama", metavar="MODEL", help="the model to calibrate (default: wordllama)"
    )

    one = _command(verbs, "diff", "a shadow index against the live one: may it take traffic?", "index:diff")
    one.add_argument("live", metavar="LIVE", help="the index in use")
    one.add_argument("shadow", metavar="SHADOW", help="the index that wants to be")
    one.add_argument("--gold", metavar="FILE", help="a retrieval gold set")
    one.add_argument("--queries", metavar="FILE", help="real queries without labels, one a line or as JSONL")
    one.add_argument("--k", default=RETRIEVAL_K, metavar="K", help=f"how many results count (default: {RETRIEVAL_K})")
    one.add_argument("--gates", nargs="+", metavar="NAME=VALUE", help="gates (default: those of the canary)")
    one.add_argument("--delta-s", choices=("auto", "calibrated", "raw", "recorded"), default="auto",
                     help="where distances come from")  # fmt: skip
    _asked(one)
    _common(one, receipt=False)

    one = _command(verbs, "migrate", "where the blocks of one index have gone in another", "index:migrate")
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


def _retrieve(one: argparse.ArgumentParser) -> None:
    one.add_argument("--index", required=True, metavar="DIR", help="the index")
    one.add_argument("--gold", required=True, metavar="FILE", help="the retrieval gold set")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the traces")
    one.add_argument("--k", type=_whole, default=10, metavar="K", help="how many results (default: 10)")
    one.add_argument("--seeds", default="1,2", metavar="N,N", help="the seeds (default: 1,2)")
    one.add_argument("--cite", type=_count, default=1, metavar="N",
                     help="how many first results stand for citations (default: 1; 0 writes none)")  # fmt: skip
    one.add_argument("--ts", default="1970-01-01T00:00:00Z", metavar="TIME",
                     help="the time in the traces, or now (default: a fixed one, so that bytes repeat)")  # fmt: skip
    _asked(one)


def _exchange(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = _command(commands, "import", "other tools' files to gold and traces", None)
    forms = group.add_subparsers(dest="form", metavar="FORMAT", required=True)
    one = _command(forms, "trec", "TREC judgements and runs", "exchange:import_trec")
    one.add_argument("--qrels", required=True, metavar="FILE", help="the judgements")
    one.add_argument("--run", dest="run_file", metavar="FILE", help="the run")
    one.add_argument("--topics", metavar="FILE", help="the queries: JSONL with qid and query, or TREC topics")
    one.add_argument("--gold-out", required=True, metavar="FILE", help="the gold set to write")
    one.add_argument("--trace-out", metavar="FILE", help="the traces to write")

    group = _command(commands, "export", "gold and traces to other tools' files", None)
    forms = group.add_subparsers(dest="form", metavar="FORMAT", required=True)
    one = _command(forms, "trec", "TREC judgements and a run", "exchange:export_trec")
    one.add_argument("--gold", metavar="FILE", help="the retrieval gold set")
    one.add_argument("--trace", metavar="FILE", help="the traces")
    one.add_argument("--qrels-out", metavar="FILE", help="the judgements to write")
    one.add_argument("--run-out", metavar="FILE", help="the run to write")
    one.add_argument("--tag", default="ragworthy", metavar="TEXT", help="the name of the run (default: ragworthy)")


def _number(text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a number from {least} to {most}")
    return int(text)


def _whole(text: str) -> int:
    return _number(text, 1, 1_000_000)


def _count(text: str) -> int:
    return _number(text, 0, 1_000_000)


def _jobs(text: str) -> int:
    return _number(text, 1, 256)
