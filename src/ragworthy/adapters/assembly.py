"""Spans of one trace to one trace of ours: question, documents, answer, citations, times, tokens.

The rules, each with its reason, are in docs/import-traces.md.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.adapters.cut import cut_alike
from ragworthy.adapters.documents import DocIds, Document, Markers, answered, content_id, opened
from ragworthy.adapters.model import Record
from ragworthy.adapters.postprocessed import last_postprocessor, left_by
from ragworthy.adapters.prompted import Undecided
from ragworthy.adapters.questions import Questions
from ragworthy.adapters.recorded import Reply, documents_of, lost, numbered_sources, reply_of, usage_of
from ragworthy.adapters.saw import as_the_model_saw, without_nested
from ragworthy.adapters.shapes import answer_in, last_answer_in, question_in
from ragworthy.adapters.sources import numbered
from ragworthy.adapters.spans import (
    BUILDER,
    EVALUATOR,
    EXAMPLE,
    INPUT,
    LLM,
    OUTPUT,
    RERANKER,
    RETRIEVER,
    Span,
    below,
    microseconds,
    roots,
)
from ragworthy.adapters.tokens import together

_PIPELINE = re.compile(r"pipeline\.run", re.IGNORECASE)
"""What Haystack calls the step around all others; what that gives back is under the names of components."""
NO_ANSWER = "no answer in the spans of the trace"


class Rules(NamedTuple):
    """What the options ask for."""

    ids: DocIds
    marks: Markers
    qid: str = ""
    """`metadata:KEY`, `input`, `trace`, or empty: metadata, then the question's text, then the trace."""
    gold: Questions | None = None
    own_gold: bool = False
    """Whether the gold set came with the traces: one that it does not know is then no stranger."""
    root_first: bool = False
    """Whether the answer is what the whole pipeline gave back, and not what the model said."""


class Read(NamedTuple):
    """What a trace's spans say. Exactly one of `record`, `skip` and `damage` is there."""

    record: Record | None = None
    skip: str = ""
    damage: str = ""
    documents: Sequence[Document] = ()
    remarks: frozenset[str] = frozenset()
    """What deserves a note, by a word: `several`, `differs`, `replaced`, `stray`, `uuid`, `hashed`, `unread`, `made`,
    `unknown`, `bare`, `unseen`, `unfound`.
    """


def parts(trace: str, spans: Mapping[str, Span]) -> Iterator[tuple[str, Mapping[str, Span]]]:
    """A trace as it is, or a part for each question where its spans name several."""
    by_qid: dict[str, dict[str, Span]] = {}
    for one, span in spans.items():
        if qid := span.metadata("qid"):
            by_qid.setdefault(qid, {})[one] = span
    if len(by_qid) < 2:
        yield trace, spans
        return
    for qid, part in by_qid.items():
        yield f"{trace}/{qid}", part


def assembled(trace: str, spans: Mapping[str, Span], rules: Rules) -> Read:
    """One trace of ours, or why there is none."""
    top = roots(spans)
    if all(span.kind == EVALUATOR for span in top):
        return Read(skip="an evaluation and not an answer")
    judged = below(spans, {one for one, span in spans.items() if span.kind == EVALUATOR})
    live = {one: span for one, span in spans.items() if one not in judged and span.kind != EVALUATOR}
    outer = _outer(live)
    found = _retrieved(live, outer)
    calls = _calls(live)
    damage = _damage(live, found, calls[-1:], outer)
    if damage:
        return Read(damage=damage)
    question = _question(outer, found) or _known_question(live, rules)
    plain = outer is not None and not outer.kind and question and _whole(outer) is not None
    asked = any(span.kind == RETRIEVER for span in live.values())  # and perhaps nothing was found
    if not asked and not found and not calls and not plain and not any(span.status for span in top):
        return Read(skip="neither retrieval nor a model call in it (building an index?)")
    if not question:
        return Read(skip="no question in its spans")
    qid, skip, remark = _qid(trace, live, question, rules)
    if not qid:
        return Read(skip=skip)
    return _record(_Parts(qid, question, top, live, found, calls, outer), rules, remark)


