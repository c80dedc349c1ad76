"""The examples for deployment tools: the script and the webhook are run, the YAML is read."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import run_cli
from places import ROOT
from rollouts_laid import NOON, advanced, begun, judged, lay, log, moves, rolled_back

FOLDER = ROOT / "examples" / "rollout"
AT = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture
def eligible(tmp_path: Path) -> Path:
    """A rollout that was found eligible an hour before noon, and a command that notes the share it is told."""
    lay(tmp_path)
    report, _ = judged(tmp_path)
    ledger = begun(tmp_path, "--at", (NOON - timedelta(hours=2)).strftime(AT))
    assert advanced(ledger, "--report", report, "--at", (NOON - timedelta(hours=1)).strftime(AT))[0] == 0
    deploy = tmp_path / "deploy"
    deploy.write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/broken ] && exit 7\necho "$1" >> {tmp_path}/shares\n', encoding="utf-8"
    )
    deploy.chmod(0o755)
    return tmp_path


@pytest.fixture
def laid(eligible: Path) -> Path:
    """A rollout that got 5 % of the traffic at noon."""
    words = ("--report", eligible / "b.report.json", "--at", NOON.strftime(AT))
    assert advanced(eligible / "rollout.jsonl", *words)[0] == 0
    return eligible


BAD: dict[str, Any] = {"retrieval": {"topk": []}}
"""Of a canary that retrieves nothing."""


def states(folder: Path) -> list[str]:
    return [f"{one['state']} {one['share']}" for one in moves(folder / "rollout.jsonl")]


def shares(folder: Path) -> list[str]:
    """What DEPLOY was told with success."""
    return (folder / "shares").read_text().split() if (folder / "shares").exists() else []


def script(folder: Path, minutes: int) -> int:
    """Run the script as cron would, so many minutes after noon."""
    until = (NOON + timedelta(minutes=minutes)).strftime(AT)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"LOG": str(folder / "log.jsonl"), "RECEIPT": str(folder / "b.receipt.json"), "BY": "cron", "PATH": path,
            "DEPLOY": str(folder / "deploy"), "LEDGER": str(folder / "rollout.jsonl"), "UNTIL": until,
            "AT": until}  # fmt: skip
    done = subprocess.run([str(FOLDER / "canary.sh")], env={**os.environ, **more}, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def test_the_script_waits_goes_on_and_promotes(laid: Path) -> None:
    for minutes, told in ((30, ["0.05"]), (60, ["0.05", "0.10"]), (90, ["0.05", "0.10"]),
                          (120, ["0.05", "0.10", "1"]), (125, ["0.05", "0.10", "1"])):  # fmt: skip
        log(laid / "log.jsonl", NOON, minutes)
        assert script(laid, minutes) == 0 and shares(laid) == told
    assert [(one["by"], one["state"]) for one in moves(laid / "rollout.jsonl")][3:] == [
        ("cron", "canary"), ("cron", "promoted"),
    ]  # fmt: skip


def test_the_script_takes_it_back_once(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 50, canary=BAD)
    assert script(laid, 50) == 0 and shares(laid) == ["0.05", "0"]
    assert script(laid, 51) == 0 and shares(laid) == ["0.05", "0"]
    assert moves(laid / "rollout.jsonl")[-1]["state"] == "rolled_back"


def test_the_script_tells_a_rollback_until_it_is_deployed(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 10)
    assert script(laid, 10) == 0 and shares(laid) == ["0.05"]
    log(laid / "log.jsonl", NOON, 50, canary=BAD)
    (laid / "broken").touch()
    assert [script(laid, minutes) for minutes in (50, 51, 52)] == [1, 1, 1]
    assert states(laid)[-1] == "rolled_back 0"
    (laid / "broken").unlink()
    assert [script(laid, minutes) for minutes in (53, 54)] == [0, 0]
    assert shares(laid) == ["0.05", "0"]


def test_the_script_tells_a_share_again_that_was_not_deployed_and_moves_no_further(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 60)
    (laid / "broken").touch()
    assert [script(laid, 60), script(laid, 60)] == [1, 1]
    assert states(laid)[-1] == "canary 0.05" and shares(laid) == []  # not at 5 %, so not on to 10 %
    (laid / "broken").unlink()
    assert script(laid, 60) == 0 and shares(laid) == ["0.05", "0.10"]


def test_the_script_deploys_what_somebody_else_signed(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 30)
    assert script(laid, 30) == 0
    rolled_back(laid / "rollout.jsonl")
    assert script(laid, 31) == 0 and shares(laid) == ["0.05", "0"]


def test_the_script_moves_nothing_when_the_ledger_was_changed(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 60)
    ledger = laid / "rollout.jsonl"
    ledger.write_text(ledger.read_text(encoding="utf-8").replace("new chunker", "old chunker"), encoding="utf-8")
    before = ledger.read_bytes()
    assert script(laid, 60) == 4
    assert ledger.read_bytes() == before and not shares(laid)


def asked(port: str, path: str) -> tuple[int, str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=b'{"name": "rag", "phase": "Failed"}', method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextmanager
def webhook(folder: Path, minutes: int) -> Iterator[str]:
    """The port of a webhook, so many minutes after noon."""
    at = (NOON + timedelta(minutes=minutes)).strftime(AT)
    words = [sys.executable, str(FOLDER / "webhook.py"), "0", str(folder / "rollout.jsonl"), "--log",
             str(folder / "log.jsonl"), "--receipt", str(folder / "b.receipt.json")]  # fmt: skip
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "AT": at})
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate()


def test_the_webhook_moves_the_ledger_before_it_says_yes(eligible: Path) -> None:
    log(eligible / "log.jsonl", NOON - timedelta(minutes=5), 5)
    with webhook(eligible, 0) as port:
        assert [asked(port, path)[0] for path in ("/promote", "/back", "/other")] == [403, 403, 403]
        assert [asked(port, "/go")[0] for _ in range(3)] == [200, 403, 403]
        assert states(eligible)[2:] == ["canary 0.05"]
    log(eligible / "log.jsonl", NOON, 60)
    with webhook(eligible, 60) as port:
        assert [asked(port, path)[0] for path in ("/back", "/promote", "/go", "/go", "/promote")] == [
            403, 403, 200, 403, 403,
        ]  # fmt: skip
        assert states(eligible)[3:] == ["canary 0.10"]
    log(eligible / "log.jsonl", NOON, 120)
    with webhook(eligible, 120) as port:
        assert asked(port, "/go") == (200, "go on (exit 0)\n")  # asked before each promotion, too
        assert states(eligible)[4:] == []
        assert asked(port, "/promote")[0] == 200
        assert states(eligible)[4:] == ["promoted 1"]


def test_the_webhook_takes_it_back(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 50, canary=BAD)
    with webhook(laid, 50) as port:
        assert [asked(port, path)[0] for path in ("/go", "/back", "/back", "/go", "/ended")] == [
            403,
            200,
            200,
            403,
            200,
        ]
    assert states(laid)[3:] == ["rolled_back 0"]


def test_the_webhook_is_told_that_flagger_gave_up(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 30)
    with webhook(laid, 30) as port:
        assert asked(port, "/ended")[0] == 200
    assert states(laid)[3:] == ["rolled_back 0"]


def test_the_webhook_repeats_an_answer_that_nobody_waited_for(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 60)
    with webhook(laid, 60) as port:
        with socket.create_connection(("127.0.0.1", int(port))) as hasty:
            hasty.sendall(b"POST /go HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert asked(port, "/go")[0] == 200
        assert states(laid)[3:] == ["canary 0.10"]
        assert asked(port, "/go")[0] == 403


@contextmanager
def argo(folder: Path, to: str, minutes: int) -> Iterator[subprocess.Popen[str]]:
    """The job of Argo, begun so many minutes after noon, with folders of here."""
    template = next(yaml.safe_load_all((FOLDER / "argo.yaml").read_text(encoding="utf-8")))
    job = template["spec"]["metrics"][0]["provider"]["job"]["spec"]["template"]["spec"]["containers"][0]
    until = (NOON + timedelta(minutes=minutes)).strftime(AT)
    text = job["args"][0].replace("--until now", f"--until {until}").replace("--by argo", f"--by argo --at {until}")
    text = text.replace("/state/gold/receipt.json", f"{folder}/b.receipt.json").replace("/state", str(folder))
    text = text.replace("/logs", f"{folder}/log.jsonl")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {"TO": to, "PATH": path}
    with subprocess.Popen(["sh", "-c", text], env={**os.environ, **more}, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as running:  # fmt: skip
        try:
            yield running
        finally:
            with suppress(ProcessLookupError):  # a sleep that was left
                os.killpg(running.pid, signal.SIGKILL)


def argo_ended(folder: Path, to: str, minutes: int) -> int:
    with argo(folder, to, minutes) as running:
        running.communicate(timeout=60)
        return running.returncode


def test_the_job_of_argo_moves_the_ledger_one_share_and_is_done(eligible: Path) -> None:
    log(eligible / "log.jsonl", NOON - timedelta(minutes=5), 5)
    for _ in range(2):  # the second one finds it moved
        assert argo_ended(eligible, "canary 5 %", 0) == 0
        assert states(eligible)[2:] == ["canary 0.05"]
    log(eligible / "log.jsonl", NOON, 60)
    assert argo_ended(eligible, "canary 10 %", 60) == 0
    assert states(eligible)[3:] == ["canary 0.10"]


def test_the_job_of_argo_that_is_stopped_while_it_waits_takes_it_back(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 30)
    with argo(laid, "canary 10 %", 30) as waits:
        assert waits.stdout is not None and waits.stdout.readline().startswith("wait")
        assert waits.poll() is None
        waits.terminate()
        assert waits.wait(60) == 1
    assert states(laid)[3:] == ["rolled_back 0"]


def test_the_job_of_argo_ends_where_a_rule_takes_it_back(laid: Path) -> None:
    log(laid / "log.jsonl", NOON, 50, canary=BAD)
    assert argo_ended(laid, "canary 10 %", 50) == 1
    assert states(laid)[3:] == ["rolled_back 0"]


def test_the_yaml_files_are_yaml_and_ask_with_flags_that_exist() -> None:
    kinds = [
        one["kind"]
        for name in ("argo.yaml", "flagger.yaml")
        for one in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))
    ]
    assert kinds == ["AnalysisTemplate", "Rollout", "Canary"]
    template = next(yaml.safe_load_all((FOLDER / "argo.yaml").read_text(encoding="utf-8")))
    job = template["spec"]["metrics"][0]["provider"]["job"]["spec"]
    text = job["template"]["spec"]["containers"][0]["args"][0]
    assert subprocess.run(["sh", "-n"], input=text, text=True).returncode == 0
    flags = set(re.findall(r"(--[\w-]+)", text))
    known = "".join(run_cli("rollout", verb, "--help").out for verb in ("check", "advance", "rollback"))
    assert {flag for flag in flags if flag not in known} == set()
    rollout = list(yaml.safe_load_all((FOLDER / "argo.yaml").read_text(encoding="utf-8")))[1]
    steps = rollout["spec"]["strategy"]["canary"]["steps"]
    asked_for = [one["setWeight"] if "setWeight" in one else one["analysis"]["args"][0]["value"] for one in steps]
    assert asked_for == ["canary 5 %", 5, "canary 10 %", 10, "promoted"]  # the ledger first
