"""From a drag on the live page to motion that is seen, in Chromium: 10,201 particles.

    python benchmarks/drag.py [--quick]

A cloth of 101 x 101 lies still, taken hold of in its middle. Then the pointer jumps, and the page
itself looks at every picture that it draws: "seen" are the milliseconds from the browser's pointer
event to the first one in which the cloth (what is blue before and after, so not the ball at the
pointer) has changed.  "pictures": how far apart they are meanwhile, which is what drawing costs
here, in software; "physics" and "transport": what the page says of itself.  Close other programs
first: "load" says how many processes wanted the cores.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import table

# the tests drive the same page in the same way
sys.path.append(str(Path(__file__).parents[1] / "tests" / "browser"))
from conftest import QUIET, _program
from served import Served, wait_for
from site_page import SitePage

FAR = 60  # pixels that the pointer jumps
SCENE = """\
duration = 10.0
step = 0.03333333333333333
integrator = "realtime"

[damping]
alpha = 20.0  # so that it lies still again soon

[[body]]
shape = { kind = "cloth", nx = 101, ny = 101, spacing = 0.01 }
elasticity = "cloth"
structural = 300.0
shear = 80.0
bending = 1.0
area_density = 0.2
pins = ["corners"]
"""
# pictures are kept until the next, so that they can be read; the pointer's time is the event's
PROBE = """
const plain = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, how) {
  return plain.call(this, kind, { ...how, preserveDrawingBuffer: true });
};
window.moved = null;
addEventListener("pointermove", () => { window.moved ??= performance.now(); }, true);

const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const area = (canvas) => canvas.width * canvas.height;  // plots are smaller
window.look = (at) => {
  const drawn = [...document.querySelectorAll("canvas")].sort((a, b) => area(b) - area(a));
  const canvas = drawn[0], frame = canvas.getBoundingClientRect();
  const scale = canvas.width / frame.width, side = Math.round(200 * scale);
  const x = (at[0] - frame.left) * scale - side / 2, y = (at[1] - frame.top) * scale - side / 2;
  copy.canvas.width = copy.canvas.height = side;
  copy.drawImage(canvas, x, y, side, side, 0, 0, side, side);
  return copy.getImageData(0, 0, side, side).data;
};
window.changed = (a, b) => {
  let count = 0;
  for (let i = 0; i < a.length; i += 4) {
    const blue = a[i + 2] - a[i] > 20 && b[i + 2] - b[i] > 20;
    count += blue && Math.abs(a[i + 1] - b[i + 1]) > 6;
  }
  return count;
};
const pictures = (next) => new Promise((done) => {
  const each = () => { const found = next(); found ? done(found) : requestAnimationFrame(each); };
  requestAnimationFrame(each);
});
// ten pictures that do not differ
window.still = (at) => {
  let last = look(at), same = 0;
  return pictures(() => {
    const now = look(at);
    same = changed(last, now) ? 0 : same + 1;
    last = now;
    return same >= 10;
  });
};
window.watch = (at) => {
  const before = look(at), began = performance.now();
  let drawn = 0;
  window.moved = null;
  window.seen = pictures(() => {
    drawn += 1;
    const now = performance.now();
    const found = window.moved !== null && changed(before, look(at)) > 30;
    return found && [now - window.moved, (now - began) / drawn];
  });
};
"""


class Probed:
    """A browser whose pages can be asked what they have drawn."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    def new_context(self, **how: Any) -> Any:
        context = self._browser.new_context(**how)
        context.add_init_script(PROBE)
        return context


def said(page: SitePage, word: str) -> float:
    """'physics 2.1 ms' of the clock line."""
    found = re.search(rf"{word}\s+([\d.]+)", page.clock())
    return float(found[1]) if found else float("nan")


def pulls(page: SitePage, count: int) -> np.ndarray:
    """(count, 4): seen, pictures, physics, transport [ms]."""
    mouse, (x, y) = page.page.mouse, page.body_at()
    page.play()
    page.pull(right=8.0, up=0.0, at=(x, y))  # the first moves of a drag only begin it
    wait_for(lambda: page.ledger()["added"] > 0.0, "the hand")
    found = []
    for k in range(count):
        page.page.evaluate("at => still(at)", [x, y])
        page.page.evaluate("at => watch(at)", [x, y])
        mouse.move(x + 8, y - FAR * (k % 2 == 0))
        seen = page.page.evaluate("() => window.seen")
        found.append([*seen, said(page, "physics"), said(page, "transport")])
        print(f"  {seen[0]:.0f} ms", flush=True)
    mouse.up()
    return np.array(found)


def main() -> None:
    from playwright.sync_api import sync_playwright

    count = 2 if "--quick" in sys.argv else 20
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "drag.toml").write_text(SCENE)
        browser = playwright.chromium.launch(
            executable_path=_program(), args=list(QUIET), headless=True
        )
        with Served("drag.toml", folder=folder) as served:
            page = SitePage(Probed(browser), served.url)
            page.tick("Follow")  # a camera that moves would be seen, too
            wait_for(lambda: page.seconds() > 0.5, "kernels")
            found = pulls(page, count)
            page.close()
        browser.close()
    names = ("seen", "pictures", "physics", "transport")
    rows = [
        [name, *(f"{q:.0f}" for q in np.nanquantile(column, (0.0, 0.5, 0.95)))]
        for name, column in zip(names, found.T, strict=True)
    ]
    print(f"{count} drags; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores\n")
    print(table(("[ms]", "least", "median", "95 %"), rows))


if __name__ == "__main__":
    main()
