"""`gold lint`: every finding with its exact text, in text, JSON and SARIF."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import listed
from conftest import run_cli as ragworthy
from conftest import write_jsonl
from ragworthy.gold.lint import Question, near_pairs
from ragworthy.records import Gold
from ragworthy.starter import example
from ragworthy.text import words

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def item(qid: str, question: str = "", /, **fields: Any) -> Row:
    """A sound answerable item; fields given as None are left out."""
    row = {"qid": qid, "question": question or f"What about {qid}?", "answerable": True}
    row |= {"gold_claim_substr": ["gold text"], "gold_citations": ["d#1"]} | fields
    return {key: value for key, value in row.items() if value is not None}


def closed(qid: str, question: str = "", /, **fields: Any) -> Row:
    """A sound unanswerable item."""
    return item(qid, question, answerable=False, gold_claim_substr=[], gold_citations=[], **fields)


def lint(*rows: Row | str, args: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """Exit code and findings about a gold set, but for its size; strings are lines as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    Path("gold.jsonl").write_text("".join(line + "\n" for line in lines))
    done = ragworthy("gold", "lint", "gold.jsonl", "--format", "json", *args)
    assert done.err == ""
    return done.code, [one for one in listed(done.out) if not one.endswith("[RW-W15]")]


def test_a_sound_set_has_no_findings() -> None:
    rows = [item(f"a{nth}", f"{nth} {'abc'[nth % 3]}{nth}?") for nth in range(29)]
    assert lint(*rows, closed("b")) == (0, [])
    assert ragworthy("gold", "lint", "gold.jsonl").out == (
        "next: ragworthy gold freeze gold.jsonl --signer 'YOUR NAME' --reason 'first set'\n"
        "lint: 30 items, 0 errors, 0 warnings, 0 notes (exit 0)\n"
    )


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1 question: a smoke test needs at least 10"),
        (9, "9 questions: a smoke test needs at least 10"),
        (10, "10 questions: a release needs at least 30"),
        (29, "29 questions: a release needs at least 30"),
        (30, ""),
    ],
)
def test_the_size_is_held_against_what_the_sources_ask(count: int, said: str) -> None:
    write_jsonl(Path("gold.jsonl"), [closed(f"q{nth}", f"{nth} {nth + 100}?") for nth in range(count)])
    found = [one for one in listed(ragworthy("gold", "lint", "gold.jsonl", "--format", "json").out) if "W15" in one]
    assert found == ([f"warning: gold.jsonl: {said} [RW-W15]"] if said else [])


@pytest.mark.parametrize(
    ("row", "finding"),
    [
        ("[1]", "expected a JSON object, got a list [RW-F08]"),
        ('{"qid": }', 'expected a JSON object, got {"qid": } (invalid character (byte 8)) [RW-F07]'),
        (item("", qid=None), "qid: expected a non-empty string, got nothing [RW-G01]"),
        (item("", qid=""), "qid: expected a non-empty string, got nothing [RW-G01]"),
        (item("ok"), 'qid: expected a unique id, got "ok" again [RW-G02]'),
        (item("", qid=7), "qid: expected a string, got 7 [RW-G03]"),
        (item("x", question=["?"]), "question: expected a string, got a list [RW-G03]"),
        (item("x", gold_claim_substr="text"), 'gold_claim_substr: expected a list of strings, got "text" [RW-G03]'),
        (item("x", gold_citations=["d", 4]), "gold_citations[1]: expected a string, got 4 [RW-G03]"),
        (item("x", constraints=[None]), "constraints[0]: expected a string, got null [RW-G03]"),
        (item("x", answerable=None), "answerable: expected true or false, got nothing [RW-G04]"),
        (item("x", answerable="true"), 'answerable: expected true or false, got "true" [RW-G04]'),
        (item("x", answerable=1), "answerable: expected true or false, got 1 [RW-G04]"),
        (item("x", gold_citations=[], gold_claim_substr=[]),
         "gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]"),
        (item("x", gold_claim_substr=["1990", ""]),
     'gold_claim_substr: expected an entry of 5 characters or more, got only shorter ones: "1990", "" [RW-G07]'),
        (closed("x") | {"gold_citations": ["d#1"]},
         "answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]"),
        (closed("x") | {"gold_claim_substr": ["gold text"]},
         "answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]"),
    ],
)  # fmt: skip
def test_errors(row: Row | str, finding: str) -> None:
    code, findings = lint(item("ok"), closed("no"), row, args=("--short-substr", "reject"))
    assert (code, [line for line in findings if line.startswith("error")]) == (1, [f"error: gold.jsonl:3: {finding}"])


