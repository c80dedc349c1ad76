"""Structured questions: what a target replies to one, and the line that `score structured` reads.

The reply has the text that the model wrote, untouched, and the chunks that it was given. What the runner knows itself
(the prompt, the question set) is written into the `meta` of every output, so that nobody has to type it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from ragworthy.load.values import Refused, outline, plain
from ragworthy.records import ContextChunk
from ragworthy.runner.contract import LARGEST, TOO_LARGE, Reply, another, failed
from ragworthy.runner.misfits import said_of
from ragworthy.runner.reported import SHOWN, kept_in, negative, written
from ragworthy.suites.structured import ALSO, KEPT, REQUIRED
from ragworthy.text import clip, described
from ragworthy.threaded import threaded

if TYPE_CHECKING:
    from ragworthy.load.prompt import Prompt
    from ragworthy.metrics.definition import Definition

UNFIT = "RW-Q11"
"""The code of a reply that is not an output."""
OTHER_PROMPT = "RW-Q13"
"""The code of a reply that was made with another prompt than the one sent."""


@threaded
class Output(msgspec.Struct, frozen=True):
    """The shape of a reply to a structured question; more keys are allowed and left out of the output."""

    raw: str
    """What the model wrote, as it came."""
    context: list[ContextChunk] | None = None
    """The chunks that the model was given."""
    meta: dict[str, Any] | None = None
    """How it was made: `model_id`, `adapter_id`, `index_version`, and what else there is to say."""
    usage: dict[str, Any] | None = None
    stage_ms: dict[str, Annotated[float, msgspec.Meta(ge=0)]] | None = None
    qid: str | None = None
    id: str | None = None


_OWN = ("raw", "context", "meta", "usage", "stage_ms")


class Making(NamedTuple):
    """What is known of all outputs of a run before the first question is asked."""

    eval_set_version: str
    definition: "Definition"
    prompt: "Prompt | None" = None
    said: Mapping[str, str] = MappingProxyType({})
    """What a provenance file says, for replies that do not say it themselves."""

    @property
    def about(self) -> dict[str, str]:
        """What makes another run of it where it differs."""
        told = {} if self.prompt is None else self.prompt.told()
        return told | {f"said_{key}": value for key, value in sorted(self.said.items())}

    def checked(self, given: Any, attempts: int = 1, qid: str | None = None) -> Reply:
        """The reply to a structured question, or what is wrong with it."""
        reply = msgspec.structs.replace(_checked(given, attempts, qid), raw=outline(given, SHOWN))
        return reply if reply.error is not None else self._of_prompt(reply)

    def _of_prompt(self, reply: Reply) -> Reply:
        """A reply that names another prompt than the one it was sent was not made with that."""
        said = (reply.fields.get("meta") or {}).get("prompt_sha256")
        if self.prompt is None or said is None or said == self.prompt.sha256:
            return reply
        message = f"expected {self.prompt.sha256}, the prompt that was sent, got {described(said)}"
        misfits = (("meta.prompt_sha256", message),)
        error = f"bad reply: meta.prompt_sha256: {message}"
        return msgspec.structs.replace(reply, error=error, code=OTHER_PROMPT, misfits=misfits)

    def meta(self, replied: Mapping[str, Any], agreed: Mapping[str, Any]) -> dict[str, Any]:
        """The `meta` of one output: what the reply says, then what is known of all of them."""
        known = {} if self.prompt is None else self.prompt.told()
        if "effective_prompt_sha256" in replied:  # a target that adds to the prompt knows best what the model read
            known.pop("effective_prompt_sha256", None)
        made = {**self.said, **agreed, **replied, **known, "eval_set_version": self.eval_set_version}
        return {key: made[key] for key in sorted(made)}


def lacking(said: Mapping[str, Any]) -> list[str]:
    """What a score needs to know of how an output was made, and its `meta` does not say."""
    return [key for key in REQUIRED if not (said.get(key) or said.get(ALSO.get(key, key)))]


def agreed(metas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What all replies of a run that say it agree on: an error, which came without `meta`, was made in the same way.

    >>> agreed([{"model_id": "m", "seed": 1}, {}, {"model_id": "m", "index_version": 4}, {"index_version": 5}])
    {'model_id': 'm'}
    """
    found: dict[str, Any] = {}
    differ: set[str] = set()
    keys = (*REQUIRED, *ALSO.values(), *KEPT)
    for meta in metas:
        for key in keys:
            if key in meta:
                differ |= {key} if found.setdefault(key, meta[key]) != meta[key] else set()
    return {key: value for key, value in found.items() if key not in differ}


