"""What was received and is not yet read: files of lines, in a folder beside the state. Who sent it is told that it is
here only when it is; whoever is killed goes on with it.
"""

import os
import threading
import time
from pathlib import Path

from ragworthy.load.sources import Block
from ragworthy.monitor.logs import READ, Log

SEGMENT = 16 << 20
"""A file of it is so large at most, and one line more."""
MOST = 1 << 30
"""So many bytes may wait; after that senders are asked to wait themselves."""


class Spool:
    """Lines are appended by the listener, in the order in which they come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._starts = sorted(int(path.stem) for path in folder.glob("*.jsonl"))
        self._read = self._starts[0] if self._starts else 0
        if not self._starts:
            self._starts = [0]
            self._path(0).touch()
        self._mend()
        self.end = self._starts[-1] + self._path(self._starts[-1]).stat().st_size
        """How many bytes were ever received."""
        self._file = self._path(self._starts[-1]).open("ab")

    def _path(self, start: int) -> Path:
        return self.folder / f"{start:018d}.jsonl"

    def _mend(self) -> None:
        """Cut off a line that was never ended: whoever sent it was not told that it is here."""
        path = self._path(self._starts[-1])
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)

    def append(self, line: bytes) -> bool:
        """Keep a line, which ends with a line end; whether there was room."""
        with self._lock:
            if self.end - self._read > MOST:
                return False
            if self.end - self._starts[-1] >= SEGMENT:
                self._file.close()
                self._starts.append(self.end)
                self._file = self._path(self.end).open("ab")
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.end += len(line)
            return True

    def at(self, offset: int) -> tuple[Path, int]:
        """The file that holds a place, and where it begins."""
        with self._lock:
            start = max((one for one in self._starts if one <= offset), default=self._starts[0])
            return self._path(start), start

    def done(self, offset: int) -> None:
        """What is before a place was read, and that is kept: files that end there go."""
        with self._lock:
            self._read = max(self._read, offset)
            while len(self._starts) > 1 and self._starts[1] <= offset:
                self._path(self._starts.pop(0)).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._file.close()


class SpoolLog(Log):
    """The spool as a log that never ends, whatever file of it is read."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(spool.folder, whole=False)
        self._spool = spool
        self._seen = time.time()
        self._size = -1

    def size(self) -> int:
        """How many bytes were ever received."""
        return self._spool.end

    def age(self) -> float:
        """Seconds since something was received."""
        if self._size != self._spool.end:
            self._size, self._seen = self._spool.end, time.time()
        return time.time() - self._seen

    def is_at(self, path: Path) -> bool:
        """It stays where it is."""
        return True

    def read(self) -> Block | None:
        """The next lines."""
        end = self._spool.end  # what is behind it is still being written
        if self.offset >= end:
            return None
        path, start = self._spool.at(self.offset)
        with path.open("rb") as file:
            size = READ
            while True:
                file.seek(self.offset - start)
                data = file.read(min(size, end - self.offset))
                cut = data.rfind(b"\n") + 1
                if cut or len(data) < size:
                    break
                size *= 4
        if not cut:
            return None
        block = Block(self.offset, data[:cut])
        self.offset += cut
        return block
