"""How far `answers.reference_f1` and `answers.reference_details` agree with other people's judgements on real answers.

Prints the tables of docs/references.md. It reads the data beside the repository (`../shared/data`), and says so and
ends where that is absent. Nothing is random: the same data give the same tables.
"""

import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.metrics.facts.reference import compare, f1
from ragworthy.records import Gold
from ragworthy.text import piece_occurs, fold

DATA = Path(__file__).resolve().parents[2] / "shared/data"
REFUSED = "not in context"
SQUAD = ("bert_single", "bidaf_selfattn_elmo", "nlnet_single")
QWEN = tuple(f"qwen3-{size}.config{nth}" for size in ("0.6b", "8b") for nth in (1, 2, 3, 4))


class Scored(NamedTuple):
    """Both metrics of one answer, and what somebody else says of it."""

    f1: float
    details: float | None
    contradicted: bool
    good: bool


def records(path: str) -> list[dict[str, Any]]:
    file = DATA / path
    opened = gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8")
    with opened as lines:
        return [json.loads(line) for line in lines if line.strip()]


def scored(references: list[str], claim: str, good: bool) -> Scored:
    found = compare(Gold(answerable=True, gold_reference=references), claim)
    details = None if not found.details else (0 if found.contradicted else found.stated) / found.details
    return Scored(found.num / found.den, details, found.contradicted, good)


# statistics


def auc(good: Sequence[float], bad: Sequence[float]) -> float | None:
    """The chance that a good answer has the higher value than a bad one; a tie counts half."""
    if not good or not bad:
        return None
    ordered = sorted(bad)
    from bisect import bisect_left, bisect_right

    wins = sum(bisect_left(ordered, one) + bisect_right(ordered, one) for one in good)
    return wins / (2 * len(good) * len(bad))


def correlation(values: Sequence[float], good: Sequence[bool]) -> float | None:
    """Point-biserial: Pearson's r between a number and a yes or no."""
    n = len(values)
    mean, rate = sum(values) / n, sum(good) / n
    spread = sum((one - mean) ** 2 for one in values) * n * rate * (1 - rate)
    if not spread:
        return None
    return sum((one - mean) * (yes - rate) for one, yes in zip(values, good, strict=True)) / spread**0.5


def row(name: str, some: Sequence[Scored], pick: Callable[[Scored], float | None]) -> str:
    known = [(value, one.good) for one in some if (value := pick(one)) is not None]
    good, bad = [v for v, yes in known if yes], [v for v, yes in known if not yes]
    means = [f"{sum(part) / len(part):.2f}" if part else "–" for part in (good, bad)]
    r = correlation([v for v, _ in known], [yes for _, yes in known]) if known else None
    cells = (name, len(good), len(bad), *means, _two(auc(good, bad)), _two(r))
    return f"| {' | '.join(map(str, cells))} |"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


HEAD = "| Data | good | bad | mean of good | mean of bad | AUC | r |\n|---|---|---|---|---|---|---|"


def both(name: str, some: Sequence[Scored]) -> Iterator[str]:
    yield row(f"{name}: `reference_f1`", some, lambda one: one.f1)
    yield row(f"{name}: `reference_details`", some, lambda one: one.details)


def contradictions(name: str, some: Sequence[Scored]) -> str:
    """How often the claim is said to contradict the reference, among good answers and among bad ones."""
    fired = [[one.contradicted for one in some if one.good is wanted] for wanted in (True, False)]
    return f"| {name} | " + " | ".join(f"{sum(part)} of {len(part)}" for part in fired) + " |"


# SQuAD: the official F1


