"""Annotations of GitHub and the Code Quality report of GitLab: the right lines, and no more than the hosts show."""

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import Done, run_cli

POLICY = """version = 1
[answers]
gold = "gold/set.jsonl"
traces = "traces.jsonl"
defaults = false

[[gate]]
metric = "precision"
min = 0.80
why = "50 % off: a, b"

[[gate]]
metric = "chr"
min = 0.1
"""


class Command(NamedTuple):
    """A workflow command as the runner reads it."""

    level: str
    properties: dict[str, str]
    message: str


def unescaped(text: str, *, value: bool) -> str:
    """What GitHub's runner makes of a message or a property."""
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if value else ()), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def commands(text: str) -> list[Command]:
    found = []
    for line in text.splitlines():
        if matched := re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line):
            pairs = (pair.partition("=") for pair in matched[2].split(","))
            values = {name: unescaped(value, value=True) for name, _, value in pairs}
            found.append(Command(matched[1], values, unescaped(matched[3], value=False)))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the policy in a folder of its own, as seen from there."""
    work = tmp_path / "repository/rag"
    (work / "gold").mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(work.parent))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return work


def lay(folder: Path, questions: int, wrong: int, policy: str = POLICY) -> None:
    gold = [
        {"qid": f"q{n}", "question": f"How hot is {n}?", "answerable": True, "gold_claim_substr": [f"{n} degrees"],
         "gold_citations": ["d#1"], "topic": f"t{n}"}
        for n in range(questions)
    ]  # fmt: skip
    traces = [
        {"qid": f"q{n}", "retrieved_ids": ["d#1"],
         "answer_json": {"claim": "cold" if n < wrong else f"{n} degrees", "citations": ["d#1"]}}
        for n in range(questions)
    ]  # fmt: skip
    write(folder / "gold/set.jsonl", gold)
    write(folder / "traces.jsonl", traces)
    (folder / "ragworthy.toml").write_text(policy)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def gate(*flags: str) -> Done:
    return run_cli("gate", "--store", "none", *flags)


def test_a_failing_gate_is_an_error_on_its_table_and_a_question_a_warning_on_its_gold_item(folder: Path) -> None:
    lay(folder, 4, 2)
    done = gate("--format", "github")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "verdict: NO-SHIP (exit 1)"
    error, *rest = commands(done.out)
    assert error.level == "error"
    assert error.properties == {"file": "rag/ragworthy.toml", "line": "7", "title": "failing gate: answers.precision"}
    assert error.message.startswith("0.5 (2/4), needs ≥ 0.80: 50 % off: a, b")
    offenders = [one for one in rest if one.properties["title"].startswith("ANS_NO_CONTAIN")]
    assert [(one.level, one.properties["file"], one.properties["line"]) for one in offenders] == [
        ("warning", "rag/gold/set.jsonl", "1"),
        ("warning", "rag/gold/set.jsonl", "2"),
    ]
    assert "How hot is 0?" in offenders[0].message


def test_no_more_than_github_shows_and_the_rest_is_counted(folder: Path) -> None:
    gates = "".join(f'[[gate]]\nmetric = "precision"\nmin = 1.0\nslice = "topic=t{n}"\n' for n in range(16))
    lay(folder, 20, 16, POLICY.replace("defaults", 'slices = ["topic"]\ndefaults') + gates)
    found = commands(gate("--format", "github").out)
    errors, warnings = ([one for one in found if one.level == level] for level in ("error", "warning"))
    assert (len(errors), len(warnings)) == (10, 10), found
    assert errors[-1].message == "8 more errors: the report has them all"
    assert warnings[-1].message.endswith("more warnings: the report has them all")
    lines = [one.properties["line"] for one in errors[:-1]]
    assert lines == ["8", *(str(16 + 4 * n) for n in range(8))]  # each on its own table


def test_a_run_that_ships_has_a_notice_and_a_waived_gate_a_warning(folder: Path) -> None:
    waiver = '[[waiver]]\ngate = "precision"\nreason = "DOC-1"\nowner = "Ann"\nexpires = 2999-01-01\n'
    lay(folder, 4, 1, POLICY + waiver)
    done = gate("--format", "github")
    assert done.code == 0
    found = {one.level: one for one in reversed(commands(done.out))}
    assert found["notice"].message == "SHIP with 1 waived gate: 2 gates hold"
    waived = found["warning"]
    assert waived.properties["title"] == "waived gate: answers.precision"
    assert "waived until 2999-01-01 by Ann: DOC-1" in waived.message
    assert "error" not in found


def test_what_cannot_be_read_is_an_error_on_its_line(folder: Path) -> None:
    lay(folder, 4, 0)
    with (folder / "traces.jsonl").open("a") as file:
        file.write('{"qid": \n')
    done = gate("--format", "github")
    assert done.code == 2
    [error] = commands(done.out)
    assert error.level == "error"
    assert error.properties == {"file": "rag/traces.jsonl", "line": "5", "title": "RW-F07 bad_json"}
    assert gate("--format=github").out == done.out
    assert commands(gate().out) == []


def test_a_policy_that_is_wrong_is_an_error_too(folder: Path) -> None:
    lay(folder, 4, 0, POLICY.replace("precision", "presision"))
    done = gate("--format", "github")
    assert done.code == 2
    assert [one.level for one in commands(done.out)] == ["error"]


def test_findings_of_the_lint(folder: Path) -> None:
    lay(folder, 4, 0)
    write(folder / "gold/set.jsonl", [{"qid": "a", "answerable": True}, {"qid": "a", "answerable": True}])
    done = run_cli("gold", "lint", "gold/set.jsonl", "--format", "github")
    assert done.code == 1
    found = commands(done.out)
    assert {one.properties["file"] for one in found} == {"rag/gold/set.jsonl"}
    assert ("error", "2") in {(one.level, one.properties["line"]) for one in found}


def test_paths_are_as_typed_where_no_build_server_says_where_the_repository_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE")
    lay(folder, 4, 2)
    assert commands(gate("--format", "github").out)[0].properties["file"] == "ragworthy.toml"


def test_the_code_quality_report_has_what_gitlab_asks_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE")
    monkeypatch.setenv("CI_PROJECT_DIR", os.fspath(folder.parent))
    lay(folder, 4, 2)
    done = gate("--format", "gitlab")
    assert done.code == 1
    issues = json.loads(done.out)
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
        assert not Path(issue["location"]["path"]).is_absolute()
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    first = issues[0]
    assert (first["check_name"], first["location"]["path"]) == ("answers.precision", "rag/ragworthy.toml")
    lay(folder, 5, 2)  # another number, the same issue
    assert json.loads(gate("--format", "gitlab").out)[0]["fingerprint"] == first["fingerprint"]
