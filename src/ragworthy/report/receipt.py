"""The receipt: the canonical record (RFC 8785) from which a verdict re-derives."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import read_bytes, sha256_of, write_whole
from ragworthy.names import VERSION, Verdict
from ragworthy.records import SchemaOnly, explained
from ragworthy.report.part import Part
from ragworthy.text import clip

SCHEMA = "ragworthy.receipt/1"


def build(
    report: dict[str, Any],
    parts: Sequence[Part],
    request: dict[str, Any],
    files: dict[str, Path],
    root: Path,
    moved: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """The canonical bytes. `files` are all inputs by role; their paths are kept relative to `root`, those of `moved` as
    they were.
    """
    import rfc8785

    body = {
        "schema": SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "inputs": [
            {"role": role, "path": moved.get(role) or relative(path, root), "sha256": sha256_of(path)}
            for role, path in sorted(files.items())
        ],
        "request": request,
        "suites": {part.suite: _suite(part) for part in parts},
        "gates": [_gate(gate) for gate in report["gates"]],
        "invalid": report["invalid"],
        "verdict": report["verdict"],
        "exit_code": report["exit_code"],
        "report_sha256": report_hash(report),
    }
    return rfc8785.dumps(_written(body))


def report_hash(report: dict[str, Any]) -> str:
    """The hash of a report, without the paths people happened to type."""
    import rfc8785

    return hashlib.sha256(rfc8785.dumps(_written(_derived(report)))).hexdigest()


_OF_GATE = ("metric", "op", "threshold", "slice", "evidence", "num", "den", "outcome", "waiver")


def _gate(gate: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a gate; of one that compares, how sure its loss is, p-values as texts."""
    kept = {key: gate.get(key) for key in _OF_GATE} | {key: gate[key] for key in ("pack", "instead") if key in gate}
    paired = gate.get("paired")
    if paired is None or "without" in paired:
        return kept | ({"paired": paired} if paired else {})
    counts = {key: paired[key] for key in ("min_effect", "worse", "better", "changed", "cases", "clusters")}
    sure = [key for key in ("p", "adjusted", "alpha", "evalue") if paired.get(key) is not None]
    rest = {"unerrored": _sure(paired["unerrored"])} if "unerrored" in paired else {}
    return kept | {"paired": counts | {key: f"{paired[key]:.12g}" for key in sure} | rest}


def _sure(rest: dict[str, Any]) -> dict[str, Any]:
    """How sure the loss of the questions without errors is, numbers that are not whole as texts."""
    return {key: f"{one:.12g}" if isinstance(one, float) else one for key, one in rest.items()}


_SAFE = 1 << 53
"""Canonical JSON has no whole numbers beyond this."""


