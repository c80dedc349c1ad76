"""The page of a run: what is in it, where it goes, and that nothing in it comes from elsewhere or steers."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

import rollouts_laid
from conftest import run_cli, write_jsonl
from hostile import EVIL
from pages_laid import gated, lay, page_of
from ragworthy.report.html.env import content_policy, island, steerless
from ragworthy.report.tested import facts

SECTIONS = ["gates", "tested", "changed", "wrong", "charts", "questions", "numbers", "limits", "glossary"]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return page_of(folder).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tree(html: str) -> LexborHTMLParser:
    return LexborHTMLParser(html)


def text_of(tree: LexborHTMLParser, selector: str) -> str:
    found = tree.css_first(selector)
    assert found is not None, selector
    return " ".join(found.text().split())


# what is in it


def test_sections_stand_in_the_order_in_which_they_are_read(tree: LexborHTMLParser) -> None:
    found = [one.attributes["id"] for one in tree.css("main > section.section")]
    assert found == SECTIONS
    assert [one.attributes["href"] for one in tree.css("nav.toc a")] == [f"#{name}" for name in SECTIONS]


def test_the_verdict_comes_first_in_one_sentence_with_numbers(tree: LexborHTMLParser, folder: Path) -> None:
    report = json_report(folder)
    gate = report["gates"][0]
    head = text_of(tree, "main h1")
    assert head.startswith(f"{report['verdict']} with 1 waived gate")
    assert f"precision {gate['shown']['value']} (needs ≥ 0.95)" in head


def json_report(folder: Path) -> dict[str, list[dict[str, dict[str, str]]]]:
    with contextlib.chdir(folder):
        gated(folder, "-o", "now.json")
        found: dict[str, list[dict[str, dict[str, str]]]] = json.loads(Path("now.json").read_text(encoding="utf-8"))
        Path("now.json").unlink()
        Path("now.html").unlink()
    return found


def test_waivers_are_as_loud_as_failures(tree: LexborHTMLParser) -> None:
    box = tree.css_first(".banner.waived")
    assert box is not None
    assert "fail" in (box.attributes["class"] or "")
    told = " ".join(box.text().split())
    for word in ("1 gate is waived", "under_refusal", "the new prompt comes on Monday", "search team", "2999-12-31"):
        assert word in told


def test_gates_have_their_reason_a_picture_and_a_margin(tree: LexborHTMLParser, folder: Path) -> None:
    rows = tree.css("table.gates tbody tr")
    assert len(rows) == len(json_report(folder)["gates"]) > 3
    assert all(row.css_first("svg[role=img][aria-label]") is not None for row in rows)
    assert "what we ship must be right and cited" in rows[0].text()
    assert re.search(r"-0\.\d+", text_of(tree, "table.gates tbody tr td.margin"))


def test_flips_go_both_ways_and_say_what_was_answered_before(tree: LexborHTMLParser) -> None:
    changed = text_of(tree, "#changed")
    assert "Broken: right before, wrong now" in changed
    assert "Fixed: wrong before, right now" in changed
    first = tree.css_first("#changed table.flips tbody tr")
    assert first is not None
    question, was, now = (" ".join(cell.text().split()) for cell in first.css("th, td"))
    assert "Where is map" in question
    assert (was, now.split(":")[0]) == ("REFUSAL_OKnot in context", "HALLUCINATION")


def test_every_link_inside_of_the_page_leads_somewhere(tree: LexborHTMLParser) -> None:
    places = {one.attributes["id"] for one in tree.css("[id]")}
    links = [one.attributes["href"] or "" for one in tree.css("a[href]")]
    assert links
    assert [one for one in links if not one.startswith("#q=") and one[1:] not in places] == []
    # The script links to the rest: what metrics say of single questions, and where these went wrong.
    island = tree.css_first("script#questions-data")
    data = json.loads(island.text()) if island is not None else {"profiles": [], "anchors": {}}
    named = {name.partition("@")[0] for told, _ in data["profiles"] for name, _ in told}
    named |= {one for anchors in data["anchors"].values() for one in anchors if one}
    explained = {f"#{name}" for name in places if name and "def-" in name}
    linked = {one for one in links if one.startswith("#def-")}
    assert explained == linked | {f"#def-{name}" for name in named}


def test_ids_are_there_once_and_tables_have_headers(tree: LexborHTMLParser) -> None:
    ids = [one.attributes["id"] for one in tree.css("[id]")]
    assert len(ids) == len(set(ids))
    for table in tree.css("main table"):
        assert table.css_first("thead th[scope=col]") is not None
        assert all(row.css_first("th[scope=row]") is not None for row in table.css("tbody tr"))


def test_the_panel_of_limits_is_there_when_everything_holds(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert run_cli("init").code == 0
        assert run_cli("gate", "-q").code == 0
    tree = LexborHTMLParser((tmp_path / ".ragworthy/report.html").read_text(encoding="utf-8"))
    found = [one.attributes["id"] for one in tree.css("main > section.section")]
    assert "limits" in found
    assert "changed" not in found  # without a baseline there is no such section, empty or not
    assert "nothing is known about questions unlike these" in text_of(tree, "#limits")


def test_every_gate_says_what_it_is_for(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert run_cli("init").code == 0
        assert run_cli("gate", "-q").code == 0
    tree = LexborHTMLParser((tmp_path / ".ragworthy/report.html").read_text(encoding="utf-8"))
    names, whys = ([one.text() for one in tree.css(f"table.gates .{part}")] for part in ("gate-name", "why"))
    rows = dict(zip(names, whys, strict=True))
    assert rows["chr citation hit rate"] == "answers cite the evidence"
    assert rows["missing"] == "Number of gold questions without a trace."  # nobody wrote a reason: what it counts
    words = text_of(tree, "#glossary")
    assert "answers.chr citation hit rate Share of" in words
    assert "Not measured: never" not in words and "Not measured: nothing was shipped." in words


def test_a_page_on_an_index_says_what_its_ranks_and_distances_rest_on(tmp_path: Path) -> None:
    """No answer was written: the first result is all that counts. Distances are raw."""
    rollouts_laid.lay(tmp_path, count=6)
    for name in ("live.jsonl", "b.jsonl"):
        rows = [json.loads(line) for line in (tmp_path / name).read_text(encoding="utf-8").splitlines()]
        for row in rows:
            if (name, row["qid"], row["paraphrase"]) == ("b.jsonl", "Q1", 0):
                row["topk"].reverse()
            cited = {"id": row["topk"][0]["id"], "offsets": [1000, 1100]}
            model = {"name": "m", "weights": "f" * 64}
            row |= {"answer_citations": [cited], "cited_by": "rank", "delta_s_model": model}
        write_jsonl(tmp_path / name, rows)
    with contextlib.chdir(tmp_path):
        words = ("--gold", "gold.jsonl", "--trace", "b.jsonl", "--live", "live.jsonl", "-o", "page.html")
        assert run_cli("score", "retrieval", "-q", *words).code in (0, 1, 3, 4)
    tree = LexborHTMLParser((tmp_path / "page.html").read_text(encoding="utf-8"))
    wrong = text_of(tree, "#wrong")
    assert "first result right" in wrong and "5 (−1)" in wrong and "is not the first result" in wrong
    assert "Each with the worst of its runs." in wrong and "in the first 5" not in wrong
    charts = text_of(tree, "#charts")
    assert "These are raw" in charts and "danger" not in charts
    tested = text_of(tree, "#tested")
    assert re.search(r"traces ?b\.jsonl, 36 records.* compared with ?live\.jsonl, 36 records", tested)
    assert "baseline" not in tested


def test_what_several_suites_share_is_told_once() -> None:
    def suite(index: str, trace: str) -> dict[str, object]:
        made = {"role": "trace", "path": trace, "records": 2, "sha256": "a" * 64}
        return {"inputs": [made], "frozen": "unlocked", "provenance": {"index_hash": index}}

    report = {"suites": {"answers": suite("i", "t"), "stability": suite("i", "s"), "latency": suite("j", "l")}}
    told = [tuple(fact) for fact in facts(report)]
    assert told[:2] == [("index (answers, stability)", "i"), ("index (latency)", "j")]
    assert ("traces (stability)", f"s, 2 records, sha256 {'a' * 12}") in told


# nothing from elsewhere


def test_nothing_is_loaded_and_only_our_scripts_may_run(tree: LexborHTMLParser, html: str) -> None:
    for one in tree.css("[src], [href], [action], [data], [poster]"):
        for name in ("src", "href", "action", "data", "poster"):
            value = one.attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), one.html
    assert "@import" not in html
    assert "url(" not in html
    meta = tree.css_first('meta[http-equiv="Content-Security-Policy"]')
    assert meta is not None
    policy = meta.attributes["content"] or ""
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = [one for one in tree.css("script") if one.attributes.get("type") != "application/json"]
    assert policy.count("sha256-") == len(scripts)
    assert [name for one in tree.css("*") for name in one.attributes if name.startswith("on")] == []


def test_a_page_without_scripts_allows_none() -> None:
    assert "script-src 'none'" in content_policy(())


def test_the_same_inputs_give_the_same_bytes(folder: Path, html: str, tmp_path: Path) -> None:
    for seed in ("1", "77"):
        copy = tmp_path / seed
        shutil.copytree(folder, copy)
        (copy / ".ragworthy/report.html").unlink()
        code = "import sys; from ragworthy.cli.main import main; sys.exit(main(['gate', '-q']))"
        environment = {"PYTHONHASHSEED": seed, "RAGWORTHY_STORE": "off", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
        done = subprocess.run([sys.executable, "-c", code], cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        assert (copy / ".ragworthy/report.html").read_text(encoding="utf-8") == html
    assert str(folder) not in html


# where it goes


def test_it_goes_beside_the_json_report_or_into_the_folder_of_the_last_report(tmp_path: Path) -> None:
    folder = lay(tmp_path, 8)
    gated(folder, "-o", "out/now.json")
    assert (folder / "out/now.html").is_file()
    assert not (folder / ".ragworthy/report.html").exists()
    gated(folder, "-o", "mine.html")
    assert (folder / "mine.html").is_file()
    assert not (folder / ".ragworthy/report.html").exists()
    policy = folder / "ragworthy.toml"
    policy.write_text(policy.read_text(encoding="utf-8") + '\n[history]\neval = "eval"\n', encoding="utf-8")
    gated(folder, "--store", "runs.db")
    assert (folder / "eval/report.html").is_file()
    shown = run_in(folder, "gate", "--store", "runs.db")
    assert "eval/report.html" in shown


def run_in(folder: Path, *words: str) -> str:
    with contextlib.chdir(folder):
        return run_cli(*words).out


def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    folder = lay(tmp_path, 8)
    (folder / "now.html").write_text("<p>mine</p>", encoding="utf-8")
    done = gated(folder, "-o", "now.json")
    assert done.err == ("page: not written: now.html: expected a new file, or one of ours, got another file [RW-U03]\n")
    assert (folder / "now.html").read_text(encoding="utf-8") == "<p>mine</p>"
    outside = tmp_path.parent / "outside.html"
    (folder / ".ragworthy").mkdir(exist_ok=True)
    (folder / ".ragworthy/report.html").symlink_to(outside)
    assert "page: not written" in gated(folder).err
    assert not outside.exists()


def test_a_page_of_ours_is_replaced(tmp_path: Path) -> None:
    folder = lay(tmp_path, 8)
    first = page_of(folder).read_bytes()
    (folder / ".ragworthy/report.html").write_bytes(first + b"<!-- older -->")
    assert page_of(folder).read_bytes() == first


# an earlier run


def test_report_writes_the_page_of_an_earlier_run(folder: Path, html: str) -> None:
    with contextlib.chdir(folder):
        gated(folder, "-o", "now.json")
        done = run_cli("report", "now.json", "-o", "again.html", "-o", "again.md")
    assert (done.code, done.out) == (0, "wrote again.html\nwrote again.md\n")
    again = LexborHTMLParser((folder / "again.html").read_text(encoding="utf-8"))
    assert text_of(again, "main h1") == text_of(LexborHTMLParser(html), "main h1")
    assert "Map 3 is kept on shelf 3 north" in (folder / "again.html").read_text(encoding="utf-8")


def test_report_says_what_it_knows_when_the_files_are_gone(tmp_path: Path) -> None:
    folder = lay(tmp_path, 12)
    gated(folder, "-o", "now.json")
    (folder / "traces.jsonl").unlink()
    with contextlib.chdir(folder):
        done = run_cli("report", "now.json", "-o", "again.html")
        assert run_cli("report", "now.json", "-o", "rows.jsonl").code == 2
        assert run_cli("report", "now.json", "-o", "gold.jsonl").code == 2
    assert done.code == 0, done.err
    again = LexborHTMLParser((folder / "again.html").read_text(encoding="utf-8"))
    assert [one.attributes["id"] for one in again.css("main > section.section")] == SECTIONS


def test_a_trend_is_drawn_from_the_history(tmp_path: Path) -> None:
    folder = lay(tmp_path, 12)
    page_of(folder, "--store", "runs.db", "--commit", "a1")
    first = (folder / ".ragworthy/report.html").read_text(encoding="utf-8")
    traces = (folder / "traces.jsonl").read_text(encoding="utf-8").replace("somewhere else", "nowhere at all")
    (folder / "traces.jsonl").write_text(traces, encoding="utf-8")
    page_of(folder, "--store", "runs.db", "--commit", "a2")
    second = (folder / ".ragworthy/report.html").read_text(encoding="utf-8")
    assert "precision over 2 runs" not in first
    assert "precision over 2 runs" in second
    assert '"past":' not in first
    assert re.search(r'"past":\[\["[0-9a-f]{12}","\d{4}-', second)  # the first run, of a single question


# text of others


def test_hostile_text_makes_no_element_and_steers_nothing(tmp_path: Path) -> None:
    made = {}
    for kind, evil in (("harmless", ""), ("hostile", "</script></style></svg>]]>--><script>alert(1)</script>" + EVIL)):
        (tmp_path / kind).mkdir()
        made[kind] = page_of(lay(tmp_path / kind, 12, evil=evil)).read_text(encoding="utf-8")
    assert CONTROL.findall(made["hostile"].replace("\n", "")) == []
    trees = {kind: LexborHTMLParser(html) for kind, html in made.items()}
    shapes = {kind: Counter(one.tag for one in tree.css("*")) for kind, tree in trees.items()}
    assert shapes["hostile"].keys() == shapes["harmless"].keys()  # more of a kind where a text is cut and shown whole
    for tag in ("script", "style", "a", "svg", "table", "tr", "td", "th", "section", "h1", "h2", "details", "summary"):
        assert shapes["hostile"][tag] == shapes["harmless"][tag], tag
    assert "<script>alert(1)</script>" in text_of(trees["hostile"], "#changed")


def test_an_island_cannot_be_left_and_comes_back_whole() -> None:
    value = {"</script>": ["<!--", "]]>", "&lt;", "\u2028\u202e\x00", "中文", 'quote " and \\']}
    text = str(island("data", value))
    inside = text[text.index(">") + 1 : text.rindex("</script>")]
    assert "<" not in inside
    assert CONTROL.findall(inside) == []
    assert json.loads(inside) == value


def test_steering_signs_are_shown() -> None:
    assert steerless("a\u202eb\x1b[31m\ud800") == r"a\u202eb\x1b[31m\ud800"
    assert steerless("שלום 世界\n\tx") == "שלום 世界\n\tx"


# size


def test_a_report_on_500_questions_with_texts_is_under_2_mb(tmp_path: Path) -> None:
    page = page_of(lay(tmp_path, 500, length=7))  # chunks of 760 characters, five for each question
    assert page.stat().st_size < 2_000_000


def test_a_page_without_data_is_small(tmp_path: Path) -> None:
    page = page_of(lay(tmp_path, 4))
    assert page.stat().st_size < 150_000  # the budget is 1.5 MB
