"""What every page has: browsers of which one drives, panels, keys, and a thread that sends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .figures import Figures
from .guard import Flow, Guard
from .looks import Looks
from .plots import Notice, banner, clock, ledger
from .server import Server, log

SLOW = 0.2  # seconds between two updates of words and curves
WIDTH = 340  # pixels of the panels at both sides
NOTE = 4.0  # seconds that a note stays, and between two of the same kind
KEYS = "Keys: Space plays and pauses, S takes one frame, R goes back, F finds the body."


class Page:
    """Sends frames when browsers can take them, words every SLOW seconds.

    A page has `_frame(timeout)`, which sends the next frame if there is one, `_words()`, and
    `_begin()`, when the first browser has come: before, nobody would see time pass.
    _figures: what stands on it, _shown: the snapshot that was sent last.
    """

    _figures: Figures
    _shown: Any = None
    _looks: Looks
    _stale = False  # bodies are to be drawn anew, by the thread that sends
    _hint = ""

    def __init__(self, server: Server, host: str) -> None:
        self.server, self._viser = server, server.viser
        self._closing = threading.Event()
        self._flow = Flow()
        self.clients = Clients(self._viser, self._lets_go, self._hint, self._joined)
        Guard(server, host, self._flow, self.clients)
        gui = self._gui = self._viser.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.set_panel_label("stiffly")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDTH)
        panel = gui.add_panel()
        self._panel = panel
        self._numbers = panel.add_tab("Energy")
        panel.dock_left()
        panel.set_width(WIDTH)
        with self._numbers:  # away from the controls, which must not move under the pointer
            self._clock = gui.add_html("")
            self._banner = gui.add_html("")
            self._legend = gui.add_html("")
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

    def _joined(self, first: bool) -> None:
        """A browser has come, the first one of all or another."""
        if first:
            self._begin()

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

    def _redraw(self) -> None:
        self._stale = True

    def _find(self, client: Any) -> None:
        """Let a browser look at the body where it is now."""
        if self._shown is not None:
            self._figures.find(self._shown.lanes[0].positions, client)

    def _send(self, snapshot: Any) -> None:
        with self._viser.atomic():
            self._figures.show(snapshot)
        self._shown = snapshot
        self._viser.flush()

    def _say(self, notices: list[Notice], readings: Any = (), lanes: Sequence[Any] = ()) -> None:
        self._banner.content = banner(notices)
        if lanes:
            self._clock.content = clock(readings)
            self._ledger.content = ledger(lanes)
            clients = self._viser.get_clients().values()
            self._looks.go_after(self._figures, lanes, [] if self._pulling else list(clients))
        set_content(self._legend, self._figures.legend)

    @property
    def _pulling(self) -> bool:
        """A camera that moved now would move the hand."""
        return False

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


# ------------------------------------------------------------------ who drives


@dataclass
class Seat:
    """What one browser shows about itself."""

    client: Any
    line: Any
    button: Any
    told: float = 0.0


class Clients:
    """The first comer drives, and whoever takes the wheel; who leaves hands it to the next.

    on_loss: called with the number of a browser that went away, or lost the wheel.
    hint: what the driver can do.  on_join(first): called when one has come, which may be the
    first of all.
    """

    def __init__(
        self,
        viser: Any,
        on_loss: Callable[[int], None],
        hint: str = "",
        on_join: Callable[[bool], None] = lambda first: None,
    ) -> None:
        self._on_loss, self._hint, self._on_join, self._any = on_loss, hint, on_join, False
        self._seats: dict[int, Seat] = {}
        self._lock = threading.RLock()
        self.driver: int | None = None
        viser.on_client_connect(self._joins)
        viser.on_client_disconnect(self._leaves)

    def drives(self, client_id: int) -> bool:
        return client_id == self.driver

    def __len__(self) -> int:
        return len(self._seats)

    async def _joins(self, client: Any) -> None:
        line = client.gui.add_html("", order=-2.0)
        button = client.gui.add_button("Take the wheel", order=-1.0, visible=False)

        @button.on_click
        async def take(event: Any) -> None:
            self.give(event.client_id)

        with self._lock:
            self._seats[client.client_id] = Seat(client, line, button)
            if self.driver is None:
                self.driver = client.client_id
            first, self._any = not self._any, True
        self._show()
        self._on_join(first)

    async def _leaves(self, client: Any) -> None:
        with self._lock:
            self._seats.pop(client.client_id, None)
            if self.driver == client.client_id:
                self.driver = next(iter(self._seats), None)
        self._show()
        self._on_loss(client.client_id)

    def give(self, client_id: int) -> None:
        """This browser drives from now on."""
        with self._lock:
            if client_id not in self._seats or client_id == self.driver:
                return
            before, self.driver = self.driver, client_id
        self._show()
        if before is not None:
            self._on_loss(before)

    def _show(self) -> None:
        with self._lock:
            for number, seat in self._seats.items():
                drives = number == self.driver
                text, others = "You watch: another browser drives.", len(self._seats) - 1
                if drives:
                    text = f"You drive. {self._hint} {KEYS}"
                    if others:
                        text += f" {others} more {'watch' if others > 1 else 'watches'}."
                with _perhaps_gone(seat.client):
                    seat.line.content = _small(text)
                    seat.button.visible = not drives

    # ------------------------------------------------------------------ notes

    def refuse(self, client_id: int) -> None:
        """A watcher has turned a control: nothing happened, and a note says why."""
        seat = self._seats.get(client_id)
        now = time.monotonic()
        if seat is not None and now - seat.told > NOTE:
            seat.told = now
            self.tell("Another browser drives", "Press 'Take the wheel' first.", to=client_id)

    def tell(self, title: str, text: str, *, to: int | None = None, bad: bool = False) -> None:
        """A note that goes away by itself, for one browser or for all."""
        with self._lock:
            seats = [s for n, s in self._seats.items() if to is None or n == to]
        for seat in seats:
            with _perhaps_gone(seat.client):
                seat.client.add_notification(
                    title, text, auto_close_seconds=2.0 * NOTE if bad else NOTE,
                    color="red" if bad else None,
                )  # fmt: skip


def _perhaps_gone(client: Any) -> Any:
    """What is sent to a browser that has just left is nothing to warn of."""
    return client._websock_connection.get_message_buffer().sanctioned_dead_writes()


def set_content(handle: Any, text: str) -> None:
    """Only where it is another one."""
    if handle.content != text:
        handle.content = text


def _small(text: str) -> str:
    style = "font-size:0.85em;opacity:0.75;padding:0 1.4em 0.3em 0.6em"
    return f'<div style="{style}">{escape(text)}</div>'
