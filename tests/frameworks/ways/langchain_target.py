from langchain_rag import chain

import ragworthy as rw


def answer(q: str, **_: object) -> dict[str, object]:
    found = chain.invoke({"input": q})
    return rw.reply(found["answer"], found["context"])
