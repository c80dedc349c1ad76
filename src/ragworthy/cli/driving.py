"""What driving a pipeline takes. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.flags import command, count, quiet, whole

TARGET = "module:callable, http(s)://…, cmd:COMMAND, replay:FILE or builtin:INDEX"


def run(one: argparse.ArgumentParser) -> None:
    """Flags of `run`."""
    _driven(one)
    one.add_argument("--concurrency", type=whole, default=4, metavar="N", help="how many at a time (default: 4)")
    one.add_argument(
        "--seed", type=count, default=0, metavar="N", help="the seed that the target is given (default: 0)"
    )


def experiment(group: argparse.ArgumentParser) -> None:
    """The experiments and their flags."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "stability", "seeds × jitters × paraphrases, for score stability", "experiment:stability")
    _driven(one)
    one.add_argument("--concurrency", type=whole, default=4, metavar="N", help="how many at a time (default: 4)")
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

    one = command(verbs, "tune", "the refusal threshold of the built-in pipeline, on a split of its own", "tune:tune")
    one.add_argument("--index", required=True, metavar="DIR", help="the index")
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set; it is split in two")
    one.add_argument("--out", required=True, metavar="DIR", help="pipeline.toml, gold.tuning.jsonl, gold.scored.jsonl")
    one.add_argument("--share", default="0.3", metavar="SHARE", help="how much is tuned on (default: 0.3)")
    one.add_argument("--seed", type=count, default=0, metavar="N", help="which split (default: 0)")
    one.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a knob (repeatable)")
    one.add_argument("--short-substr", choices=("reject", "word"), default="reject", help="entries under 5 characters")
    quiet(one)


def _driven(one: argparse.ArgumentParser, *, retries: int = 2) -> None:
    """What every way of driving a target takes."""
    one.add_argument("--target", required=True, metavar="TARGET", help=TARGET)
    one.add_argument("--gold", required=True, metavar="FILE", help="the gold set")
    one.add_argument("--out", required=True, metavar="DIR", help="where the journal and the results go")
    one.add_argument("--resume", action="store_true", help="go on where an earlier run stopped")
    one.add_argument("--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="for one question (default: 60)")
    one.add_argument("--retries", type=count, default=retries, metavar="N",
                     help=f"after connection errors, 429 and 5xx (default: {retries})")  # fmt: skip
    one.add_argument("--header", action="append", default=[], metavar="NAME=VARIABLE",
                     help="an HTTP header from an environment variable (repeatable)")  # fmt: skip
    one.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a knob (repeatable)")
    one.add_argument("--knobs", metavar="FILE", help="knobs as TOML")
    one.add_argument("--limit", type=whole, metavar="N", help="only the first questions")
    one.add_argument("--pipeline", metavar="FILE", help="what experiment tune wrote, for builtin:INDEX")
    quiet(one)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 86_400:
        raise argparse.ArgumentTypeError("expected seconds, above 0 and up to 86400")
    return found
