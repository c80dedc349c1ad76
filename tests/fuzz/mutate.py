"""Choose the edits of a case: bytes, structure and meaning, all from one random number generator."""

import json
import random
import re
from typing import Any

from fuzz import drawn, tree, values
from fuzz.case import Case, Edit
from fuzz.edits import Files, edited, splice
from fuzz.scenarios import Scenario, scenario

KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "answers": (16, ("answers",)), "retrieval": (8, ("retrieval",)), "trec": (5, ("trec",)),
    "structured": (10, ("structured",)), "stability": (4, ("stability",)), "latency": (6, ("latency",)),
    "agreement": (7, ("agreement",)), "rules": (9, ("rules",)), "policy": (8, ("policy",)), "suites": (2, ("suites",)),
    "receipt": (10, ("receipts",)), "bundle": (3, ("bundles",)), "index": (8, ("index",)), "vectors": (1, ("vectors",)),
    "journal": (4, ("journal",)), "replies": (3, ("replies",)), "knobs": (2, ("knobs",)),
    "imports": (6, ("imports",)), "recordings": (6, ("recordings",)),
    "garbage": (12, ("garbage-claims", "garbage-errors", "garbage-nothing", "garbage-suites")),
}  # fmt: skip
"""How often each kind is drawn, and from which scenarios."""
_OUTPUT_FLAGS = ("-o", "--rows", "--receipt", "--tsv", "--pairs-out", "--spot-check")


def make_case(seed: int, number: int, kind: str | None = None) -> Case:
    """Case `number` of a seed; nothing but the two (and the kind asked for) decides it."""
    rng = random.Random(f"{seed}:{number}")
    if kind is None:
        kind = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    name = rng.choice(KINDS[kind][1])
    given = scenario(name)
    commands = [list(command) for command in rng.choice(given.commands)]
    _add_flags(commands[0], given, rng)
    garbage = kind == "garbage"
    edits = _drawn(name, commands[0], rng) if garbage else []
    edits = edits or _edits(given, commands, kind, rng)
    if kind in ("receipt", "garbage") and commands[0][0] == "verify" and rng.random() < 0.5:
        commands.insert(0, ["@reseal", commands[0][1]])
    return Case(kind, name, commands, edits, garbage)


def _add_flags(command: list[str], given: Scenario, rng: random.Random) -> None:
    if command[0] not in ("score", "gate") or "--selftest" in command or "--item" in command:
        return
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if given.flags:
            command += rng.choice(given.flags)
    if rng.random() < 0.03:  # an output on top of something that is read
        read = [arg for arg in command if arg in given.files]
        if read:
            command += [rng.choice(_OUTPUT_FLAGS[:3]), rng.choice(read)]


def _drawn(name: str, command: list[str], rng: random.Random) -> list[Edit]:
    """For every second case of garbage: other rules, made up from scratch."""
    if name == "garbage-suites" or rng.random() < 0.5:
        return []
    if command[0] == "gate":
        return [{"do": "put", "file": "ragworthy.toml", "text": drawn.policy(rng)}]
    if "gates.toml" in command:
        return [{"do": "put", "file": "gates.toml", "text": drawn.gate_file(rng)}]
    if command == ["verify", "plain.json"]:
        gates = {"do": "node", "file": "plain.json", "line": None, "path": ["request", "gates"], "act": "set"}
        return [gates | {"value": drawn.receipt_gates(rng)}, {"do": "canonical", "file": "plain.json"}]
    return []


