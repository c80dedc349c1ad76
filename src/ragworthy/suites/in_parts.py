"""A suite whose files can be cut into parts."""

from ragworthy.suites.evidence import Evidence
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import read
from ragworthy.suites.protocol import Suite
from ragworthy.suites.request import Progress, Request


class InParts(Suite):
    """It says how a part is read and what comes of all of them (`reading`); who reads which part is decided here."""

    def read(self, opened: Opened, request: Request, progress: Progress | None) -> Evidence:
        """Records become cases: in this process, or in several."""
        return read(self.reading(opened, request), request, progress)
