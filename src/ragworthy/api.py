"""The Python API: the same flow as the command line, for notebooks, tests and pipelines."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from ragworthy import flow
from ragworthy.comparison.likeness import not_allowable
from ragworthy.errors import Problem, UsageError, policy_error, usage_error
from ragworthy.files import Read, note_paths, remembering
from ragworthy.gates import Gate
from ragworthy.given import (
    Given,
    check_names,
    choice,
    flag,
    in_python,
    inputs_of,
    names,
    paths_of,
    settings_by_name,
    settings_of,
)
from ragworthy.load.plugins import load_metrics, using_metrics
from ragworthy.load.sources import open_source
from ragworthy.policy.declare import Declared
from ragworthy.policy.gate_checks import EVIDENCE
from ragworthy.policy.gate_text import Named, parse_gate_text
from ragworthy.policy.packs import asked_for
from ragworthy.policy.proving import proving_of
from ragworthy.result import Result
from ragworthy.suites import SUITES
from ragworthy.suites.parts import Engine


def score(
    suite: str,
    *,
    gates: str | Path | Mapping[str, float | str] | None = None,
    defaults: bool = True,
    packs: Sequence[str] = (),
    evidence: str = "point",
    alpha: float | str | None = None,
    cluster: str | None = None,
    seed: int | None = None,
    baseline: str | Path | None = None,
    allow: Sequence[str] = (),
    lock: str | Path | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
    engine: Any = "local",
    master: str | None = None,
    profile: str = "default",
    plugins: Sequence[str] = (),
    **given: Unpack[Given],
) -> Result:
    """Score one suite from paths, iterables of dicts or data frames.

    `given` are the inputs and settings of the suite, by the keys of its section in a policy. In the structured suite
    `gold` and `traces` are other names for questions and outputs, in stability and latency `traces` is another name for
    runs; `profile="reference"` is for the structured and the latency suite. Agreement takes pairs, or scholar and
    auditor, or gold and traces (and corpus), or raters, or operators; retrieval also takes TREC files as qrels and run.
    Gates that compare with `baseline` are decided by the questions that changed: `alpha` is how often a loss may be
    called proven by luck, `cluster` which questions stand or fall together ("document" or "question"),
    `seed` where chance begins. `allow` names what may differ from the baseline or from live, because that is what is
    tried: "normaliser", "reranker", "retriever".
    The default gates of the suite hold beside those that `gates` names, unless `defaults=False`. `packs` are sets of
    gates by name, as `ragworthy explain packs` lists them.
    `plugins` are metrics of your own: paths of Python files or names of installed plugins, whose code is run.
    `jobs` is how many processes read large files. `engine` is "local", "spark" or a SparkSession of yours, whose
    executors then read the traces; `master` is the cluster of a session that "spark" starts.

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
    with in_python():
        SUITES.also([suite])
        declared = SUITES.get(suite)
        if declared is None:
            raise usage_error(f'expected a suite ({" or ".join(SUITES)}), got "{suite}"')
    named: dict[str, Any] = {**given}
    with in_python(declared, named), remembering(Read()) as read:
        check_names(declared, named)
        choice("evidence", evidence, EVIDENCE)
        known = _known(declared, named, profile)
        settings = settings_of(declared, named, **known)
        inputs = inputs_of(declared, named)
        told = {one.name: getattr(settings, one.field) for one in declared.fields()}
        declared.check({**told, **inputs, "lock": lock}, {name: name for name in (*names(), "lock")})
        note_paths(read, (*inputs.values(), baseline, lock))
        loaded = tuple(load_metrics(name, Path()) for name in paths_of("plugins", plugins))
        named_packs = paths_of("packs", packs)
        with using_metrics(loaded):
            how = flag("defaults", defaults), evidence, named_packs
            asked, defaults = _gates(declared, settings, inputs, gates, how)
        request = flow.Request(
            suite=suite,
            given=inputs,
            settings=settings,
            gates=asked,
            defaults=defaults,
            plugins=loaded,
            gate_packs=named_packs,
            baseline=Path(baseline) if baseline is not None else None,
            allowed=_allowed(paths_of("allow", allow)),
            lock=Path(lock) if lock is not None else None,
            unfrozen=flag("unfrozen", unfrozen),
            allow_gold_errors=flag("allow_gold_errors", allow_gold_errors),
            jobs=jobs,
            engine=_engine(engine, master),
            keep_rows=True,
            **proving_of({"alpha": alpha, "cluster": cluster, "seed": seed})._asdict(),
        )
        return Result(flow.score(request), read, request.engine)


def _engine(engine: Any, master: str | None) -> Engine | None:
    """Who reads the traces; None for processes of this machine."""
    if isinstance(engine, str):
        choice("engine", engine, ("local", "spark"))
    if isinstance(engine, str) and engine == "local":
        if master is not None:
            raise usage_error('master: expected engine="spark" besides it')
        return None
    from ragworthy.spark.engine import Spark
    from ragworthy.spark.session import session_of

    return Spark(session_of(engine, master))


def _allowed(given: Sequence[str]) -> tuple[str, ...]:
    for name in given:
        if wrong := not_allowable(name):
            raise usage_error(f"allow: {wrong}", code="RW-B06")
    return tuple(given)


