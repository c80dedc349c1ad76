"""The Dockerfile: what it copies is there, what it installs is pinned, and its steps do what they say.

There is no engine here, so the image itself is not built: the base, apt-get and the user are only read.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from places import ROOT


class Step(NamedTuple):
    """An instruction and what stands behind it."""

    name: str
    text: str


def steps() -> list[Step]:
    text = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [Step(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def of(name: str) -> list[str]:
    return [step.text for step in steps() if step.name == name]


def test_every_instruction_is_one_and_it_does_not_run_as_root() -> None:
    assert {step.name for step in steps()} <= {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert of("FROM") == ["debian:bookworm-slim"]
    assert of("USER") == ["ragworthy"]
    names = [step.name for step in steps()]
    assert names.index("USER") > max(nth for nth, name in enumerate(names) if name == "RUN")
    assert any(f"useradd --create-home --uid 10001 {of('USER')[0]}" in run for run in of("RUN"))


def test_what_is_copied_is_there_and_not_kept_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*"
    for copied in of("COPY"):
        *sources, _ = copied.split()
        for source in sources:
            assert (ROOT / source).exists()
            assert f"!{source}" in ignored


@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="needs Debian's apt-cache")
def test_debian_has_what_it_installs() -> None:
    [run] = [run for run in of("RUN") if "apt-get" in run]
    packages = re.search(r"--no-install-recommends ([\w -]+?) +&&", run)
    assert packages is not None
    for package in packages[1].split():
        told = subprocess.run(["apt-cache", "policy", package], capture_output=True, text=True, check=True).stdout
        assert told.startswith(f"{package}:")
        assert "Candidate: (none)" not in told


def test_its_install_step_and_its_entrypoint_work(tmp_path: Path) -> None:
    """The step for real but for its paths; without the dependencies, which the tests have."""
    source = tmp_path / "src"
    for copied in of("COPY"):
        *sources, target = copied.split()
        for name in sources:
            place = Path(target.replace("/src", str(source), 1))
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place)
    [run] = [run for run in of("RUN") if "/opt/ragworthy/bin/pip" in run]
    run = re.sub(r"(?<![\w/])/src(?![\w])", str(source), run).replace("/opt/ragworthy", f"{tmp_path}/opt")
    run = re.sub(r"^python3 -m venv", f"{sys.executable} -m venv", run)
    run = run.replace(f'"{source}[', f'--no-deps "{source}[')
    seen = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {"PATH": "/usr/bin:/bin", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": seen, "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-ec", run], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not source.exists()
    entry = re.fullmatch(r'\["(.*)"\]', of("ENTRYPOINT")[0])
    assert entry is not None
    command = entry[1].replace("/opt/ragworthy", f"{tmp_path}/opt")
    for words, where in ((["init", "work"], tmp_path), (["gate", "-q"], tmp_path / "work")):
        told = subprocess.run([command, *words], cwd=where, env=environment, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
    assert "verdict: SHIP" in told.stdout