def _edits(given: Scenario, commands: list[list[str]], kind: str, rng: random.Random) -> list[Edit]:
    words = {word for command in commands for word in command}
    named = [target for target in given.targets if target in words] or given.targets
    sealed = [
        word for word in sorted(words) if word in given.files and kind in ("receipt", "garbage") and "verify" in words
    ]
    files, edits = dict(given.files), []
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
        target = rng.choice(named)
        if kind == "receipt" and rng.random() < 0.2:  # damage what the receipt rests on
            target = rng.choice([name for name in files if name not in given.targets])
        more = _damage(files, target, kind, rng)
        edits += more
        files, _ = edited(files, [], more)
    for receipt in sealed:
        if rng.random() < 0.9:
            edits.append({"do": rng.choice(("canonical", "fit")), "file": receipt})
    if kind in ("index", "vectors") and rng.random() < 0.7:
        edits.append({"do": "fit", "file": "live/manifest.json"})
    return edits


def _damage(files: Files, target: str, kind: str, rng: random.Random) -> list[Edit]:
    """One to three edits of one file."""
    data = files.get(target, b"")
    if not isinstance(data, bytes):
        return []
    dice = rng.random()
    if dice < 0.012 and kind not in ("garbage", "replies"):
        return [{"do": "become", "file": target, **rng.choice(values.BECOME)}]
    if dice < 0.08 and target.endswith((".jsonl", ".txt", ".csv", ".json")) and kind not in ("receipt", "garbage"):
        return _packed(files, target, rng)
    if dice < 0.28 or not _is_text(target):
        return _bytes(target, data, rng)
    if target.endswith(".toml"):
        return [_toml(target, data, rng)]
    if target.endswith((".jsonl", ".json", ".lock")):
        return [_json(target, data, rng)]
    return [_line(target, data, rng)]


def _is_text(name: str) -> bool:
    return name.endswith((".jsonl", ".json", ".lock", ".toml", ".txt", ".csv", ".md", ".html"))


def _packed(files: Files, target: str, rng: random.Random) -> list[Edit]:
    suffix = rng.choice((".gz", ".zst", ".parquet"))
    name = target.rpartition(".")[0] + suffix if suffix == ".parquet" else target + suffix
    edits: list[Edit] = [{"do": "pack", "file": target, "as": name, "frames": rng.choice((1, 1, 2))}]
    if rng.random() < 0.5:
        after, _ = edited(files, [], edits)
        data = after.get(name, b"")
        if isinstance(data, bytes):
            edits += _bytes(name, data, rng)
    return edits


def _bytes(target: str, data: bytes, rng: random.Random) -> list[Edit]:
    """Flip, cut, insert, double or swap."""
    size = len(data)
    at = rng.randint(0, size)
    span = min(rng.choice((1, 1, 2, 8, 64, 300)), size - at)
    act = rng.randrange(9)
    if act == 0 and at < size:
        return [splice(target, at, 1, bytes([data[at] ^ 1 << rng.randrange(8)]))]
    if act == 1 and at < size:
        return [splice(target, at, 1, bytes([rng.randrange(256)]))]
    if act == 2:
        return [splice(target, at, span)]
    if act == 3:
        return [splice(target, at, 0, data[at : at + span])]
    if act == 4:
        other = rng.randint(0, size)
        return [splice(target, at, rng.choice((0, span)), data[other : other + span])]
    if act == 5 and rng.random() < 0.5:
        return [splice(target, at, size)]
    if act == 6:
        lines = data.split(b"\n")
        one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
        return [splice(target, 0, size, b"\n".join(lines))] if size < 4000 else []
    if act == 7 and at + 2 * span <= size:  # two neighbours change places
        return [splice(target, at, 2 * span, data[at + span : at + 2 * span] + data[at : at + span])]
    return [splice(target, at, 0, rng.choice(values.TOKENS))]