class _Parts(NamedTuple):
    qid: str
    question: str
    top: Sequence[Span]
    spans: Mapping[str, Span]
    retrieval: Sequence[Span]
    calls: Sequence[Span]
    outer: Span | None


def _retrieved(spans: Mapping[str, Span], outer: Span | None) -> list[Span]:
    """The outermost steps that gave documents, in the order of time; the last rerank alone where there is one."""
    holds = {
        one: span
        for one, span in spans.items()
        if span.kind in (RETRIEVER, RERANKER) and (any(documents_of(span)) or span.dropped)
    }
    inner = below(spans, set(holds))
    found = sorted((span for one, span in holds.items() if one not in inner), key=_ended)
    ranked = [span for span in found if span.kind == RERANKER]
    if not found and outer is not None and outer.kind != LLM and documents_of(outer).documents:
        return [outer]  # a chain that gives back its context along with the answer
    return ranked[-1:] or without_nested(spans, found)


def _calls(spans: Mapping[str, Span]) -> list[Span]:
    """Model calls outside retrieval, in the order of time; those that hold an answer where one does."""
    aside = below(spans, {one for one, span in spans.items() if span.kind in (RETRIEVER, RERANKER)})
    calls = sorted((span for one, span in spans.items() if span.kind == LLM and one not in aside), key=_ended)
    direct = [span for span in calls if (reply := reply_of(span)) is not None and reply.direct]
    return direct or calls


def _ended(span: Span) -> tuple[int, int]:
    return span.end or span.start or 0, -(span.start or 0)


def _outer(spans: Mapping[str, Span]) -> Span | None:
    """The outermost step that says what went in; where none does, what came out."""
    holds = {one for one, span in spans.items() if span.first(INPUT) is not None}
    holds = holds or {one for one, span in spans.items() if span.first(OUTPUT) is not None}
    inner = below(spans, holds)
    found = [spans[one] for one in holds if one not in inner]
    return min(found, key=lambda span: (span.start or 0, -(span.end or 0), span.id), default=None)


def _damage(spans: Mapping[str, Span], found: Sequence[Span], calls: Sequence[Span], outer: Span | None) -> str:
    """What was lost of a step that is read. One without a kind may have lost that too."""
    nameless = [] if found else [span for span in spans.values() if not span.kind]
    after = [span for span in spans.values() if span.postprocesses]
    for span in (*found, *calls, *([outer] if outer is not None else []), *nameless, *after):
        if damage := lost(span):
            return f'span "{span.name}": {damage}'
    return cut_alike(spans.values())


def _question(outer: Span | None, found: Sequence[Span]) -> str:
    for span in (outer, *found):
        if span is not None and (text := question_in(span.input)):
            return text
        if span is not None and isinstance(asked := span.attributes.get("gen_ai.retrieval.query.text"), str):
            return asked.strip()
    return ""


def _known_question(spans: Mapping[str, Span], rules: Rules) -> str:
    """The question of the gold set that a trace names and does not repeat."""
    return "" if rules.gold is None else rules.gold.texts.get(_given(spans, "qid"), "")


def _qid(trace: str, spans: Mapping[str, Span], question: str, rules: Rules) -> tuple[str, str, str]:
    """The question's id, or why there is none, and what to remark."""
    if rules.qid == "trace":
        return trace, "", ""
    key = rules.qid.removeprefix("metadata:") if rules.qid else "qid"
    given = "" if rules.qid == "input" else _given(spans, key)
    if rules.qid.startswith("metadata:"):
        return given, f"no {key} in its metadata", ""
    if rules.gold is None:
        return (given, "", "") if given else (trace, "", "made")
    if given in rules.gold.qids:
        return given, "", ""
    asked = rules.gold.asked(question)
    if len(asked) == 1:
        return next(iter(asked)), "", ""
    if len(asked) > 1:
        return "", "its question is under several qids in the gold set", ""
    if given:
        return given, "", "" if rules.own_gold else "unknown"
    return (trace, "", "made") if rules.own_gold else ("", "its question is not in the gold set", "")


