"""`--profile reference`: what the sources' own programs print, for the suites that have one apart from ours."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import show
from ragworthy.cli.values import depths, limits_of
from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.names import DEFAULT_K, RETRIEVAL_K, Verdict, exit_code
from ragworthy.suites.declare import Declared


class Printed(NamedTuple):
    """What a program printed, and the verdict that it comes to."""

    text: str
    verdict: Verdict
    table: str = ""
    """The disagreements, where the program writes them."""


Program = Callable[[argparse.Namespace, Declared, Mapping[str, Any]], Printed]


def printed(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> int:
    """Run the program of a suite and print what it prints; the exit code follows its verdict."""
    if given.receipt or given.rows:
        raise usage_error("--profile reference writes no receipts or rows")
    for name in given.output if suite.name != "retrieval" else ():
        if Path(name).suffix not in (".json", ".txt"):
            raise usage_error(f"{name}: the reference profile writes .json or .txt only")
    written = {one.key for one in suite.inputs if one.form == "output"}
    tables = [inputs[key] for key in written if key in inputs]
    keep_inputs([*given.output, *map(str, tables)], [path for key, path in inputs.items() if key not in written])
    found = PROGRAMS[suite.name](given, suite, inputs)
    for path in tables if found.table else ():
        write_whole(path, found.table.encode())
    for name in given.output:
        write_whole(Path(name), found.text.encode())
    show(found.text)
    return int(exit_code(found.verdict))


def _own_gates(given: argparse.Namespace) -> None:
    if given.gates:
        raise usage_error("--profile reference has its own gates")


def _verdict(passed: bool) -> Verdict:
    return Verdict.SHIP if passed else Verdict.NO_SHIP


def _answers(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> Printed:
    from ragworthy.reference import reference

    try:
        k = int(given.k)
    except ValueError:
        raise usage_error(f"--k: expected a whole number, got {given.k}") from None
    if given.gates is not None and len(given.gates) != 1:
        raise usage_error("--gates: the reference scorer takes one comma-separated text")
    text, passed = reference(inputs["gold"], inputs["traces"], k, given.gates[0] if given.gates else None)
    return Printed(text, _verdict(passed))


def _retrieval(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> Printed:
    from ragworthy.reference import retrieval_reference

    if "qrels" in inputs:
        raise usage_error("--profile reference reads --gold and --trace")
    ks = depths(given.k)
    if given.gates or (len(ks) > 1 and given.k != RETRIEVAL_K):
        raise usage_error("--profile reference has its own gates and takes one k")
    k = DEFAULT_K if given.k == RETRIEVAL_K else ks[0]
    return Printed(*retrieval_reference(inputs["gold"], inputs["traces"], inputs.get("corpus"), k))


def _stability(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> Printed:
    from ragworthy.reference import stability_reference

    _own_gates(given)
    one = next(one for one in suite.fields() if one.key.reads == "limits")
    text, passed = stability_reference(inputs["gold"], inputs["runs"], limits_of(given.limits, one, suite))
    return Printed(text, _verdict(passed))


def _agreement(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> Printed:
    from ragworthy.reference import agreement_reference

    if suite.form_of(inputs) not in ("pairs", "files"):
        raise usage_error("--profile reference reads --pairs, or --scholar and --auditor")
    _own_gates(given)
    first = inputs["pairs"] if "pairs" in inputs else inputs["scholar"]
    text, passed, table = agreement_reference(first, inputs.get("auditor"))
    return Printed(text, _verdict(passed), table)


PROGRAMS: dict[str, Program] = {
    "answers": _answers,
    "retrieval": _retrieval,
    "stability": _stability,
    "agreement": _agreement,
}
"""By suite; the others follow the sources' program themselves, by a setting."""