def _json(target: str, data: bytes, rng: random.Random) -> Edit:
    """One place of one document changed."""
    number: int | None = None
    text = data.decode("utf-8", "replace")
    if target.endswith(".jsonl"):
        lines = text.split("\n")
        number = rng.randrange(max(1, len(lines) - 1))
        text = lines[number]
    try:
        places = list(tree.places(tree.parse(text)))
    except (ValueError, RecursionError):
        places = []
    edit: Edit = {"do": "node", "file": target, "line": number, "path": [], "act": "set"}
    if rng.random() < 0.1:
        edit["plain"] = True
    if not places or rng.random() < 0.03:
        return edit | {"value": rng.choice(values.RAW)}
    path = rng.choice(places)
    # deep parts have most places: shorten now and then, so that outer members get their turn
    path = path[: rng.randint(1, len(path))] if rng.random() < 0.3 else path
    key = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
    act = rng.choices(("set", "drop", "twice", "rename", "add"), (70, 10, 8, 5, 7))[0]
    if act == "rename":
        return edit | {"path": path, "act": act, "value": rng.choice(values.NEW_KEYS)}
    if act == "add":
        new = rng.choice((*values.NEW_KEYS, *values.MEANINGS))
        return edit | {"path": [*path[:-1], new], "act": act, "value": _json_value(new, rng)}
    return edit | {"path": path, "act": act, "value": _json_value(key, rng)}


def _json_value(key: str, rng: random.Random) -> str:
    dice = rng.random()
    if key in values.PATH_KEYS and dice < 0.5:
        return json.dumps(rng.choice(values.PATHS))
    if key in values.MEANINGS and dice < 0.5:
        return rng.choice(values.MEANINGS[key])
    if dice < 0.7:
        return rng.choice(values.RAW)
    return json.dumps(rng.choice(values.TEXTS), ensure_ascii=rng.random() < 0.7)


_KEY = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*=\s*(.*)")


def _toml(target: str, data: bytes, rng: random.Random) -> Edit:
    """One line of a TOML file changed, dropped, doubled, or another one put in."""
    lines = data.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    edit: Edit = {"do": "line", "file": target, "at": at}
    act = rng.choices(("value", "drop", "double", "rename", "insert"), (65, 8, 6, 5, 16))[0]
    found = _KEY.fullmatch(lines[at])
    if act == "drop":
        return edit | {"act": "drop"}
    if act == "double":
        return edit | {"act": "insert", "text": lines[at]}
    if act == "insert" or not found:
        if rng.random() < 0.5:
            key = rng.choice(tuple(values.MEANINGS))
            return edit | {"act": "insert", "text": f"{key} = {_toml_value(key, rng)}"}
        return edit | {"act": "insert", "text": rng.choice(values.TOML_LINES)}
    if act == "rename":
        return edit | {"act": "set", "text": f"{rng.choice(values.NEW_KEYS)} = {found[2]}"}
    return edit | {"act": "set", "text": f"{found[1]} = {_toml_value(found[1], rng)}"}


def _toml_value(key: str, rng: random.Random) -> str:
    dice = rng.random()
    if key == "tsv":
        return json.dumps(rng.choice(values.WRITTEN))
    if key in values.PATH_KEYS and dice < 0.6:
        return json.dumps(rng.choice(values.PATHS))
    if key in values.MEANINGS and dice < 0.6:
        return rng.choice(values.MEANINGS[key])
    if dice < 0.85:
        return rng.choice(values.TOML)
    return json.dumps(rng.choice(values.TEXTS))


def _line(target: str, data: bytes, rng: random.Random) -> Edit:
    """One cell of one line of a table changed, or the line dropped or doubled."""
    lines = data.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    edit: Edit = {"do": "line", "file": target, "at": at}
    act = rng.choices(("cell", "drop", "double", "insert"), (70, 8, 10, 12))[0]
    if act == "drop":
        return edit | {"act": "drop"}
    if act in ("double", "insert"):
        text: Any = lines[at] if act == "double" else rng.choice(values.TEXTS)
        return edit | {"act": "insert", "text": text}
    sign = "," if target.endswith(".csv") else " "
    cells = lines[at].split(sign)
    cells[rng.randrange(len(cells))] = rng.choice(rng.choice((values.TEXTS, values.RAW)))
    return edit | {"act": "set", "text": sign.join(cells), "surrogates": True}
