"""Tokens of texts, word by word: each different word is tokenised once.

The tokenizer of the default model has no notion of words: it merges pairs over a whole text, which takes nearly all the
time of an embedding. It writes a blank as ▁, and no token of its vocabulary has a ▁ after anything else. So no merge
crosses from the end of a word into the ▁ of the next one, and the tokens of a text are those of its words, one after
the other. The weights of the model pin the tokenizer by its hash, and a test reads this off its merges.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLANK = "▁"
REMEMBERED = 1 << 22
"""Words of about so many characters are remembered; a paragraph of Chinese is one long word."""
_WORD = re.compile(f"{BLANK}({BLANK}*[^{BLANK}]*)")


class Tokens:
    """The numbers of the tokens of texts, exactly as the tokenizer gives them for the whole text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # These cut a text before blanks are written as ▁: what has one goes to the tokenizer as a whole.
        special = [one.content for one in tokenizer.get_added_tokens_decoder().values()]
        self._special = re.compile("|".join(map(re.escape, special)))
        self._alone = [tokenizer.token_to_id(BLANK)]
        self._known: dict[str, bytes] = {}
        self._held = 0

    def of(self, texts: Sequence[str]) -> Iterator[NDArray[np.int64]]:
        """The tokens of each text."""
        words = [self._words(text) for text in texts]
        self._learn(chain.from_iterable(words))
        for some in words:
            yield np.frombuffer(b"".join(map(self._known.__getitem__, some)), dtype=np.int64)

    def _words(self, text: str) -> list[str]:
        """The words of a text without the ▁ before each, which the tokenizer puts there."""
        if self._special.search(text):
            return [text]
        found: list[str] = _WORD.findall(BLANK + text.replace(" ", BLANK)) if text else []
        return found

    def _learn(self, words: Iterable[str]) -> None:
        """Have the tokens of all these words; those that are new are tokenised together."""
        if self._held > REMEMBERED:
            self._known.clear()
            self._held = 0
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        encoded = self._tokenizer.encode_batch_fast(new, add_special_tokens=False) if new else ()
        for word, one in zip(new, encoded, strict=True):
            # No word but a ▁ at the end of a text: the tokenizer puts none before nothing.
            self._known[word] = array("q", one.ids if word else self._alone).tobytes()
            self._held += len(word)
