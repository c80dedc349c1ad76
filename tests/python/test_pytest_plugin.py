"""The pytest plugin in real sessions of pytest, each in a process of its own."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import write_jsonl
from example_folders import installed_at
from places import ROOT

GOLD: list[dict[str, Any]] = [
    {
        "qid": f"A{n}",
        "question": f"What is {n}?",
        "answerable": True,
        "gold_claim_substr": [f"value {n}"],
        "gold_citations": [f"p#{n}"],
    }
    for n in range(1, 6)
] + [{"qid": "U1", "question": "Explain Z.", "answerable": False}]
RAG = """
from pathlib import Path
WRONG = {wrong}
def answer(question):
    with Path("asked.txt").open("a") as file:
        file.write(question + "\\n")
    n = question.rstrip("?").split()[-1]
    if question in WRONG:
        return {{"answer_json": {{"claim": "Something else.", "citations": ["p#" + n]}}, "retrieved_ids": ["p#" + n]}}
    if "Z" in question:
        return {{"answer_json": {{"claim": "not in context"}}, "retrieved_ids": []}}
    return {{"answer_json": {{"claim": "It is value " + n, "citations": ["p#" + n]}}, "retrieved_ids": ["p#" + n]}}
"""
POLICY = """version = 1
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
[[gate]]
metric = "precision"
min = {least}
[[gate]]
metric = "precision"
must_pass = ["A1", "A2"]
"""
TESTS = """
import pytest
from rag import answer

@pytest.fixture(scope="session")
def ragworthy_target():
    return answer

@pytest.mark.ragworthy_gates
def test_gate(): pass

@pytest.mark.ragworthy_question
def test_question(): pass
"""


class Project:
    """A folder with a pipeline, a gold set, a policy and tests, and pytest in it."""

    def __init__(self, pytester: pytest.Pytester, site: Path) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        paths = os.pathsep.join([str(site), str(ROOT / "src")])
        pytester._monkeypatch.setenv("PYTHONPATH", paths)
        pytester._monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
        write_jsonl(self.folder / "gold.jsonl", GOLD)
        self.lay()

    def lay(self, *wrong: int, least: float = 0.5, tests: str = TESTS) -> None:
        """Which answers are wrong, what the gate asks for, and the tests."""
        (self.folder / "rag.py").write_text(RAG.format(wrong=[f"What is {n}?" for n in wrong]))
        (self.folder / "ragworthy.toml").write_text(POLICY.format(least=least))
        (self.folder / "test_rag.py").write_text(tests)

    def run(self, *args: str) -> pytest.RunResult:
        """A session in a process of its own; whatever warns is an error."""
        return self.pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider", *args, timeout=120)

    @property
    def asked(self) -> list[str]:
        """Every question that the pipeline was asked, in order."""
        path = self.folder / "asked.txt"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def project(pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(pytester, installed_at(tmp_path_factory.mktemp("site")))


def said(done: pytest.RunResult) -> list[str]:
    """The lines of the plugin's own section."""
    heads = [nth for nth, line in enumerate(done.outlines) if re.fullmatch(r"=+ ragworthy =+", line)]
    if not heads:
        return []
    rest = done.outlines[heads[-1] + 1 :]
    return rest[: next(nth for nth, line in enumerate(rest) if line.startswith("="))]


