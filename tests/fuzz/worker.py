"""The process that cases run in: reads one request a line, writes one answer a line.

Requests: {"seed", "number", "kind"} or {"case"}. Before a case runs it is written to the file `current`, so that the
parent knows it should this process hang or die.
"""

import ctypes
import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

from fuzz import scenarios, target
from fuzz.case import Case, from_json
from fuzz.judge import judge
from fuzz.mutate import make_case
from fuzz.room import Room
from ragworthy.cli import main as entry

_WITH_PARENT = 1
"""PR_SET_PDEATHSIG: a worker that hangs must not outlive the parent that would have killed it."""
_BLAME: list[str] = []
"""Where the last defect happened."""


def _blamed(error: BaseException) -> str:
    """The last lines of Ragworthy on the way to an error."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "ragworthy" in frame.filename]
    places = [f"{frame.filename.rpartition('ragworthy/')[2]}:{frame.lineno} {frame.name}" for frame in ours]
    return f"{type(error).__name__} at {' < '.join(reversed(places[-3:]))}"


def _watch_defects() -> None:
    shown = entry._defect

    def defect(error: Exception) -> int:
        _BLAME[:] = [_blamed(error)]
        return shown(error)

    vars(entry)["_defect"] = defect


def _answer(request: dict[str, Any], room: Room, port: int, current: Path, patience: float) -> dict[str, Any]:
    case: Case
    if "case" in request:
        case = from_json(request["case"])
    else:
        case = make_case(request["seed"], request["number"], request.get("kind"))
    current.write_text(json.dumps(case._asdict()), encoding="utf-8")
    _BLAME.clear()
    with current.with_suffix(".stack").open("w") as stack:
        faulthandler.dump_traceback_later(patience, file=stack)
        found = judge(case, room, port)
        faulthandler.cancel_dump_traceback_later()
    return {"kind": case.kind, "codes": found.codes, "problem": found.problem, "blame": "".join(_BLAME)}


def main() -> None:
    """Work until stdin ends. Arguments: the folder to work in, seconds for a case, bytes of memory."""
    root, patience, memory = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    ctypes.CDLL(None).prctl(_WITH_PARENT, signal.SIGKILL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a case that reads stdin must not read requests
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("error")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(name, None)
    os.environ["RAGWORTHY_STORE"] = "off"  # a history holds the time: its bytes do not repeat
    room = Room(Path(tempfile.mkdtemp(prefix="room-", dir=root)) / "r")
    scenarios.use(room)
    _watch_defects()
    port = target.serve()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    current = root / "current"
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in requests:
        try:
            answer = _answer(json.loads(line), room, port, current, patience)
        except Exception:  # noqa: BLE001 - a mistake of this harness, for the parent to show
            answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
