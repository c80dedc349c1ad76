"""The Python API and the trace writer, with real threads and processes."""

import json
import multiprocessing
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ragworthy as rw
from ragworthy import starter
from ragworthy.given import settings_of
from ragworthy.suites import SUITES

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
        ("stability", "live", TRACES),
        ("stability", "configuration", "x"),
        ("answers", "limits", {"acr": 0.9}),
        ("answers", "use", "batch"),
        ("answers", "runs", TRACES),
        ("answers", "outputs", []),
        ("answers", "live", TRACES),
        ("answers", "repair", True),
        ("retrieval", "rule_packs", ("dates",)),
        ("retrieval", "short_substr", "reject"),
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
    with pytest.raises(rw.RagworthyError, match=r"<gold>:1: qid: expected what JSON can hold, got an object"):
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


class Speechless:
    def __str__(self) -> str:
        raise RuntimeError("no words")


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
        odd.write(object(), retrieved_ids=[])  # type: ignore[arg-type]
        odd.write("A2", retrieved_ids=[], error=Speechless())
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


@pytest.mark.parametrize("name", ["refusals", "rule_packs", "slices", "plugins"])
def test_one_text_where_several_are_expected_is_not_taken_apart(name: str) -> None:
    given: dict[str, Any] = {name: "I don't know."}
    with pytest.raises(rw.RagworthyError) as caught:
        rw.score("answers", gold=GOLD, traces=[], **given)
    assert caught.value.lines() == [
        f'{name}: expected a list of texts, got a text: write ["I don\'t know."] [RW-U01]',
        "  usage: The keywords of the call are in docs/python.md.",
    ]


def test_every_setting_that_is_a_list_of_texts_refuses_a_text() -> None:
    for suite in SUITES.values():
        for one in suite.fields():
            if one.kind == tuple[str, ...] and one.key.python and one.key.reads != "limits":
                with pytest.raises(rw.RagworthyError, match=f"{one.name}: expected a list of texts, got a text: write"):
                    settings_of(suite, {one.name: "x"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": "5"}, "k: expected a whole number or a list of them, got a text: write 5 [RW-U01]"),
        ({"refusals": 4}, "refusals: expected a list of texts, got an int [RW-U01]"),
        ({"refusals": [object()]}, "refusals[0]: expected a text, got an object [RW-U01]"),
        ({"gates": "precision=x"}, 'gates: precision: expected a number, got "x" [RW-P10]'),
        ({"gates": "precision"}, 'gates: expected a threshold, e.g. precision=0.80, got "precision" alone [RW-P10]'),
        ({"gates": ""}, "gates: expected name=value pairs, got nothing [RW-P10]"),
        ({"gates": {"nonsense": 1}}, 'gates: nonsense: expected a metric, got "nonsense" [RW-P04]'),
        ({"traces": 4}, "traces: expected a path, records or a data frame, got int [RW-U01]"),
        ({"traces": {"qid": "A1"}}, "traces: expected a path, records or a data frame, got dict [RW-U01]"),
        ({"gold": [GOLD[0] | {"gold_citations": "x"}]},
         '<gold>:1: gold_citations: expected a list of strings, got "x" [RW-G03]'),
        ({"traces": [{"qid": "A1", "retrieved_ids": "a"}]},
         '<traces>:1: retrieved_ids: expected a list of strings, got "a" [RW-T02]'),
        ({"traces": [{"qid": "A1"}, {"qid": "A2", "retrieved_ids": [object()]}]},
         "<traces>:2: retrieved_ids[0]: expected what JSON can hold, got an object [RW-U05]"),
        ({"traces": [{"qid": "A1", "retrieved_ids": {"a"}}]},
         "<traces>:1: retrieved_ids: expected a list, got a set, which has no order [RW-U05]"),
        ({"definition": "x"}, "definition: the answers suite has none [RW-U01]"),
        ({"evidence": "x"}, "evidence: expected point or interval, got 'x' [RW-U01]"),
    ],
)  # fmt: skip
def test_errors_speak_python(given: dict[str, Any], message: str) -> None:
    with pytest.raises(rw.RagworthyError) as caught:
        rw.score("answers", **{"gold": GOLD, "traces": [], **given})
    assert caught.value.lines()[0] == message
    assert "COMMAND" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_an_alias_is_named_as_it_was_given() -> None:
    with pytest.raises(rw.RagworthyError, match=r"^traces: expected a path, records or a data frame, got int"):
        rw.score("stability", gold=GOLD, traces=4)
    with pytest.raises(rw.RagworthyError, match=r"^runs: expected a path, records or a data frame, got int"):
        rw.score("stability", gold=GOLD, runs=4)


