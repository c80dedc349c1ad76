"""Hostile text in every id, question, claim, label, configuration, title and path, through every command and format."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from selectolax.lexbor import LexborHTMLParser

from conftest import Done, run_cli
from hostile import EVIL, FAKE, IN_A_NAME, World, lay
from ragworthy.cli.main import main
from ragworthy.flow import voice_of
from ragworthy.report import markdown

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
OURS = re.compile(r"^</?details>$|^<summary>[\w ,():]+</summary>$", re.MULTILINE)
"""The HTML of a report in Markdown."""
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """The same inputs twice: with harmless texts, and with hostile ones."""
    made = {}
    for kind, evil, in_names in (("harmless", "", ""), ("hostile", EVIL, IN_A_NAME)):
        made[kind] = lay(World(tmp_path_factory.mktemp(kind), evil, in_names))
        with contextlib.chdir(made[kind].folder):
            for number in ("", "2"):
                done = run_cli("index", "build", "--docs", f"docs{number}", "--out", made[kind].name(f"index{number}"))
                assert done.code == 0, done.err
    return made


@pytest.fixture
def world(worlds: dict[str, World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of the hostile one to work in."""
    folder = tmp_path / worlds["hostile"].name("w")
    shutil.copytree(worlds["hostile"].folder, folder, symlinks=True)
    monkeypatch.chdir(folder)
    for name in ("GITHUB_STEP_SUMMARY", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return worlds["hostile"]._replace(folder=folder)


def assert_inert(text: str) -> None:
    assert CONTROL.findall(text) == []
    assert COMMAND.findall(text) == []
    assert FAKE not in [line.strip() for line in text.splitlines()]


def scores(world: World) -> dict[str, list[str]]:
    """A score of every suite, in every form."""
    n = world.name
    gold = ["--gold", n("gold", ".jsonl")]
    return {
        "answers": ["score", "answers", *gold, "--trace", n("traces", ".jsonl"), "--corpus", n("chunks", ".jsonl"),
                    "--slice", "topic"],
        "gate": ["gate", "-c", n("policy", ".toml")],
        "retrieval": ["score", "retrieval", "--gold", n("rgold", ".jsonl"), "--trace", n("shadow", ".jsonl"),
                      "--live", n("live", ".jsonl"), "--slice", "topic"],
        "structured": ["score", "structured", "--questions", n("questions", ".jsonl"), "--outputs",
                       n("outputs", ".jsonl"), "--slice", "kind"],
        "stability": ["score", "stability", *gold, "--runs", n("runs", ".jsonl"), "--slice", "topic"],
        "latency": ["score", "latency", *gold, "--runs", n("timed", ".jsonl"), "--slice", "topic"],
        "pairs": ["score", "agreement", "--pairs", n("pairs", ".jsonl")],
        "raters": ["score", "agreement", "--raters", n("raters", ".jsonl")],
        "operators": ["score", "agreement", "--operators", n("operators", ".jsonl"), "--baseline-cost", "0.001"],
    }  # fmt: skip


SCORES = ("answers", "gate", "retrieval", "structured", "stability", "latency", "pairs", "raters", "operators")


def scored(world: World, name: str, *flags: str) -> Done:
    done = run_cli(*scores(world)[name], *flags)
    assert done.code in (0, 1, 3, 4), done.err
    assert done.err == ""
    return done


# reports in every format


@pytest.mark.parametrize("name", SCORES)
def test_hostile_text_steers_no_terminal_in_any_format(world: World, name: str) -> None:
    for form, suffix in (("text", "txt"), ("json", "json"), ("markdown", "md"), ("junit", "xml")):
        done = scored(world, name, "--format", form, "--full", "-o", f"r.{suffix}")
        assert_inert(done.out)
        assert Path(f"r.{suffix}").read_bytes().decode() == done.out
    assert_inert(scored(world, name).out)


WORKFLOW = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:]*,?)+)::(.*)")
"""A workflow command as GitHub's runner reads it: properties end at a comma, and the last one at two colons."""


