"""BM25 against the formula, the library, and itself."""

import importlib
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.index import lexical, ranking
from ragworthy.index.manifest import LEXICAL, SCORES
from ragworthy.index.tokens import analyse, query_terms
from ragworthy.records import Chunk

TEXTS = [
    "The wing heats the boundary layer.",
    "Heating of a wing in a slipstream, wing by wing.",
    "Oxygen is a chemical element.",
    "電梯 stops; the elevator stopped.",
    "!!!",
]


def chunks_of(texts: list[str]) -> list[Chunk]:
    return [Chunk(chunk_id=f"d#{n}", section_id=f"s{n}", text=text) for n, text in enumerate(texts)]


def loaded(folder: Path, size: int) -> lexical.Lexical:
    """What `save` wrote, read from a folder."""

    def read(name: str, make: Callable[[bytes], Any]) -> Any:
        return make((folder / name).read_bytes())

    return lexical.load(read, size)


def by_hand(texts: list[str], query: str) -> list[float]:
    """Lucene's BM25: ln(1 + (N − df + ½)/(df + ½)) · tf / (tf + k1 (1 − b + b · length/mean))."""
    docs = [Counter(analyse(text)) for text in texts]
    mean = sum(doc.total() for doc in docs) / len(docs) or 1
    scores = []
    for doc in docs:
        norm = 1.2 * (1 - 0.75 + 0.75 * doc.total() / mean)
        total = 0.0
        for word in query_terms(query):
            holds = sum(word in other for other in docs)
            if holds:
                total += math.log(1 + (len(docs) - holds + 0.5) / (holds + 0.5)) * doc[word] / (doc[word] + norm)
        scores.append(total)
    return scores


@pytest.mark.parametrize("query", ["wing heating", "elevator 電梯", "oxygen oxygen", "nothing like it", "", "the"])
def test_scores_are_the_formula(query: str) -> None:
    found = lexical.build(chunks_of(TEXTS)).scores_of(query)
    assert found.tolist() == pytest.approx(by_hand(TEXTS, query), abs=2e-6)


def test_scores_are_those_of_the_library() -> None:
    library = importlib.import_module("bm25s").BM25(method="lucene", k1=1.2, b=0.75)
    library.index([analyse(text) for text in TEXTS], show_progress=False)
    for query in ("wing heating", "stops elevator"):
        theirs = library.get_scores(query_terms(query))
        assert lexical.build(chunks_of(TEXTS)).scores_of(query) == pytest.approx(theirs, abs=2e-6)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet="ab c", max_size=12), min_size=1, max_size=6), st.permutations(["a", "b", "c", "bb"]))
def test_any_texts_and_any_order_of_words(texts: list[str], words: list[str]) -> None:
    built = lexical.build(chunks_of(texts))
    scores = built.scores_of(" ".join(words))
    assert scores.tolist() == pytest.approx(by_hand(texts, " ".join(words)), abs=2e-6)
    assert scores.tolist() == built.scores_of(" ".join(sorted(words))).tolist()


def test_the_title_of_the_section_is_searched_too() -> None:
    chunks = [Chunk(chunk_id="a", title="Installation", text="pip"), Chunk(chunk_id="b", text="pip")]
    built = lexical.build(chunks)
    assert [position for position, _ in built.search("installation", 5, ranking.places(chunks))] == [0]


def test_only_chunks_that_share_a_word_are_found() -> None:
    chunks = chunks_of(TEXTS)
    assert [n for n, _ in lexical.build(chunks).search("wing", 5, ranking.places(chunks))] == [1, 0]
    assert lexical.build(chunks).search("zebra", 5, ranking.places(chunks)) == []


def test_ties_go_by_section_then_by_id_in_natural_order() -> None:
    names = [("1.10", "d#2"), ("1.2", "d#10"), ("1.2", "d#9"), ("1.9", "d#1"), ("1.2", "d#100")]
    chunks = [Chunk(chunk_id=name, section_id=section, text="same words") for section, name in names]
    built, places = lexical.build(chunks), ranking.places(chunks)
    whole = built.search("words", 5, places)
    assert [chunks[n].chunk_id for n, _ in whole] == ["d#9", "d#10", "d#100", "d#1", "d#2"]
    assert len({score for _, score in whole}) == 1
    for count in range(1, 5):  # a cut inside a tie keeps the same order
        assert built.search("words", count, places) == whole[:count]


def test_texts_without_any_word(tmp_path: Path) -> None:
    chunks = chunks_of(["!!!", "..."])
    lexical.save(lexical.build(chunks), tmp_path)
    assert loaded(tmp_path, 2).search("wing", 3, ranking.places(chunks)) == []


def test_what_is_saved_is_read_back_and_the_bytes_are_the_same_twice(tmp_path: Path) -> None:
    chunks = chunks_of(TEXTS)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lexical.save(lexical.build(chunks), tmp_path / name)
    for name in LEXICAL:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    again, places = loaded(tmp_path / "one", len(chunks)), ranking.places(chunks)
    for query in ("wing heating", "elevator"):
        assert again.search(query, 3, places) == lexical.build(chunks).search(query, 3, places)


def test_arrays_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    lexical.save(lexical.build(chunks_of(TEXTS)), tmp_path)
    with pytest.raises(ValueError, match="values up to 3, where none may be above 2"):
        loaded(tmp_path, 3)
    with pytest.raises(ValueError, match="ranges that are not those of words in 1 chunks"):
        loaded(tmp_path, 1)
    np.save(tmp_path / SCORES, np.zeros(3, dtype="<f4"))
    with pytest.raises(ValueError, match="3 values where 21 belong"):
        loaded(tmp_path, len(TEXTS))


def test_nothing_is_printed_or_logged(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    lexical.build(chunks_of(TEXTS))
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
