"""What a mirror found: for programs (ragworthy.mirror/1), and for people as text or Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.mirror import compare, judging
from ragworthy.mirror.arms import Side
from ragworthy.mirror.compare import Pair, Row
from ragworthy.mirror.evidence import Matcher, Shelf
from ragworthy.mirror.gold import Judged
from ragworthy.mirror.questions import Sample
from ragworthy.names import VERSION, Verdict, exit_code
from ragworthy.report.show import plural
from ragworthy.safe import Markdown, fill
from ragworthy.safe import row as cells

SCHEMA = "ragworthy.mirror/1"


class Sides(NamedTuple):
    """What was chosen and asked."""

    sample: Sample
    live: Side | None
    shadow: Side
    gold: Judged | None


class Told(NamedTuple):
    """What is known of a side besides its answers."""

    source: str
    """Where its distances come from."""
    without_text: int
    flips: dict[str, Any] | None


class Held(NamedTuple):
    """Both sides compared with each other."""

    rows: Sequence[Row]
    matcher: Matcher
    shelves: tuple[Shelf, Shelf]
    told: Mapping[str, Told]


def body(
    share: Fraction,
    names: tuple[str | None, str],
    sides: Sides,
    pairs: Sequence[Pair],
    held: Held,
    uncited: Fraction,
) -> dict[str, Any]:
    """The report: no clock, no absolute path."""
    cite_first = compare.cite_first((one.question, one.shadow) for one in pairs)
    answers = judging.given_by(pairs)
    invalid = list(judging.why_invalid(sides.shadow, sides.gold, pairs, cite_first))
    inconclusive = list(judging.why_inconclusive(sides.shadow, answers)) if not invalid else []
    verdict = judging.verdict_of(cite_first, uncited, invalid, inconclusive, sides.gold)
    both = len({one.source for one in held.told.values()}) == 1
    return {
        "schema": SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "verdict": verdict.value,
        "exit_code": int(exit_code(verdict)),
        "invalid": invalid,
        "inconclusive": inconclusive,
        "live": {
            "from": "log" if names[0] is None else "target",
            "target": names[0],
            "answers": sum(one.live is not None for one in pairs),
            **_index(pairs, "live"),
        },
        "shadow": {"target": names[1], **_index(pairs, "shadow")},
        "sample": _sample(share, sides.sample),
        "asked": {"live": _asked(sides.live), "shadow": _asked(sides.shadow)},
        "answers": answers,
        "cite_first": cite_first | {"allowed": str(uncited)},
        "citations": compare.cited(held.rows, held.matcher),
        "delta_s": {
            name: {"source": told.source, "without_text": told.without_text}
            | compare.spread(getattr(one, name).delta_s for one in pairs if getattr(one, name) is not None)
            for name, told in held.told.items()
        }
        | {"moved": dict(compare.moved(pairs)) if both else None},
        "lambda": {name: told.flips for name, told in held.told.items()},
        "churn": compare.churn(held.rows),
        "lost": compare.lost(pairs, held.rows, held.shelves),
        "gold": _gold(sides.gold),
    }


def _sample(share: Fraction, found: Sample) -> dict[str, Any]:
    return {
        "share": str(share),
        "records": found.records,
        "chosen": len(found.questions),
        "left_out": found.left_out,
        "repeated": found.repeated,
        "without_question": found.without_question,
        "unreadable": found.unreadable,
    }


def _index(pairs: Sequence[Pair], side: str) -> dict[str, Any]:
    hashes = {one.index_hash for pair in pairs if (one := getattr(pair, side)) is not None and one.index_hash}
    return {"index_hashes": sorted(hashes)}


def _asked(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    counts = side.counts
    return {
        "asked": counts.asked,
        "answered": counts.answered,
        "refused": counts.refused,
        "errored": counts.errored,
        "not_asked": len(side.entries) - counts.asked,
        "reasons": counts.reasons,
        "budget": side.over or None,
    }


def _gold(gold: Judged | None) -> dict[str, Any] | None:
    if gold is None or gold.run is None:
        return None
    report = gold.run.report
    keys = ("metric", "op", "threshold", "value", "outcome")
    return {
        "verdict": report["verdict"],
        "gates": [{key: one.get(key) for key in keys} for one in report["gates"]],
        "report": "gold/report.json",
        "receipt": "gold/receipt.json",
    }


# for people


def lines(body: Mapping[str, Any]) -> Iterator[str]:
    """The report as text, what decides first."""
    sample, asked = body["sample"], body["asked"]["shadow"]
    yield from (f"{word}: {reason}" for word, reason in _reasons(body))
    yield (
        f"mirrored {plural(sample['chosen'], 'question')} of {plural(sample['records'], 'record')} (share "
        f"{float(Fraction(sample['share'])):g}): {asked['answered']} answered, {asked['refused']} refused, "
        f"{asked['errored']} errored, {asked['not_asked']} not asked"
    )
    if body["live"]["answers"] < sample["chosen"]:
        yield f"the live side has an answer to {body['live']['answers']} of them"
    if asked["budget"]:
        yield f"the budget is used up: {asked['budget']}"
    odd = [f"{sample[key]} {key.replace('_', ' ')}" for key in ("repeated", "without_question", "unreadable")
           if sample[key]]  # fmt: skip
    if odd:
        yield f"records that were not mirrored: {', '.join(odd)}"
    for name, value, note in _numbers(body):
        yield f"  {name:<22} {value:>10}  {note}".rstrip()
    yield from _lost(body["lost"])
    if body["churn"]["most_changed"]:
        yield "most changed:"
        for one in body["churn"]["most_changed"][:3]:
            yield f"  {one['qid']}  overlap {one['overlap']:.2f}  {one['question'][:60]}"
    if body["gold"] is None:
        yield "no gold set: only the rule to cite first was judged"
    else:
        failed = [one["metric"] for one in body["gold"]["gates"] if one["outcome"] != "pass"]
        why = f": {', '.join(failed[:4])}" if failed else ""
        yield f"gold set: {body['gold']['verdict']}{why} ({body['gold']['report']}, {body['gold']['receipt']})"


def _reasons(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for word in (Verdict.INVALID, Verdict.INCONCLUSIVE):
        yield from ((word.value, reason) for reason in body[word.value.lower()])


def _numbers(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    first, cited, churn = body["cite_first"], body["citations"], body["churn"]
    broken = ", ".join(f"{count} {code}" for code, count in first["broken"].items())
    yield "cite first", f"{first['kept']}/{first['answers']}", broken
    told = ", ".join(f"{count} by {by}" for by, count in cited["told_by"].items())
    yield "same evidence cited", f"{cited['any_same']}/{cited['compared']}", f"results told {told}" if told else ""
    yield "same results", f"{churn['identical']}/{churn['questions']}", "in the same order"
    for key, name in (("overlap_mean", "overlap"), ("rbo_mean", "rank-biased overlap"), ("tau_mean", "Kendall τ-b")):
        yield name, _shown(churn[key]), ""
    for side in ("live", "shadow"):
        one = body["delta_s"][side]
        yield f"ΔS {side}", _shown(one["median"]), f"p90 {_shown(one['p90'])}, {one['n']} answers, {one['source']}"
    for side in ("live", "shadow"):
        one = body["lambda"][side]
        note = (
            f"{one['diverged']} of {plural(one['triplets'], 'triplet')} diverge" if one else "no triplets of wordings"
        )
        yield f"λ flip {side}", _shown(one["flip_rate"] if one else None), note


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _lost(lost: Mapping[str, Any]) -> Iterator[str]:
    if lost["documents"]:
        yield (
            f"lost: {plural(lost['documents'], 'document')} fell out of the first ten of a question, "
            f"{lost['gone']} of them came back for none"
        )
        for one in lost["listed"][:5]:
            gone = ", gone" if one["gone"] else ""
            yield f"  {one['document']}  {plural(one['questions'], 'question')}{gone}, cited {one['cited_live']} times"


def markdown(body: Mapping[str, Any]) -> str:
    """The report as Markdown; texts of the data are escaped."""
    made: list[Markdown | str] = [fill("# Ragworthy mirror: {}", body["verdict"]), ""]
    made += [fill("- {}: {}", word, reason) for word, reason in _reasons(body)]
    sample = body["sample"]
    told = f"{sample['chosen']} questions of {sample['records']} records, share {sample['share']}"
    made += [fill("{}", told), "", cells(("number", "value", "note")), cells(("---", "---", "---"))]
    made += [cells(one) for one in _numbers(body)]
    if body["lost"]["listed"]:
        made += ["", "## Lost documents", "", cells(("document", "questions", "gone", "cited live"))]
        made.append(cells(("---", "---", "---", "---")))
        made += [
            cells((one["document"], str(one["questions"]), "yes" if one["gone"] else "no", str(one["cited_live"])))
            for one in body["lost"]["listed"]
        ]
    if body["churn"]["most_changed"]:
        made += ["", "## Most changed", "", cells(("qid", "overlap", "question")), cells(("---", "---", "---"))]
        made += [cells((one["qid"], _shown(one["overlap"]), one["question"])) for one in body["churn"]["most_changed"]]
    if body["gold"] is not None:
        made += [
            "",
            "## Gold set",
            "",
            cells(("gate", "rule", "value", "outcome")),
            cells(("---", "---", "---", "---")),
        ]
        made += [
            cells((one["metric"], f"{one['op']} {one['threshold']}", _shown(one["value"]), one["outcome"]))
            for one in body["gold"]["gates"]
        ]
    return "\n".join(str(line) for line in made) + "\n"
