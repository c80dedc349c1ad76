"""The chain, recorded by the callback and by spans."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from ask_all import OUT, asked, by_spans
from langchain_rag import chain
from openinference.instrumentation.langchain import LangChainInstrumentor

import ragworthy as rw

ROWS = asked()


def config(recorder: rw.LangChainRecorder, row: dict[str, str]) -> dict[str, object]:
    return {"callbacks": [recorder], "metadata": {"qid": row["qid"]}}


with rw.LangChainRecorder(OUT / "callback.jsonl") as recorder:
    for row in ROWS:
        how = {"callbacks": [recorder], "metadata": {"qid": row["qid"]}}
        chain.invoke({"input": row["question"]}, config=how)
print(recorder.summary())

with rw.LangChainRecorder(OUT / "batch.jsonl") as batch:
    chain.batch([{"input": row["question"]} for row in ROWS], config=[config(batch, row) for row in ROWS])
with rw.LangChainRecorder(OUT / "abatch.jsonl") as abatch:
    asyncio.run(
        chain.abatch([{"input": row["question"]} for row in ROWS], config=[config(abatch, row) for row in ROWS])
    )
with rw.LangChainRecorder(OUT / "threads.jsonl") as threads, ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda row: list(chain.stream({"input": row["question"]}, config=config(threads, row))), ROWS))
with rw.LangChainRecorder(OUT / "gold.jsonl", gold=ROWS) as by_text:
    bound = chain.with_config(callbacks=[by_text])
    bound.batch([{"input": row["question"]} for row in ROWS])
for recorder in (batch, abatch, threads, by_text):
    print(recorder.summary())
by_spans(LangChainInstrumentor(), lambda question: chain.invoke({"input": question}), OUT)
