"""Gold items and traces of an old version of the corpus, rewritten for the new one. Pure: nothing is edited in place.

An id becomes the ids it leads to: one, all parts of a split, or none. The parts of a split are alternatives of each
other: a group of `gold_groups`. Gold drops what leads nowhere and names it for review. Traces keep its rank under the
id `gone:OLD`, which no block has: an old id must not stay, because the new version may have given it to another text.
Results that a merge made the same are kept once, at the better rank.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.ids import parse, section_key, stable
from ragworthy.metrics.facts.redirects import Followed, Offsets, Redirects

GONE = "gone:"
ID_LISTS = ("relevant", "negatives", "gold_citations")
ALIGNED = ("ΔS", "delta_s", "deltaS", "ΔS_list", "dS", "∆S", "Î”S", "ŒîS", "ΔS_raw", "ΔS_anchor")
"""Lists of a trace that have one entry for each entry of topk."""

Record = dict[str, Any]


class Change(NamedTuple):
    """One value that was rewritten, and why."""

    qid: str
    field: str
    before: Any
    after: Any
    move: str
    conf: float | None
    why: str

    def row(self) -> Record:
        """The change as it is written to a log."""
        names = ("qid", "field", "from", "to", "move", "conf", "why")
        return dict(zip(names, self, strict=True))


class Review(NamedTuple):
    """Something that a person should look at."""

    qid: str
    field: str
    id: str
    why: str

    def row(self) -> Record:
        """The entry as it is written to a log."""
        return self._asdict()


class Rebound(NamedTuple):
    """The rewritten records, what was changed, what to look at, and how the sections of the questions moved."""

    items: list[Record]
    log: list[Change]
    review: list[Review]
    anchors: dict[str, tuple[str, str]]


class Versions(NamedTuple):
    """The way from the old version to the new one: redirects, the new ids, the sections of ids that do not say them."""

    redirects: Redirects
    new_ids: Collection[str]
    old_sections: Mapping[str, str]
    new_sections: Mapping[str, str]


class _Rewriter:
    """Rewrites one record and keeps account of it."""

    def __init__(self, versions: Versions, record: Record) -> None:
        self.versions = versions
        self.qid = str(record.get("qid") or record.get("q_id") or "")
        self.log: list[Change] = []
        self.review: dict[Review, None] = {}

    def look(self, field: str, id: str, why: str) -> None:
        """Note something for review, once."""
        self.review[Review(self.qid, field, id, why)] = None

    def follow(self, field: str, id: str) -> tuple[str, ...]:
        """The new ids of an old id, with a log entry when they differ."""
        way = self.versions.redirects.follow(id)
        for why in _doubts(way):
            self.look(field, id, why)
        for new in way.ids:
            if stable(new) not in self.versions.new_ids:
                self.look(field, id, f"{new} is not in the new version")
        if way.ids != (id,):
            self.log.append(Change(self.qid, field, id, list(way.ids), way.move, way.conf, _why(way)))
        return way.ids

    def ids(self, field: str, values: Sequence[Any], *, keep_gone: bool) -> list[Any]:
        """A list of ids, each instead of the old one; values that are not ids stay."""
        return [new for _, new in self.entries(field, values, keep_gone=keep_gone)]

    def entries(self, field: str, values: Sequence[Any], *, keep_gone: bool) -> list[tuple[int, Any]]:
        """A list of ids or of objects with an id, each new entry with the place of the old one it comes from."""
        found: list[tuple[int, Any]] = []
        origin: dict[str, str] = {}
        for place, value in enumerate(values):
            old = value.get("id") if isinstance(value, dict) else value
            if not isinstance(old, str):
                found.append((place, value))
                continue
            for id, offsets in self._targets(field, old, value, keep_gone=keep_gone):
                if origin.setdefault(id, old) != old:
                    why = f"already there from {origin[id]}"
                    self.log.append(Change(self.qid, field, old, [], "merge", None, why))
                else:
                    found.append((place, _entry(value, old, id, offsets)))
        return found

    def _targets(self, field: str, old: str, value: Any, *, keep_gone: bool) -> list[tuple[str, Offsets | None]]:
        ids = self.follow(field, old)
        if not ids:
            return [(GONE + old, None)] if keep_gone else []
        offsets = as_offsets(value.get("offsets")) if isinstance(value, dict) else None
        if offsets is None:
            return [(id, None) for id in ids]
        return [(id, new) for id, new in self.places(f"{field}.offsets", old, offsets).items()]

    def places(self, field: str, id: str, offsets: Offsets) -> dict[str, Offsets]:
        """The new offsets of a range in an old block, for each new block that holds some of it."""
        found: dict[str, Offsets] = {}
        for place in self.versions.redirects.places(id, offsets):
            if not place.exact:
                self.look(field, id, f"the cited bytes are not in {place.id} as they were: widened to the block")
            begin, end = found.get(place.id, place.offsets)
            found[place.id] = (min(begin, place.offsets[0]), max(end, place.offsets[1]))
        if found and found != {id: offsets}:
            after = {new: list(range_) for new, range_ in found.items()}
            self.log.append(Change(self.qid, field, {id: list(offsets)}, after, "", None, "the text moved"))
        return found

    def anchor(self, field: str, anchor: Any, ids: Iterable[Any]) -> Any:
        """The section of the new blocks of the first id that is in the anchor section."""
        if not isinstance(anchor, str) or not anchor:
            return anchor
        moved = False
        for id in ids:
            if not isinstance(id, str):
                continue
            new = self.versions.redirects.resolve(id)
            moved = moved or new != (id,)
            old_name = _section(id, self.versions.old_sections, like=anchor)
            if new and old_name is not None and section_key(old_name) == section_key(anchor):
                name = _section(new[0], self.versions.new_sections, like=anchor)
                if name is None or section_key(name) == section_key(anchor):
                    return anchor
                way = self.versions.redirects.follow(id)
                why = f"the section of {new[0]}"
                self.log.append(Change(self.qid, field, anchor, name, way.move, way.conf, why))
                return name
        if moved:
            self.look(field, anchor, "no block that lives on was in this section: check it by hand")
        return anchor


def as_offsets(value: Any) -> Offsets | None:
    """A pair of offsets that names some bytes, or None."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(type(edge) is int for edge in value):
        begin, end = value
        return (begin, end) if 0 <= begin < end else None
    return None


