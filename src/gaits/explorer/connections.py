"""How many connections there are at once, so that one client cannot keep others out.

A connection that says nothing costs nothing to whoever opened it. Beyond a cap, the one that has been idle longest gives
way; a request that does not arrive whole in time is dropped.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
MAX_HEADER_SECONDS = 10.0


class Connection(H11Protocol):
    """A connection that gives way to newer ones when it is idle and there are too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(MAX_HEADER_SECONDS, self._expect_a_request)
        others: list[Any] = [one for one in self.connections if one is not self]
        if len(others) >= MAX_CONNECTIONS:
            min(others, key=lambda one: (one.busy, one.since)).transport.abort()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_a_request(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self.busy:
            self.since = self.loop.time()
        super().data_received(data)
