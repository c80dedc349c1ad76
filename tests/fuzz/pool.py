"""The worker process seen from outside: asked, watched, killed when it hangs, started again when it is gone."""

import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.case import Case, from_json

PATIENCE = 20.0
"""Seconds after which a case counts as hanging."""
MEMORY = 3 << 30
"""Bytes that a worker may take beyond what it has at its start."""
_HERE = Path(__file__).parent
_SHARED = Path("/dev/shm")
_START = 60.0


class Result(NamedTuple):
    """What became of one case."""

    case: Case
    codes: list[int]
    problem: str
    blame: str


class Pool:
    """One worker at a time; use it as a context."""

    def __init__(self, patience: float = PATIENCE, memory: int = MEMORY) -> None:
        self._patience, self._memory = patience, memory
        # thousands of small files a minute: in memory where that is possible
        self._root = Path(tempfile.mkdtemp(prefix="ragworthy-fuzz-", dir=_SHARED if _SHARED.is_dir() else None))
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        shutil.rmtree(self._root, ignore_errors=True)

    def number(self, seed: int, number: int, kind: str | None) -> Result:
        """Run case `number` of a seed."""
        return self._ask({"seed": seed, "number": number, "kind": kind})

    def case(self, case: Case) -> Result:
        """Run a case that is already there."""
        return self._ask({"case": case._asdict()})

    def _ask(self, request: dict[str, Any]) -> Result:
        process = self._worker()
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        # the case is run two to four times; the worker itself writes down where it is after `patience`
        answer = self._read(process, self._patience + 2.0)
        if answer is not None and "broken" in answer:
            raise RuntimeError(f"the harness itself failed on {request}:\n{answer['broken']}")
        case = from_json(json.loads((self._root / "current").read_text(encoding="utf-8")))
        if answer is not None:
            return Result(case, answer["codes"], answer["problem"], answer["blame"])
        code = process.poll()
        stack = (self._root / "current.stack").read_text(encoding="utf-8")
        said = self._errors()
        self._stop()
        if code is None:
            return Result(case, [], f"did not end within {self._patience:g} s", _innermost(stack))
        return Result(case, [], f"the process died (exit {code}): {said[-300:]}", "")

    def _worker(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_search_path()), "NO_COLOR": "1"}
            self._log = (self._root / "stderr").open("w+")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker", str(self._root), str(self._patience), str(self._memory)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, env=environment,
            )  # fmt: skip
            if self._read(self._process, _START) is None:
                raise RuntimeError(f"the worker does not start: {self._errors()}")
        return self._process

    def _read(self, process: "subprocess.Popen[str]", seconds: float) -> dict[str, Any] | None:
        """One answer; None when the time is over or the process is gone."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        line = process.stdout.readline()
        if not line:
            process.wait()
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _errors(self) -> str:
        return (self._root / "stderr").read_text(encoding="utf-8", errors="replace")

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._log):
                if stream is not None:
                    stream.close()
            self._process = None


def _search_path() -> list[str]:
    inherited = os.environ.get("PYTHONPATH", "")
    return [str(_HERE.parent), *(part for part in inherited.split(os.pathsep) if part)]


def _innermost(stack: str) -> str:
    """The lines of Ragworthy that a hanging process is in, the innermost first."""
    found = re.findall(r'File "[^"]*ragworthy/([^"]+)", line (\d+) in (\w+)', stack)
    return "hangs at " + " < ".join(f"{file}:{line} {name}" for file, line, name in found[:3])
