"""`--profile reference` against the program it reproduces: the scorer printed in seed003 §4.

Where that program exits 0 our stdout must be its stdout, byte for byte; where it crashes ours must exit 2.
"""

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from conftest import G1, G2, G3, T1, T2, T3, Row, run_cli
from places import SHARED
from soak import examples

pytestmark = pytest.mark.data("seeds")
STEADY = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Original(NamedTuple):
    """The original program: its file, its entry point, and a folder for the files both programs read."""

    script: Path
    main: Callable[[], None]
    folder: Path


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    page = (SHARED / "seeds/seed003_rag_precision_recall_with_scorer.md").read_text(encoding="utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    folder = tmp_path_factory.mktemp("reference")
    script = folder / "score_eval.py"
    script.write_text(program, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("score_eval_of_seed003", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Original(script, module.main, folder)


def stdout_of_original(original: Original, flags: list[str]) -> str | None:
    """What the original prints; None when it crashes or refuses its arguments."""
    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["score_eval.py", *flags]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            original.main()
        except (SystemExit, Exception):  # noqa: BLE001 - any way to end but well is a crash
            return None
    return out.getvalue()


def check(original: Original, gold: bytes, traces: bytes, *flags: str) -> bool:
    """Run both programs on the same bytes and compare; whether the original scored."""
    gold_path, trace_path = original.folder / "gold.jsonl", original.folder / "trace.jsonl"
    gold_path.write_bytes(gold)
    trace_path.write_bytes(traces)
    files = ["--gold", str(gold_path), "--trace", str(trace_path)]
    expected = stdout_of_original(original, [*files, *flags])
    done = run_cli("score", "answers", "--profile", "reference", *files, *flags)
    if expected is None:
        assert (done.code, done.out) == (2, ""), done
        assert "[RW-" in done.err
        assert "Traceback" not in done.err
    else:
        assert done.out == expected
        assert done.err == ""
        assert done.code == (0 if json.loads(expected)["pass"] else 1)
    return expected is not None


def lines(rows: list[Any], *, ascii_only: bool = True) -> bytes:
    text = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    return text.encode("utf-8", "surrogatepass")


# what generated files are made of; what makes the original crash is kept apart, so that most files score

IDS = ["d#1", "d#2", "x#1", "é", "d"]
QIDS: list[Any] = ["q1", "q2", "q3", "q4", "Q1", "1", 1, 1.0, True, "ü", 0, "", "None"]
ABSENT = object()

REFUSALS = [
    "not in context",
    "NOT in Context",
    " not in context\n",
    "\u00a0not in context\u3000",
    "\u2003\u2028Not In Context\u0085",
    "\x1cnot in context\x1f",
]
NEAR_REFUSALS = [
    "not in context.",
    "not  in context",
    "not\u00a0in context",
    "\u200bnot in context",
    "\ufeffnot in context",
    "not in contex",
    "ｎot in context",
    "NOT IN CONTEXT!",
]
CLAIMS: list[Any] = [
    "Alpha beta holds",
    "ALPHA BETA",
    "alpha  beta",
    "aİİİb",
    "caf\u00e9 rules",
    "cafe\u0301 rules",
    "ẞtraße",
    "x",
    "",
    "   ",
    None,
    ABSENT,
    0,
    False,
    [],
    {},
    "\ud800 alpha beta",
]
PIECES: list[Any] = [
    ABSENT,
    None,
    [],
    ["alpha beta"],
    ["Alpha Beta"],
    ["null"],
    ["beta", "alpha beta"],
    ["beta"],
    [""],
    ["", "holds"],
    [" beta"],
    ["İİİ"],
    ["caf\u00e9 rules"],
    ["cafe\u0301 rules"],
    ["STRASSE"],
    "alpha beta",
    "",
    {},
    {"alpha beta": 1},
    0,
    False,
    ["alpha beta", 12345],  # harmless only when the first entry matches
]
CITATIONS: list[Any] = [
    ABSENT, None, "", {}, 0, False, [], ["d#1"], ["d#1"], ["d#1", "d#1"], ["d#1", "d#2"], ["d#1", "zz"],
    ["x#1"], "d#1", {"d#1": 1}, 5, True, [1], [None, "d#1"], ["d"],
]  # fmt: skip
GOLD_CITATIONS: list[Any] = [
    ABSENT, None, [], "", {}, 0, ["d#1"], ["d#1"], ["d#1", "d#1"], ["d#1", "d#2"], ["zz"], "d#1", "d",
    {"d#1": 1}, [1], [None],
]  # fmt: skip
RETRIEVED: list[Any] = [
    ABSENT, None, [], "", {}, 0, ["d#1"], ["d#1", "x#1"], ["x#1", "d#1"], ["x#1", "x#1", "d#2", "d#1"],
    ["d#1", "d#2"], "d#1", "d", [1, None, "d#1"], [True, "d#2"],
]  # fmt: skip
ANSWERABLE: list[Any] = [
    True, True, True, False, False, ABSENT, None, "true", "false", 1, 0, 1.0, 0.0, "", 2, [], [0], {},
]  # fmt: skip
NO_ANSWER: list[Any] = [ABSENT, None, [], {}, "", 0, False]

CRASHES_IN_GOLD: list[Row] = [
    {"gold_claim_substr": [12345]},
    {"gold_claim_substr": [None, "alpha beta"]},
    {"gold_claim_substr": 7},
    {"gold_claim_substr": True},
    {"gold_claim_substr": [["alpha beta"]]},
    {"gold_citations": [{"id": "d#1"}]},
    {"gold_citations": 3},
    {"qid": ["q1"]},
    {"qid": {}},
]
CRASHES_IN_TRACE: list[Row] = [
    {"answer_json": "text"},
    {"answer_json": 3},
    {"answer_json": ["claim"]},
    {"answer_json": True},
    {"answer_json": {"claim": 5}},
    {"answer_json": {"claim": True}},
    {"answer_json": {"claim": ["not in context"]}},
    {"answer_json": {"claim": {"text": "x"}}},
    {"answer_json": {"claim": "x", "citations": [{"id": "d#1"}]}},
    {"answer_json": {"claim": "x", "citations": [["d#1"]]}},
    {"retrieved_ids": 3},
    {"retrieved_ids": {"d#1": 1}},
    {"retrieved_ids": [{"id": "d#1"}]},
    {"retrieved_ids": True},
    {"qid": ["q1"]},
    {"qid": {"a": 1}},
]


def present(**fields: Any) -> Row:
    return {name: value for name, value in fields.items() if value is not ABSENT}


@st.composite
def gold_items(draw: st.DrawFn) -> Row:
    return present(
        qid=draw(st.sampled_from(QIDS)),
        answerable=draw(st.sampled_from(ANSWERABLE)),
        gold_claim_substr=draw(st.sampled_from(PIECES)),
        gold_citations=draw(st.sampled_from(GOLD_CITATIONS)),
        constraints=draw(st.sampled_from([ABSENT, [], ["x"], 4])),
    )


@st.composite
def trace_lines(draw: st.DrawFn) -> Row:
    answer = draw(st.sampled_from([ABSENT, *NO_ANSWER] + ["object"] * 20))
    if answer == "object":
        kind = draw(st.integers(0, 5))
        claim = (
            draw(st.text(max_size=12))
            if kind == 0
            else draw(st.sampled_from([*CLAIMS, *CLAIMS, *REFUSALS, *NEAR_REFUSALS]))
        )
        answer = present(claim=claim, citations=draw(st.sampled_from(CITATIONS)))
    name = draw(st.integers(0, 9))
    qid, other = draw(st.sampled_from(QIDS)), draw(st.sampled_from(["unknown", *QIDS]))
    return present(
        qid=ABSENT if name < 2 else draw(st.sampled_from(["", 0, None, False])) if name < 4 else qid,
        q_id=other if name < 5 else ABSENT,
        retrieved_ids=draw(st.sampled_from(RETRIEVED)),
        answer_json=answer,
        constraints_echo=draw(st.sampled_from([ABSENT, None, 3])),
    )


@st.composite
def odd_files(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Every odd value of spec §4; in one file of five something that makes the original crash."""
    gold = draw(st.lists(gold_items(), max_size=4))
    traces = draw(st.lists(trace_lines(), max_size=5))
    poison = draw(st.integers(0, 9))
    if poison == 0 and gold:
        gold[draw(st.integers(0, len(gold) - 1))] |= draw(st.sampled_from(CRASHES_IN_GOLD))
    elif poison == 1 and traces:
        traces[draw(st.integers(0, len(traces) - 1))] |= draw(st.sampled_from(CRASHES_IN_TRACE))
    return gold, traces


ODD_KS = st.sampled_from(["5", "5", "1", "2", "0", "-1", "-2", "-99", "1000000", "9" * 20, "+3"])


@settings(STEADY, max_examples=examples(2000, 8))
@given(files=odd_files(), k=ODD_KS, ascii_only=st.booleans())
def test_odd_values(original: Original, files: tuple[list[Row], list[Row]], k: str, ascii_only: bool) -> None:
    gold, traces = files
    files_ = [lines(rows, ascii_only=ascii_only) for rows in (gold, traces)]
    event(f"the original scores: {check(original, files_[0], files_[1], f'--k={k}')}")


# files as bytes: broken lines, blank lines, line ends, marks, repeated and unknown qids

GOOD_GOLD = [json.dumps(row).encode() for row in (G1(), G2(), G3(), G1() | {"answerable": False})]
GOOD_TRACES = [
    json.dumps(row).encode()
    for row in (T1(), T2(), T3(), T2() | {"qid": "A0001"}, T1() | {"qid": "A0002"}, T1() | {"qid": "zz"})
]
HARMLESS_LINES = [
    b"",
    b"   ",
    b"\t",
    "\u00a0\u3000".encode(),
    b"\x1c",
    b"\x0c",
    "\u2028".encode(),
]
BROKEN_LINES = [
    b"\xef\xbb\xbf" + json.dumps(G1()).encode(),
    b"\xef\xbb\xbf",
    b"{",
    b'{"qid": "A0001"',
    b'{"qid": "A0001"} {"qid": "A0002"}',
    b"{'qid': 'A0001'}",
    b"[]",
    b"[1]",
    b"null",
    b"3",
    b'"A0001"',
    b"{}",
    b'{"qid": null}',
    b'{"qid": NaN, "answerable": true}',
    b'{"q_id": "A0001", "answerable": true}',
    b'{"qid": "A0001", "qid": "A0002"}',
    b'{"qid": "A0001", "ts": Infinity}',
    b'{"qid": "A0001", "x": "\xff"}',
    b'{"qid": "A0001", "x": "\xed\xa0\x80"}',
    b'{"qid": "A0001", "x": "\x00"}',
    b'{"qid": "A0001", "x": "a\x85b"}',
    b'{"qid": "A0001", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b"not json",
]


@st.composite
def raw_files(draw: st.DrawFn, good: list[bytes]) -> bytes:
    kept = draw(st.lists(st.sampled_from(good), max_size=5))
    kept += draw(st.lists(st.sampled_from(HARMLESS_LINES), max_size=2))
    if draw(st.integers(0, 3)) == 0:
        kept.append(draw(st.sampled_from(BROKEN_LINES)))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n"]))
    last = draw(st.sampled_from([end, b""]))
    start = draw(st.sampled_from([b""] * 12 + [b"\xef\xbb\xbf"]))
    return start + end.join(draw(st.permutations(kept))) + last


@settings(STEADY, max_examples=examples(800, 8))
@given(gold=raw_files(GOOD_GOLD), traces=raw_files(GOOD_TRACES))
def test_odd_bytes(original: Original, gold: bytes, traces: bytes) -> None:
    event(f"the original scores: {check(original, gold, traces)}")


# gate texts and k as they are on the command line

THRESHOLDS = [
    "0.80", "0.75", "0", "1", "1.0", "0.5", "-1", "2", "nan", "inf", "-inf", "1e-3", " 0.8", "0.8 ", "1_0",
    "٠.٥", "", "x", "0,5", "0.8=1", "0x1", "1/2",
]  # fmt: skip
NAMES = ["precision", "chr", "under", "over"]
OTHER_NAMES = [
    "recall",
    "recall@k",
    "under_refusal",
    "over_refusal",
    " chr",
    "chr ",
    "",
    "Precision",
    "é",
    "k",
]


@st.composite
def gate_texts(draw: st.DrawFn) -> str:
    names = list(NAMES)
    change = draw(st.integers(0, 5))
    if change == 0:
        names.remove(draw(st.sampled_from(NAMES)))
    elif change <= 3:
        names.insert(draw(st.integers(0, 4)), draw(st.sampled_from([*NAMES, *OTHER_NAMES])))
    names = draw(st.permutations(names))
    plain = THRESHOLDS[: draw(st.sampled_from([6, 6, 15, 15, len(THRESHOLDS)]))]
    pairs = [f"{name}={draw(st.sampled_from(plain))}" for name in names]
    return draw(st.sampled_from([",", ",", ",", ",", ", ", ",,", " ", ";"])).join(pairs)


EXAMPLE = (lines([G1(), G2(), G3()]), lines([T1(), T2(), T3()]))
HALF_RIGHT = (
    lines([G1(), G2(), G3(), G2() | {"qid": "A0004"}]),
    lines([T1(), T1() | {"qid": "A0002"}, T2() | {"qid": "A0003"}, T2() | {"qid": "A0004"}]),
)


@settings(STEADY, max_examples=examples(700, 8))
@given(
    files=st.sampled_from([EXAMPLE, HALF_RIGHT]),
    gates=st.one_of(gate_texts(), st.sampled_from(["", ",", "=", "precision", "a=b", "precision=0.8"])),
    k=st.one_of(*[ODD_KS] * 4, st.sampled_from(["", "x", "5.0", " 5", "1_0", "٣", "1,5", "0x5", "None"])),
    joined=st.booleans(),
)
def test_odd_arguments(
    original: Original,
    files: tuple[bytes, bytes],
    gates: str,
    k: str,
    joined: bool,
) -> None:
    apart = not joined and not gates.startswith("-")
    flags = ["--gates", gates] if apart else [f"--gates={gates}"]
    event(f"the original scores: {check(original, *files, f'--k={k}', *flags)}")


# the table of spec §4, row by row; `scores` says what the spec says about the original

ANSWER = {"claim": "X rejects null keys.", "citations": ["p1#2"]}


def answering(**changes: Any) -> Row:
    return T1() | {"answer_json": present(**(ANSWER | changes))}


SPEC_ROWS: dict[str, tuple[list[Row], list[Row], bool]] = {
    "no trace, answerable": ([G1()], [], True),
    "no trace, unanswerable": ([G2()], [], True),
    "no trace, both lists empty": ([G1() | {"gold_claim_substr": [], "gold_citations": []}], [], True),
    "claim null": ([G1()], [answering(claim=None)], True),
    "claim absent": ([G1()], [answering(claim=ABSENT)], True),
    "claim a number": ([G1()], [answering(claim=7)], False),
    "answer_json null": ([G1()], [T1() | {"answer_json": None}], True),
    "answer_json absent": ([G1()], [present(**(T1() | {"answer_json": ABSENT}))], True),
    "answer_json []": ([G1()], [T1() | {"answer_json": []}], True),
    "answer_json {}": ([G1()], [T1() | {"answer_json": {}}], True),
    "answer_json a string": ([G1()], [T1() | {"answer_json": "X rejects null keys."}], False),
    "answer_json a list": ([G1()], [T1() | {"answer_json": [1]}], False),
    **{
        f"claim {text!a}": ([G2()], [answering(claim=text) | {"qid": "A0002"}], True)
        for text in (*REFUSALS, *NEAR_REFUSALS)
    },
    "refusal with citations": ([G1()], [answering(claim="not in context")], True),
    "refusal with objects as citations": (
        [G1()], [answering(claim="not in context", citations=[{"id": "p1#2"}])], True,
    ),
    "substr []": ([G1() | {"gold_claim_substr": []}], [T1()], True),
    "substr absent": ([present(**(G1() | {"gold_claim_substr": ABSENT}))], [T1()], True),
    "substr null": ([G1() | {"gold_claim_substr": None}], [T1()], True),
    "substr short": ([G1() | {"gold_claim_substr": ["null"]}], [T1()], True),
    "substr of nothing": ([G1() | {"gold_claim_substr": [""]}], [T1()], True),
    "substr with blank": ([G1() | {"gold_claim_substr": [" null"]}], [T1()], True),
    "substr a string": ([G1() | {"gold_claim_substr": "rejects null keys"}], [T1()], True),
    "substr a number": ([G1() | {"gold_claim_substr": [12345]}], [T1()], False),
    **{
        f"citations {value!r}": ([G1()], [answering(citations=value)], True)
        for value in (None, "", {}, 0, "p1#2", {"p1#2": 1}, ["p1#2", "p1#2"], ["p1#2", "zz"])
    },
    "citations absent": ([G1()], [answering(citations=ABSENT)], True),
    "citations objects": ([G1()], [answering(citations=[{"id": "p1#2"}])], False),
    "no gold citations, none cited": ([G1() | {"gold_citations": []}], [answering(citations=[])], True),
    "no gold citations, one cited": ([G1() | {"gold_citations": []}], [T1()], True),
    "retrieved null": ([G1()], [T1() | {"retrieved_ids": None}], True),
    "retrieved absent": ([G1()], [present(**(T1() | {"retrieved_ids": ABSENT}))], True),
    "retrieved a string": ([G1()], [T1() | {"retrieved_ids": "p1#2"}], True),
    "unanswerable with gold citations": (
        [G2() | {"gold_citations": ["p1#2"]}], [answering() | {"qid": "A0002"}], True,
    ),
    **{
        f"answerable {value!r}, {claim!r}": (
            [present(**(G1() | {"answerable": value}))], [answering(claim=claim)], True,
        )
        for value in (None, "true", "false", 1, 0)
        for claim in ("X rejects null keys.", "not in context")
    },
    "answerable absent": ([present(**(G1() | {"answerable": ABSENT}))], [T1()], True),
    "gold twice": ([G1(), G3(), G2() | {"qid": "A0001"}], [T1(), T3()], True),
    "trace twice": ([G1()], [T1(), T2() | {"qid": "A0001"}], True),
    "q_id only": ([G1()], [present(**(T1() | {"qid": ABSENT, "q_id": "A0001"}))], True),
    "qid empty, q_id set": ([G1()], [T1() | {"qid": "", "q_id": "A0001"}], True),
    "qid 0, q_id set": ([G1()], [T1() | {"qid": 0, "q_id": "A0001"}], True),
    "gold with q_id only": ([present(**(G1() | {"qid": ABSENT, "q_id": "A0001"}))], [T1()], False),
    "gold 1, trace '1'": ([G1() | {"qid": 1}], [T1() | {"qid": "1"}], True),
    "unknown qid": ([G1()], [T1(), T1() | {"qid": "zz"}], True),
    "empty gold": ([], [T1()], True),
    "everything refused": ([G1(), G2()], [T2(), T2() | {"qid": "A0001"}], True),
    "no unanswerable": ([G1()], [T1()], True),
}  # fmt: skip


@pytest.mark.parametrize("row", SPEC_ROWS)
def test_spec_table(original: Original, row: str) -> None:
    gold, traces, scores = SPEC_ROWS[row]
    assert check(original, lines(gold), lines(traces)) is scores


@pytest.mark.parametrize(
    ("gates", "scores"),
    [
        ("precision=0.80,chr=0.75,under=0.05,over=0.10", True),
        ("precision=0.80,chr=0.75,under=0.05,over=0.10,recall=0.99", True),
        ("precision=0.80, chr=0.75, under=0.05, over=0.10", False),
        ("precision=0.80,chr=0.75,under_refusal=0.05,over_refusal=0.10", False),
        ("precision=0.80,chr=0.75,under=0.05", False),
        ("precision=2", True),  # fails at once, so the names that are missing are never looked up
        ("precision=nan,chr=0.75,under=0.05,over=0.10", True),
    ],
)
def test_gate_texts_of_the_spec(original: Original, gates: str, scores: bool) -> None:
    assert check(original, *EXAMPLE, "--gates", gates) is scores


def test_space_form_is_refused_by_both(original: Original) -> None:
    assert not check(original, *EXAMPLE, "--gates", "precision=0.80", "chr=0.75", "under=0.05", "over=0.10")


def test_mark_and_bad_line_stop_both(original: Original) -> None:
    gold, traces = EXAMPLE
    assert not check(original, b"\xef\xbb\xbf" + gold, traces)
    assert not check(original, gold, traces + b'{"qid": \n')
    assert check(original, b"\n \n" + gold + b"\n\n", b"\n" + traces)


def test_missing_file_stops_both(original: Original) -> None:
    files = ["--gold", str(original.folder / "nowhere.jsonl"), "--trace", str(original.script)]
    assert stdout_of_original(original, files) is None
    done = run_cli("score", "answers", "--profile", "reference", *files)
    assert (done.code, done.out) == (2, "")
    assert "[RW-F01]" in done.err


# whole processes, to show that nothing above depends on running in one


@pytest.mark.parametrize(
    ("gold", "traces", "flags"),
    [
        (*EXAMPLE, []),
        (*HALF_RIGHT, ["--k", "1", "--gates", "precision=0.5,chr=0.5,under=1,over=1,é=x"]),
        (EXAMPLE[0], b"", ["--k", "-1"]),
        (b"", b"", []),
        (lines([G1()]), lines([answering(claim=3)]), []),
        (*EXAMPLE, ["--gates", "precision=0.80, chr=0.75"]),
    ],
    ids=["example", "gates", "no traces", "empty", "crash in data", "crash in gates"],
)
def test_whole_processes(
    original: Original,
    tmp_path: Path,
    gold: bytes,
    traces: bytes,
    flags: list[str],
) -> None:
    (tmp_path / "gold.jsonl").write_bytes(gold)
    (tmp_path / "trace.jsonl").write_bytes(traces)
    files = ["--gold", "gold.jsonl", "--trace", "trace.jsonl", *flags]
    theirs = subprocess.run(
        [sys.executable, str(original.script), *files], cwd=tmp_path, capture_output=True, check=False
    )
    ours = subprocess.run(
        [sys.executable, "-m", "ragworthy", "score", "answers", "--profile", "reference", *files],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if theirs.returncode:
        assert (ours.returncode, ours.stdout) == (2, b"")
        assert b"[RW-" in ours.stderr
        assert b"Traceback" not in ours.stderr
    else:
        assert ours.stdout == theirs.stdout
        assert ours.returncode == (0 if json.loads(theirs.stdout)["pass"] else 1)
