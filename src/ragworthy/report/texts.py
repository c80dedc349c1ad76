"""Questions and claims, as far as they are at hand: in what was scored just now, in a report, or in files it names."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import RagworthyError
from ragworthy.files import files_of, sha256_of
from ragworthy.load.decode import Decoder
from ragworthy.load.gold import name_of
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.jitters import run_id
from ragworthy.records import Gold, Run, Trace
from ragworthy.report.part import Part


class Said(NamedTuple):
    """What was asked and what was answered; None where that is not at hand."""

    question: str | None = None
    claims: tuple[str, ...] = ()
    """Of every run; empty where none is at hand."""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Said":
        """What a record of a question says of a single answer."""
        question, claim = (text if isinstance(text := told.get(key), str) else None for key in ("question", "claim"))
        return cls(question, () if claim is None else (claim,))

    def claim(self, other: "Said") -> str | None:
        """The claim that tells these runs from those of another side: the one with which they have the most of it.

        >>> right, half = Said(claims=("yes", "yes")), Said(claims=("yes", "no"))
        >>> half.claim(right), right.claim(half), right.claim(right), Said().claim(right)
        ('no', 'yes', 'yes', None)
        """
        return max(dict.fromkeys(self.claims), key=lambda one: self._share(one) - other._share(one), default=None)

    def _share(self, claim: str) -> float:
        return self.claims.count(claim) / len(self.claims) if self.claims else 0.0


OF_RUNS = ("stability", "latency")
"""Suites whose file has several runs of a question."""
Find = Callable[[Sequence[str]], Mapping[str, Said]]
"""The texts of some questions, by their ids."""


def of_part(part: Part) -> Find:
    """Of what was scored just now."""

    def find(qids: Sequence[str]) -> dict[str, Said]:
        texts = part.texts() if part.texts is not None and qids else {}
        return {qid: Said.of(texts[qid]) for qid in qids if qid in texts}

    return find


def of_report(suite: str, body: Mapping[str, Any], beside: Path, gold: Path | None) -> Find:
    """Of a report: from its offenders, and from its gold set and traces where these are still what they were."""

    def find(qids: Sequence[str]) -> dict[str, Said]:
        wanted = frozenset(qids)
        found = _offenders(body, wanted)
        if not wanted:
            return found
        questions, claims = (
            _questions(_still(body, "gold", beside, gold), wanted),
            _claims(_still(body, "trace", beside), wanted, Run if suite in OF_RUNS else Trace),
        )
        for qid in wanted:
            known = found.get(qid, Said())
            found[qid] = Said(questions.get(qid, known.question), claims.get(qid, known.claims))
        return found

    return find


def _offenders(body: Mapping[str, Any], wanted: frozenset[str]) -> dict[str, Said]:
    listed = body.get("offenders")
    found = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(qid := one.get("qid"), str) and qid in wanted:
            found[qid] = Said.of(one)
    return found


def _still(body: Mapping[str, Any], role: str, beside: Path, given: Path | None = None) -> Path | None:
    """An input of a report, where it lies (as given, seen from here, or from the report) and has not changed."""
    for one in body["inputs"]:
        if one["role"] == role and isinstance(path := one.get("path"), str):
            for place in (given, Path(path), beside / path):
                if place is not None and _is_there(place) and sha256_of(place) == one["sha256"]:
                    return place
    return None


def _is_there(place: Path) -> bool:
    try:
        return place.is_file() or files_of(place) is not None
    except RagworthyError:
        return False


def _questions(path: Path | None, wanted: frozenset[str]) -> dict[str, str]:
    """What was asked."""
    return {name_of(one): one.question for one in _records("gold", path, Gold, wanted) if one.question}


def _claims(path: Path | None, wanted: frozenset[str], kind: type[Run] | type[Trace]) -> dict[str, tuple[str, ...]]:
    """What was answered in every run; of several traces of one run the last one counts."""
    found: dict[str, dict[str, str]] = {}
    for one in _records("trace", path, kind, wanted):
        if one.answer_json is not None and not (isinstance(one, Run) and one.warmup):
            runs = found.setdefault(name_of(one), {})
            runs[run_id(one) if isinstance(one, Run) else ""] = one.answer_json.claim or ""
    return {qid: tuple(runs.values()) for qid, runs in found.items()}


def _records(role: str, path: Path | None, kind: type[Any], wanted: frozenset[str]) -> list[Any]:
    """The records of some questions; none where a file is of another kind: texts are only shown."""
    if path is None:
        return []
    decoder = Decoder(kind)
    try:
        found = [one for block in open_source(role, path).blocks() for one in decoder.records(block)]
    except (RagworthyError, OSError):
        return []
    return [one for one in found if name_of(one) in wanted]
