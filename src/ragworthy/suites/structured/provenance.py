"""How structured outputs were made, and what they were scored with: without it a number cannot be reproduced."""

import hashlib
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import open_input, read_text, sha256_of
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics.definition import Definition
from ragworthy.names import VERSION
from ragworthy.report.show import plural
from ragworthy.suites.opened import Opened
from ragworthy.suites.request import Request
from ragworthy.suites.structured import WHOLE
from ragworthy.suites.structured.mark import KEPT, REQUIRED, Marked, Meta, said_by
from ragworthy.text import clip, visible

SCORER = ("text.py", "metrics/answer_json.py", "metrics/context.py", "metrics/definition.py", "metrics/grading.py",
          "metrics/kinds/base.py", "metrics/kinds/grounding.py", "metrics/kinds/texts.py", "metrics/kinds/values.py",
          "metrics/reference_structured.py", "metrics/structured.py")  # fmt: skip
"""Every file that decides a score."""
SHOWN = 3
LONGEST = 100
"""Characters of a value that a message shows."""


class Made(NamedTuple):
    """What a file of its own says of how the outputs were made."""

    values: dict[str, str]


class Told(NamedTuple):
    """The fields of the report, those that are lacking, versions in doubt, and why the evidence carries no verdict."""

    fields: dict[str, Any]
    lacking: list[str]
    doubtful: list[str]
    invalid: list[str]


def read(path: Path | None) -> Made:
    """Read the file that says how the outputs were made."""
    if path is None:
        return Made({})
    try:
        given = msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise data_error("RW-F07", f"expected a JSON object, got: {error}", where=str(path)) from None
    if not isinstance(given, dict):
        raise data_error("RW-F08", "expected a JSON object, got another value", where=str(path))
    return Made(dict(said_by(given)))


def told(made: Made, opened: Opened, marked: Marked, definition: Definition, request: Request) -> Told:
    """What the report says of how the outputs were made and scored."""
    gold, outputs = opened["gold"], opened["trace"]
    fields: dict[str, Any] = {}
    lacking: list[str] = []
    invalid: list[str] = []
    for key in REQUIRED:
        values, without = _values(key, made, marked.meta)
        fields[key] = next(iter(values)) if len(values) == 1 and not without else None
        if len(values) > 1:
            some = ", ".join(f'"{_shown(value)}"' for value in sorted(values)[:SHOWN])
            whose = "the outputs" if key not in made.values else "the outputs and the provenance file"
            invalid.append(f"{whose} differ in {key}: {some}")
        elif without and marked.meta.outputs:  # without outputs nothing is said, and that is said elsewhere
            lacking.append(key)
            of = f" in {without:,} of {plural(marked.meta.outputs, 'output')}" if values else ""
            invalid.append(f"the outputs do not say {key}{of}")
    version = f"{Path(gold.label).name}@sha256:{gold.sha256()}"
    fields["eval_set_version"] = version
    other, doubtful = _other_set(marked.meta, made, gold, request)
    invalid += [f"the outputs were made for another question set: {value}" for value in other[:1]]
    for key in KEPT:
        values, without = _values(key, made, marked.meta)
        if len(values) == 1 and not without:
            fields[key] = next(iter(values))
    fields |= {
        "scorer_version": VERSION,
        "scorer_profile": request.settings.profile,
        "scorer_sha256": scorer_sha256(),
        "definition": definition.id,
        "definition_sha256": definition.sha256,
        "context_sha256": marked.context_sha256,
        "outputs_sha256": outputs.sha256(),
    }
    reference = request.settings.profile == "reference"  # the original program asks for nothing
    return Told(fields, lacking, doubtful, [] if reference else invalid)


def _values(key: str, made: Made, meta: Meta) -> tuple[Counter[str], int]:
    """The values that outputs have of a key, and how many outputs have none."""
    found = Counter(meta.values.get(key, Counter()))
    without = meta.outputs - found.total()
    default = made.values.get(key)
    if default is not None:
        found[default] += max(without, 0 if found else 1)
        without = 0
    return found, without or (0 if found else 1)


def _shown(value: str) -> str:
    """A value of an output as a message shows it."""
    return visible(clip(value, LONGEST))


_VERSION = re.compile(r"@(?:(sha256):)?([0-9a-f]{7,64})$", re.IGNORECASE)
"""A version names the hash of its file: SHA-256, or the beginning of SHA-1 in older ones."""


def _other_set(meta: Meta, made: Made, gold: Source, request: Request) -> tuple[list[str], list[str]]:
    """Versions of the question set that the outputs name and that are not this one: by SHA-256, and by older names.

    An older name has the hash of the text in a form that may since have changed, so it only raises a doubt.
    """
    values = {*meta.values.get("eval_set_version", ()), made.values.get("eval_set_version", "")}
    paths = [path for key in ("questions", WHOLE, "subset") if (path := _path(request.get(key))) is not None]
    now = {gold.sha256(), *map(sha256_of, paths)}
    before = {_sha1(path) for path in paths}
    other: list[str] = []
    doubtful: list[str] = []
    for value in sorted(values):
        found = _VERSION.search(value)
        if found is None:
            continue
        known = now if found.group(1) else now | before
        if not any(one.startswith(found.group(2).lower()) for one in known):
            (other if found.group(1) else doubtful).append(_shown(value))
    return other, doubtful


def _path(given: Any) -> Path | None:
    """Where an input stands, if it is a file."""
    if isinstance(given, FileSource):
        return given.path
    return Path(given) if isinstance(given, (str, Path)) else None


def _sha1(path: Path) -> str:
    with open_input(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()  # type: ignore[arg-type]


def scorer_sha256() -> str:
    """The hash of everything that decides a score."""
    digest = hashlib.sha256()
    root = resources.files("ragworthy")
    for name in SCORER:
        digest.update(name.encode() + b"\0" + root.joinpath(name).read_bytes())
    return digest.hexdigest()
