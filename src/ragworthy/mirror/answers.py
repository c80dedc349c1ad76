"""An answer of either side in one form, whatever it was read from; and as a live record that `monitor` reads."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.metrics.facts.contract import EMPTY
from ragworthy.metrics.facts.convergence import declared
from ragworthy.mirror.questions import Question
from ragworthy.names import REFUSAL
from ragworthy.runner.journal import Entry
from ragworthy.text import trim_fold

NOT_RETRIEVED = "not_retrieved"


class Answer(NamedTuple):
    """What one side did with a question."""

    ids: tuple[str, ...] = ()
    """Results, the best first."""
    citations: tuple[str, ...] = ()
    claim: str | None = None
    refused: bool = False
    error: str | None = None
    distances: tuple[float | None, ...] = ()
    """ΔS of each result."""
    delta_s: float | None = None
    """Of the chosen citation, the first one."""
    mark: str | None = None
    """λ, as it was logged or worked out."""
    section: str = ""
    """Where the chosen citation stands."""
    index_hash: str | None = None
    times: tuple[float | None, float | None, float | None] = (None, None, None)
    """Retrieving, reasoning, and all of it, in milliseconds."""
    context: Mapping[str, Any] = {}
    ts: Any = None
    texts: Mapping[str, str] = {}
    """Texts of results that came with the answer."""

    @property
    def there(self) -> bool:
        """Whether anything is known of it; a record may hold a question alone."""
        return bool(self.ids or self.citations or self.claim is not None or self.error is not None or self.refused)

    @property
    def shipped(self) -> bool:
        """Whether somebody would have got an answer."""
        return self.error is None and not self.refused

    @property
    def broken(self) -> str:
        """What breaks the rule that answers cite first; empty where it is kept, or no answer was given."""
        if not self.shipped:
            return ""
        if not self.citations:
            return EMPTY
        return "" if not self.ids or self.citations[0] in self.ids else NOT_RETRIEVED


def _name(one: Any) -> str:
    if isinstance(one, Mapping):
        keys = ("id", "chunk_id", "snippet_id", "section_id")
        found = next((one[key] for key in keys if one.get(key) is not None), "")
        return str(found)
    return "" if one is None else str(one)


def _names(given: Any) -> tuple[str, ...]:
    return tuple(name for one in given if (name := _name(one))) if isinstance(given, (list, tuple)) else ()


def _texts(given: Any) -> dict[str, str]:
    items = [one for one in given if isinstance(one, Mapping)] if isinstance(given, (list, tuple)) else []
    return {_name(one): one["text"] for one in items if isinstance(one.get("text"), str)}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _of(given: Mapping[str, Any], *keys: str) -> Any:
    return next((given[key] for key in keys if given.get(key) is not None), None)


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = record.get(key)
    return found if isinstance(found, Mapping) else {}


def of_record(record: Mapping[str, Any]) -> Answer:
    """What a live record or a trace says."""
    retrieval, perf, stages = (_part(record, key) for key in ("retrieval", "perf", "stage_ms"))
    answer = _part(record, "answer") or _part(record, "answer_json")
    results = _of(retrieval, "topk") or _of(record, "topk", "retrieved_ids")
    cited = _of(answer, "citations") if answer else None
    citations = _names(cited if cited is not None else record.get("answer_citations"))
    claim = _of(answer, "claim") if answer else record.get("answer")
    claim = claim if isinstance(claim, str) else None
    ids = _names(results)
    listed = _of(retrieval, "ΔS_list", "∆S_list", "delta_s") or _of(record, "ΔS", "delta_s")
    distances = tuple(map(_number, listed)) if isinstance(listed, (list, tuple)) else ()
    chosen = _number(_of(answer, "ΔS", "∆S", "delta_s")) if answer else None
    if chosen is None and citations and citations[0] in ids[: len(distances)]:
        chosen = distances[ids.index(citations[0])]
    error = record.get("error")
    return Answer(
        ids=ids,
        citations=citations,
        claim=claim,
        refused=bool(answer.get("refused")) or (claim is not None and trim_fold(claim) == REFUSAL),
        error=None if not error else str(error),
        distances=distances,
        delta_s=chosen,
        mark=declared(_text(_of(answer, "λ_final", "lambda_final"))),
        index_hash=_text(_of(retrieval, "index_hash") or record.get("index_hash")),
        times=(
            _number(_of(perf, "t_retrieve_ms") or _of(stages, "retrieve", "retrieval")),
            _number(_of(perf, "t_reason_ms") or _of(stages, "reason", "llm")),
            _number(_of(perf, "e2e_ms") or record.get("e2e_ms")),
        ),
        context=_part(record, "context"),
        ts=_of(record, "ts", "timestamp", "started"),
        texts=_texts(results),
    )


def of_entry(entry: Entry, index_hash: str | None, build: str) -> Answer:
    """What a target replied."""
    if entry.error is not None:
        base = Answer(error=entry.error)
    else:
        base = of_record(entry.fields)
    return base._replace(
        index_hash=base.index_hash or index_hash,
        times=(*base.times[:2], entry.e2e_ms),
        context={"build": build},
        ts=entry.started,
        texts={**base.texts, **{_name(one): one["text"] for one in entry.chunks if isinstance(one.get("text"), str)}},
    )


def as_record(question: Question, answer: Answer, side: str, states: Sequence[str]) -> dict[str, Any]:
    """A live record, keys as the sources have them; `side` is the build of an answer that does not name one."""
    valid = bool(answer.citations) and not answer.broken
    retrieve, reason, e2e = answer.times
    told: dict[str, Any] = {
        "qid": question.qid,
        "question": question.text,
        "retrieval": {
            "topk": list(answer.ids),
            "metric": None,
            "analyzer": None,
            "index_hash": answer.index_hash,
            "embed_model": None,
            "ΔS_list": list(answer.distances),
            "λ_states": list(states),
        },
        "answer": {
            "citations": list(answer.citations),
            "coverage": float(valid) if answer.shipped else None,
            "ΔS": answer.delta_s,
            "λ_final": answer.mark,
            "claim": answer.claim,
            "refused": answer.refused,
        },
        "perf": {"t_retrieve_ms": retrieve, "t_reason_ms": reason, "e2e_ms": e2e},
        "context": {
            "client": answer.context.get("client"),
            "build": answer.context.get("build") or side,
            "region": answer.context.get("region"),
        },
        "ts": answer.ts,
    }
    more = {"paraphrase": question.paraphrase, "seed": question.seed} if question.grouped else {}
    return told | more | ({"error": answer.error} if answer.error is not None else {})
