"""Every example has every part, and each part is sound."""

import ast
import json
import re
import tomllib

import pytest
import yaml

from conftest import run_cli
from example_folders import BESIDE, FOLDER, NAMES, REQUIREMENT, console, requirements
from places import ROOT
from ragworthy.names import Verdict

PARTS = ("README.md", "gold.jsonl", "ragworthy.toml", "ci.yml", "report.md", "requirements.txt")
every = pytest.mark.parametrize("name", NAMES)


def test_the_list_of_examples_has_them_all() -> None:
    listed = re.findall(
        r"^\| \[([\w-]+)\]\(\1/README\.md\) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M
    )
    assert set(NAMES) <= set(listed)
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    assert folders <= {*NAMES, *BESIDE, "__pycache__"}


@every
def test_every_part_is_there(name: str) -> None:
    folder = FOLDER / name
    assert [part for part in PARTS if not (folder / part).is_file()] == []
    assert 3 <= len(list((folder / "docs").glob("*.md"))) <= 6
    assert list(folder.glob("*.py")), "the pipeline, in one file"


@every
def test_the_target_is_three_lines_at_most(name: str) -> None:
    """Blank lines, comments and docstrings are not glue; imports, and the lines that a statement takes, are."""
    path = FOLDER / name / "target.py"
    if not path.exists():
        return
    code = ast.parse(path.read_text(encoding="utf-8"))
    lines: set[int] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.stmt) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    assert len(lines) <= 3, path


@every
def test_the_gold_set_is_plain_and_clean(name: str) -> None:
    path = FOLDER / name / "gold.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 24 <= len(rows) <= 30
    assert 0.25 <= sum(not row["answerable"] for row in rows) / len(rows) <= 0.42
    assert len({row["question"] for row in rows}) == len(rows)
    done = run_cli("gold", "lint", path)
    assert (done.code, done.err) == (0, ""), done.out + done.err
    warned = set(re.findall(r"^warning: .*\[(RW-\w+)\]$", done.out, re.M))
    assert warned <= {"RW-W15"}, done.out  # fewer than a release needs, and enough to show how it goes


@every
def test_the_policy_names_the_files_of_the_example(name: str) -> None:
    policy = tomllib.loads((FOLDER / name / "ragworthy.toml").read_text(encoding="utf-8"))
    assert policy["version"] == 1
    golds = [section["gold"] for section in policy.values() if isinstance(section, dict) and "gold" in section]
    assert set(golds) == {"gold.jsonl"}


@every
def test_the_job_installs_runs_the_commands_and_keeps_the_report(name: str) -> None:
    workflow = yaml.safe_load((FOLDER / name / "ci.yml").read_text(encoding="utf-8"))
    assert workflow[True] == "pull_request"  # YAML 1.1 reads the key `on` as true; the runner does not
    assert workflow["permissions"]["contents"] == "read"
    (job,) = workflow["jobs"].values()
    used = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    assert used == ["actions/checkout", "actions/setup-python", "actions/upload-artifact"]
    assert job["steps"][-1]["if"] == "always()"
    assert "report.md" in job["steps"][-1]["with"]["path"]
    assert not any("continue-on-error" in step for step in job["steps"])
    ran = "\n".join(str(step["run"]) for step in job["steps"] if "run" in step)
    assert "pip install -r requirements.txt" in ran
    places = [ran.find(step.command) for step in console(name).steps]
    assert -1 not in places, f"a command of README.md that the job does not have: {places}"
    assert places == sorted(places)


@every
def test_the_requirements_can_be_installed(name: str) -> None:
    ours, *others = (FOLDER / name / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(re.escape(REQUIREMENT).replace("ragworthy", r"ragworthy(\[\w+\])?", 1), ours)
    assert REQUIREMENT.partition(" @ ")[2] in (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    assert others == sorted(others, key=str.lower)
    for one in requirements(name):
        assert one.name == "ragworthy" or len(one.specifier) == 1, f"{one}: which version?"


@every
def test_the_report_is_a_verdict_of_this_gold_set(name: str) -> None:
    text = (FOLDER / name / "report.md").read_text(encoding="utf-8")
    found = re.search(r"^## \S+ Ragworthy: ([\w-]+): ", text, re.M)
    assert found is not None
    assert Verdict(found[1]) in (Verdict.SHIP, Verdict.NO_SHIP)
    assert "`gold.jsonl`" in text


@every
def test_nothing_of_the_machine_is_in_it(name: str) -> None:
    for path in (FOLDER / name).rglob("*"):
        if path.is_file() and path.suffix in (".md", ".py", ".toml", ".yml", ".jsonl", ".txt"):
            assert not re.search(r"/(?:home|work|tmp|root)/", path.read_text(encoding="utf-8")), path
