"""The way of a command to its first kernel, as it is called: draws walk.svg, and writes the list of
hops into docs/architecture.md.

python docs/images/walk.py
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from numba.core.dispatcher import Dispatcher

import stiffly
from stiffly.cli import main

HERE = Path(__file__).parent
PAGE, PICTURE = HERE.parent / "architecture.md", HERE / "walk.svg"
ROOT = Path(stiffly.__file__).parent
COMMAND = ("run", "cloth", "--small", "--quiet")
STEP = "run/loop.py: Loop._advance_fixed"
ROOMS = ("cli", "run", "integrators", "solvers", "system", "parts", "kernels")
OTHERS = 4  # further calls of a hop that are drawn
MARKS = "<!-- walk: begin -->\n", "<!-- walk: end -->"


class Found(BaseException):
    """The walk is over; no error that anybody would catch."""


def hop(frame: FrameType) -> str | None:
    """'room/file.py: function' of a frame of ours."""
    code, path = frame.f_code, Path(frame.f_code.co_filename)
    ours = path.is_relative_to(ROOT) and not code.co_name.startswith("<")
    return f"{path.relative_to(ROOT).as_posix()}: {code.co_qualname}" if ours else None


def stack(frame: FrameType | None) -> list[str]:
    """Hops from the outermost call to this frame."""
    found = []
    while frame is not None:
        found.append(hop(frame))
        frame = frame.f_back
    return [name for name in reversed(found) if name is not None]


@contextmanager
def watched(see: Any) -> Iterator[None]:
    """see(stack, kernel's name) before every call of a compiled kernel of ours."""
    plain = Dispatcher.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.py_func.__module__.startswith("stiffly."):
            see(stack(sys._getframe(1)), self.py_func.__name__)
        return plain(self, *args, **kwargs)

    Dispatcher.__call__ = call
    try:
        yield
    finally:
        Dispatcher.__call__ = plain


def walk(command: tuple[str, ...] = COMMAND, where: str = "parts/") -> list[str]:
    """Every call from `main` to the first kernel that a step asks of a room (where), both ends
    included; nothing is computed after it."""
    found: list[str] = []

    def see(hops: list[str], kernel: str) -> None:
        if STEP in hops and any(name.startswith(where) for name in hops):
            found.extend(hops[hops.index("cli/__init__.py: main") :])
            if not hops[-1].startswith("kernels/"):
                found.append(f"kernels: {kernel}")
            raise Found

    with watched(see):
        in_a_folder_of_its_own(command)
    return found


def in_a_folder_of_its_own(command: tuple[str, ...]) -> None:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            main(command)
        except Found:
            pass
        finally:
            os.chdir(before)


def listed(text: str) -> list[str]:
    """The hops that the page names."""
    return re.findall(r"^\d+\. `(.*)`", text.split(MARKS[0])[1].split(MARKS[1])[0], flags=re.M)


# ------------------------------------------------------------------ the picture


def calls_of_a_step(command: tuple[str, ...] = COMMAND) -> Counter[tuple[str, str]]:
    """How often which function of ours called which, in the first step."""
    calls: Counter[tuple[str, str]] = Counter()
    depth = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth
        if event not in ("call", "return") or (name := hop(frame)) is None:
            return
        if event == "return":
            if name == STEP:
                raise Found
            return
        depth += name == STEP
        if depth and (before := stack(frame.f_back)):
            calls[before[-1], name] += 1

    sys.setprofile(profile)
    try:
        in_a_folder_of_its_own(command)
    finally:
        sys.setprofile(None)
    return calls


def draw(hops: list[str], calls: Counter[tuple[str, str]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "walk", "font.size": 8})
    figure, axes = plt.subplots(figsize=(10.5, 0.36 * len(hops) + 0.8))
    columns = [ROOMS.index(name.split("/")[0].split(":")[0]) for name in hops]
    for row, (name, column) in enumerate(zip(hops, columns, strict=True)):
        if row:
            start, end = (columns[row - 1], 1 - row), (column, -row)
            style = {"arrowstyle": "->", "color": "#2166ac", "shrinkA": 9, "shrinkB": 9}
            axes.annotate("", end, start, arrowprops=style)
        box = {"boxstyle": "round", "facecolor": "#dbe9f6", "edgecolor": "#2166ac"}
        axes.text(column, -row, name.split(": ")[1], ha="center", va="center", bbox=box)
        axes.text(len(ROOMS) - 0.3, -row, others(name, hops, calls), va="center", color="#666666")
    for column, room in enumerate(ROOMS):
        axes.text(column, 1.1, f"{room}/", ha="center", weight="bold")
        axes.axvline(column, color="#eeeeee", zorder=0)
    axes.text(len(ROOMS) - 0.3, 1.1, "also called, and how often", weight="bold")
    axes.set(xlim=(-0.6, len(ROOMS) + 3.2), ylim=(-len(hops) + 0.4, 1.6))
    axes.axis("off")
    figure.savefig(PICTURE, bbox_inches="tight", metadata={"Date": None})


def others(name: str, hops: list[str], calls: Counter[tuple[str, str]]) -> str:
    """What a hop calls besides the next one, the most frequent first."""
    own = Counter({b: n for (a, b), n in calls.items() if a == name and b not in hops})
    words = [f"{other.split(': ')[1]} {count}x" for other, count in own.most_common(OTHERS)]
    return ", ".join(words) + (", ..." if len(own) > OTHERS else "")


if __name__ == "__main__":
    text, found = PAGE.read_text(), walk()
    lines = "".join(f"{place}. `{name}`\n" for place, name in enumerate(found))
    before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
    PAGE.write_text(f"{before}{MARKS[0]}{lines}{MARKS[1]}{after}")
    draw(found, calls_of_a_step())
    print(f"{len(found) - 1} hops: {PAGE.name}, {PICTURE.name}")
