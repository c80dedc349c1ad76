"""Every command and flag. Imports nothing heavier than the argument parser."""

import argparse
from collections.abc import Iterable, Sequence

from ragworthy.cli import layout
from ragworthy.cli.flags import (
    common,
    engine,
    imported,
    jobs,
    plugin,
    quiet,
    reported,
    scored,
    shown,
)
from ragworthy.cli.parser import Parser, command
from ragworthy.names import VERSION
from ragworthy.suites import SUITES

DESCRIPTION = "Decide whether a RAG pipeline may ship: scores, gates, one verdict, a receipt."
EPILOG = (
    "exit codes: 0 SHIP, 1 NO-SHIP, 2 wrong usage or input, 3 INCONCLUSIVE, 4 INVALID, "
    "70 a defect of ours, 130 interrupted"
)
NAMES = frozenset(("help", "completion")).union(*layout.COMMANDS.values())


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Every command and flag. Where `words` are a command line, only what it needs: flags take time, and a suite may be
    one of another package.
    """
    top: argparse.ArgumentParser = Parser(prog="ragworthy", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"ragworthy {VERSION}", help="the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    alone = words[0] if words and words[0] in NAMES else None

    def made(name: str, summary: str, run: str | None) -> argparse.ArgumentParser | None:
        """A command that is to get its flags; None where nobody asks for them."""
        if alone is not None and alone != name:
            return None
        one = command(commands, name, summary, run)
        return one if not words or name in words else None

    if one := made("init", "a policy for your files, or an example to start from", "start:init"):
        from ragworthy.cli.beginning import init_flags

        init_flags(one)
    if one := made("demo", "see it work: a release, a defect, a new index, a report", "demo:demo"):
        from ragworthy.cli.beginning import demo_flags

        demo_flags(one)
    if one := made("gate", "run every suite of the policy: one verdict", "gate:gate"):
        _gate(one)
    if one := made("score", "one suite from files", None):
        _score(one, words)
    if one := made("merge", "parts of 'score … --shard I/N' become one report", "merge:merge"):
        one.add_argument("parts", nargs="+", metavar="PART",
                         help="what 'score … --shard I/N -o FILE.json' wrote: all N")  # fmt: skip
        reported(one)
        one.set_defaults(unfrozen=False, allow_gold_errors=False, jobs=None)
    if one := made("compare", "what changed from one run to another, and is it noise?", "compare:compare"):
        _compare(one)
    if one := made("show", "one question with everything known of it: expected, answered, texts, why", "show:show"):
        shown(one, words if words[:1] == ("show",) else ())
    if one := made("report", "the page of an earlier run, or its report again", "report:report"):
        _report(one)
    if one := made("run", "drive a pipeline over a gold set; resumable", "experiment:run"):
        from ragworthy.cli.driving import run_flags

        run_flags(one)
    if one := made("experiment", "drive it in seeds, jitters, knobs and loads", None):
        from ragworthy.cli.driving import experiments

        experiments(one)
    if one := made("index", "documents to an index; search, check, compare and migrate it", None):
        from ragworthy.cli.indexing import indexes

        indexes(one)
    if one := made("retrieve", "traces for every paraphrase and seed of a gold set", "index:retrieve"):
        from ragworthy.cli.indexing import retrieve_flags

        retrieve_flags(one)
    if one := made("history", "earlier runs: list, compare over time, bless, export", None):
        from ragworthy.cli.earlier import kept_runs

        kept_runs(one)
    if one := made("view", "the history in a browser: runs, trends, comparisons, the rollout", "view:view"):
        from ragworthy.cli.viewing import view_flags

        view_flags(one)
    if one := made("mirror", "ask the shadow a share of the live questions, and compare", "mirror:mirror"):
        from ragworthy.cli.rolling import mirror_flags

        mirror_flags(one)
    if one := made("rollout", "a canary as a state machine: who moved it on what, and may it go on?", None):
        from ragworthy.cli.rolling import rollouts

        rollouts(one)
    if one := made("monitor", "live traffic: windows, rules, alerts", "monitor:monitor"):
        from ragworthy.cli.watching import monitor_flags

        monitor_flags(one)
    if one := made(
        "verify", "re-derive a verdict from its receipt or bundle; exit 0 only when every byte agrees", "proof:verify"
    ):
        _verify(one)
    if one := made("sign", "sign a receipt or a bundle with an SSH key", "proof:sign"):
        one.add_argument("receipt", metavar="RECEIPT|BUNDLE", help="what gate or score wrote")
        one.add_argument(
            "--key", required=True, metavar="FILE", help="a private SSH key, or the public one of an agent's"
        )
    if one := made("receipt", "two receipts side by side", None):
        _receipt(one)
    if one := made("gold", "the gold set's own quality, lock and changes", None):
        from ragworthy.cli.indexing import gold_sets

        gold_sets(one)
    if (one := made("import", "other tools' files to gold, traces and chunks", None)) and words[:1] in (
        (),
        ("import",),
    ):
        _imports(one, words)
    if one := made("export", "gold and traces to other tools' files", None):
        _export(one)
    if one := made("explain", "what a metric, a label, a word or a code means, with an example", "explain:explain"):
        _explain(one)
    if one := made("doctor", "what these files can and cannot show, and why", "explain:doctor"):
        _doctor(one)
    if one := made("help", "what a command does and takes", "front:help_of"):
        one.add_argument("topic", nargs="*", metavar="COMMAND", help="the command, e.g. score answers")
    if one := made("completion", "print a completion script for your shell", "explain:completion"):
        one.add_argument("shell", choices=("bash", "zsh", "tcsh", "fish", "powershell"), help="the shell")
    return top


def _gate(one: argparse.ArgumentParser) -> None:
    from ragworthy.cli.earlier import no_history

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


def _score(one: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The suites. Where the words name one, the others are left out."""
    scored_suites: Iterable[str] = SUITES
    if len(words) > 1 and words[0] == "score" and not words[1].startswith("-"):
        SUITES.also(words[1:2])
        scored_suites = words[1:2] if words[1] in SUITES else SUITES
    suites = one.add_subparsers(dest="suite", metavar="SUITE", required=True)
    for name in scored_suites:
        scored(command(suites, name, SUITES[name].summary, "score:score"), SUITES[name])


def _explain(one: argparse.ArgumentParser) -> None:
    one.add_argument("topic", nargs="*", metavar="WORD",
                     help="a metric, label, verdict, stage, cause, code or term; or packs, pack NAME, schema NAME, "
                          "definition, prompt, map NAME (default: list them)")  # fmt: skip
    plugin(one)


def _doctor(one: argparse.ArgumentParser) -> None:
    one.add_argument("files", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
    one.add_argument("-c", "--config", metavar="FILE", help="a policy that names the files; its plugins are run")
    one.add_argument("--gold", metavar="FILE", help="the gold set")
    one.add_argument("--trace", metavar="FILE", help="the traces")
    one.add_argument("--corpus", metavar="FILE", help="chunk texts")


def _verify(one: argparse.ArgumentParser) -> None:
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


def _receipt(group: argparse.ArgumentParser) -> None:
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


def _export(group: argparse.ArgumentParser) -> None:
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
