"""Gates as people write them: [[gate]] tables, name=value texts, gate files. Every mistake is named by its key."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import data_error, policy_error
from ragworthy.files import read_text
from ragworthy.gates import AGAINST, EACH, MAX, MIN, Gate, with_evidence
from ragworthy.load.checker import Checker, load_toml, shown, written
from ragworthy.load.keys import KEYS
from ragworthy.metrics import registry
from ragworthy.names import DEFAULT_K
from ragworthy.policy.defaults import with_defaults
from ragworthy.policy.gate_checks import (
    LIMITS,
    Known,
    bad_band,
    bad_slice,
    check_gate,
    check_once,
    idle_threshold,
    unknown_metric,
)
from ragworthy.proving import DIFFERENCE

MOST_KS = 8
DEFAULTS = "defaults"


def parse_ks(check: Checker, given: Any, field: str) -> tuple[int, ...]:
    """One k or several, each at least 1, in the order given."""
    several = given if isinstance(given, list) else [given]
    good = [k for k in several if isinstance(k, int) and not isinstance(k, bool) and k >= 1]
    if len(good) != len(several) or not good or len(set(good)) != len(good) or len(good) > MOST_KS:
        check.say(
            "RW-P03",
            field,
            f"expected whole numbers from 1 up (at most {MOST_KS}, all different), got {shown(given)}",
        )
        return (DEFAULT_K,)
    return tuple(good)


def parse_gates(
    check: Checker,
    given: Any,
    path: str,
    *,
    default_k: int,
    evidence: str,
    suite: str | None = None,
    known: Known = None,
    among: Sequence[str] = (),
) -> tuple[Gate, ...]:
    """The [[gate]] tables; a table with several limits gives several gates. `among` are the suites they may be for."""
    if not isinstance(given, list):
        check.say("RW-P03", path, f"expected [[{path}]] tables, got {shown(given)}")
        return ()
    gates: list[Gate] = []
    for i, table in enumerate(given):
        here = f"{path}[{i}]."
        if not isinstance(table, dict):
            check.say("RW-P03", here[:-1], f"expected a table, got {shown(table)}")
            continue
        check.known(table, KEYS["gate"], here)
        gates += _gate(check, table, here, _named(table, default_k, suite, known, among), evidence, suite)
    check_once(check, gates, path)
    return tuple(gates)


def _named(
    table: dict[str, Any], default_k: int, suite: str | None, known: Known, among: Sequence[str]
) -> registry.MetricName | str | None:
    """The metric that a table names, or why there is none; None where it names nothing that could be one."""
    name = table.get("metric")
    if not isinstance(name, str):
        return None
    suite = suite if "." not in name else None
    found = registry.find(name, default_k=default_k, suite=suite, known=known, among=among)
    return found or unknown_metric(name, known=known)


def _gate(
    check: Checker,
    table: dict[str, Any],
    here: str,
    found: registry.MetricName | str | None,
    evidence: str,
    only: str | None,
) -> Iterable[Gate]:
    check.take(table, "metric", str, here, "a metric id")
    if found is None:
        if "metric" not in table:
            check.say("RW-P11", f"{here}metric", "expected a metric id, got nothing")
        return []
    if isinstance(found, str):
        check.say("RW-P04", f"{here}metric", found)
        return []
    min_n = check.take(table, "min_n", int, here, "a whole number") or 0
    common = Gate(
        metric=found.id,
        op="",
        threshold="",
        slice=_slice(check, table, here),
        min_n=min_n,
        evidence=check.choice(table, "evidence", DIFFERENCE, here, evidence),
        optional=bool(check.take(table, "optional", bool, here, "true or false")),
        review=_band(check, table, here),
        why=check.take(table, "why", str, here, "a text"),
        suite=_suite_of(check, table, here, found, only),
    )
    gates = _limited(check, table, here, common, found.metric)
    must_pass = check.strings(table, "must_pass", here)
    rerun = bool(check.take(table, "rerun", bool, here, "true or false"))
    if rerun and not must_pass:
        check.say("RW-P24", f"{here}rerun", "expected must_pass beside it, got none")
    if must_pass:
        each = common._replace(op=EACH, threshold=str(len(must_pass)), must_pass=must_pass, review=None, rerun=rerun)
        gates.append(each)
        check_gate(check, gates[-1], found.metric, here)
    if not gates and not check.problems:
        check.say("RW-P11", here[:-1], "expected one of min, max, max_drop, max_worse, must_pass, got none")
    return gates


def _limited(check: Checker, table: dict[str, Any], here: str, common: Gate, metric: registry.Metric) -> list[Gate]:
    """A gate for each limit that a table has; one that compares is decided by questions unless the table says else."""
    gates = []
    effect = _effect(check, table, here)
    for op, key in LIMITS.items():
        if key not in table:
            continue
        number = written(table[key])
        if number is None:
            check.say("RW-P03", f"{here}{key}", f"expected a number, got {shown(table[key])}")
            continue
        made = common._replace(op=op, threshold=number, min_effect=effect if op in AGAINST else None)
        gates.append(made if "evidence" in table else with_evidence(made, made.evidence))
        check_gate(check, gates[-1], metric, here)
    if effect is not None and not any(gate.op in AGAINST for gate in gates):
        got = " and ".join(LIMITS[gate.op] for gate in gates) or "neither"
        check.say("RW-P20", f"{here}min_effect", f"expected max_drop or max_worse beside it, got {got}")
    return gates


def _effect(check: Checker, table: dict[str, Any], here: str) -> str | None:
    """The loss that must be exceeded before a proven one fails the gate, as it is written."""
    if "min_effect" not in table:
        return None
    number = written(table["min_effect"])
    if number is None:
        check.say("RW-P03", f"{here}min_effect", f"expected a number, got {shown(table['min_effect'])}")
    return number


def _suite_of(
    check: Checker, table: dict[str, Any], here: str, found: registry.MetricName, only: str | None
) -> str | None:
    """The suite that a gate is for, where it is not the metric's own but one that borrows it, as the only one may."""
    text = check.take(table, "suite", str, here, "the name of a suite")
    own = registry.suite_of(found.id)
    if text is None and only is not None and own in registry.BORROWED.get(only, ()):
        return only
    if text is None or text == own:
        return None
    if own not in registry.BORROWED.get(text, ()):
        check.say("RW-P03", f"{here}suite", f'expected "{own}", got "{text}"')
        return None
    return str(text)


