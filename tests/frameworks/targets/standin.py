"""The stand-in for a model: the sentence of the numbered passages that shares most words with the question, and its
number. The same prompt always gets the same answer.
"""

import re

REFUSAL = "I don't know based on the provided context."


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", text.lower()))


def said(question: str, passages: list[str]) -> str:
    best = (2, 0, "")
    for number, passage in enumerate(passages, 1):
        for sentence in re.split(r"(?<=\.)\s+|\n+", passage):
            shared = len(words(question) & words(sentence))
            if shared > best[0]:
                best = (shared, number, sentence.strip())
    return f"{best[2]} [{best[1]}]" if best[1] else REFUSAL


def read(prompt: str) -> str:
    """The answer to a prompt of passages `[1] …` and a line `Question: …`."""
    context, _, question = prompt.rpartition("Question: ")
    return said(question, [one.strip() for one in re.split(r"(?m)^\[\d+\] ", context)[1:]])
