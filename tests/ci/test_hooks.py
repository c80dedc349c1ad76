"""The hooks that .pre-commit-hooks.yaml offers, run by pre-commit itself out of a repository with that file.

pre-commit would install ragworthy with all it needs for each: that takes a network and a minute, so here the hooks run
what the tests run (`language: system`), and everything else about them is as it is.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ci_jobs import BASH, GIT, Project
from places import ROOT

HOOKS = ROOT / ".pre-commit-hooks.yaml"
IDS = ("ragworthy-gold-lint", "ragworthy-policy", "ragworthy-gate")
pytestmark = pytest.mark.skipif(not BASH or not GIT, reason="needs bash and git")


def pre_commit(*words: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    command = [sys.executable, "-m", "pre_commit", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository whose configuration names the hooks of another one."""
    made = Project(tmp_path, "SHIP")
    offering = tmp_path / "ragworthy"
    offering.mkdir()
    text = HOOKS.read_text(encoding="utf-8").replace("language: python", "language: system")
    (offering / ".pre-commit-hooks.yaml").write_text(text)
    made.run(f"cd {offering} && git init -q && git add -A && git commit -q -m hooks && git tag v1")
    hooks = [{"id": name} for name in IDS]
    config = {"repos": [{"repo": str(offering), "rev": "v1", "hooks": hooks}]}
    (made.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    made.run("git add -A && git commit -q -m config")
    return made


def results(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What became of each hook."""
    told = [line for line in done.stdout.splitlines() if "..." in line]
    return {line.partition(".")[0]: line.rpartition(".")[2].rpartition(")")[2] for line in told}


def test_the_manifest_is_one(tmp_path: Path) -> None:
    done = pre_commit("validate-manifest", str(HOOKS), folder=tmp_path, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert [one["id"] for one in yaml.safe_load(HOOKS.read_text(encoding="utf-8"))] == [*IDS]


def test_the_hooks_pass_and_fail_with_what_they_look_at(project: Project, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = pre_commit("run", "--all-files", folder=project.folder, home=home)
    assert done.returncode == 0, done.stdout
    assert results(done) == dict.fromkeys(("ragworthy gold lint", "ragworthy policy", "ragworthy gate"), "Passed")
    gold = project.folder / "gold/answers.jsonl"
    lines = gold.read_text(encoding="utf-8").splitlines()
    gold.write_text("\n".join([*lines, lines[0]]) + "\n", encoding="utf-8")
    (project.folder / "gold/more.jsonl").write_text(json.dumps({"qid": "x", "answerable": True}) + "\n")
    project.run("git add -A")
    done = pre_commit("run", folder=project.folder, home=home)
    assert done.returncode == 1
    assert results(done) == {
        "ragworthy gold lint": "Failed",
        "ragworthy policy": "Skipped",
        "ragworthy gate": "Failed",
    }
    assert "gold/answers.jsonl:13" in done.stdout
    assert "gold/more.jsonl:1" in done.stdout


def test_a_policy_that_cannot_be_read_stops_a_commit(project: Project, tmp_path: Path) -> None:
    (project.folder / "ragworthy.toml").write_text("version = 1\n[answers]\ngold = 3\n")
    project.run("git add -A")
    done = pre_commit("run", "ragworthy-policy", folder=project.folder, home=tmp_path / "home")
    assert done.returncode == 1
    assert "answers.gold" in done.stdout
