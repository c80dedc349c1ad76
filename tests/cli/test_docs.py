"""The documentation says what the program does: nothing missing, nothing invented, every example runs."""

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import ragworthy
from joined_commands import carried_out
from places import ROOT
from ragworthy import starter
from ragworthy.cli.arguments import parser
from ragworthy.cli.main import main
from ragworthy.codes import CATALOGUE
from ragworthy.load.map import read_map
from ragworthy.load.packs import load_pack
from ragworthy.load.payload import with_ids
from ragworthy.metrics.facts.jitters import JITTERS, apply
from ragworthy.metrics.registry import all_metrics, find
from ragworthy.names import Exit, Label, Outcome, Stage, Verdict
from ragworthy.pipeline.extract import WEIGHTS
from ragworthy.pipeline.knobs import Knobs
from ragworthy.policy.read import parse_policy
from ragworthy.policy.sections import every_key
from ragworthy.records import (
    Chunk,
    Gold,
    Mark,
    Pair,
    Rating,
    RetrievalGold,
    RetrievalTrace,
    Run,
    StructuredGold,
    StructuredOutput,
    Trace,
)
from ragworthy.stats import wilson
from ragworthy.suites import SUITES
from ragworthy.suites.agreement.rules import AGREEMENT_GATES
from ragworthy.suites.answers.rules import DEFAULT_GATES
from ragworthy.suites.latency.rules import LATENCY_GATES
from ragworthy.suites.retrieval.rules import LIVE_GATE, RETRIEVAL_GATES
from walked_pages import ELSEWHERE

KEYS = every_key(SUITES)
REGRESSION = [gate for suite in SUITES.values() for gate in suite.regression]

DOCS = ROOT / "docs"
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *DOCS.rglob("*.md"),
        *(ROOT / "design").glob("*.md"),
    ]
)
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
ALL = "\n".join(TEXTS.values())
GENERATED = {f"docs/{page}.md" for page in ("cli", "codes", "glossary", "metrics", "packs", "policy-keys", "sources")}
BASH = shutil.which("bash") or ""


class Block(NamedTuple):
    """A fenced block: the page, its line, the language, the comment above it, the text."""

    page: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(language: str) -> list[Block]:
    """The blocks of a language. Those that show a file of an example are not among them: they are run in its folder."""
    found = []
    for page, text in TEXTS.items():
        for match in re.finditer(r"^(?:<!-- ((?:run|file): .*?) -->\n)?```(\w+)\n(.*?)^```$", text, re.M | re.S):
            if match[2] == language and not (match[1] or "").startswith("file: "):
                found.append(Block(page, text.count("\n", 0, match.start()) + 1, match[2], match[1] or "", match[3]))
    return found


