"""The policy file: every error code with its exact text, and what a good policy means."""

import json
from datetime import date
from pathlib import Path

import pytest

from conftest import Done as Ran
from conftest import run_cli as ragworthy
from conftest import write_jsonl
from ragworthy import starter
from ragworthy.gates import Gate
from ragworthy.policy.read import Policy, load_policy
from ragworthy.suites import SUITES

TODAY = date(2026, 6, 30)
SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
PRECISION = '[[gate]]\nmetric = "answers.precision"\nmin = 0.80\n'
WAIVER = SUITE + PRECISION + '[[waiver]]\ngate = "precision"\nreason = "r"\nowner = "o"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the twelve questions `init` writes (8 answerable, 4 not; all right)."""
    monkeypatch.chdir(tmp_path)
    gold, traces = starter._tiny()
    Path("gold.jsonl").write_text(gold)
    Path("traces.jsonl").write_text(traces)
    return tmp_path


def refused(text: str, name: str = "ragworthy.toml") -> str:
    """What the gate says about a policy it cannot use: exit 2, nothing scored."""
    Path(name).write_text(text)
    done = ragworthy("gate")
    assert (done.code, done.out) == (2, "")
    return done.err


def first_line(text: str) -> str:
    return refused(text).splitlines()[0]


def loaded(text: str) -> Policy:
    Path("ragworthy.toml").write_text(text)
    return load_policy(Path("ragworthy.toml"), SUITES, today=TODAY)


def briefly(gates: tuple[Gate, ...]) -> list[tuple[str, str, str]]:
    return [(gate.metric, gate.op, gate.threshold) for gate in gates]


EXACT = {
    "RW-P01": (
        "version = = 1\n",
        "ragworthy.toml: expected TOML, got: Invalid value (at line 1, column 11) [RW-P01]\n"
        "  policy_syntax: Fix the syntax at the place named.\n",
    ),
    "RW-P02": (
        SUITE + 'trace = "t.jsonl"\n',
        "ragworthy.toml: answers.trace: expected a known key, got an unknown one (did you mean traces?) [RW-P02]\n"
        "  policy_unknown_key: Remove it or spell it as shown; docs/policy-keys.md lists every key.\n",
    ),
    "RW-P03": (
        "evidence = 5\n" + SUITE,
        'ragworthy.toml: evidence: expected "point" or "interval", got 5 [RW-P03]\n'
        "  policy_value: Change the value as the line says.\n",
    ),
    "RW-P04": (
        SUITE + '[[gate]]\nmetric = "answers.precison"\nmin = 0.8\n',
        'ragworthy.toml: gate[0].metric: expected a metric, got "answers.precison" '
        "(did you mean answers.precision or answers.missing or answers.recall@k?) [RW-P04]\n"
        "  policy_unknown_metric: 'ragworthy explain' lists every metric.\n",
    ),
    "RW-P05": (
        SUITE + '[[gate]]\nmetric = "answers.precision"\nmin = 0\n',
        "ragworthy.toml: gate[0].min: min = 0 can never fail: the metric is never below 0 [RW-P05]\n"
        "  threshold_idle: Choose a threshold inside the metric's range: a gate that can only pass, or "
        "only fail, decides nothing.\n",
    ),
    "RW-P06": (
        WAIVER + "expires = 2001-02-03\n",
        f"ragworthy.toml: waiver[0].expires: expected a date from {date.today()} on, got 2001-02-03 [RW-P06]\n"
        "  waiver_expired: Fix what it waived, or renew it with a new date and reason.\n",
    ),
    "RW-P07": (
        SUITE + PRECISION + '[[waiver]]\ngate = "answers.speed"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n',
        'ragworthy.toml: waiver[0].gate: expected a gate, got "answers.speed" [RW-P07]\n'
        "  waiver_unknown: Remove it, or name the gate's metric.\n",
    ),
    "RW-P09": (
        SUITE + '[[gate]]\nmetric = "answers.precision"\nmust_pass = ["H001", "nobody"]\n',
        'ragworthy.toml: answers.precision: must_pass: expected a qid of the gold set, got "nobody" [RW-P09]\n'
        "  must_pass_unknown: Fix the qid.\n",
    ),
    "RW-P11": (
        'version = 1\n[answers]\ngold = "gold.jsonl"\n',
        "ragworthy.toml: answers.traces: expected a path, got nothing [RW-P11]\n  policy_key_missing: Add it.\n",
    ),
    "RW-P12": (
        "version = 1\n",
        "ragworthy.toml: answers: expected a section for a suite, got none [RW-P12]\n"
        "  policy_no_suite: Add a section, e.g. [answers] with gold and traces.\n",
    ),
}


