"""The latency suite: worked arithmetic, what is judged and why, the guard, and that nothing drops out unseen."""

import json
import random
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy
from conftest import run_cli, write_jsonl
from ragworthy import flow
from ragworthy import gates as g
from ragworthy.errors import DataError, PolicyError
from ragworthy.ids import config_id
from ragworthy.metrics import registry
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome
from ragworthy.records import Run
from ragworthy.suites.latency import Latency
from ragworthy.suites.latency.rules import LATENCY_GATES, default_gates
from ragworthy.suites.latency.suite import SUITE
from ragworthy.suites.latency.sweep import cut_percentile

Row = dict[str, Any]
P95 = g.Gate("latency.p95", g.MAX, "2000")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(qid: str, **fields: Any) -> Row:
    row = {"qid": qid, "question": f"What about {qid}?", "answerable": True}
    return row | {"gold_claim_substr": [f"answer {qid}"], "gold_citations": [f"d#{qid}"]} | fields


def closed(qid: str, **fields: Any) -> Row:
    return asked(qid, answerable=False, gold_claim_substr=[], gold_citations=[], **fields)


def run(qid: str, ms: float, **fields: Any) -> Row:
    """A right answer."""
    answer = {"claim": f"It is answer {qid}.", "citations": [f"d#{qid}"]}
    return {"qid": qid, "e2e_ms": ms, "retrieved_ids": [f"d#{qid}", "z#1"], "answer_json": answer} | fields


def bad(qid: str, ms: float, **fields: Any) -> Row:
    return run(qid, ms, answer_json={"claim": "It is something else.", "citations": [f"d#{qid}"]}, **fields)


def refusal(qid: str, ms: float, **fields: Any) -> Row:
    return run(qid, ms, answer_json={"claim": "not in context", "citations": []}, **fields)


def score(
    gold: Iterable[Mapping[str, Any]],
    runs: Iterable[Mapping[str, Any]],
    gates: tuple[g.Gate, ...] = (P95,),
    settings: Latency | None = None,
    **more: Any,
) -> flow.Run:
    given = {"gold": list(gold), "runs": list(runs)}
    given |= {key: more.pop(key) for key in ("prices", "corpus") if key in more}
    return flow.score(flow.Request("latency", given, settings or Latency(), gates, **more))


def body(done: flow.Run) -> Row:
    found: Row = done.report["suites"]["latency"]
    return found


def value(done: flow.Run, name: str) -> Any:
    return body(done)["metrics"][name]["value"]


def gated(done: Any) -> list[Any]:
    """The gates that were asked for: all but the one on errors, which is always there."""
    return [one for one in done.judged if one.gate.metric != "latency.errors"]


def outcomes(done: flow.Run) -> list[tuple[str, str, str]]:
    return [(g.name_of(one.gate), one.gate.op, one.outcome.value) for one in gated(done)]


def codes(done: flow.Run) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(done)["warnings"]}


# W-39


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([100, 200, 300, 400], ("250", "370", "385", "397")),
        ([*range(10, 100, 10), 1000], ("55", "181", "590.5", "918.1")),
        ([7], ("7", "7", "7", "7")),
    ],
)
def test_w39_percentiles(times: list[int], expected: tuple[str, ...]) -> None:
    random.Random(1).shuffle(times)
    done = score([asked("a")], [run("a", ms) for ms in times])
    values = done.parts[0].body["metrics"]
    found = [Fraction(values[f"latency.{name}"]["exact"]) for name in ("p50", "p90", "p95", "p99")]
    assert found == [Fraction(one) for one in expected]
    assert Fraction(values["latency.tail"]["exact"]) == found[3] / found[0]


@pytest.mark.parametrize(
    ("times", "expected"),
    [([100, 200, 300, 400], (250, 370, 385, 396)), ([*range(10, 100, 10), 1000], (55, 180, 590, 918))],
)
def test_w39_as_the_reference_prints_them(times: list[int], expected: tuple[int, ...]) -> None:
    # cut to whole milliseconds after sums in floats: 397, 181, 590.5 and 918.1 without
    done = score([asked("a")], [run("a", ms) for ms in times], settings=Latency(profile="reference"))
    assert tuple(value(done, f"latency.{name}") for name in ("p50", "p90", "p95", "p99")) == expected


def test_w39_of_nothing() -> None:
    assert cut_percentile([], 95) == 0  # what the harness prints
    with pytest.raises(DataError, match="expected measured runs, got only warm-ups"):  # and here it is not a number
        score([asked("a")], [run("a", 100, warmup=True)])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30))
def test_percentiles_are_those_of_numpy(times: list[int]) -> None:
    done = score([asked("a")], [run("a", ms / 100) for ms in times])
    for name, percent in (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)):
        assert value(done, f"latency.{name}") == pytest.approx(np.percentile(np.array(times) / 100, percent), abs=1e-6)


def test_a_threshold_is_met_exactly() -> None:
    times = [run("a", 0.1)]
    assert outcomes(score([asked("a")], times, (P95._replace(threshold="0.1"),)))[0][2] == "pass"
    assert outcomes(score([asked("a")], times, (P95._replace(threshold="0.0999"),)))[0][2] == "fail"


def test_no_measured_run_is_an_error() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [asked("a")])
    runs = write_jsonl(Path("runs.jsonl"), [run("a", 5, warmup=True)])
    done = run_cli("score", "latency", "--gold", gold, "--runs", runs)
    assert (done.code, done.err.splitlines()[0]) == (
        2, "runs.jsonl: expected measured runs, got only warm-ups [RW-F04]",
    )  # fmt: skip


# W-40


def worked(names: str = "ABCDE") -> tuple[list[Row], list[Row]]:
    """A hundred questions under each configuration, so many of them right, every run as slow as its P95."""
    table = {"A": (900, 80), "B": (1200, 86), "C": (1200, 84), "D": (1500, 85), "E": (2100, 90)}
    gold = [asked(f"q{n:02d}") for n in range(100)]
    runs = [
        (run if n < table[name][1] else bad)(f"q{n:02d}", table[name][0], config_id=name, load_rps=5)
        for name in names
        for n in range(100)
    ]
    return gold, runs


GATES = (P95, g.Gate("answers.precision", g.MIN, "0.80", suite="latency"))


def test_the_worked_frontier_and_choices() -> None:
    done = score(*worked(), gates=GATES)
    found = {one["config_id"]: one for one in body(done)["configurations"]}
    assert list(found) == ["A", "B", "C", "D", "E"]  # from the fastest
    assert [name for name, one in found.items() if one["frontier"]] == ["A", "B", "E"]
    assert [name for name, one in found.items() if one["meets_gates"]] == ["A", "B", "C", "D"]
    assert found["E"]["failing"] == ["latency.p95"]
    assert body(done)["chosen"] == {"interactive": "A", "batch": "E"}
    assert body(done)["judged"]["configuration"] == "A"
    assert (value(done, "latency.p95"), value(done, "answers.precision")) == (900.0, 0.8)
    assert done.verdict == "SHIP"


def test_the_strict_frontier_is_kept_on_request() -> None:
    done = score(*worked(), gates=GATES, settings=Latency(frontier="strict"))
    assert [one["config_id"] for one in body(done)["configurations"] if one["frontier"]] == ["A", "B", "C", "E"]


def test_batch_use_has_its_own_p95() -> None:
    relaxed = (default_gates(Latency(use="batch"), {})[0], *GATES[1:])
    done = score(*worked(), gates=relaxed, settings=Latency(use="batch"))
    assert body(done)["chosen"] == {"interactive": "A", "batch": "E"}  # interactive use keeps its own P95
    assert body(done)["judged"] | {"knobs": {}} == {
        "configuration": "E", "load_rps": 5.0, "knobs": {}, "why": "chosen for batch use", "compared_at": "5",
    }  # fmt: skip
    assert [(one.gate.threshold, one.outcome) for one in gated(done)] == [
        ("2500", Outcome.PASS), ("0.80", Outcome.PASS),
    ]  # fmt: skip
    tight = score(*worked(), gates=GATES, settings=Latency(use="batch", batch_p95="2000"))
    assert body(tight)["judged"]["configuration"] == "B"
    for limit in ("1000", "2000"):
        own = score(*worked(), gates=(P95._replace(threshold=limit),), settings=Latency(use="batch"))
        assert [one.gate.threshold for one in gated(own)] == [limit]  # a gate of one's own stays as it is


def test_what_is_judged_and_why() -> None:
    def judged(names: str, gates: tuple[g.Gate, ...] = GATES, **chosen: Any) -> tuple[str, str]:
        found = body(score(*worked(names), gates=gates, settings=Latency(**chosen)))["judged"]
        return found["configuration"], found["why"]

    assert judged("ABCDE", configuration="D") == ("D", "as asked for")
    assert judged("E") == ("E", "the only one")
    assert judged("ABCDE") == ("A", "chosen for interactive use")
    nobody = (P95._replace(threshold="100"),)
    assert judged("BE", nobody) == ("B", "none meets the gates: the fastest of the frontier")
    assert judged("BE", GATES, use="batch", batch_p95="10") == (
        "B", "none meets the P95 of batch use: the fastest of the frontier",
    )  # fmt: skip


