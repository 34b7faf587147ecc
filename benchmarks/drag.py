"""From the pointer to the picture: how long a drag takes to be seen, and where the time goes.

    python benchmarks/drag.py [--side 101] [--moves 300] [--as-viser-does]

The cloth of 10,201 particles runs on the live page in Chromium, and its middle is dragged to and
fro without a pause.  For every move of the pointer, milliseconds from leg to leg:

    told      the browser has sent a message with this move, or a later one
    heard     the server has read it
    taken     the step in progress has ended, and the hand has moved
    computed  the next frame has been
    packed    it has been given to the socket
    shown     the browser gives its vertices to the graphics card: the picture that follows has it

"CPU": processor time a frame of who does it, which other programs disturb less than the clock:
the thread that computes, the page's, and all of the browser but drawing in software, which a
graphics card does elsewhere.  "as viser does": without the script that sends drags sooner
(view/page/client.py).  Needs the packages of the tests and Chromium.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import table

from stiffly import scenes
from stiffly.view import serve
from stiffly.view.page import client
from stiffly.view.page.base import Page
from stiffly.view.stage import Stage
from stiffly.view.worker import Worker

sys.path.append(str(Path(__file__).parents[1] / "tests" / "browser"))
from conftest import PROGRAMS, QUIET, _program  # Chromium as the tests start it
from site_page import SitePage

LEGS = ("told", "heard", "taken", "computed", "packed", "shown")
GOAL = 100.0  # [ms]
FAR, STEPS = 60.0, 40  # pixels to one side, and moves on the way there
PAUSE = 1.0 / 60.0  # [s] between two moves
SPY = """
window.spy = {moved: [], told: [], shown: []};
const now = () => (performance.timeOrigin + performance.now()) / 1e3;
addEventListener("pointermove", () => spy.moved.push(now()), true);
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (data, ...rest) {
  if (data?.message?.type === "SceneNodeDragMessage") spy.told.push([now(), spy.moved.length]);
  return post.call(this, data, ...rest);
};
for (const name of ["bufferData", "bufferSubData"]) {
  const upload = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...given) {
    const x = given.find((one) => window.watched && one?.length === watched[0]);
    if (x) spy.shown.push([now(), ...x.slice(watched[1], watched[1] + 3)]);
    return upload.apply(this, given);
  };
}
"""


class Log:
    """What the server does, as it happens: heard [(t, offset)], taken [(t, offset)], computed
    [(t, serial, CPU)], packed [(t, serial, CPU, vertex)]."""

    def __init__(self, vertex: int) -> None:
        self.vertex = vertex
        self.clear()

    def clear(self) -> None:
        self.heard: list[Any] = []
        self.taken: list[Any] = []
        self.computed: list[Any] = []
        self.packed: list[Any] = []

    @contextmanager
    def written(self) -> Iterator[None]:
        drag, take, advance, send = Worker.drag, Stage.drag, Stage.advance, Page._send

        def heard(worker: Worker, offset: Any) -> None:
            self.heard.append((time.time(), offset))
            drag(worker, offset)

        def taken(stage: Stage, offset: Any) -> None:
            take(stage, offset)
            self.taken.append((time.time(), offset))

        def computed(stage: Stage, *patience: float) -> Any:
            began = time.thread_time()
            found = advance(stage, *patience)
            self.computed.append((time.time(), found.serial, time.thread_time() - began))
            return found

        def packed(page: Page, snapshot: Any) -> None:
            began = time.thread_time()
            send(page, snapshot)
            here = page._figures.place.on_page(snapshot.lanes[0].positions)[self.vertex]
            used = time.thread_time() - began
            self.packed.append((time.time(), snapshot.serial, used, np.float32(here)))

        changed = (Worker, "drag", heard), (Stage, "drag", taken), (Stage, "advance", computed)
        changed += ((Page, "_send", packed),)  # type: ignore[assignment]
        before = [(kind, name, getattr(kind, name)) for kind, name, _ in changed]
        for kind, name, new in changed:
            setattr(kind, name, new)
        try:
            yield
        finally:
            for kind, name, old in before:
                setattr(kind, name, old)


def legs(spy: dict[str, Any], log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Times (moves, 1 + legs) [s] of the moves that were shown, and the frames computed from each
    to the one that shows it."""
    found, waited = [], []
    offsets = [offset for _, offset in log.heard]
    for number, moved in enumerate(spy["moved"], 1):
        message = next((i for i, (_, count) in enumerate(spy["told"]) if count >= number), None)
        if message is None or message >= len(log.heard):
            break
        later = {id(offset) for offset in offsets[message:]}  # newer ones take its place
        taken = next((t for t, offset in log.taken if id(offset) in later), None)
        frame = next((f for f in log.computed if taken is not None and f[0] > taken), None)
        sent = next((p for p in log.packed if frame is not None and p[1] >= frame[1]), None)
        places = [p[3] for p in log.packed if sent is not None and p[1] >= sent[1]]
        shown = next((t for t, *x in spy["shown"] if any(np.array_equal(x, p) for p in places)), 0)
        if not shown:
            break
        times = moved, spy["told"][message][0], log.heard[message][0]
        found.append((*times, taken, frame[0], sent[0], shown))  # type: ignore[index]
        waited.append(sum(moved < t <= frame[0] for t, *_ in log.computed))  # type: ignore[index]
    return np.array(found), np.array(waited)


