"""Gates and verdicts, through the command line: outcomes, precedence, exit codes, and numbers that never lie."""

import itertools
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli as ragworthy
from ragworthy import gates as g
from ragworthy.cli.arguments import parser
from ragworthy.names import Exit, Outcome, Verdict, exit_code
from ragworthy.report import show

Report = dict[str, Any]
SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
OPTIONAL_UNDER = '[[gate]]\nmetric = "under"\nmax = 0.05\noptional = true\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ANSWERS = {
    "right": ("here is the gold text", ["d#1"]),
    "wrong": ("something else", ["d#1"]),
    "uncited": ("here is the gold text", ["d#2"]),
    "over": ("not in context", []),
    "missing": None,
    "refused": ("not in context", []),
    "answered": ("an invention", ["d#2"]),
}


def lay(**counts: int) -> None:
    """Gold and traces with so many questions of each kind; the gold depends only on how many are answerable."""
    kinds = [kind for kind in ANSWERS for _ in range(counts.get(kind, 0))]
    gold, traces = [], []
    for i, kind in enumerate(kinds):
        can = kind not in ("refused", "answered")
        pieces, cited = (["gold text"], ["d#1"]) if can else ([], [])
        item = {"qid": f"q{i}", "question": f"question {i}", "answerable": can, "half": "ab"[i % 2]}
        gold.append(item | {"gold_claim_substr": pieces, "gold_citations": cited})
        answer = ANSWERS[kind]
        if answer is not None:
            told = {"claim": answer[0], "citations": answer[1]}
            traces.append({"qid": f"q{i}", "retrieved_ids": ["d#1", "d#2"], "answer_json": told})
    for name, rows in (("gold.jsonl", gold), ("traces.jsonl", traces)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def gated(policy: str, *args: str) -> tuple[int, Report]:
    """The gate under a policy: exit code and JSON report."""
    Path("ragworthy.toml").write_text(policy)
    done = ragworthy("gate", "--format", "json", *args)
    assert done.err == ""
    report: Report = json.loads(done.out)
    assert report["exit_code"] == done.code
    return done.code, report


def outcome(rule: str, metric: str = "precision") -> str:
    """What one gate says."""
    _, report = gated(f'{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n')
    word: str = report["gates"][0]["outcome"]
    return word


def test_min_and_max_are_inclusive_and_exact() -> None:
    lay(right=4, wrong=1, refused=19, answered=1)  # precision 4/6, containment 4/5, under-refusal 1/20
    assert [outcome(f"min = {limit}", "containment") for limit in ("0.80", "0.81")] == ["pass", "fail"]
    assert [outcome(f"max = {limit}", "under") for limit in ("0.05", "0.0499")] == ["pass", "fail"]
    lay(right=1, wrong=2)  # a third is below any decimal that rounds it up
    assert [outcome(f"min = {limit}") for limit in ("0.3333", "0.33333333333333334")] == ["pass", "fail"]


def with_baseline(rule: str, metric: str, before: dict[str, int], now: dict[str, int]) -> Report:
    """The first gate of a run compared with an earlier one."""
    lay(**before)
    limit = "max = 0.9999" if metric == "over" else "min = 0.0001"
    gated(f'{SUITE}[[gate]]\nmetric = "{metric}"\n{limit}\n{OPTIONAL_UNDER}', "-o", "base.json")
    lay(**now)
    _, report = gated(f'baseline = "base.json"\n{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n{OPTIONAL_UNDER}')
    gate: Report = report["gates"][0]
    return gate


@pytest.mark.parametrize(("now", "word"), [(45, "pass"), (44, "pass"), (43, "undecided"), (50, "pass")])
def test_a_drop_is_an_exact_difference(now: int, word: str) -> None:
    assert 45 / 50 - 44 / 50 > 0.02  # what floats say
    gate = with_baseline("max_drop = 0.02", "precision", {"right": 45, "wrong": 5}, {"right": now, "wrong": 50 - now})
    assert (gate["outcome"], gate["baseline"]) == (word, 0.9)  # two questions alone prove no loss
    rule = 'max_drop = 0.02\nevidence = "point"'
    gate = with_baseline(rule, "precision", {"right": 45, "wrong": 5}, {"right": now, "wrong": 50 - now})
    assert gate["outcome"] == word.replace("undecided", "fail")


@pytest.mark.parametrize(("now", "word"), [(5, "pass"), (6, "pass"), (7, "undecided"), (0, "pass")])
def test_where_lower_is_better_a_rise_is_the_drop(now: int, word: str) -> None:
    gate = with_baseline("max_drop = 0.02", "over", {"right": 45, "over": 5}, {"right": 50 - now, "over": now})
    assert gate["outcome"] == word


def test_a_slice_is_judged_by_its_own_questions() -> None:
    lay(right=1, wrong=1)  # q0 is in half a and right, q1 in half b and wrong
    assert [outcome(f'min = 0.9\nslice = "half={half}"') for half in "abc"] == ["pass", "fail", "not_measured"]


def test_fewer_cases_than_min_n_are_undecided() -> None:
    lay(right=9)
    assert [outcome(f"min = 0.8\nmin_n = {n}") for n in (9, 10)] == ["pass", "undecided"]
    lay(wrong=9)
    assert [outcome(f"min = 0.8\nmin_n = {n}") for n in (9, 10)] == ["fail", "undecided"]


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        (16, 0, "pass"),  # z² = 3.8415; all right: low = n / (n + z²) = 16 / 19.8415 = 0.8064
        (15, 0, "undecided"),  # 15 / 18.8415 = 0.7961
        (10, 10, "fail"),  # centre 0.5, half-width 1.96 × √(0.25/20 + z²/1600) / (1 + z²/20) = 0.2007: high = 0.7007
        (12, 8, "fail"),  # (0.6 + z²/40 + 1.96 × √(0.24/20 + z²/1600)) / (1 + z²/20): high = 0.7812
        (14, 6, "undecided"),  # (0.7 + z²/40 ± 1.96 × √(0.21/20 + z²/1600)) / (1 + z²/20): 0.4810 … 0.8545
    ],
)
def test_under_interval_evidence_the_interval_decides(right: int, wrong: int, word: str) -> None:
    lay(right=right, wrong=wrong)
    assert outcome('min = 0.80\nevidence = "interval"') == word


