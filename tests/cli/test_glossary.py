"""Every word of the reports has an entry, and every entry is found."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from conftest import run_cli
from places import ROOT
from ragworthy import glossary, names
from ragworthy.cli.arguments import parser
from ragworthy.cli.layout import groups_of
from ragworthy.glossary import Entry, Kind
from ragworthy.metrics.registry import all_metrics
from ragworthy.suites.evidence import Fate

WRITTEN: dict[Kind, type[StrEnum]] = {
    Kind.VERDICT: names.Verdict,
    Kind.OUTCOME: names.Outcome,
    Kind.LABEL: names.Label,
    Kind.CAUSE: names.Cause,
    Kind.STAGE: names.Stage,
    Kind.FATE: Fate,
    Kind.FAILURE: names.Failure,
}
ASKED = """
    canary frontier λ lambda ΔS delta_s margin interval calibrated baseline paired cluster deff waiver receipt SCU CHR
    P95 shadow live pack gold trace suite row ledger policy gate bundle slice offender evidence target
"""
"""Words that people look up."""


def name(entry: Entry) -> str:
    return f"{entry.kind.name}-{entry.name}"


@pytest.mark.parametrize("kind", WRITTEN)
def test_every_word_that_the_code_writes_has_an_entry_and_no_other(kind: Kind) -> None:
    assert {str(word) for word in WRITTEN[kind]} == {one.name for one in glossary.ENTRIES if one.kind is kind}


def test_every_kind_is_held_to_the_code_or_is_a_word() -> None:
    assert set(Kind) == {*WRITTEN, Kind.WORD}


@pytest.mark.parametrize("entry", glossary.ENTRIES, ids=name)
def test_every_entry_is_found_by_all_its_names(entry: Entry) -> None:
    for spelling in glossary.spellings(entry):
        assert entry in glossary.find(spelling) and entry in glossary.find(spelling.upper())


@pytest.mark.parametrize("entry", glossary.ENTRIES, ids=name)
def test_an_entry_is_one_sentence_with_an_example(entry: Entry) -> None:
    assert entry.means.endswith((".", ".)")) and len(entry.means) <= 180
    assert len(re.findall(r"[.] (?=[A-Z])", entry.means)) <= 1, "one plain sentence, or a second one in brackets"
    assert entry.example and len(entry.example) <= 220
    quoted = entry.kind is Kind.FAILURE or entry.name in ("PLACEHOLDER", "OVERRULED")
    assert quoted or re.search(r"\d", entry.example), "an example with numbers"


@pytest.mark.parametrize("entry", [one for one in glossary.ENTRIES if one.kind is Kind.CAUSE], ids=name)
def test_a_cause_says_what_to_do(entry: Entry) -> None:
    assert entry.do.endswith(".")


@pytest.mark.parametrize("entry", glossary.ENTRIES, ids=name)
def test_what_an_entry_refers_to_exists(entry: Entry) -> None:
    (commands,) = groups_of(parser())
    for other in entry.see:
        if other.startswith("docs/"):
            assert (ROOT / other).is_file(), other
        else:
            assert other in all_metrics() or glossary.find(other), other
            assert other != entry.name or len(glossary.find(other)) > 1
    for command in re.findall(r"'ragworthy (\w+)", entry.do + entry.example):
        assert command in commands.choices


def test_no_two_entries_of_a_kind_have_the_same_name() -> None:
    anchors = [glossary.anchor(one) for one in glossary.ENTRIES]
    assert len(anchors) == len(set(anchors))


@pytest.mark.parametrize("word", ASKED.split())
def test_explain_knows_the_words_that_people_ask_for(word: str) -> None:
    done = run_cli("explain", word)
    assert (done.code, done.err) == (0, "")
    entry = glossary.find(word)[0]
    assert f"{entry.name}  ({entry.kind.value})" in done.out
    assert " ".join(entry.means.split()) in " ".join(done.out.split())
    assert " ".join(entry.example.split()) in " ".join(done.out.split())


def test_explain_shows_all_that_a_word_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    done = run_cli("explain", "not", "cited")
    assert done.out == (
        "NOT_CITED  (label of a question)\n"
        "  Retrieval: the answer cites nothing.\n"
        "  example  5 results, 0 citations.\n"
        "  see      retrieval.coverage\n"
        "\n"
        "not_cited  (cause)\n"
        "  Gold evidence is among the first k, and none of it is\n"
        "  cited.\n"
        "  example  The gold chunk is at rank 2; the answer cites\n"
        "           rank 1 only.\n"
        "  do       Look at how citations are chosen; compare the\n"
        "           cited text with the gold text.\n"
        "  see      citation\n"
    )
    assert run_cli("explain", "chr").out.startswith("CHR  (word)\n")
    assert "\nanswers.chr  (rate, higher is better)\n" in run_cli("explain", "chr").out


def test_an_id_is_explained_and_nothing_that_is_called_alike() -> None:
    assert re.findall(r"^(\S+)  \(", run_cli("explain", "answers.chr").out, re.M) == ["answers.chr"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("halucination", "HALLUCINATION"), ("cannary", "canary"), ("inconclusiv", "INCONCLUSIVE"),
     ("precison", "precision"),
     ("frontiers", "frontier"),],
)  # fmt: skip
def test_a_near_miss_is_told(word: str, meant: str) -> None:
    done = run_cli("explain", word)
    assert (done.code, done.out) == (2, "")
    asked = f'expected a metric, a word of reports or a code, got "{word}" (did you mean {meant}'
    assert done.err.startswith(asked), done.err


def test_explain_without_a_word_lists_every_entry() -> None:
    listed = " ".join(run_cli("explain").out.split())
    for kind in Kind:
        assert f"{kind.value}: {', '.join(one.name for one in glossary.ENTRIES if one.kind is kind)}" in listed


def test_the_page_has_every_entry() -> None:
    page = (ROOT / glossary.PAGE).read_text(encoding="utf-8")
    assert re.findall(r"^### (.+)$", page, re.M) == [glossary.heading(one) for one in glossary.ENTRIES]


def test_the_glossary_is_data_that_any_layer_can_read() -> None:
    for file in (Path(glossary.__file__).parent).glob("*.py"):
        assert not re.search(r"import ragworthy|from ragworthy(?!\.glossary)", file.read_text(encoding="utf-8")), file
