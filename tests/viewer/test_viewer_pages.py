"""What the pages show: of real gates over the bundled handbook, of hostile texts, and of a history that changes."""

import json
import re
import shutil
import sqlite3
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

import live_logs
import site_laid
from conftest import run_cli, write_jsonl
from viewer_served import Here, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages") / "site"
    site_laid.history(made)
    return made


@pytest.fixture(scope="module")
def here(folder: Path) -> Iterator[Here]:
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[str]:
    return site_laid.runs_of(folder)


def test_the_list_has_every_run_with_its_verdict_attempt_and_gated_numbers(here: Here, runs: list[str]) -> None:
    body = here.get("/runs").body
    places = [body.index(f"/runs/{one}") for one in reversed(runs)]
    assert places == sorted(places), "newest first"
    assert "2 of 3" in body and "c3c3c3c3" in body and "0.9348" in body and "0.617" in body and ">main<" in body
    assert here.get("/").headers["location"] == "/runs"


@pytest.mark.parametrize(
    ("query", "count"),
    [("verdict=NO-SHIP", 2), ("verdict=SHIP", 1), ("commit=c3c3", 1), ("commit=C3C3", 1), ("suite=answers", 6),
     ("suite=retrieval", 0), ("commit=b2b2&verdict=SHIP", 0), ("page=99", 6)],
)  # fmt: skip
def test_filters_keep_what_they_name(here: Here, runs: list[str], query: str, count: int) -> None:
    body = here.get(f"/runs?{query}").body
    assert sum(f'href="/runs/{one}"' in body for one in runs) == count


def test_a_run_is_shown_with_the_parts_of_the_report(here: Here, runs: list[str]) -> None:
    body = here.get(f"/runs/{runs[4]}").body
    for text in ("NO-SHIP", "answers.precision", "What changed", "What this evidence cannot show", "In the history"):
        assert text in body, text
    assert "<svg" in body and "Compare with the baseline" in body and "Make it a baseline" in body
    blessed = here.get(f"/runs/{runs[1]}").body
    assert "Blessed as" in blessed and "three runs, the middle one" in blessed and "Ada Byron" in blessed


def test_a_run_is_found_by_whatever_names_it(here: Here, runs: list[str]) -> None:
    for name in (runs[1][:6], "main", "history:main", "commit:c3c3c3c3"):
        assert here.get(f"/runs/{name}").status == 200, name
    missing = here.get("/runs/ffffffffffff")
    assert missing.status == 404 and "RW-H07" in missing.body


def test_what_is_kept_of_a_run_can_be_had_again(here: Here, runs: list[str], folder: Path) -> None:
    kept = here.get(f"/runs/{runs[-1]}/report.json")
    assert kept.headers["content-disposition"] == f'attachment; filename="{runs[-1]}-report.json"'
    assert json.loads(kept.body)["verdict"] == "SHIP"
    receipt = here.get(f"/runs/{runs[-1]}/receipt.json")
    assert receipt.body == (folder / ".ragworthy/receipt.json").read_text()
    assert here.get(f"/runs/{runs[-1]}/report.md").body.startswith("## ")
    assert here.get(f"/runs/{runs[-1]}/report.html").body.startswith("<!doctype html>")


def test_the_trend_says_what_the_command_says(here: Here, folder: Path) -> None:
    done = run_cli("history", "trend", "--format", "json", "-c", folder / "ragworthy.toml")
    told = json.loads(done.out)
    body = here.get("/trend").body.replace("&#39;", "'")
    alerts = [alert for one in told["metrics"].values() for alert in one["alerts"]]
    assert alerts
    for alert in alerts:
        assert alert in body
    assert told["against"] in body and body.count("<svg") >= 4
    chosen = here.get("/trend?metric=answers.precision").body
    assert "Trend of answers.precision" in chosen and "0.617" in chosen and chosen.count("<svg") == 2


def test_two_runs_are_compared_as_the_command_compares_them(here: Here, runs: list[str], folder: Path) -> None:
    words = (f"history:{runs[1]}", f"history:{runs[4]}", "-c", folder / "ragworthy.toml")
    told = json.loads(run_cli("compare", *words, "--format", "json").out)
    body = here.get(f"/compare?a=main&b={runs[4]}").body
    broken = told["suites"]["answers"]["broken"]
    assert len(broken) > 10 and f"{len(broken)} broken" in body
    for one in broken:
        assert f"qid={one['qid']}" in body
    assert "answers.precision" in told["metrics"] and "0.617" in body


def test_one_question_is_followed_through_the_runs(here: Here, runs: list[str]) -> None:
    rows = here.get(f"/questions?run={runs[4]}&label=ANS_NO_HIT").body
    qid = rows.partition("qid=")[2].partition('"')[0]
    body = here.get(f"/questions?suite=answers&qid={qid}").body
    assert all(one in body for one in runs), "every run has it"
    assert "ANS_NO_HIT" in body and "✓ OK" in body and "Why it is wrong" in body
    missing = here.get("/questions?suite=answers&qid=nothing")
    assert missing.status == 404 and "RW-U13" in missing.body


def test_pages_are_there_where_nothing_is_to_be_shown(here: Here) -> None:
    assert "No live traffic is watched here" in here.get("/live").body
    assert "No rollout was started" in here.get("/rollout").body
    assert "choose a run" in here.get("/compare").body
    missing = here.get("/nothing")
    assert missing.status == 404 and "there is no such page" in missing.body.lower()


# live traffic