def test_interval_evidence_for_a_ceiling() -> None:
    # z² / (n + z²): 3.8415 / 76.8415 = 0.04999 for 73 clean cases, 3.8415 / 75.8415 = 0.05065 for 72
    lay(right=1, refused=73)
    assert outcome('max = 0.05\nevidence = "interval"', "under") == "pass"
    lay(right=1, refused=72)
    assert outcome('max = 0.05\nevidence = "interval"', "under") == "undecided"
    lay(right=1, answered=1)  # n / (n + z²): 1 / 4.8415 = 0.2065 is above 0.05 already
    assert outcome('max = 0.05\nevidence = "interval"', "under") == "fail"


def test_questions_that_must_pass() -> None:
    lay(right=3, wrong=1, refused=1)
    _, report = gated(f'{SUITE}[[gate]]\nmetric = "precision"\nmust_pass = ["q0", "q3"]\n')
    gate = report["gates"][0]
    assert (gate["outcome"], gate["failing"], gate["reason"]) == ("fail", ["q3"], "must pass, but do not: q3")
    assert outcome('must_pass = ["q0", "q1"]') == "pass"
    assert outcome('must_pass = ["q4"]') == "fail"  # refused: precision does not count it, but it is not a pass
    assert outcome('must_pass = ["q4"]', "under") == "pass"  # for a ceiling, good means that the event did not occur


@pytest.mark.parametrize(("right", "word"), [(5, "fail"), (6, "undecided"), (7, "undecided"), (8, "pass")])
def test_a_value_in_the_review_band_is_for_a_person(right: int, word: str) -> None:
    lay(right=right, wrong=10 - right)
    assert outcome("min = 0.75\nreview = [0.6, 0.7]") == word


def waived(expires: str = "2999-01-01", gate: str = "precision") -> str:
    return f'[[waiver]]\ngate = "{gate}"\nreason = "DOC-12"\nowner = "search"\nexpires = {expires}\n'


