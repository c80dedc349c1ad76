"""What the report says of the stability suite."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics import stability as st
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.jitters import Variation, run_id
from ragworthy.metrics.registry import Word
from ragworthy.names import HARMLESS, SEVERITY, Label, Outcome, Stage
from ragworthy.records import NO_ANSWER, Gold, Run
from ragworthy.report import model, show
from ragworthy.report.part import Frozen, Part
from ragworthy.report.warn import RELEASE, SMOKE, plain, release_warnings

MOST_WORST = 5
SHOWN = ("acr", "cghc", "css", "ned50", "refusal_rate", "iaa")
_RANK: dict[str, int] = {str(label): rank for label, rank in SEVERITY.items()}
_NO_WORD = {
    "stability.ned50": "not answerable, or fewer than two claims",
    "stability.iaa": "fewer than two runs",
    "stability.scu_consistency": "not answerable, or no constraints",
}


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


class Steady(NamedTuple):
    """Everything the report is made from."""

    asked: list[Asked]
    read: int
    warmups: int
    words: Mapping[str, Sequence[Word]]
    values: dict[tuple[str | None, str], g.Value]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    baseline_verdict: str | None
    gold_flags: list[int]
    distinct: int
    most_offenders: int


def part(found: Steady, *, provenance: dict[str, Any], evidence: dict[str, Any]) -> Part:
    """What the suite contributes to the report."""
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    labels = Counter(st.label(one.question) for one in found.asked)
    order = (Label.OK, Label.REFUSAL_OK, *Label)
    body = {
        "profile": "default",
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found),
        "metrics": {
            name: model.number(found.values[None, name]) | {"ledger": _ledger(found, name)} for name in found.words
        },
        "slices": _slices(found),
        "labels": {str(what): labels[what] for what in dict.fromkeys(order) if labels[what]},
        "stages": _stages(found),
        "design": _design(found),
        "worst": _worst(found),
        "offenders": [] if ships else _offenders(found),
        "warnings": _warnings(found),
    }
    return Part(
        "stability", body, found.judged, invalid, _next_steps(found), provenance, partial(rows, found), evidence
    )


def _invalid(found: Steady) -> list[str]:
    """Why the evidence cannot carry a verdict."""
    counts = _counts(found)
    reasons = model.mostly_errors(counts["errored_runs"], counts["counted_runs"], "runs")
    if missing := counts["missing"]:
        reasons.append(f"{show.plural(missing, 'question has', 'questions have')} no run")
    reasons += [found.frozen.reason] if found.frozen.state == "broken" else []
    return reasons + model.unmeasured(found.judged)


def _counts(found: Steady) -> dict[str, int]:
    """Questions first, then runs: all = counted + noop + duplicate + warm-up."""
    questions = [one.question for one in found.asked]
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
        "distinct_questions": found.distinct,
        "runs": found.read,
        "counted_runs": len(runs),
        "noop_runs": sum(len(one.noops) for one in found.asked),
        "duplicate_runs": sum(one.replaced for one in found.asked),
        "warmup_runs": found.warmups,
        "errored_runs": sum(run.errored for run in runs),
        "refused_runs": sum(run.refused for run in runs),
    }


def _ledger(found: Steady, name: str) -> dict[str, int]:
    """Where every question went: expected = scored + refused + missing + errored + not_applicable."""
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    for one, word in zip(found.asked, found.words[name], strict=True):
        ledger["expected"] += 1
        if one.question.missing:
            ledger["missing"] += 1
        elif word is not None:
            ledger["scored"] += 1
        elif one.question.errored:
            ledger["errored"] += 1
        elif all(run.refused for run in one.question.runs) and one.question.answerable:
            ledger["refused"] += 1
        else:
            ledger["not_applicable"] += 1
    return ledger


def _slices(found: Steady) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None}, key=natural)
    return {group: {name: model.number(found.values[group, name]) for name in found.words} for group in names}


def _stages(found: Steady) -> dict[str, int]:
    counts = Counter(st.blame(one.question)[0] for one in found.asked if st.label(one.question) not in HARMLESS)
    return {stage.value: counts[stage] for stage in Stage if counts[stage]}


def _design(found: Steady) -> dict[str, Any]:
    """How the questions were asked: what was varied, how often, and whether all were asked alike."""
    varied = frozenset[Variation]().union(*(one.varied for one in found.asked))
    noops = Counter(run.jitter or "none" for one in found.asked for run in one.noops)
    sizes = [len(one.question.runs) for one in found.asked]
    uneven = [one.qid for one in found.asked if one.varied != varied]
    return {
        "seeds": sorted({one.seed for one in varied if one.seed is not None}),
        "jitters": sorted({one.jitter for one in varied}),
        "paraphrases": sorted({one.paraphrase for one in varied}),
        "configurations": len({one.config for one in varied}),
        "variations": len(varied),
        "runs_per_question": {"least": min(sizes), "most": max(sizes)},
        "noops": dict(sorted(noops.items())),
        "uneven": len(uneven),
        "uneven_qids": uneven[:3],
    }


def _worst(found: Steady) -> list[dict[str, Any]]:
    """The questions whose runs agree least, those that fail first; none where all runs agree."""
    alike = [Fraction(1) if word is None else exact(word) for word in found.words["stability.iaa"]]
    bad = [nth for nth, one in enumerate(found.asked) if one.question.broken or alike[nth] < 1]
    bad.sort(key=lambda nth: (not found.asked[nth].question.broken, alike[nth], nth))
    return [
        {
            "qid": found.asked[nth].qid,
            "runs": len(found.asked[nth].question.runs),
            "fails": bool(found.asked[nth].question.broken),
            **{
                name: show.number(exact(word))
                for name in SHOWN
                if (word := found.words[f"stability.{name}"][nth]) is not None
            },
        }
        for nth in bad[:MOST_WORST]
    ]


def exact(word: Any) -> Fraction:
    """A word as one number.

    >>> exact((3, 4)), exact(True)
    (Fraction(3, 4), Fraction(1, 1))
    """
    return Fraction(*word) if isinstance(word, tuple) else Fraction(word)


# offenders


def _offenders(found: Steady) -> list[dict[str, Any]]:
    def order(nth: int) -> tuple[int, Fraction, int]:
        question = found.asked[nth].question
        rank = _RANK.get(st.label(question), SEVERITY[Label.LOW_SCORE])
        return rank, -sum((abs(one.value - Fraction(one.limit)) for one in question.broken), Fraction(0)), nth

    bad = [nth for nth, one in enumerate(found.asked) if st.label(one.question) not in HARMLESS]
    return [_offender(found.asked[nth]) for nth in sorted(bad, key=order)[: found.most_offenders]]


def _offender(one: Asked) -> dict[str, Any]:
    stage, why = st.blame(one.question)
    run = _telling(one)
    answer = (run.answer_json or NO_ANSWER) if run is not None else NO_ANSWER
    limits = [_broken(broken) for broken in one.question.broken]
    return {
        "qid": one.qid,
        "label": str(st.label(one.question)),
        "stage": stage.value,
        "why": f"{why}: {', '.join(limits)}" if limits else why,
        "question": one.gold.question,
        "claim": answer.claim,
        "citations": answer.citations if answer.citations is not None else [],
        "retrieved_ids": list((run.retrieved_ids if run is not None else None) or []),
        "gold_citations": one.gold.gold_citations or [],
        "runs": len(one.question.runs),
        "run": None if run is None else run_id(run),
        "broken": {
            broken.name: {"value": float(broken.value), "limit": broken.limit} for broken in one.question.broken
        },
    }


def _broken(one: st.Broken) -> str:
    """A limit that does not hold, with its number.

    >>> _broken(st.Broken("css", Fraction(0), "0.70")), _broken(st.Broken("ned50", Fraction(7, 26), "0.20"))
    ('css 0.0 < 0.70', 'ned50 0.2692 > 0.20')
    """
    sign = ">" if one.name in st.AT_MOST else "<"
    return f"{one.name} {show.number(one.value, Fraction(one.limit))} {sign} {one.limit}"


def _telling(one: Asked) -> Run | None:
    """The run to look at: the first that refuses where it should not or the other way round, else the first that is
    wrong by itself, else the first that does not say what most do.
    """
    said = one.question.runs
    usual = Counter((run.claim, run.cited) for run in said).most_common(1)
    signs = (
        [run.refused is not one.question.answerable for run in said],
        [(run.contains and run.hit) or not one.question.answerable for run in said],
        [[(run.claim, run.cited)] == [what for what, _ in usual] for run in said],
    )
    for good in signs:
        if False in good:
            return one.runs[good.index(False)]
    return one.runs[0] if one.runs else None


# rows


def rows(found: Steady) -> Iterator[dict[str, Any]]:
    """Every question's row, in gold order."""
    for nth, one in enumerate(found.asked):
        question = one.question
        what = st.label(question)
        words = {name: words[nth] for name, words in found.words.items()}
        yield {
            "qid": one.qid,
            "label": str(what),
            "stage": None if what in HARMLESS else st.blame(question)[0].value,
            "metrics": {name: float(exact(word)) for name, word in words.items() if word is not None},
            "undefined": {name: _why(question, name) for name, word in words.items() if word is None},
            "facts": {
                "answerable": question.answerable,
                "missing": question.missing,
                "steady": not question.missing and not question.broken,
                "errored": any(run.errored for run in question.runs),
                "contains": bool(question.runs) and all(run.contains for run in question.runs),
                "hit": bool(question.runs) and all(run.hit for run in question.runs),
                "refused": bool(question.runs) and all(run.refused for run in question.runs),
            },
            "runs": len(question.runs),
            "noops": len(one.noops),
            "broken": [_broken(broken) for broken in question.broken],
        }


