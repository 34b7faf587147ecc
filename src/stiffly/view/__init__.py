"""The live page: a running simulation to watch, drag and change in a browser.

from stiffly.view import serve

with serve(stiffly.scenes.load("cloth", small=True)) as view:
    print(view.url)
    view.wait()  # until Ctrl-C
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..recording.recording import Recording
from ..scenes import Scene
from ..scenes.door import as_scene
from .page.live import FLAT, LivePage
from .page.play import PlayPage
from .page.server import Server, library
from .playback import Playback
from .settings import Settings
from .stage import Stage
from .worker import Worker

HOST = "127.0.0.1"  # nobody but this machine

__all__ = ["FLAT", "HOST", "View", "serve"]


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
    what: Any,
    *,
    settings: Settings | None = None,
    host: str = HOST,
    port: int | None = None,
    out: str | Path = ".",
    small: bool = False,
    lesson: str | None = None,
    device: str = "cpu",
) -> View:
    """Serve a page with a running scene, or with a recording that is played, from the moment when
    the first browser has come.

    what: a Recording, a scene, or what `stiffly.simulate` would make one of.

    settings: how the scene is run, see view.settings.  host: who may come, default this machine
    alone; whoever has the link can drive it.  port: default the first free one from 8080 on.
    out: folder for what is saved from the page.  small: the scene is its small variant.
    lesson: name of a guided lesson (view.lessons.NAMES) that begins at once.  device: cpu, gpu,
    gpu:1 or auto, where scenes are computed.
    """
    what = as_scene(what)
    if not isinstance(what, Scene | Recording):
        raise InputError(
            f"serve takes a Scene or a Recording, not {type(what).__name__}: put a system of your "
            "own into stiffly.scenes.Scene(name, summary, source, system, x0, v0, step, duration)"
        )
    content: Any
    page_of: Any
    if isinstance(what, Recording):
        if lesson is not None:
            raise InputError("lessons are for scenes: a recording is played as it is")
        content, page_of = Playback(what), PlayPage
        content.pause()
    else:
        library()
        content = Worker(Stage(what, settings, device), playing=False)
        page_of = partial(LivePage, small=small, out=Path(out))
    with ExitStack() as cleanup:  # a page that runs, or nothing left open
        cleanup.callback(content.close)
        server = Server(host, port)
        cleanup.callback(server.close)
        page = page_of(server, host, content)
        if lesson is not None and isinstance(page, LivePage):
            page.teacher.begin(lesson)
        page.start()
        cleanup.pop_all()
    return View(page)