def test_a_waiver_lets_a_failing_gate_pass_with_a_name_under_it() -> None:
    lay(wrong=2)
    policy = f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.8\n'
    assert gated(policy)[0] == 1
    code, report = gated(policy + waived())
    assert (code, report["verdict"], report["gates"][0]["outcome"]) == (0, "SHIP", "fail")
    assert report["gates"][0]["waiver"] == {
        "gate": "answers.precision", "reason": "DOC-12", "owner": "search", "expires": "2999-01-01",
    }  # fmt: skip
    text = ragworthy("gate", "--full").out
    assert "answers.precision: waived until 2999-01-01 by search: DOC-12" in text
    assert not text.startswith("SHIP: all 2 gates hold")  # one of them does not


def test_an_expired_waiver_and_one_that_names_no_metric_are_errors() -> None:
    lay(right=2)
    for waiver, code in ((waived("2020-01-01"), "RW-P06"), (waived(gate="speed"), "RW-P07")):
        Path("ragworthy.toml").write_text(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.8\n{waiver}')
        done = ragworthy("gate")
        assert (done.code, done.out) == (2, "")
        assert f"[{code}]" in done.err


DROP = '[[gate]]\nmetric = "precision"\nmax_drop = 0.02\n'


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("gold", "it was scored on another gold set"),
        ("settings", "it was scored with another setting of short_substr"),
        ("unfrozen", "its gold set was not the frozen one"),
        ("broken", "its gold set was not the frozen one"),
    ],
)
def test_a_baseline_that_cannot_be_compared_makes_the_verdict_invalid(change: str, reason: str) -> None:
    lay(right=5)
    more = {"gold": "", "settings": 'short_substr = "reject"\n', "unfrozen": "", "broken": ""}[change]
    if change in ("unfrozen", "broken"):
        assert ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "first").code == 0
        Path("gold.jsonl").write_text(Path("gold.jsonl").read_text() + "\n")
    gated(SUITE + more + DROP.replace("max_drop", "min"), "-o", "base.json", *(["--unfrozen"] * (change == "unfrozen")))
    if change == "gold":
        Path("gold.jsonl").write_text(Path("gold.jsonl").read_text() + "\n")
    Path("gold.lock").unlink(missing_ok=True)
    code, report = gated(f'baseline = "base.json"\n{SUITE}{DROP}')
    assert (code, report["verdict"], report["gates"][0]["outcome"]) == (4, "INVALID", "not_measured")
    assert report["gates"][0]["reason"] == f"the baseline is not comparable: {reason}"


def test_a_baseline_that_was_not_valid_itself_cannot_be_compared() -> None:
    lay(right=4, missing=1)
    assert gated(SUITE + DROP.replace("max_drop", "min"), "-o", "base.json")[1]["verdict"] == "INVALID"
    lay(right=5)  # the same gold set
    code, report = gated(f'baseline = "base.json"\n{SUITE}{DROP}')
    assert (code, report["verdict"], report["gates"][0]["outcome"]) == (4, "INVALID", "not_measured")
    reason = "the baseline is not comparable: its own evidence was not valid"
    assert report["gates"][0]["reason"] == reason
    assert report["invalid"][0] == f"answers.precision was not measured: {reason}"


def test_a_baseline_that_did_not_ship_is_compared_and_told() -> None:
    lay(wrong=4, right=1)
    assert gated(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.9\n', "-o", "base.json")[0] == 1
    code, report = gated(f'baseline = "base.json"\ndefaults = false\n{SUITE}{DROP}')
    assert (code, report["gates"][0]["outcome"], report["gates"][0]["baseline"]) == (0, "pass", 0.2)
    warned = {one["code"]: one["message"] for one in report["suites"]["answers"]["warnings"]}
    assert warned["RW-W22"] == "the baseline's verdict is NO-SHIP"


def test_a_baseline_without_a_suite_is_needed_only_where_a_gate_asks_for_it() -> None:
    lay(right=5)
    pairs = [{"qid": f"q{n}", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}} for n in range(3)]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    gated(SUITE + DROP.replace("max_drop", "min"), "-o", "base.json")
    both = f'baseline = "base.json"\n{SUITE}[agreement]\npairs = "pairs.jsonl"\n{DROP}'
    percent = '[[gate]]\nmetric = "agreement.percent"\n'
    code, report = gated(f"{both}{percent}min = 0.9\n")
    assert (code, [one["outcome"] for one in report["gates"][:2]]) == (0, ["pass", "pass"])
    Path("ragworthy.toml").write_text(f"{both}{percent}max_drop = 0.1\n")
    done = ragworthy("gate")
    assert (done.code, done.out) == (2, "")
    message = "base.json: suites.agreement: expected this suite, got a report without it [RW-B01]"
    assert done.err.splitlines()[0] == message


