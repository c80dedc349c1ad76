"""A target that gives back what was recorded: the traces of an earlier run."""

from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error, usage_error
from ragworthy.files import read_text
from ragworthy.runner.contract import Ask, Reply, checked
from ragworthy.runner.reported import code_in, kept_in, raw_in
from ragworthy.text import clip, described

_VARIATIONS = ("seed", "jitter", "paraphrase")


class Replay:
    """A file of traces as a target; of several that fit a question the last one counts."""

    def __init__(self, file: str) -> None:
        self.name = f"replay:{file}"
        self._path = Path(file)
        self._traces: dict[str, list[dict[str, Any]]] = {}

    async def open(self) -> None:
        """Read the file."""
        if self._path.suffix in (".gz", ".zst", ".parquet"):
            raise usage_error(f"{self.name}: expected a plain .jsonl file")
        for number, line in enumerate(read_text(self._path).split("\n"), 1):
            if line.strip():
                trace = _trace(line, f"{self._path}:{number}")
                self._traces.setdefault(trace.get("qid") or trace["q_id"], []).append(trace)

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """The recorded trace of this question in this variation."""
        for trace in reversed(self._traces.get(ask.qid, ())):
            if all(trace.get(key) in (None, getattr(ask, key)) for key in _VARIATIONS):
                if trace.get("error") is not None:
                    code = code_in(trace)
                    return Reply(kept_in(trace) | raw_in(trace), clip(str(trace["error"]), 400), code=code)
                return checked(trace)
        return Reply({}, "no recorded trace")

    async def close(self) -> None:
        """Nothing is open."""


def _trace(line: str, where: str) -> dict[str, Any]:
    try:
        trace = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise data_error("RW-F07", f"expected a JSON object, got: {error}", where=where) from None
    if not isinstance(trace, dict):
        raise data_error("RW-F08", f"expected a JSON object, got {described(trace)}", where=where)
    name = trace.get("qid") or trace.get("q_id")
    if not isinstance(name, str):
        got = "nothing" if name is None else described(name)
        raise data_error("RW-T01", f"expected a string, got {got}", where=where, field="qid")
    return trace
