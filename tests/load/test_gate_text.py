"""`--gates`: every accepted spelling, on the command line and in files, and every error."""

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from ragworthy import starter
from ragworthy.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def scored(*gates: str, k: int = 5, form: str = "text") -> Ran:
    """The tiny example of `init`, which is all right, scored with these gates."""
    command = f"score answers --gold gold.jsonl --trace traces.jsonl --k {k} --format {form} --no-default-gates".split()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*command, "--gates", *gates])
    return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold, traces = starter._tiny()
    Path("gold.jsonl").write_text(gold)
    Path("traces.jsonl").write_text(traces)


def gates_of(*given: str, k: int = 5) -> list[tuple[str, str, str]]:
    """Metric, comparison and threshold of the gates in the report, without the one on missing traces."""
    done = scored(*given, k=k, form="json")
    assert done.err == ""
    gates = json.loads(done.out)["gates"]
    return [(gate["metric"], gate["op"], gate["threshold"]) for gate in gates if gate["metric"] != "answers.missing"]


def test_gates_text_that_cannot_be_read_is_p10() -> None:
    assert scored("precision=high") == Ran(
        2,
        "",
        '--gates: precision: expected a number, got "high" [RW-P10]\n'
        "  gate_text: Write name=value pairs, e.g. precision=0.80,chr=0.75,under=0.05,over=0.10, "
        "or name a TOML file.\n",
    )


@pytest.mark.parametrize(
    "given",
    [
        ["precision=0.80,chr=0.75"],
        ["precision=0.80 chr=0.75"],
        ["precision=0.80", "chr=0.75"],
        ["precision=0.80,", "chr=0.75"],
        ["precision=0.80, chr=0.75"],
        ["answers.precision=0.80", "answers.chr=0.75"],
        ["precision>=0.80,chr>=0.75"],
    ],
)
def test_gates_on_the_command_line_in_every_spelling(given: list[str]) -> None:
    expected = [("answers.precision", ">=", "0.80"), ("answers.chr", ">=", "0.75")]
    assert gates_of(*given) == expected


@pytest.mark.parametrize(
    ("text", "metric", "op"),
    [
        ("under=0.05", "answers.under_refusal", "<="),
        ("under_refusal=0.05", "answers.under_refusal", "<="),
        ("answers.under_refusal=0.05", "answers.under_refusal", "<="),
        ("over=0.05", "answers.over_refusal", "<="),
        ("over_refusal=0.05", "answers.over_refusal", "<="),
        ("recall@k=0.05", "answers.recall@7", ">="),
        ("recall@5=0.05", "answers.recall@5", ">="),
        ("answers.hit@10=0.05", "answers.hit@10", ">="),
        ("chr_ub@k=0.05", "answers.chr_ceiling@7", ">="),
        ("scu_violations=2", "answers.scu_violations", "<="),
        ("cited_support=0.05", "answers.support", ">="),
    ],
)
def test_names_of_gates(text: str, metric: str, op: str) -> None:
    assert gates_of(text, k=7) == [(metric, op, text.partition("=")[2])]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["recall=0.99"], '--gates: recall: expected a metric, got "recall" (did you mean answers.recall@k?) [RW-P04]'),
        (["speed=1"], '--gates: speed: expected a metric, got "speed" [RW-P04]'),
        (["precision@5=0.8"], '--gates: precision@5: expected a metric of answers, got "precision@5"'),
        (["recall@0=0.8"], '--gates: recall@0: expected a metric, got "recall@0"'),
        (["chr=0.8,chr=0.9"], "--gates: chr: expected each name once, got it twice [RW-P10]"),
        (["chr=0.8", "precision"], '--gates: expected name=value, got "precision" [RW-P10]'),
        (["chr=", "x=1"], '--gates: expected name=value, got "chr=" [RW-P10]'),
        (["chr=0,8"], '--gates: expected name=value, got "8" [RW-P10]'),
        (["chr=80%"], '--gates: chr: expected a number, got "80%" [RW-P10]'),
        (["chr=nan"], "--gates: chr: expected a number, got NaN [RW-P03]"),
        (["chr=80"], "--gates: chr: min = 80 can never pass: the metric is never above 1 (80 % is 0.8) [RW-P05]"),
        ([""], "--gates: expected name=value pairs, got nothing [RW-P10]"),
    ],
)
def test_gates_that_are_errors(given: list[str], line: str) -> None:
    done = scored(*given)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(line)