def test_a_drop_gate_without_a_baseline_is_not_measured() -> None:
    lay(right=5)
    code, report = gated(SUITE + DROP)
    assert (code, report["gates"][0]["reason"]) == (4, "no baseline was given")


def test_a_lowered_gate_is_shown_with_its_previous_value() -> None:
    lay(right=5)
    gate = '[[gate]]\nmetric = "precision"\nmin = {}\n'
    gated(SUITE + gate.format("0.90"), "-o", "base.json")
    _, report = gated(f'baseline = "base.json"\n{SUITE}{gate.format("0.80")}', "-o", "now.md", "-o", "now.txt")
    assert (report["gates"][0]["threshold"], report["gates"][0]["previous"]) == ("0.80", "0.90")
    warning = "answers.precision: the threshold was 0.90, now it is 0.80"
    assert warning in [one["message"] for one in report["suites"]["answers"]["warnings"]]
    for name in ("now.md", "now.txt"):
        assert "the baseline's threshold was 0.90" in Path(name).read_text()


@pytest.mark.parametrize("threshold", ["high", "nan", "1/0", "\x1b[31m0.9", None])
def test_a_baseline_whose_thresholds_are_no_numbers_is_an_error_and_never_a_defect(threshold: str | None) -> None:
    lay(right=5)
    gate = '[[gate]]\nmetric = "precision"\nmin = 0.9\n'
    gated(SUITE + gate, "-o", "base.json")
    base = json.loads(Path("base.json").read_text())
    base["gates"][0]["threshold"] = threshold
    Path("base.json").write_text(json.dumps(base))
    Path("ragworthy.toml").write_text(f'baseline = "base.json"\n{SUITE}{gate.replace("0.9", "0.8")}')
    done = ragworthy("gate")
    assert (done.code, done.out) == (2, "")
    assert "[RW-B01]" in done.err


KINDS = {
    "pass": (Outcome.PASS, False, False),
    "fail": (Outcome.FAIL, False, False),
    "undecided": (Outcome.UNDECIDED, False, False),
    "not_measured": (Outcome.NOT_MEASURED, False, False),
    "optional": (Outcome.NOT_MEASURED, True, False),
    "waived fail": (Outcome.FAIL, False, True),
    "waived undecided": (Outcome.UNDECIDED, False, True),
}
WAIVER = g.Waiver("answers.chr", "r", "o", "2999-01-01")


@pytest.mark.parametrize("size", range(len(KINDS) + 1))
def test_precedence_of_verdicts_and_their_exit_codes(size: int) -> None:
    for kinds, invalid in itertools.product(itertools.combinations(KINDS, size), (False, True)):
        judged = [
            g.Judged(
                g.Gate("answers.chr", ">=", "0.75", optional=free), what, "", None, waiver=WAIVER if waive else None
            )
            for what, free, waive in (KINDS[kind] for kind in kinds)
        ]
        if not kinds and not invalid:
            expected = ("INCONCLUSIVE", 3)  # nobody asked for a gate
        elif invalid or "not_measured" in kinds or not set(kinds) - {"optional"}:
            expected = ("INVALID", 4)
        elif "fail" in kinds:
            expected = ("NO-SHIP", 1)
        elif "undecided" in kinds:
            expected = ("INCONCLUSIVE", 3)
        else:
            expected = ("SHIP", 0)
        got = g.verdict(judged, ["a reason"] if invalid else [])
        assert (got.value, int(exit_code(got))) == expected, kinds


