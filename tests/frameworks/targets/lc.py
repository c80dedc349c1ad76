"""Chains of LangChain as their documentation writes them, over three documents. No line is there for Ragworthy."""

from operator import itemgetter
from pathlib import Path
from typing import Any

from langchain_classic.chains import RetrievalQA, create_retrieval_chain
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_text_splitters import RecursiveCharacterTextSplitter

import standin

DOCS = Path(__file__).parent / "docs"


class Model(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        prompt = messages[-1].content
        usage = {"input_tokens": len(prompt.split()), "output_tokens": 7, "total_tokens": len(prompt.split()) + 7}
        message = AIMessage(standin.read(prompt), usage_metadata=usage, response_metadata={"model_name": "m-1"})
        return ChatResult(generations=[ChatGeneration(message=message)])


def numbered(documents: list[Document]) -> str:
    return "\n".join(f"[{n}] {one.page_content}" for n, one in enumerate(documents, 1))


class LastFirst(BaseDocumentCompressor):
    """Keeps two, the last one first."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return list(documents)[::-1][:2]


whole = [Document(path.read_text("utf-8"), metadata={"source": path.name}) for path in sorted(DOCS.glob("*.md"))]
splitter = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=0, add_start_index=True)
chunks = splitter.split_documents(whole)
retriever = BM25Retriever.from_documents(chunks, k=3)
model = Model()
prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")

# a text in, a text out: nothing says what was retrieved
plain = {"context": retriever | numbered, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
# the same with a dict in and a message out
keyed = {"context": itemgetter("question") | retriever | numbered, "question": itemgetter("question")} | prompt | model
# two inputs
spoken = (
    {
        "context": itemgetter("question") | retriever | numbered,
        "question": itemgetter("question"),
        "language": itemgetter("language"),
    }
    | ChatPromptTemplate.from_template("Answer in {language}.\n{context}\n\nQuestion: {question}")
    | model
)
# the constructors
combine = (
    RunnablePassthrough.assign(context=lambda given: numbered(given["context"]))
    | ChatPromptTemplate.from_template("{context}\n\nQuestion: {input}")
    | model
    | StrOutputParser()
)
retrieval = create_retrieval_chain(retriever, combine)
qa = RetrievalQA.from_chain_type(model, retriever=retriever, return_source_documents=True)
# documents that change after retrieval
reranked = (
    {"context": retriever | RunnableLambda(lambda found: found[::-1]) | numbered, "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)
compressed = (
    {
        "context": ContextualCompressionRetriever(base_compressor=LastFirst(), base_retriever=retriever) | numbered,
        "question": RunnablePassthrough(),
    }
    | prompt
    | model
    | StrOutputParser()
)
ensemble = (
    {
        "context": EnsembleRetriever(retrievers=[retriever, BM25Retriever.from_documents(chunks, k=2)]) | numbered,
        "question": RunnablePassthrough(),
    }
    | prompt
    | model
    | StrOutputParser()
)
# what cannot be heard, and what cannot be known
unheard = (
    {"context": lambda asked: numbered(chunks[:2]), "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)
unfilled = prompt | model
# a first step that does not say what it takes
untyped = (
    {"context": RunnableLambda(lambda asked: asked.strip()) | retriever | numbered, "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)
mixed = (
    {"context": (lambda asked: asked["question"]) | retriever | numbered, "question": itemgetter("question")}
    | prompt
    | model
    | StrOutputParser()
)
nameless = (
    {"context": lambda asked: "", "question": lambda asked: "", "language": itemgetter("language")} | prompt | model
)


# a retriever that calls another one and does not hand its callbacks on
class Last(BaseRetriever):
    """The last two of another retriever, the last one first."""

    inner: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return list(self.inner.invoke(query))[::-1][:2]


def chain_of(found: Any, **more: Any) -> Any:
    return {"context": found, "question": RunnablePassthrough(), **more} | prompt | model | StrOutputParser()


wrapped = chain_of(Last(inner=retriever) | numbered)
# the same in one function, which gives back the context as a text
folded = chain_of(RunnableLambda(lambda asked: numbered(list(retriever.invoke(asked))[::-1][:2])))
# two retrievers side by side: examples of how to answer, and the context
shown = BM25Retriever.from_documents([Document(f"Example {n}: yes.", metadata={"chunk_id": f"e{n}"}) for n in range(9)])
few = (
    {
        "examples": shown | (lambda found: " / ".join(one.page_content for one in found)),
        "context": retriever | numbered,
        "question": RunnablePassthrough(),
    }
    | ChatPromptTemplate.from_template("Like this: {examples}\n{context}\n\nQuestion: {question}")
    | model
    | StrOutputParser()
)
unnumbered = (
    {
        "examples": shown | (lambda found: " / ".join(one.page_content for one in found)),
        "context": retriever | (lambda found: " / ".join(one.page_content for one in found)),
        "question": RunnablePassthrough(),
    }
    | ChatPromptTemplate.from_template("Like this: {examples}\n{context}\n\nQuestion: {question}")
    | RunnableLambda(lambda _: None)
    | RunnableLambda(lambda _: "Yes [1].")
)


def broken(_: Any) -> Any:
    raise RuntimeError("rate limit")


raising = {"context": retriever | numbered, "question": RunnablePassthrough()} | prompt | broken | model


class Awaited(Model):
    """A model whose client is async."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        raise NotImplementedError("Use ainvoke instead")

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return Model()._generate(messages)


async def pass_on(given: Any) -> Any:
    return given


awaited = {"context": retriever | numbered, "question": RunnablePassthrough()} | prompt | Awaited() | StrOutputParser()
coroutine = {"context": retriever | numbered, "question": RunnablePassthrough()} | prompt | pass_on | model
awrapped = (
    {"context": Last(inner=retriever) | numbered, "question": RunnablePassthrough()}
    | prompt
    | Awaited()
    | StrOutputParser()
)
