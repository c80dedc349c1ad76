"""What the stability suite warns of, what to do next, and what it says to people."""

from collections import Counter
from typing import Any

from ragworthy.metrics import stability as st
from ragworthy.metrics.facts.pieces import has_pieces
from ragworthy.names import Outcome
from ragworthy.report.part import Note, noted, size_note
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Found
from ragworthy.suites.locked import lock_notes, locks_of
from ragworthy.suites.stability.blame import Seen, fault
from ragworthy.suites.stability.columns import BLIND, GONE, Runs
from ragworthy.suites.stability.read import Asked

SHOWN = ("acr", "cghc", "css", "ned50", "refusal_rate", "iaa")
"""The numbers of a question that people see."""


def warnings(found: Found, design: dict[str, Any]) -> list[dict[str, Any]]:
    """What should be looked at."""
    counts, asked = found.evidence.counts, [case.own for case in found.cases]
    return noted([*_of_runs(asked, found.own.runs, counts, design), *_of_gold(found, asked)])


def _of_runs(asked: list[Asked], runs: Runs, counts: dict[str, int], design: dict[str, Any]) -> list[Note]:
    noops, replaced = counts["noop_runs"], counts["duplicate_runs"]
    again = sum(runs.known[row] & GONE > 0 for one in asked for row in one.noops)
    errored = counts["errored_runs"] + again
    apart = f", {again:,} of them among the runs left out" if again else ""
    repeats, unlike = sum(one.unlike for one in asked), [one.qid for one in asked if one.unlike]
    single = [one.qid for one in asked if len(one.question.runs) == 1]
    blind = sum(runs.known[row] & BLIND > 0 for one in asked for row in one.runs)
    uneven, configs = design["uneven"], design["configurations"]
    by_jitter = ", ".join(f"{name} {count:,}" for name, count in design["noops"].items())
    return [
        Note("RW-W66", replaced, f"{plural(replaced, 'run was', 'runs were')} replaced by a later one with its run_id"),
        Note("RW-W53", noops, f"{plural(noops, 'run')} left out: the jitter changed nothing ({by_jitter})"),
        Note("RW-W54", repeats, f"{plural(repeats, 'run')} answered differently for the same question and seed",
             unlike),
        Note("RW-W55", len(single), f"{plural(len(single), 'question has', 'questions have')} one run that counts",
             single),
        Note("RW-W56", uneven, f"{plural(uneven, 'question')} not asked in all {design['variations']} variations",
             design["uneven_qids"]),
        Note("RW-W57", configs if configs > 1 else 0, f"runs of {configs} configurations are mixed"),
        Note("RW-W24", errored, f"{plural(errored, 'run')} with an error instead of an answer{apart}"),
        Note("RW-W05", blind, f"{plural(blind, 'run')} without retrieved_ids"),
    ]  # fmt: skip


def _of_gold(found: Found, asked: list[Asked]) -> list[Note]:
    counts = found.evidence.counts
    total, different = counts["gold"], counts["distinct_questions"]
    vacuous = [one.qid for one in asked if one.gold.answerable and not has_pieces(one.gold)]
    return [
        Note("RW-W08", len(vacuous), f"{plural(len(vacuous), 'answerable gold item')} without gold_claim_substr: "
             "any claim counts as containing it", vacuous),
        Note("RW-W12", 0 if counts["unanswerable"] else 1, "the gold set has no unanswerable question"),
        Note("RW-W41", different if different < total else 0,
             f"{plural(total, 'question')}, but only {different:,} different"),
        *lock_notes((one.gold.constraints for one in asked), locks_of(found.request)),
        size_note(different, "different question", "stability", regression=found.request.regression),
    ]  # fmt: skip