def test_an_unknown_configuration_is_an_error() -> None:
    with pytest.raises(PolicyError) as caught:
        score(*worked("AB"), settings=Latency(configuration="Z"))
    assert caught.value.lines()[0] == (
        'latency.configuration: expected a configuration of the runs (A, B), got "Z" [RW-P03]'
    )


def test_the_usual_gates_of_batch_use_and_those_of_ones_own() -> None:
    usual, batch = default_gates(Latency(), {}), default_gates(Latency(use="batch", batch_p95="3000"), {})
    assert (usual[0].threshold, batch[0].threshold) == ("2000", "3000")
    assert usual[1:] == batch[1:]
    gold, runs = worked()
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("runs.jsonl"), runs)
    files = ("score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--use", "batch", "--format", "json")

    def thresholds(*more: str) -> tuple[int, list[str]]:
        done = run_cli(*files, *more)
        gates = json.loads(done.out)["gates"]
        return done.code, [one["threshold"] for one in gates if one["metric"] == "latency.p95"]

    assert thresholds("--gates", "p95=2000") == (1, ["2000"])  # E is chosen for batch use and takes 2,100 ms
    assert thresholds("--gates", "p95=2500") == (0, ["2500"])
    assert thresholds()[1] == ["2500"]


def test_interactive_use_keeps_its_own_p95_under_batch_use() -> None:
    batch = (default_gates(Latency(use="batch"), {})[0],)
    done = score(*worked("E"), gates=batch, settings=Latency(use="batch"))
    assert body(done)["chosen"] == {"interactive": None, "batch": "E"}  # 2,100 ms are too many there
    assert done.verdict == "SHIP"


def test_a_configuration_that_was_not_asked_everything_cannot_be_judged() -> None:
    gold, runs = worked("A")
    both = [one | {"load_rps": load} for load in (1, 5) for one in runs]
    assert score(gold, both, GATES).verdict == "SHIP"
    done = score(gold, [one for one in both if (one["qid"], one["load_rps"]) != ("q99", 5)], GATES)
    assert (done.verdict, done.report["invalid"]) == ("INVALID", ["1 question has no measured run"])


def test_leaving_out_questions_does_not_pay() -> None:
    gold, runs = worked("AB")
    partly = [one for one in runs if one["config_id"] == "B" or one["qid"] < "q80"]  # A without its wrong answers
    done = score(gold, partly, GATES)
    assert body(done)["chosen"] == {"interactive": "B", "batch": "B"}
    assert (body(done)["judged"]["configuration"], done.verdict) == ("B", "SHIP")
    asked_for = score(gold, partly, GATES, Latency(configuration="A"))
    assert (asked_for.verdict, asked_for.report["invalid"]) == ("INVALID", ["20 questions have no measured run"])


def test_what_keeps_the_gates_is_chosen_off_the_frontier_too() -> None:
    """The faster one beats the other in time and is as right, but it costs too much."""
    gold = [asked("a"), closed("u")]
    quick, cheap = (
        [one | {"config_id": name, "usage": {"total_tokens": tokens}} for one in (run("a", ms), refusal("u", ms))]
        for name, ms, tokens in (("quick", 900, 9000), ("cheap", 950, 1))
    )
    gates = (P95, g.Gate("cost.total", g.MAX, "5"))
    done = score(gold, [*quick, *cheap], gates, prices=priced("[[price]]\nper_1k = 1\n"))
    found = {one["config_id"]: (one["frontier"], one["meets_gates"]) for one in body(done)["configurations"]}
    assert found == {"quick": (True, False), "cheap": (False, True)}
    assert body(done)["chosen"]["interactive"] == body(done)["judged"]["configuration"] == "cheap"
    assert done.verdict == "SHIP"


# the rollback guard


def released(ms: str, right: int) -> tuple[list[Row], list[Row]]:
    gold = [asked(f"q{n:03d}") for n in range(1000)]
    return gold, [(run if n < right else bad)(f"q{n:03d}", float(ms)) for n in range(1000)]


def report(done: flow.Run, name: str = "before.json") -> Path:
    path = Path(name)
    path.write_bytes(msgspec.json.encode(done.report))
    return path


@pytest.mark.parametrize(
    ("ms", "right", "slower", "worse"),
    [("1150", 840, "pass", "pass"), ("1151", 860, "fail", "pass"), ("1000", 839, "pass", "fail")],
)
def test_the_worked_rollback_guard(ms: str, right: int, slower: str, worse: str) -> None:
    before = report(score(*released("1000", 860)))
    done = score(*released(ms, right), baseline=before)
    assert outcomes(done) == [
        ("latency.p95", "<=", "pass"),
        ("latency.p95", "worse<=", slower),
        ("latency:answers.precision", "drop<=", worse),
    ]
    assert done.verdict == ("SHIP" if slower == worse == "pass" else "NO-SHIP")


def test_a_guard_of_ones_own_replaces_the_usual_one() -> None:
    before = report(score(*worked("A")))
    own = (g.Gate("latency.p95", g.WORSE, "0.5"),)
    done = score(*worked("A"), gates=own, baseline=before)
    assert [(one.gate.metric, one.gate.threshold) for one in gated(done)] == [
        ("latency.p95", "0.5"), ("answers.precision", "0.02"),
    ]  # fmt: skip


def test_a_report_of_the_profile_reference_is_a_baseline_for_this_profile_only() -> None:
    gold, runs = released("1000", 43)
    before = report(score(gold, runs, settings=Latency(profile="reference")))
    for profile, outcome in (("reference", "pass"), ("default", "not_measured")):
        done = score(gold, runs, settings=Latency(profile=profile), baseline=before)
        assert [one.outcome.value for one in gated(done) if one.gate.op in g.AGAINST] == [outcome] * 2


def test_another_load_is_no_baseline() -> None:
    gold, runs = worked("A")
    before = report(score(gold, runs))
    done = score(gold, [one | {"load_rps": 20} for one in runs], baseline=before)
    assert done.verdict == "INVALID"
    assert [one.reason for one in gated(done)[1:]] == [
        "the baseline is not comparable: its load was 5 requests/s, now it is 20",
    ] * 2  # fmt: skip


def test_loads_that_both_have_are_compared_one_by_one() -> None:
    gold, runs = worked("A")
    at = {load: [one | {"load_rps": load} for one in runs] for load in (1, 5, 20)}
    before = report(score(gold, at[1] + at[5]))
    slow = [one | {"e2e_ms": 1100} for one in at[5]]
    done = score(gold, at[1] + slow + at[20], baseline=before)
    against = [(g.name_of(one.gate), one.outcome.value) for one in gated(done) if one.gate.op == g.WORSE]
    assert against == [("latency.p95[load=1]", "pass"), ("latency.p95[load=5]", "fail")]


def test_one_load_is_compared_with_that_load_of_the_baseline() -> None:
    gold, runs = worked("A")
    at = {load: [one | {"load_rps": load, "e2e_ms": 300 * load} for one in runs] for load in (1, 5)}
    before = report(score(gold, at[1] + at[5]))
    now = [one | {"e2e_ms": 400} for one in at[1]]  # slower than 300 by a third, faster than 1,500
    (judged,) = [one for one in gated(score(gold, now, baseline=before)) if one.gate.op == g.WORSE]
    assert (judged.baseline, judged.outcome) == (300, Outcome.FAIL)
    (judged,) = [one for one in gated(score(gold, at[5], baseline=before)) if one.gate.op == g.WORSE]
    assert (judged.baseline, judged.outcome) == (1500, Outcome.PASS)
    other = score(gold, [one | {"load_rps": 20} for one in runs], baseline=before)
    assert {one.reason for one in gated(other)[1:]} == {
        "the baseline is not comparable: its load was 1, 5 requests/s, now it is 20"
    }


# groups


def test_rates_are_per_run_and_intervals_rest_on_questions() -> None:
    gold = [asked("a"), asked("b"), closed("u"), closed("v")]
    runs = [run("a", 5), run("a", 5), refusal("a", 5), bad("b", 5), run("b", 5), run("b", 5)]
    runs += [refusal("u", 5), refusal("u", 5), bad("u", 5), refusal("v", 5), refusal("v", 5), refusal("v", 5)]
    metrics = body(score(gold, runs))["metrics"]

    def counted(name: str) -> tuple[int, int, int]:
        one = metrics[f"answers.{name}"]
        return one["num"], one["den"], one["distinct"]

    assert counted("precision") == (4, 6, 3)  # shipped: two of a, three of b, one of u
    assert counted("under_refusal") == (1, 6, 2)
    assert counted("over_refusal") == (1, 6, 2)
    assert counted("containment") == (4, 6, 2)
    # Wilson for 1/6 on two cases: (1/6 + z²/4 ± z √(5/72 + z²/16)) / (1 + z²/2), z² = 3.8414588: 1.127031 ± 1.090443
    assert metrics["answers.under_refusal"]["low"] == pytest.approx((1.127031 - 1.090443) / 2.920729, abs=1e-5)
    assert metrics["answers.under_refusal"]["high"] == pytest.approx((1.127031 + 1.090443) / 2.920729, abs=1e-5)


