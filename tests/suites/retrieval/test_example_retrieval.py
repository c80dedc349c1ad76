"""The bundled retrieval example: two versions of the handbook, the changes planted between them, and the gold set."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ragworthy
from conftest import run_cli
from ragworthy.index import build as indexing
from ragworthy.index.store import Index, open_index
from ragworthy.metrics.facts.redirects import Redirect, Table

EXAMPLES = Path(ragworthy.__file__).parent / "examples"
GOLD = EXAMPLES / "retrieval_gold.jsonl"
DOCUMENTS = {
    "access.md", "backup.md", "billing.md", "buckets.md", "cli.md", "limits.md", "objects.md", "replication.md",
    "retention.md", "support.md", "tokens.md", "webhooks.md",
}  # fmt: skip
DELETED = "cli.md|s=1.4|p=000|b=001"

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def block(short: str) -> str:
    """The id that `buckets 1.2/3` stands for."""
    doc, place = short.split()
    section, _, number = place.partition("/")
    return f"{doc}.md|s={section}|p=000|b={int(number):03d}"


def place(name: str) -> tuple[str, str]:
    """Document and section of an id."""
    doc, section, _, _ = name.split("|")
    return doc, section.removeprefix("s=")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An index of each version, without vectors."""
    root = tmp_path_factory.mktemp("example")
    for name, docs in (("live", "corpus"), ("shadow", "corpus_next")):
        done = run_cli("index", "build", "--docs", EXAMPLES / docs, "--out", root / name, "--dense", "none")
        assert (done.code, done.err) == (0, "")
    return root / "live", root / "shadow"


@pytest.fixture(scope="module")
def live(folders: tuple[Path, Path]) -> Index:
    return open_index(folders[0])


@pytest.fixture(scope="module")
def shadow(folders: tuple[Path, Path]) -> Index:
    return open_index(folders[1])


@pytest.fixture(scope="module")
def table(folders: tuple[Path, Path]) -> Table:
    return indexing.redirects(*folders)


@pytest.fixture(scope="module")
def rows(table: Table) -> dict[str, Redirect]:
    return {row.old_block_id: row for row in table.rows}


@pytest.fixture(scope="module")
def gold() -> list[Row]:
    return read(GOLD)


# the two versions


def test_both_versions_are_read_without_a_fault(live: Index, shadow: Index) -> None:
    for folder, index in (("corpus", live), ("corpus_next", shadow)):
        assert indexing.check_documents(EXAMPLES / folder, index) == []
    assert {chunk.doc_id for chunk in live.chunks} == DOCUMENTS
    assert {chunk.doc_id for chunk in shadow.chunks} == DOCUMENTS - {"limits.md"} | {"quotas.md", "inventory.md"}
    assert live.manifest.notes == shadow.manifest.notes == []


def test_no_document_is_left_as_it_was() -> None:
    for name in sorted(DOCUMENTS):
        after = EXAMPLES / "corpus_next" / ("quotas.md" if name == "limits.md" else name)
        assert (EXAMPLES / "corpus" / name).read_text() != after.read_text(), name


def test_what_the_answer_gold_set_asks_stays_answerable() -> None:
    before, after = (
        "\n".join(path.read_text(encoding="utf-8") for path in sorted((EXAMPLES / folder).iterdir())).casefold()
        for folder in ("corpus", "corpus_next")
    )
    asked = read(EXAMPLES / "gold.jsonl")
    texts = [text.casefold() for row in asked for text in (*row["gold_claim_substr"], *row.get("constraints", []))]
    there = [text for text in texts if text in before]
    assert len(there) >= 70
    assert [text for text in there if text not in after] == []


# the planted changes


def test_the_moves_are_the_planted_ones(table: Table, rows: dict[str, Redirect]) -> None:
    assert table.numbers["moves"] == {"shift": 153, "split": 1, "merge": 2, "unmapped": 1}
    restore, thaw = block("backup 1.5/3"), block("backup 1.6/1")
    assert (rows[restore].move, [part.id for part in rows[restore].targets]) == ("split", [restore, thaw])
    tags = block("objects 1.2/1")
    for name in (tags, block("objects 1.2/2")):
        assert (rows[name].move, rows[name].new_block_id) == ("merge", tags)
    assert (rows[DELETED].move, rows[DELETED].new_block_id) == ("unmapped", None)


