"""The same gate for pytest: the pipeline is asked once, then each gate and each question is a test."""

import pytest
from rag import answer


@pytest.fixture(scope="session")
def ragworthy_target():
    return answer


@pytest.mark.ragworthy_gates
def test_gate(ragworthy_gates):
    """One test for each gate of ragworthy.toml, and one for the verdict."""


@pytest.mark.ragworthy_question
def test_question(ragworthy_question):
    """One test for each question. Only those of must_pass fail; what else is wrong is counted as xfailed."""