def _entry(value: Any, old: str, new: str, offsets: Offsets | None) -> Any:
    """An id, or an object with its id and offsets replaced and `id_prev` behind the id when that changed."""
    if not isinstance(value, dict):
        return new
    entry: Record = {}
    for key, one in value.items():
        if key == "id":
            entry["id"] = new
            if new != old:
                entry["id_prev"] = old
        elif key == "offsets" and offsets is not None:
            entry[key] = list(offsets)
        elif key != "id_prev" or new == old:
            entry[key] = one
    return entry


def _doubts(way: Followed) -> Iterator[str]:
    if not way.ids:
        yield "unmapped: no new block holds its text"
    elif way.risky:
        yield f"conf {way.conf:.3f} is below 0.90"
    if len(way.ids) > 1:
        yield f"split into {len(way.ids)} parts"


def _why(way: Followed) -> str:
    if not way.ids:
        return "no new block holds its text"
    told = {"split": f"split into {len(way.ids)} parts", "merge": "merged into a larger block"}
    return told.get(way.move, "the block moved")


def _section(id: str, known: Mapping[str, str], *, like: str) -> str | None:
    """The section of an id, written in the manner of another: with the document, or with the root S."""
    read = parse(id)
    name = known.get(id) or known.get(stable(id)) or read.section
    if name is None:
        return None
    if like.startswith("S.") and name[:1].isdigit():
        name = f"S.{name}"
    return f"{read.doc}|s={name}" if "|s=" in like and "|s=" not in name and read.doc else name


def rebind_gold(
    items: Sequence[Record],
    redirects: Redirects,
    new_ids: Collection[str],
    *,
    old_sections: Mapping[str, str] | None = None,
    new_sections: Mapping[str, str] | None = None,
) -> Rebound:
    """Gold items of the retrieval or the answers suite for the new version; sections are needed for opaque ids only."""
    versions = Versions(redirects, new_ids, old_sections or {}, new_sections or {})
    rebound = Rebound([], [], [], {})
    for item in items:
        rewriter = _Rewriter(versions, item)
        new = _gold_item(rewriter, item)
        old_anchor, anchor = item.get("anchor_section"), new.get("anchor_section")
        if isinstance(old_anchor, str) and isinstance(anchor, str):
            rebound.anchors[rewriter.qid] = (old_anchor, anchor)
        _add(rebound, new, rewriter)
    return rebound


def _add(rebound: Rebound, record: Record, rewriter: _Rewriter) -> None:
    rebound.items.append(record)
    rebound.log.extend(rewriter.log)
    rebound.review.extend(rewriter.review)


def _gold_item(rewriter: _Rewriter, item: Record) -> Record:
    new: Record = {}
    for key, value in item.items():
        if key in ID_LISTS and isinstance(value, list):
            new[key] = rewriter.ids(key, value, keep_gone=False)
            if value and not new[key] and key != "negatives":
                rewriter.look(key, "", "nothing is left of it")
        elif key == "gold_groups" and isinstance(value, list):
            new[key] = _groups(rewriter, value)
        elif key == "relevant_offsets" and isinstance(value, dict):
            new[key] = _gold_offsets(rewriter, value)
        elif key == "anchor_section":
            relevant = item.get("relevant")
            new[key] = rewriter.anchor(key, value, relevant if isinstance(relevant, list) else [])
        elif key != "bound":  # that was another corpus
            new[key] = value
    _part_negatives(rewriter, item, new)
    return new if item.get("gold_groups") else new | _split_groups(rewriter, item)


def _groups(rewriter: _Rewriter, groups: list[Any]) -> list[Any]:
    """Groups of alternatives, each with the new ids of all its old ones; two that became the same are one."""
    found: list[Any] = []
    for group in groups:
        new = group
        if isinstance(group, list):
            new = list(dict.fromkeys(rewriter.ids("gold_groups", group, keep_gone=False)))
            if group and not new:
                rewriter.look("gold_groups", "", "nothing is left of a group")
        if new not in found or new == []:
            found.append(new)
    return found


