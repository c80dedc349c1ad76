"""What a map reads out of a reply: the fields of the contract, and where each of them stood.

A reply is a list of JSON values: one, or those of a stream. Paths are followed in all of them; the texts of an answer
are put together, of numbers and tables the last counts.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.adapters.documents import DocIds, Document, Markers, answered, content_id, doc_ids, document, markers
from ragworthy.adapters.replies import Rules, chunk, context_chunk
from ragworthy.load.map import Paths, Reading
from ragworthy.load.paths import At, Lost, Path, find
from ragworthy.names import REFUSAL
from ragworthy.text import clip, described

_FENCE = re.compile(r"\A\s*```[A-Za-z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
"""A block of code around JSON, which models like to write."""


_REFUSES = "if this is a refusal, refusal in [reply] names what says so"


class Unfit(Exception):
    """A reply that a path of the map does not fit."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class Said(Exception):
    """A reply that says that it is an error."""


class Extracted(NamedTuple):
    """A reply of the contract, and where its parts stood."""

    fields: dict[str, Any]
    places: tuple[tuple[str, str], ...]
    chunks: tuple[dict[str, Any], ...] = ()
    """The texts of what was retrieved."""


class Reader:
    """Reads replies by one map."""

    def __init__(self, reading: Reading, rules: Rules | None = None) -> None:
        """What the command line says of ids and markers goes before what the map says."""
        told = {} if rules is None else dict(rules.given)
        self._map = reading._replace(id_from=()) if "doc_id" in told else reading
        self._marks: Markers = markers(told.get("marker", reading.marker))._replace(base=reading.base)
        known = frozenset[str]() if rules is None else rules.ids.known
        self._ids: DocIds = doc_ids(told.get("doc_id", reading.doc_id), known)

    def read(self, values: Sequence[Any], hide: Callable[[str], str] = str) -> Extracted:
        """The reply in some JSON values; raises Unfit and Said. `hide` takes secrets out of what is put together."""
        places: dict[str, str] = {}
        self._check_error(values)
        refused = self._flag(values, "refusal")
        claim = hide(self._claim(values, places, needed=not refused))
        inner: list[Any] = [] if refused or not self._map.parsed else [_opened(claim, places["claim"])]
        if inner:
            claim = hide(self._inner_claim(inner, places))
            refused = self._truth(_gather(inner, self._map.parsed.get("refusal", ())))
        self._check_whole(values)
        seen = self._seen(values, inner, places)
        names = [one.id for one in seen]
        cited = self._marks.read(claim, names) if inner else answered(claim, names, self._marks)
        citations = self._citations(values, inner, seen, places)
        if not citations and cited.citations:
            citations = cited.citations
            places["citations"] = f"markers in {places['claim']}"
        answer: dict[str, Any] = {"claim": cited.claim, "citations": citations}
        if refused:
            places["claim"] = f"{places.get('claim', '')} (a refusal, by {self._refusal_path()})".strip()
            answer = {"claim": REFUSAL, "citations": [], "said": cited.claim}
        fields = {"answer_json": answer} | _ranked(seen) | self._tables(values, places)
        return Extracted(fields, tuple(places.items()), tuple(chunk(one) for one in seen if one.text))

    def output(self, values: Sequence[Any], hide: Callable[[str], str] = str) -> Extracted:
        """The reply to a structured question: the text as it was written, and the documents as its context."""
        places: dict[str, str] = {}
        self._check_error(values)
        written = hide(self._claim(values, places, needed=True))
        self._check_whole(values)
        seen = self._seen(values, [], places)
        moved = {"claim": "raw", "retrieved_ids": "context"}
        context = [context_chunk(one) for one in seen]
        fields = {"raw": written, "context": context} | self._tables(values, places)
        return Extracted(fields, tuple((moved.get(name, name), place) for name, place in places.items()))

    def known(self, values: Sequence[Any]) -> dict[str, Any]:
        """What an error keeps: what was retrieved, usage and times, as far as they can be read."""
        try:
            ranked = _ranked(self._seen(values, [], {}))
        except Unfit:
            ranked = {}
        return ranked | self._tables(values, {})

    def ended(self, values: Sequence[Any]) -> bool:
        """Whether a stream came to its end, or says that it is an error; True where the map names no end."""
        named = bool(self._map.paths.get("done"))
        return not named or self._flag(values, "done") or self._flag(values, "error")

    @property
    def end(self) -> str:
        """What the end of a stream is known by."""
        return _written(self._map.paths.get("done", ()))

    def _refusal_path(self) -> str:
        return _written(self._map.paths.get("refusal") or self._map.parsed["refusal"])

    def _check_error(self, values: Sequence[Any]) -> None:
        for at in _gather(values, self._map.paths.get("error", ())):
            if at.value:
                inner = at.value.get("message") if isinstance(at.value, dict) else at.value
                said = inner if isinstance(inner, str) else msgspec.json.encode(at.value).decode()
                raise Said(clip(said, 300))

    def _flag(self, values: Sequence[Any], name: str) -> bool:
        return self._truth(_gather(values, self._map.paths.get(name, ())))

    @staticmethod
    def _truth(found: Sequence[At]) -> bool:
        return any(bool(at.value) for at in found)

    def _check_whole(self, values: Sequence[Any]) -> None:
        """See that a stream came to its end."""
        paths = self._map.paths.get("done", ())
        if paths and len(values) > 1 and not self._flag(values, "done"):
            message = f"expected a stream with an end at {_written(paths)}, got one that was cut short"
            raise Unfit("reply.done", message)

    def _claim(self, values: Sequence[Any], places: dict[str, str], *, needed: bool) -> str:
        found = _gather(values, self._map.paths["claim"], "reply.claim", "a text" if needed else "")
        return _text(found, self._map.paths["claim"], "reply.claim", places, needed=needed)

    def _inner_claim(self, inner: list[Any], places: dict[str, str]) -> str:
        paths = self._map.parsed["claim"]
        around = places["claim"]
        claim = _text(_gather(inner, paths, "reply.parsed.claim", "a text"), paths, "reply.parsed.claim", places)
        places["claim"] = f"{places['claim']} in the JSON at {around}"
        return claim

    def _seen(self, values: Sequence[Any], inner: list[Any], places: dict[str, str]) -> list[Document]:
        """The documents of a reply in the order of their numbers."""
        paths = self._map.paths
        if "documents" in paths:
            found = _flat(_gather(values, paths["documents"], "reply.documents", "a list"))
            places["retrieved_ids"] = _place(found, paths["documents"])
            given = [self._document(at) for at in found]
            return _once(given) if len(values) > 1 else given
        if "ids" in self._map.parsed and inner:
            found = _flat(_gather(inner, self._map.parsed["ids"], "reply.parsed.ids", "a list"))
            places["retrieved_ids"] = f"{_place(found, self._map.parsed['ids'])} in the JSON of the claim"
            return [Document(_id(at, "reply.parsed.ids"), "", None, {}) for at in found]
        ids = _flat(_gather(values, paths.get("ids", ()), "reply.ids", "a list"))
        texts = _flat(_gather(values, paths.get("texts", ()), "reply.texts", "a list"))
        if ids or texts:
            places["retrieved_ids"] = _place(ids or texts, paths["ids"] if ids else paths["texts"])
        names = [_id(at, "reply.ids") for at in ids] or [content_id(_one_text(at, "reply.texts")) for at in texts]
        said = [_one_text(at, "reply.texts") for at in texts] or [""] * len(names)
        if len(said) != len(names):
            message = f"expected {len(names)} texts at {_written(paths['texts'])}, one for each id, got {len(said)}"
            raise Unfit("reply.texts", message)
        scores = self._scores(values, len(names))
        given = [Document(*one, {}) for one in zip(names, said, scores, strict=True)]
        return _once(given) if len(values) > 1 else given

    def _scores(self, values: Sequence[Any], count: int) -> list[float | None]:
        paths = self._map.paths.get("scores", ())
        found = _flat(_gather(values, paths, nulls=True))
        if not found:
            return [None] * count
        if len(found) != count:
            message = f"expected {count} numbers at {_written(paths)}, one for each id, got {len(found)}"
            raise Unfit("reply.scores", message)
        for at in found:
            if at.value is not None and (isinstance(at.value, bool) or not isinstance(at.value, int | float)):
                raise Unfit("reply.scores", f"expected a number at {at.place}, got {described(at.value)}")
        return [None if at.value is None else float(at.value) for at in found]

    def _document(self, at: At) -> Document:
        """One source of a reply: an object as frameworks have it, a text, or an id: a text without spaces."""
        found = document(at.value)
        if isinstance(at.value, str) and not self._map.doc_id and at.value.split() == [at.value]:
            return Document(at.value, "", None, {})
        if found is not None and isinstance(at.value, dict) and not found.metadata:
            found = found._replace(metadata=at.value)
        if self._map.id_from:
            parts = [self._part(at, path) for path in self._map.id_from]
            return (found or Document("", "", None, {}))._replace(id="@".join(parts))
        if found is None:
            has = ", ".join(sorted(at.value)) if isinstance(at.value, dict) else described(at.value)
            wanted = f"expected a document with an id or a text at {at.place}"
            raise Unfit("reply.documents", f"{wanted}, got {clip(has, 200)}: id_from names the fields of an id")
        named = self._ids.named(found)
        if not named.id:
            rule = self._map.doc_id or "id"
            raise Unfit("reply.documents", f"expected a document with {rule} at {at.place}, got one without")
        return named

    def _part(self, at: At, path: Path) -> str:
        """One field of a document, or of its metadata."""
        metadata = at.value.get("metadata") if isinstance(at.value, dict) else None
        for value in (at.value, metadata):
            try:
                found = find(value, path)
            except Lost:
                continue
            if found and found[0].value is not None:
                return _id(At(f"{at.place}.{path.text}", found[0].value), "reply.id_from")
        keys = ", ".join(sorted(at.value)) if isinstance(at.value, dict) else described(at.value)
        raise Unfit("reply.id_from", f"expected {path.text} at {at.place}, got nothing: it has {clip(keys, 200)}")

    def _citations(
        self, values: Sequence[Any], inner: list[Any], seen: Sequence[Document], places: dict[str, str]
    ) -> list[str]:
        paths, given, field = self._map.paths.get("citations", ()), values, "reply.citations"
        if inner and "citations" in self._map.parsed:
            paths, given, field = self._map.parsed["citations"], inner, "reply.parsed.citations"
        found = _flat(_gather(given, paths, field, "a list"))
        if not found:
            return []
        places["citations"] = _place(found, paths)
        names = dict(enumerate((one.id for one in seen), self._map.base))
        cited: dict[str, None] = {}
        for at in found:
            if isinstance(at.value, int) and not isinstance(at.value, bool):
                cited[names.get(at.value, f"[{at.value}]")] = None
            elif isinstance(at.value, dict):
                cited[self._document(at).id] = None
            else:
                cited[_id(at, field)] = None
        return list(cited)

    def _tables(self, values: Sequence[Any], places: dict[str, str]) -> dict[str, Any]:
        """Usage and times, as far as they are there."""
        made: dict[str, Any] = {}
        for name, paths in self._map.tables.items():
            if not isinstance(paths, dict):
                found = _gather(values, paths)
                if found:
                    made[name] = found[-1].value
                    places[name] = found[-1].place
                continue
            parts = {part: found[-1] for part, own in paths.items() if (found := _gather(values, own))}
            if parts:
                made[name] = {part: at.value for part, at in parts.items()}
                places[name] = ", ".join(at.place for at in parts.values())
        return made


