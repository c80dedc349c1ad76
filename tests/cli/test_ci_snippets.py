"""The jobs of docs/ci.md, carried out: a shell stands in for the runner, recording stubs for pip, gh and curl.

What a hosted runner does is imitated where it matters: steps run with `bash -e`, a failing step fails the job, later
steps run only when their `if` says so, GitLab echoes each line before running it, `after_script` cannot change the
result of a job.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ci_jobs import (
    BASH,
    DAMAGE,
    FILES,
    GIT,
    VERDICTS,
    Done,
    Project,
    check_files,
    check_result,
    filled,
    holds,
    snippets,
)
from places import ROOT

pytestmark = pytest.mark.skipif(not BASH or not GIT, reason="needs bash and git")

GITHUB, GITLAB = ".github/workflows/ragworthy.yml", ".gitlab-ci.yml"
ACTION, COMPONENT, HOOKS = ".github/workflows/gate.yml", ".gitlab-ci.component.yml", ".pre-commit-config.hooks.yaml"
"""What names the action, the component and the hooks of the repository; those are run in tests/ci."""
SCRIPT, PRE_COMMIT, PRE_PUSH = "scripts/gate.sh", ".pre-commit-config.yaml", ".git/hooks/pre-push"
REQUIREMENT = "ragworthy @ git+https://git.example.com/ragworthy.git@COMMIT"
"""What the jobs install: placeholders for the address and the commit."""


@pytest.fixture(params=DAMAGE)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return Project(tmp_path, request.param)


def check_post(project: Project, tool: str) -> None:
    """The comment or note holds the report, or says that there is none."""
    if project.state in VERDICTS:
        assert project.posted(tool) == project.written("report.md")
    else:
        assert project.posted(tool) == "ragworthy scored nothing: the log of this job says what to fix."


# GitHub Actions

CONTEXT = {
    "github.token": "secret",
    "github.repository": "acme/rag",
    "github.event.pull_request.number": "17",
    "github.event.pull_request.head.repo.full_name": "acme/rag",
}


class Uses(NamedTuple):
    """A step that runs an action, with what it was given."""

    action: str
    given: dict[str, Any]


def github(project: Project, context: dict[str, str]) -> tuple[Done, list[Uses]]:
    """Carry out the job; `uses` steps are not run but noted when they would have been."""
    job = yaml.safe_load(snippets()[GITHUB])["jobs"]["gate"]
    failed, code, log = False, 0, ""
    used: list[Uses] = []
    for step in job["steps"]:
        assert "continue-on-error" not in step
        if not holds(step.get("if", ""), failed=failed, context=context):
            continue
        if "uses" in step:
            used.append(Uses(step["uses"], step.get("with", {})))
            continue
        values = {key: filled(value, context) for key, value in step.get("env", {}).items()}
        values |= {"GITHUB_STEP_SUMMARY": str(project.summary), "GITHUB_ACTIONS": "true"}
        done = project.run(filled(step["run"], context), **values)
        log += done.log
        if done.failed and not failed:
            failed, code = True, done.code
    return Done(failed, code, log), used


def test_github_job(project: Project) -> None:
    done, used = github(project, CONTEXT)
    check_result(project, done)
    check_files(project)
    check_post(project, "gh")
    assert project.asked("pip") == f"install {REQUIREMENT}\n"
    assert project.asked("gh").startswith("pr comment 17 --edit-last --create-if-none --body")
    assert [one.action.partition("@")[0] for one in used] == [
        "actions/checkout",
        "actions/setup-python",
        "actions/upload-artifact",
    ]
    assert used[-1].given["path"].split() == [f"eval/{name}" for name in FILES]
    if project.state in VERDICTS:
        assert project.summary.read_text(encoding="utf-8") == project.written("report.md")
    else:
        assert not project.summary.exists()


def test_github_job_for_a_fork_has_the_summary_and_no_comment(tmp_path: Path) -> None:
    project = Project(tmp_path, "NO-SHIP")
    done, used = github(project, CONTEXT | {"github.event.pull_request.head.repo.full_name": "someone/rag"})
    check_result(project, done)
    assert project.asked("gh") == ""
    assert project.summary.read_text(encoding="utf-8") == project.written("report.md")
    assert used[-1].action.startswith("actions/upload-artifact@")


def test_github_job_fails_when_the_comment_cannot_be_posted(tmp_path: Path) -> None:
    project = Project(tmp_path, "SHIP")
    project.stub("gh", code=1)
    done, used = github(project, CONTEXT)
    assert (done.failed, done.code) == (True, 1)
    assert used[-1].action.startswith("actions/upload-artifact@")


def test_github_job_may_read_the_code_and_write_comments_and_nothing_else() -> None:
    workflow = yaml.safe_load(snippets()[GITHUB])
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert workflow[True] == "pull_request"  # YAML 1.1 reads the key `on` as true; the runner does not


# GitLab CI

GITLAB_VARIABLES = {
    "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
    "CI_PROJECT_ID": "7",
    "CI_MERGE_REQUEST_IID": "17",
    "RAGWORTHY_TOKEN": "secret",
}


def echoed(lines: list[str]) -> Iterator[str]:
    """The lines as GitLab's runner joins them: each is printed before it runs, which resets `$?`."""
    yield "set -eo pipefail"
    for line in lines:
        yield "echo '$ …'"
        yield line