@pytest.mark.parametrize("code", EXACT)
def test_each_policy_error_has_its_exact_text(code: str) -> None:
    text, expected = EXACT[code]
    assert refused(text) == expected
    assert f"[{code}]" in expected


def test_no_policy_is_p08() -> None:
    done = ragworthy("gate")
    assert done == Ran(
        2,
        "",
        "expected ragworthy.toml or [tool.ragworthy] in pyproject.toml here, got neither [RW-P08]\n"
        "  policy_missing: Run 'ragworthy init', or name one with -c.\n",
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("versions = 1\n" + SUITE, "versions: expected a known key, got an unknown one (did you mean version?)"),
        (SUITE + "[freeze]\nsigner = []\n", "freeze.signer: expected a known key, got an unknown one "
         "(did you mean signers?)"),
        (SUITE + PRECISION + "minimum = 1\n", "gate[0].minimum: expected a known key, got an unknown one "
         "(did you mean min?)"),
        (SUITE + PRECISION + PRECISION.replace("min", "zzz"), "gate[1].zzz: expected a known key, got an unknown one "
         "(one of: metric, min, max, max_drop, max_worse, suite, slice, min_n, evidence, min_effect, must_pass, "
         "rerun, optional, review, why)"),
        (SUITE + '[[waiver]]\nuntil = 1\n', "waiver[0].until: expected a known key, got an unknown one "
         "(one of: gate, reason, owner, expires)"),
        (SUITE + "[poetry]\n", "poetry: expected a known key, got an unknown one "
         "(one of: version, evidence, alpha, cluster, seed, defaults, packs, plugins, baseline, answers, retrieval, "
         "structured, stability, latency, agreement, allow, regression, freeze, history, gate, waiver)"),
    ],
)  # fmt: skip
def test_unknown_keys_are_named_with_their_path_and_a_suggestion(text: str, line: str) -> None:
    assert f"ragworthy.toml: {line} [RW-P02]" in refused(text).splitlines()


