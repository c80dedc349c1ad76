"""The answerer behind an OpenAI-compatible chat endpoint: what it is asked, and its answer checked."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ragworthy.pipeline.endpoint import RETRIES, Asking, Endpoint, Unanswered, Written
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.prompt import messages, response_format
from ragworthy.pipeline.written import Answer, read
from ragworthy.records import Chunk
from ragworthy.text import clip

_OTHER_SEED, _WARMER = 1009, 0.3
"""How the second try differs: the same request at temperature 0 would only bring the same reply."""
_KEPT = 2000
"""So many characters of a reply are kept for whoever wants to see it."""


class Said(NamedTuple):
    """What came of a question: an answer, or an error with what the model wrote."""

    claim: str
    citations: list[str]
    usage: dict[str, Any]
    sent: int
    """How many requests were sent."""
    error: str = ""
    """Why there is no answer; it begins with a stable word."""
    code: str = ""
    raw: str = ""
    """What the model wrote, as far as it may be shown."""


class Chat:
    """A model behind an address that answers from passages."""

    def __init__(self, name: str, *, named: bool = False, retries: int = RETRIES) -> None:
        """`named`: whether the address was named by whoever runs this, and not by a file."""
        self.endpoint = Endpoint(name, named=named, retries=retries)

    async def answer(self, question: str, context: Sequence[Chunk], asked: Asking, *, seed: int, knobs: Knobs) -> Said:
        """The checked answer; one that cannot be used is asked for once more, in another way."""
        usage: dict[str, Any] = {"model": self.endpoint.model, "attempts": 0}
        found: Answer | str = ""
        uncited: Answer | None = None
        written = Written("", False, "")
        cut: list[int | None] = []
        held = partial(response_format, passages=len(context))
        try:
            for attempt in (1, 2):
                body = _body(self.endpoint.model, messages(question, context, again=attempt > 1), attempt, seed, knobs)
                written = await self.endpoint.written(body, held, asked)
                usage |= {"attempts": attempt, "format": written.form, **asked.counts}
                cut += [written.tokens] if written.cut else []
                found = read(written.text, context)
                if isinstance(found, Answer) and not found.fault:
                    return self._said(usage, asked, written, answer=found)
                uncited = found if isinstance(found, Answer) else uncited
            lost = _truncated(cut, knobs.reply_tokens) if written.cut else _useless(str(found))
        except Unanswered as error:
            lost = error
        if uncited is not None:  # it was asked for a citation and gave none: that is its answer
            return self._said(usage | asked.counts, asked, written, answer=uncited)
        return self._said(usage | asked.counts, asked, written, lost=lost)

    def _said(
        self,
        usage: dict[str, Any],
        asked: Asking,
        written: Written,
        *,
        answer: Answer | None = None,
        lost: Unanswered | None = None,
    ) -> Said:
        claim, citations = (answer.claim, answer.citations) if answer else ("", [])
        claim = self.endpoint.secrets.masked_reply(claim)
        mask = self.endpoint.secrets.masked
        error, code = (mask(lost.error), lost.code) if lost else ("", "")
        raw = mask((lost.raw if lost else "") or written.text)[:_KEPT]
        return Said(claim, citations, usage, asked.sent, error, code, raw)


def _body(model: str, told: list[dict[str, str]], attempt: int, seed: int, knobs: Knobs) -> dict[str, Any]:
    first = attempt == 1
    return {
        "model": model,
        "messages": told,
        "temperature": knobs.temperature if first else min(2.0, knobs.temperature + _WARMER),
        "seed": seed if first else seed + _OTHER_SEED,
        "max_tokens": knobs.reply_tokens,
    }


def _useless(fault: str) -> Unanswered:
    """The error of a question whose two replies do not keep to the form."""
    return Unanswered(f"bad reply: the model did not answer in the form asked for, twice: {clip(fault, 160)}", "RW-N04")


def _truncated(cut: list[int | None], allowed: int) -> Unanswered:
    """The error of a question whose replies were cut after so many tokens, where the server counts them.

    >>> _truncated([512, 512], 512).error
    'truncated: the reply was cut at 512 tokens, twice; the knob reply_tokens allows more'
    """
    known = [one for one in cut if one is not None]
    twice = ", twice" if len(cut) > 1 else ""
    if not known:
        text = f"the reply was cut{twice}: at the {allowed} tokens of the knob reply_tokens, or where its context ended"
    elif max(known) >= allowed:
        text = f"the reply was cut at {max(known)} tokens{twice}; the knob reply_tokens allows more"
    else:
        text = f"the server cut the reply at {max(known)} tokens{twice}, before the {allowed} of the knob reply_tokens"
        text += ": its context is full, or it has a limit of its own"
    return Unanswered(f"truncated: {text}", "RW-N05")
