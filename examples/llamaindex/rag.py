"""The pipeline under test: questions about a climbing gym, answered by a citation query engine of LlamaIndex."""

from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.retrievers.bm25 import BM25Retriever

from standin import StandIn

pages = SimpleDirectoryReader("docs", file_metadata=lambda path: {"file_name": Path(path).name}).load_data()
nodes = SentenceSplitter(chunk_size=80, chunk_overlap=10).get_nodes_from_documents(pages)
model = StandIn()  # the real one goes here: model = OpenAI(model="…")

engine = CitationQueryEngine.from_args(
    None, llm=model, retriever=BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=4)
)
