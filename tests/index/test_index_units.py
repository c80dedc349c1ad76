"""Tokens word by word against the tokenizer on whole texts."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ragworthy.index import units
from ragworthy.index.units import BLANK, Tokens


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    home = Path(spec.submodule_search_locations[0])
    whole = Tokenizer.from_str((home / "tokenizers" / "l2_supercat_tokenizer_config.json").read_text("utf-8"))
    whole.no_padding()
    whole.no_truncation()
    return whole


def of_the_whole(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def test_no_merge_crosses_into_the_blank_of_the_next_word(tokenizer: Any) -> None:
    """What the word by word way rests on."""
    content = json.loads(tokenizer.to_str())
    merges = [one.split(" ") if isinstance(one, str) else one for one in content["model"]["merges"]]
    assert len(merges) > 60_000
    assert [pair for pair in merges if BLANK in pair[1] and pair[0].strip(BLANK)] == []
    assert content["pre_tokenizer"] is None
    assert [one["type"] for one in content["normalizer"]["normalizers"]] == ["Prepend", "Replace"]
    assert content["model"]["byte_fallback"]


WORDS = st.sampled_from(
    ["the", "wing", "Wing's", "don't", "", " ", "  ", BLANK, f"a{BLANK}", f"{BLANK}{BLANK}b", "\n", "\t", "ß", "🙂",
     "<s>", "</s>", "<unk>", "<", "s>", "0x0A", "<0x0A>", "e\u0301", "\u00a0", "def f(x):", "a\r\n", "\x00",
     "電梯裡有人"]
)  # fmt: skip
JOINED = st.sampled_from(["", " ", "  "])
TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="ab \u2581<s>/\n", max_size=30),
    st.builds(
        lambda words, between: between.join(words), st.lists(WORDS, max_size=12), st.sampled_from(["", " ", "  "])
    ),
)


@settings(deadline=None, max_examples=400)
@given(st.lists(TEXTS, max_size=6))
def test_tokens_are_those_of_the_whole_text(tokenizer: Any, texts: list[str]) -> None:
    found = [tokens.tolist() for tokens in Tokens(tokenizer).of(texts)]
    assert found == [of_the_whole(tokenizer, text) for text in texts]


def test_a_memory_that_is_full_changes_nothing(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "REMEMBERED", 8)
    tokens = Tokens(tokenizer)
    texts = ["the wing heats the layer", "", "another wing, another layer ", " the wing"]
    for _ in range(3):
        assert [one.tolist() for one in tokens.of(texts)] == [of_the_whole(tokenizer, text) for text in texts]
        assert len(tokens._known) <= 9


def test_words_are_tokenised_once(tokenizer: Any) -> None:
    class Counting:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer, name)

        def encode_batch_fast(self, texts: list[str], **more: Any) -> Any:
            self.asked += texts
            return tokenizer.encode_batch_fast(texts, **more)

    counting = Counting()
    tokens = Tokens(counting)
    list(tokens.of(["the wing heats the layer", "the layer"]))
    list(tokens.of(["heats the wing"]))
    assert counting.asked == ["the", "wing", "heats", "layer"]
