"""A data set of BEIR: a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.csv import decoded
from ragworthy.adapters.model import Adapter, Imported, Option, Record, Skip, stamp
from ragworthy.adapters.objects import Row, read_objects
from ragworthy.errors import data_error
from ragworthy.files import sha256_of
from ragworthy.text import clip, compiled


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """The queries that one split judges, and every document."""
    if len(paths) > 1:
        raise data_error("RW-A03", f"expected one folder, got {len(paths)}", where=str(paths[1]))
    folder = paths[0]
    if not folder.is_dir():
        raise data_error("RW-A03", "expected a folder with corpus.jsonl, queries.jsonl and qrels", where=str(folder))
    split = _split(folder, options["split"])
    texts = dict(_texts(folder, "queries.jsonl"))
    if not texts:
        raise data_error("RW-F04", "expected queries, got none", where=str(_file(folder, "queries.jsonl")))
    judged = _judgements(split)
    sha256 = sha256_of(split)
    gold: list[Record] = []
    skipped: list[Skip] = []
    for qid, (line, grades) in judged.items():
        if qid not in texts:
            skipped.append(Skip(f"{split.name}:{line}", "judged, and not in queries.jsonl"))
        else:
            gold.append(_gold(qid, texts[qid], grades) | {"imported": stamp("beir", sha256, line)})
    chunks, notes = _documents(folder)
    there = {chunk["chunk_id"] for chunk in chunks}
    if chunks and (gone := sum(one not in there for _, grades in judged.values() for one in grades)):
        notes.append(f"{gone} judged documents are not in corpus.jsonl")
    if unjudged := len(texts.keys() - judged.keys()):
        notes.append(f"{unjudged} queries of queries.jsonl are not judged in {split.name}")
    if others := [path.stem for path in _splits(folder) if path != split]:
        notes.append(
            f"not read: the judgements of {', '.join(others)}; --split {others[0]} reads them instead of {split.stem}"
        )
    told = (f"{folder}: {split.relative_to(folder)}, {len(texts)} queries, {len(chunks)} documents",)
    return Imported(gold, [], chunks, len(judged), "query", skipped, notes, told, "retrieval")


def _gold(qid: str, text: str, grades: Mapping[str, int]) -> Record:
    best = dict(sorted(grades.items(), key=lambda one: (-one[1], one[0])))
    relevant = [one for one, grade in best.items() if grade > 0]
    return {
        "qid": qid,
        "question": text,
        "paraphrases": [text],
        "relevant": relevant,
        "anchor_section": "",
        "negatives": [one for one, grade in best.items() if grade <= 0],
        "grades": {one: best[one] for one in relevant},
        **({} if relevant else {"answerable": False}),
    }


def _file(folder: Path, name: str) -> Path:
    """A file of the folder, packed or not."""
    return next(
        (path for suffix in ("", ".gz", ".zst") if (path := folder / f"{name}{suffix}").exists()), folder / name
    )


def _splits(folder: Path) -> list[Path]:
    """The judgements of every split."""
    return sorted((folder / "qrels").glob("*.tsv")) or sorted(folder.glob("*.tsv"))


def _split(folder: Path, asked: str | None) -> Path:
    """The judgements of one split: the one asked for, or `test`, or the only one."""
    there = _splits(folder)
    if not there:
        raise data_error("RW-A03", "expected judgements in qrels/*.tsv, got none", where=str(folder))
    names = [path.stem for path in there]
    wanted = asked or ("test" if "test" in names else names[0] if len(names) == 1 else "")
    if wanted not in names:
        listed = ", ".join(names)
        got = f'"{asked}"' if asked else "several: say which with --split"
        raise data_error("RW-A03", f"expected a split ({listed}), got {got}", where=str(folder), field="--split")
    return there[names.index(wanted)]


def _judgements(path: Path) -> dict[str, tuple[int, dict[str, int]]]:
    """The grades of each query's documents, and the line of the first."""
    text = decoded(path, "utf-8")
    judged: dict[str, tuple[int, dict[str, int]]] = {}
    for line, row in enumerate(text.splitlines(), 1):
        cells = row.split("\t")
        if not row.strip() or (line == 1 and cells[-1].strip() == "score"):
            continue
        if len(cells) != 3 or not compiled(r"-?[0-9]{1,9}").fullmatch(cells[2].strip()):
            message = f"expected a query, a document and a grade with tabs between them, got {clip(row, 60)}"
            raise data_error("RW-A03", message, where=f"{path}:{line}")
        judged.setdefault(cells[0], (line, {}))[1][cells[1]] = int(cells[2])
    if not judged:
        raise data_error("RW-F04", "expected judgements, got none", where=str(path))
    return judged


def _texts(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    path = _file(folder, name)
    for row in read_objects(path).rows:
        yield _id(row, path), str(row.value.get("text") or "").strip()


def _id(row: Row, path: Path) -> str:
    name = row.value.get("_id")
    if not isinstance(name, str | int) or name == "":
        raise data_error("RW-A03", "expected an id, got none", where=f"{path}:{row.at}", field="_id")
    return str(name)


def _documents(folder: Path) -> tuple[list[Record], list[str]]:
    """Every document as a chunk, its title before its text, as BEIR's own retrievers read it."""
    path = _file(folder, "corpus.jsonl")
    if not path.exists():
        return [], ["corpus.jsonl is not there: no chunks"]
    chunks: list[Record] = []
    empty = 0
    for row in read_objects(path).rows:
        name, title, text = _id(row, path), str(row.value.get("title") or ""), str(row.value.get("text") or "")
        whole = "\n\n".join(piece for piece in (title, text) if piece.strip())
        if not whole:
            empty += 1
            continue
        chunks.append({"chunk_id": name, "doc_id": name, "title": title, "text": whole})
    return chunks, [f"{empty} documents have no text and are left out"] if empty else []


ADAPTER = Adapter(
    "beir",
    "a data set of BEIR (a folder): documents, queries, judgements",
    ("gold", "chunks"),
    (Option("--split", "which judgements: qrels/SPLIT.tsv (default: test)", "SPLIT"),),
    read,
    inputs="DIR",
)
