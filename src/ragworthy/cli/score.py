"""`score SUITE`: one suite from files. Which files and settings there are, the suite declares."""

import argparse
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.cli.flags import depths, number_of, value_of
from ragworthy.cli.outputs import besides_of, coloured, finish, guard, keep_inputs, options
from ragworthy.cli.say import print, show
from ragworthy.errors import policy_error, usage_error
from ragworthy.files import write_whole
from ragworthy.gates import Gate
from ragworthy.load.checker import Checker
from ragworthy.load.plugins import load_metrics, using_metrics
from ragworthy.names import DEFAULT_K, RETRIEVAL_K, Exit, Verdict, exit_code
from ragworthy.policy.declare import Declared, Setting
from ragworthy.policy.gate_text import Named, parse_gate_text
from ragworthy.policy.kept import BLESSED
from ragworthy.policy.proofs import proving_of
from ragworthy.policy.sections import NUMBERS, parse_limits
from ragworthy.report import write as writing
from ragworthy.suites import SUITES
from ragworthy.suites.protocol import Suite


def score(given: argparse.Namespace) -> int:
    """Score one suite, or show single items of it."""
    suite = SUITES[given.suite]
    inputs = inputs_of(given, suite)
    form = _check_files(given, suite, inputs)
    if given.profile == "reference" and suite.name in PROGRAMS:
        return printed(given, suite, inputs)
    known = {"form": form} if form is not None else {}
    if "profile" in suite.settings._fields:
        known |= {"profile": given.profile, **suite.of_profile(given.profile)}
    settings = settings_of(given, suite, **known)
    plugins = tuple(load_metrics(name, Path()) for name in given.plugin)
    with using_metrics(plugins):
        gates = _gates(given, suite, settings, inputs)
    request = flow.Request(
        suite=suite.name,
        given=inputs,
        settings=settings,
        gates=gates,
        plugins=plugins,
        baseline=_baseline(given.baseline) if given.baseline else None,
        lock=Path(given.lock) if given.lock else None,
        **proving_of({"alpha": given.alpha, "cluster": given.cluster, "seed": given.seed}, "command line")._asdict(),
        **options(given),
    )
    if getattr(given, "item", None):
        return _items(given, request)
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def _baseline(written: str) -> Path:
    """The baseline as a file; a run of the history is fetched from that."""
    if not written.startswith((BLESSED, "commit:")):
        return Path(written)
    from ragworthy.history.home import fetched, home_of

    return fetched(written, home_of(None))


def _check_files(given: argparse.Namespace, suite: Declared, inputs: dict[str, Any]) -> str | None:
    """Refuse files that do not belong together; the form that they are, where a suite has several."""
    spelled = _spelled(suite)
    settings = {one.name: value_of(given, one.key.flag) for one in suite.fields() if one.key.flag}
    suite.check({**settings, **inputs, "lock": given.lock}, spelled)
    _check_needed(suite, inputs)
    if not suite.forms:
        return None
    form = suite.form_of(inputs)
    if form is None or ("corpus" in inputs and "gold" not in suite.forms[form]):
        forms = "; ".join(" and ".join(spelled[key] for key in keys) for keys in suite.forms.values())
        got = [spelled[one.key] for one in suite.inputs if one.key in inputs and not one.written]
        raise usage_error(f"expected the files of one form ({forms}), got {' and '.join(got) or 'none'}")
    return form


def _check_needed(suite: Declared, inputs: Mapping[str, Any]) -> None:
    """Refuse a score without files that it needs, where others can stand in their place."""
    needed = [one for one in suite.inputs if one.needed and not suite.required(one)]
    roles = {one.receipt_role for one in needed}
    others = [one for one in suite.inputs if one.receipt_role in roles and not one.needed]
    if any(one.key not in inputs for one in needed) and not any(one.key in inputs for one in others):
        words = (" and ".join(one.option for one in ones) for ones in (needed, others))
        raise usage_error(f"expected {', or '.join(words)}")


def _spelled(suite: Declared) -> dict[str, str]:
    """How the command line names files and settings."""
    flags = {one.name: one.key.flag.partition(" ")[0] for one in suite.fields()}
    return flags | {one.key: one.option for one in suite.inputs} | {"lock": "--lock"}


