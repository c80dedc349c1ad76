"""action.yml, carried out: its steps run with bash as a runner does it, comments go to a server on this machine.

GitHub's runner itself is not here. What it does is imitated where it matters: inputs reach a step through its `env`,
outputs are what `$GITHUB_OUTPUT` holds, a failing step ends the job unless a later one says `always()`.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ci_jobs import BASH, DAMAGE, EXIT, FILES, GIT, VERDICTS, Project, check_files, filled, holds
from comment_server import Comments, serving
from places import ROOT
from ragworthy.cli.main import main

GH = shutil.which("gh") or ""
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
BOT = "github-actions[bot]"
MARKER = "<!-- ragworthy: gate -->"
pytestmark = pytest.mark.skipif(not BASH or not GIT, reason="needs bash and git")
needs_gh = pytest.mark.skipif(not GH, reason="needs gh, GitHub's command line (Debian package gh)")


class Job(NamedTuple):
    """How the action ended."""

    code: int
    log: str
    outputs: dict[str, str]
    ran: list[str]
    """The names of the steps that were run, or would have been where they use an action."""
    kept: list[str]
    """What the artifact was to hold."""


def act(project: Project, comments: Comments, event: str = "pull_request", fork: bool = False, **inputs: str) -> Job:
    """Carry out the action; what installs is left to a test of its own, and `uses` steps are noted."""
    given = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
    context = given | {
        "github.token": "secret",
        "github.event_name": event,
        "github.repository": "acme/rag",
        "github.action_path": str(ROOT),
        "github.event.pull_request.number": "17",
        "github.event.pull_request.head.repo.full_name": "someone/rag" if fork else "acme/rag",
    }
    context["inputs.token"] = filled(context["inputs.token"], context)
    outputs = project.folder.parent / "outputs"
    outputs.write_text("")
    code, log, ran, kept = 0, "", [], []
    for step in STEPS[1:]:
        assert "continue-on-error" not in step
        if not holds(step.get("if", ""), failed=code != 0, context=context):
            continue
        ran.append(step["name"])
        if "uses" in step:
            kept = filled(step["with"]["path"], context).split()
            continue
        assert step["shell"] == "bash"
        environment = {name: filled(value, context) for name, value in step.get("env", {}).items()}
        environment |= {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": comments.address,
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_REPOSITORY": "acme/rag",
            "GITHUB_STEP_SUMMARY": str(project.summary),
            "GITHUB_WORKSPACE": str(project.folder),
        }
        done = project.run(f"cd '{filled(step['working-directory'], context)}'\n{step['run']}", **environment)
        code, log = code or done.code, log + done.log
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    return Job(code, log, told, ran, kept)


@pytest.fixture
def comments() -> Iterator[Comments]:
    with serving(BOT) as server:
        yield server


def laid(tmp_path: Path, state: str) -> Project:
    """A repository with the real gh."""
    project = Project(tmp_path, state)
    (project.stubs / "gh").unlink()
    return project


@needs_gh
@pytest.mark.parametrize("state", DAMAGE)
def test_the_action(state: str, tmp_path: Path, comments: Comments) -> None:
    project = laid(tmp_path, state)
    job = act(project, comments)
    expected = EXIT.get(state, 2)
    assert job.code == expected, job.log
    assert job.ran == ["Gate", "Comment", "Keep the files"]
    check_files(project)
    assert job.kept == [f"./eval/{name}" for name in FILES]
    assert job.outputs == {
        "verdict": state if state in VERDICTS else "",
        "exit-code": str(expected),
        "report": "./eval/report.md",
        "bundle": "./eval/evidence.zip",
    }
    assert job.outputs.keys() == ACTION["outputs"].keys()
    [comment] = comments.kept
    if state in VERDICTS:
        assert comment["body"] == f"{MARKER}\n{project.written('report.md')}"
        assert project.summary.read_text(encoding="utf-8") == project.written("report.md")
        assert f"verdict: {state} (exit {expected})" in job.log
        assert bool(re.search(r"^::error ", job.log, re.M)) is (state != "SHIP")
    else:
        assert comment["body"] == f"{MARKER}\nragworthy scored nothing: the log of this job says what to fix.\n"
        assert re.search(r"^::error file=runs/latest/traces.jsonl,line=13,", job.log, re.M)
    assert "secret" not in job.log


@needs_gh
def test_the_comment_of_an_earlier_push_is_edited_and_nobody_elses(tmp_path: Path, comments: Comments) -> None:
    comments.add("looks good to me", "ann")
    comments.add(f"{MARKER}\nSHIP, or so I say", "mallory")  # on the first page
    comments.add("<!-- ragworthy: retrieval -->\nanother gate", BOT)
    comments.add("a comment of another tool", BOT)
    before = [one["body"] for one in comments.kept]
    project = laid(tmp_path, "SHIP")
    assert act(project, comments).code == 0
    first = project.written("report.md")
    assert [one["body"] for one in comments.kept] == [*before, f"{MARKER}\n{first}"]
    DAMAGE["NO-SHIP"](_laid(project))
    assert act(project, comments).code == 1
    assert project.written("report.md") != first
    assert [one["body"] for one in comments.kept] == [*before, f"{MARKER}\n{project.written('report.md')}"]
    assert comments.asked[-1] == "PATCH /repos/acme/rag/issues/comments/5 token secret"


def _laid(project: Project) -> Any:
    """What `init` wrote, as the damage takes it."""

    class Laid(NamedTuple):
        traces: list[Path]
        policy: Path

    return Laid([project.folder / "runs/latest/traces.jsonl"], project.folder / "ragworthy.toml")


@needs_gh
def test_two_gates_on_one_pull_request_have_a_comment_each(tmp_path: Path, comments: Comments) -> None:
    project = laid(tmp_path, "SHIP")
    for key in ("answers", "search", "answers"):
        assert act(project, comments, comment_key=key).code == 0
    markers = [one["body"].splitlines()[0] for one in comments.kept]
    assert markers == ["<!-- ragworthy: answers -->", "<!-- ragworthy: search -->"]


@needs_gh
def test_a_comment_that_cannot_be_written_fails_the_job(tmp_path: Path) -> None:
    with serving(BOT, refuses=True) as comments:
        job = act(laid(tmp_path, "SHIP"), comments)
    assert job.code != 0
    assert job.outputs["verdict"] == "SHIP"
    assert job.ran[-1] == "Keep the files"


def test_a_key_that_would_end_the_marker_is_refused(tmp_path: Path, comments: Comments) -> None:
    job = act(laid(tmp_path, "SHIP"), comments, comment_key="x --> <b>")
    assert job.code == 2
    assert "comment-key: expected letters" in job.log
    assert comments.asked == []


@pytest.mark.parametrize("asked", [{"fork": True}, {"event": "push"}, {"comment": "false"}])
def test_no_comment_for_forks_for_pushes_and_where_none_is_wanted(
    asked: dict[str, Any], tmp_path: Path, comments: Comments
) -> None:
    job = act(laid(tmp_path, "NO-SHIP"), comments, **asked)
    assert (job.code, job.ran) == (1, ["Gate", "Keep the files"])
    assert comments.asked == []


def test_folders_flags_and_policies_are_those_given(tmp_path: Path, comments: Comments) -> None:
    project = laid(tmp_path, "SHIP")
    work = project.folder / "a folder"
    work.mkdir()
    for name in ("gold", "runs"):
        (project.folder / name).rename(work / name)
    (project.folder / "ragworthy.toml").rename(work / "my policy.toml")
    asked: dict[str, Any] = {
        "working_directory": "a folder",
        "policy": "my policy.toml",
        "output": "out",
        "artifact": "",
    }
    job = act(project, comments, event="push", args="--no-history -o extra*.txt", **asked)
    assert (job.code, job.ran) == (0, ["Gate"]), job.log
    assert sorted(path.name for path in (work / "out").iterdir()) == sorted(FILES)
    assert (work / "extra*.txt").exists()
    assert job.outputs["bundle"] == "a folder/out/evidence.zip"
    assert main(["verify", str(work / "out/evidence.zip"), "--expect", "SHIP"]) == 0


def test_no_input_is_pasted_into_a_script() -> None:
    """What a pull request names could be a command otherwise."""
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"
    assert all(one["description"] for part in ("inputs", "outputs") for one in ACTION[part].values())


def test_what_the_action_installs_is_itself(tmp_path: Path) -> None:
    """The install step for real, without the dependencies and without a network."""
    step = STEPS[0]
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "PACKAGE.md", "LICENSE", "requirements-runtime.txt"):
        shutil.copy(ROOT / name, checkout)
    project = Project(tmp_path, "SHIP")
    # pip reads "0" as: no isolation
    switches = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    switches["PIP_TARGET"] = str(tmp_path / "t")
    done = project.run(step["run"], SOURCE=str(checkout), EXTRAS="http,parquet", **switches)
    assert not done.failed, done.log
    told = subprocess.run(
        [sys.executable, "-c", "import ragworthy; print(ragworthy.__file__)"],
        env={"PYTHONPATH": str(tmp_path / "t")}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert Path(told.strip()).is_relative_to(tmp_path / "t")


def test_the_readme_of_the_action_names_every_input_and_output() -> None:
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    for part in ("inputs", "outputs"):
        for name in ACTION[part]:
            assert f"| `{name}` |" in page


def test_json_of_the_action_is_what_the_reports_say(tmp_path: Path, comments: Comments) -> None:
    project = laid(tmp_path, "INVALID")
    job = act(project, comments, event="push")
    assert json.loads(project.written("last_report.json"))["verdict"] == job.outputs["verdict"] == "INVALID"
