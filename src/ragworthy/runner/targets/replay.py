"""A target that gives back what was recorded: the traces of an earlier run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.errors import Problem, UsageError, data_error, usage_error
from ragworthy.files import read_text
from ragworthy.runner.contract import Ask, Options, Reply, checked
from ragworthy.runner.reported import code_in, kept_in, raw_in
from ragworthy.text import clip, described

if TYPE_CHECKING:
    from ragworthy.adapters.replies import Rules

USUAL = Options()
_VARIATIONS = ("seed", "jitter", "paraphrase")


class Replay:
    """A file of traces as a target; of several that fit a question the last one counts."""

    def __init__(self, file: str, options: Options = USUAL) -> None:
        if options.prompt:
            message = "expected a target that takes a prompt, got a recording, which was made with one of its own"
            raise UsageError([Problem("RW-U16", message, f"replay:{file}")])
        self.name = f"replay:{file}"
        self._rules = options.rules
        self._path = Path(file)
        self._traces: dict[str, list[dict[str, Any]]] = {}

    async def open(self) -> None:
        """Read the file."""
        if self._path.suffix in (".gz", ".zst", ".parquet"):
            raise usage_error(f"{self.name}: expected a plain .jsonl file")
        for number, line in enumerate(read_text(self._path).split("\n"), 1):
            if line.strip():
                trace = _trace(line, f"{self._path}:{number}")
                self._traces.setdefault(_name(trace), []).append(trace)

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """The recorded trace of this question in this variation."""
        for trace in reversed(self._traces.get(ask.qid, ())):
            if all(trace.get(key) in (None, getattr(ask, key)) for key in _VARIATIONS):
                if trace.get("error") is not None:
                    return self._error(trace)
                return checked(trace, rules=self._outputs)
        return Reply({}, "no recorded trace")

    def _error(self, trace: dict[str, Any]) -> Reply:
        """What was recorded as an error, with what it kept; of an output also its context and its meta."""
        kept = kept_in(trace) | raw_in(trace)
        if self._outputs is not None:
            kept |= checked(trace, rules=self._outputs).fields
        return Reply(kept, clip(str(trace["error"]), 400), code=code_in(trace))

    @property
    def _outputs(self) -> "Rules | None":
        """The rules where outputs are replayed: documents of traces were read when they were recorded."""
        return self._rules if self._rules is not None and self._rules.instead is not None else None

    async def close(self) -> None:
        """Nothing is open."""


def _name(trace: dict[str, Any]) -> Any:
    return trace.get("qid") or trace.get("q_id") or trace.get("id")


def _trace(line: str, where: str) -> dict[str, Any]:
    try:
        trace = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise data_error("RW-F07", f"expected a JSON object, got: {error}", where=where) from None
    if not isinstance(trace, dict):
        raise data_error("RW-F08", f"expected a JSON object, got {described(trace)}", where=where)
    name = _name(trace)
    if not isinstance(name, str):
        got = "nothing" if name is None else described(name)
        raise data_error("RW-T01", f"expected a string, got {got}", where=where, field="qid")
    return trace
