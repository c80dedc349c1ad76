"""`score SUITE`: one suite from files. Which files and settings there are, the suite declares."""

import argparse
from pathlib import Path
from typing import Any

from ragworthy import flow
from ragworthy.cli import reference
from ragworthy.cli.outputs import coloured, finish, guard, options
from ragworthy.cli.say import print, show
from ragworthy.cli.values import inputs_of, settings_of
from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.gates import Gate
from ragworthy.load.plugins import load_metrics, using_metrics
from ragworthy.names import Exit
from ragworthy.policy.gate_text import parse_gate_text
from ragworthy.report import write as writing
from ragworthy.suites import SUITES
from ragworthy.suites.declare import Declared


def score(given: argparse.Namespace) -> int:
    """Score one suite, or show single items of it."""
    suite = SUITES[given.suite]
    inputs = inputs_of(given, suite)
    form = _check_files(given, suite, inputs)
    if given.profile == "reference" and suite.name in reference.PROGRAMS:
        return reference.printed(given, suite, inputs)
    known = {"form": form} if form is not None else {}
    if "profile" in suite.settings._fields:
        known["profile"] = given.profile
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
        baseline=Path(given.baseline) if given.baseline else None,
        lock=Path(given.lock) if given.lock else None,
        **options(given),
    )
    if getattr(given, "item", None):
        return _items(given, request)
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def _check_files(given: argparse.Namespace, suite: Declared, inputs: dict[str, Any]) -> str | None:
    """Refuse files that do not belong together; the form that they are, where a suite has several."""
    if suite.name == "retrieval":
        from ragworthy.suites.retrieval.rules import check_trec

        trec = check_trec({**inputs, "lock": given.lock, "slices": given.slice}, _spelled(suite))
        if not trec and not {"gold", "traces"} <= inputs.keys():
            raise usage_error("expected --gold and --trace, or --qrels and --run")
    if not suite.forms:
        return None
    form = suite.form_of(inputs)
    if form is None or ("corpus" in inputs and "gold" not in suite.forms[form]):
        spelled = _spelled(suite)
        forms = "; ".join(" and ".join(spelled[key] for key in keys) for keys in suite.forms.values())
        got = [spelled[one.key] for one in suite.inputs if one.key in inputs and one.form != "output"]
        raise usage_error(f"expected the files of one form ({forms}), got {' and '.join(got) or 'none'}")
    return form


def _spelled(suite: Declared) -> dict[str, str]:
    """How the command line names files and settings."""
    flags = {one.name: one.key.flag.partition(" ")[0] for one in suite.fields()}
    return flags | {one.key: one.option for one in suite.inputs} | {"lock": "--lock"}


def _gates(given: argparse.Namespace, suite: Declared, settings: Any, inputs: dict[str, Any]) -> tuple[Gate, ...]:
    if not given.gates:
        usual = suite.default_gates(settings, inputs)
        return tuple(one._replace(evidence=given.evidence) for one in usual)
    known = None
    if "definition" in inputs:
        from ragworthy.load.definition import metrics_in

        known = metrics_in(inputs["definition"])
    k = suite.k_of(settings)
    return parse_gate_text(given.gates, default_k=k, evidence=given.evidence, suite=suite.name, known=known)


def _items(given: argparse.Namespace, request: flow.Request) -> int:
    """Show single items, expected against got; exit 0 only when all of them are good."""
    from ragworthy.suites.structured import item

    if given.format not in ("text", "markdown") or given.rows or given.receipt:
        raise usage_error("--item: shows items as text or markdown, and writes no rows or receipts")
    targets = {name: writing.form_of(Path(name)) for name in given.output}
    if other := [name for name, form in targets.items() if form not in ("text", "markdown")]:
        raise usage_error(f"--item: expected a .txt or .md file, got {other[0]}")
    guard(given, [request], given.output)
    opened = flow.open_inputs(SUITES[request.suite].load(), request)
    shown = item.look(opened, request, given.item)
    for name, form in targets.items():
        write_whole(Path(name), item.render(shown, form).encode())
    if not given.quiet:
        show(item.render(shown, given.format, colour=coloured(given)))
    good = sum(one.good for one in shown)
    code = Exit.SHIP if good == len(shown) else Exit.NO_SHIP
    if given.format == "text" or given.quiet:
        print(f"items: {good} of {len(shown)} good (exit {int(code)})")
    return int(code)
