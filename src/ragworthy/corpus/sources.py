"""Where documents come from: a folder, one file, or JSON lines with documents or blocks."""

import os
from pathlib import Path, PurePosixPath

from ragworthy import ids
from ragworthy.corpus.blocks import LARGEST, block_record, file_name, grouped, is_block
from ragworthy.corpus.model import BlockRecord, SourceDocument
from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import check_readable, read_bytes
from ragworthy.load.chunks import read_lines
from ragworthy.text import described

KINDS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".txt": "text"}
LINE_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


def read_documents(path: Path) -> list[SourceDocument]:
    """The documents of a folder (in natural order of their paths), of one file, or of a file with JSON lines."""
    problems: list[Problem] = []
    if path.is_dir():
        found = _folder(path, problems)
    elif path.name.lower().endswith(LINE_SUFFIXES):
        found = _lines(path, problems)
    else:
        found = _file(path, path.name, problems)
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    if all(document.kind == "skipped" for document in found):
        raise data_error("RW-D03", "expected documents, got none", where=str(path))
    return found


def kind_of(path: str) -> str | None:
    """The format that a path's suffix names.

    >>> kind_of("a/B.MD"), kind_of("a/b.pdf")
    ('markdown', None)
    """
    return KINDS.get(PurePosixPath(path).suffix.lower())


def _folder(root: Path, problems: list[Problem]) -> list[SourceDocument]:
    """Every file below a folder; hidden ones are skipped, links are followed only within the folder."""
    inside = os.path.realpath(root)
    paths: list[str] = []

    def unreadable(error: OSError) -> None:
        problems.append(Problem("RW-F03", f"expected a readable folder, got: {error.strerror}", str(error.filename)))

    for folder, folders, files in os.walk(root, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        here = Path(folder)
        paths += [(here / name).relative_to(root).as_posix() for name in files if not name.startswith(".")]
    found: list[SourceDocument] = []
    for relative in sorted(paths, key=ids.natural):
        path = root / relative
        if not Path(os.path.realpath(path)).is_relative_to(inside):
            found.append(_skipped(path, relative, "a link that leads out of the folder"))
        elif not path.is_file():
            found.append(_skipped(path, relative, "not a file"))
        elif relative.lower().endswith(LINE_SUFFIXES):
            found += _lines(path, problems)
        else:
            found += _file(path, relative, problems)
    return found


def _skipped(path: Path, doc_id: str, reason: str) -> SourceDocument:
    return SourceDocument(doc_id, doc_id, "skipped", text=reason, where=str(path))


def _file(path: Path, doc_id: str, problems: list[Problem]) -> list[SourceDocument]:
    """One document from one file; none where it cannot be used."""
    check_readable(path)
    kind, where = kind_of(doc_id), str(path)
    if kind is None:
        suffix = PurePosixPath(doc_id).suffix or "no suffix"
        return [_skipped(path, doc_id, f"{suffix} is not read")]
    size = path.stat().st_size
    if size > LARGEST:
        problems.append(Problem("RW-D04", f"expected at most {LARGEST:,} bytes, got {size:,}", where))
        return []
    try:
        text = read_bytes(path, limit=LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        problems.append(Problem("RW-D01", message, where))
        return []
    if "\0" in text:
        message = f"expected text, got a NUL byte at offset {len(text[: text.index(chr(0))].encode())}"
        problems.append(Problem("RW-D01", message, where))
        return []
    return [SourceDocument(doc_id, doc_id, kind, text, where=where)]


def _lines(path: Path, problems: list[Problem]) -> list[SourceDocument]:
    """The documents of a file with JSON lines: {path, text} records, and blocks by the document they belong to."""
    documents: list[SourceDocument] = []
    blocks: list[BlockRecord] = []
    for line in read_lines(path, problems):
        if is_block(line.record):
            block = block_record(line, file_name(str(path)), problems)
            if block:
                blocks.append(block)
            continue
        document = _document(line.where, line.record, problems)
        if document:
            documents.append(document)
    return documents + grouped(blocks)


def _document(where: str, record: dict[str, object], problems: list[Problem]) -> SourceDocument | None:
    """The document of a {path, text} record; a suffix that is not known means plain text."""
    name, text = record.get("path"), record.get("text")
    for field, value in (("path", name), ("text", text)):
        if not isinstance(value, str):
            got = described(value) if field in record else "nothing"
            problems.append(Problem("RW-D05", f"expected a string, got {got}", where, field))
    if not isinstance(name, str) or not isinstance(text, str):
        return None
    size = len(text.encode())
    if "\0" in text:
        problems.append(Problem("RW-D01", "expected text, got a NUL character", where, "text"))
    elif size > LARGEST:
        problems.append(Problem("RW-D04", f"expected at most {LARGEST:,} bytes, got {size:,}", where, "text"))
    else:
        return SourceDocument(name, name, kind_of(name) or "text", text, where=where)
    return None
