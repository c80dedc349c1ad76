"""`monitor --alarms`: a baseline from accepted traffic, a planted drop in one region, the same alerts in pieces."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ragworthy.cli.main import main

BEGIN = datetime(2026, 3, 2, 12, tzinfo=UTC)


def log(path: Path, minutes: int, bad: Callable[[int, str], float], first: int = 0, seed: int = 1) -> None:
    """So many minutes with 30 questions each, half of them from either region; some fail."""
    draw = random.Random(seed)
    lines = []
    for minute in range(first, first + minutes):
        for nth in range(30):
            region = ("eu", "us")[nth % 2]
            record: dict[str, Any] = {
                "qid": f"q{minute}-{nth}",
                "question": f"question {minute} {nth}",
                "retrieval": {"topk": [{"id": "a", "score": 1.0}], "index_hash": "h"},
                "answer": {"citations": [{"id": "a"}], "coverage": True, "ΔS": 0.2},
                "context": {"client": "app", "build": "b1", "region": region},
                "ts": (BEGIN + timedelta(minutes=minute, seconds=2 * nth)).isoformat().replace("+00:00", "Z"),
            }
            if draw.random() < bad(minute, region):
                record["error"] = "timeout"
            lines.append(json.dumps(record, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Settings, and a baseline that the monitor made of accepted traffic."""
    monkeypatch.chdir(tmp_path)
    settings = {"slices": ["region=eu", "region=us"], "watches": [{"field": "error"}]}
    Path("alarms.json").write_text(json.dumps(settings))
    log(Path("accepted.jsonl"), 300, lambda minute, region: 0.02)
    main(["monitor", "accepted.jsonl", "--alarms", "alarms.json", "--format", "json"])
    Path("baseline.json").write_text(capsys.readouterr().out)
    log(Path("live.jsonl"), 180, lambda minute, region: 0.4 if region == "eu" and minute >= 400 else 0.02, 310, seed=2)
    return tmp_path


def told(path: Path) -> list[dict[str, Any]]:
    return [one for line in path.read_text().splitlines() if ":error" in (one := json.loads(line))["rule"]]


