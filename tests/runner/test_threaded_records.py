"""A record that several threads read first at the same time must not crash the interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, threading
from ragworthy.runner.contract import checked
from ragworthy.pipeline.endpoint import _Completion
from ragworthy.pipeline.written import read
from ragworthy.index.endpoint import _Reply

import msgspec

sys.setswitchinterval(1e-6)
gate = threading.Barrier(16)
told = []

def work():
    gate.wait()
    {what}
    told.append(1)

threads = [threading.Thread(target=work) for _ in range(16)]
for one in threads: one.start()
for one in threads: one.join()
print(len(told))
"""
WORK = {
    "reply": 'checked({"answer_json": {"claim": "x", "citations": ["a"]}, "retrieved_ids": ["a"], '
    '"topk": [{"id": "a"}], "stage_ms": {"llm": 1}, "usage": {"n": 1}})',
    "completion": """msgspec.json.decode(b'{"choices": [{"message": {"content": "x"}}], "usage": {}}', """
    "type=_Completion)",
    "written": """read('{"claim": "x", "citations": []}', [])""",
    "embedding": """msgspec.json.decode(b'{"data": [{"embedding": [1], "index": 0}]}', type=_Reply)""",
}


@pytest.mark.parametrize("name", WORK)
def test_threads_that_read_a_record_first_together_all_finish(tmp_path: Path, name: str) -> None:
    file = tmp_path / "race.py"
    file.write_text(SCRIPT.replace("{what}", WORK[name]), encoding="utf-8")
    for _ in range(2):  # without `threaded` two or three of these four crash
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "16\n"), done.stderr[-2000:]
