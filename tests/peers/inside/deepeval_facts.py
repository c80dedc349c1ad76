"""What DeepEval does with cases that failed: run in the folder of the example, prints JSON. Not a test by itself."""

import contextlib
import io
import json
import re

from deepeval import evaluate
from deepeval.errors import DeepEvalError
from deepeval.evaluate import DisplayConfig, ErrorConfig
from deepeval.metrics import ExactMatchMetric, PatternMatchMetric
from deepeval.test_case import LLMTestCase
from rag import ask
from test_deepeval import DATASET, Contains

QUIET = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)


def answered(golden):
    try:
        return ask(golden.input)["answer"]
    except TimeoutError:
        return None


def evaluated(metric, answers, **errors):
    cases = [
        LLMTestCase(input=golden.input, actual_output=answer, expected_output=golden.expected_output)
        for golden, answer in zip(DATASET.goldens, answers, strict=True)
    ]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            result = evaluate(cases, [metric], display_config=QUIET, error_config=ErrorConfig(**errors))
    except (TypeError, DeepEvalError) as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    counted = re.search(r"Test Results \((\d+) total tests\)", printed.getvalue())
    rows = [[one.success, len(one.metrics_data or [])] for one in result.test_results]
    return {"counted": int(counted[1]), "rows": rows}


answers = [answered(golden) for golden in DATASET.goldens]
exact = [golden.expected_output for golden in DATASET.goldens]
told = {
    "answers": answers,
    "default": evaluated(ExactMatchMetric(), answers),
    "ignored": evaluated(ExactMatchMetric(), answers, ignore_errors=True),
    "skipped": evaluated(ExactMatchMetric(), answers, skip_on_missing_params=True),
    "contains": evaluated(Contains(), ["" if one is None else one for one in answers]),
    "exact": evaluated(ExactMatchMetric(), exact),
    "pattern": evaluated(PatternMatchMetric(pattern=r"24 euros"), exact),
}
print("FACTS" + json.dumps(told))