def test_every_problem_is_listed_with_its_advice_once() -> None:
    err = refused('version = 2\n[answers]\ngold = 1\ntracez = "x"\nk = 0\n[[gate]]\nmetric = "chr"\nmin = 1.5\n')
    assert [line.rpartition("[")[2] for line in err.splitlines() if not line.startswith("  ")] == [
        "RW-P03]", "RW-P02]", "RW-P11]", "RW-P03]", "RW-P03]", "RW-P05]",
    ]  # fmt: skip
    assert err.count("  policy_value:") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('version = "1"\n' + SUITE[12:], 'version: expected 1, got "1"'),
        ("version = true\n" + SUITE[12:], "version: expected 1, got true"),
        ("baseline = 3\n" + SUITE, "baseline: expected a path, got 3"),
        ("answers = 3\nversion = 1\n", "answers: expected a table, got 3"),
        (SUITE + "corpus = []\n", "answers.corpus: expected a path, got []"),
        (SUITE + 'short_substr = "words"\n', 'answers.short_substr: expected "reject" or "word", got "words"'),
        (SUITE + 'refusals = "none"\n', 'answers.refusals: expected a list of strings, got "none"'),
        (SUITE + 'refusals = ["a", 2]\n', "answers.refusals[1]: expected a non-empty string, got 2"),
        (SUITE + 'refusals = [" "]\n', 'answers.refusals[0]: expected a non-empty string, got " "'),
        (SUITE + "refusals = []\n", "answers.refusals: expected at least one text, got an empty list"),
        (SUITE + 'scu = "yes"\n', 'answers.scu: expected true or false, got "yes"'),
        (SUITE + "k = true\n", "answers.k: expected whole numbers from 1 up (at most 8, all different), got true"),
        (SUITE + "k = 0\n", "answers.k: expected whole numbers from 1 up (at most 8, all different), got 0"),
        (SUITE + "k = [5, 5]\n", "answers.k: expected whole numbers from 1 up (at most 8, all different), got [5, 5]"),
        (SUITE + "k = []\n", "answers.k: expected whole numbers from 1 up (at most 8, all different), got []"),
        (SUITE + "[gate]\n", "gate: expected [[gate]] tables, got a table"),
        ("gate = [1]\n" + SUITE, "gate[0]: expected a table, got 1"),
        (SUITE + '[[gate]]\nmetric = "chr"\nmin = "0.8"\n', 'gate[0].min: expected a number, got "0.8"'),
        (SUITE + '[[gate]]\nmetric = "chr"\nmin = true\n', "gate[0].min: expected a number, got true"),
        (SUITE + '[[gate]]\nmetric = "chr"\nmin = nan\n', "gate[0].min: expected a number, got NaN"),
        (SUITE + '[[gate]]\nmetric = "chr"\nmax_drop = inf\n', "gate[0].max_drop: expected a number, got Infinity"),
        (SUITE + PRECISION + 'min_n = "5"\n', 'gate[0].min_n: expected a whole number, got "5"'),
        (SUITE + PRECISION + 'slice = "billing"\n', 'gate[0].slice: expected field=value, got "billing"'),
        (SUITE + PRECISION + "review = [0.9, 0.7]\n", "gate[0].review: expected [low, high], got [0.9, 0.7]"),
        (SUITE + PRECISION + "must_pass = [3]\n", "gate[0].must_pass[0]: expected a non-empty string, got 3"),
        (SUITE + PRECISION + PRECISION, "gate: expected one gate for answers.precision >=, got two"),
        (SUITE + "[waiver]\n", "waiver: expected [[waiver]] tables, got a table"),
        (WAIVER + 'expires = "2999-01-01"\n',
         'waiver[0].expires: expected a date like 2026-12-31, got "2999-01-01"'),
        (WAIVER + 'expires = 2999-01-01T00:00:00\n',
         "waiver[0].expires: expected a date like 2026-12-31, got 2999-01-01 00:00:00"),
        (SUITE + '[freeze]\nsigners = "Ada"\n', 'freeze.signers: expected a list of strings, got "Ada"'),
    ],
)  # fmt: skip
def test_wrong_values_are_named_with_their_path(text: str, line: str) -> None:
    assert first_line(text) == f"ragworthy.toml: {line} [RW-P03]"


def test_min_n_below_zero_is_an_error() -> None:
    assert first_line(SUITE + PRECISION + "min_n = -5\n").startswith("ragworthy.toml: gate[0].min_n: expected ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SUITE[12:], "version: expected 1, got nothing"),
        (SUITE + "[[gate]]\nmin = 1\n", "gate[0].metric: expected a metric id, got nothing"),
        (SUITE + '[[gate]]\nmetric = "chr"\n',
         "gate[0]: expected one of min, max, max_drop, max_worse, must_pass, got none"),
        (SUITE + PRECISION + '[[waiver]]\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n',
         "waiver[0].gate: expected a text, got nothing"),
        (WAIVER,
         "waiver[0].expires: expected a date, got nothing"),
    ],
)  # fmt: skip
def test_missing_keys_are_named_with_their_path(text: str, line: str) -> None:
    assert first_line(text) == f"ragworthy.toml: {line} [RW-P11]"


@pytest.mark.parametrize(
    ("metric", "rule", "why"),
    [
        ("answers.precision", "min = 0", "min = 0 can never fail: the metric is never below 0"),
        ("answers.precision", "min = -0.5", "min = -0.5 can never fail: the metric is never below 0"),
        ("answers.precision", "min = 1.01", "min = 1.01 can never pass: the metric is never above 1"),
        ("answers.over_refusal", "max = 1.0", "max = 1.0 can never fail: the metric is never above 1"),
        ("answers.over_refusal", "max = -0.1", "max = -0.1 can never pass: the metric is never below 0"),
        ("answers.scu_violations", "max = -1", "max = -1 can never pass: the metric is never below 0"),
        ("answers.chr", "max_drop = 1", "a drop of 1 can never be exceeded"),
        ("answers.chr", "max_drop = -0.1", "expected 0 or more, got -0.1"),
    ],
)
def test_thresholds_that_never_fail_or_never_pass(metric: str, rule: str, why: str) -> None:
    text = f'{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n'
    assert first_line(text) == f"ragworthy.toml: gate[0].{rule.split()[0]}: {why} [RW-P05]"


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        ("chr", "min = 1"),
        ("chr", "min = 0.0001"),
        ("chr", "max_drop = 0"),
        ("over", "max = 0"),
        ("over", "max = 0.9999"),
    ],
)
def test_thresholds_at_the_edge_that_can_do_both(metric: str, rule: str) -> None:
    assert not loaded(f'{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n').gates[0].kept


