"""The gold commands: read, then lint, freeze, verify or compare, then write; and what a seal holds."""

import json
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, Problem
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.gold import lint as rules
from ragworthy.gold import lint_retrieval as retrieval_rules
from ragworthy.gold import lint_structured as structured_rules
from ragworthy.ids import stable
from ragworthy.load.decode import lines_of, read_items
from ragworthy.load.gold import names_evidence, resolved
from ragworthy.load.lock import (
    BOUND,
    Lock,
    carries_evidence,
    evidence_hash,
    frozen_hash,
    is_frozen,
    item_hash,
    load_lock,
    lock_path,
)
from ragworthy.load.questions import open_questions, read_questions
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.pieces import every_piece
from ragworthy.names import LOCK_SCHEMA
from ragworthy.records import Gold, RetrievalGold
from ragworthy.text import clip

Question = rules.Question | retrieval_rules.Question | structured_rules.Question
_TELLING = {
    "relevant": "retrieval",
    "gold_citations": "answers",
    "gold_claim_substr": "answers",
    "gold_claim_all": "answers",
    "expected": "structured",
    "anchor_section": "retrieval",
    "paraphrases": "retrieval",
    "answerable": "answers",
    "gold_evidence": "retrieval",
    "gold_source": "retrieval",
}
"""Which suite a field shows an item to be of, surest first."""

_NAMED = ("gold_evidence", "gold_source")


def suite_of(source: Source) -> str:
    """Which suite a gold set is for, by the fields of the first item that tells."""
    for block in source.blocks():
        for line in lines_of(block.data):
            suite = _suite(line)
            if suite is not None:
                return suite
    return "answers"


def _suite(line: bytes) -> str | None:
    fields: Container[str]
    try:
        item = msgspec.json.decode(line)
        fields = item if isinstance(item, dict) else ()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # damaged: what can be seen of it must do
        fields = tuple(field for field in (*_TELLING, "question") if f'"{field}"'.encode() in line)
    telling = next((field for field in _TELLING if field in fields), None)
    if telling == "paraphrases" and "question" in fields and not any(field in fields for field in _NAMED):
        return "answers"  # an unanswerable question in several wordings
    return _TELLING[telling] if telling is not None else None


def open_gold(path: Path) -> Source:
    """A gold file of any suite; only questions with structured answers may be an array."""
    source = open_questions("gold", path)
    return source if suite_of(source) == "structured" else open_source("gold", path)


def _questions(source: Source) -> tuple[list[rules.Question], list[Problem]]:
    items, problems = read_items(source, Gold)
    return [rules.Question(*item) for item in items], problems


def retrieval_questions(source: Source) -> tuple[list[retrieval_rules.Question], list[Problem]]:
    """The items of a retrieval gold set that can be read, and what is wrong with the others."""
    items, problems = read_items(source, RetrievalGold)
    return [retrieval_rules.Question(*item) for item in items], problems


def structured_questions(source: Source) -> tuple[list[structured_rules.Question], list[Problem]]:
    """The questions of a structured set that can be read, and what is wrong with the others."""
    items, problems = read_questions(source)
    return [structured_rules.Question(*item) for item in items], problems


def sound(source: Source) -> Sequence[Question]:
    """The items of a file, which must all be readable and have unique ids."""
    suite = suite_of(source)
    if suite == "structured":
        return sound_questions(source)
    questions: Sequence[Question]
    questions, problems = (retrieval_questions if suite == "retrieval" else _questions)(source)
    problems += [finding.problem for finding in rules.identities(questions, source.given)]
    if problems:
        raise DataError(problems[:20], len(problems))
    return questions


def sound_questions(source: Source) -> list[structured_rules.Question]:
    """The questions of a structured set, which must all be readable and have unique ids."""
    questions, problems = structured_questions(source)
    problems += [finding.problem for finding in structured_rules.identities(questions, source.given)]
    if problems:
        raise DataError(problems[:20], len(problems))
    return questions


class Linted(NamedTuple):
    """What the lint found, and in what."""

    findings: list[rules.Finding]
    items: int
    label: str
    rescued: int = 0
    distinct: structured_rules.Distinct | None = None
    """How many different questions a structured set has."""

    @property
    def errors(self) -> int:
        """How many findings stop scoring."""
        return sum(finding.level == "error" for finding in self.findings)


