"""The stand-in for a model in these pipelines: it answers with the sentence of the context that shares most words with
the question and cites it by number, or says that it does not know. The same prompt always gets the same answer.
"""

import re

REFUSAL = "I don't know based on the provided context."
_WORDS = re.compile(r"[a-z0-9]{3,}")
_FEW = 3


def answered(question: str, texts: list[str]) -> str:
    asked = set(_WORDS.findall(question.lower()))
    best: tuple[int, int, str] = (0, 0, "")
    for nth, text in enumerate(texts, 1):
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
            shared = len(asked & set(_WORDS.findall(sentence.lower())))
            if shared > best[0]:
                best = (shared, nth, " ".join(sentence.split()))
    return f"{best[2]} [{best[1]}]" if best[0] >= _FEW else REFUSAL


def numbered(prompt: str) -> tuple[str, list[str]]:
    """The question and the numbered passages of a prompt: `Question: …`, `[1] …`."""
    context, _, question = prompt.rpartition("Question: ")
    return question.strip(), [one.strip() for one in re.split(r"(?m)^\[\d+\] ", context)[1:]]