@pytest.mark.parametrize(
    ("metric", "rule", "said"),
    [
        ("answers.precision", "max = 0.80", "expected min, got max: answers.precision is better when it is higher"),
        (
            "answers.under_refusal",
            "min = 0.5",
            "expected max, got min: answers.under_refusal is better when it is lower",
        ),
    ],
)
def test_a_limit_on_the_wrong_side_is_an_error(metric: str, rule: str, said: str) -> None:
    text = f'{SUITE}[[gate]]\nmetric = "{metric}"\n{rule}\n'
    assert first_line(text) == f"ragworthy.toml: gate[0].{rule.split()[0]}: {said} [RW-P05]"


def test_a_policy_with_an_empty_list_of_gates_is_an_error() -> None:
    assert "[RW-P11]" in refused("gate = []\n" + SUITE)


@pytest.mark.parametrize("written", ["0.80", "0.8", "0.05", "0.123456789012345678901234567890", "1"])
def test_decimals_are_kept_as_written(written: str) -> None:
    gate, *kept = loaded(f'{SUITE}[[gate]]\nmetric = "chr"\nmin = {written}\n').gates
    assert (gate.metric, gate.threshold) == ("answers.chr", written)
    assert [one.metric for one in kept] == ["answers.precision", "answers.under_refusal", "answers.over_refusal"]
    assert json.loads(ragworthy("gate", "--format", "json").out)["gates"][0]["threshold"] == written


def test_without_gates_the_sources_gates_hold_under_the_policys_evidence() -> None:
    policy = loaded('evidence = "interval"\n' + SUITE)
    assert briefly(policy.gates) == [
        ("answers.precision", ">=", "0.80"),
        ("answers.chr", ">=", "0.75"),
        ("answers.under_refusal", "<=", "0.05"),
        ("answers.over_refusal", "<=", "0.10"),
    ]
    assert {gate.evidence for gate in policy.gates} == {"interval"}


STRUCTURED = '[structured]\nquestions = "q.json"\noutputs = "o.jsonl"\n'
RETRIEVAL = '[retrieval]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n'
OF_ANSWERS = [
    ("answers.precision", ">=", "0.80"), ("answers.chr", ">=", "0.75"),
    ("answers.under_refusal", "<=", "0.05"), ("answers.over_refusal", "<=", "0.10"),
]  # fmt: skip
OF_STRUCTURED = [("structured.score", ">=", "95"), ("structured.schema_pass_rate", ">=", "0.98")]
OF_RETRIEVAL = [
    ("retrieval.coverage", ">=", "0.70"), ("retrieval.citation_accuracy", ">=", "0.95"),
    ("retrieval.delta_s_median", "<=", "0.40"), ("retrieval.delta_s_p90", "<=", "0.55"),
    ("retrieval.triplet_rate", ">=", "0.95"), ("retrieval.collapsed", "<=", "0"),
]  # fmt: skip
MADE = ("prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id")
OWN_ANSWERS, OWN_STRUCTURED = [("answers.precision", ">=", "0.80")], [("structured.grounding", ">=", "0.5")]


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        (STRUCTURED, OF_ANSWERS + OF_STRUCTURED),
        (STRUCTURED + PRECISION, OF_ANSWERS + OF_STRUCTURED),
        (STRUCTURED + '[[gate]]\nmetric = "structured.grounding"\nmin = 0.5\n',
         OWN_STRUCTURED + OF_ANSWERS + OF_STRUCTURED),
        (STRUCTURED + PRECISION + '[[gate]]\nmetric = "structured.grounding"\nmin = 0.5\n',
         OWN_ANSWERS + OWN_STRUCTURED + OF_ANSWERS[1:] + OF_STRUCTURED),
        (RETRIEVAL + PRECISION, OF_ANSWERS + OF_RETRIEVAL),
        (RETRIEVAL + 'live = "l.jsonl"\n' + PRECISION,
         OF_ANSWERS + OF_RETRIEVAL + [("retrieval.recall@5", "drop<=", "0.02")]),
        (RETRIEVAL + '[[gate]]\nmetric = "retrieval.coverage"\nmin = 0.5\n',
         [("retrieval.coverage", ">=", "0.5"), *OF_ANSWERS, *OF_RETRIEVAL[1:]]),
        (RETRIEVAL + STRUCTURED + PRECISION, OF_ANSWERS + OF_RETRIEVAL + OF_STRUCTURED),
    ],
)  # fmt: skip
def test_the_usual_gates_hold_beside_those_that_are_named_in_every_suite(
    text: str, gates: list[tuple[str, str, str]]
) -> None:
    policy = loaded(f'evidence = "interval"\n{SUITE}{text}')
    assert briefly(policy.gates) == gates
    assert {gate.evidence for gate in policy.gates if gate.op != "drop<="} == {"interval"}
    assert {gate.evidence for gate in policy.gates if gate.op == "drop<="} <= {"paired"}


