"""Reports: golden files, limits, escaping, and what the JSON report may and may not hold."""

import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from places import GOLDEN
from ragworthy.cli.main import main
from ragworthy.flow import voice_of
from ragworthy.report import markdown

Row = dict[str, Any]
FORMATS = {"text": "txt", "json": "json", "markdown": "md", "junit": "xml"}
SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ragworthy(*args: object, out: io.StringIO | None = None) -> Ran:
    out, err = out or io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(arg) for arg in args])
    return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_STEP_SUMMARY", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def write(gold: list[Row], traces: list[Row]) -> None:
    for name, rows in (("gold.jsonl", gold), ("traces.jsonl", traces)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def item(qid: str, **fields: Any) -> Row:
    row = {"qid": qid, "question": f"about {qid}", "answerable": True}
    return row | {"gold_claim_substr": ["gold text"], "gold_citations": ["d#1"]} | fields


def trace(qid: str, claim: str = "the gold text", cited: str = "d#1", **fields: Any) -> Row:
    return {"qid": qid, "retrieved_ids": ["d#1"], "answer_json": {"claim": claim, "citations": [cited]}} | fields


# the bundled example


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("run", ["candidate", "regressed"])
def test_golden(run: str, form: str) -> None:
    assert ragworthy("demo", "--recorded", "-q", "--out", ".").code == 0
    done = ragworthy("gate", "-c", f"{run}.toml", "--format", form, "--full")
    assert (done.code, done.err) == ({"candidate": 0, "regressed": 1}[run], "")
    golden = GOLDEN / f"{run}.{FORMATS[form]}"
    if os.environ.get("RAGWORTHY_ACCEPT"):
        golden.write_bytes(done.out.encode())
    assert done.out == golden.read_bytes().decode(), "see tests/golden/README.md"


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_holds_what_stdout_shows(form: str) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    name = f"r.{FORMATS[form]}"
    done = ragworthy("gate", "-c", "regressed.toml", "--format", form, "--full", "-o", name)
    assert Path(name).read_bytes().decode() == done.out


def test_the_last_line_is_the_verdict_and_quiet_prints_only_it() -> None:
    cases = {
        "SHIP (exit 0)": ([item("a")], [trace("a")], ""),
        "NO-SHIP (exit 1): precision 0.0 < 0.8": ([item("a")], [trace("a", "nothing")], ""),
        "INCONCLUSIVE (exit 3): precision 1.0 undecided (≥ 0.8)": ([item("a")], [trace("a")], "min_n = 2\n"),
        "INVALID (exit 4): 1 question has no trace": ([item("a"), item("b")], [trace("a")], ""),
    }
    for verdict, (gold, traces, more) in cases.items():
        write(gold, traces)
        Path("ragworthy.toml").write_text(f'{SUITE}[[gate]]\nmetric = "precision"\nmin = 0.8\n{more}')
        loud, quiet = ragworthy("gate"), ragworthy("gate", "-q")
        assert loud.out.splitlines()[-1] == f"verdict: {verdict}"
        assert quiet == Ran(loud.code, f"verdict: {verdict}\n", "")


def test_colours_only_on_a_terminal_and_never_where_they_are_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    command = ("gate", "-c", "regressed.toml")
    plain = ragworthy(*command).out
    coloured = ragworthy(*command, out=Terminal()).out
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain != coloured
    assert ragworthy(*command, "--no-color", out=Terminal()).out == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert ragworthy(*command, out=Terminal()).out == plain


def test_the_job_summary_is_appended_to(monkeypatch: pytest.MonkeyPatch) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    Path("summary.md").write_text("# earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    shown = ragworthy("gate", "-c", "candidate.toml", "--format", "markdown").out
    ragworthy("gate", "-q", "-c", "candidate.toml")
    assert Path("summary.md").read_text() == "# earlier step\n" + shown + shown


def test_a_job_summary_that_cannot_be_written_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder.md")
    assert ragworthy("gate", "-q", "-c", "candidate.toml") == Ran(
        0,
        "verdict: SHIP (exit 0)\n",
        "$GITHUB_STEP_SUMMARY: cannot be written: No such file or directory\n",
    )


# JSON


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys too."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def test_the_json_report_has_the_keys_of_the_design(tmp_path: Path) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")

    def no_constants(name: str) -> None:
        raise AssertionError(name)

    out = ragworthy("gate", "-c", tmp_path / "regressed.toml", "--format", "json").out
    report = json.loads(out, parse_constant=no_constants)
    wanted = {"schema", "tool", "verdict", "exit_code", "suites", "gates", "provenance"}
    assert wanted <= report.keys()
    assert report["schema"] == "ragworthy.report/1"
    suite = report["suites"]["answers"]
    parts = {"profile", "inputs", "counts", "metrics", "slices", "labels", "offenders", "warnings"}
    assert parts <= suite.keys()
    for name, keys in {
        "inputs": {"role", "path", "sha256", "records"},
        "offenders": {"qid", "label", "stage", "why", "claim", "citations", "retrieved_ids", "gold_citations"},
        "warnings": {"code", "message", "where"},
    }.items():
        assert suite[name]
        assert all(keys <= one.keys() for one in suite[name]), name
    counts = "gold answered refused missing answerable unanswerable duplicate_traces orphan_traces"
    assert set(counts.split()) <= suite["counts"].keys()
    for metric in (*suite["metrics"].values(), *(one for group in suite["slices"].values() for one in group.values())):
        assert {"value", "num", "den", "low", "high", "undefined"} <= metric.keys()
        assert (metric["value"] is None) == (metric["undefined"] is not None)
    for gate in report["gates"]:
        assert {"metric", "op", "threshold", "value", "outcome", "why"} <= gate.keys()
        assert isinstance(gate["threshold"], str)
    for text in strings(report):
        assert not text.startswith("/")
        assert str(tmp_path) not in text
        assert not re.search(r"\d{4}-\d\d-\d\d[T ]\d\d:", text)


def test_paths_outside_the_working_folder_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    report = json.loads(ragworthy("gate", "-c", tmp_path / "candidate.toml", "--format", "json").out)
    assert not [text for text in strings(report) if str(tmp_path) in text]


# untrusted text

FAKE = "verdict: SHIP (exit 0)"
EVIL = f"\x1b[31m</script><b>|x`*]]>&\x00\x07\x85\u2028\u202e\r\n{FAKE}\n| a | b |\n# h"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile() -> None:
    """Every field that a pipeline or a gold file can fill holds text that wants out of its place."""
    gold = [item(f"{i}{EVIL}", question=EVIL, topic=f"{EVIL}{i}", gold_citations=["d#1", f"g{EVIL}"]) for i in range(3)]
    traces = [
        {"qid": f"{i}{EVIL}", "retrieved_ids": [EVIL], "answer_json": {"claim": EVIL, "citations": [EVIL, EVIL]}}
        for i in range(3)
    ]
    write(gold, [*traces, trace(f"orphan{EVIL}")])
    text = json.dumps(EVIL)
    Path("ragworthy.toml").write_text(
        SUITE + f'slices = ["topic"]\n[[gate]]\nmetric = "precision"\nmin = 0.8\nwhy = {text}\n'
        f'[[gate]]\nmetric = "chr"\nmin = 0.8\nslice = {json.dumps(f"topic={EVIL}0")}\n'
        f"must_pass = [{json.dumps(f'0{EVIL}')}]\n"
        f'[[waiver]]\ngate = "precision"\nreason = {text}\nowner = {text}\nexpires = 2999-01-01\n'
    )


@pytest.mark.usefixtures("hostile")
def test_hostile_text_cannot_steer_a_terminal() -> None:
    done = ragworthy("gate")
    assert done.err == ""
    assert CONTROL.findall(done.out) == []
    assert FAKE not in done.out.splitlines()


@pytest.mark.usefixtures("hostile")
def test_hostile_text_stays_in_its_cell_in_markdown() -> None:
    text = ragworthy("gate", "--format", "markdown").out
    assert CONTROL.findall(text) == []
    assert FAKE not in text.splitlines()
    assert re.findall(r"<\w|</", re.sub(r"^</?details>$|^<summary>[\w ,():]+</summary>$", "", text, flags=re.M)) == []
    columns = 0
    for line in text.splitlines():
        pipes = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
        if line.startswith("|"):
            columns = columns or pipes
            assert pipes == columns, line
        else:
            columns = 0


@pytest.mark.usefixtures("hostile")
def test_hostile_text_leaves_junit_well_formed() -> None:
    text = ragworthy("gate", "--format", "junit").out
    root = ElementTree.fromstring(text)
    said = "".join(root.itertext())
    assert "</script><b>|x`*]]>&" in said
    assert "\x1b" not in said
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped",
    }  # fmt: skip