def _band(check: Checker, table: dict[str, Any], here: str) -> tuple[str, str] | None:
    review = table.get("review")
    if review is None:
        return None
    numbers = tuple(str(written(one)) for one in review) if isinstance(review, list) else ()
    if bad_band(numbers):
        check.say("RW-P03", f"{here}review", f"expected [low, high], got {shown(review)}")
        return None
    return numbers[0], numbers[1]


def _slice(check: Checker, table: dict[str, Any], here: str) -> str | None:
    text = check.take(table, "slice", str, here, 'a text like "topic=billing"')
    if text is not None and (bad := bad_slice(text)):
        check.say("RW-P03", f"{here}slice", bad)
        return None
    return str(text) if text is not None else None


class Named(NamedTuple):
    """Gates that somebody named, and whether the default ones hold beside them."""

    gates: tuple[Gate, ...]
    defaults: bool = True

    def beside(self, usual: Iterable[Gate], evidence: str) -> tuple[Gate, ...]:
        """The gates that hold, of a suite with these default ones."""
        return with_defaults(self.gates, usual if self.defaults else (), evidence)


def load_gate_file(
    path: Path, *, default_k: int, evidence: str, suite: str | None = None, known: Known = None
) -> Named:
    """Gates from a TOML or JSON file: [[gate]] tables, or plain `name = threshold` lines; `defaults` in either."""
    where = path.as_posix()
    if path.suffix == ".json":
        import json

        try:
            table = json.loads(read_text(path), parse_float=Decimal, object_pairs_hook=_once)
        except (ValueError, ArithmeticError, RecursionError) as error:
            raise data_error("RW-F07", f"expected JSON, got: {error}", where=where) from None
        if not isinstance(table, dict):
            raise policy_error("RW-P03", "expected an object", where=where)
    else:
        table = load_toml(path)
    check = Checker(where)
    defaults = check.take(table, DEFAULTS, bool, "", "true or false")
    table = {key: value for key, value in table.items() if key != DEFAULTS}
    if "gate" in table:
        for key in table.keys() - {"version", "gate"}:  # a policy read as gates would lose all that it says besides
            message = f"expected nothing but version, {DEFAULTS} and [[gate]] in a file of gates, got another key"
            check.say("RW-P02", key, message)
        gates = parse_gates(
            check, table["gate"], "gate", default_k=default_k, evidence=evidence, suite=suite, known=known
        )
    else:
        gates = named_gates(check, table, default_k=default_k, evidence=evidence, suite=suite, known=known)
    check.stop()
    if not gates:
        raise policy_error("RW-P10", "expected at least one gate, got none", where=where)
    return Named(gates, defaults is not False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no key is twice: the last one would win without a word."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(key for nth, (key, _) in enumerate(pairs) if key in dict(pairs[:nth]))
        raise ValueError(f'the key "{twice}" twice')
    return table


def named_gates(
    check: Checker,
    pairs: dict[str, Any],
    *,
    default_k: int,
    evidence: str,
    suite: str | None = None,
    known: Known = None,
) -> tuple[Gate, ...]:
    """Gates from names and thresholds; the metric's direction gives the comparison."""
    gates: list[Gate] = []
    for name, value in pairs.items():
        found = registry.find(name, default_k=default_k, suite=suite, known=known)
        if found is None:
            check.say("RW-P04", name, unknown_metric(name, suite, known))
            continue
        if any(gate.metric == found.id for gate in gates):
            check.say("RW-P10", name, f"expected one threshold for {found.id}, got two")
            continue
        number = written(value)
        if number is None:
            check.say("RW-P03", name, f"expected a number, got {shown(value)}")
            continue
        op = MIN if found.metric.better == "higher" else MAX
        if bad := idle_threshold(found.metric, op, number):
            check.say("RW-P05", name, bad)
        other = suite if suite is not None and registry.suite_of(found.id) != suite else None
        gates.append(Gate(found.id, op, number, evidence=evidence, suite=other))
    return tuple(gates)


def parse_gate_text(
    given: list[str], *, default_k: int, evidence: str = "point", suite: str | None = None, known: Known = None
) -> Named:
    """Gates as the command line takes them: `precision=0.80,chr=0.75`, spaces for commas, or a TOML or JSON file.

    >>> named = parse_gate_text(["chr=0.75", "under=0.05"], default_k=5)
    >>> [(gate.metric, gate.op, gate.threshold) for gate in named.gates]
    [('answers.chr', '>=', '0.75'), ('answers.under_refusal', '<=', '0.05')]
    >>> parse_gate_text(["chr≥0.75"], default_k=5).gates == parse_gate_text(["chr>=0.75"], default_k=5).gates
    True
    """
    given = [one if one.endswith((".toml", ".json")) else one.replace("≥", MIN).replace("≤", MAX) for one in given]
    if len(given) == 1 and "=" not in given[0] and given[0].strip():
        _bare_name(given[0], default_k, suite, known)
        return load_gate_file(Path(given[0]), default_k=default_k, evidence=evidence, suite=suite, known=known)
    check = Checker("--gates")
    pairs: dict[str, Any] = {}
    for item in " ".join(given).replace(",", " ").split():
        name, sign, text = item.partition("=")
        name, direction = (name[:-1], name[-1] + "=") if name.endswith((">", "<")) else (name, "")
        if not sign or not name or not text:
            check.say("RW-P10", "", f'expected name=value, got "{item}"')
            continue
        try:
            number = Decimal(text)
        except ArithmeticError:
            check.say("RW-P10", name, f'expected a number, got "{text}"')
            continue
        if name in pairs:
            check.say("RW-P10", name, "expected each name once, got it twice")
        found = registry.find(name, default_k=default_k, suite=suite, known=known)
        if direction and found is not None and (direction == MIN) != (found.metric.better == "higher"):
            check.say("RW-P10", name, f"expected {MAX if direction == MIN else MIN}, got {direction}")
        pairs[name] = number
    gates = named_gates(check, pairs, default_k=default_k, evidence=evidence, suite=suite, known=known)
    check.stop()
    if not gates:
        raise policy_error("RW-P10", "expected name=value pairs, got nothing", where="--gates")
    return Named(gates)


def _bare_name(given: str, default_k: int, suite: str | None, known: Known) -> None:
    """Refuse metrics without a threshold, where a file could be meant and none is there."""
    names = given.replace(",", " ").split()
    found = [registry.find(name, default_k=default_k, suite=suite, known=known) for name in names]
    if all(found) and not Path(given).exists():
        check = Checker("--gates")
        for name, one in zip(names, found, strict=True):
            if one is not None:
                check.say("RW-P10", "", f'expected a threshold, e.g. {name}={_example(one.metric)}, got "{name}" alone')
        check.stop()


def _example(metric: registry.Metric) -> str:
    """A threshold that somebody could mean."""
    if metric.highest is None or metric.kind == "count":
        return "0" if metric.better == "lower" else "1"
    share = Decimal("0.80") if metric.better == "higher" else Decimal("0.05")
    return str(share if metric.highest == 1 else (share * int(metric.highest)).normalize())
