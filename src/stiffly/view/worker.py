"""The one thread that computes: frames at the pace of real time, orders between two of them.

Whoever watches takes the newest snapshot when he is ready for it; nothing waits for him, and
nothing is kept for him.  Orders of one kind are merged, the newest wins, and there is a limit to
how many can wait.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

from ..errors import InputError
from .frames import Snapshot
from .recent import Recent
from .stage import Stage

MOST_ORDERS = 100
MOST_SINGLES = 10  # frames asked for one by one
PATIENCE = 0.1  # seconds of computing until a frame ends early: orders wait no longer than that
LATE = 1.0  # frames that may be made up for
MEANS = 30  # frames that rates are averaged over
OF_TIME = frozenset(["step", "speed", "integrators"])  # settings that frames last by
RECENT = "recent"

Order = Callable[[Stage], None]


class Rates(NamedTuple):
    """Means of the last frames: fps [1/s]; factor: simulated time against what the settings ask
    for, None before there is anything to tell; seconds of physics in a frame, of all lanes."""

    fps: float = 0.0
    factor: float | None = None
    seconds: float = 0.0


class Worker:
    """Carries out what is asked of a stage; every method may be called from any thread.

    stage: to be read (scene, settings); whatever changes it is an order.  latest: the newest
    snapshot.  complaint: what was wrong with the last order that failed, until it is `heard`.
    """

    def __init__(self, stage: Stage, playing: bool = True) -> None:
        self.stage, self.playing = stage, playing
        self.complaint: str | None = None
        self.latest: Snapshot = stage.look()
        self.rates = Rates()
        self._orders: deque[tuple[str, Order]] = deque()
        self._singles, self._closing = 0, False
        self._due = time.perf_counter()
        self._past: deque[tuple[float, float, float]] = deque(maxlen=MEANS + 1)
        self._news = threading.Condition()  # guards orders, wishes, and the latest snapshot
        self._thread = threading.Thread(target=self._run, name="stiffly-view", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ from any thread

    def post(self, order: Order, kind: str = "", instead: tuple[str, ...] = ()) -> None:
        """Carry it out between two frames.  kind: it takes the place of older orders of that kind,
        and of those in `instead`."""
        with self._news:
            gone = {kind, *instead} - {""}
            if gone:
                self._orders = deque(o for o in self._orders if o[0] not in gone)
            if not kind and len(self._orders) >= MOST_ORDERS:
                return self._complain(f"more than {MOST_ORDERS} orders wait: this one is left out")
            self._orders.append((kind, order))
            self._news.notify_all()

    def change(self, **settings: Any) -> None:
        """Other settings, see `Stage.change`; of several changes of the same ones the last."""
        kind = f"change {' '.join(sorted(settings))}"

        def order(stage: Stage) -> None:
            stage.change(**settings)
            if settings.keys() & OF_TIME:
                self._pace_anew()

        self.post(order, kind)

    def grab(self, vertex: int) -> None:
        self.post(lambda stage: stage.grab(vertex), "grip", ("drag",))

    def drag(self, offset: Any) -> None:
        self.post(lambda stage: stage.drag(offset), "drag")

    def drop(self) -> None:
        self.post(lambda stage: stage.drop(), "grip", ("drag",))

    def reset(self) -> None:
        def order(stage: Stage) -> None:
            stage.reset()
            self._pace_anew()

        self.post(order, "reset")

    def replace(self, stage: Stage) -> None:
        """Go on with another one; what was asked of the old one is forgotten, but for its last
        seconds."""

        def switch(old: Stage) -> None:
            stage.serial = old.serial
            self.stage = stage
            self._pace_anew()

        with self._news:
            self._orders = deque(o for o in self._orders if o[0].startswith(RECENT))
            self.post(switch, "replace")

    def recent(self, timeout: float = 10.0) -> Recent:
        """The last seconds, see `Stage.recent`; InputError where the frame in hand takes longer."""
        found: queue.Queue[Recent] = queue.Queue(1)
        # a kind of its own: another one who asks must not take its place
        self.post(lambda stage: found.put(stage.recent()), f"{RECENT} {id(found)}")
        try:
            return found.get(timeout=timeout)
        except queue.Empty:
            raise InputError("the simulation is busy: pause it, then try again") from None

    def play(self) -> None:
        self._wish(playing=True)

    def pause(self) -> None:
        self._wish(playing=False)

    def single(self) -> None:
        """One frame, then pause."""
        self._wish(playing=False, singles=1)

    def _wish(self, playing: bool, singles: int = 0) -> None:
        with self._news:
            if playing != self.playing:
                self._past.clear()
                self._due = time.perf_counter()
            self.playing = playing
            self._singles = min(self._singles + singles, MOST_SINGLES) if not playing else 0
            self._news.notify_all()

    def heard(self) -> str | None:
        """The complaint, which is gone then."""
        with self._news:
            complaint, self.complaint = self.complaint, None
            return complaint

    def wait(self, after: int, timeout: float) -> Snapshot | None:
        """The newest snapshot, once there is one after that serial; None where it takes longer."""
        with self._news:
            newer = self._news.wait_for(lambda: self.latest.serial > after, timeout)
            return self.latest if newer else None

    def close(self, timeout: float = 30.0) -> None:
        """Ends the thread, after the step that it is in."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        while not self._closing:
            try:
                self._turn()
            except Exception as problem:  # a page whose thread is gone would stand still for good
                self._complain(_said(problem))
                self._wish(playing=False)
                time.sleep(PATIENCE)  # it may come again at once

    def _turn(self) -> None:
        with self._news:
            self._news.wait_for(self._something_to_do, self._due_in())
            if self._closing:
                return
            orders, self._orders = self._orders, deque()
        for _, order in orders:
            self._guarded(order)
        if self._time_for_a_frame():
            self._guarded(self._frame)
        elif orders and (self._due_in() or inf) > PATIENCE:  # else the frame will show it
            self._guarded(lambda stage: self._publish(stage.look()))

    def _something_to_do(self) -> bool:
        return self._closing or bool(self._orders) or self._time_for_a_frame()

    def _due_in(self) -> float | None:
        """Seconds until the next frame, as far as a lock can wait; None while paused."""
        left = self._due - time.perf_counter()
        return min(max(0.0, left), threading.TIMEOUT_MAX) if self.playing else None

    def _pace_anew(self) -> None:
        """Frames may last another time from now on: the next must not wait as long as one of the
        old ones, nor come at once, or turning a slider would hurry the simulation."""
        settings = self.stage.settings
        share = settings.frame_time / settings.speed
        with self._news:
            self._due = min(self._due, time.perf_counter() + share)
            self._past.clear()

    def _time_for_a_frame(self) -> bool:
        return self._singles > 0 or (self.playing and time.perf_counter() >= self._due)

    def _guarded(self, order: Order) -> None:
        """Nothing that an order or a frame does may end the thread."""
        try:
            order(self.stage)
        except Exception as problem:
            self._complain(_said(problem))
            if order == self._frame:  # it would fail again and again
                self._wish(playing=False)

    def _complain(self, text: str) -> None:
        with self._news:
            self.complaint = text

    def _frame(self, stage: Stage) -> None:
        with self._news:
            self._singles = max(0, self._singles - 1)
        snapshot = stage.advance(PATIENCE)
        # a late frame is made up for by quicker ones; what is slow throughout stays slow, and does
        # not race on when it gets quicker
        now, share = time.perf_counter(), snapshot.frame_time / stage.settings.speed
        self._due = max(self._due + share, now - LATE * share)
        seconds = sum(lane.seconds for lane in snapshot.lanes)
        with self._news:  # whoever plays or pauses clears what is past
            self._past.append((now, snapshot.frame_time, seconds))
            self.rates = self._means(stage.settings.speed)
        self._publish(snapshot)

    def _publish(self, snapshot: Snapshot) -> None:
        with self._news:
            self.latest = snapshot
            self._news.notify_all()

    def _means(self, speed: float) -> Rates:
        past = list(self._past)
        seconds = sum(s for _, _, s in past) / len(past)
        elapsed = past[-1][0] - past[0][0]
        if len(past) < 2 or elapsed <= 0.0:
            return Rates(seconds=seconds)
        simulated = sum(dt for _, dt, _ in past[1:])
        return Rates((len(past) - 1) / elapsed, simulated / elapsed / speed, seconds)


def _said(problem: Exception) -> str:
    """In one line."""
    if isinstance(problem, InputError):
        return str(problem)
    return f"{type(problem).__name__}: {' '.join(str(problem).split())}"
