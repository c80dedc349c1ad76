"""The Python API: the same flow as the command line, for notebooks, tests and pipelines."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.errors import usage_error
from ragworthy.files import Read, remembering
from ragworthy.load.checker import Checker
from ragworthy.metrics import registry
from ragworthy.names import DEFAULT_K, REFUSAL, Verdict
from ragworthy.policy.defaults import LIVE_GATE
from ragworthy.policy.gate_checks import Known
from ragworthy.policy.gate_text import parse_gate_text, parse_ks
from ragworthy.policy.read import find_policy
from ragworthy.policy.settings import (
    DELTA_S,
    RETRIEVAL_KS,
    SUITE_OF,
    USES,
    Agreement,
    Answers,
    Latency,
    Retrieval,
    Settings,
    Stability,
    Structured,
    default_gates,
    form_of,
    parse_limits,
)


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


class Result:
    """What a run found."""

    def __init__(self, run: flow.Run, read: Read) -> None:
        self._run = run
        self._read = read
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
            name: Number(**{key: metric.get(key) for key in Number._fields})
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
        """Write the report (or the rows) in the format of the suffix: .json .md .xml .txt .jsonl .parquet.

        A file that the result was made from is never replaced.
        """
        with remembering(self._read):
            flow.write(Path(path), self._run)

    def __bool__(self) -> bool:
        raise TypeError("a result is neither true nor false: compare result.verdict with ragworthy.Verdict.SHIP")

    def __repr__(self) -> str:
        return f"<ragworthy {self.verdict}: {len(self.report['gates'])} gates>"


def score(
    suite: str,
    *,
    gold: Any = None,
    traces: Any = None,
    questions: Any = None,
    outputs: Any = None,
    runs: Any = None,
    pairs: Any = None,
    scholar: Any = None,
    auditor: Any = None,
    raters: Any = None,
    operators: Any = None,
    prices: str | Path | None = None,
    limits: Mapping[str, float | str] | None = None,
    configuration: str | None = None,
    use: str = "interactive",
    k: int | list[int] | None = None,
    gates: str | Path | Mapping[str, float | str] | None = None,
    corpus: Any = None,
    scu: bool = False,
    rule_packs: tuple[str, ...] = (),
    refusals: tuple[str, ...] = (REFUSAL,),
    short_substr: str = "reject",
    slices: Sequence[str] = (),
    live: Any = None,
    live_corpus: Any = None,
    redirects: str | Path | tuple[str | Path, ...] = (),
    delta_s: str = "auto",
    anchor_scope: str = "section",
    definition: str | Path | None = None,
    subset: str | Path | None = None,
    provenance: str | Path | None = None,
    repair: bool = False,
    profile: str = "default",
    evidence: str = "point",
    baseline: str | Path | None = None,
    lock: str | Path | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
) -> Result:
    """Score one suite from paths, iterables of dicts or data frames.

    For the structured suite `questions` and `outputs` are other names for gold and traces, for stability and latency
    `runs` is another name for traces; `profile="reference"` is for the structured and the latency suite. Agreement
    takes pairs, or scholar and auditor, or gold and traces (and corpus), or raters, or operators.

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
    >>> gold = [{"qid": "Q1", "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"], "anchor_section": "S.4.2"}]
    >>> traces = [{"qid": "Q1", "topk": [{"id": "S.4.2.p.Bk011a"}, {"id": "S.4.1.p.Bk010"}]}]
    >>> score("retrieval", gold=gold, traces=traces, gates="recall@5=0.5").metrics["retrieval.recall@5"].value
    0.5
    """
    asked = dict(locals())
    if suite not in registry.SUITES:
        raise usage_error(f'expected a suite ({" or ".join(registry.SUITES)}), got "{suite}"')
    for name, value, choices in (
        ("short_substr", short_substr, ("reject", "word")),
        ("evidence", evidence, ("point", "interval")),
        ("delta_s", delta_s, DELTA_S),
        ("anchor_scope", anchor_scope, ("section", "subtree")),
        ("use", use, USES),
        ("profile", profile, ("default", "reference") if suite in ("structured", "latency") else ("default",)),
    ):
        if value not in choices:
            raise usage_error(f"{name}: expected {' or '.join(choices)}, got {value!r}")
    for name in ("unfrozen", "allow_gold_errors", "repair", "scu"):
        if not isinstance(asked[name], bool):
            raise usage_error(f"{name}: expected True or False, got {asked[name]!r}")
    _check_taken(suite, asked)
    ks = _depths(suite, k)
    gold, traces = (gold if questions is None else questions), _first(outputs, runs, traces)
    for name, one in (("definition", definition), ("subset", subset), ("provenance", provenance), ("prices", prices)):
        if one is not None and not isinstance(one, (str, Path)):
            raise usage_error(f"{name}: expected a path, got {type(one).__name__}")
    for name, several in (("slices", slices), ("refusals", refusals), ("rule_packs", rule_packs)):
        if isinstance(several, str):  # which Python would take apart into its letters
            raise usage_error(f'{name}: expected several {_SEVERAL[name]}, got the text "{several}"')
    files = {"gold": gold, "traces": traces, "corpus": corpus}
    votes = {**files, "pairs": pairs, "scholar": scholar, "auditor": auditor, "raters": raters, "operators": operators}
    common: dict[str, Any] = {"short_substr": short_substr, "refusals": tuple(refusals), "slices": tuple(slices)}
    settings: Settings
    if suite == "structured":
        settings = Structured(repair=repair, profile=profile, slices=tuple(slices))
    elif suite == "answers":
        settings = Answers(ks=ks, scu=scu, rule_packs=tuple(rule_packs), **common)
    elif suite == "stability":
        settings = Stability(limits=_limits(limits), **common)
    elif suite == "latency":
        settings = Latency(profile=profile, configuration=configuration, use=use, scu=scu, **common)
    elif suite == "agreement":
        form = form_of({name: one is not None for name, one in votes.items()})
        if form is None:
            raise usage_error("expected the votes of one form: pairs, scholar and auditor, gold and traces, raters, …")
        settings = Agreement(form=form, scu=scu, **common)
        files = flow.votes(votes)
    else:
        del common["short_substr"]
        settings = Retrieval(ks=ks, delta_s=delta_s, anchor_scope=anchor_scope, **common)
    request = flow.Request(
        **files,
        prices=Path(prices) if prices is not None else None,
        live=live,
        live_corpus=live_corpus,
        redirects=tuple(map(Path, (redirects,) if isinstance(redirects, (str, Path)) else redirects)),
        definition=Path(definition) if definition is not None else None,
        subset=Path(subset) if subset is not None else None,
        made=Path(provenance) if provenance is not None else None,
        settings=settings,
        gates=_gates(
            settings,
            gates,
            ks[0] if suite == "answers" else DEFAULT_K,
            evidence,
            live=live is not None,
            definition=definition,
        ),
        baseline=Path(baseline) if baseline is not None else None,
        lock=Path(lock) if lock is not None else None,
        unfrozen=unfrozen,
        allow_gold_errors=allow_gold_errors,
        jobs=jobs,
        keep_rows=True,
    )
    with remembering(Read()) as read:
        return Result(flow.score(request), read)


_SEVERAL = {"slices": "fields", "refusals": "texts", "rule_packs": "packs"}
_EVERY = {"suite", "gates", "slices", "evidence", "baseline", "lock", "unfrozen", "allow_gold_errors", "jobs"}
_ANSWERED = {"gold", "refusals", "short_substr"}
_TAKEN = {
    "answers": {*_ANSWERED, "traces", "k", "corpus", "scu", "rule_packs"},
    "retrieval": {
        "gold", "traces", "k", "corpus", "refusals", "live", "live_corpus", "redirects", "delta_s", "anchor_scope"
    },
    "structured": {
        "gold", "traces", "questions", "outputs", "definition", "subset", "provenance", "repair", "profile"
    },
    "stability": {*_ANSWERED, "traces", "runs", "limits"},
    "latency": {
        *_ANSWERED, "traces", "runs", "prices", "corpus", "configuration", "use", "scu", "profile"
    },
    "agreement": {
        *_ANSWERED, "traces", "pairs", "scholar", "auditor", "corpus", "raters", "operators", "scu"
    },
}  # fmt: skip
"""The arguments that each suite takes, besides those of every suite."""


def _check_taken(suite: str, given: Mapping[str, Any]) -> None:
    """Refuse an argument that the suite would not look at."""
    for name, parameter in inspect.signature(score).parameters.items():
        value, usual = given[name], parameter.default
        plain = isinstance(value, (str, tuple, bool, int))
        if name in _EVERY | _TAKEN[suite] or value is usual or (plain and value == usual):
            continue
        raise usage_error(f"{name}: the {suite} suite has none")


def _first(*given: Any) -> Any:
    """The first that is there."""
    return next((one for one in given if one is not None), None)


def _limits(given: Mapping[str, float | str] | None) -> tuple[str, ...]:
    if given is not None and not isinstance(given, Mapping):
        raise usage_error(f"limits: expected names with numbers, got {type(given).__name__}")
    check = Checker("limits")
    numbers: dict[str, Any] = {}
    for name, value in (given or {}).items():
        try:
            numbers[name] = Decimal(str(value)) if not isinstance(value, bool) else value
        except InvalidOperation:
            numbers[name] = value
    found = parse_limits(check, numbers, "")
    check.stop()
    return found


def _depths(suite: str, k: int | list[int] | None) -> tuple[int, ...]:
    if k is None:
        return (DEFAULT_K,) if suite == "answers" else RETRIEVAL_KS
    check = Checker("score")
    ks = parse_ks(check, list(k) if isinstance(k, (list, tuple)) else k, "k")
    check.stop()
    return ks


def _gates(
    settings: Settings, given: Any, k: int, evidence: str, *, live: bool, definition: str | Path | None
) -> tuple[Any, ...]:
    suite = SUITE_OF[type(settings)]
    if given is None:
        defaults = default_gates(settings) + ((LIVE_GATE,) if live else ())
        return tuple(gate._replace(evidence=evidence) for gate in defaults)
    known: Known = None
    if definition is not None:
        from ragworthy.load.definition import metrics_in

        known = metrics_in(Path(definition))
    texts = [f"{name}={value}" for name, value in given.items()] if isinstance(given, Mapping) else [str(given)]
    return parse_gate_text(texts, default_k=k, evidence=evidence, suite=suite, known=known)


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
    with remembering(Read()) as read:
        return Result(flow.gate(path, today=today or date.today(), **flags), read)
