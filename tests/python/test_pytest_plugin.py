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
def test_gate(ragworthy_gates): pass

@pytest.mark.ragworthy_question
def test_question(ragworthy_question): pass
"""


UNUSED = [word for name in ("cacheprovider", "anyio", "hypothesispytest") for word in ("-p", f"no:{name}")]
"""Plugins that no session here uses, and that take as long to load as everything else."""


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
        return self.pytester.runpytest_subprocess("-W", "error", *UNUSED, *args, timeout=120)

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
        "judged: asked rag:answer",
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
        "judged: asked rag:answer",
        "verdict: NO-SHIP: answers.precision (each must pass) fails",
    ]
    assert "Traceback" not in done.stdout.str()


def test_no_session_ends_with_0_when_the_verdict_is_not_ship(project: Project) -> None:
    """Every test passes or is xfailed, and the mean is too low all the same."""
    questions = TESTS.replace("@pytest.mark.ragworthy_gates\ndef test_gate(ragworthy_gates): pass\n", "")
    project.lay(3, 4, 5, least=0.9, tests=questions)
    done = project.run()
    done.assert_outcomes(passed=3, xfailed=3)
    assert done.ret == 1
    assert said(done)[2] == "verdict: NO-SHIP: answers.precision (≥ 0.9) fails"


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
    assert said(done)[0] == "judged: asked rag:answer, recorded runs runs.jsonl"
    assert said(done)[1].startswith("verdict: SHIP: ")
    assert said(done)[1].endswith(", 1 waived, 1 was not measured")


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
    assert "E       AssertionError: NO-SHIP: answers.precision (≥ 0.9) fails" in text
    assert "result.py" not in text
    assert len(project.asked) == 6


def test_without_a_target_the_traces_of_the_policy_are_judged(project: Project) -> None:
    write_jsonl(project.folder / "traces.jsonl", traces_of(GOLD))
    project.lay(tests="def test_ships(ragworthy_gate):\n    ragworthy_gate.assert_ship()\n")
    done = project.run()
    done.assert_outcomes(passed=1)
    assert project.asked == []
    assert said(done) == ["judged: recorded traces traces.jsonl", "verdict: SHIP: all 6 gates hold"]
    write_jsonl(project.folder / "traces.jsonl", traces_of(GOLD)[1:])
    done = project.run()
    assert (done.ret, said(done)[1]) == (1, "verdict: INVALID: there is not enough valid evidence for a verdict")


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
    done.assert_outcomes(passed=8, xfailed=1, failed=4)  # A5, and with it the gate, the verdict and the result
    assert "A5: answers.label must pass" in done.stdout.str()
    assert len(project.asked) == 6


def test_a_body_that_fails_is_a_failure_whatever_the_question_says(project: Project) -> None:
    body = "def test_question(ragworthy_question):\n    assert ragworthy_question.qid != 'A3'\n"
    project.lay(tests=TESTS.replace("def test_question(ragworthy_question): pass\n", body))
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
    assert said(done) == ["judged: asked http://127.0.0.1:9/ask", "verdict: nothing was judged"]
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
        "judged: asked rag:answer",
        "verdict: NO-SHIP: answers.precision (each must pass) fails",
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
    assert said(done)[1] == "verdict: INVALID: there is not enough valid evidence for a verdict"
    assert done.parseoutcomes() == {"failed": 1, "deselected": 11}


# what looks like a gate and is none


def refused(project: Project, tests: str, message: str, *args: str) -> None:
    """Tests that are not collected, with this message, and nothing is asked."""
    project.lay(tests="import pytest\n" + tests)
    done = project.run("-W", "ignore::pytest.PytestUnknownMarkWarning", *args)
    assert done.ret == 2
    assert message in done.outlines
    assert "error during collection" in done.stdout.str()
    assert "Traceback" not in done.stdout.str()
    assert project.asked == []


def test_a_target_that_is_none_is_not_taken_for_recorded_traces(project: Project) -> None:
    write_jsonl(project.folder / "traces.jsonl", traces_of(GOLD))
    project.lay(tests=TESTS.replace("return answer", "answer"))
    done = project.run("-k", "gate")
    done.assert_outcomes(errors=6, deselected=6)
    text = "ragworthy_target: expected a pipeline, got None: does the fixture return it? [RW-U10]"
    assert done.outlines.count(text) == 6
    assert "During handling" not in done.stdout.str()
    assert said(done) == ["verdict: nothing was judged"]
    project.lay(tests="import pytest\n@pytest.mark.ragworthy(target=None)\ndef test_it(ragworthy_result): pass\n")
    assert "target: expected a pipeline, got None [RW-U10]" in project.run().outlines


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("pass", "ragworthy_options: expected keywords of rw.run, got None: does the fixture return them? [RW-U10]"),
        (
            "return {'timeouts': 3}",
            "ragworthy_options: expected a keyword of rw.run that a session can set, got timeouts [RW-U11]",
        ),
    ],
)
def test_options_that_are_none(project: Project, body: str, message: str) -> None:
    project.lay(tests=TESTS + f"\n@pytest.fixture\ndef ragworthy_options():\n    {body}\n")
    done = project.run("-k", "verdict")
    done.assert_outcomes(errors=1, deselected=11)
    assert message in done.outlines


def test_each_module_has_the_target_that_it_overrides(project: Project) -> None:
    """The second pipeline is wrong, and no other result is taken for its own."""
    ships = TESTS.partition("@pytest.mark")[0] + "def test_ships(ragworthy_gate):\n    ragworthy_gate.assert_ship()\n"
    project.lay(tests=ships)
    wrong = "def wrong(question): return {'answer_json': {'claim': 'no', 'citations': []}, 'retrieved_ids': []}\n"
    (project.folder / "test_wrong.py").write_text(ships.replace("return answer", "return wrong") + wrong)
    for order in (("test_rag.py", "test_wrong.py"), ("test_wrong.py", "test_rag.py")):
        done = project.run(*order)
        done.assert_outcomes(passed=1, failed=1)
        assert set(said(done)) >= {"judged: asked rag:answer", "judged: asked test_wrong:wrong"}
    assert len(project.asked) == 12  # once in each session


MUST = """
import pytest
pytestmark = pytest.mark.ragworthy(gold="gold.jsonl", target="rag.py:answer", gates={"precision": 0.5},
                                   must_pass=["A5", "U1"])