def _why(question: st.Question, name: str) -> str:
    """Why a question is not in a metric's denominator."""
    usual = "answerable" if question.answerable else "not answerable"
    return "no run" if question.missing else _NO_WORD.get(name, usual)


# what there is to say besides numbers


def details(body: dict[str, Any]) -> list[str]:
    """The lines of the suite: how the questions were asked, and those whose runs agree least."""
    design, counts = body["design"], body["counts"]
    each = design["runs_per_question"]
    many = each["most"] if each["least"] == each["most"] else f"{each['least']} to {each['most']}"
    left = {"noop_runs": "noop", "duplicate_runs": "duplicate", "warmup_runs": "warm-up"}
    out = ", ".join(show.plural(counts[key], noun) for key, noun in left.items() if counts[key])
    lines = [f"{show.plural(counts['runs'], 'run')}, {many} a question{f'; left out: {out}' if out else ''}"]
    seeds = ", ".join(map(str, design["seeds"])) or "none named"
    lines.append(f"seeds {seeds}; jitters {', '.join(design['jitters'])}; paraphrases {len(design['paraphrases'])}")
    if design["noops"]:
        lines.append("noops: " + ", ".join(f"{name} {count:,}" for name, count in design["noops"].items()))
    limits = ", ".join(f"{name} {text}" for name, text in body["settings"]["limits"].items())
    lines.append(f"limits of each question: {limits}")
    for one in body["worst"]:
        numbers = ", ".join(f"{name} {one[name]}" for name in SHOWN if name in one)
        lines.append(
            f"{'fails' if one['fails'] else 'passes'}: {one['qid']}: {numbers} ({show.plural(one['runs'], 'run')})"
        )
    return lines