def _given(spans: Mapping[str, Span], key: str) -> str:
    """The id that somebody attached to a step, the outermost first."""
    order = sorted(spans.values(), key=lambda span: (span.start or 0, -(span.end or 0)))
    for span in order:
        if name := span.metadata(key):
            return name
    direct = (EXAMPLE, "langfuse.experiment.item.id") if key == "qid" else (key,)
    held = (span.first(direct) for span in order)
    return next((str(one) for one in held if isinstance(one, str | int)), "")


def known_qid(trace: str, spans: Mapping[str, Span], rules: Rules) -> str:
    """The question of a trace that cannot be read whole: by its metadata, by its text, else `trace`."""
    if given := _given(spans, "qid"):
        return given
    asked = rules.gold.asked(_question(_outer(spans), ())) if rules.gold is not None else set()
    return next(iter(asked)) if len(asked) == 1 else trace


def _record(one: _Parts, rules: Rules, remark: str) -> Read:
    remarks = {remark} - {""}
    given, undecided = _given_to_model(one, rules, remarks)
    sources = numbered(one.calls, given, keep_ids=rules.ids.rule == "id")
    given = sources.documents
    documents = [rules.ids.named(found) for found in given]
    remarks |= {"uuid" for was, now in zip(given, documents, strict=True) if was.id and was.id != now.id}
    remarks |= {"hashed" for was, now in zip(given, documents, strict=True) if not was.id and _hashed(now, rules)}
    remarks |= {"several"} if len(one.retrieval) > 1 else set()
    record: Record = {"qid": one.qid, "query": one.question}
    if one.retrieval or any(span.kind == RETRIEVER for span in one.spans.values()):
        first = {found.id: found for found in reversed(documents)}  # each id at its first place, as `rw.reply` has it
        record["retrieved_ids"] = list(dict.fromkeys(found.id for found in documents))
        if any(found.score is not None for found in documents):
            record["topk"] = [_result(first[name]) for name in record["retrieved_ids"]]
    else:
        remarks.add("bare")
    remarks |= _answered(record, one, [documents[place].id for place in sources.order], rules)
    if undecided and "error" not in record:
        record.pop("answer_json", None)
        record["error"] = undecided
    record |= _measured(one)
    return Read(record, documents=documents, remarks=frozenset(remarks))


def _given_to_model(one: _Parts, rules: Rules, remarks: set[str]) -> tuple[list[Document], str]:
    """The documents that the model saw, as far as the spans tell; and why they cannot, where they cannot."""
    lists = [list(documents_of(span).documents) for span in one.retrieval]
    if one.retrieval and one.retrieval[0].kind == RERANKER:
        lists = [_recognised(lists[0], one.spans)]
    given = [found for some in lists for found in some]
    if last := last_postprocessor(one.spans, one.retrieval):
        left = left_by(last, given)
        remarks |= {"unread"} if left is None else set()
        lists = lists if left is None else [left]
    given = [found for some in lists for found in some]
    by_number = any(numbered_sources(span) for span in one.calls)  # nodes that were cut: see `numbered`
    if by_number or not one.retrieval or one.retrieval[0].kind not in (RETRIEVER, RERANKER):
        return given, ""
    try:
        seen, found = as_the_model_saw(one.spans, one.retrieval, lists, _chosen(*_said(one), rules)[0] or "")
    except Undecided as undecided:
        return given, f"undecided: {undecided.reason} [{undecided.code}]"
    remarks |= {"unseen"} if seen.missing and seen.sure else {"unfound"} if seen.missing else set()
    return found, ""


def _said(one: _Parts) -> tuple[Reply | None, str | None]:
    """What the model said, and what the pipeline as a whole gave back."""
    return next((reply for span in reversed(one.calls) if (reply := reply_of(span)) is not None), None), _whole(
        one.outer
    )


def _hashed(found: Document, rules: Rules) -> bool:
    return not rules.ids.rule and bool(found.text) and found.id == content_id(found.text)


def _result(found: Document) -> Record:
    return {"id": found.id} if found.score is None else {"id": found.id, "score": found.score}