def test_every_exit_code_is_documented_once_in_the_help() -> None:
    line = next(text for text in (parser().epilog or "").splitlines() if "exit codes" in text)
    assert sorted(int(number) for number in re.findall(r"\b\d+\b", line)) == sorted(Exit)
    assert {exit_code(verdict) for verdict in Verdict} == {0, 1, 3, 4}


def test_15999_of_20000_is_below_080_wherever_it_is_shown() -> None:
    lay(right=15999, uncited=4001)
    policy = f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.80\n'
    code, report = gated(policy, "-o", "r.txt", "-o", "r.md", "-o", "r.xml")
    gate = report["gates"][0]
    assert (code, gate["outcome"], gate["value"], gate["num"], gate["den"]) == (1, "fail", 0.79995, 15999, 20000)
    assert gate["shown"]["value"] == "0.79995"
    for name in ("r.txt", "r.md", "r.xml"):
        lines = [line for line in Path(name).read_text().splitlines() if "answers.precision" in line]
        shown = "\n".join(lines).replace("≥ 0.80", "")
        assert "0.79995" in shown
        assert re.findall(r"(?<![\d.])0\.80*(?![\d])", shown) == [], (name, shown)


def test_what_fails_beyond_doubt_is_not_called_too_small() -> None:
    def note(rule: str, metric: str = "precision") -> str:
        return gated(f'{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n')[1]["gates"][0]["note"] or ""

    lay(wrong=3)  # Wilson: 0 … z² / (3 + z²) = 0.5615
    assert note("min = 0.57") == ""
    assert "may still be 56.1 %; to show that it misses 55 % with 80 % chance takes about" in note("min = 0.55")
    lay(right=1, answered=3)  # 1 - 0.5615 = 0.4385 … 1
    assert note("max = 0.43", "under") == ""
    assert "may still be as low as 43.9 %; to show that it misses 45 % with 80 % chance" in note("max = 0.45", "under")


