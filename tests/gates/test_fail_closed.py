"""A release gate fails closed: garbage never ships, whatever the gate is on and however it is written.

For every metric of every suite, and for every way to write a gate, garbage is scored that makes the metric bad (or that
it cannot be measured on). None of it may end with exit 0.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import rfc8785

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy.gates import MAX, MIN, Gate, Judged, Value, decides, judge, verdict
from ragworthy.metrics import registry
from ragworthy.names import Outcome, Verdict
from soak import SOAK
from structured_case import both, output

Row = dict[str, Any]
IDS = [f"q{n}" for n in range(1, 9)]
ANSWERABLE = IDS[:5]


class Suite(NamedTuple):
    """The inputs of a suite by the names of its flags, and what a pipeline wrote: good, and garbage of some kinds."""

    inputs: dict[str, list[Row]]
    role: str
    good: list[Row]
    garbage: dict[str, list[Row]]


def _gold() -> list[Row]:
    can = {"gold_claim_substr": ["the right text"], "gold_citations": ["d#1"], "constraints": ["never share keys"]}
    return [
        {"qid": qid, "question": f"What of {qid}?", "answerable": qid in ANSWERABLE}
        | (can if qid in ANSWERABLE else {})
        for qid in IDS
    ]


def _said(claim: str, *cited: str, retrieved: tuple[str, ...] = ("d#1", "d#2"), **more: Any) -> Row:
    echo = ["never share keys"] if claim == RIGHT else []
    return {
        "retrieved_ids": list(retrieved),
        "answer_json": {"claim": claim, "citations": list(cited), "constraints_echo": echo},
    } | more


RIGHT, REFUSAL = "This is the right text.", "not in context"
ERROR: Row = {"retrieved_ids": [], "answer_json": None, "error": "status 500"}
GARBAGE: dict[str, Callable[[str], Row]] = {
    "wrong answers": lambda _: _said("garbage", retrieved=()),
    "only refusals": lambda _: _said(REFUSAL),
    "only errors": lambda _: ERROR,
    "no shape": lambda _: {"retrieved_ids": [], "answer_json": {"claim": "", "citations": "d#1"}},
    "answers turned round": lambda qid: _said(REFUSAL) if qid in ANSWERABLE else _said("garbage", "d#2"),
    "never the same": lambda qid: _said(f"garbage {qid * 3}", "d#2"),
}


def _good(qid: str) -> Row:
    return _said(RIGHT, "d#1") if qid in ANSWERABLE else _said(REFUSAL)


def _answers() -> Suite:
    garbage = {name: [{"qid": qid} | make(qid) for qid in IDS] for name, make in GARBAGE.items()}
    garbage["nothing"] = [{"qid": "other"} | _said("garbage")]
    return Suite({"gold": _gold()}, "trace", [{"qid": qid} | _good(qid) for qid in IDS], garbage)


def _stability() -> Suite:
    def runs(make: Callable[[str], Row]) -> list[Row]:
        return [{"qid": qid, "seed": seed, "q": f"{qid} {seed}"} | make(f"{qid}") for qid in IDS for seed in (0, 1, 2)]

    garbage = {name: runs(make) for name, make in GARBAGE.items()}
    flips = [
        row | (_said(REFUSAL) if row["seed"] else _said(f"{'garbage' * row['seed']}x", f"d#{row['seed']}"))
        for row in runs(_good)
    ]
    turns = [row | _said("abcdefgh"[row["seed"] :: 3], f"d#{row['seed']}") for row in runs(_good)]
    return Suite({"gold": _gold()}, "runs", runs(_good), garbage | {"flips": flips, "turns": turns})


def _latency() -> Suite:
    def runs(make: Callable[[str], Row], ms: Callable[[int], float]) -> list[Row]:
        used = {"model": "m", "prompt_tokens": 10, "completion_tokens": 5}
        return [{"qid": qid, "e2e_ms": ms(n), "usage": used} | make(qid) for n, qid in enumerate(IDS)]

    garbage = {name: runs(make, lambda n: 90_000 if n % 2 else 60_000) for name, make in GARBAGE.items()}
    garbage["one hangs"] = runs(GARBAGE["wrong answers"], lambda n: 600_000 if n == 0 else 1)
    return Suite({"gold": _gold()}, "runs", runs(_good, lambda n: 100), garbage)


def _retrieval() -> Suite:
    def block(n: int) -> str:
        return f"S.{n}.p.Bk001"

    def traces(make: Callable[[int, int, int], Row]) -> list[Row]:
        return [
            {"qid": f"Q{n}", "paraphrase": p, "seed": s, "query": "abc"[p]} | make(n, p, s)
            for n in range(1, 5) for p in range(3) for s in (1, 2)
        ]  # fmt: skip

    gold = [
        {"qid": f"Q{n}", "paraphrases": ["a", "b", "c"], "relevant": [block(n)], "negatives": [block(n + 40)],
         "anchor_section": f"S.{n}", "relevant_offsets": {block(n): [1000, 1100]}}
        for n in range(1, 5)
    ]  # fmt: skip

    def found(name: str, delta_s: float) -> Row:
        cited = [{"id": name, "offsets": [1000, 1100]}]
        return {"topk": [{"id": name}], "ΔS": [delta_s], "answer_citations": cited}

    garbage = {
        "another section": traces(lambda n, p, s: found(block(n + 20), 0.95)),
        "the hard negative": traces(lambda n, p, s: found(block(n + 40), 0.95)),
        "every time another": traces(lambda n, p, s: found(block(n + 20 + 7 * p + s), 0.95)),
        "nothing returned": traces(lambda n, p, s: {"topk": [], "ΔS": [], "answer_citations": []}),
        "only errors": traces(lambda n, p, s: {"topk": [], "error": "status 500", "answer_citations": []}),
    }
    return Suite({"gold": gold}, "trace", traces(lambda n, p, s: found(block(n), 0.2)), garbage)


def _structured() -> Suite:
    questions, outputs = both(4)
    garbage = {
        "no JSON": [output(n, "garbage") for n in range(1, 5)],
        "an empty object": [output(n, {}) for n in range(1, 5)],
        "only errors": [output(n, "", error="status 500") for n in range(1, 5)],
    }
    return Suite({"questions": questions}, "outputs", outputs, garbage)


def _agreement() -> Suite:
    def pairs(make: Callable[[int], tuple[str, str]]) -> list[Row]:
        return [{"qid": f"q{n}", "scholar": {"label": make(n)[0]}, "auditor": {"label": make(n)[1]}} for n in range(10)]

    garbage = {
        "never agreed": pairs(lambda n: ("VALID", "REJECT") if n % 2 else ("REJECT", "VALID")),
        "all rejected": pairs(lambda n: ("REJECT", "REJECT")),
        "all abstained": pairs(lambda n: ("ABSTAIN", "ABSTAIN")),
    }
    return Suite({}, "pairs", pairs(lambda n: ("VALID", "VALID") if n % 2 else ("NOT_IN_CONTEXT",) * 2), garbage)


SUITES = {
    "answers": _answers,
    "retrieval": _retrieval,
    "structured": _structured,
    "stability": _stability,
    "latency": _latency,
    "agreement": _agreement,
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _lay(suite: Suite, written: list[Row]) -> list[str]:
    """The files of a suite; gives the flags that name them."""
    flags: list[str] = []
    for role, rows in (suite.inputs | {suite.role: written}).items():
        write_jsonl(Path(f"{role}.jsonl"), rows)
        flags += [f"--{role}", f"{role}.jsonl"]
    return flags


def _section(name: str, suite: Suite) -> str:
    """The section of a policy."""
    keys = {"trace": "traces"}
    return f"version = 1\n[{name}]\n" + "".join(
        f'{keys.get(role, role)} = "{role}.jsonl"\n' for role in (*suite.inputs, suite.role)
    )


def _limit(metric: registry.Metric) -> tuple[str, str]:
    """A limit that everything good keeps: the key of a policy, and the number."""
    if metric.better == "higher":
        return "min", "60" if metric.highest == 100 else "0.6"
    return "max", {None: "0" if metric.kind == "count" else "1000", 1: "0.1"}[metric.highest]


def _name(metric: registry.Metric) -> str:
    return f"{metric.id}@5" if metric.at_k else metric.id


def _bad(name: str, suite: Suite, metric: registry.Metric, written: list[Row]) -> bool:
    """Whether garbage is bad by this metric, or cannot be measured by it."""
    _lay(suite, written)
    given: Row = {"traces" if role == "trace" else role: f"{role}.jsonl" for role in (*suite.inputs, suite.role)}
    result = rw.score(name, **given, **_more(name))
    number = result.metrics.get(_name(metric))
    if number is None or number.value is None or number.undefined:
        return True
    key, limit = _limit(metric)
    return number.value < float(limit) if key == "min" else number.value > float(limit)


def _more(name: str) -> Row:
    return {"scu": True} if name in ("answers", "latency") else {}


def _tables(metric: registry.Metric) -> Iterator[tuple[str, str]]:
    """Every way to write a gate on a metric as a table, by name."""
    key, limit = _limit(metric)
    plain = f'metric = "{_name(metric)}"\n{key} = {limit}\n'
    other = "max" if key == "min" else "min"
    yield "plain", plain
    yield "optional", plain + "optional = true\n"
    yield "other way round", f'metric = "{_name(metric)}"\n{other} = {limit}\n'
    yield "a slice that is not there", plain + 'optional = true\nslice = "topic=nope"\n'
    yield "no least number of cases", plain + "min_n = 0\n"
    yield "by interval", plain + 'evidence = "interval"\n'
    yield "with a review band", plain + "review = [0, 1]\n"
    yield "against a baseline", f'metric = "{_name(metric)}"\nmax_drop = 0.01\n'
    yield "as a share of a baseline", f'metric = "{_name(metric)}"\nmax_worse = 0.01\n'
    yield "against no baseline", f'metric = "{_name(metric)}"\nmax_drop = 0.01\noptional = true\n'
    yield "can never fail", f'metric = "{_name(metric)}"\n{key} = {"-1" if key == "min" else "1e15"}\n'
    qid = {"retrieval": "Q1", "structured": "Q1", "agreement": "q0"}.get(metric.id.partition(".")[0], "q1")
    yield "question by question", f'metric = "{_name(metric)}"\nmust_pass = ["{qid}"]\n'


def _ways(name: str, suite: Suite, metric: registry.Metric, written: list[Row]) -> Iterator[tuple[str, list[str]]]:
    """Every way to ask for a gate, with its command; the files that it reads are there until the next way."""
    flags = _lay(suite, written)
    scu = "scu = true\n" if name in ("answers", "latency") else ""
    score = ["score", name, "-q", *flags, *(["--scu-enforced"] if scu else []), "--gates"]
    for way, table in _tables(metric):
        needs = "baseline" in way and "no baseline" not in way
        head = 'baseline = "base.json"\n' if needs and Path("base.json").exists() else ""
        Path("ragworthy.toml").write_text(f"{head}{_section(name, suite)}{scu}\n[[gate]]\n{table}")
        yield f"policy: {way}", ["gate", "-q"]
        if way in ("optional", "other way round", "can never fail"):
            Path("gates.toml").write_text(f"[[gate]]\n{table}")
            yield f"gate file: {way}", [*score, "gates.toml"]
    key, limit = _limit(metric)
    for text in (f"{_name(metric)}={limit}", f"{_name(metric)}{'<' if key == 'min' else '>'}={limit}"):
        yield f"flag: {text}", [*score, text]
    Path("gates.json").write_text(json.dumps({_name(metric): float(limit)}))
    yield "JSON file", [*score, "gates.json"]


@pytest.mark.parametrize("name", SUITES)
def test_garbage_never_ships_whatever_the_gate_is_on_and_however_it_is_written(name: str) -> None:
    """For every metric every way, on two kinds of garbage in turn; from one metric to the next the turns change, so
    that over all metrics every way meets the first kind and the second. In a soak every way is tried on both.
    """
    suite = SUITES[name]()
    flags = _lay(suite, suite.good)
    assert run_cli("score", name, "-q", *flags, "-o", "base.json").code in (0, 4)  # the baseline of the good run
    for turn, metric in enumerate(registry.all_metrics(name).values()):
        kinds = [kind for kind, written in suite.garbage.items() if _bad(name, suite, metric, written)][:2]
        assert kinds or metric.id.endswith(".missing"), f"no garbage here is bad by {metric.id}"
        for nth, kind in enumerate(kinds):
            ways = enumerate(_ways(name, suite, metric, suite.garbage[kind]), turn)
            codes = {way: run_cli(*line).code for at, (way, line) in ways if SOAK or at % len(kinds) == nth}
            assert len(codes) > 8
            assert [way for way, code in codes.items() if code == 0] == [], (metric.id, kind)


@pytest.mark.parametrize("name", SUITES)
def test_default_gates_stop_every_kind_of_garbage(name: str) -> None:
    suite = SUITES[name]()
    for kind, written in suite.garbage.items():
        flags = _lay(suite, written)
        assert run_cli("score", name, "-q", *flags).code != 0, kind
        Path("ragworthy.toml").write_text(_section(name, suite))
        assert run_cli("gate", "-q").code != 0, kind


def test_what_is_good_ships() -> None:
    """The counterpart: the same files well answered pass, so that the test above shows something."""
    for name in ("answers", "structured", "stability", "latency", "agreement"):
        suite = SUITES[name]()
        assert run_cli("score", name, "-q", *_lay(suite, suite.good)).code == 0, name


# crafted receipts: the same gates through the back door


def _crafted(change: Callable[[Row], None]) -> int:
    """A receipt of garbage, made by hand so that everything but its gates is as our own programs write it."""
    suite = SUITES["answers"]()
    flags = _lay(suite, suite.garbage["wrong answers"])
    run_cli("score", "answers", "-q", *flags, "--receipt", "r.json")
    body = json.loads(Path("r.json").read_text())
    change(body)
    Path("r.json").write_bytes(rfc8785.dumps(body) + b"\n")
    return run_cli("verify", "r.json").code


def _gate(metric: str, op: str, threshold: str, **more: Any) -> Row:
    usual: Row = {"slice": None, "min_n": 0, "evidence": "point", "must_pass": [], "optional": False, "review": None}
    return {"metric": metric, "op": op, "threshold": threshold, **usual, "why": None, "suite": None} | more


@pytest.mark.parametrize(
    "gates",
    [
        [_gate("answers.precision", ">=", "0")],
        [_gate("answers.precision", ">=", "-1"), _gate("answers.under_refusal", "<=", "1")],
        [_gate("answers.precision", "<=", "0.8")],
        [_gate("answers.support", ">=", "0.9", optional=True)],
        [],
        [_gate("answers.precision", ">=", "0.8", min_n=-5)],
        [_gate("answers.precision", "drop<=", "0.1", optional=True)],
        [_gate("answers.precision", ">=", "1/0")],
        [_gate("answers.precision", ">=", "1e99999999")],
        [_gate("answers.precision", ">=", "nan")],
        [_gate("answers.precision", "!=", "0.8")],
        [_gate("answers.nope", ">=", "0.8")],
        [_gate("retrieval.recall@5", ">=", "0.8")],
        [_gate("answers.precision", ">=", "0.8", evidence="hope")],
        [_gate("answers.precision", ">=", "0.8", review=["1/0", "1"])],
        [_gate("answers.precision", "each", "0")],
        [_gate("answers.precision", ">=", "0.8", extra=1)],
        [{"metric": "answers.precision"}],
    ],
)
def test_a_receipt_cannot_carry_gates_that_every_command_refuses(gates: list[Row]) -> None:
    def change(body: Row) -> None:
        body["request"]["gates"] = gates
        body |= {"verdict": "SHIP", "exit_code": 0, "invalid": []}

    assert _crafted(change) in (1, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["request"].update(suite="bogus"),
        lambda body: body["request"].update(suite=None),
        lambda body: body["request"].update(suite="agreement"),
        lambda body: body["request"].update(trec=True),
        lambda body: body["request"].update(unfrozen="yes"),
        lambda body: body["request"].update(settings={}),
        lambda body: body["request"]["settings"].update(short_substr="bogus"),
        lambda body: body["request"]["settings"].update(ks=[]),
        lambda body: body["request"]["settings"].update(ks=["5"]),
        lambda body: body["request"]["settings"].update(refusals=[]),
        lambda body: body["request"]["settings"].update(refusals=["garbage"]),
        lambda body: body["request"]["settings"].update(nope=1),
        lambda body: body.update(inputs=[]),
        lambda body: body.update(verdict="FINE"),
        lambda body: body.update(request=None),
        lambda body: body["tool"].update(version=3),
    ],
)
def test_a_receipt_with_settings_that_no_command_takes_does_not_verify(change: Callable[[Row], None]) -> None:
    assert _crafted(change) in (1, 2)


# the verdict itself


def _judged(outcome: Outcome, metric: str = "answers.chr", value: Value | None = None, **gate: Any) -> Judged:
    return Judged(Gate(metric, MIN, "0.5", **gate), outcome, "", value)


def test_at_least_one_gate_that_decides_must_have_been_measured() -> None:
    unmeasured = _judged(Outcome.NOT_MEASURED, optional=True)
    assert verdict([unmeasured], []) is Verdict.INVALID
    assert verdict([unmeasured, _judged(Outcome.PASS, "answers.missing")], []) is Verdict.INVALID
    assert verdict([unmeasured, _judged(Outcome.PASS, "latency.errors")], []) is Verdict.INVALID
    assert verdict([unmeasured, _judged(Outcome.PASS)], []) is Verdict.SHIP
    nothing_to_count = _judged(Outcome.PASS, "answers.scu_violations", Value(0, None, most=0))
    assert not decides(nothing_to_count) and verdict([unmeasured, nothing_to_count], []) is Verdict.INVALID


def test_a_count_that_cannot_be_exceeded_was_not_measured() -> None:
    values: dict[tuple[str | None, str], Value] = {
        (None, "retrieval.collapsed"): Value(3, None, better="lower", cases="questions", most=4)
    }
    for threshold, outcome in (("3", Outcome.PASS), ("2", Outcome.FAIL), ("4", Outcome.NOT_MEASURED)):
        (one,) = judge((Gate("retrieval.collapsed", MAX, threshold),), values)
        assert one.outcome is outcome
    assert one.reason == "it can never fail: there are only 4 questions"


def test_a_result_is_no_truth_value() -> None:
    suite = SUITES["answers"]()
    result = rw.score("answers", gold=suite.inputs["gold"], traces=suite.garbage["wrong answers"])
    with pytest.raises(TypeError, match="neither true nor false"):
        assert result


# what tried to get round it


def _half() -> list[str]:
    """Answers of which half are wrong: precision 0.5 or so."""
    suite = SUITES["answers"]()
    rows = [row if n % 2 else row | _said("garbage", "d#1") for n, row in enumerate(suite.good)]
    return _lay(suite, rows)


LOOSE = '[[gate]]\nmetric = "precision"\nmin = 0.3\n'


def test_gates_given_twice_add_up() -> None:
    flags = _half()
    for words in (["--gates", "precision=0.8", "over=0.1"], ["--gates", "precision=0.8", "--gates", "over=0.1"]):
        assert run_cli("score", "answers", "-q", *flags, *words).code == 1, words
    done = run_cli("score", "answers", "-q", *flags, "--gates", "precision=0.8", "--gates", "precision=0.1")
    assert (done.code, "expected each name once, got it twice [RW-P10]" in done.err) == (2, True)
    suite = SUITES["stability"]()
    flags = _lay(suite, suite.garbage["turns"])
    for words in (["--limits", "ned50=0.01,acr=0.9"], ["--limits", "ned50=0.01", "--limits", "acr=0.9"]):
        assert run_cli("score", "stability", "-q", *flags, *words).code == 1, words
    assert run_cli("score", "stability", "-q", *flags, "--limits", "acr=0.9", "--limits", "acr=0.1").code == 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.toml", f'evidence = "interval"\n{LOOSE}', "evidence: expected nothing but version, defaults and [[gate]]"),
        ("g.toml", f'freeze = {{signers = ["Z"]}}\n{LOOSE}', "freeze: expected nothing but version, defaults and"),
        ("g.json", '{"precision": 0.8, "precision": 0.3}', 'the key "precision" twice'),
        ("g.json", '{"gate": [{"metric": "precision", "min": 0.8, "min": 0.3}]}', 'the key "min" twice'),
        ("g.json", '{"gate": [], "gate": [{"metric": "precision", "min": 0.3}]}', 'the key "gate" twice'),
        ("g.json", '{"precision": 1e9999999999999999999}', "[RW-F07]"),
        ("g.json", '{"precision": 1e-9999999999999999999}', "[RW-F07]"),
    ],
)  # fmt: skip
def test_a_file_of_gates_that_says_more_than_gates_is_refused(name: str, text: str, said: str) -> None:
    flags = _half()
    Path(name).write_text(text)
    done = run_cli("score", "answers", "-q", *flags, "--gates", name)
    assert (done.code, said in done.err) == (2, True), done


def test_runs_without_an_answer_are_errors_of_latency_too() -> None:
    suite = SUITES["latency"]()
    null = [row | {"answer_json": None} if n < 5 else row for n, row in enumerate(suite.good)]
    flags = _lay(suite, null)
    done = run_cli("score", "latency", "--format", "json", *flags, "--gates", "p95=500")
    report = json.loads(done.out)
    assert (done.code, report["suites"]["latency"]["metrics"]["latency.errors"]["num"]) == (4, 5)
    assert "5 of 8 runs" in report["invalid"][0]
    one = [row | {"answer_json": None} if n == 0 else row for n, row in enumerate(suite.good)]
    assert run_cli("score", "latency", "-q", *_lay(suite, one)).code == 1
    times = [{key: row[key] for key in ("qid", "e2e_ms")} for row in suite.good]
    assert run_cli("score", "latency", "-q", *_lay(suite, times), "--gates", "p95=500").code == 0  # times alone


def test_an_error_is_no_way_to_hide_a_hard_negative() -> None:
    suite = SUITES["retrieval"]()
    bad = suite.garbage["the hard negative"]
    gates = ("--gates", "negative_first@5=0.1", "negatives@5=0.1")
    hidden = [row | {"error": "timeout"} if row["qid"] in ("Q1", "Q2") else suite.good[n] for n, row in enumerate(bad)]
    shown = [row if row["qid"] in ("Q1", "Q2") else suite.good[n] for n, row in enumerate(bad)]
    for rows in (shown, hidden):
        assert run_cli("score", "retrieval", "-q", *_lay(suite, rows), *gates).code == 1
    report = json.loads(run_cli("score", "retrieval", "--format", "json", *_lay(suite, hidden), *gates).out)
    counts = report["suites"]["retrieval"]["counts"]
    assert (counts["errored_questions"], counts["errored"]) == (2, 12)


def test_errors_count_against_the_distance_of_claims_and_are_no_answers() -> None:
    suite = SUITES["stability"]()
    rows = [row | ERROR if row["qid"] in ANSWERABLE[:3] or (row["qid"] not in ANSWERABLE and row["seed"] == 0) else row
            for row in suite.good]  # fmt: skip
    done = run_cli("score", "stability", "--format", "json", *_lay(suite, rows), "--gates", "ned50=0.2")
    report = json.loads(done.out)
    assert (done.code, report["gates"][0]["value"]) == (1, 0.6)
    counts = report["suites"]["stability"]["counts"]
    assert [counts[name] for name in ("answered", "refused", "missing", "errored")] == [2, 3, 0, 3]


def test_min_n_holds_for_counts_and_for_questions_too() -> None:
    suite = SUITES["stability"]()
    _lay(suite, suite.good)
    for rule in ("max = 0\nmin_n = 30", 'must_pass = ["q1"]\nmin_n = 30'):
        table = f'[[gate]]\nmetric = "stability.failing_questions"\n{rule}\n'
        Path("ragworthy.toml").write_text(_section("stability", suite) + table)
        assert run_cli("gate", "-q").code == 3, rule


@pytest.mark.parametrize(
    "change",
    [{"num": -8}, {"num": 0, "den": 0}, {"num": 4}, {"value": 0.1}, {"exact": "1/10", "num": None, "den": None}],
)
def test_a_baseline_that_contradicts_itself_is_not_believed(change: Row) -> None:
    suite = SUITES["answers"]()
    run_cli("score", "answers", "-q", *_lay(suite, suite.good), "-o", "base.json")
    report = json.loads(Path("base.json").read_text())
    report["suites"]["answers"]["metrics"]["answers.precision"] |= change
    Path("base.json").write_text(json.dumps(report))
    done = run_cli("score", "answers", "-q", *_half(), "--baseline", "base.json")
    assert (done.code, "[RW-B01]" in done.err) == (2, True), done
