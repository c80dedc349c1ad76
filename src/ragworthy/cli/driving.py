"""The flags of everything that asks a pipeline: `run`, the experiments, and one question to a model."""

import argparse

from ragworthy.cli.flags import SEVERAL, above_zero, count, quiet, whole
from ragworthy.cli.parser import command
from ragworthy.policy.declare import REFUSAL_PACK, REFUSAL_PATTERN, REFUSAL_START, REFUSED

TARGET = "module:callable, file.py:callable, http(s)://…, cmd:COMMAND, replay:FILE or builtin:INDEX"


def run_flags(one: argparse.ArgumentParser) -> None:
    """Flags of `run`."""
    _driven(one, needs_out=False)
    _closed(one)
    one.add_argument("--check", action="store_true",
                     help="ask one question (a slow target up to 8), show how it is read, write nothing")  # fmt: skip
    one.add_argument("--qid", metavar="QID", help="which question --check asks (default: the first)")
    one.add_argument("--prompt", metavar="FILE", help="structured questions: what the model is told; sent, and hashed")
    one.add_argument("--subset", metavar="FILE", help="structured questions: asked first; the rest only if it passes")
    one.add_argument("--definition", metavar="FILE", help="structured questions: what an answer looks like")
    one.add_argument("--provenance", metavar="FILE",
                     help="structured questions: JSON, how outputs are made where replies do not say")  # fmt: skip
    one.add_argument(
        "--seed", type=count, default=0, metavar="N", help="the seed that the target is given (default: 0)"
    )


def experiments(group: argparse.ArgumentParser) -> None:
    """The experiments and their flags."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "stability", "seeds × jitters × paraphrases, for score stability", "experiment:stability")
    _driven(one)
    _closed(one)
    one.add_argument("--seeds", default="0,1,2,3,4", metavar="N,N", help="the seeds (default: 0,1,2,3,4)")
    one.add_argument("--jitters", default="none,ws,punct,syn", metavar="NAME,NAME",
                     help="small changes of the wording: none, ws, punct, syn, order")  # fmt: skip
    one.add_argument("--paraphrases", default="all", metavar="N|all", help="how many wordings (default: all)")

    one = command(verbs, "latency", "knobs × loads in an open loop, for score latency", "experiment:latency")
    _driven(one, retries=0)
    one.add_argument("--loads", default="1,5,20", metavar="R,R", help="requests a second (default: 1,5,20)")
    one.add_argument("--requests", type=whole, metavar="N", help="how many of each (default: one for each question)")
    one.add_argument("--warmup", type=count, default=5, metavar="N", help="requests before each that do not count")
    one.add_argument("--poisson", action="store_true", help="random gaps between requests, the same ones every time")
    one.add_argument("--seeds", default="0", metavar="N,N", help="the seeds (default: 0)")
    one.add_argument("--paraphrases", default="1", metavar="N|all", help="how many wordings (default: 1)")

    summary = "the refusal threshold of the built-in pipeline, on a split of its own"
    one = command(verbs, "tune", summary, "experiment:tune")
    one.add_argument("--index", required=True, metavar="DIR", help="the index")
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set; it is split in two")
    one.add_argument("--out", required=True, metavar="DIR", help="pipeline.toml, gold.tuning.jsonl, gold.scored.jsonl")
    one.add_argument("--share", default="0.3", metavar="SHARE", help="how much is tuned on (default: 0.3)")
    one.add_argument("--seed", type=count, default=0, metavar="N", help="which split (default: 0)")
    one.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a knob (repeatable)")
    one.add_argument("--short-substr", choices=("reject", "word"), default="word", help="entries under 5 characters")
    quiet(one)


def _closed(one: argparse.ArgumentParser) -> None:
    """What a run takes that asks some questions at a time, each as soon as there is room."""
    one.add_argument("--concurrency", type=whole, default=4, metavar="N",
                     help="how many at a time (default: 4); 1 calls Python in the main thread")  # fmt: skip
    one.add_argument("--retry-errors", action="store_true", help="with --resume: ask what was an error again")
    one.add_argument("-c", "--config", metavar="FILE", help="a policy whose [answers] says what a refusal is")
    for key in (REFUSED, REFUSAL_PACK, REFUSAL_START, REFUSAL_PATTERN):
        one.add_argument(key.flag, **SEVERAL, metavar=key.metavar, help=f"{key.help}; only counted")


def _driven(one: argparse.ArgumentParser, *, retries: int = 2, needs_out: bool = True) -> None:
    """What every way of driving a target takes."""
    one.add_argument("--target", required=True, metavar="TARGET", help=TARGET)
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set")
    one.add_argument("--out", required=needs_out, metavar="DIR", help="where the journal and the results go")
    one.add_argument("--resume", action="store_true", help="go on where an earlier run stopped")
    one.add_argument("--keep-going", action="store_true", help="do not stop after ten replies with the same mistake")
    one.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="for one question (default: 60)")
    one.add_argument("--retries", type=count, default=retries, metavar="N",
                     help=f"after connection errors, 429 and 5xx (default: {retries})")  # fmt: skip
    one.add_argument("--header", action="append", default=[], metavar="NAME=VARIABLE",
                     help="an HTTP header from an environment variable (repeatable)")  # fmt: skip
    one.add_argument("--map", metavar="FILE|NAME",
                     help="how an HTTP service is asked and read: a TOML file, or openai, azure, …")  # fmt: skip
    one.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a knob (repeatable)")
    one.add_argument("--knobs", metavar="FILE", help="knobs as TOML")
    one.add_argument("--limit", type=whole, metavar="N", help="only the first questions")
    one.add_argument("--pipeline", metavar="FILE", help="what experiment tune wrote, for builtin:INDEX")
    one.add_argument("--doc-id", metavar="RULE", help="ids of a reply's documents: id, content, or metadata:KEY,KEY")
    one.add_argument("--marker", metavar="REGEX", help="how an answer cites them: a pattern or none (default: [1], …)")
    quiet(one)


def model_flags(one: argparse.ArgumentParser) -> None:
    """How a chat model is asked one question."""
    one.add_argument("--answerer", metavar="NAME", help="extractive, or chat:MODEL@URL: short for --knob answerer=NAME")
    one.add_argument("--seed", type=count, default=0, metavar="N", help="the seed that a chat model gets (default: 0)")
    one.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="SECONDS", help="for a chat model's reply (default: 60)"
    )


def seconds(text: str) -> float:
    """A time that a flag gives."""
    return above_zero(text, 86_400, "seconds, above 0 and up to 86400")