@pytest.mark.ragworthy_question
def test_question(ragworthy_question): pass

@pytest.mark.ragworthy_gates
def test_gate(ragworthy_gates): pass

def test_ships(ragworthy_result):
    ragworthy_result.assert_ship()
"""


def test_must_pass_of_the_marker_decides_the_verdict(project: Project) -> None:
    project.lay(tests=MUST)
    assert project.run().ret == 0
    project.lay(5, tests=MUST)
    for selected, failed in (("ships", 1), ("label", 1), ("verdict", 1), ("not A5 and not gate and not ships", 0)):
        done = project.run("-k", selected)
        assert done.ret == 1
        assert done.parseoutcomes().get("failed", 0) == failed
        assert said(done)[-1] == "verdict: NO-SHIP: answers.label fails"
    project.lay(4, tests=MUST)  # that one may be wrong
    assert project.run("-k", "ships").ret == 0


def test_one_run_serves_several_judgements(project: Project) -> None:
    more = "\n@pytest.mark.ragworthy_gates(must_pass=['A5'])\ndef test_more(ragworthy_gates): pass\n"
    project.lay(5, tests=TESTS + more)
    done = project.run("-k", "verdict")
    done.assert_outcomes(passed=1, failed=1, deselected=17)
    assert len(project.asked) == 6
    assert [line for line in said(done) if line.startswith("verdict")] == [
        "verdict: SHIP: all 6 gates hold",
        "verdict: NO-SHIP: answers.label fails",
    ]


def test_must_pass_names_questions_of_the_gold_set(project: Project) -> None:
    message = 'answers.label: must_pass: expected a qid of the gold set, got "A99" [RW-P09]'
    for name in ("ragworthy_question", "ragworthy_gates"):
        refused(project, f"@pytest.mark.{name}(must_pass=['A1', 'A99'])\ndef test_it({name}): pass\n", message)
    project.lay(tests=MUST.replace('"A5", "U1"', '"A99"').partition("@pytest.mark.ragworthy_question")[0]
                + "def test_ships(ragworthy_result): pass\n")  # fmt: skip
    done = project.run()
    assert done.ret == 1
    assert message in done.outlines


def test_an_empty_gold_set_is_no_skipped_test(project: Project) -> None:
    (project.folder / "none.jsonl").write_text("")
    tests = "@pytest.mark.ragworthy_question(gold='none.jsonl', target='rag.py:answer')\ndef test_it(): pass\n"
    refused(project, tests, "none.jsonl: expected gold records, got none [RW-G05]")


KNOWN = 'expected a keyword of the marker, of rw.run or of rw.score("answers")'
UNHEARD = "expected a test that does what the marker ragworthy says, got none [RW-U12]"
MARKERS = "expected one of the markers ragworthy, ragworthy_question, ragworthy_gates"
WRITTEN = {
    "positional": (
        "@pytest.mark.ragworthy_gates('pol.toml')\ndef test_it(ragworthy_gates): pass\n",
        'ragworthy_gates: expected keywords, got "pol.toml": write policy="pol.toml" [RW-U11]',
    ),
    "positional beside a fixture": (
        "@pytest.mark.ragworthy(3)\ndef test_it(ragworthy_result): pass\n",
        "test_rag.py::test_it: ragworthy: expected keywords, got 3 [RW-U11]",
    ),
    "keyword": (
        "@pytest.mark.ragworthy_gates(gold='gold.jsonl', gate={'precision': 0.8})\ndef test_it(): pass\n",
        f"ragworthy: gate: {KNOWN}, got gate: did you mean gates? [RW-U11]",
    ),
    "keyword beside a fixture": (
        "@pytest.mark.ragworthy(gold='gold.jsonl', xyz=1)\ndef test_it(ragworthy_result): pass\n",
        f"test_rag.py::test_it: ragworthy: xyz: {KNOWN}, got xyz [RW-U11]",
    ),
    "misspelt": (
        "@pytest.mark.ragworthy_questions\ndef test_it(): pass\n",
        f"test_rag.py::test_it: {MARKERS}, got ragworthy_questions [RW-U11]",
    ),
    "name of the fixture": (
        "@pytest.mark.ragworthy_gate\ndef test_it(): pass\n",
        f"test_rag.py::test_it: {MARKERS}, got ragworthy_gate, which is a fixture: take it as an argument [RW-U11]",
    ),
    "unittest": (
        "import unittest\nclass TestIt(unittest.TestCase):\n"
        "    @pytest.mark.ragworthy_gates\n    def test_it(self): pass\n",
        "test_rag.py::TestIt::test_it: ragworthy_gates: expected a function or a method of a class of its own, "
        "got one of unittest.TestCase [RW-U12]",
    ),
    "function": (
        "@pytest.mark.ragworthy(gold='gold.jsonl')\ndef test_it(): pass\ndef test_more(ragworthy_gate): pass\n",
        f"test_rag.py::test_it: {UNHEARD}",
    ),
    "module": (
        "pytestmark = pytest.mark.ragworthy(gold='gold.jsonl', target='rag.py:answer')\ndef test_it(): pass\n",
        f"test_rag.py: {UNHEARD}",
    ),
    "class": (
        "@pytest.mark.ragworthy(gold='gold.jsonl')\nclass TestIt:\n    def test_it(self): pass\n",
        f"test_rag.py::TestIt: {UNHEARD}",
    ),
    "other fixture": (
        "pytestmark = pytest.mark.ragworthy(gold='gold.jsonl')\ndef test_it(ragworthy_gate): pass\n",
        "test_rag.py::test_it: expected ragworthy_result, got ragworthy_gate, which is the result of the policy, "
        "not of the marker [RW-U12]",
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_markers_that_nobody_hears(project: Project, case: str) -> None:
    refused(project, *WRITTEN[case])


def test_a_plain_test_may_stand_beside_one_that_hears_the_marker(project: Project) -> None:
    """So may a marker that begins alike and that somebody made known."""
    more = "\n@pytest.mark.ragworthy_own\ndef test_plain(): pass\n"
    project.lay(tests=MUST + more)
    known = ("-o", "markers=ragworthy_own: ours")
    project.run(*known, "test_rag.py::test_plain").assert_outcomes(passed=1)
    project.run(*known, "-k", "plain or ships").assert_outcomes(passed=2, deselected=12)


def test_without_the_plugin_the_documented_tests_are_errors(project: Project) -> None:
    shown = (ROOT / "examples/plain-python/test_rag.py").read_text()
    assert "def test_gate(ragworthy_gates)" in shown
    project.lay(tests=shown)
    done = project.run("-p", "no:ragworthy", "-W", "ignore::pytest.PytestUnknownMarkWarning")
    done.assert_outcomes(errors=2)
    assert "fixture 'ragworthy_gates' not found" in done.stdout.str()
    assert "fixture 'ragworthy_question' not found" in done.stdout.str()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_fixture_that_skips_is_told(project: Project, workers: tuple[str, ...]) -> None:
    project.lay(tests=TESTS.replace("return answer", "pytest.skip('the service is down')"))
    done = project.run("-k", "verdict", *workers)
    done.assert_outcomes(skipped=1, **({} if workers else {"deselected": 11}))
    assert said(done) == ["verdict: nothing was judged"]
