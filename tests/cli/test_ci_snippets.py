"""The jobs of docs/ci.md, carried out: a shell stands in for the runner, recording stubs for pip, gh and curl.

What a hosted runner does is imitated where it matters: steps run with `bash -e`, a failing step fails the job, later
steps run only when their `if` says so, GitLab echoes each line before running it, `after_script` cannot change the
result of a job.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from places import ROOT
from ragworthy import starter

BASH = shutil.which("bash") or ""
GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not BASH or not GIT, reason="needs bash and git")

PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
GITHUB, GITLAB = ".github/workflows/ragworthy.yml", ".gitlab-ci.yml"
SCRIPT, PRE_COMMIT, PRE_PUSH = "scripts/gate.sh", ".pre-commit-config.yaml", ".git/hooks/pre-push"
REQUIREMENT = "ragworthy @ git+https://git.example.com/ragworthy.git@COMMIT"
"""What the jobs install: placeholders for the address and the commit."""
FILES = ("report.md", "last_report.json", "junit.xml", "evidence.zip")
EXIT = {"SHIP": 0, "NO-SHIP": 1, "INVALID": 4}

STUB = """#!{bash}
# Records its arguments, and the text it was told to post.
printf '%s\\n' "$*" >> "{log}"
posted=""
while [ $# -gt 0 ]; do
  case "$1" in
    --body-file) posted="$(cat "$2"; printf x)"; shift ;;
    --body) posted="$2x"; shift ;;
    body@*) posted="$(cat "${{1#body@}}"; printf x)" ;;
    body=*) posted="${{1#body=}}x" ;;
  esac
  shift
done
if [ -n "$posted" ]; then printf '%s' "${{posted%x}}" > "{log}.posted"; fi
exit {code}
"""


def snippets() -> dict[str, str]:
    """Every yaml and shell snippet by the file name in its first comment."""
    found = {}
    for body in re.findall(r"^```(?:yaml|shell)\n(.*?)^```$", PAGE, re.M | re.S):
        name = re.search(r"^# (\S+)$", body, re.M)
        assert name is not None, f"a snippet without a file name: {body[:60]}"
        found[name.group(1)] = body
    return found


class Done(NamedTuple):
    """How a job ended: whether it failed, the exit code that decided, and all it printed."""

    failed: bool
    code: int
    log: str


class Project:
    """A Git repository made by `ragworthy init`, with the stubs first on PATH."""

    def __init__(self, folder: Path, state: str) -> None:
        self.folder = folder / "project"
        self.stubs = folder / "stubs"
        self.summary = folder / "summary.md"
        self.state = state
        self.stubs.mkdir(parents=True)
        for name in ("pip", "gh", "curl"):
            self.stub(name)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_", "GIT_"))},
            "PATH": os.pathsep.join([str(self.stubs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "dev@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        laid = starter.init(self.folder)
        self.run("git init -q && git add -A && git commit -q -m start")
        DAMAGE[state](laid)

    def stub(self, name: str, code: int = 0) -> None:
        path = self.stubs / name
        path.write_text(STUB.format(bash=BASH, log=self.stubs / f"{name}.log", code=code))
        path.chmod(0o755)

    def run(self, text: str, **more: str) -> Done:
        """Run one step the way a runner does."""
        done = subprocess.run(
            [BASH, "-e", "-c", text],
            cwd=self.folder,
            env=self.environment | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
        )
        return Done(done.returncode != 0, done.returncode, done.stdout)

    def asked(self, name: str) -> str:
        path = self.stubs / f"{name}.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def posted(self, name: str) -> str:
        path = self.stubs / f"{name}.log.posted"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def written(self, name: str) -> str:
        return (self.folder / "eval" / name).read_text(encoding="utf-8")


def _wrong_citations(laid: starter.Laid) -> None:
    """Half of the answers cite something that was not retrieved."""
    traces = [json.loads(line) for line in laid.traces[0].read_text(encoding="utf-8").splitlines()]
    for trace in traces[: len(traces) // 2]:
        trace["answer_json"]["citations"] = ["nowhere#1"]
    laid.traces[0].write_text("".join(json.dumps(trace) + "\n" for trace in traces), encoding="utf-8")


def _lost_traces(laid: starter.Laid) -> None:
    lines = laid.traces[0].read_text(encoding="utf-8").splitlines(keepends=True)
    laid.traces[0].write_text("".join(lines[1:]), encoding="utf-8")


def _broken_line(laid: starter.Laid) -> None:
    """Unreadable traces, and the report of an earlier run still lying about."""
    with laid.traces[0].open("a", encoding="utf-8") as file:
        file.write('{"qid": \n')
    folder = laid.policy.parent / "eval"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("SHIP, but of an earlier run\n", encoding="utf-8")


DAMAGE: dict[str, Callable[[starter.Laid], None]] = {
    "SHIP": lambda laid: None,
    "NO-SHIP": _wrong_citations,
    "INVALID": _lost_traces,
    "nothing scored": _broken_line,
}
VERDICTS = ("SHIP", "NO-SHIP", "INVALID")


@pytest.fixture(params=DAMAGE)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return Project(tmp_path, request.param)


def check_files(project: Project) -> None:
    """The written files exist and tell one verdict; or nothing was scored and none is there."""
    if project.state == "nothing scored":
        assert [name for name in FILES if (project.folder / "eval" / name).exists()] == []
        return
    report = json.loads(project.written("last_report.json"))
    suite = ET.fromstring(project.written("junit.xml")).find("testsuite")
    assert suite is not None
    bad = len(suite.findall("testcase/failure")) + len(suite.findall("testcase/error"))
    with zipfile.ZipFile(project.folder / "eval/evidence.zip") as bundle:
        receipt = json.loads(bundle.read("receipt.json"))
    assert report["verdict"] == receipt["verdict"] == project.state
    assert report["exit_code"] == receipt["exit_code"] == EXIT[project.state]
    assert suite.get("name") == f"ragworthy {project.state}"
    assert bool(bad) is (project.state != "SHIP")
    assert f"Ragworthy: {project.state}\n" in project.written("report.md")
    assert f"verdict **{project.state}** (exit {EXIT[project.state]})" in project.written("report.md")


def check_result(project: Project, done: Done) -> None:
    """The job's result is the gate's, and the log says why."""
    expected = EXIT.get(project.state, 2)
    assert (done.failed, done.code) == (expected != 0, expected), done.log
    if project.state in VERDICTS:
        assert f"verdict: {project.state} (exit {expected})" in done.log
    else:
        assert "runs/latest/traces.jsonl:13: " in done.log
        assert "[RW-" in done.log


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


def holds(condition: str, *, failed: bool, context: dict[str, str]) -> bool:
    """A step's `if`. Without a status function a step runs only while nothing has failed."""
    terms = [term.strip() for term in condition.split("&&")] if condition else []
    status = {"always()": True, "success()": not failed, "failure()": failed}
    if not any(term in status for term in terms):
        terms.append("success()")
    return all(status[term] if term in status else _equal(term, context) for term in terms)


def _equal(term: str, context: dict[str, str]) -> bool:
    left, sign, right = term.partition("==")
    assert sign, f"the stand-in cannot read {term}"
    return context[left.strip()] == context[right.strip()]


def filled(text: str, context: dict[str, str]) -> str:
    """`${{ … }}` replaced; a name the stand-in does not know is an error."""
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: context[found.group(1)], str(text))


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
    assert project.asked("gh").startswith("pr comment 17 --body")
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
    assert kept["paths"] == ["eval/report.md", "eval/last_report.json", "eval/evidence.zip"]
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
    assert set(snippets()) == {GITHUB, GITLAB, SCRIPT, PRE_COMMIT, PRE_PUSH}


def test_jobs_and_script_ask_for_the_same_files() -> None:
    """One gate command, word for word, in every job; and each deletes what an earlier run left."""
    for name in (GITHUB, GITLAB, SCRIPT):
        body = snippets()[name]
        assert "-o eval/report.md -o eval/last_report.json -o eval/junit.xml --bundle eval/evidence.zip" in body
        assert "rm -f eval/report.md eval/last_report.json eval/junit.xml eval/evidence.zip" in body