def test_an_empty_set_is_an_error() -> None:
    assert lint("", "  ") == (1, ["error: gold.jsonl: expected gold items, got none [RW-G05]"])


@pytest.mark.parametrize(
    ("row", "finding"),
    [
        (item("x", gold_claim_substr=[]), "gold_claim_substr: empty: any claim counts as containing it [RW-W08]"),
        (item("x", gold_claim_substr=None), "gold_claim_substr: empty: any claim counts as containing it [RW-W08]"),
        (item("x", gold_claim_substr=["1990", "in 1990"]),
         "gold_claim_substr: has entries under 5 characters, which never count [RW-W09]"),
        (item("x", "Cafe\u0301?"), "text that is not in Unicode form NFC [RW-W10]"),
        (item("x", gold_claim_substr=["a cafe\u0301"]), "text that is not in Unicode form NFC [RW-W10]"),
        (item("x", "What about ok?"), "question: the same text as ok (line 1) [RW-W11]"),
        (item("x", question=None), "question: expected a text, got nothing [RW-W21]"),
    ],
)  # fmt: skip
def test_warnings(row: Row, finding: str) -> None:
    args = ("--short-substr", "reject")
    assert lint(item("ok"), closed("no"), row, args=args) == (0, [f"warning: gold.jsonl:3: {finding}"])


def test_a_set_without_unanswerable_questions() -> None:
    assert lint(item("a")) == (0, ["warning: gold.jsonl: the gold set has no unanswerable question [RW-W12]"])


def test_near_duplicates_and_shared_wording_are_notes() -> None:
    first = item("a", "How long is the name of a removed bucket blocked?")  # ten words
    second = item("b", "How long is the name of a deleted bucket blocked?")  # nine of eleven in common: 0.82
    other = closed("c", "How long is the log of a removed bucket kept?")  # with a: 8 of 12 in common, 0.67
    code, findings = lint(first, second, other)
    assert (code, findings) == (0, [
        "note: gold.jsonl:2: question: worded like a (line 1): overlap 0.82 [RW-W18]",
        "note: gold.jsonl:3: question: unanswerable, but worded like the answerable a: overlap 0.67 [RW-W19]",
    ])  # fmt: skip


def test_the_same_text_is_not_told_twice() -> None:
    text = "How long is the name of a removed bucket blocked?"
    findings = lint(item("a", text), item("b", text), closed("c"))[1]
    assert findings == ["warning: gold.jsonl:2: question: the same text as a (line 1) [RW-W11]"]


def test_thin_slices_are_notes() -> None:
    rows = [item(f"a{i}", topic="billing" if i < 12 else "backup", notes=f"n{i}") for i in range(20)]
    code, findings = lint(*rows, closed("z", topic="billing"))
    assert (code, findings) == (0, [
        "note: gold.jsonl: slice topic=backup has 8 of 21 questions; fewer than 10 show nothing [RW-W20]",
    ])  # fmt: skip


def test_short_answers_name_the_key_that_rescues_them() -> None:
    rows = [item("a", gold_claim_substr=["1990"]), item("b", gold_claim_substr=["北京"]), closed("c")]
    reject = ("--short-substr", "reject")
    code, findings = lint(*rows, args=reject)
    assert (code, len(findings)) == (1, 2)
    said = ragworthy("gold", "lint", "gold.jsonl", *reject).out
    assert 'short_substr = "word" would make 2 items scorable\n' in said
    assert lint(*rows) == (0, [])


def test_the_summary_counts_items_and_explains_each_code_once() -> None:
    bare: Row = {"gold_citations": [], "gold_claim_substr": []}
    lint(item("a", **bare), item("b", **bare), item("c", gold_citations=[1, 2]), closed("d"))
    out = ragworthy("gold", "lint", "gold.jsonl").out
    lines = out.splitlines()
    place = lines.index(
        'RW-G03 gold_type: 2 times. Change the value to the type named; ids are texts, so quote numbers: "4", not 4.'
    )
    assert [line.endswith("[RW-G03]") for line in lines[place - 2 : place]] == [True, True]  # below its examples
    assert sum(line.startswith("RW-G06 answerable_without_citations: 2 times. ") for line in lines) == 1
    assert lines[-1] == "lint: 4 items, 4 errors, 1 warning, 0 notes (exit 1)"