def test_hints_name_keywords_and_whole_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rw.RagworthyError) as caught:
        rw.gate()
    assert caught.value.lines()[1] == "  policy_missing: Run 'ragworthy init', or name one: gate(\"ragworthy.toml\")."
    gold = [GOLD[0] | {"gold_claim_substr": ["no"]}, GOLD[1]]
    with pytest.raises(rw.RagworthyError) as caught:
        rw.score("answers", gold=gold, traces=[], short_substr="reject")
    assert caught.value.lines()[1].endswith("under which short pieces count as whole words.")


def test_values_as_pipelines_have_them_score_like_plain_ones() -> None:
    class TextAccessor(str):
        __slots__ = ()

    class Reply(NamedTuple):
        qid: str
        retrieved_ids: tuple[str, ...]
        answer_json: dict[str, Any]

    wrapped = [
        Reply("A1", (TextAccessor("p1#2"),), {"claim": TextAccessor("X rejects null keys."), "citations": ("p1#2",)}),
        Reply("A2", (), {"claim": TextAccessor("not in context"), "citations": ()}),
    ]
    scored = [rw.score("answers", gold=GOLD, traces=traces).report for traces in (TRACES, wrapped)]
    assert scored[0] == scored[1]


def test_trace_writer_reads_values_as_pipelines_have_them(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")

    class TextAccessor(str):
        __slots__ = ()

    with rw.TraceWriter(tmp_path / "t.jsonl") as traces:
        traces.write(
            "A1",
            retrieved_ids=numpy.array(["p1#2", "p1#1"]),
            claim=TextAccessor("X rejects null keys."),
            citations=(TextAccessor("p1#2"),),
            stage_ms={"llm": numpy.float32(1.5)},
        )
    assert (tmp_path / "t.jsonl").read_text() == (
        '{"qid": "A1", "stage_ms": {"llm": 1.5}, "retrieved_ids": ["p1#2", "p1#1"], '
        '"answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}}\n'
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"claim": object()}, "answer_json.claim: expected what JSON can hold, got an object"),
        ({"claim": 4}, "claim: expected a text, got 4"),
        ({"retrieved_ids": "p1#2"}, 'retrieved_ids: expected a list of texts, got a text: write ["p1#2"]'),
        ({"retrieved_ids": [1]}, "retrieved_ids[0]: expected a text, got 1"),
        ({"retrieved_ids": None}, "retrieved_ids: expected a list of texts, got null"),
        ({"citations": "p1#2"}, 'citations: expected a list of texts, got a text: write ["p1#2"]'),
        ({"citations": {"p1#2"}}, "answer_json.citations: expected a list, got a set, which has no order"),
        ({"score": float("nan")}, "score: expected a finite number, got nan"),
    ],
)
def test_a_trace_that_cannot_be_written_as_it_is_says_so_and_is_not_lost(
    tmp_path: Path, fields: dict[str, Any], error: str
) -> None:
    writer = rw.TraceWriter(tmp_path / "t.jsonl")
    with pytest.warns(RuntimeWarning, match="a trace was written as an error"):
        writer.write("A1", **{"retrieved_ids": [], **fields})
    writer.write("A2", retrieved_ids=[], claim="not in context")
    writer.write("A3", **{"retrieved_ids": [], **fields})  # the warning comes once
    assert (writer.written, writer.lost, writer.last_error) == (3, 0, f"A3: {error}")
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert lines[0] == {"qid": "A1", "retrieved_ids": [], "answer_json": None, "error": f"bad trace: {error}"}
    result = rw.score("answers", gold=GOLD, traces=tmp_path / "t.jsonl")
    assert result.report["suites"]["answers"]["counts"]["errored"] == 1
