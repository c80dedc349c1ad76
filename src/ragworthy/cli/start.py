"""`init` and `demo`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ragworthy import flow, receipts, starter
from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.gold import commands
from ragworthy.names import DEFAULT_MODEL, Exit, Verdict
from ragworthy.policy.read import load_policy
from ragworthy.report import receipt
from ragworthy.suites import SUITES

FILES = ("gold", "trace", "runs", "questions", "outputs", "provenance", "pairs", "corpus")


def init(given: argparse.Namespace) -> int:
    """Lay down the files to start from, or a policy for files that are there, or a stub for a pipeline."""
    named = {name: Path(path) for name in FILES if (path := getattr(given, name)) is not None}
    folder = Path(given.folder)
    if given.adapter:
        return _adapter(folder, given.adapter, named.get("gold"))
    if named:
        return _own(folder, named, given.suite)
    if given.suite:
        raise usage_error("--suite: expected files of that suite, got none: see 'ragworthy init --help'")
    laid = starter.init(Path(given.folder))
    for path in (laid.policy, laid.gold, *laid.traces):
        print(f"wrote {path}")
    where = "" if given.folder == "." else f" -c {laid.policy}"
    print(f"next: ragworthy gate{where}")
    return int(Exit.SHIP)


def _own(folder: Path, named: dict[str, Path], suite: str | None) -> int:
    """A policy for files that are there already."""
    from ragworthy.prefill import policy_for

    target = folder / "ragworthy.toml"
    if target.exists():
        raise usage_error(f"{target}: already there", code="RW-U03")
    made = policy_for(named, folder, suite=suite)
    starter.write_new({target: made.text})
    print(f"wrote {target} ({made.suite})")
    for note in made.notes:
        print(f"note: {note}")
    where = "" if folder == Path() else f" -c {target}"
    if made.suite == "answers" and "trace" not in named:
        print(f"next: ragworthy run --target MODULE:FUNCTION --gold {named['gold']} --out {folder / 'runs/latest'}")
        print("      (ragworthy init --adapter python writes such a function)")
    print(f"next: ragworthy gate{where}")
    return int(Exit.SHIP)


def _adapter(folder: Path, kind: str, gold: Path | None) -> int:
    """A stub that connects a pipeline."""
    path, target = starter.adapter(folder, kind)
    print(f"wrote {path}")
    asked = gold or folder / "gold/answers.jsonl"
    print(f"next: put your pipeline into it, then: ragworthy run --target {target} --gold {asked} --out runs/latest")
    return int(Exit.SHIP)


def demo(given: argparse.Namespace) -> int:
    """Gate both recorded runs, a new index, and the built-in pipeline on it; write the reports, and show them."""
    folder = Path(given.out)
    starter.check_demo(folder)
    verdicts = _recorded(folder, given)
    if not given.recorded:
        verdicts["shadow index"] = _shadow(folder, given)
        verdicts["built-in pipeline"] = _pipeline(folder, given)
    print(f"reports: {', '.join(str(folder / f'{name}.report.md') for name in _reports(given))}")
    print(f"check one yourself: ragworthy verify {folder / f'{_reports(given)[0]}.receipt.json'}")
    print(f"verdict: {', '.join(f'{name} {verdict}' for name, verdict in verdicts.items())} (exit 0)")
    return int(Exit.SHIP)


def _section(title: str) -> None:
    print(f"── {title}")
    print()


def _reports(given: argparse.Namespace) -> list[str]:
    return ["candidate", "regressed"] if given.recorded else ["pipeline", "shadow", "candidate", "regressed"]


def _recorded(folder: Path, given: argparse.Namespace) -> dict[str, Verdict]:
    """The recorded runs of the bundled example, the good one and the careless one."""
    laid = starter.demo(folder)
    commands.freeze(laid.gold, signers=["demo"], reason="the bundled gold set", now="2026-01-01T00:00:00Z")
    verdicts: dict[str, Verdict] = {}
    for name in ("regressed", "candidate"):
        requests = flow.from_policy(load_policy(folder / f"{name}.toml", SUITES, today=None), keep_rows=True)
        run = flow.score_all(requests)
        _write(folder, name, run, requests)
        verdicts[name] = run.verdict
        if not given.quiet:
            _section(f"{name}: {folder / f'runs/{name}.jsonl'}")
            show(f"{flow.render(run.report, 'text')}\n")
    return {name: verdicts[name] for name in ("candidate", "regressed")}


def _write(folder: Path, name: str, run: flow.Run, requests: Sequence[flow.Request]) -> None:
    for suffix in ("md", "json", "xml"):
        flow.write(folder / f"{name}.report.{suffix}", run)
    receipt.write(folder / f"{name}.receipt.json", receipts.make(run, requests, folder))


def _pipeline(folder: Path, given: argparse.Namespace) -> Verdict:
    """The built-in pipeline on both indexes: answers, retrieval, stability, latency, one verdict."""
    from ragworthy import demo as story

    if not given.quiet:
        _section("built-in pipeline: both indexes, every suite")
    made = story.pipeline(folder, lambda line: None if given.quiet else print(line, flush=True))
    if not given.quiet:
        show(f"\n{flow.render(made.report, 'text')}\n")
        for path in made.plots:
            print(f"plot: {path}")
    return made.verdict


def _shadow(folder: Path, given: argparse.Namespace) -> Verdict:
    """Build both indexes, ask them the same questions, and compare."""
    from ragworthy.corpus.migration import table_bytes
    from ragworthy.files import write_whole
    from ragworthy.index import build as indexing
    from ragworthy.index.store import open_index
    from ragworthy.runner.retrieve import How, traces, wordings, write_traces

    laid = starter.shadow(folder)
    for name, docs in (("live", laid.live_docs), ("shadow", laid.shadow_docs)):
        indexing.build(docs, folder / "index" / name, dense=DEFAULT_MODEL)
        asked = wordings(laid.all_questions)
        write_traces(folder / f"runs/{name}.jsonl", traces(open_index(folder / "index" / name), asked, How()))
    table = indexing.redirects(folder / "index/live", folder / "index/shadow")
    write_whole(folder / "redirects.json", table_bytes(table))
    requests = flow.from_policy(load_policy(laid.policy, SUITES, today=None))
    whole = flow.score_all([request.with_given(gold=laid.all_questions) for request in requests])
    run = flow.score_all(requests)
    _write(folder, "shadow", run, requests)
    if not given.quiet:
        _section(f"shadow index: {laid.shadow_docs} against {laid.live_docs}")
        print(f"all questions: {whole.verdict}: {'; '.join(whole.report['invalid'])}")
        show(f"without {starter.RETIRED}, whose section the new documents no longer have:\n\n")
        show(f"{flow.render(run.report, 'text')}\n")
    return run.verdict
