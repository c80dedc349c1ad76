"""A chain of LangChain over the handbook: the framework's splitter, BM25, a prompt with numbered passages, a model."""

import os
from pathlib import Path
from typing import Any

from extract import answered, numbered
from langchain_classic.chains import create_retrieval_chain
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_text_splitters import RecursiveCharacterTextSplitter


class Model(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "extract"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        prompt = messages[-1].content
        if "break the model" in prompt:
            raise ValueError("the model is not there")
        text = answered(*numbered(prompt))
        counts = {"input_tokens": len(prompt.split()), "output_tokens": len(text.split())}
        usage = counts | {"total_tokens": sum(counts.values())}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, usage_metadata=usage))])


def documents() -> list[Document]:
    folder = Path(os.environ["CORPUS"])
    whole = [Document(path.read_text("utf-8"), metadata={"source": path.name}) for path in sorted(folder.glob("*.md"))]
    splitter = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=60, add_start_index=True)
    return splitter.split_documents(whole)


def shown(inputs: dict[str, Any]) -> str:
    return "\n".join(f"[{nth}] {one.page_content}" for nth, one in enumerate(inputs["context"], 1))


retriever = BM25Retriever.from_documents(documents(), k=5)
prompt = ChatPromptTemplate.from_template("Answer from the passages.\n{context}\n\nQuestion: {input}")
combine = RunnablePassthrough.assign(context=shown) | prompt | Model() | StrOutputParser()
chain = create_retrieval_chain(retriever, combine)
