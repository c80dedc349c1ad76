"""What is wrong or doubtful about a gold set."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ragworthy.codes import CATALOGUE
from ragworthy.errors import Problem
from ragworthy.gold.lint_pieces import BY_PIECE, doubted, unfit
from ragworthy.load.gold import wrong_id, wrong_reference
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.pieces import every_piece, has_pieces
from ragworthy.names import too_small
from ragworthy.records import Gold
from ragworthy.report.show import plural
from ragworthy.text import clip, compiled, has_cjk, words

NEAR = 0.8
"""Two questions whose word sets overlap this much (Jaccard) are near-duplicates."""
SHARED = 0.6
"""An unanswerable question that overlaps this much with an answerable one is worth a look."""
THIN = 10
SLICE_VALUES = 30
_FIXED = frozenset(Gold.__struct_fields__) | {"notes", "id"}

DOUBTS = {
    f.VACUOUS: ("RW-W08", "gold_claim_substr", "empty: any claim counts as containing it"),
    f.SHORT_ENTRY: ("RW-W09", "gold_claim_substr", "has entries under 5 characters, which never count"),
    f.NOT_NFC: ("RW-W10", "", "text that is not in Unicode form NFC"),
    f.NO_QUESTION: ("RW-W21", "question", "expected a text, got nothing"),
}


class Finding(NamedTuple):
    """One thing the lint says: an error stops scoring, a warning does not, a note is worth a look."""

    level: str
    problem: Problem
    line: int
    qid: str

    @property
    def name(self) -> str:
        """The code's name in words."""
        return CATALOGUE[self.problem.code].name


class Question(NamedTuple):
    """A gold item as the lint sees it."""

    line: int
    value: dict[str, Any]
    gold: Gold

    @property
    def qid(self) -> str:
        """The item's id."""
        return self.gold.qid or self.gold.q_id or ""


class Item(Protocol):
    """A gold item of any suite."""

    @property
    def line(self) -> int:
        """Where it stands."""

    @property
    def qid(self) -> str:
        """Its id."""


def finding(level: str, code: str, item: Item, label: str, field: str, message: str) -> Finding:
    """A finding about one item."""
    return Finding(level, Problem(code, message, f"{label}:{item.line}", field), item.line, item.qid)


def identities(items: Sequence[Item], label: str, field: str = "qid") -> list[Finding]:
    """Ids that are missing or repeated, and a set without items: what is in the way of telling items apart."""
    if not items:
        return [Finding("error", Problem("RW-G05", "expected gold items, got none", label), 1, "")]
    found: list[Finding] = []
    seen: set[str] = set()
    for item in items:
        if wrong := wrong_id(item.qid, seen, field):
            found.append(finding("error", wrong.code, item, label, wrong.field, wrong.message))
        seen.add(item.qid)
    return found


def lint(items: Sequence[Question], label: str, *, short_words: bool) -> list[Finding]:
    """Every finding, in the order of the file."""
    findings = identities(items, label)
    flags_of = f.gold_flags(f.Rules(short_words=short_words))
    for item in items:
        if wrong := wrong_reference(item.gold):
            findings.append(finding("error", wrong.code, item, label, wrong.field, wrong.message))
        flags = flags_of(item.gold)
        for bit, (code, field, message) in f.LINT.items():
            if flags & bit and bit not in BY_PIECE:
                findings.append(finding("error", code, item, label, field, message + _values(item.gold, bit)))
        for bit, (code, field, message) in DOUBTS.items():
            short = bit == f.SHORT_ENTRY and (flags & f.ONLY_SHORT or short_words)
            if flags & bit and not short and not (bit == f.VACUOUS and flags & f.NOTHING):
                findings.append(finding("warning", code, item, label, field, message))
    for earlier, item in _repeated(items):
        text = f"the same text as {earlier.qid} (line {earlier.line})"
        findings.append(finding("warning", "RW-W11", item, label, "question", text))
    findings += _alike(items, label)
    findings += _of_the_whole(items, label)
    findings += [found for item in items for found in of_pieces(item, label, short_words=short_words)]
    findings += _sentences(items, label)
    return sorted(findings, key=lambda one: (one.line, one.problem.code))


def of_pieces(item: Question, label: str, *, short_words: bool) -> Iterator[Finding]:
    """What is wrong or doubtful about single pieces of gold text, each in its place."""
    if item.gold.answerable:
        for code, field, message in unfit(item.gold, short_words=short_words):
            yield finding("error", code, item, label, field, message)
        for code, field, message in doubted(item.gold, short_words=short_words):
            yield finding("warning", code, item, label, field, message)


def _values(gold: Gold, bit: int) -> str:
    """The values that a finding is about, where they are short."""
    if bit != f.ONLY_SHORT or not gold.gold_claim_substr:
        return ""
    return ": " + ", ".join(json.dumps(piece, ensure_ascii=False) for piece in gold.gold_claim_substr[:3])


def _alike(items: Sequence[Question], label: str) -> list[Finding]:
    """Questions worded almost like another one, or like one of the other kind."""
    found: list[Finding] = []
    for one, other, overlap in near_pairs(items, SHARED):
        if overlap >= NEAR and one.gold.question != other.gold.question:
            text = f"worded like {one.qid} (line {one.line}): overlap {overlap:.2f}"
            found.append(finding("note", "RW-W18", other, label, "question", text))
        if one.gold.answerable != other.gold.answerable:
            closed, opened = (other, one) if one.gold.answerable else (one, other)
            text = f"unanswerable, but worded like the answerable {opened.qid}: overlap {overlap:.2f}"
            found.append(finding("note", "RW-W19", closed, label, "question", text))
    return found


