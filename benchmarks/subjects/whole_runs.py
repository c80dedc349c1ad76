"""The HTML report, and live traffic replayed: nobody else has these, so the growth is what is looked at."""

import json

import answers as generating
import monitor as live
from runner import OURS, Bench, Line, Ran, Subject, exponent, progress, run

QUESTIONS, RECORDS = 5_000, 100_000
REPORT = "A report of scored answers as one HTML page, with every question on it; the whole process."
MONITOR = "Generated live records, a thousand a second of their own time, replayed once without a state; one core."


def report(bench: Bench) -> Subject:
    """The HTML page."""
    progress("HTML report")
    many = bench.count(QUESTIONS)
    pair = generating.generate(bench.folder, many)
    lines, facts = list[Line](), []
    for count in (many // 5, many):
        part = generating.first_of(pair, count, bench.folder)
        scored, target = bench.folder / f"report-{count}.json", bench.folder / f"report-{count}.html"
        run([*OURS, "score", "answers", *part.arguments, "-o", scored, "--full"])
        done = run([*OURS, "report", scored, "-o", target], bench.times)
        before = lines[0] if lines else None
        growth = exponent((before.size, before.ran.processor), (count, done.processor)) if before else None
        lines.append(Line("ragworthy", count, done, growth))
        facts.append((f"the page for {count:,} questions", f"{target.stat().st_size / 1e6:.2f} MB"))
    return Subject("HTML report", REPORT, "questions", tuple(lines), tuple(facts))


def monitor(bench: Bench) -> Subject:
    """The replay."""
    progress("monitor replay")
    many, lines = bench.count(RECORDS), list[Line]()
    for count in (max(20, many // 5), many):
        log = bench.folder / f"live-{count}.jsonl"
        live.write(log, count)
        seconds, busy, peak, said = live.replayed(log, bench.folder)
        assert json.loads(said)["records"] == count, "records were lost"
        before = lines[0] if lines else None
        growth = exponent((before.size, before.ran.processor), (count, busy)) if before else None
        ran = Ran(seconds, busy, peak / 1000, said)
        lines.append(Line("ragworthy", count, ran, growth, "every record was counted"))
        log.unlink()
    return Subject("Monitor replay", MONITOR, "records", tuple(lines))
