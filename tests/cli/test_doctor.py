"""`doctor`: what files can and cannot show, and the line that turns free-text refusals into refusals."""

import contextlib
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from ragworthy.cli.main import main

Row = dict[str, Any]
SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ragworthy(*args: object) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(arg) for arg in args])
    assert err.getvalue() == ""
    return code, out.getvalue()


def lay(claims: list[str], *, answerable: bool, pieces: tuple[str, ...] = ("gold text",)) -> None:
    """One question for each claim."""
    gold, traces = [], []
    for i, claim in enumerate(claims):
        evidence = ["d#1"] if answerable else []
        item = {"qid": f"q{i}", "question": f"number {i}", "answerable": answerable}
        gold.append(item | {"gold_claim_substr": list(pieces) if answerable else [], "gold_citations": evidence})
        traces.append({"qid": f"q{i}", "retrieved_ids": ["d#1"], "answer_json": {"claim": claim, "citations": []}})
    for name, rows in (("gold.jsonl", gold), ("traces.jsonl", traces)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("ragworthy.toml").write_text(SUITE)


def doctor() -> list[str]:
    code, out = ragworthy("doctor")
    assert code == 0
    return out.splitlines()


def section(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next blank one."""
    start = lines.index(title) + 1
    end = lines.index("", start) if "" in lines[start:] else len(lines)
    return lines[start:end]


def test_the_bundled_example_can_show_everything() -> None:
    ragworthy("demo", "--recorded", "-q", "--out", ".")
    code, out = ragworthy("doctor", "-c", "candidate.toml")
    lines = out.splitlines()
    assert code == 0
    assert lines[:2] == [
        "72 questions: 48 answerable, 24 not",
        "72 traces: 46 answered, 26 refused, 0 missing, 0 replaced, 0 of no question",
    ]
    measured = section(lines, "What can be measured")
    assert [line for line in measured if not line.startswith("  yes  answers.")] == []
    assert "  yes  answers.under_refusal: 0.0417 over 24 cases, true rate 1 % … 20 %" in measured
    assert section(lines, "What the gates can show") == [
        "  yes  answers.precision ≥ 0.80: 46 cases (worth 42, as some share a document) show it; "
        "so would 52 % of such sets (at 91 %: one bad case added)",
        "  yes  answers.chr ≥ 0.75: 46 cases (worth 42, as some share a document) show it; "
        "so would 87 % of such sets (at 94 %: one bad case added)",
        "  no   answers.under_refusal ≤ 0.05: 24 cases cannot show it: that takes at least 73 without a bad one",
        "  no   answers.over_refusal ≤ 0.10: 48 cases have a 2 % chance to show it, about 2,100 would have 80 % "
        "(at 8.2 %: one bad case added)",
    ]
    assert "refusals = [" not in out


def test_what_cannot_be_measured_is_said_with_the_reason() -> None:
    lay(["not in context"] * 3, answerable=True)
    measured = section(doctor(), "What can be measured")
    assert {
        "  no   answers.precision: nothing was shipped",
        "  no   answers.chr: nothing was shipped",
        "  no   answers.under_refusal: no unanswerable question",
        "  no   answers.chr_ceiling@5: nothing was shipped",
        "  yes  answers.over_refusal: 1.0 over 3 cases, true rate 44 % … 100 %",
        "  yes  answers.missing: 0",
    } <= set(measured)
    for metric in ("answers.scu", "answers.support"):  # constraints are not checked, and there are no chunk texts
        assert any(line.startswith(f"  no   {metric}") for line in measured)


FREE = [
    "I could not find this in the documentation.",
    'The context does not mention "it" \\ at all.',
    "No information\U000e0001 is available.\x1b[0m",
    "無法回答這個問題",
]


def proposed(lines: list[str]) -> str:
    """The ready line that the doctor prints for the policy."""
    [line] = [line.strip() for line in lines if line.strip().startswith("refusals = [")]
    return line


def test_free_text_refusals_are_listed_with_a_line_that_makes_them_refusals() -> None:
    claims = [claim for n, claim in enumerate(FREE, start=3) for _ in range(n)]
    lay([*claims, "not in context"], answerable=False)
    assert refused() == 1
    lines = doctor()
    listed = section(lines, "Claims that recur and look like refusals, but count as answers")
    assert listed[0] == "       6 ×  無法回答這個問題"
    assert "       3 ×  I could not find this in the documentation." in listed
    assert not any("\x1b" in line for line in lines)
    line = proposed(lines)
    assert set(tomllib.loads(line)["refusals"]) == {"not in context", *FREE}
    Path("ragworthy.toml").write_text(SUITE + line + "\n")
    assert refused() == len(claims) + 1
    assert not any("refusals = [" in line for line in doctor())


def refused() -> int:
    count: int = json.loads(ragworthy("gate", "--format", "json")[1])["suites"]["answers"]["counts"]["refused"]
    return count


def test_spellings_of_one_refusal_are_one() -> None:
    lay(["No answer.", "no answer.", " No answer. ", "NO ANSWER."], answerable=False)
    lines = doctor()
    assert section(lines, "Claims that recur and look like refusals, but count as answers")[0] == (
        "       4 ×  No answer."
    )
    assert tomllib.loads(proposed(lines))["refusals"] == ["not in context", "No answer."]


def test_what_does_not_recur_is_not_listed() -> None:
    lay(["I cannot answer.", "I cannot answer.", "Unclear."], answerable=False)
    assert not any("refusals = [" in line for line in doctor())


def test_other_recurring_claims_are_shown_but_not_proposed() -> None:
    lay(["See the handbook."] * 3 + ["the gold text"], answerable=True)
    lines = doctor()
    title = "Other claims that recur over several questions (is one of them a refusal?)"
    assert section(lines, title) == ["       3 ×  See the handbook."]
    assert not any("refusals = [" in line for line in lines)


def test_gold_items_that_cannot_be_scored_and_how_many_the_key_would_rescue() -> None:
    lay(["It was 1990."] * 2, answerable=True, pieces=("1990",))
    Path("ragworthy.toml").write_text(SUITE + 'short_substr = "reject"\n')
    title = "Gold items that cannot be scored as they are ('ragworthy gold lint' names them)"
    assert section(doctor(), title) == [
        "  RW-G07: 2 items",
        '  add to [answers]: short_substr = "word"   # makes 2 of them scorable',
    ]
    Path("ragworthy.toml").write_text(SUITE + 'short_substr = "word"\n')
    assert title not in doctor()


def test_it_takes_files_instead_of_a_policy() -> None:
    lay(["the gold text"], answerable=True)
    Path("ragworthy.toml").unlink()
    code, out = ragworthy("doctor", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert (code, out.splitlines()[0]) == (0, "1 question: 1 answerable, 0 not")


def test_a_file_without_a_flag_says_which_flags_there_are() -> None:
    done = run_cli("doctor", "gold.jsonl")
    message = "gold.jsonl: expected --gold or --trace before it, to say what the file is [RW-U01]"
    assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", message)