def lint(path: Path, *, short_words: bool, corpus: Path | None = None) -> Linted:
    """Every finding about a gold file, unreadable lines included; with a corpus, what is not in it."""
    source = open_source("gold", path)
    questions, problems = _questions(source)
    findings = unreadable(problems) + rules.lint(questions, source.given, short_words=short_words)
    if corpus is not None:
        findings += _not_in(corpus, questions, source.given)
    findings.sort(key=lambda finding: (finding.line, finding.problem.code))
    flags = [f.gold_flags(f.Rules(short_words=short_words))(question.gold) for question in questions]
    rescued = sum(bool(one & f.ONLY_SHORT and one & f.RESCUABLE) for one in flags)
    return Linted(findings, len(questions) + len({problem.where for problem in problems}), source.given, rescued)


def _not_in(corpus: Path, questions: Sequence[rules.Question], label: str) -> list[rules.Finding]:
    """Evidence that no chunk of a corpus holds, and ids of other items that it does not have."""
    from ragworthy.corpus.binding import Binder
    from ragworthy.index.blocks import chunk_source
    from ragworthy.load.chunks import read_chunks

    chunks = read_chunks(chunk_source(corpus))
    binder, known = Binder(chunks), {name for chunk in chunks for name in (chunk.name, stable(chunk.name))}
    found: list[rules.Finding] = []
    for item in questions:
        gold = item.gold
        if names_evidence(gold):
            keys = every_piece(gold)
            for one in binder.bind(gold.gold_evidence or (), gold.gold_source or (), keys).unbound:
                field = "gold_evidence" if gold.gold_evidence else "gold_source"
                message = f'expected a text of the corpus, got "{clip(one.text, 60)}": {one.why}'
                found.append(rules.finding("error", "RW-G17", item, label, field, message))
        elif gold.answerable:
            for name in resolved(gold).gold_citations or ():
                if name not in known and stable(name) not in known:
                    message = f'expected an id of the corpus, got "{name}"'
                    found.append(rules.finding("error", "RW-G13", item, label, "gold_citations", message))
    return found


def unreadable(problems: Sequence[Problem]) -> list[rules.Finding]:
    """Lines that hold no item, as findings."""
    return [rules.Finding("error", problem, int(problem.where.rpartition(":")[2]), "") for problem in problems]


# sealing a gold set, and what has changed since


class Change(NamedTuple):
    """What happened to one qid, and what it means for comparing runs."""

    qid: str
    kind: str
    fields: tuple[str, ...]
    meaning: str


_MEANINGS = (
    ("answerable", "the question changed sides: its earlier results cannot be compared"),
    ("question", "another question under the same qid: give it a new qid instead"),
    ("expected", "another answer is right now: scores of the question are not comparable"),
    ("gold_claim_substr", "other claims are right now: precision and containment are not comparable"),
    ("gold_claim_all", "other claims are right now: precision and containment are not comparable"),
    ("gold_reference", "another reference counts now: reference_f1 and reference_details are not comparable"),
    ("gold_citations", "other evidence counts now: precision, CHR and recall are not comparable"),
    ("gold_evidence", "other evidence counts now: precision, CHR and recall are not comparable"),
    ("gold_source", "other evidence counts now: precision, CHR and recall are not comparable"),
    ("gold_groups", "other evidence counts now: precision, CHR and recall are not comparable"),
    ("paraphrases", "other wordings are asked now: results of the question are not comparable"),
    ("relevant", "other blocks are relevant now: rank metrics and coverage are not comparable"),
    ("anchor_section", "another section should answer now: coverage and anchor metrics are not comparable"),
    ("grades", "other grades count now: nDCG is not comparable"),
    ("negatives", "other hard negatives: only the numbers about them move"),
    ("relevant_offsets", "other bytes count now: citation accuracy is not comparable"),
    ("constraints", "other constraints are locked now: SCU is not comparable"),
)


