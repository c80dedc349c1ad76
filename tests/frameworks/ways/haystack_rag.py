"""A pipeline of Haystack over the handbook: the framework's splitter, BM25, numbered passages, a model."""

import os
from pathlib import Path
from typing import Any

from extract import answered, numbered
from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

TEMPLATE = """Answer from the passages.
{% for document in documents %}[{{ loop.index }}] {{ document.content }}
{% endfor %}

Question: {{ query }}"""


@component
class ExtractGenerator:
    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str) -> dict[str, Any]:
        text = answered(*numbered(prompt))
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        return {"replies": [text], "meta": [{"model": "extract", "usage": usage}]}


def documents() -> list[Document]:
    folder = Path(os.environ["CORPUS"])
    whole = [
        Document(content=path.read_text("utf-8"), meta={"file_path": path.name}) for path in sorted(folder.glob("*.md"))
    ]
    splitter = DocumentSplitter(split_by="word", split_length=90, split_overlap=10)
    splitter.warm_up()
    found: list[Document] = splitter.run(documents=whole)["documents"]
    return found


store = InMemoryDocumentStore()
store.write_documents(documents())
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=5))
pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "query"]))
pipeline.add_component("model", ExtractGenerator())
pipeline.add_component("answer", AnswerBuilder(reference_pattern=r"\[(\d+)\]"))
pipeline.connect("retriever.documents", "prompt.documents")
pipeline.connect("retriever.documents", "answer.documents")
pipeline.connect("prompt.prompt", "model.prompt")
pipeline.connect("model.replies", "answer.replies")
pipeline.connect("model.meta", "answer.meta")


def ask(query: str) -> dict[str, Any]:
    data = {"retriever": {"query": query}, "prompt": {"query": query}, "answer": {"query": query}}
    found: dict[str, Any] = pipeline.run(data, include_outputs_from={"retriever"})
    return found
