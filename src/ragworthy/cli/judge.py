"""`score stability`, `score latency` and `score agreement`."""

import argparse
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ragworthy import flow
from ragworthy.cli.gate import finish, flags
from ragworthy.cli.guard import keep_inputs
from ragworthy.cli.say import show
from ragworthy.cli.side import TABLE, check_unnamed
from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.gates import Gate
from ragworthy.load.checker import Checker, written
from ragworthy.names import REFUSAL, Verdict, exit_code
from ragworthy.policy.gate_text import parse_gate_text
from ragworthy.policy.settings import (
    FORMS,
    SUITE_OF,
    Agreement,
    Latency,
    Settings,
    Stability,
    default_gates,
    form_of,
    parse_limits,
)


def stability(given: argparse.Namespace) -> int:
    """Score runs over seeds, jitters and paraphrases."""
    limits = _limits(given.limits)
    if given.profile == "reference":
        from ragworthy.reference import stability_reference

        keep_inputs(given.output, [given.gold, given.runs])
        return _printed(given, *stability_reference(Path(given.gold), Path(given.runs), limits))
    settings = Stability(
        limits=limits,
        short_substr=given.short_substr,
        refusals=(REFUSAL, *given.refusal),
        slices=tuple(given.slice),
    )
    return _finish(given, settings, gold=Path(given.gold), traces=Path(given.runs))


def latency(given: argparse.Namespace) -> int:
    """Score timed runs, and draw them."""
    settings = Latency(
        profile=given.profile,
        configuration=given.configuration,
        use=given.use,
        frontier=given.frontier,
        batch_p95=_positive("--batch-p95", given.batch_p95),
        short_substr=given.short_substr,
        refusals=(REFUSAL, *given.refusal),
        scu=given.scu_enforced,
        slices=tuple(given.slice),
    )
    return _finish(
        given,
        settings,
        gold=Path(given.gold),
        traces=Path(given.runs),
        prices=Path(given.prices) if given.prices else None,
        corpus=Path(given.corpus) if given.corpus else None,
    )


def agreement(given: argparse.Namespace) -> int:
    """Score what validators, raters or operators agree on, and write their disagreements."""
    files = {name: getattr(given, "trace" if name == "traces" else name) for name in flow.VOTES}
    form = form_of(files)
    if form is None or (given.corpus and form != "traces"):
        forms = "; ".join(" and ".join(f"--{name.removesuffix('s') if name == 'traces' else name}" for name in names)
                          for names in FORMS.values())  # fmt: skip
        got = [f"--{'trace' if name == 'traces' else name}" for name, path in files.items() if path]
        raise usage_error(f"expected the files of one form ({forms}), got {' and '.join(got) or 'none'}")
    if given.profile == "reference":
        return _agreement_reference(given, form)
    settings = Agreement(
        form=form,
        tsv=given.tsv,
        short_substr=given.short_substr,
        refusals=(REFUSAL, *given.refusal),
        scu=given.scu_enforced,
        release=given.release,
        baseline_cost=_positive("--baseline-cost", given.baseline_cost) if given.baseline_cost else None,
        fixes=tuple(given.fix),
        slices=tuple(given.slice),
    )
    paths = {name: Path(path) if path else None for name, path in files.items()}
    return _finish(given, settings, **flow.votes(paths))


def _agreement_reference(given: argparse.Namespace, form: str) -> int:
    from ragworthy.reference import agreement_reference

    if form not in ("pairs", "files"):
        raise usage_error("--profile reference reads --pairs, or --scholar and --auditor")
    _check_reference(given)
    keep_inputs([*given.output, given.tsv], [given.pairs, given.scholar, given.auditor])
    if given.tsv == TABLE:
        check_unnamed(Path(given.tsv), Path())
    first = Path(given.pairs or given.scholar)
    text, passed, table = agreement_reference(first, Path(given.auditor) if given.auditor else None)
    if table:
        write_whole(Path(given.tsv), table.encode())
    return _printed(given, text, passed)


def _finish(given: argparse.Namespace, settings: Settings, **files: Any) -> int:
    request = flow.Request(
        settings=settings,
        gates=_gates(given, settings),
        baseline=Path(given.baseline) if given.baseline else None,
        lock=Path(given.lock) if given.lock else None,
        **files,
        **flags(given),
    )
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def _gates(given: argparse.Namespace, settings: Settings) -> tuple[Gate, ...]:
    if given.gates:
        return parse_gate_text(given.gates, default_k=1, evidence=given.evidence, suite=SUITE_OF[type(settings)])
    return tuple(one._replace(evidence=given.evidence) for one in default_gates(settings))


def _limits(given: list[str]) -> tuple[str, ...]:
    check = Checker("--limits")
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
    limits = parse_limits(check, pairs, "")
    check.stop()
    return limits


def _positive(flag: str, text: str) -> str:
    try:
        number = written(Decimal(text))
    except InvalidOperation:
        number = None
    if number is None or Decimal(number) <= 0:
        raise usage_error(f"{flag}: expected a number above 0, got {text}")
    return number


def _printed(given: argparse.Namespace, text: str, passed: bool) -> int:
    """Print what the original program prints; the exit code follows the verdict."""
    _check_reference(given)
    for name in given.output:
        write_whole(Path(name), text.encode())
    show(text)
    return int(exit_code(Verdict.SHIP if passed else Verdict.NO_SHIP))


def _check_reference(given: argparse.Namespace) -> None:
    """Refuse what the original programs do not have, before anything is written."""
    if given.gates:
        raise usage_error("--profile reference has its own gates")
    if given.receipt or given.rows:
        raise usage_error("--profile reference writes no receipts or rows")
    for name in given.output:
        if Path(name).suffix not in (".json", ".txt"):
            raise usage_error(f"{name}: the reference profile writes .json or .txt only")