def _repeated(items: Iterable[Question]) -> list[tuple[Question, Question]]:
    first: dict[str, Question] = {}
    return [
        (first[item.gold.question], item)
        for item in items
        if item.gold.question and first.setdefault(item.gold.question, item) is not item
    ]


def _of_the_whole(items: Sequence[Question], label: str) -> list[Finding]:
    findings = []
    if items and all(item.gold.answerable for item in items):
        problem = Problem("RW-W12", "the gold set has no unanswerable question", label)
        findings.append(Finding("warning", problem, 1, ""))
    flags = list(map(f.gold_flags(f.Rules()), (item.gold for item in items)))
    bare = sum(bool(one & f.NO_CITATIONS) and not one & f.NOTHING for one in flags)
    if bare:
        some = f"{len(items):,} items, {bare:,} of them answerable without evidence"
        pieces = any(has_pieces(item.gold) for item in items)
        there, gone = ("containment", "precision") if pieces else ("references", "precision, containment")
        mixed = any(one & (f.EVIDENCE | f.UNBOUND) for one in flags)
        rest = "are measured over the others" if mixed else "are not"
        message = f"{some}: {there} and refusals are measured; {gone}, CHR, recall and hit {rest}"
        findings.append(Finding("note", Problem("RW-W88", message, label), 1, ""))
    if items and (lacks := too_small(len(items), "answers")):
        message = f"{plural(len(items), 'question')}: {lacks.use} needs at least {lacks.least}"
        findings.append(Finding("warning", Problem("RW-W15", message, label), 1, ""))
    for name, count in thin_slices(items):
        message = f"slice {clip(name, 60)} has {count} of {len(items)} questions; fewer than {THIN} show nothing"
        findings.append(Finding("note", Problem("RW-W20", message, label), 1, ""))
    return findings


SENTENCE_WORDS = 8
SENTENCE_SIGNS = 25


def is_sentence(piece: str) -> bool:
    """Whether a piece of gold text is a whole sentence, which no model repeats word for word.

    >>> is_sentence("Backups are kept for 30 days in two regions."), is_sentence("30 days")
    (True, False)
    """
    text = piece.strip().rstrip("\"'”’」』)")
    if not text.endswith((".", "!", "?", "。", "！", "？", "…", "؟", "۔", "।")):
        return False
    long = SENTENCE_SIGNS if has_cjk(text) else SENTENCE_WORDS
    return len(compiled(r"\w").findall(text) if has_cjk(text) else text.split()) >= long


def _sentences(items: Sequence[Question], label: str) -> list[Finding]:
    """Whole sentences among the pieces, one line for the set."""
    found = [item for item in items for piece in every_piece(item.gold) if is_sentence(piece)]
    if not found:
        return []
    one = len(found) == 1
    said = "is a sentence" if one else "are sentences"
    them = "no model repeats it word for word; put it" if one else "no model repeats them word for word; put them"
    message = f"{plural(len(found), 'piece')} {said}: {them} into gold_reference"
    first = found[0]
    return [Finding("note", Problem("RW-W95", message, f"{label}:{first.line}", "gold_claim_substr"), first.line, "")]


def thin_slices(items: Sequence[Question]) -> list[tuple[str, int]]:
    """Values of the extra fields (those with few different values) that fewer than ten questions have."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        for field, value in item.value.items():
            if field not in _FIXED and isinstance(value, (str, bool)):
                counts[field][str(value).lower() if isinstance(value, bool) else value] += 1
    return [
        (f"{field}={value}", count)
        for field, values in sorted(counts.items())
        if 1 < len(values) <= SLICE_VALUES and sum(values.values()) > 2 * len(values)
        for value, count in sorted(values.items())
        if count < THIN
    ]


def near_pairs(items: Sequence[Question], least: float) -> list[tuple[Question, Question, float]]:
    """Pairs of questions whose word sets overlap by at least `least` (Jaccard), found without comparing all pairs.

    Words are ordered from rare to common; two sets that overlap enough must share one of their first few words.
    """
    sets = [words(item.gold.question or "") for item in items]
    frequency = Counter(word for one in sets for word in one)
    index: dict[str, list[int]] = defaultdict(list)
    pairs = []
    for here in sorted(range(len(items)), key=lambda i: (len(sets[i]), i)):
        mine = sets[here]
        if len(mine) < 3:
            continue
        prefix = sorted(mine, key=lambda word: (frequency[word], word))[: len(mine) - _ceil(least * len(mine)) + 1]
        candidates = {there for word in prefix for there in index[word] if len(sets[there]) >= least * len(mine)}
        for there in sorted(candidates):
            shared = len(mine & sets[there])
            overlap = shared / (len(mine) + len(sets[there]) - shared)
            if overlap >= least:
                first, second = sorted((here, there))
                pairs.append((items[first], items[second], overlap))
        for word in prefix:
            index[word].append(here)
    return sorted(pairs, key=lambda pair: (pair[1].line, pair[0].line))


def _ceil(value: float) -> int:
    whole = int(value)
    return whole if whole == value else whole + 1
