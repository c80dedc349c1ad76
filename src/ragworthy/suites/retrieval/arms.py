"""The files of the retrieval suite, read into arms, and whether they belong together."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.corpus.groups import Groups
from ragworthy.errors import data_error
from ragworthy.index.blocks import Corpus, load_corpus, text_hash
from ragworthy.load.chunks import only_retrieved
from ragworthy.load.lock import Lock
from ragworthy.metrics.facts.convergence import Arm
from ragworthy.metrics.facts.placed import Place
from ragworthy.metrics.facts.redirects import Redirects, Table, recut
from ragworthy.metrics.facts.wanted import Group, Moves, Rules, Section
from ragworthy.report.show import lost_ids, plural
from ragworthy.suites.id_clashes import id_clashes
from ragworthy.suites.opened import Listed, Opened
from ragworthy.suites.reading import Flaws
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Request
from ragworthy.suites.retrieval import distances
from ragworthy.suites.retrieval.beside import Renamed, beside_live
from ragworthy.suites.retrieval.cuts import cannot_compare, cut_otherwise
from ragworthy.suites.retrieval.fit import Fit, fit_of
from ragworthy.suites.retrieval.passes import Asked
from ragworthy.suites.retrieval.probes import with_probes
from ragworthy.suites.retrieval.read import Gathered, arm_of
from ragworthy.text import fold, trim_fold

LOST = "RW-G13"
"""Gold ids that the index does not have."""


class Side(NamedTuple):
    """What the traces of one arm are compared with."""

    rules: Rules
    corpus: Corpus | None
    its_own: bool = True
    """Whether it is the corpus that the traces come from; bytes of another text cannot be compared with it."""

    @property
    def whole(self) -> bool:
        """Whether what the corpus does not have is not in the index: it is not a list of what a run retrieved."""
        return self.corpus is None or not only_retrieved(self.corpus.chunks)


class Sides(NamedTuple):
    """Both sides; where the index in use has no corpus of its own, that of the shadow is used."""

    shadow: Side
    live: Side

    @property
    def corpora(self) -> dict[str, Corpus]:
        """The corpora that were given, by role."""
        given = {"corpus": self.shadow.corpus, "live_corpus": self.live.corpus if self.live.its_own else None}
        return {role: corpus for role, corpus in given.items() if corpus is not None}


class Folded(Mapping[str, str]):
    """The texts of a corpus as they are compared, each folded when somebody first looks at it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._folded = lru_cache(maxsize=1 << 14)(lambda name: fold(texts[name]))

    def __getitem__(self, name: str) -> str:
        return self._folded(name)

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class Arms(NamedTuple):
    """Everything that only this suite knows of its evidence."""

    sides: Sides
    shadow: distances.Filled
    live: distances.Filled | None
    fit: Fit
    """Whether the traces belong to the gold set."""
    same_file: bool = False
    """Whether the traces of both indexes are the same, byte by byte."""

    @property
    def arm(self) -> Arm:
        """The arm that is judged."""
        return self.shadow.arm

    @property
    def source(self) -> distances.Source:
        """Where its distances come from."""
        return self.shadow.source

    @property
    def renamed(self) -> tuple[Renamed, Renamed]:
        """How ids of live and shadow are made comparable: both as the newest version has them."""
        if not self.sides.live.its_own:
            return _itself, _itself
        return partial(_newest, self.sides.shadow.rules.moves), partial(_newest, self.sides.live.rules.moves)


def open_sides(opened: Opened, request: Request, ks: tuple[int, ...]) -> Sides:
    """Read the corpora and the redirects."""
    settings = request.settings
    usual = Rules(
        ks=ks,
        subtree=settings.anchor_scope == "subtree",
        refusals=frozenset(trim_fold(text) for text in settings.refusals),
        by_rule=by_rule_of(settings),
    )
    shadow = _side(usual, request.get("corpus"), request.get("redirects"), opened.lock)
    live = shadow._replace(its_own=False, rules=shadow.rules._replace(texts=None))
    if request.get("live_corpus") is not None:  # then the gold set is read as the index in use has its ids
        live = _side(usual, request.get("live_corpus"), request.get("live_redirects"), opened.lock)
    sides = Sides(shadow, live)
    for role, corpus in sides.corpora.items():
        opened.listed[role] = Listed(corpus.label, partial(str, corpus.sha256))
        if corpus.source is not None:
            opened.sources[role] = corpus.source
    return sides


