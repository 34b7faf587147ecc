"""How the page shows what there is: colours, and a camera that goes after the bodies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .controls import listen
from .paint import PLAIN, Paint, kinds

STILL = 0.5  # seconds since a camera has moved last: who is turning it is left alone


class Looks:
    """Controls of the view.  on_paint(): bodies are to be drawn in other colours."""

    def __init__(self, gui: Any, mesh: Any, on_paint: Callable[[], None]) -> None:
        self._mesh = mesh
        self._seen: dict[int, Any] = {}  # by browser
        with gui.add_folder("View"):
            hint = "What the colour of a body says. Its scale is at the left."
            self.colour = gui.add_dropdown("Colour by", kinds(mesh), hint=hint)
            hint = "The camera goes after bodies that leave the picture. Key F looks for them once."
            self.follow = gui.add_checkbox("Follow", True, hint=hint)
        listen(self.colour, lambda _: on_paint())

    def paint(self, mesh: Any) -> Paint | None:
        """For bodies with that mesh."""
        if mesh is not self._mesh:
            self._mesh = mesh
            self.colour.options = kinds(mesh)
        return None if self.colour.value == PLAIN else Paint(self.colour.value, mesh)

    def go_after(self, figures: Any, lanes: Any, clients: Any) -> None:
        """Where it is wanted, with cameras that nobody is turning."""
        now = self._seen if self.follow.value else {}
        self._seen = {client.client_id: now.get(client.client_id) for client in clients}
        for client in clients if self.follow.value else ():
            if time.time() - client.camera.update_timestamp > STILL:
                number = client.client_id
                self._seen[number] = figures.follow(lanes, client, self._seen[number])
