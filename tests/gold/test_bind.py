"""`gold bind`, and what a lock freezes of items that name evidence."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli as ragworthy
from conftest import write_jsonl

Row = dict[str, Any]

CHUNKS = [
    {"id": "b1", "doc_id": "buckets.md", "text": "A bucket holds at most 5 GB. Names are unique."},
    {"id": "b2", "doc_id": "buckets.md", "text": "Names are unique. Keys have 64 characters at most."},
]
GOLD: list[Row] = [
    {"qid": "size", "question": "How large?", "answerable": True, "gold_claim_substr": ["at most 5 GB"],
     "gold_evidence": ["A bucket holds at most 5 GB."], "topic": "limits"},
    {"qid": "names", "question": "Which names?", "answerable": True, "gold_claim_substr": ["unique"],
     "gold_evidence": ["Names are unique."], "gold_citations": ["old#7"], "gold_groups": [["old#7", "old#8"]]},
    {"qid": "plain", "question": "What?", "answerable": True, "gold_claim_substr": ["whatever"],
     "gold_citations": ["x#1"]},
    {"qid": "none", "question": "Who?", "answerable": False},
]  # fmt: skip
LOST: Row = {
    "qid": "lost", "question": "When?", "answerable": True, "gold_claim_substr": ["yearly"],
    "gold_evidence": ["A bucket holds at most 7 GB."],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("chunks.jsonl"), CHUNKS)


def bind(rows: list[Row], *args: str) -> tuple[int, str, list[Row]]:
    write_jsonl(Path("gold.jsonl"), rows)
    done = ragworthy("gold", "bind", "gold.jsonl", "--corpus", "chunks.jsonl", "-o", "bound.jsonl", *args)
    assert done.err == ""
    return done.code, done.out, [json.loads(line) for line in Path("bound.jsonl").read_text().splitlines()]


def bound_to() -> Row:
    return {"corpus_sha256": hashlib.sha256(Path("chunks.jsonl").read_bytes()).hexdigest()}


def test_ids_of_the_day_are_written_and_alternatives_survive() -> None:
    code, out, rows = bind(GOLD)
    assert code == 0
    assert rows == [
        GOLD[0] | {"gold_citations": ["b1"], "bound": bound_to()},  # one chunk: the id says it all
        GOLD[1] | {"gold_citations": ["b1", "b2"], "gold_groups": [["b1", "b2"]], "bound": bound_to()},
        GOLD[2],
        GOLD[3],
    ]
    assert out == (
        "4 items, 2 pieces of evidence: 2 exact\n"
        "1 answerable item without evidence: as before\n"
        "wrote bound.jsonl\n"
        "bind: 0 pieces of evidence in no chunk (exit 0)\n"
    )


def test_what_is_in_no_chunk_is_listed_and_goes_to_review() -> None:
    code, out, rows = bind([*GOLD, LOST], "--review", "review.jsonl")
    assert code == 1
    assert 'unbound: lost: "A bucket holds at most 7 GB.": b1 holds 85 % of its words, but not 7\n' in out
    assert out.endswith("wrote bound.jsonl, review.jsonl\nbind: 1 piece of evidence in no chunk (exit 1)\n")
    assert rows[-1] == LOST | {"gold_citations": [], "gold_groups": [[]], "bound": bound_to()}
    assert [json.loads(line) for line in Path("review.jsonl").read_text().splitlines()] == [
        {
            "qid": "lost", "question": "When?", "evidence": "A bucket holds at most 7 GB.", "how": "unbound",
            "groups": [], "why": "b1 holds 85 % of its words, but not 7", "nearest": ["b1"],
            "candidates": [{"id": "b1", "doc_id": "buckets.md", "text": CHUNKS[0]["text"]}],
        }
    ]  # fmt: skip


def test_json_lists_how_each_was_bound() -> None:
    code, out, _ = bind([*GOLD, LOST], "--format", "json")
    found = json.loads(out)
    assert (code, found["schema"], found["items"], found["without"]) == (1, "ragworthy.gold-bind/1", 5, 1)
    assert found["how"] == {"exact": 2, "normalised": 0, "overlap": 0, "parts": 0, "source": 0, "unbound": 1}
    assert found["evidence"][1] == {
        "qid": "names", "evidence": "Names are unique.", "how": "exact", "groups": [["b1", "b2"]],
    }  # fmt: skip


def test_a_retrieval_set_gets_relevant_blocks() -> None:
    wordings = ["How large?", "What size?", "How big?"]
    row = {"qid": "r", "paraphrases": wordings, "relevant": ["old#1"], "index_hash": "0" * 12}
    code, _, rows = bind([row | {"gold_source": [{"doc": "buckets"}]}])
    assert code == 0
    assert rows == [
        {"qid": "r", "paraphrases": wordings, "relevant": ["b1", "b2"], "gold_source": [{"doc": "buckets"}],
         "gold_groups": [["b1", "b2"]], "bound": bound_to()}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (GOLD[2:], "gold.jsonl: expected items with gold_evidence or gold_source, got none [RW-G18]"),
        ([LOST | {"gold_source": [3]}],
         "gold.jsonl:1: gold_source[0]: expected a name or {doc, section?, page?}, got 3 [RW-G03]"),
    ],
)  # fmt: skip
def test_what_cannot_be_bound_says_why(rows: list[Row], message: str) -> None:
    write_jsonl(Path("gold.jsonl"), rows)
    done = ragworthy("gold", "bind", "gold.jsonl", "--corpus", "chunks.jsonl", "-o", "bound.jsonl")
    assert (done.code, done.err.splitlines()[0], Path("bound.jsonl").exists()) == (2, message, False)


def test_out_is_another_name_of_output() -> None:
    _, _, rows = bind(GOLD)
    done = ragworthy("gold", "bind", "gold.jsonl", "--corpus", "chunks.jsonl", "--out", "other.jsonl")
    assert (done.code, done.err) == (0, "")
    assert [json.loads(line) for line in Path("other.jsonl").read_text().splitlines()] == rows


def test_the_gold_set_itself_is_not_overwritten() -> None:
    write_jsonl(Path("gold.jsonl"), GOLD)
    done = ragworthy("gold", "bind", "gold.jsonl", "--corpus", "chunks.jsonl", "-o", "gold.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "gold.jsonl: expected a new file, got one that is read [RW-U01]",
    )


# the lock


def freeze() -> None:
    write_jsonl(Path("gold.jsonl"), GOLD)
    done = ragworthy("gold", "freeze", "gold.jsonl", "--signer", "QA", "--reason", "first")
    assert done.code == 0


def verified(rows: list[Row]) -> tuple[int, str]:
    write_jsonl(Path("other.jsonl"), rows)
    done = ragworthy("gold", "verify", "other.jsonl", "--lock", "gold.lock")
    return done.code, done.out.splitlines()[0]


def test_binding_again_does_not_break_the_lock() -> None:
    freeze()
    _, _, rows = bind(GOLD)
    assert rows != GOLD
    assert verified(rows) == (0, "frozen: the gold set is the one signed by QA (exit 0)")


@pytest.mark.parametrize(
    ("nth", "change"),
    [
        (0, {"gold_evidence": ["A bucket holds at most 6 GB."]}),
        (0, {"gold_source": ["buckets.md"]}),
        (0, {"gold_claim_substr": ["at most 6 GB"]}),
        (0, {"topic": "other"}),
        (2, {"gold_citations": ["x#2"]}),  # no evidence: the ids are what is frozen
    ],
)
def test_a_change_of_what_is_frozen_breaks_the_lock(nth: int, change: Row) -> None:
    freeze()
    rows = [row | change if at == nth else row for at, row in enumerate(GOLD)]
    assert verified(rows) == (4, f"changed: {GOLD[nth]['qid']}")


def test_another_order_is_not_the_frozen_set() -> None:
    freeze()
    assert verified(GOLD[::-1])[0] == 4


def test_a_score_accepts_what_was_bound_again_and_refuses_other_evidence() -> None:
    freeze()
    traces = [{"qid": row["qid"], "retrieved_ids": ["b1"], "answer_json": {"claim": "x", "citations": ["b1"]}}
              for row in GOLD]  # fmt: skip
    write_jsonl(Path("trace.jsonl"), traces)
    bind(GOLD)
    write_jsonl(Path("worse.jsonl"), [GOLD[0] | {"gold_evidence": ["Names are unique."]}, *GOLD[1:]])
    for name, state in (("gold", "frozen"), ("bound", "frozen"), ("worse", "broken")):
        args = ("--gold", f"{name}.jsonl", "--trace", "trace.jsonl", "--lock", "gold.lock", "--format", "json")
        report = json.loads(ragworthy("score", "answers", *args).out)
        assert report["suites"]["answers"]["frozen"] == state, name


def test_a_lock_of_the_earlier_form_still_verifies() -> None:
    """It knows no evidence: it sealed the bytes, and every field of every item."""
    freeze()
    lock = json.loads(Path("gold.lock").read_text())
    from ragworthy.load.lock import item_hash

    assert lock.pop("evidence_sha256")
    lock["item_sha256"] = {row["qid"]: item_hash(row) for row in GOLD}
    Path("gold.lock").write_text(json.dumps(lock))
    assert verified(GOLD) == (0, "frozen: the gold set is the one signed by QA (exit 0)")
    _, _, rows = bind(GOLD)
    assert verified(rows)[0] == 4


def test_diff_tells_binding_from_evidence() -> None:
    _, _, rows = bind(GOLD)
    done = ragworthy("gold", "diff", "gold.jsonl", "bound.jsonl")
    assert done.out == (
        "changed: names (bound, gold_citations, gold_groups): not scored: the same evidence, bound to other chunks\n"
        "changed: size (bound, gold_citations): not scored: the same evidence, bound to other chunks\n"
        "0 added, 0 removed, 2 changed\n"
        "runs over the two sets are comparable\n"
    )
    write_jsonl(Path("bound.jsonl"), [rows[0] | {"gold_evidence": ["Names are unique."]}, *rows[1:]])
    done = ragworthy("gold", "diff", "gold.jsonl", "bound.jsonl")
    assert "other evidence counts now: precision, CHR and recall are not comparable" in done.out


# lint


def test_lint_says_in_one_line_what_text_alone_does_not_measure() -> None:
    rows = [{"qid": f"q{n}", "question": f"Question {n}?", "answerable": n < 110} for n in range(150)]
    rows = [row | {"gold_claim_substr": ["gold text"] if row["answerable"] else []} for row in rows]
    write_jsonl(Path("gold.jsonl"), rows)
    done = ragworthy("gold", "lint", "gold.jsonl")
    said = [line for line in done.out.splitlines() if "RW-W88]" in line]
    assert said == [
        "note: gold.jsonl: 150 items, 110 of them answerable without evidence: containment and refusals are measured; "
        "precision, CHR, recall and hit are not [RW-W88]"
    ]
    assert done.code == 0


def test_lint_holds_evidence_and_ids_against_a_corpus() -> None:
    write_jsonl(Path("gold.jsonl"), [*GOLD, LOST])
    done = ragworthy("gold", "lint", "gold.jsonl", "--corpus", "chunks.jsonl")
    errors = [line for line in done.out.splitlines() if line.startswith("error")]
    assert (done.code, errors) == (1, [
        'error: gold.jsonl:3: gold_citations: expected an id of the corpus, got "x#1" [RW-G13]',
        'error: gold.jsonl:5: gold_evidence: expected a text of the corpus, got "A bucket holds at most 7 GB.": '
        "b1 holds 85 % of its words, but not 7 [RW-G17]",
    ])  # fmt: skip
