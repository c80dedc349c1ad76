"""A real Jupyter kernel: what a cell shows of a result, and a run beside the kernel's own loop.

The Python of `$RAGWORTHY_NOTEBOOK`, or this one, has to have nbclient and ipykernel; else the test is skipped.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import write_jsonl
from places import ROOT

PYTHON = os.environ.get("RAGWORTHY_NOTEBOOK") or sys.executable
CELLS = [
    """import ragworthy as rw
def answer(question):
    return {"answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}, "retrieved_ids": ["p1#2"]}""",
    """import asyncio
asyncio.get_running_loop().is_running()""",
    """ran = rw.run(answer, "gold.jsonl")
ran""",
    """result = ran.score()
result""",
    """async def later(question):
    await asyncio.sleep(0.001)
    return answer(question)
rw.run(later, "gold.jsonl", concurrency=1).traces == ran.traces""",
    """result.frame("gates").head(2)""",
]
SCRIPT = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook()
notebook.cells = [nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)]
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([[one.get("data") or dict(one) for one in cell.outputs] for cell in notebook.cells]))
"""


def test_cells_show_verdict_gates_and_offenders(tmp_path: Path) -> None:
    found = subprocess.run([PYTHON, "-c", "import nbclient, ipykernel, nbformat"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("SKIPPED: nbclient and ipykernel are absent (RAGWORTHY_NOTEBOOK names a Python that has them)")
    write_jsonl(
        tmp_path / "gold.jsonl",
        [
            {"qid": "A1", "question": "Null keys?", "answerable": True, "gold_claim_substr": ["rejects null keys"],
             "gold_citations": ["p1#2"]},
            {"qid": "A2", "question": "Explain Z.", "answerable": False},
        ],
    )  # fmt: skip
    home = {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython"), "JUPYTER_RUNTIME_DIR": str(tmp_path / "rt")}
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT],
        input=json.dumps(CELLS),
        cwd=tmp_path,
        env={**os.environ, **home, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    _, loop, ran, result, same, frame = json.loads(done.stdout)
    assert loop[0]["text/plain"] == "True"
    assert ran[0]["text/plain"] == ("<ragworthy run of __main__:answer: 2 questions, 2 answered, 0 refused, 0 errored>")
    shown = result[0]["text/markdown"]
    assert shown.startswith("## ❌ Ragworthy: NO-SHIP\n")
    assert "| `answers.under_refusal` | ❌ fail | 1.0 | 1/1 |" in shown
    assert "| A2 | HALLUCINATION |" in shown
    assert result[0]["text/plain"].startswith("<ragworthy NO-SHIP: answers.precision, answers.chr, ")
    assert same[0]["text/plain"] == "True"
    assert "answers.precision" in frame[0]["text/html"]
    assert [len(cell) for cell in (loop, ran, result, same, frame)] == [1] * 5  # nothing is printed besides
