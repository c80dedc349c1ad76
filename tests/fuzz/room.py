"""The folder that a case runs in, and one command run there in this process."""

import contextlib
import io
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fuzz.edits import Files, Place
from ragworthy.cli import main as entry
from ragworthy.cli.arguments import parser

PRECIOUS = b"precious\n"


class Ending(NamedTuple):
    """How one command ended; `fault` tells what went wrong beside the exit code."""

    code: int
    out: str
    err: str
    fault: str = ""


Snapshot = dict[str, bytes]


class Room:
    """A folder `in` for the case, and beside it things that no case may touch."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        self.root = root.resolve()
        self.inside = self.root / "in"
        self.inside.mkdir()
        self._furnish()
        tempfile.tempdir = str(self.root / "tmp")
        os.environ["HOME"] = str(self.root / "home")
        self._around = self._seen(self.root, skip="in")

    def _furnish(self) -> None:
        """What stands around the case: files that must stay, and things that are not files."""
        for name in ("outside", "odd", "odd/folder", "tmp", "home"):
            (self.root / name).mkdir()
        for name in ("outside/precious.txt", "outside/bashrc", "odd/folder/notes.txt"):
            (self.root / name).write_bytes(PRECIOUS)
        os.mkfifo(self.root / "odd/fifo")
        (self.root / "odd/loop").symlink_to("loop")
        (self.root / "odd/away").symlink_to("../outside/precious.txt")
        (self.root / "odd/dangling").symlink_to("nothing")
        (self.root / "odd/zero").symlink_to("/dev/zero")

    def lay(self, files: Files) -> None:
        """An empty folder with these files in it."""
        self.clear()
        for name, data in files.items():
            path = self.inside / name
            if path.parent != self.inside:
                path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(data, bytes):
                path.write_bytes(data.replace(b"{ROOT}", bytes(self.root)) if b"{ROOT}" in data else data)
            else:
                _place(path, data)

    def clear(self) -> None:
        """Empty the case's folder."""
        with os.scandir(self.inside) as entries:
            for one in list(entries):
                _remove(Path(one.path))
        os.chdir(self.inside)

    def restore(self, before: Snapshot, after: Snapshot, files: Files) -> None:
        """As it was before a command that changed so much; a case that touched what it was given is laid again."""
        if any(after.get(name) != data for name, data in before.items()):
            self.lay(files)
            return
        for name in after.keys() - before.keys():
            path = self.inside / name
            path.unlink()
            parent = path.parent
            while parent != self.inside and not os.listdir(parent):
                parent.rmdir()
                parent = parent.parent

    def seen(self) -> Snapshot:
        """Every file of the case with its bytes."""
        return self._seen(self.inside)

    def disturbed(self) -> str:
        """What changed around the case's folder, which is then put right; empty when nothing did."""
        now = self._seen(self.root, skip="in")
        if now == self._around:
            return ""
        for path in self.root.iterdir():
            if path != self.inside:
                _remove(path)
        self._furnish()
        changed = sorted(name for name in now.keys() | self._around.keys() if now.get(name) != self._around.get(name))
        return f"changed outside the folder: {', '.join(changed)}"

    def _seen(self, top: Path, skip: str = "") -> Snapshot:
        found: Snapshot = {}
        start = str(top)
        for folder, folders, names in os.walk(start):
            if skip and folder == start:
                folders.remove(skip)
            folders.sort()
            for name in [*sorted(names), *(one for one in folders if os.path.islink(os.path.join(folder, one)))]:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, start)] = _content(path)
        return found


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _content(path: str) -> bytes:
    if os.path.islink(path):
        return b"link to " + os.readlink(path).encode()
    if not os.path.isfile(path):
        return b"not a file"
    with open(path, "rb") as file:
        return file.read()


def _place(path: Path, place: Place) -> None:
    if place.what == "fifo":
        os.mkfifo(path)
    elif place.what == "folder":
        path.mkdir()
    elif place.what == "link":
        path.symlink_to(place.target)


# a parser can be used many times; keeping all of them would fill the memory of whoever imports this
vars(entry)["parser"] = lru_cache(maxsize=16)(parser)


def run(args: list[str]) -> Ending:
    """The command in this process, with streams as the console script has them."""
    held = [io.BytesIO(), io.BytesIO()]
    streams = [io.TextIOWrapper(one, encoding="utf-8", errors="backslashreplace") for one in held]
    fault, code = "", -1
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            code = entry.main(args)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException as error:  # noqa: BLE001 - this is what the fuzzer looks for
            fault = f"raised {error!r}"
    for stream in streams:
        stream.flush()
    return Ending(code, held[0].getvalue().decode("utf-8"), held[1].getvalue().decode("utf-8"), fault)
