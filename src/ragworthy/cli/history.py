"""`history`: earlier runs. What `gate` keeps by itself is in `cli/keep.py`."""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import flow
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.errors import data_error, usage_error
from ragworthy.files import read_bytes, write_whole
from ragworthy.history import Run, keeping
from ragworthy.history.commit import commit_of
from ragworthy.history.exporting import told
from ragworthy.history.home import home_of, opened
from ragworthy.history.taken import was_checked
from ragworthy.load.baseline import check_report as check_numbers
from ragworthy.names import DEFAULT_K, Exit
from ragworthy.proof.consistent import check_receipt, check_report, commit_in
from ragworthy.report import receipt as receipt_form
from ragworthy.report.made import lines as made_lines
from ragworthy.report.show import p_text, padded, plural
from ragworthy.report.write import form_of
from ragworthy.safe import json_text, shell, terminal

if TYPE_CHECKING:
    from ragworthy.history import proof
    from ragworthy.history.store import Store

SCHEMA = "ragworthy.history/1"
"""
1  first version
"""
SHOWN = 8
"""So many characters of a hash are enough for people."""


# keeping and looking up


def add(given: argparse.Namespace) -> int:
    """Keep runs whose reports are at hand."""
    if given.receipt and len(given.reports) > 1:
        raise usage_error("--receipt: expected one report with a receipt, got several reports")
    at = _time(given.at) if given.at else None
    named = commit_in(receipt_form.read(Path(given.receipt))[1]) if given.receipt else ""
    commit = given.commit if given.commit is not None else named or commit_of(home_of(given.config).folder)
    receipt = read_bytes(Path(given.receipt)) if given.receipt else None
    found = []
    for name in given.reports:
        check_numbers(Path(name))  # says what is wrong with it
        report = json.loads(read_bytes(Path(name)))
        check_report(report, name)
        if given.receipt:
            check_receipt(report, Path(given.receipt), commit)
        found.append(report)
    store = opened(given.store, given.config, create=True)
    for report in found:
        print(keeping.line_of(store.add(report, commit=commit, receipt=receipt, at=at)))
    return int(Exit.SHIP)