@pytest.mark.parametrize("text", ["precision<=0.80", "under>=0.05"])
def test_a_comparison_against_the_metrics_direction_is_not_turned_round(text: str) -> None:
    done = scored(text)
    assert (done.code, done.out) == (2, "")
    assert "[RW-P" in done.err


def test_two_names_of_one_metric_are_a_duplicate_too() -> None:
    done = scored("under=0.05", "under_refusal=0.50")
    assert (done.code, done.out) == (2, "")
    assert "[RW-P" in done.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.toml", 'precision = 0.80\n"recall@k" = 0.7\n'),
        ("g.json", '{"precision": 0.80, "recall@k": 0.7}'),
        ("g.toml", '[[gate]]\nmetric = "precision"\nmin = 0.80\n[[gate]]\nmetric = "recall@5"\nmin = 0.7\n'),
        ("g.json", '{"gate": [{"metric": "precision", "min": 0.80}, {"metric": "recall@5", "min": 0.7}]}'),
        (
            "g.toml",
            'version = 1\n[[gate]]\nmetric = "precision"\nmin = 0.80\n[[gate]]\nmetric = "recall@5"\nmin = 0.7\n',
        ),
    ],
)
def test_gates_from_a_file(name: str, text: str) -> None:
    Path(name).write_text(text)
    expected = [("answers.precision", ">=", "0.80"), ("answers.recall@5", ">=", "0.7")]
    assert gates_of(name) == expected


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("g.toml", "recall = 0.99\n", 'g.toml: recall: expected a metric, got "recall"'),
        ("g.toml", 'chr = "high"\n', 'g.toml: chr: expected a number, got "high" [RW-P03]'),
        ("g.toml", "", "g.toml: expected at least one gate, got none [RW-P10]"),
        ("g.toml", "chr = \n", "g.toml: expected TOML, got: Invalid value (at line 1, column 7) [RW-P01]"),
        ("g.json", "[1]", "g.json: expected an object [RW-P03]"),
        ("g.json", "{", "g.json: expected JSON, got: "),
        ("none.toml", None, "none.toml: expected a file, got nothing at this path [RW-F01]"),
    ],
)
def test_gate_files_that_are_errors(name: str, text: str | None, line: str) -> None:
    if text is not None:
        Path(name).write_text(text)
    done = scored(name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(line)


@pytest.mark.parametrize("written", ["0.80", "0.8", "0.050", "0.123456789012345678901234567890", "1"])
def test_decimals_are_kept_as_written(written: str) -> None:
    Path("g.toml").write_text(f"chr = {written}\n")
    Path("g.json").write_text(f'{{"chr": {written}}}')
    for given in (f"chr={written}", "g.toml", "g.json"):
        assert gates_of(given) == [("answers.chr", ">=", written)]


def test_signs_of_mathematics_are_signs() -> None:
    assert gates_of("precision≥0.8,under≤0.05") == gates_of("precision>=0.8,under<=0.05")
    assert "expected <=, got >=" in scored("under≥0.05").err


def test_a_metric_of_another_suite_is_named_with_its_suite() -> None:
    done = scored("P@5=0.5")
    assert done.code == 2
    told = '--gates: P@5: expected a metric of answers, got "P@5" (retrieval.precision@5 of retrieval) [RW-P04]'
    assert done.err.splitlines()[0] == told
