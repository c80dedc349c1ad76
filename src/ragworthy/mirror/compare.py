"""Both sides of every mirrored question compared with each other, by evidence."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.facts.convergence import PARAPHRASES, Seen, run_marks
from ragworthy.metrics.facts.orders import DEPTH, alike, jaccard, kendall_tau_b, rbo
from ragworthy.mirror.answers import Answer
from ragworthy.mirror.evidence import Matcher, Shelf
from ragworthy.mirror.questions import Question
from ragworthy.stats import percentile

SHOWN = 10
"""So many questions, documents and ids are listed."""


class Pair(NamedTuple):
    """A question with the answers of both sides; None where a side has none."""

    question: Question
    live: Answer | None
    shadow: Answer | None

    @property
    def both(self) -> tuple[Answer, Answer] | None:
        """Both answers, where neither is an error."""
        if self.live is None or self.shadow is None or self.live.error or self.shadow.error:
            return None
        return self.live, self.shadow


class Row(NamedTuple):
    """What changed for one question."""

    qid: str
    question: str
    overlap: float
    rbo: float
    tau: float
    same_first: bool | None
    """Whether both cite the same evidence first; None where one of them cites nothing."""
    same_any: bool | None
    lost: tuple[str, ...]
    """Documents among the first ten of the live side that the shadow does not have there, under any name."""
    kept: tuple[str, ...]
    live: tuple[str, ...]
    shadow: tuple[str, ...]


def rows(pairs: Iterable[Pair], matcher: Matcher, shelves: tuple[Shelf, Shelf]) -> list[Row]:
    """Every question that both sides have results for."""
    live, shadow = shelves
    found = []
    for pair in pairs:
        if pair.both is None:
            continue
        one, other = pair.both
        before, after = one.ids[:DEPTH], other.ids[:DEPTH]
        now, same = matcher.renamed(before, after)
        here = _unique(map(live.document, before))
        there = {*map(shadow.document, after), *map(live.document, same)}
        found.append(
            Row(
                pair.question.qid,
                pair.question.text,
                round(jaccard(before, now, DEPTH), 6),
                round(rbo(before, now, k=DEPTH), 6),
                round(alike(kendall_tau_b, before, now, DEPTH), 6),
                *_cited(one, other, matcher),
                tuple(doc for doc in here if doc not in there),
                tuple(doc for doc in here if doc in there),
                before,
                after,
            )
        )
    return found


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _cited(one: Answer, other: Answer, matcher: Matcher) -> tuple[bool | None, bool | None]:
    if not one.citations or not other.citations:
        return None, None
    first = bool(matcher.same(one.citations[0], other.citations[0]))
    return first, first or any(matcher.same(a, b) for a in one.citations for b in other.citations)


def churn(found: Sequence[Row]) -> dict[str, Any]:
    """How much the first ten results change."""
    order = sorted(range(len(found)), key=lambda nth: (found[nth].rbo, found[nth].overlap, nth))
    return {
        "questions": len(found),
        "identical": sum(one.rbo == 1 and one.overlap == 1 and one.tau == 1 for one in found),
        "overlap_mean": _mean([one.overlap for one in found]),
        "rbo_mean": _mean([one.rbo for one in found]),
        "tau_mean": _mean([one.tau for one in found]),
        "most_changed": [
            {"qid": one.qid, "question": one.question, "overlap": one.overlap, "rbo": one.rbo, "tau": one.tau,
             "live": list(one.live), "shadow": list(one.shadow)}
            for one in (found[nth] for nth in order[:SHOWN]) if one.rbo < 1
        ],
    }  # fmt: skip


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return round(float(sum((Fraction(f"{value:.6f}") for value in values), Fraction(0)) / len(values)), 6)


def cited(found: Sequence[Row], matcher: Matcher) -> dict[str, Any]:
    """How often both sides cite the same evidence."""
    compared = [one for one in found if one.same_any is not None]
    changed = [one.qid for one in compared if not one.same_any]
    return {
        "compared": len(compared),
        "first_same": sum(bool(one.same_first) for one in compared),
        "any_same": sum(bool(one.same_any) for one in compared),
        "told_by": {by: matcher.told[by] for by in sorted(matcher.told)},
        "changed": changed[:SHOWN],
    }


def lost(pairs: Sequence[Pair], found: Sequence[Row], shelves: tuple[Shelf, Shelf]) -> dict[str, Any]:
    """Documents that questions lost; `gone` where the shadow returned them for no question at all."""
    live, shadow = shelves
    still = {doc for row in found for doc in row.kept}
    cited_by: Counter[str] = Counter()
    for pair in pairs:
        if pair.shadow is not None:
            still |= {shadow.document(name) for name in pair.shadow.ids}
        if pair.live is not None:
            cited_by.update({live.document(name) for name in pair.live.citations})
    where: dict[str, list[str]] = defaultdict(list)
    for row in found:
        for doc in row.lost:
            where[doc].append(row.qid)
    gone = [doc for doc in where if doc not in still]
    order = sorted(where, key=lambda doc: (doc in still, -len(where[doc]), doc))
    return {
        "documents": len(where),
        "gone": len(gone),
        "listed": [
            {"document": doc, "questions": len(where[doc]), "gone": doc not in still, "cited_live": cited_by[doc],
             "qids": where[doc][:SHOWN]}
            for doc in order[:SHOWN]
        ],
    }  # fmt: skip


def cite_first(answers: Iterable[tuple[Question, Answer | None]]) -> dict[str, Any]:
    """How many answers cite first what they retrieved, and what breaks the others."""
    shipped, broken, qids = 0, Counter[str](), []
    for question, answer in answers:
        if answer is None or not answer.shipped:
            continue
        shipped += 1
        if answer.broken:
            broken[answer.broken] += 1
            qids.append(question.qid)
    kept = shipped - broken.total()
    return {"answers": shipped, "kept": kept, "broken": dict(sorted(broken.items())), "qids": qids[:SHOWN]}


# λ


def marked(
    sides: Sequence[tuple[Question, Answer | None]], shelf: Shelf
) -> tuple[list[Answer | None], dict[int, list[str]], dict[str, Any] | None]:
    """The answers with their marks, the marks of all runs of each question, and how many triplets diverge."""
    groups: dict[str, list[int]] = defaultdict(list)
    for nth, (question, answer) in enumerate(sides):
        if question.grouped and answer is not None:
            groups[question.qid].append(nth)
    made = [answer for _, answer in sides]
    states: dict[int, list[str]] = {}
    triplets = diverged = 0
    for places in groups.values():
        seen = {nth: _seen(made[nth], shelf) for nth in places}
        marks = run_marks([seen[nth] for nth in places])
        for nth, mark in zip(places, marks, strict=True):
            one = made[nth]
            made[nth] = one._replace(mark=mark, section=seen[nth].key) if one is not None else None
            states[nth] = marks
        by_seed: dict[int, list[int]] = defaultdict(list)
        for nth in places:
            by_seed[sides[nth][0].seed].append(nth)
        for runs in by_seed.values():
            if len({sides[nth][0].paraphrase for nth in runs}) >= PARAPHRASES:
                keys = [seen[nth].key for nth in runs[:PARAPHRASES]]
                triplets += 1
                diverged += not keys[0] or len(set(keys)) > 1
    told = (
        {"triplets": triplets, "diverged": diverged, "flip_rate": round(diverged / triplets, 6)} if triplets else None
    )
    return made, states, told


def _seen(answer: Answer | None, shelf: Shelf) -> Seen:
    if answer is None or not answer.shipped or not answer.citations:
        return Seen("", ())
    return Seen(shelf.section(answer.citations[0]), answer.citations)


# ΔS


def spread(values: Iterable[float | None]) -> dict[str, Any]:
    """The median and the 90th percentile of distances, exact to six places."""
    there = sorted(Fraction(f"{value:.6f}") for value in values if value is not None)
    if not there:
        return {"n": 0, "median": None, "p90": None}
    median, p90 = (round(float(percentile(there, percent)), 6) for percent in (50, 90))
    return {"n": len(there), "median": median, "p90": p90}


def moved(pairs: Iterable[Pair]) -> Mapping[str, int]:
    """How the distance of the chosen citation moved, where both sides have one."""
    counts = {"nearer": 0, "same": 0, "farther": 0}
    for pair in pairs:
        if pair.live is None or pair.shadow is None or pair.live.delta_s is None or pair.shadow.delta_s is None:
            continue
        step = round(pair.shadow.delta_s - pair.live.delta_s, 6)
        counts["nearer" if step < 0 else "farther" if step > 0 else "same"] += 1
    return counts
