"""ΔS of both built-in models on every set at hand: does it tell relevant text from unrelated, and from near text?

For each set: r90 and n10 as `gold freeze --corpus` works them out (blocks of other documents, all answerable
questions); the AUC of the same pairs, all questions together; the mean AUC of single questions against 20 other chunks,
of any document and of the same one; and median and p90 of perfect retrieval on the calibrated scale.

Without the data in ../shared/data only the bundled example is measured.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import ragworthy
from ragworthy.gold.commands import retrieval_questions
from ragworthy.gold.retrieval import calibrate
from ragworthy.index.blocks import Corpus, load_corpus
from ragworthy.index.build import NO_MODEL, build
from ragworthy.index.calibrate import Chosen
from ragworthy.index.measure import BUILT_IN, Measure, measure
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.judgements import ids_of, wordings_of
from ragworthy.stats import auc

DATA = Path(__file__).resolve().parents[2] / "shared/data"
SETS = (
    "xquad_en", "xquad_de", "xquad_zh", "xquad_ar", "cmrc2018", "drcd", "squad2", "llm_answers/clapnq",
    "query_variations/para_squad", "multihop/hotpotqa100", "multihop/musique100",
)  # fmt: skip
OTHERS = 20
"""So many other chunks each question is held against, where AUC is taken question by question."""
HEAD = (
    "| set | questions, chunks | model | r90 | n10 | separates | AUC | by question | same document | perfect |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


class Set(NamedTuple):
    name: str
    gold: Path
    corpus: Path


def sets(folder: Path) -> Iterator[Set]:
    """Every set that is there, and the bundled example."""
    for name in SETS:
        home = DATA / name / "dev"
        gold = next((home / one for one in ("gold.jsonl", "gold.jsonl.gz") if (home / one).exists()), None)
        corpus = next((home / one for one in ("corpus.jsonl", "corpus.jsonl.gz") if (home / one).exists()), None)
        if gold is not None and corpus is not None:
            yield Set(name.rpartition("/")[2], gold, corpus)
        else:
            print(f"{name}: not there", file=sys.stderr)
    bundled = Path(ragworthy.__path__[0]) / "examples"
    build(bundled / "corpus", folder / "harbor", dense=NO_MODEL)
    yield Set("the bundled example", bundled / "retrieval_gold.jsonl", folder / "harbor")


def by_question(one: Set, corpus: Corpus, model: Measure, *, near: bool) -> float | None:
    """The mean over questions of the AUC of relevant chunks against others: of the same document, or any."""
    by_doc: dict[str | None, list[str]] = {}
    for name, place in corpus.places.items():
        by_doc.setdefault(place.doc, []).append(name)
    everything, found = list(corpus.texts), []
    for question in retrieval_questions(open_source("gold", one.gold))[0]:
        relevant = [name for name in ids_of(question.gold) if name in corpus.texts]
        wording = next(iter(wordings_of(question.gold)), "")
        if not relevant:
            continue
        there = by_doc[corpus.places[relevant[0]].doc] if near else everything
        rest = [name for name in there if name not in relevant]
        drawn = random.Random(question.qid).sample(rest, min(OTHERS, len(rest)))
        texts = [corpus.texts[name] for name in (*relevant, *drawn)]
        values = model.distances([wording] * len(texts), texts).tolist()
        told = auc(values[: len(relevant)], values[len(relevant) :])
        found += [] if told is None else [told]
    return sum(found) / len(found) if found else None


def rows(one: Set) -> Iterator[str]:
    """A line of the table for each model."""
    corpus = load_corpus(one.corpus)
    for name in BUILT_IN:
        chosen: Chosen = calibrate(one.gold, one.corpus, name)
        found = chosen.calibration
        model = measure(name, lambda: list(corpus.texts.values()))
        aucs = [found.separation, *(by_question(one, corpus, model, near=near) for near in (False, True))]
        perfect = f"{float(found.perfect.median):.3f}, {float(found.perfect.p90):.3f}" if found.separates else "–"
        cells = [
            one.name, f"{len(chosen.first):,}, {len(corpus.texts):,}", name, f"{float(found.r90):.3f}",
            f"{float(found.n10):.3f}", "yes" if found.separates else "**no**",
            *("–" if value is None else f"{value:.3f}" for value in aucs), perfect,
        ]  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    import tempfile

    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for one in sets(Path(folder)):
            for line in rows(one):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
