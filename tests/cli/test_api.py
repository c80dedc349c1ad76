"""The Python API and the trace writer, with real threads and processes."""

import json
import multiprocessing
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from ragworthy import starter

Row = dict[str, Any]

GOLD = [
    {"qid": "A1", "question": "Null keys?", "answerable": True, "gold_claim_substr": ["rejects null keys"],
     "gold_citations": ["p1#2"]},
    {"qid": "A2", "question": "Explain Z.", "answerable": False},
]  # fmt: skip
TRACES: list[dict[str, Any]] = [
    {"qid": "A1", "retrieved_ids": ["p1#2"], "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}},
    {"qid": "A2", "retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}},
]


def test_score_from_records(tmp_path: Path) -> None:
    result = rw.score("answers", gold=GOLD, traces=TRACES)
    assert result.verdict == "SHIP" and result.exit_code == 0
    assert result.metrics["answers.precision"].num == 1
    assert [row["label"] for row in result.rows()] == ["OK", "REFUSAL_OK"]
    for suffix in ("json", "md", "xml", "txt", "jsonl", "parquet"):
        result.write(tmp_path / f"r.{suffix}")
        assert (tmp_path / f"r.{suffix}").stat().st_size > 0
    assert json.loads((tmp_path / "r.json").read_text()) == result.report
    assert "SHIP" in repr(result)


def test_gates_as_text_mapping_and_file(tmp_path: Path) -> None:
    file = tmp_path / "gates.toml"
    file.write_text("precision = 0.9\n")
    for gates in ("precision=0.9", {"precision": 0.9}, {"precision": "0.9"}, file):
        result = rw.score("answers", gold=GOLD, traces=TRACES, gates=gates)
        assert [(g["metric"], g["threshold"]) for g in result.gates] == [
            ("answers.precision", "0.9"),
            ("answers.chr", "0.75"),
            ("answers.under_refusal", "0.05"),
            ("answers.over_refusal", "0.10"),
            ("answers.missing", "0"),
        ]
        result = rw.score("answers", gold=GOLD, traces=TRACES, gates=gates, defaults=False)
        assert [g["metric"] for g in result.gates] == ["answers.precision", "answers.missing"]
    with pytest.raises(rw.RagworthyError, match="expected gates besides defaults=False, got none"):
        rw.score("answers", gold=GOLD, traces=TRACES, defaults=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "expected whole numbers from 1 up"),
        ({"k": [5, 5]}, "expected whole numbers from 1 up"),
        ({"evidence": "guess"}, "evidence: expected point or interval"),
        ({"short_substr": "maybe"}, "short_substr: expected reject or word"),
        ({"gates": "nonsense=1"}, 'expected a metric, got "nonsense"'),
    ],
)
def test_wrong_calls_say_what_was_expected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rw.RagworthyError, match=message):
        rw.score("answers", gold=GOLD, traces=TRACES, **options)


RATINGS = [{"qid": "A1", "rater": f"r{nth}", "label": "good"} for nth in range(3)]
SCORED: dict[str, dict[str, Any]] = {
    "answers": {"gold": GOLD, "traces": TRACES},
    "retrieval": {"gold": GOLD, "traces": TRACES},
    "structured": {"questions": [], "outputs": []},
    "stability": {"gold": GOLD, "runs": TRACES},
    "latency": {"gold": GOLD, "runs": TRACES},
    "agreement": {"raters": RATINGS},
}


@pytest.mark.parametrize(
    ("suite", "name", "value"),
    [
        ("stability", "prices", "prices.toml"),
        ("stability", "k", 5),
        ("stability", "corpus", []),
        ("stability", "scu", True),
        ("stability", "configuration", "x"),
        ("answers", "limits", {"acr": 0.9}),
        ("answers", "use", "batch"),
        ("answers", "runs", TRACES),
        ("answers", "outputs", []),
        ("answers", "live", TRACES),
        ("answers", "repair", True),
        ("retrieval", "rule_packs", ("dates",)),
        ("retrieval", "short_substr", "word"),
        ("retrieval", "definition", "mine.toml"),
        ("structured", "k", [1, 5]),
        ("structured", "refusals", ("no",)),
        ("structured", "corpus", "chunks.jsonl"),
        ("latency", "limits", {}),
        ("latency", "delta_s", "raw"),
        ("latency", "pairs", []),
        ("agreement", "prices", "prices.toml"),
        ("agreement", "runs", TRACES),
        ("agreement", "subset", "subset.json"),
    ],
)
def test_arguments_of_other_suites_are_refused(suite: str, name: str, value: Any) -> None:
    with pytest.raises(rw.RagworthyError) as caught:
        rw.score(suite, **SCORED[suite], **{name: value})
    assert str(caught.value).splitlines()[0] == f"{name}: the {suite} suite has none [RW-U01]"


