"""Stands in for a language model, so that this example runs anywhere and always says the same.

It answers with a sentence of the numbered sources in its prompt, and cites it: nothing that a model could not do.
"""

import re

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

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


class StandIn(CustomLLM):
    """A model as LlamaIndex has them."""

    @property
    def metadata(self):
        return LLMMetadata(context_window=100_000, model_name="stand-in")

    def complete(self, prompt, formatted=False, **kwargs):
        sources, _, question = prompt.rpartition("Query: ")
        sources = sources.rpartition("Below are several numbered sources")[2]  # what is before it is an example
        texts = re.split(r"(?m)^Source \d+:\n", sources)[1:]
        return CompletionResponse(text=said(question.partition("\n")[0], texts))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)
