"""What the imports of traces share: their options, and the way from spans to what is written."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.assembly import Read, Rules, assembled, parts
from ragworthy.adapters.clashes import Clashes
from ragworthy.adapters.cut import LENGTH_LIMIT
from ragworthy.adapters.documents import Document, chunk_of, doc_ids, file_of, markers
from ragworthy.adapters.examples import Example, Link, columns
from ragworthy.adapters.model import Imported, Option, Record, Skip, stamp
from ragworthy.adapters.objects import Row, Rows
from ragworthy.adapters.questions import Questions, chunk_ids, from_records, questions
from ragworthy.adapters.rows import Settings, convert
from ragworthy.adapters.spans import EXAMPLE, Span, Traces
from ragworthy.errors import DataError, Problem, data_error, usage_error
from ragworthy.files import sha256_of
from ragworthy.names import AMBIGUOUS_IDS

OPTIONS = (
    Option("--gold", "the gold set that was asked: traces are matched by qid, then by text", "FILE", reads=True),
    Option("--corpus", "chunks, or an earlier --chunks-out: their ids are known to be stable", "FILE", reads=True),
    Option("--doc-id", "id, content, or metadata:KEY,KEY (default: id, usual metadata keys, content)", "RULE"),
    Option("--qid", "metadata:KEY, input (the question's text in --gold) or trace (default: all three)", "RULE"),
    Option("--marker", "how answers cite: a regular expression or none (default: [1], [1, 2], [doc1] …)", "REGEX"),
    Option("--answer", "the answer: what the model said, or what the root gave back", "", "model", ("model", "root")),
    Option("--skip-damaged", "leave out traces whose spans lost attributes instead of stopping"),
)  # fmt: skip

_SHOWN = 3
"""So many damaged traces are named; they tend to be all of them."""


Part = Span | Example | Link
Reader = Callable[[Path], Iterable[Part]]
"""From a file of one tool to its spans, the questions of its data sets, and which trace answers which question."""


def imported(name: str, paths: Sequence[Path], options: Mapping[str, Any], reader: Reader) -> Imported:
    """Everything in some files of one tool."""
    rules = _rules(options)
    traces = Traces()
    links: dict[str, str] = {}
    tables: list[tuple[Rows, Settings]] = []
    for path in paths:
        sha256 = sha256_of(path)
        rows: dict[str, Example] = {}
        for one in reader(path):
            if isinstance(one, Span):
                traces.add(one, (str(path), sha256))
            elif isinstance(one, Link):
                links[one.trace] = one.example
            else:
                rows.setdefault(repr(one), one)  # an example is in every run of an experiment
        tables.append(_table(name, path, sha256, list(rows.values()), options))
    asked = convert(tables)
    if rules.gold is None and asked.gold:
        rules = rules._replace(gold=from_records(asked.gold), own_gold=True)
    found = _Found(name, skip_damaged=bool(options["skip_damaged"]), ruled=bool(rules.ids.rule))
    for trace, spans in traces:
        if trace in links:
            next(iter(spans.values())).attributes[EXAMPLE] = links[trace]
        for at, part in parts(trace, spans):
            found.take(at, assembled(at, part, rules), traces.files[trace])
    found.check(paths)
    found.mark()
    return _together(asked, found, [*found.notes(rules), *_repeated(traces)])


def _table(
    name: str, path: Path, sha256: str, examples: list[Example], options: Mapping[str, Any]
) -> tuple[Rows, Settings]:
    """Questions of a data set as a table."""
    listed = [Row(nth, f"example {one.row['qid'] or nth}", one.row, one.why) for nth, one in enumerate(examples, 1)]
    how = columns([one.row for one in examples])
    return Rows(path, sha256, listed, how.others), Settings.of(name, how, options)


def _together(asked: Imported, found: "_Found", notes: list[str]) -> Imported:
    """What the data sets and the traces give."""
    unit = "trace" if not asked.taken else "example" if not found.taken else "record"
    chunks = {one["chunk_id"]: one for one in (*asked.chunks, *found.chunks())}
    return Imported(
        asked.gold,
        [*asked.traces, *found.traces],
        list(chunks.values()),
        asked.taken + found.taken,
        unit,
        [*asked.skipped, *found.skipped],
        [*asked.notes, *notes],
    )


def _rules(options: Mapping[str, Any]) -> Rules:
    qid = options["qid"] or ""
    if qid and qid not in ("input", "trace") and not qid.removeprefix("metadata:") != qid:
        raise usage_error(f'--qid: expected metadata:KEY, input or trace, got "{qid}"')
    if qid == "metadata:":
        raise usage_error('--qid: expected metadata:KEY, input or trace, got "metadata:"')
    gold: Questions | None = questions(Path(options["gold"])) if options["gold"] else None
    if qid == "input" and gold is None:
        raise usage_error("--qid input: expected --gold, whose questions are compared, got none")
    known = set(gold.ids if gold else ())
    known |= set(chunk_ids(Path(options["corpus"]))) if options["corpus"] else set()
    ids = doc_ids(options["doc_id"], known)
    return Rules(ids, markers(options["marker"]), qid, gold, root_first=options["answer"] == "root")


def _repeated(traces: Traces) -> Iterator[str]:
    if traces.repeated:
        yield f"{traces.repeated} spans are in the files several times and were read once"


class _Found:
    """What is collected, trace by trace."""

    def __init__(self, name: str, *, skip_damaged: bool, ruled: bool) -> None:
        self.traces: list[Record] = []
        self.skipped: list[Skip] = []
        self.taken = 0
        self._name = name
        self._skip_damaged = skip_damaged
        self._damaged: list[Problem] = []
        self._remarks: Counter[str] = Counter()
        self._documents: dict[str, Document] = {}
        self._clashes = Clashes(ruled=ruled)
        self._nameless: list[tuple[str, Document]] = []

    def take(self, at: str, read: Read, file: tuple[str, str]) -> None:
        """Keep a trace, or why there is none."""
        self.taken += 1
        where = f"trace {at}"
        path, sha256 = file
        if read.record is None:
            cut = LENGTH_LIMIT in read.damage
            if read.damage:
                self._damaged.append(Problem("RW-A13" if cut else "RW-A10", read.damage, path, where))
            lost = "values of its spans were cut off" if cut else "its spans lost attributes"
            self.skipped.append(Skip(where, read.skip or lost))
            return
        self.traces.append(read.record | {"imported": stamp(self._name, sha256, at)})
        self._remarks.update(read.remarks)
        for one in read.documents:
            if not one.id:
                self._nameless.append((at, one))
            held = self._documents.setdefault(one.id, one)
            self._clashes.take(one.id, one.text, file_of(one.metadata))
            if one.text and not held.text:
                self._documents[one.id] = one

    def mark(self) -> None:
        """Say in the traces which of their ids name several texts."""
        for record in self.traces:
            if names := self._clashes.among(record.get("retrieved_ids") or ()):
                record[AMBIGUOUS_IDS] = names

    def check(self, paths: Sequence[Path]) -> None:
        """Raise where the evidence is not whole, or a document has no id."""
        if self._damaged and not self._skip_damaged:
            raise DataError(self._damaged[:_SHOWN], len(self._damaged))
        if self._nameless:
            at, one = self._nameless[0]
            held = ", ".join(sorted(one.metadata)[:12]) or "nothing"
            message = f"expected an id by --doc-id for every document, got {len(self._nameless)} without one"
            problem = f"{message}; the first is of trace {at} and has the metadata {held}"
            raise data_error("RW-A11", problem, where=", ".join(map(str, paths)))

    def chunks(self) -> list[Record]:
        """The retrieved texts under the ids of the traces."""
        return [chunk_of(one) for one in self._documents.values() if one.text]

    def notes(self, rules: Rules) -> Iterator[str]:
        """What deserves a word."""
        for word, template in _NOTES.items():
            if self._remarks[word] and not (word == "uuid" and rules.ids.rule):
                yield f"in {self._remarks[word]} of {len(self.traces)} traces: {template}"
        if clashing := list(self._clashes.several):
            some = f"{len(clashing)} ids name several texts ({', '.join(clashing[:3])})"
            spoiled = "; a score with these is INVALID" if self._clashes.ambiguous else ""
            yield f"{some}; the chunks have the first: --doc-id content{spoiled}"
        without = sum(not one.text for one in self._documents.values())
        if without:
            yield f"{without} of {len(self._documents)} retrieved documents have no text in the spans"
        repeated = Counter(trace["qid"] for trace in self.traces)
        if several := [qid for qid, count in repeated.items() if count > 1]:
            yield f"{len(several)} questions have several traces, for example {several[0]}"


_NOTES = {
    "made": "no qid, so the id of the trace is taken: attach a qid as metadata, or give --gold",
    "unknown": "a qid and a question that the gold set does not have",
    "bare": "no retrieval step",
    "several": "several retrievals; the documents of all are listed, those of the first one first",
    "uuid": "documents have random UUIDs, which the next build changes; ids are made of metadata or of the text instead (--doc-id id keeps them)",  # noqa: E501
    "differs": "the pipeline gave back something else than the model said; what the model said was taken (--answer root for the other)",  # noqa: E501
    "replaced": "the pipeline gave back something else than the model said; what the pipeline gave back was taken (--answer model for the other)",  # noqa: E501
    "hashed": "documents have no id, so ids are made of their texts (sha256:…) and change with them (--doc-id names metadata instead)",  # noqa: E501
    "unread": "a postprocessor changed what was retrieved and what it gave back cannot be read; the list before it was taken",  # noqa: E501
    "unseen": "the prompt does not hold all retrieved texts; those that it holds count, in its order",
    "unfound": "the prompt does not hold all retrieved texts as they are; what was retrieved counts",
    "stray": "a number is cited that is not a document, such as [7]; kept as a citation of nothing",
}  # fmt: skip