@pytest.mark.parametrize("name", SCORES)
def test_annotations_of_hostile_text_are_those_of_harmless_text(
    worlds: dict[str, World], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for world in worlds.values():
        monkeypatch.chdir(world.folder)
        *lines, last = scored(world, name, "--format", "github").out.splitlines()
        assert last.startswith("verdict: ")
        parsed = [WORKFLOW.fullmatch(line) for line in lines]
        assert None not in parsed
        properties = [[part.partition("=")[0] for part in one[2].split(",")] for one in parsed if one]
        found.append([(one[1], *names) for one, names in zip(parsed, properties, strict=True) if one])
        assert CONTROL.findall("".join(lines)) == []
        assert "##[" not in "".join(lines)
        issues = json.loads(scored(world, name, "--format", "gitlab").out)
        assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert found[0] == found[1]


def skeleton(tokens: list[Token]) -> list[str]:
    """Every block and every inline thing but plain text and code: headings, links, pictures, HTML, rows, cells."""
    found = []
    for token in tokens:
        if token.type == "inline":
            inside = [one.type for one in token.children or []]
            found += [kind for kind in inside if kind not in ("text", "code_inline")]
        else:
            found.append(f"{token.type} {token.tag}")
    return found


def parsers() -> dict[str, MarkdownIt]:
    made = {"commonmark": MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])}
    if find_spec("linkify_it") is not None:
        made["gfm-like"] = MarkdownIt("gfm-like")
    return made


