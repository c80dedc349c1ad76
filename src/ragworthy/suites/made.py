"""How traces were made: what they, the index beside them and the request say of it, the same for every suite."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ragworthy.load.decode import Decoder
from ragworthy.load.payload import PlainTrace
from ragworthy.load.sources import Source
from ragworthy.names import MADE, TRACED
from ragworthy.records import Trace
from ragworthy.report.made import several
from ragworthy.report.part import Note
from ragworthy.suites.fork import answer, processes, workers
from ragworthy.suites.parts import Engine, Stored
from ragworthy.suites.reading import Reader, reader

KNOBS = "knobs"
"""What a pipeline was set to: a part of how it was made that runs may try several values of."""
MOST = 10
"""So many values of one thing are listed; of more, their number and their hash are kept too."""
OF_INDEX = ("index_hash", "index_type", "metric", "embedding", "chunker", "text_preproc", "analyzer")
"""What the manifest of an index says of how it is searched."""
_KEYS = {**TRACED, KNOBS: KNOBS}


class ToldTrace(PlainTrace, frozen=True, gc=False):
    """A trace with what it says of how it was made, for whoever reads traces anyway."""

    index_hash: msgspec.Raw = msgspec.Raw()
    commit: msgspec.Raw = msgspec.Raw()
    normaliser_id: msgspec.Raw = msgspec.Raw()
    reranker_id: msgspec.Raw = msgspec.Raw()
    retriever: msgspec.Raw = msgspec.Raw()
    knobs: msgspec.Raw = msgspec.Raw()


class SilentTrace(PlainTrace, frozen=True, gc=False):
    """A trace that says nothing of how it was made. A block that comes in this type need not be looked at for it."""

    index_hash: None = None
    commit: None = None
    normaliser_id: None = None
    reranker_id: None = None
    retriever: None = None
    knobs: None = None


class _Said(msgspec.Struct, frozen=True, gc=False):
    """What a trace says of how it was made."""

    index_hash: msgspec.Raw = msgspec.Raw()
    commit: msgspec.Raw = msgspec.Raw()
    normaliser_id: msgspec.Raw = msgspec.Raw()
    reranker_id: msgspec.Raw = msgspec.Raw()
    retriever: msgspec.Raw = msgspec.Raw()
    knobs: msgspec.Raw = msgspec.Raw()


Told: TypeAlias = tuple[bytes, ...]
"""What one trace says, as it is written, in the order of `_KEYS`."""
Values = dict[str, Counter[str]]
"""How often each value of a thing is there, values as JSON."""


def said_by(
    sources: Iterable[Source],
    jobs: int | None = None,
    parts: Mapping[str, Sequence[Stored]] | None = None,
    told: Mapping[str, Counter[Told]] = MappingProxyType({}),
    engine: Engine | None = None,
) -> Values:
    """What traces say of how they were made: all of them are looked at, large files in several processes; or were, in
    parts that were read apart, or when they were scored (`told`, by the role of the source).
    """
    found: Values = {key: Counter() for key in _KEYS}
    for source in sources:
        if parts is not None:
            for one in parts[apart(source)]:
                for key, counts in one.decoded(dict[str, dict[str, int]], apart(source)).items():
                    found[key].update(counts)
            continue
        if engine is not None and (said := engine.said(source)) is not None:
            for key, counts in said.items():
                found[key].update(counts)
            continue
        counted = told.get(source.role)
        if counted is None:
            counted = _counted(source, processes(jobs, source.size, source.splits))
        for key, counts in _said(counted).items():
            found[key].update(counts)
    return found


def apart(source: Source) -> str:
    """The name under which parts that were read apart keep what traces say of how they were made."""
    return f"made:{source.role}"


def said_in(source: Source, part: int, parts: int) -> Values:
    """The same of one part of a file."""
    return _said(_part(source, part, parts))


def _said(counted: "Counter[Told]") -> Values:
    """Values as deterministic JSON; those that say nothing left out."""
    found: Values = {key: Counter() for key in _KEYS}
    encoder = msgspec.json.Encoder(order="deterministic")
    for said, count in counted.items():
        for key, raw in zip(_KEYS, said, strict=True):
            value = msgspec.json.decode(raw) if raw else None
            if value not in (None, "", {}, []):
                found[key][encoder.encode(value).decode()] += count
    return found


def _counted(source: Source, parts: int) -> Counter[Told]:
    """How many traces of a file say what."""
    if parts > 1:
        try:
            with workers(lambda part, pipe: pipe.send(("said", _part(source, part, parts))), parts) as pipes:
                return sum((answer(pipe, "said", None) for pipe in pipes), Counter[Told]())
        except (EOFError, OSError):  # a process died, or the system has no room for another one
            pass
    return _part(source, 0, 1)


def _part(source: Source, part: int, parts: int) -> Counter[Told]:
    found: Counter[Told] = Counter()
    for block in source.blocks(part, parts):
        found.update(told_in(list(_records(block.data)), block.data))
    return found


def told_in(records: Sequence[Any], data: bytes) -> Counter[Told]:
    """What the traces of a block say, from its records where these have it, else from its lines."""
    if records and isinstance(records[0], SilentTrace):
        return Counter({_NOTHING: len(records)})
    known = records if records and isinstance(records[0], (ToldTrace, _Said)) else list(_records(data))
    raws = list(map(_RAWS, known))
    found: Counter[Told] = Counter()
    if raws and raws.count(raws[0]) == len(raws):  # as mostly: to compare is all there is to do
        found[tuple(map(bytes, raws[0]))] = len(raws)
        return found
    for said, alike in groupby(raws):
        found[tuple(map(bytes, said))] += sum(1 for _ in alike)
    return found


def told_reader(source: Source) -> Reader:
    """How traces are read that are to tell how they were made."""
    return reader(source, Trace)._replace(decoder=partial(Decoder, Trace, usual=(SilentTrace, ToldTrace)))


_decoder = msgspec.json.Decoder(_Said)
_RAWS = attrgetter(*_KEYS.values())
_NOTHING: Told = (b"",) * len(_KEYS)
_WRITTEN = [name.encode() for name in _KEYS.values()]
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def _records(data: bytes) -> Iterator[_Said]:
    try:
        yield from _decoder.decode_lines(data)
    except _UNREADABLE:
        for line in data.splitlines() if any(name in data for name in _WRITTEN) else ():
            try:
                yield _decoder.decode(line)
            except _UNREADABLE:
                continue  # a blank line; others were refused when they were scored


class Beside(NamedTuple):
    """What is known besides the traces."""

    commit: str = ""
    """The commit that is judged."""
    corpus: Any = None
    """The index or the chunks that were given."""


def provenance(values: Values, beside: Beside) -> dict[str, Any]:
    """How the traces were made, as a report has it: null where nothing says it, or where traces differ."""
    found: dict[str, Any] = {}
    differs: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for key, counts in values.items():
        several = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        found[key] = msgspec.json.decode(several[0][0]) if len(several) == 1 else None
        if len(several) > 1:
            differs[key] = [{"value": msgspec.json.decode(text), "traces": many} for text, many in several[:MOST]]
        if len(several) > MOST:
            every = hashlib.sha256("\n".join(sorted(counts)).encode()).hexdigest()
            more[key] = {"values": len(several), "sha256": every}
    if found[KNOBS] is None:
        del found[KNOBS]
    index = index_of(beside.corpus)
    usual = {"commit": beside.commit or None}
    if index is not None:
        usual |= {"index_hash": index["index_hash"], "normaliser": index["text_preproc"]["normaliser"]}
    for key, value in usual.items():
        if found[key] is None and key not in differs:
            found[key] = value
    besides = {"index": index, "differs": differs, "differs_in": more}
    return found | {key: value for key, value in besides.items() if value}


def index_of(given: Any) -> dict[str, Any] | None:
    """What an index that was given says of itself; None for a file of chunks."""
    path = Path(given) if isinstance(given, (str, Path)) else None
    if path is None or not (path.is_dir() or path.name == "manifest.json"):
        return None
    from ragworthy.index.folder import open_folder

    manifest = open_folder(path if path.is_dir() else path.parent, lambda _: None).manifest
    plain = msgspec.to_builtins(manifest)
    return {key: plain[key] for key in OF_INDEX}


def mixed(found: Mapping[str, Any]) -> list[Note]:
    """What differs within one run, although a run is made in one way."""
    all_of = {key: len(values) for key, values in found.get("differs", {}).items()}
    all_of |= {key: one["values"] for key, one in found.get("differs_in", {}).items()}
    return [
        Note("RW-W129", count, f"the traces differ in {key}: {several(found, key)}")
        for key, count in all_of.items()
        if key in MADE
    ]
