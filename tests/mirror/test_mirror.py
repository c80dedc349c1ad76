"""`mirror` with real processes: the sample, both sides, budgets, a slow shadow, what is killed and goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, run_cli, write_jsonl
from places import SERVERS
from ragworthy.mirror.questions import chosen, sample

Row = dict[str, Any]
Served = Callable[..., tuple[str, Path]]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A pipeline in a process of its own: gives its address and the file in which it notes requests."""
    running: list[subprocess.Popen[str]] = []

    def serve(delay: float = 0.0, broken: str = "") -> tuple[str, Path]:
        notes = tmp_path / f"notes{len(running)}"
        notes.touch()
        words = [sys.executable, str(SERVERS / "mirrored.py"), str(notes), str(delay), *([broken] if broken else [])]
        one = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        running.append(one)
        assert one.stdout is not None
        return f"http://127.0.0.1:{one.stdout.readline().strip()}/ask", notes

    yield serve
    for one in running:
        one.kill()
        one.communicate()


def log(path: Path, count: int, **more: Any) -> Path:
    """A log of live records."""
    rows = [
        {"qid": f"q{nth:04}", "question": f"What is number {nth}?",
         "retrieval": {"topk": [f"doc{nth % 20}#1", f"doc{(nth + 7) % 20}#2"], "index_hash": "live-1",
                       "ΔS_list": [0.3, 0.5]},
         "answer": {"citations": [f"doc{nth % 20}#1"], "ΔS": 0.3, "λ_final": "→", "claim": "It is."},
         "perf": {"t_retrieve_ms": 10, "t_reason_ms": 20}, "context": {"build": "v1"},
         "ts": f"2026-11-02T12:{nth % 60:02}:00Z", **more}
        for nth in range(count)
    ]  # fmt: skip
    return write_jsonl(path, rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mirrored(out: Path, *words: object) -> tuple[Done, Row]:
    done = run_cli("mirror", "--out", out, *words)
    report = out / "mirror.json"
    return done, json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}


# the sample


