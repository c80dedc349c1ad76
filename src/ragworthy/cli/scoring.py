"""What scoring each suite takes. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.parts import scored
from ragworthy.names import DEFAULT_K, RETRIEVAL_K


def answers(one: argparse.ArgumentParser) -> None:
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set (.jsonl, .gz, .zst, .parquet)")
    one.add_argument("--trace", required=True, metavar="FILE", help="the traces")
    one.add_argument("--k", default=str(DEFAULT_K), metavar="K", help="how many retrieved ids count; several: 1,5,10")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks, for answers.support")
    one.add_argument("--scu-enforced", "--scu_enforced", action="store_true", help="check locked constraints")
    one.add_argument(
        "--rule-pack", action="append", default=[], metavar="NAME", help="contradiction rules (repeatable)"
    )
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    scored(one, "precision=0.80,chr=0.75")


def retrieval(one: argparse.ArgumentParser) -> None:
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
    scored(one, "recall@5=0.80,coverage=0.70")


def structured(one: argparse.ArgumentParser) -> None:
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
    scored(one, "score=95,schema_pass_rate=0.98", refusals=False)


def stability(one: argparse.ArgumentParser) -> None:
    """Flags of the stability suite."""
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set of the answers")
    one.add_argument("--runs", required=True, metavar="FILE", help="the runs: seeds, jitters, paraphrases (.jsonl)")
    one.add_argument("--limits", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
                     help="what each question must hold, e.g. acr=0.95,css=0.70,ned50=0.20")  # fmt: skip
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    scored(one, "failing_questions=0")


def latency(one: argparse.ArgumentParser) -> None:
    """Flags of the latency suite."""
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set of the answers")
    one.add_argument("--runs", required=True, metavar="FILE", help="the timed runs (.jsonl or .csv)")
    one.add_argument("--prices", metavar="FILE", help="prices as TOML, for the cost of a correct answer")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks: how much of the context is cited")
    one.add_argument("--configuration", metavar="ID", help="the configuration to judge (default: the best for the use)")
    one.add_argument("--use", choices=("interactive", "batch"), default="interactive", help="what it is chosen for")
    one.add_argument(
        "--frontier", choices=("usual", "strict"), default="usual", help="which points are on the frontier"
    )
    one.add_argument("--batch-p95", default="2500", metavar="MS", help="the P95 that batch use allows (default: 2500)")
    one.add_argument("--plot", action="append", default=[], metavar="FILE",
                     help="draw accuracy against P95 (.png or .svg, repeatable)")  # fmt: skip
    one.add_argument("--scu-enforced", "--scu_enforced", action="store_true", help="check locked constraints")
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    scored(one, "p95=2000,precision=0.80")


def agreement(one: argparse.ArgumentParser) -> None:
    """Flags of the agreement suite."""
    one.add_argument("--pairs", metavar="FILE", help="what both validators say about each answer (.jsonl)")
    one.add_argument("--scholar", metavar="FILE", help="what the first validator says, with --auditor")
    one.add_argument("--auditor", metavar="FILE", help="what the second validator says")
    one.add_argument("--gold", metavar="FILE", help="a gold set, with --trace: the validators that come with it vote")
    one.add_argument("--trace", metavar="FILE", help="the traces they vote on")
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks, for what the auditor looks up")
    one.add_argument("--raters", metavar="FILE", help="the votes of several raters: {qid, rater, label}")
    one.add_argument("--operators", metavar="FILE", help="operator records")
    one.add_argument("--fix", action="append", default=[], metavar="NAME",
                     help="a fix that operator records may name (repeatable)")  # fmt: skip
    one.add_argument("--release", action="store_true", help="a release: needs three operators")
    one.add_argument("--baseline-cost", metavar="COST", help="what an operator record cost before")
    one.add_argument("--tsv", default="runs/consistency_disagreements.tsv", metavar="FILE",
                     help="the table of disagreements (default: runs/consistency_disagreements.tsv)")  # fmt: skip
    one.add_argument("--pairs-out", metavar="FILE", help="write the votes on traces as pairs (.jsonl)")
    one.add_argument("--scu-enforced", "--scu_enforced", action="store_true", help="check locked constraints")
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    scored(one, "percent=0.90,kappa=0.75")
