"""A live record: what one answered question says, with no gold set. Ours, and traces of a run that carry a time.

What a record does not say is unknown, never zero. A number out of its range is unknown too, and counted as odd.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.ids import section_of
from ragworthy.live.minutes import FIELDS
from ragworthy.live.shapes import NO_ANSWER, NO_CONTEXT, NO_RETRIEVAL, NO_TIMES, Hit, Live, Named
from ragworthy.metrics.facts.convergence import FORWARD, PARAPHRASES, declared
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.metrics.facts.orders import DEPTH, alike, kendall_tau_b
from ragworthy.metrics.facts.refusals import Refusals
from ragworthy.text import trim_fold

MILLION = 1_000_000
_LONGEST_MS = 1e8
"""A day and more: no time of an answer."""
_REMEMBERED = 4096
"""So many questions are remembered for each log, the last ones asked."""
_BITS = 21
"""So many bits of a key tell a run of a question from the two before it, when the log has one of them again."""
_TAG, _RUNS = (1 << _BITS) - 1, (1 << 3 * _BITS) - 1
_401 = re.compile(r"status 401|http 401|\b401\W{1,3}unauthori[sz]ed|\bunauthori[sz]ed\W{1,3}401\b", re.IGNORECASE)
_ID = 64
"""An id is remembered by so many characters of it, and a longer one by its hash."""
_LABEL = 128
"""The same for builds and index hashes, which people read: a minute holds thousands of them."""


class Settings(NamedTuple):
    """What is taken for a refusal, and which ids resolve."""

    refusal: str = "not in context"
    refusals: Refusals | None = None
    known: frozenset[str] | None = None
    """Every id of the corpus; None where it is not at hand."""


class Memory:
    """What a log remembers of the questions asked last: their first ten results, and wordings of a triplet.

    The runs of one log follow each other. What another log holds changes nothing here, so that the order in which
    several are read does not matter: a record that another log has too is a run of this one as well. `key` tells a
    record that this log has twice.
    """

    __slots__ = ("orders", "runs", "wordings")

    def __init__(self) -> None:
        self.orders: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self.runs: dict[str, int] = {}
        """What tells the last few runs of each question, in one number: this is asked of every record."""
        self.wordings: OrderedDict[str, dict[int, tuple[str, int]]] = OrderedDict()
        """Of each question what its wordings lead to, and their keys. A whole triplet stays until the next begins."""

    def tau(self, question: str, order: tuple[str, ...], key: int | None = None) -> float | None:
        """Kendall's τ-b of the first ten results and those of the run before; None for the first run."""
        orders, run = self.orders, 0 if key is None else key & _TAG
        before = orders.get(question)
        if before is None:
            orders[question], self.runs[question] = order, run
            if len(orders) > _REMEMBERED:
                del self.runs[orders.popitem(last=False)[0]]
            return None
        runs = self.runs[question]
        if run and run in (runs & _TAG, runs >> _BITS & _TAG, runs >> 2 * _BITS):
            return None
        self.runs[question] = (runs << _BITS | run) & _RUNS
        orders.move_to_end(question)
        if before == order:
            return 1.0
        orders[question] = order
        return alike(kendall_tau_b, before, order, DEPTH)

    def diverged(self, question: str, wording: int, section: str, key: int | None = None) -> bool | None:
        """Whether three wordings lead to different sections; None until the third one is there."""
        held = self.wordings.setdefault(question, {})
        self.wordings.move_to_end(question)
        run = 0 if key is None else key & _TAG
        if len(held) == PARAPHRASES:
            if run and any(other == run for _, other in held.values()):
                return None
            held.clear()
        held[wording] = section, run
        if len(self.wordings) > _REMEMBERED:
            self.wordings.popitem(last=False)
        if len(held) < PARAPHRASES:
            return None
        return not section or len({one for one, _ in held.values()}) > 1

    def state(self) -> dict[str, Any]:
        """As plain values."""
        wordings = [[question, sorted(held.items())] for question, held in self.wordings.items()]
        orders = [(question, order, self.runs[question]) for question, order in self.orders.items()]
        return {"orders": orders, "wordings": wordings}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Memory":
        """From plain values."""
        made = cls()
        for question, order, runs in state["orders"]:
            made.orders[question], made.runs[question] = tuple(order), runs
        made.wordings.update(
            (question, {wording: (section, run) for wording, (section, run) in held})
            for question, held in state["wordings"]
        )
        return made


def _short(name: str, most: int = _ID) -> str:
    return name if len(name) <= most else hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _named(items: Sequence[Named]) -> list[str]:
    return [one if type(one) is str else one.name if isinstance(one, Hit) else str(one) for one in items]


