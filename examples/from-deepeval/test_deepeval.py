"""The test with DeepEval: one test for each golden, each metric against its threshold."""

import pytest
from deepeval import assert_test
from deepeval.dataset import EvaluationDataset
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from rag import ask

DATASET = EvaluationDataset()
DATASET.add_goldens_from_json_file(file_path="goldens.json")


class Contains(BaseMetric):
    """Whether the answer has the expected text in it."""

    def __init__(self, threshold=1.0):
        self.threshold = threshold

    def measure(self, test_case):
        self.score = float(test_case.expected_output in test_case.actual_output)
        self.success = self.score >= self.threshold
        self.reason = f"expected {test_case.expected_output!r}"
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Contains"


@pytest.mark.parametrize("golden", DATASET.goldens, ids=lambda golden: golden.input)
def test_answer(golden):
    reply = ask(golden.input)
    case = LLMTestCase(
        input=golden.input,
        actual_output=reply["answer"],
        expected_output=golden.expected_output,
        context=golden.context,
        retrieval_context=[document["text"] for document in reply["documents"]],
    )
    assert_test(case, [Contains()])
