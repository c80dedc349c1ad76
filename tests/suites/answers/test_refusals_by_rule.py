"""Refusals by rule, from the command line: rows, reports, baselines, runs, the doctor, and what packs are worth."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from places import DATA, ROOT

FILES = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
CLAIMS = {
    "a": "It was 1990.",
    "b": "The context does not mention the year.",
    "c": "I'm sorry, I couldn't find that in our documentation.",
    "d": "not in context",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold: list[dict[str, Any]] = []
    for qid in CLAIMS:
        can = qid in "ab"
        pieces = {"gold_claim_substr": ["1990"] if can else [], "gold_citations": ["p#1"] if can else []}
        gold.append({"qid": qid, "question": f"{qid}?", "answerable": can, **pieces})
    answers = [{"claim": claim, "citations": ["p#1"] if qid == "a" else []} for qid, claim in CLAIMS.items()]
    write_jsonl(Path("gold.jsonl"), gold)
    traces = zip(CLAIMS, answers, strict=True)
    write_jsonl(Path("traces.jsonl"), [{"qid": q, "retrieved_ids": ["p#1"], "answer_json": one} for q, one in traces])


def scored(*flags: str) -> dict[str, Any]:
    done = run_cli("score", "answers", *FILES, "--format", "json", *flags)
    report: dict[str, Any] = json.loads(done.out)
    return report


def test_rows_offenders_and_the_report_name_the_rule() -> None:
    report = scored("--refusal-pack", "en", "--rows", "rows.jsonl")
    body = report["suites"]["answers"]
    assert (body["counts"]["answered"], body["counts"]["refused"]) == (1, 3)
    assert body["refusal_rules"] == {"en:absent": 1, "en:cannot": 1}
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [row["refusal_rule"] for row in rows] == [None, "en:absent", "en:cannot", None]
    (offender,) = body["offenders"]
    assert (offender["qid"], offender["label"], offender["refusal_rule"]) == ("b", "OVER_REFUSAL", "en:absent")
    assert offender["why"].endswith(", by the rule en:absent")
    assert (
        "  refused by rule: en:absent 1, en:cannot 1"
        in run_cli("score", "answers", "--full", *FILES, "--refusal-pack", "en").out.splitlines()
    )


def test_without_rules_nothing_is_said_of_them() -> None:
    body = scored("--rows", "rows.jsonl")["suites"]["answers"]
    assert "refusal_rules" not in body
    assert not [key for key in body["settings"] if key.startswith("refusal_")]
    assert "refusal_rule" not in Path("rows.jsonl").read_text()


def test_beginnings_and_patterns_in_every_number_of_processes() -> None:
    flags = ("--refusal-start", "I'm SORRY, i", "--refusal-pattern", "does not mention")
    one, two = (scored(*flags, "--jobs", jobs) for jobs in ("1", "2"))
    assert one == two
    assert one["suites"]["answers"]["refusal_rules"] == {"pattern 1": 1, "start 1": 1}


def test_a_baseline_with_other_rules_is_not_compared() -> None:
    run_cli("score", "answers", *FILES, "-o", "plain.json")
    run_cli("score", "answers", *FILES, "--refusal-pack", "en", "-o", "packed.json")
    Path("gates.toml").write_text('[[gate]]\nmetric = "over"\nmax_drop = 0.5\n')
    for baseline, flags in (("plain.json", ("--refusal-pack", "en")), ("packed.json", ())):
        report = scored("--gates", "gates.toml", "--baseline", baseline, *flags)
        reason = "the baseline is not comparable: it was scored with another setting of refusal_packs"
        assert report["gates"][0]["reason"] == reason
    assert scored("--gates", "gates.toml", "--baseline", "plain.json")["gates"][0]["outcome"] == "pass"


def test_the_doctor_shows_claims_that_do_not_recur_and_the_pack_that_knows_them() -> None:
    lines = run_cli("doctor", *FILES).out.splitlines()
    place = lines.index("2 claims read like a refusal (counted as answers)")
    assert lines[place + 1 : place + 5] == [
        f"  b         {CLAIMS['b']}",
        f"  c         {CLAIMS['c']}",
        "  a refusal pack knows 2 of 2; add to [answers] in the policy:",
        '    refusal_packs = ["en"]',
    ]


def test_a_run_counts_by_the_same_settings() -> None:
    command = ("run", "--target", "replay:traces.jsonl", "--gold", "gold.jsonl", "--out")
    plain = run_cli(*command, "plain").out.splitlines()
    assert plain[0] == "asked 4 = answered 3 + refused 1 + errored 0"
    assert plain[1].startswith('2 answers read like a refusal, e.g. "')
    assert "--refusal-pack en makes them refusals, leave it out if they are answers" in plain[1]
    assert next(line for line in plain if line.startswith("next: ")).endswith(" --refusal-pack en")
    packed = run_cli(*command, "packed", "--refusal-pack", "en").out.splitlines()
    assert packed[0] == "asked 4 = answered 1 + refused 3 + errored 0"
    assert not any("like a refusal" in line for line in packed)
    Path("p.toml").write_text(
        'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\nrefusal_packs = ["en"]\n'
    )
    assert run_cli(*command, "policy", "-c", "p.toml").out.splitlines()[0] == packed[0]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--refusal-pack", "xx"),
         'refusal_packs: expected one of en, zh, zh-Hans, zh-Hant, ja, es, de, fr, got "xx" [RW-P18]'),
        (("--refusal-pattern", "x*"),
         "refusal_patterns: expected a pattern that can fail, got one that matches an empty text: x* [RW-P17]"),
        (("--refusal-start", " "),
         "refusal_starts: expected texts, got an empty one, with which every claim begins [RW-P03]"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_used(flags: tuple[str, ...], line: str) -> None:
    done = run_cli("score", "answers", *FILES, *flags)
    assert (done.code, done.err.splitlines()[0]) == (2, line)


@pytest.mark.data("data/llm_answers")
def test_the_page_says_what_the_packs_are_worth_today() -> None:
    spec = importlib.util.spec_from_file_location("refusals_bench", ROOT / "benchmarks/refusals.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    page = (ROOT / "docs/refusals.md").read_text(encoding="utf-8")
    told = page.split(bench.BEGIN)[1].split(bench.END)[0].strip()
    assert told == bench.table(DATA)
    by_set = {(one.pack, one.source): one for one, _ in bench.measure(DATA)}
    real = by_set["en", "qwen3_squad2"]
    assert (real.right / real.found, real.right / real.refusals) >= (0.99, 0.95)