def run(*words: str) -> None:
    """A process of its own, as each piece of a log has."""
    done = subprocess.run([sys.executable, "-m", "ragworthy", "monitor", *words, "-q"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr


FLAGS = ["--alarms", "alarms.json", "--baseline", "baseline.json"]


def test_the_baseline_has_what_the_alarms_need(folder: Path) -> None:
    accepted = json.loads((folder / "baseline.json").read_text())["accepted"]
    assert accepted["fields"]["error"]["cases"] == 9000
    assert accepted["fields"]["error"]["value"] == pytest.approx(0.02, abs=0.005)
    assert {part: fields["error"]["cases"] for part, fields in accepted["slices"].items()} == {
        "region=eu": 4500, "region=us": 4500,
    }  # fmt: skip


def test_a_drop_in_one_region_is_an_alert_with_that_slice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["monitor", "live.jsonl", *FLAGS, "--alerts", "a.jsonl", "--format", "json"]) == 1
    alerts = told(folder / "a.jsonl")
    fast = [one for one in alerts if one["rule"] == "anytime:error"]
    assert {one["slice"] for one in fast} == {None, "region=eu"}
    assert all("2026-03-02T18:4" <= one["at"] <= "2026-03-02T18:51" for one in fast)  # minute 400 is 18:40
    (whole,) = [one for one in fast if one["slice"] is None]
    assert whole["moved"] == ["region=eu"]
    (part,) = [one for one in fast if one["slice"] == "region=eu"]
    assert part["value"] == pytest.approx(0.4, abs=0.15)
    assert (part["state"], part["sign"], part["source"], part["rollback"]) == ("firing", ">", "docs/alarms.md", False)
    told_last = json.loads(capsys.readouterr().out)["alarms"]
    assert {"rule": "anytime:error", "slice": "region=eu"} in told_last["firing"]
    assert told_last["blind"] == []


def test_the_same_log_in_pieces_gives_the_same_alerts(folder: Path) -> None:
    run("live.jsonl", *FLAGS, "--state", "whole.db", "--close", "--alerts", "whole.jsonl")
    lines = (folder / "live.jsonl").read_bytes().splitlines(keepends=True)
    growing = folder / "growing.jsonl"
    for end in range(0, len(lines), 1300):
        growing.write_bytes(b"".join(lines[: end + 1300]))
        last = ["--close"] if end + 1300 >= len(lines) else []
        run("growing.jsonl", *FLAGS, "--state", "pieces.db", "--alerts", "pieces.jsonl", *last)
    assert told(folder / "whole.jsonl")
    assert (folder / "pieces.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_another_baseline_begins_anew(folder: Path) -> None:
    run("live.jsonl", *FLAGS, "--state", "s.db", "--close", "--alerts", "a.jsonl")
    before = len(told(folder / "a.jsonl"))
    other = json.loads((folder / "baseline.json").read_text())
    other["accepted"]["fields"]["error"]["value"] = 0.5
    (folder / "baseline.json").write_text(json.dumps(other))
    log(folder / "more.jsonl", 20, lambda minute, region: 0.3, first=500, seed=3)
    run("more.jsonl", *FLAGS, "--state", "s.db", "--close", "--alerts", "a.jsonl")
    later = told(folder / "a.jsonl")[before:]
    assert [one["slice"] for one in later if one["rule"] == "anytime:error" and one["slice"] is None] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "alarms.json: expected JSON, got: Input data was truncated [RW-O20]"),
        ('{"budgets": 1}', "alarms.json: object contains unknown field `budgets` [RW-O20]"),
        ('{"budget": "low"}', "alarms.json: budget: expected `float`, got `str` [RW-O20]"),
        ('{"budget": 0}',
         "alarms.json: expected budget > 0, baseline_risk between 0 and 1, slice_share from 0 to below 1 [RW-O20]"),
        ('{"watches": [{"field": "e2e_ms"}]}',
         "alarms.json: watches[0]: e2e_ms: expected over, a limit in ms, got none: a mean of times has no bound"),
        ('{"watches": [{"field": "error"}, {"field": "error"}]}',
         "alarms.json: expected each watch once, got error twice [RW-O20]"),
        ('{"slices": ["eu"]}', "alarms.json: expected slices such as region=eu, got one without = [RW-O20]"),
        ('{"watches": []}', "alarms.json: expected watches, got an empty list: nothing would be watched [RW-O20]"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_named(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("alarms.json").write_text(text)
    log(Path("live.jsonl"), 1, lambda minute, region: 0.0)
    assert main(["monitor", "live.jsonl", "--alarms", "alarms.json"]) == 2
    assert message in capsys.readouterr().err


def test_a_baseline_that_cannot_be_used_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "baseline.json").write_text('{"fields": {"e2e_ms": 5}, "accepted": {"fields": {"error": {"cases": 5}}}}')
    assert main(["monitor", "live.jsonl", *FLAGS]) == 2
    assert "baseline.json: fields[...]: object missing required field `value` [RW-O21]" in capsys.readouterr().err


def test_what_is_not_watched_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"slices": ["region=eu", "region=xx"], "watches": [{"field": "error"}, {"field": "refused"}]}
    (folder / "alarms.json").write_text(json.dumps(settings))
    main(["monitor", "live.jsonl", *FLAGS])
    assert "  alarms do not watch, not in the baseline: refused, region=xx\n" in capsys.readouterr().out
    main(["monitor", "live.jsonl", "--alarms", "alarms.json"])
    assert "  alarms: nothing is watched; that takes a --baseline\n" in capsys.readouterr().out


def test_a_baseline_with_nothing_to_watch_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "alarms.json").write_text('{"watches": [{"field": "refused"}]}')
    assert main(["monitor", "live.jsonl", *FLAGS]) == 2
    assert (
        "baseline.json: expected something of what is watched (refused) with enough cases, got nothing [RW-O21]"
        in capsys.readouterr().err
    )
