"""Which pipeline left the answers that are scored, as the run beside them says it."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.report.part import Part
from ragworthy.suites import SUITES
from ragworthy.suites.request import Request

RUN, LARGEST_RUN = "run.json", 1 << 20
"""What `ragworthy run` writes beside its traces, and so many bytes of it are read at the most."""
_HASHES = ("traces_sha256", "outputs_sha256")


def targets_of(requests: Sequence[Request], parts: Sequence[Part]) -> dict[str, dict[str, str]]:
    """What was asked for the answers of each suite, where the run that left them says so."""
    found = {}
    for request, part in zip(requests, parts, strict=True):
        hashes = {one["sha256"] for one in part.body["inputs"]}
        paths = [request.get(one.key) for one in SUITES[request.suite].inputs if one.of_run]
        if targets := [name for path in paths if (name := _target_of(path, hashes)) is not None]:
            found[part.suite] = {"target": targets[0]}
    return found


def _target_of(path: Any, hashes: Container[str]) -> str | None:
    """The target that traces or outputs came from, where the run beside them says so and names their bytes by one of
    the `hashes`; None where nothing does. It is told and never judged, so a file that is no such summary says nothing.
    """
    beside = Path(path).with_name(RUN) if isinstance(path, (str, Path)) else None
    if beside is None or not beside.is_file() or beside.stat().st_size > LARGEST_RUN:
        return None
    try:
        told = msgspec.json.decode(beside.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    target = told.get("target")
    ours = any(told.get(key) in hashes for key in _HASHES if isinstance(told.get(key), str))
    return target if ours and isinstance(target, str) else None
