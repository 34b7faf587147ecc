"""The scenes with their pictures, each with a button that shows it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from ...scenes import entry
from .controls import listen

ENDING = ".jpg"


class Gallery:
    """on_scene(name): show that one."""

    def __init__(
        self, gui: Any, place: Any, scenes: Sequence[str], on_scene: Callable[[str], None]
    ) -> None:
        self.buttons = {}
        with place:
            for name in scenes:
                gui.add_html(card(name))
                button = self.buttons[name] = gui.add_button(f"Show {name}")
                listen(button, lambda _, name=name: on_scene(name))


def card(name: str) -> str:
    """What it looks like, and what it is."""
    picture = (files("stiffly.view.page") / "thumbnails" / f"{name}{ENDING}").read_bytes()
    source = f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
    image = f'<img src="{source}" alt="" width="120" height="80" style="border-radius:4px">'
    return (
        '<div style="display:flex;gap:0.6em;padding:0.5em 0.8em 0.3em;font-size:0.85em">'
        f"{image}<div><b>{escape(name)}</b><br>{escape(entry(name).summary)}</div></div>"
    )