def _gather(values: Sequence[Any], paths: Paths, field: str = "", what: str = "", *, nulls: bool = False) -> list[At]:
    """What is at the first of some paths that leads to something, in all values.

    Where `what` is expected and no path leads anywhere, that is an error; an empty list is not.
    """
    lost: Lost | None = None
    led = any(path.optional for path in paths) or not paths
    for path in paths:
        found: list[At] = []
        for value in values:
            try:
                here = find(value, path)
            except Lost as error:
                lost = error if lost is None or error.depth > lost.depth else lost
                if error.inside:  # one entry of a list lacks it: the others are not taken without it
                    found = []
                    break
                continue
            led = led or not here or any(at.value is None for at in here)
            found += [at for at in here if nulls or at.value is not None]
        if found:
            return found
    if what and not led:
        raise Unfit(field, f"expected {what} at {_written(paths)}, got nothing: {lost}")
    return []


def _written(paths: Paths) -> str:
    return " or ".join(path.text.removesuffix("?") for path in paths)


def _place(found: Sequence[At], paths: Paths) -> str:
    """Where things were found, as a path: with a star for the numbers in which they differ."""
    if not found:
        others = f" and {len(paths) - 1} other places" if len(paths) > 1 else ""
        return f"nothing at {_written(paths[:1])}{others}"
    first, last = found[0].place.split("."), found[-1].place.split(".")
    if len(first) != len(last):
        return found[0].place
    return ".".join(one if one == other else "*" for one, other in zip(first, last, strict=True))


