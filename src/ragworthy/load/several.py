"""Several files that are one input: the files of a folder, or those that a pattern names, in the order of their names.

An offset or a line of such an input says which file it is of, too: every file has a range of offsets to itself, and
the number of the file is above that of the line. So nothing has to be counted before a place is shown.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from ragworthy.errors import data_error
from ragworthy.files import files_of, sha256_of, shown_path
from ragworthy.load.lines import Block, Source

_LINES = 40
"""Lines of one file are numbered below 2 to the power of this."""


class Several(Source):
    """Files of records, read one after another."""

    @property
    def splits(self) -> bool:
        return True

    def __init__(self, role: str, path: Path, files: Sequence[Source]) -> None:
        super().__init__(role, shown_path(path), str(path))
        self.path = path
        self.files = files
        self.size = sum(one.size for one in files)
        self._begins = [0, *accumulate(one.size for one in files)]
        self._offsets = [0, *accumulate(one.span for one in files)]
        self._sha256: str | None = None

    @property
    def span(self) -> int:
        return self._offsets[-1]

    def parts(self) -> Sequence[Source]:
        return self.files

    def between(self, begin: int, end: int) -> Iterator[Block]:
        for nth, one, share in self._in(begin, end):
            for block in one.between(*share):
                yield Block(self._offsets[nth] + block.offset, block.data)

    def sha256(self) -> str:
        if self._sha256 is None:
            self._sha256 = sha256_of(self.path)
        return self._sha256

    def check_unchanged(self) -> None:
        for one in self.files:
            one.check_unchanged()
        if len(files_of(self.path) or ()) != len(self.files):
            raise data_error("RW-F16", "the files changed while they were being read", where=self.given)

    def shifts(self) -> list[tuple[int, int]]:
        """What is added to the offsets and to the line numbers of each file."""
        return [(self._offsets[nth], nth << _LINES) for nth in range(len(self.files))]

    # places

    def _nth(self, offset: int) -> int:
        """Which file an offset is of."""
        return min(bisect_right(self._offsets, offset), len(self.files)) - 1

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        nth = self._nth(offset)
        before = self._offsets[nth]
        return Block(offset, self.files[nth].block_at(offset - before, length, 0, 1).data)

    def lines_at(self, offsets: Iterable[int]) -> dict[int, int]:
        by_file: dict[int, list[int]] = {}
        for offset in offsets:
            by_file.setdefault(self._nth(offset), []).append(offset)
        found: dict[int, int] = {}
        for nth, some in by_file.items():
            before = self._offsets[nth]
            lines = self.files[nth].lines_at(one - before for one in some)
            found |= {offset + before: (nth << _LINES) + line for offset, line in lines.items()}
        return found

    def numbered_between(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        for nth, one, share in self._in(begin, end):
            for line, data in one.numbered_between(*share):
                yield (nth << _LINES) + line, data

    def _in(self, begin: int, end: int) -> Iterator[tuple[int, Source, tuple[int, int]]]:
        """The files that a range of bytes touches, each with the range of its own bytes."""
        for nth, one in enumerate(self.files):
            first = self._begins[nth]
            if one.size and begin < first + one.size and first < end:
                yield nth, one, (max(begin - first, 0), end - first)

    def at(self, line: int) -> str:
        return self._at(line).at(line & (1 << _LINES) - 1)

    def shown(self, line: int) -> str:
        return self._at(line).shown(line & (1 << _LINES) - 1)

    def line(self, line: int) -> str:
        return f"{line & (1 << _LINES) - 1} of {self._at(line).label}"

    def _at(self, line: int) -> Source:
        return self.files[line >> _LINES]
