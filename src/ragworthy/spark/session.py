"""A Spark session: one that is there already, or one of our own; and what Spark says, in our words."""

import logging
import os
import re
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from ragworthy.errors import RagworthyError, data_error, missing_extra, usage_error
from ragworthy.suites.request import Progress
from ragworthy.text import clip

LOCAL = "local[*]"
PACKAGES = "pyspark pandas pyarrow"
"""What the extra `spark` brings."""
_PIECE = 64 << 20
"""So many bytes of a plain file are one piece of work at the most."""
_LEAST = 1 << 18
_PIECES = 3
"""So many pieces each core gets of a small input."""
_ROWS = 2000
_MODULE = re.compile(r"No module named '([\w.]+)'")
_TRACEBACK = "Traceback (most recent call last):"
_ENDED = ("stopped SparkContext", "SparkContext was shut down", "SparkContext was stopped")
_REASONS = re.compile(
    r"(All masters are unresponsive[^\n]*|Master removed our application[^\n]*"
    r"|Could not parse Master URL[^\n]*|Master must [^\n]*|Invalid master URL[^\n]*)"
)
"""Why there is no cluster, as the log of Spark says it."""
_CAUSES = re.compile(r"(?:^|\n)(?:Caused by: |: )?(?:[\w$]+\.)*(\w*(?:Exception|Error)): ([^\n]+)")


class Session:
    """A Spark session that is started where it is first needed: what is wrong with a command is said before."""

    def __init__(self, start: Callable[[], Any], log: str = "") -> None:
        self._start = start
        self._spark: Any = None
        self._log = log
        """Where what Spark and Java print goes; named where something goes wrong."""

    @property
    def spark(self) -> Any:
        """The session itself."""
        if self._spark is None:
            with self.told():
                self._spark = self._start()
        return self._spark

    @property
    def started(self) -> bool:
        """Whether there is one by now."""
        return self._spark is not None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors of Spark and of the JVM that are raised meanwhile, as errors of ours."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"pyspark\.")  # of its own dependencies: nobody here can act on it
            try:
                yield
            except RagworthyError:
                raise
            except (PySparkException, Py4JError, ConnectionError) as error:
                raise _ours(str(error), self._log) from None


def _ours(text: str, log: str) -> RagworthyError:
    """What Spark says of a failure."""
    if (module := _MODULE.search(text)) is not None:
        package = module[1].partition(".")[0]
        return data_error("RW-S08", f"expected {package} on every executor, got a Python without it")
    place = f" (its log: {log})" if log else ""
    if "JAVA_GATEWAY_EXITED" in text or any(words in text for words in _ENDED):
        logged = Path(log).read_text(encoding="utf-8", errors="replace") if log else ""
        if reasons := _REASONS.findall(logged):
            reason = clip(reasons[-1].strip(), 300)
            return data_error("RW-S09", f"expected a master that runs applications, got: {reason}{place}")
    code = "RW-S07" if "JAVA_GATEWAY_EXITED" in text or "JAVA_HOME" in text else "RW-S05"
    expected = "Java 17 or later" if code == "RW-S07" else "Spark to read every part"
    return data_error(code, f"expected {expected}, got: {_cause(text)}{place}")


@contextmanager
def own_session(master: str | None) -> Iterator[Session]:
    """A session for one command: the one that this process has, else a new one. What Spark and Java then print goes to
    a file, which is gone if nothing goes wrong.
    """
    check_installed()
    if (there := _active()) is not None:
        if master is not None:
            raise usage_error("--master: expected a process without a Spark session, got one that has its master")
        yield Session(lambda: there)
        return
    with tempfile.NamedTemporaryFile("w+", prefix="ragworthy-spark-", suffix=".log", delete=False) as log:

        def start() -> Any:
            logging.getLogger().addHandler(logging.NullHandler())  # else py4j prints a trace of each interruption
            with _quietly(log.fileno()):
                spark = _started(master)
            if threading.current_thread() is threading.main_thread():  # Spark's own handler talks to the JVM meanwhile
                signal.signal(signal.SIGINT, signal.default_int_handler)
            return spark

        session = Session(start, log.name)
        named = False
        try:
            yield session
        except RagworthyError as error:
            named = log.name in str(error)
            raise
        finally:
            if session.started:
                # Nothing that goes wrong at the end may take the place of what ended it, as an interruption does.
                with _quietly(log.fileno()), suppress(Exception):
                    session.spark.stop()
            if not named:
                Path(log.name).unlink(missing_ok=True)