def gitlab(project: Project) -> tuple[Done, Done, dict[str, Any]]:
    job = yaml.safe_load(snippets()[GITLAB])["ragworthy"]
    assert not job.get("allow_failure")
    done = project.run("\n".join(echoed([*job["before_script"], *job["script"]])), **GITLAB_VARIABLES)
    after = project.run("\n".join(echoed(job["after_script"])), **GITLAB_VARIABLES)
    return done, after, job


def test_gitlab_job(project: Project) -> None:
    done, after, job = gitlab(project)
    check_result(project, done)
    check_files(project)
    check_post(project, "curl")
    assert not after.failed, after.log
    assert project.asked("pip") == f"install {REQUIREMENT}\n"
    asked = project.asked("curl")
    assert asked.strip().endswith("https://gitlab.example.com/api/v4/projects/7/merge_requests/17/notes")
    assert "--header PRIVATE-TOKEN: secret" in asked
    assert "--fail" in asked.split()
    kept = job["artifacts"]
    assert kept["when"] == "always"
    assert kept["reports"] == {"junit": "eval/junit.xml"}
    assert kept["paths"] == ["eval/report.md", "eval/last_report.json", "eval/last_report.html", "eval/evidence.zip"]
    assert "secret" not in done.log + after.log


def test_gitlab_job_keeps_its_result_when_the_note_cannot_be_posted(project: Project) -> None:
    project.stub("curl", code=22)
    done, after, _ = gitlab(project)
    check_result(project, done)
    assert after.failed


def test_gitlab_job_runs_on_merge_requests_only() -> None:
    job = yaml.safe_load(snippets()[GITLAB])["ragworthy"]
    assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]


# a plain script, and the hooks


def test_plain_script(project: Project) -> None:
    script = project.folder / SCRIPT
    script.parent.mkdir()
    script.write_text(snippets()[SCRIPT], encoding="utf-8")
    script.chmod(0o755)
    done = project.run(f"./{SCRIPT}")
    check_result(project, done)
    check_files(project)
    if project.state in VERDICTS:
        assert project.written("report.md") in done.log
    else:
        assert "ragworthy scored nothing" in done.log


def test_pre_commit_hook(project: Project) -> None:
    (hook,) = yaml.safe_load(snippets()[PRE_COMMIT])["repos"][0]["hooks"]
    assert hook["language"] == "python"
    assert hook["additional_dependencies"] == [REQUIREMENT]
    assert hook["pass_filenames"] is False
    for watched in ("ragworthy.toml", "gold/answers.jsonl", "gold/answers.lock", "runs/latest/traces.jsonl"):
        assert re.search(hook["files"], watched)
    assert not re.search(hook["files"], "src/app.py")
    check_result(project, project.run(hook["entry"]))


def test_pre_push_hook_stops_a_real_push(project: Project, tmp_path: Path) -> None:
    hook = project.folder / PRE_PUSH
    hook.write_text(snippets()[PRE_PUSH], encoding="utf-8")
    hook.chmod(0o755)
    setup = project.run(f"git init -q --bare {tmp_path}/remote.git && git remote add origin {tmp_path}/remote.git")
    assert not setup.failed, setup.log
    done = project.run("git push -q origin HEAD:main")
    there = project.run("git ls-remote --exit-code origin main")
    assert done.failed is (project.state != "SHIP"), done.log
    assert there.failed is (project.state != "SHIP")


def test_every_snippet_is_carried_out() -> None:
    assert set(snippets()) == {GITHUB, GITLAB, SCRIPT, PRE_COMMIT, PRE_PUSH, ACTION, COMPONENT, HOOKS}


def test_jobs_and_script_ask_for_the_same_files() -> None:
    """One gate command, word for word, in every job; and each deletes what an earlier run left."""
    for name in (GITHUB, GITLAB, SCRIPT):
        body = snippets()[name]
        assert "-o eval/report.md -o eval/last_report.json -o eval/junit.xml --bundle eval/evidence.zip" in body
        left = "eval/report.md eval/last_report.json eval/last_report.html eval/junit.xml eval/evidence.zip"
        assert f"rm -f {left}" in body


def test_the_action_the_component_and_the_hooks_are_used_as_they_are() -> None:
    """What the examples name is there, with these inputs."""
    read = {name: yaml.safe_load(text) for name, text in snippets().items() if name in (ACTION, COMPONENT, HOOKS)}
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert read[ACTION]["permissions"] == {"contents": "read", "pull-requests": "write"}
    [step] = [one for one in read[ACTION]["jobs"]["gate"]["steps"] if "ragworthy@" in one.get("uses", "")]
    assert step["with"].keys() <= action["inputs"].keys()
    [include] = read[COMPONENT]["include"]
    spec = next(iter(yaml.safe_load_all((ROOT / "templates/gate.yml").read_text(encoding="utf-8"))))["spec"]["inputs"]
    assert include["component"].endswith("/ragworthy/gate@COMMIT")
    assert {name for name, one in spec.items() if "default" not in one} <= include["inputs"].keys() <= spec.keys()
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [repo] = read[HOOKS]["repos"]
    assert [one["id"] for one in repo["hooks"]] == [one["id"] for one in offered]
