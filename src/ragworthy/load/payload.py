"""The traceability payload of a citation (`snippet_id, section_id, source_url, offsets, tokens`), read as a record."""

from typing import Any


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
    if not isinstance(items, list):
        return items
    return [
        {"id": one["snippet_id"], **one} if isinstance(one, dict) and "id" not in one and "snippet_id" in one else one
        for one in items
    ]
