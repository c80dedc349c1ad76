"""Real frameworks have an environment of their own: `make frameworks`, or the Python of $RAGWORTHY_FRAMEWORKS."""

import os
import subprocess
from pathlib import Path

import pytest

from places import ROOT


def frameworks() -> Path:
    """The Python that has LangChain, LlamaIndex, Haystack and OpenTelemetry; skips where there is none."""
    named = os.environ.get("RAGWORTHY_FRAMEWORKS")
    python = Path(named) if named else ROOT / ".venv-frameworks" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"SKIPPED: {python} is absent: make frameworks")
    return python


def script(*args: object, cwd: Path, **environment: str) -> str:
    """What Python prints in the environment of the frameworks, with this source tree."""
    held = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore", **environment}
    command = [str(frameworks()), *(str(one) for one in args)]
    done = subprocess.run(command, cwd=cwd, env=held, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout
