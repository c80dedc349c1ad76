"""The retrieval gold set: lint, freeze with calibration, distance gates, verify, diff, rewriting for a new index."""

import gzip
import hashlib
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest

from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.corpus.groups import Groups
from ragworthy.gold import lint_retrieval, retrieval
from ragworthy.index.embed import load, text_distances
from ragworthy.metrics.facts.placed import Place
from ragworthy.records import RetrievalGold
from ragworthy.report.show import plural

Row = dict[str, Any]
FAR = ("RW-W172", "RW-W173")
"""What lint says of questions that are far from their text, by the model that fits best."""

TEXTS = {
    "lift": [
        ("Doors", "The doors close after ten seconds, and a light barrier keeps them open."),
        ("Alarm", "Press the yellow bell button for three seconds to call the control centre."),
        ("Load", "The cabin carries eight people or six hundred and thirty kilograms."),
    ],
    "bread": [
        ("Baking", "Bake the sourdough loaf at 240 degrees for twenty minutes."),
        ("Storing", "Keep the loaf in a linen bag and never in the fridge."),
        ("Flour", "Rye flour with a high ash content gives a dark crumb."),
    ],
    "sea": [
        ("Tides", "Spring tides follow the full moon and the new moon."),
        ("Salt", "Every litre of sea water holds thirty five grams of salt."),
        ("Whales", "Humpback whales migrate to warm lagoons to give birth."),
    ],
    "law": [
        ("Lease", "A lease of an apartment ends three months after written notice."),
        ("Tax", "Income tax returns are due at the end of July."),
        ("Court", "The court of appeal hears witnesses only in public sessions."),
    ],
}
CODE = "```python\nring(3)\n```"
QUESTIONS = {
    "lift.md|s=1.1|p=000|b=001": "When do the doors close, and what barrier keeps them open?",
    "lift.md|s=1.2|p=000|b=001": "How many seconds to press the yellow bell button to call the control centre?",
    "lift.md|s=1.3|p=000|b=001": "How many people and kilograms does the cabin carry?",
    "bread.md|s=1.1|p=000|b=001": "How many degrees and minutes to bake the sourdough loaf?",
    "bread.md|s=1.2|p=000|b=001": "Keep the loaf in a linen bag or in the fridge?",
    "bread.md|s=1.3|p=000|b=001": "Which rye flour with ash content gives a dark crumb?",
    "sea.md|s=1.1|p=000|b=001": "Which moon do spring tides follow?",
    "sea.md|s=1.2|p=000|b=001": "How many grams of salt does a litre of sea water hold?",
    "sea.md|s=1.3|p=000|b=001": "Where do humpback whales migrate to give birth?",
    "law.md|s=1.1|p=000|b=001": "When does the lease of an apartment end after written notice?",
    "law.md|s=1.2|p=000|b=001": "When are income tax returns due?",
    "law.md|s=1.3|p=000|b=001": "In which sessions does the court of appeal hear witnesses?",
}
IDS = list(QUESTIONS)


def documents(texts: dict[str, list[tuple[str, str]]]) -> list[Row]:
    rows = []
    for name, sections in texts.items():
        parts = [f"# {name.title()}", *(f"## {title}\n\n{text}" for title, text in sections)]
        rows.append({"path": f"{name}.md", "text": "\n\n".join(parts) + "\n"})
    return rows


def item(n: int, **extra: Any) -> Row:
    """Question n (from 0) asks for block n; its hard negative is the next section of the same document."""
    question = QUESTIONS[IDS[n]]
    near = IDS[n + 1] if n % 3 < 2 else IDS[n - 1]
    return {
        "qid": f"Q{n:02}",
        "paraphrases": [question, f"Please tell: {question}", f"{question} Thanks."],
        "relevant": [IDS[n]],
        "anchor_section": IDS[n].partition("|p=")[0],
        "negatives": [near],
        **extra,
    }


ITEMS = [item(n) for n in range(12)]


class World(NamedTuple):
    root: Path
    corpus: Path
    texts: dict[str, str]


def build(folder: Path, name: str, rows: list[Row], *flags: object) -> Path:
    source = write_jsonl(folder / f"{name}.docs.jsonl", rows)
    done = run_cli("index", "build", "--docs", source, "--out", folder / name, *flags)
    assert (done.code, done.err) == (0, "")
    return folder / name


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    rows = documents(TEXTS)
    rows[0]["text"] = rows[0]["text"].replace("control centre.", f"control centre.\n\n{CODE}")
    corpus = build(root, "index", rows)
    chunks = map(json.loads, (corpus / "chunks.jsonl").read_text().splitlines())
    return World(root, corpus, {one["chunk_id"]: one["text"] for one in chunks})


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# lint


def lint(path: Path, *flags: object) -> tuple[Done, list[tuple[str, str, int, str]]]:
    """What lint finds, as level, code, line and message."""
    done = run_cli("gold", "lint", path, "--format", "json", *flags)
    found = json.loads(done.out)["findings"]
    lines = [int(one["where"].rpartition(":")[2]) if one["where"] != str(path) else 0 for one in found]
    fields = [f"{one['field']}: " if one["field"] else "" for one in found]
    return done, [
        (one["level"], one["code"], line, field + one["message"])
        for one, line, field in zip(found, lines, fields, strict=True)
    ]


def size(count: int) -> tuple[str, str, int, str]:
    return "warning", "RW-W33", 0, f"{plural(count, 'question')}: a retrieval gold set has 200 to 400"


ALONE: dict[str, tuple[Row, tuple[str, str, str]]] = {
    "empty wording": (
        {"paraphrases": ["a", " ", "c"]},
        ("error", "RW-G12", "paraphrases: expected a wording, got an empty one"),
    ),
    "the same wording": (
        {"paraphrases": ["Doors?", "b", " doors? "]},
        ("warning", "RW-W35", "paraphrases: two of them are the same but for case and spaces"),
    ),
    "nothing relevant": ({"relevant": []}, ("error", "RW-G10", "relevant: expected at least one id, got none")),
    "relevant and negative": (
        {"negatives": [IDS[0]]},
        ("error", "RW-G11", f'negatives: expected no relevant id, got "{IDS[0]}"'),
    ),
    "offsets": (
        {"relevant_offsets": {IDS[0]: [9, 3]}},
        ("error", "RW-G14", f"relevant_offsets.{IDS[0]}: expected begin < end, got [9, 3]"),
    ),
    "type": ({"relevant": "x"}, ("error", "RW-G03", "relevant: expected a list, got a string")),
    "no qid": ({"qid": ""}, ("error", "RW-G01", "qid: expected a non-empty string, got nothing")),
    "qid twice": ({"qid": "Q01"}, ("error", "RW-G02", 'qid: expected a unique id, got "Q01" again')),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_an_item_alone_shows(tmp_path: Path, name: str) -> None:
    change, (level, code, message) = ALONE[name]
    path = write_jsonl(tmp_path / "gold.jsonl", [item(1), item(0) | change])
    done, found = lint(path)
    assert found == [size(2 if name != "type" else 1), (level, code, 2, message)]
    assert done.code == (1 if level == "error" else 0)


FEW = "λ and triplets are not measured, everything else is"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"paraphrases": ["a", "b"]}, f"1 of 2 questions have fewer than 3 wordings: {FEW}"),
        ({"paraphrases": None, "question": "a"}, f"1 of 2 questions have fewer than 3 wordings: {FEW}"),
        (
            {"paraphrases": []},
            "1 of 2 questions have fewer than 3 wordings, and 1 have none: "
            f"'retrieve' and 'index diff' cannot ask them: {FEW}",
        ),
        ({"paraphrases": ["a", "b"], "question": "c"}, None),
    ],
)
def test_fewer_than_three_wordings_are_a_note(tmp_path: Path, change: Row, message: str | None) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", [item(1), item(0) | change])
    done, found = lint(path)
    assert found == [size(2), *([("note", "RW-W92", 0, message)] if message else [])]
    assert done.code == 0


