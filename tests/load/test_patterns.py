"""Patterns that people write: what a later Python may read otherwise is not a defect of ours."""

import warnings
from pathlib import Path

import pytest

from ragworthy.load.packs import load_pack
from ragworthy.metrics.facts.refusals import wrong_pattern


def test_a_pattern_that_python_warns_of_is_used_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("id = 'own'\n[[rule]]\nlocked = 'no [[a-z]+'\nclaim = 'any'\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # FutureWarning: possible nested set
        pack = load_pack("own", path)
        assert wrong_pattern("no [[a-z]+") is None
    assert pack.rules[0][0].search("no [x", timeout=1.0)


@pytest.mark.parametrize("text", ["(", "a{2,1}", "(?P<x>a)(?P<x>b)"])
def test_a_pattern_that_fails_says_why(text: str) -> None:
    assert str(wrong_pattern(text)).startswith("expected a regular expression, got one that fails: ")