def test_every_load_is_a_group_and_every_gate_holds_at_each() -> None:
    gold = [asked("a"), asked("b")]
    runs = [run(q, ms, load_rps=load) for q in "ab" for load, ms in ((1, 900), (5, 1900), (20, 2100))]
    done = score(gold, runs, GATES)
    assert outcomes(done)[:3] == [
        ("latency.p95[load=1]", "<=", "pass"),
        ("latency.p95[load=5]", "<=", "pass"),
        ("latency.p95[load=20]", "<=", "fail"),
    ]
    assert value(done, "latency.p95") == 2100
    assert {name: one["latency.p95"]["value"] for name, one in body(done)["slices"].items()} == {
        "load=1": 900, "load=5": 1900, "load=20": 2100, "length=short": 2100,
    }  # fmt: skip
    assert done.verdict == "NO-SHIP"


def test_no_answer_may_break_a_constraint_where_these_are_enforced() -> None:
    gold = [asked("a", constraints=["X rejects null keys."]), asked("b")]
    runs = [run("a", 100), run("b", 100)]
    assert not any("scu" in name for name, _, _ in outcomes(score(gold, runs)))
    done = score(gold, runs, settings=Latency(scu=True))
    assert done.verdict == "NO-SHIP"
    assert ("latency:answers.scu_violations", "<=", "fail") in outcomes(done)


def test_a_wrong_answer_without_evidence_counts_in_a_mixed_set() -> None:
    gold = [asked("a"), asked("b", gold_citations=[])]
    gates = LATENCY_GATES
    assert score(gold, [run("a", 100), bad("b", 100)], gates).verdict != "SHIP"
    names = [name for name, _, _ in outcomes(score(gold[:1], [run("a", 100)], gates))]
    assert "latency:answers.containment" not in names


def test_a_gate_of_a_pack_that_another_one_replaces_at_a_load_is_named() -> None:
    packed = (P95._replace(pack="latency"), P95._replace(slice="load=5", threshold="2500", pack="latency-5rps"))
    done = score([asked("a")], [run("a", 2300, load_rps=5)], packed)
    (gate,) = [one for one in done.report["gates"] if one["metric"] == "latency.p95"]
    assert (gate["threshold"], gate["over"]) == ("2500", "≤ 2000 of the pack latency")
    told = [one["message"] for one in body(done)["warnings"] if one["code"] == "RW-W139"]
    assert told == [
        "latency.p95[load=5]: at this load it takes the place of ≤ 2000 of the pack latency, which is judged at other "
        "loads only"
    ]


def test_a_gate_on_one_load_stands_for_itself() -> None:
    gold = [asked("a")]
    runs = [run("a", ms, load_rps=load) for load, ms in ((1, 900), (5, 2400))]
    relaxed = (P95, P95._replace(slice="load=5", threshold="2500"))
    done = score(gold, runs, relaxed)
    assert [(g.name_of(one.gate), one.gate.threshold) for one in gated(done)] == [
        ("latency.p95[load=1]", "2000"), ("latency.p95[load=5]", "2500"),
    ]  # fmt: skip
    assert done.verdict == "SHIP"
    assert all(one["meets_gates"] for one in body(done)["configurations"])


def test_a_waiver_goes_along_to_every_load() -> None:
    runs = [run("a", 3000, load_rps=load) for load in (1, 5)]
    gates = (P95, g.Gate("answers.chr", g.MIN, "0.5", suite="latency"))
    waiver = g.Waiver("latency.p95", "known", "us", "2099-01-01")
    done = score([asked("a")], runs, gates, waivers=(waiver,))
    assert [one.waiver is not None for one in gated(done)] == [True, True, False, False]
    assert done.verdict == "SHIP"


def by_topic(slow: Iterable[tuple[str, int]], loads: Iterable[int] = (5, 20)) -> tuple[list[Row], list[Row]]:
    """Two questions of topic x and two of y at each load; those named by topic and load are slow and wrong."""
    gold = [asked(f"{topic}{n}", topic=topic) for topic in "xy" for n in (1, 2)]
    named = set(slow)
    runs = [
        (bad if (one["topic"], load) in named else run)(
            one["qid"], 3000 if (one["topic"], load) in named else 100, load_rps=load
        )
        for one in gold
        for load in loads
    ]
    return gold, runs


ON_X = P95._replace(slice="topic=x")


@pytest.mark.parametrize(
    ("slow", "outcome"),
    [(5, ["fail", "pass"]), (20, ["pass", "fail"]), (None, ["pass", "pass"])],
)
def test_a_gate_on_a_kind_of_question_holds_at_every_load(slow: int | None, outcome: list[str]) -> None:
    done = score(*by_topic([("x", slow)] if slow else []), gates=(ON_X,))
    names = ["latency.p95[topic=x, load=5]", "latency.p95[topic=x, load=20]"]
    assert outcomes(done) == [(name, "<=", one) for name, one in zip(names, outcome, strict=True)]
    assert done.verdict == ("SHIP" if slow is None else "NO-SHIP")
    shown = {name: one["latency.p95"]["value"] for name, one in body(done)["slices"].items()}
    assert shown["topic=x, load=5"] == (3000 if slow == 5 else 100)
    assert shown["topic=x, load=20"] == shown["topic=x"] == (3000 if slow == 20 else 100)
    assert not any(name.startswith("topic=y, ") for name in shown)  # no gate asks for it


def test_a_gate_on_a_kind_of_question_counts_that_kind_at_that_load_alone() -> None:
    gates = (g.Gate("answers.precision", g.MIN, "0.9", slice="topic=x", suite="latency"),)
    done = score(*by_topic([("x", 5), ("y", 20)]), gates=gates)
    cases = {one.gate.slice: (one.value.num, one.value.den) for one in gated(done)}
    assert cases == {"topic=x, load=5": (0, 2), "topic=x, load=20": (2, 2)}


def test_a_gate_on_a_length_holds_at_every_load_too() -> None:
    done = score(*by_topic([("x", 5)]), gates=(P95._replace(slice="length=short"),))
    assert outcomes(done) == [
        ("latency.p95[length=short, load=5]", "<=", "fail"), ("latency.p95[length=short, load=20]", "<=", "pass"),
    ]  # fmt: skip


def test_with_one_load_a_gate_on_a_kind_of_question_keeps_its_name() -> None:
    for loads in ((5,), ()):
        gold, runs = by_topic([("x", 5)], loads or (5,))
        done = score(gold, [one if loads else one | {"load_rps": None} for one in runs], (ON_X,))
        assert outcomes(done) == [("latency.p95[topic=x]", "<=", "fail")]
        assert not any(", load=" in name for name in body(done)["slices"])


def test_a_gate_on_a_kind_of_question_stands_beside_the_general_one() -> None:
    strict = ON_X._replace(threshold="50")
    done = score(*by_topic([]), gates=(P95, strict))
    assert outcomes(done) == [
        ("latency.p95[load=5]", "<=", "pass"), ("latency.p95[load=20]", "<=", "pass"),
        ("latency.p95[topic=x, load=5]", "<=", "fail"), ("latency.p95[topic=x, load=20]", "<=", "fail"),
    ]  # fmt: skip


def test_a_gate_on_one_load_takes_no_place_of_a_gate_on_a_kind_of_question() -> None:
    relaxed = P95._replace(slice="load=5", threshold="5000")
    done = score(*by_topic([("x", 5)]), gates=(ON_X, relaxed))
    assert outcomes(done) == [
        ("latency.p95[topic=x, load=5]", "<=", "fail"), ("latency.p95[topic=x, load=20]", "<=", "pass"),
        ("latency.p95[load=5]", "<=", "pass"),
    ]  # fmt: skip


def test_kinds_of_questions_are_compared_load_by_load_with_a_baseline() -> None:
    worse = g.Gate("latency.p95", g.WORSE, "0.5", slice="topic=x")
    before = report(score(*by_topic([("x", 20)]), gates=(ON_X,)))
    done = score(*by_topic([("x", 5), ("x", 20)]), gates=(worse,), baseline=before)
    against = {one.gate.slice: (one.baseline, one.outcome.value) for one in gated(done) if one.gate.op == g.WORSE}
    assert against == {
        "topic=x, load=5": (100, "fail"),
        "topic=x, load=20": (3000, "pass"),
        "load=5": (100, "undecided"),
        "load=20": (3000, "pass"),
    }  # the usual guard stays beside one for some questions


@pytest.mark.parametrize(("ms", "word"), [(140, "pass"), (160, "fail")])
def test_some_questions_are_compared_at_the_load_that_was_measured_now(ms: int, word: str) -> None:
    gold = [asked(qid, topic="x") for qid in "ab"]
    before = [run(qid, 100 if load == 5 else 1900, load_rps=load) for qid in "ab" for load in (5, 20)]
    worse = g.Gate("latency.p95", g.WORSE, "0.5", slice="topic=x")
    earlier = report(score(gold, before, (ON_X,)))
    done = score(gold, [run(qid, ms, load_rps=5) for qid in "ab"], (worse,), baseline=earlier)
    (found,) = (one for one in gated(done) if one.gate == worse)
    assert (found.baseline, found.outcome.value) == (100, word)
    single = report(score(gold, [run(qid, 100, load_rps=5) for qid in "ab"], (ON_X,)), "single.json")
    both = [run(qid, ms, load_rps=load) for qid in "ab" for load in (5, 20)]
    done = score(gold, both, (worse,), baseline=single)
    against = {one.gate.slice: one.outcome.value for one in gated(done) if (one.gate.slice or "").startswith("topic")}
    assert against == {"topic=x, load=5": word}


