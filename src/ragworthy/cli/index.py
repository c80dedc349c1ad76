"""`index build | search | ask | check | diff | migrate` and `retrieve`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragworthy.cli.outputs import keep_inputs, plain_lines
from ragworthy.cli.rates import rate
from ragworthy.cli.say import print, show
from ragworthy.errors import DataError, usage_error
from ragworthy.files import write_whole
from ragworthy.index import build as indexing
from ragworthy.index.manifest import NAME as MANIFEST
from ragworthy.index.store import open_index
from ragworthy.index.swap import real
from ragworthy.names import DEFAULT_K, Exit
from ragworthy.report.show import plural
from ragworthy.runner.retrieve import How, measure_for, search, traces, wordings, write_traces
from ragworthy.safe import json_text, shell
from ragworthy.text import clip

_SHOWN = 20
_SNIPPET = 240


def build(given: argparse.Namespace) -> int:
    """Documents to an index."""
    if real(Path(given.docs)) in real(Path(given.out)).parents:
        raise usage_error("--out: expected a folder outside --docs, got one inside")
    if real(Path(given.docs)).is_relative_to(real(Path(given.out))) and (Path(given.out) / MANIFEST).is_file():
        raise usage_error("--docs: expected documents outside --out, which is replaced, got them inside")
    built = indexing.build(Path(given.docs), Path(given.out), dense=given.dense, limit=given.limit, ann=given.ann)
    manifest = built.manifest
    for note in built.notes[:_SHOWN]:
        print(f"note: {note.where}: {note.message}", file=sys.stderr)
    if len(built.notes) > _SHOWN:
        print(f"note: … and {len(built.notes) - _SHOWN:,} more", file=sys.stderr)
    counts = manifest.counts
    types = ", ".join(f"{kind} {count:,}" for kind, count in sorted(built.types.items()))
    model = manifest.embedding.model if manifest.embedding else "none (BM25 only)"
    print(f"{plural(counts.documents, 'document')}, {plural(counts.chunks, 'chunk')} ({types})")
    print(f"dense model: {model}")
    print(f"index: {given.out} ({manifest.index_hash})")
    if built.query:
        print(f"next: {shell(['ragworthy', 'index', 'search', given.out, built.query])}")
    return int(Exit.SHIP)


def search_index(given: argparse.Namespace) -> int:
    """Print what a query finds."""
    index = open_index(Path(given.index))
    how = How(k=given.k, mode=given.mode, fusion=given.fusion, knee=given.knee)
    hits = search(index, [given.query], how)[0]
    if given.format == "json":
        import msgspec

        listed: list[dict[str, Any]] = [
            {"rank": hit.rank, "score": round(hit.score, 6), **msgspec.to_builtins(hit.chunk)} for hit in hits
        ]
        show(json_text(listed))
        return int(Exit.SHIP)
    for hit in hits:
        chunk = hit.chunk
        begin, end = chunk.offsets or (0, 0)
        print(f"{hit.rank}. {chunk.name}  {hit.score:.4f}  {chunk.type or 'prose'}  bytes {begin}–{end}")
        section = f"section {chunk.section_id}" if chunk.section_id else "no section"
        print(f"   {section}{f': {chunk.title}' if chunk.title else ''}")
        print(f"   {clip(chunk.text, _SNIPPET)}")
    if not hits:
        print("nothing found")
    return int(Exit.SHIP)


def ask(given: argparse.Namespace) -> int:
    """Answer a question from an index with the built-in pipeline, or refuse, and say why."""
    from ragworthy.cli.asking import check_trace, keep_trace
    from ragworthy.pipeline import Pipeline
    from ragworthy.pipeline.knobs import EXTRACTIVE
    from ragworthy.runner.run import knobs_of

    if not given.question.strip():
        raise usage_error("expected a question, got nothing")
    check_trace(given)
    knobs = knobs_of(None, given.knob) | ({"answerer": given.answerer} if given.answerer else {})
    named = knobs.get("answerer", EXTRACTIVE)
    pipeline = Pipeline(Path(given.index), Path(given.pipeline) if given.pipeline else None, named=named)
    try:
        if named != EXTRACTIVE:
            from ragworthy.cli.asking import ask_model

            return ask_model(given, pipeline, pipeline.begin(given.question, knobs))
        found = pipeline.explain(given.question, knobs)
        if given.trace:
            keep_trace(given, pipeline, pipeline.extracted(pipeline.begin(given.question, knobs)))
    except ValueError as error:
        by_flag = given.answerer and str(error).startswith("answerer: ")
        raise usage_error(f"--{error}" if by_flag else f"--knob: {error}") from None
    if given.format == "json":
        show(json_text(found))
        return int(Exit.SHIP)
    print(found["claim"])
    print(f"cites: {', '.join(found['citations']) or 'nothing'}")
    print(found["why"])
    for one in found["sentences"]:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in one["features"].items())
        print(f"  {one['score']:.3f} ({parts})  {one['id']}: {one['text']}")
    return int(Exit.SHIP)


def check(given: argparse.Namespace) -> int:
    """Every file against the manifest, every chunk against its text, and the gold set against the index."""
    path = Path(given.index)
    try:
        index, faults = indexing.check(path)
    except DataError as error:
        return _no_manifest(path, error)
    if given.docs:
        faults += indexing.check_documents(Path(given.docs), index)
    _show_faults(faults)
    counts = index.manifest.counts
    print(f"{plural(counts.documents, 'document')}, {plural(counts.chunks, 'chunk')}: {plural(len(faults), 'fault')}")
    rated = rate(index.written_chunks, given.reference, given.docs)
    for line in rated.lines:
        print(line)
    lost = False
    if given.gold:
        from ragworthy.gold import retrieval
        from ragworthy.policy.read import named_model

        fit = retrieval.fit(Path(given.gold), path)
        lost = not fit.fits
        for line in fit.lines():
            print(line)
        if given.calibrate:
            chosen = retrieval.calibrate(Path(given.gold), path, given.dense or named_model(given.config))
            for line in retrieval.calibration_lines(chosen):
                print(line)
            files = " and ".join(map(str, retrieval.store_calibration(Path(given.gold), chosen, path)))
            print(
                f"calibration stored in {files}" if files else "not stored: the gold set has no lock; freeze it first"
            )
    elif given.calibrate:
        raise usage_error("--calibrate needs --gold")
    code = Exit.NO_SHIP if faults or rated.missed else Exit.INVALID if lost else Exit.SHIP
    missed = f", but {plural(rated.missed, 'target is', 'targets are')} missed" if rated.missed else ""
    other = ", but the gold set is not for this index" if lost else ""
    print(f"check: {'not sound' if faults else f'sound{missed or other}'} (exit {int(code)})")
    return int(code)


def _no_manifest(path: Path, error: DataError) -> int:
    """List every field that keeps a manifest from being one; what cannot be told field by field is raised again."""
    faults = indexing.manifest_faults(path) if {one.code for one in error.problems} == {"RW-I03"} else []
    if not faults:
        raise error
    _show_faults(faults)
    print(f"check: not sound (exit {int(Exit.NO_SHIP)})")
    return int(Exit.NO_SHIP)


def _show_faults(faults: Sequence[indexing.Fault]) -> None:
    for fault in faults[:_SHOWN]:
        print(f"{fault.where}: {fault.message} [{fault.code}]")
    if len(faults) > _SHOWN:
        print(f"… and {len(faults) - _SHOWN:,} more")


def migrate(given: argparse.Namespace) -> int:
    """The redirect table from one index to another."""
    from ragworthy.corpus.migration import table_bytes
    from ragworthy.corpus.migration_report import RECHUNKED, render, report

    keep_inputs([given.output], [given.old, given.new, given.cited])
    table = indexing.redirects(Path(given.old), Path(given.new))
    sample = _cited(given.cited) if given.cited else None
    if given.output:
        write_whole(Path(given.output), table_bytes(table))
    show(render(table, sample=sample, same_source=given.same_source))
    if given.output:
        print(f"table: {given.output}")
    checks = report(table, sample=sample, same_source=given.same_source)["checks"]
    missed = [check["name"] for check in checks if check["outcome"] == "fail"]
    code = Exit.NO_SHIP if missed else Exit.SHIP
    again = "re-chunked, " if any(check["outcome"] == RECHUNKED for check in checks) else ""
    moved = "".join(f" but {check['name']}, which edits explain," for check in checks if check["outcome"] == "warning")
    what = f"{again}missed: {', '.join(missed)}" if missed else f"{again}every target{moved} is reached"
    print(f"migration: {what} (exit {int(code)})")
    return int(code)


def _cited(path: str) -> list[str]:
    """The ids that traces or a gold set cite, for redirect coverage."""
    from ragworthy.gold.retrieval import cited_ids

    return cited_ids(Path(path))


def retrieve(given: argparse.Namespace) -> int:
    """Traces for every paraphrase and seed."""
    ts = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if given.ts == "now" else given.ts
    how = How(
        k=given.k,
        mode=given.mode,
        fusion=given.fusion,
        knee=given.knee,
        seeds=_seeds(given.seeds),
        cite=given.cite,
        ts=ts,
    )
    plain_lines(given.output)
    keep_inputs([given.output], [given.gold, given.index])
    asked = wordings(Path(given.gold))
    index = open_index(Path(given.index))
    count = write_traces(Path(given.output), traces(index, asked, how, measure_for(Path(given.gold), index)))
    questions = len({one.qid for one in asked})
    print(
        f"{plural(count, 'trace')} of {plural(questions, 'question')} from {index.manifest.index_hash}: {given.output}"
    )
    gold, output, folder = (shlex.quote(str(one)) for one in (given.gold, given.output, given.index))
    print(f"next: ragworthy score retrieval --gold {gold} --trace {output} --corpus {folder}")
    return int(Exit.SHIP)


def _seeds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    seeds = [int(part) if part.isdecimal() and part.isascii() else -1 for part in parts]
    if min(seeds) < 0 or len(set(seeds)) != len(seeds):
        raise usage_error(f"--seeds: expected different whole numbers, e.g. 1,2, got {text}")
    return tuple(seeds)


def diff(given: argparse.Namespace) -> int:
    """The shadow index against the live one."""
    from ragworthy.cli.flags import depths, number_of
    from ragworthy.cli.outputs import named_files, options, publish
    from ragworthy.experiments import index_diff as diffing
    from ragworthy.gates import Gate
    from ragworthy.policy.gate_text import Named, parse_gate_text
    from ragworthy.policy.packs import asked_for
    from ragworthy.suites import SUITES
    from ragworthy.suites.retrieval import Retrieval
    from ragworthy.suites.retrieval.compared import churn_lines

    if not given.gold and not given.queries:
        raise usage_error("expected --gold, --queries or both")
    if not given.gold and (given.output or given.rows or given.format != "text"):
        raise usage_error("--queries alone is printed as text: reports, rows and formats need --gold")
    keep_inputs([*given.output, given.rows], [given.live, given.shadow, given.gold, given.queries, *named_files(given)])
    pair = diffing.open_pair(Path(given.live), Path(given.shadow))
    how = How(k=max(10, *depths(given.k)), mode=given.mode, fusion=given.fusion, knee=given.knee)
    queries = diffing.read_queries(Path(given.queries)) if given.queries else []
    if not given.gold:
        changed = diffing.query_churn(pair, queries, how)
        for line in churn_lines(changed, f"unlabelled queries of {given.queries}", _SHOWN):
            print(line)
        print("no gold set: nothing was judged (exit 0)")
        return int(Exit.SHIP)
    drop = number_of("--max-drop", given.max_drop, "share")
    settings = Retrieval(ks=depths(given.k), delta_s=given.delta_s, max_drop=drop, against_live=not given.canary)
    gates: tuple[Gate, ...] = SUITES["retrieval"].default_gates(settings, {"live": given.live})
    named = parse_gate_text(given.gates, default_k=DEFAULT_K, suite="retrieval") if given.gates else Named(())
    asked_gates = asked_for(given.pack, named.gates, SUITES["retrieval"].depths(settings), "point", "--pack")
    gates = named._replace(gates=asked_gates).beside(gates, "point")
    asked: dict[str, Any] = {"how": how, "gates": gates, "settings": settings, "queries": queries}
    return publish(given, diffing.compare(pair, Path(given.gold), **asked, **options(given)))