def test_the_renamed_file_is_followed_block_by_block(rows: dict[str, Redirect]) -> None:
    names = [name for name in rows if name.startswith("limits.md|")]
    assert len(names) == 12
    for name in names:
        assert rows[name].move == "shift"
        assert (rows[name].new_doc_id, rows[name].new_block_id) == ("quotas.md", name.replace("limits", "quotas"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cli 1.6/1", "cli 1.2/1"),  # Updates moved up; Profiles to Exit codes make room, Output formats went
        ("cli 1.2/1", "cli 1.3/1"),
        ("cli 1.3/2", "cli 1.4/2"),
        ("cli 1.5/1", "cli 1.5/1"),
        ("billing 1.4/1", "billing 1.3/1"),  # Early deletion and Requests and traffic changed places
        ("billing 1.3/1", "billing 1.4/1"),
        ("retention 1.5/1", "retention 1.4/1"),  # Trash now comes before Lifecycle rules
        ("retention 1.5/2", "retention 1.4/2"),
        ("retention 1.4/1", "retention 1.5/1"),
        ("retention 1.4/2", "retention 1.5/2"),
        ("backup 1.5/4", "backup 1.6/2"),  # the table goes with the second half of the split section
        ("backup 1.6/1", "backup 1.7/1"),
        ("backup 1.1/3", "backup 1.1/4"),  # a paragraph came in before it
    ],
)
def test_blocks_that_moved(rows: dict[str, Redirect], before: str, after: str) -> None:
    row = rows[block(before)]
    assert (row.move, row.new_block_id, row.risky) == ("shift", block(after), False)


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        ("access 1.3/2", "Evaluation order", "How a request is decided"),
        ("replication 1.3/1", "Lag", "Replication lag"),
        ("retention 1.5/1", "Trash", "Trash and recovery"),
        ("backup 1.5/1", "Restoring", "Starting a restore"),
        ("backup 1.5/4", "Restoring", "Thawing archived sets"),
    ],
)
def test_sections_that_were_renamed(
    live: Index, shadow: Index, rows: dict[str, Redirect], before: str, old: str, new: str
) -> None:
    row = rows[block(before)]
    titles = [live.by_id[row.old_block_id].title, shadow.by_id[row.new_block_id or ""].title]
    assert [str(title).rpartition(" > ")[2] for title in titles] == [old, new]


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ("access 1.1/1", (1, 0)),
        ("billing 1.1/1", (1, 0)),
        ("buckets 1.2/2", (1, 0)),
        ("cli 1.5/1", (1, 0)),
        ("limits 1.1/1", (0, 1)),
        ("support 1.1/1", (1, 0)),
        ("tokens 1.1/1", (1, 0)),
        ("webhooks 1.1/1", (1, 0)),
    ],
)
def test_tables_that_grew(
    live: Index, shadow: Index, rows: dict[str, Redirect], before: str, added: tuple[int, int]
) -> None:
    row = rows[block(before)]
    old, new = live.by_id[row.old_block_id], shadow.by_id[row.new_block_id or ""]
    assert (row.move, row.conf, old.type, new.type) == ("shift", 1.0, "table", "table")
    assert old.attrs is not None and new.attrs is not None
    assert (new.attrs["rows"] - old.attrs["rows"], new.attrs["cols"] - old.attrs["cols"]) == added


@pytest.mark.parametrize(
    "before",
    ["access 1.2/2", "backup 1.5/2", "billing 1.6/2", "cli 1.1/2", "objects 1.5/2", "replication 1.2/2",
     "webhooks 1.3/2"],
)  # fmt: skip
def test_code_that_was_updated(live: Index, shadow: Index, rows: dict[str, Redirect], before: str) -> None:
    row = rows[block(before)]
    old, new = live.by_id[row.old_block_id], shadow.by_id[row.new_block_id or ""]
    assert (row.move, old.type, new.type) == ("shift", "code", "code")
    assert old.text != new.text


def test_new_blocks_are_the_new_file_and_three_paragraphs(table: Table, shadow: Index) -> None:
    inventory = {chunk.name for chunk in shadow.chunks if chunk.doc_id == "inventory.md"}
    assert len(inventory) == 8
    assert set(table.added) == inventory | {block("backup 1.1/3"), block("buckets 1.3/3"), block("support 1.3/4")}


# the gold set


def test_the_lint_has_no_error_and_only_the_targets_of_curation_to_say(folders: tuple[Path, Path]) -> None:
    done = run_cli("gold", "lint", GOLD, "--corpus", folders[0])
    said = [line for line in done.out.splitlines() if line.startswith(("error", "warning", "note"))]
    assert (done.code, done.err) == (0, "")
    assert said[0].endswith("60 questions: a retrieval gold set has 200 to 400 [RW-W33]")
    # one question is far from its text, a third is above 0.35, and not every section is asked about
    assert [line.rpartition(" ")[2] for line in said[1:]] == ["[RW-W172]", "[RW-W173]", "[RW-W38]"]


def test_every_question_is_whole(gold: list[Row]) -> None:
    assert [row["qid"] for row in gold] == [f"R{number:03d}" for number in range(1, 61)]
    for row in gold:
        assert list(row) == ["qid", "paraphrases", "relevant", "anchor_section", "negatives", "topic"], row["qid"]