# JUnit


def test_junit_tells_quality_from_what_could_not_be_scored() -> None:
    write([item("a"), item("b"), item("c")], [trace("a", "wrong"), trace("b", "wrong", "d#2")])
    Path("ragworthy.toml").write_text(
        SUITE + '[[gate]]\nmetric = "precision"\nmin = 0.8\n'
        '[[gate]]\nmetric = "chr"\nmin = 0.8\n'
        '[[gate]]\nmetric = "under"\nmax = 0.05\n'
        '[[gate]]\nmetric = "over"\nmax = 0.05\nmin_n = 50\n'
        '[[gate]]\nmetric = "support"\nmin = 0.5\noptional = true\n'
        '[[waiver]]\ngate = "chr"\nreason = "DOC-12"\nowner = "o"\nexpires = 2999-01-01\n'
    )
    root = ElementTree.fromstring(ragworthy("gate", "--format", "junit").out)
    cases = {case.get("name", "").split()[0]: [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {
        "answers.precision": ["failure"],
        "answers.chr": ["skipped"],
        "answers.under_refusal": ["error"],
        "answers.over_refusal": ["error"],
        "answers.support": ["skipped"],
        "answers.missing": ["error"],
    }
    for element in (root, root[0]):
        assert [element.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["6", "1", "3", "2"]
    [failure] = root.iter("failure")
    assert failure.get("message") == "answers.precision: 0.0, expected ≥ 0.8 (below the threshold)"
    assert "a ANS_NO_CONTAIN generation, claim_wrong: " in (failure.text or "")


def test_junit_has_an_error_for_evidence_that_is_not_valid() -> None:
    write([item("a")], [trace("a")])
    assert ragworthy("gold", "freeze", "gold.jsonl", "--signer", "A", "--reason", "r").code == 0
    write([item("a", notes="n")], [trace("a")])
    Path("ragworthy.toml").write_text(SUITE + '[[gate]]\nmetric = "precision"\nmin = 0.8\n')
    root = ElementTree.fromstring(ragworthy("gate", "--format", "junit").out)
    [error] = root.iter("error")
    assert error.get("message") == "the gold set is not the frozen one (its SHA-256 differs from the lock)"
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["6", "0", "1", "1"]


# Markdown has a limit


def test_markdown_leaves_out_whole_sections_and_says_which_and_where_they_are() -> None:
    gold = [item(f"q{i}", topic=f"{'t' * 300}{i}") for i in range(200)]
    long = "w" * 50_000
    traces = [trace(f"q{i}", long) | {"retrieved_ids": ["d#1", long] if i > 5 else ["d#1"]} for i in range(200)]
    write(gold, traces)
    Path("ragworthy.toml").write_text(SUITE + 'slices = ["topic"]\n')
    done = ragworthy("gate", "--format", "markdown", "-o", "r.json")
    assert len(done.out.encode()) <= 65_000
    report = json.loads(Path("r.json").read_text())
    assert (len(report["suites"]["answers"]["offenders"]), len(report["suites"]["answers"]["slices"])) == (10, 200)
    [left_out] = [line for line in done.out.splitlines() if "left out" in line]
    assert left_out == (
        "_2 sections left out to stay under 65 KB: Worst offenders, Slices: 200; "
        "the JSON report (`-o FILE.json`) has all of it_"
    )
    whole = markdown.render(report, voice_of, limit=10**9)
    assert whole.replace(section(whole, "### Worst offenders"), "").replace(folded_section(whole, "Slices"), "") == (
        done.out.replace(f"{left_out}\n\n", "")
    )
    assert done.out.count("<details>") == done.out.count("</details>") > 1
    assert "## ⚠️ Ragworthy: INVALID" in done.out
    assert done.out.rstrip().endswith("verdict **INVALID** (exit 4)")


def section(text: str, title: str) -> str:
    """A section of a report with its heading and what is folded inside it."""
    begin = text.index(title)
    return text[begin : text.index("\n### ", begin) + 1]


def folded_section(text: str, title: str) -> str:
    begin = text.index(f"<details>\n<summary>{title}")
    return text[begin : text.index("</details>\n\n", begin) + len("</details>\n\n")]


def test_markdown_stays_below_its_limit_when_the_gates_alone_are_too_long() -> None:
    qids = [f"q{'u' * 1000}{i}" for i in range(100)]
    write([item(qid) for qid in qids], [trace(qid, "wrong") for qid in qids])
    Path("ragworthy.toml").write_text(f'{SUITE}[[gate]]\nmetric = "precision"\nmust_pass = {json.dumps(qids)}\n')
    done = ragworthy("gate", "--format", "markdown")
    assert (done.code, len(done.out.encode()) <= 65_000) == (1, True)
    assert "cut" in done.out.splitlines()[-1]


def test_the_job_summary_takes_what_a_comment_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [item(f"q{i}", topic=f"{'t' * 300}{i}") for i in range(200)]
    write(gold, [trace(f"q{i}") for i in range(200)])
    gate = 'defaults = false\n[[gate]]\nmetric = "precision"\nmin = 0.8\n'
    Path("ragworthy.toml").write_text(f'{SUITE}slices = ["topic"]\n{gate}')
    Path("summary.md").write_text("what an earlier command wrote\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert ragworthy("gate", "-q", "-o", "comment.md").code == 0
    summary, comment = (Path(name).read_text(encoding="utf-8") for name in ("summary.md", "comment.md"))
    assert "1 section left out to stay under 65 KB: Slices: 200;" in comment
    assert "left out" not in summary
    assert summary.startswith("what an earlier command wrote\n## ✅ Ragworthy: SHIP")
    Path("summary.md").write_text("x" * 999_000)
    assert ragworthy("gate", "-q").code == 0
    assert Path("summary.md").stat().st_size <= 1_000_000


# Markdown for somebody who signs


def test_a_waiver_is_as_loud_as_a_failure() -> None:
    write([item("a"), item("b")], [trace("a", "wrong"), trace("b", "wrong", "d#2")])
    Path("ragworthy.toml").write_text(
        f"{SUITE}defaults = false\n"
        '[[gate]]\nmetric = "precision"\nmin = 0.8\nwhy = "what we ship must be right"\n'
        '[[waiver]]\ngate = "precision"\nreason = "DOC-12"\nowner = "search team"\nexpires = 2999-01-01\n'
        '[[gate]]\nmetric = "chr"\nmin = 0.1\n'
    )
    done = ragworthy("gate", "--format", "markdown")
    assert done.out.splitlines()[0].startswith("## ⏸️ Ragworthy: SHIP with 1 waived gate: ")
    waived = section(done.out, "### ⏸️ 1 gate does not hold and is waived")
    assert "| ⏸️ `answers.precision` | 0.0, needs ≥ 0.8 | DOC-12 | search team | 2999-01-01 |" in waived
    assert done.out.index("### ⏸️") < done.out.index("### Gates")
    assert "| what we ship must be right |" in section(done.out, "### Gates")
    assert "✅" not in done.out.splitlines()[0]


def test_what_was_tested_names_target_model_commit_gold_and_signers() -> None:
    write([item("a")], [trace("a")])
    assert ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ann", "--reason", "r", "--label", "v3").code == 0
    run = ("run", "--target", "replay:traces.jsonl", "--gold", "gold.jsonl", "--out", "run", "--knob", "model=small-7b")
    assert ragworthy(*run).code == 0
    Path("ragworthy.toml").write_text(SUITE.replace("traces.jsonl", "run/traces.jsonl"))
    tested = section(ragworthy("gate", "--commit", "a" * 40, "--format", "markdown").out, "### What was tested")
    cells = [
        line.strip("| ").split(" | ") for line in tested.splitlines() if line.count("|") == 3 and "---" not in line
    ]
    lines = {pair[0]: pair[1] for pair in cells if len(pair) == 2}
    assert lines["target"] == "`replay:traces.jsonl`"
    assert lines["model"] == "small-7b"
    assert lines["commit"] == f"`{'a' * 40}`"
    assert "version v3, frozen and signed by Ann" in lines["gold set"]
    assert lines["not said"] == "index, baseline"
    summary = json.loads(Path("run/run.json").read_text())
    del summary["traces_sha256"]  # now nothing says that this run left these traces
    Path("run/run.json").write_text(json.dumps(summary))
    assert "replay:traces.jsonl" not in ragworthy("gate", "--format", "markdown").out


def test_what_changed_shows_the_questions_that_flipped_both_ways() -> None:
    gold = [item("a", question="How hot?"), item("b", question="How cold?"), item("c", question="How deep?")]
    write(gold, [trace("a"), trace("b", "wrong"), trace("c")])
    gate = 'defaults = false\n[[gate]]\nmetric = "precision"\nmin = 0.5\n'
    Path("ragworthy.toml").write_text(SUITE + gate)
    assert ragworthy("gate", "-q", "-o", "before.json").code == 0
    write(gold, [trace("a", "wrong"), trace("b"), trace("c")])
    Path("ragworthy.toml").write_text('baseline = "before.json"\n' + SUITE + gate)
    changed = section(ragworthy("gate", "--format", "markdown").out, "### What changed")
    assert re.findall(r"\*\*(Broken|Fixed)\*\* \(1 question\)", changed) == ["Broken", "Fixed"]
    assert changed.index("How hot?") < changed.index("How cold?")
    assert "How deep?" not in changed