def test_with_one_load_a_gate_on_it_stands_for_the_general_one() -> None:
    own = P95._replace(slice="load=5", threshold="2500")
    done = score([asked("a")], [run("a", 2300, load_rps=5)], (P95, own))
    assert outcomes(done) == [("latency.p95[load=5]", "<=", "pass")]


def waived(*waivers: str, gates: str) -> dict[str, bool]:
    """The failing gates of a policy of latency, and whether a waiver reaches each of them."""
    gold, runs = by_topic([(topic, load) for topic in "xy" for load in (5, 20)])
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("runs.jsonl"), runs)
    tables = "".join(
        f'[[waiver]]\ngate = "{one}"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n' for one in waivers
    )
    Path("ragworthy.toml").write_text(
        f'version = 1\ndefaults = false\n[latency]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n{gates}{tables}'
    )
    done = run_cli("gate", "--format", "json")
    assert done.err == ""
    failing = [one for one in json.loads(done.out)["gates"] if one["outcome"] == "fail"]
    assert done.code == (0 if all("waiver" in one for one in failing) else 1)
    return {f"{one['metric']}[{one['slice']}]": "waiver" in one for one in failing}


SLOW = '[[gate]]\nmetric = "latency.p95"\nmax = 2000\n'
WRONG = '[[gate]]\nmetric = "answers.precision"\nsuite = "latency"\nmin = 0.8\n'
SLOW_X = SLOW + 'slice = "topic=x"\n'


@pytest.mark.parametrize(
    ("waiver", "reached"),
    [
        ("latency.p95[load=20]", ["latency.p95[load=20]"]),
        ("p95[load=20]", ["latency.p95[load=20]"]),
        ("latency.p95", ["latency.p95[load=5]", "latency.p95[load=20]"]),
        ("latency:answers.precision[load=20]", ["answers.precision[load=20]"]),
        ("latency:precision[load=20]", ["answers.precision[load=20]"]),
        ("latency:answers.precision", ["answers.precision[load=5]", "answers.precision[load=20]"]),
        ("latency.p95[topic=x]", ["latency.p95[topic=x, load=5]", "latency.p95[topic=x, load=20]"]),
        ("p95[topic=x]", ["latency.p95[topic=x, load=5]", "latency.p95[topic=x, load=20]"]),
        ("latency.p95[topic=x, load=5]", ["latency.p95[topic=x, load=5]"]),
        ("latency.p95[topic=y]", []),
        ("latency.p95[load=2]", []),
        ("answers.precision", ["answers.precision[load=5]", "answers.precision[load=20]"]),  # there is no [answers]
        ("precision[load=5]", ["answers.precision[load=5]"]),
    ],
)
def test_a_waiver_reaches_the_loads_that_it_names(waiver: str, reached: list[str]) -> None:
    found = waived(waiver, gates=SLOW + WRONG + SLOW_X)
    assert list(found) == [
        f"{name}load={load}]"
        for name in ("latency.p95[", "answers.precision[", "latency.p95[topic=x, ")
        for load in (5, 20)
    ]
    assert [name for name, there in found.items() if there] == reached


def test_waivers_of_every_load_together_waive_all() -> None:
    assert waived("latency.p95[load=5]", "latency.p95[load=20]", gates=SLOW) == {
        "latency.p95[load=5]": True, "latency.p95[load=20]": True,
    }  # fmt: skip


def test_with_one_load_a_waiver_does_not_reach_a_slice_that_it_does_not_name() -> None:
    gates = (P95, P95._replace(slice="topic=x"))
    waivers = (g.Waiver("latency.p95", "known", "us", "2099-01-01"),)
    done = score([asked("a", topic="x")], [run("a", 9000, load_rps=5)], gates, waivers=waivers)
    assert [one.waiver is not None for one in gated(done)] == [True, False]
    assert done.verdict == "NO-SHIP"


def test_configurations_are_compared_at_the_highest_load() -> None:
    gold = [asked("a")]
    quick_alone = [run("a", ms, config_id="alone", load_rps=load) for load, ms in ((1, 10), (20, 1900))]
    quick_under_load = [run("a", ms, config_id="loaded", load_rps=load) for load, ms in ((1, 500), (20, 600))]
    only_low = [run("a", 1, config_id="low", load_rps=1)]
    done = score(gold, quick_alone + quick_under_load + only_low)
    assert body(done)["chosen"]["interactive"] == "loaded"
    assert codes(done)["RW-W60"] == (
        "1 question did not meet every configuration and load equally often, "
        "e.g. a met alone at 1/s once and low at 20/s never"
    )


def test_stages() -> None:
    runs = [run("a", 100, retrieval_ms=10, stage_ms={"reason": 80, "parse": 1}), run("a", 200, t_retrieve_ms=30)]
    (only,) = body(score([asked("a")], runs))["configurations"]
    assert only["stages"] == {
        "retrieval": {"n": 2, "p50": 20.0, "p95": 29.0},
        "llm": {"n": 1, "p50": 80.0, "p95": 80.0},
        "parse": {"n": 1, "p50": 1.0, "p95": 1.0},
    }
    assert list(only["stages"]) == ["retrieval", "llm", "parse"]


def test_lengths_of_questions() -> None:
    words = {"a": 49, "b": 50, "c": 200, "d": 201}
    gold = [asked(qid, question=" ".join(["x"] * n)) for qid, n in words.items()]
    runs = [run(qid, n) for n, qid in enumerate("abcd", 1)]
    slices = body(score(gold, runs))["slices"]
    assert {name: one["latency.p50"]["value"] for name, one in slices.items()} == {
        "length=short": 1, "length=medium": 2.5, "length=long": 4,
    }  # fmt: skip
    counted = [one | {"usage": {"question_tokens": 500}} for one in runs]
    assert list(body(score(gold, counted))["slices"]) == ["length=long"]


def test_slices_by_a_field_of_the_gold_set() -> None:
    gold = [asked("a", topic="x"), asked("b", topic="y")]
    done = score(
        gold, [run("a", 1), run("b", 9)], (P95._replace(slice="topic=y", threshold="5"),), Latency(slices=("topic",))
    )
    assert body(done)["slices"]["topic=x"]["latency.p95"]["value"] == 1
    assert outcomes(done) == [("latency.p95[topic=y]", "<=", "fail")]


def test_questions_that_are_missing_are_counted_in_their_own_slice() -> None:
    gold = [asked("a", topic="x"), asked("b", topic="x"), asked("c", topic="y")]
    gates = (P95, g.Gate("answers.missing", g.MAX, "0", suite="latency"))
    done = score(gold, [run("a", 1), run("c", 1)], gates, Latency(slices=("topic",)))
    shown = {name: numbers["answers.missing"]["value"] for name, numbers in body(done)["slices"].items()}
    assert (shown["topic=x"], shown["topic=y"], value(done, "answers.missing")) == (1, 0, 1)


def test_a_percentile_needs_nothing_but_its_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = all_metrics("latency")["latency.p95"]
    monkeypatch.setitem(registry._REGISTRY, "latency.p75", usual._replace(id="latency.p75", kind="p75"))
    gate = g.Gate("latency.p75", g.MAX, "300")
    runs = [run("a", ms) for ms in (100, 200, 300, 400)]
    done = score([asked("a")], runs, (gate,))
    assert value(done, "latency.p75") == 325
    assert value(score([asked("a")], runs, (gate,), Latency(profile="reference")), "latency.p75") == 325
    assert done.report["next"][0]["pattern"] == "too slow"
    header = SUITE.tables(body(done))[0].header
    assert header[2:7] == ("P50 ms", "P75", "P90", "P95", "P99")


def test_too_many_slices_are_an_error() -> None:
    gold = [asked(f"q{n}") for n in range(201)]
    with pytest.raises(PolicyError) as caught:
        score(gold, [run(one["qid"], 1) for one in gold], settings=Latency(slices=("qid",)))
    assert caught.value.lines()[0] == (
        "latency.slices: expected at most 200 slices, got 201: slice by a field with fewer values [RW-P03]"
    )


# nothing drops out unseen


def test_warm_ups_are_dropped_by_their_flag_alone_and_counted() -> None:
    runs = [run("a", 9000, warmup=True, load_rps=1), run("a", 9000, load_rps=1), run("a", 1, load_rps=1)]
    done = score([asked("a")], runs)
    (only,) = body(done)["configurations"]
    assert (only["n"], only["warmup"], body(done)["counts"]["warmup"]) == (2, 1, 1)
    assert value(done, "latency.p50") == 4500.5


