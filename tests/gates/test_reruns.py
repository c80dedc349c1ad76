"""Several runs of the same questions: pooled, never replaced; must-pass by two of three; looks at growing evidence."""

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from ragworthy.gates import EACH, Baseline, Gate, Value, judge
from ragworthy.mustpass import Asked, passing
from ragworthy.paired.clusters import wilson_clustered
from ragworthy.paired.exact import mcnemar
from ragworthy.proving import Loss, Tested, decide
from ragworthy.stats import wilson_mean
from ragworthy.suites.answers.reruns import together

Report = dict[str, Any]
RIGHT, WRONG, REFUSED, GONE = "right", "wrong", "refused", "gone"
BASE = ("-q", "--gates", "precision=0.01", "--no-default-gates")
"""A baseline that is valid and ships."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def trace(nth: int, what: str) -> Report:
    cited = f"c{nth}"
    claims = {RIGHT: "the gold text", WRONG: "something else", REFUSED: "not in context"}
    told = {"claim": claims[what], "citations": [] if what == REFUSED else [cited]}
    return {"qid": f"q{nth}", "retrieved_ids": [cited], "answer_json": told}


def lay(*runs: Sequence[str], per_document: int = 0) -> list[str]:
    """A gold set of answerable questions, and a file of traces for each run; their names."""
    source = [{"gold_source": [f"d{nth // per_document}.md"]} if per_document else {} for nth in range(len(runs[0]))]
    gold = [
        {"qid": f"q{nth}", "question": f"question {nth}", "answerable": True, "gold_claim_substr": ["gold text"],
         "gold_citations": [f"c{nth}"], **source[nth]} for nth in range(len(runs[0]))
    ]  # fmt: skip
    write_jsonl(Path("gold.jsonl"), gold)
    names = [f"run{nth}.jsonl" for nth in range(1, len(runs) + 1)]
    for name, run in zip(names, runs, strict=True):
        write_jsonl(Path(name), [{**trace(nth, what), "run_id": name} for nth, what in enumerate(run) if what != GONE])
    return names


def score(names: Sequence[str], *args: str) -> Done:
    flags = [flag for name in names for flag in ("--trace", name)]
    return run_cli("score", "answers", "--gold", "gold.jsonl", *flags, *args)


def body_of(names: Sequence[str], *args: str) -> Report:
    done = score(names, "--format", "json", *args)
    assert done.err == ""
    found: Report = json.loads(done.out)
    return found


def suite_of(report: Report) -> Report:
    found: Report = report["suites"]["answers"]
    return found


# pooled


def test_counts_add_up_and_a_question_is_counted_once() -> None:
    # 20 questions: q0 is wrong in all three runs, q1 in one, q2 refused in one; the rest is right
    runs = [[WRONG, what, REFUSED if what == RIGHT and nth == 1 else RIGHT, *[RIGHT] * 17]
            for nth, what in enumerate((WRONG, RIGHT, RIGHT))]  # fmt: skip
    report = suite_of(body_of(lay(*runs)))
    precision = report["metrics"]["answers.precision"]
    assert (precision["num"], precision["den"], precision["distinct"]) == (60 - 3 - 1 - 1, 60 - 1, 20)
    interval = wilson_mean(Fraction(55, 59), 20)  # as many cases as there are questions, however often they were asked
    assert interval is not None and (precision["low"], precision["high"]) == pytest.approx(tuple(interval))
    counts = report["counts"]
    assert [counts[key] for key in ("gold", "runs", "answered", "refused", "missing", "answerable")] == [
        20,
        3,
        59,
        1,
        0,
        20,
    ]
    assert precision["ledger"]["expected"] == 60 and report["labels"]["OK"] == 55
    assert [one["role"] for one in report["inputs"]] == ["gold", "trace", "trace:1", "trace:2"]


def test_documents_are_clusters_of_questions_and_of_their_runs() -> None:
    """Ten documents with two questions each; one document is wrong in every run, another one in one run."""
    first = [WRONG, WRONG, WRONG, WRONG, *[RIGHT] * 16]
    names = lay(first, [WRONG, WRONG, *[RIGHT] * 18], per_document=2)
    precision = suite_of(body_of(names))["metrics"]["answers.precision"]
    interval = wilson_clustered({"d0": (0, 4), "d1": (2, 4), **{f"d{n}": (4, 4) for n in range(2, 10)}}, cases=20)
    assert interval is not None and (precision["low"], precision["high"]) == pytest.approx(tuple(interval))
    assert (precision["num"], precision["den"], precision["distinct"], precision["clusters"]) == (34, 40, 20, 10)


def test_rows_hold_the_mean_over_the_runs_and_how_many_there_are() -> None:
    names = lay([RIGHT, WRONG, RIGHT, RIGHT], [RIGHT, WRONG, REFUSED, GONE], [WRONG, WRONG, RIGHT, RIGHT])
    report = suite_of(body_of(names))
    column = report["rows"]["words"]["answers.precision"]
    letters = [None if code == "-" else column["values"][int(code)] for code in column["codes"]]
    assert letters == ["2/3", "0", "2/3:2/3", "2/3:2/3"]  # of q2 and q3 two runs are cases, and both are right
    runs = report["rows"]["runs"]
    assert [runs["values"][int(code)] for code in runs["codes"]] == ["3", "3", "3", "2"]
    label = report["rows"]["label"]
    assert [label["values"][int(code)] for code in label["codes"]][:2] == ["OK", "ANS_NO_CONTAIN"]


def test_a_question_that_one_run_lacks_is_missing_in_that_run() -> None:
    names = lay([RIGHT] * 5, [RIGHT, GONE, *[RIGHT] * 3])
    done = score(names)
    assert done.code == 4 and "1 question has no trace in one of the runs" in done.out
    assert "5 questions (5 answerable, 0 not) in 2 runs, 9 answered, 0 refused, 1 missing" in done.out


def test_one_run_is_what_it_was() -> None:
    names = lay([RIGHT, WRONG, REFUSED, RIGHT])
    first = body_of(names)
    policy = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = ["run1.jsonl"]\n'
    Path("ragworthy.toml").write_text(policy)
    again = json.loads(run_cli("gate", "--format", "json").out)
    assert again["suites"] == first["suites"] and "runs" not in suite_of(first)["counts"]


def test_a_policy_python_and_the_command_line_agree_and_a_receipt_verifies() -> None:
    names = lay([RIGHT, WRONG, RIGHT], [RIGHT, RIGHT, RIGHT], [RIGHT, RIGHT, REFUSED])
    by_flags = body_of(names, "--receipt", "receipt.json")
    Path("ragworthy.toml").write_text(f'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = {json.dumps(names)}\n')
    by_policy = json.loads(run_cli("gate", "--format", "json", "--receipt", "policy.json").out)
    by_python = rw.score("answers", gold="gold.jsonl", traces=names).report
    assert by_flags["suites"] == by_policy["suites"] == by_python["suites"]
    roles = [one["role"] for one in json.loads(Path("receipt.json").read_text())["inputs"]]
    assert roles == ["gold", "trace", "trace:1", "trace:2"]
    assert run_cli("verify", "receipt.json").code == run_cli("verify", "policy.json").code == 0
    Path(names[2]).write_text(Path(names[1]).read_text())
    assert run_cli("verify", "receipt.json").code != 0


def test_every_run_has_its_rows() -> None:
    names = lay([RIGHT, WRONG], [RIGHT, RIGHT])
    score(names, "--rows", "rows.jsonl")
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [(row["qid"], row["run"], row["label"]) for row in rows] == [
        ("q0", 1, "OK"), ("q1", 1, "ANS_NO_CONTAIN"), ("q0", 2, "OK"), ("q1", 2, "OK"),
    ]  # fmt: skip


def test_the_same_file_twice_is_refused_and_a_copy_is_named() -> None:
    (name,) = lay([RIGHT] * 3)
    done = score([name, name])
    assert done.code == 2
    assert "answers.traces: expected every run once, got run1.jsonl twice [RW-P23]" in done.err
    Path("copy.jsonl").write_bytes(Path(name).read_bytes())
    report = suite_of(body_of([name, "copy.jsonl"]))
    (warned,) = [one for one in report["warnings"] if one["code"] == "RW-W118"]
    told = "1 run repeats another: it holds what another one holds: copy.jsonl is run1.jsonl"
    assert warned["message"] == told
    assert "runs" not in report["counts"] and report["counts"]["answered"] == 3


@pytest.mark.parametrize("disguise", ["bytes", "order", "spelling"])
def test_a_copied_run_buys_no_majority(disguise: str) -> None:
    """Wrong once and right once is undecided; a copy of the right run must not turn that into two of three."""
    bad, good = lay([WRONG, RIGHT, RIGHT], [RIGHT] * 3)
    lines = Path(good).read_text().splitlines(keepends=True)
    copies = {"bytes": lines, "order": lines[::-1], "spelling": [one.replace('{"qid":', '{ "qid" :') for one in lines]}
    Path("copy.jsonl").write_text("".join(copies[disguise]))
    gate = '[[gate]]\nmetric = "precision"\nmust_pass = ["q0"]\n'
    policy = 'version = 1\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = '
    Path("ragworthy.toml").write_text(f"{policy}{json.dumps([bad, good, 'copy.jsonl'])}\n{gate}")
    done = run_cli("gate", "--full", "--receipt", "receipt.json")
    assert done.code == 3 and "q0 (1 of 2 runs); two of three runs decide" in done.out
    assert "copy.jsonl is run2.jsonl [RW-W118]" in done.out and "in 2 runs, 6 answered" in done.out
    assert run_cli("verify", "receipt.json").code == 0
    write_jsonl(Path("copy.jsonl"), [{**json.loads(one), "stage_ms": {"llm": 7}} for one in lines])
    done = run_cli("gate", "--full")
    assert done.code == 0 and "RW-W118" not in done.out and "in 3 runs" in done.out


def test_copies_of_one_run_prove_nothing_more() -> None:
    (once,) = lay([RIGHT] * 40 + [WRONG] * 10)
    Path("copy.jsonl").write_text(Path(once).read_text() + "\n")
    alone, twice = (suite_of(body_of(names)) for names in ([once], [once, "copy.jsonl"]))
    assert twice["metrics"] == alone["metrics"] and twice["rows"] == alone["rows"]


def test_what_is_wrong_with_a_further_run_is_said_with_its_file() -> None:
    names = lay([RIGHT] * 3, [RIGHT] * 3)
    Path(names[1]).write_text('{"qid": "q0"\n')
    done = score(names)
    assert done.code == 2 and "run2.jsonl:1" in done.err
    assert "--profile reference reads one --trace" in score(names, "--profile", "reference").err
    Path("ragworthy.toml").write_text('version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = []\n')
    done = run_cli("gate")
    assert done.code == 2 and "answers.traces: expected a path, got an empty list [RW-P11]" in done.err


def test_the_means_of_both_sides_are_compared() -> None:
    """Five questions that fail in two of three runs, where the baseline was right in all: 2⁻⁵ and proven."""
    bad = [[WRONG] * 5 + [RIGHT] * 45, [WRONG] * 5 + [RIGHT] * 45, [RIGHT] * 50]
    base = lay(*[[RIGHT] * 50] * 2)
    Path("second.jsonl").write_text(Path(base[1]).read_text() + "\n")
    score([base[0], "second.jsonl"], "-o", "base.json", *BASE)
    names = lay(*bad)
    policy = (
        'version = 1\nbaseline = "base.json"\ndefaults = false\n[answers]\ngold = "gold.jsonl"\n'
        f'traces = {json.dumps(names)}\n[[gate]]\nmetric = "precision"\nmax_drop = 0.02\n'
    )
    Path("ragworthy.toml").write_text(policy)
    done = run_cli("gate", "--format", "json")
    (gate, *_) = json.loads(done.out)["gates"]
    assert done.code == 1 and gate["paired"]["p"] == pytest.approx(1 / 32)
    assert gate["paired"]["loss"] == pytest.approx(10 / 150) and gate["paired"]["worse"] == 5


def test_runs_that_are_cases_in_part_add_up_to_the_rate() -> None:
    words = [together("rate", some) for some in ([True, None, True], [False, True, True], [None, None, None])]
    parts = [one if isinstance(one, tuple) else (one, 1) for one in words if one is not None]
    assert Fraction(sum(part for part, _ in parts), sum(whole for _, whole in parts)) == Fraction(4, 5)
    assert together("count", [True, None, False]) == Fraction(1, 3)


# must pass


@pytest.mark.parametrize(
    ("bad", "runs", "was", "rerun", "outcome"),
    [
        (0, 1, None, False, "pass"),
        (1, 1, None, False, "fail"),
        (1, 1, None, True, "undecided"),
        (1, 1, True, False, "undecided"),
        (1, 1, False, True, "fail"),  # it was never good: asking again does not help
        (1, 2, None, False, "undecided"),
        (2, 2, None, False, "fail"),
        (1, 3, None, False, "pass"),
        (2, 3, True, True, "fail"),
        (2, 4, None, False, "undecided"),
        (2, 5, None, False, "pass"),
        (3, 5, None, False, "fail"),
    ],
)
def test_two_of_three_decide(bad: int, runs: int, was: bool | None, rerun: bool, outcome: str) -> None:
    found, _, failing = passing([Asked("q", bad, runs, was)], rerun)
    assert found.value == outcome and failing == (() if outcome == "pass" else ("q",))


def test_two_of_three_are_wrong_as_rarely_as_they_should() -> None:
    """10 questions that fail in 1 % of the runs: one run 9.6 %, two of three 0.3 %."""
    f = Fraction(1, 100)
    by_runs = {
        runs: sum(
            f**bad * (1 - f) ** (runs - bad) * count
            for bad, count in enumerate(([1, 1], [1, 3, 3, 1])[runs // 2])
            if Asked("q", bad, runs).outcome(False).value == "fail"
        )
        for runs in (1, 3)
    }
    assert [round(float(1 - (1 - p) ** 10), 3) for p in by_runs.values()] == [0.096, 0.003]


def must_pass(names: Sequence[str], more: str = "", top: str = "") -> tuple[int, Report]:
    policy = f'version = 1\ndefaults = false\n{top}[answers]\ngold = "gold.jsonl"\ntraces = {json.dumps(list(names))}\n'
    Path("ragworthy.toml").write_text(f'{policy}[[gate]]\nmetric = "precision"\nmust_pass = ["q1", "q2"]\n{more}')
    done = run_cli("gate", "--format", "json")
    assert done.err == ""
    report: Report = json.loads(done.out)
    return done.code, report["gates"][0]


def test_a_question_that_must_pass_is_asked_again() -> None:
    bad, good = [RIGHT, WRONG, RIGHT, RIGHT], [RIGHT] * 4
    names = lay(bad, good, [*good[:-1], WRONG], bad)
    code, gate = must_pass(names[:1])
    assert (code, gate["reason"]) == (1, "must pass, but do not: q1")
    code, gate = must_pass(names[:1], "rerun = true\n")
    assert (code, gate["reason"]) == (3, "must pass, but did not: q1; two of three runs decide")
    code, gate = must_pass(names[:2])
    assert (code, gate["reason"]) == (3, "must pass, but did not: q1 (1 of 2 runs); two of three runs decide")
    code, gate = must_pass(names[:3])
    assert (code, gate["outcome"]) == (0, "pass")
    code, gate = must_pass([names[0], names[1], names[3]])
    assert (code, gate["reason"], gate["failing"]) == (1, "must pass, but do not: q1 (2 of 3 runs)", ["q1"])


def test_what_a_baseline_says_of_questions_that_must_pass() -> None:
    names = lay([RIGHT] * 4, [RIGHT, WRONG, RIGHT, RIGHT])
    score(names[:1], "-o", "good.json", *BASE)
    score(names[1:], "-o", "bad.json", *BASE)
    code, gate = must_pass(names[1:], top='baseline = "good.json"\n')
    told = "must pass, but did not, although they did in the baseline: q1; two of three runs decide"
    assert (code, gate["reason"]) == (3, told)
    code, gate = must_pass(names[1:], "rerun = true\n", top='baseline = "bad.json"\n')
    never = "they did not in the baseline either, so the policy asks for what was never there: q1"
    assert (code, gate["reason"]) == (1, f"must pass, but do not: q1; {never}")


def test_rerun_without_must_pass_is_refused() -> None:
    lay([RIGHT] * 2)
    policy = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "run1.jsonl"\n'
    Path("ragworthy.toml").write_text(f'{policy}[[gate]]\nmetric = "precision"\nmin = 0.5\nrerun = true\n')
    done = run_cli("gate")
    assert done.code == 2 and "gate[0].rerun: expected must_pass beside it, got none [RW-P24]" in done.err


def test_a_baseline_of_something_else_says_nothing() -> None:
    gate = Gate("answers.precision", EACH, "1", must_pass=("q",))
    baseline = Baseline({}, {}, unlike="it was scored on another gold set", passed={("answers.precision", "q"): True})
    (one,) = judge((gate,), {(None, "answers.precision"): Value(1, 2)}, baseline=baseline, each={})
    assert one.outcome.value == "fail"


# looks at growing evidence


def anytime(worse: int, better: int, cases: int, refused: int = 0) -> tuple[int, Report]:
    rest = [RIGHT] * (cases - worse - better)
    names = lay([RIGHT] * worse + [WRONG] * better + rest)
    score(names, "-o", "base.json", *BASE)
    names = lay([WRONG] * worse + [RIGHT] * better + [*[REFUSED] * refused, *rest[refused:]])
    policy = 'version = 1\nbaseline = "base.json"\ndefaults = false\n[answers]\ngold = "gold.jsonl"\n'
    gate = 'traces = "run1.jsonl"\n[[gate]]\nmetric = "precision"\nmax_drop = 0.02\nevidence = "anytime"\n'
    Path("ragworthy.toml").write_text(policy + gate)
    done = run_cli("gate", "--format", "json")
    assert done.err == ""
    return done.code, json.loads(done.out)["gates"][0]


@pytest.mark.parametrize(
    ("worse", "better", "code", "evalue"),
    [(4, 0, 3, 6.2), (5, 0, 3, 10.5), (6, 1, 3, 4.41071), (8, 1, 3, 11.2556), (10, 3, 3, 3.97453), (7, 0, 1, 31.875),
     (0, 0, 0, 1.0)],
)  # fmt: skip
def test_an_e_value_of_twenty_proves_a_loss(worse: int, better: int, code: int, evalue: float) -> None:
    done, gate = anytime(worse, better, 100)
    assert (done, gate["paired"]["evalue"]) == (code, pytest.approx(evalue, rel=1e-5))
    assert gate["paired"]["adjusted"] is None  # that is a p-value of other gates
    assert gate["paired"]["p"] == pytest.approx(mcnemar(worse, better))
    if worse == 7:
        assert gate["note"] == "7 questions worse, 0 better: e = 31.88, of 20"
        assert "e 31.88" in run_cli("gate", "--full").out


def test_without_an_e_value_nothing_is_decided() -> None:
    code, gate = anytime(7, 0, 100, refused=1)
    assert (code, gate["outcome"]) == (3, "undecided")
    assert gate["reason"] == "no e-value is known: some questions are a case of one run only"
    assert [gate["paired"][key] for key in ("evalue", "p", "adjusted")] == [None, None, None]


def test_anytime_is_for_gates_that_compare() -> None:
    lay([RIGHT] * 2)
    policy = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "run1.jsonl"\n'
    Path("ragworthy.toml").write_text(f'{policy}[[gate]]\nmetric = "precision"\nmin = 0.5\nevidence = "anytime"\n')
    done = run_cli("gate")
    assert done.code == 2 and "got anytime with min, which compares nothing [RW-P19]" in done.err


def test_forty_looks_keep_the_rate_of_false_alarms() -> None:
    """No change, 5 % of the questions flip: a look every 50 questions up to 2,000, 300 times over."""
    from ragworthy.paired.exact import evalue, mcnemar

    chance, by_e, by_p, times = random.Random(20261116), 0, 0, 300
    loss = Loss(Fraction(1), Fraction(0), Fraction(0))
    for _ in range(times):
        worse = better = 0
        e_fails = p_fails = False
        for _ in range(40):
            for _ in range(50):
                drawn = chance.random()
                worse, better = worse + (drawn < 0.025), better + (0.025 <= drawn < 0.05)
            e_fails |= decide("anytime", loss, Tested(evalue=evalue(worse, better)), "")[0].value == "fail"
            p_fails |= decide("paired", loss, Tested(adjusted=mcnemar(worse, better)), "")[0].value == "fail"
        by_e, by_p = by_e + e_fails, by_p + p_fails
    assert by_e <= 0.05 * times < by_p


def test_an_id_that_a_further_run_has_met_is_not_called_unseen() -> None:
    names = lay([RIGHT] * 8, [RIGHT] * 8)
    traces = [json.loads(line) for line in Path(names[0]).read_text().splitlines()]
    for one in traces[:2]:
        one |= {"retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}}
    write_jsonl(Path(names[0]), traces)
    unseen = [one["message"] for one in suite_of(body_of(names[:1]))["warnings"] if one["code"] == "RW-W81"]
    assert len(unseen) == 1 and unseen[0].startswith("2 of 8 gold ids occur in no trace, e.g. c0, c1")
    assert not [one for one in suite_of(body_of(names))["warnings"] if one["code"] == "RW-W81"]


def test_the_baseline_of_several_runs_has_the_mean_share_of_good_answers() -> None:
    """8 questions of 10 are right in 2 of 3 runs: 24 − 8 of 30 answers, and not 10 of 10 questions."""
    runs = [[RIGHT] * 10, [RIGHT] * 10, [WRONG] * 8 + [RIGHT] * 2]
    names = lay(*runs)
    assert score(names, *BASE, "-o", "base.json").code == 0
    gate = '[[gate]]\nmetric = "answers.good"\nmax_drop = 0.02\nevidence = "{}"\n'
    for evidence in ("point", "paired"):
        Path("gates.toml").write_text("version = 1\n" + gate.format(evidence))
        report = body_of(names, "--no-default-gates", "--baseline", "base.json", "--gates", "gates.toml")
        found = next(one for one in report["gates"] if one["metric"] == "answers.good")
        assert (found["value"], found["baseline"], found["outcome"]) == (22 / 30, 22 / 30, "pass")
