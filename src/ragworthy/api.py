"""The Python API: the same flow as the command line, for notebooks, tests and pipelines."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.errors import usage_error
from ragworthy.load.policy import Answers, find_policy
from ragworthy.load.rules import DEFAULT_GATES, Checker, parse_gate_text, parse_ks
from ragworthy.names import DEFAULT_K, REFUSAL, Verdict
from ragworthy.report import write as writing


class Number(NamedTuple):
    """A metric's value with what it was counted from."""

    value: float | None
    num: int
    den: int | None
    low: float | None
    high: float | None
    undefined: str | None


class Result:
    """What a run found."""

    def __init__(self, run: flow.Run) -> None:
        self._run = run
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
        """Every metric by id."""
        return {
            name: Number(**{key: metric[key] for key in Number._fields})
            for suite in self.report["suites"].values()
            for name, metric in suite["metrics"].items()
        }

    @property
    def gates(self) -> list[dict[str, Any]]:
        """Every gate's outcome."""
        return list(self.report["gates"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row a question, in gold order."""
        return self._run.rows()

    def write(self, path: str | Path) -> None:
        """Write the report (or the rows) in the format of the suffix: .json .md .xml .txt .jsonl .parquet."""
        writing.write(Path(path), self.report, self.rows)

    def __repr__(self) -> str:
        return f"<ragworthy {self.verdict}: {len(self.report['gates'])} gates>"


def score(
    suite: str,
    *,
    gold: Any,
    traces: Any,
    k: int | list[int] = DEFAULT_K,
    gates: str | Path | Mapping[str, float | str] | None = None,
    corpus: Any = None,
    scu: bool = False,
    rule_packs: tuple[str, ...] = (),
    refusals: tuple[str, ...] = (REFUSAL,),
    short_substr: str = "reject",
    slices: tuple[str, ...] = (),
    evidence: str = "point",
    baseline: str | Path | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
) -> Result:
    """Score one suite from paths, iterables of dicts or data frames.

    >>> gold = [{"qid": "A1", "question": "Null keys?", "answerable": True,
    ...          "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p1#2"]},
    ...         {"qid": "A2", "question": "Explain Z.", "answerable": False}]
    >>> traces = [{"qid": "A1", "retrieved_ids": ["p1#2"],
    ...            "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}},
    ...           {"qid": "A2", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}]
    >>> result = score("answers", gold=gold, traces=traces)
    >>> result.verdict, result.metrics["answers.precision"].value
    (<Verdict.SHIP: 'SHIP'>, 1.0)
    >>> next(result.rows())["label"]
    'OK'
    """
    if suite != "answers":
        raise usage_error(f'expected the suite "answers", got "{suite}"')
    for name, value, choices in (
        ("short_substr", short_substr, ("reject", "word")),
        ("evidence", evidence, ("point", "interval")),
    ):
        if value not in choices:
            raise usage_error(f"{name}: expected {' or '.join(choices)}, got {value!r}")
    check = Checker("score")
    ks = parse_ks(check, list(k) if isinstance(k, (list, tuple)) else k, "k")
    check.stop()
    request = flow.Request(
        gold=gold,
        traces=traces,
        corpus=corpus,
        settings=Answers(
            ks=ks,
            short_substr=short_substr,
            refusals=tuple(refusals),
            scu=scu,
            rule_packs=tuple(rule_packs),
            slices=tuple(slices),
        ),
        gates=_gates(gates, ks[0], evidence),
        baseline=Path(baseline) if baseline is not None else None,
        unfrozen=unfrozen,
        allow_gold_errors=allow_gold_errors,
        jobs=jobs,
        keep_rows=True,
    )
    return Result(flow.score(request))


def _gates(given: Any, k: int, evidence: str) -> tuple[Any, ...]:
    if given is None:
        return tuple(gate._replace(evidence=evidence) for gate in DEFAULT_GATES)
    if isinstance(given, Mapping):
        return parse_gate_text([f"{name}={value}" for name, value in given.items()], default_k=k, evidence=evidence)
    return parse_gate_text([str(given)], default_k=k, evidence=evidence)


def gate(
    policy: str | Path | None = None,
    *,
    today: date | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
) -> Result:
    """Run every suite of a policy file.

    >>> import tempfile
    >>> from ragworthy import starter
    >>> laid = starter.init(Path(tempfile.mkdtemp()))
    >>> gate(laid.policy).verdict
    <Verdict.SHIP: 'SHIP'>
    """
    path = find_policy(str(policy) if policy is not None else None)
    flags = {"unfrozen": unfrozen, "allow_gold_errors": allow_gold_errors, "jobs": jobs, "keep_rows": True}
    return Result(flow.gate(path, today=today or date.today(), **flags))
