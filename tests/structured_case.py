"""Questions and outputs of the structured suite, and what a run over them left behind."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE

Row = dict[str, Any]

FIELDS = ("target_audience", "main_topic", "sub_topic", "detailed_description", "original_evidence",
          "predicted_questions", "grounding")  # fmt: skip
EVIDENCE = "calm passengers then call elevator maintenance vendor immediately never force door"  # 11 keywords, 82 signs
EXPECTED: Row = {
    "target_audience": "safety staff",
    "main_topic": "elevator emergency",
    "sub_topic": "trapped passengers",
    "detailed_description": ["calm the passengers first", "call the maintenance vendor", "never force the door open"],
    "original_evidence": EVIDENCE,
    "predicted_questions": ["who must be called?", "may the door be forced?"],
}
REF: Row = {"file": "manual.md", "anchors": ["press the alarm button"]}
ELSEWHERE: Row = {"file": "elsewhere.md", "anchors": ["press the alarm button"]}
CONTEXT: list[Row] = [
    {"chunk_id": "c1", "score": 0.9, "source_path": "manual.md", "text": f"First press the alarm\n button. {EVIDENCE}"}
]
META: Row = {
    "prompt_sha256": "ab" * 32,
    "prompt_version": "p10",
    "index_version": "i1",
    "model_id": "m1",
    "adapter_id": "a1",
}


def refs(*given: Row) -> list[Row]:
    return [{"part": "original_evidence", "refs": list(given)}]


def question(n: int = 1, /, **extra: Any) -> Row:
    expected = {"answer_example": EXPECTED, "source_map": refs(REF)}
    return {"id": f"Q{n}", "question": f"What is to be done in case {n}?", "expected": expected, **extra}


def expecting(n: int, /, **fields: Any) -> Row:
    return question(n, expected={"answer_example": {**EXPECTED, **fields}, "source_map": refs(REF)})


def answer(**changes: Any) -> Row:
    return {**EXPECTED, "source_map": refs(REF), **changes}


def output(n: int = 1, given: Row | str | None = None, /, **extra: Any) -> Row:
    raw = given if isinstance(given, str) else json.dumps(answer() if given is None else given, ensure_ascii=False)
    return {"id": f"Q{n}", "raw": raw, "context": CONTEXT, "meta": META, **extra}


def both(count: int) -> tuple[list[Row], list[Row]]:
    """So many questions, each answered perfectly."""
    return [question(n) for n in range(1, count + 1)], [output(n) for n in range(1, count + 1)]


def cli(folder: Path, questions: list[Row], outputs: list[Row], *flags: object) -> Done:
    asked = write_jsonl(folder / "questions.jsonl", questions)
    written = write_jsonl(folder / "outputs.jsonl", outputs)
    return run_cli("score", "structured", "--questions", asked, "--outputs", written, *flags)


class Ran(NamedTuple):
    """What a command left behind."""

    done: Done
    report: Row
    rows: list[Row]

    @property
    def body(self) -> Row:
        found: Row = self.report["suites"]["structured"]
        return found

    def value(self, metric: str) -> Any:
        return self.body["metrics"][f"structured.{metric}"]["value"]

    def exact(self, metric: str) -> Fraction:
        found = self.body["metrics"][f"structured.{metric}"]
        return Fraction(found["num"], found["den"]) if found["den"] else Fraction(found["exact"])

    @property
    def warned(self) -> dict[str, str]:
        return {one["code"]: one["message"] for one in self.body["warnings"]}

    @property
    def outcomes(self) -> dict[str, str]:
        return {one["metric"]: one["outcome"] for one in self.report["gates"]}


def scored(folder: Path, questions: list[Row], outputs: list[Row], *flags: object) -> Ran:
    report, rows = folder / "report.json", folder / "rows.jsonl"
    done = cli(folder, questions, outputs, "--full", *flags, "-o", report, "--rows", rows)
    assert done.code in (0, 1, 3, 4), done.err
    return Ran(done, json.loads(report.read_text()), lines_of(rows))


def lines_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def policy(folder: Path, text: str, head: str = "") -> Path:
    path = folder / "ragworthy.toml"
    files = '[structured]\nquestions = "questions.jsonl"\noutputs = "outputs.jsonl"\n'
    path.write_text(f"version = 1\n{head}{files}{text}", encoding="utf-8")
    return path


def gated(folder: Path, text: str, *flags: object, head: str = "") -> Ran:
    report, rows = folder / "gated.json", folder / "gated.jsonl"
    done = run_cli("gate", "-c", policy(folder, text, head), "-o", report, "--rows", rows, *flags)
    assert done.code in (0, 1, 3, 4), done.err
    return Ran(done, json.loads(report.read_text()), lines_of(rows))