def test_an_empty_list_of_gates_is_an_error_for_several_suites_too() -> None:
    assert refused(f"gate = []\n{SUITE}{STRUCTURED}") == (
        "ragworthy.toml: gate: expected at least one gate, got an empty list [RW-P11]\n  policy_key_missing: Add it.\n"
    )


def test_the_usual_gates_of_a_second_suite_decide_the_verdict() -> None:
    """One answer that is not JSON: nothing in the policy speaks of it, and it does not ship."""
    expected = {"answer_example": {"x": "y"}}
    Path("q.json").write_text(json.dumps([{"id": "Q1", "question": "Why?", "expected": expected}]))
    Path("o.jsonl").write_text(json.dumps({"id": "Q1", "raw": "no", "meta": dict.fromkeys(MADE, "x")}) + "\n")
    Path("d.toml").write_text('version = 1\nid = "d"\n[[field]]\nname = "x"\nkind = "label"\nweight = 1\n')
    Path("ragworthy.toml").write_text(f'{SUITE}{STRUCTURED}definition = "d.toml"\n{PRECISION}')
    done = ragworthy("gate", "--format", "json")
    failing = [one["metric"] for one in json.loads(done.out)["gates"] if one["outcome"] == "fail"]
    assert (done.code, failing) == (1, ["structured.score", "structured.schema_pass_rate"])


GRAPH = '[[gate]]\nmetric = "structured.grounding"\nmin = 0.5\n'


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("defaults = false\n" + SUITE + PRECISION, OWN_ANSWERS),
        (SUITE + "defaults = false\n" + PRECISION, OWN_ANSWERS),
        ("defaults = false\n" + SUITE + "defaults = true\n" + PRECISION, OF_ANSWERS),
        (SUITE + "defaults = false\n" + STRUCTURED + PRECISION, OWN_ANSWERS + OF_STRUCTURED),
        ("defaults = false\n" + SUITE + STRUCTURED + PRECISION + GRAPH, OWN_ANSWERS + OWN_STRUCTURED),
        ("defaults = true\n" + SUITE, OF_ANSWERS),
    ],
)
def test_a_policy_can_do_without_the_usual_gates(text: str, gates: list[tuple[str, str, str]]) -> None:
    assert briefly(loaded(text).gates) == gates


@pytest.mark.parametrize(
    ("rule", "replaced"),
    [
        ("min = 0.5", True),
        ("max_drop = 0.02", False),
        ("max_worse = 0.02", False),
        ('min = 0.5\nslice = "topic=x"', False),
        ('must_pass = ["A1"]', False),
        ("min = 0.5\noptional = true", True),
    ],
)
def test_a_limit_on_the_same_number_replaces_a_usual_gate(rule: str, replaced: bool) -> None:
    gates = loaded(f'{SUITE}[[gate]]\nmetric = "chr"\n{rule}\n').gates
    kept = ["answers.precision", "answers.chr", "answers.under_refusal", "answers.over_refusal"]
    assert [gate.metric for gate in gates if gate.kept] == [
        name for name in kept if name != "answers.chr" or not replaced
    ]