def changes(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Added, removed and changed items between two gold sets, by qid."""
    found = []
    for qid in sorted(old.keys() | new.keys()):
        if qid not in old:
            found.append(Change(qid, "added", (), "a new question: totals are over another set"))
        elif qid not in new:
            found.append(Change(qid, "removed", (), "a question less: totals are over another set"))
        elif old[qid] != new[qid]:
            fields = tuple(
                sorted(key for key in old[qid].keys() | new[qid].keys() if old[qid].get(key) != new[qid].get(key))
            )
            found.append(Change(qid, "changed", fields, _meaning(fields, old[qid])))
    return found


def _meaning(fields: Sequence[str], before: Mapping[str, Any]) -> str:
    """What a change of these fields means for comparing runs."""
    if BOUND.issuperset(fields) and carries_evidence(before):
        return "not scored: the same evidence, bound to other chunks"
    return next((text for field, text in _MEANINGS if field in fields), "not scored: nothing moves")


def lock_changes(locked: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """Which qids were added, removed or changed since the lock was made."""
    return {
        "added": sorted(now.keys() - locked.keys()),
        "removed": sorted(locked.keys() - now.keys()),
        "changed": sorted(qid for qid in now.keys() & locked.keys() if now[qid] != locked[qid]),
    }


def seal(
    *,
    gold: str,
    sha256: str,
    items: Mapping[str, str],
    signers: list[str],
    reason: str,
    frozen_at: str,
    previous: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The lock of a gold set; an earlier lock goes into its history with what changed."""
    history: list[dict[str, Any]] = list(previous["history"]) if previous else []
    entry: dict[str, Any] = {"when": frozen_at, "signers": signers, "reason": reason, "new_sha256": sha256}
    if previous:
        entry["old_sha256"] = previous["sha256"]
        entry |= lock_changes(previous["item_sha256"], items)
    history.append(entry)
    return {
        "schema": LOCK_SCHEMA,
        "gold": gold,
        "sha256": sha256,
        "items": len(items),
        "frozen_at": frozen_at,
        "signers": signers,
        "reason": reason,
        "item_sha256": dict(items),
        "history": history,
    }


def freeze(
    path: Path,
    *,
    signers: list[str],
    reason: str,
    now: str,
    lock: Path | None = None,
    extra: dict[str, Any] | None = None,
    first: Callable[[Path], object] = lambda _: None,
) -> dict[str, Any]:
    """Seal a gold file; the lock is written beside it, with the calibration and the corpus where there are some.

    `first` writes what the lock speaks of, when nothing can be wrong any more.
    """
    source = open_gold(path)
    items = sound(source)
    hashes = {item.qid: frozen_hash(item.value) for item in items}
    target = lock or lock_path(path)
    if lock is None:  # nobody named it: it stays beside the gold set, and replaces nothing but a lock
        check_inside(target, path.parent, "the lock")
        check_ours(target, lambda data: b"ragworthy.lock/" in data)
    previous = msgspec.to_builtins(load_lock(target)) if target.exists() else None
    sealed = seal(
        gold=path.name,
        sha256=source.sha256(),
        items=hashes,
        signers=signers,
        reason=reason,
        frozen_at=now,
        previous=previous,
    ) | (extra or {})
    if evidence := evidence_hash(item.value for item in items):
        sealed["evidence_sha256"] = evidence
    first(target)
    write_lock(target, sealed)
    return sealed | {"path": target}


def write_lock(target: Path, sealed: dict[str, Any]) -> None:
    """Write a lock file, whole or not at all."""
    write_whole(target, (json.dumps(sealed, indent=1, ensure_ascii=False) + "\n").encode(), renews=True)


class Verified(NamedTuple):
    """Whether a gold file is the frozen one."""

    same: bool
    same_items: bool
    moved: dict[str, list[str]]
    signers: list[str]
    unsigned: list[str]


def verify(path: Path, *, required: Sequence[str] = (), lock: Path | None = None) -> Verified:
    """Compare a gold file with its lock."""
    source = open_gold(path)
    sealed = load_lock(lock or lock_path(path))
    moved = lock_changes(sealed.item_sha256, _hashes(sound(source), sealed))
    unsigned = [name for name in required if name not in sealed.signers]
    same = is_frozen(sealed, source)
    return Verified(same, not any(moved.values()), moved, sealed.signers, unsigned)


def _hashes(items: Sequence[Question], sealed: Lock) -> dict[str, str]:
    """The hash of each item, made as its lock made it: earlier ones sealed the chunks of evidence too."""
    if sealed.evidence_sha256 is not None:
        return {item.qid: frozen_hash(item.value) for item in items}
    return {item.qid: item_hash(item.value) for item in items}


def diff(old: Path, new: Path) -> list[Change]:
    """What changed between two gold files."""
    sides = [{item.qid: item.value for item in sound(open_gold(path))} for path in (old, new)]
    return changes(*sides)
