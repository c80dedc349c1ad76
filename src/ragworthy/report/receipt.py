"""The receipt: the canonical record (RFC 8785) from which a verdict re-derives."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import check_readable, sha256_of, write_whole
from ragworthy.names import VERSION
from ragworthy.records import SchemaOnly, explained
from ragworthy.report.findings import Part

SCHEMA = "ragworthy.receipt/1"


def build(
    report: dict[str, Any], parts: Sequence[Part], request: dict[str, Any], files: dict[str, Path], root: Path
) -> bytes:
    """The canonical bytes. `files` are all inputs by role; their paths are kept relative to `root`."""
    import rfc8785

    body = {
        "schema": SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "inputs": [
            {"role": role, "path": _relative(path, root), "sha256": sha256_of(path)}
            for role, path in sorted(files.items())
        ],
        "request": request,
        "suites": {part.suite: _suite(part) for part in parts},
        "gates": [
            {
                key: gate.get(key)
                for key in (
                    "metric",
                    "op",
                    "threshold",
                    "slice",
                    "evidence",
                    "num",
                    "den",
                    "outcome",
                    "waiver",
                )
            }
            for gate in report["gates"]
        ],
        "invalid": report["invalid"],
        "verdict": report["verdict"],
        "exit_code": report["exit_code"],
        "report_sha256": hashlib.sha256(rfc8785.dumps(_derived(report))).hexdigest(),
    }
    return rfc8785.dumps(body)


def _suite(part: Part) -> dict[str, Any]:
    body = part.body
    kept = {key: body[key] for key in ("profile", "settings", "frozen", "counts", "labels")}
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
        suites[name] = suite | {"inputs": inputs, "warnings": warnings}
    return report | {"suites": suites, "provenance": None}


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path.absolute(), root.absolute())).as_posix()


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


class Receipt(msgspec.Struct, frozen=True):
    """What verifying needs to know of a receipt."""

    schema: str
    tool: _Tool
    inputs: list[Input]
    request: dict[str, Any]
    verdict: str


def read(path: Path) -> tuple[Receipt, dict[str, Any], bytes]:
    """A receipt: what verifying needs, everything it says, and its canonical bytes."""
    import rfc8785

    check_readable(path)
    data = path.read_bytes()
    where = str(path)
    try:
        schema = msgspec.json.decode(data, type=SchemaOnly).schema
        if schema != SCHEMA:
            raise data_error("RW-R01", f'expected "{SCHEMA}", got "{schema}"', where=where, field="schema")
        receipt, body = msgspec.json.decode(data, type=Receipt), json.loads(data)
        canonical = rfc8785.dumps(body)
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        if b"\\ud" in data.lower() and "truncated" in message:
            message = "expected a receipt, got half of a surrogate pair (\\ud8xx)"
        message = f"expected a receipt, got: {message}" if message.startswith("JSON") else message
        raise data_error("RW-R01", message, where=where, field=field) from None
    except (rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        raise data_error("RW-R01", f"expected a receipt, got: {error}", where=where) from None
    if data != canonical + b"\n":
        raise data_error("RW-R02", "expected canonical JSON, got bytes that were edited", where=where)
    return receipt, body, canonical


def files_of(receipt: Receipt, root: Path) -> dict[str, Path]:
    """The inputs a receipt names, by role."""
    return {one.role: root / one.path for one in receipt.inputs}


def moved(receipt: Receipt, root: Path) -> list[str]:
    """Inputs whose bytes are not those of the receipt, in words."""
    lines = []
    for one in receipt.inputs:
        path = root / one.path
        if not path.is_file():
            lines.append(f"{one.role}: {one.path} is not there")
        elif (now := sha256_of(path)) != one.sha256:
            lines.append(f"{one.role}: {one.path} moved: sha256 was {one.sha256}, is {now}")
    return lines


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """The parts in which two receipts differ, in words."""
    lines = []
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            before, after = (json.dumps(one.get(key), ensure_ascii=False)[:200] for one in (theirs, ours))
            lines.append(f"{key}: the receipt says {before}, re-derived {after}")
    return lines