def _split_groups(rewriter: _Rewriter, item: Record) -> Record:
    """Groups for ids that were split: the parts are alternatives of each other, and not all of them needed."""
    field = next((key for key in ("relevant", "gold_citations") if item.get(key)), None)
    old = item[field] if field is not None and isinstance(item[field], list) else []
    if not all(isinstance(id, str) for id in old):
        return {}
    now = [list(rewriter.versions.redirects.resolve(id)) for id in old]
    groups = [group for nth, group in enumerate(now) if group and group not in now[:nth]]
    if all(len(group) < 2 for group in groups):
        return {}
    rewriter.log.append(Change(rewriter.qid, "gold_groups", None, groups, "split", None, "any part of a split will do"))
    return {"gold_groups": groups}


def _part_negatives(rewriter: _Rewriter, item: Record, new: Record) -> None:
    """Take out of the new negatives what a merge made relevant too."""
    both = [id for id in _in_both(new) if id not in _in_both(item)]
    for id in both:
        why = "relevant and a negative after the move: kept as relevant"
        rewriter.look("negatives", id, why)
        rewriter.log.append(Change(rewriter.qid, "negatives", id, [], "merge", None, why))
    if both:
        new["negatives"] = [id for id in new["negatives"] if id not in both]


def _in_both(item: Record) -> list[Any]:
    relevant, negatives = item.get("relevant"), item.get("negatives")
    if not isinstance(relevant, list) or not isinstance(negatives, list):
        return []
    return [id for id in negatives if id in relevant]


def _gold_offsets(rewriter: _Rewriter, ranges: Record) -> Record:
    """The offsets of each relevant block; those of blocks merged into one are joined."""
    field = "relevant_offsets"
    found: Record = {}
    for id, value in ranges.items():
        offsets = as_offsets(value)
        if offsets is None:
            found |= dict.fromkeys(rewriter.versions.redirects.resolve(id), value)
            continue
        places = rewriter.places(field, id, offsets)
        if not places:
            gone = Change(rewriter.qid, field, {id: value}, {}, "unmapped", 0.0, "no new block holds its text")
            rewriter.log.append(gone)
        for new, (begin, end) in places.items():
            first, last = as_offsets(found.get(new)) or (begin, end)
            found[new] = [min(begin, first), max(end, last)]
    return found


def rebind_traces(
    records: Sequence[Record],
    redirects: Redirects,
    new_ids: Collection[str],
    *,
    anchors: Mapping[str, tuple[str, str]] | None = None,
    old_sections: Mapping[str, str] | None = None,
    new_sections: Mapping[str, str] | None = None,
) -> Rebound:
    """Traces written against the old version for the new one; `anchors` are those of the rewritten gold set."""
    versions = Versions(redirects, new_ids, old_sections or {}, new_sections or {})
    rebound = Rebound([], [], [], {})
    for record in records:
        rewriter = _Rewriter(versions, record)
        _add(rebound, _trace(rewriter, record, anchors or {}), rewriter)
    return rebound


def _trace(rewriter: _Rewriter, record: Record, anchors: Mapping[str, tuple[str, str]]) -> Record:
    topk = record.get("topk")
    entries = rewriter.entries("topk", topk, keep_gone=True) if isinstance(topk, list) else []
    new: Record = {}
    for key, value in record.items():
        if key == "topk" and isinstance(value, list):
            new[key] = [entry for _, entry in entries]
        elif key in ALIGNED and isinstance(value, list) and isinstance(topk, list) and len(value) == len(topk):
            new[key] = [value[place] for place, _ in entries]
        elif key in ("retrieved_ids", "answer_citations") and isinstance(value, list):
            new[key] = rewriter.ids(key, value, keep_gone=True)
        elif key in ("answer_json", "answer") and isinstance(value, dict) and isinstance(value.get("citations"), list):
            cited = rewriter.ids(f"{key}.citations", value["citations"], keep_gone=True)
            new[key] = value | {"citations": cited}
        elif key == "anchor":
            new[key] = _trace_anchor(rewriter, record, anchors)
        else:
            new[key] = value
    return new


def _trace_anchor(rewriter: _Rewriter, record: Record, anchors: Mapping[str, tuple[str, str]]) -> Any:
    anchor = record["anchor"]
    before, after = anchors.get(rewriter.qid, ("", ""))
    if isinstance(anchor, str) and before and section_key(anchor) == section_key(before):
        if section_key(after) == section_key(anchor):
            return anchor
        rewriter.log.append(
            Change(rewriter.qid, "anchor", anchor, after, "", None, "the anchor section of the question")
        )
        return after
    lists = [record.get(key) for key in ("answer_citations", "topk", "retrieved_ids")]
    entries = [entry for values in lists if isinstance(values, list) for entry in values]
    return rewriter.anchor("anchor", anchor, [one.get("id") if isinstance(one, dict) else one for one in entries])
