"""Tuning the refusal threshold: the split, the choice, the files, and a pipeline that uses them."""

import gzip
import hashlib
import json
import tomllib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy
from conftest import run_cli
from ragworthy.errors import DataError, UsageError
from ragworthy.experiments.tune import Case, Outcome, Point, best, curve, judge, point, split, tune
from ragworthy.index import build as indexing
from ragworthy.pipeline import Pipeline
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.tuning import dump, load
from ragworthy.records import Gold

EXAMPLES = Path(ragworthy.__file__).parent / "examples"
GOLD = EXAMPLES / "answers_gold.jsonl"
FILES = ("gold.scored.jsonl", "gold.tuning.jsonl", "pipeline.toml")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tune") / "ix"
    indexing.build(EXAMPLES / "corpus", out, dense="none")
    return out


def case(qid: str, answerable: bool) -> Case:
    return Case(1, b"{}\n", Gold(answerable=answerable, qid=qid))


outcomes = st.lists(
    st.tuples(st.integers(0, 20), st.booleans(), st.booleans()).map(lambda t: Outcome(t[0] / 20, t[1] and t[2], t[2])),
    min_size=1,
    max_size=40,
)


# the split


def test_the_split_by_hand() -> None:
    """Of ten answerable questions the three with the lowest hashes, of five unanswerable ones the first two (1.5)."""
    cases = [case(f"q{n}", n < 10) for n in range(15)]
    tuning, scored = split(cases, Fraction(3, 10), 4)
    place = {one.qid: hashlib.sha256(f"4\n{one.qid}".encode()).hexdigest() for one in cases}
    yes = sorted((one.qid for one in cases[:10]), key=place.__getitem__)[:3]
    no = sorted((one.qid for one in cases[10:]), key=place.__getitem__)[:2]
    assert [one.qid for one in tuning] == [one.qid for one in cases if one.qid in (*yes, *no)]
    assert [one.qid for one in scored] == [one.qid for one in cases if one not in tuning]
    assert split(cases[::-1], Fraction(3, 10), 4) == (tuning[::-1], scored[::-1])
    assert split(cases, Fraction(3, 10), 5) != (tuning, scored)


@pytest.mark.parametrize("cases", [[case("a", True)], [case("a", False), case("b", False)]])
def test_too_few_questions(cases: list[Case]) -> None:
    message = f"expected enough questions for two parts, with answerable ones in the first, got {len(cases)}"
    with pytest.raises(UsageError) as caught:
        split(cases, Fraction(1, 2), 0)
    assert caught.value.lines()[0] == f"{message} [RW-U01]"
    with pytest.raises(ValueError, match="expected a share between 0 and 1, got 1"):
        split(cases, Fraction(1), 0)


# the choice


def test_the_choice_by_hand() -> None:
    found = [
        Outcome(0.9, True, True),
        Outcome(0.8, False, False),
        Outcome(0.7, True, True),
        Outcome(0.6, False, True),
        Outcome(0.5, True, True),
        Outcome(0.1, False, False),
    ]
    nets = {one.score: point(found, one.score).net for one in found}
    assert nets == {0.9: 1, 0.8: 0, 0.7: 1, 0.6: 0, 0.5: 1, 0.1: 0}
    assert best(found) == Point(0.9, 1, 1, 0, 3)
    assert point(found, 0.5) == Point(0.5, 5, 3, 1, 0)
    assert point(found, 0.5).table() == {
        "threshold": 0.5, "answered": 5, "right": 3, "under": 1, "over": 0, "net": 1, "precision": 0.6
    }  # fmt: skip
    assert "precision" not in point(found, 1.0).table()


