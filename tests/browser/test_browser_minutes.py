"""A page that runs for minutes while clients of every kind come and go.

STIFFLY_MINUTES sets how long, 1 by default, after WARM seconds of the same in which caches and the
allocator's pools fill.  Memory is judged by medians: that of the last quarter may be larger than
that of the first by GROWTH.  One frame kept per second and client would take 25 MB in
ten minutes.
"""

from __future__ import annotations

import csv
import os
import random
import threading
import time
from collections.abc import Callable
from statistics import median

import pytest
from nonsense import BODY, NONSENSE
from raw_client import RawClient
from served import ARTEFACTS, PATIENCE, Served, in_background, wait_for
from site_page import SitePage
from websockets.exceptions import WebSocketException

SECONDS = 60.0 * float(os.environ.get("STIFFLY_MINUTES", "1"))
WARM = 45.0
GROWTH = 10e3  # kB
KEPT = 50  # messages that newcomers get later and not at first: controls that were turned, the hand
GONE = (WebSocketException, OSError, TimeoutError, AssertionError)  # what a client may meet
SMALL = [message for message in NONSENSE.values() if len(message) < 1_000_000]


class Crowd:
    """Clients in threads of their own; each plays its part again and again until the end."""

    def __init__(self, url: str) -> None:
        self.url, self.over, self.visits = url, threading.Event(), 0
        self.problems: list[Exception] = []  # of the clients themselves
        parts = (self.passes_by, self.passes_by, self.reads_slowly, self.never_reads)
        parts += (self.talks_nonsense, self.drives)
        self.threads = [
            in_background(lambda part=part, seed=seed: self._play(part, random.Random(seed)))
            for seed, part in enumerate(parts)
        ]

    def _play(self, part: Callable[[random.Random], None], chance: random.Random) -> None:
        while not self.over.is_set():
            try:
                part(chance)
            except GONE:
                self.over.wait(0.1)
            except Exception as problem:
                self.problems.append(problem)
                return
            self.visits += 1

    def passes_by(self, chance: random.Random) -> None:
        client = RawClient(self.url)
        for _ in range(chance.randrange(1, 30)):
            client.read()
        if chance.random() < 0.5:
            client.close()
        else:
            client.socket.socket.close()

    def reads_slowly(self, chance: random.Random) -> None:
        with RawClient(self.url, max_queue=1) as client:
            for _ in range(chance.randrange(5, 30)):
                client.read()
                self.over.wait(0.5)

    def never_reads(self, chance: random.Random) -> None:
        client = RawClient(self.url, max_queue=1)
        self.over.wait(chance.uniform(5.0, 50.0))
        client.socket.socket.close()

    def talks_nonsense(self, chance: random.Random) -> None:
        with RawClient(self.url) as client:
            for _ in range(5):
                client.read()
                client.socket.send(chance.choice(SMALL))

    def drives(self, chance: random.Random) -> None:
        with RawClient(self.url) as client:
            client.until_loaded()
            client.until(lambda: "Take the wheel" in client.controls, "the wheel")
            client.turn("Take the wheel", True)
            for _ in range(30):
                client.turn("Iterations", chance.randrange(5, 15))
                start = client.vertices[BODY][chance.randrange(len(client.vertices[BODY]))]
                client.pull("start", BODY, start, start)
                for step in range(10):
                    client.pull("update", BODY, start, start + 0.03 * step)
                    client.read()
                client.pull("end", BODY, start, start)

    def leave(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(2.0 * PATIENCE)
            assert not thread.is_alive()
        assert not self.problems


class Watch:
    """Once a second: memory, threads, and the simulated time that an onlooker reads."""

    def __init__(self, served: Served) -> None:
        self.served, self.rows, self.over = served, [], threading.Event()
        self.thread = in_background(self._watch)

    def _watch(self) -> None:
        begin = due = time.monotonic()
        with RawClient(self.served.url) as client:
            client.until_loaded()
            while not self.over.is_set():
                client.read()
                if (now := time.monotonic()) >= due:
                    due = now + 1.0
                    counts = (self.served.status(key) for key in ("VmRSS", "Threads"))
                    self.rows.append((now - begin, *counts, client.seconds()))

    def end(self) -> list[tuple[float, int, int, float]]:
        self.over.set()
        self.thread.join(2.0 * PATIENCE)
        ARTEFACTS.mkdir(exist_ok=True)
        with open(ARTEFACTS / "minutes.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("seconds", "rss_kb", "threads", "simulated"))
            table.writerows(self.rows)
        return self.rows


def replayed(url: str) -> int:
    """Messages that a newcomer is sent to catch up."""
    with RawClient(url) as client:
        count = 0
        while "ReplayDoneMessage" not in client.kinds:
            count += len(client.read())
        return count


def browse(chromium, url: str, seconds: float, crowd: Crowd) -> None:
    """Windows that are opened, looked at, reloaded and closed, until the others have played their
    parts, too."""
    end = time.monotonic() + seconds
    while time.monotonic() < end or crowd.visits <= seconds / 10.0:
        page = SitePage(chromium, url)
        page.page.wait_for_timeout(5000.0)
        page.reload()
        page.close()


# Beside other heavy jobs the allocator's holes alone pass GROWTH: a machine of its own has to say.
@pytest.mark.skipif("STIFFLY_MINUTES" not in os.environ, reason="wants a quiet machine: set it")
@pytest.mark.slow
def test_for_minutes_memory_and_threads_stay_and_time_goes_on(chromium, tmp_path):
    with Served("cloth", "--small", folder=tmp_path) as served:
        watch = Watch(served)
        wait_for(lambda: watch.rows, "the first reading")
        before = replayed(served.url)
        crowd = Crowd(served.url)
        browse(chromium, served.url, WARM + SECONDS, crowd)
        crowd.leave()
        after = replayed(served.url)
        rows = watch.end()
    rows = [row for row in rows if row[0] > WARM]
    quarter = len(rows) // 4
    memory, threads, simulated = ([row[i] for row in rows] for i in (1, 2, 3))
    assert median(memory[-quarter:]) - median(memory[:quarter]) < GROWTH
    assert threads[-1] <= max(threads[:quarter])
    assert after <= before + KEPT
    tens = zip(simulated, simulated[10:], strict=False)
    assert all(later > sooner for sooner, later in tens)  # it never stood still for ten seconds