def test_a_run_that_failed_is_slow_and_wrong_not_absent() -> None:
    runs = [run("a", 10), {"qid": "a", "e2e_ms": 60000, "error": "timeout", "retrieved_ids": [], "answer_json": None}]
    done = score([asked("a")], runs)
    assert value(done, "latency.p50") == 30005
    assert value(done, "answers.precision") == 0.5
    assert body(done)["configurations"][0]["errors"] == 1
    assert codes(done)["RW-W24"] == "1 run with an error instead of an answer; their times count"
    assert body(done)["offenders"][0]["why"] == (
        "an error instead of an answer: timeout (1 of 2 runs not as they should be)"
    )


def test_what_came_before_an_error_is_no_answer() -> None:
    gold = [asked(f"q{n:03d}") for n in range(100)]
    runs = [run(one["qid"], 5) for one in gold]
    right = g.Gate("answers.precision", g.MIN, "1", suite="latency")
    loose = g.Gate("latency.errors", g.MAX, "0.5")
    assert score(gold, runs, (right, loose)).verdict == "SHIP"
    done = score(gold, [runs[0] | {"error": "timeout"}, *runs[1:]], (right, loose))
    assert (done.verdict, value(done, "answers.precision")) == ("NO-SHIP", 0.99)
    usual = score(gold, [runs[0] | {"error": "timeout"}, *runs[1:]], (P95,))
    assert (value(usual, "latency.errors"), usual.verdict) == (0.01, "SHIP")  # one of a hundred is allowed


def test_a_question_without_any_run_makes_the_evidence_invalid() -> None:
    done = score([asked("a"), asked("b"), asked("c")], [run("a", 1), run("b", 1, warmup=True)])
    assert done.report["invalid"] == ["2 questions have no measured run"]
    assert [row["label"] for row in done.rows()] == ["OK", "MISSING", "MISSING"]
    for one in body(done)["metrics"].values():
        ledger = dict(one["ledger"])
        assert ledger.pop("expected") == sum(ledger.values()) == 3


def test_a_design_that_is_not_crossed_is_warned_about() -> None:
    gold = [asked(qid) for qid in "abc"]
    runs = [run(qid, 5, config_id=config) for qid, config in zip("abc", "xyz", strict=True) for _ in range(3)]
    done = score(gold, runs)
    assert codes(done)["RW-W60"] == (
        "3 questions did not meet every configuration and load equally often, e.g. a met x 3 times and y never"
    )
    assert done.verdict == "INVALID"  # the judged one was not asked everything
    assert done.report["invalid"] == ["2 questions have no measured run"]
    crossed = score(gold, [run(qid, 5, config_id=config) for qid in "aabc" for config in "xyz"])
    assert "RW-W60" not in codes(crossed)


def test_runs_of_unknown_questions_are_an_error() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [asked("a")])
    runs = write_jsonl(Path("runs.jsonl"), [run("a", 5), run("zz", 5)])
    done = run_cli("score", "latency", "--gold", gold, "--runs", runs)
    assert (done.code, done.err.splitlines()[0]) == (
        2, 'runs.jsonl:2: qid: expected a qid of the gold set, got "zz" [RW-T11]',
    )  # fmt: skip


def test_citations_must_be_texts() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [asked("a")])
    runs = write_jsonl(Path("runs.jsonl"), [run("a", 5, answer_json={"claim": "x", "citations": [{"id": 1}]})])
    done = run_cli("score", "latency", "--gold", gold, "--runs", runs)
    message = "answer_json.citations: expected a string, got an object or a list [RW-T02]"
    assert (done.code, done.err.splitlines()[0]) == (2, f"runs.jsonl:1: {message}")


def test_runs_without_answers_measure_time_alone() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [asked("a"), asked("b")])
    Path("runs.csv").write_text(
        "ts,qid,e2e_ms,knobs\n1,a,100,k=1\n2,b,200,k=1\nts,qid,e2e_ms,knobs\n3,a,50,k=2\n4,b,60,k=2\n"
    )
    alone = run_cli("score", "latency", "--gold", gold, "--runs", "runs.csv", "--gates", "p95=150", "--format", "json")
    suite = json.loads(alone.out)["suites"]["latency"]
    assert alone.code == 0
    assert suite["judged"]["configuration"] == config_id({"k": 2})
    assert suite["judged"]["why"] == "the fastest: accuracy was not measured"
    assert suite["metrics"]["answers.precision"]["undefined"] == "the runs hold no answers"
    assert {one["code"]: one["message"] for one in suite["warnings"]} | {"RW-W13": "", "RW-W15": "", "RW-W12": ""} == {
        "RW-W61": "2 configurations and loads without answers",
        "RW-W62": "the header is in the table 1 more time",
        "RW-W65": "4 runs without load_rps",
        "RW-W12": "", "RW-W13": "", "RW-W15": "",
    }  # fmt: skip
    usual = run_cli("score", "latency", "--gold", gold, "--runs", "runs.csv")
    assert usual.code == 4
    names = ", ".join(f"latency:answers.{name}" for name in ("precision", "chr", "under_refusal", "over_refusal"))
    assert f"{names} were not measured: the runs hold no answers" in usual.out


def test_an_error_among_times_alone_is_no_answer() -> None:
    gold = [asked(f"q{n:03d}") for n in range(100)]
    runs: list[Row] = [{"qid": one["qid"], "e2e_ms": 5.0, "load_rps": 1} for one in gold]
    done = score(gold, [runs[0] | {"error": "timeout"}, *runs[1:]])
    metrics = body(done)["metrics"]
    for name in ("precision", "chr", "under_refusal", "over_refusal", "containment"):
        assert metrics[f"answers.{name}"]["undefined"] == "the runs hold no answers"
    assert codes(done)["RW-W61"] == "1 configuration and load without answers"
    assert (value(done, "latency.errors"), done.verdict) == (0.01, "SHIP")  # times and errors are measured
    usual = score(gold, [runs[0] | {"error": "timeout"}, *runs[1:]], LATENCY_GATES)
    assert usual.verdict == "INVALID"  # not NO-SHIP: nothing is known of its answers
    with_answers = score(gold, [run("q000", 5, error="timeout", load_rps=1), *runs[1:]])
    assert value(with_answers, "answers.containment") == 0.0


def test_errors_alone_are_empty_answers_where_others_answer() -> None:
    gold = [asked("a"), asked("b")]
    good = [run(qid, 5, config_id="x") for qid in "ab"]
    broken: list[Row] = [{"qid": qid, "e2e_ms": 5, "config_id": "y", "error": "status 500"} for qid in "ab"]
    found = {one["config_id"]: one["metrics"] for one in body(score(gold, good + broken))["configurations"]}
    assert [found[name]["answers.containment"]["value"] for name in "xy"] == [1.0, 0.0]


def test_a_missing_answer_among_answers_is_an_empty_one() -> None:
    runs = [run("a", 5), {"qid": "a", "e2e_ms": 5}]
    assert value(score([asked("a")], runs), "answers.precision") == 0.5
    other = [run("a", 5, config_id="x"), {"qid": "a", "e2e_ms": 5, "config_id": "y"}]
    found = {
        one["config_id"]: one["metrics"]["answers.chr"] for one in body(score([asked("a")], other))["configurations"]
    }
    assert (found["x"]["value"], found["y"]["undefined"]) == (1.0, "the runs hold no answers")


def test_a_run_in_the_file_twice_is_counted_once_and_told() -> None:
    row = run("a", 5, run_id="r1")
    done = score([asked("a")], [row, row])
    assert (body(done)["counts"]["runs"], body(done)["counts"]["measured"]) == (2, 1)
    assert codes(done)["RW-W66"] == "1 run is in the file again and did not count twice"


def test_a_rate_that_was_not_held_is_told() -> None:
    def stamped(gap: float) -> flow.Run:
        runs = [run("a", 5, load_rps=10, ts=n * gap) for n in range(11)]
        return score([asked("a")], runs)

    good, slack = stamped(0.1), stamped(0.125)
    assert body(good)["configurations"][0]["rate_held"] == 10.0
    assert "RW-W67" not in codes(good)
    assert body(slack)["configurations"][0]["rate_held"] == 8.0
    assert codes(slack)["RW-W67"] == f"{config_id({})} was to get 10 requests/s and got 8"


# cost


def priced(text: str) -> Path:
    path = Path("prices.toml")
    path.write_text(text)
    return path


def test_w47_cost_for_each_correct_answer() -> None:
    # W-47: 3770 tokens at 0.006 a thousand, 40 correct.
    gold = [asked(f"q{n}") for n in range(50)]
    tokens = [75] * 49 + [95]
    runs = [(run if n < 40 else bad)(f"q{n}", 5, usage={"total_tokens": tokens[n]}) for n in range(50)]
    prices = priced("[[price]]\nper_1k = 0.006\n[budget]\ncap = 100\nspent = 60\nday = 15\ndays = 30\n")
    done = score(gold, runs, (g.Gate("cost.per_correct", g.MAX, "0.0005655"),), prices=prices)
    metrics = body(done)["metrics"]
    assert Fraction(metrics["cost.total"]["exact"]) == Fraction("0.02262")
    assert Fraction(metrics["cost.per_correct"]["exact"]) == Fraction("0.0005655")
    assert done.verdict == "SHIP"
    assert codes(done)["RW-W64"] == "120 USD are projected for the month, the cap is 100 USD"
    from ragworthy.suites.latency.advice import lines

    assert lines(body(done))[-2:] == [
        "cost: 0.02262 USD for 50 runs, 0.0005655 USD for each correct one",
        "budget: 60 of 100 USD spent on day 15 of 30, 120 projected: more than 110 % of the cap",
    ]


