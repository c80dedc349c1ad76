"""Runs joined with their questions: which of them count, what was varied, and the cases that they make."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.index.blocks import load_corpus
from ragworthy.load.decode import Item
from ragworthy.load.gold import name_of
from ragworthy.metrics import stability as st
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.jitters import PLAIN, Variation
from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.records import Gold, Run
from ragworthy.suites.answers.bound import Bindings, bound_to, is_whole
from ragworthy.suites.evidence import Case, Fate, share_of
from ragworthy.suites.locked import Locks
from ragworthy.suites.opened import Opened
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Request
from ragworthy.suites.slices import slices_of
from ragworthy.suites.stability.blame import fault, run_label, steps_of
from ragworthy.suites.stability.columns import NOOP, Again, Runs
from ragworthy.text import fold, squeeze


class Asked(NamedTuple):
    """One gold question, and what became of its runs."""

    qid: str
    gold: Gold
    question: st.Question
    runs: Sequence[int]
    """The rows of the runs that count."""
    noops: Sequence[int]
    """Those that asked the very same thing again."""
    unlike: int
    """How many of these were answered in another way."""
    replaced: int
    varied: frozenset[Variation]


class Known(NamedTuple):
    """What runs are compared with."""

    rules: f.Rules
    bound: Bindings | None = None
    """How evidence was bound, where a corpus is given."""

    @property
    def says(self) -> Callable[[Gold, Run], st.Said]:
        """What establishes what a run says."""
        return st.said_by(self.rules, whole=is_whole(self.bound))


class Evident(NamedTuple):
    """What describing the questions takes besides them."""

    rules: f.Rules
    bound: Bindings | None
    runs: Runs
    again: Again


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


def ask(golds: Sequence[Gold], runs: Runs, known: Known, limits: Mapping[str, str]) -> list[Asked]:
    """Every gold question with its runs: the last one of each id, those that count apart."""
    asked = []
    alike: dict[frozenset[Variation], frozenset[Variation]] = {}
    for gold, given in zip(golds, runs.by_question(len(golds)), strict=True):
        last = {runs.id_of(row, gold): row for row in given}
        rows = [last[key] for key in sorted(last)]
        pairs = _noops(runs, rows)
        unlike = {noop for noop, plain in pairs if not st.repeats(runs.said[noop], runs.said[plain])}
        noops = {noop: None for noop, _ in pairs if noop not in unlike}
        counted = array("I", (row for row in rows if row not in noops))
        said = tuple(runs.said[row] for row in counted)
        how = frozenset(runs.varied[row] for row in rows)
        asked.append(
            Asked(
                qid=name_of(gold),
                gold=gold,
                question=st.judged(_question(gold, said, scu=known.rules.scu), limits),
                runs=counted,
                noops=array("I", noops),
                unlike=len(unlike),
                replaced=len(given) - len(last),
                varied=alike.setdefault(how, how),  # mostly the same for all questions
            )
        )
    return asked


def _question(gold: Gold, said: tuple[st.Said, ...], *, scu: bool) -> st.Question:
    evidence = bool(gold.gold_citations) or not gold.answerable
    return st.Question(gold.answerable, scu and bool(gold.constraints), said, evidence=evidence)


def _noops(runs: Runs, rows: Sequence[int]) -> list[tuple[int, int]]:
    """The runs that asked the very same thing again, each with the run that it repeats.

    Where the question was not asked as it stands, the first run whose jitter left it so stands for that.
    """
    first: dict[Variation, int] = {}
    for row in sorted(rows, key=lambda row: runs.varied[row].jitter != PLAIN):
        if runs.varied[row].jitter == PLAIN or runs.known[row] & NOOP:
            first.setdefault(runs.varied[row]._replace(jitter=""), row)
    found = []
    for row in rows:
        plain = first.get(runs.varied[row]._replace(jitter=""))
        if plain is None or row == plain or runs.varied[row].jitter == PLAIN:
            continue
        text = runs.text[row]
        if runs.known[row] & NOOP or (text is not None and text == runs.text[plain]):
            found.append((row, plain))
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


def counts_of(asked: Sequence[Asked], read: Runs) -> dict[str, int]:
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
        "runs": len(read) + read.warmups,
        "counted_runs": len(runs),
        "noop_runs": sum(len(one.noops) for one in asked),
        "duplicate_runs": sum(one.replaced for one in asked),
        "warmup_runs": read.warmups,
        "errored_runs": sum(run.errored for run in runs),
        "refused_runs": sum(run.refused for run in runs),
    }


def design_of(asked: Sequence[Asked], runs: Runs) -> dict[str, Any]:
    """How the questions were asked: what was varied, how often, and whether all were asked alike."""
    all_varied = frozenset[Variation]().union(*(one.varied for one in asked))
    noops = Counter(runs.varied[row].jitter for one in asked for row in one.noops)
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


def telling(one: Asked, label: str | None) -> tuple[int, st.Said] | None:
    """The row of the run to look at, and what it says: the first that the label is about, else the first that does not
    say what most do.
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
