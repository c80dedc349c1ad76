"""ΔS by character n-grams: by hand, by brute force, on every machine, fast, and in other languages."""

import hashlib
import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import DATA, ROOT
from ragworthy.gold.retrieval import calibrate
from ragworthy.index import ngrams
from ragworthy.index.blocks import load_corpus
from ragworthy.index.ngrams import CJK_SIZES, SIZES, Ngram, Table, count


class Plain:
    """The same by plain dictionaries and the logarithms of this machine."""

    def __init__(self, chunks: Sequence[str], sizes: Sequence[int]) -> None:
        self.chunks, self.sizes = len(chunks), sizes
        self.found_in = Counter(gram for text in chunks for gram in set(self.grams(text)))

    def grams(self, text: str) -> list[str]:
        text = " ".join(text.lower().split())
        return [text[at : at + size] for size in self.sizes for at in range(len(text) - size + 1)]

    def vector(self, text: str) -> dict[str, float]:
        often = Counter(self.grams(text)).items()
        return {one: (1 + math.log(tf)) * math.log(1 + self.chunks / (1 + self.found_in[one])) for one, tf in often}

    def distance(self, left: str, right: str) -> float:
        one, other = self.vector(left), self.vector(right)
        lengths = math.prod(math.sqrt(math.fsum(x * x for x in side.values())) for side in (one, other))
        return 1 - math.fsum(x * other.get(gram, 0) for gram, x in one.items()) / lengths if lengths else 1.0


def test_a_worked_example() -> None:
    """Three chunks. abc is in two of them, bcd and abcd in one.

    "abc" is [abc: ln(1 + 3/3) = 0.693147]. "ABCD" is [abc: 0.693147, bcd: ln(1 + 3/2) = 0.916291, abcd: 0.916291],
    of length √(0.480453 + 2 · 0.839589) = 1.469568. Their cosine is 0.693147² / (0.693147 · 1.469568) = 0.471667.
    "abc" repeated in "abc abc" has tf 2: (1 + ln 2) · ln 2 = 1.173600; the others of it are new to the corpus and weigh
    ln(1 + 3/1) = 1.386294 each: bc·, c·a, ·ab; abc·, bc·a, c·ab, ·abc; abc·a, bc·ab, c·abc: ten of them, so its length
    is √(1.377337 + 10 · 1.921812) = 4.538222, and the cosine with "abc" is 1.173600 / 4.538222 = 0.258604.
    """
    model = Ngram(count(["abcd", "abce", "xyz"]))
    assert model.distances(["abc"], ["ABCD"]).tolist() == [0.528333]
    assert model.distances([" abc\n ABC "], ["abc"]).tolist() == [0.741396]
    assert model.distances(["ab", "abc", "abc"], ["abc", "xyz", " ABC"]).tolist() == [1.0, 1.0, 0.0]