def traces_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Right answers to all of them."""
    return [
        {
            "qid": row["qid"],
            "retrieved_ids": row.get("gold_citations", []),
            "answer_json": {
                "claim": row["gold_claim_substr"][0] if row["answerable"] else "not in context",
                "citations": row.get("gold_citations", []),
            },
        }
        for row in rows
    ]


# inert until used


def test_a_session_that_does_not_use_it_loads_two_small_modules(project: Project) -> None:
    project.lay(
        tests="import sys\n"
        "def test_it():\n"
        "    ours = {name for name in sys.modules if name.partition('.')[0] == 'ragworthy'}\n"
        "    assert ours == {'ragworthy', 'ragworthy.names', 'ragworthy.pytest_plugin'}\n"
        "    assert 'msgspec' not in sys.modules\n"
    )
    done = project.run()
    done.assert_outcomes(passed=1)
    assert said(done) == []
    assert "ragworthy-" in done.stdout.str()  # pytest names the plugins it has


def test_its_option_and_markers_are_known(project: Project) -> None:
    assert "--ragworthy-policy=FILE" in project.run("--help").stdout.str()
    shown = project.run("--markers").stdout.str()
    for name in ("ragworthy(", "ragworthy_question(", "ragworthy_gates("):
        assert f"@pytest.mark.{name}" in shown


# verdicts and exit codes


def test_a_pipeline_that_ships(project: Project) -> None:
    done = project.run("--strict-markers", "-v")
    done.assert_outcomes(passed=12)
    assert done.ret == 0
    assert said(done) == [
        "questions: 6 of 6 pass, 0 fail and need not pass (xfailed), 0 questions must pass and fail",
        "verdict: SHIP: all 6 gates hold",
    ]
    assert len(project.asked) == 6  # once for all twelve
    done.stdout.fnmatch_lines_random(["*test_question?A1? PASSED*", "*test_gate?answers.precision-must_pass? PASSED*"])


def test_a_wrong_answer_that_must_not_be_is_a_failure_and_another_is_counted(project: Project) -> None:
    project.lay(2, 4)
    done = project.run("-rx", "-v")
    done.stdout.fnmatch_lines_random(
        [
            "*test_question?A2? FAILED*",
            "*test_question?A4? XFAIL*",
            "*test_question?A1? PASSED*",
            "A2: answers.precision must pass",
            "ANS_NO_CONTAIN (generation): What is 2? -> Something else.",
            "*test_gate?answers.precision? PASSED*",
            "*test_gate?answers.precision-must_pass? FAILED*",
            "*test_gate?verdict? FAILED*",
        ]
    )
    assert "XFAIL test_rag.py::test_question[A4] - ANS_NO_CONTAIN (generation): What is 4?" in done.stdout.str()
    assert done.ret == 1
    assert said(done) == [
        "questions: 4 of 6 pass, 1 fails and need not pass (xfailed), 1 question must pass and fails",
        "verdict: NO-SHIP: answers.precision fails",
    ]
    assert "Traceback" not in done.stdout.str()


def test_no_session_ends_with_0_when_the_verdict_is_not_ship(project: Project) -> None:
    """Every test passes or is xfailed, and the mean is too low all the same."""
    questions = TESTS.replace("@pytest.mark.ragworthy_gates\ndef test_gate(): pass\n", "")
    project.lay(3, 4, 5, least=0.9, tests=questions)
    done = project.run()
    done.assert_outcomes(passed=3, xfailed=3)
    assert done.ret == 1
    assert said(done)[1] == "verdict: NO-SHIP: answers.precision fails"


def test_gates_can_be_selected(project: Project) -> None:
    project.lay(3, 4, 5, least=0.9)
    done = project.run("-k", "precision and not must_pass")
    done.assert_outcomes(failed=1, deselected=11)
    assert "answers.precision: 0.4 (2/5), expected ≥ 0.9" in done.stdout.str()


def test_gates_of_every_kind(project: Project) -> None:
    """A slice, one that is waived, one that is optional and cannot be measured, and the load of another suite."""
    write_jsonl(project.folder / "gold.jsonl", [{**row, "topic": "t" + row["qid"][0]} for row in GOLD])
    project.lay(4, 5)
    write_jsonl(project.folder / "runs.jsonl", [{**one, "e2e_ms": 100, "load_rps": n} for n in (5, 9)
                                                for one in traces_of(GOLD)])  # fmt: skip
    with (project.folder / "ragworthy.toml").open("a") as policy:
        policy.write("""
[latency]
gold = "gold.jsonl"
runs = "runs.jsonl"
[[gate]]
metric = "answers.precision"
min = 0.9
slice = "topic=tA"
[[gate]]
metric = "answers.support"
min = 0.9
optional = true
[[waiver]]
gate = "answers.precision[topic=tA]"
reason = "known"
owner = "search team"
expires = 2099-12-31
""")
    done = project.run("-k", "gate", "-rxs")
    done.assert_outcomes(passed=11, xfailed=1, skipped=1, deselected=6)
    text = done.stdout.str()
    assert "waived: answers.precision[topic=tA]: 0.6 (3/5), expected ≥ 0.9" in text
    assert "waived until 2099-12-31 by search team: known" in text
    assert "answers.support was not judged: needs chunk texts" in text
    assert done.ret == 0
    assert said(done)[0].startswith("verdict: SHIP: ")
    assert said(done)[0].endswith(", 1 waived")


def test_the_fixture_of_the_session(project: Project) -> None:
    project.lay(3, 4, 5, least=0.9, tests=TESTS.partition("@pytest.mark")[0] + """