def _flat(found: Sequence[At]) -> list[At]:
    """Values, and the entries of those that are lists."""
    flat: list[At] = []
    for at in found:
        inside = isinstance(at.value, list)
        flat += [At(f"{at.place}.{n}", one) for n, one in enumerate(at.value)] if inside else [at]
    return flat


def _once(found: Sequence[Document]) -> list[Document]:
    """Documents without those that several events of a stream repeat."""
    kept: dict[tuple[str, str], Document] = {}
    for one in found:
        kept.setdefault((one.id, one.text), one)
    return list(kept.values())


def _ranked(seen: Sequence[Document]) -> dict[str, Any]:
    """The ids in the order of their ranks, each once, and their scores where there are some."""
    first = {one.id: one for one in reversed(seen)}
    ranked = list(dict.fromkeys(one.id for one in seen))
    made: dict[str, Any] = {"retrieved_ids": ranked}
    if any(one.score is not None for one in first.values()):
        scores = [(name, first[name].score) for name in ranked]
        made["topk"] = [{"id": name} if score is None else {"id": name, "score": score} for name, score in scores]
    return made


def _text(found: Sequence[At], paths: Paths, field: str, places: dict[str, str], *, needed: bool = True) -> str:
    if not found and needed:
        raise Unfit(field, f"expected a text at {_written(paths)}, got null or nothing: {_REFUSES}")
    pieces = [_one_text(at, field) for at in found]
    places["claim"] = _place(found, paths)
    return "".join(pieces)


def _one_text(at: At, field: str) -> str:
    if not isinstance(at.value, str):
        raise Unfit(field, f"expected a text at {at.place}, got {described(at.value)}")
    return at.value


def _id(at: At, field: str) -> str:
    """An id as a text; a number is one, too."""
    if isinstance(at.value, bool) or not isinstance(at.value, str | int) or not str(at.value).strip():
        raise Unfit(field, f"expected a text or a number at {at.place}, got {described(at.value)}")
    return str(at.value).strip()


def _opened(text: str, place: str) -> Any:
    """The JSON that a text is."""
    fenced = _FENCE.match(text)
    try:
        return msgspec.json.decode(fenced[1] if fenced else text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        told = clip(text[:400], 80) or "nothing"
        raise Unfit("reply.claim", f"expected JSON in the text at {place}, got {told} ({reason})") from None
