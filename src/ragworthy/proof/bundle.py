"""The bundle: one zip with a receipt, every input it names, the report and its rows, and a manifest of all of them.

A bundle is verified as a receipt is, from nothing but itself: it is unpacked into a folder that is removed afterwards,
each input is found by its bytes, and all is derived again.
"""

import json
import os
import re
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow, receipts
from ragworthy.errors import DataError, Problem, data_error, explained, usage_error
from ragworthy.files import LARGEST_TEXT, files_of, read_bytes
from ragworthy.index.found import CHUNKS
from ragworthy.index.found import MANIFEST as INDEX
from ragworthy.index.manifest import data_of, decode
from ragworthy.names import VERSION
from ragworthy.proof import signing, zipped
from ragworthy.proof.zipped import Entry, entry
from ragworthy.report import receipt
from ragworthy.report.part import AWAY
from ragworthy.report.write import write_jsonl
from ragworthy.text import clip

SCHEMA = "ragworthy.bundle/1"
MANIFEST, RECEIPT, REPORT, MARKDOWN, ROWS = "manifest.json", "receipt.json", "report.json", "report.md", "rows.jsonl"
SIGNATURE = MANIFEST + signing.SUFFIX
OWN = (RECEIPT, REPORT, MARKDOWN, ROWS)
INPUTS = "inputs/"


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a bundle."""

    name: str
    bytes: int
    sha256: str
    roles: list[str] = []


class _Tool(msgspec.Struct, frozen=True):
    name: str
    version: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a bundle holds, itself and its signature apart."""

    schema: str
    tool: _Tool
    files: list[Held]


# writing


def write(path: Path, made: bytes, run: flow.Run, requests: Sequence[flow.Request], key: Path | None = None) -> None:
    """Write the bundle of a run, `made` being its receipt; signed where there is a key."""
    inputs = {role: Path(os.path.realpath(one.parent)) / one.name for role, one in receipts.files(requests).items()}
    if several := next((one for one in inputs.values() if files_of(one) is not None), None):
        message = "expected single files for a bundle, got several: join them into one"
        raise usage_error(f"{several.name}: {message}")
    scored = {one["role"]: one["sha256"] for one in json.loads(made)["inputs"]}
    for role, first in tuple(inputs.items()):
        for name, sha256 in _of_index(role, first, inputs).items():
            inputs[f"{role}/{name}"] = first.parent / name
            scored[f"{role}/{name}"] = sha256
    with tempfile.TemporaryDirectory(prefix="ragworthy-") as name:
        folder = Path(name)
        (folder / RECEIPT).write_bytes(made + b"\n")
        (folder / REPORT).write_bytes(flow.render(run.report, "json").encode())
        (folder / MARKDOWN).write_bytes(_markdown(run.report))
        write_jsonl(folder / ROWS, run.rows())
        entries = [entry(one, folder / one) for one in OWN]
        roles = _names(inputs)
        entries += [entry(one, inputs[held[0]]) for one, held in roles.items()]
        for one in entries:
            if any(scored[role] != one.sha256 for role in roles.get(one.name, ())):
                raise data_error("RW-F16", "expected the bytes that were scored, got others", where=str(one.path))
        _seal(path, entries, roles, folder, key)


def _names(inputs: Mapping[str, Path]) -> dict[str, list[str]]:
    """The name of each input in the bundle, with its roles: a file that several suites read is there once."""
    found: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    seen: dict[Path, str] = {}
    for role, path in sorted(inputs.items()):
        base, _, part = role.partition("/")
        if part and base in homes:  # a file of an index is beside its manifest
            name = f"{homes[base]}/{part}"
        else:
            homes[role] = (
                seen[path].rpartition("/")[0] if path in seen else f"{INPUTS}{len(homes) + 1:02d}-{_plain(role)}"
            )
            name = f"{homes[role]}/{_plain(path.name)}"
        seen.setdefault(path, name)
        found.setdefault(name, []).append(role)
    return found


