"""A lesson on the page: which one, what it says, back and next."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ..lessons import NAMES, Lesson, Page, lesson
from .controls import NONE, listen

BACK, NEXT, AGAIN = "Back", "Next", "Again"


class Teacher:
    """on_page(lesson, page): set it up."""

    def __init__(self, gui: Any, on_page: Callable[[Lesson, Page], None]) -> None:
        self._on_page = on_page
        self._lesson: Lesson | None = None
        self._number = 0
        self._titles = {lesson(name).title: name for name in NAMES}
        with gui.add_folder("Lesson"):
            hint = "Two minutes each: the page sets up what there is to see."
            self.menu = gui.add_dropdown("Lesson", (NONE, *self._titles), hint=hint)
            self._says = gui.add_html("", visible=False)
            hint = "Pages of the lesson; Again sets this one up once more."
            self.turns = gui.add_button_group("Page", (BACK, NEXT, AGAIN), visible=False, hint=hint)
        listen(self.menu, lambda title: self.begin(self._titles.get(title)))
        listen(self.turns, self._turned)

    def begin(self, name: str | None) -> None:
        """That lesson from its first page; None: no lesson any more."""
        self._lesson = None if name is None else lesson(name)
        self._number = 0
        self._says.visible = self.turns.visible = self._lesson is not None
        title = NONE if self._lesson is None else self._lesson.title
        if self.menu.value != title:
            self.menu.value = title
        self._show()

    def _turned(self, word: str) -> None:
        if self._lesson is not None:
            last = len(self._lesson.pages) - 1
            move = {BACK: -1, NEXT: 1, AGAIN: 0}[word]
            self._number = min(max(self._number + move, 0), last)
            self._show()

    def _show(self) -> None:
        if self._lesson is None:
            return
        page = self._lesson.pages[self._number]
        self._says.content = written(page, self._number + 1, len(self._lesson.pages))
        self._on_page(self._lesson, page)


def written(page: Page, number: int, count: int) -> str:
    style = "font-size:0.9em;line-height:1.4;padding:0.2em 0.8em"
    return (
        f'<div style="{style}"><p>{escape(page.text)}</p><p><b>{escape(page.look)}</b></p>'
        f'<p style="opacity:0.7">page {number} of {count}</p></div>'
    )
