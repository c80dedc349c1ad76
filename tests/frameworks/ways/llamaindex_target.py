from llamaindex_rag import engine

import ragworthy as rw


def answer(q: str, **_: object) -> dict[str, object]:
    return rw.reply(engine.query(q))
