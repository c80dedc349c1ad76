"""`gate`, `score` and `verify`."""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ragworthy import flow
from ragworthy.cli import side
from ragworthy.cli.guard import check_files, keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.load.checker import Checker
from ragworthy.names import DEFAULT_K, REFUSAL, RETRIEVAL_K, Exit, Verdict, exit_code
from ragworthy.policy.defaults import DEFAULT_GATES, LIVE_GATE, RETRIEVAL_GATES
from ragworthy.policy.gate_text import parse_gate_text, parse_ks
from ragworthy.policy.read import find_policy, load_policy
from ragworthy.policy.settings import Answers, Retrieval, Structured, default_gates
from ragworthy.report import write as writing


def gate(given: argparse.Namespace) -> int:
    """Run every suite of the policy."""
    path = find_policy(given.config)
    policy = load_policy(path, today=date.today())
    requests = flow.from_policy(policy, **flags(given))
    flow.check_stale(requests)
    if given.baseline:
        requests = [request.with_baseline(Path(given.baseline)) for request in requests]
    if given.selftest:
        if given.output or given.rows or given.receipt:
            raise usage_error("--selftest judges damaged traces: it writes no reports, rows or receipts")
        return _selftest(requests)
    return finish(given, requests, Path(given.receipt) if given.receipt else _own_receipt(path))


def _own_receipt(policy: Path) -> Path:
    """Where the receipt goes when nobody says: beside the policy, never through a link and never over another file."""
    path = policy.parent / ".ragworthy/receipt.json"
    check_inside(path, policy.parent, "the receipt")
    check_ours(path, lambda data: b"ragworthy" in data and data.startswith(b"{"))
    return path


def score_answers(given: argparse.Namespace) -> int:
    """Score the answers suite from files."""
    if given.profile == "reference":
        return _reference(given)
    ks = depths(given.k)
    if given.gates:
        gates = parse_gate_text(given.gates, default_k=ks[0], evidence=given.evidence, suite="answers")
    else:
        gates = tuple(one._replace(evidence=given.evidence) for one in DEFAULT_GATES)
    settings = Answers(
        ks=ks,
        short_substr=given.short_substr,
        refusals=(REFUSAL, *given.refusal),
        scu=given.scu_enforced,
        rule_packs=tuple(given.rule_pack),
        slices=tuple(given.slice),
    )
    request = flow.Request(
        gold=Path(given.gold),
        traces=Path(given.trace),
        corpus=Path(given.corpus) if given.corpus else None,
        baseline=Path(given.baseline) if given.baseline else None,
        lock=Path(given.lock) if given.lock else None,
        settings=settings,
        gates=gates,
        **flags(given),
    )
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def score_retrieval(given: argparse.Namespace) -> int:
    """Score the retrieval suite from files: gold and traces, or TREC qrels and a run."""
    trec = _is_trec(given)
    if given.profile == "reference":
        return _retrieval_reference(given)
    ks = depths(given.k)
    if given.gates:
        gates = parse_gate_text(given.gates, default_k=DEFAULT_K, evidence=given.evidence, suite="retrieval")
    else:
        defaults = () if trec else RETRIEVAL_GATES + ((LIVE_GATE,) if given.live else ())
        gates = tuple(one._replace(evidence=given.evidence) for one in defaults)
    settings = Retrieval(
        ks=ks,
        delta_s=given.delta_s,
        anchor_scope=given.anchor_scope,
        refusals=(REFUSAL, *given.refusal),
        slices=tuple(given.slice),
    )

    def path(value: str | None) -> Path | None:
        return Path(value) if value else None

    request = flow.Request(
        gold=Path(given.qrels or given.gold),
        traces=Path(given.run_file or given.trace),
        trec=trec,
        settings=settings,
        gates=gates,
        live=path(given.live),
        corpus=path(given.corpus),
        live_corpus=path(given.live_corpus),
        redirects=tuple(map(Path, given.redirects)),
        baseline=path(given.baseline),
        lock=path(given.lock),
        **flags(given),
    )
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def score_structured(given: argparse.Namespace) -> int:
    """Score the structured suite from files, or show single items."""
    settings = Structured(repair=given.repair, profile=given.profile, slices=tuple(given.slice))
    from ragworthy.load.definition import metrics_in

    definition = Path(given.definition) if given.definition else None
    if given.gates:
        gates = parse_gate_text(
            given.gates, default_k=1, evidence=given.evidence, suite="structured", known=metrics_in(definition)
        )
    else:
        gates = tuple(one._replace(evidence=given.evidence) for one in default_gates(settings))
    request = flow.Request(
        gold=Path(given.questions),
        traces=Path(given.outputs),
        definition=definition,
        subset=Path(given.subset) if given.subset else None,
        made=Path(given.provenance) if given.provenance else None,
        baseline=Path(given.baseline) if given.baseline else None,
        lock=Path(given.lock) if given.lock else None,
        settings=settings,
        gates=gates,
        **flags(given),
    )
    if given.item:
        return _items(given, request)
    return finish(given, [request], Path(given.receipt) if given.receipt else None)


