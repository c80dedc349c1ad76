"""`score SUITE`: one suite from files. Which files and settings there are, the suite declares."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import flow
from ragworthy.cli.engines import engine_of
from ragworthy.cli.flags import depths, value_of
from ragworthy.cli.outputs import besides_of, finish, guard, keep_inputs, options
from ragworthy.cli.say import print, show
from ragworthy.cli.screen import coloured, columns
from ragworthy.cli.taken import check_files, inputs_of, limits_of, suite_settings
from ragworthy.errors import policy_error, usage_error
from ragworthy.files import write_whole
from ragworthy.load.plugins import load_metrics, using_metrics
from ragworthy.names import DEFAULT_K, RETRIEVAL_K, Exit, Verdict, exit_code
from ragworthy.policy.declare import Declared
from ragworthy.policy.gate_text import Named, parse_gate_text
from ragworthy.policy.packs import asked_for
from ragworthy.policy.proving import proving_of
from ragworthy.report import write as writing
from ragworthy.safe import shell
from ragworthy.suites import SUITES

if TYPE_CHECKING:
    from ragworthy.suites.parts import Engine

INIT = ("--gold", "--trace", "--runs", "--questions", "--outputs", "--provenance", "--pairs", "--corpus")
"""The files that `init` makes a policy for."""


def score(given: argparse.Namespace) -> int:
    """Score one suite, or show single items of it."""
    with engine_of(given) as engine:
        return _score(given, engine)


def _score(given: argparse.Namespace, engine: "Engine | None") -> int:
    suite = SUITES[given.suite]
    inputs = inputs_of(given, suite)
    form = check_files(given, suite, inputs)
    if given.profile == "reference" and suite.name in PROGRAMS and not given.shard:
        return printed(given, suite, inputs)
    settings = suite_settings(given, suite, form)
    plugins = tuple(load_metrics(name, Path()) for name in given.plugin)
    with using_metrics(plugins):
        gates, defaults = _gates(given, suite, settings, inputs)
    request = flow.Request(
        suite=suite.name,
        given=inputs,
        settings=settings,
        gates=gates,
        defaults=defaults,
        plugins=plugins,
        gate_packs=tuple(given.pack),
        baseline=_baseline(given.baseline) if given.baseline else None,
        allowed=tuple(given.allow),
        commit=_commit(given.commit),
        lock=Path(given.lock) if given.lock else None,
        engine=engine,
        **proving_of({"alpha": given.alpha, "cluster": given.cluster, "seed": given.seed}, "command line")._asdict(),
        **options(given),
    )
    if given.shard:
        from ragworthy.cli.parts import write_part

        return write_part(given, request)
    if getattr(given, "item", None):
        return _items(given, request)
    return finish(given, [request], Path(given.receipt) if given.receipt else None, following=_following(given, inputs))


def _following(given: argparse.Namespace, inputs: Mapping[str, Any]) -> str:
    """What to do after a score that ships: gate what was scored, with the policy that names it or with a new one. For
    people, so nothing off a terminal; where something is wrong, the report itself says what to look at.
    """
    if not sys.stdout.isatty():
        return ""
    from ragworthy.cli.naming import policy_of

    files = {key: str(path) for key, path in inputs.items() if isinstance(path, Path)}
    policy = next(filter(None, (policy_of(None, Path(path)) for path in files.values())), None)
    if policy is not None:
        return shell(["ragworthy", "gate", "-c", policy])
    flags = {option: value_of(given, option) for one in SUITES[given.suite].inputs if (option := one.option) in INIT}
    if Path("ragworthy.toml").exists() or not any(flags.values()):
        return ""
    words = [word for option, path in flags.items() if path for word in (option, str(path))]
    return shell(["ragworthy", "init", "--suite", given.suite, *words])


def _baseline(written: str) -> Path:
    """The baseline as a file; a run of the history is fetched from that."""
    from ragworthy.policy.kept import BLESSED

    if not written.startswith((BLESSED, "commit:")):
        return Path(written)
    from ragworthy.history.home import fetched, home_of

    return fetched(written, home_of(None))


def _commit(written: str | None) -> str:
    """The commit as it is kept; empty where none was named."""
    if not written:
        return ""
    from ragworthy.history.commit import spelled

    return spelled(written)


def _gates(given: argparse.Namespace, suite: Declared, settings: Any, inputs: dict[str, Any]) -> Named:
    """The gates that hold, and whether the default ones are among them."""
    named = Named(())
    if given.gates:
        known, k = suite.metrics_of(inputs), suite.k_of(settings)
        named = parse_gate_text(given.gates, default_k=k, evidence=given.evidence, suite=suite.name, known=known)
    elif given.no_default_gates and not given.pack and "qrels" not in inputs:
        raise policy_error("RW-P16", "expected --gates besides it, got none", where="--no-default-gates")
    asked = asked_for(given.pack, named.gates, suite.depths(settings), given.evidence, "--pack")
    named = named._replace(gates=asked)
    named = named._replace(defaults=named.defaults and not given.no_default_gates)
    return named._replace(gates=named.beside(suite.default_gates(settings, inputs), given.evidence))


def _items(given: argparse.Namespace, request: flow.Request) -> int:
    """Show single items, expected against got; exit 0 only when all of them are good."""
    from ragworthy import showing
    from ragworthy.report.sheet import Style

    if given.format not in ("text", "markdown") or given.rows or given.receipt or given.bundle:
        raise usage_error("--item: shows items as text or markdown, and writes no rows or receipts")
    targets = {name: writing.form_of(Path(name)) for name in given.output}
    if other := [name for name, form in targets.items() if form not in ("text", "markdown")]:
        raise usage_error(f"--item: expected a .txt or .md file, got {other[0]}")
    guard(given, [request], given.output)
    found = showing.look([request], given.item, source="files")
    for name, form in targets.items():
        write_whole(Path(name), found.render(form, Style(full=True)).encode())
    if not given.quiet:
        show(found.render(given.format, Style(full=True, colour=coloured(given), width=columns())))
    good, many = found.good, len(found.shown)
    code = Exit.SHIP if good == many else Exit.NO_SHIP
    if given.format == "text" or given.quiet:
        print(f"items: {good} of {many} good (exit {int(code)})")
    return int(code)


# --profile reference: what the sources' own programs print, for the suites that have one apart from ours


class Printed(NamedTuple):
    """What a program printed, and the verdict that it comes to."""

    text: str
    verdict: Verdict
    files: Mapping[str, str] = {}
    """What the program writes besides, by the keys of outputs."""


class Program(NamedTuple):
    """A program of the sources, written again."""

    run: Callable[[argparse.Namespace, Declared, Mapping[str, Any]], Printed]
    suffixes: tuple[str, ...] = (".json", ".txt")
    """Of files that what it prints can be written to; any where there is none."""
    writes: tuple[str, ...] = ()
    """The outputs of the suite that it writes too."""


def printed(given: argparse.Namespace, suite: Declared, inputs: Mapping[str, Any]) -> int:
    """Run the program of a suite and print what it prints; the exit code follows its verdict."""
    if given.receipt or given.rows or given.bundle:
        raise usage_error("--profile reference writes no receipts or rows")
    if given.pack:
        raise usage_error("--profile reference has its own gates and takes no --pack")
    program = PROGRAMS[suite.name]
    for name in given.output:
        if program.suffixes and Path(name).suffix not in program.suffixes:
            raise usage_error(f"{name}: the reference profile writes {' or '.join(program.suffixes)} only")
    besides = [one for one in besides_of(suite, inputs) if one.declared.key in program.writes]
    read = [inputs[one.key] for one in suite.inputs if one.key in inputs and not one.written]
    keep_inputs([*given.output, *(one.name for one in besides)], read)
    found = program.run(given, suite, inputs)
    for one in besides:
        if one.declared.key in found.files:
            write_whole(Path(one.name), found.files[one.declared.key].encode())
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
    if "reruns" in inputs:
        raise usage_error("--profile reference reads one --trace")
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
    return Printed(text, _verdict(passed), {"tsv": table} if table else {})


PROGRAMS: dict[str, Program] = {
    "answers": Program(_answers),
    "retrieval": Program(_retrieval, suffixes=()),
    "stability": Program(_stability),
    "agreement": Program(_agreement, writes=("tsv",)),
}
"""By suite; the others follow the sources' program themselves, by a setting."""
