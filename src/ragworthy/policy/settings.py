"""The settings of each suite, and how the sections of a policy become them."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import policy_error
from ragworthy.gates import Gate
from ragworthy.load.checker import Checker, shown, written
from ragworthy.names import DEFAULT_K, REFUSAL
from ragworthy.policy.defaults import (
    AGREEMENT_GATES,
    DEFAULT_GATES,
    LATENCY_GATES,
    LIVE_GATE,
    OPERATORS_GATES,
    RATERS_GATES,
    RETRIEVAL_GATES,
    STABILITY_GATES,
    STRUCTURED_GATES,
)
from ragworthy.policy.gate_text import parse_ks
from ragworthy.records import explained
from ragworthy.stats import exact

RETRIEVAL_KS = (1, 3, 5, 10)
DELTA_S = ("auto", "calibrated", "raw", "recorded")
SHORT = ("reject", "word")
SCOPES = ("section", "subtree")
STABILITY_LIMITS = ("acr=0.95", "cghc=0.95", "css=0.70", "ned50=0.20", "refusal_rate=0.98")
"""What each question must hold over its runs."""
USES = ("interactive", "batch")
FRONTIERS = ("usual", "strict")
BATCH_P95 = "2500"
BATCH_WHY = "what batch use allows"


class Answers(NamedTuple):
    """Settings of the answers suite; paths as they were written."""

    gold: str = ""
    traces: str = ""
    corpus: str | None = None
    lock: str | None = None
    ks: tuple[int, ...] = (DEFAULT_K,)
    short_substr: str = "reject"
    refusals: tuple[str, ...] = (REFUSAL,)
    scu: bool = False
    rule_packs: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()


class Retrieval(NamedTuple):
    """Settings of the retrieval suite; paths as they were written."""

    gold: str = ""
    traces: str = ""
    live: str | None = None
    corpus: str | None = None
    live_corpus: str | None = None
    redirects: tuple[str, ...] = ()
    lock: str | None = None
    ks: tuple[int, ...] = RETRIEVAL_KS
    delta_s: str = "auto"
    anchor_scope: str = "section"
    refusals: tuple[str, ...] = (REFUSAL,)
    slices: tuple[str, ...] = ()


class Structured(NamedTuple):
    """Settings of the structured suite; paths as they were written."""

    questions: str = ""
    outputs: str = ""
    definition: str | None = None
    subset: str | None = None
    provenance: str | None = None
    lock: str | None = None
    repair: bool = False
    profile: str = "default"
    slices: tuple[str, ...] = ()


class Stability(NamedTuple):
    """Settings of the stability suite; paths as they were written."""

    gold: str = ""
    runs: str = ""
    lock: str | None = None
    limits: tuple[str, ...] = STABILITY_LIMITS
    short_substr: str = "reject"
    refusals: tuple[str, ...] = (REFUSAL,)
    slices: tuple[str, ...] = ()


class Latency(NamedTuple):
    """Settings of the latency suite; paths as they were written."""

    gold: str = ""
    runs: str = ""
    prices: str | None = None
    corpus: str | None = None
    lock: str | None = None
    profile: str = "default"
    configuration: str | None = None
    use: str = "interactive"
    frontier: str = "usual"
    batch_p95: str = BATCH_P95
    short_substr: str = "reject"
    refusals: tuple[str, ...] = (REFUSAL,)
    scu: bool = False
    slices: tuple[str, ...] = ()


class Agreement(NamedTuple):
    """Settings of the agreement suite; paths as they were written. The form says which of them are there."""

    form: str = "pairs"
    pairs: str | None = None
    scholar: str | None = None
    auditor: str | None = None
    gold: str | None = None
    traces: str | None = None
    corpus: str | None = None
    raters: str | None = None
    operators: str | None = None
    tsv: str | None = None
    lock: str | None = None
    short_substr: str = "reject"
    refusals: tuple[str, ...] = (REFUSAL,)
    scu: bool = False
    release: bool = False
    baseline_cost: str | None = None
    fixes: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()


Settings = Answers | Retrieval | Structured | Stability | Latency | Agreement
SUITE_OF: dict[type[Settings], str] = {
    Answers: "answers",
    Retrieval: "retrieval",
    Structured: "structured",
    Stability: "stability",
    Latency: "latency",
    Agreement: "agreement",
}
"""Which suite some settings are for."""

FORMS = {
    "pairs": ("pairs",),
    "files": ("scholar", "auditor"),
    "traces": ("gold", "traces"),
    "raters": ("raters",),
    "operators": ("operators",),
}
"""The forms that votes come in, with the files of each."""


CHOICES: dict[str, tuple[str, ...]] = {
    "short_substr": SHORT,
    "delta_s": DELTA_S,
    "anchor_scope": SCOPES,
    "use": USES,
    "frontier": FRONTIERS,
    "profile": ("default", "reference"),
    "form": tuple(FORMS),
}
"""The settings that take one of a few words."""


def check_settings(settings: Settings, where: str) -> None:
    """What must hold for the settings of every suite, whether a flag, a policy, Python or a receipt gives them."""
    check = Checker(where)
    try:
        msgspec.convert(tuple(settings), type(settings), strict=True)
    except msgspec.ValidationError as error:
        place, message = explained(error)  # [3] or [3][0]
        field = settings._fields[int(place[1:].partition("]")[0])] if place.startswith("[") else place
        raise policy_error("RW-P03", message, where=where, field=field) from None
    for name, value in settings._asdict().items():
        if name in CHOICES:
            check.choice({name: value}, name, CHOICES[name], "", CHOICES[name][0])
        elif name == "ks":
            parse_ks(check, list(value), "k")
        elif name == "limits":
            _check_limits(check, value)
        elif name == "refusals" and (not value or not all(text.strip() for text in value)):
            check.say("RW-P03", name, "expected at least one text, none of them empty")
        elif name in ("batch_p95", "baseline_cost") and value is not None and not (exact(value) or 0) > 0:
            check.say("RW-P03", name, f"expected a number above 0, got {value}")
    check.stop()


def _check_limits(check: Checker, given: tuple[str, ...]) -> None:
    """The limits of stability as they are kept: every name once, with a number that can fail."""
    pairs = dict(one.partition("=")[::2] for one in given)
    numbers = {name: Decimal(text) if exact(text) is not None else text for name, text in pairs.items()}
    if parse_limits(check, numbers, "limits.") != given and not check.problems:
        check.say("RW-P03", "limits", f"expected every limit once, got {', '.join(given)}")


def default_gates(settings: Settings) -> tuple[Gate, ...]:
    """What holds for a suite when nobody says otherwise."""
    if isinstance(settings, Agreement):
        return {"raters": RATERS_GATES, "operators": OPERATORS_GATES}.get(settings.form, AGREEMENT_GATES)
    if isinstance(settings, Retrieval):
        return RETRIEVAL_GATES + ((LIVE_GATE,) if settings.live else ())
    if isinstance(settings, Latency) and settings.use == "batch":
        return (LATENCY_GATES[0]._replace(threshold=settings.batch_p95, why=BATCH_WHY), *LATENCY_GATES[1:])
    gates: dict[type[Settings], tuple[Gate, ...]]
    gates = {Answers: DEFAULT_GATES, Structured: STRUCTURED_GATES, Stability: STABILITY_GATES, Latency: LATENCY_GATES}
    return gates[type(settings)]


def sections(check: Checker, table: dict[str, Any]) -> tuple[Settings, ...]:
    """The sections of suites, in the order of the report."""
    readers: dict[str, Callable[[Checker, dict[str, Any]], Settings]]
    readers = {
        "answers": _answers,
        "retrieval": _retrieval,
        "structured": _structured,
        "stability": _stability,
        "latency": _latency,
        "agreement": _agreement,
    }
    found = {suite: check.take(table, suite, dict, "", "a table") for suite in readers}
    return tuple(readers[suite](check, section) for suite, section in found.items() if section is not None)


def _needs_files(check: Checker, table: dict[str, Any], path: str, needs: tuple[str, ...] = ("gold", "traces")) -> None:
    for needed in needs:
        if needed not in table:
            check.say("RW-P11", f"{path}{needed}", "expected a path, got nothing")


def _retrieval(check: Checker, table: dict[str, Any]) -> Retrieval:
    path = "retrieval."
    check.known(table, "retrieval", path)
    _needs_files(check, table, path)
    paths = ("gold", "traces", "live", "corpus", "live_corpus", "lock")
    texts = {key: check.take(table, key, str, path, "a path") for key in paths}
    return Retrieval(
        gold=texts["gold"] or "",
        traces=texts["traces"] or "",
        live=texts["live"],
        corpus=texts["corpus"],
        live_corpus=texts["live_corpus"],
        redirects=check.strings(table, "redirects", path) or (),
        lock=texts["lock"],
        ks=parse_ks(check, table.get("k", list(RETRIEVAL_KS)), f"{path}k"),
        delta_s=check.choice(table, "delta_s", DELTA_S, path, "auto"),
        anchor_scope=check.choice(table, "anchor_scope", SCOPES, path, "section"),
        refusals=_refusals(check, table, path),
        slices=check.strings(table, "slices", path) or (),
    )


def _structured(check: Checker, table: dict[str, Any]) -> Structured:
    path = "structured."
    check.known(table, "structured", path)
    _needs_files(check, table, path, ("questions", "outputs"))
    paths = ("questions", "outputs", "definition", "subset", "provenance", "lock")
    texts = {key: check.take(table, key, str, path, "a path") for key in paths}
    return Structured(
        questions=texts["questions"] or "",
        outputs=texts["outputs"] or "",
        definition=texts["definition"],
        subset=texts["subset"],
        provenance=texts["provenance"],
        lock=texts["lock"],
        repair=bool(check.take(table, "repair", bool, path, "true or false")),
        slices=check.strings(table, "slices", path) or (),
    )


def _answers(check: Checker, table: dict[str, Any]) -> Answers:
    path = "answers."
    check.known(table, "answers", path)
    _needs_files(check, table, path)
    texts = {key: check.take(table, key, str, path, "a path") for key in ("gold", "traces", "corpus", "lock")}
    ks = parse_ks(check, table.get("k", DEFAULT_K), f"{path}k")
    return Answers(
        gold=texts["gold"] or "",
        traces=texts["traces"] or "",
        corpus=texts["corpus"],
        lock=texts["lock"],
        ks=ks,
        short_substr=check.choice(table, "short_substr", SHORT, path, "reject"),
        refusals=_refusals(check, table, path),
        scu=bool(check.take(table, "scu", bool, path, "true or false")),
        rule_packs=check.strings(table, "rule_packs", path) or (),
        slices=check.strings(table, "slices", path) or (),
    )


def _refusals(check: Checker, table: dict[str, Any], path: str) -> tuple[str, ...]:
    found = check.strings(table, "refusals", path)
    if found == ():
        check.say("RW-P03", f"{path}refusals", "expected at least one text, got an empty list")
    return found or (REFUSAL,)


def _stability(check: Checker, table: dict[str, Any]) -> Stability:
    path = "stability."
    check.known(table, "stability", path)
    _needs_files(check, table, path, ("gold", "runs"))
    texts = {key: check.take(table, key, str, path, "a path") for key in ("gold", "runs", "lock")}
    limits = check.take(table, "limits", dict, path, "a table")
    return Stability(
        gold=texts["gold"] or "",
        runs=texts["runs"] or "",
        lock=texts["lock"],
        limits=parse_limits(check, limits or {}, f"{path}limits."),
        short_substr=check.choice(table, "short_substr", SHORT, path, "reject"),
        refusals=_refusals(check, table, path),
        slices=check.strings(table, "slices", path) or (),
    )


def parse_limits(check: Checker, given: dict[str, Any], path: str) -> tuple[str, ...]:
    """The limits of each question, those that are not given as they usually are."""
    usual = dict(one.split("=") for one in STABILITY_LIMITS)
    for name, value in given.items():
        number = written(value)
        if name not in usual:
            check.say(
                "RW-P02", f"{path}{name}", f"expected a known key, got an unknown one (one of: {', '.join(usual)})"
            )
        elif number is None or not 0 <= Fraction(number) <= 1:
            check.say("RW-P03", f"{path}{name}", f"expected a number from 0 to 1, got {shown(value)}")
        elif Fraction(number) == (1 if name == "ned50" else 0):
            check.say("RW-P05", f"{path}{name}", f"{name} = {number} can never fail")
        else:
            usual[name] = number
    return tuple(f"{name}={number}" for name, number in usual.items())


def _latency(check: Checker, table: dict[str, Any]) -> Latency:
    path = "latency."
    check.known(table, "latency", path)
    _needs_files(check, table, path, ("gold", "runs"))
    keys = ("gold", "runs", "prices", "corpus", "lock", "configuration")
    texts = {key: check.take(table, key, str, path, "a text") for key in keys}
    batch = written(table.get("batch_p95", 2500))
    if batch is None or Fraction(batch) <= 0:
        check.say("RW-P03", f"{path}batch_p95", f"expected a number above 0, got {shown(table['batch_p95'])}")
    return Latency(
        gold=texts["gold"] or "",
        runs=texts["runs"] or "",
        prices=texts["prices"],
        corpus=texts["corpus"],
        lock=texts["lock"],
        configuration=texts["configuration"],
        use=check.choice(table, "use", USES, path, "interactive"),
        frontier=check.choice(table, "frontier", FRONTIERS, path, "usual"),
        batch_p95=batch or BATCH_P95,
        short_substr=check.choice(table, "short_substr", SHORT, path, "reject"),
        refusals=_refusals(check, table, path),
        scu=bool(check.take(table, "scu", bool, path, "true or false")),
        slices=check.strings(table, "slices", path) or (),
    )


def _agreement(check: Checker, table: dict[str, Any]) -> Agreement:
    path = "agreement."
    check.known(table, "agreement", path)
    keys = ("pairs", "scholar", "auditor", "gold", "traces", "corpus", "raters", "operators", "tsv", "lock")
    texts = {key: check.take(table, key, str, path, "a path") for key in keys}
    form = form_of(texts)
    if form is None:
        wanted = "; ".join(" and ".join(files) for files in FORMS.values())
        check.say("RW-P11", path[:-1], f"expected the files of one form ({wanted}), got another choice")
    cost = written(table["baseline_cost"]) if "baseline_cost" in table else None
    if "baseline_cost" in table and (cost is None or Fraction(cost) <= 0):
        got = shown(table["baseline_cost"])
        check.say("RW-P03", f"{path}baseline_cost", f"expected a number above 0, got {got}")
    return Agreement(
        form=form or "pairs",
        short_substr=check.choice(table, "short_substr", SHORT, path, "reject"),
        refusals=_refusals(check, table, path),
        scu=bool(check.take(table, "scu", bool, path, "true or false")),
        release=bool(check.take(table, "release", bool, path, "true or false")),
        baseline_cost=cost,
        fixes=check.strings(table, "fixes", path) or (),
        slices=check.strings(table, "slices", path) or (),
        **texts,
    )


def form_of(given: Mapping[str, Any]) -> str | None:
    """The form that these files are, by the names of those that are there; None for none or for a mixture.

    >>> form_of({"scholar": "s.jsonl", "auditor": "a.jsonl"}), form_of({"pairs": "p.jsonl", "raters": "r.jsonl"})
    ('files', None)
    """
    there = {name for files in FORMS.values() for name in files if given.get(name)}
    return next((form for form, files in FORMS.items() if set(files) == there), None)