def test_nothing_is_left_without_a_gate() -> None:
    line = "  no_gate_left: Name a gate ([[gate]], --gates, gates=), or leave the default ones in.\n"
    message = "expected a gate for {} besides defaults = false, got none [RW-P16]\n"
    assert refused("defaults = false\n" + SUITE) == f"ragworthy.toml: defaults: {message.format('answers')}{line}"
    text = f"{SUITE}{STRUCTURED}defaults = false\n{PRECISION}"
    assert refused(text) == f"ragworthy.toml: structured.defaults: {message.format('structured')}{line}"
    done = ragworthy("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--no-default-gates")
    assert (done.code, done.err) == (2, f"--no-default-gates: expected --gates besides it, got none [RW-P16]\n{line}")


def test_the_usual_gates_hold_beside_those_of_the_command_line() -> None:
    command = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json", "--gates")
    for more, kept in (((), ["precision", "under_refusal", "over_refusal"]), (("--no-default-gates",), [])):
        found = json.loads(ragworthy(*command, "chr=0.5", *more).out)["gates"]
        assert [one["metric"] for one in found if one.get("kept")] == [f"answers.{name}" for name in kept]
        assert [one["metric"] for one in found if not one.get("kept")] == ["answers.chr", "answers.missing"]
        assert found[0]["threshold"] == "0.5"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.toml", "defaults = false\nchr = 0.5\n"),
        ("g.toml", 'defaults = false\n[[gate]]\nmetric = "chr"\nmin = 0.5\n'),
        ("g.json", '{"defaults": false, "chr": 0.5}'),
    ],
)
def test_a_file_of_gates_can_do_without_the_usual_ones(name: str, text: str) -> None:
    Path(name).write_text(text)
    command = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json")
    found = json.loads(ragworthy(*command, "--gates", name).out)["gates"]
    assert [one["metric"] for one in found] == ["answers.chr", "answers.missing"]


def test_numbers_that_python_refuses_are_no_toml() -> None:
    message = "ragworthy.toml: expected TOML, got a number with too many digits [RW-P01]"
    assert first_line(f"version = 1{'0' * 5000}\n") == message
    assert first_line(f"{SUITE}{PRECISION}".replace("0.80", "1e99999999999999999999")) == message


def test_every_key_is_read() -> None:
    policy = loaded(
        'evidence = "interval"\nbaseline = "b.json"\n'
        + SUITE
        + 'corpus = "c.jsonl"\nlock = "l.lock"\nk = [3, 10]\nshort_substr = "word"\nrefusals = ["No."]\nscu = true\n'
        'refusal_packs = ["en", "zh"]\nrefusal_starts = ["Sorry"]\nrefusal_patterns = ["^no"]\n'
        'rule_packs = ["wfgy-neg-4"]\nslices = ["topic"]\n[freeze]\nsigners = ["Ada"]\n'
        '[[gate]]\nmetric = "recall@k"\nmin = 0.7\nmax_drop = 0.02\nslice = "topic=a=b"\nmin_n = 4\n'
        'evidence = "point"\noptional = true\nreview = [0.6, 0.7]\nwhy = "because"\nmust_pass = ["q1"]\n'
        '[[waiver]]\ngate = "answers.recall@3[topic=a=b]"\nreason = "r"\nowner = "o"\nexpires = 2026-06-30\n'
    )
    (section,) = policy.suites
    assert section.given == {"gold": "gold.jsonl", "traces": "traces.jsonl", "corpus": "c.jsonl"}
    assert (section.suite, section.lock) == ("answers", "l.lock")
    assert section.settings._asdict() == {
        "ks": (3, 10), "short_substr": "word", "refusals": ("No.",), "scu": True, "rule_packs": ("wfgy-neg-4",),
        "refusal_packs": ("en", "zh"), "refusal_starts": ("Sorry",), "refusal_patterns": ("^no",), "slices": ("topic",),
    }  # fmt: skip
    assert (policy.baseline, policy.signers) == ("b.json", ("Ada",))
    assert briefly(policy.gates) == [
        ("answers.recall@3", ">=", "0.7"), ("answers.recall@3", "drop<=", "0.02"), ("answers.recall@3", "each", "1"),
        *OF_ANSWERS,
    ]  # fmt: skip
    assert policy.gates[0] == Gate(
        "answers.recall@3", ">=", "0.7", "topic=a=b", 4, "point", (), True, ("0.6", "0.7"), "because"
    )
    assert policy.waivers[0].gate == "answers.recall@3[topic=a=b]"


