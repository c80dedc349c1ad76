"""Gold that asks for all of several pieces: scoring in every suite, rows, offenders, lint, locks, import."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Row, run_cli, write_jsonl
from places import DATA
from ragworthy.load.lock import item_hash
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.stability import said_by
from ragworthy.records import Answer, Gold, Run, Trace
from ragworthy.suites import fork
from ragworthy.suites.agreement.validators import validators

WANTED = [["45 days", "forty-five days"], "sync"]
CLAIMS = {
    "both": "Copies are kept for 45 days; use harbor sync.",
    "other": "Forty-five days. The command is harbor SYNC.",
    "half": "Copies are kept for 45 days; use harbor cp.",
    "inside": "For 45 days, asynchronously.",
    "none": "Nobody keeps them.",
}


UNMET = "expected groups that a claim can meet, got one without a piece that counts [RW-G31]"


def item(qid: str, **more: Any) -> Row:
    wanted = {"answerable": True, "gold_claim_all": WANTED, "gold_citations": ["a#1", "b#1"]}
    return {"qid": qid, "question": f"How long, and how, in the case of {qid}?", **wanted, **more}


def trace(qid: str, claim: str, cited: str = "a#1", retrieved: tuple[str, ...] = ("a#1", "b#1")) -> Row:
    return {"qid": qid, "retrieved_ids": [*retrieved], "answer_json": {"claim": claim, "citations": [cited]}}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [*map(item, CLAIMS), {"qid": "u", "question": "Who?", "answerable": False}])
    refusal = {"qid": "u", "retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}}
    write_jsonl(Path("traces.jsonl"), [*(trace(qid, claim) for qid, claim in CLAIMS.items()), refusal])


def scored(*flags: str) -> dict[str, Any]:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--rows", "rows.jsonl")
    report = json.loads(run_cli("score", "answers", *files, "--format", "json", *flags).out)
    body: dict[str, Any] = report["suites"]["answers"]
    return body


def rows() -> dict[str, Row]:
    return {row["qid"]: row for row in map(json.loads, Path("rows.jsonl").read_text().splitlines())}


def test_every_group_must_be_met_and_any_piece_of_a_group_is_enough() -> None:
    body = scored()
    assert body["metrics"]["answers.containment"]["num"] == 2  # both, other
    assert body["metrics"]["answers.precision"]["num"] == 2
    found = rows()
    assert {qid: row["label"] for qid, row in found.items()} == {
        "both": "OK", "other": "OK", "half": "ANS_NO_CONTAIN", "inside": "ANS_NO_CONTAIN", "none": "ANS_NO_CONTAIN",
        "u": "REFUSAL_OK",
    }  # fmt: skip
    days = "45 days or forty-five days"
    assert found["half"]["claim_all"] == {"met": [days], "missing": ["sync"]}
    assert found["none"]["claim_all"] == {"met": [], "missing": [days, "sync"]}
    assert found["other"]["claim_all"] == {"met": [days, "sync"], "missing": []}
    assert "claim_all" not in found["u"]


def test_offenders_say_what_is_missing_and_what_was_expected() -> None:
    offenders = {one["qid"]: one for one in scored()["offenders"]}
    half = offenders["half"]
    assert half["why"] == "cites the right evidence, but the claim lacks the gold text; missing: sync"
    assert half["missing"] == ["sync"]
    assert half["expected"] == "45 days or forty-five days; and sync"
    text = run_cli("score", "answers", "--full", "--gold", "gold.jsonl", "--trace", "traces.jsonl").out
    assert "      expected   45 days or forty-five days; and sync\n" in text


def test_any_of_and_all_of_are_both_needed() -> None:
    write_jsonl(Path("gold.jsonl"), [item(qid, gold_claim_substr=["copies", "Copies of"]) for qid in CLAIMS])
    scored()
    assert {qid for qid, row in rows().items() if row["label"] == "OK"} == {"both"}
    assert rows()["other"]["claim_all"]["missing"] == ["copies or Copies of"]


def test_the_sources_field_keeps_its_meaning_and_an_empty_list_asks_for_nothing() -> None:
    nothing: list[list[str] | None] = [[], None, [], None, []]
    plain = [
        item(qid, gold_claim_substr=["45 days", "sync"], gold_claim_all=empty)
        for qid, empty in zip(CLAIMS, nothing, strict=True)
    ]
    write_jsonl(Path("gold.jsonl"), plain)
    scored()
    assert [qid for qid, row in rows().items() if row["label"] == "OK"] == ["both", "other", "half", "inside"]
    assert all("claim_all" not in row for row in rows().values())


@pytest.mark.parametrize("order", [1, -1])
def test_several_processes_give_the_same(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(f"q{nth:04d}", claim) for nth, claim in enumerate([*CLAIMS.values()] * 80)]
    write_jsonl(Path("gold.jsonl"), [item(qid) for qid, _ in many])
    write_jsonl(Path("traces.jsonl"), [trace(qid, claim) for qid, claim in many][::order])
    one, kept = scored(), Path("rows.jsonl").read_bytes()
    monkeypatch.setattr(fork, "SMALL", 0)
    assert scored("--jobs", "3") == one
    assert Path("rows.jsonl").read_bytes() == kept
    assert one["metrics"]["answers.containment"]["num"] == 160


PIECES = st.lists(st.sampled_from(["alpha", "beta!", "gamma ray", "Delta", "omega"]), min_size=1, max_size=3)


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(PIECES, min_size=1, max_size=3),
    st.one_of(st.none(), PIECES),
    st.lists(st.sampled_from(["alpha", "beta!", "gamma ray", "delta", "omega", "none"]), min_size=1, max_size=5),
)
def test_the_definition_against_plain_sets(groups: list[list[str]], some: list[str] | None, said: list[str]) -> None:
    gold = Gold(answerable=True, qid="q", question="?", gold_claim_all=[*groups], gold_claim_substr=some)
    flags = f.trace_flags(f.Rules())(gold, Trace(qid="q", answer_json=Answer(claim=" | ".join(said))))
    have = set(said)
    wanted = [*groups, *([some] if some else [])]
    assert bool(flags & f.CONTAINS) is all(have & {piece.lower() for piece in group} for group in wanted)
    run = said_by(f.Rules())(gold, Run(qid="q", answer_json=Answer(claim=" | ".join(said))))
    assert run.contains is bool(flags & f.CONTAINS)  # no piece here depends on punctuation between words


def test_agreement_and_latency_read_it_too() -> None:
    gold = Gold(answerable=True, qid="q", gold_claim_all=["45 days", "sync"], gold_citations=["a#1"])
    for claim, label in ((CLAIMS["both"], "VALID"), (CLAIMS["half"], "REJECT")):
        given_trace = Trace(qid="q", retrieved_ids=["a#1"], answer_json=Answer(claim=claim, citations=["a#1"]))
        assert validators(f.Rules(short_words=True)).scholar(gold, given_trace).label == label
    runs = [{**trace(qid, claim), "e2e_ms": 10, "load_rps": 1} for qid, claim in CLAIMS.items()]
    write_jsonl(
        Path("runs.jsonl"),
        [*runs, {"qid": "u", "e2e_ms": 9, "load_rps": 1, "answer_json": {"claim": "not in context"}}],
    )
    report = json.loads(
        run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--format", "json").out
    )
    values = {name: one["num"] for name, one in report["suites"]["latency"]["metrics"].items() if "precision" in name}
    assert set(values.values()) == {2}


def test_support_needs_each_group_in_a_cited_chunk() -> None:
    chunks = [
        {"chunk_id": "a#1", "text": "Copies are kept for 45 days."},
        {"chunk_id": "b#1", "text": "harbor sync copies."},
    ]
    write_jsonl(Path("chunks.jsonl"), chunks)
    write_jsonl(Path("gold.jsonl"), [item("one"), item("two")])
    two = trace("two", CLAIMS["both"])
    two["answer_json"]["citations"] = ["a#1", "b#1"]
    write_jsonl(Path("traces.jsonl"), [trace("one", CLAIMS["both"]), two])
    metrics = scored("--corpus", "chunks.jsonl")["metrics"]
    assert (metrics["answers.support"]["num"], metrics["answers.support"]["den"]) == (1, 2)


# the gold set itself


def test_what_is_wrong_with_the_field() -> None:
    bad = [
        item("a", gold_claim_all="sync"), item("b", gold_claim_all=["x", 4, ["y", None]]),
        item("c", gold_claim_all=[[], "45 days"]), item("d", gold_claim_all=["..."]),
    ]  # fmt: skip
    write_jsonl(Path("bad.jsonl"), bad)
    done = run_cli("score", "answers", "--gold", "bad.jsonl", "--trace", "traces.jsonl")
    assert done.code == 2
    assert [line for line in done.err.splitlines() if line.startswith("bad.jsonl")] == [
        'bad.jsonl:1: gold_claim_all: expected a list of texts, or of lists of texts, got "sync" [RW-G03]',
        "bad.jsonl:2: gold_claim_all[1]: expected a text or a list of texts, got 4 [RW-G03]",
        "bad.jsonl:2: gold_claim_all[2][1]: expected a string, got null [RW-G03]",
        f"bad.jsonl:3: gold_claim_all: {UNMET}",
        f"bad.jsonl:4: gold_claim_all: {UNMET}",
    ]
    lint = run_cli("gold", "lint", "bad.jsonl").out
    assert "error: bad.jsonl:3: gold_claim_all[0]: expected a piece that counts, got an empty group [RW-G31]" in lint
    assert 'error: bad.jsonl:4: gold_claim_all[0]: expected a piece that counts, got "..." [RW-G31]' in lint
    assert 'error: bad.jsonl:4: gold_claim_all[0]: expected a letter or a digit, got "..." [RW-G30]' in lint


def test_an_unanswerable_question_asks_for_nothing() -> None:
    write_jsonl(Path("bad.jsonl"), [item("a", answerable=False, gold_citations=[])])
    done = run_cli("score", "answers", "--gold", "bad.jsonl", "--trace", "traces.jsonl")
    assert (done.code, "[RW-G08]" in done.err) == (2, True)


def test_short_groups_under_the_sources_rule() -> None:
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--short-substr", "reject")
    assert done.code == 2  # "sync" has four characters
    assert done.err.count("[RW-G31]") == 5


def test_a_lock_holds_and_notices_a_change() -> None:
    assert run_cli("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "first").code == 0
    assert run_cli("gold", "verify", "gold.jsonl").code == 0
    Path("old.jsonl").write_bytes(Path("gold.jsonl").read_bytes())
    changed = [item(qid) for qid in CLAIMS]
    changed[0]["gold_claim_all"] = ["45 days"]
    write_jsonl(Path("gold.jsonl"), [*changed, {"qid": "u", "question": "Who?", "answerable": False}])
    assert run_cli("gold", "verify", "gold.jsonl").code == 4
    told = run_cli("gold", "diff", "old.jsonl", "gold.jsonl").out
    assert "changed: both (gold_claim_all): other claims are right now: precision and containment" in told
    # Items without the field hash as they did before there was one.
    before = hashlib.sha256(b'{"answerable":false,"qid":"a"}').hexdigest()
    assert item_hash({"qid": "a", "answerable": False}) == before


def test_import_reads_a_column_of_it() -> None:
    Path("sheet.csv").write_text(
        "question,gold_claim_all\n"
        '"How long, and how?","[[""45 days"", ""forty-five days""], ""sync""]"\n'
        '"Where, and when?","Rome; 1990"\n'
        '"Who?",\n'
    )
    done = run_cli("import", "csv", "sheet.csv", "--gold-out", "made.jsonl", "--split-on", ";")
    assert done.code == 0, done.err
    made = [json.loads(line) for line in Path("made.jsonl").read_text().splitlines()]
    assert [one.get("gold_claim_all") for one in made] == [WANTED, ["Rome", "1990"], None]
    assert [one["answerable"] for one in made] == [True, True, False]


def test_suggest_proposes_a_place_for_every_part() -> None:
    texts = ["Copies are kept for 45 days.", "45 days is how long.", "45 days, how long.", "harbor sync copies."]
    write_jsonl(Path("chunks.jsonl"), [{"chunk_id": f"c{nth}", "text": text} for nth, text in enumerate(texts)])
    bare = {"qid": "q", "question": "How long are copies kept?", "answerable": True, "gold_claim_all": WANTED}
    write_jsonl(Path("bare.jsonl"), [bare])
    assert run_cli("gold", "suggest", "bare.jsonl", "--corpus", "chunks.jsonl", "-o", "out.jsonl").code == 0
    (line,) = map(json.loads, Path("out.jsonl").read_text().splitlines())
    assert {one["chunk"] for one in line["candidates"][:2]} >= {"c3"}
    assert line["answers"] == ["45 days", "forty-five days", "sync"]


def test_doctor_counts_it() -> None:
    out = run_cli("doctor", "--gold", "gold.jsonl").out
    assert "  yes  containment: 5 questions" in out


@pytest.mark.data("data/llm_answers/rgb_zh_int/dev/gold.jsonl")
def test_questions_that_need_several_answers_by_their_authors() -> None:
    """RGB's integration set says which answers are all required; a claim with the first alone is half an answer."""
    golds = [json.loads(line) for line in (DATA / "llm_answers/rgb_zh_int/dev/gold.jsonl").read_text().splitlines()]
    items, traces, right = [], [], set()
    for nth, gold in enumerate(golds):
        groups = gold["answer_groups_all_required"]
        pieces = [one if isinstance(one, str) else one[0] for one in groups]
        claim = "，".join(pieces if nth % 2 else pieces[:1])
        items.append({**gold, "gold_claim_substr": [], "gold_claim_all": groups})
        traces.append(trace(gold["qid"], claim, gold["gold_citations"][0], tuple(gold["gold_citations"])))
        if all(any(one in claim for one in ([group] if isinstance(group, str) else group)) for group in groups):
            right.add(gold["qid"])
    write_jsonl(Path("gold.jsonl"), items)
    write_jsonl(Path("traces.jsonl"), traces)
    scored()
    assert {qid for qid, row in rows().items() if row["label"] == "OK"} == right
    assert len(right) < len(golds) == 51