def _warnings(found: Steady) -> list[dict[str, Any]]:
    entries = [plain(code, text, count, qids[:3]) for code, count, text, qids in _noticed(found) if count]
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _noticed(found: Steady) -> list[tuple[str, int, str, list[str]]]:
    """Everything that may be noticed, with how often it was and the ids of some questions."""
    plural, counts, design = show.plural, _counts(found), _design(found)
    noops, replaced, errored = counts["noop_runs"], counts["duplicate_runs"], counts["errored_runs"]
    unlike = [one.qid for one in found.asked if one.unlike]
    single = [one.qid for one in found.asked if len(one.question.runs) == 1]
    blind = sum(run.retrieved_ids is None for one in found.asked for run in one.runs)
    uneven, configs = design["uneven"], design["configurations"]
    repeats, total, distinct = sum(one.unlike for one in found.asked), counts["gold"], found.distinct
    vacuous = [one.qid for one, flags in zip(found.asked, found.gold_flags, strict=True) if flags & f.VACUOUS]
    by_jitter = ", ".join(f"{name} {count:,}" for name, count in design["noops"].items())
    least = f"a smoke test needs at least {SMOKE}" if distinct < SMOKE else f"a release needs at least {RELEASE}"
    return [
        ("RW-W66", replaced, f"{plural(replaced, 'run was', 'runs were')} replaced by a later one with its run_id", []),
        ("RW-W53", noops, f"{plural(noops, 'run')} left out: the jitter changed nothing ({by_jitter})", []),
        ("RW-W54", repeats, f"{plural(repeats, 'run')} answered differently for the same question and seed", unlike),
        ("RW-W55", len(single), f"{plural(len(single), 'question has', 'questions have')} one run that counts", single),
        ("RW-W56", uneven, f"{plural(uneven, 'question')} not asked in all {design['variations']} variations",
         design["uneven_qids"]),
        ("RW-W57", configs if configs > 1 else 0, f"runs of {configs} configurations are mixed", []),
        ("RW-W24", errored, f"{plural(errored, 'run')} with an error instead of an answer", []),
        ("RW-W05", blind, f"{plural(blind, 'run')} without retrieved_ids", []),
        ("RW-W08", len(vacuous), f"{plural(len(vacuous), 'answerable gold item')} without gold_claim_substr: "
         "any claim counts as containing it", vacuous),
        ("RW-W12", int(not counts["unanswerable"]), "the gold set has no unanswerable question", []),
        ("RW-W41", distinct * (distinct < total), f"{plural(total, 'question')}, but only {distinct:,} different", []),
        ("RW-W15", distinct * (distinct < RELEASE), f"{plural(distinct, 'different question')}: {least}", []),
    ]  # fmt: skip


