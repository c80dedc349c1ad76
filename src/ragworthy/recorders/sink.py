"""Where recorders put what they collected: finished spans become a trace by the rules of the imports, and a line.

Whatever happens here, the pipeline goes on. What gives no trace is counted, and a warning says so once.
"""

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from ragworthy.adapters.assembly import Read, Rules, assembled, known_qid, parts
from ragworthy.adapters.clashes import Clashes
from ragworthy.adapters.cut import LENGTH_LIMIT
from ragworthy.adapters.documents import DocIds, Document, file_of
from ragworthy.adapters.model import Record
from ragworthy.adapters.questions import Questions, from_records, questions
from ragworthy.adapters.replies import DocId, chunk
from ragworthy.adapters.replies import rules as named_rules
from ragworthy.adapters.spans import Span, Traces
from ragworthy.errors import data_error, usage_error
from ragworthy.names import AMBIGUOUS_IDS
from ragworthy.runner.trace_writer import TraceWriter
from ragworthy.text import clip
from ragworthy.wire.secret import in_environment

Marker = str | re.Pattern[str] | None
Gold = str | Path | Iterable[Mapping[str, Any]] | None
_LONGEST = 400
_T = TypeVar("_T")
_Event = TypeVar("_Event", bound=Callable[..., None])


def observing(method: _Event) -> _Event:
    """A method that is called from inside somebody's pipeline: what goes wrong in it stays here, counted and said."""

    @wraps(method)
    def observed(recorder: Any, *args: Any, **more: Any) -> None:
        _, wrong = attempted(lambda: method(recorder, *args, **more))
        if wrong:
            recorder._sink.fail(wrong)

    return cast(_Event, observed)


def attempted(call: Callable[[], _T]) -> tuple[_T | None, str]:
    """What a call gives back, or what it raised: observing a pipeline must never break it."""
    try:
        return call(), ""
    except Exception as error:  # noqa: BLE001 - anything can come out of somebody's objects
        return None, f"{type(error).__name__}: {error}"


_ADOPTED: dict[type, type] = {}


def adopted(mine: type, module: str, name: str) -> type:
    """A class of ours as a subclass of a framework's, where that is installed: some check for it."""
    if mine not in _ADOPTED:
        try:
            theirs = getattr(import_module(module), name)
        except (ImportError, AttributeError):
            return mine
        named = {"__doc__": mine.__doc__, "__module__": mine.__module__}
        _ADOPTED[mine] = mine if issubclass(mine, theirs) else type(mine.__name__, (mine, theirs), named)
    return _ADOPTED[mine]


@dataclass(frozen=True)
class _CalledIds(DocIds):
    """Ids that a function of the user gives."""

    call: Callable[[Any], Any] = str

    def named(self, found: Document) -> Document:
        name = self.call(found)
        return found._replace(id=str(name) if isinstance(name, str | int) and not isinstance(name, bool) else "")


def _asked(gold: Gold) -> Questions | None:
    if gold is None:
        return None
    return questions(Path(gold)) if isinstance(gold, str | Path) else from_records(dict(one) for one in gold)


def _removed(path: str | Path | None) -> None:
    """Take an earlier file away: its traces are not to be taken for those that come."""
    try:
        if path is not None:
            Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise data_error("RW-F14", f"cannot be removed: {error.strerror}", where=str(path)) from None


class Recorder:
    """What every recorder tells of itself."""

    _sink: "Sink"

    @property
    def written(self) -> int:
        """How many traces are in the file, errors included."""
        return self._sink.counts["written"]

    @property
    def lost(self) -> int:
        """How many traces could not be written."""
        return self._sink.counts["lost"]

    @property
    def last_error(self) -> str | None:
        """What last went wrong in the recorder."""
        return self._sink.last_error

    def summary(self) -> str:
        """What came and what became of it, in one line."""
        return self._sink.summary()


