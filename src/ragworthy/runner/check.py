"""One question to a target, and how its reply was read: what `run --check` shows before anything is paid for."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ragworthy.errors import DataError, Problem, usage_error
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.runner.contract import Ask, Reply, Target, reason_of
from ragworthy.runner.drive import Asked, Driver
from ragworthy.runner.faults import code_of, hint_of
from ragworthy.runner.plan import Plan, Planned
from ragworthy.text import clip, trim_fold
from ragworthy.wire.secret import in_environment

_SHOWN = 200
_IDS = 8
"""So many ids are shown."""


class Checked(NamedTuple):
    """One question with its reply."""

    ask: Ask
    reply: Reply
    e2e_ms: float

    @property
    def raw(self) -> str:
        """What came back, as it may be shown."""
        return in_environment().masked(self.reply.raw)


def chosen(plan: Plan, qid: str | None) -> Planned:
    """The question to ask: the first one, or the one that is named."""
    found = next((one for one in plan.asks if qid in (None, one.ask.qid)), None)
    if found is None:
        raise usage_error(f'--qid: expected a question of the gold set, got "{qid}"')
    return found


def ask_one(one: Planned, target: Target, *, concurrency: int, timeout: float) -> Checked | None:
    """Ask one question as a run would; None when somebody stopped it."""
    came: list[Asked] = []
    driver = Driver(
        target, came.append, concurrency=concurrency, timeout=timeout, stopping=lambda: None, keep_going=True
    )
    driver.run([(0, one.ask)], 1)
    return Checked(one.ask, came[0].reply, came[0].e2e_ms) if came else None


def problems(checked: Checked, name: str) -> DataError | None:
    """Why there is nothing to read; None where there is."""
    reply = checked.reply
    if reply.error is None:
        return None
    error = in_environment().masked(reply.error)
    advice = _ALONE.get(reply.code or "") or hint_of(error, reply, name, checked.raw)
    if reason_of(error) == "bad reply" and not reply.reported:
        misfits = reply.misfits or (("", error.partition(": ")[2]),)
        found = [Problem(code_of(field, reply.code), clip(why, 300), name, field) for field, why in misfits]
        return DataError(found, advice=advice)
    code = "RW-J06" if reply.unreachable else "RW-J12"
    return DataError([Problem(code, f"expected a reply, got {clip(error, 300)}", name)], advice=advice)


_ALONE = {
    "RW-N06": "One question alone takes longer than that: raise --timeout, or see what else keeps the server busy.",
    "RW-N07": "Wait until the server answers; with a longer --timeout one that loads its model is waited for.",
}
"""What helps where one question alone fails; it is no matter of --concurrency."""


def reading(checked: Checked, refuses: Callable[[str], bool]) -> list[tuple[str, str]]:
    """How a good reply was read, part by part; `refuses` says what a refusal is."""
    answer = checked.reply.fields["answer_json"]
    tries = "" if checked.reply.attempts == 1 else f" in {checked.reply.attempts} tries"
    return [
        ("claim", f'"{clip(answer["claim"], _SHOWN)}"'),
        ("citations", _ids(answer.get("citations") or [])),
        ("retrieved_ids", _ids(checked.reply.fields["retrieved_ids"])),
        *((("from", checked.reply.how),) if checked.reply.how else ()),
        *((name, "given") for name in _FOR if name in checked.reply.fields),
        ("refused", _refused(answer["claim"], refuses)),
        ("time", f"{checked.e2e_ms:,.0f} ms{tries}"),
    ]


def _ids(given: list[str]) -> str:
    if not given:
        return "none"
    more = ", …" if len(given) > _IDS else ""
    return f"{len(given):,}: {', '.join(clip(one, 60) for one in given[:_IDS])}{more}"


def _refused(claim: str, refuses: Callable[[str], bool]) -> str:
    if refuses(claim):
        return "yes"
    if reads_like_refusal(trim_fold(claim)):
        return "no, though it reads like a refusal: add its text to refusals in the policy if it is one"
    return "no"


_FOR = {"topk": "ranks and scores of results", "stage_ms": "times of stages", "usage": "costs"}
"""What a field that is not needed is for."""


def unmeasured(checked: Checked, refuses: Callable[[str], bool]) -> list[str]:
    """What cannot be measured with replies such as this one, and why."""
    fields: dict[str, Any] = checked.reply.fields
    answer, ids = fields["answer_json"], fields["retrieved_ids"]
    cited = answer.get("citations") or []
    refused = refuses(answer["claim"])
    found: list[str] = []
    if not ids and not refused:
        found.append("no retrieved_ids: recall, hit and citation checks cannot be measured")
    if not cited and not refused:
        found.append("no citations: precision and chr count such an answer as one without evidence")
    outside = [one for one in cited if one not in ids]
    if outside and ids and not refused:
        found.append(f"cited, but not among retrieved_ids: {_ids(outside)}: such citations do not count")
    absent = [name for name in _FOR if name not in fields]
    if absent:
        found.append(f"no {', '.join(absent)}: {', '.join(_FOR[name] for name in absent)} cannot be measured")
    return found
