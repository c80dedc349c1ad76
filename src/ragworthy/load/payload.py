"""The traceability payload of a citation (`snippet_id, section_id, source_url, offsets, tokens`), read as a record."""

from typing import Any

import msgspec

from ragworthy.records import Answer, Run, Trace

MARK = b'"snippet_id"'
"""What a block of lines holds where its citations may be payloads."""


def with_ids(value: dict[str, Any]) -> dict[str, Any]:
    """A retrieval trace whose results and citations have an `id`: the payload calls it `snippet_id`.

    >>> with_ids({"qid": "q", "topk": [{"snippet_id": "a"}]})
    {'qid': 'q', 'topk': [{'id': 'a', 'snippet_id': 'a'}]}
    """
    value = {key: _named(one) if key in ("topk", "answer_citations") else one for key, one in value.items()}
    for key in ("answer", "answer_json"):
        answer = value.get(key)
        if isinstance(answer, dict) and "citations" in answer:
            value[key] = answer | {"citations": _named(answer["citations"])}
    return value


def _named(items: Any) -> Any:
    return [_plain(one) if isinstance(one, dict) else one for one in items] if isinstance(items, list) else items


def _plain(one: dict[str, Any]) -> dict[str, Any]:
    """A payload in our words: its id, its range as a pair with the unit beside it, its score as the score.

    >>> _plain({"snippet_id": "a", "offsets": {"start": 1, "end": 9, "unit": "char"}})
    {'id': 'a', 'snippet_id': 'a', 'offsets': [1, 9], 'unit': 'char'}
    """
    if "id" not in one and "snippet_id" in one:
        one = {"id": one["snippet_id"], **one}
    scores = [one[key] for key in ("score_norm", "score_raw") if one.get(key) is not None]
    if scores and "score" not in one:
        one = {**one, "score": scores[0]}
    span = one.get("offsets")
    if isinstance(span, dict) and span.keys() >= {"start", "end"}:
        return {**one, "offsets": [span["start"], span["end"]], "unit": span.get("unit")}
    return one


def cited(trace: Any) -> Any:
    """A trace of answers whose citations are ids; payloads among them are taken by their snippet_id.

    >>> from ragworthy.records import Answer
    >>> cited(Trace(answer_json=Answer(citations=["a", {"snippet_id": "b", "tokens": 9}]))).answer_json.citations
    ['a', 'b']
    """
    answer = trace.answer_json
    if answer is None or not isinstance(answer.citations, list) or not any(map(_is_payload, answer.citations)):
        return trace
    ids = [one["snippet_id"] if _is_payload(one) else one for one in answer.citations]
    return msgspec.structs.replace(trace, answer_json=msgspec.structs.replace(answer, citations=ids))


def _is_payload(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("snippet_id"), str)


CITING = (Trace, Run)
"""Records whose citations are ids and nothing more."""


class PlainAnswer(Answer, frozen=True, gc=False):
    """An answer whose citations are ids, as nearly all are."""

    citations: list[str] | None = None


class PlainTrace(Trace, frozen=True, gc=False):
    """A trace that cites ids and nothing else: there is no payload in it to look for."""

    answer_json: PlainAnswer | None = None
