"""Every command and flag. Imports nothing heavier than the argument parser."""

import argparse
from collections.abc import Iterable, Sequence

from ragworthy.cli.beginning import demo_flags, init_flags
from ragworthy.cli.driving import experiments, model_flags, run_flags
from ragworthy.cli.earlier import kept_runs, no_history
from ragworthy.cli.flags import (
    common,
    count,
    engine,
    imported,
    jobs,
    plugin,
    quiet,
    reported,
    scored,
    shown,
    whole,
)
from ragworthy.cli.parser import Parser, command
from ragworthy.cli.rolling import mirror_flags, rollouts
from ragworthy.cli.viewing import view_flags
from ragworthy.cli.watching import monitor_flags
from ragworthy.names import DEFAULT_K, DEFAULT_MODEL, RETRIEVAL_K, VERSION
from ragworthy.suites import SUITES

DESCRIPTION = "Decide whether a RAG pipeline may ship: scores, gates, one verdict, a receipt."
EPILOG = (
    "exit codes: 0 SHIP, 1 NO-SHIP, 2 wrong usage or input, 3 INCONCLUSIVE, 4 INVALID, "
    "70 a defect of ours, 130 interrupted"
)


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Every command and flag. Where `words` score a suite, the flags of the other suites are left out: they take time,
    and that suite may be one of another package.
    """
    scored_suites: Iterable[str] = SUITES
    if len(words) > 1 and words[0] == "score" and not words[1].startswith("-"):
        SUITES.also(words[1:2])
        scored_suites = words[1:2] if words[1] in SUITES else SUITES
    top: argparse.ArgumentParser = Parser(prog="ragworthy", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"ragworthy {VERSION}", help="the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    init_flags(command(commands, "init", "a policy for your files, or an example to start from", "start:init"))

    demo_flags(command(commands, "demo", "see it work: a release, a defect, a new index, a report", "demo:demo"))

    one = command(commands, "gate", "run every suite of the policy: one verdict", "gate:gate")
    one.add_argument(
        "-c",
        "--config",
        metavar="FILE",
        help="the policy (default: ragworthy.toml or pyproject.toml); plugins that it names are run",
    )
    one.add_argument("--baseline", metavar="FILE|history:NAME",
                     help="JSON report of an accepted run, or a blessed one; overrides the policy")  # fmt: skip
    one.add_argument("--pack", action="append", default=[], metavar="NAME",
                     help="a gate pack that holds besides those of the policy (repeatable)")  # fmt: skip
    one.add_argument("--selftest", action="store_true", help="damage the traces and prove that each gate can fail")
    no_history(one)
    engine(one)
    common(one)

    score = command(commands, "score", "one suite from files", None)
    suites = score.add_subparsers(dest="suite", metavar="SUITE", required=True)
    for name in scored_suites:
        scored(command(suites, name, SUITES[name].summary, "score:score"), SUITES[name])

    one = command(commands, "merge", "parts of 'score … --shard I/N' become one report", "merge:merge")
    one.add_argument("parts", nargs="+", metavar="PART", help="what 'score … --shard I/N -o FILE.json' wrote: all N")
    reported(one)
    one.set_defaults(unfrozen=False, allow_gold_errors=False, jobs=None)

    _compare(command(commands, "compare", "what changed from one run to another, and is it noise?", "compare:compare"))
    one = command(
        commands, "show", "one question with everything known of it: expected, answered, texts, why", "show:show"
    )
    shown(one, words if words[:1] == ("show",) else ())
    _report(command(commands, "report", "the page of an earlier run, or its report again", "report:report"))

    run_flags(command(commands, "run", "drive a pipeline over a gold set; resumable", "experiment:run"))
    experiments(command(commands, "experiment", "drive it in seeds, jitters, knobs and loads", None))

    _index(command(commands, "index", "documents to an index; search, check, compare and migrate it", None))
    _retrieve(command(commands, "retrieve", "traces for every paraphrase and seed of a gold set", "index:retrieve"))

    kept_runs(command(commands, "history", "earlier runs: list, compare over time, bless, export", None))

    view_flags(
        command(commands, "view", "the history in a browser: runs, trends, comparisons, the rollout", "view:view")
    )

    mirror_flags(
        command(commands, "mirror", "ask the shadow a share of the live questions, and compare", "mirror:mirror")
    )
    rollouts(command(commands, "rollout", "a canary as a state machine: who moved it on what, and may it go on?", None))
    monitor_flags(command(commands, "monitor", "live traffic: windows, rules, alerts", "monitor:monitor"))

    _proof(commands)

    _gold(command(commands, "gold", "the gold set's own quality, lock and changes", None))

    _exchange(commands, words)

    one = command(
        commands, "explain", "what a metric, a label, a word or a code means, with an example", "explain:explain"
    )
    one.add_argument("topic", nargs="*", metavar="WORD",
                     help="a metric, label, verdict, stage, cause, code or term; or packs, pack NAME, schema NAME, "
                          "definition, prompt, map NAME (default: list them)")  # fmt: skip
    plugin(one)

    one = command(commands, "doctor", "what these files can and cannot show, and why", "explain:doctor")
    one.add_argument("files", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
    one.add_argument("-c", "--config", metavar="FILE", help="a policy that names the files; its plugins are run")
    one.add_argument("--gold", metavar="FILE", help="the gold set")
    one.add_argument("--trace", metavar="FILE", help="the traces")
    one.add_argument("--corpus", metavar="FILE", help="chunk texts")

    one = command(commands, "help", "what a command does and takes", "front:help_of")
    one.add_argument("topic", nargs="*", metavar="COMMAND", help="the command, e.g. score answers")

    one = command(commands, "completion", "print a completion script for your shell", "explain:completion")
    one.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish", "powershell"), help="the shell")
    return top


def _proof(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What is done with receipts and bundles."""
    one = command(
        commands,
        "verify",
        "re-derive a verdict from its receipt or bundle; exit 0 only when every byte agrees",
        "proof:verify",
    )
    one.add_argument("receipt", metavar="RECEIPT|BUNDLE",
                     help="what gate or score wrote; code of plugins that a receipt names is run")  # fmt: skip
    one.add_argument("--expect", choices=["SHIP", "NO-SHIP", "INCONCLUSIVE", "INVALID"], metavar="VERDICT",
                     help="exit 1 unless the verdict is this one: verify RECEIPT --expect SHIP && deploy")  # fmt: skip
    one.add_argument("--commit", metavar="SHA", help="exit 1 unless this commit was judged, so that no old one passes")
    one.add_argument("--inputs", metavar="DIR", help="a folder in which inputs of a receipt are found by their bytes")
    one.add_argument("--signers", metavar="FILE", help="who may have signed: an allowed_signers file of OpenSSH")
    one.add_argument("--signer", metavar="NAME", help="who of them must have signed")
    one.add_argument("--store", metavar="PATH|URL", help="the history in which attempts and blessings must be found")
    one.add_argument("--run-plugins", action="store_true",
                     help="run the code of plugins that a bundle holds: it is somebody's code")  # fmt: skip
    one.add_argument("--jobs", type=jobs, metavar="N", help="how many processes (default: one for each core)")

    one = command(commands, "sign", "sign a receipt or a bundle with an SSH key", "proof:sign")
    one.add_argument("receipt", metavar="RECEIPT|BUNDLE", help="what gate or score wrote")
    one.add_argument("--key", required=True, metavar="FILE", help="a private SSH key, or the public one of an agent's")

    group = command(commands, "receipt", "two receipts side by side", None)
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "diff", "what changed between two receipts: inputs, settings, gates, numbers", "proof:diff")
    one.add_argument("old", metavar="OLD", help="a receipt or a bundle")
    one.add_argument("new", metavar="NEW", help="another one")


