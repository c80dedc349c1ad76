"""Folders with a policy of which the page has every section: a baseline, flips, a waiver, slices, texts of chunks."""

import contextlib
import json
from pathlib import Path
from typing import Any

from conftest import Done, run_cli, write_jsonl

Row = dict[str, Any]
POLICY = """\
version = 1
baseline = "base.json"

[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
corpus = "chunks.jsonl"
slices = ["topic"]

[[gate]]
metric = "answers.precision"
min = 0.95
why = "what we ship must be right and cited"

[[gate]]
metric = "answers.precision"
max_drop = 0.02
why = "no worse than last week"

[[gate]]
metric = "answers.under_refusal"
max = 0.05

[[waiver]]
gate = "answers.under_refusal"
reason = "the new prompt comes on Monday, DOC-12"
owner = "search team"
expires = 2999-12-31
"""
WORDS = "The reading room keeps every printed map of the harbour, and members may take copies home for a week. "


def lay(folder: Path, count: int = 40, *, evil: str = "", length: int = 1) -> Path:
    """A policy over so many questions; `evil` is behind every text, and texts are `length` sentences long."""
    gold, chunks = [], []
    for nth in range(count):
        answerable = nth % 4 != 3
        row: Row = {
            "qid": f"Q{nth:05d}",
            "question": f"Where is map {nth} kept?{evil}",
            "answerable": answerable,
            "topic": ("maps", "fees", "rooms")[nth % 3] + evil,
        }
        if answerable:
            row |= {"gold_claim_substr": [f"shelf {nth} north"], "gold_citations": [f"guide#{nth}"]}
        gold.append(row)
        text = f"Map {nth} is kept on shelf {nth} north.{evil} {WORDS * length}"
        chunks.append({"id": f"guide#{nth}", "doc": "guide", "text": text})
    write_jsonl(folder / "gold.jsonl", gold)
    write_jsonl(folder / "chunks.jsonl", chunks)
    write_jsonl(folder / "traces.jsonl", [_trace(row, nth, count, evil) for nth, row in enumerate(gold)])
    write_jsonl(folder / "before.jsonl", [_trace(row, nth + 1, count, evil) for nth, row in enumerate(gold)])
    (folder / "ragworthy.toml").write_text(POLICY, encoding="utf-8")
    before = POLICY[: POLICY.index("[[gate]]")].replace('baseline = "base.json"\n', "").replace("traces", "before", 2)
    before = before.replace('before = "before', 'traces = "before')
    (folder / "before.toml").write_text(
        f'{before}[[gate]]\nmetric = "answers.precision"\nmin = 0.1\n', encoding="utf-8"
    )
    with contextlib.chdir(folder):
        done = run_cli("gate", "-q", "-c", "before.toml", "-o", "base.json")
    assert done.code in (0, 1, 3), done.err
    (folder / "base.html").unlink()
    return folder


def _trace(row: Row, nth: int, count: int, evil: str) -> Row:
    """Mostly right; every fifth lacks the text, every seventh refuses, every eighth cites the wrong chunk."""
    number = int(row["qid"][1:])
    around = [f"guide#{(number + step) % count}" for step in (3, 0, 1, 2, 5)]
    claim = f"It is on shelf {number} north.{evil}"
    if nth % 5 == 4:
        claim = f"It is somewhere else.{evil}"
    if nth % 7 == 6 or (not row["answerable"] and nth % 3):
        claim = "not in context"
    cited = [around[0] if nth % 8 == 7 else around[1]]
    answer = {"claim": claim, "citations": [] if claim == "not in context" else cited}
    return {"qid": row["qid"], "retrieved_ids": around, "answer_json": answer}


def gated(folder: Path, *flags: str) -> Done:
    """The policy, judged in its folder."""
    with contextlib.chdir(folder):
        done = run_cli("gate", "-q", *flags)
    assert done.code in (0, 1, 3), done.err
    return done


def page_of(folder: Path, *flags: str) -> Path:
    """The page that the gate writes by itself."""
    gated(folder, *flags)
    return folder / ".ragworthy/report.html"


def island(html: str, name: str) -> Any:
    """Data that a page holds for its scripts."""
    begin = html.index(">", html.index(f'id="{name}"')) + 1
    return json.loads(html[begin : html.index("</script>", begin)])