def _checked(given: Any, attempts: int, qid: str | None) -> Reply:
    try:
        encoded = msgspec.json.encode(plain(_named(given)), order="deterministic")
        if len(encoded) > LARGEST:
            return Reply({}, TOO_LARGE, attempts)
        decoded = msgspec.json.decode(encoded)
    except Refused as refused:
        return _unfit(str(refused), attempts, given, ((refused.field, refused.reason),))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return _unfit(f"expected what JSON can hold, got: {clip(str(error), 200)}", attempts, given)
    if (lost := failed(decoded, attempts, qid)) is not None:
        return msgspec.structs.replace(lost, fields=lost.fields | _kept(decoded))
    if told := _no_text(decoded):
        return _unfit(told, attempts, given, (_apart(told),), decoded)
    try:
        msgspec.convert(decoded, Output)
    except msgspec.ValidationError as wrong:
        return _unfit(said_of(wrong), attempts, given, (_apart(said_of(wrong)),), decoded)
    if told := another(decoded.get("qid") or decoded.get("id"), qid) or negative(decoded.get("usage")):
        return _unfit(told, attempts, given, (_apart(told),))
    return Reply({key: decoded[key] for key in _OWN if decoded.get(key) is not None}, None, attempts)


def _no_text(given: Any) -> str:
    """What is wrong with a reply that does not have what the model wrote as a text.

    >>> _no_text({"raw": {"topic": "x"}})
    'raw: expected what the model wrote as a text, got an object: give it as it came'
    """
    if not isinstance(given, dict):
        return f"expected an object, got {described(given)}"
    raw = given.get("raw")
    if isinstance(raw, str):
        return ""
    got = "nothing" if raw is None else f"{described(raw)}: give it as it came"
    return f"raw: expected what the model wrote as a text, got {got}"


def _named(given: Any) -> Any:
    """A reply under our names: an answer with documents, as frameworks and services give it, is text and context."""
    from ragworthy.adapters.replies import as_output, other_shape

    if isinstance(given, dict) and (given.get("raw") is not None or given.get("error")):
        return given
    found = other_shape(given)
    if found is None:
        return given
    beside = {key: given[key] for key in ("meta", "qid", "id") if key in given} if isinstance(given, dict) else {}
    return beside | as_output(found)


def _unfit(
    told: str, attempts: int, given: Any, misfits: tuple[tuple[str, str], ...] = (), decoded: Any = None
) -> Reply:
    fields = _kept(decoded) | kept_in(decoded) | written(outline(given, SHOWN))
    return Reply(fields, f"bad reply: {told}", attempts, misfits=misfits, code=UNFIT)


def _apart(told: str) -> tuple[str, str]:
    field, colon, reason = told.partition(": ")
    return (field, reason) if colon and " " not in field else ("", told)


def _kept(given: Any) -> dict[str, Any]:
    """The context and the meta of a reply that is an error, as far as they fit."""
    kept: dict[str, Any] = {}
    kinds: dict[str, Any] = {"context": list[ContextChunk], "meta": dict[str, Any]}
    for name, kind in kinds.items() if isinstance(given, dict) else ():
        try:
            if given.get(name) is not None:
                msgspec.convert(given[name], kind)
                kept[name] = given[name]
        except msgspec.ValidationError:
            continue
    return kept