def test_many_warnings_of_one_kind_are_cut_with_a_count() -> None:
    code, findings = lint(closed("z"), *(item(f"a{i}", gold_claim_substr=[]) for i in range(60)))
    assert (code, len(findings)) == (0, 60)
    out = ragworthy("gold", "lint", "gold.jsonl").out
    assert out.count("[RW-W08]\n") == 3 and "… and 57 more of RW-W08 (--format json lists all)\n" in out


@pytest.mark.parametrize("broken", ["[1]", json.dumps(item("x", gold_citations=[3]))])
def test_errors_are_cut_with_a_count_and_come_first(broken: str) -> None:
    code, findings = lint(closed("z"), *[broken] * 60)
    assert (code, len(findings)) == (1, 60)
    out = ragworthy("gold", "lint", "gold.jsonl").out
    assert out.count("error: ") == 3 and "… and 57 more of " in out
    assert out.startswith("error: ")


def test_json_lists_every_finding() -> None:
    lint(item("a", gold_citations=[], gold_claim_substr=[]), item("b", gold_claim_substr=["1990"]), closed("c"))
    flags = ("--format", "json", "-o", "lint.json", "--short-substr", "reject")
    done = ragworthy("gold", "lint", "gold.jsonl", *flags)
    assert (done.code, done.out) == (1, "")
    body = json.loads(Path("lint.json").read_text())
    assert {key: body[key] for key in body if key != "findings"} == {
        "schema": "ragworthy.lint/1", "items": 3, "errors": 2, "rescued_by_short_substr_word": 1,
    }  # fmt: skip
    assert body["findings"][0] == {
        "level": "error",
        "code": "RW-G06",
        "name": "answerable_without_citations",
        "qid": "a",
        "where": "gold.jsonl:1",
        "field": "gold_citations",
        "message": "expected gold text or evidence for an answerable question, got neither",
    }


def test_sarif_has_the_shape_code_hosts_read() -> None:
    twin = "How long is the name of a removed bucket blocked?"
    lint(item("a", twin, gold_citations=[], gold_claim_substr=[]), "[1]", item("b", twin + " Now"), closed("c"))
    done = ragworthy("gold", "lint", "gold.jsonl", "--format", "sarif")
    log = json.loads(done.out)
    assert (done.code, log["version"], len(log["runs"])) == (1, "2.1.0", 1)
    assert log["$schema"].endswith("sarif-2.1.0.json")
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert driver["name"] == "ragworthy"
    rules = [rule["id"] for rule in driver["rules"]]
    assert rules == sorted(set(rules)) == sorted({result["ruleId"] for result in results})
    for rule in driver["rules"]:
        assert rule["name"]
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
    for result in results:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        [place] = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "gold.jsonl"
        assert place["physicalLocation"]["region"]["startLine"] >= 1
    assert [(one["ruleId"], one["locations"][0]["physicalLocation"]["region"]["startLine"]) for one in results] == [
        ("RW-G06", 1), ("RW-W15", 1), ("RW-F08", 2), ("RW-W18", 3),
    ]  # fmt: skip


def test_sarif_has_a_fingerprint_that_stays_when_lines_move() -> None:
    def prints() -> list[str]:
        results = json.loads(ragworthy("gold", "lint", "gold.jsonl", "--format", "sarif").out)["runs"][0]["results"]
        assert all(list(one["partialFingerprints"]) == ["ragworthyFinding/v1"] for one in results)
        return [one["partialFingerprints"]["ragworthyFinding/v1"] for one in results if one["ruleId"] == "RW-G06"]

    empty: dict[str, list[str]] = {"gold_citations": [], "gold_claim_substr": []}
    lint(item("a", "How high?", **empty), item("b", "How deep?", **empty), item("b", "How far?", **empty))
    first = prints()
    assert len(set(first)) == 3
    lint(closed("c"), item("a", "How high?", **empty), item("b", "How deep?", **empty), item("b", "How far?", **empty))
    assert prints() == first


