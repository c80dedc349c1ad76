"""Gold items with a reference, scored: both metrics, what they count, the tally, and what a set of references says."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import Cli, Row, write_jsonl
from ragworthy.gates import MIN, Gate
from ragworthy.gold.lint import is_sentence
from ragworthy.suites.answers.missing import for_references
from ragworthy.suites.answers.rules import DEFAULT_GATES, TEXT_GATE

KEPT = "Backups are kept for 30 days in Dublin."


def question(qid: str, reference: Any = KEPT, **more: Any) -> Row:
    return {"qid": qid, "question": f"{qid}?", "answerable": True, "gold_citations": ["d#1"],
            "gold_reference": reference, **more}  # fmt: skip


def answer(qid: str, claim: str | None) -> Row:
    return {"qid": qid, "retrieved_ids": ["d#1"], "answer_json": {"claim": claim, "citations": ["d#1"]}}


GOLD = [
    question("right"),
    question("wrong"),
    question("refused"),
    question("error"),
    question("plain", "It is always on."),
    {"qid": "closed", "question": "?", "answerable": False},
]
TRACES = [
    answer("right", "They are kept for 30 days."),  # F1 10/14, 1 of 2 details
    answer("wrong", "They are kept for 60 days."),  # F1 8/14, contradicts: 0 of 2
    answer("refused", "not in context"),
    {"qid": "error", "error": "boom", "answer_json": {"claim": KEPT, "citations": []}},
    answer("plain", "always on"),  # F1 2 · 2 / 6, no details
    answer("closed", "not in context"),
]


def test_refusals_and_errors_count_nought_and_stay_in_the_denominator() -> None:
    gates = {"reference_f1": 0.3, "reference_details": 0.1}
    result = rw.score("answers", gold=GOLD, traces=TRACES, gates=gates, defaults=False)
    f1, details = (result.metrics[f"answers.{name}"] for name in ("reference_f1", "reference_details"))
    wanted = (Fraction(10, 14) + Fraction(8, 14) + 0 + 0 + Fraction(4, 6)) / 5
    assert f1.value == pytest.approx(float(wanted))
    assert details.value == pytest.approx((1 / 2 + 0 + 0 + 0) / 4)
    assert result.verdict == "SHIP"


def test_the_ledger_closes_and_rows_have_the_values() -> None:
    result = rw.score("answers", gold=GOLD, traces=TRACES, gates={"reference_f1": 0.3})
    body = result.report["suites"]["answers"]["metrics"]["answers.reference_details"]
    assert body["n"] == 4
    assert body["ledger"] == {
        "expected": 6, "scored": 3, "refused": 0, "missing": 0, "errored": 1, "not_applicable": 2,
    }  # fmt: skip
    rows = {row["qid"]: row for row in result.rows()}
    assert rows["wrong"]["metrics"]["answers.reference_f1"] == pytest.approx(8 / 14)
    assert rows["wrong"]["metrics"]["answers.reference_details"] == 0
    assert rows["wrong"]["label"] == "ANS_NO_CONTAIN"
    assert rows["error"]["metrics"]["answers.reference_f1"] == 0
    assert rows["right"]["undefined"]["answers.precision"] == "a reference and no gold_claim_substr"
    assert "answers.reference_details" in rows["plain"]["undefined"]


def test_a_missing_trace_counts_nought() -> None:
    result = rw.score("answers", gold=GOLD[:2], traces=TRACES[:1], gates={"reference_f1": 0.1})
    assert result.metrics["answers.reference_f1"].value == pytest.approx(10 / 14 / 2)
    assert result.verdict == "INVALID"


def test_sets_without_references_do_not_show_the_metrics() -> None:
    gold = [{"qid": "a", "question": "?", "answerable": True, "gold_citations": ["d#1"],
             "gold_claim_substr": ["30 days"]}]  # fmt: skip
    result = rw.score("answers", gold=gold, traces=[answer("a", "30 days")])
    assert not [name for name in result.metrics if "reference" in name]
    asked = rw.score("answers", gold=gold, traces=[answer("a", "30 days")], gates={"reference_f1": 0.5})
    assert asked.verdict == "INVALID"
    undefined = asked.report["suites"]["answers"]["metrics"]["answers.reference_f1"]["undefined"]
    assert undefined == "no answerable question with gold_reference"


def test_pieces_are_measured_where_there_are_some() -> None:
    """Precision leaves the item out that has only a reference: 1 of 2, not 1 of 3 and not 2 of 3."""
    pieces = {"gold_claim_substr": ["30 days"]}
    gold = [question("a", **pieces), question("b", **pieces), question("c")]
    traces = [answer("a", "30 days"), answer("b", "60 days"), answer("c", "whatever")]
    metrics = rw.score("answers", gold=gold, traces=traces).report["suites"]["answers"]["metrics"]
    for name in ("precision", "containment"):
        assert (metrics[f"answers.{name}"]["num"], metrics[f"answers.{name}"]["den"]) == (1, 2)
    assert metrics["answers.reference_f1"]["n"] == 3


def test_answered_unanswerable_questions_alone_make_no_precision() -> None:
    gold = [question("a"), {"qid": "u", "question": "?", "answerable": False}]
    body = rw.score("answers", gold=gold, traces=[answer("a", KEPT), answer("u", "made up")]).report
    precision = body["suites"]["answers"]["metrics"]["answers.precision"]
    assert precision["undefined"] == "answerable questions have a gold_reference and no gold_claim_substr"
    assert precision["ledger"]["scored"] == 0
    assert not [one for one in body["suites"]["answers"]["warnings"] if one["code"] == "RW-W08"]


def test_references_only_end_with_gates_to_write(tmp_path: Path, cli: Cli) -> None:
    gold, traces = write_jsonl(tmp_path / "g.jsonl", GOLD), write_jsonl(tmp_path / "t.jsonl", TRACES)
    done = cli("score", "answers", "--full", "--gold", gold, "--trace", traces)
    assert done.code == 4
    # (10/14 + 8/14 + 4/6) / 5 = 0.390…, details 1/8
    assert ("gate on the references: --gates reference_f1=0.39,reference_details=0.12,chr=0.75,under_refusal=0.05,"
            "over_refusal=0.10 (reference_f1 is 0.390 now, reference_details is 0.125 now)") in done.out  # fmt: skip
    gates = "reference_f1=0.39,reference_details=0.12"
    scored = cli("score", "answers", "--full", "--gold", gold, "--trace", traces, "--gates", gates)
    assert (scored.code, scored.out.splitlines()[0]) == (1, "NO-SHIP: answers.over_refusal fails")  # 1 of 4
    assert (
        cli(
            "score", "answers", "--full", "--gold", gold, "--trace", traces, "--gates", f"{gates},over_refusal=0.25"
        ).code
        == 0
    )


def test_a_reference_is_enough_for_an_item(tmp_path: Path, cli: Cli) -> None:
    """Neither pieces nor evidence: the text is compared, and citations are not asked for."""
    bare = [{name: value for name, value in item.items() if name != "gold_citations"} for item in GOLD]
    gold, traces = write_jsonl(tmp_path / "g.jsonl", bare), write_jsonl(tmp_path / "t.jsonl", TRACES)
    says = "references and refusals are measured; precision, containment, CHR, recall and hit are not [RW-W88]"
    assert f"note: {gold}: 6 items, 5 of them answerable without evidence: {says}" in cli("gold", "lint", gold).out
    gates = "reference_f1=0.3,over_refusal=0.25"
    done = cli("score", "answers", "--full", "--gold", gold, "--trace", traces, "--gates", gates)
    assert done.code == 0
    assert f"5 gold items without evidence: {says}" in done.out


def test_usual_gates_on_pieces_give_way_to_those_on_references() -> None:
    asked = Gate("answers.reference_f1", MIN, "0.3")
    written = Gate("answers.precision", MIN, "0.9")
    chr_gate = next(gate for gate in DEFAULT_GATES if gate.metric == "answers.chr")
    kept = for_references((*DEFAULT_GATES, TEXT_GATE, written, asked))
    assert kept == (chr_gate, *DEFAULT_GATES[2:], written, asked)
    assert for_references(DEFAULT_GATES) == DEFAULT_GATES


# the tally


def many(size: int) -> tuple[list[Row], list[Row]]:
    rng = random.Random(5)
    gold, traces = [], []
    for nth in range(size):
        qid, days = f"q{nth:05}", rng.randint(1, 40)
        text = f"Item {nth % 7} is kept for {days} days in Dublin."
        item = question(qid, text if nth % 5 else [text, "It is kept."], kind=f"k{nth % 3}")
        if nth % 4 == 0:
            del item["gold_reference"]
            item["gold_claim_substr"] = [f"{days} days"]
        gold.append(item)
        if nth % 11:
            claim = rng.choice([text, f"for {days} days", f"{days + 1} days", "not in context", "Dublin"])
            traces.append(answer(qid, claim))
    return gold, traces


def scored(folder: Path, cli: Cli, *more: object) -> tuple[bytes, bytes, Any]:
    done = cli("score", "answers", "--gold", folder / "g.jsonl", "--trace", folder / "t.jsonl", "--slice", "kind",
               "--gates", "reference_f1=0.1,reference_details=0.1", "--format", "json", "--rows", folder / "r.jsonl",
               "--receipt", folder / "receipt.json", *more)  # fmt: skip
    report = json.loads(done.out)
    for one in report["suites"]["answers"]["inputs"]:
        one.pop("sha256")
    return (folder / "r.jsonl").read_bytes(), (folder / "receipt.json").read_bytes(), report


@pytest.mark.parametrize("jobs", [2, 3])
def test_several_processes_give_the_same_bytes(
    jobs: int, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragworthy.suites.fork.SMALL", 0)
    gold, traces = many(600)
    write_jsonl(tmp_path / "g.jsonl", gold)
    write_jsonl(tmp_path / "t.jsonl", traces)
    alone = scored(tmp_path, cli, "--jobs", "1")
    assert scored(tmp_path, cli, "--jobs", str(jobs)) == alone
    random.Random(1).shuffle(traces)
    write_jsonl(tmp_path / "t.jsonl", traces)
    for count in ("1", str(jobs)):
        rows, _, report = scored(tmp_path, cli, "--jobs", count)
        assert rows == alone[0]
        for key in ("metrics", "slices", "labels", "counts"):
            assert report["suites"]["answers"][key] == alone[2]["suites"]["answers"][key]


def test_every_number_follows_from_the_tally_of_the_receipt(tmp_path: Path, cli: Cli) -> None:
    gold, traces = many(300)
    write_jsonl(tmp_path / "g.jsonl", gold)
    write_jsonl(tmp_path / "t.jsonl", traces)
    _, receipt, report = scored(tmp_path, cli)
    tally = json.loads(receipt)["suites"]["answers"]["tally"]
    assert {len(entry) for entry in tally} == {3, 4}
    referenced = [(count, compared) for _, _, count, *rest in tally for compared in rest]
    questions = sum(count for count, _ in referenced)
    total = sum(count * Fraction(compared[0], compared[1]) for count, compared in referenced)
    metric = report["suites"]["answers"]["metrics"]["answers.reference_f1"]
    assert questions == metric["n"] == sum("gold_reference" in item for item in gold)
    assert metric["value"] == float(total / questions)
    assert cli("verify", tmp_path / "receipt.json").code == 0


def test_the_last_trace_of_a_question_is_compared() -> None:
    traces = [answer("right", "nothing of it"), answer("right", KEPT)]
    result = rw.score("answers", gold=GOLD[:1], traces=traces, gates={"reference_f1": 0.9})
    assert result.metrics["answers.reference_f1"].value == 1


def test_one_question_must_match(tmp_path: Path, cli: Cli) -> None:
    gold, traces = write_jsonl(tmp_path / "g.jsonl", GOLD[:2]), write_jsonl(tmp_path / "t.jsonl", TRACES[:2])
    (tmp_path / "ragworthy.toml").write_text(
        f'version = 1\n[answers]\ngold = "{gold.name}"\ntraces = "{traces.name}"\n'
        '[[gate]]\nmetric = "answers.reference_details"\nmust_pass = ["right"]\n'
        '[[gate]]\nmetric = "answers.reference_f1"\nmin = 0.1\n'
    )
    done = cli("gate", "-c", tmp_path / "ragworthy.toml", "--unfrozen", "--format", "json")
    outcomes = {gate["metric"]: gate["outcome"] for gate in json.loads(done.out)["gates"]}
    assert outcomes["answers.reference_details"] == "fail"  # 1 of 2 details is not as good as it can be
    assert outcomes["answers.reference_f1"] == "pass"


def test_latency_borrows_the_metrics(tmp_path: Path) -> None:
    runs = [{**answer("right", "They are kept for 30 days."), "e2e_ms": 5.0, "config_id": "a", "run_id": str(nth)}
            for nth in range(3)]  # fmt: skip
    result = rw.score("latency", gold=GOLD[:1], runs=runs, gates={"answers.reference_f1": 0.5})
    assert result.metrics["answers.reference_f1"].value == pytest.approx(10 / 14)


# gold


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (5, "gold_reference: expected a text or a list of texts, got 5 [RW-G03]"),
        (["a", 5], "gold_reference[1]: expected a string, got 5 [RW-G03]"),
        ("  ", "gold_reference: expected a text with words or numbers, got none [RW-G27]"),
        (["It is.", "…"], "gold_reference[1]: expected a text with words or numbers, got none [RW-G27]"),
        ([], "gold_reference: expected a text or a list of texts, got an empty list [RW-G27]"),
    ],
)
def test_what_is_wrong_with_a_reference(reference: Any, message: str, tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "g.jsonl", [question("a", reference)])
    traces = write_jsonl(tmp_path / "t.jsonl", [answer("a", "x")])
    for command in (("score", "answers", "--gold", gold, "--trace", traces), ("gold", "lint", gold)):
        done = cli(*command)
        assert f"{gold}:1: {message}" in done.out + done.err
    assert cli("score", "answers", "--gold", gold, "--trace", traces).code == 2


def test_an_unanswerable_question_has_no_reference(tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "g.jsonl", [question("a", answerable=False, gold_citations=[])])
    traces = write_jsonl(tmp_path / "t.jsonl", [answer("a", "x")])
    for command in (("gold", "lint", gold), ("score", "answers", "--gold", gold, "--trace", traces)):
        done = cli(*command)
        assert "RW-G08" in done.out + done.err
        assert "remove gold_reference" in done.out + done.err


def test_lint_names_sentences_among_the_pieces_in_one_line(tmp_path: Path, cli: Cli) -> None:
    long = "Backups are kept for 30 days in two regions."
    gold = [question(f"q{nth}", gold_claim_substr=[long]) for nth in range(3)]
    for item in gold:
        del item["gold_reference"]
    done = cli("gold", "lint", write_jsonl(tmp_path / "g.jsonl", gold))
    told = [line for line in done.out.splitlines() if "[RW-W95]" in line]
    assert told == [
        f"note: {tmp_path / 'g.jsonl'}:1: gold_claim_substr: 3 pieces are sentences: no model repeats them word for "
        "word; put them into gold_reference [RW-W95]"
    ]
    assert "RW-W95" not in cli("gold", "lint", write_jsonl(tmp_path / "r.jsonl", GOLD)).out
    assert "RW-W08" not in cli("gold", "lint", tmp_path / "r.jsonl").out


@pytest.mark.parametrize(
    ("piece", "wanted"),
    [
        ("one two three four five six seven.", False),
        ("one two three four five six seven eight.", True),
        ("one two three four five six seven eight", False),
        ("备份文件在都柏林的数据中心保存三十天之后会被系统自动删除掉。", True),
        ("备份保存三十天。", False),
        ('He said "one two three four five six seven."', True),
    ],
)
def test_what_is_a_sentence(piece: str, wanted: bool) -> None:
    assert is_sentence(piece) is wanted


def test_the_selftest_can_make_the_gates_fail(tmp_path: Path, cli: Cli) -> None:
    write_jsonl(tmp_path / "g.jsonl", GOLD[:1])
    write_jsonl(tmp_path / "t.jsonl", TRACES[:1])
    (tmp_path / "ragworthy.toml").write_text(
        'version = 1\n[answers]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n'
        '[[gate]]\nmetric = "answers.reference_f1"\nmin = 0.5\n'
        '[[gate]]\nmetric = "answers.reference_details"\nmin = 0.5\n'
    )
    done = cli("gate", "--selftest", "-c", tmp_path / "ragworthy.toml", "--unfrozen")
    assert done.code == 0, done.out + done.err
