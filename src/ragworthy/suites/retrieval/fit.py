"""Whether traces belong to their gold questions: what they ask, and whether they know the gold ids at all."""

from collections.abc import Mapping
from typing import NamedTuple

from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey
from ragworthy.metrics.facts.runs import Reading
from ragworthy.metrics.facts.wanted import NO_WORDING, Wanted, asks_otherwise
from ragworthy.report.part import Note
from ragworthy.report.show import plural
from ragworthy.suites.id_forms import Unseen, unseen
from ragworthy.suites.unfitting import asked_as, unfitting
from ragworthy.text import squeeze


class Fit(NamedTuple):
    """What does not fit."""

    compared: int
    """Questions whose traces say what was asked, and whose gold item does."""
    others: list[tuple[str, str]]
    """Those of which no trace asks any wording, each with a text that was asked."""
    strays: list[tuple[str, str]]
    """Wordings that the gold set does not have, of questions that were asked in known ones too."""
    unseen: Unseen | None
    twice: list[str]
    """Questions with wordings that are there twice, under several numbers."""
    beyond: list[str]
    """Questions with runs that say only the number of a wording, and one that the gold set does not have."""

    @property
    def elsewhere(self) -> bool:
        """Whether most questions that can be compared were asked as something else."""
        return 2 * len(self.others) > self.compared

    @property
    def invalid(self) -> tuple[str, ...]:
        """Why the traces cannot speak for this gold set."""
        return unfitting(self.others if self.elsewhere else (), self.compared, self.unseen)

    @property
    def notes(self) -> list[Note]:
        """What should be looked at."""
        others, strays, twice, beyond = self.others, self.strays, self.twice, self.beyond
        asked = plural(len(others), "question was", "questions were")
        odd = plural(len(strays), "wording is", "wordings are")
        lost = self.unseen
        return [
            Note("RW-W79", len(others), f"{asked} asked with another text than the gold set has, e.g. "
                 f"{asked_as(others[0]) if others else ''}", [qid for qid, _ in others]),
            Note("RW-W80", len(strays), f"{odd} in no gold question and scored as a run of its own, e.g. "
                 f"{asked_as(strays[0]) if strays else ''}", [qid for qid, _ in strays]),
            Note("RW-W82" if lost is not None and lost.alike is not None else "RW-W81",
                 len(lost.names) if lost is not None else 0, lost.told if lost is not None else ""),
            Note("RW-W182", len(twice), f"{plural(len(twice), 'question has', 'questions have')} the same wording "
                 f"under several numbers, which counts as one, e.g. {', '.join(twice[:1])}", twice),
            Note("RW-W183", len(beyond), f"{plural(len(beyond), 'question has', 'questions have')} runs of a wording "
                 f"(paraphrase) that the gold set does not have, e.g. {', '.join(beyond[:1])}", beyond),
        ]  # fmt: skip


def fit_of(arm: Arm, *, known_corpus: bool) -> Fit:
    """Compare traces with what the gold set asks, and where no corpus says which ids there are, their ids too."""
    compared = 0
    others: list[tuple[str, str]] = []
    strays: list[tuple[str, str]] = []
    for one in arm.asked:
        texts = _texts(one)
        odd = [text for text in texts if asks_otherwise(one.wanted, text)]
        compared += bool(texts)
        if odd and len(odd) == len(texts):
            others.append((one.wanted.qid, odd[0]))
        else:
            strays += [(one.wanted.qid, text) for text in odd]
    beyond = [one.wanted.qid for one in arm.asked if _is_beyond(one)]
    twice = [one.wanted.qid for one in arm.asked if one.question.twice and not _is_beyond(one)]
    return Fit(compared, others, strays, None if known_corpus else _unseen(arm), twice, beyond)


def _is_beyond(one: Asked) -> bool:
    count = len(one.wanted.wordings)
    return bool(count) and any(not run.query and not 0 <= wording < count for (wording, _), run in one.runs.items())


def _texts(one: Asked) -> list[str]:
    if not one.wanted.wordings and not one.wanted.question:
        return []
    return list(dict.fromkeys(run.query for _, run in sorted(one.runs.items()) if run.query))


def _unseen(arm: Arm) -> Unseen | None:
    """Gold ids in no trace. They are only looked for where a question missed one, so that a good file costs nothing."""
    if all(all(facts.blocks) for one in arm.asked for facts in one.question.facts):
        return None
    seen: set[str] = set()
    for one in arm.asked:
        for facts in {id(run.facts): run.facts for run in one.runs.values()}.values():
            seen.update(facts.names, facts.cited)
    names: list[str] = []
    for one in arm.asked:
        for name, number in one.wanted.names.items():
            block = one.wanted.blocks[number]
            if block:
                names.append(name if block.isdisjoint(seen) else next(iter(sorted(block & seen))))
    return unseen(names, seen)


def asked_twice(wanted: Wanted, runs: Mapping[RunKey, Reading]) -> frozenset[int]:
    """Wordings that are an earlier one again, but for spaces: by the query that was recorded, else by the gold set.

    A number that the gold set has no wording for, without a query, says nothing of how it was asked. Where a gold
    question has two wordings and says one of them again, they count as they are: 'gold lint' names them.
    """
    if len({wording for wording, _ in runs}) < 2 and all(
        [run.query and not run.query.isspace() for run in runs.values()]
    ):
        return frozenset()  # a single wording repeats none
    own = dict(enumerate(map(_plain, wanted.wordings)))
    if len({"", *own.values()}) > len(own) and all([_as_written(wanted, *one) for one in runs.items()]):
        return frozenset()  # the usual file: every wording of the gold item is different, and was asked as it is there
    texts: dict[int, set[str]] = {}
    for (wording, _), run in sorted(runs.items()):
        said = _plain(run.query) if run.query else own.get(wording, "" if own else str(wording))
        texts.setdefault(wording, set()).add(said)
    seen = {""}
    twice = set()
    for wording, said_all in texts.items():
        if not seen.isdisjoint(said_all):
            twice.add(wording)
        seen |= said_all
    if len({*own.values()}) > 1:
        twice -= {wording for wording in twice if texts[wording] == {own.get(wording)}}
    return frozenset(twice)


def _as_written(wanted: Wanted, key: RunKey, run: Reading) -> bool:
    """Whether a run asks the wording that its number says, to the letter."""
    wordings, (number, _) = wanted.wordings, key
    return 0 <= number < len(wordings) and (not run.query or run.query == wordings[number])


def _plain(text: str) -> str:
    return squeeze(text).strip()


def numbered(wanted: Wanted, runs: Mapping[RunKey, Reading]) -> dict[RunKey, Reading]:
    """Runs of wordings that the gold question does not have, numbered after those that it has."""
    odd = sorted({wording for wording, _ in runs if wording >= NO_WORDING})
    if not odd:
        return dict(runs)
    taken = {wording for wording, _ in runs}
    free = (nth for nth in range(len(wanted.wordings), len(wanted.wordings) + len(runs) + 1) if nth not in taken)
    number = dict(zip(odd, free, strict=False))
    return {(number.get(wording, wording), seed): run for (wording, seed), run in runs.items()}