def _side(usual: Rules, given: Any, redirects: Sequence[Path | Table] | None, lock: Lock | None) -> Side:
    corpus = load_corpus(given) if given is not None else None
    moves = load_moves(redirects or (), lock)
    if corpus is None:
        return Side(usual._replace(moves=moves), None)
    groups = Groups(corpus.chunks)
    rules = usual._replace(moves=moves, place=corpus.place, groups=groups.of, document=groups.document)
    return Side(rules._replace(texts=Folded(corpus.texts)), corpus)


def load_moves(given: Sequence[Path | Table], lock: Lock | None) -> Moves | None:
    """Redirect tables, ready to be followed; None where there are none."""
    if not given:
        return None
    from ragworthy.corpus.migration import read_table

    tables = [one if isinstance(one, Table) else read_table(one) for one in given]
    redirects = Redirects.from_tables(tables)
    newest = [table for table in tables if table.to_version == redirects.versions[-1]]
    return Moves(
        redirects,
        live=frozenset().union(*(table.live for table in newest)),
        gold_hash=frozen_on(lock),
        recut=frozenset().union(*map(recut, tables)),
    )


def frozen_on(lock: Lock | None) -> str | None:
    """The index that a gold set was frozen on, where its lock says so."""
    found = (lock.corpus or {}).get("index_hash") if lock is not None else None
    return found if isinstance(found, str) else None


def read_arms(
    opened: Opened, request: Request, sides: Sides, asked: Mapping[str, Asked], parts: Sequence[Sequence[Gathered]]
) -> Arms:
    """Both arms with their distances, or what is wrong with the files."""
    for side, some in zip(asked.values(), parts, strict=True):
        flaws = [side.flaws, *(part.flaws for part in some)]
        Flaws([each for some in flaws for each in some.some], sum(some.count for some in flaws)).stop(opened.sources)
    if not asked["trace"].wanted:
        raise data_error("RW-G05", "expected gold records, got none", where=opened["gold"].given)
    arm, *others = (arm_of(side.job, side.wanted, some) for side, some in zip(asked.values(), parts, strict=True))
    live = others[0] if others else None
    for role, one in (("trace", arm), ("live", live)):
        if one is not None and one.traces and not _has_results(one):
            from ragworthy.load.bare import stop_if_bare

            stop_if_bare(opened[role], "RetrievalTrace", ("topk", "retrieved_ids"), "RW-T15")
    wish = distances.Wish(request.settings.delta_s, request.settings.delta_s_model)
    source = distances.choose(wish, arm, distances.Known(_corpora(sides), opened.lock, opened.lock_path))
    distances.check_reachable(request, source)
    filled = _probed(distances.fill(arm, source, sides.shadow.corpus))
    fit = fit_of(arm, known_corpus=sides.shadow.corpus is not None)
    if live is None:
        return Arms(sides, filled, None, fit)
    older = _probed(distances.fill(live, filled.source, sides.live.corpus))
    arms = Arms(sides, filled, older, fit, opened["live"].sha256() == opened["trace"].sha256())
    return arms._replace(shadow=filled._replace(arm=beside_live(filled.arm, older.arm, arms.renamed)))


def _probed(filled: distances.Filled) -> distances.Filled:
    return filled._replace(arm=with_probes(filled.arm, filled.source))


def _corpora(sides: Sides) -> list[Corpus]:
    """The corpora that distances can be worked out with, that of the judged arm first."""
    return list(sides.corpora.values()) if sides.shadow.corpus is not None else []


def _has_results(arm: Arm) -> bool:
    return any(reading.names for one in arm.asked for reading in one.runs.values())


