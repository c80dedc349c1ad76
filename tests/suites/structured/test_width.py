"""Full-width signs: what they cost is said, and definitions of version 2 do not see them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from places import SHARED
from ragworthy.load.definition import bundled_text, new_text
from structured_case import answer, cli, expecting, output, question, refs

TOPIC = "求職應徵 (求職者)"
WIDE = "求職應徵 （求職者）"


def test_the_report_says_what_they_cost_and_what_to_write(tmp_path: Path) -> None:
    # One label of weight 0.1 differs in its brackets: 10 points of 100 in the first answer, nothing in the second.
    asked = [expecting(1, sub_topic=TOPIC), question(2)]
    done = cli(tmp_path, asked, [output(1, answer(sub_topic=WIDE)), output(2)], "--full")
    said = "10 points in 1 answer are lost to nothing else, e.g. Q1"
    do = "ragworthy explain definition > mine.toml, then --definition mine.toml"
    assert f"full-width characters: {said}: {do}" in done.out
    own = tmp_path / "own.toml"
    own.write_text(bundled_text() + "# mine\n", encoding="utf-8")
    done = cli(tmp_path, asked, [output(1, answer(sub_topic=WIDE)), output(2)], "--definition", own, "--full")
    assert f'full-width characters: {said}: write version = 2 or form = "nfkc" into the definition' in done.out


def test_answers_with_escaped_signs_are_looked_at_as_well(tmp_path: Path) -> None:
    escaped = json.dumps(answer(sub_topic=WIDE))
    assert escaped.isascii()
    asked = [expecting(1, sub_topic=TOPIC)]
    for given in (answer(sub_topic=WIDE), escaped):
        assert "full-width characters: 10 points in 1 answer" in cli(tmp_path, asked, [output(1, given)]).out


def test_a_wide_passage_of_the_context_is_looked_at_as_well(tmp_path: Path) -> None:
    # The only ref quotes `A1 button`, the passage has it in full-width characters: the field of weight 0.1 is lost.
    context = [{"chunk_id": "c1", "score": 0.9, "source_path": "manual.md", "text": "press the Ａ１ button"}]
    given = answer(source_map=refs({"file": "manual.md", "anchors": ["A1 button"]}))
    done = cli(tmp_path, [question(1)], [output(1, given, context=context)])
    assert "full-width characters: 10 points in 1 answer" in done.out


def test_an_item_shows_that_two_texts_are_equal_but_for_them(tmp_path: Path) -> None:
    given = answer(sub_topic=WIDE, predicted_questions=["誰？", "may the door be forced?"])
    asked = [expecting(1, sub_topic=TOPIC, predicted_questions=["誰?", "may the door be forced?"])]
    done = cli(tmp_path, asked, [output(1, given)], "--item", "Q1")
    assert done.out.count('equal under NFKC: form = "nfkc"') >= 1
    right = cli(tmp_path, asked, [output(1, answer(sub_topic="elsewhere", predicted_questions=[]))], "--item", "Q1")
    assert "NFKC" not in right.out


def test_nothing_is_said_where_the_definition_does_not_see_them(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(new_text(), encoding="utf-8")
    asked, written = [expecting(1, sub_topic=TOPIC)], [output(1, answer(sub_topic=WIDE))]
    done = cli(tmp_path, asked, written, "--definition", own, "--format", "json")
    body = json.loads(done.out)["suites"]["structured"]
    assert body["metrics"]["structured.score"]["value"] == 100.0
    assert "full-width" not in cli(tmp_path, asked, written, "--definition", own).out


def test_a_new_definition_is_the_bundled_one_but_for_version_and_name() -> None:
    old, new = bundled_text().splitlines(), new_text().splitlines()
    differ = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
    assert [one for one, _ in differ] == ["version = 1", 'id = "eval-json-v2"']


@pytest.mark.data("data/graphrag/dev/cases.jsonl.gz")
def test_what_they_cost_in_real_answers_is_what_a_second_scoring_gains(tmp_path: Path) -> None:
    asked, written = _real()
    own = tmp_path / "own.toml"
    own.write_text(new_text(), encoding="utf-8")
    scores = []
    for flags in ([], ["--definition", own]):
        done = cli(tmp_path, asked, written, "--format", "json", *flags)
        report = json.loads(done.out)
        scores.append(report["suites"]["structured"]["metrics"]["structured.score"]["value"] * len(asked))
    told = cli(tmp_path, asked, written).out.partition("full-width characters: ")[2]
    assert scores[1] > scores[0]
    assert float(told.split()[0]) == pytest.approx(scores[1] - scores[0], abs=0.06)


def _real() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Real questions, each answered with its own expected fields in full-width characters."""
    gold = [json.loads(line) for line in (SHARED / "data/graphrag/dev/gold.jsonl").read_text("utf-8").splitlines()]
    by_key = {one["key"]: one for one in gold}
    asked: list[dict[str, Any]] = []
    written: list[dict[str, Any]] = []
    with gzip.open(SHARED / "data/graphrag/dev/cases.jsonl.gz", "rt", encoding="utf-8") as file:
        for case in (json.loads(line) for line in file if '"fullwidth"' in line):
            item, name = by_key[case["question_key"]], f"Q{len(asked):04}"
            asked.append({"id": name, "question": item["question"], "expected": item["expected"]})
            written.append(output(0, case["raw_output"]) | {"id": name, "context": case["context_chunks"]})
    assert len(asked) == 22
    return asked, written
