"""The command that shows a question of a report, from what is in the report. None is offered that does not work."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragworthy.load.packs import WITHOUT_FILE
from ragworthy.policy.declare import Declared, Setting
from ragworthy.safe import shell
from ragworthy.suites.locked import asked_by

ELSEWHERE = ("slices", "delta_s", "delta_s_model", "max_drop", "against_live", "form", "profile", "frontier")
"""Settings that change nothing of one question, or that follow from the files."""
_CONVENTIONS = "conventions"


class UntoldError(Exception):
    """A report does not say what a command would need."""


def show_command(declared: Declared, body: Mapping[str, Any], policy: str | None, qid: str) -> str:
    """A command that works where the report was made: by the policy, else by the files and settings themselves."""
    words = ["ragworthy", "show", *(["--", qid] if qid.startswith("-") else [qid])]
    if body.get("profile") == "reference":
        return ""
    try:
        own = ["-c", _there(policy)] if policy is not None else [*_files(declared, body), *_settings(declared, body)]
    except UntoldError:
        return ""
    return shell([*words[:2], *own, *words[2:]] if words[2] == "--" else [*words, *own])


def _there(path: str) -> str:
    if not Path(path).exists():
        raise UntoldError(path)
    return path


def _files(declared: Declared, body: Mapping[str, Any]) -> Iterator[str]:
    """The suite with its files; some of them a report does not name."""
    settings = body["settings"]
    if settings.get("redirects") or _CONVENTIONS in settings:
        raise UntoldError
    if "definition" in settings:
        from ragworthy.load.definition import bundled

        if settings["definition"].get("sha256") != bundled().sha256:
            raise UntoldError
    yield from ("--suite", declared.name)
    form = declared.settings(form=body["form"]) if declared.forms else None
    inputs = declared.inputs if form is None else declared.inputs_of(form)
    for given in body["inputs"]:
        one = next((each for each in inputs if each.report_role == given["role"] and each.help), None)
        if one is None:
            raise UntoldError
        if one.key not in ("live", "live_corpus"):
            yield from (one.option, _there(given["path"]))


def _settings(declared: Declared, body: Mapping[str, Any]) -> Iterator[str]:
    """The settings that are not the usual ones."""
    told = {**body["settings"], **(body.get("selection") or {})}
    told["rule_packs"] = asked_by(told)
    for one in declared.fields():
        value = told.get(one.name)
        if value is not None and one.name not in ELSEWHERE and _plain(value) != _plain(one.default):
            yield from _flag(one, value)
    if told.get("allow_gold_errors"):
        yield "--allow-gold-errors"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _flag(one: Setting, value: Any) -> Iterator[str]:
    flag = one.key.flag.partition(" ")[0]
    if not flag:
        raise UntoldError
    if isinstance(value, bool):
        yield from (flag,) if value else ()
    elif one.key.reads == "ks":
        yield from (flag, ",".join(map(str, value)))
    elif isinstance(value, dict):
        usual = dict(each.split("=", 1) for each in one.default)
        yield from (word for key, each in value.items() if usual.get(key) != each for word in (flag, f"{key}={each}"))
    elif isinstance(value, list):
        names = [_named(one, each) for each in value]
        yield from (word for each in names if each not in one.default for word in (flag, each))
    else:
        yield from (flag, str(value))


def _named(one: Setting, value: Any) -> str:
    """An entry of a list; a pack by the name that it was asked for by."""
    if not isinstance(value, str) or (one.field == "rule_packs" and value not in WITHOUT_FILE):
        raise UntoldError
    return value
