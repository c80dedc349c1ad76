"""Questions and claims, as far as they are at hand: in what was scored just now, in a report, or in files it names."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import RagworthyError
from ragworthy.files import sha256_of
from ragworthy.load.decode import Decoder
from ragworthy.load.gold import name_of
from ragworthy.load.sources import open_source
from ragworthy.records import Gold, Trace
from ragworthy.report.part import Part


class Said(NamedTuple):
    """What was asked and what was answered; None where that is not at hand."""

    question: str | None = None
    claim: str | None = None


Find = Callable[[Sequence[str]], Mapping[str, Said]]
"""The texts of some questions, by their ids."""


def of_part(part: Part) -> Find:
    """Of what was scored just now."""

    def find(qids: Sequence[str]) -> dict[str, Said]:
        texts = part.texts() if part.texts is not None and qids else {}
        return {qid: Said(texts[qid].get("question"), texts[qid].get("claim")) for qid in qids if qid in texts}

    return find


def of_report(body: Mapping[str, Any], beside: Path, gold: Path | None) -> Find:
    """Of a report: from its offenders, and from its gold set and traces where these are still what they were."""

    def find(qids: Sequence[str]) -> dict[str, Said]:
        wanted = frozenset(qids)
        found = _offenders(body, wanted)
        if not wanted:
            return found
        questions, claims = (
            _questions(_still(body, "gold", beside, gold), wanted),
            _claims(_still(body, "trace", beside), wanted),
        )
        for qid in wanted:
            known = found.get(qid, Said())
            found[qid] = Said(questions.get(qid, known.question), claims.get(qid, known.claim))
        return found

    return find


def _offenders(body: Mapping[str, Any], wanted: frozenset[str]) -> dict[str, Said]:
    listed = body.get("offenders")
    found = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(qid := one.get("qid"), str) and qid in wanted:
            found[qid] = Said(*(text if isinstance(text := one.get(key), str) else None for key in Said._fields))
    return found


def _still(body: Mapping[str, Any], role: str, beside: Path, given: Path | None = None) -> Path | None:
    """An input of a report, where it lies (as given, seen from here, or from the report) and has not changed."""
    for one in body["inputs"]:
        if one["role"] == role and isinstance(path := one.get("path"), str):
            for place in (given, Path(path), beside / path):
                if place is not None and place.is_file() and sha256_of(place) == one["sha256"]:
                    return place
    return None


def _questions(path: Path | None, wanted: frozenset[str]) -> dict[str, str]:
    """What was asked."""
    return {name_of(one): one.question for one in _records("gold", path, Gold, wanted) if one.question}


def _claims(path: Path | None, wanted: frozenset[str]) -> dict[str, str]:
    """What was answered; of several traces the last one counts."""
    traces = _records("trace", path, Trace, wanted)
    return {name_of(one): one.answer_json.claim or "" for one in traces if one.answer_json is not None}


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