TEXTS = st.text(st.sampled_from("abAB  \n\t北京éß\U0001f600ا"), max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_the_same_by_brute_force(chunks: list[str], pairs: list[tuple[str, str]]) -> None:
    table = count(chunks)
    plain = Plain(chunks, table.sizes)
    assert sorted(table.found_in.tolist()) == sorted(plain.found_in.values())
    found = Ngram(table).distances(*map(list, zip(*pairs, strict=True)))
    for value, pair in zip(found.tolist(), pairs, strict=True):
        assert value == pytest.approx(plain.distance(*pair), abs=1e-6)


def test_which_ngrams_count() -> None:
    three_of_ten = "北京是abcdefg"
    assert count([three_of_ten]).sizes == SIZES
    assert count([three_of_ten, "首"]).sizes == CJK_SIZES
    assert count(["first", "second"]).sizes == count([]).sizes == SIZES


def test_weights_do_not_depend_on_the_order_of_chunks_nor_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [f"Wing {n} lifts {n % 7} tons in a slipstream." for n in range(200)]
    table = count(chunks)
    monkeypatch.setattr(ngrams, "BATCH", 500)
    assert count(chunks[::-1]).as_bytes() == table.as_bytes()
    assert count([*chunks[:-1], "Wing"]).sha256 != table.sha256


def test_a_table_is_read_as_it_was_written() -> None:
    table = count(["the first chunk", "the second one"])
    data = table.as_bytes()
    assert Table.from_bytes(data).as_bytes() == data
    assert table.sha256 == hashlib.sha256(data).hexdigest()
    head = b'{"schema":"ragworthy.ngrams/1","n":[3,4,5],"chunks":2,"ngrams":'
    assert data.startswith(head)
    broken = [
        b"", b"{}\n", b"[1]\n", data[:-1], data + b"x", data.replace(b"[3,4,5]", b"[2,4,5]"),
        data.replace(b"ngrams/1", b"ngrams/2"), data[: -len(table.keys) * 12] + data[-len(table.keys) * 12 :][::-1],
    ]  # fmt: skip
    for one in broken:
        with pytest.raises(ValueError, match=r"a table of n-grams|Expecting|JSON"):
            Table.from_bytes(one)


def test_texts_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [f"Wing {n} lifts {n % 7} tons in a slipstream." for n in range(300)]
    asked = [f"What does wing {n} lift?" for n in range(300)]
    model = Ngram(count(chunks))
    wanted = model.distances(asked, chunks).tolist()
    monkeypatch.setattr(ngrams, "REMEMBERED", 1000)
    small = Ngram(model.table)
    assert small.distances(asked, chunks).tolist() == wanted
    assert sum(len(one.keys) for one in small._texts.values()) <= 1000


def test_thousands_of_pairs_a_second() -> None:
    """The budget is 20,000 on an idle core with texts that were seen before; half of it is asked here."""
    chunks = [f"Wing {n} lifts {n % 7} tons in a slipstream. " * 10 for n in range(100)]
    model = Ngram(count(chunks))
    left, right = [f"What is the lift of wing number {n % 90}?" for n in range(5000)], [*chunks] * 50
    best = 0.0
    for _ in range(3):
        started = time.process_time()
        model.distances(left, right)
        best = max(best, 5000 / (time.process_time() - started))
    assert best >= 10_000


SEEDED = """
import sys
from ragworthy.index.ngrams import Ngram, count
table = count(sys.argv[1:])
print(table.sha256, Ngram(table).distances(["Wer prüft das Tor?"] * 2, sys.argv[1:3]).tolist())
"""


def test_the_same_bytes_under_every_hash_seed() -> None:
    chunks = ["Das Tor prüft Ada.", "Brot backt man bei 240 Grad.", "Die Flut folgt dem Mond."]
    said = {
        subprocess.run(
            [sys.executable, "-c", SEEDED, *chunks],
            capture_output=True, check=True, text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in ("0", "1", "77")
    }  # fmt: skip
    assert said == {"afd3c19788d8c2a39c455f51217ba4ed125c7b567ff6ad3699802708933ffb34 [0.507957, 1.0]\n"}


# real texts


@pytest.mark.data("data/xquad_de")
@pytest.mark.parametrize("language", ["de", "zh", "ar"])
def test_only_ngrams_separate_outside_of_english(language: str) -> None:
    home = DATA / f"xquad_{language}/dev"
    chosen = calibrate(home / "gold.jsonl", home / "corpus.jsonl")
    wordllama, ngram = chosen.tried
    assert (chosen.model.name, ngram.model, wordllama.model) == ("ngram", "ngram", "wordllama")
    assert ngram.separates and not wordllama.separates
    assert (ngram.separation or 0) >= 0.998 > 0.85 > (wordllama.separation or 1)
    assert 0.31 < ngram.perfect.median < 0.33 and 0.44 < ngram.perfect.p90 < 0.46
    assert json.dumps(ngram.as_json()) == json.dumps(type(ngram).from_json(ngram.as_json()).as_json())


@pytest.mark.data("data/xquad_zh")
@pytest.mark.parametrize(("name", "sizes"), [("xquad_zh", CJK_SIZES), ("xquad_ar", SIZES)])
def test_real_texts_by_brute_force(name: str, sizes: tuple[int, ...]) -> None:
    home = DATA / name / "dev"
    chunks = list(load_corpus(home / "corpus.jsonl").texts.values())[:60]
    asked = [json.loads(line)["question"] for line in (home / "gold.jsonl").read_text("utf-8").splitlines()[:60]]
    table, plain = count(chunks), Plain(chunks, sizes)
    assert (table.sizes, len(table.keys)) == (sizes, len(plain.found_in))
    for value, *pair in zip(Ngram(table).distances(asked, chunks).tolist(), asked, chunks, strict=True):
        assert value == pytest.approx(plain.distance(*pair), abs=1e-6)


@pytest.mark.data("data/llm_answers/clapnq")
def test_natural_questions_in_english_keep_the_embedding() -> None:
    home: Path = DATA / "llm_answers/clapnq/dev"
    chosen = calibrate(home / "gold.jsonl", home / "corpus.jsonl")
    assert chosen.model.name == "wordllama" and all(one.separates for one in chosen.tried)
    assert (chosen.tried[0].separation or 0) > (chosen.tried[1].separation or 1)