class Sink:
    """The file of traces, and the count of everything that came: finished = written + skipped + lost."""

    def __init__(
        self, by: str, path: str | Path, *, doc_id: DocId, marker: Marker, gold: Gold, chunks: str | Path | None,
        answer: str, append: bool,
    ) -> None:  # fmt: skip
        if answer not in ("model", "root"):
            raise usage_error(f'answer: expected "model" or "root", got "{answer}"')
        asked = _asked(gold)
        how = named_rules(doc_id, marker, asked.ids if asked else ())
        ids = _CalledIds("callable", call=how.own) if how.own is not None else how.ids
        self.rules = Rules(ids, how.marks, "", asked, root_first=answer == "root")
        self.by = by
        self.counts: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.last_error: str | None = None
        for one in (path, chunks) if not append else ():
            _removed(one)
        self._traces = TraceWriter(path)
        self._chunks = TraceWriter(chunks) if chunks is not None else None
        self._texts: set[str] = set()
        self._clashes = Clashes(ruled=bool(ids.rule))
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def finish(self, spans: Iterable[Span], broken: str = "") -> None:
        """Write the trace of some spans, or one for each question where they name several."""
        traces = Traces()
        for span in spans:
            traces.add(span, ("", ""))
        self.finish_all(traces, broken)

    def finish_all(self, traces: Traces, broken: str = "") -> None:
        """Write what was collected; `broken` says why it is not whole."""
        for trace, spans in traces:
            for at, part in parts(trace, spans):
                self._count("finished")
                _, wrong = attempted(partial(self._take, at, part, broken))
                if wrong:
                    self._fault(at, part, f"recorder: {wrong} [RW-J21]")

    def give_up(self, trace: str, spans: Iterable[Span], why: str, qid: str = "") -> None:
        """Give up a trace that did not end: an error where its question is known, and lost where it is not."""
        held = {span.id: span for span in spans}
        for at, part in parts(trace, held):
            self._count("finished")
            self._count("unfinished")
            name = known_qid(qid, part, self.rules)
            self._warn("unfinished", f"a trace did not end ({why}): {name or at} [RW-J22]")
            if name:
                self._write({"qid": name, "retrieved_ids": [], "error": f"unfinished: {why} [RW-J22]"}, at)
            else:
                self.lose(f"unfinished: {why}")

    def late(self, name: str) -> None:
        """Count a step that came after its trace was written."""
        self._count("late")
        self._warn("late", f'a step began or ended after its trace was written and is not in it: "{name}" [RW-J22]')

    def lose(self, reason: str) -> None:
        """Count a trace that could not be written."""
        self._count("lost")
        self._said("lost", f"a trace was not recorded ({clip(reason, _LONGEST)}) [RW-J21]", reason)

    def fail(self, reason: str) -> None:
        """Count a step that could not be taken in."""
        self._count("failures")
        self._said("failures", f"a step was not recorded ({clip(reason, _LONGEST)}) [RW-J21]", reason)

    def close(self) -> None:
        """Close the files; a later trace opens them again."""
        self._traces.close()
        if self._chunks is not None:
            self._chunks.close()

    def summary(self) -> str:
        """What came and what became of it, in one line."""
        count = self.counts
        total = f"finished {count['finished']} = written {count['written']}"
        total += f" ({count['errors']} errors) + skipped {self.skipped.total()} + lost {count['lost']}"
        rest = [f"{count['made']} without a qid"] if count["made"] else []
        rest += [f"{count[one]} {one}" for one in ("unfinished", "late", "failures") if count[one]]
        if clashing := list(self._clashes.ambiguous):
            rest.append(f'{len(clashing)} ids name several texts ({clashing[0]}): doc_id="content"')
        rest += [f"skipped {many}: {why}" for why, many in self.skipped.most_common()]
        return "; ".join([total, *rest])

    def _take(self, at: str, spans: Mapping[str, Span], broken: str) -> None:
        if broken:
            self._fault(at, spans, f"recorder: {broken} [RW-J21]")
            return
        read = assembled(at, spans, self.rules)
        if read.damage:
            code = "RW-A13" if LENGTH_LIMIT in read.damage else "RW-A10"
            self._fault(at, spans, f"damaged: {read.damage} [{code}]")
        elif read.record is None:
            self._skip(at, spans, read.skip)
        elif any(not one.id for one in read.documents):
            self._fault(at, spans, "a retrieved document has no id by doc_id [RW-A11]")
        else:
            self._keep(at, read.record, read)

    def _keep(self, at: str, record: Record, read: Read) -> None:
        if "made" in read.remarks:
            self._count("made")
            self._warn("made", f"no qid: the id of the run is taken ({at}); attach one, or give gold= [RW-J20]")
        self._mark(record, read)
        self._write(record, at)
        for one in read.documents if self._chunks is not None else ():
            if one.text and one.id not in self._texts and self._chunks is not None:
                self._texts.add(one.id)
                self._chunks.append(chunk(one))

    def _mark(self, record: Record, read: Read) -> None:
        """Say in a trace which of its ids named another text before."""
        with self._lock:
            for one in read.documents:
                self._clashes.take(one.id, one.text, file_of(one.metadata))
            names = self._clashes.among(one.id for one in read.documents)
        if names:
            record[AMBIGUOUS_IDS] = names
            self._warn("clash", f'an id names several texts ({names[0]}), and a score is INVALID: doc_id="content"')

    def _skip(self, at: str, spans: Mapping[str, Span], why: str) -> None:
        """Count what is not a trace; a question that failed before it was read is one with an error."""
        qid = known_qid("", spans, self.rules)
        failed = next((span.status for span in spans.values() if span.status), "")
        if qid and failed:
            self._write({"qid": qid, "retrieved_ids": [], "error": failed}, at)
            return
        with self._lock:
            self.skipped[why] += 1
        if qid or "gold set" in why:
            self._warn(why, f"{qid or at} gave no trace: {why} [RW-J21]")

    def _fault(self, at: str, spans: Mapping[str, Span], why: str) -> None:
        """An error instead of an answer that cannot be known; lost where nobody knows the question."""
        qid = known_qid(at if self.rules.gold is None else "", spans, self.rules)
        self._said("fault", f"{qid or at} is an error in the traces: {clip(why, _LONGEST)}", why)
        if qid:
            self._write({"qid": qid, "retrieved_ids": [], "error": why}, at)
        else:
            self.lose(why)

    def _write(self, record: Record, at: str) -> None:
        if "error" in record:
            record["error"] = clip(in_environment().masked(str(record["error"])), _LONGEST)
        written = self._traces.append(record | {"recorded": {"by": self.by, "at": at}})
        self._count("written" if written else "lost")
        self._count("errors" if written and "error" in record else "answered")

    def _count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def _said(self, what: str, message: str, reason: str) -> None:
        self.last_error = reason
        self._warn(what, message)

    def _warn(self, what: str, message: str) -> None:
        with self._lock:
            if what in self._warned:
                return
            self._warned.add(what)
        try:
            warnings.warn(f"ragworthy: {message}", RuntimeWarning, stacklevel=2)
        except RuntimeWarning:
            return  # warnings are errors in this process; the file and the counters still tell