def browser_seconds(kind: str) -> float:
    """Of processor time, of all Chromium's processes of that kind."""
    total = 0.0
    for one in Path("/proc").glob("[0-9]*"):
        try:
            words = (one / "cmdline").read_text()
            fields = (one / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        if f"--type={kind}" in words and any(name in words for name in PROGRAMS):
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def dragged(url: str, browser: Any, log: Log, size: int, moves: int) -> tuple[Any, float]:
    """What the browser has seen, and its seconds a frame."""
    page = SitePage(browser, url, script=SPY)
    page.page.evaluate(f"window.watched = [{3 * size}, {3 * log.vertex}]")
    x, y = page.body_at()
    mouse = page.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 5.0, y)
    time.sleep(2.0)  # it holds, and nothing is on its way
    log.clear()
    page.page.evaluate("for (const all of Object.values(spy)) all.length = 0")
    before = browser_seconds("renderer")
    for i in range(moves):
        mouse.move(x + 5.0 + FAR * (1.0 - np.cos(np.pi * i / STEPS)) / 2.0, y)
        time.sleep(PAUSE)
    time.sleep(2.0)
    spy, used = page.page.evaluate("spy"), browser_seconds("renderer") - before
    mouse.up()
    page.close()
    return spy, used / max(1, len(log.packed))


def main(side: int, moves: int, as_viser_does: bool) -> None:
    from playwright.sync_api import sync_playwright

    if as_viser_does:
        client.SCRIPT = b""
    scene, log = scenes.load("cloth", resolution=side), Log(side * side // 2)
    with sync_playwright() as playwright, log.written(), serve(scene) as view:
        browser = playwright.chromium.launch(executable_path=_program(), args=list(QUIET))
        spy, browsing = dragged(view.url, browser, log, side * side, moves)
        browser.close()
    times, waited = legs(spy, log)
    print(f"{side * side:,} particles, {len(times)} of {moves} moves were seen\n")
    used = [float("nan")] * len(LEGS)
    used[3], used[4] = (np.median([one[2] for one in kind]) for kind in (log.computed, log.packed))
    used[5] = browsing
    found = np.column_stack([np.diff(times, axis=1), times[:, -1] - times[:, 0]])
    low, high = 1e3 * np.quantile(found, (0.5, 0.95), axis=0)
    rows = [
        [name, f"{a:.0f}", f"{b:.0f}", "" if np.isnan(c) else f"{1e3 * c:.1f}"]
        for name, a, b, c in zip((*LEGS, "all"), low, high, (*used, np.nan), strict=True)
    ]
    print(table(("leg", "median [ms]", "95 %", "CPU [ms]"), rows))
    print(f"\nframes computed until then: {np.mean(waited):.2f} on average, {max(waited)} at most")
    print(f"moves seen within {GOAL:.0f} ms: {np.mean(found[:, -1] <= 1e-3 * GOAL):.0%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=101)
    parser.add_argument("--moves", type=int, default=300)
    parser.add_argument("--as-viser-does", action="store_true")
    main(**vars(parser.parse_args()))
