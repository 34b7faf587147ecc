"""A page with 50 clients of which ten are hostile: so many hostile messages, or so many minutes.

    python tests/attack/page_clients.py 2000            # hostile messages; memory and frames
    python tests/attack/page_clients.py --minutes 60    # and a line for every minute

Memory is that of the page's own process, at the start (all good clients are in), at most and at
the end; frames are those that good clients have got, and who came afterwards sees time go on.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "browser"))

from nonsense import NONSENSE, pull
from raw_client import RawClient, encoded, goes_on
from served import Served
from websockets.exceptions import ConnectionClosed, InvalidHandshake

GOOD, HOSTILE = 40, 10
GONE = (ConnectionClosed, InvalidHandshake, OSError, AssertionError, TimeoutError)
LISTS = b"\xdd\x02\xae\xa5\x40" + b"\x90" * 45_000_000  # 45 MB that are gigabytes once unpacked
BOMB = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (30_000).to_bytes(4, "big") * 2 + bytes(315_000)
MESSAGES: dict[str, Any] = {
    **NONSENSE,
    "lists": LISTS,
    "lists in pieces": [LISTS[i : i + 60_000] for i in range(0, 6_000_000, 60_000)],
    "picture": encoded("GetRenderResponseMessage", payload=BOMB, render_uuid="a"),
    "small picture": encoded("GetRenderResponseMessage", payload=BOMB[:60_000], render_uuid="a"),
    "pull from nowhere": pull(start_position=(float("nan"),) * 3),
    "flood": [pull(phase="update")] * 3000,
}


@dataclass
class Outcome:
    """Messages sent, frames received by good clients, memory [MB]."""

    messages: int
    frames: int
    start: float
    most: float
    end: float

    def __str__(self) -> str:
        return (
            f"{self.messages} hostile messages, {self.frames} frames to {GOOD} good clients; "
            f"memory {self.start:.0f} MB at the start, {self.most:.0f} at most, {self.end:.0f} then"
        )


class Crowd:
    """Good clients, which read until they are told to stop, and hostile ones, which take turns."""

    def __init__(self, url: str, turns: Iterator[int]) -> None:
        self._url, self._turns, self._lock = url, turns, threading.Lock()
        self._stop = threading.Event()
        self.frames = [0] * GOOD
        self.messages = 0
        self.inside = threading.Semaphore(0)

    def good(self, number: int) -> None:
        with RawClient(self._url, max_queue=1) as client:
            client.until_loaded()
            self.inside.release()
            while not self._stop.is_set():
                client.vertices.clear()
                client.read()
                self.frames[number] += bool(client.vertices)

    def hostile(self, number: int) -> None:
        names = list(MESSAGES)
        while (turn := self._turn()) is not None:
            with contextlib.suppress(*GONE):
                self._say(MESSAGES[names[(turn + number) % len(names)]], turn)

    def _turn(self) -> int | None:
        with self._lock:
            turn = next(self._turns, None)
            self.messages += turn is not None
            return turn

    def _say(self, message: Any, turn: int) -> None:
        url = self._url.partition("?")[0] if turn % 7 == 0 else self._url  # some without the token
        with RawClient(url, greet=turn % 2 == 0, close_timeout=0.2) as client:
            flood = isinstance(message, list) and message[0] != LISTS[:60_000]
            for piece in message if flood else [message]:
                client.socket.send(piece)
            if turn % 3 == 0:
                client.read(5.0)

    def run(
        self, memory: Callable[[], float], look: Callable[[Crowd, float], None]
    ) -> tuple[float, float, float]:
        """Memory at the start, at most, at the end; `look` is shown it about twice a second."""
        readers = [threading.Thread(target=self.good, args=(k,)) for k in range(GOOD)]
        attackers = [threading.Thread(target=self.hostile, args=(k,)) for k in range(HOSTILE)]
        for thread in readers:
            thread.daemon = True
            thread.start()
        for _ in readers:
            assert self.inside.acquire(timeout=600.0), "a good client did not come in"
        start = most = memory()
        for thread in attackers:
            thread.start()
        for thread in attackers:
            while thread.is_alive():
                thread.join(0.5)
                most = max(most, now := memory())
                look(self, now)
        before = list(self.frames)
        while any(now <= then for now, then in zip(self.frames, before, strict=True)):
            assert all(thread.is_alive() for thread in readers), "a good client was lost"
            self._stop.wait(0.1)  # until every one has got another frame
        self._stop.set()
        for thread in readers:
            thread.join(60.0)
        return start, most, memory()


def attack(turns: Iterator[int], look: Callable[[Crowd, float], None] = lambda *_: None) -> Outcome:
    with (
        tempfile.TemporaryDirectory() as folder,
        Served("cloth", "--small", folder=Path(folder)) as served,
    ):
        crowd = Crowd(served.url, turns)
        start, most, end = crowd.run(lambda: served.status("VmRSS") / 1e3, look)
        assert goes_on(served.url) > 0.0
        peak = served.status("VmHWM") / 1e3
    return Outcome(crowd.messages, sum(crowd.frames), start, max(most, peak), end)


class Hour:
    """Turns for so many minutes, and a line about each of them."""

    def __init__(self, minutes: float) -> None:
        self._begin, self._minutes, self._told = time.monotonic(), minutes, 0

    def _passed(self) -> float:
        return (time.monotonic() - self._begin) / 60.0

    def turns(self) -> Iterator[int]:
        return itertools.takewhile(lambda _: self._passed() < self._minutes, itertools.count())

    def look(self, crowd: Crowd, memory: float) -> None:
        if self._passed() >= self._told + 1:
            self._told = int(self._passed())
            sums = f"{crowd.messages} messages, {sum(crowd.frames)} frames"
            print(f"{self._told} min: {sums}, fewest {min(crowd.frames)}, {memory:.0f} MB")


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = argparse.ArgumentParser()
    parser.add_argument("messages", type=int, nargs="?", default=2000)
    parser.add_argument("--minutes", type=float)
    asked = parser.parse_args()
    if asked.minutes is None:
        print(attack(iter(range(asked.messages))))
    else:
        hour = Hour(asked.minutes)
        print(attack(hour.turns(), hour.look))


if __name__ == "__main__":
    main()
