"""Text as it is searched."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.index.tokens import analyse, query_terms, stem


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Wings, FLAPS & ailerons", ["wing", "flap", "aileron"]),
        ("the 10th and 11th centuries", ["the", "10th", "and", "11th", "century"]),
        ("fastapi.Depends", ["fastapi", "depend", "fastapi.depends"]),
        ("boundary-layer", ["boundary", "layer", "boundary-layer"]),
        ("__init__ _ read_file", ["init", "__init__", "read", "fil", "read_file"]),
        ("v1.2.3 costs 364.6", ["v1", "2", "3", "v1.2.3", "cost", "364", "6", "364.6"]),
        ("\uff21\uff22\uff23 \ufb01ne", ["abc", "fin"]),  # full-width letters and a ligature
        ("Cafe\u0301 Stra\u00dfe", ["caf\u00e9", "strass"]),
        ("電梯", ["電梯"]),
        ("北京城", ["北京", "京城"]),
        ("京", ["京"]),
        ("iPhone手機15代", ["iphon", "手機", "15", "代"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("한국어", ["한국", "국어"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),  # vowel signs stay with their letters
        ("الحديقة الساكسونية", ["الحديقة", "الساكسونية"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("... --- !?", []),
        ("", []),
    ],
)
def test_analyse(text: str, tokens: list[str]) -> None:
    assert analyse(text) == tokens


@pytest.mark.parametrize(
    ("words", "common"),
    [
        ("wing wings", "wing"),
        ("study studies studied studying", "study"),
        ("stop stops stopped stopping", "stop"),
        ("heat heats heated heating", "heat"),
        ("measure measures measured measuring", "measur"),
        ("class classes", "class"),
        ("speed speeds", "speed"),
        ("string strings", "string"),
    ],
)
def test_forms_of_an_english_word_share_a_stem(words: str, common: str) -> None:
    assert {stem(word) for word in words.split()} == {common}


def test_what_is_not_an_english_word_is_not_stemmed() -> None:
    for word in ("gas", "1990s", "v1.2", "gpt-4s", "häuses", "virus", "mass"):
        assert stem(word) == word


def test_stop_words_are_left_out_of_questions_only_where_something_else_is_asked() -> None:
    assert query_terms("What is the lift of a wing?") == ["lift", "wing"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert query_terms("") == []


def test_a_very_long_compound_is_kept_in_parts_only() -> None:
    assert set(analyse("ab." * 1000)) == {"ab"}


@settings(deadline=None)
@given(st.text(max_size=200))
def test_tokens_of_any_text(text: str) -> None:
    tokens = analyse(text)
    assert all(token and not any(letter.isspace() for letter in token) for token in tokens)
    assert tokens == analyse(text)
    assert set(query_terms(text)) <= set(tokens)
    assert bool(query_terms(text)) == bool(tokens)


@settings(deadline=None)
@given(st.text(alphabet="abcDEF gh-_.19", max_size=60))
def test_case_does_not_matter(text: str) -> None:
    assert analyse(text.upper()) == analyse(text.lower()) == analyse(text)


@settings(deadline=None)
@given(st.text(alphabet="一二三四五北京城", min_size=2, max_size=30))
def test_a_run_of_characters_gives_its_pairs(text: str) -> None:
    assert analyse(text) == [text[at : at + 2] for at in range(len(text) - 1)]


@pytest.mark.parametrize("piece", ["The wing's boundary-layer heating was measured. ", "廣茂鐵路全長多少公里？", "ab."])
def test_a_megabyte_takes_less_than_a_second(piece: str) -> None:
    text = piece * (1_000_000 // len(piece.encode()))
    started = time.process_time()
    assert analyse(text)
    assert time.process_time() - started < 1
