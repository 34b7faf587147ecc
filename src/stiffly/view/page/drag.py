"""The hand of a browser on the page: what it reports becomes orders to a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...contracts import Array
from .place import Place


class Drag:
    """Turns what a browser reports into grab, drag and drop of a worker's stage.

    Only the browser that drives may pull, one pull at a time; `seen` gives the positions (N, 3) of
    a lane as that browser sees them.
    """

    def __init__(self, clients: Any, hand: Any) -> None:
        self._clients, self._hand = clients, hand
        self._by: int | None = None
        self._start = np.zeros(3)

    @property
    def busy(self) -> bool:
        return self._by is not None

    def listen(self, node: Any, lane: int, place: Place, seen: Callable[[int], Array]) -> None:
        @node.on_drag("left")
        async def dragged(event: Any) -> None:
            if event.phase == "start":
                self._begin(event, lane, place, seen)
            elif self._by == event.client_id and event.phase == "update":
                self._go_on(event, place)
            elif self._by == event.client_id and event.phase == "end":
                self.drop()

    def _begin(self, event: Any, lane: int, place: Place, seen: Callable[[int], Array]) -> None:
        if not self._clients.drives(event.client_id):
            return self._clients.refuse(event.client_id)
        start = np.asarray(event.start_position, dtype=np.float64)
        if not np.isfinite(start).all():
            return
        self._by, self._start = event.client_id, start
        far = seen(lane).astype(np.float64) - place.in_scene(start, lane)
        self._hand.grab(int(np.einsum("ij,ij->i", far, far).argmin()))

    def _go_on(self, event: Any, place: Place) -> None:
        if not self._clients.drives(event.client_id):
            return self.drop()
        shift = np.asarray(event.end_position, dtype=np.float64) - self._start
        if np.isfinite(shift).all():
            self._hand.drag(place.vector(shift))

    def drop(self) -> None:
        """Let go, whoever pulls."""
        if self._by is not None:
            self._by = None
            self._hand.drop()

    def lets_go(self, client_id: int) -> None:
        """A browser that went away, or drives no longer, holds nothing."""
        if self._by == client_id:
            self.drop()
