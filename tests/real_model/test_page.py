"""docs/real-model.md, walked from an empty folder with the real model; and how many answers the chat answerer loses."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from example_folders import FOLDER, LEFT, environment
from places import ROOT
from walked_pages import Command, carry_out, commands

PORT = "8091"
"""What the page says; the tests take a port that is free."""
GOLD = ROOT / "src/ragworthy/examples/answers_gold.jsonl"


def model() -> Path:
    """That of $RAGWORTHY_REAL_MODEL, else .real-model; where there is none, the test is skipped and says so."""
    folder = Path(os.environ.get("RAGWORTHY_REAL_MODEL") or ROOT / ".real-model")
    if not (folder / "smollm2-135m.gguf").exists() or not (folder / "rt/bin/python").exists():
        pytest.skip("SKIPPED: the real model is absent: make real-model")
    return folder


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def wait_for(port: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until the server has loaded its model."""
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the server did not start within a minute:\n{log.read_text()}")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real server, a process of its own."""
    found, chosen, log = model(), free_port(), tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as said:
        command = [found / "rt/bin/python", FOLDER / "real-model/serve.py", found / "smollm2-135m.gguf"]
        server = subprocess.Popen([*map(str, command), chosen], stdout=said, stderr=subprocess.STDOUT)
    try:
        wait_for(chosen, server, log)
        yield chosen
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture
def folder(tmp_path: Path, port: str) -> Path:
    """The files of the page, with the port of the test."""
    made = Path(shutil.copytree(FOLDER / "real-model", tmp_path / "here", ignore=LEFT))
    knobs = made / "chat.toml"
    knobs.write_text(knobs.read_text().replace(PORT, port))
    (made / "model").symlink_to(model().resolve())
    return made


def test_every_command_of_the_page_does_what_it_says(folder: Path, port: str, tmp_path: Path) -> None:
    seen = environment(sys.executable, tmp_path / "made")
    walked = commands("docs/real-model.md")
    assert [one.text.split()[1] for one in walked[:2]] == ["get_model.py", "serve.py"], "made, and running already"
    for one in walked[2:]:
        carry_out(Command(one.text.replace(PORT, port), one.expected, one.code), folder, seen, seconds=600)
    outputs = [json.loads(line) for line in (folder / "outputs.jsonl").read_text().splitlines()]
    assert [set(json.loads(one["raw"])) for one in outputs] == [{"amount", "unit"}] * 10
    told = (folder / "report.md").read_text()
    assert all(f"{suite}.missing" in told for suite in ("answers", "stability", "structured"))
    assert "latency.p95" in told


def test_few_answers_of_the_model_are_lost(folder: Path, tmp_path: Path) -> None:
    """At most 2 % of the answers are errors: of the 72 with RAGWORTHY_REAL=all (`make test-real`), else of the first 8.

    With the number of chunks that the pipeline has by default, so that prompts are as long as they get.
    """
    seen = environment(sys.executable, tmp_path / "made")
    asked = 72 if os.environ.get("RAGWORTHY_REAL") == "all" else 8
    knobs = folder / "chat.toml"
    knobs.write_text("".join(line for line in knobs.read_text().splitlines(keepends=True) if "k =" not in line))
    harbor = ROOT / "src/ragworthy/examples"
    for command in (
        f"ragworthy index build --docs {harbor / 'corpus'} --out live",
        f"ragworthy run --target builtin:live --knobs chat.toml --gold {GOLD} --limit {asked} --concurrency 1 "
        "--timeout 300 --out runs/all || [ $? -eq 1 ]",
    ):
        carry_out(Command(command, [], 0), folder, seen, seconds=3600)
    traces = [json.loads(line) for line in (folder / "runs/all/traces.jsonl").read_text().splitlines()]
    errors = [trace["error"] for trace in traces if "error" in trace]
    assert len(traces) == asked
    assert len(errors) / asked <= 0.02, errors
    assert all(len(trace["retrieved_ids"]) == 5 for trace in traces), "an error keeps what was retrieved"
    assert all(trace["usage"]["prompt_tokens"] > 0 for trace in traces if "error" not in trace)
