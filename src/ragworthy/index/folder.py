"""The folder of an index: found, compared with its manifest, read file by file.

Nothing here needs NumPy, so that whoever wants only the chunks does not load it.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import DataError, data_error
from ragworthy.files import sha256_of
from ragworthy.index import manifest as mf
from ragworthy.index import swap
from ragworthy.safe import tell

Say = Callable[[str], object]


def print_note(note: str) -> None:
    """Tell the person at the terminal."""
    tell(f"note: {note}")


class Folder(NamedTuple):
    """Where an index lies, its manifest, and the hash of the manifest."""

    root: Path
    manifest: mf.Manifest
    sha256: str

    def read(self, name: str, *, verify: bool = True) -> bytes:
        """The bytes of a file; with `verify` these very bytes have the hash that the manifest gives."""
        self.check_size(name)
        path = self.root / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _unreadable(path, error) from None
        if verify:
            self.check_hash(name, hashlib.sha256(data).hexdigest())
        return data

    def check(self, *, verify: bool) -> None:
        """Raise unless every file is there with its size and, with `verify`, its hash."""
        for name in self.manifest.files:
            self.check_size(name)
            if verify:
                self.check_hash(name, sha256_of(self.root / name))

    def check_size(self, name: str) -> None:
        """Raise unless the file is there, with as many bytes as the manifest says."""
        path, said = self.root / name, self.manifest.files[name].bytes
        try:
            if not path.is_file():
                raise data_error("RW-I02", "expected a file, got nothing at this path", where=str(path))
            size = path.stat().st_size
        except OSError as error:
            raise _unreadable(path, error) from None
        if size != said:
            raise data_error("RW-I02", f"expected {said} bytes, got {size}", where=str(path))

    def check_hash(self, name: str, actual: str) -> None:
        """Raise unless this is the hash that the manifest gives for the file."""
        said = self.manifest.files[name].sha256
        if actual != said:
            message = f"expected SHA-256 {said[:12]}…, got {actual[:12]}…"
            raise data_error("RW-I02", message, where=str(self.root / name))


def _unreadable(path: Path, error: OSError) -> DataError:
    return data_error("RW-I02", f"expected a readable file, got: {error.strerror or error}", where=str(path))


def open_folder(path: Path, say: Say = print_note) -> Folder:
    """The index at this path, its manifest read and nothing else.

    Where a build was killed while it exchanged the folders, this is the index that stood there before, and `say` is
    told so.
    """
    home, where = swap.standing(path), str(path)
    try:
        there, folder, manifest = home.exists(), home.is_dir(), (home / mf.NAME).is_file()
    except OSError as error:
        raise data_error("RW-I01", f"expected an index, got: {error.strerror or error}", where=where) from None
    if not there:
        raise data_error("RW-I01", "expected an index, got nothing at this path", where=where)
    if not folder:
        raise data_error("RW-I01", "expected an index, got a file", where=where)
    if not manifest:
        raise data_error("RW-I01", f"expected an index, got a folder without {mf.NAME}", where=where)
    data = mf.data_of(home / mf.NAME)
    found = Folder(home, mf.decode(data, home / mf.NAME), hashlib.sha256(data).hexdigest())
    if home != path:
        say(f"{path} is away: a build was cut off, or is just ending; read instead what it replaces, {home}")
    return found
