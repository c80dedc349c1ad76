"""Gate packs: the sets of thresholds that the sources name, as data. The default gates of suites are read from them.

A pack is a TOML file in `packs/gates`, named by its file, with `[[gate]]` tables in the form of a policy. Default gates
are needed by every score, and the TOML parser is slow to load: values in these files are written as JSON has them too,
so that they are read without it. A test reads them with both. `@*` in a metric stands for every k of the run.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.gates import AGAINST, Gate, name_of, with_evidence
from ragworthy.load.checker import Checker, closest, written
from ragworthy.metrics import registry
from ragworthy.policy.gate_checks import LIMITS

EVERY_K = "@*"
"""How a metric ends that is judged at every k of the run."""
Depths = Mapping[str, Sequence[int]]
"""Every k of a run, by suite; none for a suite that has no such thing."""
SIGNS = {">=": "≥", "<=": "≤", "drop<=": "max_drop", "worse<=": "max_worse"}


class Pack(NamedTuple):
    """A set of gates under a name."""

    name: str
    title: str
    source: str
    """The pages that have these thresholds, by their own names."""
    gates: tuple[Gate, ...]
    """Those of the packs that it includes come first."""
    sha256: str
    """Of its file, and of those that it includes."""
    includes: tuple[str, ...] = ()
    setting: str = ""
    """A setting of its suite that holds thresholds of the set too, as the limits of each question do in stability."""
    proven: bool = False
    """Whether no loss may be proven, however small: what `regression = true` asks for."""

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that its gates are for, in their order."""
        return tuple(dict.fromkeys(map(suite_of, self.gates)))

    def asked(self, depths: Depths, evidence: str) -> Iterator[Gate]:
        """The gates that hold for some suites where somebody names the pack, at every k of theirs."""
        for gate in self.gates:
            if suite_of(gate) in depths:
                for one in at_depths(gate, depths[suite_of(gate)]):
                    yield with_evidence(self.strict(one), evidence)._replace(pack=self.name, packed=True)

    def strict(self, gate: Gate) -> Gate:
        """A gate as the pack asks for it where somebody names it."""
        return gate._replace(min_effect="0") if self.proven and gate.op in AGAINST else gate

    def told(self) -> dict[str, str]:
        """What a report and a receipt keep of it."""
        return {"name": self.name, "sha256": self.sha256}


def suite_of(gate: Gate) -> str:
    """The suite that a gate is judged with."""
    return gate.suite or registry.suite_of(gate.metric) or ""


def at_depths(gate: Gate, ks: Iterable[int]) -> list[Gate]:
    """A gate at every k, where it is for every k.

    >>> [one.metric for one in at_depths(Gate("retrieval.recall@*", "drop<=", "0.02"), (5, 10))]
    ['retrieval.recall@5', 'retrieval.recall@10']
    """
    name = gate.metric.removesuffix(EVERY_K)
    return [gate] if name == gate.metric else [gate._replace(metric=f"{name}@{k}") for k in dict.fromkeys(ks)]


@cache
def pack_names() -> tuple[str, ...]:
    """The name of every pack."""
    from importlib import resources

    files = (resources.files("ragworthy") / "packs" / "gates").iterdir()
    return tuple(sorted(one.name.removesuffix(".toml") for one in files if one.name.endswith(".toml")))


@cache
def load_pack(name: str) -> Pack:
    """A pack by its name.

    >>> [(gate.metric, gate.op, gate.threshold) for gate in load_pack("dev100").gates]
    [('structured.score', '>=', '95'), ('structured.schema_pass_rate', '>=', '0.98')]
    """
    loader: Any = getattr(__spec__, "loader", None)  # what `importlib.resources` asks too, without loading that
    data: bytes = loader.get_data(str(Path(__file__).parents[1] / "packs" / "gates" / f"{name}.toml"))
    text = data.decode().replace("\r\n", "\n")
    table = read(text)
    suite, inner = table.get("suite"), [load_pack(one) for one in table.get("includes", ())]
    taken = tuple(_for(gate, suite) for one in inner for gate in one.gates)
    own = tuple(_for(gate, suite) for one in table.get("gate", ()) for gate in _gates(one))
    hashed = hashlib.sha256("".join([*(one.sha256 for one in inner), text]).encode()).hexdigest()
    return Pack(
        name,
        table["title"],
        table["source"],
        taken + own,
        hashed,
        tuple(one.name for one in inner),
        table.get("setting", ""),
        bool(table.get("proven")),
    )


_VALUES = msgspec.json.Decoder(float_hook=Decimal)


def read(text: str) -> dict[str, Any]:
    """What the file of a pack says.

    >>> read('suite = "answers"\\n[[gate]]\\nmin = 0.80')
    {'suite': 'answers', 'gate': [{'min': Decimal('0.80')}]}
    """
    top: dict[str, Any] = {"gate": []}
    table = top
    for line in filter(None, map(str.strip, text.splitlines())):
        if line == "[[gate]]":
            table = {}
            top["gate"].append(table)
        elif not line.startswith("#"):
            key, _, value = line.partition(" = ")
            table[key] = _VALUES.decode(value)
    return {key: value for key, value in top.items() if key != "gate"} | {"gate": top["gate"]}


def gates_of(name: str, suite: str = "") -> tuple[Gate, ...]:
    """The gates of a pack, or those of one suite: what a suite has as its default ones."""
    return tuple(gate for gate in load_pack(name).gates if not suite or suite_of(gate) == suite)


