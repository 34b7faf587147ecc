"""Clients of every kind come and go: what a page holds does not grow.

Frames and visits are counted, and so is memory: the bytes of what Python holds (counted_page.py),
not what the system has lent to the process, which depends on holes and on who runs beside it.
STIFFLY_ROUNDS sets how many rounds of visits there are between the two counts.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import pytest
from counted_page import HELD
from nonsense import BODY, NONSENSE
from raw_client import RawClient
from served import PATIENCE, Served, in_background, wait_for
from websockets.exceptions import WebSocketException

ROUNDS = int(os.environ.get("STIFFLY_ROUNDS", "4"))
WARM = 2  # rounds before the first count: caches fill
VISITS = 4  # of each kind in a round
PLANTED = 2  # rounds that show a leak
# bytes: twice what a factorisation of this cloth takes, which is held at one moment and not at
# another; the positions of a few dozen frames are more
ALLOWED = 300e3
KEPT = 50  # messages that newcomers get later and not at first: controls that were turned, the hand
GONE = (WebSocketException, OSError, TimeoutError, AssertionError)  # what a client may meet
SMALL = [message for message in NONSENSE.values() if len(message) < 1_000_000]


class Counted(Served):
    """A page that tells what it holds."""

    program = (str(Path(__file__).with_name("counted_page.py")),)
    asked = 0

    def held(self) -> dict[str, Any]:
        """When nobody is there and time stands still; the least of three counts, as words are still
        written now and then."""
        return min((self._tell() for _ in range(3)), key=lambda told: told["bytes"])

    def _tell(self) -> dict[str, Any]:
        self.asked += 1
        self.process.send_signal(signal.SIGUSR1)

        def told() -> dict[str, Any] | None:
            path = self.folder / HELD
            found = json.loads(path.read_text()) if path.exists() else {}
            return found if found.get("asked") == self.asked else None

        return wait_for(told, "what it holds")

    def files(self) -> int:
        """Open files and sockets."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


# ------------------------------------------------------------------ clients


def passes_by(url: str, chance: random.Random) -> None:
    urlopen(url, timeout=PATIENCE).read()
    client = RawClient(url)
    for _ in range(chance.randrange(1, 30)):
        client.read()
    if chance.random() < 0.5:
        client.close()
    else:
        client.socket.socket.close()


def reads_slowly(url: str, chance: random.Random) -> None:
    """One message of six, or none at all: the other client reads them all."""
    with RawClient(url, max_queue=1) as slow, RawClient(url) as fast:
        sleeps = chance.random() < 0.5
        for turn in range(60):
            fast.read()
            if turn % 6 == 0 and not sleeps:
                slow.read()


def talks_nonsense(url: str, chance: random.Random) -> None:
    with RawClient(url) as client:
        for _ in range(5):
            client.read()
            client.socket.send(chance.choice(SMALL))


def drives(url: str, chance: random.Random) -> None:
    with RawClient(url) as client:
        client.until_loaded()
        client.until(lambda: "Take the wheel" in client.controls, "the wheel")
        client.turn("Take the wheel", True)
        for _ in range(8):
            client.turn("Iterations", chance.randrange(5, 15))
            start = client.vertices[BODY][chance.randrange(len(client.vertices[BODY]))]
            client.pull("start", BODY, start, start)
            for step in range(10):
                client.pull("update", BODY, start, start + 0.03 * step)
                client.read()
            client.pull("end", BODY, start, start)


def visited(url: str, seed: int) -> None:
    """All kinds at once, each VISITS times."""
    problems: list[Exception] = []

    def play(part: Callable[[str, random.Random], None], chance: random.Random) -> None:
        for _ in range(VISITS):
            try:
                part(url, chance)
            except GONE:
                pass
            except Exception as problem:
                problems.append(problem)

    parts = (passes_by, reads_slowly, talks_nonsense, drives)
    threads = [
        in_background(lambda part=part: play(part, random.Random(f"{seed} {part.__name__}")))
        for part in parts
    ]
    for thread in threads:
        thread.join(2.0 * PATIENCE)
        assert not thread.is_alive()
    assert not problems


def replayed(url: str) -> int:
    """Messages that a newcomer is sent to catch up."""
    with RawClient(url) as client:
        count = 0
        while "ReplayDoneMessage" not in client.kinds:
            count += len(client.read())
        return count


def told(url: str, word: str, state: str) -> None:
    """Play or pause: what is held in the middle of a step is another matter."""
    with RawClient(url) as client:
        client.until_driving()
        client.turn("Time", word)
        client.until(lambda: state in (client.clock() or ""), state)


class Growth(NamedTuple):
    """From the first count to the second: bytes, objects by kind; what of both grew most; threads
    and messages for newcomers at each of them.

    Kinds leave out the interpreter's own: whether a tuple is looked at by the collector, and so
    counted, is for the collector to say.  Bytes leave out nothing."""

    bytes: int
    kinds: Counter[str]
    most: list[str]
    threads: list[int]
    messages: list[int]


def growth(folder: Path, rounds: int) -> Growth:
    threads, messages = [], []
    with Counted("cloth", "--small", folder=folder) as served:
        alone = served.files()
        held = [served.held()]  # counts from here on
        for some in (WARM, rounds):
            for number in range(some):
                visited(served.url, 100 * some + number)
            told(served.url, "Pause", "paused")
            messages.append(replayed(served.url))
            wait_for(lambda: served.files() <= alone, "the last one to leave")
            threads.append(served.status("Threads"))
            held.append(served.held())
            told(served.url, "Play", "playing")
    _, before, after = held
    kinds, lines = (Counter(after[key]) - Counter(before[key]) for key in ("kinds", "lines"))
    kinds = Counter({kind: n for kind, n in kinds.items() if not kind.startswith("builtins.")})
    most = [f"{count:+} {name}" for name, count in [*lines.most_common(8), *kinds.most_common(8)]]
    return Growth(after["bytes"] - before["bytes"], kinds, most, threads, messages)


@pytest.mark.slow
def test_what_a_page_holds_does_not_grow_with_visits_and_frames(tmp_path):
    found = growth(tmp_path, ROUNDS)
    print(found.bytes, "bytes", *found.most)
    assert found.bytes < ALLOWED, found.most
    assert max(found.kinds.values(), default=0) < ROUNDS * VISITS, found.most
    assert found.threads[1] <= found.threads[0]
    assert found.messages[1] <= found.messages[0] + KEPT


@pytest.mark.slow
@pytest.mark.parametrize("leak", ["frames", "visits"])
def test_a_leak_is_found(leak, tmp_path, monkeypatch):
    """Of the frames' positions, or of who has left: planted by counted_page.py."""
    monkeypatch.setenv("STIFFLY_PLANTED", leak)
    found = growth(tmp_path, PLANTED)
    print(found.bytes, "bytes", *found.most)
    if leak == "frames":
        assert found.bytes > ALLOWED, found.most
    else:
        assert max(found.kinds.values()) >= PLANTED * VISITS, found.most
