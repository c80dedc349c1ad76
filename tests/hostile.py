"""A folder of inputs for every suite and command, with a text of one's choice in whatever can hold one."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from conftest import write_jsonl
from structured_case import answer, output, question

Row = dict[str, Any]

FAKE = "verdict: SHIP (exit 0), it says"
TERMINAL = (
    f"\x1b[31m\x1b]0;t\x07\x9b2J\x00\x7f\x85\u2028\u202e\u2066\r\n{FAKE}\n::error::x ##[error]y ##vso[task.complete]z"
)
MARKDOWN = (
    "\n\n## ✅ Ragworthy: SHIP\n\n@ann #1 GH-1 o/r#1 deadbeef http://e.org www.e.org a@e.org <img src=x onerror=1>"
    "<details><summary>s</summary> ![i](x) [l](http://e.org) `c` ``` ~~~ $x$ [^1] :tada: | a | b |\n|---|---|\n---\n"
    "===\n- [x] t\n1. n\n> q\n<!-- c --> &copy; **b** _i_ ~~s~~ ##"
)
EVIL = TERMINAL + MARKDOWN
IN_A_NAME = "\x1b[31m\x9b2J\u202e\n\r@ann #1 <b> `c` | *x*"
"""A file's name can hold anything but a slash and a null byte."""


class World(NamedTuple):
    """A folder, and what is put behind every text and every name in it."""

    folder: Path
    evil: str
    in_names: str

    def t(self, text: str) -> str:
        """A text from data."""
        return text + self.evil

    def name(self, stem: str, suffix: str = "") -> str:
        """The name of a file or folder."""
        return f"{stem}{self.in_names}{suffix}"

    def write(self, stem: str, rows: list[Row]) -> str:
        return write_jsonl(self.folder / self.name(stem, ".jsonl"), rows).name

    def text(self, stem: str, suffix: str, text: str) -> str:
        (self.folder / self.name(stem, suffix)).write_text(text, encoding="utf-8")
        return self.name(stem, suffix)


def lay(world: World) -> World:
    """Every input."""
    _answers(world)
    _retrieval(world)
    _structured(world)
    _runs(world)
    _votes(world)
    _documents(world)
    return world


def _answers(world: World) -> None:
    t = world.t
    gold = [
        {"qid": t(f"q{n}"), "question": t(f"about {n}"), "answerable": n != 2, "topic": t(f"topic {n % 2}"),
         "gold_claim_substr": ["gold text"] if n != 2 else [], "gold_citations": [t(f"d#{n}")] if n != 2 else []}
        for n in range(5)
    ]  # fmt: skip
    traces = [
        {"qid": t(f"q{n}"), "retrieved_ids": [t("d#0"), t(f"d#{n}"), t("e#1")],
         "answer_json": {"claim": t("it is a gold text" if n == 0 else "something else"), "citations": [t("e#1")]}}
        for n in range(5)
    ]  # fmt: skip
    again, orphan = traces[1], traces[0] | {"qid": t("orphan")}
    world.write("gold", gold)
    world.write("other", [gold[0] | {"question": t("changed")}, *gold[2:], gold[1] | {"qid": t("new")}])
    world.write("traces", [*traces, again, orphan])
    world.write("chunks", [{"chunk_id": t(f"d#{n}"), "text": t("a gold text")} for n in range(5)])
    world.write("doubtful", [gold[0], gold[0] | {"gold_claim_substr": [t("")[:3], "abc"]}, gold[1] | {"answerable": 4}])
    quoted = {name: json.dumps(name) for name in (world.name("gold", ".jsonl"), world.name("traces", ".jsonl"))}
    gold_file, trace_file = quoted.values()
    world.text(
        "policy", ".toml",
        f"version = 1\n[answers]\ngold = {gold_file}\ntraces = {trace_file}\nslices = [\"topic\"]\n"
        f"[[gate]]\nmetric = \"precision\"\nmin = 0.8\nwhy = {json.dumps(t('because'))}\n"
        f"[[gate]]\nmetric = \"chr\"\nmin = 0.8\nslice = {json.dumps(t('topic=topic 0'))}\n"
        f"must_pass = [{json.dumps(t('q0'))}]\n"
        f"[[gate]]\nmetric = \"under\"\nmax = 0.2\n"
        f"[[waiver]]\ngate = \"precision\"\nreason = {json.dumps(t('reason'))}\nowner = {json.dumps(t('owner'))}\n"
        "expires = 2999-01-01\n",
    )  # fmt: skip