def test_ships(ragworthy_gate):
    ragworthy_gate.assert_ship()

def test_again(ragworthy_gate, ragworthy_result):
    assert ragworthy_gate is ragworthy_result
    assert ragworthy_gate.metrics["answers.precision"].value == 0.4
""")  # fmt: skip
    done = project.run()
    done.assert_outcomes(passed=1, failed=1)
    text = done.stdout.str()
    assert "    ragworthy_gate.assert_ship()" in text
    assert "E       AssertionError: NO-SHIP: answers.precision fails" in text
    assert "result.py" not in text
    assert len(project.asked) == 6


def test_without_a_target_the_traces_of_the_policy_are_judged(project: Project) -> None:
    write_jsonl(project.folder / "traces.jsonl", traces_of(GOLD))
    project.lay(tests="def test_ships(ragworthy_gate):\n    ragworthy_gate.assert_ship()\n")
    done = project.run()
    done.assert_outcomes(passed=1)
    assert project.asked == []
    write_jsonl(project.folder / "traces.jsonl", traces_of(GOLD)[1:])
    done = project.run()
    assert (done.ret, said(done)) == (1, ["verdict: INVALID: the evidence cannot carry a verdict"])


def test_a_policy_by_option(project: Project) -> None:
    (project.folder / "ragworthy.toml").rename(project.folder / "strict.toml")
    done = project.run()
    assert done.ret == 2  # the tests cannot be collected
    done.stdout.fnmatch_lines(["*ragworthy: expected a policy or a gold set, got neither ?RW-U09?"])
    assert "Traceback" not in done.stdout.str()
    project.run("--ragworthy-policy", "strict.toml").assert_outcomes(passed=12)
    missing = project.run("--ragworthy-policy", "nowhere.toml")
    missing.stdout.fnmatch_lines(["*nowhere.toml: expected a file, got nothing at this path ?RW-F01?"])
    assert missing.ret == 2


# markers


def test_a_gold_set_and_a_target_by_marker(project: Project) -> None:
    (project.folder / "ragworthy.toml").unlink()
    project.lay(4, 5, tests="""
import pytest
pytestmark = pytest.mark.ragworthy(gold="gold.jsonl", target="rag.py:answer", timeout=20, concurrency=2,
                                   gates={"precision": 0.5}, must_pass=["A5"])

@pytest.mark.ragworthy_gates
def test_gate(ragworthy_gates):
    assert ragworthy_gates[0]["metric"].startswith("answers.")

@pytest.mark.ragworthy_question
def test_question(ragworthy_question):
    assert ragworthy_question.question
    assert ragworthy_question.must_pass is (ragworthy_question.qid == "A5")
    assert ragworthy_question.passed is (ragworthy_question.qid not in ("A4", "A5"))

def test_result(ragworthy_result):
    ragworthy_result.assert_ship()
