"""What an error keeps: a target that fails may still say which code, what it retrieved, what it used, what it wrote."""

import re
from typing import Annotated, Any, NamedTuple

import msgspec

from ragworthy.records import Result
from ragworthy.text import clip, described
from ragworthy.wire.secret import in_environment

SHOWN = 400
"""So many characters of what came back are kept."""
_LONGEST = 300
_REASON = re.compile(r"[a-z]+( [a-z]+){0,2}|status [1-5][0-9]{2}")
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_KINDS: dict[str, Any] = {
    "retrieved_ids": list[str],
    "topk": list[Result],
    "stage_ms": dict[str, Annotated[float, msgspec.Meta(ge=0)]],
    "usage": dict[str, Any],
}
"""What is worth keeping of a reply that is an error."""


class Failed(msgspec.Struct, frozen=True):
    """The shape of a reply that is an error; it keeps what is known."""

    error: str
    """A stable word, then a colon and what happened: `truncated: 512 tokens were used up`."""
    error_code: str | None = None
    retrieved_ids: list[str] | None = None
    topk: list[Result] | None = None
    stage_ms: dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None = None
    usage: dict[str, Any] | None = None
    raw: str | None = None
    """What a model wrote; its first 400 characters are kept."""
    qid: str | None = None


class Error(NamedTuple):
    """What a reply says of an error."""

    text: str
    code: str | None


def error_in(given: Any) -> Error | None:
    """The error that a reply is; None where it is none. An empty one (null, "", false, {}) is not an error.

    >>> error_in({"error": "truncated: 512 tokens", "error_code": "RW-N04"})
    Error(text='truncated: 512 tokens', code='RW-N04')
    >>> error_in({"error": {"message": "Too many tokens", "code": "too_long"}})
    Error(text='reported: Too many tokens', code='too_long')
    >>> error_in({"error": None, "answer_json": {"claim": "x"}}) is None
    True
    """
    told = given.get("error") if isinstance(given, dict) else None
    if not told:
        return None
    inner = told if isinstance(told, dict) else {}
    text = inner.get("message", told)
    text = text if isinstance(text, str) else msgspec.json.encode(text).decode()
    return Error(worded(text), code_in(given) or code_in({"error_code": inner.get("code")}))


def worded(text: str) -> str:
    """An error that begins with a stable word; one that does not gets `reported`.

    >>> worded("unreachable: no route"), worded("timeout"), worded("HTTPError: 500"), worded("status 502: bad gateway")
    ('unreachable: no route', 'timeout', 'reported: HTTPError: 500', 'status 502: bad gateway')
    """
    text = clip(text, _LONGEST)
    return text if _REASON.fullmatch(text.partition(":")[0]) else f"reported: {text}"


def code_in(given: Any) -> str | None:
    """The code of an error; None where there is none that could be counted.

    >>> code_in({"error_code": "RW-N04"}), code_in({"error_code": "a long sentence"}), code_in({"error_code": 429})
    ('RW-N04', None, '429')
    """
    code = given.get("error_code") if isinstance(given, dict) else None
    code = str(code) if isinstance(code, int) and not isinstance(code, bool) else code
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


def kept_in(given: Any) -> dict[str, Any]:
    """Each field of a reply that an error can keep; one that does not fit is left out, the error stays the error.

    >>> kept_in({"retrieved_ids": ["a"], "usage": {"prompt_tokens": -1}, "stage_ms": {"llm": 4}, "topk": [7]})
    {'retrieved_ids': ['a'], 'stage_ms': {'llm': 4}}
    """
    kept: dict[str, Any] = {}
    for name, kind in _KINDS.items() if isinstance(given, dict) else ():
        value = given.get(name)
        if value is None or (name == "usage" and negative(value)):
            continue
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            continue
        kept[name] = value
    return kept


def raw_in(given: Any) -> dict[str, str]:
    """What the model wrote, as the trace keeps it: cut, on one line, without keys."""
    raw = given.get("raw") if isinstance(given, dict) else None
    return written(raw if isinstance(raw, str) else msgspec.json.encode(raw).decode()) if raw else {}


def written(text: str) -> dict[str, str]:
    """A text that came back, as a field of the trace; nothing where there is none."""
    text = clip(in_environment().masked(text), SHOWN)
    return {"raw": text} if text else {}


def negative(usage: Any) -> str:
    """What is wrong with the first number of a usage that is below 0, those of its stages among them.

    >>> negative({"model": "m", "llm": {"prompt_tokens": -4}})
    'usage.llm.prompt_tokens: expected a number from 0, got -4'
    """
    counts = dict(usage) if isinstance(usage, dict) else {}
    for stage, own in list(counts.items()):
        if isinstance(own, dict):
            counts |= {f"{stage}.{name}": count for name, count in own.items()}
    found = next(((name, one) for name, one in counts.items() if isinstance(one, int | float) and one < 0), None)
    return "" if found is None else f"usage.{clip(found[0], 80)}: expected a number from 0, got {described(found[1])}"
