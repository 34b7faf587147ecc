"""A recording on the page: a time slider, play and pause, its energies."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..playback import Playback
from .base import Page
from .controls import PAUSE, PLAY, STEP, Decades, listen
from .figures import Figures
from .looks import Looks
from .plots import (
    FIRST,
    RED,
    Chart,
    Notice,
    Shelf,
    energy_curves,
    from_start,
    seconds,
)
from .server import Server

FRAMES = 30.0  # per second, at most
BACK = "To the start"
FOLLOW = 0.6  # seconds after which the slider follows again, when a hand has moved it
MOST = 600  # points of a curve
SPEEDS = {-3.0: "1/1000", 0.0: "own", 2.0: "100"}


class PlayPage(Page):
    """Only watching: nothing is computed, nothing can be pulled."""

    _hint = "Turn the view with the mouse."

    def __init__(self, server: Server, host: str, playback: Playback) -> None:
        self._playback = playback
        super().__init__(server, host)  # from here on browsers may come
        self._touched, self._drawn = 0.0, -1
        recording = playback.recording
        self._add_controls()
        self._looks = Looks(self._gui, recording.mesh, self._redraw)
        self._draw_bodies()
        self._figures.look()
        shelf, parts = Shelf(self._gui, self._numbers), list(recording.energy.parts)
        self._energy = Chart(shelf, "energy", "J", energy_curves(parts), FIRST)
        self._error = Chart(shelf, "numerical error", "J", [("numerical", RED)], FIRST + 1)
        self._draw_charts()
        self._key(
            "Play or pause", "space", lambda _: self._pressed(PAUSE if playback.playing else PLAY)
        )
        self._key("Single step", "S", lambda _: playback.single())
        self._key("To the start", "R", lambda _: playback.seek(0))

    def close(self) -> None:
        super().close()
        self._playback.close()

    def _begin(self) -> None:
        self._playback.play()

    def _draw_bodies(self) -> None:
        recording = self._playback.recording
        held = np.empty(0, int) if recording.mass is None else np.flatnonzero(recording.mass == 0.0)
        names, paint = [recording.integrator], self._looks.paint(recording.mesh)
        self._figures = Figures(self._viser, self._playback.shown, held, names, paint)
        self._stale, self._drawn = False, -1  # what is due comes again

    def _add_controls(self) -> None:
        gui, last = self._gui, max(len(self._playback) - 1, 1)
        hint = "Run, hold, go on by one frame, begin again. Keys: Space, S, R."
        self.time = gui.add_button_group("Time", (PLAY, PAUSE, STEP, BACK), hint=hint)
        listen(self.time, self._pressed)
        self.slider = gui.add_slider("Frame", 0, last, 1, 0, hint="Drag it to any moment.")
        listen(self.slider, self._moved)
        self.loop = gui.add_checkbox("Loop", False, hint="From the end it begins again.")
        listen(self.loop, self._playback.set_loop)
        hint = "How fast time runs; ×1 is real time."
        self.speed = Decades(gui, "Speed ×", SPEEDS, hint, self._playback.set_speed)
        self.speed.show(self._playback.speed, self._playback.speed)

    def _pressed(self, word: str) -> None:
        playback = self._playback
        acts = {PLAY: playback.play, PAUSE: playback.pause, STEP: playback.single}
        acts.get(word, lambda: playback.seek(0))()

    def _moved(self, value: Any) -> None:
        self._touched = time.monotonic()
        self._playback.seek(int(value))

    def _draw_charts(self) -> None:
        energy = self._playback.recording.energy
        stride = slice(None, None, 1 + len(energy.times) // MOST)
        columns = [from_start(name, part) for name, part in energy.parts.items()]
        columns += [energy.added, energy.dissipated]
        self._energy.show(energy.times[stride], [c[stride] for c in columns])
        self._error.show(energy.times[stride], [energy.numerical[stride]])

    # ------------------------------------------------------------------ frames and words

    def _frame(self, timeout: float) -> None:
        if self._stale:
            self._draw_bodies()
        index = self._playback.index()
        if index == self._drawn or not self._flow.ready(timeout):
            self._closing.wait(1.0 / FRAMES)
            return
        self._drawn = index
        snapshot = self._playback.snapshot(index)
        if snapshot is None:
            self._playback.pause()
            return
        self._send(snapshot)
        self._closing.wait(1.0 / FRAMES)

    def _words(self) -> None:
        if self._playback.look_again():
            self.slider.max = max(len(self._playback) - 1, 1)
            self._draw_charts()
        if time.monotonic() - self._touched > FOLLOW:
            self.slider.value = max(self._drawn, 0)
        if self._shown is None:
            self._say(self._notices())
        else:
            self._say(self._notices(), self._readings(), self._shown.lanes)

    def _notices(self) -> list[Notice]:
        playback = self._playback
        recording, found = playback.recording, []
        if playback.trouble is not None:
            found.append(Notice("bad", playback.trouble))
        elif recording.failure is not None:
            found.append(Notice("warn", f"it stopped early: {recording.failure}"))
        elif playback.grows:
            there = f"{len(playback)} of {recording.of_frames} frames are there"
            found.append(Notice("note", f"not complete: {there}; more are shown as they come"))
        return found

    def _readings(self) -> list[tuple[str, str]]:
        playback = self._playback
        state = "playing" if playback.playing else "paused"
        end = float(playback.times[-1])
        found = [("t", f"{seconds(self._shown.t)} of {seconds(end)} s"), ("", state)]
        if playback.speed != 1.0:
            found.append(("speed", f"{playback.speed:.2g}"))
        return [("", playback.recording.name), *found]
