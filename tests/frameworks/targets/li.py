"""Engines of LlamaIndex over three documents. No line is there for Ragworthy."""

import re
from pathlib import Path
from typing import Any

from llama_index.core import Settings, SimpleDirectoryReader, SummaryIndex
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

import standin

DOCS = Path(__file__).parent / "docs"


class Model(CustomLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000, num_output=256, model_name="stand-in")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        context, _, question = prompt.rpartition("Query: ")
        sources = re.split(r"(?m)^Source \d+:\n", context.rpartition("Below are several numbered sources")[2])[1:]
        return CompletionResponse(text=standin.said(question.partition("\n")[0], sources or [context]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        text = self.complete(prompt).text
        yield CompletionResponse(text=text, delta=text)


class Nothing(BaseRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return []


class Counting(CustomLLM):
    """Says how many messages of a user it was given."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000, num_output=256, model_name="counting")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=f"{prompt.count('user: ')} of a user [1]")

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        yield self.complete(prompt)


Settings.embed_model = None
Settings.llm = Model()
documents = SimpleDirectoryReader(str(DOCS), required_exts=[".md"]).load_data()
nodes = SentenceSplitter(chunk_size=40, chunk_overlap=0).get_nodes_from_documents(documents)
retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=3)
citing = CitationQueryEngine.from_args(None, retriever=retriever)
engine = RetrieverQueryEngine.from_args(retriever)
streaming = RetrieverQueryEngine.from_args(retriever, streaming=True)
empty = RetrieverQueryEngine.from_args(Nothing())
chat = ContextChatEngine.from_defaults(retriever=retriever, llm=Counting())
index = SummaryIndex([TextNode(text="x")])
