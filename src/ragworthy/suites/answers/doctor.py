"""What `doctor` tells of the answers suite: what can be measured, gold items that cannot, and refusals in disguise."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.load.decode import Decoder
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.policy.declare import REFUSALS
from ragworthy.records import Trace
from ragworthy.report.show import number_of, percent, plural, shown_metrics
from ragworthy.suites.answers import DECLARED
from ragworthy.suites.answers.near import paste
from ragworthy.suites.examine import Seen
from ragworthy.suites.refusing import refuses_of
from ragworthy.suites.request import Request
from ragworthy.text import clip, trim_fold, visible

SHORT_CLAIM = 160
MANY = 3
SHOWN = 10


class Recurring(NamedTuple):
    """A short claim that several questions got."""

    claim: str
    questions: int
    refusal_like: bool


class Near(NamedTuple):
    """A claim that reads like a refusal, and the question that got it."""

    qid: str
    claim: str


class Claims(NamedTuple):
    """What stands out among the claims."""

    recurring: list[Recurring]
    """Most frequent first."""
    near: list[Near]
    """Every claim that reads like a refusal and counts as an answer, in the order of the traces."""


def claims_of(traces: Source, settings: Any) -> Claims:
    """Short shipped claims that recur over several questions, and those that read like a refusal."""
    refuses = refuses_of(settings)
    claims: dict[str, str] = {}
    decoder = Decoder(Trace)
    for block in traces.blocks():
        for trace in decoder.records(block):
            qid = trace.qid or trace.q_id or ""
            claim = trace.answer_json.claim if trace.answer_json else None
            claims[qid] = claim.strip() if claim else ""
    shipped = {qid: claim for qid, claim in claims.items() if claim and not refuses(claim)}
    near = [Near(qid, claim) for qid, claim in shipped.items() if reads_like_refusal(trim_fold(claim))]
    return Claims(recurring_among(shipped.values()), near)


def recurring_among(claims: Iterable[str]) -> list[Recurring]:
    """The short ones among some claims that recur, most frequent first."""
    folded: dict[str, Counter[str]] = {}
    for claim in (one.strip() for one in claims if len(one) <= SHORT_CLAIM):
        if claim:
            folded.setdefault(trim_fold(claim), Counter())[claim] += 1
    found = [
        Recurring(min(spellings, key=lambda text: (-spellings[text], text)), total, reads_like_refusal(text))
        for text, spellings in folded.items()
        if (total := sum(spellings.values())) >= MANY
    ]
    return sorted(found, key=lambda one: (not one.refusal_like, -one.questions, one.claim))


def examined(request: Request, seen: Seen) -> list[str]:
    """What a gold set of answers and its traces can show, and how to read what they say."""
    suite = seen.body
    counts = suite["counts"]
    errors = f"{counts['errored']:,} errored, " if counts["errored"] else ""
    lines = [
        f"{plural(counts['gold'], 'question')}: {counts['answerable']:,} answerable, {counts['unanswerable']:,} not",
        f"{plural(suite['inputs'][1]['records'], 'trace')}: {counts['answered']:,} answered, "
        f"{counts['refused']:,} refused, {errors}{counts['missing']:,} missing, "
        f"{counts['duplicate_traces']:,} replaced, {counts['orphan_traces']:,} of no question",
        "",
        "What can be measured",
    ]
    if not suite["settings"]["scu"]:
        lines.append("  no   answers.scu, answers.scu_violations: constraints are not checked (scu = false)")
    for name, metric in shown_metrics(suite):
        if metric["undefined"] is not None:
            lines.append(f"  no   {name}: {metric['undefined']}")
        elif metric["den"] is not None:
            lines.append(f"  yes  {name}: {number_of(metric)} over {metric['den']:,} cases, true rate {_range(metric)}")
        else:
            lines.append(f"  yes  {name}: {metric['value']}")
    lines += ["", "What the gates can show", *seen.power]
    lines += _gold_errors(seen, request)
    lines += _refusals(request)
    if suite["warnings"]:
        lines += ["", "Warnings"]
        for warning in suite["warnings"]:
            where = f"{visible(warning['where'])}: " if warning["where"] else ""
            lines.append(f"  {where}{visible(warning['message'])} [{warning['code']}]")
    return lines


def _range(metric: dict[str, float]) -> str:
    return f"{percent(metric['low'])} … {percent(metric['high'])}"


def _gold_errors(seen: Seen, request: Request) -> list[str]:
    counts = Counter[str]()
    rescued = 0
    for flags, _, count, *_ in seen.part.evidence["tally"]:
        for bit, (code, _, _) in f.LINT.items():
            if flags & bit:
                counts[code] += count
        if flags & f.ONLY_SHORT and flags & f.RESCUABLE:
            rescued += count
    if not counts:
        return []
    lines = ["", "Gold items that cannot be scored as they are ('ragworthy gold lint' names them)"]
    lines += [f"  {code}: {plural(count, 'item')}" for code, count in sorted(counts.items())]
    if rescued and request.settings.short_substr == "reject":
        lines.append(f'  add to [answers]: short_substr = "word"   # makes {rescued:,} of them scorable')
    return lines


def _refusals(request: Request) -> list[str]:
    found, near = claims_of(open_source("trace", request.get("traces")), request.settings)
    refusing = [one for one in found if one.refusal_like][:SHOWN]
    others = [one for one in found if not one.refusal_like][:3]
    lines: list[str] = []
    if refusing:
        lines += ["", "Claims that recur and look like refusals, but count as answers"]
        lines += [f"  {one.questions:>6,} ×  {visible(clip(one.claim, 100))}" for one in refusing]
        texts = ", ".join(_toml(text) for text in (*request.settings.refusals, *(one.claim for one in refusing)))
        lines += ["  add to [answers] in the policy if they are refusals:", f"    refusals = [{texts}]"]
    lines += _near(near, {trim_fold(one.claim) for one in refusing})
    if others:
        lines += ["", "Other claims that recur over several questions (is one of them a refusal?)"]
        lines += [f"  {one.questions:>6,} ×  {visible(clip(one.claim, 100))}" for one in others]
    return lines


def _near(claims: list[Near], shown: set[str]) -> list[str]:
    """Claims that read like a refusal, each in words of its own with its question, and the pack that knows them."""
    singles = [one for one in claims if trim_fold(one.claim) not in shown]
    line = paste([one.claim for one in claims])
    lines: list[str] = []
    if singles:
        told = (
            plural(len(singles), "more claim reads", "more claims read")
            if shown
            else plural(len(singles), "claim reads", "claims read")
        )
        lines += ["", f"{told} like a refusal (counted as answers)"]
        lines += [f"  {visible(one.qid):<8}  {visible(clip(one.claim, 100))}" for one in singles]
    if line is not None:
        caught = f"{line.caught:,} of {len(claims):,}"
        lines += [f"  a refusal pack knows {caught}; add to [answers] in the policy:", f"    {line.text}"]
    elif singles:
        lines.append("  if they are refusals, refusal_starts or refusal_patterns can say so (docs/refusals.md)")
    return lines


def suggested(traces: Path) -> dict[str, tuple[Any, str]]:
    """Refusals in the pipeline's own words, for a first policy."""
    claims = claims_of(open_source("trace", traces), DECLARED.settings())
    recurring = [one for one in claims.recurring if one.refusal_like][:SHOWN]
    found: dict[str, tuple[Any, str]] = {}
    if recurring:
        said = f"{sum(one.questions for one in recurring):,} answers are one of these"
        found["refusals"] = ((*REFUSALS, *(one.claim for one in recurring)), said)
    known = {trim_fold(one.claim) for one in recurring}
    line = paste([one.claim for one in claims.near if trim_fold(one.claim) not in known])
    if line is not None:
        reads = plural(line.caught, "answer reads", "answers read")
        found["refusal_packs"] = (line.packs, f"{reads} like a refusal in other words: docs/refusals.md")
    return found


def _toml(text: str) -> str:
    """A text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(ch if ch.isprintable() else f"\\U{ord(ch):08x}" for ch in escaped) + '"'
