"""A citation query engine of LlamaIndex over the handbook: the framework's splitter, BM25, numbered sources."""

import os
import re
from typing import Any

from extract import answered
from llama_index.core import SimpleDirectoryReader
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.retrievers.bm25 import BM25Retriever


class Model(CustomLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000, num_output=256, model_name="extract")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        context = prompt.rpartition("Below are several numbered sources")[2]
        context, _, question = context.rpartition("Query: ")
        sources = re.split(r"(?m)^Source \d+:\n", context)[1:]
        return CompletionResponse(text=answered(question.partition("\n")[0], sources))

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        yield self.complete(prompt)


documents = SimpleDirectoryReader(os.environ["CORPUS"], required_exts=[".md"]).load_data()
nodes = SentenceSplitter(chunk_size=160, chunk_overlap=20).get_nodes_from_documents(documents)
retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=5)
size = int(os.environ.get("CITATION_CHUNK", "512"))
engine = CitationQueryEngine.from_args(
    None, llm=Model(), retriever=retriever, citation_chunk_size=size, citation_chunk_overlap=size // 8
)
