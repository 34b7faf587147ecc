"""A simulation on the page: what is turned becomes orders to its worker, what it computes is
shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from ...errors import InputError, unknown_name
from ...integrators import entries, options, variants
from ...recording.words import percent
from ...scenes import NAMES as SCENES
from ...scenes import Scene, load
from ...scenes.adjust import adjustable
from ..lessons import Lesson
from ..lessons import Page as LessonPage
from ..link import Wish, command, query
from ..settings import Settings
from ..stage import Stage
from ..worker import Worker
from .base import Page, set_content
from .controls import PAUSE, PLAY, RESET, STEP, Controls
from .drag import Drag
from .figures import Figures, pins, still
from .gallery import Gallery
from .looks import Looks
from .plots import Notice, Plots, seconds
from .save import Saver
from .server import Server, log
from .teach import Teacher

TAKEN = 0.08  # seconds between two points of a curve
PATIENCE = 5.0  # seconds for the step that a worker is in when the page is closed
LATE = 0.93  # of real time: below, the page says so

FLAT = ("oscillator-pair", "fput")  # scenes that have no body in space


class LivePage(Page):
    """small: what runs is the small variant; out: folder for what is saved."""

    _hint = "Pull the body with the left mouse button, turn the view beside it."

    def __init__(
        self, server: Server, host: str, worker: Worker, *, small: bool, out: Path
    ) -> None:
        self._worker, self._first, self._small = worker, worker.stage.scene, small
        super().__init__(server, host)  # from here on browsers may come
        self._building: str | None = None
        self._serial, self._taken = -1, 0.0
        self._drag = Drag(self.clients, worker)
        scenes = [name for name in SCENES if name not in FLAT]
        self.teacher = Teacher(self._gui, self._teach)
        orders = self._time, worker.change, self._another
        self.controls = Controls(self._gui, scenes, menu(), *orders)
        self._looks = Looks(self._gui, worker.stage.scene.mesh, self._redraw)
        self.saver = Saver(self._viser, self.server.door, self.clients, worker, out)
        with self._gui.add_folder("Link", expand_by_default=False):
            self._link = self._gui.add_html("")
        pictures = self._panel.add_tab("Scenes")
        self.gallery = Gallery(
            self._gui, pictures, scenes, lambda name: self._another(name, self._small)
        )
        self._plots = Plots(self._gui, self._numbers)
        self._key("Play or pause", "space", lambda _: self._time(PAUSE if worker.playing else PLAY))
        self._key("Single step", "S", lambda _: self._time(STEP))
        self._key("Reset", "R", lambda _: self._time(RESET))
        self._stage: Stage = None  # type: ignore[assignment]  # adopted below
        self._settings: Any = None
        self._aimed_at = 0  # lanes that the camera has in its picture
        self._adopt_stage()

    def close(self) -> None:
        super().close()
        self._worker.close(PATIENCE)

    def _begin(self) -> None:
        self._worker.play()

    def _joined(self, first: bool) -> None:
        super()._joined(first)
        try:
            wish = self.server.door.wished()
            if wish is None:
                return
            if len(self.clients) > 1:
                raise InputError("others are here: use the controls, or open it when they are gone")
            self._grant(wish)
        except InputError as problem:
            self.clients.tell("The settings of this link", str(problem), bad=True)

    def _grant(self, wish: Wish) -> None:
        """What the address of a browser asks for."""
        if wish.scene not in (*SCENES, self._first.name):
            raise unknown_name("scene", wish.scene, SCENES)

        def build() -> Stage:
            scene = self._scene(wish.scene, wish.small)
            return Stage(scene, wish.settings(Settings.of(scene)), self._stage.device)

        self._build(wish.scene, wish.small, build)

    def _teach(self, lesson: Lesson, page: LessonPage) -> None:
        """The set-up of a page, from its start."""

        def build() -> Stage:
            scene = load(lesson.scene, small=True)
            return Stage(scene, page.applied(Settings.of(scene)), self._stage.device)

        self._build(lesson.scene, True, build)
        if len(self.clients):  # else time begins with the first of them
            self._worker.play()

    @property
    def _pulling(self) -> bool:
        return self._drag.busy

    def _lets_go(self, client_id: int) -> None:
        self._drag.lets_go(client_id)

    # ------------------------------------------------------------------ orders

    def _time(self, word: str) -> None:
        worker = self._worker
        if word == RESET:
            self._drag.drop()
            worker.reset()
        else:
            {PLAY: worker.play, PAUSE: worker.pause, STEP: worker.single}[word]()

    def _another(self, name: str, small: bool) -> None:
        self._build(name, small, lambda: self._built(name, small))

    def _build(self, name: str, small: bool, build: Callable[[], Stage]) -> None:
        """Aside: what runs goes on until then."""
        if self._building is not None:
            self.clients.tell("One at a time", f"{self._building} is still being built.")
            self.controls.named(self._stage.scene.name, self._small)
            return
        self._building = name
        threading.Thread(target=self._replace, args=(name, small, build), daemon=True).start()

    def _replace(self, name: str, small: bool, build: Callable[[], Stage]) -> None:
        try:
            stage = build()
            self._drag.drop()
            self._small = small
            self._worker.replace(stage)
        except Exception as problem:  # a page that dies with a scene would be worse
            why = str(problem)
            if not isinstance(problem, InputError):
                log.exception("building %s", name)
                why = f"{type(problem).__name__}: {problem}"
            self.clients.tell(f"{name} cannot be shown", why, bad=True)
            self.controls.named(self._stage.scene.name, self._small)
        finally:
            self._building = None

    def _built(self, name: str, small: bool) -> Stage:
        """The methods beside the first, and the budget, stay."""
        scene = self._scene(name, small)
        own, like = Settings.of(scene), self._stage.settings
        lanes = (own.integrators[0], *like.integrators[1:])
        settings = replace(own, integrators=lanes, budget=like.budget)
        return Stage(scene, settings, self._stage.device)

    def _scene(self, name: str, small: bool) -> Scene:
        """A built-in one, or the one that came first."""
        return load(name, small=small) if name in SCENES else self._first

    # ------------------------------------------------------------------ frames

    def _frame(self, timeout: float) -> None:
        if self._worker.wait(self._serial, timeout) is None or not self._flow.ready(timeout):
            return
        snapshot = self._worker.latest
        self._serial = snapshot.serial
        if self._stale or not self._fits(snapshot):
            self._adopt_stage()
            if not self._fits(snapshot):
                return  # of the scene before
        now = time.monotonic()
        if now - self._taken > TAKEN:
            self._taken = now
            self._plots.add(snapshot, self._flow.seconds)
        self._send(snapshot)

    def _fits(self, snapshot: Any) -> bool:
        lanes = snapshot.lanes
        return (
            self._worker.stage is self._stage
            and len(lanes) == len(self._figures.bodies)
            and len(lanes[0].positions) == self._figures.count
        )

    def _adopt_stage(self) -> None:
        """Draw another scene, or another number of lanes."""
        stage = self._worker.stage
        scene = stage.scene
        shown = still(scene.name, scene.x0, scene.mesh, scene.colliders)
        names = [lane.name for lane in stage.lanes]
        only_paint, self._stale = self._stale, False
        paint = self._looks.paint(scene.mesh)
        self._figures = Figures(self._viser, shown, pins(scene.system), names, paint)
        seen = lambda lane: self._shown.lanes[lane].positions  # noqa: E731
        for lane, body in enumerate(self._figures.bodies):
            for node in body.nodes:
                self._drag.listen(node, lane, self._figures.place, seen)
        if self._stage is not stage:
            self._stage, self._own_speed, only_paint = stage, stage.settings.speed, False
            self.controls.named(scene.name, self._small)
            self._plots.clear()
        if not only_paint or len(names) != self._aimed_at:
            self._figures.look()
        self._settings, self._aimed_at = None, len(names)

    # ------------------------------------------------------------------ words

    def _words(self) -> None:
        snapshot, worker = self._worker.latest, self._worker
        if not self._fits(snapshot):
            return
        complaint = worker.heard()
        if complaint is not None:
            self.clients.tell("That did not work", complaint, bad=True)
            self._settings = None  # the controls go back to what holds
        settings = self._stage.settings
        if settings is not self._settings and not self.controls.in_hand:
            self._settings = settings
            self.controls.adopt(settings, self._known(), self._own_speed)
            set_content(self._link, self._shared(settings))
        self._say(self._notices(snapshot), self._readings(snapshot), snapshot.lanes)
        self._plots.show()

    def _shared(self, settings: Settings) -> str:
        """The address and the command that give the page with these settings."""
        scene = self._stage.scene
        what = scene.name, self._small, settings, Settings.of(scene)
        style = "font-size:0.8em;overflow-wrap:anywhere;padding:0.2em 0.8em;user-select:all"
        said = [("While this server runs:", f"{self.server.url}&{query(*what)}")]
        if scene.name in SCENES:
            said.append(("Later, anywhere:", command(*what, self._stage.device)))
        return "".join(
            f'<div style="font-size:0.85em;padding:0.2em 0.8em">{word}</div>'
            f'<div style="{style}"><code>{escape(text)}</code></div>'
            for word, text in said
        )

    def _known(self) -> set[str]:
        """Settings that mean something to this scene and these methods."""
        own = self._stage.settings
        of_methods = [options(name) & own.options.keys() for name in own.integrators]
        return set(adjustable(self._stage.scene)).union(*of_methods)

    def _notices(self, snapshot: Any) -> list[Notice]:
        found = []
        if self._building is not None:
            found.append(Notice("note", f"building {self._building} ..."))
        for lane in snapshot.lanes:
            if lane.failure is not None:
                found.append(Notice("bad", f"{lane.name} stopped: {lane.failure}"))
            elif lane.under_solved:
                left = "" if lane.residual is None else f" (residual {lane.residual:.2g})"
                found.append(Notice("warn", f"{lane.name} is not solved well enough{left}"))
            if lane.stands_in:
                found.append(Notice("note", f"{lane.name}: {lane.stands_in}"))
                continue
            if self._stage.settings.budget is None or lane.failure is not None:
                continue
            if "budget" not in options(lane.name):
                text = f"{lane.name} cannot be cut short: it takes the time it needs"
                found.append(Notice("note", text))
            elif lane.spent:
                found.append(Notice("note", f"{lane.name}, within its time: {lane.spent}"))
        if not self._worker.playing and len(snapshot.held):
            found.append(Notice("note", "time stands still: press Play, and the body follows"))
        factor = self._worker.rates.factor
        if self._worker.playing and factor is not None and factor < LATE:
            asked = "real time" if self._stage.settings.speed == 1.0 else "asked"
            found.append(
                Notice("warn", f"slower than {asked}: {percent(factor, 1.0)} of its speed")
            )
        return found

    def _readings(self, snapshot: Any) -> list[tuple[str, str]]:
        state = "playing" if self._worker.playing else "paused"
        physics = 1e3 * sum(lane.seconds for lane in snapshot.lanes)
        found = [("t", f"{seconds(snapshot.t)} s"), ("", state)]
        if self._worker.playing:
            found.append(("", f"{self._worker.rates.fps:.0f} frames/s"))
        found.append(("physics", f"{physics:.1f} ms"))
        if self._flow.seconds is not None:
            found.append(("transport", f"{1e3 * self._flow.seconds:.0f} ms"))
        return found


def menu() -> dict[str, str]:
    """All methods and their variants, with what they are."""
    what = {entry.name: entry.what for entry in entries()}
    return what | {name: what[name.partition(":")[0]] for name in variants()}