def _known(suite: Declared, given: Mapping[str, Any], profile: str) -> dict[str, Any]:
    """The settings that follow from something else: the profile, and the form of votes."""
    follows = "profile" in suite.settings._fields
    profile = suite.profile_named(profile)
    choice("profile", profile, ("default", "reference") if follows else ("default",))
    known: dict[str, Any] = {"profile": profile, **suite.of_profile(profile)} if follows else {}
    if suite.forms:
        known["form"] = suite.form_of(given)
        if known["form"] is None:
            raise usage_error("expected the votes of one form: pairs, scholar and auditor, gold and traces, raters, …")
    return known


def _gates(
    suite: Declared, settings: Any, inputs: Mapping[str, Any], given: Any, how: tuple[bool, str, tuple[str, ...]]
) -> Named:
    """The gates that hold, and whether default ones are among them.

    `how`: whether these hold beside those given, what decides, which packs hold.
    """
    defaults, evidence, packs = how
    named = Named(())
    if given is not None:
        known = suite.metrics_of(inputs)
        texts = [str(given)]
        if isinstance(given, Mapping):  # "Citation recall" is a name too
            texts = [f"{'_'.join(str(name).split())}={value}" for name, value in given.items()]
        k = suite.k_of(settings)
        named = parse_gate_text(texts, default_k=k, evidence=evidence, suite=suite.name, known=known)
    elif not defaults and not packs and "qrels" not in inputs:
        raise policy_error("RW-P16", "expected gates besides defaults=False, got none", where="score")
    named = named._replace(gates=asked_for(packs, named.gates, suite.depths(settings), evidence, "packs"))
    named = named._replace(defaults=named.defaults and defaults)
    return named._replace(gates=named.beside(suite.default_gates(settings, inputs), evidence))


def gates_of(name: str, given: Mapping[str, Any]) -> tuple[Gate, ...]:
    """The gates that hold for a score with these keywords, before anything is read."""
    suite = SUITES[name]
    settings = settings_of(suite, {key: value for key, value in given.items() if key in settings_by_name(suite)})
    packs = paths_of("packs", given.get("packs", ()))
    how = flag("defaults", given.get("defaults", True)), given.get("evidence", "point"), packs
    return _gates(suite, settings, {}, given.get("gates"), how).gates


def gate(
    policy: str | Path | None = None,
    *,
    packs: Sequence[str] = (),
    today: date | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
    engine: Any = "local",
    master: str | None = None,
) -> Result:
    """Run every suite of a policy file; `packs` are more gate packs than it names, `engine` as for `score`.

    >>> import tempfile
    >>> from ragworthy import starter
    >>> laid = starter.init(Path(tempfile.mkdtemp()))
    >>> gate(laid.policy).verdict
    <Verdict.SHIP: 'SHIP'>
    """
    flags: dict[str, Any] = {"unfrozen": unfrozen, "allow_gold_errors": allow_gold_errors, "jobs": jobs}
    with in_python():
        flags["engine"] = _engine(engine, master)
    return gate_of(policy, (), packs=packs, today=today, **flags)


class Fresh(NamedTuple):
    """Traces that take the place of those that a policy names, wherever it has the gold set that they answer."""

    gold_sha256: str
    traces: Any
    chunks: Any = None
    """The texts that were retrieved, for a policy whose corpus is what an earlier run wrote beside its traces."""


def gate_of(
    policy: str | Path | None,
    fresh: Sequence[Fresh],
    *,
    packs: Sequence[str] = (),
    today: date | None = None,
    unfrozen: bool = False,
    allow_gold_errors: bool = False,
    jobs: int = 1,
    engine: Engine | None = None,
) -> Result:
    """Run every suite of a policy file, with traces that were made just now."""
    flags: dict[str, Any] = {"unfrozen": unfrozen, "allow_gold_errors": allow_gold_errors}
    flags |= {"jobs": jobs, "keep_rows": True, "engine": engine}
    with in_python(), remembering(Read()) as read:
        flags["packs"] = paths_of("packs", packs)
        from ragworthy.history.home import blessed_at
        from ragworthy.policy.read import find_policy

        path = find_policy(str(policy) if policy is not None else None)
        flags["blessed"] = blessed_at(path)
        if not fresh:
            return Result(flow.gate(path, today=today or date.today(), **flags), read, engine)
        requests = flow.requests_of(path, today=today or date.today(), **flags)
        made = [_with(one, fresh) for one in requests]
        if made == requests:
            message = "expected a section with traces over the gold set that was asked, got none"
            raise UsageError([Problem("RW-U08", message, str(path))])
        flow.check_stale([one for one in made if one in requests])
        return Result(flow.score_all(made), read)


def _with(request: flow.Request, fresh: Sequence[Fresh]) -> flow.Request:
    """The request with the traces that answer its gold set."""
    asked, made = ("questions", "outputs") if request.suite == "structured" else ("gold", "traces")
    gold = request.get(asked)
    if made not in request.given or not isinstance(gold, (str, Path)):
        return request
    sha256 = open_source("gold", gold).sha256()
    found = next((one for one in fresh if one.gold_sha256 == sha256), None)
    if found is None:
        return request
    given = {**request.given, made: found.traces}
    if found.chunks and _beside(request.get("corpus"), request.get("traces")):
        given["corpus"] = found.chunks
    return request._replace(given=given)


def _beside(one: Any, other: Any) -> bool:
    """Whether two files lie in one folder."""
    paths = [Path(each).absolute().parent for each in (one, other) if isinstance(each, (str, Path))]
    return len(paths) == 2 and paths[0] == paths[1]