def test_a_failing_margin_is_never_shown_as_zero_or_more() -> None:
    lay(right=15999, uncited=4001)
    _, report = gated(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.80\n')
    assert float(report["gates"][0]["shown"]["margin"]) < 0


def test_an_interval_that_straddles_is_not_shown_as_if_it_did_not() -> None:
    lay(right=170, wrong=30)  # Wilson: 0.7939 … 0.8929
    assert outcome('min = 0.794\nevidence = "interval"') == "undecided"
    report = gated(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.794\nevidence = "interval"\n')[1]
    low = report["gates"][0]["shown"]["interval"].split(" … ")[0]
    assert report["gates"][0]["low"] < 0.794
    assert Fraction(low) < Fraction("0.794"), low


@settings(deadline=None)
@given(
    num=st.integers(0, 10**7),
    den=st.integers(1, 10**7),
    limit=st.decimals(0, 1, places=6, allow_nan=False) | st.decimals(0, 1, places=2, allow_nan=False),
)
def test_a_shown_number_is_on_its_own_side_of_the_threshold(num: int, den: int, limit: Any) -> None:
    value, threshold = Fraction(min(num, den), den), Fraction(limit)
    shown = Fraction(show.number(value, threshold))
    assert (shown > threshold, shown < threshold) == (value > threshold, value < threshold)
    assert abs(shown - value) <= Fraction(1, 20000)


@settings(deadline=None)
@given(limit=st.integers(0, 10**4), off=st.sampled_from([-1, 1]), places=st.integers(5, 12))
def test_a_number_just_beside_the_threshold_is_not_shown_as_it(limit: int, off: int, places: int) -> None:
    threshold = Fraction(limit, 10**4)
    shown = Fraction(show.number(threshold + Fraction(off, 10**places), threshold))
    assert (shown > threshold) == (off > 0)
    assert (shown < threshold) == (off < 0)


def test_missing_traces_are_invalid_even_when_other_gates_fail() -> None:
    lay(wrong=3, missing=1, answered=2)
    code, report = gated(SUITE)
    assert (code, report["verdict"], report["invalid"]) == (4, "INVALID", ["1 question has no trace"])
    assert "fail" in {gate["outcome"] for gate in report["gates"][:4]}


def test_when_everything_is_refused_nothing_was_measured() -> None:
    lay(over=3, refused=2)
    code, report = gated(SUITE)
    assert (code, report["verdict"]) == (4, "INVALID")
    assert [gate["outcome"] for gate in report["gates"]] == ["not_measured", "not_measured", "pass", "fail", "pass"]


def test_without_unanswerable_questions_the_gate_on_them_must_be_optional() -> None:
    lay(right=3)
    code, report = gated(SUITE)
    reason = "answers.under_refusal was not measured: no unanswerable question"
    assert (code, report["verdict"], report["invalid"]) == (4, "INVALID", [reason])
    code, report = gated(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.8\n{OPTIONAL_UNDER}')
    assert (code, report["verdict"]) == (0, "SHIP")
    cases = ElementTree.fromstring(ragworthy("gate", "--format", "junit").out).iter("testcase")
    assert [child.tag for case in cases for child in case] == ["skipped"]


# default gates beside those that are named


CHR = '[[gate]]\nmetric = "chr"\nmin = 0.5\n'


def test_a_default_gate_that_cannot_be_measured_is_listed_and_lets_the_verdict_stand() -> None:
    lay(right=20)  # no question is unanswerable
    code, report = gated(SUITE + CHR)
    assert (code, report["verdict"], report["invalid"]) == (0, "SHIP", [])
    under = next(gate for gate in report["gates"] if gate["metric"] == "answers.under_refusal")
    assert (under["outcome"], under["kept"], under["judged"]) == ("not_measured", True, False)
    assert ragworthy("gate").out.startswith("SHIP: 4 gates hold, 1 not judged\n")
    text = ragworthy("gate", "--full").out.splitlines()
    assert text[0] == "SHIP: 4 gates hold, 1 not judged"
    line = "not judged (default gates that nobody named): answers.under_refusal: no unanswerable question"
    assert f"  {line}" in text
    assert "not judged (default gates that nobody named)" in ragworthy("gate", "--format", "markdown").out
    root = ElementTree.fromstring(ragworthy("gate", "--format", "junit").out)
    assert [root.get(key) for key in ("failures", "errors", "skipped")] == ["0", "0", "1"]


def test_without_a_named_gate_it_still_makes_the_verdict_invalid() -> None:
    lay(right=20)
    for policy in (SUITE, SUITE + CHR.replace("0.5", '0.5\noptional = true\nslice = "half=z"')):
        code, report = gated(policy)
        assert (code, report["verdict"]) == (4, "INVALID")
        assert "answers.under_refusal was not measured: no unanswerable question" in report["invalid"]


def test_a_default_gate_that_nobody_named_can_stop_a_release_and_says_how_to_leave_it_out() -> None:
    lay(right=8, over=8, refused=4)
    code, report = gated(SUITE + CHR)
    failing = [gate["metric"] for gate in report["gates"] if gate["outcome"] == "fail"]
    assert (code, failing) == (1, ["answers.over_refusal"])
    assert (
        "  nobody named answers.over_refusal: default gates hold beside yours unless the policy says defaults = false "
        "(--no-default-gates, defaults=False)"
    ) in ragworthy("gate", "--full").out.splitlines()
    assert gated("defaults = false\n" + SUITE + CHR)[0] == 0


def test_a_receipt_with_default_gates_verifies() -> None:
    lay(right=20)
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert ragworthy("score", "answers", *files, "--gates", "chr=0.5", "--receipt", "r.json").code == 0
    asked = json.loads(Path("r.json").read_text())["request"]["gates"]
    assert [(gate["metric"], gate.get("kept", False)) for gate in asked] == [
        ("answers.chr", False),
        ("answers.precision", True),
        ("answers.under_refusal", True),
        ("answers.over_refusal", True),
    ]
    done = ragworthy("verify", "r.json")
    assert done.code == 0
    assert "gate: answers.precision >= 0.80: pass (1.0), by default" in done.out.splitlines()
    gated(SUITE + CHR)
    assert ragworthy("verify", ".ragworthy/receipt.json").code == 0
