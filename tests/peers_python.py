"""The Python that has ragas and DeepEval, and the folder of an example to try them in."""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from example_folders import FOLDER, LEFT, environment
from places import ROOT

OFFLINE = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1"}
"""Neither tool sends anything anywhere."""


def python() -> str:
    """That of $RAGWORTHY_PEERS, else of .venv-peers; where there is none, the test is skipped and says so."""
    named = os.environ.get("RAGWORTHY_PEERS") or str(ROOT / ".venv-peers/bin/python")
    if not Path(named).exists():
        pytest.skip("SKIPPED: ragas and DeepEval are absent: make peers")
    return named


def copied(name: str, place: Path) -> tuple[Path, dict[str, str]]:
    """A copy of an example, and what its commands see."""
    seen = environment(python(), place / "made")
    shim = Path(seen["PATH"].split(os.pathsep)[0]) / "deepeval"
    shim.write_text(f'#!/bin/sh\nexec "{python()}" -m deepeval.cli.main "$@"\n')
    shim.chmod(0o755)
    folder = Path(shutil.copytree(FOLDER / name, place / name, ignore=LEFT))
    return folder, seen | OFFLINE | {"PYTHONWARNINGS": "ignore"}


@functools.cache
def facts(name: str, script: Path, place: Path) -> dict[str, Any]:
    """What a script of facts prints, run in the folder of an example."""
    folder, seen = copied(name, place)
    seen["PYTHONPATH"] = os.pathsep.join([str(folder), seen["PYTHONPATH"]])
    done = subprocess.run(
        [python(), str(script)], cwd=folder, env=seen, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr  # whatever the metrics say: an evaluation has no verdict
    lines = [line for line in done.stdout.splitlines() if line.startswith("FACTS")]
    assert len(lines) == 1, done.stdout + done.stderr
    return dict(json.loads(lines[0].removeprefix("FACTS")))
