"""Stands in for a language model, so that this example runs anywhere and always says the same.

It answers with a sentence of the numbered passages in its prompt, and cites it: nothing that a model could not do.
"""

import re

from langchain_core.language_models import SimpleChatModel

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


class StandIn(SimpleChatModel):
    """A chat model as LangChain has them."""

    @property
    def _llm_type(self):
        return "stand-in"

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        context, _, question = messages[-1].content.rpartition("Question: ")
        return said(question, re.split(r"(?m)^\[\d+\] ", context)[1:])
