"""What a result says of itself: to a test, to a notebook, to a data frame."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest

import ragworthy as rw
from cases import EVERY, Case
from conftest import run_cli, write_jsonl
from ragworthy import frames, starter

GOLD: list[dict[str, Any]] = [
    {
        "qid": f"A{n}",
        "question": f"What is {n}?",
        "answerable": True,
        "gold_claim_substr": [f"value {n}"],
        "gold_citations": [f"p#{n}"],
    }
    for n in range(8)
] + [{"qid": "U1", "question": "Explain Z.", "answerable": False}]


def trace(n: int, claim: str) -> dict[str, Any]:
    return {"qid": f"A{n}", "retrieved_ids": [f"p#{n}"], "answer_json": {"claim": claim, "citations": [f"p#{n}"]}}


REFUSED: dict[str, Any] = {"qid": "U1", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}
RIGHT = [*(trace(n, f"It is value {n}.") for n in range(8)), REFUSED]
WRONG = [*(trace(n, "It is something else.") for n in range(8)), REFUSED]


def scored(traces: list[dict[str, Any]], **more: Any) -> rw.Result:
    return rw.score("answers", gold=GOLD, traces=traces, **more)


# tests


def test_ship_asserts_nothing() -> None:
    scored(RIGHT).assert_ship()


def test_no_ship_shows_the_gates_and_the_first_offenders() -> None:
    with pytest.raises(AssertionError) as caught:
        scored(WRONG).assert_ship()
    lines = str(caught.value).splitlines()
    assert lines[0] == "NO-SHIP: answers.precision fails"
    gate = next(line for line in lines if line.startswith("  ✗"))
    assert gate.split() == ["✗", "precision", "0.0", "0/8", "≥", "0.80"]
    assert sum(line.startswith("  A") and "ANS_NO_CONTAIN: " in line for line in lines) == 3
    assert any(line.startswith("Worst: ANS_NO_CONTAIN 8") for line in lines)
    assert any(line.endswith(": text(full=True)") for line in lines)
    assert lines[-1] == "verdict: NO-SHIP (exit 1): precision 0.0 < 0.80"


def test_invalid_and_inconclusive_say_why() -> None:
    with pytest.raises(AssertionError) as caught:
        scored(RIGHT[1:]).assert_ship()
    assert "INVALID: there is not enough valid evidence for a verdict" in str(caught.value)
    assert "  not valid: 1 question has no trace" in str(caught.value)
    assert str(caught.value).endswith("verdict: INVALID (exit 4): 1 question has no trace\n")
    with pytest.raises(AssertionError) as caught:
        scored(RIGHT, evidence="interval").assert_ship()
    assert str(caught.value).startswith("INCONCLUSIVE: answers.precision, ")
    assert " with 80 % chance takes about " in scored(RIGHT, evidence="interval").text(full=True)


def test_offenders_of_a_failing_gate_come_first(tmp_path: Path) -> None:
    """U1 is worse, but the gate that fails is the one on A0: precision as a whole is 6 of 8 and may be."""
    answered = {"qid": "U1", "retrieved_ids": ["p#1"], "answer_json": {"claim": "Z is 1.", "citations": ["p#1"]}}
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    write_jsonl(tmp_path / "traces.jsonl", [trace(0, "Something else."), *RIGHT[1:-1], answered])
    (tmp_path / "ragworthy.toml").write_text(
        'version = 1\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
        '[[gate]]\nmetric = "precision"\nmin = 0.5\n[[gate]]\nmetric = "precision"\nmust_pass = ["A0"]\n'
    )
    result = rw.gate(tmp_path / "ragworthy.toml")
    assert [one["qid"] for one in result.offenders] == ["U1", "A0"]
    text = result.text()
    assert text.index("  A0  ANS_NO_CONTAIN") < text.index("  U1  HALLUCINATION")


def test_the_frame_of_the_assertion_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import ragworthy as rw\n"
        "def test_ships():\n"
        "    rw.score('answers', gold='gold.jsonl', traces='traces.jsonl').assert_ship()\n"
    )
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    write_jsonl(tmp_path / "traces.jsonl", WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_it.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "result.py" not in done.stdout
    assert "E         ✗  precision" in done.stdout


def test_a_result_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError) as caught:
        bool(scored(RIGHT))
    assert str(caught.value) == (
        "a result is neither true nor false: call result.assert_ship(), "
        "or compare result.verdict with ragworthy.Verdict.SHIP"
    )


def test_neither_is_a_verdict_a_metric_or_a_run() -> None:
    """Each of these assertions held of a NO-SHIP."""
    result = scored(WRONG)
    with pytest.raises(TypeError, match='a verdict is neither true nor false: compare it, as in verdict == "SHIP"'):
        assert result.verdict
    with pytest.raises(TypeError, match='inside a verdict: compare it, as in verdict == "SHIP"'):
        assert "SHIP" in result.verdict
    with pytest.raises(TypeError, match=r"compare its value, as in metric\.value >= 0\.8"):
        assert result.metrics["answers.precision"]
    asked = rw.run(lambda question: {"answer_json": {"claim": "no"}, "retrieved_ids": []}, GOLD)
    with pytest.raises(TypeError, match=r"a run is neither true nor false: judge it with ran\.score\("):
        assert asked
    verdict: Any = result.verdict
    assert verdict == "NO-SHIP"
    assert verdict == rw.Verdict.NO_SHIP
    assert verdict != "SHIP"
    assert verdict in {"NO-SHIP", "INVALID"}
    assert len(asked) == len(GOLD)
    assert asked.errors == {}


# texts


def test_the_full_text_is_that_of_the_command(tmp_path: Path) -> None:
    laid = starter.init(tmp_path)
    files = ("--gold", laid.gold, "--trace", laid.traces[0])
    printed = run_cli("score", "answers", *files, "--full").out
    result = rw.score("answers", gold=laid.gold, traces=laid.traces[0])
    assert result.text(full=True) == printed
    result.write(tmp_path / "r.md")
    assert result.markdown() == (tmp_path / "r.md").read_text(encoding="utf-8")
    assert result.text().splitlines()[0] == printed.splitlines()[0]
    assert len(result.text()) < len(printed)


def test_a_notebook_shows_verdict_gates_and_offenders_and_little_else() -> None:
    shown = scored(WRONG)._repr_markdown_()
    assert shown.startswith("## ❌ Ragworthy: NO-SHIP: 1 of 5 gates fails\n")
    assert "| `answers.precision` | ❌ fail | 0.0 | 0/8 |" in shown
    assert "**Worst offenders** (5 of 8)" in shown
    assert shown.count("| ANS_NO_CONTAIN: ") == 5
    assert "### " not in shown
    assert "**Worst offenders**" not in scored(RIGHT)._repr_markdown_()
    assert repr(scored(WRONG)) == "<ragworthy NO-SHIP: answers.precision fails>"
    assert repr(scored(RIGHT)) == "<ragworthy SHIP: all 5 gates hold>"


@pytest.mark.parametrize("case", EVERY.values(), ids=EVERY)
def test_every_suite_has_texts_and_frames(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Case = case(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = rw.score(made.suite, **made.files, gates={made.metric: made.least}, defaults=False)
    assert result.text().splitlines()[-1].startswith(f"verdict: {result.verdict} (exit {result.exit_code})")
    assert result._repr_markdown_().startswith("## ")
    assert list(result.frame()["qid"]) == [row["qid"] for row in result.rows()]
    assert list(result.frame("gates")["outcome"]) == [gate["outcome"] for gate in result.gates]
    assert set(result.frame("metrics")["metric"]) == set(result.metrics)


# frames


def test_rows_as_a_frame() -> None:
    frame = scored([trace(0, "It is something else."), *RIGHT[1:]]).frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns[:3]) == ["qid", "label", "stage"]
    assert list(frame["label"]) == ["ANS_NO_CONTAIN", *["OK"] * 7, "REFUSAL_OK"]
    assert frame["stage"][1] is None and frame["stage"][0] == "generation"
    assert type(frame["label"][0]) is str
    assert frame["metrics.answers.precision"].dtype == "Float64"
    assert frame["metrics.answers.precision"].mean() == pytest.approx(7 / 8)
    assert frame["metrics.answers.precision"][8] is pandas.NA
    assert frame["facts.answered"].dtype == bool
    assert frame["question"][0] == "What is 0?"
    assert frame["claim"][8] == "not in context"


def test_gates_and_metrics_as_frames() -> None:
    result = scored(WRONG)
    gates = result.frame("gates").set_index("metric")
    assert gates.loc["answers.precision", "outcome"] == "fail"
    assert (gates.loc["answers.precision", "threshold"], gates.loc["answers.precision", "value"]) == (0.8, 0.0)
    assert gates["threshold"].dtype == "float64" and gates["slice"].dtype == object
    metrics = result.frame("metrics").set_index("metric")
    assert metrics.loc["answers.precision", ["num", "den"]].tolist() == [0, 8]
    assert metrics["den"].dtype == "Int64"  # answers.missing is a count and has none
    assert metrics.loc["answers.missing", "den"] is pandas.NA


WITHOUT = """
import json, sys
import ragworthy as rw
result = rw.score("answers", gold="gold.jsonl", traces="traces.jsonl")
try:
    table, gates = result.frame("rows"), result.frame("gates")
