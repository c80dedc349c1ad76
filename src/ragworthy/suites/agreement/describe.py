"""What the report says of the agreement suite."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics.agreement import WHOLE
from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import ABSTAIN, LABELS, NOT_IN_CONTEXT, Voted, arbitrate, disagreements, tsv
from ragworthy.names import Label, Stage
from ragworthy.report import model, show
from ragworthy.report.part import Part
from ragworthy.suites.agreement.advice import Found, all_rejected, flagged, next_steps, several, warnings

_ORDER = (Label.ERROR, Label.OVERRULED, Label.DISAGREED, Label.ABSTAINED, Label.ESCALATED, Label.SINGLE, Label.OK)
"""What became of an item, worst first."""
_WHOLE = "a number of all items at once"


def part(found: Found, *, provenance: dict[str, Any], evidence: dict[str, Any]) -> Part:
    """What the suite contributes to the report."""
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    told = list(rows(found))
    labels = Counter(row["label"] for row in told)
    stages = Counter(row["stage"] for row in told if row["stage"] is not None)
    body = {
        "profile": "default",
        "form": found.form,
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found),
        "metrics": {name: model.number(found.values[None, name]) | {"ledger": _ledger(found)} for name in found.names},
        "slices": _slices(found),
        "labels": {label: labels[label] for label in reversed(_ORDER) if labels[label]},
        "stages": {stage.value: stages[stage.value] for stage in Stage if stages[stage.value]},
        "offenders": [] if ships else _offenders(found, told),
        **(_of_raters(found) if several(found) else _of_pairs(found)),
        "warnings": warnings(found),
    }
    return Part("agreement", body, found.judged, invalid, next_steps(found), provenance, partial(rows, found), evidence)


def _invalid(found: Found) -> list[str]:
    """Why the evidence cannot carry a verdict."""
    reasons = model.mostly_errors(len(found.errored), len(found.questions), "questions")
    if all_rejected(found) and all(one.agreed for one in found.pairs):
        reasons.append(f"all {show.plural(len(found.pairs), 'pair ends', 'pairs end')} as REJECT: nothing may ship")
    if found.missing:
        reasons.append(f"{show.plural(len(found.missing), 'question has', 'questions have')} no trace")
    unpaired = len(found.votes.scholar_only) + len(found.votes.auditor_only)
    if unpaired > len(found.pairs):
        reasons.append(f"{unpaired:,} qids have one vote only, and {len(found.pairs):,} have both")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    return reasons + model.unmeasured(found.judged)


def _counts(found: Found) -> dict[str, int]:
    votes = found.votes
    common = {"duplicates": votes.replaced}
    if several(found):
        return {
            "items": len(found.ballots),
            "raters": len(r.raters_of(found.ballots)),
            "votes": sum(len(ballot.votes) for ballot in found.ballots),
            "agreed": sum(r.agreeing(ballot) == 1 for ballot in found.ballots),
            "disagreements": sum(len(ballot.labels) > 1 for ballot in found.ballots),
            "single": sum(len(ballot.votes) < 2 for ballot in found.ballots),
            **common,
        }
    return {
        "pairs": len(found.pairs),
        "agreed": sum(one.agreed for one in found.pairs),
        "disagreements": sum(not one.agreed for one in found.pairs),
        "abstained": sum(one.abstained for one in found.pairs),
        "red_flags": sum(flagged(one) for one in found.pairs),
        "label_conflicts": sum(one.conflict for one in found.pairs),
        "unpaired": len(votes.scholar_only) + len(votes.auditor_only),
        "renamed": votes.renamed,
        "missing": len(found.missing),
        "errored": len(found.errored),
        "orphan_traces": len(found.orphans),
        **common,
    }


def _ledger(found: Found) -> dict[str, int]:
    """Where every item went: expected = scored + refused + missing + errored + not_applicable."""
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    single = sum(len(ballot.votes) < 2 for ballot in found.ballots)
    unpaired = len(found.votes.scholar_only) + len(found.votes.auditor_only)
    total = len(found.pairs) + len(found.ballots)
    return ledger | {
        "expected": total + unpaired,
        "scored": total - len(found.missing) - len(found.errored) - single,
        "missing": len(found.missing) + unpaired,
        "errored": len(found.errored),
        "not_applicable": single,
    }


def _slices(found: Found) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None}, key=natural)
    return {group: {name: model.number(found.values[group, name]) for name in found.names} for group in names}


def _of_pairs(found: Found) -> dict[str, Any]:
    """Who said what, how it ended, and every disagreement."""
    both = Counter((one.scholar, one.auditor) for one in found.pairs)
    ends = Counter(arbitrate(one) for one in found.pairs)
    return {
        "confusion": {
            one: {other: both[one, other] for other in LABELS}
            for one in LABELS
            if any(both[one, two] for two in LABELS)
        },
        "finals": {
            label: count for label in LABELS if (count := sum(n for end, n in ends.items() if end.label == label))
        },
        "why": {why: sum(n for end, n in ends.items() if end.why == why) for why in sorted({end.why for end in ends})},
        "disagreements": [
            dict(zip(("qid", "scholar", "auditor", "final", "why"), row, strict=True))
            for row in disagreements(found.pairs)
        ],
        "unpaired": {"scholar": list(found.votes.scholar_only), "auditor": list(found.votes.auditor_only)},
    }


def _of_raters(found: Found) -> dict[str, Any]:
    """How each rater voted, how each two agree, every disagreement, and what has to be looked at."""
    rates = r.correct_rates(found.ballots)
    body: dict[str, Any] = {
        "raters": {name: {"votes": total} for name, (_, total) in rates.items()},
        "by_pair": [
            {"raters": list(one.raters), "same": one.same, "both": one.both} for one in r.by_pair(found.ballots)
        ],
        "disagreements": [
            {"qid": ballot.qid, "votes": dict(ballot.votes)} for ballot in found.ballots if len(ballot.labels) > 1
        ],
    }
    if found.form == "operators":
        cost = r.mean_cost(found.marks)
        states = Counter(mark.state for mark in found.marks if mark.state)
        body["raters"] = {name: {"votes": total, "correct": good} for name, (good, total) in rates.items()}
        body["marking"] = dict(sorted(Counter(map(r.marked, found.marks)).items()))
        body["lambda"] = {state: states[state] for state in sorted(states)}
        body["mean_cost_usd"] = None if cost is None else float(cost)
        body["escalations"] = [
            {
                "what": one.what,
                "value": None if one.value is None else float(one.value),
                "limit": None if one.limit is None else float(one.limit),
                "qids": list(one.qids),
            }
            for one in found.escalations
        ]
    return body


def tsv_of(body: dict[str, Any]) -> str:
    """The table of disagreements of a report, in input order; only its header where there is none."""
    if "raters" not in body:
        return tsv(tuple(one.values()) for one in body["disagreements"])
    names = list(body["raters"])
    return tsv(
        ([one["qid"], *(one["votes"].get(name, "") for name in names)] for one in body["disagreements"]),
        ("qid", *names),
    )


# rows


def label(one: Voted, *, errored: bool = False) -> str:
    """What became of a pair."""
    if errored:
        return Label.ERROR
    if not one.agreed:
        return Label.DISAGREED
    if one.abstained:
        return Label.ABSTAINED
    return Label.OK if arbitrate(one).label == one.scholar else Label.OVERRULED


def _stage(one: Voted) -> Stage:
    """Where to look first."""
    if "constraints_mismatch" in one.flags:
        return Stage.CONSTRAINTS
    if flagged(one):
        return Stage.CITATION
    if ABSTAIN in (one.scholar, one.auditor):
        return Stage.PIPELINE
    return Stage.REFUSAL if NOT_IN_CONTEXT in (one.scholar, one.auditor) else Stage.GENERATION


def rows(found: Found) -> Iterator[dict[str, Any]]:
    """Every item's row, in the order of the votes."""
    undefined = {name: _WHOLE for name in found.names if name in WHOLE}
    for one in found.pairs:
        final = arbitrate(one)
        what = label(one, errored=one.qid in found.errored)
        stage = Stage.PIPELINE if what == Label.ERROR else _stage(one)
        yield {
            "qid": one.qid,
            "label": what,
            "stage": None if what == Label.OK else stage.value,
            "metrics": {"agreement.percent": float(one.agreed), "agreement.abstain": float(one.abstained)},
            "undefined": undefined,
            "facts": {
                "agreed": one.agreed,
                "abstained": one.abstained,
                "red_flag": flagged(one),
                "label_conflict": one.conflict,
            },
            "scholar": {"label": one.scholar, "reason": one.reasons[0]},
            "auditor": {"label": one.auditor, "reason": one.reasons[1]},
            "final": final.label,
            "why": final.why,
        }
    yield from _ballot_rows(found, undefined)


