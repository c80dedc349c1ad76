"""A writer of traces for pipelines: append-only, safe across threads and processes, never in the pipeline's way."""

import json
import os
import threading
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class TraceWriter:
    """Appends one trace a line to a JSONL file.

    A line is written with one system call in append mode, so that threads and processes can share a file. A trace
    that cannot be written never raises into the pipeline: it is counted in `lost`, the last reason stands in
    `last_error`, and a warning is shown once.

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
        self._lock = threading.Lock()
        self._file: int | None = None
        self._owner = 0

    def write(
        self,
        qid: str,
        *,
        retrieved_ids: list[str],
        claim: str | None = None,
        citations: list[str] | None = None,
        constraints_echo: list[str] | None = None,
        error: Any = None,
        **more: Any,
    ) -> None:
        """Append one trace; `more` is kept as it is (`q`, `seed`, `stage_ms` …)."""
        answer: dict[str, Any] = {"claim": claim, "citations": citations or []}
        if constraints_echo is not None:
            answer["constraints_echo"] = constraints_echo
        trace: dict[str, Any] = {"qid": qid, **more, "retrieved_ids": retrieved_ids, "answer_json": answer}
        if error is not None:
            trace |= {"answer_json": None, "error": str(error)}
        try:
            line = json.dumps(trace, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"
            with self._lock:
                self._append(line)
                self.written += 1
        except Exception as reason:  # noqa: BLE001 - observing a pipeline must never break it
            self._lose(reason)

    def _append(self, line: bytes) -> None:
        if self._file is None or self._owner != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            self._owner = os.getpid()
        if os.write(self._file, line) != len(line):
            os.write(self._file, b"\n")
            raise OSError("the disk is full: the line was cut")

    def _lose(self, reason: Exception) -> None:
        self.last_error = f"{type(reason).__name__}: {reason}"
        self.lost += 1
        if self.lost == 1:
            try:
                warnings.warn(f"ragworthy: a trace was not written ({self.last_error})", RuntimeWarning, stacklevel=3)
            except RuntimeWarning:
                return  # warnings are errors in this process; the counter still tells

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
