"""A document of any framework as an id and a text, and `[n]` markers of an answer as citations of documents.

Nothing of a framework is imported: LangChain's `Document`, LlamaIndex' `NodeWithScore`, Haystack's `Document`, their
JSON, the document attributes of OpenInference and plain texts are told apart by what they carry.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ragworthy.errors import UsageError, usage_error

MARKER = r"\[(?:doc(?:ument)?|source)? ?#?(\d+(?: ?[,;\-–] ?(?:doc)?\d+)*)\]|【(\d+(?: ?[,、;\-–] ?\d+)*)】"
"""`[1]`, `[1, 2]`, `[1-3]`, `[doc1]`, `[Source 1]`, `【1】`; several in a row are several markers."""
LARGEST_STRAY = 99
"""A number that is not a document is still a citation (of nothing) up to here; `[2024]` and `[404]` are text."""
_SOURCE_LINE = re.compile(r"\ASource \d+:\r?\n")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_STABLE_UUIDS = "358"
"""Versions of UUIDs that are made from a name: the same document has the same one in every build."""
_TEXT = ("page_content", "content", "text", "document", "body", "chunk", "snippet", "passage")
_ID = ("chunk_id", "id", "id_", "node_id", "_id")
_METADATA = ("metadata", "meta")
_SCORE = ("score", "relevance_score", "similarity_score", "_score", "similarity")
_CHUNK_KEYS = ("chunk_id", "chunk_uri", "node_id", "block_id", "snippet_id")
_FILE_KEYS = ("source", "doc_uri", "file_path", "file_name", "url", "source_url", "path", "doc_id", "document_id")
_PLACE_KEYS = ("start_index", "split_idx_start", "split_id", "chunk_index", "chunk_number", "chunk", "seq_num")
_OFFSETS = ("start_index", "split_idx_start")
_UNITS = (("p", ("page", "page_number")), ("row", ("row",)), ("s", ("seq_num",)), ("s", ("split_id",)))
"""What loaders cut a file into before it is split: pages, rows, records. Offsets begin again in each of them."""
_REPR = re.compile(r"<?[A-Za-z_][A-Za-z0-9_.]*\(")
_DEPTH = 4


class Document(NamedTuple):
    """One retrieved piece of text."""

    id: str
    """As the framework gives it, empty where it gives none; after `DocIds.named` the id that traces have."""
    text: str
    score: float | None
    metadata: dict[str, Any]


def content_id(text: str) -> str:
    """An id made of the text: equal texts have equal ids, whatever their line breaks and spaces.

    >>> content_id("Names stay\\n  blocked.") == content_id("Names stay blocked. ")
    True
    """
    return "sha256:" + hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def document(value: Any) -> Document | None:
    """What a value says as a document; None where it is none.

    >>> document({"page_content": "Text.", "metadata": {"source": "a.md"}})
    Document(id='', text='Text.', score=None, metadata={'source': 'a.md'})
    >>> document({"document.id": "7", "document.content": "Text.", "document.score": 2})
    Document(id='7', text='Text.', score=2.0, metadata={})
    """
    return _document(value, _DEPTH)


def documents(values: Iterable[Any]) -> list[Document]:
    """The documents among some values."""
    return [found for found in map(document, values) if found is not None]


def _document(value: Any, depth: int) -> Document | None:
    if isinstance(value, str):
        return None if _REPR.match(value) else Document("", plain_text(value), None, {})
    if isinstance(value, list | tuple):  # similarity_search_with_score: (document, score)
        pair = len(value) == 2 and not isinstance(value[0], str) and _number(value[1]) is not None and depth
        inner = _document(value[0], depth - 1) if pair else None
        return inner and inner._replace(score=_number(value[1]))
    fields = _fields(value)
    if fields is None or not depth:
        return None
    for wrapper in ("kwargs", "node", "document"):  # LangChain's JSON, NodeWithScore, nested attributes
        inner_value = fields.get(wrapper)
        if isinstance(inner_value, Mapping) or (wrapper == "node" and inner_value is not None):
            inner = _document(inner_value, depth - 1)
            score = _first_number(fields)
            return inner if inner is None or score is None else inner._replace(score=score)
    metadata = next((_mapping(fields[key]) for key in _METADATA if fields.get(key)), {})
    text = next((fields[key] for key in _TEXT if isinstance(fields.get(key), str)), None)
    name = next((shown for key in _ID if (shown := _name(fields.get(key)))), "")
    if text is None and not name:
        return None
    score = _first_number(fields)
    score = _first_number(metadata) if score is None else score
    return Document(name, plain_text(text or ""), score, metadata)


def plain_text(text: str) -> str:
    """The text without the line `Source 1:` that LlamaIndex' citation engine puts before it."""
    return _SOURCE_LINE.sub("", text)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of a document: a mapping's own, with or without the `document.` of OpenInference, or attributes."""
    if isinstance(value, Mapping):
        named = {str(key).removeprefix("document."): one for key, one in value.items()}
        apart = {key.removeprefix("metadata."): one for key, one in named.items() if key.startswith("metadata.")}
        return named | {"metadata": apart} if apart else named
    if value is None or isinstance(value, bool | int | float | bytes):
        return None
    node = getattr(value, "node", None)
    keys = {*_TEXT, *_ID, *_METADATA, "score"} if node is None else {"node", "score"}
    found = {key: getattr(value, key, None) for key in sorted(keys)}
    return {key: one for key, one in found.items() if one is not None and not callable(one)} or None


