"""How lines of a history.jsonl hang together: each names the one before it, and the ledger seals what it says."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEAD, STORE, PREVIOUS = "head", "store", "previous"
"""The last hash of the ledger, the first one, by which a store is known, and the hash of the line before."""


def line_hash(line: str) -> str:
    """The hash of a line, whatever spaces it has; of one that was cut off, that of its text.

    >>> line_hash('{"run": 1}') == line_hash('{"run":1}\\n'), line_hash('{"run": 1') == line_hash('{"run":1')
    (True, False)
    """
    try:
        text = json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"))
    except ValueError:
        text = line.strip()
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(entry: Mapping[str, Any]) -> str:
    """The hash by which the ledger knows a line: all of it but what follows from the ledger itself."""
    return line_hash(json.dumps({key: one for key, one in entry.items() if key not in (HEAD, STORE)}))


def last_of(path: Path) -> str | None:
    """The hash of the last line of a file; None where there is none."""
    if not path.is_file():
        return None
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return line_hash(lines[-1]) if lines else None
