"""The policy file: which suites run on what, and which gates hold. Every mistake is named by the path of its key."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ragworthy.comparison.likeness import not_allowable
from ragworthy.errors import PolicyError, policy_error
from ragworthy.files import read_text
from ragworthy.gates import AGAINST, Gate, Waiver, name_of, with_evidence
from ragworthy.load.checker import Checker, load_toml, shown
from ragworthy.load.keys import KEYS
from ragworthy.load.plugins import Plugin, load_file, load_metrics, using_metrics
from ragworthy.metrics import registry
from ragworthy.names import DEFAULT_K, SUITES
from ragworthy.policy.defaults import with_defaults
from ragworthy.policy.gate_checks import EVIDENCE, Known
from ragworthy.policy.gate_text import DEFAULTS, parse_gates
from ragworthy.policy.kept import Kept, parse_baseline, parse_kept
from ragworthy.policy.packs import Depths, Pack, find_packs, with_packs
from ragworthy.policy.proving import parse_proving
from ragworthy.policy.sections import Section, Suites, every_key, paths_of, sections
from ragworthy.proving import Proving

VERSION = 1


class Policy(NamedTuple):
    """A checked policy."""

    suites: tuple[Section, ...]
    gates: tuple[Gate, ...]
    waivers: tuple[Waiver, ...] = ()
    baseline: str | None = None
    evidence: str = "point"
    signers: tuple[str, ...] = ()
    path: Path | None = None
    regression: bool = False
    today: date | None = None
    """The day on which its waivers were judged."""
    plugins: tuple[Plugin, ...] = ()
    """Metrics from elsewhere, loaded."""
    history: Kept = Kept()
    proving: Proving = Proving()
    cluster: str = "document"
    packs: tuple[Pack, ...] = ()
    """The gate packs that were named."""
    more_packs: tuple[str, ...] = ()
    """The names of those that the policy itself does not have, from the command line or from Python."""
    allowed: tuple[str, ...] = ()
    """What may differ from what a run is compared with."""

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


def named_model(given: str | None) -> str | None:
    """The model of distances that a policy names: the one given, or the one that is here."""
    try:
        path = find_policy(given)
    except PolicyError:  # there is none
        return None
    table = policy_table(path).get("retrieval")
    name = table.get("delta_s_model") if isinstance(table, dict) else None
    return name if isinstance(name, str) else None


def load_policy(path: Path, suites: Suites, *, today: date | None, packs: Iterable[str] = ()) -> Policy:
    """Read and check a policy. `today` decides about waivers; None leaves their dates alone. `packs` hold besides those
    that it names.
    """
    return parse_policy(policy_table(path), suites, path.as_posix(), path, today, packs=packs)


def policy_table(path: Path, name: str = "") -> dict[str, Any]:
    """What a policy file says; `name` is that of the file where it had another one."""
    table = load_toml(path)
    if (name or path.name) == "pyproject.toml":
        tool = table.get("tool")
        table = tool.get("ragworthy", {}) if isinstance(tool, dict) else {}
        if not isinstance(table, dict) or not table:
            raise policy_error("RW-P08", "expected a table [tool.ragworthy], got none", where=path.as_posix())
    return table


def parse_policy(
    table: dict[str, Any],
    suites: Suites,
    where: str,
    path: Path | None,
    today: date | None,
    elsewhere: Mapping[str, Path] = MappingProxyType({}),
    packs: Iterable[str] = (),
) -> Policy:
    """A policy from its table; `elsewhere` says where files of plugins are that are not where they are named, `packs`
    which gate packs hold besides those that it names.
    """
    suites.also(key for key, value in table.items() if isinstance(value, dict))
    check = Checker(where)
    check.known(table, every_key(suites)[""], "")
    named = check.strings(table, "plugins", "") or ()
    folder = path.parent if path is not None else Path()
    loaded = [
        load_file(elsewhere[name], name)
        if name in elsewhere
        else load_metrics(name, folder, where=where, field=f"plugins[{nth}]")
        for nth, name in enumerate(named)
    ]
    with using_metrics(loaded, where):
        return _parse(check, table, suites, path, today, tuple(packs))._replace(plugins=tuple(loaded))


def _parse(
    check: Checker, table: dict[str, Any], suites: Suites, path: Path | None, today: date | None, more: tuple[str, ...]
) -> Policy:
    if table.get("version") != VERSION or type(table.get("version")) is not int:
        got = shown(table["version"]) if "version" in table else "nothing"
        check.say("RW-P03" if "version" in table else "RW-P11", "version", f"expected {VERSION}, got {got}")
    evidence = check.choice(table, "evidence", EVIDENCE, "", "point")
    regression = bool(check.take(table, "regression", bool, "", "true or false"))
    there = sections(check, table, suites)
    if not there and not check.problems:
        check.say("RW-P12", SUITES[0], "expected a section for a suite, got none")
    known = _known(check, there, suites, path.parent if path is not None else Path())
    k = next((one.settings.ks[0] for one in there if suites[one.suite].default_k is None), DEFAULT_K)
    only = there[0].suite if len(there) == 1 and there[0].suite != SUITES[0] else None
    among = tuple(one.suite for one in there)
    gates = parse_gates(
        check, table.get("gate", []), "gate", default_k=k, evidence=evidence, suite=only, known=known, among=among
    )
    if table.get("gate") == []:
        check.say("RW-P11", "gate", "expected at least one gate, got an empty list")
    packs, gates = _with_packs(check, table, more, gates, _depths(there, suites), evidence)
    regression = regression or any(one.proven for one in packs)
    defaults = check.take(table, DEFAULTS, bool, "", "true or false")
    if not check.problems:
        gates = _with_defaults(check, gates, there, suites, evidence, (defaults, regression))
        rules = [gate for one in there if regression for gate in suites[one.suite].regression]
        gates += _regression(gates, rules, evidence)
    there = tuple(one._replace(defaults=_keeps(one, defaults)) for one in there)
    _suites_of_gates(check, gates, there)
    waivers = _waivers(check, table.get("waiver", []), gates, today, partial(_whole_name, known=known, k=k, only=only))
    freeze = check.take(table, "freeze", dict, "", "a table") or {}
    check.known(freeze, KEYS["freeze"], "freeze.")
    how = parse_proving(check, table)
    signers = check.strings(freeze, "signers", "freeze.") or ()
    baseline, kept = parse_baseline(check, table), parse_kept(check, table)
    allowed = check.strings(table, "allow", "") or ()
    for nth, name in enumerate(allowed):
        if wrong := not_allowable(name):
            check.say("RW-B06", f"allow[{nth}]", wrong)
    check.stop()
    policy = Policy(there, gates, waivers, baseline, evidence, signers, path, regression, today)
    policy = policy._replace(proving=how.proving, cluster=how.cluster, history=kept, allowed=allowed)
    return policy._replace(packs=packs, more_packs=more)


def _depths(there: Iterable[Section], suites: Suites) -> dict[str, tuple[int, ...]]:
    """The suites of a policy, and those whose metrics they have besides, each with its list of k."""
    return {name: ks for one in there for name, ks in suites[one.suite].depths(one.settings).items()}


def _with_packs(
    check: Checker,
    table: dict[str, Any],
    more: tuple[str, ...],
    gates: tuple[Gate, ...],
    depths: Depths,
    evidence: str,
) -> tuple[tuple[Pack, ...], tuple[Gate, ...]]:
    """The gate packs that are named, and the gates with theirs."""
    names = check.strings(table, "packs", "") or ()
    if not (names or more) or check.problems:
        return (), gates
    packs = find_packs(check, more, tuple(depths), "--pack", find_packs(check, names, tuple(depths)))
    return tuple(packs), with_packs(check, gates, packs, depths, evidence)


def _with_defaults(
    check: Checker,
    named: tuple[Gate, ...],
    there: tuple[Section, ...],
    suites: Suites,
    evidence: str,
    said: tuple[bool | None, bool],
) -> tuple[Gate, ...]:
    """The gates that were named, and the default ones of every suite, where the policy does not do without them.

    `said`: what the policy as a whole says of default gates, and whether it asks for the rules against a baseline.
    """
    usual: tuple[Gate, ...] = ()
    marked: dict[Gate, Gate] = {}
    for one in there:
        mine = tuple(gate for gate in named if suite_of(gate) == one.suite)
        if _keeps(one, said[0]):
            gates = suites[one.suite].default_gates(one.settings, one.there)
            every = with_defaults(mine, gates, evidence)
            marked |= zip(mine, every, strict=False)
            usual += every[len(mine) :]
        elif not mine and not said[1]:
            key = DEFAULTS if one.defaults is None else f"{one.suite}.{DEFAULTS}"
            check.say("RW-P16", key, f"expected a gate for {one.suite} besides defaults = false, got none")
    return tuple(marked.get(gate, gate) for gate in named) + usual


def _keeps(section: Section, policy: bool | None) -> bool:
    """Whether the default gates of a suite hold; where its section does not say, the policy as a whole does."""
    return section.defaults if section.defaults is not None else policy is not False


def suite_of(gate: Gate) -> str | None:
    """The suite that a gate is judged with."""
    return gate.suite or registry.suite_of(gate.metric)


def _regression(gates: tuple[Gate, ...], rules: Iterable[Gate], evidence: str) -> tuple[Gate, ...]:
    """The rules against the last accepted run; what the policy says itself stands. Nothing may be proven worse."""
    said = {(gate.metric, gate.op, gate.suite) for gate in gates if gate.slice is None}
    added = [with_evidence(gate, evidence) for gate in rules if (gate.metric, gate.op, gate.suite) not in said]
    return tuple(gate._replace(min_effect="0") if gate.op in AGAINST else gate for gate in added)


def _known(check: Checker, there: tuple[Section, ...], suites: Suites, folder: Path) -> Known:
    """The metrics that files of a suite define, as a definition of structured answers does; None where none does."""
    if check.problems:
        return None
    found: dict[str, registry.Metric] = {}
    for one in there:
        found |= suites[one.suite].metrics_of(paths_of(one.given, folder)) or {}
    return found or None


def _suites_of_gates(check: Checker, gates: tuple[Gate, ...], suites: tuple[Section, ...]) -> None:
    """Every gate needs the section of its suite, or it would never be judged."""
    there = {one.suite for one in suites}
    for gate in gates if there else ():
        suite = suite_of(gate)
        if suite not in there:
            check.say("RW-P11", suite or "", f"expected a section [{suite}] for the gate on {gate.metric}, got none")


def _waivers(
    check: Checker,
    given: Any,
    gates: tuple[Gate, ...],
    today: date | None,
    whole_name: Callable[[str], str | None],
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
        check.known(table, KEYS["waiver"], here)
        texts = {}
        for key in ("gate", "reason", "owner"):
            texts[key] = check.take(table, key, str, here, "a text")
            if key not in table:
                check.say("RW-P11", f"{here}{key}", "expected a text, got nothing")
            elif texts[key] is not None and not texts[key].strip():
                check.say("RW-P03", f"{here}{key}", "expected a text, got an empty one")
        expires = check.take(table, "expires", date, here, "a date like 2026-12-31")
        if "expires" not in table:
            check.say("RW-P11", f"{here}expires", "expected a date, got nothing")
        if expires is not None and today is not None and expires < today:
            check.say("RW-P06", f"{here}expires", f"expected a date from {today} on, got {expires}")
        if texts["gate"] and texts["gate"] not in names:
            # A waiver may stay when its gate has gone, but not name something that no gate could be on.
            whole = whole_name(texts["gate"])
            if whole is None:
                check.say("RW-P07", f"{here}gate", f'expected a gate, got "{texts["gate"]}"')
            texts["gate"] = whole or texts["gate"]
        if all(texts.values()) and expires is not None:
            waivers.append(Waiver(texts["gate"], texts["reason"], texts["owner"], expires.isoformat()))
    return tuple(waivers)


def _whole_name(written: str, *, known: Known, k: int, only: str | None) -> str | None:
    """The name of a gate with the full id of its metric; None where it names no metric. A slice is never dropped.

    In a policy of one suite (`only`) a metric that it borrows is its own.
    """
    suite = next((f"{one}:" for one in SUITES if written.startswith(f"{one}:")), "")
    base, bracket, rest = written.removeprefix(suite).partition("[")
    found = registry.find(base, default_k=k, suite=only if "." not in base else None, known=known)
    if found is None:
        return None
    if only is not None and not suite and registry.suite_of(found.id) in registry.BORROWED.get(only, ()):
        suite = f"{only}:"
    return f"{suite}{found.id}{bracket}{rest}"


def resolve(policy: Policy, written: str) -> Path:
    """A path of the policy, relative to the policy's folder."""
    path = Path(written)
    return path if path.is_absolute() else policy.folder / path