def test_an_unanswerable_item_needs_no_relevant_block(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", [item(0), item(1, relevant=[], negatives=[], answerable=False)])
    done, found = lint(path)
    assert (done.code, found) == (0, [size(2)])


@pytest.mark.parametrize(("count", "warned"), [(199, True), (200, False), (400, False), (401, True)])
def test_the_size_of_a_retrieval_gold_set(tmp_path: Path, count: int, warned: bool) -> None:
    items = [item(0) | {"qid": f"Q{n}", "paraphrases": [f"{n} {word}" for word in "abc"]} for n in range(count)]
    path = write_jsonl(tmp_path / "gold.jsonl", items)
    assert lint(path)[1] == ([size(count)] if warned else [])


AGAINST: dict[str, tuple[Row, tuple[str, str, str | None]]] = {
    "unknown block": (
        {"relevant": ["x|s=1|p=000|b=001", IDS[0]]},
        ("error", "RW-G13", 'relevant: expected ids of this index, got "x|s=1|p=000|b=001", which it does not have'),
    ),
    "unknown blocks": (
        {"relevant": [IDS[0], "x#1", "x#2", "x#3"]},
        ("error", "RW-G13", 'relevant: expected ids of this index, got "x#1" and 2 more that it does not have'),
    ),
    "unknown negative": (
        {"negatives": ["x#1"]},
        ("warning", "RW-G13", 'negatives: expected ids of this index, got "x#1", which it does not have'),
    ),
    "unknown section": (
        {"anchor_section": "7.1", "negatives": []},
        ("error", "RW-G13", 'anchor_section: expected a section of this index, got "7.1"'),
    ),
    "section of an unknown document": (
        {"anchor_section": "nope.md|s=1.1", "negatives": []},
        ("error", "RW-G13", 'anchor_section: expected a section of this index, got "nope.md|s=1.1"'),
    ),
    "far negative": (
        {"negatives": [IDS[4]]},
        ("note", "RW-W37", f'negatives: "{IDS[4]}" is not near the anchor section: it tests no boundary'),
    ),
    "offsets behind the end": (
        {"relevant_offsets": {IDS[0]: [0, 100_000]}},
        ("error", "RW-G14", None),  # the wording is free, the finding is not
    ),
}


def rest(count: int) -> list[tuple[str, str, int, str]]:
    """What lint says of this corpus whatever the item is."""
    return [
        size(count),
        ("warning", "RW-W34", 0, "no question asks for a block of type code, of which the corpus has 1"),
    ]


@pytest.mark.parametrize("name", AGAINST)
def test_what_an_item_shows_beside_the_corpus(world: World, tmp_path: Path, name: str) -> None:
    change, (level, code, message) = AGAINST[name]
    path = write_jsonl(tmp_path / "gold.jsonl", [*ITEMS[1:], item(0) | change])
    done, found = lint(path, "--corpus", world.corpus)
    own = [one for one in found if one not in rest(12) and one[1] not in FAR]
    assert [(one[0], one[1], one[2]) for one in own] == [(level, code, 12)]
    assert message is None or own[0][3] == message
    assert done.code == (1 if level == "error" else 0)


def test_a_clean_gold_set_beside_its_corpus(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done, found = lint(path, "--corpus", world.corpus)
    assert (done.code, [one for one in found if one[1] not in FAR]) == (0, rest(12))
    assert lint(path, "--corpus", world.corpus / "chunks.jsonl")[1] == found


def test_a_wording_as_far_as_unrelated_text(world: World, tmp_path: Path) -> None:
    far = item(11) | {"paraphrases": ["Which yeast does my grandmother like best?", "b", "c"]}
    path = write_jsonl(tmp_path / "gold.jsonl", [*ITEMS[:11], far])
    found = [one for one in lint(path, "--corpus", world.corpus)[1] if one not in rest(12) and one[1] not in FAR]
    assert [(one[:3]) for one in found] == [("warning", "RW-W36", 12)]
    assert found[0][3].startswith("paraphrases: ΔS to its first relevant block is ")
    assert found[0][3].endswith(", as far as unrelated text")


def test_few_sections_asked_about(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", ITEMS[:2])
    found = lint(path, "--corpus", world.corpus)[1]
    told = "2 of 12 sections are asked about (gold_section_coverage 0.1667; the target is at least 0.80)"
    assert ("note", "RW-W38", 0, told) in found
    checked = run_cli("index", "check", world.corpus, "--gold", path)
    assert f"gold: {told}" in checked.out.splitlines()


@pytest.mark.parametrize(("asked", "few"), [(10, False), (9, True)])
def test_four_fifths_of_the_sections_are_enough(world: World, tmp_path: Path, asked: int, few: bool) -> None:
    """goldset_curation.md: section coverage ≥ 0.80; of the 12 sections here 10 are 0.8333, and 9 are 0.75."""
    path = write_jsonl(tmp_path / "gold.jsonl", ITEMS[:asked])
    assert ("RW-W38" in [one[1] for one in lint(path, "--corpus", world.corpus)[1]]) is few
    line = f"gold: {asked} of 12 sections are asked about (gold_section_coverage {'0.75' if few else '0.8333'}"
    line += "; the target is at least 0.80)" if few else ")"
    assert line in run_cli("index", "check", world.corpus, "--gold", path).out.splitlines()


def distanced(**distances: str) -> list[tuple[str, str, int, str]]:
    """What lint says of distances, for questions that are so far from their first relevant block."""
    golds = [RetrievalGold(qid=qid, paraphrases=[f"{qid}?"], relevant=["a"]) for qid in distances]
    items = [lint_retrieval.Question(line, {}, gold) for line, gold in enumerate(golds, 1)]
    place = Place("d", "1", "prose")
    far = {qid: Fraction(text) for qid, text in distances.items()}
    known = lint_retrieval.Known({"a": place}, far, {"d": 9}, frozenset({("d", "1")}), Groups([]))
    found = lint_retrieval.lint(items, "gold.jsonl", known)
    return [(one.level, one.problem.code, one.line, one.problem.message) for one in found if one.problem.code in
            {*FAR, "RW-W36"}]  # fmt: skip


def test_items_to_refresh_are_named_one_by_one() -> None:
    """goldset_curation.md: drop or refresh items with a baseline ΔS above 0.45, want 0.35; 0.60 is unrelated text."""
    found = distanced(a="0.35", b="0.350001", c="0.45", d="0.450001", e="0.5", f="0.599999", g="0.6")
    told, beyond = "ΔS to its first relevant block is", ": an item beyond 0.45 is dropped or refreshed"
    assert found == [
        ("note", "RW-W173", 1, "6 of 7 questions are farther than 0.35 from their first relevant block (ΔS), "
         "the farthest first: g (0.6), f (0.599999), e (0.5) …"),
        ("note", "RW-W172", 4, f"{told} 0.450001{beyond}"),
        ("note", "RW-W172", 5, f"{told} 0.5{beyond}"),
        ("note", "RW-W172", 6, f"{told} 0.599999{beyond}"),
        ("warning", "RW-W36", 7, f"{told} 0.6, as far as unrelated text"),
    ]  # fmt: skip
    assert distanced(a="0.35", b="0.1") == []
    ((*_, message),) = distanced(a="0.350001")
    assert message.endswith("1 of 1 questions are farther than 0.35 from their first relevant block (ΔS), "
                            "the farthest first: a (0.350001)")  # fmt: skip


def test_lint_names_what_is_far_by_the_model_that_separates_best(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    found = [one for one in lint(path, "--corpus", world.corpus)[1] if one[1] in FAR]
    chosen = retrieval.calibrate(path, world.corpus)
    scale = chosen.calibration
    far = {qid: sum(map(scale.of, some)) / len(some) for qid, some in chosen.first.items()}
    beyond = [nth for nth, one in enumerate(ITEMS, 1) if Fraction("0.45") < far[one["qid"]] < Fraction("0.6")]
    assert [one[2] for one in found if one[1] == "RW-W172"] == beyond and len(beyond) == 1
    off = sum(one > Fraction("0.35") for one in far.values())
    assert found[0][3].startswith(f"{off} of 12 questions are farther than 0.35 ")


def test_lint_as_text_counts_and_advises(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", [item(0), item(1, paraphrases=["a", "b", ""])])
    done = run_cli("gold", "lint", path)
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert f"error: {path}:2: paraphrases: expected a wording, got an empty one [RW-G12]" in lines
    assert f"RW-G12 no_wording: 1 time. {CATALOGUE['RW-G12'].do}" in lines
    assert lines[-1] == "lint: 2 items, 1 error, 1 warning, 0 notes (exit 1)"
    done = run_cli("gold", "lint", path, "--format", "sarif", "-o", tmp_path / "lint.sarif")
    results = json.loads((tmp_path / "lint.sarif").read_text())["runs"][0]["results"]
    assert done.code == 1
    assert [(one["ruleId"], one["level"]) for one in results] == [("RW-W33", "warning"), ("RW-G12", "error")]
    assert results[1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


def test_errors_of_lint(world: World, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done = run_cli("gold", "lint", path, "--corpus", tmp_path / "nope")
    assert done == Done(2, "", said("RW-F01", f"{tmp_path / 'nope'}: expected a file, got nothing at this path"))


# freeze and calibration


def percentile(values: list[Fraction], percent: int) -> Fraction:
    """Linear between neighbours, at (percent / 100) · (n − 1)."""
    ordered = sorted(values)
    place = Fraction(percent, 100) * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def raw(world: World, pairs: list[tuple[str, str]]) -> list[Fraction]:
    """ΔS of wordings and blocks, by the model itself."""
    left, right = [one for one, _ in pairs], [world.texts[name] for _, name in pairs]
    return [Fraction(f"{one:.6f}") for one in text_distances(load(), left, right)]


def freeze(world: World, gold: Path, *flags: object) -> Row:
    done = run_cli(
        "gold", "freeze", gold, "--signer", "Ada", "--reason", "first", "--corpus", world.corpus, *flags
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    lock: Row = json.loads(gold.with_suffix(".lock").read_text())
    return lock | {"said": done.out}


def test_freezing_with_a_corpus_keeps_the_calibration(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    lock = freeze(world, gold)
    manifest = json.loads((world.corpus / "manifest.json").read_text())
    assert lock["corpus"]["index_hash"] == manifest["index_hash"]
    found = lock["calibration"]
    assert (found["model"], found["weights"]) == ("wordllama", manifest["embedding"]["weights"])
    relevant, negatives = (
        raw(world, [(text, one[field][0]) for one in ITEMS for text in one["paraphrases"]])
        for field in ("relevant", "negatives")
    )
    cited = [sum(relevant[nth : nth + 3], Fraction(0)) / 3 for nth in range(0, 36, 3)]  # a question's is the mean
    assert found["r90"] == f"{float(round(percentile(relevant, 90), 6)):.6f}"
    assert found["perfect_raw"]["median"] == f"{float(round(percentile(cited, 50), 6)):.6f}"
    assert found["perfect_raw"]["p90"] == f"{float(round(percentile(cited, 90), 6)):.6f}"
    mapped = [calibrated(lock, one) for one in relevant]  # the map comes before the mean, as in scoring
    perfect = [sum(mapped[nth : nth + 3], Fraction(0)) / 3 for nth in range(0, 36, 3)]
    for name, percent in (("median", 50), ("p90", 90)):
        assert float(found["perfect"][name]) == pytest.approx(float(percentile(perfect, percent)), abs=2e-6)
    assert float(found["perfect"]["mean"]) == pytest.approx(float(sum(perfect) / 12), abs=2e-6)
    wins = sum(1 if one < other else Fraction(1, 2) if one == other else 0 for one in relevant for other in negatives)
    assert found["auc"] == pytest.approx(float(wins / 36**2), abs=1e-6)
    assert (found["relevant_pairs"], found["unrelated_pairs"]) == (36, 120)
    foreign = raw(
        world,
        [
            (text, name)
            for one in ITEMS
            for text in one["paraphrases"]
            for name in IDS
            if name[:3] != one["relevant"][0][:3]
        ],
    )  # fmt: skip
    assert min(foreign) <= Fraction(found["n10"]) <= max(foreign)
    assert Fraction(found["r90"]) < Fraction(found["n10"])  # or no distance could be judged here
    assert f"relevant text r90 = {float(found['r90']):.4f} (36 pairs)" in lock["said"]
    assert "calibrated: perfect retrieval has median " in lock["said"]


def test_the_calibration_is_the_same_twice_and_from_the_chunk_file(world: World, tmp_path: Path) -> None:
    locks = []
    for nth, corpus in enumerate([world.corpus, world.corpus, world.corpus / "chunks.jsonl"]):
        gold = write_jsonl(tmp_path / f"g{nth}.jsonl", ITEMS)
        done = run_cli("gold", "freeze", gold, "--signer", "A", "--reason", "x", "--corpus", corpus)
        assert done.code == 0
        locks.append(json.loads(gold.with_suffix(".lock").read_text())["calibration"])
    assert locks[0] == locks[1] == locks[2]


def test_errors_of_freeze_leave_the_old_lock(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    freeze(world, gold)
    before = (tmp_path / "gold.lock").read_bytes()
    args = ["gold", "freeze", gold, "--signer", "Ada", "--reason", "x"]
    done = run_cli(*args, "--corpus", world.corpus, "--dense", "gpt")
    wanted = said("RW-U01", 'expected a model (ngram, wordllama, minilm or openai:MODEL@URL), got "gpt"')
    assert done == Done(2, "", wanted)
    done = run_cli(*args, "--corpus", tmp_path / "nope")
    assert done == Done(2, "", said("RW-F01", f"{tmp_path / 'nope'}: expected a file, got nothing at this path"))
    write_jsonl(gold, [item(0, relevant=["x#1"])])
    done = run_cli(*args, "--corpus", world.corpus)
    wanted = said("RW-G13", f"{gold}: expected questions with relevant blocks of this corpus, got none")
    assert done == Done(2, "", wanted)
    answers = write_jsonl(tmp_path / "a.jsonl", [{"qid": "A1", "question": "x", "answerable": False}])
    done = run_cli("gold", "freeze", answers, "--signer", "Ada", "--reason", "x", "--corpus", world.corpus)
    wanted = said("RW-G13", f"{answers}: expected questions with relevant blocks of this corpus, got none")
    assert done == Done(2, "", wanted)
    structured = write_jsonl(tmp_path / "s.jsonl", [{"id": "S1", "question": "x", "expected": {"topic": "a"}}])
    done = run_cli("gold", "freeze", structured, "--signer", "Ada", "--reason", "x", "--corpus", world.corpus)
    assert done == Done(2, "", said("RW-U01", "--corpus: only a gold set that names evidence is calibrated"))
    assert (tmp_path / "gold.lock").read_bytes() == before
    assert not (tmp_path / "a.lock").exists()


# distances when scoring


class Set(NamedTuple):
    gold: Path
    traces: Path
    lock: Row


@pytest.fixture(scope="module")
def frozen(world: World, tmp_path_factory: pytest.TempPathFactory) -> Set:
    folder = tmp_path_factory.mktemp("frozen")
    gold = write_jsonl(folder / "gold.jsonl", ITEMS)
    done = run_cli("retrieve", "--index", world.corpus, "--gold", gold, "-o", folder / "t.jsonl")
    assert done.code == 0
    return Set(gold, folder / "t.jsonl", freeze(world, gold))


def score(given: Set, *flags: object) -> tuple[Done, Row]:
    done = run_cli(
        "score", "retrieval", "--gold", given.gold, "--trace", given.traces, "--format", "json", *flags
    )  # fmt: skip
    return done, json.loads(done.out) if done.out else {}


def calibrated(lock: Row, value: Fraction) -> Fraction:
    """0 → 0, r90 → 0.45, n10 → 0.60, 1 → 1."""
    r90, n10 = Fraction(lock["calibration"]["r90"]), Fraction(lock["calibration"]["n10"])
    points = [(Fraction(0), Fraction(0)), (r90, Fraction("0.45")), (n10, Fraction("0.60")), (Fraction(1), Fraction(1))]
    for (x0, y0), (x1, y1) in pairwise(points):
        if value <= x1:
            return y0 + (value - x0) / (x1 - x0) * (y1 - y0)
    return Fraction(1)


def test_calibrated_distances_and_the_raw_ones_beside_them(world: World, frozen: Set, tmp_path: Path) -> None:
    done, report = score(frozen, "--corpus", world.corpus, "--rows", tmp_path / "rows.jsonl")
    assert (done.code, done.err) == (0, "")
    traces = rows_of(frozen.traces)
    per_question = {
        one["qid"]: [calibrated(frozen.lock, Fraction(str(t["ΔS"][0]))) for t in traces if t["qid"] == one["qid"]]
        for one in ITEMS
    }
    for row in rows_of(tmp_path / "rows.jsonl"):
        values = per_question[row["qid"]]
        assert row["metrics"]["retrieval.delta_s_mean"] == pytest.approx(float(sum(values) / 6), abs=1e-6)
    found = report["suites"]["retrieval"]["delta_s"]
    assert (found["source"], found["model"]) == ("calibrated", "wordllama")
    assert found["weights"] == frozen.lock["calibration"]["weights"]
    by_question: dict[str, list[Fraction]] = {}
    for one in traces:
        by_question.setdefault(one["qid"], []).append(Fraction(str(one["ΔS"][0])))
    firsts = [sum(some, Fraction(0)) / len(some) for some in by_question.values()]
    assert found["raw"]["median"] == pytest.approx(float(percentile(firsts, 50)))
    assert found["raw"]["p90"] == pytest.approx(float(percentile(firsts, 90)))
    for name in ("perfect", "perfect_raw"):
        assert found["calibration"][name] == frozen.lock["calibration"][name]
    assert found["calibration"]["separates"] is True and 0 <= found["calibration"]["auc"] <= 1
    assert sum(found["bands"].values()) == sum(found["verdicts"].values()) == 12
    text = run_cli(
        "score", "retrieval", "--full", "--gold", frozen.gold, "--trace", frozen.traces, "--corpus", world.corpus
    ).out  # fmt: skip
    assert "ΔS calibrated by wordllama: stable " in text and "perfect retrieval would score raw median " in text


def test_recorded_distances_of_the_calibrated_model_need_no_corpus(world: World, frozen: Set) -> None:
    _, one = score(frozen, "--corpus", world.corpus)
    done, other = score(frozen)
    assert done.code == 0
    for name in ("delta_s_median", "delta_s_p90", "delta_s_mean"):
        metrics = [report["suites"]["retrieval"]["metrics"][f"retrieval.{name}"] for report in (one, other)]
        assert metrics[0] == metrics[1]
    assert other["suites"]["retrieval"]["delta_s"]["source"] == "calibrated"


def test_texts_are_embedded_when_the_traces_carry_no_distances(world: World, frozen: Set, tmp_path: Path) -> None:
    bare = [
        {key: one for key, one in row.items() if key not in ("ΔS", "delta_s_model")} for row in rows_of(frozen.traces)
    ]
    given = frozen._replace(traces=write_jsonl(tmp_path / "t.jsonl", bare))
    _, one = score(frozen, "--corpus", world.corpus)
    _, other = score(given, "--corpus", world.corpus)
    for name in ("delta_s_median", "delta_s_p90", "delta_s_mean"):
        assert (
            one["suites"]["retrieval"]["metrics"][f"retrieval.{name}"]
            == (other["suites"]["retrieval"]["metrics"][f"retrieval.{name}"])
        )
    done, report = score(given, "--gates", "recall@5=0.5")  # neither corpus nor distances: usual gates are not judged
    outcomes = {gate["metric"]: gate["outcome"] for gate in report["gates"]}
    assert (done.code, outcomes["retrieval.delta_s_median"]) == (0, "not_measured")
    assert score(given)[0].code == 4  # where no other gate was named they must be measured
    assert report["suites"]["retrieval"]["metrics"]["retrieval.delta_s_median"]["value"] is None


def test_recorded_distances_are_taken_as_they_are_when_asked(world: World, frozen: Set) -> None:
    _, report = score(frozen, "--corpus", world.corpus, "--delta-s", "recorded", "--gates", "recall@5=0.5")
    body = report["suites"]["retrieval"]
    per_question = [
        sum((Fraction(str(t["ΔS"][0])) for t in rows_of(frozen.traces) if t["qid"] == one["qid"]), Fraction(0)) / 6
        for one in ITEMS
    ]
    assert body["delta_s"]["source"] == "recorded"
    assert Fraction(body["metrics"]["retrieval.delta_s_median"]["exact"]) == percentile(per_question, 50)


@pytest.mark.parametrize("mode", ["raw", "calibrated"])
def test_a_gate_that_nothing_could_pass_is_refused(world: World, frozen: Set, tmp_path: Path, mode: str) -> None:
    known = frozen.lock["calibration"]
    best = Fraction(known["perfect" if mode == "calibrated" else "perfect_raw"]["median"])
    limit = "0.05"
    assert best > Fraction(limit)
    out = tmp_path / "r.json"
    flags = ["--corpus", world.corpus, "--delta-s", mode, "-o", out]
    done, _ = score(frozen, *flags, "--gates", f"delta_s_median={limit}")
    message = f"max = {limit} is out of reach where everything is answered: perfect retrieval scores {float(best):.4f}"
    if mode == "calibrated":
        nearest = float(known["nearest"]) / float(known["r90"]) * 0.45
        message = f"max = {limit} can never pass: the nearest relevant text is at {nearest:.6f}"
    assert done == Done(2, "", said("RW-P13", f"retrieval.delta_s_median: {message} ({mode})"))
    assert not out.exists()
    # at the number itself, rounded up, perfect retrieval would pass
    done, _ = score(frozen, *flags, "--gates", f"delta_s_median={float(best) + 0.000001:.6f}")
    assert done.code in (0, 1)


def test_the_policy_is_named_when_its_gate_cannot_be_passed(world: World, frozen: Set, tmp_path: Path) -> None:
    policy = tmp_path / "ragworthy.toml"
    policy.write_text(
        f'version = 1\n[retrieval]\ngold = "{frozen.gold}"\ntraces = "{frozen.traces}"\ncorpus = "{world.corpus}"\n'
        'delta_s = "raw"\n[[gate]]\nmetric = "retrieval.delta_s_p90"\nmax = 0.05\n'
    )
    done = run_cli("gate", "-c", policy)
    best = float(frozen.lock["calibration"]["perfect_raw"]["p90"])
    message = f"max = 0.05 is out of reach where everything is answered: perfect retrieval scores {best:.4f} (raw)"
    assert done == Done(2, "", said("RW-P13", f"{policy}: retrieval.delta_s_p90: {message}"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["ragworthy.toml"]


def test_a_mean_that_perfect_retrieval_could_not_reach_is_refused_too(world: World, frozen: Set) -> None:
    done, _ = score(frozen, "--corpus", world.corpus, "--delta-s", "raw", "--gates", "delta_s_mean=0.01")
    assert done.code == 2 and "[RW-P13]" in done.err


def test_what_is_within_and_what_is_returned_are_on_the_calibrated_scale(world: World, frozen: Set) -> None:
    _, report = score(frozen, "--corpus", world.corpus, "--gates", "recall@5=0.5")
    metrics = report["suites"]["retrieval"]["metrics"]
    ends = [0, float(frozen.lock["calibration"]["r90"]), float(frozen.lock["calibration"]["n10"]), 1]
    within: dict[str, list[Any]] = {}
    medians: dict[str, list[Any]] = {}
    tails: dict[str, list[Any]] = {}
    for one in rows_of(frozen.traces):
        scaled = list(numpy.interp(numpy.array(one["ΔS"]), ends, [0, 0.45, 0.60, 1]))
        within.setdefault(one["qid"], []).append(scaled[0] <= 0.45)  # the first result is what is cited
        medians.setdefault(one["qid"], []).append(numpy.percentile(scaled, 50))
        tails.setdefault(one["qid"], []).append(numpy.percentile(scaled, 90))
    found = {name: metrics[f"retrieval.delta_s_{name}"]["value"] for name in ("within", "topk_median", "topk_p90")}
    assert found["within"] == pytest.approx(numpy.mean([numpy.mean(some) for some in within.values()]))
    assert 0 < found["within"] < 1
    assert found["topk_median"] == pytest.approx(
        numpy.median([numpy.mean(some) for some in medians.values()]), abs=2e-6
    )
    assert found["topk_p90"] == pytest.approx(numpy.median([numpy.mean(some) for some in tails.values()]), abs=2e-6)


def test_a_threshold_inside_of_a_metric_means_nothing_on_a_raw_scale(world: World, frozen: Set) -> None:
    _, report = score(frozen, "--corpus", world.corpus, "--delta-s", "raw", "--gates", "recall@5=0.5")
    metrics = report["suites"]["retrieval"]["metrics"]
    assert metrics["retrieval.delta_s_mean"]["value"] is not None
    assert metrics["retrieval.delta_s_within"]["undefined"] == (
        "distances are raw: the thresholds mean nothing for this model until it is calibrated"
    )


def relocked(frozen: Set, folder: Path, **changed: Any) -> Set:
    """The same gold set with something else in the calibration of its lock."""
    lock = json.loads(frozen.gold.with_name("gold.lock").read_text())
    lock["calibration"] |= changed
    gold = folder / "gold.jsonl"
    gold.write_bytes(frozen.gold.read_bytes())
    gold.with_name("gold.lock").write_text(json.dumps(lock))
    return frozen._replace(gold=gold)


def test_all_within_is_warned_of_where_some_relevant_text_is_not(world: World, frozen: Set, tmp_path: Path) -> None:
    """Who refuses the questions that are far from their evidence can still pass: the verdict is that of the numbers."""
    perfect = frozen.lock["calibration"]["perfect"]
    told = "min = 1.0 is out of reach where everything is answered: perfect retrieval has a p90 of 0.450001"
    near = {one["qid"] for one in rows_of(frozen.traces) if one["ΔS"][0] > float(frozen.lock["calibration"]["r90"])}
    answered = [one if one["qid"] not in near else one | {"answer_citations": []} for one in rows_of(frozen.traces)]
    traces = write_jsonl(tmp_path / "t.jsonl", answered)
    assert 0 < len(near) < len(ITEMS)
    for p90, warned in (("0.450000", []), ("0.450001", [f"retrieval.delta_s_within: {told} (calibrated)"])):
        given = relocked(frozen, tmp_path, perfect=perfect | {"p90": p90})._replace(traces=traces)
        done, report = score(given, "--corpus", world.corpus, "--gates", "delta_s_within=1.0", "--no-default-gates")
        notes = report["suites"]["retrieval"]["warnings"]
        assert [one["message"] for one in notes if one["code"] == "RW-W160"] == warned
        gate = report["gates"][0]
        assert (done.code, gate["outcome"], gate["value"]) == (0, "pass", 1), p90


def test_nothing_is_within_where_no_relevant_text_is(world: World, frozen: Set, tmp_path: Path) -> None:
    lock = frozen.lock["calibration"]
    far = {"nearest": f"{float(lock['r90']) + 0.001:.6f}", "perfect": lock["perfect"] | {"p90": "0.5"}}
    given = relocked(frozen, tmp_path, **far)
    done, _ = score(given, "--corpus", world.corpus, "--gates", "delta_s_within=1.0")
    assert done.code == 2 and "min = 1.0 can never pass: the nearest relevant text is at 0.45" in done.err


def test_earlier_locks_do_not_know_the_nearest_text(world: World, frozen: Set, tmp_path: Path) -> None:
    given = relocked(frozen, tmp_path, nearest=None)
    done, report = score(given, "--corpus", world.corpus, "--gates", "delta_s_median=0.05", "--no-default-gates")
    assert done.code == 1
    assert "RW-W160" in {one["code"] for one in report["suites"]["retrieval"]["warnings"]}


def test_a_model_that_does_not_separate_leaves_its_gates_unmeasured(world: World, tmp_path: Path) -> None:
    """Every question is bound to a block of another document: relevant text is as far as unrelated text."""
    wrong = [item(n) | {"relevant": [IDS[(n + 4) % 12]], "negatives": [], "anchor_section": ""} for n in range(12)]
    gold = write_jsonl(tmp_path / "gold.jsonl", wrong)
    lock = freeze(world, gold)
    assert Fraction(lock["calibration"]["r90"]) >= Fraction(lock["calibration"]["n10"])
    assert "no model tells relevant from unrelated text here: ΔS gates will not be measured" in lock["said"]
    assert lock["said"].count(": does not separate\n") == 2 and not (tmp_path / "gold.ngrams").exists()
    assert run_cli("retrieve", "--index", world.corpus, "--gold", gold, "-o", tmp_path / "t.jsonl").code == 0
    given = Set(gold, tmp_path / "t.jsonl", lock)
    done, report = score(given, "--corpus", world.corpus, "--gates", "delta_s_median=0.40", "--no-default-gates")
    gate = report["gates"][0]
    reason = "wordllama does not tell relevant from unrelated text here (r90 ≥ n10)"
    assert (done.code, gate["outcome"], gate["reason"]) == (4, "not_measured", reason)
    assert report["invalid"] == [f"retrieval.delta_s_median was not measured: {reason}"]


@pytest.mark.parametrize(
    ("mode", "corpus", "reason"),
    [
        (
            "calibrated",
            True,
            "the lock of the gold set has no calibration ('ragworthy gold freeze --corpus INDEX' makes one)",
        ),
        ("raw", False, "no distances are recorded, and no corpus was given"),
    ],
)
def test_distances_that_cannot_be_had(
    world: World, frozen: Set, tmp_path: Path, mode: str, corpus: bool, reason: str
) -> None:
    given = frozen._replace(gold=write_jsonl(tmp_path / "gold.jsonl", ITEMS))  # no lock beside it
    flags = ["--corpus", world.corpus] if corpus else []
    done, report = score(given, "--delta-s", mode, *flags, "--gates", "delta_s_median=0.40")
    assert (done.code, report["gates"][0]["outcome"], report["gates"][0]["reason"]) == (4, "not_measured", reason)


def test_a_baseline_with_other_distances_is_not_compared(world: World, frozen: Set, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.delta_s_median"\nmax_drop = 0.05\n')
    assert score(frozen, "--corpus", world.corpus, "-o", base)[0].code == 0
    done, report = score(frozen, "--corpus", world.corpus, "--baseline", base, "--gates", gates)
    assert (done.code, report["gates"][0]["outcome"]) == (0, "pass")
    done, report = score(frozen, "--corpus", world.corpus, "--delta-s", "raw", "--baseline", base, "--gates", gates)
    reason = "the baseline is not comparable: it was scored with another setting of delta_s"
    assert (done.code, report["gates"][0]["reason"]) == (4, reason)


# verify and diff


def test_verify_tells_the_frozen_one_from_others(world: World, frozen: Set, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    (tmp_path / "gold.lock").write_text(json.dumps({key: one for key, one in frozen.lock.items() if key != "said"}))
    done = run_cli("gold", "verify", gold, "--signer", "Ada")
    assert done == Done(0, "frozen: the gold set is the one signed by Ada (exit 0)\n", "")
    done = run_cli("gold", "verify", gold, "--signer", "Bob")
    assert done.code == 4 and "not signed by Bob" in done.out
    changed = [item(0, relevant=[IDS[1]], negatives=[]), *ITEMS[1:11], item(11) | {"qid": "Q99"}]
    write_jsonl(gold, changed)
    done = run_cli("gold", "verify", gold)
    assert done.code == 4
    assert done.out.splitlines()[:3] == ["added: Q99", "removed: Q11", "changed: Q00"]


DIFFS: dict[str, tuple[Row, str]] = {
    "paraphrases": (
        {"paraphrases": ["x", "y", "z"]},
        "other wordings are asked now: results of the question are not comparable",
    ),
    "relevant": ({"relevant": [IDS[2]]}, "other blocks are relevant now: rank metrics and coverage are not comparable"),
    "anchor_section": (
        {"anchor_section": "1.3"},
        "another section should answer now: coverage and anchor metrics are not comparable",
    ),
    "negatives": ({"negatives": []}, "other hard negatives: only the numbers about them move"),
    "relevant_offsets": (
        {"relevant_offsets": {IDS[0]: [0, 9]}},
        "other bytes count now: citation accuracy is not comparable",
    ),
    "answerable": ({"answerable": False}, "the question changed sides: its earlier results cannot be compared"),
}


@pytest.mark.parametrize("field", DIFFS)
def test_diff_says_what_a_change_means(tmp_path: Path, field: str) -> None:
    change, meaning = DIFFS[field]
    old = write_jsonl(tmp_path / "old.jsonl", ITEMS[:2])
    new = write_jsonl(tmp_path / "new.jsonl", [item(0) | change, item(1)])
    done = run_cli("gold", "diff", old, new)
    assert done.code == 0
    assert done.out.splitlines() == [
        f"changed: Q00 ({field}): {meaning}",
        "0 added, 0 removed, 1 changed",
        "runs over the two sets are not comparable",
    ]


def test_grades_are_scored_so_a_change_of_them_is_told(tmp_path: Path) -> None:
    old = write_jsonl(tmp_path / "old.jsonl", [item(0)])
    new = write_jsonl(tmp_path / "new.jsonl", [item(0, grades={IDS[0]: 3})])
    done = run_cli("gold", "diff", old, new)
    assert done.out.splitlines()[-1] == "runs over the two sets are not comparable"


def test_diff_of_the_same_and_of_fields_that_are_not_scored(tmp_path: Path) -> None:
    old = write_jsonl(tmp_path / "old.jsonl", ITEMS[:2])
    new = write_jsonl(tmp_path / "new.jsonl", [item(0, owner="Ada"), item(1)])
    assert run_cli("gold", "diff", old, old).out.endswith("runs over the two sets are comparable\n")
    done = run_cli("gold", "diff", old, new, "--format", "json")
    assert json.loads(done.out)["changes"] == [
        {"qid": "Q00", "kind": "changed", "fields": ["owner"], "meaning": "not scored: nothing moves"}
    ]


# rewriting for a new index


class Moved(NamedTuple):
    """Three versions: a section more in the second, another one more in the third and the tax section gone."""

    first: Path
    second: Path
    third: Path
    tables: tuple[Path, Path]


@pytest.fixture(scope="module")
def moved(world: World, tmp_path_factory: pytest.TempPathFactory) -> Moved:
    folder = tmp_path_factory.mktemp("moved")
    second = {**TEXTS, "lift": [("History", "The first elevator was hauled by an ox on a hill."), *TEXTS["lift"]]}
    third = {**second, "law": [TEXTS["law"][0], TEXTS["law"][2]]}
    third["lift"] = [("Preface", "Somebody wrote these pages in a hurry during the winter."), *second["lift"]]
    indexes = [
        build(folder, name, documents(texts), "--dense", "none")
        for name, texts in (("one", TEXTS), ("two", second), ("three", third))
    ]
    tables = []
    for old, new in pairwise(indexes):
        tables.append(folder / f"{old.name}-{new.name}.json")
        assert run_cli("index", "migrate", old, new, "-o", tables[-1]).code in (0, 1)
    one, two, three = indexes
    return Moved(one, two, three, (tables[0], tables[1]))


def rebind(given: Path, out: Path, *tables: Path) -> Done:
    flags = [one for table in tables for one in ("--redirects", table)]
    return run_cli("gold", "rebind", given, *flags, "-o", out)


def test_rebind_writes_new_files_a_log_and_a_review_list(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    before = gold.read_bytes()
    done = rebind(gold, tmp_path / "new.jsonl", moved.tables[0])
    assert (done.code, done.err) == (0, "")
    files = [tmp_path / name for name in ("new.jsonl", "new.log.jsonl", "new.review.jsonl")]
    log = rows_of(files[1])
    assert done.out.splitlines() == [
        f"12 records, {len(log)} values rewritten",
        f"wrote {files[0]}, {files[1]}, {files[2]}",
        "rebind: 0 entries to review (exit 0)",
    ]
    assert gold.read_bytes() == before and files[2].read_bytes() == b""
    new = rows_of(files[0])
    assert new[0]["relevant"] == ["lift.md|s=1.2|p=000|b=001"] and new[0]["negatives"] == ["lift.md|s=1.3|p=000|b=001"]
    assert new[0]["anchor_section"] == "lift.md|s=1.2"
    # other documents stayed as they are; an item may say which index it is for now
    assert [{key: one[key] for key in one if key != "index_hash"} for one in new[3:]] == ITEMS[3:]
    assert {row["qid"] for row in log} == {"Q00", "Q01", "Q02"}
    first = next(row for row in log if row["field"] == "relevant")
    assert (first["from"], first["to"], first["move"]) == (IDS[0], ["lift.md|s=1.2|p=000|b=001"], "shift")
    # the new gold set fits the new index
    assert run_cli("index", "check", moved.second, "--gold", files[0]).code == 0
    assert run_cli("index", "check", moved.second, "--gold", gold).code == 0  # as far as ids go, so did the old one
    again = rebind(gold, tmp_path / "again.jsonl", moved.tables[0])
    assert again.code == 0 and (tmp_path / "again.jsonl").read_bytes() == files[0].read_bytes()


def test_rebind_through_a_chain_names_what_is_gone(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done = rebind(gold, tmp_path / "new.jsonl", *moved.tables)
    assert (done.code, done.err) == (1, "")
    assert "review: Q10 relevant law.md|s=1.2|p=000|b=001: unmapped: no new block holds its text\n" in done.out
    review = rows_of(tmp_path / "new.review.jsonl")
    assert {row["qid"] for row in review} == {"Q09", "Q10", "Q11"}  # as relevant, and as a negative of its neighbours
    assert done.out.endswith(f"rebind: {len(review)} entries to review (exit 1)\n")
    new = rows_of(tmp_path / "new.jsonl")
    assert new[0]["relevant"] == ["lift.md|s=1.3|p=000|b=001"]
    assert new[10]["relevant"] == [] and new[11]["relevant"] == ["law.md|s=1.2|p=000|b=001"]
    reverse = rebind(gold, tmp_path / "other.jsonl", *reversed(moved.tables))  # the order of tables does not matter
    assert reverse.code == 1
    assert (tmp_path / "other.jsonl").read_bytes() == (tmp_path / "new.jsonl").read_bytes()


def test_rebind_traces(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    traces = tmp_path / "t.jsonl"
    assert run_cli("retrieve", "--index", moved.first, "--gold", gold, "-o", traces, "--k", 3).code == 0
    before = traces.read_bytes()
    done = rebind(traces, tmp_path / "new.jsonl", moved.tables[0])
    assert (done.code, traces.read_bytes() == before) == (0, True)
    old, new = rows_of(traces), rows_of(tmp_path / "new.jsonl")
    assert len(old) == len(new) == 72
    table = {
        row["old_block_id"]: row
        for document in json.loads(moved.tables[0].read_text())["documents"]
        for row in document["mappings"]
    }
    for one, other in zip(old, new, strict=True):
        assert [hit["id"] for hit in other["topk"]] == [table[hit["id"]]["new_block_id"] for hit in one["topk"]]
        assert [hit["offsets"] for hit in other["topk"]] == [table[hit["id"]]["new_off"] for hit in one["topk"]]
        assert other["answer_citations"][0]["id"] == other["topk"][0]["id"]
        assert other["index_hash"] == json.loads(moved.tables[0].read_text())["to_version"]
    # the rewritten traces over the rewritten gold set score as the old over the old
    assert rebind(gold, tmp_path / "gold2.jsonl", moved.tables[0]).code == 0
    reports = [
        json.loads(run_cli("score", "retrieval", "--gold", g, "--trace", t, "--format", "json").out)
        for g, t in ((gold, traces), (tmp_path / "gold2.jsonl", tmp_path / "new.jsonl"))
    ]
    for name in ("recall@5", "mrr", "coverage", "anchor_hit@1", "triplet_rate"):
        values = [one["suites"]["retrieval"]["metrics"][f"retrieval.{name}"]["value"] for one in reports]
        assert values[0] == values[1], name


@pytest.mark.parametrize("key", ["ΔS", "delta_s", "deltaS", "ΔS_list", "dS", "∆S", "Î”S", "ŒîS"])
def test_rebound_distances_stay_beside_their_results(tmp_path: Path, key: str) -> None:
    """A block that became two parts has its distance twice, under whatever name the list has."""
    parts = [{"id": "newA", "off": [0, 5]}, {"id": "newB", "off": [5, 9]}]
    row = {"old_block_id": "old", "new_block_id": "newA", "move": "split", "old_off": [0, 9], "conf": 1.0}
    document = {"doc_id": "d", "from_version": "a", "to_version": "b", "mappings": [row | {"new_parts": parts}]}
    table = {"schema": "ragworthy.redirects/1", "from_version": "v1", "to_version": "v2", "documents": [document]}
    (tmp_path / "table.json").write_text(json.dumps(table | {"added": ["other"], "numbers": {}}))
    traces = write_jsonl(
        tmp_path / "t.jsonl", [{"qid": "Q1", "topk": [{"id": "old"}, {"id": "other"}], key: [0.1, 0.2]}]
    )
    rebind(traces, tmp_path / "new.jsonl", tmp_path / "table.json")
    new = rows_of(tmp_path / "new.jsonl")[0]
    assert [one["id"] for one in new["topk"]] == ["newA", "newB", "other"]
    assert new[key] == [0.1, 0.1, 0.2]


def test_rebind_never_touches_what_it_reads(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done = rebind(gold, gold, moved.tables[0])
    assert done == Done(2, "", said("RW-U01", f"{gold}: expected a new file, got one that is read"))
    assert rows_of(gold) == ITEMS
    review = write_jsonl(tmp_path / "gold.review.jsonl", ITEMS)  # the review list of -o gold.jsonl would be here
    gold.unlink()
    rebind(review, gold, moved.tables[0])
    assert rows_of(review) == ITEMS


def test_rebind_to_a_packed_file_can_be_read_again(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    out = tmp_path / "new.jsonl.gz"
    done = rebind(gold, out, moved.tables[0])
    assert done.code == 2 or json.loads(gzip.decompress(out.read_bytes()).splitlines()[0])["qid"] == "Q00"


def test_errors_of_rebind_leave_the_old_files(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    out = tmp_path / "new.jsonl"
    out.write_text("old\n")
    nope = tmp_path / "nope.json"
    done = rebind(gold, out, nope)
    assert done == Done(2, "", said("RW-F01", f"{nope}: expected a file, got nothing at this path"))
    done = rebind(nope, out, moved.tables[0])
    assert done == Done(2, "", said("RW-F01", f"{nope}: expected a file, got nothing at this path"))
    other = tmp_path / "other.json"
    other.write_text(moved.tables[0].read_text().replace('"from_version": "rw:', '"from_version": "xx:', 1))
    done = rebind(gold, out, moved.tables[0], other)
    assert done.code == 2 and "[RW-M0" in done.err
    gold.write_text('{"qid": "Q1", "relevant": ["a"]}\nnot json\n')
    done = rebind(gold, out, moved.tables[0])
    assert done.code == 2 and done.err.startswith(f"{gold}:2: expected a JSON object, got ")
    assert out.read_text() == "old\n" and not (tmp_path / "new.log.jsonl").exists()


def test_two_tables_lead_a_gold_set_to_the_newest_traces(moved: Moved, tmp_path: Path) -> None:
    """The gold set of the first version on traces of the third: each block is found under its newest id."""
    items = [one for one in ITEMS if one["qid"] != "Q10" and "law" not in one["relevant"][0]]
    gold = write_jsonl(tmp_path / "gold.jsonl", items)
    traces = tmp_path / "t.jsonl"
    assert run_cli("retrieve", "--index", moved.third, "--gold", gold, "-o", traces).code == 0
    args = ["score", "retrieval", "--gold", gold, "--trace", traces, "--corpus", moved.third, "--format", "json"]
    gates = ["--gates", "recall@5=1,coverage=1,citation_accuracy=1,anchor_hit@5=1"]
    tables = [one for table in moved.tables for one in ("--redirects", table)]
    done = run_cli(*args, *tables, *gates)
    report = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert report["suites"]["retrieval"]["settings"]["redirects"] == 2
    backwards = [one for table in reversed(moved.tables) for one in ("--redirects", table)]
    assert json.loads(run_cli(*args, *backwards, *gates).out)["suites"] == report["suites"]
    # without the tables the old ids name other sections
    without = json.loads(run_cli(*args, *gates).out)
    assert without["verdict"] != "SHIP"
    # one table only: its versions do not reach the index
    one = run_cli(*args, "--redirects", moved.tables[0], *gates)
    assert json.loads(one.out)["verdict"] != "SHIP"


def test_a_gold_block_that_is_gone_makes_the_evidence_invalid(moved: Moved, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS[9:])
    traces = tmp_path / "t.jsonl"
    assert run_cli("retrieve", "--index", moved.third, "--gold", gold, "-o", traces).code == 0
    tables = [one for table in moved.tables for one in ("--redirects", table)]
    done = run_cli(
        "score", "retrieval", "--gold", gold, "--trace", traces, "--corpus", moved.third, *tables, "--format", "json",
        "--gates", "recall@5=0.1",
    )  # fmt: skip
    report = json.loads(done.out)
    assert done.code == 4
    assert len(report["invalid"]) == 1
    assert report["invalid"][0].startswith("33.3 % of gold ids (1 of 3) are not in this index, e.g. ")
    assert report["invalid"][0].endswith(" [RW-G13]")


def test_tables_that_lead_in_a_circle(moved: Moved, tmp_path: Path) -> None:
    back = tmp_path / "back.json"
    run_cli("index", "migrate", moved.second, moved.first, "-o", back)
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done = run_cli(
        "score", "retrieval", "--gold", gold, "--trace", write_jsonl(tmp_path / "t.jsonl", [{"qid": "Q00"}]),
        "--redirects", moved.tables[0], "--redirects", back,
    )  # fmt: skip
    assert done.code == 2 and done.err.startswith("redirects: expected versions that lead to a newest one, got ")
    assert "[RW-M02]" in done.err


def test_ids_that_have_another_text_by_now_are_not_scored_in_silence(moved: Moved, tmp_path: Path) -> None:
    """A gold set frozen on the first version, scored on the second, in which sections were renumbered."""
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    done = run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "r", "--corpus", moved.first)
    assert done.code == 0
    blocks = json.loads((tmp_path / "gold.lock").read_text())["corpus"]["blocks"]
    later = {chunk["chunk_id"]: chunk["text"] for chunk in map(json.loads, open_lines(moved.second / "chunks.jsonl"))}
    other = [
        name
        for name, known in blocks.items()
        if name in later and hashlib.sha256(later[name].encode()).hexdigest()[:16] != known
    ]
    assert other
    done = run_cli("retrieve", "--index", moved.second, "--gold", gold, "-o", tmp_path / "t.jsonl")
    assert done.code == 0
    score = ("score", "retrieval", "--gold", gold, "--trace", tmp_path / "t.jsonl", "--corpus", moved.second)
    done = run_cli(*score, "--gates", "recall@5=0.01", "--full")
    assert done.code == 4
    assert (
        f"  not valid: {len(other)} of {len(blocks)} gold ids do not have the text they had when the gold set was "
        f"frozen, e.g. {other[0]}: give --redirects [RW-G15]"
    ) in done.out.splitlines()
    done = run_cli(*score, "--gates", "recall@5=0.01", "--redirects", moved.tables[0])
    assert "RW-G15" not in done.out


def open_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_what_is_at_the_newest_version_is_not_rewritten_again(moved: Moved, tmp_path: Path) -> None:
    """A second rewriting would follow ids that name other texts by now."""
    gold = write_jsonl(tmp_path / "gold.jsonl", ITEMS)
    once = tmp_path / "once.jsonl"
    assert rebind(gold, once, moved.tables[0]).code in (0, 1)
    version = json.loads(once.read_text().splitlines()[0])["index_hash"]
    done = rebind(once, tmp_path / "twice.jsonl", moved.tables[0])
    message = f'{once}: record 1: index_hash: expected a version that the tables lead from, got "{version}"'
    assert done == Done(2, "", said("RW-M04", message))
    assert not (tmp_path / "twice.jsonl").exists()
    # scoring leaves it alone as well: the ids are those of the newest version already
    assert run_cli("retrieve", "--index", moved.second, "--gold", once, "-o", tmp_path / "t.jsonl").code == 0
    flags = ("score", "retrieval", "--gold", once, "--trace", tmp_path / "t.jsonl", "--gates", "hit@10=0.01", "--full")
    plain, followed = run_cli(*flags), run_cli(*flags, "--redirects", moved.tables[0])
    grid = [[line for line in done.out.splitlines() if "@k" in line] for done in (plain, followed)]
    assert grid[0] == grid[1] and len(grid[0]) > 3


@pytest.mark.parametrize("damage", [{"r90": "near"}, {"perfect": {"median": "0.3"}}, {"n10": None}])
def test_a_damaged_calibration_is_named(world: World, frozen: Set, tmp_path: Path, damage: Row) -> None:
    lock = tmp_path / "gold.lock"
    sealed = {key: value for key, value in frozen.lock.items() if key != "said"}
    lock.write_text(json.dumps(sealed | {"calibration": sealed["calibration"] | damage}))
    done = run_cli(
        "score", "retrieval", "--gold", frozen.gold, "--trace", frozen.traces, "--corpus", world.corpus, "--lock", lock
    )  # fmt: skip
    message = "expected a calibration as 'gold freeze --corpus' writes it, got something else"
    assert done == Done(2, "", said("RW-L01", f"gold.jsonl: calibration: {message}"))
