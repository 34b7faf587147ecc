"""What can be kept: the last seconds as recordings, a picture, the scene with its settings.

Files go to one folder, under names made here; what exists is never replaced.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...recording.folder import new_path
from ..recent import NOTHING_YET, Recent
from ..worker import Worker
from .base import Clients
from .door import LARGEST, Door, log

SECONDS, PICTURE, SCENE = "Last seconds", "Picture", "Scene file"
MOST = 3  # presses that may wait
PATIENCE = 20.0  # seconds for a worker's answer or a browser's picture


class Saver:
    """Buttons of the page; what they do is done aside: nothing waits for a disk or a browser."""

    def __init__(self, viser: Any, door: Door, clients: Clients, worker: Worker, out: Any) -> None:
        self._clients, self._worker, self._out = clients, worker, Path(out)
        self._door, self._sockets = door, viser._websock_server._live_connections
        self._waiting, self._busy = threading.Semaphore(MOST), threading.Lock()
        works = {SECONDS: self._recording, PICTURE: self._picture, SCENE: self._scene}

        async def pressed(event: Any) -> None:
            args = works[event.target.value], event.client
            threading.Thread(target=self._aside, args=args, daemon=True).start()

        hint = (
            "The last seconds as a recording of each method; a picture of 3840 x 2160 pixels at "
            "most; a scene file with these settings."
        )
        viser.gui.add_button_group("Save", tuple(works), hint=hint).on_click(pressed)

    def _aside(self, work: Callable[[Any], None], client: Any) -> None:
        if not self._waiting.acquire(blocking=False):
            self._clients.tell("Still saving", "One after the other.", to=client.client_id)
            return
        try:
            with self._busy:
                work(client)
        except Exception as problem:
            why = str(problem)
            if isinstance(problem, OSError):
                why = f"{self._out}: {problem.strerror or problem}"
            elif not isinstance(problem, InputError):
                log.debug("saving", exc_info=True)
            self._clients.tell("Not saved", why, to=client.client_id, bad=True)
        finally:
            self._waiting.release()

    # ------------------------------------------------------------------ what is kept

    def _recording(self, client: Any) -> None:
        recent = self._worker.recent(PATIENCE)
        title, text = written(recent, self._out)
        self._clients.tell(title, text, to=client.client_id)

    def _picture(self, client: Any) -> None:
        width, height = full_size(client.camera.image_width, client.camera.image_height)
        with self._door.asking(self._sockets[client.client_id], width, height):
            seen = client.get_render(height, width, transport_format="png", timeout=PATIENCE)
        name = self._worker.stage.scene.name
        self._write(client, new_path(self._out, name, ".png"), as_png(seen))

    def _scene(self, client: Any) -> None:
        recent = self._worker.recent(PATIENCE)
        text = scene_text(recent)
        path = new_path(self._out, recent.scene.name, ".toml")
        self._write(client, path, text.encode())

    def _write(self, client: Any, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            file.write(content)
        self._clients.tell("Saved", str(path), to=client.client_id)
        client.send_file_download(path.name, content)


def written(recent: Recent, out: Path) -> tuple[str, str]:
    """A recording of each lane that has moved; how long they are, and where they and others are."""
    folders, skipped, seconds = [], [], 0.0
    for lane, name in enumerate(recent.settings.integrators):
        if not recent.writable(lane):
            skipped.append(name)
            continue
        folder = new_path(out, f"{recent.scene.name}-{name}", "")
        recent.write(folder, lane)
        folders.append(str(folder))
        seconds = max(seconds, recent.seconds(lane))
    if not folders:
        raise InputError(NOTHING_YET)
    text = ", ".join(folders)
    if skipped:
        text += f"; not {', '.join(skipped)}: nothing to record yet"
    return f"{seconds:.3g} s recorded", text


def scene_text(recent: Recent) -> str:
    """The scene file that gives the simulation as it is set now."""
    text = recent.toml()
    if text is None:
        raise InputError(f"{recent.scene.name} was made by a program: it has no scene file")
    return text


def full_size(width: float, height: float) -> tuple[int, int]:
    """As large as a picture may be, in the shape of the window; what a browser says of its window
    is not believed beyond that."""
    width, height = max(float(width), 1.0), max(float(height), 1.0)
    scale = min(LARGEST[0] / width, LARGEST[1] / height)
    return max(1, int(scale * width)), max(1, int(scale * height))


def as_png(pixels: np.ndarray) -> bytes:
    """(h, w, 4) uint8 on white."""
    from PIL import Image

    alpha = pixels[..., 3:].astype(np.float64) / 255.0
    flat = (alpha * pixels[..., :3] + 255.0 * (1.0 - alpha)).round().astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(flat).save(content, "PNG")
    return content.getvalue()
