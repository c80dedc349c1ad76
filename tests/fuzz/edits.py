"""What can be done to a file, as plain data, so that a case can be kept, repeated and made smaller.

An edit that does not fit what it meets (an earlier one was left out) changes nothing.
"""

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import zstandard

from fuzz import recipes, tree
from fuzz.case import Edit


class Place(NamedTuple):
    """What is at a path in place of a regular file."""

    what: str
    target: str = ""


Files = dict[str, "bytes | Place"]


def edited(files: Files, commands: list[list[str]], edits: list[Edit]) -> tuple[Files, list[list[str]]]:
    """The files after all edits, and the commands with the names that files then have."""
    files = dict(files)
    for edit in edits:
        if edit["do"] == "pack":
            commands = _renamed(files, commands, edit)
        elif edit["do"] == "fit":
            _fit(files, edit)
        else:
            data = files.get(edit["file"], b"")
            if isinstance(data, bytes):
                files[edit["file"]] = _ACTS[edit["do"]](data, edit)
    return files, commands


def _splice(data: bytes, edit: Edit) -> bytes:
    start = edit["at"]
    return data[:start] + base64.b64decode(edit["put"]) + data[start + edit["cut"] :]


def splice(file: str, start: int, cut: int, put: bytes = b"") -> Edit:
    """Bytes out, others in."""
    return {"do": "splice", "file": file, "at": start, "cut": cut, "put": base64.b64encode(put).decode()}


def _line(data: bytes, edit: Edit) -> bytes:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    at, text = edit["at"], edit.get("text", "")
    if at > len(lines):
        return data
    if edit["act"] == "insert":
        lines.insert(at, text)
    elif at < len(lines):
        lines[at : at + 1] = [text] if edit["act"] == "set" else []
    return "\n".join(lines).encode("utf-8", "surrogatepass" if edit.get("surrogates") else "surrogateescape")


def _node(data: bytes, edit: Edit) -> bytes:
    """Change one place of one JSON document: a line of JSON lines, or the whole file (`line` is null)."""
    try:
        lines = data.decode("utf-8").split("\n") if edit["line"] is not None else [data.decode("utf-8")]
        at = edit["line"] or 0
        value = tree.change(tree.parse(lines[at]), edit["path"], edit["act"], edit.get("value", ""))
        lines[at] = tree.dump(value, plain=edit.get("plain", False))
    except (ValueError, IndexError, RecursionError):
        return data
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _put(data: bytes, edit: Edit) -> bytes:
    """A whole new text, or what a recipe makes of it."""
    if "recipe" in edit:
        made: bytes = getattr(recipes, edit["recipe"])()
        return made
    return str(edit["text"]).encode("utf-8", "surrogatepass")


def _become(data: bytes, edit: Edit) -> "bytes | Place":
    return Place(edit["what"], edit.get("target", ""))


def _canonical(data: bytes, edit: Edit) -> bytes:
    """The JSON as a receipt is written, where it can be."""
    import rfc8785

    try:
        return rfc8785.dumps(json.loads(data)) + b"\n"
    except (ValueError, RecursionError, rfc8785.CanonicalizationError):
        return data


_ACTS: dict[str, Callable[[bytes, Edit], Any]] = {
    "splice": _splice,
    "line": _line,
    "node": _node,
    "put": _put,
    "become": _become,
    "canonical": _canonical,
}


def _renamed(files: Files, commands: list[list[str]], edit: Edit) -> list[list[str]]:
    """Pack a file; its new name goes into the commands and into every TOML file that names it."""
    old, new = edit["file"], edit["as"]
    data = files.pop(old, b"")
    if not isinstance(data, bytes):
        files[old] = data
        return commands
    stored = packed(data, new, edit.get("frames", 1))
    if stored is None:
        files[old] = data
        return commands
    files[new] = stored
    for name, text in files.items():
        if name.endswith(".toml") and isinstance(text, bytes):
            files[name] = text.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    return [[new if arg == old else arg for arg in command] for command in commands]


def packed(data: bytes, name: str, frames: int = 1) -> bytes | None:
    """The bytes as a file of this name holds them; None where it cannot."""
    if name.endswith(".gz"):
        return gzip.compress(data, compresslevel=1, mtime=0)
    if name.endswith(".zst"):
        compressor = zstandard.ZstdCompressor(write_checksum=len(data) % 2 == 0)
        half = len(data) // 2 if frames > 1 else 0
        return (compressor.compress(data[:half]) if half else b"") + compressor.compress(data[half:])
    return _parquet(data)


def _parquet(data: bytes) -> bytes | None:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        fields = dict.fromkeys(field for row in rows for field in row)
        table = pa.Table.from_pylist([{field: row.get(field) for field in fields} for row in rows])
        out = io.BytesIO()
        parquet.write_table(table, out, compression=None)
    except (TypeError, ValueError, AttributeError, OverflowError, NotImplementedError, RecursionError):
        return None
    return out.getvalue()


def _fit(files: Files, edit: Edit) -> None:
    """Write the hashes again that a manifest or a receipt has of other files, so that damage is not found by them."""
    name = edit["file"]
    data = files.get(name)
    if not isinstance(data, bytes):
        return
    try:
        body = json.loads(data)
        if name.endswith("manifest.json"):
            _fit_manifest(files, name.removesuffix("manifest.json"), body)
            files[name] = json.dumps(body, indent=2, ensure_ascii=False).encode() + b"\n"
        else:
            for one in body["inputs"]:
                held = files.get(one["path"])
                if isinstance(held, bytes):
                    one["sha256"] = hashlib.sha256(held).hexdigest()
            files[name] = _canonical(json.dumps(body).encode(), edit)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnicodeEncodeError):
        return


def _fit_manifest(files: Files, folder: str, body: Any) -> None:
    listed = [(inner, one) for inner, one in body["files"].items()]
    listed += [(one["file"], one) for one in body["documents"]]
    for inner, one in listed:
        held = files.get(f"{folder}{inner}")
        if isinstance(held, bytes):
            one["bytes"], one["sha256"] = len(held), hashlib.sha256(held).hexdigest()