_TO_DO = {
    Stage.PIPELINE: ("runs end in errors", "look at the error field of these runs, and run them again"),
    Stage.REFUSAL: (
        "refusals come and go",
        "fix the refusal text in the prompt, and decide on evidence, not on chance",
    ),
    Stage.RETRIEVAL: (
        "other evidence from run to run",
        "make retrieval and reranking deterministic: pin model and ties",
    ),
    Stage.CITATION: (
        "other citations for the same evidence",
        "near-duplicate chunks: merge them, or cite the best one",
    ),
    Stage.GENERATION: ("claims change", "lower the temperature; raise ned50 where only the wording moves"),
    Stage.CONSTRAINTS: ("constraints are lost", "put the locked constraints into every prompt and echo them"),
}


def _next_steps(found: Steady) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most frequent first."""
    steps: list[tuple[str, str]] = []
    if found.values[None, "stability.missing"].num:
        steps.append(("questions without a run", "run the experiment over the whole gold set and score again"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    broken = [one.question for one in found.asked if one.question.broken]
    steady = sum(st.iaa(question) == 1 for question in broken)
    stages = Counter(st.blame(question)[0] for question in broken if st.iaa(question) != 1)
    if steady and any(one.outcome is Outcome.FAIL for one in found.judged):
        pattern = f"the same in every run, and wrong ({show.plural(steady, 'question')})"
        steps.append((pattern, "not a matter of stability: 'ragworthy score answers' says what is wrong"))
    if any(one.outcome is Outcome.FAIL for one in found.judged):
        for stage, count in sorted(stages.items(), key=lambda item: -item[1]):
            pattern, do = _TO_DO[stage]
            steps.append((f"{pattern} ({show.plural(count, 'question')})", do))
    return [{"pattern": pattern, "do": do} for pattern, do in steps]