@settings(max_examples=200, deadline=None)
@given(outcomes)
def test_no_threshold_does_better(found: list[Outcome]) -> None:
    chosen = best(found)
    assert chosen.answered >= 1
    for step in range(101):
        answered = [one for one in found if one.score >= step / 100]
        net = sum(1 if one.right else -1 for one in answered)
        if answered:
            assert net < chosen.net or (net == chosen.net and step / 100 <= chosen.threshold)
    points = curve(found)
    assert [one.threshold for one in points] == [step / 20 for step in range(21)]
    assert all(one.answered >= other.answered for one, other in pairwise(points))


def test_what_counts_as_right(index: Path) -> None:
    pipeline, knobs = Pipeline(index), {"mode": "bm25"}
    question = "With which cipher are backup blocks encrypted?"
    cited = pipeline.attempt(question, knobs).citations

    def right(
        *, answerable: bool = True, cites: list[str] | None = None, pieces: list[str], short: bool = False
    ) -> bool:
        gold = Gold(
            answerable=answerable, question=question, gold_claim_substr=pieces, gold_citations=cites or cited
        )  # fmt: skip
        return judge(pipeline, gold, knobs, short_words=short).right

    assert right(pieces=["aes-256-gcm"])
    assert right(pieces=["AES-256-GCM"], cites=[cited[0].replace("|s=", "|r=0123abcd|s=")])
    assert right(pieces=[])
    assert not right(pieces=["AES-128"])
    assert not right(pieces=["AES-256-GCM"], cites=["backup.md|s=1|p=000|b=001"])
    assert not right(pieces=["AES-256-GCM"], answerable=False)
    assert not right(pieces=["AES"])
    assert right(pieces=["AES"], short=True)


# the files


def test_files_and_a_pipeline_that_uses_them(index: Path, tmp_path: Path) -> None:
    args = ("experiment", "tune", "--index", index, "--gold", GOLD, "--knob", "k=3", "--seed", 1)
    done = run_cli(*args, "--out", tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    lines = GOLD.read_bytes().splitlines(keepends=True)
    parts = {name: (tmp_path / "a" / name).read_bytes().splitlines(keepends=True) for name in FILES[:2]}
    assert sorted(parts[FILES[0]] + parts[FILES[1]]) == sorted(lines)
    for part in parts.values():
        assert part == [line for line in lines if line in part]
    answerable = [json.loads(line)["answerable"] for line in parts["gold.tuning.jsonl"]]
    assert (answerable.count(True), answerable.count(False)) == (14, 7)
    made = tomllib.loads((tmp_path / "a" / "pipeline.toml").read_text(encoding="utf-8"))
    pipeline = Pipeline(index)
    assert (made["index_hash"], made["knobs"]["k"]) == (pipeline.index_hash, 3)
    assert made["gold_sha256"] == hashlib.sha256(GOLD.read_bytes()).hexdigest()
    assert made["split"] == {"seed": 1, "share": 0.3, "tuning": 21, "scored": 51}
    rows = [json.loads(line) for line in parts["gold.tuning.jsonl"]]
    scores = [pipeline.attempt(row["question"], {"k": 3}).score for row in rows]
    assert made["threshold"] == made["tuning"]["threshold"] in scores
    assert made["tuning"]["answered"] == sum(score >= made["threshold"] for score in scores)
    shown = [line for line in done.out.splitlines() if not line.startswith("next: ")]
    assert f"next: ragworthy run --target builtin:{args[3]} --pipeline {tmp_path / 'a/pipeline.toml'} " in done.out
    assert shown[-2:] == [
        f"score only {tmp_path}/a/gold.scored.jsonl: {tmp_path}/a/gold.tuning.jsonl was tuned on",
        f"threshold {made['threshold']:.6f}: {tmp_path}/a/pipeline.toml (exit 0)",
    ]
    tuned = Pipeline(index, tmp_path / "a" / "pipeline.toml")
    asked: dict[str, Any] = tuned.explain(rows[0]["question"])
    assert (asked["threshold"], asked["threshold_from"], len(asked["context"])) == (made["threshold"], "tuned", 3)
    assert tuned.explain(rows[0]["question"], {"threshold": 0.9, "k": 2})["threshold_from"] == "knob"
    for row, score in zip(rows, scores, strict=True):
        claim = tuned(qid=row["qid"], q=row["question"], knobs={})["answer_json"]["claim"]
        assert (claim == "not in context") == (score < made["threshold"])
    again = run_cli(*args, "--out", tmp_path / "b", "-q")
    assert len(again.out.splitlines()) == 1
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in FILES)