def _mapping(value: Any) -> dict[str, Any]:
    """Metadata as a dict; OpenInference writes it as JSON text."""
    if isinstance(value, str):
        value = opened(value)
    return {str(key): one for key, one in value.items()} if isinstance(value, Mapping) else {}


def opened(value: Any) -> Any:
    """What JSON text holds; anything else as it is.

    >>> opened('{"a": 1}'), opened("plain"), opened("[1] is cited")
    ({'a': 1}, 'plain', '[1] is cited')
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    import msgspec

    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = opened_number(value)
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def opened_number(text: str) -> float | None:
    """The number that a text is; OTLP writes whole numbers as text."""
    return float(text) if re.fullmatch(r"-?\d{1,17}(\.\d{1,17})?", text) else None


def _first_number(fields: Mapping[str, Any]) -> float | None:
    return next((found for key in _SCORE if (found := _number(fields.get(key))) is not None), None)


def _name(value: Any) -> str:
    """An id as text; numbers count, lists (LangChain's class paths) and truth values do not."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


# ids


@dataclass(frozen=True)
class DocIds:
    """How documents get their ids. `rule` is empty (the usual chain), `id`, `content`, or metadata keys."""

    rule: str = ""
    keys: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """Ids of a gold set or of chunks: UUIDs are trusted only where one of these is a UUID too."""

    @property
    def trusts_uuids(self) -> bool:
        """Whether random UUIDs can mean anything outside this build of the index."""
        return any(new_each_build(one) for one in self.known)

    def named(self, found: Document) -> Document:
        """The document with the id that traces and chunks have; empty where the rule gives none."""
        return found._replace(id=self._id(found))

    def _id(self, found: Document) -> str:
        if self.rule == "id":
            return found.id
        if self.rule == "metadata":
            return joined(found.metadata, self.keys)
        if self.rule == "content":
            return content_id(found.text) if found.text else ""
        if found.id and (not new_each_build(found.id) or self.trusts_uuids):
            return found.id
        usual = usual_id(found.metadata)
        return usual or (content_id(found.text) if found.text else found.id)


def doc_ids(option: str | None, known: Iterable[str] = (), flag: str = "--doc-id") -> DocIds:
    """The rule that `--doc-id` names."""
    if not option:
        return DocIds(known=frozenset(known))
    if option in ("id", "content"):
        return DocIds(option)
    kind, _, keys = option.partition(":")
    names = tuple(key.strip() for key in keys.split(",") if key.strip())
    if kind != "metadata" or not names:
        raise usage_error(f'{flag}: expected id, content or metadata:KEY,KEY, got "{option}"')
    return DocIds("metadata", names)


def new_each_build(name: str) -> bool:
    """Whether an id is a UUID by chance or by the clock, which the next build of the index will not have.

    >>> new_each_build("ff0a9ff2-7603-48b9-8b04-109597ec1156"), new_each_build("buckets.md@467")
    (True, False)
    """
    found = _UUID.fullmatch(name)
    return found is not None and found[1] not in _STABLE_UUIDS and ("-" in name or found[1] in "1467")


def usual_id(metadata: Mapping[str, Any]) -> str:
    """The id that metadata gives under the usual keys; a file alone is a document, not a chunk, and gives none.

    >>> usual_id({"source": "a.md", "start_index": 467}), usual_id({"source": "a.md"}), usual_id({"chunk_id": "a-3"})
    ('a.md@467', '', 'a-3')
    >>> usual_id({"source": "a.pdf", "page": 3, "start_index": 0})
    'a.pdf@p3@0'
    """
    for key in _CHUNK_KEYS:
        name = _name(metadata.get(key))
        if name and not new_each_build(name):
            return name
    file = next((key for key in _FILE_KEYS if _name(metadata.get(key))), None)
    place = next((key for key in _PLACE_KEYS if _name(metadata.get(key))), None)
    if not file or not place:
        return ""
    units = _units(metadata) if place in _OFFSETS else []
    return "@".join([_name(metadata[file]), *units, _name(metadata[place])])


def _units(metadata: Mapping[str, Any]) -> list[str]:
    """The page, row or record that an offset is in."""
    found = [(sign, next((name for key in keys if (name := _name(metadata.get(key)))), "")) for sign, keys in _UNITS]
    return [sign + name for sign, name in found if name]


def file_of(metadata: Mapping[str, Any]) -> str:
    """The document that a chunk is of, by the usual keys."""
    return next((name for key in _FILE_KEYS if (name := _name(metadata.get(key)))), "")


def chunk_of(one: Document) -> dict[str, Any]:
    """A document as a chunk: its text under the id that traces have."""
    record: dict[str, Any] = {"chunk_id": one.id, "text": one.text}
    if file := file_of(one.metadata):
        record["doc_id"] = file
    attrs = {key: value for key, value in one.metadata.items() if isinstance(value, str | int | float)}
    return record | {"attrs": attrs} if attrs else record


def joined(metadata: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The values of metadata keys as one id; empty where one is missing."""
    parts = [_name(metadata.get(key)) for key in keys]
    return "@".join(parts) if all(parts) else ""


# markers


class Cited(NamedTuple):
    """An answer whose markers were read."""

    claim: str
    """The answer without its markers."""
    citations: list[str]
    outside: int
    """How many of the citations name no document."""


class Markers(NamedTuple):
    """How an answer marks what it cites. `own` is a pattern that the user wrote: every number in it counts."""

    pattern: re.Pattern[str] | None
    own: bool = False
    base: int = 1
    """The number of the first document."""

    def read(self, text: str, seen: Sequence[str]) -> Cited:
        """The claim and the citations of an answer to which the documents `seen` were given, the first as [1].

        >>> markers(None).read("45 days [2], blocked [1][7].", ["a", "b"])
        Cited(claim='45 days, blocked.', citations=['b', 'a', '[7]'], outside=1)
        """
        if self.pattern is None:
            return Cited(text.strip(), [], 0)
        looked_at = text if self.own else _CODE.sub(lambda code: " " * len(code[0]), text)
        numbers: list[int] = []
        pieces: list[str] = []
        begin = 0
        for match in self.pattern.finditer(looked_at):
            found = self._numbers(match, len(seen))
            if not found:
                continue
            numbers += found
            pieces.append(text[begin : match.start()].rstrip(" \t\u00a0\u3000"))
            begin = match.end()
        pieces.append(text[begin:])
        named = dict(enumerate(seen, self.base))
        cited = [named.get(number, f"[{number}]") for number in numbers]
        citations = list(dict.fromkeys(cited))
        stray = {f"[{number}]" for number in numbers if number not in named}
        return Cited("".join(pieces).strip(), citations, len(stray))

    def _numbers(self, match: re.Match[str], count: int) -> list[int]:
        """The numbers of one marker; none where it is text that looks like a marker."""
        groups = [group for group in match.groups() if group] or [match[0]]
        numbers: list[int] = []
        for first, sign, last in _RANGE.findall(" ".join(groups)):
            begin, end = int(first), int(last or first)
            if sign and not begin < end <= max(count, LARGEST_STRAY):
                return []
            numbers += range(begin, end + 1) if sign else [begin]
        if not self.own and any(not 0 < number <= count and number > LARGEST_STRAY for number in numbers):
            return []
        return numbers


_RANGE = re.compile(r"(\d{1,9})(?: ?([\-–]) ?(?:doc)?(\d{1,9}))?")


def answered(text: str, seen: Sequence[str], marks: Markers) -> Cited:
    """Claim and citations of an answer; one that is JSON with a claim names its citations itself.

    >>> answered('{"claim": "45 days.", "citations": ["a"]}', [], markers(None))
    Cited(claim='45 days.', citations=['a'], outside=0)
    """
    held = opened(text)
    if isinstance(held, Mapping) and isinstance(held.get("claim"), str):
        listed = held.get("citations")
        names = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        return Cited(held["claim"], names, 0)
    return marks.read(text, seen)


def markers(option: str | None, flag: str = "--marker") -> Markers:
    """How `--marker` says that answers cite: a pattern, `none`, or the usual forms."""
    if option == "none":
        return Markers(None)
    if not option:
        return Markers(re.compile(MARKER, re.IGNORECASE))
    try:
        pattern = re.compile(option)
    except (re.error, OverflowError, RecursionError) as error:
        raise marker_error(option, str(error), flag) from None
    if pattern.match("") is not None:
        raise marker_error(option, "it matches the empty text", flag)
    return Markers(pattern, own=True)


def marker_error(option: str, reason: str, flag: str = "--marker") -> UsageError:
    """The error for a pattern that cannot mark anything."""
    return usage_error(f'{flag}: expected none or a regular expression, got "{option}" ({reason})')