def _gates(given: argparse.Namespace, suite: Declared, settings: Any, inputs: dict[str, Any]) -> tuple[Gate, ...]:
    named = Named(())
    if given.gates:
        known, k = suite.metrics_of(inputs), suite.k_of(settings)
        named = parse_gate_text(given.gates, default_k=k, evidence=given.evidence, suite=suite.name, known=known)
    elif given.no_default_gates and "qrels" not in inputs:
        raise policy_error("RW-P16", "expected --gates besides it, got none", where="--no-default-gates")
    usual = () if given.no_default_gates else suite.default_gates(settings, inputs)
    return named.beside(usual, given.evidence)


def _items(given: argparse.Namespace, request: flow.Request) -> int:
    """Show single items, expected against got; exit 0 only when all of them are good."""
    if given.format not in ("text", "markdown") or given.rows or given.receipt:
        raise usage_error("--item: shows items as text or markdown, and writes no rows or receipts")
    targets = {name: writing.form_of(Path(name)) for name in given.output}
    if other := [name for name, form in targets.items() if form not in ("text", "markdown")]:
        raise usage_error(f"--item: expected a .txt or .md file, got {other[0]}")
    guard(given, [request], given.output)
    suite: Suite = SUITES[request.suite].load()
    shown = suite.items(flow.open_inputs(suite, request), request, given.item)
    for name, form in targets.items():
        write_whole(Path(name), shown.render(form, False).encode())
    if not given.quiet:
        show(shown.render(given.format, coloured(given)))
    good, many = sum(shown.good), len(shown.good)
    code = Exit.SHIP if good == many else Exit.NO_SHIP
    if given.format == "text" or given.quiet:
        print(f"items: {good} of {many} good (exit {int(code)})")
    return int(code)


# what was given, as a suite takes it


def inputs_of(given: argparse.Namespace, suite: Declared) -> dict[str, Any]:
    """The files that were given, by the keys of the suite."""
    found: dict[str, Any] = {}
    for one in suite.inputs:
        value = value_of(given, one.option) if one.help else None
        if value or (suite.required(one) and value is not None):
            path = str if one.written else Path  # what is written is named as it was typed
            found[one.key] = tuple(map(path, value)) if one.several else path(value)
    return found


def settings_of(given: argparse.Namespace, suite: Declared, **known: Any) -> Any:
    """The settings that were given; `known` are those that follow from something else."""
    said = [one for one in suite.fields() if one.key.flag and not _unsaid(given, one)]
    return suite.settings(**known | {one.field: _setting(given, one, suite) for one in said})


def _unsaid(given: argparse.Namespace, one: Setting) -> bool:
    """Whether nobody gave a setting whose default depends on the profile."""
    return bool(one.key.reference) and value_of(given, one.key.flag) is None


def _setting(given: argparse.Namespace, one: Setting, suite: Declared) -> Any:
    value, reads = value_of(given, one.key.flag), one.key.reads
    if reads == "ks":
        return depths(value)
    if reads == "limits":
        return limits_of(value, one, suite)
    if reads in NUMBERS:
        return number_of(one.key.flag, value, reads) if value is not None else None
    if reads == "refusals":
        return (*one.default, *value)
    return tuple(value) if isinstance(value, list) else value


def limits_of(given: list[str], one: Setting, suite: Declared) -> tuple[str, ...]:
    """Limits by name, as texts with an equals sign."""
    check = Checker(one.key.flag)
    pairs: dict[str, Any] = {}
    for item in " ".join(given).replace(",", " ").split():
        name, sign, text = item.partition("=")
        if not sign:
            check.say("RW-P10", "", f'expected name=value, got "{item}"')
            continue
        if name in pairs:
            check.say("RW-P10", name, "expected each name once, got it twice")
        try:
            pairs[name] = Decimal(text)
        except InvalidOperation:
            check.say("RW-P10", name, f'expected a number, got "{text}"')
    limits = parse_limits(check, pairs, "", one.default, suite.name)
    check.stop()
    return limits


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
    if given.receipt or given.rows:
        raise usage_error("--profile reference writes no receipts or rows")
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
