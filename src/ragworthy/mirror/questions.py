"""The questions that are mirrored: which ones a log, a gold set or a list of texts has, and which share of them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.monitor.logs import Log, found

_WHOLE = 1 << 64


class Question(NamedTuple):
    """One wording of a question, with what was logged of it."""

    qid: str
    text: str
    paraphrase: int
    seed: int
    record: Mapping[str, Any] | None
    """The live record or trace that it is in; None where it is only a question."""
    grouped: bool = False
    """Whether it is one of several wordings."""


class Sample(NamedTuple):
    """What was chosen, and what became of every line."""

    questions: tuple[Question, ...]
    records: int
    repeated: int
    """Lines that ask what was asked before; they are mirrored once."""
    left_out: int
    """Questions that the share leaves out."""
    unreadable: int
    without_question: int


class _Line(msgspec.Struct, frozen=True):
    """As much of a line as is needed to choose it."""

    qid: str | int | None = None
    q_id: str | int | None = None
    question: Any = None
    query: Any = None
    q: Any = None
    paraphrase: int | None = None
    paraphrases: list[Any] | None = None
    seed: int | None = None


def chosen(key: str, share: Fraction) -> bool:
    """Whether a question is among a share of all: by its key alone, so that the same log gives the same sample.

    >>> sum(chosen(f"q{n}", Fraction(1, 100)) for n in range(10_000)), chosen("q", Fraction(1))
    (118, True)
    """
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8], "big") < share * _WHOLE


def sample(paths: Sequence[str], share: Fraction, limit: int | None = None) -> Sample:
    """The questions of logs, gold sets or lists of texts. All wordings of a question are chosen, or none."""
    made: dict[tuple[str, int, int, str], Question] = {}
    counts = {"records": 0, "repeated": 0, "left_out": 0, "unreadable": 0, "without_question": 0}
    decode = msgspec.json.Decoder(_Line).decode
    for line in _lines(found(paths)):
        counts["records"] += 1
        if not line.lstrip().startswith(b"{"):
            _add(made, counts, _Line(question=line.decode("utf-8", "replace").strip()), b"", share)
            continue
        try:
            _add(made, counts, decode(line), line, share)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            counts["unreadable"] += 1
    questions = tuple(made.values())
    return Sample(questions if limit is None else questions[:limit], **counts)


def _lines(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        log = Log(path, whole=True)
        while (block := log.read()) is not None:
            yield from (line for line in block.data.split(b"\n") if line.strip())
        log.close()


def _add(
    made: dict[tuple[str, int, int, str], Question],
    counts: dict[str, int],
    read: _Line,
    line: bytes,
    share: Fraction,
) -> None:
    """The wordings of one line, where it is chosen; only then is it read as a whole."""
    told = [one for one in (read.question, read.query, read.q) if isinstance(one, str) and one.strip()]
    more = [one for one in read.paraphrases or () if isinstance(one, str) and one.strip()]
    texts = list(dict.fromkeys([*told[:1], *more]))
    if not texts:
        counts["without_question"] += 1
        return
    name = read.qid if read.qid is not None else read.q_id
    qid = str(name) if name is not None and str(name) else f"q-{hashlib.sha256(texts[0].encode()).hexdigest()[:12]}"
    if not chosen(qid, share):
        counts["left_out"] += 1
        return
    grouped = len(texts) > 1 or read.paraphrase is not None
    answered = msgspec.json.decode(line) if line and not more else None
    for nth, text in enumerate(texts):
        one = Question(qid, text, read.paraphrase or 0 if len(texts) == 1 else nth, read.seed or 0, answered, grouped)
        key = (one.qid, one.paraphrase, one.seed, one.text)
        if key in made:
            counts["repeated"] += 1
        else:
            made[key] = one
