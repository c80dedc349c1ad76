"""Where the inputs of a receipt are: at their paths, moved to another place with the same bytes, changed, or gone."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import DataError
from ragworthy.files import sha256_of
from ragworthy.report.receipt import Input

MOST_FILES = 100_000
"""So many files are looked at for one that moved."""


class Placed(NamedTuple):
    """What became of the inputs of a receipt."""

    paths: dict[str, Path]
    """Where the bytes of each role are, those that are gone or changed apart."""
    moved: dict[str, str]
    """The path in the receipt of those that are elsewhere, by role."""
    gone: list[str]
    """In words, those that are not here."""
    changed: list[str]
    """In words, those that are here with other bytes."""

    def said(self) -> list[str]:
        """In words, those that moved."""
        return [f"{role}: {was} moved: found as {self.paths[role]}" for role, was in self.moved.items()]


def placed(inputs: Sequence[Input], root: Path | None, beside: Path | None, under: Path | None) -> Placed:
    """Where the inputs are. `root` is the folder that their paths are relative to, None where none is to be looked for
    at its path; a file that is gone from there is looked for by its bytes in the folder `beside`, and anywhere `under`
    another one. A file at its path with other bytes has changed, unless `under` has the right one.
    """
    looked = {one.role: _at(one, root) for one in inputs}
    lost = {_whole(one.role, inputs) for one in inputs if looked[one.role].here is None}
    known = _by_bytes(inputs, lost, beside, under) if lost else {}
    found = Placed({}, {}, [], [])
    for one in inputs:
        here, wrong, changed = looked[one.role]
        if _whole(one.role, inputs) in lost:
            here = _elsewhere(one, known, found.paths, inputs) if under is not None or not changed else None
            if here is not None:
                found.moved[one.role] = one.path
            elif wrong:
                (found.changed if changed else found.gone).append(wrong)
        if here is not None:
            found.paths[one.role] = here
    return found


class _Looked(NamedTuple):
    """What is at the path of an input: the file, or what is wrong with it in words."""

    here: Path | None
    wrong: str = ""
    changed: bool = False


def _at(one: Input, root: Path | None) -> _Looked:
    if root is None:
        return _Looked(None, f"{one.role}: {one.path}: expected a file with the sha256 {one.sha256}, got none")
    path = root / one.path
    try:
        now = sha256_of(path)
    except DataError as error:
        return _Looked(None, f"{one.role}: {one.path}: {error.problems[0].message}")
    if now == one.sha256:
        return _Looked(path)
    return _Looked(None, f"{one.role}: {one.path} changed: sha256 was {one.sha256}, is {now}", changed=True)


def _whole(role: str, inputs: Sequence[Input]) -> str:
    """The role of the folder that a file belongs to: `corpus/chunks.jsonl` is beside `corpus`, the manifest."""
    base = role.partition("/")[0]
    return base if base != role and any(one.role == base for one in inputs) else role


def _by_bytes(
    inputs: Sequence[Input], lost: set[str], beside: Path | None, under: Path | None
) -> Mapping[str, list[Path]]:
    """The files that have the bytes of an input, by hash; those of the same name are looked at first."""
    wanted = {one.sha256 for one in inputs if _whole(one.role, inputs) in lost}
    names = {Path(one.path).name for one in inputs}
    found: dict[str, list[Path]] = {}
    there = [
        *(sorted(_files(under)) if under is not None else ()),
        *(sorted(_files(beside, deep=False)) if beside is not None else ()),
    ]
    first = sorted(dict.fromkeys(there), key=lambda path: path.name not in names)
    for path in first[:MOST_FILES]:
        if path.name not in names and wanted <= found.keys():
            break
        try:
            digest = sha256_of(path)
        except DataError:  # what cannot be read is not what was lost
            continue
        if digest in wanted:
            found.setdefault(digest, []).append(path)
    return found


def _files(folder: Path, *, deep: bool = True) -> Iterator[Path]:
    """The regular files of a folder; links are not followed."""
    for name, folders, files in os.walk(folder):
        if not deep:
            folders.clear()
        for one in files:
            path = Path(name) / one
            if path.is_file() and not path.is_symlink():
                yield path


def _elsewhere(
    one: Input, known: Mapping[str, list[Path]], paths: Mapping[str, Path], inputs: Sequence[Input]
) -> Path | None:
    """Another file with the same bytes: of the same name first, then of the same kind. Files of a folder stay together:
    the first of them is chosen so that the others are beside it.
    """
    candidates = known.get(one.sha256, [])
    base = _whole(one.role, inputs)
    if base != one.role:
        beside = paths[base].parent / one.role.removeprefix(f"{base}/") if base in paths else None
        return beside if beside in candidates else None
    parts = [other for other in inputs if other.role != one.role and _whole(other.role, inputs) == one.role]
    whole = [
        path
        for path in candidates
        if all(path.parent / part.role.removeprefix(f"{base}/") in known.get(part.sha256, []) for part in parts)
    ]
    was = Path(one.path)
    whole.sort(key=lambda path: (path.name != was.name, path.suffixes != was.suffixes))
    return whole[0] if whole else None
