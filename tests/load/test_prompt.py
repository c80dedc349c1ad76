"""Prompt files: their hash, their version, what is sent; and the bundled prompt against the bundled definition."""

import hashlib
import re
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy.errors import DataError
from ragworthy.load.definition import bundled
from ragworthy.load.prompt import bundled_prompt, bundled_text, read_prompt
from ragworthy.metrics.definition import Field
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Listed
from ragworthy.pipeline.structured import schema_of


@pytest.mark.parametrize(
    ("text", "version", "sent"),
    [
        ("Answer.\n", "eval_json_v2", "Answer.\n"),
        ("---\nversion: p10\nowner: me\n---\nAnswer.\n", "p10", "Answer.\n"),
        ('---\r\nprompt_version: "2026-02"\r\n---\r\nAnswer.\r\n', "2026-02", "Answer.\n"),
        ("<!-- prompt_version: p7 -->\n\nAnswer.", "p7", "Answer.\n"),
        ("<!--\nversion = 3\nnotes\n-->\nAnswer.", "3", "Answer.\n"),
        ("# version: 4\nAnswer.", "4", "Answer.\n"),
        ("\ufeffversion: 5\nAnswer.", "5", "Answer.\n"),
        ("---\nowner: me\n---\nAnswer.", "eval_json_v2", "Answer.\n"),
        ("Say which version: of the two it is.", "eval_json_v2", "Say which version: of the two it is.\n"),
        ("Answer.\n---\nversion: no\n---\n", "eval_json_v2", "Answer.\n---\nversion: no\n---\n"),
    ],
)
def test_the_version_stands_in_the_head_which_is_not_sent(tmp_path: Path, text: str, version: str, sent: str) -> None:
    path = tmp_path / "eval_json_v2.md"
    path.write_bytes(text.encode())
    found = read_prompt(path)
    assert (found.version, found.text.replace("\r\n", "\n")) == (version, sent)
    assert found.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert found.effective_sha256 == hashlib.sha256(found.text.encode()).hexdigest()


def test_a_prompt_that_is_no_text_or_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.md"
    for data, code in ((b"\xff\xfe", "RW-F06"), (b"x" * ((1 << 20) + 1), "RW-F19"), (b" \n", "RW-Q12")):
        path.write_bytes(data)
        with pytest.raises(DataError) as told:
            read_prompt(path)
        assert told.value.problems[0].code == code


TYPES = {"label": "string", "keywords": "string", "list": "list of strings", "grounding": "list of objects"}


def line_of(field: Field) -> str:
    """What the prompt says of one field: from its key to the next one."""
    found = re.search(rf"^- `{field.key}` \((.*?)(?=^- `|\n\n)", bundled_prompt().text, re.DOTALL | re.MULTILINE)
    assert found is not None, field.key
    return found[1]


def test_the_bundled_prompt_names_every_key_type_and_limit_of_the_bundled_definition() -> None:
    fields = bundled().fields
    assert re.findall(r"^- `(\w+)` \(", bundled_prompt().text, re.MULTILINE) == [
        "target_audience", "main_topic", "sub_topic", "detailed_description", "original_evidence", "source_map",
        "predicted_questions",
    ]  # fmt: skip
    assert {field.key for field in fields} == set(re.findall(r"^- `(\w+)` \(", bundled_prompt().text, re.MULTILINE))
    for field in fields:
        told, rules = line_of(field), field.rules
        assert told.startswith(TYPES[field.kind]), field.key
        if isinstance(rules, Listed):
            assert told.startswith(f"list of strings, at most {rules.limit})")
        if isinstance(rules, Keywords):
            assert f"at least {rules.length} characters" in " ".join(told.split())
        if isinstance(rules, Grounding):
            limits = f"at most {rules.entries} objects, {rules.refs} refs in each, {rules.anchors} anchors in each ref"
            assert limits in " ".join(told.split())
            inner = schema_of(bundled())["properties"]["source_map"]["items"]["properties"]
            ref = inner["refs"]["items"]["properties"]
            assert all(f"`{key}`" in told for key in (*inner, *ref))
    for word in bundled().placeholders:
        assert f"a word such as `{word}` in place of a value" in bundled_prompt().text


def test_explain_prints_the_bundled_prompt() -> None:
    done = run_cli("explain", "prompt")
    assert (done.code, done.out) == (0, bundled_text())
    assert max(map(len, bundled_text().splitlines())) <= 120