def test_pyproject_holds_a_policy_under_its_tool_table() -> None:
    section = SUITE.replace("[answers]", "[tool.ragworthy.answers]").replace("version", "[tool.ragworthy]\nversion")
    Path("pyproject.toml").write_text('[project]\nname = "x"\n' + section)
    assert ragworthy("gate", "-q") == Ran(0, "verdict: SHIP (exit 0)\n", "")
    Path("ragworthy.toml").write_text("nonsense = 1\n")  # ragworthy.toml wins where both are there
    assert ragworthy("gate").code == 2


@pytest.mark.parametrize("text", ["[project]\n", "tool = 3\n", "[tool]\nragworthy = 3\n", "[tool]\nragworthy = [1]\n"])
def test_a_pyproject_without_the_table_is_p08(text: str) -> None:
    Path("pyproject.toml").write_text(text)
    done = ragworthy("gate", "-c", "pyproject.toml")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "pyproject.toml: expected a table [tool.ragworthy], got none [RW-P08]",
    )  # fmt: skip


def test_paths_are_relative_to_the_policys_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ragworthy.toml").write_text(SUITE)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert ragworthy("gate", "-q", "-c", "../ragworthy.toml") == Ran(0, "verdict: SHIP (exit 0)\n", "")
    assert (folder / ".ragworthy/receipt.json").is_file()


def test_several_k_from_the_policy_and_from_gates() -> None:
    Path("ragworthy.toml").write_text(SUITE + 'k = [5, 1]\n[[gate]]\nmetric = "answers.recall@10"\nmin = 0.5\n')
    done = ragworthy("gate", "--format", "json")
    metrics = json.loads(done.out)["suites"]["answers"]["metrics"]
    assert done.code == 0
    assert [name for name in metrics if "recall" in name] == [
        "answers.recall@5", "answers.recall@1", "answers.recall@10",
    ]  # fmt: skip


@pytest.mark.parametrize("count", [8, 12, 20])
def test_gates_on_many_depths_are_judged_or_refused_but_never_a_defect(count: int) -> None:
    gates = "".join(f'[[gate]]\nmetric = "answers.hit@{k}"\nmin = 0.01\n' for k in range(1, count + 1))
    Path("ragworthy.toml").write_text(SUITE + gates)
    assert ragworthy("gate", "-q").code in (0, 2)


def test_the_policy_of_the_design_is_read_as_it_stands(tmp_path: Path) -> None:
    """Both suites, a gate on a slice, and a waiver whose gate is not (or no longer) in the policy."""
    path = tmp_path / "ragworthy.toml"
    path.write_text(
        """
version = 1
evidence = "point"

[answers]
gold = "gold/answers.jsonl"
traces = "runs/latest/traces.jsonl"
k = 5
short_substr = "word"
refusals = ["not in context"]
scu = false

[retrieval]
delta_s = "calibrated"
gold = "gold/retrieval.jsonl"
traces = "runs/shadow/retrieval.jsonl"
live = "runs/live/retrieval.jsonl"

[[gate]]
metric = "answers.precision"
min = 0.80
why = "what we ship must be right and cited"

[[gate]]
metric = "retrieval.recall@5"
max_drop = 0.02
slice = "type=table"

[[waiver]]
gate = "answers.over_refusal"
reason = "new corpus half, tracked in DOC-12"
owner = "search team"
expires = 2026-12-31
"""
    )
    policy = load_policy(path, SUITES, today=date(2026, 11, 15))
    answers, retrieval = policy.suites
    assert (answers.suite, retrieval.suite) == ("answers", "retrieval")
    assert [(gate.metric, gate.op, gate.slice) for gate in policy.gates] == [
        ("answers.precision", ">=", None),
        ("retrieval.recall@5", "drop<=", "type=table"),
        *((name, op, None) for name, op, _ in (*OF_ANSWERS[1:], *OF_RETRIEVAL)),
        ("retrieval.recall@5", "drop<=", None),
    ]
    assert (retrieval.settings.delta_s, retrieval.given["live"]) == ("calibrated", "runs/live/retrieval.jsonl")
    assert [waiver.gate for waiver in policy.waivers] == ["answers.over_refusal"]


