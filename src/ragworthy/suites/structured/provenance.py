"""How structured outputs were made, and what they were scored with: without it a number cannot be reproduced."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import files_of, open_input, read_text, sha256_of
from ragworthy.load.prompt import read_prompt
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics.definition import Definition
from ragworthy.names import VERSION
from ragworthy.report.show import plural
from ragworthy.suites.opened import Opened
from ragworthy.suites.request import Request
from ragworthy.suites.structured import KEPT, REQUIRED, WHOLE
from ragworthy.suites.structured.mark import Marked, Meta, said_by
from ragworthy.text import clip, visible

SCORER = ("text.py", "metrics/answer_json.py", "metrics/context.py", "metrics/definition.py", "metrics/grading.py",
          "metrics/kinds/base.py", "metrics/kinds/grounding.py", "metrics/kinds/texts.py", "metrics/kinds/values.py",
          "metrics/reference_structured.py", "metrics/structured.py")  # fmt: skip
"""Every file that decides a score."""
SHOWN = 3
LONGEST = 100
"""Characters of a value that a message shows."""


class Made(NamedTuple):
    """What files of their own say of how the outputs were made: a provenance file, and the prompt itself."""

    values: dict[str, str]
    prompt: Mapping[str, str] = MappingProxyType({})
    """The hash and the version of the prompt file: that is the prompt, whatever anyone says."""

    @property
    def known(self) -> dict[str, str]:
        """What holds for outputs that do not say it themselves."""
        return {**self.values, **self.prompt}


class Told(NamedTuple):
    """The fields of the report, those that are lacking, versions in doubt, and why the evidence carries no verdict."""

    fields: dict[str, Any]
    lacking: list[str]
    doubtful: list[str]
    invalid: list[str]


def read(path: Path | None, prompt: Path | None = None) -> Made:
    """Read the file that says how the outputs were made, and the prompt."""
    told = {} if prompt is None else read_prompt(prompt).told()
    return Made(said_in(path), {key: value for key, value in told.items() if key in REQUIRED})


def said_in(path: Path | None) -> dict[str, str]:
    """What a provenance file says."""
    if path is None:
        return {}
    try:
        given = msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError) as error:
        raise data_error("RW-F07", f"expected a JSON object, got: {error}", where=str(path)) from None
    if not isinstance(given, dict):
        raise data_error("RW-F08", "expected a JSON object, got another value", where=str(path))
    return dict(said_by(given))


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
            invalid.append(_differing(key, values, made))
        elif without and marked.meta.outputs:  # without outputs nothing is said, and that is said elsewhere
            lacking.append(key)
            of = f" in {without:,} of {plural(marked.meta.outputs, 'output')}" if values else ""
            invalid.append(f"the outputs do not say {key}{of}")
    fields["eval_set_version"] = version_of(gold)
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


def _differing(key: str, values: "Counter[str]", made: Made) -> str:
    """What does not agree on how the outputs were made."""
    some = ", ".join(f'"{_shown(value)}"' for value in sorted(values)[:SHOWN])
    if key in made.prompt:
        now = made.prompt[key]
        others = ", ".join(f'"{_shown(value)}"' for value in sorted(values) if value != now)
        return f'the outputs were made with another prompt than the one given: {key} is {others} and not "{now}"'
    whose = "the outputs" if key not in made.values else "the outputs and the provenance file"
    return f"{whose} differ in {key}: {some}"


def version_of(questions: Source) -> str:
    """The version of a question set: its name and its hash."""
    return f"{Path(questions.label).name}@sha256:{questions.sha256()}"


def _values(key: str, made: Made, meta: Meta) -> tuple[Counter[str], int]:
    """The values that outputs have of a key, and how many outputs have none; what files say of it is one more value."""
    found = Counter(meta.values.get(key, Counter()))
    without = meta.outputs - found.total()
    default = made.known.get(key)
    named = key == "prompt_version" and key in made.prompt and found and not without  # the hash decides, not a name
    if default is not None and not named:
        found[default] += max(without, 0 if found else 1)
        without = 0
        if key == "prompt_sha256" and key in made.values:
            found[made.values[key]] += 0
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
    """Where an input stands, if it is one file."""
    if isinstance(given, FileSource):
        return given.path
    return Path(given) if isinstance(given, (str, Path)) and files_of(Path(given)) is None else None


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
