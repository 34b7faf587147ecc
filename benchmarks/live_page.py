"""The live page with a browser watching: frames per second, bytes, and how soon a pull is seen.

    python benchmarks/live_page.py [--quick]

`stiffly view` runs as its own process; the watcher is a plain websocket client that reads
everything and draws nothing, on the same machine.  "seen": milliseconds from sending a pull to the
arrival of the first frame in which the pulled vertex has gone a tenth of the way.  "transport": the
page's own reading, from sending a frame to having been read.  "CPU": milliseconds of the server
process per simulated frame, with the watcher and without anybody.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import table

# the tests drive the same page in the same way
sys.path.append(str(Path(__file__).parents[1] / "tests" / "browser"))
from raw_client import RawClient
from served import Served

BODY = "/lane-0/body-0"
SHIFT = 0.4  # of a pull; a body is four units of the page large
PAGES = {
    "cloth, 101 x 101": ("cloth", "--integrator", "realtime", "--step", "0.033333"),
    "coil spring, 24,000 dof": ("coil-spring", "--integrator", "eti", "--step", "0.033333"),
    "the same within 20 ms": (
        *("coil-spring", "--integrator", "exprb2", "--step", "0.033333", "--budget", "20"),
    ),
}


class Readings(NamedTuple):
    """Of some seconds of watching."""

    simulated: float  # frames per second
    real_time: float  # simulated seconds per second
    delivered: float  # frames per second
    size: float  # bytes per delivered frame
    physics: float  # [ms] per frame, median of what the page says
    transport: float  # [ms]
    cpu: float  # [ms] of the server per simulated frame


class Page:
    """A served page and its watcher."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.client = RawClient(served.url)
        self.client.until_loaded()
        self.frames = 0

    def read(self) -> bool:
        """One message; whether it brought a frame."""
        brought = any(m.get("name") == BODY for m in self.client.read())
        self.frames += brought
        return brought

    def cpu(self) -> float:
        """Seconds of the server process."""
        fields = Path(f"/proc/{self.served.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def says(self, word: str) -> float:
        """A number of the clock line: 'physics 2.1 ms', '30 frames/s'."""
        line = self.client.clock() or ""
        found = re.search(rf"{word}\s+([\d.]+)|([\d.]+) {word}", line)
        return float(found[1] or found[2]) if found else float("nan")

    def failure(self) -> str | None:
        """What the page says when a method has given up."""
        text = re.sub(r"<[^>]+>", "\n", "".join(self.client.texts.values()))
        return next((line for line in text.splitlines() if " stopped: " in line), None)

    def pass_by(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()

    def watch(self, seconds: float) -> Readings:
        client = self.client
        self.read()
        began, t0, frames, size, cpu = (
            *(time.monotonic(), client.seconds(), self.frames, client.bytes, self.cpu()),
        )
        said = []
        while time.monotonic() < began + seconds:
            self.read()
            said.append([self.says(word) for word in ("frames/s", "physics", "transport")])
        elapsed, brought = time.monotonic() - began, self.frames - frames
        rate, physics, transport = np.nanmedian(said, axis=0)
        return Readings(
            rate, (client.seconds() - t0) / elapsed, brought / elapsed,
            (client.bytes - size) / brought, physics, transport,
            1e3 * (self.cpu() - cpu) / (rate * elapsed),
        )  # fmt: skip

    def latencies(self, count: int) -> np.ndarray:
        """Milliseconds from a pull to the frame that shows it; the hand holds on in between."""
        client, chance = self.client, np.random.default_rng(0)
        x = client.vertices[BODY]
        vertex = int(np.linalg.norm(x - x.mean(axis=0), axis=1).argmin())
        start = x[vertex].astype(float)
        client.pull("start", BODY, start, start)
        client.pull("update", BODY, start, start)
        self.pass_by(2.0)
        found, shift = [], np.array([0.0, SHIFT, 0.0])
        for i in range(count):
            self.pass_by(0.5 + chance.uniform(0.0, 0.1))  # at any moment of a frame
            before = client.vertices[BODY][vertex].astype(float)
            target = start + shift * (i % 2 == 0)
            began = time.monotonic()
            client.pull("update", BODY, start, target)
            way = (target - before)[1]
            while abs(client.vertices[BODY][vertex][1] - before[1]) < 0.1 * abs(way):
                self.read()
                if self.failure() or time.monotonic() > began + 10.0:
                    return np.array([*found, np.nan])
            found.append(1e3 * (time.monotonic() - began))
        client.pull("end", BODY, start, start)
        return np.array(found)


def alone(page: Page, rate: float, seconds: float) -> float:
    """Milliseconds of CPU per simulated frame when nobody watches."""
    page.client.close()
    time.sleep(1.0)
    began = page.cpu()
    time.sleep(seconds)
    return 1e3 * (page.cpu() - began) / (rate * seconds)


def measure(arguments: tuple[str, ...], seconds: float, pulls: int) -> list[str]:
    folder = Path(tempfile.mkdtemp())
    with Served(*arguments, folder=folder) as served:
        page = Page(served)
        page.pass_by(min(10.0, seconds))  # compiled, factorised, and past the first motion
        got = page.watch(seconds)
        seen = page.latencies(pulls)
        stopped = page.failure()
        lonely = alone(page, got.simulated, min(10.0, seconds))
    shutil.rmtree(folder)
    if stopped:
        print(f"{' '.join(arguments)}: {stopped}")
    low, high = np.nanquantile(seen, (0.5, 0.95))
    return [
        f"{got.simulated:.0f}", f"{got.real_time:.2f}", f"{got.delivered:.1f}",
        f"{1e-3 * got.size:.0f} kB", f"{got.physics:.1f}", f"{got.transport:.1f}",
        f"{got.cpu:.1f}", f"{lonely:.1f}", f"{low:.0f}", f"{high:.0f}",
    ]  # fmt: skip


def main(quick: bool) -> None:
    seconds, pulls = (4.0, 5) if quick else (20.0, 40)
    header = ("page", "frames/s", "of real time", "delivered/s", "a frame", "physics [ms]",
              "transport [ms]", "CPU [ms]", "nobody there", "seen [ms]", "95 %")  # fmt: skip
    rows = [[name, *measure(arguments, seconds, pulls)] for name, arguments in PAGES.items()]
    print(f"{seconds:.0f} s each, {pulls} pulls\n")
    print(table(header, rows))


if __name__ == "__main__":
    main("--quick" in sys.argv)