# waivers and slices


def waived(waiver: str, *gates: str) -> list[tuple[str, str | None, str, bool]]:
    """Gates on answers (topic x is wrong, topic y right), and which of them a waiver reaches."""
    golds = [json.loads(line) for line in Path("gold.jsonl").read_text().splitlines()]
    golds = [gold | {"topic": "xy"[nth % 2]} for nth, gold in enumerate(one for one in golds if one["answerable"])]
    topics = {gold["qid"]: gold["topic"] for gold in golds}
    traces = [json.loads(line) for line in Path("traces.jsonl").read_text().splitlines()]
    traces = [one for one in traces if one["qid"] in topics]
    for one in traces:
        if topics[one["qid"]] == "x":
            one["answer_json"]["claim"] = "It is something else."
    write_jsonl(Path("gold.jsonl"), golds)
    write_jsonl(Path("traces.jsonl"), traces)
    tables = "".join(f"[[gate]]\n{gate}\n" for gate in gates)
    waivers = f'[[waiver]]\ngate = "{waiver}"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n'
    Path("ragworthy.toml").write_text("defaults = false\n" + SUITE + tables + waivers)
    done = ragworthy("gate", "--format", "json")
    assert done.err == ""
    report = json.loads(done.out)
    found = [one for one in report["gates"] if one["metric"] != "answers.missing"]
    assert (done.code == 0) is all(one["outcome"] == "pass" or "waiver" in one for one in found)
    return [(one["metric"], one["slice"], one["outcome"], "waiver" in one) for one in found]


WHOLE = 'metric = "answers.precision"\nmin = 0.8'
ON_X, ON_Y = (f'{WHOLE}\nslice = "topic={topic}"' for topic in "xy")


@pytest.mark.parametrize("waiver", ["answers.precision[topic=zzz]", "precision[topic=zzz]", "precision[topic=x]"])
def test_a_waiver_for_a_slice_does_not_waive_the_whole(waiver: str) -> None:
    assert waived(waiver, WHOLE) == [("answers.precision", None, "fail", False)]


@pytest.mark.parametrize("waiver", ["answers.precision[topic=x]", "precision[topic=x]"])
def test_a_waiver_for_a_slice_waives_that_slice_alone_under_any_name(waiver: str) -> None:
    assert waived(waiver, WHOLE, ON_X, ON_Y) == [
        ("answers.precision", None, "fail", False),
        ("answers.precision", "topic=x", "fail", True),
        ("answers.precision", "topic=y", "pass", False),
    ]


@pytest.mark.parametrize("waiver", ["answers.precision", "precision"])
def test_a_waiver_for_the_whole_does_not_waive_a_slice(waiver: str) -> None:
    assert waived(waiver, WHOLE, ON_X) == [
        ("answers.precision", None, "fail", True),
        ("answers.precision", "topic=x", "fail", False),
    ]


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("precision[topic=x]", "answers.precision[topic=x]"),
        ("recall@3[topic=a[b]]", "answers.recall@3[topic=a[b]]"),
        ("p95[load=20]", "latency.p95[load=20]"),
        ("latency:precision[load=20]", "latency:answers.precision[load=20]"),
        ("latency:answers.precision", "latency:answers.precision"),
    ],
)
def test_names_of_waivers_are_completed_and_keep_suite_and_slice(written: str, whole: str) -> None:
    policy = loaded(WAIVER.replace('"precision"', f'"{written}"') + "expires = 2999-01-01\n")
    assert [one.gate for one in policy.waivers] == [whole]


@pytest.mark.parametrize("written", ["speed[topic=x]", "latency:speed[load=20]", "nosuite:precision"])
def test_a_waiver_for_a_slice_of_no_metric_is_an_error(written: str) -> None:
    text = WAIVER.replace('gate = "precision"', f'gate = "{written}"') + "expires = 2999-01-01\n"
    assert first_line(text) == f'ragworthy.toml: waiver[0].gate: expected a gate, got "{written}" [RW-P07]'