def _ballot_rows(found: Found, undefined: dict[str, str]) -> Iterator[dict[str, Any]]:
    everybody = len(r.raters_of(found.ballots))
    strange = {mark.name for mark in r.out_of_band(found.marks)}
    for ballot in found.ballots:
        share = r.agreeing(ballot)
        escalated = ballot.qid in strange
        apart = Label.SINGLE if share is None else Label.DISAGREED if share < 1 else None
        what = apart or (Label.ESCALATED if escalated else Label.OK)
        yield {
            "qid": ballot.qid,
            "label": what,
            "stage": None,
            "metrics": {} if share is None else {"agreement.pairwise": float(share)},
            "undefined": undefined | ({"agreement.pairwise": "fewer than two votes"} if share is None else {}),
            "facts": {"agreed": share == 1, "complete": len(ballot.votes) == everybody, "escalated": escalated},
            "votes": dict(ballot.votes),
        }


def _offenders(found: Found, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items that pull agreement down, worst first."""
    bad = [nth for nth, row in enumerate(told) if row["label"] != Label.OK]
    bad.sort(key=lambda nth: (_ORDER.index(told[nth]["label"]), nth))
    shown = []
    for nth in bad[: found.most_offenders]:
        row = told[nth]
        gold = found.questions.get(row["qid"])
        one = found.pairs[nth] if nth < len(found.pairs) else Voted(row["qid"], "", "")
        shown.append(
            {
                "qid": row["qid"],
                "label": row["label"],
                "stage": row["stage"] or Stage.VOTES,
                "why": _why(row),
                "question": gold.question if gold is not None else None,
                "claim": one.claim,
                "citations": one.citations if one.citations is not None else [],
                "retrieved_ids": list(one.retrieved),
                "gold_citations": (gold.gold_citations if gold is not None else None) or [],
            }
        )
    return shown


def _why(row: dict[str, Any]) -> str:
    if "votes" in row:
        return ", ".join(f"{rater} {said}" for rater, said in row["votes"].items())
    said = []
    for who in ("scholar", "auditor"):
        reason = f" ({row[who]['reason']})" if row[who]["reason"] else ""
        said.append(f"{who} {row[who]['label']}{reason}")
    return f"{', '.join(said)}; ends as {row['final']} by {row['why']}"


# what text and Markdown say


def details(body: dict[str, Any]) -> list[str]:
    """What text and Markdown say besides the metrics."""
    if "raters" in body:
        return _rater_lines(body)
    lines = []
    if body["finals"]:
        ends = ", ".join(f"{name} {count:,}" for name, count in body["finals"].items())
        by = ", ".join(f"{name} {count:,}" for name, count in body["why"].items())
        lines.append(f"ends as: {ends} (by {by})")
    apart = Counter(f"{one['scholar']}/{one['auditor']}" for one in body["disagreements"])
    if apart:
        lines.append("scholar/auditor: " + ", ".join(f"{both} {count:,}" for both, count in apart.most_common()))
    reason = body["metrics"]["agreement.kappa"]["undefined"]
    return [*lines, f"κ has no value ({reason})"] if reason else lines


def _rater_lines(body: dict[str, Any]) -> list[str]:
    who = [
        f"{name} {one['correct']:,}/{one['votes']:,}" if "correct" in one else f"{name} {one['votes']:,}"
        for name, one in body["raters"].items()
    ]
    lines = [f"{'correct by operator' if 'marking' in body else 'votes by rater'}: {', '.join(who)}"]
    pairs = [f"{' and '.join(one['raters'])} {one['same']:,}/{one['both']:,}" for one in body["by_pair"] if one["both"]]
    lines += [f"agreeing: {', '.join(pairs)}"] if pairs else []
    if "marking" in body:
        lines.append("by the marking rule: " + ", ".join(f"{name} {n:,}" for name, n in body["marking"].items()))
    reason = body["metrics"]["agreement.fleiss"]["undefined"]
    return [*lines, f"Fleiss' κ has no value ({reason})"] if reason else lines
