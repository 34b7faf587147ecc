"""The live page: a running simulation to watch, drag and change in a browser.

from stiffly.view import serve

with serve(stiffly.scenes.load("cloth", small=True)) as view:
    print(view.url)
    view.wait()  # until Ctrl-C
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..recording.recording import Recording
    from ..scenes import Scene
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
    """Serve a page with a running scene, or with a recording that is played.

    settings: how the scene is run, see view.settings.  host: who may come, default this machine
    alone; whoever reaches the page can drive it.  port: default the first free one from 8080 on.
    out: folder for what is saved from the page.  small: the scene is its small variant.
    """
    from ..recording.recording import Recording

    if isinstance(what, Recording):
        return _played(what, host, port)
    return _running(what, settings, host, port, Path(out), small)


def _played(recording: Recording, host: str, port: int | None) -> View:
    from .page.play import PlayPage
    from .page.server import Server
    from .playback import Playback

    playback = Playback(recording)
    try:
        page = PlayPage(Server(host, port), host, playback)
    except BaseException:
        playback.close()
        raise
    page.start()
    return View(page)


def _running(
    scene: Scene, settings: Settings | None, host: str, port: int | None, out: Path, small: bool
) -> View:
    from ..scenes import NAMES
    from .page.live import LivePage
    from .page.server import Server, library
    from .stage import Stage
    from .worker import Worker

    library()
    worker = Worker(Stage(scene, settings))
    try:
        names = [name for name in NAMES if name not in FLAT]
        page = LivePage(
            Server(host, port), host, worker,
            scenes=names, build=_builder(scene), small=small, out=out,
        )  # fmt: skip
    except BaseException:
        worker.close()
        raise
    page.start()
    return View(page)


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
