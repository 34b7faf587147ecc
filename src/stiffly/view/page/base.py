"""What every page has: clients, panels at both sides, keys, and a thread that sends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .clients import Clients
from .figures import Figures
from .flow import Flow
from .guard import Guard
from .server import Server, log

SLOW = 0.2  # seconds between two updates of words and curves
WIDTH = 340  # pixels of the panels at both sides


class Page:
    """Sends frames when browsers can take them, words every SLOW seconds.

    A page has `_frame(timeout)`, which sends the next frame if there is one, `_words()`, and
    `_begin()`, when the first browser has come: before, nobody would see time pass.
    _figures: what stands on it, _shown: the snapshot that was sent last.
    """

    _figures: Figures
    _shown: Any = None
    _hint = ""

    def __init__(self, server: Server, host: str) -> None:
        self.server, self._viser = server, server.viser
        self._closing = threading.Event()
        self._flow = Flow()
        self.clients = Clients(self._viser, self._lets_go, self._hint, self._begin)
        Guard(server, host, self._flow, self.clients.drives, self.clients.refuse)
        gui = self._gui = self._viser.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.set_panel_label("stiffly")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDTH)
        panel = gui.add_panel()
        self._numbers = panel.add_tab("Energy")
        panel.dock_left()
        panel.set_width(WIDTH)
        with self._numbers:  # away from the controls, which must not move under the pointer
            self._clock = gui.add_html("")
            self._banner = gui.add_html("")
            self._ledger = gui.add_html("")
        self._key("Find the body", "F", self._find, everybody=True)
        self._thread = threading.Thread(target=self._run, name="stiffly-page", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends what it started; the server stays."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    def _begin(self) -> None:
        raise NotImplementedError

    def _lets_go(self, client_id: int) -> None:
        """A browser went away, or lost the wheel."""

    def _key(
        self, label: str, key: Any, act: Callable[[Any], None], *, everybody: bool = False
    ) -> None:
        """act(client) when a browser presses it; everybody: not only the one that drives."""

        async def pressed(event: Any) -> None:
            if everybody or self.clients.drives(event.client_id):
                act(event.client)
            else:
                self.clients.refuse(event.client_id)

        self._gui.add_command(label, hotkey=key).on_trigger(pressed)

    def _find(self, client: Any) -> None:
        """Let a browser look at the body where it is now."""
        if self._shown is not None:
            self._figures.find(self._shown.lanes[0].positions, client)

    def _run(self) -> None:
        due = 0.0
        while not self._closing.is_set():
            try:
                self._frame(0.1)
                if time.monotonic() >= due:
                    due = time.monotonic() + SLOW
                    with self._viser.atomic():
                        self._words()
            except Exception:
                if self._closing.is_set():
                    return
                log.exception("the page could not be brought up to date")
                self._closing.wait(1.0)

    def _frame(self, timeout: float) -> None:
        raise NotImplementedError

    def _words(self) -> None:
        raise NotImplementedError