def _compare(one: argparse.ArgumentParser) -> None:
    side = "JSON report, file of rows, folder of a run, traces, TREC run, history:ID, history:NAME or commit:SHA"
    one.add_argument("a", metavar="A", help=f"the earlier one: {side}")
    one.add_argument("b", metavar="B", help="the later one")
    one.add_argument("--suite", choices=tuple(SUITES), metavar="SUITE", help="one suite (default: all in common)")
    one.add_argument("--gold", metavar="FILE", help="the gold set, to score traces or the folder of a run")
    one.add_argument("--qrels", metavar="FILE", help="TREC judgements: A and B are TREC runs")
    one.add_argument(
        "--corpus-a", metavar="DIR|FILE", help="the index or chunks of A; with that of B, recall at equal bytes"
    )
    one.add_argument("--corpus-b", metavar="DIR|FILE", help="the index or chunks of B")
    one.add_argument("--allow", action="append", default=[], metavar="SETTING",
                     help="let this differ, e.g. reranker, because it is what you try (repeatable)")  # fmt: skip
    one.add_argument("--store", metavar="URL|FILE", help="where the history is kept (also: RAGWORTHY_STORE)")
    one.add_argument("-c", "--config", metavar="FILE", help="the policy that says where the history is kept")
    one.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="format of stdout")
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help="write the comparison (repeatable); format by suffix: .json .md .txt")  # fmt: skip
    one.add_argument("--all", action="store_true", help="every question that changed, and every k")
    one.add_argument(
        "--jobs", type=jobs, metavar="N", help="how many processes score traces (default: one for each core)"
    )
    quiet(one)


def _report(one: argparse.ArgumentParser) -> None:
    one.add_argument("run", metavar="RUN", help="a JSON report, a receipt, history:ID, history:NAME or commit:SHA")
    one.add_argument("-o", "--output", action="append", required=True, metavar="FILE",
                     help="where it goes (repeatable); format by suffix: .html .md .json .xml .txt")  # fmt: skip
    one.add_argument("--store", metavar="URL|FILE", help="where the history is kept (also: RAGWORTHY_STORE)")
    one.add_argument("-c", "--config", metavar="FILE", help="the policy that says where the history is kept")


def _gold(group: argparse.ArgumentParser) -> None:
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


def _index(group: argparse.ArgumentParser) -> None:
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


def _retrieve(one: argparse.ArgumentParser) -> None:
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


def _exchange(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", words: Sequence[str]) -> None:
    group = command(commands, "import", "other tools' files to gold, traces and chunks", None)
    if not words or words[0] == "import":
        _imports(group, words)

    group = command(commands, "export", "gold and traces to other tools' files", None)
    forms = group.add_subparsers(dest="form", metavar="FORMAT", required=True)
    one = command(forms, "trec", "TREC judgements and a run", "exchange:export_trec")
    one.add_argument("--gold", metavar="FILE", help="the retrieval gold set")
    one.add_argument("--trace", metavar="FILE", help="the traces")
    one.add_argument("--qrels-out", metavar="FILE", help="the judgements to write")
    one.add_argument("--run-out", metavar="FILE", help="the run to write")
    one.add_argument("--tag", default="ragworthy", metavar="TEXT", help="the name of the run (default: ragworthy)")


def _imports(group: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Every format; only that which is asked for has its options, the others are listed."""
    from ragworthy.adapters import ADAPTERS, SUMMARIES

    forms = group.add_subparsers(dest="form", metavar="FORMAT", required=True)
    for name, summary in SUMMARIES.items():
        one = command(forms, name, summary, "imports:run")
        if not words or name in words[1:2]:
            imported(one, ADAPTERS[name])
