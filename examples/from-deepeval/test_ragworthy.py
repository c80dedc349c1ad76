"""The same with Ragworthy: one test for each question of the gold set, and one for the verdict."""

import pytest
from rag import ask


@pytest.fixture(scope="session")
def ragworthy_target():
    return ask


@pytest.mark.ragworthy_question
def test_answer(ragworthy_question):
    """The label of the question decides; what else must hold of one reply goes here."""


def test_ships(ragworthy_gate):
    ragworthy_gate.assert_ship()
