"""The same with an experiment of ragas: the pipeline is asked inside, and each question gives a row of results."""

import asyncio
import json
from pathlib import Path

from rag import ask
from ragas import Dataset, experiment
from ragas.metrics.collections import StringPresence

QUESTIONS = [json.loads(line) for line in Path("questions.jsonl").read_text().splitlines()]


@experiment()
async def answered(question):
    reply = ask(question["user_input"])
    score = await StringPresence().ascore(reference=question["reference"], response=reply["answer"])
    return question | {"response": reply["answer"], "string_present": score.value}


if __name__ == "__main__":
    rows = asyncio.run(answered.arun(Dataset("campsite", backend="inmemory", data=QUESTIONS)))
    mean = sum(row["string_present"] for row in rows) / len(rows)
    print(f"string_present {mean:.4f} over {len(rows)} rows of {len(QUESTIONS)} questions")