def test_nothing_correct_fails_the_gate_on_cost() -> None:
    prices = priced("[[price]]\nper_1k = 1\n")
    runs = [bad("a", 5, usage={"total_tokens": 1})]
    done = score([asked("a")], runs, (g.Gate("cost.per_correct", g.MAX, "9"),), prices=prices)
    assert [(one.outcome, one.reason) for one in gated(done)] == [(Outcome.FAIL, "nothing was correct")]
    assert done.verdict == "NO-SHIP"
    waiver = g.Waiver("cost.per_correct", "known", "us", "2099-01-01")
    waived = score([asked("a")], runs, (g.Gate("cost.per_correct", g.MAX, "9"), P95), prices=prices, waivers=(waiver,))
    assert waived.verdict == "SHIP"


def test_an_unknown_spend_leaves_no_cost_at_all() -> None:
    prices = priced("[[price]]\nper_1k = 1\n")
    runs = [run("a", 5, usage={"total_tokens": 1}), run("a", 5)]
    done = score([asked("a")], runs, (g.Gate("cost.total", g.MAX, "9"),), prices=prices)
    assert body(done)["metrics"]["cost.total"]["undefined"] == "usage is not recorded (1 of 2 runs)"
    assert codes(done)["RW-W63"] == "the cost of 1 run is not known"
    assert done.verdict == "INVALID"
    without = score([asked("a")], runs)
    assert body(without)["metrics"]["cost.per_correct"]["undefined"] == "no prices were given (--prices)"
    assert "RW-W63" not in codes(without)


def test_cost_moves_from_seed_to_seed() -> None:
    prices = priced("[[price]]\nper_1k = 1000\n")
    runs = [run("a", 5, seed=seed, usage={"total_tokens": n}) for seed, n in enumerate((38, 42, 44))]
    metrics = body(score([asked("a")], runs, prices=prices))["metrics"]
    assert metrics["cost.variation"]["value"] == 0.060349  # σ 2.494438 over μ 41.333333
    alone = body(score([asked("a")], runs[:1], prices=prices))["metrics"]
    assert alone["cost.variation"]["undefined"] == "needs runs under several seeds or paraphrases"


def test_token_efficiency_needs_the_corpus() -> None:
    chunks = [{"chunk_id": "d#a", "text": "one two three"}, {"chunk_id": "z#1", "text": "x", "tokens": 7}]
    done = score([asked("a")], [run("a", 5), bad("a", 5, retrieved_ids=["z#1"])], corpus=chunks)
    one = body(done)["metrics"]["cost.token_efficiency"]
    assert (one["num"], one["den"]) == (3, 17)  # 3 of 10 tokens, then 0 of 7
    unknown = score([asked("a")], [run("a", 5, retrieved_ids=["q#9"])], corpus=chunks)
    assert body(unknown)["metrics"]["cost.token_efficiency"]["undefined"] == "the corpus does not have q#9"
    broken = score([asked("a")], [run("a", 5), run("a", 5, error="timeout")], corpus=chunks)
    one = body(broken)["metrics"]["cost.token_efficiency"]
    assert (one["num"], one["den"]) == (3, 20)  # what is beside an error cites nothing: 3 of 10, then 0 of 10
    without = score([asked("a")], [run("a", 5)])
    assert body(without)["metrics"]["cost.token_efficiency"]["undefined"] == "needs chunk texts"


# gates of other kinds


def test_questions_that_must_pass_do_in_every_run_at_every_load() -> None:
    gold = [asked("a"), asked("b")]
    runs = [run(q, 5, load_rps=load) for q in "ab" for load in (1, 5)] + [bad("b", 5, load_rps=1)]
    gate = g.Gate("answers.precision", g.EACH, "2", must_pass=("a", "b"), suite="latency")
    (judged,) = gated(score(gold, runs, (gate,)))
    assert (judged.outcome, judged.failing) == (Outcome.FAIL, ("b",))
    over = g.Gate("answers.over_refusal", g.EACH, "2", must_pass=("a", "b"), suite="latency")
    assert score(gold, runs, (over,)).judged[0].outcome is Outcome.PASS
    refused = score(gold, [*runs, refusal("a", 5, load_rps=5)], (over,)).judged[0]
    assert refused.failing == ("a",)
    with pytest.raises(PolicyError, match=r'answers.precision: must_pass: expected a qid of the gold set, got "z"'):
        score(gold, runs, (gate._replace(must_pass=("z",)),))
    with pytest.raises(PolicyError, match=r"latency.p95: must_pass: expected min, max, max_drop or max_worse"):
        score(gold, runs, (P95._replace(op=g.EACH, must_pass=("a",)),))


def test_other_metrics_of_answers_can_be_gated() -> None:
    gates = (
        g.Gate("answers.recall@1", g.MIN, "0.9", suite="latency"),
        g.Gate("answers.missing", g.MAX, "0", suite="latency"),
    )
    done = score([asked("a"), asked("b")], [run("a", 1), run("b", 1, config_id="y")], gates, Latency(configuration="y"))
    assert value(done, "answers.recall@1") == 1.0
    assert outcomes(done)[1] == ("latency:answers.missing", "<=", "fail")  # a has no run under y


def test_damage_reaches_every_run() -> None:
    def slower(one: Run) -> Run:
        return msgspec.structs.replace(one, e2e_ms=99999.0)

    assert value(score([asked("a")], [run("a", 5)], damage=slower), "latency.p95") == 99999


# through the command line


