"""The pipeline under test: questions about the conditions of a ferry line, answered by a chain of LangChain."""

import re
from pathlib import Path

from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_text_splitters import RecursiveCharacterTextSplitter

from standin import StandIn

PROMPT = """Answer from the passages, in one sentence, and cite the passage: [1].
If they do not say it, answer: I don't know.

{context}

Question: {question}"""

pages = [Document(path.read_text("utf-8"), metadata={"source": path.name}) for path in Path("docs").glob("*.md")]
pages.sort(key=lambda page: page.metadata["source"])
splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=40, add_start_index=True)
chunks = splitter.split_documents(pages)
retriever = BM25Retriever.from_documents(chunks, k=4, preprocess_func=lambda text: re.findall(r"\w+", text.lower()))
model = StandIn()  # the real one goes here: model = init_chat_model("…")


def numbered(documents):
    return "\n".join(f"[{n}] {document.page_content}" for n, document in enumerate(documents, 1))


chain = (
    {"context": retriever | numbered, "question": RunnablePassthrough()}
    | ChatPromptTemplate.from_template(PROMPT)
    | model
    | StrOutputParser()
)
