"""The test with ragas: every question through the pipeline, then the mean of each metric against a threshold."""

import json
from pathlib import Path

import pytest
from rag import ask
from ragas import EvaluationDataset, evaluate
from ragas.metrics import IDBasedContextRecall, StringPresence

QUESTIONS = [json.loads(line) for line in Path("questions.jsonl").read_text().splitlines()]


def row(question):
    try:
        reply = ask(question["user_input"])
    except TimeoutError:  # otherwise one question ends the whole evaluation
        return question | {"response": None, "retrieved_context_ids": None}
    return question | {
        "response": reply["answer"],
        "retrieved_context_ids": [document["id"] for document in reply["documents"]],
    }


@pytest.fixture(scope="module")
def result():
    dataset = EvaluationDataset.from_list([row(question) for question in QUESTIONS])
    return evaluate(dataset, metrics=[StringPresence(), IDBasedContextRecall()], show_progress=False)


@pytest.mark.parametrize("metric", ["string_present", "id_based_context_recall"])
def test_mean(result, metric):
    print(result)
    assert result.to_pandas()[metric].mean() >= 0.80
