"""Entries of the history are compared as their reports are: by id, by the name of a baseline, by commit."""

import json
from pathlib import Path

import pytest

import ragworthy as rw
from ragworthy import starter
from ragworthy.cli.main import main
from ragworthy.history import open_store


def test_ids_names_and_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    starter.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    traces = Path("runs/latest/traces.jsonl").read_text()
    Path("worse.jsonl").write_text(traces.replace("up to 250", "up to 25"))
    runs = []
    store = open_store(tmp_path / ".ragworthy/history.db", now=lambda: "2026-01-01T00:00:00Z")
    for name, commit in (("runs/latest/traces.jsonl", "a" * 40), ("worse.jsonl", "b" * 40)):
        result = rw.score("answers", gold="gold/answers.jsonl", traces=name)
        result.write(f"{commit[0]}.json")
        runs.append(store.add(json.loads(Path(f"{commit[0]}.json").read_text()), commit=commit).run)
    plain = rw.compare("a.json", "b.json")
    by_id = rw.compare(f"history:{runs[0]}", f"history:{runs[1]}")
    by_commit = rw.compare(f"commit:{'a' * 40}", "commit:bbbbbbbb")
    assert plain.metrics == by_id.metrics == by_commit.metrics and [one.qid for one in by_id.broken] == ["H002"]
    assert main(["compare", f"commit:{'a' * 40}", "b.json", "-q"]) == 0
    assert capsys.readouterr().out == "compared: 0 fixed, 1 broken; nothing is proven (exit 0)\n"
    assert main(["compare", "history:none-such", "b.json"]) == 2
    assert "got none for none-such [RW-H07]" in capsys.readouterr().err
    assert main(["compare", "history:main", "b.json", "--store", "nowhere.db"]) == 2
    assert capsys.readouterr().err.startswith("nowhere.db: expected a store, got nothing at this path [RW-H01]\n")