def squad() -> None:
    gold = {one["qid"]: one for one in records("squad2/dev/gold.jsonl.gz")}
    print("\n## The official F1 of SQuAD 2.0, question by question\n")
    print("| System | answers to answerable questions | equal | mean difference | largest |\n|---|---|---|---|---|")
    for system in SQUAD:
        differences = []
        for trace in records(f"squad2/dev/trace_{system}.jsonl.gz"):
            item, claim = gold[trace["qid"]], trace["answer_json"]["claim"]
            if not item["answerable"] or claim == REFUSED:
                continue
            ours = max(float(f1(claim, one)) for one in item["gold_claim_substr"])
            differences.append((abs(ours - trace["label"]["squad_f1"]), claim, item["gold_claim_substr"]))
        same = sum(one < 1e-9 for one, *_ in differences)
        print(f"| {system} | {len(differences)} | {same} | {sum(one for one, *_ in differences) / len(differences):.5f} "
              f"| {max(one for one, *_ in differences):.3f} |")
        if "-v" in sys.argv:
            for one in differences:
                if one[0] > 1e-9:
                    print("   ", one, file=sys.stderr)


# sentences as references


def sentence_around(text: str, start: int) -> str:
    """The sentence of a paragraph that holds a place."""
    ends = [0, *(found.end() for found in re.finditer(r"[.!?][\"”)]*\s+(?=[A-Z\"“(])", text)), len(text)]
    begin = max(one for one in ends if one <= start)
    return text[begin : min(one for one in ends if one > start)].strip()


def squad_sentences() -> dict[str, list[str]]:
    chunks = {one["id"]: one["text"] for one in records("squad2/dev/corpus.jsonl")}
    return {
        one["qid"]: list(dict.fromkeys(sentence_around(chunks[one["context_id"]], answer["answer_start"])
                                       for answer in one["answers"]))
        for one in records("squad2/dev/meta.jsonl.gz")
        if one["answers"]
    }


def qwen() -> Iterator[tuple[str, list[Scored]]]:
    gold = {one["qid"]: one for one in records("squad2/dev/gold.jsonl.gz")}
    sentences = squad_sentences()
    contains: dict[str, list[Scored]] = {"0.6b": [], "8b": []}
    nli: list[Scored] = []
    for config in QWEN:
        for trace in records(f"llm_answers/qwen3_squad2/dev/trace.{config}.jsonl"):
            item, claim = gold.get(trace["qid"]), trace["answer_json"]["claim"] or ""
            if item is None or not item["answerable"] or claim.strip().lower() == REFUSED:
                continue
            right = piece_occurs(item["gold_claim_substr"], fold(claim), short_words=True)
            one = scored(sentences[trace["qid"]], claim, right)
            contains["8b" if "8b" in config else "0.6b"].append(one)
            label = trace["label"]
            nli.append(one._replace(good=label["source_f1"] >= 0.5))
    yield "Qwen3-0.6B, claim contains the short answer", contains["0.6b"]
    yield "Qwen3-8B, claim contains the short answer", contains["8b"]
    yield "Qwen3, F1 with the short answer ≥ 0.5 (label)", nli


def squad_system_sentences() -> Iterator[tuple[str, list[Scored]]]:
    """Short answers of three systems against whole sentences, good where the official EM is 1."""
    sentences = squad_sentences()
    for system in SQUAD:
        some = [
            scored(sentences[trace["qid"]], trace["answer_json"]["claim"], trace["label"]["squad_em"] == 1)
            for trace in records(f"squad2/dev/trace_{system}.jsonl.gz")
            if trace["qid"] in sentences and trace["answer_json"]["claim"] != REFUSED
        ]
        yield f"SQuAD {system}, official EM", some


def main() -> int:
    if not DATA.is_dir():
        print(f"no data at {DATA}: nothing to measure")
        return 0
    squad()
    groups = [*qwen(), *squad_system_sentences()]
    print(f"\n## Against labels\n\n{HEAD}")
    for name, some in groups:
        print("\n".join(both(name, some)))
    print("\n## Contradictions\n\n| Data | among good | among bad |\n|---|---|---|")
    for name, some in groups:
        print(contradictions(name, some))
    return 0


if __name__ == "__main__":
    sys.exit(main())