except rw.RagworthyError as error:
    print(json.dumps(error.lines()))
else:
    kinds = {name: str(table.schema.field(name).type) for name in ("metrics.answers.precision", "facts.answered")}
    print(json.dumps([type(table).__module__, table["stage"].to_pylist(), kinds, gates["outcome"].to_pylist()]))
"""


def without(packages: tuple[str, ...], folder: Path) -> Any:
    """What a script says where these packages are not installed."""
    for name in packages:
        (folder / f"{name}.py").write_text(f"raise ImportError('no {name}')\n")
    write_jsonl(folder / "gold.jsonl", GOLD)
    write_jsonl(folder / "traces.jsonl", [trace(0, "It is something else."), *RIGHT[1:]])
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_arrow_where_there_is_no_pandas(tmp_path: Path) -> None:
    module, stages, kinds, outcomes = without(("pandas",), tmp_path)
    assert module == "pyarrow.lib"
    assert stages == ["generation", *[None] * 8]
    assert kinds == {"metrics.answers.precision": "double", "facts.answered": "bool"}
    assert outcomes == ["pass"] * 5


def test_neither_pandas_nor_pyarrow_says_what_to_install(tmp_path: Path) -> None:
    first, *_ = without(("pandas", "pyarrow"), tmp_path)
    assert first == "frame() needs pandas or pyarrow: pip install pandas [RW-F15]"


def test_what_arrow_cannot_hold_becomes_json() -> None:
    table = frames.arrow({"a": [1, "x", None], "b": [[1], None, [2, 3]]})
    assert table.to_pydict() == {"a": ["1", '"x"', None], "b": [[1], None, [2, 3]]}


def test_an_unknown_frame_is_refused() -> None:
    with pytest.raises(rw.RagworthyError) as caught:
        scored(RIGHT).frame("questions")
    assert caught.value.lines()[0] == "frame: expected rows or gates or metrics, got 'questions' [RW-U01]"


def test_offenders_name_their_suite_where_there_are_several(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    write_jsonl(tmp_path / "traces.jsonl", WRONG)
    sections = "".join(
        f'[{suite}]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n' for suite in ("answers", "agreement")
    )
    (tmp_path / "ragworthy.toml").write_text(f"version = 1\n{sections}")
    result = rw.gate(tmp_path / "ragworthy.toml")
    assert {one["suite"] for one in result.offenders} == {"answers", "agreement"}
    assert "suite" not in scored(WRONG).offenders[0]
    assert set(result.frame()["suite"]) == {"answers", "agreement"}