def sweep() -> tuple[Path, Path]:
    rng = random.Random(7)
    gold = [closed(f"q{n:02d}") if n % 6 == 5 else asked(f"q{n:02d}") for n in range(36)]
    runs = []
    for base, accuracy in ((600, 0.85), (900, 0.95)):
        for load in (1, 5):
            for one in gold:
                ms = round(base * (1 + load / 20) + rng.expovariate(1 / 80), 1)
                fields: Row = {
                    "knobs": {"k_lex": base // 30},
                    "load_rps": load,
                    "stage_ms": {"llm": round(ms * 0.7, 1)},
                }
                if not one["answerable"]:
                    runs.append(refusal(one["qid"], ms, **fields))
                else:
                    runs.append((run if rng.random() < accuracy else bad)(one["qid"], ms, **fields))
    return write_jsonl(Path("gold.jsonl"), gold), write_jsonl(Path("runs.jsonl"), runs)


def test_the_same_bytes_for_the_same_runs_in_any_order() -> None:
    gold, runs = sweep()
    first = run_cli("score", "latency", "--gold", gold, "--runs", runs, "--format", "json", "--rows", "one.jsonl")
    lines = runs.read_text().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    runs.write_text("".join(lines))
    again = run_cli("score", "latency", "--gold", gold, "--runs", runs, "--format", "json", "--rows", "two.jsonl")

    def without_hash(text: str) -> Row:
        report: Row = json.loads(text)
        for one in report["suites"]["latency"]["inputs"]:
            one.pop("sha256")
        return report

    assert without_hash(first.out) == without_hash(again.out)
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()


def test_report_rows_and_receipt() -> None:
    gold, runs = sweep()
    done = run_cli(
        "score", "latency", "--gold", gold, "--runs", runs, "--rows", "rows.jsonl", "--receipt", "receipt.json",
        "-o", "report.md", "-o", "report.json", "-o", "report.xml",
    )  # fmt: skip
    assert done.err == ""
    assert run_cli("verify", "receipt.json").code == 0
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [row["qid"] for row in rows] == [f"q{n:02d}" for n in range(36)]
    assert {tuple(row["facts"]) for row in rows} == {
        ("answerable", "answered", "refused", "missing", "errored", "always_good")
    }
    report = json.loads(Path("report.json").read_text())["suites"]["latency"]
    assert sum(report["labels"].values()) == 36
    assert report["counts"] | {"answered": 0, "refused": 0} == {
        "gold": 36, "answerable": 30, "unanswerable": 6, "runs": 144, "measured": 144, "warmup": 0, "errored": 0,
        "duplicate_runs": 0, "repeated_headers": 0, "configurations": 2, "loads": 2, "without_load": 0,
        "judged_runs": 36, "answered": 0, "refused": 0, "missing": 0,
    }  # fmt: skip
    markdown = Path("report.md").read_text()
    assert "- judged: " in markdown
    assert "stages, P50 / P95 in ms: llm" in markdown
    runs.write_text(runs.read_text().replace('"e2e_ms": 6', '"e2e_ms": 7', 1))
    assert run_cli("verify", "receipt.json").code != 0


def test_rows_as_parquet() -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    gold, runs = sweep()
    run_cli("score", "latency", "--gold", gold, "--runs", runs, "--rows", "rows.parquet")
    found = parquet.read_table("rows.parquet").to_pylist()
    assert len(found) == 36
    assert all(set(row["facts"]) >= {"answerable", "always_good"} for row in found)
    assert all(dict(row["metrics"])["latency.p95"] > 0 for row in found)


def test_a_slow_release_is_told_where_its_time_goes() -> None:
    runs = [run("a", 5000, stage_ms={"retrieval": 100, "llm": 4000}), run("a", 100, stage_ms={"llm": 80})]
    done = score([asked("a")], runs, LATENCY_GATES[:1])
    assert done.report["next"] == [{"pattern": "too slow", "do": "start with llm: its P95 is 3,804 ms"}]
    assert body(done)["slowest"][0] == {
        "qid": "a", "e2e_ms": 5000.0, "stage": "llm", "stage_ms": 4000.0, "error": None,
    }  # fmt: skip


def test_wrong_answers_are_told_by_the_stages_to_blame() -> None:
    """Generation 3 times, refusal twice, retrieval never: nothing is said of depth, here and in the answers suite."""
    gold = [*(asked(qid) for qid in "abcdef"), closed("u"), closed("v")]
    runs = [*(bad(qid, 5) for qid in "abc"), *(run(qid, 5) for qid in "def"), run("u", 5), run("v", 5)]
    gates = (
        g.Gate("answers.precision", g.MIN, "0.9", suite="latency"),
        g.Gate("answers.under_refusal", g.MAX, "0.1", suite="latency"),
    )
    done = score(gold, runs, gates)
    stages = [
        {
            "pattern": "generation, 3 of 8 questions",
            "do": "3 citing the right evidence in a claim without the gold text: tighten the claim's schema, or check "
            "the gold pieces",
        },
        {
            "pattern": "refusal, 2 of 8 questions",
            "do": "2 answering what the corpus has no answer to: strengthen refusals or retrieval constraints",
        },
    ]
    assert done.report["next"] == stages
    import ragworthy as rw

    traces = [{key: value for key, value in one.items() if key != "e2e_ms"} for one in runs]
    assert rw.score("answers", gold=gold, traces=traces, gates="precision=0.9,under=0.1").report["next"] == stages


def test_evidence_that_was_not_retrieved_asks_for_depth() -> None:
    gold = [asked(qid) for qid in "abcdef"]
    away = {"retrieved_ids": ["z#1"], "answer_json": {"claim": "It is answer a.", "citations": ["z#1"]}}
    runs = [run("a", 5, **away), *(run(qid, 5) for qid in "bcdef"), run("f", 5, answer_json=None, error="timeout")]
    gates = (g.Gate("answers.chr", g.MIN, "0.9", suite="latency"),)
    done = score(gold, runs, gates)
    none = "1 answered without gold evidence: none was retrieved: raise k, or look at the search and its ranking"
    assert done.report["next"] == [
        {"pattern": "errors instead of answers", "do": "look at the error field of these runs, and run them again"},
        {"pattern": "retrieval, 1 of 6 questions", "do": f"{none}, then for index or manifest drift"},
    ]
    corpus = [{"chunk_id": name, "text": f"text {name}"} for name in ("z#1", *(f"d#{qid}" for qid in "abcdef"))]
    known = score(gold, runs, gates, corpus=corpus)
    assert known.report["next"][1]["do"] == f"{none} (the corpus has it)"
    # The chunks that a run retrieved are not an index.
    named = [asked("a", gold_citations=[], gold_evidence=["the very text of a"]), *gold[1:]]
    ran = [one | {"attrs": {"retrieved": True}} for one in corpus]
    assert body(score(named, runs, gates, corpus=ran))["stages"] == {"pipeline": 1, "retrieval": 1}
    assert body(score(named, runs, gates, corpus=corpus))["stages"] == {"pipeline": 1, "index": 1}


def test_the_policy_runs_the_suite() -> None:
    sweep()
    Path("ragworthy.toml").write_text(
        """
        version = 1
        [latency]
        gold = "gold.jsonl"
        runs = "runs.jsonl"
        use = "batch"
        [[gate]]
        metric = "latency.p95"
        max = 2500
        [[gate]]
        metric = "answers.precision"
        suite = "latency"
        min = 0.5
        """
    )
    done = run_cli("gate", "--format", "json")
    assert done.err == ""
    report = json.loads(done.out)
    assert done.code == 0
    assert report["suites"]["latency"]["judged"]["why"] == "chosen for batch use"


@pytest.mark.parametrize("metric", ["precision", "answers.precision"])
def test_a_policy_of_latency_alone_knows_whose_precision_is_meant(metric: str) -> None:
    sweep()
    Path("ragworthy.toml").write_text(
        f'''
        version = 1
        [latency]
        gold = "gold.jsonl"
        runs = "runs.jsonl"
        [[gate]]
        metric = "{metric}"
        min = 0.5
        '''
    )
    done = run_cli("gate", "-o", "report.json", "-o", "report.xml", "-o", "report.md")
    assert (done.code, done.err) == (0, "")
    gates = json.loads(Path("report.json").read_text())["gates"]
    assert [(one["metric"], one["suite"], one["slice"]) for one in gates[:2]] == [
        ("answers.precision", "latency", "load=1"), ("answers.precision", "latency", "load=5"),
    ]  # fmt: skip


def test_borrowed_metrics_are_named_by_the_suite_that_borrows_them() -> None:
    sweep()
    done = run_cli(
        "score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--gates", "precision=0.5",
        "--no-default-gates", "-o", "report.xml", "-o", "report.md",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    names = [f"latency:answers.precision[load={load}]" for load in (1, 5)]
    assert [line.split()[1] for line in done.out.splitlines() if "latency:answers" in line] == names
    cases = [one.get("name", "") for one in ElementTree.parse("report.xml").getroot().iter("testcase")]
    assert cases[:2] == [f"{name} ≥ 0.5" for name in names]
    markdown = Path("report.md").read_text()
    assert all(name.replace("[", " [") in markdown.replace("\\", "") for name in names)


@pytest.mark.parametrize(
    ("gate", "name"), [("precision=1", "latency:answers.precision"), ("total=0.001", "cost.total")]
)
def test_a_failing_gate_on_a_metric_of_another_name_is_written_as_junit(gate: str, name: str) -> None:
    write_jsonl(Path("gold.jsonl"), [asked("a"), asked("b")])
    usage = {"usage": {"total_tokens": 9000}}
    write_jsonl(Path("runs.jsonl"), [run("a", 5, **usage), bad("b", 5, **usage)])
    priced("[[price]]\nper_1k = 1\n")
    done = run_cli(
        "score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--gates", gate,
        "--no-default-gates", "--prices", "prices.toml", "-o", "report.xml",
    )  # fmt: skip
    assert (done.code, done.err) == (1, "")
    failing = {
        one.get("name", "").split()[0]: found.text or ""
        for one in ElementTree.parse("report.xml").getroot().iter("testcase")
        if (found := one.find("failure")) is not None
    }
    assert list(failing) == [name]
    assert failing[name].startswith("b ANS_NO_CONTAIN generation, claim_wrong: ")


def test_what_fails_fast_is_not_fast() -> None:
    gold = [asked(f"q{n}") for n in range(20)]
    good = [run(one["qid"], 50, config_id="good") for one in gold]
    broken = [bad(one["qid"], 3, config_id="broken", error="status 500") for one in gold]
    mostly = [run("q0", 3, config_id="broken"), *broken[1:]]
    for runs in (broken, mostly):
        done = score(gold, [*good, *runs], (P95,))
        assert body(done)["chosen"]["interactive"] == "good"
        assert done.verdict == "SHIP"
    alone = score(gold, mostly, (P95,))
    assert alone.verdict == "INVALID"  # 19 of 20 runs are errors
    assert [(one.gate.metric, one.outcome.value) for one in alone.judged] == [
        ("latency.p95", "pass"), ("latency.errors", "fail"),
    ]  # fmt: skip
    assert value(alone, "latency.errors") == 0.95
    half = [*(run(one["qid"], 3, config_id="broken") for one in gold[:10]), *broken[10:]]
    own = score(gold, half, (P95, g.Gate("latency.errors", g.MAX, "0.99")))
    assert own.verdict == "SHIP"
    every = score(gold, broken, (P95, g.Gate("latency.errors", g.MAX, "0.99")))
    assert (every.verdict, every.report["invalid"]) == (
        "INVALID", ["20 of 20 runs under load none recorded ended in an error: this is an outage, not a measurement"]
    )  # fmt: skip


def errors_gates(gates: tuple[g.Gate, ...], failing: int = 10, **more: Any) -> list[tuple[Any, ...]]:
    """What is judged of errors: slice, op, threshold, evidence and outcome; so many of a hundred runs a load fail."""
    gold = [asked(f"q{n:02d}") for n in range(100)]
    runs = [
        run(one["qid"], 5, load_rps=load, error="status 500" if n < failing else None)
        for load in (5, 20)
        for n, one in enumerate(gold)
    ]
    return [
        (one.gate.slice, one.gate.op, one.gate.threshold, one.gate.evidence, one.outcome.value)
        for one in score(gold, runs, gates, **more).judged
        if one.gate.metric == "latency.errors"
    ]


ERRORS = g.Gate("latency.errors", g.MAX, "0.5")


def test_a_gate_on_some_errors_leaves_the_standing_one_on_all() -> None:
    standing = [(f"load={load}", "<=", "0.01", "point", "fail") for load in (5, 20)]
    assert errors_gates((P95,)) == standing
    assert errors_gates((P95, ERRORS)) == [(f"load={load}", "<=", "0.5", "point", "pass") for load in (5, 20)]
    of_load = errors_gates((P95, ERRORS._replace(slice="load=5")))
    assert of_load == [("load=5", "<=", "0.5", "point", "pass"), standing[1]]  # for that load, in its place
    of_length = errors_gates((P95, ERRORS._replace(slice="length=short")))
    assert of_length[:2] == [(f"length=short, load={load}", "<=", "0.5", "point", "pass") for load in (5, 20)]
    assert of_length[2:] == standing


def test_a_gate_against_the_last_release_leaves_the_standing_one_on_errors() -> None:
    gold = [asked(f"q{n:02d}") for n in range(100)]
    runs = [run(one["qid"], 5, load_rps=load) for load in (5, 20) for one in gold]
    before = report(score(gold, runs))
    drop = g.Gate("latency.errors", g.DROP, "0.5")
    assert errors_gates((P95, drop), baseline=before) == [
        *((f"load={load}", "drop<=", "0.5", "point", "pass") for load in (5, 20)),
        *((f"load={load}", "<=", "0.01", "point", "fail") for load in (5, 20)),
    ]


def test_the_standing_gate_on_errors_asks_for_the_evidence_that_all_others_ask_for() -> None:
    sure = P95._replace(evidence="interval")
    # none of a hundred: Wilson up to z²/(100 + z²) = 0.037, which does not show 0.01
    assert errors_gates((sure,), 0) == [(f"load={load}", "<=", "0.01", "interval", "undecided") for load in (5, 20)]
    some = (sure, g.Gate("answers.precision", g.MIN, "0.5", suite="latency"))
    assert errors_gates(some, 0) == [(f"load={load}", "<=", "0.01", "point", "pass") for load in (5, 20)]


def test_the_evidence_of_a_policy_reaches_the_standing_gate_on_errors() -> None:
    sweep()
    policy = 'version = 1\n{}[latency]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n' + SLOW
    found = []
    for evidence in ("", 'evidence = "interval"\n'):
        Path("ragworthy.toml").write_text(policy.format(evidence))
        gates = json.loads(run_cli("gate", "--format", "json").out)["gates"]
        found.append({one["outcome"] for one in gates if one["metric"] == "latency.errors"})
    assert found == [{"pass"}, {"undecided"}]


def test_every_metric_of_the_suite_is_reported() -> None:
    names = set(all_metrics("latency"))
    assert {name.partition(".")[0] for name in names} == set(registry.FAMILIES["latency"])
    assert names <= set(body(score([asked("a")], [run("a", 1)]))["metrics"])


def test_an_error_costs_what_it_used_and_does_not_hide_the_others() -> None:
    """Three answers of 1,000 tokens, an error of 500 and one that does not say: 3.5 at 1 a thousand."""
    prices = priced("[[price]]\nper_1k = 1\n")
    failed = {"answer_json": None, "error": "truncated: too long"}
    used = [run(f"q{n}", 5, usage={"total_tokens": 1000}) for n in range(3)]
    runs = [*used, run("q3", 5, usage={"total_tokens": 500}, **failed), run("q4", 5, **failed)]
    done = score([asked(f"q{n}") for n in range(5)], runs, prices=prices)
    assert value(done, "cost.total") == 3.5
    assert codes(done)["RW-W97"] == "1 run with an error and no token counts: the costs leave out what it used"
    assert "RW-W63" not in codes(done)
    known = score([asked(f"q{n}") for n in range(4)], runs[:4], prices=prices)
    assert "RW-W97" not in codes(known)


@pytest.mark.parametrize(
    "usage",
    [
        {"attempts": 0, "context_tokens": 42, "model": "local"},  # what the built-in pipeline keeps of a timeout
        {"llm": {"attempts": 0}, "embed": {"total_tokens": 500}},
        {"total_tokens": None},
    ],
)
def test_an_error_whose_usage_counts_no_tokens_does_not_say_what_it_used(usage: dict[str, Any]) -> None:
    """Two answers of 1,000 tokens at 1 a thousand, and what a stage of the error counts, 500 or nothing."""
    prices = priced("[[price]]\nper_1k = 1\n")
    used = [run(f"q{n}", 5, usage={"total_tokens": 1000}) for n in range(2)]
    failed = run("q2", 5, usage=usage, answer_json=None, error="timeout: no reply within 5 s")
    done = score([asked(f"q{n}") for n in range(3)], [*used, failed], prices=prices)
    assert value(done, "cost.total") == (2.5 if "embed" in usage else 2)
    assert codes(done)["RW-W97"] == "1 run with an error and no token counts: the costs leave out what it used"
    assert "RW-W63" not in codes(done)
    answered = run("q2", 5, usage={"attempts": 0})
    assert "RW-W63" in codes(score([asked(f"q{n}") for n in range(3)], [*used, answered], prices=prices))


@pytest.mark.parametrize(
    "cached",
    [
        lambda n: {"prompt_tokens": 400, "cached_tokens": n},
        lambda n: {"prompt_tokens": 400, "prompt_tokens_details": {"cached_tokens": n}},
        lambda n: {"prompt_tokens": 400, "prompt_cache_hit_tokens": n},
        lambda n: {"llm": {"input_tokens": 400, "input_tokens_details": {"cached_tokens": n}}},
    ],
)
def test_times_of_a_prompt_cache_are_said_to_be_such(cached: Any) -> None:
    """At least half of the prompt (200 of 400) in at least a tenth of the runs that tell."""
    gold = [asked(f"q{n}") for n in range(20)]

    def told(warm: int, tokens: int) -> str | None:
        runs = [run(f"q{n}", 5, usage=cached(tokens if n < warm else 0)) for n in range(20)]
        return codes(score(gold, runs)).get("RW-W96")

    said = "the server's cache held at least half of the prompt in {} of 20 runs that tell"
    assert [told(2, 200), told(20, 400)] == [said.format(2), said.format(20)]
    assert [told(1, 400), told(20, 199)] == [None, None]


def test_instructions_that_every_prompt_begins_with_are_no_cached_prompt() -> None:
    """90 of 147, 94 of 183 and 92 of 160 tokens are the instructions; 197 of 198 and 162 of 176 are known questions."""

    def told(*prompts: tuple[int, int]) -> str | None:
        usage = [{"prompt_tokens": tokens, "cached_tokens": cached} for cached, tokens in prompts]
        runs = [run(f"q{n}", 5, usage=one) for n, one in enumerate(usage)]
        return codes(score([asked(f"q{n}") for n in range(len(runs))], runs)).get("RW-W96")

    new = ((90, 147), (94, 183), (92, 160))
    assert told(*new) is None
    said = "the server's cache held at least half of the prompt in {} runs that tell"
    assert told(*new, (197, 198), (162, 176)) == f"{said.format('2 of 5')}, apart from 90 tokens that all prompts share"
    assert told((197, 198), (146, 147), (159, 160)) == said.format("3 of 3")  # all of them are known
    assert told((0, 150), *new * 6) is None  # the first run met a cold cache


def test_an_offender_says_as_much_as_one_of_the_answers_suite() -> None:
    gold = [asked("a") | {"gold_claim_all": ["45 days", "sync"]}, asked("b")]
    failed: Row = {"retrieved_ids": [], "answer_json": None, "error": "truncated: 512 tokens", "error_code": "RW-N04"}
    answer = {"claim": "After 45 days, by cp.", "citations": ["a"]}
    runs = [
        {"qid": "a", "e2e_ms": 5, "retrieved_ids": ["a"], "answer_json": answer},
        {"qid": "b", "e2e_ms": 9} | failed,
    ]
    done = score(gold, runs)
    offenders = {one["qid"]: one for one in body(done)["offenders"]}
    answers = ragworthy.score("answers", gold=gold, traces=runs).report["suites"]["answers"]["offenders"]
    assert [offenders[one["qid"]]["why"] for one in answers] == [one["why"] for one in answers]
    assert offenders["b"]["why"] == "an error instead of an answer: truncated: 512 tokens [RW-N04]"
    assert offenders["b"]["error"] == "truncated: 512 tokens [RW-N04]"
    assert offenders["a"]["missing"][-1] == "sync"
    assert "; missing: " in offenders["a"]["why"]
    assert offenders["a"]["expected"].endswith("; and 45 days; and sync")


def test_a_warm_up_may_ask_what_the_gold_set_does_not_have() -> None:
    runs = [run("other", 900, warmup=True), run("a", 5)]
    done = score([asked("a")], runs)
    assert (value(done, "latency.p50"), body(done)["counts"]["warmup"]) == (5, 1)