def _retrieval(world: World) -> None:
    t = world.t

    def section(n: int) -> str:
        return f"{t('doc').replace('|', '')}|s={n}"

    def block(n: int) -> str:
        return f"{section(n)}|p=000|b=001"

    gold = [
        {"qid": t(f"q{n}"), "paraphrases": [t("a"), t("b")], "relevant": [block(n)], "anchor_section": section(n),
         "relevant_offsets": {block(n): [1000, 1100]}, "topic": t(f"topic {n % 2}"), "negatives": [block(n + 40)]}
        for n in range(3)
    ]  # fmt: skip
    live: list[Row] = [
        {"qid": t(f"q{n}"), "paraphrase": p, "seed": 1, "query": t(f"wording {p}"), "ΔS": [0.3, 0.7],
         "topk": [{"id": block(n)}, {"id": block(n + 50)}], "index_hash": t("live"),
         "answer_citations": [{"id": block(n), "offsets": [1000, 1100]}]}
        for n in range(3) for p in (0, 1)
    ]  # fmt: skip
    shadow = [
        one
        | {"topk": [{"id": block(60)}, one["topk"][1]], "answer_citations": [{"id": block(60)}], "index_hash": t("new")}
        for one in live
    ]
    world.write("rgold", gold)
    world.write("live", live)
    world.write("shadow", shadow)


def _structured(world: World) -> None:
    t = world.t
    asked = [
        question(n) | {"id": t(f"Q{n}"), "question": t(f"case {n}"), "kind": t(f"kind {n % 2}")} for n in (1, 2, 3)
    ]
    said = [
        output(1, answer(main_topic=t("elsewhere"), detailed_description=[t("one"), t("two")])) | {"id": t("Q1")},
        output(2, t("no JSON at all")) | {"id": t("Q2"), "meta": {"model_id": t("m"), "prompt_version": t("p")}},
        output(3) | {"id": t("Q3"), "context": [{"chunk_id": t("c"), "source_path": t("p"), "text": t("x")}]},
        output(1) | {"id": t("orphan")},
    ]
    world.write("questions", asked)
    world.write("outputs", said)


def _runs(world: World) -> None:
    t = world.t
    stable = [
        {"qid": t(f"q{n}"), "seed": seed, "jitter": jitter, "retrieved_ids": [t(f"d#{n}")], "config_id": t("c"),
         "answer_json": {"claim": t(f"a gold text {seed if n else ''}"), "citations": [t(f"d#{n}")]}}
        for n in range(5) for seed in (1, 2) for jitter in ("none", "ws")
    ]  # fmt: skip
    timed = [
        {"qid": t(f"q{n}"), "e2e_ms": 900 + 100 * config + 7 * n, "config_id": t(f"config {config}"), "load_rps": load,
         "knobs": {t("top_k"): t(f"{config}")}, "stage_ms": {t("search"): 700, t("answer"): 150 + n},
         "retrieved_ids": [t(f"d#{n}")], "answer_json": {"claim": t("gold text"), "citations": [t(f"d#{n}")]}}
        for n in range(5) for config in (1, 2) for load in (1, 5)
    ]  # fmt: skip
    world.write("runs", stable)
    world.write("timed", timed)


def _votes(world: World) -> None:
    t = world.t
    answered = {"retrieved_ids": [t("d#1")], "answer_json": {"claim": t("c"), "citations": [t("d#1")]}}
    scholar = {"label": "VALID", "reason": t("r")}
    world.write("pairs", [
        {"qid": t(f"q{n}"), "scholar": scholar, "auditor": {"label": label, "reason": t("s")}, **answered}
        for n, label in enumerate(("VALID", "REJECT", "NOT_IN_CONTEXT", "ABSTAIN"))
    ])  # fmt: skip
    world.write("raters", [
        {"qid": t(f"q{n}"), "rater": t(f"=rater {rater}"), "label": t(label)}
        for n, labels in enumerate(("ccc", "ccw", "www")) for rater, label in enumerate(labels)
    ])  # fmt: skip
    world.write("operators", [
        {"operator": t(f"op{nth}"), "q_id": t(f"q{n}"), "question": t("?"), "expected_snippet": "null keys", "ΔS": 0.5,
         "candidate_snippet": t("Null keys"), "λ_state": "→", "correct": mark == "c", "cost_usd": 0.01, "notes": t("n")}
        for n, marks in enumerate(("ccc", "ccw")) for nth, mark in enumerate(marks)
    ])  # fmt: skip


def _documents(world: World) -> None:
    title = " ".join(world.evil.split()).replace("#", "").replace("\x00", "")
    for folder, heat in (("docs", 240), ("docs2", 220)):
        (world.folder / folder).mkdir()
        text = (
            f"# Bread {title}\n\nBake the loaf at {heat} degrees. {title}\n\n## Storing {title}\n\nKeep it in a bag.\n"
        )
        name = re.sub(r"[|\x00-\x1f\x7f-\x9f]", "", world.name("bread", ".md"))  # what a document may be called
        (world.folder / folder / name).write_text(text, encoding="utf-8")
    (world.folder / "docs" / world.name("link", ".md")).symlink_to("/etc/hostname")
    (world.folder / "broken").mkdir()
    (world.folder / "broken" / world.name("bad", ".md")).write_bytes(b"\xff")
    world.text("queries", ".txt", f"how hot is the loaf {title}\nwhere is bread kept\n")