def test_every_question_has_three_wordings_of_its_own(gold: list[Row]) -> None:
    texts = [" ".join(text.casefold().split()) for row in gold for text in row["paraphrases"]]
    assert len(set(texts)) == len(texts) == 3 * len(gold)
    for row in gold:
        plain, other, short = (len(text.split()) for text in row["paraphrases"])
        assert short <= 5 and short < min(plain, other), row["qid"]
        assert all(text.endswith(("?", ".")) for text in row["paraphrases"][:2]), row["qid"]


def test_relevant_blocks_and_negatives_are_in_the_index(gold: list[Row], live: Index) -> None:
    for row in gold:
        relevant, negatives = row["relevant"], row["negatives"]
        assert relevant and len(negatives) == 2, row["qid"]
        assert len({*relevant, *negatives}) == len(relevant) + len(negatives), row["qid"]
        assert all(name in live.by_id for name in (*relevant, *negatives)), row["qid"]


def test_negatives_stand_in_the_section_or_beside_it(gold: list[Row]) -> None:
    for row in gold:
        assert {place(name)[1] for name in row["relevant"]} == {row["anchor_section"]}, row["qid"]
        docs = {place(name)[0] for name in (*row["relevant"], *row["negatives"])}
        parents = {place(name)[1].rpartition(".")[0] for name in (*row["relevant"], *row["negatives"])}
        assert (len(docs), parents) == (1, {"1"}), row["qid"]


def test_every_document_type_and_topic_is_asked_about(gold: list[Row], live: Index) -> None:
    asked = [live.by_id[name] for row in gold for name in row["relevant"]]
    assert {chunk.doc_id for chunk in asked} == DOCUMENTS
    types = Counter(chunk.type for chunk in asked)
    assert set(types) == {"prose", "code", "table"} and min(types.values()) >= 10
    topics = {row["topic"] for row in read(EXAMPLES / "gold.jsonl")}
    assert Counter(row["topic"] for row in gold) == dict.fromkeys(topics, 10)


def test_only_the_deleted_section_takes_an_answer_away(gold: list[Row], rows: dict[str, Redirect]) -> None:
    lost = [(row["qid"], name) for row in gold for name in row["relevant"] if not rows[name].targets]
    assert lost == [("R053", DELETED)]


# both together


def recall(traces: list[Row], wanted: dict[str, list[set[str]]], depth: int = 5) -> Fraction:
    """Recall counted by hand: the mean over runs for each question, then the mean over questions."""
    found: dict[str, list[Fraction]] = {}
    for trace in traces:
        first = {one["id"] for one in trace["topk"][:depth]}
        blocks = wanted[trace["qid"]]
        found.setdefault(trace["qid"], []).append(Fraction(sum(bool(one & first) for one in blocks), len(blocks)))
    means = [sum(runs, Fraction(0)) / len(runs) for runs in found.values()]
    return sum(means, Fraction(0)) / len(means)


def test_index_diff_counts_recall_as_counted_by_hand(
    folders: tuple[Path, Path], gold: list[Row], rows: dict[str, Redirect], tmp_path: Path
) -> None:
    done = run_cli("index", "diff", *folders, "--gold", GOLD, "-q", "-o", tmp_path / "diff.json")
    compared = json.loads((tmp_path / "diff.json").read_text())["suites"]["retrieval"]["live"]
    assert done.code in (1, 4)
    assert compared["canary"]["eligible"] is False
    assert "R053" in {one["qid"] for one in compared["lost"]}
    before = {row["qid"]: [{name} for name in row["relevant"]] for row in gold}
    after = {row["qid"]: [{part.id for part in rows[name].targets} for name in row["relevant"]] for row in gold}
    for side, folder, wanted in (("live", folders[0], before), ("shadow", folders[1], after)):
        out = tmp_path / f"{side}.jsonl"
        assert run_cli("retrieve", "--index", folder, "--gold", GOLD, "-o", out).code == 0
        traces = read(out)
        assert len(traces) == 60 * 3 * 2
        assert compared["deltas"]["retrieval.recall@5"][side] == pytest.approx(float(recall(traces, wanted)), abs=1e-12)


def test_the_gold_set_can_be_frozen_with_its_corpus(folders: tuple[Path, Path], live: Index, tmp_path: Path) -> None:
    copy = tmp_path / "gold.jsonl"
    copy.write_bytes(GOLD.read_bytes())
    done = run_cli("gold", "freeze", copy, "--signer", "Ada Byron", "--reason", "example", "--corpus", folders[0])
    assert (done.code, done.err) == (0, "")
    lock = json.loads((tmp_path / "gold.lock").read_text())
    assert (lock["items"], lock["corpus"]["index_hash"]) == (60, live.manifest.index_hash)
    assert run_cli("gold", "verify", copy).code == 0
