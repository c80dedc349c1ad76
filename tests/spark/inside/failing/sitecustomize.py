"""Python reads this when it starts: processes of executors then fail as often, and in the way, that the environment
says, or have another version. The driver stays as it is.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def failing(how: str, times: int, marks: Path) -> None:
    """Make the task fail before it gives its result, so many times in all processes together."""
    from ragworthy.spark import task

    plain = task._result

    def result(*given: Any) -> Any:
        for nth in range(times):
            try:
                (marks / str(nth)).touch(exist_ok=False)
            except FileExistsError:
                continue
            if how == "wait":
                time.sleep(60)
            if how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "kill the executor":
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
            raise RuntimeError("no more memory for this task")
        return plain(*given)

    vars(task)["_result"] = result


if "pyspark.daemon" in sys.orig_argv:
    if version := os.environ.get("OTHER_VERSION"):
        from ragworthy import names

        names.VERSION = version
    if how := os.environ.get("FAILING"):
        failing(how, int(os.environ["TIMES"]), Path(os.environ["MARKS"]))
