"""Two runs compared, for people: the block in a report with a baseline, and the whole of `ragworthy compare`."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.comparison.likeness import OTHERWISE
from ragworthy.report.able import pair_line
from ragworthy.report.screen import FILE, Screen, Span
from ragworthy.report.show import number, p_text, plural, signed
from ragworthy.safe import code, fill, row
from ragworthy.text import clip

ALPHA = 0.05
SHOWN = 5
"""So many questions of a kind are named."""
DEPTH = "5"
"""The k that is shown where there are several; JSON and --all have every one."""
HEADER = ("metric", "A", "B", "difference", "95 % interval", "p", "fixed", "broken")
WIDEST = 160

Json = dict[str, Any]


# numbers


def _shown(one: Json, key: str) -> str:
    return "–" if one[key] is None else number(Fraction(one[key]), whole=isinstance(one[key], int))


def _difference(one: Json) -> str:
    if one["difference"] is None:
        return ""
    whole = isinstance(one["difference"], int)
    return signed(Fraction(one["difference"]), whole=whole) if one["difference"] else "0"


def _interval(one: Json) -> str:
    return "" if one["low"] is None else f"{one['low']:+.3f} … {one['high']:+.3f}"


def _row(name: str, one: Json) -> tuple[str, ...]:
    counts = ("" if one[key] is None else f"{one[key]:,}" for key in ("fixed", "broken"))
    p = "" if one["p"] is None else p_text(one["p"])
    return name, _shown(one, "a"), _shown(one, "b"), _difference(one), _interval(one), p, *counts


def rows_of(suite: Json, *, every: bool) -> tuple[list[tuple[str, ...]], int]:
    """The rows of the table, and how many more there are."""
    metrics = suite["metrics"]
    depths = {name.partition("@")[2] for name in metrics if "@" in name}
    only = DEPTH if DEPTH in depths else min(depths, key=int, default="")
    shown = [name for name in metrics if every or name.partition("@")[2] in ("", only)]
    return [_row(name, metrics[name]) for name in shown], len(metrics) - len(shown)


def proven(suite: Json) -> list[str]:
    """Which metrics changed beyond chance, all of them taken together."""
    return [name for name, one in suite["metrics"].items() if one["holm"] is not None and one["holm"] <= ALPHA]


def worsened(suite: Json | None) -> list[str]:
    """The metrics that are proven to be worse."""
    return _moved(suite, False) if suite else []


def p_lines(suite: Json) -> list[str]:
    """What the p-values mean when there are many of them."""
    tested = [name for name, one in suite["metrics"].items() if one["holm"] is not None]
    if not tested or not suite["changed"]:
        return []
    survive = [f"{name} ({p_text(suite['metrics'][name]['holm'])})" for name in proven(suite)]
    told = f"below 0.05: {', '.join(survive)}" if survive else "none is below 0.05"
    metrics = plural(len(tested), "metric that changed", "metrics that changed")
    test = "p is two-sided (gates test one side: worse), of the paired test"
    return [f"{test}, not corrected for {metrics}; after Holm's correction {told}"]


# in a report


def lead(body: Json) -> list[str]:
    """The first lines of what changed against the baseline, where a report has that."""
    suite = body.get("compared")
    if not suite:
        return []
    against = f"against {suite['against'] or 'the baseline'}"
    made = [f"  {note}" for note in suite.get("notes", ()) if note.startswith(OTHERWISE)]
    if suite["unlike"]:
        return [f"{against}: not compared: {'; '.join(suite['unlike'])}", *made]
    if suite["rowless"] is not None:
        return [f"{against}: values only, question by question nothing is known ({suite['rowless']})", *made]
    if not suite["changed"]:
        return [f"{against}: no question changed ({suite['cases']:,} compared)", *made]
    lines = [f"{against}: {counts_line(suite)}{_most_telling(suite)}"]
    return [*lines, *(f"  {word}: {_named(suite[word])}" for word in ("broken", "fixed") if suite[word]), *made]


def block(body: Json) -> list[str]:
    """What is behind the first line of `lead`, for Markdown: the questions that flipped as tables."""
    suite = body.get("compared")
    if not suite:
        return []
    lines: list[str] = []
    if suite["rowless"] is None and not suite["unlike"]:
        lines = [line for word in ("broken", "fixed") for line in _listed(word.capitalize(), suite[word], False)]
    return [*lines, *(fill("- {}", line) for line in lead(body)[1:] if line.lstrip().startswith(OTHERWISE))]


def counts_line(suite: Json) -> str:
    """How many questions changed, and which way."""
    told = f"{len(suite['fixed']):,} fixed, {len(suite['broken']):,} broken"
    if suite["moved"]:
        told += f", {len(suite['moved']):,} wrong in another way"
    return told


def _most_telling(suite: Json) -> str:
    """The metric that changed most beyond chance; of several such, the one in which most questions changed."""
    moved = [(name, one) for name, one in suite["metrics"].items() if one["p"] is not None and _has_moved(one)]
    if not moved:
        return ""
    name, one = min(moved, key=lambda each: (each[1]["p"], not each[1]["difference"], -_changed(each[1])))
    p = one["p"]
    ends = f"{name.partition('.')[2]} {_shown(one, 'a')} → {_shown(one, 'b')}"
    counts = isinstance(one["a"], int) or max(abs(one["a"]), abs(one["b"])) > 1
    if counts or one["low"] is None:
        return f"; {ends}, {_difference(one)}, p {p_text(p)} two-sided"
    low, high = (f"{100 * one[end]:+.1f}" for end in ("low", "high"))
    return f"; {ends}, {100 * one['difference']:+.1f} points ({low} … {high}), p {p_text(p)} two-sided"


def _changed(one: Json) -> int:
    return (one["fixed"] or 0) + (one["broken"] or 0)


def _has_moved(one: Json) -> bool:
    return bool(one["difference"] or _changed(one))


def _named(flips: Sequence[Json]) -> str:
    more = f" … {len(flips) - SHOWN:,} more" if len(flips) > SHOWN else ""
    return ", ".join(f"{one['qid']} ({_way(one)})" for one in flips[:SHOWN]) + more


def _way(one: Json) -> str:
    """From which label and cause to which; of several runs also in how many it is good."""
    ends = []
    for label, cause in ((one["label_a"], one["cause_a"]), (one["label_b"], one["cause_b"])):
        ends.append(f"{label}: {cause}" if cause else label)
    way = " → ".join(dict.fromkeys(ends))
    if one.get("good_a") is None:
        return way
    return f"{way}, good in {100 * one['good_a']:.0f} → {100 * one['good_b']:.0f} % of runs"


# the whole comparison


def text(compared: Json, *, every: bool = False, screen: Screen = FILE) -> str:
    """The comparison for a terminal; the last line says what came of it, with the exit code."""
    lines = [*screen.prose(f"A  {_side(compared['a'])}"), *screen.prose(f"B  {_side(compared['b'])}"), ""]
    if not compared["comparable"]:
        reasons = [f"  {reason}" for reason in compared["unlike"]]
        lines += [screen.line(Span("not comparable", "INVALID")), *_prose(screen, reasons)]
        lines += ["", *_prose(screen, allow_lines(compared))]
    else:
        for name, suite in compared["suites"].items():
            lines += _suite(name, suite, every, screen)
        lines += [*_prose(screen, told), ""] if (told := alone(compared)) else []
    return "".join(f"{line}\n" for line in [*lines, *_last(compared, screen)])


def _last(compared: Json, screen: Screen) -> list[str]:
    """What came of it, where nothing is left out: on a narrow screen it goes on below."""
    word, _, told = last_line(compared).partition(" ")
    return screen.hung([Span(f"{word} ", "head")], told, indent=4)


def _prose(screen: Screen, lines: Iterable[str]) -> list[str]:
    return [shown for line in lines for shown in screen.prose(line)]


def alone(compared: Json) -> list[str]:
    """Suites that only one side has, of which nothing was compared."""
    sides = (("A", compared["only_a"]), ("B", compared["only_b"]))
    return [f"only in {side}, not compared: {', '.join(names)}" for side, names in sides if names]


def allow_lines(compared: Json) -> list[str]:
    """How to compare two runs all the same, where that can be done."""
    flags = " ".join(f"--allow {name}" for name in compared["allow"])
    return [f"compare them all the same, where that is what you try: {flags}", ""] if flags else []


def last_line(compared: Json) -> str:
    """What came of it."""
    if not compared["comparable"]:
        return "compared: not comparable, INVALID (exit 4)"
    left = "".join(f"; {line}" for line in alone(compared))
    suites = compared["suites"].values()
    if all(suite["rowless"] is not None for suite in suites):
        return f"compared: values only, question by question nothing is known{left} (exit 0)"
    if not any(suite["changed"] for suite in suites):
        where = f" in {', '.join(compared['suites'])}" if left else ""
        return f"compared: no question changed{where}{left} (exit 0)"
    fixed, broken = (sum(len(suite[word]) for suite in suites) for word in ("fixed", "broken"))
    worse, better = ([name for suite in suites for name in _moved(suite, good)] for good in (False, True))
    told = [f"{word}: {', '.join(names)}" for word, names in (("worse", worse), ("better", better)) if names]
    return f"compared: {fixed:,} fixed, {broken:,} broken; {'; '.join(told) or 'nothing is proven'}{left} (exit 0)"


def _moved(suite: Json, good: bool) -> list[str]:
    """The metrics that changed beyond chance for the better, or for the worse."""
    every = suite["metrics"]
    known = [name for name in proven(suite) if every[name]["better"] is not None]
    return [name for name in known if ((every[name]["difference"] > 0) == (every[name]["better"] == "higher")) is good]


def _side(side: Json) -> str:
    return f"{side['name']}  ({side['verdict']})" if side["verdict"] else str(side["name"])


def _head(name: str, suite: Json) -> str:
    if suite["rowless"] is not None:
        return f"{name}: values only"
    told = f"{suite['changed']:,} changed: {counts_line(suite)}" if suite["changed"] else "no question changed"
    missing = suite.get("missing", 0)
    gone = f" ({missing:,} without a trace in one of the runs)" if missing else ""
    return f"{name}: {plural(suite['cases'], 'question')} compared{gone}, {told}"


def _below(suite: Json, more: int) -> list[str]:
    """What is below the table."""
    lines = p_lines(suite)
    if suite["changed"] and suite["rowless"] is None:
        shared = any(one["clusters"] < one["cases"] for one in suite["metrics"].values())
        apart = " (each question for itself: as some share a document, it is more)" if shared else ""
        broken, fixed = len(suite["broken"]), len(suite["fixed"])
        lines.append(pair_line(suite["cases"], broken, fixed, proven=bool(worsened(suite))) + apart)
    lines += [f"not compared question by question: {suite['rowless']}"] if suite["rowless"] is not None else []
    untested: dict[str, list[str]] = {}
    for name, one in suite["metrics"].items():
        if one["without"] is not None and one["difference"] and suite["rowless"] is None:
            untested.setdefault(one["without"], []).append(name)
    lines += [f"not tested: {', '.join(names)}: {why}" for why, names in untested.items()]
    lines += [f"{plural(more, 'more row')} for other k: --all"] if more else []
    for word, other in (("only_a", "A"), ("only_b", "B")):
        if suite[word]:
            lines.append(f"only in {other}: {plural(len(suite[word]), 'question')}: {_few(suite[word])}")
    return [*lines, *suite["notes"], *context_lines(suite.get("context"))]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" … {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")


def context_lines(context: Json | None) -> list[str]:
    """Recall at equal bytes."""
    if not context:
        return []
    lines = [
        f"chunks differ in size: the first {context['results']} results are {context['bytes_a']:,} bytes in A, "
        f"{context['bytes_b']:,} in B; at equal bytes:"
    ]
    for one in context["recall"]:
        ends = f"{_shown(one, 'a')} → {_shown(one, 'b')}, {_difference(one)}"
        interval = f" ({_interval(one)})" if one["low"] is not None else ""
        p = "" if one["p"] is None else f", p {p_text(one['p'])}"
        lines.append(
            f"  recall in {one['budget'] / 1000:g} kB  {ends}{interval}{p}: "
            f"{plural(one['fixed'], 'question')} better, {one['broken']:,} worse"
        )
    return lines


def _suite(name: str, suite: Json, every: bool, screen: Screen) -> list[str]:
    rows, more = rows_of(suite, every=every)
    if screen.width is not None:  # the line above the table says whose they are
        rows = [(row[0].removeprefix(f"{name}."), *row[1:]) for row in rows]
    head = screen.hung([Span(f"{name}: ", "head")], _head(name, suite).removeprefix(f"{name}: "), indent=4)
    lines = [*head, "", *screen.table(HEADER, rows, drop=("95 % interval",)), ""]
    if below := _below(suite, more):
        lines += [*_prose(screen, (f"  {line}" for line in below)), ""]
    for word in ("broken", "fixed", *(("moved",) if every else ())):
        lines += _questions(word, suite[word], every, screen)
    return lines


def _questions(word: str, flips: Sequence[Json], every: bool, screen: Screen) -> list[str]:
    if not flips:
        return []
    shown = flips if every else flips[:SHOWN]
    title = {"broken": "Broken", "fixed": "Fixed", "moved": "Wrong in another way"}[word]
    role = "fail" if word == "broken" else "pass" if word == "fixed" else "head"
    lines = [screen.line(Span(title, role), f" ({plural(len(flips), 'question')})")]
    for one in shown:
        lines += screen.prose(f"  {one['qid']}  {_way(one)}")
        same = one["claim_a"] is not None and one["claim_a"] == one["claim_b"]
        claims = [("answer", "claim_a")] if same else [("was", "claim_a"), ("is", "claim_b")]
        for label, key in (("question", "question"), *claims):
            if one[key] is not None:
                lines += screen.hung([f"      {label:<9}  "], clip(one[key], WIDEST), indent=17)
    if len(flips) > len(shown):
        lines.append(screen.line(f"  … {len(flips) - len(shown):,} more: --all"))
    return [*lines, ""]


def markdown(compared: Json, *, every: bool = False) -> str:
    """The comparison for a pull request or a notebook."""
    lines: list[str] = [fill("## Ragworthy: {} → {}", code(compared["a"]["name"]), code(compared["b"]["name"])), ""]
    if not compared["comparable"]:
        lines += ["⚠️ Not comparable:", "", *(fill("- {}", reason) for reason in compared["unlike"])]
        lines += ["", *(fill("{}", line) for line in allow_lines(compared)), ""]
    for name, suite in compared["suites"].items():
        rows, more = rows_of(suite, every=every)
        lines += [fill("### {}", name), "", fill("{}.", _head(name, suite)), ""]
        lines += [row(HEADER), "|---" * len(HEADER) + "|", *map(row, rows), ""]
        if below := _below(suite, more):
            lines += [*(fill("- {}", line) for line in below), ""]
        for word, title in (("broken", "Broken"), ("fixed", "Fixed")):
            lines += _listed(title, suite[word], every)
    lines += [*(fill("⚠️ {}", line) for line in told), ""] if (told := alone(compared)) else []
    return "\n".join([*lines, fill("{}", last_line(compared)), ""])


def _listed(title: str, flips: Sequence[Json], every: bool) -> list[str]:
    if not flips:
        return []
    shown = flips if every else flips[:SHOWN]
    lines: list[str] = [fill("**{}** ({})", title, plural(len(flips), "question")), ""]
    claims = {"claim_a": "was", "claim_b": "is"} if any(one["claim_a"] or one["claim_b"] for one in shown) else {}
    header = ("qid", "label", "question", *claims.values())
    lines += [row(header), "|---" * len(header) + "|"]
    for one in shown:
        texts = (clip(one[key] or "", WIDEST) for key in ("question", *claims))
        lines.append(row((code(one["qid"]), _way(one), *texts)))
    more = len(flips) - len(shown)
    return [*lines, "", *([f"… {more:,} more", ""] if more else [])]
