"""Bundles taken apart, changed and put together again, as somebody who forges one would do it."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rfc8785

from ragworthy.proof import zipped

Files = dict[str, bytes]


def files_of(path: Path) -> Files:
    """Every file of a bundle."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(path: Path, files: Files) -> Path:
    """A zip with these files, in the very form that ragworthy writes."""
    folder = path.with_suffix(".files")
    entries = []
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        entries.append(zipped.entry(name, target))
    zipped.write(path, entries)
    return path


def sealed(files: Files) -> Files:
    """The same with a manifest that fits: whoever forges a file forges its hash, too."""
    body = json.loads(files["manifest.json"])
    roles = {one["name"]: one["roles"] for one in body["files"]}
    body["files"] = [
        {"bytes": len(data), "name": name, "roles": roles.get(name, []), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sorted(files.items())
        if not name.startswith("manifest.json")
    ]
    return files | {"manifest.json": rfc8785.dumps(body) + b"\n"}


def canonical(data: bytes, change: Callable[[Any], None]) -> bytes:
    """Canonical JSON with something changed, canonical again."""
    body = json.loads(data)
    change(body)
    return rfc8785.dumps(body) + b"\n"
