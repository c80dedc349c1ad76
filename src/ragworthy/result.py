"""What a score or a gate found, for whoever asked from Python: a test, a notebook, a script."""

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy import gates as g
from ragworthy.errors import policy_error, usage_error
from ragworthy.files import Read, remembering
from ragworthy.given import choice, in_python
from ragworthy.load.uri import is_uri
from ragworthy.metrics.registry import ByName
from ragworthy.names import HARMLESS, Outcome, Verdict
from ragworthy.suites.parts import Engine


class Number(NamedTuple):
    """A metric's value with what it was counted from."""

    value: float | None
    num: int | None
    den: int | None
    low: float | None
    high: float | None
    undefined: str | None
    n: int | None = None
    """How many cases a mean rests on."""

    def __bool__(self) -> bool:
        """Refused: `assert metrics["answers.precision"]` would hold of a precision of 0."""
        raise TypeError("a metric is neither true nor false: compare its value, as in metric.value >= 0.8")


class Result:
    """What a run found."""

    def __init__(self, run: flow.Run, read: Read, engine: Engine | None = None) -> None:
        self._run = run
        self._read = read
        self._engine = engine
        self.report: dict[str, Any] = run.report
        """The report as `ragworthy.report/1`."""

    @property
    def verdict(self) -> Verdict:
        """SHIP, NO-SHIP, INCONCLUSIVE or INVALID."""
        return self._run.verdict

    @property
    def exit_code(self) -> int:
        """What the command line would exit with."""
        return int(self.report["exit_code"])

    @property
    def metrics(self) -> dict[str, Number]:
        """Every metric by id; another name that it has leads to it too, as in `metrics["CHR"]`."""
        return ByName(
            {
                name: Number(**{key: metric.get(key) for key in Number._fields})
                for suite in self.report["suites"].values()
                for name, metric in suite["metrics"].items()
            }
        )

    @property
    def gates(self) -> list[dict[str, Any]]:
        """Every gate's outcome."""
        return list(self.report["gates"])

    @property
    def can_show(self) -> list[dict[str, Any]]:
        """What each gate can show with these questions, and how many it would take, suite by suite."""
        return [one for body in self.report["suites"].values() for one in body["can_show"]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per question, in gold order."""
        return self._run.rows()

    @property
    def offenders(self) -> list[dict[str, Any]]:
        """The questions to look at first, worst first, as in the report."""
        several = len(self.report["suites"]) > 1
        return [
            {**one, "suite": suite} if several else dict(one)
            for suite, body in self.report["suites"].items()
            for one in body["offenders"]
        ]

    def assert_ship(self) -> None:
        """Raise an AssertionError that shows the gates and the first offenders, unless the verdict is SHIP."""
        __tracebackhide__ = True
        if self.verdict is not Verdict.SHIP:
            raise AssertionError(self.text())

    def text(self, *, full: bool = False) -> str:
        """The verdict, the gates and the first offenders; `full`: the whole report, as `--full` prints it."""
        return flow.render(self.report, "text") if full else flow.brief(self.report, "text")

    def markdown(self) -> str:
        """The whole report as Markdown, as `write` gives it to a file ending in .md."""
        return flow.render(self.report, "markdown")

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the verdict, the gates and the first offenders."""
        return flow.brief(self.report, "markdown")

    def frame(self, what: str = "rows") -> Any:
        """Rows, gates or metrics as a pandas DataFrame; where pandas is not installed, as a pyarrow Table."""
        from ragworthy import frames

        with in_python():
            choice("frame", what, frames.KINDS)
            if what == "rows":
                return frames.frame(frames.rows(self.table()))
            return frames.frame(frames.gates(self.report) if what == "gates" else frames.metrics(self.report))

    def table(self) -> Iterator[dict[str, Any]]:
        """The rows with the texts of each question: what was asked, and what was claimed."""
        return self._run.table()

    def write(self, path: str | Path) -> None:
        """Write the report (or the rows) by suffix: .html .json .md .xml .txt, rows .jsonl .parquet .csv.

        A file that the result was made from is never replaced. A URI is written by the executors of the engine: rows as
        a folder of Parquet files.
        """
        if isinstance(path, str) and is_uri(path):
            with in_python():
                if self._engine is None or not path.endswith(".parquet"):
                    raise usage_error(f'write: expected engine="spark" and a .parquet folder for a URI, got {path}')
                self._engine.check_new(path)
                self._engine.write_rows(path, self.rows(), list(map(flow.voice_of, self.report["suites"])))
            return
        with remembering(self._read):
            flow.write(Path(path), self._run)

    def __bool__(self) -> bool:
        raise TypeError(
            "a result is neither true nor false: call result.assert_ship(), "
            "or compare result.verdict with ragworthy.Verdict.SHIP"
        )

    def __repr__(self) -> str:
        head = self.text().partition("\n")[0]
        return f"<ragworthy {head}>"


def with_must_pass(result: Result, suite: str, qids: Sequence[str]) -> Result:
    """The same with one more gate: each of these questions is labelled as right."""
    labels = {row["qid"]: row["label"] for row in result.rows() if row.get("suite", suite) == suite}
    check_must_pass(suite, qids, labels)
    failing = tuple(qid for qid in qids if labels[qid] not in HARMLESS)
    gate = must_pass_gate(suite, qids)
    if failing:
        reason = f"must pass, but do not: {', '.join(failing)}"
        judged = g.Judged(gate, Outcome.FAIL, reason, None, failing=failing)
    else:
        judged = g.Judged(gate, Outcome.PASS, f"all {len(qids)} questions that must pass do", None)
    return Result(flow.with_judged(result._run, suite, judged), result._read, result._engine)


def must_pass_gate(suite: str, qids: Sequence[str]) -> g.Gate:
    """A gate on the labels of questions, one by one."""
    return g.Gate(f"{suite}.label", g.EACH, str(len(qids)), must_pass=tuple(qids))


def check_must_pass(suite: str, qids: Sequence[str], known: Container[str]) -> None:
    """Refuse questions that are not there, as a policy does."""
    for qid in qids:
        if qid not in known:
            message = f'expected a qid of the gold set, got "{qid}"'
            raise policy_error("RW-P09", message, field=f"{suite}.label: must_pass")
