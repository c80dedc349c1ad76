"""What an index was built of: its chunks and the texts they were cut from. Searching it is in `store`.

Nothing here needs NumPy: scoring against the chunks of an index works where only the core is installed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from ragworthy.errors import data_error, usage_error
from ragworthy.index import manifest as mf
from ragworthy.index.folder import Folder, open_folder
from ragworthy.index.manifest import CHUNKS, Manifest
from ragworthy.records import Chunk

Made = TypeVar("Made")


def open_contents(path: Path) -> "Contents":
    """The contents of the index in this folder, all of whose files are compared with the manifest."""
    folder = open_folder(path)
    folder.check(verify=True)
    return Contents(folder)


class Contents:
    """Chunks and documents of an index; each part is read when it is first needed, and then used only if it makes
    sense.
    """

    def __init__(self, folder: Folder, *, verify: bool = True) -> None:
        self.folder = folder
        self.root = folder.root
        self.manifest: Manifest = folder.manifest
        self._verify = verify

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Every chunk, in reading order; each has an id of its own, and bytes inside a document."""
        chunks, said = self.written_chunks, self.manifest.counts.chunks
        if len(chunks) != said:
            message = f"expected {said}, got {len(chunks)}"
            raise data_error("RW-I11", message, where=str(self.root / mf.NAME), field="counts.chunks")
        with self._as_built(CHUNKS):
            _check_chunks(chunks, {document.doc_id: document.bytes for document in self.manifest.documents})
        return chunks

    @cached_property
    def written_chunks(self) -> list[Chunk]:
        """The chunks as the file has them, sound or not."""
        return self._part(CHUNKS, msgspec.json.Decoder(Chunk).decode_lines)

    @cached_property
    def by_id(self) -> dict[str, Chunk]:
        """The chunks under their ids."""
        return {chunk.name: chunk for chunk in self.chunks}

    def canonical(self, doc_id: str) -> bytes:
        """The canonical text of a document."""
        file = self._canonical.get(doc_id)
        if file is None:
            raise usage_error(f'expected a document of the index, got "{doc_id}"')
        return self.folder.read(file, verify=self._verify)

    @cached_property
    def _canonical(self) -> dict[str, str]:
        return {document.doc_id: document.file for document in self.manifest.documents}

    def _part(self, name: str, make: Callable[[bytes], Made]) -> Made:
        """What `make` makes of a file."""
        data = self.folder.read(name, verify=self._verify)
        with self._as_built(name):
            return make(data)

    @contextmanager
    def _as_built(self, name: str) -> Iterator[None]:
        """Say of a file that makes no sense that it was altered."""
        try:
            yield
        except RecursionError:
            message = "JSON nested too deeply"
        except OSError as error:
            message = error.strerror or str(error)
        except (ValueError, msgspec.MsgspecError) as error:
            message = str(error)
        else:
            return
        raise data_error("RW-I02", f"expected a file as it was built, got: {message}", where=str(self.root / name))


def _check_chunks(chunks: Sequence[Chunk], lengths: Mapping[str, int]) -> None:
    """Refuse chunks that no build writes: each has an id of its own, and a range of bytes inside its document."""
    if not chunks:
        raise ValueError("no chunk")
    seen: set[str] = set()
    for line, chunk in enumerate(chunks, 1):
        if not chunk.name or chunk.name in seen:
            raise ValueError(f'a chunk without an id of its own in line {line}: "{chunk.name}"')
        seen.add(chunk.name)
        begin, end = chunk.offsets or (0, 0)
        if not 0 <= begin < end <= lengths.get(chunk.doc_id or "", 0):
            raise ValueError(f"a chunk without bytes of its document in line {line}")