# generated pages


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, encoding="utf-8", timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_page_is_named_and_left_alone(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(DOCS, copy / "docs")
    shutil.copytree(ROOT / "schemas", copy / "schemas")
    (copy / "docs/codes.md").write_text("old\n", encoding="utf-8")
    (copy / "schemas/lock.json").unlink()
    command = [sys.executable, str(copy / "docs/generate.py")]
    checked = subprocess.run([*command, "--check"], capture_output=True, encoding="utf-8", timeout=120)
    assert checked.returncode == 1
    assert checked.stdout == "stale: docs/codes.md\nstale: schemas/lock.json\nrun: make docs\n"
    assert (copy / "docs/codes.md").read_text(encoding="utf-8") == "old\n"
    written = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert (written.returncode, written.stdout) == (0, "wrote docs/codes.md\nwrote schemas/lock.json\n")
    assert (copy / "docs/codes.md").read_text(encoding="utf-8") == TEXTS["docs/codes.md"]


def test_schemas_are_those_of_the_code_and_no_others() -> None:
    listed = re.findall(r"`ragworthy explain schema NAME` prints one:\n((?:`[\w.]+`,?\s?)+)", TEXTS["docs/formats.md"])
    assert {path.stem for path in (ROOT / "schemas").glob("*.json")} == set(re.findall(r"`([\w.]+)`", listed[0]))
    for path in (ROOT / "schemas").glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["$id"] == f"ragworthy.{path.stem}/1"


def test_picture_shows_the_verdict_as_text() -> None:
    picture = (DOCS / "picture.svg").read_text(encoding="utf-8")
    assert ">NO-SHIP</text>" in picture
    assert ">SHIP</text>" in picture and ">OUT_OF_SCOPE</text>" in picture
    assert "prefers-color-scheme: dark" in picture
    assert "docs/picture.svg" in TEXTS["README.md"]


# nothing missing, nothing invented


def test_every_metric_is_documented_and_no_other() -> None:
    headings = re.findall(r"^## (\w+\.\w+)(@k)?$", TEXTS["docs/metrics.md"], re.M)
    assert [(one.id, "@k" if one.at_k else "") for one in all_metrics().values()] == headings
    assert not re.search(r"\.py:\d", TEXTS["docs/metrics.md"])


@pytest.mark.parametrize("suite", SUITES)
def test_metrics_named_anywhere_exist(suite: str) -> None:
    files = {f"{suite}.{suffix}" for suffix in ("jsonl", "json", "py", "lock", "md")}
    parts = ("inputs", "settings", "counts", "metrics", "slices", "labels", "offenders", "warnings", "live")
    more = ("waterfall", "clusters", "can_show", "compared", "rows", "provenance")
    keys = {f"{suite}.{key}" for key in (*KEYS[suite], *parts, *more)}
    shown = {
        "answers.in_scope",  # the metric of one's own that pages show how to write
        "answers.label",  # the gate that must_pass of a marker of pytest makes
    }
    for name in sorted(set(re.findall(rf"\b{suite}\.\w+(?:@\w+)?", ALL)) - files - keys - shown):
        known = find(name, default_k=5) or find(f"{name}@k", default_k=5)
        assert known is not None, name


def test_every_code_is_documented_and_no_other() -> None:
    assert re.findall(r"^\| (RW-\w\d{2,3}) \|", TEXTS["docs/codes.md"], re.M) == list(CATALOGUE)
    assert set(re.findall(r"RW-[A-Z]\d{2,3}", ALL)) <= set(CATALOGUE)


def test_every_policy_key_is_documented_and_no_other() -> None:
    parts = re.split(r"^## .*$", TEXTS["docs/policy-keys.md"], flags=re.M)[1:]
    assert [re.findall(r"^\| `(\w+)` \|", part, re.M) for part in parts] == [list(keys) for keys in KEYS.values()]
    guide = TEXTS["docs/policy.md"]
    for section, keys in KEYS.items():
        for key in keys:
            assert re.search(rf"`{key}`|^{key} = |\[{key}\]", guide, re.M), f"{section}.{key} is not in policy.md"


def leaves(one: argparse.ArgumentParser, name: str = "ragworthy") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    groups = [action for action in one._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield name, one
    for group in groups:
        for word, child in group.choices.items():
            yield from leaves(child, f"{name} {word}")


COMMANDS = dict(leaves(parser()))


def test_every_command_is_documented_and_no_other() -> None:
    assert re.findall(r"^## (ragworthy .+)$", TEXTS["docs/cli.md"], re.M) == list(COMMANDS)
    told = "\n".join(text for page, text in TEXTS.items() if page not in GENERATED)
    for name in COMMANDS:
        assert name in told or name.removeprefix("ragworthy ") in told, f"{name} is on no page that a person wrote"


def test_every_flag_is_documented() -> None:
    for name, command in COMMANDS.items():
        section = TEXTS["docs/cli.md"].split(f"## {name}\n")[1].split("\n## ")[0]
        for action in command._actions:
            for flag in action.option_strings if action.help != argparse.SUPPRESS else ():
                assert re.search(rf"(?<![\w-]){flag}(?![\w-])", section), f"{name} {flag}"


def test_commands_and_flags_named_anywhere_exist() -> None:
    flags = {flag for command in COMMANDS.values() for action in command._actions for flag in action.option_strings}
    for page, text in TEXTS.items():
        for first, second in re.findall(r"(?:`|^\$ )ragworthy ([a-z]+)(?: ([a-z]+))?", text, re.M):
            if first == "scroe":  # a slip, to show how it is answered
                continue
            under = [name for name in COMMANDS if name.startswith(f"ragworthy {first}")]
            assert under, f"{page}: ragworthy {first}"
            if second and any(name.count(" ") == 2 for name in under):
                assert f"ragworthy {first} {second}" in under, f"{page}: ragworthy {first} {second}"
        for flag in re.findall(r"`(--[a-z][\w-]*)", text):
            assert flag in flags | {"--check", "--ragworthy-policy", "--strict-markers"}, (
                f"{page}: {flag}"
            )  # the last two: pytest


def test_every_exit_code_is_documented_and_no_other() -> None:
    table = TEXTS["docs/verdicts.md"].split("## Exit codes")[1].split("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)] == [int(code) for code in Exit]
    table = TEXTS["README.md"].split("## Verdicts and exit codes")[1].split("\n## ")[0]
    assert [int(code) for code in re.findall(r"\| (\d+) \|$", table, re.M)] == [int(code) for code in Exit]


@pytest.mark.parametrize("words", [Verdict, Outcome, Label, Stage], ids=lambda words: str(words.__name__))
def test_every_word_of_the_contract_is_documented(words: type[Verdict | Outcome | Label | Stage]) -> None:
    told = "\n".join(TEXTS[page] for page in ("docs/verdicts.md", "docs/formats.md", "docs/reports.md"))
    for word in words:
        assert re.search(rf"(?<![\w-]){word.value}(?![\w-])", told), word


def test_every_public_name_is_documented() -> None:
    for name in ragworthy.__all__:
        assert f"`{name}`" in TEXTS["docs/python.md"], name


def test_default_gates_are_those_of_the_page() -> None:
    told = TEXTS["docs/policy.md"].split("the default gates hold:")[1].split("\n\n")[0]
    assert re.findall(r"[≥≤] (0\.\d+)", told) == [gate.threshold for gate in DEFAULT_GATES]
    told = TEXTS["docs/policy.md"].split("the gates of the canary hold:")[1].split("\n\n")[0]
    assert re.findall(r"[≥≤] (\d(?:\.\d+)?)", told) == [gate.threshold for gate in (*RETRIEVAL_GATES, LIVE_GATE)]
    for suite, gates in (("latency", LATENCY_GATES), ("agreement", AGREEMENT_GATES)):
        told = TEXTS["docs/policy.md"].split(f"the gates of {suite} hold:")[1].split("\n\n")[0]
        assert re.findall(r"[≥≤] (\d+(?:\.\d+)?)", told) == [gate.threshold for gate in gates]


def test_rules_of_regression_are_those_of_the_page() -> None:
    part = TEXTS["docs/trend.md"].split("### All at once")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", part, re.M))
    suites = dict.fromkeys(
        gate.suite or gate.metric.partition(".")[0].replace("cost", "latency") for gate in REGRESSION
    )
    assert list(rows) == list(suites)
    limits = {"0.15": "15 %", "0.30": "30 %"}
    for gate in REGRESSION:
        told = rows[gate.suite or gate.metric.partition(".")[0].replace("cost", "latency")]
        limit = "no proven drop" if gate.guard else limits.get(gate.threshold, gate.threshold)
        assert gate.threshold == "0.03" or limit in told, gate


def test_knobs_and_features_of_the_pipeline_are_those_of_the_page() -> None:
    page = TEXTS["docs/pipeline.md"]
    cells = re.findall(r"^\| (`.+?) \|", page.split("## Knobs")[1].split("\n## ")[0], re.M)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == list(Knobs._fields)
    features = re.findall(r"^\| `(\w+)` \| (0\.\d) \|", page, re.M)
    assert {name: float(weight) for name, weight in features} == WEIGHTS


def test_jitters_are_those_of_the_page() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", TEXTS["docs/stability.md"].split("| Jitter |")[1], re.M))
    asked = "Explain A ,B with citations in one sentence"
    for name in JITTERS:
        assert rows[name] == ("the same" if name == "none" else apply(name, asked))


def test_numbers_of_questions_needed() -> None:
    rows = re.findall(r"^\| ([≥≤]) (0\.\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", TEXTS["docs/verdicts.md"], re.M)
    assert len(rows) == 9
    for sign, limit, *counts in rows:
        for bad, count in zip((0, 1, 2, 5), map(int, counts), strict=True):
            for cases, enough in ((count, True), (count - 1, False)):
                interval = wilson(cases - bad if sign == "≥" else bad, cases)
                assert interval is not None
                shown = interval.low >= float(limit) if sign == "≥" else interval.high <= float(limit)
                assert shown is enough, (sign, limit, bad, cases)


# links


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_relative_links_resolve(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


def test_the_readme_is_one_page_and_leads_to_the_list_of_all_pages() -> None:
    assert "docs/index.md" in re.findall(r"\]\(([^)#]+)", TEXTS["README.md"])
    assert len(TEXTS["README.md"].splitlines()) <= 150


# examples


UNRUN = ("CONTRIBUTING.md", "design/plugins.md", "docs/spark.md")
"""Pages whose Python is tried elsewhere: a metric that would stay registered, a package of its own, a cluster."""


@pytest.mark.parametrize("block", [one for one in blocks("python") if one.page not in UNRUN], ids=str)
def test_python_example(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starter.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, str(block), "exec"), {"__name__": "example"})


FILES = {"structured": ("questions", "outputs"), "stability": ("gold", "runs"), "latency": ("gold", "runs")}
"""What suites call their two files, where it is not gold and traces."""


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_policy_example(block: Block, tmp_path: Path) -> None:
    """Every policy is valid once the suites that it names have their files; one that names none is of answers.

    What has a table `reply` is a map, or the end of one; what has `rule` is a rule pack.
    """
    table = tomllib.loads(block.text, parse_float=Decimal)
    if "reply" in table:
        request = "" if "request" in table else '[request]\nbody = { q = "{q}" }\n'
        assert read_map(request + block.text, str(block)).reply.paths["claim"]
        return
    if "rule" in table:
        path = tmp_path / "pack.toml"
        path.write_text(block.text, encoding="utf-8")
        assert len(load_pack(path.name, path).rules) == len(table["rule"])
        return
    table.setdefault("version", 1)
    named = {str(gate.get("suite") or gate["metric"]).partition(".")[0] for gate in table.get("gate", [])}
    for suite in [one for one in SUITES if one in table or one in named] or ["answers"]:
        section = table.setdefault(suite, {})
        if suite == "agreement" and {"pairs", "operators"} & section.keys():
            continue
        gold, traces = FILES.get(suite, ("gold", "traces"))
        section.setdefault(gold, f"gold/{suite}.jsonl")
        section.setdefault(traces, f"runs/latest/{suite}.jsonl")
    policy = parse_policy(table, SUITES, str(block), None, None)
    assert policy.gates


Record = Chunk | Gold | Trace | RetrievalGold | RetrievalTrace | StructuredGold | StructuredOutput
Named = Run | Pair | Rating | Mark
KINDS: dict[str, type[Record | Named]] = {
    "e2e_ms": Run,
    "scholar": Pair,
    "rater": Rating,
    "operator": Mark,
    "expected": StructuredGold,
    "raw": StructuredOutput,
    "chunk_id": Chunk,
    "relevant": RetrievalGold,
    "topk": RetrievalTrace,
    "answer_json": Trace,
    "answerable": Gold,
    "gold_source": RetrievalGold,
}
"""The record that a line is, by the first of these fields that it has."""
FREE = {"ts"}
"""Fields that the pages show and that are not read."""


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_record_example(block: Block) -> None:
    for line in block.text.splitlines():
        fields: dict[str, Any] = json.loads(line)
        kind = next(kind for field, kind in KINDS.items() if field in fields)
        record = msgspec.convert(with_ids(fields) if kind is RetrievalTrace else fields, kind)
        if isinstance(record, (StructuredGold, StructuredOutput, Run, Pair, Rating, Mark)):
            assert record.name
        else:
            assert record.chunk_id if isinstance(record, Chunk) else record.qid
        assert not set(fields) - {one.encode_name for one in msgspec.structs.fields(kind)} - FREE


class Step(NamedTuple):
    """A command of a console block, with the lines that it is said to print."""

    command: str
    expected: list[str]


def steps(block: Block) -> list[Step]:
    found: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        else:
            found[-1].expected.append(line)
    return found


def shown_in(expected: list[str], printed: str) -> bool:
    """Whether just these lines were printed; `…` stands for any number of lines. No lines at all promise nothing."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in expected)
    return not expected or re.fullmatch(pattern, printed) is not None


KEEPS = ("docs/history.md", "docs/trend.md", "docs/view.md")
"""Pages on which gates keep their runs; what others show would have a line on that each time."""
CONSOLE = [page for page in TEXTS if page not in ELSEWHERE and any(block.page == page for block in blocks("console"))]


ALONE = re.compile(r"\b(?:view|run|experiment|mirror|monitor)\b|plugin|--jobs|python:")
"""Commands with a process of their own: signals, servers, processes, and code of somebody that stays imported."""


def called(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The same entry, with the folder and the environment that the command would have."""
    told = io.StringIO()
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            try:
                code = main(shlex.split(command)[1:])
            except SystemExit as stop:
                code = int(stop.code or 0)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return code, told.getvalue()


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(not BASH, reason="needs bash")
@pytest.mark.parametrize("page", CONSOLE)
def test_console_examples(page: str, tmp_path: Path) -> None:
    """The marked blocks of a page, in order: `run: [in empty|starter,] exit N`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    environment |= {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONUTF8": "1",
        "LC_ALL": "C",
    }
    if page in KEEPS:
        del environment["RAGWORTHY_STORE"]
    folder = tmp_path
    for number, block in enumerate(one for one in blocks("console") if one.page == page):
        mark = re.fullmatch(r"run: (?:in (empty|starter), )?exit (\d+)", block.mark)
        assert mark is not None, f"{block} is not marked as runnable"
        if mark[1]:
            folder = tmp_path / str(number)
            folder.mkdir()
            if mark[1] == "starter":
                starter.init(folder)
        todo = steps(block)
        for nth, step in enumerate(todo):
            expected = int(mark[2]) if nth == len(todo) - 1 else 0
            here, shell = (partial(one, folder=folder, environment=environment) for one in (called, in_shell))
            code, out = carried_out(step.command, shell if ALONE.search(step.command) else here, shell)
            assert code == expected, f"{block}: {step.command}\n{out}"
            assert shown_in(step.expected, out), f"{block}: {step.command}\n{out}"


def test_the_example_metric_of_the_guide_works() -> None:
    """The function of CONTRIBUTING.md, without registering it."""
    from ragworthy.metrics.facts import answers as facts

    (block,) = re.findall(r"^   ```python\n(.*?)^   ```$", TEXTS["CONTRIBUTING.md"], re.M | re.S)
    code = re.sub(r"@metric\(.*?\n\)\n", "", re.sub(r"^   ", "", block, flags=re.M), flags=re.S)
    made: dict[str, object] = {}
    exec(compile(code, "CONTRIBUTING.md", "exec"), made)
    function = made["in_scope"]
    assert callable(function)
    assert function(facts.unpack(facts.PRESENT | facts.IN_SCOPE, (5,))) is True
    assert function(facts.unpack(0, (5,))) is None


def test_lines_are_short_enough_to_review() -> None:
    for page, text in TEXTS.items():
        if page in GENERATED:
            continue
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        long = [line for line in outside.splitlines() if len(line) > 120 and not line.startswith("|")]
        assert long == [], page