def _recognised(given: list[Document], spans: Mapping[str, Span]) -> list[Document]:
    """Reranked documents that carry their text only get the id and the metadata that they were retrieved with."""
    before = [
        found
        for span in spans.values()
        if span.kind == RETRIEVER
        for found in documents_of(span).documents
        if found.text
    ]
    by_text = {content_id(found.text): found for found in before}
    return [
        found
        if found.id or found.metadata or content_id(found.text) not in by_text
        else by_text[content_id(found.text)]._replace(score=found.score)
        for found in given
    ]


def _answered(record: Record, one: _Parts, seen: Sequence[str], rules: Rules) -> set[str]:
    """Put the answer, or the error, into the record; `seen` are the ids in the order in which the model got them."""
    failed = [span.status for span in one.top if span.status]
    text, other = _chosen(*_said(one), rules)
    if failed:
        record["error"] = failed[0]
        return set()
    if text is None:
        if one.calls or any(span.kind == BUILDER for span in one.spans.values()):
            record["error"] = NO_ANSWER
        return set()
    cited = answered(text, seen, rules.marks)
    record["answer_json"] = {"claim": cited.claim, "citations": cited.citations}
    remarks = {"stray"} if cited.outside else set()
    if other is not None and _evened(answered(other, seen, rules.marks).claim) != _evened(cited.claim):
        remarks.add("replaced" if rules.root_first else "differs")
    return remarks


def _whole(outer: Span | None) -> str | None:
    """What the pipeline as a whole gave back."""
    if outer is None or outer.kind in (LLM, BUILDER):
        return None
    value = outer.first(OUTPUT)
    if value is None:
        return None
    if isinstance(value, str) and isinstance(held := opened(value), Mapping) and isinstance(held.get("claim"), str):
        return value  # it names its citations itself
    last = last_answer_in(value) if _PIPELINE.search(outer.name) else None
    return last if last is not None else answer_in(value)


def _chosen(said: Reply | None, whole: str | None, rules: Rules) -> tuple[str | None, str | None]:
    """The answer, and the other thing that might have been it: a direct reply, else the whole, else what is left."""
    if said is not None and (whole is None or (said.direct and not rules.root_first)):
        return said.text, whole
    return whole, said.text if said is not None and said.direct else None


def _evened(text: str) -> str:
    return " ".join(text.split())


def _measured(one: _Parts) -> Record:
    """Times and tokens, as the latency suite reads them."""
    record: Record = {}
    times = [(microseconds(span.start), microseconds(span.end)) for span in one.top if span.milliseconds is not None]
    if times:
        record["e2e_ms"] = round((max(end for _, end in times) - min(start for start, _ in times)) / 1e3, 3)
    stages: dict[str, float] = {}
    for stage, kind in (("retrieval", RETRIEVER), ("rerank", RERANKER), ("llm", LLM)):
        spans = _outermost(one, kind)
        known = [span.milliseconds for span in spans if span.milliseconds is not None]
        if known:
            stages[stage] = round(sum(known), 3)
    if stages:
        record["stage_ms"] = stages
    if usage := _usage(one.spans):
        record["usage"] = usage
    return record


def _outermost(one: _Parts, kind: str) -> list[Span]:
    """The steps of a kind that are in no other of these kinds; of model calls those that hold an answer."""
    marked = {name for name, span in one.spans.items() if span.kind in (RETRIEVER, RERANKER, LLM)}
    inner = below(one.spans, marked)
    calls = {span.id for span in one.calls}
    found = [span for name, span in one.spans.items() if span.kind == kind and name not in inner]
    return [span for span in found if kind != LLM or span.id in calls] or (found if kind != LLM else list(one.calls))


def _usage(spans: Mapping[str, Span]) -> dict[str, Any]:
    """The tokens of all model calls together; a call inside another is counted once."""
    counted = {one: usage for one, span in spans.items() if span.kind == LLM and (usage := usage_of(span))}
    inner = below(spans, set(counted))
    outer = [usage for one, usage in counted.items() if one not in inner]
    return together(outer)
