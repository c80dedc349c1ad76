"""The pipeline under test: the help centre of a coffee roastery, answered by a pipeline of Haystack."""

from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from standin import StandIn

PROMPT = """Answer from the documents, in one sentence, and cite the document: [1].
If they do not say it, answer: I don't know.

{% for document in documents %}[{{ loop.index }}] {{ document.content }}
{% endfor %}
Question: {{ query }}"""

pages = [Document(content=path.read_text("utf-8"), meta={"file_path": path.name}) for path in Path("docs").glob("*.md")]
store = InMemoryDocumentStore()
store.write_documents(DocumentSplitter(split_by="passage", split_length=1).run(documents=pages)["documents"])

pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=4))
pipeline.add_component("prompt", PromptBuilder(PROMPT, required_variables=["documents", "query"]))
pipeline.add_component("model", StandIn())  # the real one goes here: OpenAIGenerator(model="…")
pipeline.connect("retriever.documents", "prompt.documents")
pipeline.connect("prompt.prompt", "model.prompt")