def _items(given: argparse.Namespace, request: flow.Request) -> int:
    """Show single items, expected against got; exit 0 only when all of them are good."""
    from ragworthy.suites.structured import look as itemview

    if given.format not in ("text", "markdown") or given.rows or given.receipt:
        raise usage_error("--item: shows items as text or markdown, and writes no rows or receipts")
    targets = {name: writing.form_of(Path(name)) for name in given.output}
    if other := [name for name, form in targets.items() if form not in ("text", "markdown")]:
        raise usage_error(f"--item: expected a .txt or .md file, got {other[0]}")
    keep_inputs(given.output, [request.gold, request.traces, request.definition, request.made])
    check_files(given.output)
    shown = itemview.look(request, given.item)
    for name, form in targets.items():
        write_whole(Path(name), itemview.render(shown, form).encode())
    if not given.quiet:
        show(itemview.render(shown, given.format, colour=_colour(given)))
    good = sum(one.good for one in shown)
    code = Exit.SHIP if good == len(shown) else Exit.NO_SHIP
    if given.format == "text" or given.quiet:
        print(f"items: {good} of {len(shown)} good (exit {int(code)})")
    return int(code)


def _is_trec(given: argparse.Namespace) -> bool:
    """Whether TREC files were given; a mixture of both kinds is an error."""
    trec = bool(given.qrels or given.run_file)
    if trec and (given.gold or given.trace or given.live or not (given.qrels and given.run_file)):
        raise usage_error("expected --gold and --trace, or --qrels and --run, got a mixture")
    idle = [name for name in ("corpus", "live_corpus", "redirects", "slice", "lock") if trec and getattr(given, name)]
    if idle:
        raise usage_error(f"--{idle[0].replace('_', '-')}: TREC files hold ids and ranks only")
    if not trec and not (given.gold and given.trace):
        raise usage_error("expected --gold and --trace, or --qrels and --run")
    return trec


def _retrieval_reference(given: argparse.Namespace) -> int:
    """Print what the evaluator of the retrieval page gives, read literally; the exit code follows its gates."""
    from ragworthy.reference import retrieval_reference

    if given.qrels:
        raise usage_error("--profile reference reads --gold and --trace")
    ks = depths(given.k)
    if given.receipt or given.rows:
        raise usage_error("--profile reference writes no receipts or rows")
    if given.gates or (len(ks) > 1 and given.k != RETRIEVAL_K):
        raise usage_error("--profile reference has its own gates and takes one k")
    keep_inputs(given.output, [given.gold, given.trace, given.corpus])
    corpus = Path(given.corpus) if given.corpus else None
    k = DEFAULT_K if given.k == RETRIEVAL_K else ks[0]
    text, verdict = retrieval_reference(Path(given.gold), Path(given.trace), corpus, k)
    for name in given.output:
        write_whole(Path(name), text.encode())
    show(text)
    return int(exit_code(verdict))


def depths(text: str) -> tuple[int, ...]:
    """The numbers given to --k."""
    check = Checker("--k")
    numbers = [int(part) if part.strip().isdecimal() else part for part in text.split(",")]
    ks = parse_ks(check, numbers, "")
    check.stop()
    return ks


def flags(given: argparse.Namespace) -> dict[str, Any]:
    """What every scoring command takes besides its files."""
    for name in given.output:
        writing.form_of(Path(name))
    if given.rows and writing.form_of(Path(given.rows)) != "rows":
        raise usage_error(f"--rows: expected a .jsonl or .parquet file, got {given.rows}")
    wants_rows = bool(given.rows) or any(writing.form_of(Path(name)) == "rows" for name in given.output)
    return {
        "unfrozen": given.unfrozen,
        "allow_gold_errors": given.allow_gold_errors,
        "jobs": given.jobs,
        "keep_rows": wants_rows,
    }


