"""What `init` and `demo` write: a policy, gold and traces to start from, taken from the bundled example."""

import json
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.runner.ended import SCHEMA, SUMMARY
from ragworthy.runner.journal import EXAMPLE

GATES = """\
[[gate]]
metric = "answers.precision"
min = 0.80
why = "what we ship must be right and cited"

[[gate]]
metric = "answers.chr"
min = 0.75
why = "answers cite the evidence"

[[gate]]
metric = "answers.under_refusal"
max = 0.05
why = "no answer where the corpus has none"

[[gate]]
metric = "answers.over_refusal"
max = 0.10
why = "no refusal where the corpus has the answer"
"""
"""The usual gates on answers, as people write them."""
POLICY = """\
# What must hold before this pipeline ships. 'ragworthy gate' reads it; docs: 'ragworthy explain'.
version = 1
evidence = "point"                  # or "interval": the 95 % interval decides

[answers]
gold = "{gold}"
traces = "{traces}"
k = 5
short_substr = "word"               # answers under 5 characters count as whole words; or "reject"
refusals = ["not in context"]       # texts that count as a refusal (trimmed, any case)
scu = {scu}

{gates}"""

SHADOW_POLICY = """\
# What a new index must hold before it takes traffic. The questions, wordings and seeds are those of the live one.
version = 1
defaults = false                    # only the gates below: the canary's are shown beside them

[retrieval]
gold = "retrieval_gold.jsonl"
traces = "runs/shadow.jsonl"
live = "runs/live.jsonl"
corpus = "index/shadow"
live_corpus = "index/live"
redirects = ["redirects.json"]

[[gate]]
metric = "retrieval.recall@5"
max_drop = 0.02
why = "a new index must not lose what the live one finds"

[[gate]]
metric = "retrieval.hit@10"
min = 0.80
why = "a reranker can only use what is there"

[[gate]]
metric = "retrieval.anchor_hit@5"
min = 0.80
why = "the section that answers must be in sight"

[[gate]]
metric = "retrieval.collapsed"
max = 0
why = "no question may lead to a different place in every wording"
"""
RETIRED = "R053"
"""The question of the bundled retrieval set whose section the new documents no longer have."""
TINY = 12
"""How many questions `init` writes."""


class Laid(NamedTuple):
    """The files that were written."""

    policy: Path
    gold: Path
    traces: list[Path]


def example(name: str) -> str:
    """A file of the bundled example."""
    return (resources.files("ragworthy") / "examples" / name).read_text(encoding="utf-8")


def init(folder: Path) -> Laid:
    """Write a policy, a tiny gold set and traces; never overwrites."""
    traces_at = "runs/latest/traces.jsonl"
    laid = Laid(folder / "ragworthy.toml", folder / "gold/answers.jsonl", [folder / traces_at])
    gold, traces = _tiny()
    files = {
        laid.policy: POLICY.format(gold="gold/answers.jsonl", traces=traces_at, scu="false", gates=GATES),
        laid.gold: gold,
        laid.traces[0]: traces,
        # `ragworthy run --out runs/latest` may take the place of these traces, and of no others.
        laid.traces[0].with_name(SUMMARY): json.dumps({"schema": SCHEMA, "target": EXAMPLE}) + "\n",
    }
    write_new(files)
    return laid


def _tiny() -> tuple[str, str]:
    """The first questions of each kind that the example's good run gets right."""
    gold = example("gold.jsonl").splitlines()
    traces = {json.loads(line)["qid"]: line for line in example("runs/candidate.jsonl").splitlines()}
    kept: dict[bool, list[str]] = {True: [], False: []}
    for line in gold:
        item = json.loads(line)
        answer = json.loads(traces[item["qid"]])["answer_json"]
        refused = answer["claim"] == "not in context"
        right = any(piece.lower() in answer["claim"].lower() for piece in item["gold_claim_substr"])
        cited = bool(set(answer["citations"]) & set(item["gold_citations"]))
        if (refused and not item["answerable"]) or (item["answerable"] and right and cited):
            kept[item["answerable"]].append(line)
    chosen = kept[True][: TINY * 2 // 3] + kept[False][: TINY // 3]
    lines = [traces[json.loads(line)["qid"]] for line in chosen]
    return "\n".join(chosen) + "\n", "\n".join(lines) + "\n"


def check_demo(folder: Path) -> None:
    """Refuse a folder with anything in it, unless that is an earlier demo."""
    there = folder / "gold.jsonl"
    ours = there.is_file() and there.read_bytes() == example("gold.jsonl").encode()
    if folder.is_dir() and any(folder.iterdir()) and not ours:
        raise usage_error(f"{folder}: expected a new folder, or one with an earlier demo, got another", code="RW-U03")


def demo(folder: Path) -> Laid:
    """Write the whole bundled example: its gold set, both recorded runs and a policy for each."""
    runs = ("candidate", "regressed")
    files = {folder / "gold.jsonl": example("gold.jsonl"), folder / "chunks.jsonl": example("chunks.jsonl")}
    for run in runs:
        files[folder / f"runs/{run}.jsonl"] = example(f"runs/{run}.jsonl")
        policy = POLICY.format(gold="gold.jsonl", traces=f"runs/{run}.jsonl", scu="true", gates=GATES)
        policy = policy.replace("k = 5\n", 'k = 5\ncorpus = "chunks.jsonl"\nslices = ["topic"]\n')
        files[folder / f"{run}.toml"] = policy
    for path, text in files.items():
        write_whole(path, text.encode())
    return Laid(folder / "candidate.toml", folder / "gold.jsonl", [folder / f"runs/{run}.jsonl" for run in runs])


class Shadow(NamedTuple):
    """The files of the comparison of two indexes."""

    live_docs: Path
    shadow_docs: Path
    all_questions: Path
    gold: Path
    policy: Path


def shadow(folder: Path) -> Shadow:
    """Write both versions of the bundled documents, the retrieval questions and a policy."""
    root = resources.files("ragworthy") / "examples"
    for name in ("corpus", "corpus_next"):
        for document in (root / name).iterdir():
            write_whole(folder / name / document.name, document.read_bytes())
    questions = example("retrieval_gold.jsonl")
    kept = [line for line in questions.splitlines() if json.loads(line)["qid"] != RETIRED]
    laid = Shadow(
        folder / "corpus",
        folder / "corpus_next",
        folder / "retrieval_gold.all.jsonl",
        folder / "retrieval_gold.jsonl",
        folder / "shadow.toml",
    )
    write_whole(laid.all_questions, questions.encode())
    write_whole(laid.gold, ("\n".join(kept) + "\n").encode())
    write_whole(laid.policy, SHADOW_POLICY.encode())
    return laid


def adapter(folder: Path, kind: str) -> tuple[Path, str]:
    """Write a stub that connects a pipeline; tells where it stands, and the target to run."""
    path = folder / "rag_target.py"
    write_new({path: (resources.files("ragworthy") / "stubs" / f"{kind}.txt").read_text(encoding="utf-8")})
    return path, f"cmd:python {path}" if kind == "command" else f"{path}:answer"


def write_new(files: dict[Path, str]) -> None:
    """Write files none of which is there yet."""
    there = [path for path in files if path.exists()]
    if there:
        raise usage_error(f"{there[0]}: already there", code="RW-U03")
    for path, text in files.items():
        write_whole(path, text.encode())