def test_the_same_log_gives_the_same_sample_and_a_larger_share_holds_a_smaller_one(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", 2000)
    small, large = (sample([str(path)], Fraction(share)) for share in ("0.01", "0.1"))
    names = {one.qid for one in small.questions}
    assert names < {one.qid for one in large.questions}
    assert 8 <= len(names) <= 40 and small.left_out == 2000 - len(names)
    shuffled = path.read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(3).shuffle(shuffled)
    path.write_text("".join(shuffled), encoding="utf-8")
    assert {one.qid for one in sample([str(path)], Fraction("0.01")).questions} == names
    assert names == {f"q{nth:04}" for nth in range(2000) if chosen(f"q{nth:04}", Fraction("0.01"))}


def test_nothing_of_a_log_is_dropped_in_silence(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", 10)
    with path.open("a", encoding="utf-8") as file:
        file.write(path.read_text(encoding="utf-8").splitlines()[0] + "\n")
        file.write('{"qid": "x"}\n{"qid": 4, "question": 5}\n{"qid": [], "question": "a"}\nplain text?\n')
    found = sample([str(path)], Fraction(1))
    assert (found.records, len(found.questions)) == (15, 11)
    assert (found.repeated, found.without_question, found.unreadable, found.left_out) == (1, 2, 1, 0)
    assert found.questions[-1].text == "plain text?"


# both sides


def test_a_log_against_a_shadow(tmp_path: Path, served: Served) -> None:
    url, notes = served()
    path = log(tmp_path / "log.jsonl", 300)
    done, body = mirrored(tmp_path / "out", "--live", path, "--shadow", url, "--share", "0.2", "--shadow-build", "v2")
    assert done.code == 0, done.out + done.err
    assert done.out.endswith("verdict: SHIP (exit 0)\n")
    count = body["sample"]["chosen"]
    assert (body["schema"], body["sample"]["records"], body["sample"]["left_out"]) == (
        "ragworthy.mirror/1", 300, 300 - count,
    )  # fmt: skip
    assert body["asked"]["shadow"] | {"reasons": {}} == {
        "asked": count, "answered": count, "refused": 0, "errored": 0, "not_asked": 0, "reasons": {}, "budget": None,
    }  # fmt: skip
    assert len(notes.read_text().splitlines()) == count
    live, shadow = lines(tmp_path / "out" / "live.jsonl"), lines(tmp_path / "out" / "shadow.jsonl")
    assert [one["qid"] for one in live] == [one["qid"] for one in shadow] and len(live) == count
    assert {one["context"]["build"] for one in live} == {"v1"}
    assert {one["context"]["build"] for one in shadow} == {"v2"}
    assert live[0]["answer"] | {"claim": None} == {
        "citations": live[0]["retrieval"]["topk"][:1], "coverage": 1.0, "ΔS": 0.3, "λ_final": "→", "claim": None,
        "refused": False,
    }  # fmt: skip
    assert set(shadow[0]) == {"qid", "question", "retrieval", "answer", "perf", "context", "ts"}
    assert body["delta_s"]["live"] == {"source": "recorded", "without_text": 0, "n": count, "median": 0.3, "p90": 0.3}


def test_monitor_reads_what_a_mirror_writes(tmp_path: Path, served: Served) -> None:
    from ragworthy.monitor.replay import minutes

    url, _ = served()
    mirrored(tmp_path / "out", "--live", log(tmp_path / "log.jsonl", 50), "--shadow", url, "--share", "1")
    live = list(minutes([tmp_path / "out" / "live.jsonl"]))
    shadow = list(minutes([tmp_path / "out" / "shadow.jsonl"]))
    assert sum(one.records for one in live) == sum(one.records for one in shadow) == 50
    assert sum(one.total("coverage") for one in shadow) == 50
    assert sum(one.count("reason_ms") for one in shadow) == 50
    assert {built for one in live for built in one.built} == {("v1", "live-1")}


def test_churn_is_that_of_the_lists(tmp_path: Path) -> None:
    """W-48's lists: abcd against abce has τ-b 0.8 and an overlap of three of five."""
    live = [
        {"qid": "1", "question": "one?", "retrieval": {"topk": [*"abcd"]}, "answer": {"citations": ["a"]}},
        {"qid": "2", "question": "two?", "retrieval": {"topk": [*"abc"]}, "answer": {"citations": ["a"]}},
    ]
    shadow = [
        {"qid": "1", "q": "one?", "retrieved_ids": [*"abce"], "answer_json": {"claim": "x", "citations": ["a"]}},
        {"qid": "2", "q": "two?", "retrieved_ids": [*"cba"], "answer_json": {"claim": "x", "citations": ["c"]}},
    ]
    write_jsonl(tmp_path / "log.jsonl", live)
    write_jsonl(tmp_path / "traces.jsonl", shadow)
    words = ("--live", tmp_path / "log.jsonl", "--shadow", f"replay:{tmp_path / 'traces.jsonl'}", "--share", "1")
    done, body = mirrored(tmp_path / "out", *words)
    assert done.code == 0, done.out + done.err
    rows = {one["qid"]: one for one in lines(tmp_path / "out" / "questions.jsonl")}
    assert (rows["1"]["overlap"], rows["1"]["tau"], rows["1"]["lost"]) == (0.6, 0.8, ["d"])
    assert (rows["2"]["overlap"], rows["2"]["tau"], rows["2"]["lost"]) == (1.0, -1.0, [])
    assert (rows["1"]["same_first"], rows["2"]["same_first"], rows["2"]["same_any"]) == (True, False, False)
    assert body["churn"]["tau_mean"] == -0.1 and body["churn"]["overlap_mean"] == 0.8
    assert body["lost"]["listed"] == [
        {"document": "d", "questions": 1, "gone": True, "cited_live": 0, "qids": ["1"]}
    ]  # fmt: skip
    assert body["citations"]["told_by"] == {"id": 6}


def test_citations_are_matched_by_their_texts_and_not_by_ids(tmp_path: Path) -> None:
    """The shadow cuts the documents again, under other ids and another name."""
    long = "Backups are kept for thirty days. After that they are deleted for good and nobody can bring them back."
    old = {"guide|1": long, "other|1": "Prices are in euros."}
    new = {"handbook|7": long[:60], "guide|1": "Ask support by mail."}
    for name, chunks in (("old", old), ("new", new)):
        rows = [{"chunk_id": key, "doc_id": key.partition("|")[0], "text": text} for key, text in chunks.items()]
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    write_jsonl(tmp_path / "log.jsonl", [{"qid": "1", "question": "How long are backups kept?",
                "retrieval": {"topk": ["guide|1", "other|1"]}, "answer": {"citations": ["guide|1"]}}])  # fmt: skip
    write_jsonl(tmp_path / "traces.jsonl", [{"qid": "1", "q": "How long are backups kept?",
                "retrieved_ids": ["handbook|7", "guide|1"],
                "answer_json": {"claim": "30 days", "citations": ["handbook|7"]}}])  # fmt: skip
    done, body = mirrored(
        tmp_path / "out", "--live", tmp_path / "log.jsonl", "--shadow", f"replay:{tmp_path / 'traces.jsonl'}",
        "--share", "1", "--live-corpus", tmp_path / "old.jsonl", "--shadow-corpus", tmp_path / "new.jsonl",
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    row = lines(tmp_path / "out" / "questions.jsonl")[0]
    assert row["same_first"] is True and row["overlap"] == 0.333333  # guide|1 of either side is not the same
    assert row["lost"] == ["other"] and body["citations"]["told_by"] == {"text": 1}
    assert body["delta_s"]["live"]["source"] == body["delta_s"]["shadow"]["source"] == "wordllama"
    assert body["delta_s"]["live"]["n"] == 1 and sum(body["delta_s"]["moved"].values()) == 1


def test_lambda_of_both_sides(tmp_path: Path) -> None:
    """Three wordings of two questions: live leads to one section each, the shadow is divided once."""
    live, shadow = [], []
    for qid in ("1", "2"):
        for nth in range(3):
            asked = {"qid": qid, "question": f"wording {nth} of {qid}?", "paraphrase": nth}
            live.append(asked | {"retrieval": {"topk": [f"S.{qid}.p.Bk001"]},
                                 "answer": {"citations": [f"S.{qid}.p.Bk001"]}})  # fmt: skip
            section = "9" if (qid, nth) == ("2", 1) else qid
            shadow.append({"qid": qid, "q": asked["question"], "paraphrase": nth, "seed": 0,
                           "retrieved_ids": [f"S.{section}.p.Bk002"],
                           "answer_json": {"claim": "x", "citations": [f"S.{section}.p.Bk002"]}})  # fmt: skip
    write_jsonl(tmp_path / "log.jsonl", live)
    write_jsonl(tmp_path / "traces.jsonl", shadow)
    words = ("--live", tmp_path / "log.jsonl", "--shadow", f"replay:{tmp_path / 'traces.jsonl'}", "--share", "1")
    done, body = mirrored(tmp_path / "out", *words)
    assert done.code == 0, done.out + done.err
    assert body["lambda"] == {
        "live": {"triplets": 2, "diverged": 0, "flip_rate": 0.0},
        "shadow": {"triplets": 2, "diverged": 1, "flip_rate": 0.5},
    }
    marks = {(one["qid"], one["paraphrase"]): one["answer"]["λ_final"] for one in lines(tmp_path / "out/shadow.jsonl")}
    assert marks == {("1", 0): "→", ("1", 1): "→", ("1", 2): "→", ("2", 0): "→", ("2", 1): "×", ("2", 2): "→"}


@pytest.mark.parametrize(("broken", "code"), [("uncited", "empty_citations"), ("elsewhere", "not_retrieved")])
def test_answers_must_cite_first(tmp_path: Path, served: Served, broken: str, code: str) -> None:
    url, _ = served(broken=broken)
    path = log(tmp_path / "log.jsonl", 40)
    done, body = mirrored(tmp_path / "out", "--live", path, "--shadow", url, "--share", "1")
    assert (done.code, body["verdict"]) == (1, "NO-SHIP")
    assert body["cite_first"]["broken"] == {code: 40 - body["cite_first"]["kept"]}
    words = ("--live", path, "--shadow", url, "--share", "1", "--resume", "--max-uncited", "1")
    assert mirrored(tmp_path / "out", *words)[0].code == 0


def test_a_shadow_of_errors_is_no_evidence(tmp_path: Path, served: Served) -> None:
    url, _ = served(broken="errors")
    words = ("--live", log(tmp_path / "log.jsonl", 12), "--shadow", url, "--share", "1", "--keep-going")
    done, body = mirrored(tmp_path / "out", *words)
    assert (done.code, body["verdict"]) == (4, "INVALID")
    assert body["invalid"] == ["more than half of the replies of the shadow are errors: 12 of 12"]
    assert lines(tmp_path / "out" / "shadow.jsonl")[0]["error"].startswith("status 500")


# limits


def test_a_slow_shadow_does_not_slow_the_live_side(tmp_path: Path, served: Served) -> None:
    fast, seen_fast = served(0.0)
    slow, seen_slow = served(0.3)
    path = log(tmp_path / "log.jsonl", 24)
    words = ("--live", fast, "--questions", path, "--share", "1", "--timeout", "5")
    done, _ = mirrored(tmp_path / "alone", *words, "--shadow", fast)
    assert done.code == 0, done.out + done.err
    done, _ = mirrored(tmp_path / "out", *words, "--shadow", slow)
    assert done.code == 0, done.out + done.err
    took = [one["perf"]["e2e_ms"] for one in lines(tmp_path / "out" / "live.jsonl")]
    assert (
        sorted(took)[len(took) // 2]
        < 150
        < 300
        <= min(one["perf"]["e2e_ms"] for one in lines(tmp_path / "out" / "shadow.jsonl"))
    )
    # the last question to live had left before the first one to the slow shadow did
    last = [float(line.split()[0]) for line in seen_fast.read_text().splitlines()][-1]
    assert last < float(seen_slow.read_text().split()[0])


def test_time_outs_are_errors_and_the_rest_goes_on(tmp_path: Path, served: Served) -> None:
    url, _ = served(3.0)
    words = ("--live", log(tmp_path / "log.jsonl", 6), "--shadow", url, "--share", "1", "--timeout", "0.2")
    begun = time.monotonic()
    done, body = mirrored(tmp_path / "out", *words, "--keep-going")
    assert time.monotonic() - begun < 5
    assert done.code == 4 and body["asked"]["shadow"]["reasons"] == {"timeout": 6}


def test_a_budget_of_requests_holds_over_all_runs_of_a_folder(tmp_path: Path, served: Served) -> None:
    url, notes = served()
    words = ("--live", log(tmp_path / "log.jsonl", 50), "--shadow", url, "--share", "1")
    done, body = mirrored(tmp_path / "out", *words, "--budget", "20")
    assert done.code == 3 and "the budget is used up: 20 requests\n" in done.out
    assert body["inconclusive"] == ["more than half of the questions were not asked: 30 of 50"]
    assert (body["asked"]["shadow"]["asked"], body["asked"]["shadow"]["not_asked"]) == (20, 30)
    assert len(notes.read_text().splitlines()) == 20
    _, body = mirrored(tmp_path / "out", *words, "--budget", "20", "--resume")
    assert body["asked"]["shadow"]["asked"] == len(notes.read_text().splitlines()) == 20
    _, body = mirrored(tmp_path / "out", *words, "--budget", "45", "--resume")
    assert body["asked"]["shadow"]["asked"] == len(notes.read_text().splitlines()) == 45
    assert (body["verdict"], body["inconclusive"]) == ("SHIP", [])


def test_a_budget_of_money_is_never_overspent(tmp_path: Path, served: Served) -> None:
    """Each reply takes 500 tokens: at 0.02 for a thousand, 0.01. Ten of them are 0.10."""
    url, notes = served(0.02)
    words = ("--live", log(tmp_path / "log.jsonl", 50), "--shadow", url, "--share", "1", "--concurrency", "8")
    done, body = mirrored(tmp_path / "out", *words, "--spend", "0.105", "--price", "0.02")
    assert done.code == 3 and "the budget is used up: a spend of 0.105\n" in done.out
    assert body["asked"]["shadow"]["asked"] == len(notes.read_text().splitlines()) == 10


def test_a_budget_of_money_needs_to_know_what_a_reply_costs(tmp_path: Path) -> None:
    shadow = [{"qid": f"q{nth:04}", "q": f"What is number {nth}?", "retrieved_ids": ["a"],
               "answer_json": {"claim": "x", "citations": ["a"]}} for nth in range(9)]  # fmt: skip
    write_jsonl(tmp_path / "traces.jsonl", shadow)
    words = ("--live", log(tmp_path / "log.jsonl", 9), "--shadow", f"replay:{tmp_path / 'traces.jsonl'}")
    more = ("--share", "1", "--spend", "1", "--price", "0.02", "--concurrency", "1")
    done, body = mirrored(tmp_path / "out", *words, *more)
    assert body["asked"]["shadow"]["asked"] == 1
    assert "what a reply costs is not known (usage is not recorded)" in done.out


def test_a_rate_is_held(tmp_path: Path, served: Served) -> None:
    url, notes = served()
    words = ("--live", log(tmp_path / "log.jsonl", 21), "--shadow", url, "--share", "1", "--rate", "20")
    assert mirrored(tmp_path / "out", *words)[0].code == 0
    times = [float(line.split()[0]) for line in notes.read_text().splitlines()]
    assert times[-1] - times[0] >= 0.95  # twenty gaps of 50 ms
    took = [one["perf"]["e2e_ms"] for one in lines(tmp_path / "out" / "shadow.jsonl")]
    assert sorted(took)[10] < 45  # the wait is nobody's latency


# killed


def test_killed_again_and_again_nothing_is_lost_or_doubled(tmp_path: Path, served: Served) -> None:
    url, notes = served(0.01)
    count = 120
    path = log(tmp_path / "log.jsonl", count)
    out = tmp_path / "out"
    words = [sys.executable, "-m", "ragworthy", "mirror", "--out", str(out), "--live", str(path), "--shadow", url,
             "--share", "1", "--budget", str(2 * count), "--resume", "-q"]  # fmt: skip
    chance = random.Random(5)
    kills = 0
    for _ in range(8):
        one = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = len(notes.read_text().splitlines())
        wait = time.monotonic() + 10
        while len(notes.read_text().splitlines()) < before + chance.randrange(2, 12) and time.monotonic() < wait:
            if one.poll() is not None:
                break
            time.sleep(0.005)
        kills += one.poll() is None
        os.kill(one.pid, signal.SIGKILL)
        one.wait()
    assert kills >= 6
    done = run_cli(*words[3:])
    assert done.code == 0, done.out + done.err
    shadow = lines(out / "shadow.jsonl")
    assert [one["qid"] for one in shadow] == [f"q{nth:04}" for nth in range(count)]
    once, _ = mirrored(tmp_path / "once", "--live", path, "--shadow", url, "--share", "1")
    assert once.code == 0

    def without_clock(rows: list[Row]) -> list[Row]:
        return [one | {"ts": None, "perf": None} for one in rows]

    assert without_clock(shadow) == without_clock(lines(tmp_path / "once" / "shadow.jsonl"))
    for name in ("mirror.json", "questions.jsonl"):
        assert (out / name).read_bytes() == (tmp_path / "once" / name).read_bytes()
    sent = (out / "shadow" / "requests").stat().st_size
    assert count <= sent <= 2 * count and sent >= len(notes.read_text().splitlines()) - count


# what is refused


def test_messages(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", 3)
    for words, message in (
        (("--live", "http://127.0.0.1:9/ask"), "--live: expected a log, or a target with --questions besides it"),
        (("--live", path, "--questions", path), "--questions: expected a live TARGET besides it, got a log"),
        (("--live", path, "--share", "0"), "--share: expected a share above 0, got 0"),
        (("--live", path, "--share", "2"), "--share: expected a number from 0 to 1, got 2"),
        (("--live", path, "--max-uncited", "1.5"), "--max-uncited: expected a number from 0 to 1, got 1.5"),
        (("--live", path, "--spend", "1"), "expected --spend and --price, got one of them"),
        (("--live", path, "-o", "x.html"), "x.html: expected .json, .md or .txt"),
        (("--live", path, "--share", "0.000001"), "expected questions to mirror, got none of 3 records [RW-Z06]"),
    ):
        done = run_cli("mirror", "--out", tmp_path / "out", "--shadow", "cmd:true", *words)
        assert done.code == 2 and message in done.err, done.err


def test_a_folder_with_replies_is_not_taken_for_another_run(tmp_path: Path, served: Served) -> None:
    url, _ = served()
    path = log(tmp_path / "log.jsonl", 5)
    assert mirrored(tmp_path / "out", "--live", path, "--shadow", url, "--share", "1")[0].code == 0
    done, _ = mirrored(tmp_path / "out", "--live", path, "--shadow", url, "--share", "1")
    assert done.code == 2 and "expected a new folder, got one with 5 replies [RW-J01]" in done.err
    log(path, 6)
    done, _ = mirrored(tmp_path / "out", "--live", path, "--shadow", url, "--share", "1", "--resume")
    assert done.code == 2 and "[RW-J02]" in done.err


def test_texts_of_a_log_cannot_steer_a_terminal_or_a_page(tmp_path: Path) -> None:
    evil = "\x1b[2J<script>alert(1)</script> | [x](javascript:1)"
    write_jsonl(tmp_path / "log.jsonl", [{"qid": evil, "question": f"{evil}?", "retrieval": {"topk": [evil]},
                                          "answer": {"citations": [evil]}}])  # fmt: skip
    write_jsonl(tmp_path / "traces.jsonl", [{"qid": evil, "q": f"{evil}?", "retrieved_ids": ["b"],
                                             "answer_json": {"claim": "x", "citations": ["b"]}}])  # fmt: skip
    page = tmp_path / "page.md"
    done, _ = mirrored(tmp_path / "out", "--live", tmp_path / "log.jsonl", "--shadow",
                       f"replay:{tmp_path / 'traces.jsonl'}", "--share", "1", "-o", page)  # fmt: skip
    assert done.code == 0, done.err
    assert "\x1b" not in done.out and "\x1b" not in page.read_text(encoding="utf-8")
    assert "<script>" not in page.read_text(encoding="utf-8").replace("`", "") or "`" in page.read_text(
        encoding="utf-8"
    )
