"""Spark for tests: whether it is here, commands in a process that has a session, a cluster of real processes."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conftest import Done
from places import TESTS

LACKING = (
    "make test installs pyspark"
    if importlib.util.find_spec("pyspark") is None
    else "apt-get install openjdk-17-jre-headless"
    if shutil.which("java") is None
    else ""
)
"""What is to be done before Spark can run here; empty where it can."""
QUIET = ("spark.ui.enabled=false", "spark.ui.showConsoleProgress=false", "spark.log.level=ERROR")
LOCAL = (*QUIET, "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java for a minute: what its best compiler and its collectors on several threads prepare would never be needed."""
JAVA = dict.fromkeys(("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS"), SHORT)


def environment(**more: str) -> dict[str, str]:
    """What processes of Spark get: the Python of the tests, and its packages."""
    path = str(Path(sys.modules["ragworthy"].__path__[0]).parent)
    own = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
    return os.environ | JAVA | own | more


def commands(master: str, several: Sequence[Sequence[object]], *settings: str, **more: str) -> list[Done]:
    """How some commands ended, one after the other in one process with a session; each begins with its folder."""
    script = TESTS / "spark" / "inside" / "commands.py"
    asked = json.dumps([[str(word) for word in one] for one in several])
    process = subprocess.run(
        [sys.executable, str(script), master, *LOCAL, f"spark.executor.extraJavaOptions={SHORT}", *settings],
        input=asked,
        env=environment(**more),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return [Done(*one) for one in json.loads(process.stdout.splitlines()[-1])]


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """A master and its workers, each a process of its own; gives the URL of the master."""
    import pyspark

    run = str(Path(pyspark.__path__[0]) / "bin" / "spark-class")
    usual = {"SPARK_WORKER_DIR": str(folder / "work"), "SPARK_NO_DAEMONIZE": "1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        kind = "master.Master" if name == "master" else "worker.Worker"
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        with log.open("wb") as file:
            command = [run, f"org.apache.spark.deploy.{kind}", *where, *words]
            started.append(subprocess.Popen(command, stdout=file, stderr=file, env=environment(**usual)))
        return log

    try:
        url = _told(start("master"), r"Starting Spark master at (spark://\S+)")
        logs = [start(f"worker{nth}", "--cores", "1", "--memory", "1g", url) for nth in range(workers)]
        for log in logs:
            _told(log, r"(Successfully registered with master)")
        yield url
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            one.wait(timeout=60)


def _told(log: Path, pattern: str) -> str:
    """What a log says, once it does."""
    for _ in range(600):
        if found := re.search(pattern, log.read_text(encoding="utf-8", errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} never said {pattern}:\n{log.read_text(encoding='utf-8', errors='replace')}")
