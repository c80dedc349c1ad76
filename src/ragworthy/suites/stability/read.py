"""Runs joined with their questions: which of them count, what was varied, and the cases that they make."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ragworthy.errors import DataError, Problem
from ragworthy.index.blocks import load_corpus
from ragworthy.load.decode import Item, read_items
from ragworthy.load.gold import name_of
from ragworthy.load.sources import Source
from ragworthy.metrics import stability as st
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.jitters import PLAIN, Variation, run_id, varied
from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.records import Gold, Run
from ragworthy.suites.answers.bound import Bindings, bound_to, is_whole
from ragworthy.suites.evidence import Case, Fate, share_of
from ragworthy.suites.locked import Locks
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Pass, of_lines
from ragworthy.suites.reading import nameless, stranger
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Request
from ragworthy.suites.slices import slices_of
from ragworthy.suites.stability.blame import fault, run_label, steps_of
from ragworthy.text import fold, squeeze


class Asked(NamedTuple):
    """One gold question, and what became of its runs."""

    qid: str
    gold: Gold
    question: st.Question
    runs: tuple[Run, ...]
    """The runs that count."""
    noops: tuple[Run, ...]
    """Those that asked the very same thing again."""
    unlike: int
    """How many of these were answered in another way."""
    replaced: int
    varied: frozenset[Variation]


class Read(NamedTuple):
    """What one part of a file holds."""

    runs: list[Run]
    problems: list[Problem]
    """What is wrong with them; runs of other questions too."""

    def stop(self) -> None:
        """Raise what is wrong."""
        if self.problems:
            raise DataError(self.problems)


def pass_of(source: Source, known: set[str]) -> Pass:
    """The reading of the runs of some questions."""
    return of_lines(source, partial(_read, source, known), Read, Read.stop)


def _read(source: Source, known: set[str], part: int, parts: int) -> Read:
    items, problems = read_items(source, Run, part, parts)
    for item in items:
        where, qid = source.at(item.line), item.record.name
        if not qid:
            problems.append(nameless(where))
        elif qid not in known:
            problems.append(stranger(qid, where))
    return Read([item.record for item in items], problems)


def read_runs(request: Request, source: Source, parts: Sequence[Read]) -> list[Run]:
    """Every run, in the order of the file; raises what is wrong with them."""
    for part in parts:
        part.stop()
    runs = [run for part in parts for run in part.runs]
    if not any(run.answer_json is not None for run in runs):
        from ragworthy.load.bare import stop_if_bare

        stop_if_bare(source, "Run", ("answer_json",), "RW-T14")
    if request.damage is None:
        return runs
    return [damaged for run in runs if (damaged := request.damage(run)) is not None]


class Known(NamedTuple):
    """What runs are compared with."""

    rules: f.Rules
    bound: Bindings | None = None
    """How evidence was bound, where a corpus is given."""


def known_of(opened: Opened, request: Request, locks: Locks) -> tuple[Known, dict[str, int]]:
    """The rules, with the corpus where one is given, and how many chunks that has."""
    settings, given = request.settings, request.get("corpus")
    rules = f.Rules(
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=locks.scu,
        contradictions=locks.contradictions,
        by_rule=by_rule_of(settings),
    )
    if given is None:
        return Known(rules), {}
    corpus = opened.enter_corpus(load_corpus(given))
    chunks = {name: fold(text) for name, text in corpus.texts.items()}
    return Known(rules._replace(chunks=chunks), bound_to(opened["gold"], given)), {"corpus": len(chunks)}


def ask(golds: Sequence[Gold], runs: Sequence[Run], known: Known, limits: Mapping[str, str]) -> list[Asked]:
    """Every gold question with its runs: the last one of each id, without warm-ups, those that count apart."""
    by_qid: dict[str, list[Run]] = {}
    for run in runs:
        if not run.warmup:
            by_qid.setdefault(run.name, []).append(run)
    said_of = st.said_by(known.rules, whole=is_whole(known.bound))
    asked = []
    for gold in golds:
        given = by_qid.get(name_of(gold), [])
        last = {run_id(run): run for run in given}
        runs_of = [last[key] for key in sorted(last)]
        pairs = _noops(runs_of)
        unlike = [noop for noop, plain in pairs if not st.repeats(said_of(gold, noop), said_of(gold, plain))]
        noops = [noop for noop, _ in pairs if noop not in unlike]
        counted = [run for run in runs_of if run not in noops]
        said = tuple(said_of(gold, run) for run in counted)
        asked.append(
            Asked(
                qid=name_of(gold),
                gold=gold,
                question=st.judged(_question(gold, said, scu=known.rules.scu), limits),
                runs=tuple(counted),
                noops=tuple(noops),
                unlike=len(unlike),
                replaced=len(given) - len(last),
                varied=frozenset(map(varied, last.values())),
            )
        )
    return asked


def _question(gold: Gold, said: tuple[st.Said, ...], *, scu: bool) -> st.Question:
    evidence = bool(gold.gold_citations) or not gold.answerable
    return st.Question(gold.answerable, scu and bool(gold.constraints), said, evidence=evidence)


def _noops(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The runs that asked the very same thing again, each with the run that it repeats.

    Where the question was not asked as it stands, the first run whose jitter left it so stands for that.
    """
    first: dict[Variation, Run] = {}
    for run in sorted(runs, key=lambda run: varied(run).jitter != PLAIN):
        if varied(run).jitter == PLAIN or run.noop:
            first.setdefault(varied(run)._replace(jitter=""), run)
    found = []
    for run in runs:
        plain = first.get(varied(run)._replace(jitter=""))
        if plain is None or run is plain or varied(run).jitter == PLAIN:
            continue
        if run.noop or (run.q is not None and run.q == plain.q):
            found.append((run, plain))
    return found


