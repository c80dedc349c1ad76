"""The folders in examples/: what they hold, and how their commands are carried out in a copy."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from places import ROOT
from ragworthy import __version__

FOLDER = ROOT / "examples"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/README.md"))
BESIDE = ("gallery", "from-deepeval", "from-promptfoo", "from-ragas", "real-model", "rollout")
"""Folders of another kind: files of a page in docs/, which is walked by tests/peers and tests/real_model."""
REQUIREMENT = "ragworthy @ git+https://git.example.com/ragworthy.git@COMMIT"
"""What the examples install: placeholders for the address and the commit, as in docs/ci.md."""
TIMED = {"opentelemetry": re.compile(r"(?<=`traces.jsonl`(?:,|:) 30 records, sha256 `)(?:\w{12}|\w{64})(?=`)")}
"""Examples whose traces hold clock times: their hash in the report is another one each time."""
LEFT = shutil.ignore_patterns("__pycache__", ".pytest_cache", "runs", "eval", "*.pyc", ".venv*")
"""What a folder collects when somebody tries it; it is not part of the example."""


class Step(NamedTuple):
    """A command of a console block, with the lines that it is said to print."""

    command: str
    expected: list[str]


class Console(NamedTuple):
    """The console block of an example, and the exit code of its last command."""

    steps: list[Step]
    code: int


def console(name: str) -> Console:
    """The one console block of an example's README.md, marked `<!-- run: exit N -->`."""
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^<!-- run: exit (\d) -->\n```console\n(.*?)^```$", text, re.M | re.S)
    assert len(found) == text.count("```console\n") == 1, (
        f"{name}/README.md: one console block, marked <!-- run: exit N -->"
    )
    code, block = found[0]
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        elif line.startswith("> "):  # a command that goes on
            steps[-1] = Step(f"{steps[-1].command}\n{line[2:]}", [])
        else:
            steps[-1].expected.append(line)
    return Console(steps, int(code))


def requirements(name: str) -> list[Requirement]:
    """What an example installs."""
    lines = (FOLDER / name / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


# the environment


def pythons() -> list[str]:
    """The Pythons that an example may run in: this one, then that of the frameworks."""
    frameworks = os.environ.get("RAGWORTHY_FRAMEWORKS") or str(ROOT / ".venv-frameworks/bin/python")
    return [sys.executable, *([frameworks] if Path(frameworks).exists() else [])]


@functools.cache
def absent(python: str, names: tuple[str, ...]) -> list[str]:
    """The packages that a Python does not have."""
    code = (
        "import sys, json, importlib.metadata as m\n"
        "has = {d.name.lower().replace('_', '-') for d in m.distributions()}\n"
        "print(json.dumps([n for n in sys.argv[1:] if n.lower().replace('_', '-') not in has]))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def python_of(name: str) -> str:
    """The first Python that has what an example needs; where none has, the test is skipped and says so."""
    needed = tuple(one.name for one in requirements(name) if one.name != "ragworthy")
    tried = {python: absent(python, needed) for python in pythons()}
    for python, lacking in tried.items():
        if not lacking:
            return python
    lacking = min(tried.values(), key=len)
    pytest.skip(f"SKIPPED: examples/{name} needs {', '.join(lacking)}: make frameworks")


def installed_at(folder: Path) -> Path:
    """A folder for PYTHONPATH that announces this checkout as an installed package, entry points included."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"ragworthy-{__version__}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ragworthy\nVersion: {__version__}\n")
    groups = {"console_scripts": about["scripts"], **about.get("entry-points", {})}
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in one.items()) for group, one in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return folder


def environment(python: str, folder: Path) -> dict[str, str]:
    """What the commands of an example see: `python`, `pytest` and `ragworthy` of this checkout, and little else."""
    shims = folder / "bin"
    shims.mkdir(parents=True)
    for name, module in (("python", ""), ("ragworthy", "-m ragworthy "), ("pytest", "-m pytest ")):
        (shims / name).write_text(f'#!/bin/sh\nexec "{python}" {module}"$@"\n')
        (shims / name).chmod(0o755)
    unwanted = ("GITHUB_", "RAGWORTHY_", "PYTEST_", "OPENAI_", "PYTHON")
    own = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return own | {
        "PATH": os.pathsep.join([str(shims), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(installed_at(folder / "site")), str(ROOT / "src")]),
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C",
        "COLUMNS": "120",
        "RAGWORTHY_STORE": "off",
    }


# the commands


class Carried(NamedTuple):
    """A command that was carried out: its exit code and all it printed."""

    step: Step
    code: int
    printed: str


def carried_out(name: str, place: Path) -> tuple[Path, list[Carried]]:
    """Copy an example, run its commands one after the other in one shell, and give the copy and what happened.

    What a command leaves running (`&`) runs until the last one has ended. `report.md` is not copied.
    """
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("SKIPPED: needs bash")
    python = python_of(name)
    folder = Path(shutil.copytree(FOLDER / name, place / name, ignore=LEFT))
    (folder / "report.md").unlink(missing_ok=True)
    told = place / "told"
    told.mkdir()
    steps = console(name).steps
    script = "".join(
        f"{{ {one.command}\n}} > {told}/{n}.out 2>&1 < /dev/null; echo $? > {told}/{n}.code\n"
        for n, one in enumerate(steps)
    )
    shell = subprocess.Popen(
        [bash, "-c", script], cwd=folder, env=environment(python, place / "made"), start_new_session=True
    )
    try:
        shell.wait(timeout=300)
    finally:
        _end(shell)
    done = [
        Carried(one, int((told / f"{n}.code").read_text()), (told / f"{n}.out").read_text(encoding="utf-8"))
        for n, one in enumerate(steps)
    ]
    return folder, done


def _end(shell: subprocess.Popen[bytes]) -> None:
    """End the shell and what it left running."""
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        shell.wait()


def shown_in(expected: list[str], printed: str) -> bool:
    """Whether just these lines were printed; `…` stands for any number of lines. No lines at all promise nothing."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in expected)
    return not expected or re.fullmatch(pattern, printed) is not None


def check(name: str, place: Path) -> Path:
    """Carry an example out: exit codes, what is printed and `report.md` are as its README.md says; gives the copy.

    With RAGWORTHY_ACCEPT=1 in the environment `report.md` is written into the example instead of being compared.
    """
    folder, done = carried_out(name, place)
    last = console(name).code
    for nth, one in enumerate(done):
        wanted = last if nth == len(done) - 1 else 0
        assert one.code == wanted, f"{name}: exit {one.code}, not {wanted}: $ {one.step.command}\n{one.printed}"
        assert "Traceback (most recent call last)" not in one.printed
    made = (folder / "report.md").read_bytes()
    kept = FOLDER / name / "report.md"
    if os.environ.get("RAGWORTHY_ACCEPT") == "1":
        kept.write_bytes(made)
    said, wanted_report = made.decode(), kept.read_text(encoding="utf-8")
    if name in TIMED:
        assert TIMED[name].search(said)
        said, wanted_report = TIMED[name].sub("…", said), TIMED[name].sub("…", wanted_report)
    assert said == wanted_report, f"examples/{name}/report.md is not what the commands give"
    for one in done:
        assert shown_in(one.step.expected, one.printed), f"{name}: $ {one.step.command}\n{one.printed}"
    return folder
