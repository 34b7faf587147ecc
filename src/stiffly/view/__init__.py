"""The live page: a running simulation to watch, drag and change in a browser.

from stiffly.view import serve

with serve(stiffly.scenes.load("cloth", small=True)) as view:
    print(view.url)
    view.wait()  # until Ctrl-C
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..recording.recording import Recording
    from ..scenes import Scene
    from .page.server import Server
    from .settings import Settings

HOST = "127.0.0.1"  # nobody but this machine
FLAT = ("oscillator-pair", "fput")  # scenes that have no body in space


class View:
    """A page that is being served; url: its address.  Leaving a `with` block ends it."""

    def __init__(self, page: Any) -> None:
        self._page, self._over = page, False
        self.url: str = page.server.url

    def wait(self) -> None:
        """Until `end` is called elsewhere, or Ctrl-C (KeyboardInterrupt)."""
        while not self._over:  # a signal handler may not touch what has a lock
            time.sleep(0.1)

    def end(self) -> None:
        """Lets `wait` return; safe to call from a signal handler."""
        self._over = True

    def close(self) -> None:
        """Ends the simulation and the server; the port is free again."""
        self.end()
        page, self._page = self._page, None
        if page is not None:
            page.close()
            page.server.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    what: Scene | Recording,
    *,
    settings: Settings | None = None,
    host: str = HOST,
    port: int | None = None,
    out: str | Path = ".",
    small: bool = False,
) -> View:
    """Serve a page with a running scene, or with a recording that is played, from the moment when
    the first browser has come.

    settings: how the scene is run, see view.settings.  host: who may come, default this machine
    alone; whoever reaches the page can drive it.  port: default the first free one from 8080 on.
    out: folder for what is saved from the page.  small: the scene is its small variant.
    """
    from ..errors import InputError
    from ..recording.recording import Recording
    from ..scenes import Scene

    if isinstance(what, Recording):
        return _played(what, host, port)
    if not isinstance(what, Scene):
        raise InputError(
            f"serve takes a Scene or a Recording, not {type(what).__name__}: put a system of your "
            "own into stiffly.scenes.Scene(name, summary, source, system, x0, v0, step, duration)"
        )
    return _running(what, settings, host, port, Path(out), small)


def _played(recording: Recording, host: str, port: int | None) -> View:
    from .page.play import PlayPage
    from .playback import Playback

    playback = Playback(recording)
    playback.pause()
    return _opened(playback, host, port, lambda server: PlayPage(server, host, playback))


def _opened(content: Any, host: str, port: int | None, page_on: Callable[[Server], Any]) -> View:
    """page_on(server) started, or nothing left open."""
    from .page.server import Server

    with ExitStack() as cleanup:
        cleanup.callback(content.close)
        server = Server(host, port)
        cleanup.callback(server.close)
        page = page_on(server)
        page.start()
        cleanup.pop_all()
    return View(page)


def _running(
    scene: Scene, settings: Settings | None, host: str, port: int | None, out: Path, small: bool
) -> View:
    from ..scenes import NAMES
    from .page.live import LivePage
    from .page.server import library
    from .stage import Stage
    from .worker import Worker

    library()
    worker = Worker(Stage(scene, settings), playing=False)
    names, build = [name for name in NAMES if name not in FLAT], _builder(scene)

    def page_on(server: Server) -> LivePage:
        return LivePage(server, host, worker, scenes=names, build=build, small=small, out=out)

    return _opened(worker, host, port, page_on)


def _builder(first: Scene) -> Any:
    """build(name, small, like): the stage of a built-in scene, or of the file that came first.

    like: settings of what runs now; the methods beside the first, and the budget, stay.
    """
    from dataclasses import replace

    from ..scenes import NAMES, load
    from .settings import Settings
    from .stage import Stage

    def build(name: str, small: bool, like: Settings) -> Stage:
        scene = load(name, small=small) if name in NAMES else first
        own = Settings.of(scene)
        lanes = (own.integrators[0], *like.integrators[1:])
        return Stage(scene, replace(own, integrators=lanes, budget=like.budget))

    return build
