"""A writer of traces for pipelines: append-only, safe across threads and processes, never in the pipeline's way."""

import json
import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragworthy.load.values import Refused, endless, plain, taken_apart
from ragworthy.text import described


def _line(trace: dict[str, Any]) -> tuple[bytes, str]:
    """A trace as a line, and what is wrong with it: then the line says so, as an error of its question."""
    written: dict[str, Any] = {}
    try:
        written = plain(trace)
        wrong = endless(written) or _misplaced(written)
    except Refused as refused:
        wrong = str(refused)
    except RecursionError:
        wrong = "expected what JSON can hold, got something nested too deeply"
    if wrong:
        written = {"qid": plain(trace["qid"]), "retrieved_ids": [], "answer_json": None, "error": f"bad trace: {wrong}"}
    return json.dumps(written, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n", wrong


def _misplaced(trace: dict[str, Any]) -> str:
    """The first field of a trace that no scorer could read."""
    answer = dict(trace.get("answer_json") or {})
    claim = answer.pop("claim", None)
    if claim is not None and not isinstance(claim, str):
        return f"claim: expected a text, got {described(claim)}"
    for name, given in {"retrieved_ids": trace.get("retrieved_ids", []), **answer}.items():
        if isinstance(given, str):
            return f"{name}: {taken_apart(given)}"
        if not isinstance(given, list):
            return f"{name}: expected a list of texts, got {described(given)}"
        for n, one in enumerate(given):
            if not isinstance(one, str):
                return f"{name}[{n}]: expected a text, got {described(one)}"
    return ""


class TraceWriter:
    """Appends one trace per line to a JSONL file.

    A line is written with one system call in append mode, so that threads and processes can share a file. It never
    raises into the pipeline. A value that JSON cannot hold makes the trace one with an `error` that names the field. A
    trace that cannot be written at all is counted in `lost`, the last reason is in `last_error`, and a warning is
    shown once.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "traces.jsonl"
    >>> with TraceWriter(path) as traces:
    ...     traces.write(qid="A1", retrieved_ids=["p1#2"], claim="X rejects null keys.", citations=["p1#2"])
    >>> print(path.read_text(), end="")
    {"qid": "A1", "retrieved_ids": ["p1#2"], "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}}
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.written = 0
        self.lost = 0
        self.last_error: str | None = None
        self._warned: set[str] = set()
        self._lock = threading.Lock()
        self._file: int | None = None
        self._owner = 0

    def write(
        self,
        qid: str,
        *,
        retrieved_ids: Sequence[str],
        claim: str | None = None,
        citations: Sequence[str] | None = None,
        constraints_echo: Sequence[str] | None = None,
        error: Any = None,
        **more: Any,
    ) -> None:
        """Append one trace; `more` is kept as it is (`q`, `seed`, `stage_ms` …)."""
        answer: dict[str, Any] = {"claim": claim, "citations": [] if citations is None else citations}
        if constraints_echo is not None:
            answer["constraints_echo"] = constraints_echo
        trace: dict[str, Any] = {"qid": qid, **more, "retrieved_ids": retrieved_ids, "answer_json": answer}
        if error is not None:
            trace |= {"answer_json": None, "error": error}
        self.append(trace)

    def append(self, record: dict[str, Any]) -> bool:
        """Append a record that is put together already; whether it could be written."""
        try:
            said = {"error": str(record["error"])} if "error" in record else {}
            line, wrong = _line(record | said)
            with self._lock:
                self._append(line)
                self.written += 1
            if wrong:
                self._warn(f"{record['qid']}: {wrong}", "a trace was written as an error")
        except Exception as reason:  # noqa: BLE001 - observing a pipeline must never break it
            self._lose(reason)
            return False
        return True

    def _append(self, line: bytes) -> None:
        if self._file is None or self._owner != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            self._owner = os.getpid()
            line = b"\n" + line if self._is_cut() else line
        if os.write(self._file, line) != len(line):
            os.write(self._file, b"\n")
            raise OSError("the disk is full: the line was cut")

    def _is_cut(self) -> bool:
        """Whether the last line lacks its end: what is appended would be joined to it, and both lost."""
        if not self.path.is_file() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def _lose(self, reason: Exception) -> None:
        self.lost += 1
        self._warn(f"{type(reason).__name__}: {reason}", "a trace was not written")

    def _warn(self, reason: str, what: str) -> None:
        self.last_error = reason
        if what not in self._warned:
            self._warned.add(what)
            try:
                warnings.warn(f"ragworthy: {what} ({reason})", RuntimeWarning, stacklevel=4)
            except RuntimeWarning:
                return  # warnings are errors in this process; the file and the counter still tell

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        with self._lock:
            if self._file is not None and self._owner == os.getpid():
                os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
