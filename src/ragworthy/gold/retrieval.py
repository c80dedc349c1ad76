"""The retrieval gold set beside its corpus: lint, calibration, fit, and rewriting it for a new index."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.corpus.groups import Groups
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.gold import lint_retrieval as rules
from ragworthy.gold.commands import Linted, retrieval_questions, unreadable, write_lock
from ragworthy.gold.lint import identities
from ragworthy.gold.rebind import Rebound, rebind_gold, rebind_traces
from ragworthy.gold.review import Shown
from ragworthy.ids import stable
from ragworthy.index.blocks import Corpus, load_corpus, text_hash
from ragworthy.index.calibrate import Asked, Chosen, Pairs, choose, pairs_of
from ragworthy.index.ngrams import Ngram
from ragworthy.load.chunks import read_lines
from ragworthy.load.lock import load_lock, lock_path, weights_path
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.distance import Calibration
from ragworthy.metrics.facts.judgements import ids_of, is_named, wordings_of
from ragworthy.metrics.facts.redirects import Redirects, Table
from ragworthy.metrics.facts.wanted import Group
from ragworthy.report.show import lost_ids, plural

_SHOWN = 10


def lint(path: Path, corpus: Path | None, model: str | None = None) -> Linted:
    """Every finding about a retrieval gold file, against the corpus where one is given."""
    source = open_source("gold", path)
    questions, problems = retrieval_questions(source)
    known = None
    if corpus is not None:
        there = load_corpus(corpus)
        known = _known(there, _distances(questions, there, model))
    findings = unreadable(problems) + rules.lint(questions, source.given, known)
    findings.sort(key=lambda one: (one.line, one.problem.code))
    return Linted(findings, len(questions) + len({problem.where for problem in problems}), source.given, 0)


def _known(corpus: Corpus, distances: dict[str, Fraction]) -> rules.Known:
    sections = frozenset((place.doc, place.section) for place in corpus.places.values())
    return rules.Known(corpus.places, distances, corpus.lengths, sections, Groups(corpus.chunks))


def _distances(questions: Sequence[rules.Question], corpus: Corpus, model: str | None) -> dict[str, Fraction]:
    """How far each question is from its first relevant block, on the calibrated scale where there is one."""
    pairs = _pairs(questions, corpus)
    if not pairs.enough:
        return {}
    chosen = choose(pairs, corpus, model)
    scale = chosen.calibration
    if not scale.separates:
        return {}
    return {qid: sum(map(scale.of, some), Fraction(0)) / len(some) for qid, some in chosen.first.items()}


def _pairs(questions: Sequence[rules.Question], corpus: Corpus) -> Pairs:
    """Question and text, for relevant blocks, blocks of other documents and hard negatives."""
    known = _known(corpus, {})
    return pairs_of(
        (
            Asked(
                qid=one.qid,
                wordings=[text for text in wordings_of(one.gold) if text.strip()],
                relevant=known.relevant(one.gold),
                negatives=list(map(stable, one.gold.negatives or [])),
            )
            for one in questions
        ),
        corpus,
    )


def calibrate(gold: Path, corpus: Path, model: str | None = None) -> Chosen:
    """What distances mean on this gold set and corpus: of this model, or of the one that separates best."""
    source = open_source("gold", gold)
    questions, problems = retrieval_questions(source)
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    there = load_corpus(corpus)
    pairs = _pairs(questions, there)
    if not pairs.first:
        message = "expected questions with relevant blocks of this corpus, got none"
        raise data_error("RW-G13", message, where=source.given)
    if not pairs.unrelated:
        message = "expected a corpus of at least two documents: unrelated text comes from another one"
        raise data_error("RW-D03", message, where=str(corpus))
    return choose(pairs, there, model)


def calibration_lines(chosen: Chosen) -> list[str]:
    """The calibration in words: every model that was tried, and the one that was taken."""
    lines = [_of_model(one) for one in chosen.tried]
    found = chosen.calibration
    if chosen.chosen and found.separates:
        lines.append(f"{found.model} separates best here: the lock keeps it")
    plain = found.perfect_raw
    lines.append(f"perfect retrieval: raw median {float(plain.median):.4f}, p90 {float(plain.p90):.4f}")
    if found.auc is not None:
        lines.append(f"AUC of relevant blocks against hard negatives: {found.auc:.4f}")
    if found.separates:
        median, p90 = float(found.perfect.median), float(found.perfect.p90)
        lines.append(f"calibrated: perfect retrieval has median {median:.4f}, p90 {p90:.4f}")
    else:
        which = "no model tells" if chosen.chosen else "this model does not tell"
        lines.append(f"{which} relevant from unrelated text here: ΔS gates will not be measured")
    return lines


def _of_model(found: Calibration) -> str:
    return (
        f"ΔS of {found.model}: relevant text r90 = {float(found.r90):.4f} ({found.relevant_pairs:,} pairs), "
        f"unrelated text n10 = {float(found.n10):.4f} ({found.unrelated_pairs:,} pairs), AUC {found.separation:.4f}"
        f"{'' if found.separates else ': does not separate'}"
    )


def lock_extra(gold: Path, corpus: Path, chosen: Chosen) -> dict[str, Any]:
    """What a lock keeps of the corpus: which one it was, and the calibration with all models that were tried."""
    kept = chosen.calibration.as_json()
    if chosen.chosen:
        kept["tried"] = [
            {key: one[key] for key in ("model", "weights", "r90", "n10", "separation", "auc")}
            for one in (each.as_json() for each in chosen.tried)
        ]
    return {"calibration": kept, "corpus": _remembered(gold, load_corpus(corpus))}


def check_weights(lock: Path, chosen: Chosen) -> None:
    """Refuse to put weights instead of something else, before anything is written."""
    if isinstance(chosen.model, Ngram):
        target = weights_path(lock)
        check_inside(target, lock.parent, "the weights")
        check_ours(target, lambda data: data.startswith(b'{"schema":"ragworthy.ngrams/'))


def write_weights(chosen: Chosen, lock: Path) -> Path | None:
    """Keep the weights of `ngram` beside a lock, for an index with other chunks; None where another model was taken."""
    if not isinstance(chosen.model, Ngram):
        return None
    target = weights_path(lock)
    write_whole(target, chosen.model.table.as_bytes(), renews=True)
    return target


def _remembered(gold: Path, corpus: Corpus) -> dict[str, Any]:
    """Which corpus a gold set was frozen on, and the text of every relevant block as a hash."""
    questions, _ = retrieval_questions(open_source("gold", gold))
    names = dict.fromkeys(stable(name) for one in questions for name in ids_of(one.gold))
    return {
        "index_hash": corpus.index_hash,
        "normaliser": corpus.normaliser,
        "sha256": corpus.sha256,
        "blocks": {name: text_hash(corpus.texts[name]) for name in names if name in corpus.texts},
    }


def store_calibration(gold: Path, chosen: Chosen, corpus: Path) -> list[Path]:
    """Put a calibration into the lock beside a gold set; gives what was written, nothing where there is no lock."""
    target = lock_path(gold)
    if not target.exists():
        return []
    sealed: dict[str, Any] = msgspec.to_builtins(load_lock(target))
    for key in ("evidence_sha256", "label"):  # a lock of a set without evidence, or without a label, does not have it
        if sealed[key] is None:
            del sealed[key]
    check_weights(target, chosen)
    weights = write_weights(chosen, target)  # first: a lock without its weights measures nothing
    write_lock(target, sealed | lock_extra(gold, corpus, chosen))
    return [target, *([weights] if weights is not None else [])]


class Fit(NamedTuple):
    """Whether an index has what a gold set asks for."""

    total: int
    unknown: list[str]
    covered: int
    sections: int
    documents: int = 0
    """Questions whose ids are names of documents."""
    bound: int = 0
    """Evidence texts and sources that are in chunks of the index."""
    unbound: Sequence[tuple[str, Group]] = ()
    """Those that are in none, by question."""
    empty: Sequence[str] = ()
    """Questions of whose evidence nothing is in the index."""

    @property
    def fits(self) -> bool:
        """Whether every question can be scored."""
        return not self.unknown and not self.empty

    def lines(self) -> list[str]:
        """The fit in words."""
        lines = []
        if self.unknown:
            lines.append(lost_ids(len(self.unknown), self.total, ", ".join(self.unknown[:3])))
        elif self.total:
            lines.append(f"gold: all {self.total:,} ids are in this index")
        if self.documents:
            judge = plural(self.documents, "question judges", "questions judge")
            lines.append(f"gold: {judge} documents: any chunk of a document counts as the document")
        if self.bound or self.unbound:
            whole = self.bound + len(self.unbound)
            lines.append(f"gold: {self.bound:,} of {whole:,} sources and evidence texts are in chunks of this index")
        lines += [f"  not: {group.name} ({qid}): {group.why} [RW-W91]" for qid, group in self.unbound[:_SHOWN]]
        if len(self.unbound) > _SHOWN:
            lines.append(f"  … and {len(self.unbound) - _SHOWN:,} more")
        if self.empty:
            have = plural(len(self.empty), "question has", "questions have")
            lines.append(f"gold: {have} no evidence in this index, e.g. {self.empty[0]} [RW-G24]")
        if self.covered:
            lines.append(f"gold: {rules.coverage_text(self.covered, self.sections)}")
        return lines


def fit(gold: Path, corpus: Path) -> Fit:
    """Hold a gold set against an index."""
    source = open_source("gold", gold)
    questions, problems = retrieval_questions(source)
    problems += [finding.problem for finding in identities(questions, source.given)]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    known = _known(load_corpus(corpus), {})
    names = dict.fromkeys(stable(name) for one in questions if not is_named(one.gold) for name in ids_of(one.gold))
    groups = [(one.qid, group) for one in questions for group in known.groups.of(one.gold)]
    if not names and not groups:
        raise data_error("RW-F04", "expected records that cite blocks, got none", where=str(gold))
    covered, sections = rules.section_coverage(questions, known)
    return Fit(
        total=len(names),
        unknown=[name for name in names if not known.has(name)],
        covered=covered,
        sections=sections,
        documents=sum(
            not is_named(one.gold) and any(map(known.groups.document, map(stable, ids_of(one.gold))))
            for one in questions
        ),
        bound=sum(bool(group.ids) for _, group in groups),
        unbound=[(qid, group) for qid, group in groups if not group.ids],
        empty=[one.qid for one in questions if is_named(one.gold) and not known.relevant(one.gold)],
    )


def cited_ids(path: Path) -> list[str]:
    """Every block id that a gold set or traces name as evidence, in order."""
    found: dict[str, None] = {}
    for record in _records(path):
        for key in ("relevant", "gold_citations"):
            found |= dict.fromkeys(name for name in record.get(key) or [] if isinstance(name, str))
        for one in record.get("answer_citations") or []:
            name = one.get("id") if isinstance(one, dict) else one
            found |= {name: None} if isinstance(name, str) else {}
    if not found:
        raise data_error("RW-F04", "expected records that cite blocks, got none", where=str(path))
    return list(found)


def _records(path: Path) -> list[dict[str, Any]]:
    problems: list[Problem] = []
    records = [line.record for line in read_lines(path, problems)]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return records


class Rewritten(NamedTuple):
    """What rewriting gave, and where it was written."""

    rebound: Rebound
    files: list[Path]


def rebind(path: Path, tables: Sequence[Table], out: Path, *, old: Path | None, new: Path | None) -> Rewritten:
    """Rewrite a gold set or traces for the newest version: new files, a log and a review list; the old file stays."""
    records = _records(path)
    redirects = Redirects.from_tables(tables)
    newest = next(table for table in tables if table.to_version == redirects.versions[-1])
    sections = [_sections(one) for one in (old, new)]
    for nth, record in enumerate(records, 1):
        version = record.get("index_hash")
        if version is not None and version not in redirects.versions[:-1]:
            message = f'expected a version that the tables lead from, got "{version}"'
            raise data_error("RW-M04", message, where=f"{path}: record {nth}", field="index_hash")
    if not records:
        raise data_error("RW-F04", "expected records, got none", where=str(path))
    is_gold = any("relevant" in record or "gold_citations" in record for record in records)
    rewrite = rebind_gold if is_gold else rebind_traces
    rebound = rewrite(records, redirects, newest.live, old_sections=sections[0], new_sections=sections[1])
    for record in rebound.items:
        if is_gold or record.get("index_hash") in redirects.versions[:-1]:
            record["index_hash"] = redirects.versions[-1]  # whose ids these are now
    encode = msgspec.json.Encoder().encode
    files = rebound_files(out)
    for implied in files[1:]:  # named by nobody: only an earlier log or review list is replaced
        check_ours(implied, lambda data: not data or data.startswith(b'{"qid":'))
    shown = Shown(records, redirects, tables, *(load_corpus(one).texts if one else {} for one in (old, new)))
    rows = (rebound.items, [one.row() for one in rebound.log], list(map(shown.row, rebound.review)))
    for target, lines in zip(files, rows, strict=True):
        write_whole(target, b"".join(encode(line) + b"\n" for line in lines))
    return Rewritten(rebound, files)


def rebound_files(out: Path) -> list[Path]:
    """What rewriting writes: the records, the log and the review list."""
    return [out, out.with_suffix(".log.jsonl"), out.with_suffix(".review.jsonl")]


def _sections(corpus: Path | None) -> dict[str, str]:
    if corpus is None:
        return {}
    places = load_corpus(corpus).places
    return {name: place.section for name, place in places.items() if place.section is not None}
