"""Connections that do not wait for ever: whoever begins a request has to end its head in time."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds from a connection, or the first byte of a request, to the end of its head."""


class Patient(H11Protocol):
    """A connection; those on which no request comes are closed, so that they take nobody's place."""

    late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head; a whole one is a request, and the door looks after its body."""
        self._wait()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self.late is None:
            self.late = self.loop.call_later(PATIENCE, self._give_up)

    def _stop(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None

    def _give_up(self) -> None:
        self.late = None
        self.transport.close()
