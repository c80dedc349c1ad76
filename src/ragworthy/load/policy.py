"""The policy file: which suites run on what, and which gates hold. Every mistake is named by the path of its key."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import policy_error
from ragworthy.files import read_text
from ragworthy.gates import Gate, Waiver, name_of
from ragworthy.load.rules import (
    DEFAULT_GATES,
    LIVE_GATE,
    RETRIEVAL_GATES,
    STRUCTURED_GATES,
    Checker,
    Known,
    load_toml,
    parse_gates,
    parse_ks,
    shown,
)
from ragworthy.metrics import registry
from ragworthy.names import DEFAULT_K, REFUSAL

VERSION = 1
RETRIEVAL_KS = (1, 3, 5, 10)
DELTA_S = ("auto", "calibrated", "raw", "recorded")


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


Settings = Answers | Retrieval | Structured
SUITE_OF: dict[type[Settings], str] = {Answers: "answers", Retrieval: "retrieval", Structured: "structured"}
"""Which suite some settings are for."""


class Policy(NamedTuple):
    """A checked policy."""

    suites: tuple[Settings, ...]
    gates: tuple[Gate, ...]
    waivers: tuple[Waiver, ...] = ()
    baseline: str | None = None
    evidence: str = "point"
    signers: tuple[str, ...] = ()
    path: Path | None = None

    @property
    def folder(self) -> Path:
        """Paths in the policy are relative to this folder."""
        return self.path.parent if self.path is not None else Path()


def find_policy(given: str | None) -> Path:
    """The policy to use: the one named, else ragworthy.toml, else pyproject.toml with [tool.ragworthy]."""
    if given is not None:
        return Path(given)
    for name in ("ragworthy.toml", "pyproject.toml"):
        path = Path(name)
        if path.is_file() and (name == "ragworthy.toml" or "[tool.ragworthy" in read_text(path)):
            return path
    message = "expected ragworthy.toml or [tool.ragworthy] in pyproject.toml here, got neither"
    raise policy_error("RW-P08", message)


def load_policy(path: Path, *, today: date | None) -> Policy:
    """Read and check a policy. `today` decides about waivers; None leaves their dates alone."""
    table = load_toml(path)
    where = path.as_posix()
    if path.name == "pyproject.toml":
        tool = table.get("tool")
        table = tool.get("ragworthy", {}) if isinstance(tool, dict) else {}
        if not isinstance(table, dict) or not table:
            raise policy_error("RW-P08", "expected a table [tool.ragworthy], got none", where=where)
    return parse_policy(table, where, path, today)


def parse_policy(table: dict[str, Any], where: str, path: Path | None, today: date | None) -> Policy:
    """A policy from its table."""
    check = Checker(where)
    check.known(table, "", "")
    if table.get("version") != VERSION or isinstance(table.get("version"), bool):
        got = shown(table["version"]) if "version" in table else "nothing"
        check.say("RW-P03" if "version" in table else "RW-P11", "version", f"expected {VERSION}, got {got}")
    evidence = check.choice(table, "evidence", ("point", "interval"), "", "point")
    suites = _suites(check, table)
    if not suites and not check.problems:
        check.say("RW-P12", "answers", "expected a section for a suite, got none")
    known = _known(check, suites, path)
    k = next((one.ks[0] for one in suites if isinstance(one, Answers)), DEFAULT_K)
    only = SUITE_OF[type(suites[0])] if len(suites) == 1 and not isinstance(suites[0], Answers) else None
    gates = parse_gates(check, table.get("gate", []), "gate", default_k=k, evidence=evidence, suite=only, known=known)
    if table.get("gate") == []:
        check.say("RW-P11", "gate", "expected at least one gate, got an empty list")
    gated = {gate.metric.partition(".")[0] for gate in gates}
    idle = [settings for settings in suites if SUITE_OF[type(settings)] not in gated and table.get("gate") != []]
    if not check.problems:  # a suite that nothing is said about is held to the usual gates, never to none
        gates += tuple(one._replace(evidence=evidence) for settings in idle for one in default_gates(settings))
    _suites_of_gates(check, gates, suites)
    waivers = _waivers(check, table.get("waiver", []), gates, today, known)
    freeze = check.take(table, "freeze", dict, "", "a table") or {}
    check.known(freeze, "freeze", "freeze.")
    signers = check.strings(freeze, "signers", "freeze.") or ()
    baseline = check.take(table, "baseline", str, "", "a path")
    check.stop()
    return Policy(suites, gates, waivers, baseline, evidence, signers, path)


def _suites(check: Checker, table: dict[str, Any]) -> tuple[Settings, ...]:
    """The sections of suites, in the order of the report."""
    readers: dict[str, Callable[[Checker, dict[str, Any]], Settings]]
    readers = {"answers": _answers, "retrieval": _retrieval, "structured": _structured}
    sections = {suite: check.take(table, suite, dict, "", "a table") for suite in readers}
    return tuple(readers[suite](check, section) for suite, section in sections.items() if section is not None)


def default_gates(settings: Settings) -> tuple[Gate, ...]:
    """What holds for a suite when nobody says otherwise."""
    if isinstance(settings, Answers):
        return DEFAULT_GATES
    if isinstance(settings, Structured):
        return STRUCTURED_GATES
    return RETRIEVAL_GATES + ((LIVE_GATE,) if settings.live else ())


def _known(check: Checker, suites: tuple[Settings, ...], path: Path | None) -> Known:
    """The metrics of the fields that a definition of its own gives the structured suite."""
    written = next((one.definition for one in suites if isinstance(one, Structured)), None)
    if written is None or check.problems:
        return None
    from ragworthy.load.definition import metrics_in

    return metrics_in((path.parent if path is not None else Path()) / written)


def _suites_of_gates(check: Checker, gates: tuple[Gate, ...], suites: tuple[Settings, ...]) -> None:
    """Every gate needs the section of its suite, or it would never be judged."""
    there = {SUITE_OF[type(one)] for one in suites}
    for gate in gates if there else ():
        suite = gate.metric.partition(".")[0]
        if suite not in there:
            check.say("RW-P11", suite, f"expected a section [{suite}] for the gate on {gate.metric}, got none")


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
    refusals = check.strings(table, "refusals", path)
    if refusals == ():
        check.say("RW-P03", f"{path}refusals", "expected at least one text, got an empty list")
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
        anchor_scope=check.choice(table, "anchor_scope", ("section", "subtree"), path, "section"),
        refusals=refusals or (REFUSAL,),
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
    refusals = check.strings(table, "refusals", path)
    if refusals == ():
        check.say("RW-P03", f"{path}refusals", "expected at least one text, got an empty list")
    return Answers(
        gold=texts["gold"] or "",
        traces=texts["traces"] or "",
        corpus=texts["corpus"],
        lock=texts["lock"],
        ks=ks,
        short_substr=check.choice(table, "short_substr", ("reject", "word"), path, "reject"),
        refusals=refusals or (REFUSAL,),
        scu=bool(check.take(table, "scu", bool, path, "true or false")),
        rule_packs=check.strings(table, "rule_packs", path) or (),
        slices=check.strings(table, "slices", path) or (),
    )


def _waivers(
    check: Checker, given: Any, gates: tuple[Gate, ...], today: date | None, known: Known
) -> tuple[Waiver, ...]:
    if not isinstance(given, list):
        check.say("RW-P03", "waiver", f"expected [[waiver]] tables, got {shown(given)}")
        return ()
    names = {name_of(gate) for gate in gates}
    waivers = []
    for i, table in enumerate(given):
        here = f"waiver[{i}]."
        if not isinstance(table, dict):
            check.say("RW-P03", here[:-1], f"expected a table, got {shown(table)}")
            continue
        check.known(table, "waiver", here)
        texts = {}
        for key in ("gate", "reason", "owner"):
            texts[key] = check.take(table, key, str, here, "a text")
            if not texts[key] and key not in table:
                check.say("RW-P11", f"{here}{key}", "expected a text, got nothing")
        expires = check.take(table, "expires", date, here, "a date like 2026-12-31")
        if "expires" not in table:
            check.say("RW-P11", f"{here}expires", "expected a date, got nothing")
        if expires is not None and today is not None and expires < today:
            check.say("RW-P06", f"{here}expires", f"expected a date from {today} on, got {expires}")
        if texts["gate"] and texts["gate"] not in names:
            # A waiver may stay when its gate has gone, but not name something that no gate could be on.
            found = registry.find(texts["gate"].partition("[")[0], default_k=DEFAULT_K, known=known)
            texts["gate"] = found.id if found and found.id in names else texts["gate"]
            if found is None:
                check.say("RW-P07", f"{here}gate", f'expected a gate, got "{texts["gate"]}"')
        if all(texts.values()) and expires is not None:
            waivers.append(Waiver(texts["gate"], texts["reason"], texts["owner"], expires.isoformat()))
    return tuple(waivers)


def resolve(policy: Policy, written: str) -> Path:
    """A path of the policy, relative to the policy's folder."""
    path = Path(written)
    return path if path.is_absolute() else policy.folder / path
