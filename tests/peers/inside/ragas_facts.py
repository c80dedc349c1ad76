"""What ragas does with rows that failed: run in the folder of the example, prints JSON. Not a test by itself."""

import json
import math

from rag import PASSAGES
from ragas import EvaluationDataset, evaluate
from ragas.metrics import (
    ExactMatch,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    NonLLMContextPrecisionWithReference,
    NonLLMContextRecall,
    NonLLMStringSimilarity,
    StringPresence,
)
from test_ragas import QUESTIONS, row

METRICS = [
    StringPresence(),
    ExactMatch(),
    NonLLMStringSimilarity(),
    NonLLMContextRecall(),
    NonLLMContextPrecisionWithReference(),
    IDBasedContextRecall(),
    IDBasedContextPrecision(),
]
TEXTS = {passage["id"]: passage["text"] for passage in PASSAGES}


def texts(ids):
    return None if ids is None else [TEXTS[one] for one in ids]


def scored(rows, **options):
    full = [
        one
        | {
            "reference_contexts": texts(one["reference_context_ids"]),
            "retrieved_contexts": texts(one["retrieved_context_ids"]),
        }
        for one in rows
    ]
    result = evaluate(EvaluationDataset.from_list(full), metrics=METRICS, show_progress=False, **options)
    plain = [{name: None if math.isnan(value) else value for name, value in row.items()} for row in result.scores]
    return {"printed": repr(result), "rows": plain}


rows = [row(question) for question in QUESTIONS]
nothing_found = [rows[0] | {"retrieved_context_ids": []}, *rows[1:]]
no_reference = [rows[0] | {"reference": "", "response": "anything at all"}, *rows[1:]]
upper = [rows[0] | {"response": rows[0]["response"].replace("Pitches", "pitches"), "reference": "PITCHES"}, *rows[1:]]
try:
    scored(rows, raise_exceptions=True)
    raised = None
except AssertionError as error:
    raised = str(error)
told = {
    "as_it_is": scored(rows),
    "nothing_found": scored(nothing_found),
    "no_reference": scored(no_reference),
    "upper": scored(upper),
    "raise_exceptions": raised,
}
print("FACTS" + json.dumps(told))
