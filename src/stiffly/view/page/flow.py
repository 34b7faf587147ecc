"""How fast a browser is sent frames: as fast as it takes them, and always the newest.

Behind everything that is sent goes a ping, which is answered when all before it has been read; the
next is sent only then.  What becomes old meanwhile is replaced, not queued: viser keeps the last
value of each property for who has not got it yet.  Without this, the buffers of the system would
hold seconds of frames for a slow browser.
"""

from __future__ import annotations

import threading
import time
from typing import Any

IDLE = 1.0  # seconds between two frames that nobody watches: who comes then sees something at once
FRESH = 0.1  # weight of the newest in the mean


class Flow:
    """ready() before a frame; seconds: mean time from sending to having been read."""

    def __init__(self) -> None:
        self._busy: dict[Any, int] = {}  # by connection: what is on its way
        self._news = threading.Condition()
        self._last = 0.0
        self.seconds: float | None = None

    def pace(self, connection: Any) -> None:
        """From now on this connection (of websockets) waits for its pong after every message."""
        send = connection.send
        with self._news:
            self._busy[connection] = 0
            self._news.notify_all()

        async def paced(data: bytes) -> None:
            began = time.monotonic()
            self._count(connection, 1)
            try:
                await send(data)
                await (await connection.ping())
                self._took(time.monotonic() - began)
            finally:
                self._count(connection, -1)

        connection.send = paced

    def forget(self, connection: Any) -> None:
        with self._news:
            self._busy.pop(connection, None)

    def ready(self, timeout: float) -> bool:
        """True when somebody can take a frame; waits for that up to timeout [s]."""
        with self._news:
            if self._busy:
                return self._news.wait_for(lambda: 0 in self._busy.values(), timeout)
            if time.monotonic() - self._last < IDLE:
                self._news.wait(timeout)
                return False
            self._last = time.monotonic()
            return True

    def _count(self, connection: Any, change: int) -> None:
        with self._news:
            if connection in self._busy:
                self._busy[connection] += change
                self._news.notify_all()

    def _took(self, seconds: float) -> None:
        old = seconds if self.seconds is None else self.seconds
        self.seconds = old + FRESH * (seconds - old)