_ANSWERS = "'ragworthy score answers' says what is wrong"
_TO_DO = {
    Seen.ERRORS: "look at the error field of these runs, and run them again",
    Seen.COME_AND_GO: "fix the refusal text in the prompt, and decide on evidence, not on chance",
    Seen.ALWAYS_ANSWERED: "strengthen refusals: it is no matter of chance",
    Seen.ALWAYS_REFUSED: f"the guard is too strict, or no evidence reaches it: {_ANSWERS}",
    Seen.OTHER_EVIDENCE: "make retrieval and reranking deterministic: pin model and ties",
    Seen.NEVER_FOUND: "raise k, or look at the search and its ranking",
    Seen.OTHER_CITATIONS: "near-duplicate chunks: merge them, or cite the best one",
    Seen.NEVER_CITED: "look at how citations are chosen",
    Seen.CLAIMS_CHANGE: "lower the temperature; raise ned50 where only the wording moves",
    Seen.NEVER_SAID: f"not a matter of stability: {_ANSWERS}",
    Seen.OUT_OF_SCOPE: "let answers cite only ids that they were given",
    Seen.CONSTRAINTS: "put the locked constraints into every prompt and echo them: the claims are not the reason",
    Seen.MORE: "echo exactly the locked constraints: the claims are not the reason",
    Seen.CONTRADICTED: "the claims say the opposite of what is locked: look at them, and at what the model is told",
}


def steps(found: Found) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most frequent first."""
    told: list[tuple[str, str]] = []
    if found.value("stability.missing").num:
        told.append(("questions without a run", "run the experiment over the whole gold set and score again"))
    told += found.unmeasured_step()
    if not found.outcomes(Outcome.FAIL):
        return told
    broken = [case.facts for case in found.cases if case.facts.broken]
    faults = Counter(seen for one in broken if (seen := _moved(one)) is not None)
    steady = sum(_moved(one) is None for one in broken)
    if errored := sum(any(run.errored for run in case.facts.runs) for case in found.cases):
        faults[Seen.ERRORS] = errored  # wherever one is, whatever else names the question
    if steady:
        pattern = f"the same in every run, and wrong ({plural(steady, 'question')})"
        told.append((pattern, _TO_DO[Seen.NEVER_SAID]))
    told += [(f"{seen.value} ({plural(count, 'question')})", _TO_DO[seen]) for seen, count in faults.most_common()]
    return told


def _moved(question: st.Question) -> Seen | None:
    """What the runs of a question that fails have in common; None where they are all alike and the answer is wrong.

    Constraints that every run loses are not wrong answers, and neither are stray citations: what was said may be right.
    """
    seen = fault(question).seen
    return seen if st.iaa(question) != 1 or seen in _NO_WRONG_CLAIM else None


_NO_WRONG_CLAIM = (Seen.CONSTRAINTS, Seen.MORE, Seen.CONTRADICTED, Seen.OUT_OF_SCOPE)


def lines(body: dict[str, Any]) -> list[str]:
    """How the questions were asked, and those whose runs agree least."""
    design, counts = body["design"], body["counts"]
    each = design["runs_per_question"]
    many = each["most"] if each["least"] == each["most"] else f"{each['least']} to {each['most']}"
    left = {"noop_runs": "noop", "duplicate_runs": "duplicate", "warmup_runs": "warm-up"}
    out = ", ".join(plural(counts[key], noun) for key, noun in left.items() if counts[key])
    told = [f"{plural(counts['runs'], 'run')}, {many} a question{f'; left out: {out}' if out else ''}"]
    seeds = ", ".join(map(str, design["seeds"])) or "none named"
    told.append(f"seeds {seeds}; jitters {', '.join(design['jitters'])}; paraphrases {len(design['paraphrases'])}")
    if design["noops"]:
        told.append("noops: " + ", ".join(f"{name} {count:,}" for name, count in design["noops"].items()))
    limits = ", ".join(f"{name} {text}" for name, text in body["settings"]["limits"].items())
    told.append(f"limits of each question: {limits}")
    for one in body["worst"]:
        numbers = ", ".join(f"{name} {one[name]}" for name in SHOWN if name in one)
        told.append(f"{'fails' if one['fails'] else 'passes'}: {one['qid']}: {numbers} ({plural(one['runs'], 'run')})")
    return told
