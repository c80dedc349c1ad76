"""A reply of the target contract from what a pipeline has at hand: the text of an answer and the documents behind it.

`rw.reply`, the runner and the targets for frameworks all read by these rules: documents and markers as an import does.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.adapters.clashes import within
from ragworthy.adapters.documents import (
    DocIds,
    Document,
    Markers,
    answered,
    chunk_of,
    content_id,
    doc_ids,
    document,
    file_of,
    markers,
    plain_text,
)
from ragworthy.adapters.shapes import answer_in, parts_text
from ragworthy.adapters.tokens import tokens
from ragworthy.errors import Problem, UsageError, usage_error
from ragworthy.load.values import Refused, a, plain, taken_apart
from ragworthy.names import AMBIGUOUS_IDS
from ragworthy.text import clip, described

DocId = str | Sequence[str] | Callable[[Any], object] | None
"""A rule of `--doc-id`, metadata keys, or a function of a document."""
_REPR = re.compile(r"<?(?:[\w.]+\.)?(?:Document|NodeWithScore|TextNode|Node|BaseNode)\b[(: ]")
_PAGE = ("page", "page_number", "page_label", "section", "title")
_KEPT = ("qid",)
_TEXT_OF = ("response", "answer", "data", "text", "content")
_MODEL = ("model_name", "model", "model_id")


class Rules(NamedTuple):
    """How documents get their ids and how answers cite them."""

    ids: DocIds = DocIds()
    marks: Markers = markers(None)
    own: Callable[[Any], object] | None = None
    """A function that gives a document its id."""
    given: tuple[tuple[str, str], ...] = ()
    """What was asked for, as it was written; empty where nothing was."""
    instead: Callable[[Any, int, str | None], Any] | None = None
    """What reads replies of another kind than answers with citations: it gets the reply, the attempts and the qid."""


class Given(NamedTuple):
    """What a pipeline gave back, as yet unread."""

    text: Any
    documents: Any = None
    cited: Any = None
    usage: Any = None
    stage_ms: Any = None
    names: tuple[str, str, str] = ("text", "documents", "cited")
    """Under which names the text, the documents and the citations stood."""
    by_text: bool = False
    """Whether `cited` was itself read from the text: markers that are found there come first."""

    @property
    def shown(self) -> dict[str, Any]:
        """The parts under their names, for people."""
        return {self.names[0]: self.text, self.names[1]: self.documents}


class Made(NamedTuple):
    """A reply, a line on how it was read, and the texts of its documents under their ids."""

    fields: dict[str, Any]
    how: str = ""
    chunks: tuple[dict[str, Any], ...] = ()


def reply(
    text: Any,
    documents: Iterable[Any] | None = (),
    *,
    doc_id: DocId = None,
    marker: str | re.Pattern[str] | None = None,
    cited: Iterable[Any] | None = None,
    usage: Mapping[str, Any] | None = None,
    stage_ms: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """What a target replies, from an answer and the documents that it was made of, best first.

    `text` is a text, or a message or response of a framework. `documents` are documents of LangChain, LlamaIndex or
    Haystack, pairs of a document and its score, dicts, or plain texts. `doc_id` says what their ids are made of: "id",
    "content", "metadata:KEY,KEY", a list of metadata keys, or a function; `marker` how the answer cites them: a
    pattern, or "none". `cited` names what is cited where no marker does: ids, numbers from 1, or documents.

    >>> reply("45 days [2].", [{"id": "a", "text": "Names."}, {"id": "b", "text": "45 days."}])
    {'answer_json': {'claim': '45 days.', 'citations': ['b']}, 'retrieved_ids': ['a', 'b']}
    """
    try:
        return read(Given(text, documents, cited, usage, stage_ms), rules(doc_id, marker)).fields
    except Refused as refused:
        raise UsageError([Problem("RW-U06", refused.reason, "rw.reply", refused.field)]) from None


def rules(
    doc_id: DocId = None,
    marker: str | re.Pattern[str] | None = None,
    known: Iterable[str] = (),
    flags: tuple[str, str] = ("doc_id", "marker"),
) -> Rules:
    """The rules that options name; `known` are ids of the gold set, `flags` what the options are called."""
    marks = Markers(marker, own=True) if isinstance(marker, re.Pattern) else markers(marker, flags[1])
    told = {"marker": marker.pattern if isinstance(marker, re.Pattern) else marker}
    if doc_id is None or isinstance(doc_id, str):
        told["doc_id"] = doc_id
        return Rules(doc_ids(doc_id, known, flags[0]), marks, None, _told(told))
    if callable(doc_id):
        return Rules(DocIds(), marks, doc_id, _told(told))
    keys = tuple(doc_id)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise usage_error(f"{flags[0]}: expected metadata keys, got {described(list(keys))}")
    return Rules(DocIds("metadata", keys), marks, None, _told(told))


def _told(options: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in sorted(options.items()) if value)


def read(given: Given, how: Rules) -> Made:
    """The reply; raises Refused where a part cannot be read, with its name."""
    inside = documents_in(given.text)
    values = _listed(given.documents, given.names[1]) if given.documents is not None else []
    if not values and inside is not None:
        values = _listed(inside, given.names[1])
    found = [_named(value, how, f"{given.names[1]}[{n}]") for n, value in enumerate(values)]
    ids = [one.id for one, _ in found]
    cited = answered(text_of(given.text, given.names[0]), ids, how.marks)
    marked = given.cited is None or (given.by_text and bool(cited.citations))
    citations = cited.citations if marked else _cited(given, ids, how)
    fields: dict[str, Any] = {
        "answer_json": {"claim": cited.claim, "citations": citations},
        "retrieved_ids": list(dict.fromkeys(ids)),  # each at its first place; numbers mean the list as it was given
    }
    if any(one.score is not None for one, _ in found):
        first = {one.id: one.score for one, _ in reversed(found)}
        ranked = ((name, first[name]) for name in fields["retrieved_ids"])
        fields["topk"] = [{"id": name} | ({} if score is None else {"score": score}) for name, score in ranked]
    if spoiled := within([one for one, _ in found], ruled=bool(how.ids.rule or how.own)):
        fields[AMBIGUOUS_IDS] = spoiled
    usage = usage_of(given.text) if given.usage is None else _object(given.usage, "usage")
    if usage:
        fields["usage"] = usage
    if given.stage_ms is not None:
        fields["stage_ms"] = _object(given.stage_ms, "stage_ms")
    chunks = tuple(chunk(one) for one, _ in found if one.text)
    by = given._replace(cited=None) if marked else given
    return Made(fields, _how(by, [origin for _, origin in found], how), chunks)


def as_output(given: Given) -> dict[str, Any]:
    """The same for structured answers: the text as it was written, and the documents as its context."""
    inside = documents_in(given.text) if given.documents is None else given.documents
    values = _listed(inside, given.names[1]) if inside is not None else []
    fields: dict[str, Any] = {"raw": text_of(given.text, given.names[0]), "context": []}
    for n, value in enumerate(values):
        found = _document(value)
        if found is None:
            raise Refused(f"expected a document with a text or an id, got {_kind(value)}", f".{given.names[1]}[{n}]")
        named = value.get("source_path") if isinstance(value, Mapping) else None
        fields["context"].append(context_chunk(found, named))
    usage = usage_of(given.text) if given.usage is None else _object(given.usage, "usage")
    more = {"usage": usage or None, "stage_ms": given.stage_ms}
    return fields | {name: value for name, value in more.items() if value is not None}


def context_chunk(one: Document, path: Any = None) -> dict[str, Any]:
    """A document as a chunk of the context; what it does not say is left out, and no path is guessed.

    >>> context_chunk(Document("a#1", "Red.", 0.5, {"source": "a.md"}))
    {'chunk_id': 'a#1', 'score': 0.5, 'source_path': 'a.md', 'text': 'Red.'}
    """
    path = path or one.metadata.get("source_path") or file_of(one.metadata)
    made = {"chunk_id": one.id or None, "score": one.score, "source_path": path or None, "text": one.text or None}
    return {name: value for name, value in made.items() if value is not None}


def chunk(one: Document) -> dict[str, Any]:
    """A document as a chunk that is the same on every machine: no dates, no folders above the working folder.

    It says that it was retrieved: who scores with a file of such chunks knows that it is not a whole corpus.
    """
    made = chunk_of(one)
    attrs = {key: value for key, value in made.pop("attrs", {}).items() if key in _PAGE}
    file = made.get("doc_id", "")
    if file and Path(file).is_absolute() and Path(file).is_relative_to(Path.cwd()):
        made["doc_id"] = Path(file).relative_to(Path.cwd()).as_posix()
    return made | {"attrs": attrs | {"retrieved": True}}


def _how(given: Given, origins: Sequence[str], how: Rules) -> str:
    """How a reply was read, in a line."""
    count = f"{len(origins)} document{'' if len(origins) == 1 else 's'}"
    ids = ", ".join(f"{number} by {origin}" for origin, number in Counter(origins).items())
    cited = "cited" if given.cited is not None else "none" if how.marks.pattern is None else "markers"
    return f"{given.names[0]} and {count} of {given.names[1]}; ids: {ids or 'none'}; citations: {cited}"


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, str):
        raise Refused(taken_apart(values).replace("a list of texts", "a list of documents"), f".{name}")
    if isinstance(values, Mapping) or not isinstance(values, Iterable) or hasattr(values, "page_content"):
        raise Refused(f"expected a list of documents, got {_kind(values)}", f".{name}")
    return list(values)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, str | int | float | list):
        return "nothing" if value is None else described(value)
    return "an object" if isinstance(value, Mapping) else a(type(value).__name__)


def _named(value: Any, how: Rules, place: str) -> tuple[Document, str]:
    """A document with its id, and what that is made of."""
    found = _document(value)
    if found is None:
        raise Refused(f"expected a document with a text or an id, got {_kind(value)}", f".{place}")
    if how.own is not None:
        name = how.own(value[0] if isinstance(value, list | tuple) else value)
        if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
            raise Refused(f"expected an id by doc_id, got {_kind(name)}", f".{place}")
        return found._replace(id=str(name)), "doc_id"
    named = how.ids.named(found)
    if not named.id:
        rule = f"metadata:{','.join(how.ids.keys)}" if how.ids.keys else how.ids.rule or "the usual rules"
        held = ", ".join(sorted(found.metadata)[:12]) or "nothing"
        raise Refused(f"expected an id by {clip(rule, 80)}, got none: its metadata has {clip(held, 200)}", f".{place}")
    return named, _origin(found, named.id)


def _origin(found: Document, name: str) -> str:
    if name == found.id:
        return "id"
    return "text" if found.text and name == content_id(found.text) else "metadata"


def _document(value: Any) -> Document | None:
    if isinstance(value, str):  # any text is a document, code too; a document that was printed is none
        text = str.__str__(value)
        return None if _REPR.match(text) else Document("", plain_text(text), None, {})
    return document(value)


def _cited(given: Given, ids: Sequence[str], how: Rules) -> list[str]:
    """Citations that are given: ids, numbers from 1, or documents."""
    found: list[str] = []
    for n, value in enumerate(_listed(given.cited, given.names[2])):
        if isinstance(value, str):
            found.append(str.__str__(value))
        elif isinstance(value, int) and not isinstance(value, bool):
            found.append(ids[value - 1] if 0 < value <= len(ids) else f"[{value}]")
        else:
            found.append(_named(value, how, f"{given.names[2]}[{n}]")[0].id)
    return list(dict.fromkeys(found))


def _object(value: Any, name: str) -> dict[str, Any]:
    try:
        made = plain(value)
    except Refused as refused:
        raise refused.inside(f".{name}") from None
    if not isinstance(made, dict):
        raise Refused(f"expected an object, got {_kind(made)}", f".{name}")
    return made


# what a framework's own answer holds


def text_of(value: Any, name: str = "text") -> str:
    """The text of an answer: a text, or a message or response of a framework."""
    if isinstance(value, str):
        return str.__str__(value)
    found = answer_in(value) if isinstance(value, Mapping) else None
    message = getattr(value, "message", None)
    for held in (value, message) if found is None and not isinstance(value, Mapping) else ():
        found = next((text for key in _TEXT_OF if (text := _said(getattr(held, key, None))) is not None), found)
    if found is None:
        raise Refused(f"expected a text, or a message that has one, got {_kind(value)}", f".{name}")
    return found


def _said(value: Any) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)
    return parts_text(value) if isinstance(value, list) else None


def documents_in(value: Any) -> Any:
    """The documents that an answer of a framework carries; None where it carries none."""
    if value is None or isinstance(value, str | Mapping):
        return None
    for key in ("source_nodes", "documents"):
        if isinstance(held := getattr(value, key, None), list | tuple):
            return held
    return None


def usage_of(value: Any) -> dict[str, Any]:
    """The tokens that a message says it took, and the model where it says so."""
    if value is None or isinstance(value, str | Mapping):
        return {}
    about = next((held for key in ("response_metadata", "meta") if (held := _mapping(getattr(value, key, None)))), {})
    counted = _mapping(getattr(value, "usage_metadata", None)) or _mapping(about.get("usage"))
    usage = tokens(counted)
    model = next((name for key in _MODEL if isinstance(name := about.get(key), str) and name), None)
    return usage | {"model": model} if usage and model else usage


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# replies of another shape


_PAIRS = (
    ("answer", ("documents", "context", "source_documents")),
    ("result", ("source_documents",)),
    ("response", ("source_nodes", "documents")),
)
"""Names of the answer and of the documents: ours first, then what chains of LangChain give back."""


def other_shape(value: Any) -> Given | None:
    """What a reply says that is an answer with documents, and not yet the fields of a trace; None for others.

    >>> other_shape({"answer": "45 days.", "documents": []}).names
    ('answer', 'documents', 'citations')
    """
    if isinstance(value, Given):
        return value
    if isinstance(value, Mapping):
        ours = any(value.get(key) is not None for key in ("answer_json", "retrieved_ids"))
        return None if ours or value.get("error") else _of_mapping(value)
    if isinstance(value, str) or documents_in(value) is None:
        return None
    named = "source_nodes" if hasattr(value, "source_nodes") else "documents"
    return Given(value, documents_in(value), names=("the response", named, "citations"))


def _of_mapping(value: Mapping[str, Any]) -> Given | None:
    for answer, names in _PAIRS:
        held = next((name for name in names if isinstance(value.get(name), list | tuple)), None)
        if value.get(answer) is None or (held is None and answer != "answer"):
            continue
        if held is None:
            held = next((name for name in names if value.get(name) is not None), names[0])
            raise Refused(f"expected a list of documents, got {_kind(value.get(held))}", f".{held}")
        cited, usage, stages = value.get("citations"), value.get("usage"), value.get("stage_ms")
        return Given(value[answer], value[held], cited, usage, stages, (answer, held, "citations"))
    return None


def made(value: Any, how: Rules) -> Made | None:
    """The reply in an answer with documents; None where a value is none. What else it names is kept."""
    given = other_shape(value)
    if given is None:
        return None
    found = read(given, how)
    kept = {key: value[key] for key in _KEPT if value.get(key) is not None} if isinstance(value, Mapping) else {}
    return found._replace(fields=found.fields | kept)
