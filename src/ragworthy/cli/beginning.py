"""What `init` and `demo` take. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.flags import quiet
from ragworthy.suites import SUITES


def init_flags(one: argparse.ArgumentParser) -> None:
    """Flags of `init`."""
    one.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where (default: here)")
    one.add_argument(
        "--suite", choices=tuple(SUITES), metavar="SUITE", help="the suite, where the files do not show it"
    )
    files = (
        ("gold", "your gold set: the policy is filled in with what it and the traces show"),
        ("trace", "traces of your pipeline"),
        ("runs", "runs of an experiment (stability, latency)"),
        ("questions", "questions with structured answers"),
        ("outputs", "what the model wrote for them"),
        ("provenance", "how the outputs were made"),
        ("pairs", "votes of two validators"),
        ("corpus", "the index or its chunks"),
    )
    for name, said in files:
        one.add_argument(f"--{name}", metavar="DIR|FILE" if name == "corpus" else "FILE", help=said)
    one.add_argument("--adapter", choices=("python", "http", "command", "langchain", "llamaindex", "haystack"),
                     help="a stub that connects your pipeline to 'ragworthy run'")  # fmt: skip


def demo_flags(one: argparse.ArgumentParser) -> None:
    """Flags of `demo`."""
    one.add_argument("--out", default="demo-out", metavar="DIR", help="where the files go (default: demo-out)")
    length = one.add_mutually_exclusive_group()
    length.add_argument("--recorded", action="store_true", help="only what was recorded: no index is built")
    length.add_argument("--all", action="store_true", help="drive the built-in pipeline too, under load: a minute more")
    quiet(one)
