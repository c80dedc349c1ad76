"""A key that comes back in pieces: it is in nothing that is written or shown, whole or as pieces in a row."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Cli, write_jsonl
from places import SERVERS
from ragworthy.wire.secret import WITHHELD, Secrets

KEY = "sk-QWERTZ/1234567890abc"
MAP = """\
[request]
path = "/pieces"
headers = { Authorization = "Bearer {env.PIECES_KEY}" }
body = { q = "{q}", form = "{knobs.form}", cuts = "{knobs.cuts}" }

[reply]
claim = CLAIM
documents = "sources"
"""
STREAM = MAP.replace("CLAIM", '"delta"') + 'stream = "sse"\ndone = "end"\n'
PARTS = MAP.replace("CLAIM", '"parts.[type=text].text"')
MAPS = {"stream": STREAM, "stream cut": STREAM, "whole": PARTS, "between": PARTS, "marker": PARTS, "status": PARTS,
        "unfit": PARTS, "json": PARTS + 'parse = "json"\n[reply.parsed]\nclaim = "a"\n'}  # fmt: skip
GOOD = ("stream", "whole", "between", "marker")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    words = [sys.executable, str(SERVERS / "rag_server.py"), str(tmp_path_factory.mktemp("service") / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


def shows(text: str, key: str) -> bool:
    """Whether a text holds a key, or its pieces one after another with nothing of another text between them."""
    telling = re.sub(r'"\s*\}+\s*,?\s*(?:data:)?\s*\{[^{}]*?"(?:delta|text)"\s*:\s*"', "", text.replace('\\"', '"'))
    return key in text or key in telling


def folder_of(place: Path) -> str:
    return "\n".join(file.read_text("utf-8", "replace") for file in place.rglob("*") if file.is_file())


def test_the_test_would_notice_pieces() -> None:
    assert shows(f"a {KEY}", KEY)
    assert shows(f'data: {{"delta": "{KEY[:4]}"}} data: {{"delta": "{KEY[4:]}"}}', KEY)
    assert shows(f'[{{"type": "text", "text": "{KEY[:4]}"}}, {{"type": "text", "text": "{KEY[4:]}"}}]', KEY)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(form=st.sampled_from(sorted(MAPS)), cuts=st.lists(st.integers(1, len(KEY) - 1), min_size=1, max_size=8))
def test_a_key_in_pieces_is_never_written_or_shown(
    cli: Cli, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, cuts: list[int]
) -> None:
    monkeypatch.setenv("PIECES_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    shutil.rmtree("out", ignore_errors=True)
    Path("map.toml").write_text(MAPS[form])
    write_jsonl(Path("gold.jsonl"), [{"qid": "Q1", "question": "Which?", "answerable": True}])
    asked = ["--target", url, "--map", "map.toml", "--gold", "gold.jsonl", "--retries", 0]
    asked += ["--knob", f"form={form}", "--knob", f"cuts={json.dumps(cuts)}"]
    done = [cli("run", *asked, "--out", "out"), cli("run", "--check", *asked)]
    assert [one.code for one in done] == ([0, 0] if form in GOOD else [1, 2]), done
    done.append(cli("score", "answers", "--gold", "gold.jsonl", "--trace", "out/traces.jsonl", "-o", "out/report.json"))
    for text in (folder_of(Path("out")), *(one.out + one.err for one in done)):
        assert not shows(text, KEY)
    (trace,) = (json.loads(line) for line in Path("out/traces.jsonl").read_text().splitlines())
    if form in GOOD:
        assert trace["answer_json"]["claim"] == ("***" if form == "marker" else "It is ***")
        assert f"got: {WITHHELD}" in done[1].out


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, len(KEY) - 1), min_size=1, max_size=8))
def test_a_chat_model_that_says_its_key_in_parts(
    cli: Cli, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[int]
) -> None:
    monkeypatch.setenv("RAGWORTHY_CHAT_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    shutil.rmtree("out", ignore_errors=True)
    if not Path("ix").exists():
        docs = write_jsonl(Path("docs.jsonl"), [{"path": "a.md", "text": "# Lock\n\nThe lock is red.\n"}])
        assert cli("index", "build", "--docs", docs, "--out", "ix", "--dense", "none").code == 0
    write_jsonl(Path("gold.jsonl"), [{"qid": "Q1", "question": "Which lock is red?", "answerable": True}])
    knob = f"answerer=chat:{'-'.join(map(str, cuts))}@{url}/pieces"
    done = cli("run", "--target", "builtin:ix", "--knob", knob, "--gold", "gold.jsonl", "--out", "out")
    assert done.code == 0, done.out + done.err
    assert "It is ***" in Path("out/traces.jsonl").read_text()
    assert not shows(folder_of(Path("out")) + done.out + done.err, KEY)


def test_texts_under_other_names_are_not_put_together() -> None:
    secrets = Secrets(["12345678"])
    assert secrets.in_pieces('{"ids": ["1234", "5678"]}')
    assert not secrets.in_pieces('{"id": "1234", "page": "5678"}')
    assert secrets.masked_body('{"id": "1234", "page": "5678"}') == '{"id": "1234", "page": "5678"}'