def session_of(given: Any, master: str | None) -> Session:
    """A session from Python: the one that is given, else one that stays for the next call."""
    check_installed()
    if given == "spark":
        return Session(lambda: _started(master))
    if master is not None:
        raise usage_error('master: expected engine="spark" besides it, got a session, which has its own')
    if not hasattr(given, "sparkContext") or type(given).__module__.startswith("pyspark.sql.connect"):
        raise usage_error("engine: expected a SparkSession of its own process, not one of Spark Connect")
    return Session(lambda: given)


def check_installed() -> None:
    """Say what to install where the packages of the extra are not there."""
    for package in PACKAGES.split():
        if find_spec(package) is None:
            raise missing_extra(PACKAGES, "spark", "--engine spark")


def _active() -> Any:
    """The session that this process has by now; None where there is none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _started(master: str | None) -> Any:
    from pyspark.sql import SparkSession

    # An executor on this machine has the packages that this process has; elsewhere the cluster says which Python it is.
    if (master or LOCAL).startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("ragworthy")
    submitted = os.environ.get("PYSPARK_GATEWAY_PORT") is not None  # spark-submit has said which master it is
    if master is not None or not (submitted or _configured()):
        builder = builder.master(master or LOCAL)
        if (master or LOCAL).startswith("local"):
            here = {
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.ui.enabled": "false",
            }
            for key, value in here.items():
                builder = builder.config(key, value)
    for key, value in {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _configured() -> bool:
    """Whether spark-defaults.conf names a master."""
    home = os.environ.get("SPARK_CONF_DIR") or (os.environ.get("SPARK_HOME", "") + "/conf")
    with suppress(OSError):
        lines = (Path(home) / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
        return any(re.match(r"\s*spark\.master[\s=:]", line) for line in lines)
    return False


def work_session(session: Any, size: int, held: int) -> Any:
    """The same session with settings of our own: where a file is cut must not depend on who is there at the moment.

    `held` is the size of what every piece is read against, the gold set: with a large one there are fewer pieces.
    """
    share = size // max(session.sparkContext.defaultParallelism, 1)
    piece = min(max(_PIECE, 4 * held), max(_LEAST, share if held > share // _PIECES else share // _PIECES))
    ours = session.newSession()
    for key, value in {
        "spark.sql.files.maxPartitionBytes": piece,
        "spark.sql.files.minPartitionNum": 1,
        "spark.sql.files.openCostInBytes": _LEAST,
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": _ROWS,
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }.items():
        ours.conf.set(key, value)
    return ours


@contextmanager
def shown(session: Any, progress: Progress | None, size: int) -> Iterator[None]:
    """Tell meanwhile how much is done, by how many of its tasks Spark has finished."""
    if progress is None:
        yield
        return
    context, done = session.sparkContext, threading.Event()
    group = f"ragworthy-{uuid4().hex}"
    context.setJobGroup(group, "ragworthy")

    def watch() -> None:
        with suppress(Exception):  # whatever fails here fails the job too, which says so
            while not done.wait(0.5):
                progress(int(size * _share(context.statusTracker(), group)), size)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        context.setLocalProperty("spark.jobGroup.id", None)
    progress(size, size)


def _share(tracker: Any, group: str) -> float:
    """Which share of the tasks of a group is done."""
    jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    tasks = sum(one.numTasks for one in stages if one)
    return sum(one.numCompletedTasks for one in stages if one) / tasks if tasks else 0.0


@contextmanager
def _quietly(handle: int) -> Iterator[None]:
    """Let what the JVM prints while it starts, and from then on, go to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(handle, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _cause(text: str) -> str:
    """The last cause that a trace names, of Python or of the JVM, in one line."""
    if _TRACEBACK in text:
        text = "\n" + "\n".join(line for line in text.rpartition(_TRACEBACK)[2].splitlines() if line[:1].strip())
    causes = _CAUSES.findall(text)
    if causes:
        kind, reason = causes[-1]
        return clip(f"{reason} ({kind})", 300)
    return clip(next((line.strip() for line in text.splitlines() if line.strip()), "no reason"), 300)
