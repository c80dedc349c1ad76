"""The redirect table between two versions of a corpus.

Blocks are looked for in the document of the same id first. When fewer than half of the blocks of a document are found
there, it may have been moved, renamed or cut up: documents that share at least 0.60 of the shingles are searched in the
same way. What is still missing is looked for in the whole corpus, unless its text is short or occurs more than once in
either version; short blocks may then follow their neighbours.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.corpus.matching import Block, Link, Matcher, matched_bytes
from ragworthy.corpus.migration_report import confidence, numbers
from ragworthy.corpus.recut import cover
from ragworthy.corpus.shingles import Form, Shingle, enough_shared
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import read_text
from ragworthy.ids import natural
from ragworthy.metrics.facts.redirects import SCHEMA, Best, DocumentRedirects, Part, Redirect, Run, Table
from ragworthy.records import Chunk, explained
from ragworthy.text import clip

LARGEST_TABLE = 1 << 30
"""So many bytes a redirect table may have: about 300 for each block of the corpus."""
SHOWN = 160
"""How many characters of an old text the table keeps where somebody has to look."""


def migrate(
    old: Sequence[Chunk],
    new: Sequence[Chunk],
    *,
    old_lengths: Mapping[str, int],
    new_lengths: Mapping[str, int],
    from_version: str,
    to_version: str,
) -> Table:
    """The redirects from the chunks of one version to those of another; lengths are bytes for each document."""
    before, after = _in_reading_order(old), _in_reading_order(new)
    forms: dict[str, Form] = {}
    matcher = Matcher(_blocks(before, forms), _blocks(after, forms), old_lengths, new_lengths)
    _same_documents(matcher)
    _moved_documents(matcher)
    _strays(matcher)
    documents = _documents(matcher, before, after, old_lengths, new_lengths)
    added = tuple(block.id for block in matcher.new if not matcher.claims.get(block.number))
    return Table(SCHEMA, from_version, to_version, documents, added, numbers(documents, added))


def _in_reading_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    for chunk in chunks:
        if not chunk.name or chunk.doc_id is None or chunk.offsets is None:
            raise data_error("RW-C01", "expected chunk_id, doc_id and offsets, got a chunk without", where=chunk.name)
    return sorted(chunks, key=lambda chunk: (natural(chunk.doc_id or ""), chunk.offsets, natural(chunk.name)))


def _blocks(chunks: Sequence[Chunk], forms: dict[str, Form]) -> list[Block]:
    """The chunks as they are compared; equal texts share one form."""
    blocks = []
    for number, chunk in enumerate(chunks):
        begin, end = chunk.offsets or (0, 0)
        if chunk.text not in forms:
            forms[chunk.text] = Form(chunk.text)
        blocks.append(
            Block(number, chunk.name, chunk.doc_id or "", begin, end, forms[chunk.text], chunk.fp, chunk.text)
        )
    return blocks


def _by_document(blocks: Iterable[Block]) -> dict[str, list[int]]:
    return {doc: [block.number for block in group] for doc, group in groupby(blocks, key=lambda block: block.doc)}


def _same_documents(matcher: Matcher) -> None:
    new = _by_document(matcher.new)
    for doc, blocks in _by_document(matcher.old).items():
        if doc in new:
            matcher.match(blocks, new[doc], ordered=True, copies=True)


def _moved_documents(matcher: Matcher) -> None:
    """Documents of which little was found under their own id, in the documents that share their shingles."""
    new = _by_document(matcher.new)
    holders: dict[Shingle, list[str]] = defaultdict(list)
    sizes: Counter[str] = Counter()
    for doc, blocks in new.items():
        for shingle in _shingles(matcher.new[n] for n in blocks if n not in matcher.claims):
            holders[shingle].append(doc)
            sizes[doc] += 1
    for doc, blocks in _by_document(matcher.old).items():
        rest = matcher.left(blocks)
        if 2 * len(rest) <= len(blocks):
            continue
        wanted = _shingles(matcher.old[o] for o in rest)
        shared: Counter[str] = Counter()
        for shingle in wanted:
            shared.update(holders.get(shingle, ()))
        for other in sorted(shared, key=lambda name: (-shared[name], natural(name))):
            if other != doc and enough_shared(shared[other], min(len(wanted), sizes[other])):
                matcher.match(blocks, new[other], ordered=True, copies=False)


def _shingles(blocks: Iterable[Block]) -> set[Shingle]:
    found: set[Shingle] = set()
    for block in blocks:
        if not block.short:
            found |= block.form.by_character if block.form.by_characters else block.form.by_token
    return found


def _strays(matcher: Matcher) -> None:
    """Blocks that went to another document, then the short ones beside them."""
    copies = [Counter(block.form.tokens for block in blocks) for blocks in (matcher.old, matcher.new)]
    rest = [
        o
        for o in matcher.left(range(len(matcher.old)))
        if not matcher.old[o].short and all(count[matcher.old[o].form.tokens] <= 1 for count in copies)
    ]
    if not rest:
        return
    matcher.match(rest, [n for n in range(len(matcher.new)) if matcher.has_room(n)], ordered=False, copies=False)
    old, new = _by_document(matcher.old), _by_document(matcher.new)
    ways = {(matcher.old[o].doc, matcher.new[link.new].doc) for o in rest for link in matcher.links.get(o, ())}
    for doc, other in sorted(ways):
        if doc != other:
            matcher.match(old[doc], new[other], ordered=False, copies=False)


def _documents(
    matcher: Matcher,
    before: Sequence[Chunk],
    after: Sequence[Chunk],
    old_lengths: Mapping[str, int],
    new_lengths: Mapping[str, int],
) -> tuple[DocumentRedirects, ...]:
    revisions = {chunk.doc_id: chunk.rev for chunk in after}
    recut = _recut(matcher, [o for o in range(len(before)) if before[o].rev == revisions.get(before[o].doc_id, "")])
    return tuple(
        DocumentRedirects(
            doc,
            before[blocks[0]].rev,
            revisions.get(doc),
            tuple(_redirect(matcher, o, before[o].text, recut.get(o, [])) for o in blocks),
            old_lengths.get(doc, 0),
            new_lengths.get(doc, 0),
        )
        for doc, blocks in _by_document(matcher.old).items()
    )


_Cut = tuple[Block, int, int]
"""A new block, and the bytes of an old one that it holds."""


def _recut(matcher: Matcher, olds: Sequence[int]) -> dict[int, list[_Cut]]:
    """The new blocks that hold the bytes of old ones, in documents that did not change and were cut differently.

    There bytes say more than words: what was found by words may lack the end of a block.
    """
    new = _by_document(matcher.new)
    found: dict[int, list[_Cut]] = {}
    for o in olds:
        block = matcher.old[o]
        again = [] if _is_whole(matcher, o) else [matcher.new[n] for n in new.get(block.doc, ())]
        cuts = [(again[nth], first, last) for nth, first, last in cover(block.begin, block.end, again)]
        if cuts and all(_bytes(block, *cut[1:]) == _bytes(*cut) for cut in cuts):
            found[o] = cuts
            for link in matcher.links.pop(o, ()):
                matcher.claims[link.new].remove(o)
            for part in (part.number for part, _, _ in cuts):
                matcher.claims[part].append(o)
    _add_overlaps(matcher, found)
    return found


def _add_overlaps(matcher: Matcher, found: dict[int, list[_Cut]]) -> None:
    """Lead an old block also to what lies in the overlap of those that hold it, and that no old block leads to."""
    olds = _by_document(matcher.old[o] for o in found)
    for block in matcher.new:
        rivals = olds.get(block.doc, []) if not matcher.claims.get(block.number) else []
        shared = {o: _shared(matcher.old[o], block) for o in rivals}
        o = max(shared, key=lambda o: (shared[o][1] - shared[o][0], -o), default=None)
        if o is None or shared[o][0] >= shared[o][1] or _bytes(matcher.old[o], *shared[o]) != _bytes(block, *shared[o]):
            continue
        found[o] = sorted([*found[o], (block, *shared[o])], key=lambda cut: (cut[0].begin, cut[0].number))
        matcher.claims[block.number].append(o)


def _shared(block: Block, other: Block) -> tuple[int, int]:
    return max(block.begin, other.begin), min(block.end, other.end)


def _is_whole(matcher: Matcher, o: int) -> bool:
    """Whether what was found for an old block holds every byte of it."""
    block, links = matcher.old[o], matcher.links.get(o, [])
    return bool(links) and sum(matched_bytes(block, link.pairs) for link in links) >= block.form.size


def _bytes(block: Block, first: int, last: int) -> bytes:
    return block.text.encode()[first - block.begin : last - block.begin]


def _redirect_of(matcher: Matcher, o: int, cuts: Sequence[_Cut]) -> Redirect:
    """The row of an old block whose bytes lie in other blocks now."""
    block, first = matcher.old[o], cuts[0][0]
    matched, at = 0, block.begin
    for _, begin, end in sorted(cuts, key=lambda cut: cut[1:]):
        matched, at = matched + max(0, end - max(begin, at)), max(at, end)
    row: dict[str, Any] = {
        "old_block_id": block.id,
        "old_off": (block.begin, block.end),
        "new_block_id": first.id,
        "conf": confidence(matched, block.end - block.begin),
        "matched": matched,
    }
    parts = tuple(Part(part.id, (part.begin, part.end), ((begin, begin, end - begin),)) for part, begin, end in cuts)
    if len(parts) > 1:
        return Redirect(**row, move="split", new_parts=parts)
    alone = len(matcher.claims[first.number]) == 1
    return Redirect(**row, move="shift" if alone else "merge", new_off=parts[0].off, runs=parts[0].runs)


def _redirect(matcher: Matcher, o: int, text: str, cuts: Sequence[_Cut]) -> Redirect:
    """The row of one old block; `cuts` are the new blocks that hold its bytes, where nothing else was found."""
    block, links = matcher.old[o], matcher.links.get(o, [])
    size = block.form.size
    row: dict[str, Any] = {"old_block_id": block.id, "old_off": (block.begin, block.end), "new_block_id": None}
    if cuts:
        return _redirect_of(matcher, o, cuts)
    if not links:
        matched, n = matcher.nearest.get(o, (0, 0))
        best = Best(matcher.new[n].id, confidence(matched, size)) if matched else None
        return Redirect(**row, move="unmapped", conf=0.0, matched=0, old_text=clip(text, SHOWN), best=best)
    first = matcher.new[links[0].new]
    matched = sum(matched_bytes(block, link.pairs) for link in links)
    row |= {"new_block_id": first.id, "conf": confidence(matched, size), "matched": matched}
    row["new_doc_id"] = first.doc if first.doc != block.doc else None
    if 10 * matched < 9 * size:
        row["old_text"] = clip(text, SHOWN)
    if len(links) > 1:
        parts = [(matcher.new[link.new], link) for link in links]
        row["new_parts"] = tuple(
            Part(part.id, (part.begin, part.end), _runs(block, part, link)) for part, link in parts
        )
        return Redirect(**row, move="split")
    alone = len(matcher.claims[first.number]) == 1
    runs = _runs(block, first, links[0])
    if runs == ((block.begin, first.begin, size),) and first.form.size == size:
        runs = ()
    return Redirect(**row, move="shift" if alone else "merge", new_off=(first.begin, first.end), runs=runs)


def _runs(old: Block, new: Block, link: Link) -> tuple[Run, ...]:
    """Stretches of matched tokens that moved by the same number of bytes, with what is between and around them."""
    runs: list[list[int]] = []
    last = (-2, -2)
    for i, j in link.pairs:
        lead = min(old.form.starts[i], new.form.starts[j]) if i == j == 0 else 0
        begin, start = old.begin + old.form.starts[i] - lead, new.begin + new.form.starts[j] - lead
        end = old.begin + old.form.ends[i] + min(_trail(old.form, i), _trail(new.form, j))
        if (i, j) == (last[0] + 1, last[1] + 1) and start - begin == runs[-1][1] - runs[-1][0]:
            runs[-1][2] = end - runs[-1][0]
        else:
            runs.append([begin, start, end - begin])
        last = (i, j)
    return tuple((begin, start, length) for begin, start, length in runs)


def _trail(form: Form, number: int) -> int:
    """How many bytes are between a token and the next one, or the end."""
    last = number + 1 == len(form.tokens)
    return (form.size if last else form.starts[number + 1]) - form.ends[number]


def table_bytes(table: Table) -> bytes:
    """The table as JSON, the same bytes each time."""
    return msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n"


def read_table(path: Path) -> Table:
    """A redirect table from its file, with every problem named by its place."""
    where = str(path)
    try:
        value = msgspec.json.decode(read_text(path, limit=LARGEST_TABLE))
    except msgspec.DecodeError as error:
        raise data_error("RW-M01", f"expected JSON, got {explained(error)[1]}", where=where) from None
    except RecursionError:
        raise data_error("RW-M01", "expected a redirect table, got JSON nested too deeply", where=where) from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        got = f'"{schema}"' if isinstance(schema, str) else "something else"
        raise data_error("RW-M01", f'expected "{SCHEMA}", got {got}', where=where, field="schema")
    problems: list[Problem] = []
    seen: set[str] = set()
    for field, piece, kind in _pieces(value):
        for name, message in _flaws(piece, kind, seen):
            problems.append(Problem("RW-M01", message, where, ".".join(part for part in (field, name) if part)))
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return msgspec.convert(value, Table)


def _pieces(value: dict[str, Any]) -> Iterator[tuple[str, Any, type[msgspec.Struct]]]:
    """The table, its documents and their rows one by one, so that an error can name the very row."""
    documents = value.get("documents")
    if not isinstance(documents, list):
        yield "", value, Table
        return
    yield "", value | {"documents": []}, Table
    for i, document in enumerate(documents):
        rows = document.get("mappings") if isinstance(document, dict) else None
        if not isinstance(rows, list):
            yield f"documents[{i}]", document, DocumentRedirects
            continue
        yield f"documents[{i}]", document | {"mappings": []}, DocumentRedirects
        for j, row in enumerate(rows):
            yield f"documents[{i}].mappings[{j}]", row, Redirect


def _flaws(piece: Any, kind: type[msgspec.Struct], seen: set[str]) -> list[tuple[str, str]]:
    """What is wrong with a piece of a table, each with its field."""
    try:
        row = msgspec.convert(piece, kind)
    except msgspec.ValidationError as error:
        return [explained(error)]
    if not isinstance(row, Redirect):
        return []
    found = []
    if row.old_block_id in seen:
        found.append(("old_block_id", f'expected each old id once, got "{row.old_block_id}" again'))
    seen.add(row.old_block_id)
    ranges = [("old_off", row.old_off), ("new_off", row.new_off)]
    ranges += [(f"new_parts[{number}].off", part.off) for number, part in enumerate(row.new_parts)]
    for name, off in ranges:
        if off is not None and not 0 <= off[0] < off[1]:
            found.append((name, f"expected [begin, end) with begin < end, got [{off[0]}, {off[1]}]"))
    if not 0 <= row.conf <= 1:
        found.append(("conf", f"expected a number from 0 to 1, got {row.conf}"))
    if row.move == "split":
        if len(row.new_parts) < 2:
            found.append(("new_parts", f"expected two or more parts, got {len(row.new_parts)}"))
    elif (row.move == "unmapped") == bool(row.targets) or row.new_parts:
        wanted = "no new block" if row.move == "unmapped" else "new_block_id and new_off"
        found.append(("move", f"expected {wanted} with {row.move}, got something else"))
    return found