def _plain(text: str) -> str:
    """A text as a name in a zip: what is not a letter, digit, dot or dash is a dash; the end of it tells the format."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip(".")[-100:] or "file"


def _of_index(role: str, path: Path, inputs: Container[str]) -> dict[str, str]:
    """The other files of an index, with their hashes, where this is its manifest: it stands for all of them."""
    if path.name != INDEX or f"{role}/{CHUNKS}" not in inputs:
        return {}
    return {name: one.sha256 for name, one in decode(data_of(path), path).files.items()}


def _seal(path: Path, entries: Sequence[Entry], roles: Mapping[str, list[str]], folder: Path, key: Path | None) -> None:
    """Write the zip with a manifest of these files, signed where there is a key."""
    data = _manifest_of(entries, roles)
    (folder / MANIFEST).write_bytes(data)
    sealed = [*entries, entry(MANIFEST, folder / MANIFEST)]
    if key is not None:
        (folder / SIGNATURE).write_bytes(signing.sign(data, key))
        sealed.append(entry(SIGNATURE, folder / SIGNATURE))
    zipped.write(path, sealed)


def _manifest_of(entries: Sequence[Entry], roles: Mapping[str, list[str]]) -> bytes:
    import rfc8785

    files = [
        {"name": one.name, "bytes": one.bytes, "sha256": one.sha256, "roles": roles.get(one.name, [])}
        for one in sorted(entries)
    ]
    body: dict[str, Any] = {"schema": SCHEMA, "tool": {"name": "ragworthy", "version": VERSION}, "files": files}
    return rfc8785.dumps(body) + b"\n"


def sign(path: Path, key: Path) -> None:
    """Put a signature of its manifest into a bundle, instead of an earlier one."""
    with opened(path) as there:
        there.check()
        signature = there.folder / SIGNATURE
        signature.write_bytes(signing.sign(there.manifest, key))
        kept = [one for one in there.entries if one.name != SIGNATURE]
        zipped.write(path, [*kept, entry(SIGNATURE, signature)], renews=True)


# reading


class Opened(NamedTuple):
    """A bundle, unpacked."""

    folder: Path
    entries: list[Entry]
    manifest: bytes
    problems: list[Problem]
    """In what it is not what its manifest says."""

    def check(self) -> None:
        """Refuse a bundle that is not what its manifest says."""
        if self.problems:
            raise DataError(self.problems)


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Unpack a bundle into a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="ragworthy-") as name:
        folder = Path(name)
        entries = zipped.unpack(path, folder)
        if not (folder / MANIFEST).is_file():
            raise data_error("RW-R03", f"expected a bundle, got a zip without {MANIFEST}", where=str(path))
        data = read_bytes(folder / MANIFEST)
        manifest = _manifest(data, path)
        problems = [_problem(path, *one) for one in _amiss(manifest, entries)]
        if not problems and not zipped.is_plain(path, entries):
            message = "expected the bytes that 'gate --bundle' writes, got a zip that was packed again or added to"
            problems.append(_problem(path, "", message))
        yield Opened(folder, entries, data, problems)


def _problem(path: Path, field: str, message: str) -> Problem:
    return Problem("RW-R05", message, str(path), field)


def _manifest(data: bytes, path: Path) -> Manifest:
    import rfc8785

    where = f"{path}: {MANIFEST}"
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
        canonical = rfc8785.dumps(json.loads(data)) + b"\n" == data
    except (msgspec.MsgspecError, rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        field, message = explained(error)
        raise data_error("RW-R03", f"expected a manifest, got: {message}", where=where, field=field) from None
    if manifest.schema != SCHEMA:
        raise data_error("RW-R03", f'expected "{SCHEMA}", got "{manifest.schema}"', where=where, field="schema")
    if not canonical:
        raise data_error("RW-R03", "expected canonical JSON, got bytes that were edited", where=where)
    return manifest


def _amiss(manifest: Manifest, entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """The files that are not what the manifest says."""
    there = {one.name: one for one in entries if one.name not in (MANIFEST, SIGNATURE)}
    listed = {one.name: one for one in manifest.files}
    for name in sorted(there.keys() - listed.keys()):
        yield name, "expected a file of the manifest, got one that it does not list"
    for name, held in sorted(listed.items()):
        if name not in there:
            yield name, "expected a file that the manifest lists, got none"
        elif (held.sha256, held.bytes) != (there[name].sha256, there[name].bytes):
            yield name, f"expected the sha256 {held.sha256} of the manifest, got {there[name].sha256}"
    for name in OWN:
        if name not in there:
            yield name, "expected a file that every bundle has, got none"
    names = [one.name for one in manifest.files]
    if names != sorted(set(names)):
        yield MANIFEST, "expected each file once, in the order of their names, got another list"


def check(path: Path, there: Opened, how: receipts.How) -> receipts.Checked:
    """Derive a bundle again from nothing but itself, and say what differs."""
    if not (there.folder / RECEIPT).is_file():
        return receipts.Checked("", 0, list(map(str, there.problems)))
    try:
        given, body, _ = receipt.read(there.folder / RECEIPT)
    except DataError as error:
        inside = [one._replace(where=f"{path}: {RECEIPT}") for one in error.problems]
        raise DataError(inside) from None
    said = str(body.get("verdict"))
    inputs = [one for one in there.entries if one.name.startswith(INPUTS)]
    problems = list(there.problems) or [_problem(path, *one) for one in _unlike(given, inputs, there)]
    if not problems and given is not None and there.manifest != _rewritten(given, inputs, there):
        message = "expected the manifest that 'gate --bundle' writes, got other names or roles of inputs"
        problems = [_problem(path, MANIFEST, message)]
    if problems:
        return receipts.Checked(said, 0, list(map(str, problems)))
    checked = receipts.check(there.folder / RECEIPT, how._replace(inputs=there.folder / INPUTS, bundled=True))
    if not checked.agrees or checked.run is None:
        lines = [line.replace(str(there.folder), str(path)) for line in checked.differences]
        return checked._replace(differences=lines, gone=False)
    problems = [_problem(path, *one) for one in _told(there.folder, checked.run, body)]
    return checked._replace(differences=list(map(str, problems)))


def _unlike(given: receipt.Receipt | None, inputs: Sequence[Entry], there: Opened) -> Iterator[tuple[str, str]]:
    """Inputs that the receipt names and the bundle lacks, and files that it holds and the receipt does not name."""
    if given is None:  # of another version: only that is said
        return
    held = {one.sha256 for one in inputs}
    named = _named(given, inputs)
    for one in given.inputs:
        if one.sha256 not in held:
            yield RECEIPT, f"expected the inputs of the bundle, got {one.role} with the sha256 {one.sha256}"
    for other in there.entries:
        if other.name not in (*OWN, MANIFEST, SIGNATURE) and (other not in inputs or not _fits(other, named)):
            yield other.name, "expected an input of the receipt, got a file that it does not name"


def _rewritten(given: receipt.Receipt, inputs: Sequence[Entry], there: Opened) -> bytes:
    """The manifest as it is written for this receipt."""
    paths = {one.role: Path(one.path) for one in given.inputs}
    hashes = {one.role: one.sha256 for one in given.inputs}
    for role, first in tuple(paths.items()):
        held = next((one.path for one in inputs if one.sha256 == hashes[role] and one.path.name == INDEX), None)
        if held is not None and first.name == INDEX:
            paths |= {f"{role}/{name}": first.parent / name for name in _of_index(role, held, paths)}
    own = [one for one in there.entries if one.name not in (MANIFEST, SIGNATURE)]
    return _manifest_of(own, _names(paths))


def _named(given: receipt.Receipt, inputs: Sequence[Entry]) -> dict[str, str]:
    """What the receipt names, as hashes; and the files of its indexes by name, as their manifests name them."""
    roles = {one.role: one.sha256 for one in given.inputs}
    found = dict.fromkeys(roles.values(), "")
    manifests = {sha256 for role, sha256 in roles.items() if f"{role}/{CHUNKS}" in roles}
    for one in inputs:
        if one.sha256 in manifests and one.path.name == INDEX:
            home = one.name.rpartition("/")[0]
            files = decode(data_of(one.path), one.path).files
            found |= {f"{home}/{name}": held.sha256 for name, held in files.items()}
    return found


def _fits(one: Entry, named: Mapping[str, str]) -> bool:
    return one.sha256 in named or named.get(one.name) == one.sha256


def _markdown(report: dict[str, Any]) -> bytes:
    """The same on every machine: without commands that lead to files where the bundle was made."""
    return flow.render({**report, AWAY: True}, "markdown").encode()


def _told(folder: Path, run: flow.Run, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where report and rows do not tell what was derived again."""
    try:
        data = read_bytes(folder / REPORT, limit=1 << 40)
        report = json.loads(data)
        same = receipt.report_hash(report) == body["report_sha256"] and flow.render(report, "json").encode() == data
        same = same and _unhashed(report) == _unhashed(run.report)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        same = False
    if not same:
        yield REPORT, "expected the report that re-derives, got another one"
    elif _markdown(report) != read_bytes(folder / MARKDOWN, limit=LARGEST_TEXT):
        yield MARKDOWN, f"expected {REPORT} as Markdown, got another text"
    derived = folder / f"{ROWS}.again"
    write_jsonl(derived, run.rows())
    with derived.open("rb") as ours, (folder / ROWS).open("rb") as theirs:
        for nth, (one, other) in enumerate(zip_longest(ours, theirs), 1):
            if one != other:
                yield f"{ROWS}:{nth}", f"expected {_shown(one)}, got {_shown(other)}"
                break


def _unhashed(report: Mapping[str, Any]) -> list[Any]:
    """What the hash of a report leaves out, without paths: these are where the bundle was made."""
    suites = report["suites"].values()
    return [
        _pathless(report["provenance"]),
        [[_pathless(one) for one in suite["inputs"]] for suite in suites],
        [
            [{**one, "message": None, "where": None} for one in suite["warnings"]] for suite in suites
        ],  # these name files
    ]


def _pathless(told: Any) -> Any:
    """What a report says of where things came from, without paths."""
    if isinstance(told, dict):
        return {key: _pathless(one) for key, one in told.items() if key != "path"}
    return told


def _shown(line: bytes | None) -> str:
    return "nothing" if line is None else clip(line.decode("utf-8", "replace").rstrip("\n"), 100)