""")  # fmt: skip
    (project.folder / "ragworthy.toml").unlink()
    done = project.run()
    done.assert_outcomes(passed=10, xfailed=1, failed=1)
    assert "A5: must_pass" in done.stdout.str()
    assert len(project.asked) == 6


def test_a_body_that_fails_is_a_failure_whatever_the_question_says(project: Project) -> None:
    body = "def test_question(ragworthy_question):\n    assert ragworthy_question.qid != 'A3'\n"
    project.lay(tests=TESTS.replace("def test_question(): pass\n", body))
    done = project.run("-k", "question")
    done.assert_outcomes(passed=5, failed=1, deselected=6)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("gold='gold.jsonl'", "ragworthy: expected a target or traces beside gold, got neither [RW-U09]"),
        ("corpus='x'", "ragworthy: corpus: expected gold with it: what a policy judges, it says itself [RW-U09]"),
        ("gold='g', policy='p'", "ragworthy: gold: expected it in the policy, or no policy [RW-U09]"),
        ("must_pass='A1'", 'ragworthy: must_pass: expected a list of ids, got a text: write ["A1"] [RW-U09]'),
        ("gold='nowhere.jsonl'", "nowhere.jsonl: expected a file, got nothing at this path [RW-F01]"),
    ],
)
def test_markers_that_cannot_be_meant(project: Project, marker: str, message: str) -> None:
    project.lay(tests=f"import pytest\n@pytest.mark.ragworthy_question({marker})\ndef test_question(): pass\n")
    done = project.run()
    assert done.ret in (1, 2)
    assert message in done.stdout.str()
    assert "nothing_to_test: Name a policy (" in done.stdout.str() or "RW-F01" in message
    assert "Traceback" not in done.stdout.str()


def test_fixtures_without_their_marker_say_what_is_missing(project: Project) -> None:
    project.lay(tests="def test_question(ragworthy_question): pass\n")
    done = project.run()
    assert "expected the marker pytest.mark.ragworthy_question on the test" in done.stdout.str()
    assert done.ret == 1


def test_a_pipeline_that_is_down_is_asked_once_and_told_in_its_own_words(project: Project) -> None:
    project.lay(tests=TESTS.replace("return answer", 'return "http://127.0.0.1:9/ask"'))
    done = project.run()
    done.assert_outcomes(errors=12)
    assert "expected a target that can be reached, got in 6 questions" in done.stdout.str()
    assert said(done) == ["verdict: nothing was judged"]
    assert done.ret == 1
    assert "Traceback" not in done.stdout.str()


# beside others


def test_collecting_asks_nothing(project: Project) -> None:
    done = project.run("--collect-only", "-q")
    assert done.ret == 0
    assert [line for line in done.outlines if "::" in line] == [
        *(
            f"test_rag.py::test_gate[{name}]"
            for name in (
                "answers.precision",
                "answers.precision-must_pass",
                "answers.chr",
                "answers.under_refusal",
                "answers.over_refusal",
                "verdict",
            )
        ),
        *(f"test_rag.py::test_question[{row['qid']}]" for row in GOLD),
    ]
    assert project.asked == []


def test_workers_of_xdist_ask_the_pipeline_once(project: Project) -> None:
    project.lay(2, 4)
    done = project.run("-n", "2")
    done.assert_outcomes(passed=8, xfailed=1, failed=3)
    assert sorted(project.asked) == sorted(row["question"] for row in GOLD)
    assert done.ret == 1
    assert said(done) == [
        "questions: 4 of 6 pass, 1 fails and need not pass (xfailed), 1 question must pass and fails",
        "verdict: NO-SHIP: answers.precision fails",
    ]


def test_targets_of_one_name_are_not_taken_for_each_other(project: Project) -> None:
    """Two functions made in one place: both are asked, also where two workers begin with another one each."""
    project.lay(tests="""
import pytest
import rag

def made(right):
    def answer(question):
        return rag.answer(question if right else "What is 3?")
    return answer

@pytest.fixture(scope="session", params=[True, False])
def ragworthy_target(request):
    return made(request.param)

@pytest.mark.parametrize("n", range(3))
def test_it(ragworthy_gate, ragworthy_result, n, request):
    right = request.node.callspec.params["ragworthy_target"]
    assert ragworthy_gate is ragworthy_result
    assert ragworthy_result.metrics["answers.precision"].value == (1.0 if right else pytest.approx(1 / 6))
""")  # fmt: skip
    for workers in ((), ("-n", "2")):
        project.run(*workers).assert_outcomes(passed=6)


def test_nothing_stays_in_the_temporary_folder(project: Project, tmp_path: Path) -> None:
    project.pytester._monkeypatch.setenv("TMPDIR", str(tmp_path))
    project.run("-n", "2", "-p", "no:tmpdir")
    project.run("-p", "no:tmpdir")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("ragworthy-")] == []


def test_junit_has_the_label_of_each_question(project: Project) -> None:
    project.lay(4)
    project.run("--junitxml", "out.xml", "-o", "junit_family=xunit1", "-k", "question")
    written = (project.folder / "out.xml").read_text()
    assert written.count('name="ragworthy_label" value="OK"') == 4
    assert written.count('name="ragworthy_label" value="ANS_NO_CONTAIN"') == 1


def test_options_of_the_run_are_those_of_the_fixture(project: Project) -> None:
    extra = "\n@pytest.fixture(scope='session')\ndef ragworthy_options():\n    return {'limit': 3}\n"
    project.lay(tests=TESTS + extra)
    done = project.run("-k", "verdict")
    assert len(project.asked) == 3
    assert said(done) == ["verdict: INVALID: the evidence cannot carry a verdict"]
    assert done.parseoutcomes() == {"failed": 1, "deselected": 11}