def case_of(one: Asked, item: Item, fields: Iterable[str]) -> Case:
    """A question with all its runs as one case; offenders are ranked by label, then by how far they miss limits."""
    question = one.question
    label, stage, why, _, cause = fault(question)
    fate = Fate.MISSING if question.missing else Fate.ERRORED if question.errored else Fate.SCORED
    far = sum((abs(broken.value - Fraction(broken.limit)) for broken in question.broken), Fraction(0))
    return Case(
        qid=one.qid,
        facts=question,
        fate=Fate.REFUSED if question.refused else fate,
        label=label,
        stage=None if label in HARMLESS else stage,
        why=why,
        slices=slices_of(item.value, fields),
        rank=(SEVERITY.get(label, SEVERITY[Label.LOW_SCORE]), -far),
        own=one,
        cause=cause,
        steps=steps_of(question, cause),
        good=share_of(sum(run_label(question, run) in HARMLESS for run in question.runs), len(question.runs)),
    )


def distinct(asked: Iterable[Asked]) -> int:
    """How many different questions there are; one without a text is one of its own."""
    return len({squeeze(fold(one.gold.question)) if one.gold.question else (one.qid,) for one in asked})


def counts_of(asked: Sequence[Asked], read: Sequence[Run]) -> dict[str, int]:
    """Questions first, then runs: all = counted + noop + duplicate + warm-up."""
    questions = [one.question for one in asked]
    runs = [run for question in questions for run in question.runs]
    refused = sum(one.refused for one in questions)
    missing = sum(one.missing for one in questions)
    errored = sum(one.errored for one in questions)
    return {
        "gold": len(questions),
        "answered": len(questions) - refused - missing - errored,
        "refused": refused,
        "missing": missing,
        "errored": errored,
        "answerable": sum(one.answerable for one in questions),
        "unanswerable": sum(not one.answerable for one in questions),
        "distinct_questions": distinct(asked),
        "runs": len(read),
        "counted_runs": len(runs),
        "noop_runs": sum(len(one.noops) for one in asked),
        "duplicate_runs": sum(one.replaced for one in asked),
        "warmup_runs": sum(run.warmup for run in read),
        "errored_runs": sum(run.errored for run in runs),
        "refused_runs": sum(run.refused for run in runs),
    }


def design_of(asked: Sequence[Asked]) -> dict[str, Any]:
    """How the questions were asked: what was varied, how often, and whether all were asked alike."""
    all_varied = frozenset[Variation]().union(*(one.varied for one in asked))
    noops = Counter(run.jitter or "none" for one in asked for run in one.noops)
    sizes = [len(one.question.runs) for one in asked]
    uneven = [one.qid for one in asked if one.varied != all_varied]
    return {
        "seeds": sorted({one.seed for one in all_varied if one.seed is not None}),
        "jitters": sorted({one.jitter for one in all_varied}),
        "paraphrases": sorted({one.paraphrase for one in all_varied}),
        "configurations": len({one.config for one in all_varied}),
        "variations": len(all_varied),
        "runs_per_question": {"least": min(sizes), "most": max(sizes)},
        "noops": dict(sorted(noops.items())),
        "uneven": len(uneven),
        "uneven_qids": uneven[:3],
    }


_SHOWS: Mapping[Label, Callable[[st.Said], bool]] = {
    Label.ERROR: lambda run: run.errored,
    Label.OVER_REFUSAL: lambda run: run.refused,
    Label.HALLUCINATION: lambda run: not run.refused and not run.errored,
    Label.OUT_OF_SCOPE: lambda run: run.astray,
    Label.ANS_NO_HIT: lambda run: not run.refused and not run.errored and not run.hit,
    Label.ANS_NO_CONTAIN: lambda run: not run.refused and not run.errored and not run.contains,
    Label.SCU_VIOLATION: lambda run: not run.refused and not run.errored and not run.kept,
}
"""Which runs a label is about."""


def telling(one: Asked, label: str | None) -> tuple[Run, st.Said] | None:
    """The run to look at, and what it says: the first that the label is about, else the first that does not say what
    most do.
    """
    said = one.question.runs
    if not said:
        return None
    shows = _SHOWS.get(Label(label)) if label else None
    about = next((nth for nth, run in enumerate(said) if shows is not None and shows(run)), None)
    if about is None:
        usual = Counter((run.claim, run.cited) for run in said).most_common(1)
        others = (nth for nth, run in enumerate(said) if (run.claim, run.cited) != usual[0][0])
        about = next(others, 0)
    return one.runs[about], said[about]