def _newest(moves: Moves | None, name: str) -> str:
    now = moves.gold(name) if moves is not None else ()
    return now[0] if now else name


def _itself(name: str) -> str:
    return name


# whether the files belong together


def invalid(opened: Opened, arms: Arms) -> tuple[str, ...]:
    """Why these files do not support a verdict, whatever the numbers say."""
    arm, side = arms.arm, arms.sides.shadow
    reasons = []
    if len(arm.hashes) > 1:
        traces = opened["trace"]
        lines = traces.lines_at(arm.hashes.values())
        named = ", ".join(f'"{name}" (line {traces.line(lines[place])})' for name, place in sorted(arm.hashes.items()))
        reasons.append(f"the traces come from several indexes: {named} [RW-T05]")
    reasons += id_clashes(opened["trace"])
    reasons += _lost_ids(arms) + _other_cuts(arms) + _without_evidence(arms)
    reasons += _other_index(side, arm, frozen_on(opened.lock))
    if side.corpus is not None:
        reasons += _reused(side, side.corpus, opened.lock) + _lost_anchors(side.rules, side.corpus, arm)
    return tuple(reasons)


def _lost_ids(arms: Arms) -> list[str]:
    """Gold ids that lead to no block of the index: of neither index where both are known, or with their text gone."""
    lost, total = unknown_blocks(arms.arm, arms.sides.shadow.corpus)
    none = foreign(arms)
    here = [name for name in lost if name not in none]
    reasons = [lost_ids(len(here), total, here[0])] if here else []
    if none:
        count = sum(name in none for name in lost)
        reasons.append(f"{count:,} of {total:,} gold ids are of neither index, e.g. {next(iter(none))} [{LOST}]")
    return reasons


def foreign(arms: Arms) -> dict[str, None]:
    """Gold ids that neither index has ever had, where both are known."""
    if arms.live is None or not arms.sides.live.its_own:
        return {}
    corpora = arms.sides.corpora.values()
    lost, _ = unknown_blocks(arms.arm, arms.sides.shadow.corpus)
    return {name: None for name in lost if not any(name in corpus.places for corpus in corpora)}


def _other_cuts(arms: Arms) -> list[str]:
    """Why the ids of one chunking cannot compare it with another: one side would be given more than the other."""
    live, sides = arms.live, arms.sides
    if live is None or not sides.live.its_own:
        return []
    found = cut_otherwise(arms.arm, sides.shadow.rules.moves)
    return cannot_compare(found, "live", "shadow") or cannot_compare(
        cut_otherwise(live.arm, sides.live.rules.moves), "shadow", "live"
    )


def read_elsewhere(arms: Arms) -> list[str]:
    """Why the live results cannot be compared with what answers a question: that was looked up in the other index only,
    and the same id may name another text there.
    """
    live, side = arms.live, arms.sides.shadow
    if live is None or arms.sides.live.its_own or side.corpus is None or side.rules.moves is not None:
        return []
    other = [name for name in sorted(live.arm.hashes) if name != side.corpus.index_hash]
    if not other or not any(one.wanted.named for one in live.arm.asked):
        return []
    return [
        f"the live traces come from the index {other[0]}, and what answers a question was looked up in the corpus of "
        "the shadow: give the corpus of the live index, too (--live-corpus, live_corpus)"
    ]


def why_moot(arms: Arms) -> str | None:
    """Why no gate can be compared with these numbers, though there are some; None where gates can."""
    if _other_cuts(arms):
        return "the gold ids are of one chunking, and the other index has another"
    names = {name for one in arms.arm.asked for name in one.wanted.names}
    return "the gold ids are of neither index" if names and names == foreign(arms).keys() else None


def unknown_blocks(arm: Arm, corpus: Corpus | None) -> tuple[list[str], int]:
    """Gold ids that lead to no block of the corpus, or to none at all, and how many gold ids there are.

    Evidence and sources are not ids: what they bind to, `unbound` says.
    """
    pairs = [
        (name, one.wanted.blocks[number])
        for one in arm.asked
        for name, number in one.wanted.names.items()
        if number not in one.wanted.named
    ]
    lost = [
        name
        for name, block in pairs
        if not block or (corpus is not None and not any(one in corpus.places for one in block))
    ]
    return lost, len(pairs)


