"""What ragas does with rows that failed: run in the folder of the example, prints JSON. Not a test by itself."""

import json
import math
import warnings

from rag import PASSAGES, ask
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
        {
            "reference_contexts": texts(one["reference_context_ids"]),
            "retrieved_contexts": texts(one["retrieved_context_ids"]),
        }
        | one
        for one in rows
    ]
    result = evaluate(EvaluationDataset.from_list(full), metrics=METRICS, show_progress=False, **options)
    plain = [{name: None if math.isnan(value) else value for name, value in row.items()} for row in result.scores]
    return {"printed": repr(result), "rows": plain}


rows = [row(question) for question in QUESTIONS]
nothing_found = [rows[0] | {"retrieved_context_ids": []}, *rows[1:]]
no_reference = [rows[0] | {"reference": "", "response": "anything at all"}, *rows[1:]]
upper = [rows[0] | {"response": rows[0]["response"].replace("Pitches", "pitches"), "reference": "PITCHES"}, *rows[1:]]
half = [rows[0] | {"reference_context_ids": ["arrival#1", "fire#1"]}, *rows[1:]]
edited = [rows[0] | {"reference_contexts": ["Pitches are free from 15:00 and must be left by 10:00."]}, *rows[1:]]
without_catching = []
try:
    for question in QUESTIONS:
        without_catching.append(ask(question["user_input"]))
except TimeoutError:
    pass
try:
    scored(rows, raise_exceptions=True)
    raised = None
except AssertionError as error:
    raised = str(error)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    as_it_is = scored(rows)
told = {
    "as_it_is": as_it_is,
    "warned": [str(one.message) for one in warned],
    "nothing_found": scored(nothing_found),
    "no_reference": scored(no_reference),
    "upper": scored(upper),
    "half": scored(half),
    "edited": scored(edited),
    "without_catching": len(without_catching),
    "raise_exceptions": raised,
}
print("FACTS" + json.dumps(told))
