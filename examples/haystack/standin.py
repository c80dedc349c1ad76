"""Stands in for a language model, so that this example runs anywhere and always says the same.

It answers with a sentence of the numbered documents in its prompt, and cites it: nothing that a model could not do.
"""

import re
from typing import Any

from haystack import component

STOP = """a an and are at be by can do does for from how i in is it long many may much must of on or the there to until
what when where which who with you""".split()


def words(text):
    found = re.findall(r"[a-z0-9]+", text.lower())
    return {re.sub(r"(ing|ed|es|s|e)$", "", word) for word in found if word not in STOP}


def said(question, passages):
    """The sentence that shares most words with the question, with the number of its passage; or that there is none."""
    asked = words(question)
    best, share, number = "", 0.0, 0
    for nth, passage in enumerate(passages, 1):
        for sentence in re.split(r"(?<=[.:]) |\n+", passage):
            shared = len(asked & words(sentence)) / len(asked)
            if shared > share:
                best, share, number = sentence, shared, nth
    return f"{best} [{number}]" if share >= 0.6 else "I don't know."


@component
class StandIn:
    """A generator as Haystack has them."""

    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str):
        context, _, question = prompt.rpartition("Question: ")
        reply = said(question, re.split(r"(?m)^\[\d+\] ", context)[1:])
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(reply.split())}
        return {"replies": [reply], "meta": [{"model": "stand-in", "usage": usage}]}
