"""The action, the component and the jobs of docs/ci.md against the schemas that editors and hosts use."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ci_jobs import included, snippets
from places import ROOT


def checked(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action() -> None:
    checked("github-actions", ROOT / "action.yml")


def test_the_job_of_the_component(tmp_path: Path) -> None:
    name, job = included(requirement="ragworthy")
    path = tmp_path / ".gitlab-ci.yml"
    path.write_text(yaml.safe_dump({name: job}))
    checked("gitlab-ci", path)


@pytest.mark.parametrize(("schema", "name"), [
    ("github-workflows", ".github/workflows/gate.yml"),
    ("github-workflows", ".github/workflows/ragworthy.yml"),
    ("gitlab-ci", ".gitlab-ci.yml"),
    ("gitlab-ci", ".gitlab-ci.component.yml"),
])  # fmt: skip
def test_the_jobs_of_the_page(schema: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_text(snippets()[name])
    checked(schema, path)
