"""How people write answers into tables: as sentences or pieces, several in one cell, and many words for "none"."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragworthy.adapters.model import Record
from ragworthy.report.show import plural
from ragworthy.text import compiled, has_cjk

_ENDS = tuple(".!?。！？…")
NO_ANSWERS = frozenset({
    "-", "--", "---", "–", "—", "?", "??", "???", "/", "./.", "n/a", "n.a.", "n. a.", "na", "none", "null", "nil",
    "nan", "unknown", "no answer", "not available", "not applicable", "tbd", "tba", "todo", "i don't know",
    "i do not know", "don't know", "not found", "no information", "no data", "keine angabe", "keine angaben", "k. a.",
    "k.a.", "k.a", "ka", "unbekannt", "weiß nicht", "weiss nicht", "keine antwort", "nicht bekannt", "entfällt",
    "sin datos", "sin respuesta", "desconocido", "desconocida", "no sé", "no se sabe", "s/d", "n/d", "nd", "ninguna",
    "ninguno", "inconnu", "inconnue", "aucune", "aucun", "sans réponse", "pas de réponse", "je ne sais pas",
    "non disponible", "n.d.", "无", "無", "没有", "没有答案", "无答案", "不知道", "未知", "不详", "暂无", "待定",
    "なし", "無し", "不明", "わからない", "分からない", "該当なし", "特になし", "回答なし", "없음", "모름",
})  # fmt: skip
"""What an answer says in a table where there is none, in lower case."""
_BETWEEN = (";", "；", " / ", "|", "、", "\n")
"""What people put between several answers in one cell."""
_LONGEST = 8
"""So many words each of several answers may have; what is longer is a part of a sentence."""
_SEVERAL = 2
ENDING = r"\bcitations\s*:\s*\[([^\[\]]*)\]"
"""Citations that are in brackets behind an answer."""


def is_sentence(text: str) -> bool:
    """Whether an answer is a sentence, which no reply repeats word for word, and not a piece to look for.

    A name without a full stop is a piece, up to 12 words: it is one where all but its short words are capitalised.

    >>> is_sentence("45 days"), is_sentence("The name stays blocked for 45 days.")
    (False, True)
    >>> is_sentence("Names of cities and rivers"), is_sentence("北京")
    (False, False)
    >>> is_sentence("Mental Health (Care and Treatment) (Scotland) Act 2003")
    False
    """
    ended = text.endswith(_ENDS)
    if has_cjk(text):
        wide = len(compiled(r"[^\x00-\u2fff\s]").findall(text))
        return wide >= 25 or (wide >= 10 and ended)
    words = text.split()
    if ended:
        return len(words) >= 5
    return len(words) >= 8 and not (len(words) <= 12 and all(map(_as_in_names, words)))


def _as_in_names(word: str) -> bool:
    plain = word.strip("()[]{}\"'“”‘’«»,;:-–")
    return len(plain) <= 3 or not plain[0].islower()


def habits(gold: Sequence[Record], options: Mapping[str, Any]) -> list[str]:
    """What to try where answers look like none, or like several; nothing where an option says so already."""
    items = [item for item in gold if item.get("answerable")]
    answers = [text for item in items for text in (*item.get("gold_claim_substr", ()), item.get("gold_reference", ""))]
    notes = _none(answers, options, len(items) < len(gold))
    return notes if options.get("split_on") else [*notes, *_several(answers)]


def _none(answers: Iterable[str], options: Mapping[str, Any], others: bool) -> list[str]:
    found = Counter(text for text in answers if text.casefold() in NO_ANSWERS)
    if not found:
        return []
    given = options.get("unanswerable") or (["N/A"] if others else [])
    given = [given] if isinstance(given, str) else list(given)
    says = ", ".join(f"{plural(count, 'answer is', 'answers are')} '{text}'" for text, count in found.most_common())
    flags = " ".join(f"--unanswerable {shlex.quote(text)}" for text in (*found, *given))
    return [f"{says}: {flags} if there is no answer"]


def _several(answers: Sequence[str]) -> list[str]:
    notes = []
    for mark in _BETWEEN:
        count = sum(_is_list(text, mark) for text in answers)
        if count >= _SEVERAL:
            shown = "\\n" if mark == "\n" else mark
            what = "line breaks" if mark == "\n" else f"'{mark}'"
            notes.append(f"{count} answers hold {what}: --split-on '{shown}' if these are several answers")
    return notes


def _is_list(text: str, mark: str) -> bool:
    pieces = [piece.strip() for piece in text.split(mark)]
    return len(pieces) > 1 and all(piece and len(piece.split()) <= _LONGEST for piece in pieces)


def answered(value: Any) -> tuple[Any, Any]:
    """What an answer says and what it cites, where both are in one object; one that only cites says nothing.

    An object written as text is one too, and its list of citations is before one in brackets behind it.

    >>> answered({"claim": "45 days.", "citations": ["b"]}), answered({"citations": ["b"]}), answered("45 days.")
    (('45 days.', ['b']), ('', ['b']), ('45 days.', None))
    >>> answered('{"claim": "45 days.", "citations": ["b"]} citations: [c]')
    ('45 days.', ['b'])
    """
    if isinstance(value, str) and (held := _written(value)) is not None:
        value = held
    if not isinstance(value, dict) or "citations" not in value:
        return value, None
    return next((value[key] for key in ("claim", "answer", "text") if value.get(key)), ""), value["citations"]


def _written(text: str) -> dict[str, Any] | None:
    """The answer that a text is as JSON, with nothing behind it but citations in brackets; None where it is none."""
    if not text.lstrip().startswith("{"):
        return None
    import json

    text = text.strip()
    try:
        held, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    rest = text[end:].strip()
    whole = isinstance(held.get("claim"), str) and isinstance(held.get("citations"), list)
    return held if whole and (not rest or compiled(ENDING, re.IGNORECASE).fullmatch(rest)) else None
