"""How far `answers.reference_f1` and `answers.reference_details` agree with other people's judgements on real answers.

Prints the tables of docs/references.md. It reads the data beside the repository (`../shared/data`), and says so and
ends where that is absent. Nothing is random: the same data give the same tables.
"""

import gzip
import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.metrics.facts.reference import compare, f1
from ragworthy.records import Gold
from ragworthy.text import fold, piece_occurs

DATA = Path(__file__).resolve().parents[2] / "shared/data"
REFUSED = "not in context"
ROUNDED = 2e-6
"""The official values are kept with six places."""
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
    data = file.read_bytes()
    lines = (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()
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
    wins = sum(bisect_left(ordered, one) + bisect_right(ordered, one) for one in good)
    return wins / (2 * len(good) * len(bad))


def correlation(values: Sequence[float], good: Sequence[bool]) -> float | None:
    """Point-biserial: Pearson's r between a number and a yes or no."""
    n = len(values)
    mean, rate = sum(values) / n, sum(good) / n
    spread = sum((one - mean) ** 2 for one in values) * n * rate * (1 - rate)
    if not spread:
        return None
    return float(sum((one - mean) * (yes - rate) for one, yes in zip(values, good, strict=True)) / spread**0.5)


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
        same = sum(one < ROUNDED for one, *_ in differences)
        print(
            f"| {system} | {len(differences)} | {same} | {sum(one for one, *_ in differences) / len(differences):.5f} "
            f"| {max(one for one, *_ in differences):.3f} |"
        )
        if "-v" in sys.argv:
            for one in differences:
                if one[0] >= ROUNDED:
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
        one["qid"]: list(
            dict.fromkeys(
                sentence_around(chunks[one["context_id"]], answer["answer_start"]) for answer in one["answers"]
            )
        )
        for one in records("squad2/dev/meta.jsonl.gz")
        if one["answers"]
    }


def qwen() -> Iterator[tuple[str, list[Scored]]]:
    """Free answers of two models in four configurations each, against the sentence that holds the answer."""
    gold = {one["qid"]: one for one in records("squad2/dev/gold.jsonl.gz")}
    sentences = squad_sentences()
    found: dict[str, list[Scored]] = {}
    for config in QWEN:
        size = "8B" if "8b" in config else "0.6B"
        for trace in records(f"llm_answers/qwen3_squad2/dev/trace.{config}.jsonl"):
            item, claim, label = gold.get(trace["qid"]), trace["answer_json"]["claim"] or "", trace["label"]
            if item is None or not item["answerable"]:
                continue
            right = piece_occurs(item["gold_claim_substr"], fold(claim), short_words=True)
            one = scored(sentences[trace["qid"]], claim, right)
            goods = {f"Qwen3-{size}, claim contains the short answer": right}
            if not label["pattern_refusal"]:
                goods[f"Qwen3-{size}, the same without refusals (label)"] = right
            goods[f"Qwen3-{size}, exact match with the short answer (label)"] = label["source_em"] == 1
            goods[f"Qwen3-{size}, F1 with the short answer ≥ 0.5 (label)"] = label["source_f1"] >= 0.5
            if label["source_faithfulness"] is not None:
                goods[f"Qwen3-{size}, faithfulness 1 (label)"] = label["source_faithfulness"] == 1
            for name, good in goods.items():
                found.setdefault(name, []).append(one._replace(good=good))
    yield from found.items()


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


# people, edited facts, Chinese, experts


def clapnq() -> Iterator[tuple[str, list[Scored]]]:
    """Two people who answered the same question; and as bad answers, what they said to the question after it."""
    pairs = [one["human_answers"] for one in records("llm_answers/clapnq/dev/gold.jsonl")
             if len(one["human_answers"]) > 1]  # fmt: skip
    right = [scored([one[0]], one[1], True) for one in pairs]
    wrong = [scored([one[0]], other[1], False) for one, other in zip(pairs, [*pairs[1:], pairs[0]], strict=True)]
    yield "CLAPNQ, two people on one question or on two", right + wrong