def unbound(arm: Arm) -> list[tuple[str, Group]]:
    """Evidence texts and sources that no chunk of the index holds, by question."""
    return [(one.wanted.qid, group) for one in arm.asked for group in one.wanted.named.values() if not group.ids]


def _without_evidence(arms: Arms) -> list[str]:
    """Questions of whose evidence nothing is in either index: nothing could ever answer them."""
    sides = [arms.arm, *([arms.live.arm] if arms.live is not None else [])]
    asked = [one.wanted for one in arms.arm.asked if one.wanted.named and one.wanted.answerable]
    there = {one.wanted.qid for side in sides for one in side.asked if any(one.wanted.blocks)}
    lost = [wanted for wanted in asked if wanted.qid not in there]
    if not lost:
        return []
    first = next(iter(lost[0].named.values()))
    return [
        f"{plural(len(lost), 'question has', 'questions have')} no evidence in this index, "
        f"e.g. {lost[0].qid}: {first.why} [RW-G24]"
    ]


def _other_index(side: Side, arm: Arm, frozen: str | None) -> list[str]:
    """Whether traces, corpus, redirects and gold set belong to different indexes."""
    moves, corpus = side.rules.moves, side.corpus
    if moves is not None:
        versions = moves.redirects.versions
        named = [("the traces come from", name) for name in sorted(arm.hashes)]
        named += [("the gold set was frozen on", frozen)] if frozen is not None else []
        newest = f"the redirects lead from {versions[0]} to {versions[-1]}"
        return [f"{what} the index {name}, but {newest}" for what, name in named if name not in versions]
    if corpus is not None and corpus.index_hash is not None:
        other = [name for name in sorted(arm.hashes) if name != corpus.index_hash]
        return [f"the traces come from the index {name}, but the corpus is {corpus.index_hash}" for name in other[:1]]
    other = [name for name in sorted(arm.hashes) if name != frozen] if frozen is not None and corpus is None else []
    return [
        f"the gold set was frozen on the index {frozen}, the traces come from {name}: give --corpus or --redirects"
        for name in other[:1]
    ]


def _reused(side: Side, corpus: Corpus, lock: Lock | None) -> list[str]:
    """Gold ids that name another text than when the gold set was frozen, where no redirects lead to it."""
    frozen = (lock.corpus or {}).get("blocks", {}) if lock is not None else {}
    if side.rules.moves is not None or not isinstance(frozen, dict):
        return []
    other = [name for name, known in frozen.items() if name in corpus.texts and text_hash(corpus.texts[name]) != known]
    if not other:
        return []
    return [
        f"{len(other)} of {len(frozen)} gold ids do not have the text they had when the gold set was frozen, "
        f"e.g. {other[0]}: give --redirects [RW-G15]"
    ]


def _lost_anchors(rules: Rules, corpus: Corpus, arm: Arm) -> list[str]:
    """Anchor sections in which the corpus has no block: nothing could ever hit them."""
    places = {(place.doc, path): place for place in corpus.places.values() for path in (place.section, place.page)}
    asked = [one.wanted for one in arm.asked if one.wanted.anchor is not None and any(one.wanted.blocks)]
    lost = [wanted.qid for wanted in asked if wanted.anchor and not _has_blocks(wanted.anchor, places, rules)]
    if not lost:
        return []
    return [f"{len(lost)} of {len(asked)} anchor sections are not in this index, e.g. that of {lost[0]} [{LOST}]"]


def _has_blocks(anchor: Section, places: dict[tuple[str | None, str | None], Place], rules: Rules) -> bool:
    if any((doc, anchor.path) in places for doc in anchor.docs):
        return True
    return (not anchor.docs or rules.subtree) and any(anchor.holds(place, rules.subtree) for place in places.values())