class Reader:
    """What one record says."""

    __slots__ = ("answer", "cites", "claim", "given", "ids", "odd", "record", "retrieval", "settings")

    def __init__(self, record: Live, settings: Settings) -> None:
        self.record = record
        self.settings = settings
        self.odd = ""
        self.retrieval = record.retrieval or NO_RETRIEVAL
        given = record.answer
        if given is None:
            self.answer = record.answer_json or NO_ANSWER
            self.claim = self.answer.claim
        elif isinstance(given, str):
            self.answer, self.claim = record.answer_json or NO_ANSWER, given
        else:
            self.answer, self.claim = given, given.claim
        topk: Sequence[Named] | None = self.retrieval.topk
        if topk is None:
            topk = record.topk if record.topk is not None else record.retrieved_ids
        self.ids = None if topk is None else _named(topk)
        self.given = self.answer.citations
        self.cites = None if self.given is None else _named(self.given)

    @property
    def time(self) -> str | int | float | None:
        """When it was, as the record has it."""
        record = self.record
        return next((one for one in (record.ts, record.timestamp, record.started) if one is not None), None)

    @property
    def question(self) -> str:
        """What was asked; empty where the record does not say."""
        return self.record.question or self.record.query or self.record.q or ""

    @property
    def index(self) -> str:
        """The hash of the index; empty where the record does not say."""
        return self.retrieval.index_hash or self.record.index_hash or ""

    @property
    def built(self) -> tuple[str, str] | None:
        """Build and index hash."""
        index = self.index
        if not index:
            return None
        build = (self.record.context or NO_CONTEXT).build
        return "" if build is None else _short(str(build), _LABEL), _short(index, _LABEL)

    @property
    def slices(self) -> tuple[str, ...]:
        """The parts of the traffic that it belongs to: where from, by which build, and what its first result holds."""
        context = self.record.context or NO_CONTEXT
        first = next(iter(self.retrieval.topk or ()), None)
        kind = first.type if isinstance(first, Hit) and isinstance(first.type, str) else None
        told = (("region", context.region), ("client", context.client), ("build", context.build), ("type", kind))
        return tuple(f"{name}={value}" for name, value in told if value is not None)

    @property
    def wording(self) -> bool:
        """Whether it is a wording of a mirrored question, of which three make a triplet."""
        return self.record.paraphrase is not None and bool(self.record.name) and self.cites is not None

    def key(self, at: int) -> int | None:
        """What tells a record from all others; None where it names neither a question nor an id.

        SHA-256 of question, index hash and snippet id, as the sources have it, and after these of what tells two
        people apart who ask the same: the time, the question's id, the client and the region.
        """
        record, question = self.record, self.question
        if not question and record.qid is None and record.q_id is None:
            return None
        snippet = self.cites[0] if self.cites else self.ids[0] if self.ids else ""
        context = record.context or NO_CONTEXT
        text = (
            f"{question}{self.index}{snippet}\x00{at}\x00{record.qid}\x00{record.q_id}\x00{context.client}"
            f"\x00{context.region}\x00{context.build}\x00{record.paraphrase}\x00{record.seed}"
        )
        return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")

    def draw(self, at: int) -> int:
        """A number like a key for a record without one, from all that it says: it decides with `--sample` alone."""
        said = msgspec.json.encode((at, self.record))
        return int.from_bytes(hashlib.sha256(said).digest()[:8], "big")

    @property
    def section(self) -> str:
        """What the first citation leads to: its section, or itself; empty without one."""
        first = self.given[0] if self.given else None
        if isinstance(first, Hit) and first.section_id:
            return first.section_id
        name = self.cites[0] if self.cites else ""
        return section_of(name) or name

    def units(self, memory: Memory, key: int | None = None) -> list[int | None]:
        """A number of units for each field; what the log remembers of the question is brought up to date."""
        record, answer = self.record, self.answer
        tau, diverged = self._moved(memory, key)
        perf = record.perf or NO_TIMES
        stages = record.stage_ms or {}
        error, unauthorised = _failed(record.error)
        refused = near = None
        if not error:
            refused, near = self._refused()
        valid = None if error or refused else self._valid()
        accurate = None if error or refused else answer.accurate
        shipped = not error and not refused
        proxy = None if valid is None else MILLION * valid
        retrieve = stages.get("retrieve", stages.get("retrieval")) if perf.t_retrieve_ms is None else perf.t_retrieve_ms
        reason = stages.get("reason", stages.get("llm")) if perf.t_reason_ms is None else perf.t_reason_ms
        retrieved, reasoned = self._time("t_retrieve_ms", retrieve), self._time("t_reason_ms", reason)
        took = self._time("e2e_ms", record.e2e_ms if perf.e2e_ms is None else perf.e2e_ms)
        if took is None and retrieved is not None and reasoned is not None:
            took = retrieved + reasoned  # it took that long at least
        made = {
            "coverage": self._number("coverage", answer.coverage, 0.0, 1.0) if shipped else None,
            "delta_s": self._number("ΔS", self._distance(), 0.0, 2.0) if shipped else None,
            "diverged": None if diverged is None else MILLION * diverged,
            "accurate": proxy if accurate is None else self._number("accurate", accurate, 0.0, 1.0),
            "tau": None if tau is None else round(tau * MILLION),
            "retrieve_ms": retrieved,
            "reason_ms": reasoned,
            "e2e_ms": took,
            "cited": None if error or refused else self._cited(),
            "error": MILLION * error,
            "empty": None if self.ids is None else MILLION * (not self.ids),
            "unauthorised": MILLION * unauthorised,
            "valid": proxy,
            "refused": None if refused is None else MILLION * refused,
            "near_refused": None if near is None else MILLION * near,
        }
        return [made[field] for field in FIELDS]

    def _moved(self, memory: Memory, key: int | None) -> tuple[float | None, bool | None]:
        """τ against the run before, and whether a triplet of wordings is complete and divided."""
        record, name, question = self.record, self.record.name, self.question
        tau = diverged = None
        if self.ids and (name or question):
            asked = question if record.paraphrase is None or not name else f"{name}\x00{record.paraphrase}"
            order = tuple([one if len(one) <= _ID else _short(one) for one in self.ids[:DEPTH]])
            tau = memory.tau(_short(asked or name), order, key)
        if record.paraphrase is not None and self.wording:
            seeded = _short(f"{name}\x00{record.seed}")
            diverged = memory.diverged(seeded, record.paraphrase, _short(self.section), key)
        elif mark := declared(self.answer.lambda_final or self.answer.lambda_1):
            diverged = mark != FORWARD
        return tau, diverged

    def _refused(self) -> tuple[bool | None, bool | None]:
        """Whether the answer is a refusal, and whether it only reads like one; unknown without an answer."""
        told, claim = self.answer.refused, self.claim
        if claim is None:
            return told, None
        folded = trim_fold(claim)
        rules = self.settings.refusals
        refused = (
            told
            if told is not None
            else folded == self.settings.refusal or (rules is not None and rules.rule(claim) is not None)
        )
        return refused, not refused and reads_like_refusal(folded)

    def _valid(self) -> bool | None:
        """Whether every citation resolves, was retrieved and lies in scope; unknown where citations are not told."""
        if self.cites is None or self.given is None:
            return None
        if not self.cites:
            return False
        known, ids = self.settings.known, self.ids
        for one, name in zip(self.given, self.cites, strict=True):
            if not name or (known is not None and name not in known) or (ids is not None and name not in ids):
                return False
            if isinstance(one, Hit) and one.in_scope is False:
                return False
        return True

    def _cited(self) -> int | None:
        """Whether any citation can hit: it resolves, and it was retrieved."""
        if self.cites is None:
            return None
        known, ids = self.settings.known, self.ids
        return MILLION * any(
            name and (known is None or name in known) and (ids is None or name in ids) for name in self.cites
        )

    def _distance(self) -> float | None:
        """ΔS of the chosen citation: as the answer has it, else of the result that it cites first."""
        answer = self.answer
        for one in (answer.delta_s, answer.delta_s_1, answer.delta_s_2):
            if one is not None:
                return one
        listed = self.retrieval.delta_s or self.retrieval.delta_s_1 or self.retrieval.delta_s_2
        if listed is None:
            told = self.record.delta_s
            if not isinstance(told, list):
                return told
            listed = told
        if self.cites and self.ids and self.cites[0] in self.ids:
            place = self.ids.index(self.cites[0])
            return listed[place] if place < len(listed) else None
        return None

    def _number(self, field: str, value: float | bool | None, low: float, high: float) -> int | None:
        if value is None:
            return None
        if not low <= value <= high:
            self.odd = self.odd or field
            return None
        return round(value * MILLION)

    def _time(self, field: str, value: float | None) -> int | None:
        if value is None:
            return None
        if not 0.0 <= value <= _LONGEST_MS:
            self.odd = self.odd or field
            return None
        return round(value * 1000)


def of_its_log(units: Sequence[int | None], wording: bool) -> list[int | None]:
    """Those units of a record which come from the runs before it in its log: τ, and λ where wordings were mirrored."""
    mine = ("tau", "diverged") if wording else ("tau",)
    return [one if field in mine else None for field, one in zip(FIELDS, units, strict=True)]


def _failed(error: Any) -> tuple[bool, bool]:
    """Whether a record is an error, and whether that is a 401.

    >>> _failed(None), _failed({"status": 401}), _failed("boom"), _failed("status 401: no key"), _failed({})
    ((False, False), (True, True), (True, False), (True, True), (False, False))
    """
    if not error:
        return False, False
    if isinstance(error, dict):
        status = error.get("status", error.get("code", error.get("status_code")))
        return True, status in (401, "401") or _says_401(error.get("message"))
    return True, error == 401 or _says_401(error)


def _says_401(text: Any) -> bool:
    return isinstance(text, str) and (text.strip() == "401" or _401.search(text[:400]) is not None)
