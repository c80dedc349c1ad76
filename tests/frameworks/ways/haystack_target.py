from haystack_rag import ask

import ragworthy as rw


def answer(q: str, **_: object) -> dict[str, object]:
    found = ask(q)
    said = found["answer"]["answers"][0]
    return rw.reply(said.data, found["retriever"]["documents"], usage=said.meta["usage"])