def _written(value: Any) -> Any:
    """The same with numbers that canonical JSON cannot hold as texts: traces may cite whatever they like."""
    if isinstance(value, dict):
        return {key: _written(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(one) for one in value]
    return str(value) if isinstance(value, int) and not -_SAFE < value < _SAFE else value


def _suite(part: Part) -> dict[str, Any]:
    body = part.body
    kept = {key: body[key] for key in ("profile", "settings", "frozen", "counts", "labels", "provenance")}
    summary = {
        name: {key: metric[key] for key in ("num", "den", "n", "exact", "undefined") if key in metric}
        for name, metric in body["metrics"].items()
    }
    return kept | part.evidence | {"summary": summary}


def _derived(report: dict[str, Any]) -> dict[str, Any]:
    """The report without the paths people happened to type."""
    suites = {}
    for name, suite in report["suites"].items():
        inputs = [{key: one[key] for key in ("role", "sha256", "records")} for one in suite["inputs"]]
        warnings = [{key: one[key] for key in ("code", "count", "qids")} for one in suite["warnings"]]
        compared = {"compared": suite["compared"] | {"against": None}} if suite.get("compared") else {}
        suites[name] = suite | {"inputs": inputs, "warnings": warnings} | compared
    return report | {"suites": suites, "provenance": None}


def relative(path: Path, root: Path) -> str:
    """A path as the receipt keeps it. Folders are taken as they really lie: `..` behind a link leads elsewhere."""
    whole = Path(os.path.realpath(path.parent)) / path.name
    return Path(os.path.relpath(whole, os.path.realpath(root))).as_posix()


def write(path: Path, data: bytes) -> None:
    """Write a receipt, with one line end behind the canonical bytes."""
    write_whole(path, data + b"\n")


class Input(msgspec.Struct, frozen=True):
    """A file that decides the result."""

    role: str
    path: str
    sha256: str


class _Tool(msgspec.Struct, frozen=True):
    version: str


class AskedGate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A gate as it was asked for."""

    metric: str
    op: str
    threshold: str
    slice: str | None
    min_n: int
    evidence: str
    must_pass: list[str]
    optional: bool
    review: list[str] | None
    why: str | None
    suite: str | None
    min_effect: str | None = None
    rerun: bool = False
    usual: bool = False
    pack: str | None = None
    instead: str | None = None
    replaces: bool = False
    kept: bool = False
    """Whether nobody named it; what an earlier version wrote does not say."""


class AskedAttempts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often this was tried."""

    count: int
    chain: list[str]
    commit: str


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What the files do not say: flags; without a policy the settings and gates too."""

    unfrozen: bool
    allow_gold_errors: bool
    baseline_from_command_line: bool | None = None
    allow: list[str] | None = None
    """What was let differ from the baseline or from live."""
    commit: str | None = None
    """The commit that was judged, where it is known."""
    today: date | None = None
    """The day on which the waivers of the policy were judged."""
    suite: str | None = None
    trec: bool | None = None
    settings: dict[str, Any] | None = None
    alpha: str | None = None
    seed: int | None = None
    cluster: str | None = None
    """How losses were to be proven, where that was said."""
    gates: list[AskedGate] | None = None
    defaults: bool = True
    """Whether rules of the suite hold besides."""
    plugins: list[dict[str, str]] | None = None
    """Code from elsewhere that was run, by name, version and hash."""
    packs: list[dict[str, str]] | None = None
    """The gate packs that were named, by name and hash."""
    packs_from_command_line: list[str] | None = None
    """Those of them that the policy does not have."""
    attempts: AskedAttempts | None = None
    """The runs on the same gold set and commit, as a store of earlier runs counted them."""


class Receipt(msgspec.Struct, frozen=True):
    """What verifying needs to know of a receipt."""

    schema: str
    tool: _Tool
    inputs: list[Input]
    request: Asked
    verdict: Verdict


class _Head(msgspec.Struct, frozen=True):
    """As much of a receipt as every version has."""

    tool: _Tool


def read(path: Path) -> tuple[Receipt | None, dict[str, Any], bytes]:
    """A receipt: what verifying needs, everything it says, and its canonical bytes.

    Of a receipt that another version made only the version is looked at: it may have another shape.
    """
    import rfc8785

    data = read_bytes(path)
    where = str(path)
    try:
        schema = msgspec.json.decode(data, type=SchemaOnly).schema
        if schema != SCHEMA:
            raise data_error("RW-R01", f'expected "{SCHEMA}", got "{schema}"', where=where, field="schema")
        body = json.loads(data)
        canonical = rfc8785.dumps(body)
        if data != canonical + b"\n":
            raise data_error("RW-R02", "expected canonical JSON, got bytes that were edited", where=where)
        ours = msgspec.json.decode(data, type=_Head).tool.version == VERSION
        receipt = msgspec.json.decode(data, type=Receipt) if ours else None
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        if b"\\ud" in data.lower() and "truncated" in message:
            message = "expected a receipt, got half of a surrogate pair (\\ud8xx)"
        message = f"expected a receipt, got: {message}" if message.startswith("JSON") else message
        raise data_error("RW-R01", message, where=where, field=field) from None
    except (rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        raise data_error("RW-R01", f"expected a receipt, got: {error}", where=where) from None
    return receipt, body, canonical


_MOST_DIFFERENCES = 20
_SHOWN = 120
_NOTHING = object()


def differences(ours: Any, theirs: Any) -> list[str]:
    """The places in which two receipts differ, in words; true is not 1, and null is not nothing."""
    found = list(islice(_differing(ours, theirs, ""), _MOST_DIFFERENCES + 1))
    return found if len(found) <= _MOST_DIFFERENCES else [*found[:-1], "… and more"]


def _differing(ours: Any, theirs: Any, place: str) -> Iterator[str]:
    if type(ours) is type(theirs) and isinstance(ours, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from _differing(ours.get(key, _NOTHING), theirs.get(key, _NOTHING), f"{place}.{key}".lstrip("."))
    elif type(ours) is type(theirs) and isinstance(ours, list) and len(ours) == len(theirs):
        for nth, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differing(one, other, f"{place}[{nth}]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{place}: the receipt says {_json(theirs)}, re-derived {_json(ours)}"


def _json(value: Any) -> str:
    return "nothing" if value is _NOTHING else clip(json.dumps(value, ensure_ascii=False), _SHOWN)