def _time(text: str) -> str:
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise usage_error(f"--at: expected a time like 2026-03-01T12:00:00Z, got {text}") from None
    if when.tzinfo is not None:
        when = when.astimezone(UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def listed(given: argparse.Namespace) -> int:
    """The runs and the baselines."""
    store = opened(given.store, given.config)
    runs = [one for one in store.runs(suite=given.suite_name) if one.commit.startswith(given.commit or "")]
    runs = runs[-given.last :] if given.last else runs
    blessings = store.blessings()
    now = {one.name: one.run for one in blessings}
    if given.format == "json":
        body = {"schema": SCHEMA, "runs": [told(one) for one in runs], "baselines": now}
        show(json_text(body | {"blessings": [one._asdict() for one in blessings]}))
        return int(Exit.SHIP)
    rows = [
        (one.id, one.created_at, one.verdict, _gold(one), one.commit[:SHOWN] or "–", ", ".join(one.suites),
         ", ".join(name for name, run in now.items() if run == one.id))
        for one in runs
    ]  # fmt: skip
    _table(("run", "at", "verdict", "gold", "commit", "suites", "baseline"), rows)
    print(f"{plural(len(runs), 'run')}, {plural(len(now), 'baseline')}: {store.place}")
    return int(Exit.SHIP)


def _gold(run: Run) -> str:
    return run.gold_label or run.gold_sha256[:SHOWN] or "–"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if not rows:
        return
    wide = [max(len(line[nth]) for line in (header, *rows)) for nth in range(len(header))]
    for line in (header, *rows):
        print("  ".join(padded(cell, width) for cell, width in zip(line, wide, strict=True)).rstrip())


def shown(given: argparse.Namespace) -> int:
    """One run; its report, should somebody want it again."""
    store = opened(given.store, given.config)
    run = store.find(given.run)
    report = store.report(run.id)
    for name in given.output:
        _write(Path(name), report, store.receipt(run.id))
    if given.format == "json":
        numbers = [one._asdict() for one in store.summaries(run.id)]
        show(json_text({"schema": SCHEMA, **told(run), "summaries": numbers, **_around(store, run)}))
        return int(Exit.SHIP)
    for line in _about(store, run):
        print(line)
    for suite, body in report["suites"].items():
        for line in made_lines(body, known=True):
            print(f"{suite}: {line}")
        metrics = [(name, one) for name, one in body["metrics"].items() if one["value"] is not None
                   and was_checked(name, body["settings"])]  # fmt: skip
        _table((suite, "value", "cases", "95 % interval"), [_number(name, one) for name, one in metrics])
    return int(Exit.SHIP)


def _write(path: Path, report: dict[str, Any], receipt: bytes | None) -> None:
    if path.name == "receipt.json" or path.name.endswith(".receipt.json"):
        if receipt is None:
            raise data_error("RW-H11", "expected a run with a receipt, got one without", where=str(path))
        write_whole(path, receipt)
        return
    form = form_of(path)
    if form == "rows":
        raise usage_error(f"{path}: expected .html .json .md .xml or .txt; 'history export --rows' writes rows")
    write_whole(path, flow.render(report, form).encode())


def _around(store: "Store", run: Run) -> dict[str, Any]:
    return {
        "attempts": [one._asdict() for one in store.attempts_with(run.id)],
        "signatures": [one._asdict() for one in store.signatures(run.id)],
        "blessings": [one._asdict() for one in store.blessings() if one.run == run.id],
    }


def _about(store: "Store", run: Run) -> list[str]:
    from ragworthy.history.baselines import flip_lines

    attempts = store.attempts_with(run.id)
    nth = next((one.number for one in attempts if one.run == run.id), 0)
    hashed = f"sha256 {run.gold_sha256[:SHOWN]}" if run.gold_sha256 else "none"
    lines = [
        f"run {run.id}: {run.verdict}, {run.created_at}",
        f"commit: {run.commit or 'not known'}",
        f"gold: {f'{run.gold_label} ({hashed})' if run.gold_label else hashed}",
        f"attempt: {nth} of {len(attempts)} on this gold set and commit",
    ]
    lines += [f"attempt {one.number}: {one.verdict}, run {one.run}" for one in attempts if len(attempts) > 1]
    for one in store.blessings():
        if one.run == run.id:
            lines.append(f"blessed as {one.name}: {one.at}, by {one.by}: {one.reason}")
            lines += [f"  changes from run to run: {text}" for text in flip_lines(one.flips)]
    lines += [f"signed ({one.what}): {one.by}" for one in store.signatures(run.id) if one.what == "gold"]
    return lines


def _number(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    from ragworthy.report.show import cases, number_of

    interval = "" if one["low"] is None else f"{one['low']:.4f} … {one['high']:.4f}"
    return name, number_of(one), cases(one["num"], one["den"], one.get("n")), interval


# baselines


def bless(given: argparse.Namespace) -> int:
    """Make a run a baseline; the only way to change one."""
    from ragworthy.history import baselines

    wish = baselines.Wish(given.run, given.by, given.reason, given.name, given.single, given.errors)
    baselines.check(wish)  # before a store is opened, or made up to date
    done = baselines.bless(home_of(given.config), opened(given.store, given.config), wish)
    made = done.made
    for line in done.warnings:
        print(f"warning: {line}")
    if done.accepted:
        print(f"accepted: {done.accepted}")
    print(f"blessed: {made.run} is {made.name} now{f', before it was {made.previous}' if made.previous else ''}")
    if done.file is not None:
        print(f"wrote: {done.file}")
    for text in baselines.flip_lines(made.flips):
        print(f"changes from run to run: {text}")
    return int(Exit.SHIP)


def prune(given: argparse.Namespace) -> int:
    """Remove old runs."""
    if given.keep is None and given.before is None:
        raise usage_error("expected --keep N or --before DATE, got neither")
    store = opened(given.store, given.config)
    runs = store.runs()
    if given.keep is not None:
        runs = runs[: -given.keep]
    if given.before is not None:
        try:
            day = date.fromisoformat(given.before).isoformat()
        except ValueError:
            raise usage_error(f"--before: expected a day like 2026-03-01, got {given.before}") from None
        runs = [one for one in runs if one.created_at < day]
    blessed = {one.run for one in store.blessings()}
    gone = [one.id for one in runs if one.id not in blessed]
    if not given.dry_run:
        gone = store.prune(gone)
    verb = "would remove" if given.dry_run else "removed"
    kept = len(store.runs()) - (len(gone) if given.dry_run else 0)
    print(f"{verb} {plural(len(gone), 'run')}, {kept:,} left ({plural(len(blessed), 'blessed run')} among them)")
    return int(Exit.SHIP)


def export(given: argparse.Namespace) -> int:
    """Runs or rows as a table."""
    from ragworthy.history.exporting import export

    count = export(opened(given.store, given.config), Path(given.output), rows=given.rows, suite=given.suite_name)
    print(f"wrote {given.output}: {plural(count, 'line')}")
    return int(Exit.SHIP)


def verify(given: argparse.Namespace) -> int:
    """Whether the store is as it was written."""
    from ragworthy.history.lines import written_in

    written = [written_in(Path(name)) for name in given.against]
    store = opened(given.store, given.config)
    found = store.check(written)
    for line in found:
        print(line)
    if found:
        print(f"history: changed, {plural(len(found), 'difference')} (exit {int(Exit.NO_SHIP)})")
        return int(Exit.NO_SHIP)
    for line in store.strangers(written):
        print(line)
    attempts = plural(len(store.runs()), "run")
    print(f"history: {attempts} and {plural(len(store.blessings()), 'blessing')} as they were written (exit 0)")
    return int(Exit.SHIP)


# over time


def trend(given: argparse.Namespace) -> int:
    """How the numbers of several runs move; exit 1 on an alert, 4 where they cannot be compared."""
    from ragworthy.history import trend as trending

    keep_inputs([given.output, given.plot], given.reports)
    form = Path(given.output).suffix.lower() if given.output else ""
    if given.output and form not in (".json", ".txt", ".svg", ".png"):
        raise usage_error(f"{given.output}: expected .json .txt .svg or .png")
    how = {"suite": given.suite_name, "repeated": given.repeated}
    if given.reports:
        found = trending.trend([Path(name) for name in given.reports], **how)
    else:
        found = trending.kept_trend(opened(given.store, given.config), **how, last=given.last)
    found = trending.only(found, given.metric)
    text = json_text(trending.as_json(found))
    pictured = form in (".svg", ".png")
    if given.output and not pictured:
        lines = "".join(f"{terminal(line)}\n" for line in trending.as_text(found))
        write_whole(Path(given.output), (lines if form == ".txt" else text).encode())
    for name in filter(None, (given.plot, given.output if pictured else None)):
        if not found.unlike:
            from ragworthy.history.plot import drawn

            write_whole(Path(name), drawn(found, Path(name).suffix))
    code = Exit.INVALID if found.unlike else Exit.NO_SHIP if found.alerts else Exit.SHIP
    if given.format == "json":
        show(text)
        return int(code)
    for line in () if given.quiet else trending.as_text(found):
        print(line)
    said = "not comparable" if found.unlike else found.said
    print(f"trend: {said} (exit {int(code)})")
    return int(code)


def bisect(given: argparse.Namespace) -> int:
    """Between which two runs a metric fell; exit 1 where a fall is proven."""
    from ragworthy.history import proof
    from ragworthy.history.points import from_store, last_line
    from ragworthy.metrics import registry
    from ragworthy.policy.gate_checks import unknown_metric

    store = opened(given.store, given.config)
    metric = registry.find(given.metric, default_k=DEFAULT_K)
    if metric is None:
        raise usage_error(f"{unknown_metric(given.metric)}: 'ragworthy explain' lists them")
    runs = store.runs(suite=registry.suite_of(metric.id))
    ends = [store.find(one).id if one else None for one in (given.good, given.bad)]
    line, breaks, _ = last_line(from_store(store, _between(runs, *ends), str(registry.suite_of(metric.id))))
    if len(line) < 2:
        why = f": {breaks[-1].why}" if breaks else ""
        message = f"expected two runs or more that can be compared, got {len(line)}{why}"
        raise data_error("RW-H15", message, where=str(store.place))
    found = proof.fall(metric.id, line)
    if given.format == "json":
        show(json_text(proof.as_json(found)))
    else:
        for text in _fallen(found)[-1 if given.quiet else 0 :]:
            print(text)
    return int(Exit.NO_SHIP if found.proven else Exit.SHIP)


def _between(runs: list[Run], good: str | None, bad: str | None) -> list[Run]:
    ids = [one.id for one in runs]
    for one in (good, bad):
        if one is not None and one not in ids:
            raise data_error("RW-H07", f"expected a run with this suite, got {one}")
    first, last = ids.index(good) if good else 0, ids.index(bad) if bad else len(ids) - 1
    if first > last:
        raise usage_error("--good: expected a run before --bad, got a later one")
    return runs[first : last + 1]


def _fallen(found: "proof.Fall") -> list[str]:
    from ragworthy.history.proof import neighbours
    from ragworthy.report.show import number

    last, first = neighbours(found)
    lines = [f"{found.metric}: {plural(len(found.points), 'run')}, {found.points[0].name} … {found.points[-1].name}"]
    for word, point, value, count in (
        ("before", last, found.before, found.split),
        ("after", first, found.after, len(found.points) - found.split),
    ):
        shown = "–" if value is None else number(value)
        commit = f", commit {point.commit[:SHOWN]}" if point.commit else ""
        lines.append(f"  {word:<6}  {shown} over {plural(count, 'run')}; next to it {point.name} ({point.at}{commit})")
    lines.append(f"  {len(found.worse)} worse, {found.better} better: p {p_text(found.p)}, "
                 f"{p_text(found.adjusted)} for {plural(len(found.points) - 1, 'place')}")  # fmt: skip
    worse, better, p = found.alone
    lines.append(f"  these two runs alone: {worse} worse, {better} better, p {p_text(p)}")
    if found.worse:
        lines.append(f"  worse: {', '.join(found.worse[:5])}{' …' if len(found.worse) > 5 else ''}")
    if not found.proven:
        return [*lines, "bisect: no fall is proven (exit 0)"]
    if last.commit and first.commit and last.commit != first.commit and not last.commit.startswith("-"):
        lines.append(f"  next: {shell(['git', 'log', f'{last.commit[:SHOWN]}..{first.commit[:SHOWN]}'])}")
    return [*lines, f"bisect: it fell between {last.name} and {first.name} (exit 1)"]