def test_a_packed_gold_set_with_odd_lines(index: Path, tmp_path: Path) -> None:
    lines = GOLD.read_bytes().splitlines()
    odd = b"\xef\xbb\xbf" + b"\r\n".join(lines[:8]) + b"\r\n\n" + b"\n".join(lines[8:])
    packed = tmp_path / "gold.jsonl.gz"
    packed.write_bytes(gzip.compress(odd))
    made = tune(index, packed, tmp_path / "out")
    assert (made.tuning, made.scored) == (21, 51)
    both = b"".join((tmp_path / "out" / name).read_bytes() for name in FILES[:2])
    assert sorted(both.splitlines()) == sorted(lines)
    assert both.count(b"\r\n") == 8


def test_a_set_that_the_pipeline_cannot_answer(index: Path, tmp_path: Path) -> None:
    name = json.loads(GOLD.read_bytes().splitlines()[0])["gold_citations"][0]
    rows = [
        {"qid": f"q{n}", "question": "Zebra tokens?", "answerable": n < 4,
         **({"gold_claim_substr": ["never said"], "gold_citations": [name]} if n < 4 else {})}
        for n in range(8)
    ]  # fmt: skip
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_cli("experiment", "tune", "--index", index, "--gold", gold, "--out", tmp_path / "o", "--share", "1/2")
    assert (
        "no threshold gives more right answers than wrong ones: this pipeline does not fit these questions" in done.out
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--share", "1.5"], "--share: expected a number between 0 and 1, got 1.5 [RW-U01]"),
        (["--share", "x"], "--share: expected a number between 0 and 1, got x [RW-U01]"),
        (["--share", "1/0"], "--share: expected a number between 0 and 1, got 1/0 [RW-U01]"),
        (["--knob", "k=0"], "--knob: k: expected a whole number of at least 1, got 0 [RW-U01]"),
        (["--knob", "answerer=chat:m@http://h"], "--knob: expected no answerer here, got one [RW-U01]"),
        (["--knob", "threshold=0.5"], "--knob: expected no threshold here, got one [RW-U01]"),
    ],
)
def test_wrong_flags(index: Path, tmp_path: Path, flags: list[str], message: str) -> None:
    done = run_cli("experiment", "tune", "--index", index, "--gold", GOLD, "--out", tmp_path / "o", *flags)
    assert (done.code, done.err.splitlines()[0]) == (2, message)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " "}, "3: question: expected a text to ask, got nothing [RW-G16]"),
        ({"qid": "H001"}, '3: qid: expected a unique id, got "H001" again [RW-G02]'),
        (
            {"gold_citations": ["x#1"], "answerable": True},
            '3: gold_citations: expected a block of the index, got "x#1" [RW-G13]',
        ),
        (
            {"gold_claim_substr": ["x"]},
            "3: answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]",
        ),
        ({"answerable": 1}, "3: answerable: expected true or false, got 1 [RW-G04]"),
    ],
)
def test_a_gold_set_that_does_not_fit(index: Path, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = [json.loads(line) for line in GOLD.read_bytes().splitlines()]
    rows[2] |= change
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_cli("experiment", "tune", "--index", index, "--gold", gold, "--out", tmp_path / "o")
    assert (done.code, done.err.splitlines()[0]) == (2, f"{gold}:{message}")
    assert not (tmp_path / "o").exists()


def test_gold_that_no_answer_can_get_right_is_refused_as_scoring_does(index: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in GOLD.read_bytes().splitlines()]
    assert rows[0]["answerable"]
    rows[0] |= {"gold_claim_substr": ["AES"]}
    gold, trace = tmp_path / "gold.jsonl", tmp_path / "trace.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    trace.write_text(json.dumps({"qid": rows[0]["qid"]}) + "\n", encoding="utf-8")
    reject = ("--short-substr", "reject")
    scoring = run_cli("score", "answers", "--gold", gold, "--trace", trace, *reject)
    args = ("experiment", "tune", "--index", index, "--gold", gold, "--out")
    done = run_cli(*args, tmp_path / "o", *reject)
    assert (done.code, done.err.splitlines()[0]) == (2, scoring.err.splitlines()[0])
    assert done.err.splitlines()[0].endswith("[RW-G07]")
    assert not (tmp_path / "o").exists()
    for flags, kept in ((reject, "reject"), ((), "word")):
        given = GOLD if flags else gold
        done = run_cli("experiment", "tune", "--index", index, "--gold", given, "--out", tmp_path / kept, *flags)
        assert (done.code, done.err) == (0, "")
        made = tomllib.loads((tmp_path / kept / "pipeline.toml").read_text(encoding="utf-8"))
        assert made["tuning"]["short_substr"] == kept


def test_inputs_are_kept(index: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.scored.jsonl"
    gold.write_bytes(GOLD.read_bytes())
    done = run_cli("experiment", "tune", "--index", index, "--gold", gold, "--out", tmp_path)
    assert (done.code, gold.read_bytes()) == (2, GOLD.read_bytes())
    inside = run_cli("experiment", "tune", "--index", index, "--gold", GOLD, "--out", index / "tuned")
    assert (inside.code, (index / "tuned").exists()) == (2, False)


# reading a tuning file


def written(path: Path, **changes: str) -> Path:
    text = dump(0.5, Knobs(k=3), {"index_hash": "rw:1", "gold_sha256": "0"}, {"tuning": {"note": 'a "b"\n'}}).decode()
    for old, new in changes.items():
        text = "\n".join(new if line.startswith(f"{old} = ") else line for line in text.splitlines())
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "p.toml")
    assert load(path, "rw:1") == (0.5, Knobs(k=3), "rw:1")
    assert tomllib.loads(path.read_text(encoding="utf-8"))["tuning"]["note"] == 'a "b"\n'


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 'schema = "x/1"'}, 'schema: expected "ragworthy.pipeline/1", got "x/1" [RW-N01]'),
        ({"threshold": "threshold = 2"}, "threshold: expected a number from 0 to 1, got 2 [RW-N01]"),
        ({"threshold": 'threshold = "x"'}, "threshold: expected float, got str [RW-N01]"),
        ({"threshold": ""}, "object missing required field threshold [RW-N01]"),
        ({"threshold": "threshold ="}, "expected TOML, got: Invalid value (at line 3, column 12) [RW-N01]"),
        ({"k": "k = 0"}, "knobs: k: expected a whole number of at least 1, got 0 [RW-N01]"),
        ({"k": 'answerer = "chat:m@http://h"'}, "knobs: expected no answerer here, got one [RW-N01]"),
        (
            {"index_hash": 'index_hash = "rw:2"'},
            "expected a threshold tuned on the index rw:1, got one tuned on rw:2 [RW-N02]",
        ),
    ],
)
def test_tuning_files_that_cannot_be_used(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    path = written(tmp_path / "p.toml", **changes)
    with pytest.raises(DataError) as caught:
        load(path, "rw:1")
    assert caught.value.lines()[0] == f"{path}: {message}"


def test_a_file_tuned_on_another_index(index: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a threshold tuned on the index rw:\w+, got one tuned on rw:1"):
        Pipeline(index, written(tmp_path / "p.toml"))
    with pytest.raises(DataError, match="expected a file, got nothing at this path"):
        Pipeline(index, tmp_path / "none.toml")
