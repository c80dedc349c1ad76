"""What does not fit in a reply, field by field."""

from typing import Annotated, Any

import msgspec

from ragworthy.load.values import endless, taken_apart
from ragworthy.records import Result
from ragworthy.text import described

LISTS = ("answer_json.citations", "answer_json.constraints_echo", "retrieved_ids")


def text_for_list(reply: Any) -> str:
    """A text of a reply that is where a list of texts belongs.

    >>> text_for_list({"answer_json": {"claim": "x", "citations": "p1#2"}})
    'answer_json.citations: expected a list of texts, got a text: write ["p1#2"]'
    """
    for place in LISTS:
        found = at(reply, place)
        if isinstance(found, str):
            return f"{place}: {taken_apart(found)}"
    return ""


def endless_in(reply: Any) -> str:
    """The first number of a reply that is counted or timed and is not a number: infinity or NaN.

    >>> endless_in({"usage": {"llm": {"cost": [1, float("inf")]}}})
    'usage.llm.cost[1]: expected a finite number, got inf'
    """
    fields = reply if isinstance(reply, dict) else {}
    return endless({name: fields.get(name) for name in ("stage_ms", "usage")})


def at(reply: Any, place: str) -> Any:
    """What is at a place of a reply; None where nothing does."""
    for name in place.split("."):
        reply = reply.get(name) if isinstance(reply, dict) else None
    return reply


def said_of(error: msgspec.ValidationError) -> str:
    """What msgspec says of a reply, as our messages say it."""
    reason, _, place = str(error).replace("`", "").partition(" - at ")
    field = place.removeprefix("$").removeprefix(".")
    text = reason[:1].lower() + reason[1:]
    if text == "expected str, got int" and field.startswith(LISTS):
        text += ": write ids as texts"
    return f"{field}: {text}" if field else text


_FIELDS: dict[str, tuple[Any, str]] = {
    "answer_json.claim": (str, "a text"),
    "answer_json.citations": (list[str] | None, "a list of texts"),
    "answer_json.constraints_echo": (list[str] | None, "a list of texts"),
    "retrieved_ids": (list[str], "a list of texts"),
    "topk": (list[Result] | None, "a list of objects with an id"),
    "stage_ms": (dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None, "an object of numbers from 0"),
    "usage": (dict[str, Any] | None, "an object"),
    "qid": (str | None, "a text"),
}


def misfits_of(given: Any) -> tuple[tuple[str, str], ...]:
    """Every field of a value that is not a reply, with what is wrong with it.

    >>> misfits_of({"answer": "X", "retrieved_ids": [4]})
    (('answer_json.claim', 'expected a text, got nothing'), ('retrieved_ids[0]', 'expected str, got int'))
    """
    if not isinstance(given, dict):
        return (("", f"expected an object, got {described(given)}"),)
    found: list[tuple[str, str]] = []
    for place, (kind, wanted) in _FIELDS.items():
        value = at(given, place)
        try:
            if place in LISTS and isinstance(value, str):
                found.append((place, taken_apart(value)))
            else:
                msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            reason, _, inner = str(error).replace("`", "").partition(" - at $")
            told = f"expected {wanted}, got nothing" if value is None else reason[:1].lower() + reason[1:]
            found.append((f"{place}{inner}", told))
    return tuple(found)