def counterfactual(language: str) -> Iterator[tuple[str, list[Scored]]]:
    """True sentences as reference; against them other true sentences, and the same with one fact exchanged."""
    some: list[Scored] = []
    for one in records(f"llm_answers/rgb_counterfactual/dev/{language}_fact.jsonl"):
        true, false = one["positive"], one["positive_wrong"]
        for nth in range(1, min(len(true), len(false))):
            if true[nth] != false[nth] and true[nth] != true[0]:
                some += [scored([true[0]], true[nth], True), scored([true[0]], false[nth], False)]
    yield f"RGB {language}, a true sentence or one with a fact exchanged", some
    edited: list[Scored] = []
    for one in records(f"llm_answers/rgb_counterfactual/dev/{language}_fact.jsonl"):
        for true, false in zip(one["positive"], one["positive_wrong"], strict=False):
            if true != false:
                edited += [scored([true], true, True), scored([true], false, False)]
    yield f"RGB {language}, the reference itself or with a fact exchanged", edited


def _chinese_sentences(text: str) -> list[str]:
    return [one.strip() for one in re.findall(r"[^。！？\n]+[。！？]?", text) if one.strip()]


def rgb_zh() -> Iterator[tuple[str, list[Scored]]]:
    """The sentence with the answer from one page as reference; the same from another page, or one of a wrong page."""
    chunks = {one["id"]: one["text"] for one in records("llm_answers/rgb_zh/dev/corpus.jsonl.gz")}
    some: list[Scored] = []
    for item in records("llm_answers/rgb_zh/dev/gold.jsonl"):
        answers = item["gold_claim_substr"]
        holding = [
            sentence
            for name in item["gold_citations"]
            for sentence in _chinese_sentences(chunks.get(name, ""))[:40]
            if any(answer in sentence for answer in answers)
        ]
        holding = list(dict.fromkeys(one for one in holding if 8 <= len(one) <= 200))
        asked = set(item["question"])
        others = [one for name in item["negatives"] for one in _chinese_sentences(chunks.get(name, ""))
                  if 8 <= len(one) <= 200 and not any(answer in one for answer in answers)]  # fmt: skip
        if len(holding) > 1 and others:
            nearest = max(others, key=lambda one: (len(asked & set(one)) / len(set(one)) ** 0.5, one))
            some += [scored([holding[0]], holding[1], True), scored([holding[0]], nearest, False)]
    yield "RGB zh, a sentence with the answer or a near one without", some


def expertqa() -> Iterator[tuple[str, list[Scored]]]:
    """Claims against the text they cite, with what experts say of support and correctness."""
    chunks = {one["id"]: one["text"] for one in records("llm_answers/expertqa/dev/evidence_corpus.jsonl")}
    support: list[Scored] = []
    correct: list[Scored] = []
    for trace in records("llm_answers/expertqa/dev/trace.jsonl"):
        for claim in trace["label"]["claims"]:
            texts = [chunks[one] for one in claim["citations"] if chunks.get(one, "").strip()]
            if not texts:
                continue
            one = scored(texts, claim["text"], False)
            if claim["support"] in ("Complete", "Incomplete", "Partial", "Missing"):
                support.append(one._replace(good=claim["support"] == "Complete"))
            if claim["correctness"] not in (None, "Unsure"):
                correct.append(one._replace(good=claim["correctness"] in ("Definitely correct", "Probably correct")))
    yield "ExpertQA, support complete, against the cited text", support
    yield "ExpertQA, claim correct, against the cited text", correct


def main() -> int:
    if not DATA.is_dir():
        print(f"no data at {DATA}: nothing to measure")
        return 0
    squad()
    groups = [*qwen(), *squad_system_sentences(), *clapnq(), *counterfactual("en"), *counterfactual("zh"), *rgb_zh(),
              *expertqa()]  # fmt: skip
    print(f"\n## Against labels\n\n{HEAD}")
    for name, some in groups:
        print("\n".join(both(name, some)))
    print("\n## Contradictions\n\n| Data | among good | among bad |\n|---|---|---|")
    for name, some in groups:
        print(contradictions(name, some))
    return 0


if __name__ == "__main__":
    sys.exit(main())
