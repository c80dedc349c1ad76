"""The retrieval suite's own lines in reports for people: convergence, distances, diagnosis, shadow against live."""

from fractions import Fraction
from typing import Any

from ragworthy.report.part import Table
from ragworthy.report.show import number, plural, signed
from ragworthy.text import clip

SHOWN = 8
SHOWN_DEPTH = "5"
"""The k that the comparison shows; the JSON report has all."""
DELTA_HEADER = ("shadow against live", "live", "shadow", "difference", "questions better", "worse")


def details(body: dict[str, Any]) -> list[str]:
    """What the retrieval suite says besides its metrics; nothing for TREC files."""
    if "delta_s" not in body:
        return []
    lines = []
    marks = body["lambda"]
    if marks["questions"]:
        lines.append("λ: " + ", ".join(f"{mark} {count:,}" for mark, count in marks["marks"].items()))
    lines += _distances(body["delta_s"])
    if body["bad_qids"]:
        lines.append(f"not justified by what is cited: {listed(body['bad_qids'])}")
    for one in body["diagnosis"]:
        lines.append(f"{one['symptom']} ({plural(one['questions'], 'question')}): {one['look_at']}")
    return lines


def _distances(found: dict[str, Any]) -> list[str]:
    if found["source"] == "none" or found["missing"] or not found["raw"]:
        return []
    model = f" by {found['model']}" if found["model"] else ""
    bands = ", ".join(f"{name} {count:,}" for name, count in found["bands"].items()) if found["scaled"] else "no bands"
    raw = f"raw median {found['raw']['median']:.4f}, p90 {found['raw']['p90']:.4f}"
    lines = [f"ΔS {found['source']}{model}: {bands}; {raw}"]
    calibration = found["calibration"]
    if calibration:
        perfect, plain = calibration["perfect"], calibration["perfect_raw"]
        shown = f", calibrated {float(perfect['median']):.4f} and {float(perfect['p90']):.4f}"
        shown = shown if calibration["separates"] else ""
        auc = "" if calibration["auc"] is None else f"; AUC against hard negatives {calibration['auc']:.3f}"
        lines.append(
            f"perfect retrieval would score raw median {float(plain['median']):.4f}, "
            f"p90 {float(plain['p90']):.4f}{shown}{auc}"
        )
    return lines


def listed(names: list[str], most: int = SHOWN) -> str:
    """Some ids, and how many more there are."""
    more = f" … {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counts_line(counts: dict[str, Any]) -> str:
    """How many questions there were, and what became of them."""
    sides = f"{counts['answerable']:,} answerable, {counts['unanswerable']:,} not"
    runs = "" if counts["runs"] == counts["gold"] else f" in {plural(counts['runs'], 'run')}"
    fate = f"{counts['answered']:,} answered, {counts['missing']:,} missing"
    errored = counts.get("errored_questions", counts.get("errored", 0))  # `errored` counts runs
    errors = f", {errored:,} errored" if errored else ""
    return f"{plural(counts['gold'], 'question')} ({sides}){runs}, {fate}{errors}"


def tables(body: dict[str, Any]) -> list[Table]:
    """Shadow against live, where there is a live index."""
    live = body.get("live")
    return [Table(DELTA_HEADER, delta_rows(live), tuple(live_lines(live)), last=True)] if live else []


def delta_rows(live: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row for each metric that both arms have."""
    rows: list[tuple[str, ...]] = []
    for name, one in live["deltas"].items():
        depth = name.partition("@")[2]
        if one["delta"] is None or depth not in ("", SHOWN_DEPTH):
            continue
        before, after, delta = (Fraction(one[key]) for key in ("live", "shadow", "delta"))
        good, bad = (one["up"], one["down"]) if one["better"] == "higher" else (one["down"], one["up"])
        whole = isinstance(one["delta"], int)
        change = signed(delta, whole=whole) if delta else "0"
        row = (name, number(before, whole=whole), number(after, whole=whole), change, str(good), str(bad))
        rows.append(row)
    return rows


def live_lines(live: dict[str, Any]) -> list[str]:
    """The canary verdict, blocks gained and lost, and how much the results changed."""
    lines = [f"not comparable: {why}" for why in live["unlike"]]
    if live["gone"]:
        gone = plural(live["gone"], "result of live has", "results of live have")
        lines.append(f"{gone} no block here: its numbers are understated")
    failing = [one for one in live["canary"]["checks"] if one["outcome"] != "pass"]
    if live["canary"]["eligible"]:
        lines.append("canary: eligible, every check holds")
    else:
        why = ", ".join(f"{one['metric']} {one['outcome'].replace('_', ' ')}" for one in failing)
        lines.append(f"canary: not eligible: {why or 'the evidence is not valid'}")
    if live["canary"]["failing_live"]:
        lines.append(f"the live index does not pass either: {', '.join(live['canary']['failing_live'])}")
    for word in ("gained", "lost"):
        moved = live[word]
        if moved:
            names = listed([f"{one['qid']} ({listed(one['blocks'], 2)})" for one in moved], 5)
            lines.append(f"{word} relevant blocks in the first 5: {plural(len(moved), 'question')}: {names}")
    lines += churn_lines(live["churn"], "results")
    if live.get("queries"):
        lines += churn_lines(live["queries"], "unlabelled queries", SHOWN)
    return lines + [f"the indexes differ in {one}" for one in live.get("settings", [])]


def churn_lines(churn: dict[str, Any], what: str, most: int = 3) -> list[str]:
    """How much the results of the same queries changed, and which changed most."""
    if not churn["queries"]:
        return []
    lines = [
        f"{what}: {churn['identical']:,} of {plural(churn['queries'], 'query', 'queries')} identical, "
        f"mean overlap {churn['jaccard_mean']:.3f} (Jaccard), {churn['rbo_mean']:.3f} (rank-biased)"
    ]
    for one in churn["most_changed"][:most]:
        lines.append(f"most changed: {one['qid']} {clip(one['query'], 80)!r}: rank-biased overlap {one['rbo']:.3f}")
    return lines