def test_defaults_of_other_suites_may_be_written_out() -> None:
    usual: Row = {
        "prices": None,
        "limits": None,
        "use": "interactive",
        "delta_s": "auto",
        "redirects": (),
        "scu": False,
    }
    written = rw.score("answers", **SCORED["answers"], **usual)
    assert written.report == rw.score("answers", **SCORED["answers"]).report


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (5, "limits: expected names with numbers, got int [RW-U01]"),
        ("acr=0.9", "limits: expected names with numbers, got str [RW-U01]"),
        ([("acr", 0.9)], "limits: expected names with numbers, got list [RW-U01]"),
        ({"acr": 2}, "limits: acr: expected a number from 0 to 1, got 2 [RW-P03]"),
        ({"acr": None}, "limits: acr: expected a number from 0 to 1, got None [RW-P03]"),
        ({"acr": True}, "limits: acr: expected a number from 0 to 1, got true [RW-P03]"),
        ({"acr": "x"}, 'limits: acr: expected a number from 0 to 1, got "x" [RW-P03]'),
        ({"acr": float("nan")}, "limits: acr: expected a number from 0 to 1, got NaN [RW-P03]"),
        (
            {"speed": 0.9},
            "limits: speed: expected a known key, got an unknown one "
            "(one of: acr, cghc, css, ned50, refusal_rate) [RW-P02]",
        ),
    ],
)
def test_limits_that_are_none(limits: Any, message: str) -> None:
    with pytest.raises(rw.RagworthyError) as caught:
        rw.score("stability", **SCORED["stability"], limits=limits)
    assert str(caught.value).splitlines()[0] == message


def test_unknown_suite_and_odd_inputs() -> None:
    with pytest.raises(
        rw.RagworthyError,
        match=r'expected a suite \(answers or .* or latency or agreement\), got "poetry"',
    ):
        rw.score("poetry", gold=GOLD, traces=TRACES)
    with pytest.raises(rw.RagworthyError, match="gold: expected a path, records or a data frame, got int"):
        rw.score("answers", gold=5, traces=TRACES)
    with pytest.raises(rw.RagworthyError, match="expected records that JSON can hold"):
        rw.score("answers", gold=[{"qid": object()}], traces=TRACES)


def test_inputs_are_not_changed() -> None:
    gold, traces = json.loads(json.dumps(GOLD)), json.loads(json.dumps(TRACES))
    rw.score("answers", gold=gold, traces=traces)
    assert gold == GOLD and traces == TRACES


def test_gate_from_a_policy(tmp_path: Path) -> None:
    laid = starter.init(tmp_path)
    assert rw.gate(laid.policy).verdict is rw.Verdict.SHIP


def write_some(path: str, worker: int) -> None:
    with rw.TraceWriter(path) as traces:
        for i in range(200):
            traces.write(f"w{worker}-{i}", retrieved_ids=["d#1"] * 20, claim="long " * 50, citations=["d#1"])


def test_trace_writer_is_safe_across_threads_and_processes(tmp_path: Path) -> None:
    path = tmp_path / "deep/traces.jsonl"
    context = multiprocessing.get_context("spawn")
    processes: list[Any] = [context.Process(target=write_some, args=(str(path), n)) for n in range(3)]
    threads: list[Any] = [threading.Thread(target=write_some, args=(str(path), n)) for n in range(3, 6)]
    for one in (*processes, *threads):
        one.start()
    for one in (*processes, *threads):
        one.join()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 6 * 200
    assert len({line["qid"] for line in lines}) == 6 * 200


def test_trace_writer_never_raises_into_the_pipeline(tmp_path: Path) -> None:
    writer = rw.TraceWriter(tmp_path)  # a folder: nothing can be written
    with pytest.warns(RuntimeWarning, match="a trace was not written"):
        writer.write("A1", retrieved_ids=[])
    writer.write("A2", retrieved_ids=[])  # the warning comes once
    assert (writer.written, writer.lost) == (0, 2)
    assert writer.last_error is not None and "Error" in writer.last_error

    odd = rw.TraceWriter(tmp_path / "t.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd.write("A1", retrieved_ids=[], claim=object())  # type: ignore[arg-type]
        odd.write("A2", retrieved_ids=[], score=float("nan"))
    assert odd.lost == 2


def test_written_traces_score(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with rw.TraceWriter(path) as traces:
        traces.write("A1", retrieved_ids=["p1#2"], claim="X rejects null keys.", citations=["p1#2"], q="Null keys?")
        traces.write("A2", retrieved_ids=[], error="timeout after 30 s")
    result = rw.score("answers", gold=GOLD, traces=path)
    suite = result.report["suites"]["answers"]
    assert suite["counts"]["errored"] == 1
    assert suite["metrics"]["answers.precision"]["ledger"]["errored"] == 1
    assert (result.metrics["answers.precision"].num, result.metrics["answers.precision"].den) == (1, 2)  # it counts
    # An error is neither an answer nor a refusal.
    assert (result.metrics["answers.under_refusal"].num, result.metrics["answers.under_refusal"].den) == (0, 0)
    assert any(warning["name"] == "errored_traces" for warning in suite["warnings"])


def test_python_dash_m_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "ragworthy", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ragworthy {rw.__version__}\n"


@pytest.mark.parametrize(("name", "what"), [("refusals", "texts"), ("rule_packs", "packs"), ("slices", "fields")])
def test_one_text_where_several_are_expected_is_not_taken_apart(name: str, what: str) -> None:
    given: dict[str, Any] = {name: "I don't know."}
    with pytest.raises(rw.RagworthyError, match=f'{name}: expected several {what}, got the text "I don\'t know."'):
        rw.score("answers", gold=GOLD, traces=[], **given)