@pytest.mark.parametrize("name", SCORES)
def test_a_report_in_markdown_has_the_structure_of_one_with_harmless_text(
    worlds: dict[str, World], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {}
    for kind, world in worlds.items():
        monkeypatch.chdir(world.folder)
        report = json.loads(scored(world, name, "--format", "json").out)
        written[kind] = markdown.render(report, voice_of, limit=10**9)
    assert "@ann" in written["hostile"]
    assert "<" not in OURS.sub("", written["hostile"])
    for parser in parsers().values():
        harmless, hostile = (skeleton(parser.parse(written[kind])) for kind in ("harmless", "hostile"))
        assert hostile == harmless
        assert not {"link_open", "image", "html_inline", "s_open"} & set(hostile)


@pytest.mark.parametrize("name", SCORES)
def test_a_page_has_the_kinds_of_elements_of_one_with_harmless_text(
    worlds: dict[str, World], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, scripts = {}, {}
    for kind, world in worlds.items():
        monkeypatch.chdir(world.folder)
        scored(world, name, "-o", "page.html")
        page = Path("page.html").read_text(encoding="utf-8")
        assert CONTROL.findall(page) == []
        tree = LexborHTMLParser(page)
        kinds[kind] = {one.tag for one in tree.css("*")}
        scripts[kind] = len(tree.css("script"))
        assert tree.css("img, iframe, object, [onerror], [onload], a[href^=http]") == []
    assert kinds["hostile"] <= kinds["harmless"] | {"title"}  # of what is cut in a chart the whole is a title
    assert scripts["hostile"] == scripts["harmless"]


@pytest.mark.parametrize("name", SCORES)
def test_a_report_as_junit_has_the_elements_of_one_with_harmless_text(
    worlds: dict[str, World], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = []
    for world in worlds.values():
        monkeypatch.chdir(world.folder)
        root = ElementTree.fromstring(scored(world, name, "--format", "junit").out)
        tags.append([(element.tag, *element.keys()) for element in root.iter()])
    assert tags[0] == tags[1]


def test_an_item_of_structured_answers(worlds: dict[str, World], monkeypatch: pytest.MonkeyPatch) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for question in ("Q1", "Q2", "Q3"):
        found = []
        for world in worlds.values():
            monkeypatch.chdir(world.folder)
            item = ["--item", world.t(question)]
            assert_inert(run_cli(*scores(world)["structured"], *item).out)
            text = run_cli(*scores(world)["structured"], *item, "--format", "markdown").out
            assert_inert(text)
            found.append(skeleton(parser.parse(text)))
        assert found[0] == found[1]


@pytest.mark.parametrize("name", [name for name in SCORES if name != "gate"])
def test_a_question_that_is_shown(worlds: dict[str, World], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for nth in (1, 2) if name == "structured" else (0, 1):
        found = []
        for world in worlds.values():
            monkeypatch.chdir(world.folder)
            beside = Path("chunks.jsonl")  # where texts are looked for when no corpus is given
            beside.exists() or shutil.copy(world.name("chunks", ".jsonl"), beside)
            _, suite, *files = scores(world)[name]
            show = ["show", world.t(f"Q{nth}" if suite == "structured" else f"q{nth}"), "--suite", suite, *files]
            for form in ("text", "json"):
                done = run_cli(*show, "--format", form)
                assert done.code in (0, 1), done.err
                assert_inert(done.out)
            text = run_cli(*show, "--format", "markdown", "--full").out
            assert_inert(text)
            found.append(skeleton(parser.parse(text)))
        assert found[0] == found[1]


def test_the_tables_of_disagreements(world: World) -> None:
    for name, columns in (("pairs", 5), ("raters", 4)):
        scored(world, name, "--tsv", "t.tsv")
        text = Path("t.tsv").read_bytes().decode()
        assert CONTROL.findall(text.replace("\t", "")) == []
        lines = text.removesuffix("\n").split("\n")
        assert {line.count("\t") for line in lines} == {columns - 1}
        assert not any(cell.lstrip().startswith(tuple('=+-@"')) for line in lines for cell in line.split("\t"))


def test_a_picture_of_latencies(world: World) -> None:
    pytest.importorskip("vl_convert")
    scored(world, "latency", "--plot", "l.svg")
    text = Path("l.svg").read_bytes().decode()
    assert CONTROL.findall(text.replace("\n", "")) == []
    tags = {element.tag.partition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert not tags & {"script", "image", "a", "foreignObject"}


# every command


def commands(world: World) -> list[list[str]]:
    """Every command that prints something of the data, in an order that works; and what each of them refuses."""
    n, t = world.name, world.t
    gold, index = n("gold", ".jsonl"), n("index")
    target = ["--target", f"replay:{n('traces', '.jsonl')}", "--gold", gold]
    built_in = ["--target", f"builtin:{index}", "--gold", gold]
    return [
        ["init", n("new")],
        ["demo", "--recorded", "--out", n("demo")],
        ["gate", "-c", n("policy", ".toml"), "--selftest"],
        [*scores(world)["answers"], "--receipt", n("receipt", ".json"), "-o", n("one", ".json")],
        ["verify", n("receipt", ".json")],
        ["show", t("x"), "-c", n("policy", ".toml")],
        ["show", t("q1"), "--run", n("receipt", ".json")],
        ["show", t("q1"), "--run", n("one", ".json"), "--format", "json"],
        [*scores(world)["answers"], "--baseline", n("one", ".json"), "-o", n("two", ".json")],
        ["history", "trend", n("one", ".json"), n("two", ".json")],
        ["history", "trend", n("one", ".json"), n("two", ".json"), "--format", "json"],
        ["history", "trend", n("one", ".json"), n("other", ".jsonl")],
        ["doctor", "--gold", gold, "--trace", n("traces", ".jsonl")],
        ["doctor", "--gold", n("questions", ".jsonl"), "--trace", n("outputs", ".jsonl")],
        ["doctor", "-c", n("policy", ".toml")],
        ["gold", "lint", gold],
        ["gold", "lint", n("doubtful", ".jsonl")],
        ["gold", "lint", n("doubtful", ".jsonl"), "--format", "json"],
        ["gold", "lint", n("doubtful", ".jsonl"), "--format", "sarif"],
        ["gold", "lint", n("rgold", ".jsonl"), "--corpus", index],
        ["gold", "lint", n("questions", ".jsonl")],
        ["gold", "diff", gold, n("other", ".jsonl")],
        ["gold", "diff", gold, n("other", ".jsonl"), "--format", "json"],
        ["gold", "freeze", gold, "--signer", t("ann").replace("\x00", ""), "--reason", t("why").replace("\x00", "")],
        ["gold", "verify", gold, "--signer", t("bob").replace("\x00", "")],
        ["gold", "subset", n("questions", ".jsonl"), "-o", n("subset", ".json"), "--size", "2"],
        ["index", "build", "--docs", "docs", "--out", n("built"), "--dense", "none"],
        ["index", "build", "--docs", "broken", "--out", n("built"), "--dense", "none"],
        ["index", "search", index, "loaf"],
        ["index", "search", index, "loaf", "--format", "json"],
        ["index", "ask", index, "How hot is the loaf?"],
        ["index", "ask", index, "How hot is the loaf?", "--format", "json"],
        ["index", "check", index],
        ["index", "check", index, "--gold", n("rgold", ".jsonl"), "--docs", "docs2"],
        ["index", "diff", index, n("index2"), "--queries", n("queries", ".txt")],
        ["index", "diff", index, n("index2"), "--gold", n("rgold", ".jsonl"), "--queries", n("queries", ".txt")],
        ["index", "migrate", index, n("index2"), "-o", n("table", ".json")],
        ["gold", "rebind", n("rgold", ".jsonl"), "--redirects", n("table", ".json"), "-o", n("rebound", ".jsonl")],
        ["retrieve", "--index", index, "--gold", n("rgold", ".jsonl"), "-o", n("retrieved", ".jsonl")],
        ["run", *target, "--out", n("run"), "--knob", f"a{IN_A_NAME}=1"],
        ["run", *built_in, "--out", n("run2")],
        ["run", "--target", f"cmd:cat {n('none')!r}", "--gold", gold, "--out", n("run3")],
        ["experiment", "stability", *target, "--out", n("stab"), "--seeds", "0", "--jitters", "none,ws"],
        ["experiment", "latency", *target, "--out", n("lat"), "--loads", "200", "--warmup", "0",
         "--knob", f"a{IN_A_NAME}=1"],
        ["experiment", "tune", "--index", index, "--gold", gold, "--out", n("tuned")],
        ["export", "trec", "--gold", n("rgold", ".jsonl"), "--qrels-out", n("q", ".txt")],
        ["import", "trec", "--qrels", n("queries", ".txt"), "--gold-out", n("g", ".jsonl")],
        [*scores(world)["retrieval"][:4], "--trace", n("live", ".jsonl"), "--profile", "reference"],
        ["score", "answers", "--profile", "reference", "--gold", gold, "--trace", n("traces", ".jsonl")],
        ["score", "agreement", "--profile", "reference", "--pairs", n("pairs", ".jsonl")],
        ["explain", t("x")],
        ["explain", "schema", t("x")],
        ["score", "answers", "--gold", n("none"), "--trace", n("none")],
        ["score", "answers", "--gold", gold, "--trace", gold, "-o", n("x")],
        ["score", "answers", "--gold", gold, "--trace", n("traces", ".jsonl"), "--gates", t("precision=1")],
        ["score", "latency", "--gold", gold, "--runs", n("timed", ".jsonl"), "--configuration", t("x")],
        ["score", "structured", "--questions", n("questions", ".jsonl"), "--outputs", n("outputs", ".jsonl"),
         "--item", t("x")],
        ["gate", "-c", n("none")],
        ["verify", gold],
        [t("x")],
        ["score", t("x")],
        ["gate", t("x")],
        ["gate", "--jobs", t("x")],
    ]  # fmt: skip


def test_hostile_text_steers_no_terminal_whatever_the_command(world: World) -> None:
    seen = 0
    for command in commands(world):
        done = run_cli(*command)
        assert done.code != 70, (command, done.err)
        for text in (done.out, done.err):
            assert_inert(text)
        seen += "\\x1b" in done.out + done.err
    assert seen > 40  # hostile text was there to be shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_there_are_colours_and_progress_and_nothing_else(world: World) -> None:
    """What the data holds besides colours would be left when ours are taken away."""
    for command in [*scores(world).values(), *commands(world)]:
        out, err = Terminal(), Terminal()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
            main(command)
        for text in (out.getvalue(), err.getvalue()):
            ours = re.sub(r"\x1b\[(?:[012]|3[0-9]|1;3[0-9])m|\r(?=[a-z])|\x1b\[K|\r\x1b\[K", "", text)
            assert CONTROL.findall(ours) == [], (command, text)


# file names that are not text


def test_names_that_are_not_utf_8_are_shown_and_nothing_breaks(tmp_path: Path, worlds: dict[str, World]) -> None:
    folder = tmp_path / os.fsdecode(b"w\xff")
    shutil.copytree(worlds["harmless"].folder, folder)
    gold, traces = (os.fsdecode(b"%s\xff.jsonl" % name) for name in (b"g", b"t"))
    (folder / "gold.jsonl").rename(folder / gold)
    (folder / "traces.jsonl").rename(folder / traces)
    files = ["--gold", gold, "--trace", traces]
    shown = 0
    for command in (
        ["score", "answers", *files],
        *(["score", "answers", *files, "--format", form] for form in ("json", "markdown", "junit")),
        *(
            ["score", "answers", *files, "-q", "-o", os.fsdecode(b"r\xff.%s" % end)]
            for end in (b"md", b"json", b"xml", b"txt")
        ),
        ["gold", "lint", gold],
        ["gold", "verify", gold],
        ["doctor", *files],
        ["score", "answers", "--gold", os.fsdecode(b"none\xff"), "--trace", traces],
        [os.fsdecode(b"\xff")],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "ragworthy", *command], cwd=folder, capture_output=True, check=False, timeout=60
        )
        said = (ran.stdout + ran.stderr).decode()
        assert ran.returncode in (0, 1, 2, 4), said
        assert CONTROL.findall(said) == []
        shown += "\\udcff" in said
    assert shown >= 6


def test_a_knob_and_a_reply_of_a_target_cannot_steer_a_terminal(world: World) -> None:
    Path("evil_target.py").write_text(
        "def answer(**asked):\n    raise ValueError(asked['q'] + '\\x1b[2J\\x9b\\u202e::error::x')\n", encoding="utf-8"
    )
    command = ["run", "--target", "evil_target:answer", "--gold", world.name("gold", ".jsonl"), "--out", "out"]
    ran = subprocess.run(
        [sys.executable, "-m", "ragworthy", *command], capture_output=True, check=False, timeout=60, text=True
    )
    assert ran.returncode == 1, ran.stderr
    assert "the first: raised: ValueError" in ran.stdout
    assert_inert(ran.stdout + ran.stderr)