def test_several_gold_sets_are_one_run_in_sarif_and_the_suffix_says_so() -> None:
    lint(item("a", "How high?", gold_citations=[], gold_claim_substr=[]))
    Path("more.jsonl").write_text('{"qid": "b", "answerable": true}\n')
    done = ragworthy("gold", "lint", "gold.jsonl", "more.jsonl", "-o", "lint.sarif")
    assert (done.code, done.out) == (1, "")
    [run] = json.loads(Path("lint.sarif").read_text())["runs"]
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert list(dict.fromkeys(places)) == ["gold.jsonl", "more.jsonl"]
    text = ragworthy("gold", "lint", "gold.jsonl", "more.jsonl")
    assert [line for line in text.out.splitlines() if line.startswith("lint: ")] == [
        "lint: 1 item, 1 error, 2 warnings, 0 notes (exit 1)",
        "lint: 1 item, 1 error, 3 warnings, 0 notes (exit 1)",
    ]
    assert ragworthy("gold", "lint", "gold.jsonl", "more.jsonl", "--format", "json").code == 2


def test_ids_cannot_steer_the_terminal() -> None:
    evil = "a\x1b[31m\nverdict: SHIP (exit 0)"
    text = "How long is the name of a removed bucket blocked?"
    lint(item(evil, text), item(evil, text), closed("c\x07", text + " Now"))
    done = ragworthy("gold", "lint", "gold.jsonl")
    assert "\x1b" not in done.out
    assert "\x07" not in done.out
    assert "verdict: SHIP (exit 0)" not in done.out.splitlines()


def asked(texts: list[str]) -> list[Question]:
    return [
        Question(line, {}, Gold(answerable=True, qid=f"q{line}", question=text))
        for line, text in enumerate(texts, start=1)
    ]


@settings(deadline=None)
@given(
    st.lists(st.sets(st.sampled_from("abcdefghijkl"), max_size=9), max_size=12),
    st.sampled_from([0.5, 0.6, 0.75, 0.8, 1.0]),
)
def test_near_pairs_are_those_of_brute_force(sets: list[set[str]], least: float) -> None:
    items = asked([" ".join(sorted(one)) for one in sets])
    found = {(one.line, other.line, overlap) for one, other, overlap in near_pairs(items, least)}
    expected = set()
    for i, one in enumerate(items):
        for other in items[i + 1 :]:
            mine, theirs = words(one.gold.question or ""), words(other.gold.question or "")
            if min(len(mine), len(theirs)) >= 3 and len(mine & theirs) / len(mine | theirs) >= least:
                expected.add((one.line, other.line, len(mine & theirs) / len(mine | theirs)))
    assert found == expected


def bundled() -> list[str]:
    """The gold set that comes with ragworthy: questions of answers, each in several wordings."""
    lines = example("answers_gold.jsonl").splitlines()
    assert all("paraphrases" in json.loads(line) for line in lines)
    return lines


def test_wordings_do_not_make_answers_gold_a_retrieval_set() -> None:
    assert lint(*bundled()) == (0, [])


def test_an_unanswerable_question_in_several_wordings_comes_first() -> None:
    said = {"paraphrases": ["What could Z be?", "Is there a Z?"]}
    first = closed("a", "Explain Z to me?", **said)
    bare = {name: first[name] for name in ("qid", "question", "answerable", "paraphrases")}
    assert lint(bare, item("b", "How are null keys treated?", **said)) == (0, [])
    # a set whose items have no text but their wordings is one of retrieval
    _, found = lint({"qid": "a", "answerable": False, **said})
    assert any("[RW-W92]" in line for line in found)


def test_a_damaged_first_line_is_judged_by_what_can_be_seen_of_it() -> None:
    whole = bundled()
    damaged = whole[0].replace('"gold_claim_substr"', '"piece"').replace('"gold_citations"', '"ids"')[:-1]
    code, (found,) = lint(damaged, *whole[1:])
    assert code == 1
    assert found.startswith("error: gold.jsonl:1: ")


def test_doctor_knows_answers_gold_with_wordings() -> None:
    lines = bundled()
    Path("gold.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = {"claim": "not in context", "citations": []}
    qids = [json.loads(line)["qid"] for line in lines]
    write_jsonl(Path("t.jsonl"), [{"qid": qid, "retrieved_ids": [], "answer_json": answer} for qid in qids])
    done = ragworthy("doctor", "--gold", "gold.jsonl", "--trace", "t.jsonl")
    assert (done.code, done.err) == (0, "")
    answerable = sum(json.loads(line)["answerable"] for line in lines)
    assert done.out.splitlines()[:2] == [
        f"{len(lines)} questions: {answerable} answerable, {len(lines) - answerable} not",
        f"{len(lines)} traces: 0 answered, {len(lines)} refused, 0 missing, 0 replaced, 0 of no question",
    ]
