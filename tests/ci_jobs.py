"""What tests of CI jobs share: a repository, the ways in which it can be wrong, and what a runner does with a step."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from places import ROOT
from ragworthy import starter

BASH = shutil.which("bash") or ""
GIT = shutil.which("git") or ""
FILES = ("report.md", "last_report.json", "last_report.html", "junit.xml", "evidence.zip")
EXIT = {"SHIP": 0, "NO-SHIP": 1, "INVALID": 4}

PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
COMPONENT_TEXT = (ROOT / "templates/gate.yml").read_text(encoding="utf-8")
COMPONENT_INPUTS: dict[str, Any] = next(iter(yaml.safe_load_all(COMPONENT_TEXT)))["spec"]["inputs"]


def snippets() -> dict[str, str]:
    """Every yaml and shell snippet by the file name in its first comment."""
    found = {}
    for body in re.findall(r"^```(?:yaml|shell)\n(.*?)^```$", PAGE, re.M | re.S):
        name = re.search(r"^# (\S+)$", body, re.M)
        assert name is not None, f"a snippet without a file name: {body[:60]}"
        found[name.group(1)] = body
    return found


def included(**inputs: str) -> tuple[str, dict[str, Any]]:
    """The job as `include: component` makes it: an input that is unknown, lacking or does not fit is an error."""
    assert inputs.keys() <= COMPONENT_INPUTS.keys()
    values = {name: (one or {}).get("default") for name, one in COMPONENT_INPUTS.items()} | inputs
    assert [name for name, value in values.items() if value is None] == []
    for name, value in values.items():
        assert re.search(COMPONENT_INPUTS[name].get("regex", ""), str(value))
    body = COMPONENT_TEXT.split("\n---\n", 1)[1]
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: str(values[found[1]]), body)
    assert "$[[" not in filled
    [(name, job)] = yaml.safe_load(filled).items()
    return name, job


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
    assert f"Ragworthy: {project.state}: " in project.written("report.md").splitlines()[0]
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


def holds(condition: str, *, failed: bool, context: dict[str, str]) -> bool:
    """A step's `if`. Without a status function a step runs only while nothing has failed."""
    terms = [term.strip() for term in condition.split("&&")] if condition else []
    status = {"always()": True, "success()": not failed, "failure()": failed}
    if not any(term in status for term in terms):
        terms.append("success()")
    return all(status[term] if term in status else _equal(term, context) for term in terms)


def _equal(term: str, context: dict[str, str]) -> bool:
    left, sign, right = (part.strip() for part in re.split(r"(==|!=)", term))
    other = right.strip("'") if right.startswith("'") else context[right]
    return (context[left] == other) is (sign == "==")


def filled(text: str, context: dict[str, str]) -> str:
    """`${{ … }}` replaced; a name the stand-in does not know is an error."""
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: context[found.group(1)], str(text))
