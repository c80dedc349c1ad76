"""The smaller inputs: chunk texts, contradiction packs, the lock of a gold set, an earlier report."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import read_text, sha256_of, shown_path
from ragworthy.gates import Baseline
from ragworthy.load.decode import Decoder
from ragworthy.load.rules import load_toml
from ragworthy.load.sources import Source
from ragworthy.records import Chunk
from ragworthy.text import fold

LOCK_SCHEMA = "ragworthy.lock/1"
REPORT_SCHEMA = "ragworthy.report/1"
BUNDLED_PACKS = ("wfgy-neg-4",)


def load_chunks(source: Source) -> dict[str, str]:
    """Chunk texts by id, folded for comparison."""
    decoder = Decoder(Chunk)
    texts: dict[str, str] = {}
    for block in source.blocks():
        for chunk in decoder.records(block):
            name = chunk.chunk_id or chunk.id
            if not name:
                raise data_error("RW-C01", "expected chunk_id, got a record without it", where=source.given)
            texts[name] = fold(chunk.text)
    if decoder.faults:
        lines = source.lines_at(fault.offset for fault in decoder.faults[:MOST_PROBLEMS])
        problems = [
            Problem(fault.code, fault.message, f"{source.given}:{lines[fault.offset]}", fault.field)
            for fault in decoder.faults[:MOST_PROBLEMS]
        ]
        raise DataError(problems, len(decoder.faults))
    if not texts:
        raise data_error("RW-F04", "expected chunks, got none", where=source.given)
    return texts


class Pack(NamedTuple):
    """Contradiction rules: where the first pattern matches a lock, the second must not match the claim."""

    id: str
    rules: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    sha256: str


def load_pack(name: str, folder: Path) -> Pack:
    """A bundled pack by name, or a TOML file by path."""
    path = folder / name
    if name in BUNDLED_PACKS:
        from importlib import resources

        with resources.as_file(resources.files("ragworthy") / "packs" / f"{name}.toml") as bundled:
            return _read_pack(bundled, name)
    return _read_pack(path, shown_path(path))


def _read_pack(path: Path, label: str) -> Pack:
    table = load_toml(path)
    rules = []
    if not isinstance(table.get("id"), str):
        raise data_error("RW-K01", "expected a text, got nothing", where=label, field="id")
    for i, rule in enumerate(table.get("rule", [])):
        patterns = []
        for key in ("locked", "claim"):
            text = rule.get(key) if isinstance(rule, dict) else None
            if not isinstance(text, str):
                raise data_error("RW-K01", "expected a pattern, got nothing", where=label, field=f"rule[{i}].{key}")
            try:
                patterns.append(re.compile(text))
            except re.error as error:
                message = f"expected a regular expression, got one that fails: {error}"
                raise data_error("RW-K01", message, where=label, field=f"rule[{i}].{key}") from None
        rules.append((patterns[0], patterns[1]))
    if not rules:
        raise data_error("RW-K01", "expected [[rule]] tables, got none", where=label)
    return Pack(table["id"], tuple(rules), sha256_of(path))


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """The seal of a frozen gold set."""

    schema: str
    gold: str
    sha256: str
    items: int
    item_sha256: dict[str, str]
    frozen_at: str
    signers: list[str]
    reason: str
    history: list[dict[str, Any]]


def lock_path(gold: Path) -> Path:
    """Where the lock of a gold file stands: beside it, with the suffix .lock.

    >>> lock_path(Path("eval/gold.jsonl.gz")).as_posix()
    'eval/gold.lock'
    """
    name = gold.name
    for suffix in (".gz", ".zst", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return gold.with_name(f"{name}.lock")


def load_lock(path: Path) -> Lock:
    """Read a lock file."""
    where = shown_path(path)
    try:
        lock = msgspec.json.decode(read_text(path), type=Lock)
    except msgspec.MsgspecError as error:
        raise data_error("RW-L01", f"expected a lock file, got: {error}", where=where) from None
    if lock.schema != LOCK_SCHEMA:
        raise data_error("RW-L01", f'expected "{LOCK_SCHEMA}", got "{lock.schema}"', where=where, field="schema")
    return lock


class Earlier(NamedTuple):
    """An earlier report, as far as a comparison needs it."""

    path: str
    sha256: str
    verdict: str
    suite: dict[str, Any]
    gates: list[dict[str, Any]]


def load_report(path: Path, suite: str) -> Earlier:
    """Read a JSON report written by an earlier run."""
    where = shown_path(path)
    try:
        report = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise data_error("RW-B01", f"expected a JSON report, got: {error}", where=where) from None
    if not isinstance(report, dict) or report.get("schema") != REPORT_SCHEMA:
        raise data_error("RW-B01", f'expected schema "{REPORT_SCHEMA}", got something else', where=where)
    found = report.get("suites", {}).get(suite)
    if not isinstance(found, dict):
        raise data_error("RW-B01", f"expected the suite {suite}, got a report without it", where=where)
    return Earlier(where, sha256_of(path), str(report.get("verdict")), found, list(report.get("gates", [])))


def as_baseline(earlier: Earlier, unlike: str | None) -> Baseline:
    """The numbers of an earlier report as exact fractions."""
    values: dict[tuple[str | None, str], Fraction] = {}
    groups = {None: earlier.suite.get("metrics", {})} | dict(earlier.suite.get("slices", {}))
    try:
        for name, metrics in groups.items():
            for metric, number in metrics.items():
                if number.get("value") is None:
                    continue
                den = number.get("den")
                values[name, metric] = Fraction(number["num"], den) if den else Fraction(number["num"])
        thresholds = {(g["metric"], g["op"], g.get("slice")): str(g["threshold"]) for g in earlier.gates}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = Problem(
            "RW-B01", f"expected a Ragworthy report, got one with a damaged part: {error!r}", earlier.path
        )
        raise DataError([problem]) from None
    return Baseline(values, thresholds, unlike)
