"""Parts of a score that are read apart, each written to a file, and merged into the report that one process writes.

A part has what its share of the traces gives, and says what it was made from: the hash of every input, the settings and
gates, the version. Parts that differ in any of this do not belong together. Merging opens the inputs once more, sees
that they are still what the parts were made from, and goes on as if it had read the traces itself.
"""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow, receipts
from ragworthy.errors import DataError, data_error, explained, usage_error
from ragworthy.files import read_bytes, sha256_of, write_whole
from ragworthy.load.foreign import name_misfits
from ragworthy.names import VERSION
from ragworthy.report import receipt
from ragworthy.report.placed import placed
from ragworthy.suites import SUITES
from ragworthy.suites.made import apart, said_in
from ragworthy.suites.parts import Stored, encoded
from ragworthy.suites.protocol import Suite
from ragworthy.suites.reading import told
from ragworthy.suites.request import Cut

SCHEMA = "ragworthy.part/1"
LARGEST = 1 << 32
"""So many bytes a part may have."""
MOST = 10_000
"""So many parts there may be."""


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input, as a receipt names it, and as it was typed: that is what a report shows."""

    role: str
    path: str
    sha256: str
    typed: str


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a part was made from: the same for all that belong together."""

    schema: str
    version: str
    of: int
    inputs: list[Read]
    request: receipt.Asked


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part as it is written."""

    made: Made
    nth: int
    """Which one it is, from 1."""
    read: dict[str, msgspec.Raw]
    """What its share of each file gives, by the role of the file."""


def cut_of(text: str) -> Cut:
    """Which part is meant.

    >>> cut_of("2/3")
    Cut(nth=1, of=3)
    """
    nth, sign, of = text.partition("/")
    if not (sign and nth.isdecimal() and of.isdecimal() and nth.isascii() and of.isascii()):
        raise usage_error(f"--shard: expected I/N, e.g. 1/3, got {text}")
    if not 1 <= int(nth) <= int(of) <= MOST:
        raise usage_error(f"--shard: expected I from 1 to N, and N up to {MOST:,}, got {text}")
    return Cut(int(nth) - 1, int(of))


def write(path: Path, request: flow.Request, cut: Cut, progress: flow.Progress | None = None) -> int:
    """Read one part and write what it gives; tells how many bytes that are."""
    if request.plugins:
        raise usage_error("--plugin: expected a score without code of its own, because it is cut into parts")
    inputs = receipts.files([request])
    read = {role: msgspec.Raw(data) for role, data in _read(request, cut, progress).items()}
    made = Made(
        schema=SCHEMA,
        version=VERSION,
        of=cut.of,
        inputs=[
            Read(role, receipt.relative(one, path.parent), sha256_of(one), one.as_posix())
            for role, one in sorted(inputs.items())
        ],
        request=msgspec.convert(receipts.options_of([request]), receipt.Asked),
    )
    data = msgspec.json.encode(Part(made=made, nth=cut.nth + 1, read=read))
    write_whole(path, data + b"\n")
    return len(data) + 1


def _read(request: flow.Request, cut: Cut, progress: flow.Progress | None) -> dict[str, bytes]:
    """What one part of each file gives, by the role of the file."""
    flow.check_request(request)
    suite: Suite = SUITES[request.suite].load().variant(request)
    found: dict[str, bytes] = {}
    with suite.during():
        opened = flow.open_inputs(suite, request)
        try:
            reading = suite.reading(opened, request)
            for one in next(reading):
                part = one.work(cut.nth, cut.of, told(progress, one.source.size // cut.of))
                one.stop(part)
                found[one.role] = encoded(one.pack(part))
                found[apart(one.source)] = encoded(said_in(one.source, cut.nth, cut.of))
            reading.close()
        except DataError as error:
            name_misfits(error, flow.read_as(suite, request, opened))
            raise
        opened.check_unchanged()
    return found


class Given(NamedTuple):
    """A part, and the file that it is."""

    path: Path
    part: Part


def request_of(paths: Sequence[Path]) -> flow.Request:
    """What all parts together are a score of, with what they read."""
    parts = sorted((Given(path, _part(path)) for path in paths), key=lambda one: one.part.nth)
    _check(parts)
    made = parts[0].part.made
    request = receipts.scored_again(made.request, _places(parts[0]), _flags(made))
    roles = {role for one in parts for role in one.part.read}
    stored = {
        role: [Stored(str(path), bytes(part.read.get(role, msgspec.Raw(b"null")))) for path, part in parts]
        for role in sorted(roles)
    }
    return request._replace(parts=MappingProxyType(stored))


def _flags(made: Made) -> dict[str, Any]:
    asked = made.request
    return {
        "unfrozen": asked.unfrozen,
        "allow_gold_errors": asked.allow_gold_errors,
        "commit": asked.commit or "",
        "attempts": None,
    }


def _part(path: Path) -> Part:
    data = read_bytes(path, limit=LARGEST)
    try:
        part = msgspec.json.decode(data, type=Part)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        field, message = explained(error)
        if b'"ragworthy.report/' in data[:200]:  # the file of the same name without --shard
            field, message = "", "a report, which 'score' writes without --shard"
        raise data_error("RW-S01", f"expected a part, got: {message}", where=str(path), field=field) from None
    if part.made.schema != SCHEMA:
        message = f'expected "{SCHEMA}", got "{part.made.schema}"'
        raise data_error("RW-S01", message, where=str(path), field="made.schema")
    if part.made.version != VERSION:
        message = f"expected a part of version {VERSION}, got one of {part.made.version}"
        raise data_error("RW-S02", message, where=str(path), field="made.version")
    if not 1 <= part.nth <= part.made.of:
        message = f"expected a number from 1 to {part.made.of}, got {part.nth}"
        raise data_error("RW-S01", message, where=str(path), field="nth")
    return part


def _check(parts: Sequence[Given]) -> None:
    """Refuse parts that do not belong together, that are there twice, or of which some are missing."""
    first = parts[0]
    for one in parts[1:]:
        if one.part.made != first.part.made:
            field, mine, other = _unlike(one.part.made, first.part.made)
            message = f"expected what {first.path} was made from ({other}), got {mine}"
            raise data_error("RW-S02", message, where=str(one.path), field=field)
    named: dict[int, Path] = {}
    for path, part in parts:
        if part.nth in named:
            message = f"expected every part once, got part {part.nth} of {part.made.of} twice: {named[part.nth]} too"
            raise data_error("RW-S03", message, where=str(path))
        named[part.nth] = path
    of = first.part.made.of
    missing = [nth for nth in range(1, of + 1) if nth not in named]
    if missing:
        some = ", ".join(map(str, missing[:10])) + (" …" if len(missing) > 10 else "")
        raise data_error("RW-S03", f"expected all {of} parts, got {len(parts)}: {some} missing")


def _unlike(one: Made, other: Made) -> tuple[str, str, str]:
    """The first thing in which two parts were made otherwise: its place, and both values."""
    mine, theirs = _flat(msgspec.to_builtins(one)), _flat(msgspec.to_builtins(other))
    field = next(key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key))
    return f"made.{field}", mine.get(field, "nothing"), theirs.get(field, "nothing")


def _flat(value: Any, place: str = "") -> dict[str, str]:
    """Every value by its place, inputs by their role."""
    if isinstance(value, dict) and value:
        pairs = [(f"{place}.{key}" if place else str(key), one) for key, one in value.items()]
    elif isinstance(value, list) and value:
        keys = [one["role"] if isinstance(one, dict) and "role" in one else nth for nth, one in enumerate(value)]
        pairs = [(f"{place}[{key}]", one) for key, one in zip(keys, value, strict=True)]
    else:
        return {place: msgspec.json.encode(value).decode()}
    found: dict[str, str] = {}
    for key, one in pairs:
        found |= _flat(one, key)
    return found


def _places(given: Given) -> dict[str, Path]:
    """Where the inputs are: at the paths that were typed, seen from here, or where they stood beside the part."""
    made = given.part.made
    typed = [receipt.Input(one.role, one.typed, one.sha256) for one in made.inputs]
    here = placed(typed, Path(), None, None)
    if not (here.gone or here.changed):
        return here.paths
    beside = [receipt.Input(one.role, one.path, one.sha256) for one in made.inputs]
    found = placed(beside, given.path.parent, None, None)
    if found.gone or found.changed:
        lines = [*found.changed, *found.gone]
        raise data_error("RW-S04", f"expected the inputs that parts were made from, got {lines[0]}")
    return found.paths