def test_alerts_come_from_the_state_of_a_monitor(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(folder, site)
    write_jsonl(site / "live.jsonl", [*live_logs.traffic(0, 10), *live_logs.traffic(11, 30, answer={"coverage": 0.2})])
    words = ("--state", ".ragworthy/monitor.db", "--alerts", "alerts.jsonl", "-q")
    assert live_logs.run("live.jsonl", "--once", "--close", *words, cwd=site).returncode == 1
    lines = [json.loads(line) for line in (site / "alerts.jsonl").read_text().splitlines()]
    with serving(site) as here:
        kept = here.get("/live").body
    with serving(site, "--state", "none.db", "--alerts", "alerts.jsonl") as here:
        filed = here.get("/live").body
    for body in (kept, filed):
        for one in lines:
            assert one["rule"] in body
        assert "fires since" in body and "✗ firing" in body
    assert "Rules at" in kept and "rerank_instability" in kept
    with sqlite3.connect(site / ".ragworthy/monitor.db") as db, serving(site, "--alerts", "alerts.jsonl") as here:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        held = here.get("/live").body
        db.rollback()
    assert "A monitor that runs holds its state" in held and "coverage" in held


# hostile texts


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><script>", "]]>", "{{ 7*7 }}",
    "\u202eabc\u2066", "\x1b[31mred", "a" * 5000, "' onmouseover='alert(1)", "javascript:alert(1)",
]  # fmt: skip


def test_hostile_texts_stay_texts_on_every_page(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    site_laid.lay(folder)
    names = [f"q{nth}{text[:60]}" for nth, text in enumerate(HOSTILE)]
    gold = [
        {"qid": name, "question": text, "answerable": True, "gold_claim_substr": ["value"], "gold_citations": ["x#1"]}
        for name, text in zip(names, HOSTILE, strict=True)
    ]
    write_jsonl(folder / "gold.jsonl", gold)
    policy = (folder / "ragworthy.toml").read_text().replace('corpus = "chunks.jsonl"\n', "")
    (folder / "ragworthy.toml").write_text(policy)
    for nth in range(2):
        traces = [
            {"qid": name, "retrieved_ids": [text[:80]], "note": str(nth),
             "answer_json": {"claim": f"{text} {nth}", "citations": [text[:80]]}}
            for name, text in zip(names, HOSTILE, strict=True)
        ]  # fmt: skip
        write_jsonl(folder / "runs/traces.jsonl", traces)
        kept = ("--store", folder / ".ragworthy/history.db", "--commit", f"<i>{nth}</i>")
        done = run_cli("gate", "-q", "-c", folder / "ragworthy.toml", *kept)
        assert done.code in (0, 1, 4), done.err
    runs = site_laid.runs_of(folder)
    with serving(folder) as here:
        paths = [
            "/runs",
            *(f"/runs/{one}" for one in runs),
            f"/compare?a={runs[0]}&b={runs[1]}",
            "/questions",
            "/trend",
        ]
        paths += [f"/questions?suite=answers&qid={urllib.parse.quote(name)}" for name in names if name.isprintable()]
        paths += ["/runs?commit=" + urllib.parse.quote(HOSTILE[0]), "/questions?find=" + urllib.parse.quote(HOSTILE[1])]
        paths += [
            "/runs/" + urllib.parse.quote(HOSTILE[0], safe=""),
            "/questions?qid=" + urllib.parse.quote(HOSTILE[1]),
        ]
        for path in paths:
            found = here.get(path)
            assert found.status in (200, 404), (path, found.status)
            for text in ("<script>alert", "<img src=x", "</title><script", "\u202e", "\u2066", "\x1b", "<i>0</i>"):
                assert text not in found.body, (path, text)
            markup = re.sub(r'<script type="application/json".*?</script>', "", found.body, flags=re.S)
            assert " onmouseover='" not in markup, path


# a history that is changed, broken or gone


def test_pages_are_whole_while_runs_are_added(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(folder, site)
    report = json.loads((site / "eval/last_report.json").read_text())
    failed: list[object] = []

    def write(first: int) -> None:
        from ragworthy.history.store import open_store

        store = open_store(site / ".ragworthy/history.db")
        for nth in range(first, first + 12):
            try:
                store.add({**report, "provenance": {**report["provenance"], "nth": nth}}, commit=f"{nth:040x}")
            except Exception as error:  # noqa: BLE001 - told below
                failed.append(error)

    with serving(site) as here:
        writers = [threading.Thread(target=write, args=(first,)) for first in (100, 200)]
        for one in writers:
            one.start()
        codes = []
        while any(one.is_alive() for one in writers):
            codes += [here.get(path).status for path in ("/runs", "/trend", "/compare", "/questions", "/runs/main")]
        assert failed == [] and codes and set(codes) == {200}
        assert "30 runs, newest first" in here.get("/runs").body


def test_a_history_that_breaks_is_an_error_in_words(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(folder, site)
    with serving(site) as here:
        path = site / ".ragworthy/history.db"
        data = path.read_bytes()
        path.write_bytes(b"no database at all" * 1000)
        broken = here.get("/runs")
        path.unlink()
        gone = here.get("/runs")
        path.write_bytes(data[: len(data) // 2])
        half = here.get("/trend")
        path.write_bytes(data)
        assert here.get("/runs").status == 200
        code, _, errors = here.ended()
    assert (broken.status, gone.status) == (409, 404) and half.status in (200, 409)
    assert "RW-H02" in broken.body and "RW-H01" in gone.body
    for found in (broken, gone, half):
        assert "Traceback" not in found.body and "sqlalchemy" not in found.body.lower()
    assert code == 0 and "Traceback" not in errors
