"""Objects of the real frameworks given to `ragworthy.run`: the same traces as by their names on the command line."""

import json
from pathlib import Path

import pytest

from conftest import write_jsonl
from framework_scripts import script
from places import TESTS

QUESTIONS = ("How long is a bucket name blocked?", "How large is the largest part of an upload?")


@pytest.mark.parametrize(("file", "name"), [("lc.py", "qa"), ("li.py", "citing"), ("hs.py", "plain")])
def test_an_object_is_a_target(file: str, name: str, tmp_path: Path) -> None:
    rows = [{"qid": f"Q{n}", "question": one, "answerable": True} for n, one in enumerate(QUESTIONS)]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    said = script(TESTS / "frameworks/targets/objects.py", gold, file, name, cwd=tmp_path).splitlines()[-1]
    traces, chunks, errors, same = json.loads(said)[name]
    assert (traces, errors, same) == (2, {}, True)
    assert chunks > 0
