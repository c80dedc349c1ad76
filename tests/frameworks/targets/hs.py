"""Pipelines of Haystack over three documents. No line is there for Ragworthy."""

import logging
import re
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder, PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import standin

DOCS = Path(__file__).parent / "docs"
PASSAGES = "{% for one in documents %}[{{ loop.index }}] {{ one.content }}\n{% endfor %}\nQuestion: {{ query }}"
logging.getLogger("haystack").setLevel(logging.ERROR)  # it warns of each reference that is out of range
USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


@component
class Generator:
    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str) -> dict[str, Any]:
        return {"replies": [standin.read(prompt)], "meta": [{"model": "m-1", "usage": USAGE}]}


@component
class ChatGenerator:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        text = standin.read(messages[-1].text or "")
        return {"replies": [ChatMessage.from_assistant(text, meta={"model": "m-1", "usage": USAGE})]}


@component
class Inventor:
    """It cites a document that is not there, after one that is."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        said = standin.read(prompt)
        return {"replies": [re.sub(r"\[(\d)\]", self.form, said)]}

    def __init__(self, form: str) -> None:
        self.form = form


@component
class LastFirst:
    """A ranker: the last one first, two are kept."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        return {"documents": documents[::-1][:2]}


@component
class Translator:
    @component.output_types(prompt=str)
    def run(self, prompt: str, language: str) -> dict[str, Any]:
        return {"prompt": f"Answer in {language}.\n{prompt}"}


whole = [Document(content=path.read_text("utf-8"), meta={"file": path.name}) for path in sorted(DOCS.glob("*.md"))]
store = InMemoryDocumentStore()
store.write_documents(DocumentSplitter(split_by="passage", split_length=1).run(documents=whole)["documents"])


def made(*, answers: bool = False, ranker: bool = False, chat: bool = False, two: bool = False) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component(
        "prompt",
        ChatPromptBuilder(template=[ChatMessage.from_user(PASSAGES)], required_variables="*")
        if chat
        else PromptBuilder(PASSAGES, required_variables=["documents", "query"]),
    )
    pipeline.add_component("llm", ChatGenerator() if chat else Generator())
    found = "retriever.documents"
    if two:
        pipeline.add_component("other", InMemoryBM25Retriever(store, top_k=1))
        pipeline.add_component("joiner", DocumentJoiner(sort_by_score=True))
        pipeline.connect(found, "joiner.documents")
        pipeline.connect("other.documents", "joiner.documents")
        found = "joiner.documents"
    if ranker:
        pipeline.add_component("ranker", LastFirst())
        pipeline.connect(found, "ranker.documents")
        found = "ranker.documents"
    pipeline.connect(found, "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages" if chat else "llm.prompt")
    if answers:
        pipeline.add_component("answers", AnswerBuilder(reference_pattern=r"\[(\d+)\]"))
        pipeline.connect("llm.replies", "answers.replies")
        pipeline.connect(found, "answers.documents")
    return pipeline


plain = made()
answers = made(answers=True)
chat = made(chat=True, answers=True)
ranked = made(ranker=True)
joined = made(two=True)

spoken = Pipeline()
spoken.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
spoken.add_component("prompt", PromptBuilder(PASSAGES, required_variables=["documents", "query"]))
spoken.add_component("translator", Translator())
spoken.add_component("llm", Generator())
spoken.connect("retriever.documents", "prompt.documents")
spoken.connect("prompt.prompt", "translator.prompt")
spoken.connect("translator.prompt", "llm.prompt")

several = made()
several.add_component("second", Generator())
several.connect("prompt.prompt", "second.prompt")


def inventing(form: str, pattern: str, *, only: bool = True) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component("prompt", PromptBuilder(PASSAGES, required_variables=["documents", "query"]))
    pipeline.add_component("llm", Inventor(form))
    builder = AnswerBuilder(reference_pattern=pattern, return_only_referenced_documents=only)
    pipeline.add_component("answers", builder)
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.prompt")
    pipeline.connect("llm.replies", "answers.replies")
    pipeline.connect("retriever.documents", "answers.documents")
    return pipeline


invented = inventing(r"[\1][9]", r"\[(\d+)\]")
invented_all = inventing(r"[\1][9]", r"\[(\d+)\]", only=False)
invented_round = inventing(r"(Source \1) (Source 9)", r"\(Source (\d+)\)")


other_name = made()
other_name.remove_component("prompt")
other_name.add_component(
    "prompt", PromptBuilder(PASSAGES.replace("query", "user_text"), required_variables=["documents", "user_text"])
)
other_name.connect("retriever.documents", "prompt.documents")
other_name.connect("prompt.prompt", "llm.prompt")