def finish(given: argparse.Namespace, requests: Sequence[flow.Request], receipt: Path | None) -> int:
    """Score, write every file that was asked for, print."""
    outputs = [*given.output, given.rows, str(receipt) if receipt else None, *side.paths(given, requests)]
    if any(outputs):
        _guard(given, requests, outputs)
    run = flow.score_all(requests, _progress() if sys.stderr.isatty() and not given.quiet else None)
    made = None
    if receipt is not None:
        from ragworthy import receipts

        made = receipts.make(run, requests, receipt.parent)
    side.write(given, requests, run)
    return publish(given, run, (receipt, made) if receipt is not None and made is not None else None)


def _guard(given: argparse.Namespace, requests: Sequence[flow.Request], outputs: Sequence[str | None]) -> None:
    """Refuse outputs that would replace what is read, before anything is scored."""
    from ragworthy import receipts

    keep_inputs(outputs, [*receipts.files(requests).values(), *named_files(given), *_folders(requests)])
    check_files(outputs)


def named_files(given: argparse.Namespace) -> list[str]:
    """Files that decide the result and are part of no request: a file of gates."""
    gates = getattr(given, "gates", None)
    return [gates[0]] if gates and len(gates) == 1 and "=" not in gates[0] else []


def _folders(requests: Sequence[flow.Request]) -> list[Path]:
    """Indexes that are read: nothing is written into them."""
    given = [one for request in requests for one in (request.corpus, request.live_corpus)]
    return [Path(one) for one in given if isinstance(one, (str, Path))]


def publish(given: argparse.Namespace, run: flow.Run, receipt: tuple[Path, bytes] | None = None) -> int:
    """Write the reports, rows and receipt that were asked for, and print the report."""
    report = run.report
    for name in (*given.output, *([given.rows] if given.rows else [])):
        flow.write(Path(name), run)
    if receipt is not None:
        from ragworthy.report import receipt as form

        form.write(*receipt)
    _summary(report)
    if given.quiet:
        print(f"verdict: {report['verdict']} (exit {report['exit_code']})")
    else:
        show(flow.render(report, given.format, colour=_colour(given)))
    return int(report["exit_code"])


def _summary(report: dict[str, Any]) -> None:
    """Add the Markdown report to the job summary of GitHub Actions."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with Path(target).open("a", encoding="utf-8") as file:
                file.write(flow.render(report, "markdown"))
        except OSError as error:
            print(f"$GITHUB_STEP_SUMMARY: cannot be written: {error.strerror}", file=sys.stderr)


def _colour(given: argparse.Namespace) -> bool:
    return sys.stdout.isatty() and not given.no_color and not os.environ.get("NO_COLOR")


def _progress() -> flow.Progress:
    """A line on the terminal that tells how far reading has come."""
    shown = -1

    def told(read: int, total: int) -> None:
        nonlocal shown
        percent = min(100, read * 100 // total) if total else 0
        if percent != shown and total > 4 << 20:
            shown = percent
            end = "\r\x1b[K" if percent == 100 else ""
            show(f"\rreading traces {percent:3d} %{end}", file=sys.stderr, flush=True)

    return told


def _selftest(requests: Sequence[flow.Request]) -> int:
    from ragworthy.selftest import selftest

    tried = selftest(requests)
    for one in tried:
        word = "can fail   " if one.fails else "CANNOT FAIL"
        print(f"{word}  {one.gate} {one.rule}: {one.damage} → {one.said}")
    idle = [one for one in tried if not one.fails]
    print(f"selftest: {len(tried) - len(idle)} of {len(tried)} gates can fail (exit {int(bool(idle))})")
    return int(Exit.NO_SHIP if idle else Exit.SHIP)


def _reference(given: argparse.Namespace) -> int:
    """Print what the sources' own scorer prints; the exit code follows the verdict."""
    try:
        k = int(given.k)
    except ValueError:
        raise usage_error(f"--k: expected a whole number, got {given.k}") from None
    if given.gates is not None and len(given.gates) != 1:
        raise usage_error("--gates: the reference scorer takes one comma-separated text")
    if given.receipt or given.rows:
        raise usage_error("--profile reference writes no receipts or rows")
    for name in given.output:
        if writing.form_of(Path(name)) not in ("json", "text"):
            raise usage_error(f"{name}: the reference profile writes .json or .txt only")
    from ragworthy.reference import reference

    keep_inputs(given.output, [given.gold, given.trace])
    text, passed = reference(Path(given.gold), Path(given.trace), k, given.gates[0] if given.gates else None)
    for name in given.output:
        write_whole(Path(name), text.encode())
    show(text)
    return int(exit_code(Verdict.SHIP if passed else Verdict.NO_SHIP))
