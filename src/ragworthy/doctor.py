"""What these files can and cannot show, and why."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy import flow
from ragworthy.errors import RagworthyError
from ragworthy.gates import MAX, MIN, name_of
from ragworthy.load.decode import Decoder
from ragworthy.load.plugins import installed, load_point
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Trace
from ragworthy.report.show import number_of, percent, plural, shown_metrics
from ragworthy.stats import cases_needed
from ragworthy.text import clip, looks_like_refusal, trim_fold, visible

SHORT_CLAIM = 160
MANY = 3
SHOWN = 10


class Recurring(NamedTuple):
    """A short claim that several questions got."""

    claim: str
    questions: int
    refusal_like: bool


def recurring_claims(traces: Source, refusals: tuple[str, ...]) -> list[Recurring]:
    """Short shipped claims that recur over several questions, most frequent first."""
    known = {trim_fold(text) for text in refusals}
    claims: dict[str, str] = {}
    decoder = Decoder(Trace)
    for block in traces.blocks():
        for trace in decoder.records(block):
            qid = trace.qid or trace.q_id or ""
            claim = trace.answer_json.claim if trace.answer_json else None
            claims[qid] = claim.strip() if claim and len(claim) <= SHORT_CLAIM else ""
    folded: dict[str, Counter[str]] = {}
    for claim in claims.values():
        if claim and trim_fold(claim) not in known:
            folded.setdefault(trim_fold(claim), Counter())[claim] += 1
    found = [
        Recurring(min(spellings, key=lambda text: (-spellings[text], text)), total, looks_like_refusal(text))
        for text, spellings in folded.items()
        if (total := sum(spellings.values())) >= MANY
    ]
    return sorted(found, key=lambda one: (not one.refusal_like, -one.questions, one.claim))


def examine(requests: Sequence[flow.Request]) -> list[str]:
    """The doctor's findings as lines of text, suite by suite."""
    own = {"answers": _answers, "retrieval": _retrieval}
    found = [own.get(one.suite, _usual)(one) for one in requests]
    return [line for lines in found for line in (*lines, "")][:-1]


def plugins() -> list[str]:
    """What other packages announce, each loaded once to see whether it can be; nothing where none is installed."""
    lines = []
    for one in installed():
        try:
            load_point(one.group, one.name)
            state = "can be loaded"
        except RagworthyError as error:
            state = error.lines()[0]
        lines.append(f"  {one.name} ({one.group} of {one.package} {one.version}): {state}")
    return ["Plugins", *lines] if lines else []


def _retrieval(request: flow.Request) -> list[str]:
    """What a retrieval gold set and its traces can show."""
    run = flow.score(request)
    suite = run.report["suites"]["retrieval"]
    lines = [
        f"retrieval: {flow.voice_of('retrieval').counts_line(suite['counts'])}",
        "",
        "What these files cannot show",
    ]
    missing = [warning["message"] for warning in suite["warnings"] if warning["code"] == "RW-W26"]
    lines += [f"  {visible(message)}" for message in missing] or ["  nothing: every metric is measured"]
    return [*lines, "", "What the gates can show", *_power(run)]


def _usual(request: flow.Request) -> list[str]:
    """What the files of any other suite can show."""
    run = flow.score(request.with_given(subset=None))
    suite = run.report["suites"][request.suite]
    lines = [f"{request.suite}: {flow.voice_of(request.suite).counts_line(suite['counts'])}", ""]
    lines += ["What stands in the way of a verdict"]
    lines += [f"  {visible(reason)}" for reason in run.report["invalid"]] or ["  nothing: every metric is measured"]
    idle = [f"  {name}: {one['undefined']}" for name, one in suite["metrics"].items() if one["undefined"]]
    lines += ["", "What these files cannot show", *idle] if idle and request.suite != "structured" else []
    lines += ["", "What the gates can show", *_power(run)]
    if suite["warnings"]:
        lines += ["", "Warnings", *(f"  {visible(one['message'])} [{one['code']}]" for one in suite["warnings"])]
    return lines


def _answers(request: flow.Request) -> list[str]:
    run = flow.score(request._replace(allow_gold_errors=True))
    suite = run.report["suites"]["answers"]
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
    lines += ["", "What the gates can show", *_power(run)]
    lines += _gold_errors(run, request)
    lines += _refusals(request)
    if suite["warnings"]:
        lines += ["", "Warnings"]
        for warning in suite["warnings"]:
            where = f"{visible(warning['where'])}: " if warning["where"] else ""
            lines.append(f"  {where}{visible(warning['message'])} [{warning['code']}]")
    return lines


def _range(metric: dict[str, float]) -> str:
    return f"{percent(metric['low'])} … {percent(metric['high'])}"


def _power(run: flow.Run) -> list[str]:
    """How many cases each gate has, and how many it needs to mean anything with 95 % confidence."""
    lines = []
    for judged in run.judged:
        gate, value = judged.gate, judged.value
        if gate.op not in (MIN, MAX) or value is None or value.den is None or not value.rate:
            continue
        needed = cases_needed(gate.op, Fraction(gate.threshold) / value.top)
        if needed is None:
            continue
        enough = (value.size or 0) >= needed.to_pass
        sign = "≥" if gate.op == MIN else "≤"
        lines.append(
            f"  {'yes' if enough else 'no '}  {name_of(gate)} {sign} {gate.threshold}: has {value.size or 0:,} cases, "
            f"needs {needed.to_pass:,} clean ones to be shown with 95 % confidence"
        )
    return lines or ["  nothing to count: no gate on a rate"]


def _gold_errors(run: flow.Run, request: flow.Request) -> list[str]:
    counts = Counter[str]()
    rescued = 0
    for flags, _, count in run.parts[0].evidence["tally"]:
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


def _refusals(request: flow.Request) -> list[str]:
    found = recurring_claims(open_source("trace", request.get("traces")), request.settings.refusals)
    refusing = [one for one in found if one.refusal_like][:SHOWN]
    others = [one for one in found if not one.refusal_like][:3]
    lines: list[str] = []
    if refusing:
        lines += ["", "Claims that recur and look like refusals, but count as answers"]
        lines += [f"  {one.questions:>6,} ×  {visible(clip(one.claim, 100))}" for one in refusing]
        texts = ", ".join(_toml(text) for text in (*request.settings.refusals, *(one.claim for one in refusing)))
        lines += ["  add to [answers] in the policy if they are refusals:", f"    refusals = [{texts}]"]
    if others:
        lines += ["", "Other claims that recur over several questions (is one of them a refusal?)"]
        lines += [f"  {one.questions:>6,} ×  {visible(clip(one.claim, 100))}" for one in others]
    return lines


def _toml(text: str) -> str:
    """A text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(ch if ch.isprintable() else f"\\U{ord(ch):08x}" for ch in escaped) + '"'
