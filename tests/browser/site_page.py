"""The page as its user has it: what is written there, the picture, the mouse."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from served import PATIENCE, wait_for

PREFIXES = {p: 10.0 ** (3 * i) for i, p in enumerate("fpnµm", -5)} | {"": 1.0}
PREFIXES |= {p: 10.0 ** (3 * i) for i, p in enumerate("kMGT", 1)}
BLUE = 25  # how much bluer than red a pixel of the first body is, in any light
WINDOW = {"width": 1000, "height": 320}  # pixels; the panels take 680 of the width
STILL = 500.0  # milliseconds, in which a page that runs brings its words up to date twice
DIFFERS = 30  # of 255, in a colour: beyond what smoothing of edges does


class Ledger(NamedTuple):
    """The table of energies [J], by row and then by lane; names of the lanes."""

    lanes: tuple[str, ...]
    rows: dict[str, tuple[float, ...]]

    def __getitem__(self, name: str) -> float:  # type: ignore[override]  # of the first lane
        return self.rows[name][0]


class SitePage:
    """One window on a page that `stiffly view` serves.  requests: all that it has asked for;
    complaints: errors that its console shows; script: runs before all of the page's."""

    def __init__(self, browser: Any, url: str, script: str = "") -> None:
        self.context, self.url = browser.new_context(viewport=WINDOW), url
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.complaints: list[str] = []
        self.page = self.context.new_page()
        self.page.set_default_timeout(1e3 * PATIENCE)
        self.page.add_init_script(script)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(url)
        self.until_loaded()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def until_loaded(self) -> None:
        wait_for(self.text_of_ledger, "the ledger")
        toast = self.page.locator(".mantine-Notification-root", has_text="Software WebGL")
        if toast.count():  # it hides part of the picture
            toast.get_by_role("button").click(force=True)

    def reload(self) -> None:
        self.page.reload()
        self.until_loaded()

    def keep(self, path: Path) -> None:
        """The window as it is now, for who wants to see what a test saw."""
        path.parent.mkdir(exist_ok=True)
        self.page.screenshot(path=path)

    def close(self) -> None:
        self.context.close()
        assert not self.errors, self.errors

    # ------------------------------------------------------------------ what is written

    def text_of_ledger(self) -> list[list[str]]:
        """Rows and cells, at one instant."""
        return self.page.evaluate(
            """() => {
                const table = [...document.querySelectorAll("table")].find(
                    (t) => t.innerText.includes("numerical"));
                return table ? [...table.rows].map(
                    (row) => [...row.cells].map((cell) => cell.innerText)) : [];
            }"""
        )

    def ledger(self) -> Ledger:
        heads, *rows = self.text_of_ledger()
        return Ledger(tuple(heads[1:]), {name: tuple(map(joules, cells)) for name, *cells in rows})

    def clock(self) -> str:
        """The line with the time, the state and the rates."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("div")]
                .filter((div) => !div.querySelector("div")).map((div) => div.textContent)
                .find((text) => /\\bt .*(playing|paused)/.test(text)) ?? ''"""
        )

    def seconds(self) -> float:
        found = re.search(r"\bt (\S+)", self.clock())
        assert found
        return float(found[1])

    def says(self, text: str) -> bool:
        return self.page.get_by_text(text).first.is_visible()

    def until_says(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()

    # ------------------------------------------------------------------ what is seen

    def picture(self) -> np.ndarray:
        """(h, w, 3) uint8: what stands between the panels."""
        from PIL import Image

        shot = Image.open(io.BytesIO(self.page.screenshot(clip=self._frame())))
        return np.asarray(shot.convert("RGB"))

    def _frame(self) -> dict[str, float]:
        return self.page.locator("canvas").first.bounding_box()

    def body_at(self) -> tuple[float, float]:
        """A point of the window in the middle of the first body."""
        rows, columns = np.nonzero(body_pixels(self.picture()))
        assert len(rows), "no body is seen"
        far = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
        nearest, frame = far.argmin(), self._frame()
        return frame["x"] + float(columns[nearest]), frame["y"] + float(rows[nearest])

    # ------------------------------------------------------------------ what is done

    def press(self, button: str) -> None:
        # forced: to wait for a button to stand still takes frames, which are rare in software
        self.page.get_by_role("button", name=button, exact=True).click(force=True)

    def pause(self) -> None:
        """Until nothing changes any more: a frame that is being computed still comes."""
        self.press("Pause")
        wait_for(lambda: "paused" in self.clock() and self._is_still(), "the pause")

    def _is_still(self) -> bool:
        before = self.clock(), self.text_of_ledger()
        self.page.wait_for_timeout(STILL)
        return before == (self.clock(), self.text_of_ledger())

    def play(self) -> None:
        self.press("Play")
        wait_for(lambda: "playing" in self.clock(), "the play")

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).click(force=True)
        # the list may hang out of a small window, where no mouse gets at it
        # methods have a few words behind their names
        name = re.compile(rf"^{re.escape(option)}(: .*)?$")
        self.page.get_by_role("option", name=name).dispatch_event("click")

    def enter(self, label: str, value: str) -> None:
        field = self.page.get_by_label(label, exact=True)
        field.fill(value)
        field.press("Enter")

    def nudge(self, label: str) -> None:
        """A slider one step to the right; label: how its name begins."""
        named = self.page.locator("label").filter(has_text=re.compile(rf"^{re.escape(label)}"))
        thumb = f'[id="{named.first.get_attribute("for")}"] [role="slider"]'
        self.page.locator(thumb).first.press("ArrowRight")

    def tick(self, label: str) -> None:
        self.page.get_by_label(label, exact=True).click(force=True)

    def beside(self) -> tuple[float, float]:
        """A point of the window where nothing stands."""
        frame = self._frame()
        return frame["x"] + 10.0, frame["y"] + 10.0

    def pull(
        self,
        right: float,
        up: float,
        *,
        at: tuple[float, float] | None = None,
        button: Any = "left",
    ) -> None:
        """Press on the body and move the pointer [pixels]; it stays pressed."""
        x, y = at or self.body_at()
        self.page.mouse.move(x, y)
        self.page.mouse.down(button=button)
        for share in (0.25, 0.5, 0.75, 1.0):
            self.page.mouse.move(x + share * right, y - share * up)

    def let_go(self, button: Any = "left") -> None:
        self.page.mouse.up(button=button)


def joules(text: str) -> float:
    """'2,081 J', '-30.5 µJ', '5.83e-20 J'."""
    number, name = text.replace(",", "").split()
    return float(number) * PREFIXES[name.removesuffix("J")]


def body_pixels(picture: np.ndarray) -> np.ndarray:
    """Where the first body is: it is blue, and nothing else is."""
    levels = picture.astype(int)
    return levels[..., 2] - levels[..., 0] > BLUE


def share_that_differs(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.abs(a.astype(int) - b.astype(int)).max(axis=-1) > DIFFERS).mean())
