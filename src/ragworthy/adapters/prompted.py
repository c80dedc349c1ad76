"""Which of the documents that retrievers gave back are in the prompt, and in which order: what the model saw.

Texts are compared by their letters and digits, so that spaces, quotes and the escapes of JSON and HTML do not matter.
What cannot be told for sure stays as the retrievers gave it.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ragworthy.adapters.documents import MARKER
from ragworthy.load.values import Refused

UNDECIDED = (
    "expected one list of documents, got several retrievers side by side whose documents are not numbered in one order "
    'in the prompt: give back {"answer": text, "context": documents}'
)
_PARALLEL = ("RunnableParallel", "RunnableEach")
"""Steps of LangChain that do several things side by side."""
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([nrtbf"\\/]))')
_CITES = re.compile(MARKER, re.IGNORECASE)
_FRAGMENT = 40
"""So many letters in a row of a text that is not in a prompt as a whole show that a part of it does."""
_MOST = 200
"""So many fragments of a text are looked for."""


class Undecided(Refused):
    """Documents whose order cannot be known."""

    code = "RW-J15"


class Call(NamedTuple):
    """One retrieval: where it is among the steps, and when it ran."""

    parent: str
    start: int
    end: int
    texts: Sequence[str]
    worker: str = ""
    """The thread or task that it ran in; empty where that is not known."""


class Seen(NamedTuple):
    """Documents as (list, place in it), best first. `missing` of `total` retrieved texts are not in the prompt."""

    picks: list[tuple[int, int]]
    missing: int = 0
    total: int = 0
    sure: bool = True
    """Whether the prompt decided; else the retrievers did."""


def outermost(calls: Sequence[Call], names: Mapping[str, str]) -> list[int]:
    """The calls that ran inside no other one, the first to begin first; `names` are those of the steps around them."""
    kept = [
        n for n, one in enumerate(calls) if not any(_nested(one, other, names) for other in calls if other is not one)
    ]
    return sorted(kept, key=lambda n: (calls[n].start, calls[n].end, n))


def _nested(inner: Call, outer: Call, names: Mapping[str, str]) -> bool:
    """Whether a retriever was called by another one that did not hand its callbacks on."""
    if (inner.start, -inner.end) <= (outer.start, -outer.end) or inner.end > outer.end:
        return False
    if inner.worker and inner.worker == outer.worker:
        return True
    together = inner.parent == outer.parent and not names.get(inner.parent, "").startswith(_PARALLEL)
    if inner.worker and outer.worker:  # the sync part of an async retriever runs in a thread
        return together and outer.worker.startswith("task") and inner.worker.startswith("thread")
    return together and {*outer.texts} <= {*inner.texts}


def beside(calls: Sequence[Call], above: Sequence[Sequence[str]], names: Mapping[str, str]) -> bool:
    """Whether retrievals ran side by side; `above` are the steps around each, the nearest first."""
    for n, one in enumerate(calls):
        for m in range(n):
            if one.start < calls[m].end and calls[m].start < one.end:
                return True
            common = next((step for step in above[n] if step in above[m]), "")
            if names.get(common, "").startswith(_PARALLEL):
                return True
    return False


def seen(lists: Sequence[Sequence[str]], prompts: Sequence[str], answer: str, *, side_by_side: bool) -> Seen:
    """What the model saw of some lists of texts; `prompts` in the order in which it was asked."""
    full = [n for n, texts in enumerate(lists) if texts]
    every = [(n, m) for n in full for m in range(len(lists[n]))]
    asked = [said for prompt in prompts if (said := letters(prompt))]
    if not every or not asked:
        if len(full) > 1 and side_by_side:
            raise Undecided(UNDECIDED, ".documents")
        return Seen(every)
    texts = {(n, m): letters(lists[n][m]) for n, m in every}
    best = next((one for one in reversed(asked) if any(text and text in one for text in texts.values())), "")
    held = [one for one in every if texts[one] and texts[one] in best] if best else []
    if len(full) > 1 and side_by_side:
        return _of_several(every, held, texts, best, answer)
    if len(held) == len(every) and _in_order([texts[one] for one in every], best):
        return Seen(every)
    gone = [one for one in every if one not in set(held)]
    left = _without((texts[one] for one in held), asked)
    if not held or any(_touched(texts[one], left) for one in gone):
        return Seen(every, len(gone), len(every), sure=False)
    return Seen(_placed(held, texts, best), len(gone), len(every))


def _of_several(
    every: list[tuple[int, int]],
    held: list[tuple[int, int]],
    texts: Mapping[tuple[int, int], str],
    best: str,
    answer: str,
) -> Seen:
    """Lists that were made side by side: the one that is in the prompt, or the one whose texts are numbered."""
    if not held:
        raise Undecided(UNDECIDED, ".documents")
    order = _placed(held, texts, best)
    lists = [[one for one in order if one[0] == n] for n in sorted({n for n, _ in order})]
    numbered = [one for one in lists if _numbered(one, order, texts, best)]
    gone = len(every) - len(held)
    if len(lists) == 1 or _numbered(order, order, texts, best):
        return Seen(order, gone, len(every))
    if len(numbered) == 1:
        of_it = sum(n == numbered[0][0][0] for n, _ in every)
        return Seen(numbered[0], of_it - len(numbered[0]), of_it)
    if gone or cites(answer):
        raise Undecided(UNDECIDED, ".documents")
    return Seen(order)


def _placed(
    held: Iterable[tuple[int, int]], texts: Mapping[tuple[int, int], str], prompt: str
) -> list[tuple[int, int]]:
    """Documents in the order of the prompt, each text once."""
    once = {texts[one]: one for one in reversed(list(held))}
    return sorted(once.values(), key=lambda one: (prompt.find(texts[one]), one))


def _in_order(texts: Sequence[str], prompt: str) -> bool:
    """Whether texts stand one after the other."""
    at = 0
    for text in texts:
        at = prompt.find(text, at)
        if at < 0:
            return False
        at += len(text)
    return True


def _numbered(
    some: Sequence[tuple[int, int]],
    order: Sequence[tuple[int, int]],
    texts: Mapping[tuple[int, int], str],
    prompt: str,
) -> bool:
    """Whether 1, 2, 3 … are before these texts, each after the text before it."""
    ends = {}
    end = 0
    for one in order:
        ends[one] = end
        end = prompt.find(texts[one]) + len(texts[one])
    for number, one in enumerate(some, 1):
        before = prompt[ends[one] : prompt.find(texts[one])]
        if not re.search(rf"(?<!\d){number}(?!\d)", before):
            return False
    return True


def _without(texts: Iterable[str], prompts: Sequence[str]) -> str:
    """What prompts hold besides some texts. Neighbouring chunks overlap: what they share is not part of the other."""
    left = "\n".join(prompts)
    for text in sorted(texts, key=len, reverse=True):
        left = left.replace(text, "\n")
    return left


def _touched(text: str, left: str) -> bool:
    """Whether a part of a text stands somewhere."""
    if len(text) <= _FRAGMENT:
        return text in left
    starts = range(0, len(text) - _FRAGMENT + 1, _FRAGMENT // 2)
    return any(text[at : at + _FRAGMENT] in left for at in list(starts)[:_MOST])


def cites(answer: str) -> bool:
    """Whether an answer has markers."""
    return _CITES.search(answer) is not None


def letters(text: str) -> str:
    """The letters and digits of a text, whatever is between them and however it is escaped.

    >>> letters('Say "no"\\\\n&amp; go.') == letters("say\\n\\"no\\" go")
    True
    """
    if "\\" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    if "&" in text:
        text = html.unescape(text)
    return "".join(filter(str.isalnum, text)).casefold()
