"""templates/gate.yml, GitLab's component: its inputs filled in as GitLab does it, its job carried out.

GitLab itself is not here: whether it accepts the file is not shown, and `rules` are not evaluated.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ci_jobs import BASH, COMPONENT_INPUTS, COMPONENT_TEXT, DAMAGE, EXIT, GIT, VERDICTS, Done, Project, included
from comment_server import Comments, serving

ME = "project_7_bot"
MARKER = "<!-- ragworthy: ragworthy -->"
pytestmark = pytest.mark.skipif(not BASH or not GIT, reason="needs bash and git")


@pytest.fixture
def notes() -> Iterator[Comments]:
    with serving(ME) as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, state: str) -> Project:
    return Project(tmp_path, state)


def carry_out(project: Project, job: dict[str, Any], notes: Comments, token: str = "secret") -> tuple[Done, Done]:
    """The job as GitLab's runner joins its lines; `after_script` has a shell of its own."""
    variables = {name: str(value) for name, value in job["variables"].items()} | {
        "CI_API_V4_URL": notes.address,
        "CI_PROJECT_ID": "7",
        "CI_PROJECT_DIR": str(project.folder),
        "CI_MERGE_REQUEST_IID": "17",
        "RAGWORTHY_TOKEN": token,
    }
    done = project.run("\n".join(["set -eo pipefail", *job["script"]]), **variables)
    after = project.run("\n".join(["set -eo pipefail", *job["after_script"]]), **variables)
    return done, after


@pytest.mark.parametrize("state", DAMAGE)
def test_the_job(state: str, project: Project, notes: Comments) -> None:
    name, job = included(requirement="ragworthy @ git+https://git.example.com/ragworthy.git@COMMIT")
    assert name == "ragworthy"
    assert not job.get("allow_failure")
    done, after = carry_out(project, job, notes)
    assert (done.code, after.code) == (EXIT.get(state, 2), 0), done.log + after.log
    [note] = notes.kept
    assert "secret" not in done.log + after.log
    if state not in VERDICTS:
        assert note["body"] == f"{MARKER}\nragworthy scored nothing: the log of this job says what to fix."
        return
    assert note["body"] == f"{MARKER}\n{project.written('report.md')}"
    assert project.written("report.md") in after.log
    reports = {kind: (project.folder / path).read_text() for kind, path in job["artifacts"]["reports"].items()}
    issues = json.loads(reports["codequality"])
    assert any(issue["severity"] == "critical" for issue in issues) is (state != "SHIP")
    assert reports["junit"].startswith("<?xml")
    assert all((project.folder / path).is_file() for path in job["artifacts"]["paths"])
    assert job["artifacts"]["when"] == "always"


@pytest.mark.parametrize("state", ["NO-SHIP"])
def test_the_note_of_an_earlier_push_is_edited(project: Project, notes: Comments) -> None:
    notes.add("looks good to me", "ann")
    notes.add(f"{MARKER}\nSHIP, or so I say", "mallory")
    notes.add("<!-- ragworthy: other -->\nanother job", ME)
    before = [one["body"] for one in notes.kept]
    _, job = included(requirement="ragworthy")
    for _ in range(2):
        _, after = carry_out(project, job, notes)
        assert after.code == 0, after.log
    assert [one["body"] for one in notes.kept] == [*before, f"{MARKER}\n{project.written('report.md')}"]
    assert notes.asked[-1].startswith("PUT /projects/7/merge_requests/17/notes/4 ")


@pytest.mark.parametrize("state", ["NO-SHIP"])
def test_without_a_token_there_is_no_note(project: Project, notes: Comments) -> None:
    done, after = carry_out(project, included(requirement="ragworthy")[1], notes, token="")
    assert (done.code, after.code, notes.asked) == (1, 0, [])


@pytest.mark.parametrize("state", ["SHIP"])
def test_inputs_reach_the_job(project: Project, notes: Comments) -> None:
    inputs = {"job": "search-gate", "policy": "p.toml", "output": "out", "args": "--no-history", "stage": "verify"}
    name, job = included(requirement="ragworthy", image="python:3.12", **inputs)
    (project.folder / "ragworthy.toml").rename(project.folder / "p.toml")
    done, _ = carry_out(project, job, notes)
    assert (done.code, name, job["stage"], job["image"]) == (0, "search-gate", "verify", "python:3.12"), done.log
    assert (project.folder / "out/report.md").exists()
    assert list((project.folder / ".ragworthy").glob("history*")) == []
    assert notes.kept[0]["body"].startswith("<!-- ragworthy: search-gate -->\n")


def test_the_file_has_a_header_and_one_job_and_every_input_is_used() -> None:
    assert len(list(yaml.safe_load_all(COMPONENT_TEXT))) == 2
    assert set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", COMPONENT_TEXT)) == COMPONENT_INPUTS.keys()
    assert "default" not in COMPONENT_INPUTS["requirement"]