def _gates(table: dict[str, Any]) -> Iterator[Gate]:
    """A gate for each limit of a table; a test holds them against what a policy would make of it."""
    effect = written(table["min_effect"]) if "min_effect" in table else None
    band = tuple(str(written(one)) for one in table.get("review", ()))
    for op, key in LIMITS.items():
        if key in table:
            yield Gate(
                table["metric"],
                op,
                str(written(table[key])),
                slice=table.get("slice"),
                optional=bool(table.get("optional")),
                review=(band[0], band[1]) if band else None,
                why=table.get("why"),
                min_effect=effect if op in AGAINST else None,
            )


def _for(gate: Gate, suite: str | None) -> Gate:
    """A gate for the suite of a pack, where its metric is borrowed from another."""
    return gate if suite is None or suite_of(gate) == suite else gate._replace(suite=suite)


# naming them


def find_packs(
    check: Checker, names: Iterable[str], suites: Sequence[str], field: str = "packs", before: Iterable[Pack] = ()
) -> list[Pack]:
    """The packs that were named, after those `before`; what is not a pack, or is for none of the suites, is said."""
    found = list(before)
    for nth, name in enumerate(names):
        here = f"{field}[{nth}]" if field == "packs" else field
        if name not in pack_names():
            close = closest(name, pack_names(), n=3, cutoff=0.5)
            hint = f" (did you mean {' or '.join(close)}?)" if close else f" (one of: {', '.join(pack_names())})"
            check.say("RW-P26", here, f'expected a gate pack, got "{name}"{hint}')
        elif not set(load_pack(name).suites) & set(suites):
            told = f'got "{name}", which is for {" and ".join(load_pack(name).suites)}'
            check.say("RW-P27", here, f"expected a pack for {' or '.join(suites)}, {told}")
        elif name in [one.name for one in found]:
            check.say("RW-P03", here, f'expected each pack once, got "{name}" twice')
        else:
            found.append(load_pack(name))
    return found


def with_packs(
    check: Checker,
    own: Iterable[Gate],
    packs: Sequence[Pack],
    depths: Depths,
    evidence: str,
    field: str = "packs",
) -> tuple[Gate, ...]:
    """The gates that somebody wrote, and those of packs that none of them replaces.

    `depths` are the suites with what each k is set to; a k that a gate names is in use besides. A gate on the same
    number and of the same kind replaces that of a pack, and says what it replaces. Packs that differ on a gate that
    nobody wrote are an error: which of them holds?
    """
    mine = {_key(gate): gate for gate in own}
    named = [*mine.values(), *(gate for pack in packs for gate in pack.gates)]
    depths = {suite: (*ks, *_depths_of(named, suite)) for suite, ks in depths.items()}
    added: dict[tuple[str, ...], Gate] = {}
    for pack in packs:
        for gate in pack.asked(depths, evidence):
            key = _key(gate)
            if key in mine:
                mine[key] = _instead(mine[key], gate)
            elif key not in added:
                added[key] = gate
            elif _differs(added[key], gate):
                first = added[key]
                told = f"{rule_of(first)} of {first.pack} and {rule_of(gate)} of {gate.pack}"
                check.say("RW-P25", field, f"expected packs that agree on {name_of(gate)}, got {told}")
    return (*mine.values(), *added.values())


def _depths_of(gates: Iterable[Gate], suite: str) -> list[int]:
    """Every k that the gates of a suite name."""
    found = (registry.find(gate.metric, default_k=1) for gate in gates if suite_of(gate) == suite)
    return [name.k for name in found if name is not None and name.k]


def _key(gate: Gate) -> tuple[str, ...]:
    return gate.metric, gate.op, gate.slice or "", gate.suite or "", *gate.must_pass


def _instead(own: Gate, packed: Gate) -> Gate:
    """A gate that somebody wrote, with the pack that has it too; and with the threshold there, where they differ."""
    if own.pack and (own.instead or not _differs(own, packed)):
        return own
    return own._replace(pack=packed.pack, instead=rule_of(packed) if _differs(own, packed) else None)


def _differs(one: Gate, other: Gate) -> bool:
    rules = [
        (Fraction(gate.threshold), gate.optional, gate.min_n, gate.review, Fraction(gate.effect_text))
        for gate in (one, other)
    ]
    return rules[0] != rules[1]


def rule_of(gate: Gate) -> str:
    """A rule in words, as short as can be.

    >>> rule_of(Gate("answers.chr", ">=", "0.75")), rule_of(Gate("answers.chr", "drop<=", "0.02", optional=True))
    ('≥ 0.75', 'max_drop 0.02, optional')
    >>> rule_of(Gate("answers.chr", "drop<=", "0.02", min_effect="0"))
    'max_drop 0.02, min_effect 0'
    """
    effect = f", min_effect {gate.min_effect}" if gate.min_effect is not None else ""
    band = f", review {' … '.join(gate.review)}" if gate.review else ""
    return f"{SIGNS[gate.op]} {gate.threshold}{effect}{band}{', optional' if gate.optional else ''}"


def asked_for(
    names: Iterable[str], own: tuple[Gate, ...], depths: Depths, evidence: str, where: str
) -> tuple[Gate, ...]:
    """The gates of one suite with those of the packs that were named beside them, by a flag or a keyword."""
    check = Checker(where)
    packs = find_packs(check, names, tuple(depths), "")
    gates = with_packs(check, own, packs, depths, evidence, "")
    check.stop()
    return gates


def known_packs(names: Iterable[str], suite: str, where: str) -> tuple[str, ...]:
    """The names of packs, all of which are for the suite."""
    check = Checker(where)
    found = find_packs(check, names, (suite,))
    check.stop()
    return tuple(one.name for one in found)


def rules_of(pack: Pack) -> list[str]:
    """The gates of a pack in words."""
    return [f"{name_of(gate)} {rule_of(pack.strict(gate))}" for gate in pack.gates]
