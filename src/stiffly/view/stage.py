"""The stage of a live simulation: its lanes go on in step, are dragged and changed together."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from ..backends.cpu import announce
from ..errors import require_name
from ..run.stepper import quiet
from ..scenes import Scene
from .device import started
from .frames import NOBODY, LaneFrame, Snapshot
from .hand import Grip, Hand
from .lane import Lane
from .recent import Recent, frames_kept
from .settings import Settings

KEYS = [field.name for field in fields(Settings)]
OF_THE_BODY = ("stiffness", "damping", "gravity", "wind")


class Stage:
    """No threads and no browser: whoever owns it calls one method after the other.

    scene: as it was given.  settings: as they are now.  t [s].  device: cpu, gpu or auto.
    """

    def __init__(self, scene: Scene, settings: Settings | None = None, device: str = "cpu") -> None:
        announce()
        self.scene, self.device = scene, device
        self.settings = Settings.of(scene) if settings is None else settings
        self.serial = 0
        self._grip: Grip | None = None
        self.reset()
        self._hand = Hand(scene, self.lanes[0].body)

    def reset(self) -> None:
        """Back to the scene's start, with the settings as they are; nothing is held any more."""
        adjusted = self.settings.adjusted(self.scene)
        lanes = []
        for name in self.settings.integrators:
            lanes.append(Lane(*started(adjusted, name, self.settings, self.device), name))
        self._adjusted, self.t, self._grip = adjusted, lanes[0].stepper.state.t, None
        self._take(lanes)

    def _take(self, lanes: list[Lane]) -> None:
        """From here on these, none of which keeps more frames than there is memory for."""
        count = frames_kept(len(lanes[0].shown.positions), len(lanes))
        for lane in lanes:
            lane.kept = deque(lane.kept, maxlen=count)
        self.lanes = lanes

    # ------------------------------------------------------------------ time

    def advance(self, patience: float = inf) -> Snapshot:
        """One frame: whole steps, all lanes.  Where all have failed, time stands still with them.

        patience: seconds of computing after which the frame ends with the step it is in.
        """
        if all(lane.failure is not None for lane in self.lanes):
            return self.look()
        start, h = self.t, self.settings.step
        deadline = time.perf_counter() + patience
        with quiet():
            left, done = self.settings.steps, 0
            while left and (not done or time.perf_counter() < deadline):
                count = min(left, *(lane.most for lane in self.lanes))
                ends = start + h * np.arange(done + 1, done + count + 1)
                for lane in self.lanes:
                    lane.steps(h, ends)
                self.t, left, done = float(ends[-1]), left - count, done + count
            return self._snapshot([lane.frame() for lane in self.lanes], self.t - start)

    def look(self) -> Snapshot:
        """What there is to see now, without a step."""
        with quiet():
            return self._snapshot([lane.look() for lane in self.lanes], 0.0)

    def _snapshot(self, frames: list[LaneFrame], frame_time: float) -> Snapshot:
        self.serial += 1
        held = NOBODY if self._grip is None else self._grip.particles
        return Snapshot(self.serial, self.t, frame_time, tuple(frames), held)

    def recent(self) -> Recent:
        """The last seconds of every lane."""
        scenes = tuple(map(self._now, self.settings.integrators))
        return Recent(scenes, self.settings, tuple(tuple(lane.kept) for lane in self.lanes))

    def _now(self, name: str) -> Scene:
        """The scene as it is with these settings, from its start, with that method."""
        method = self.settings.options_of(name)
        return replace(self._adjusted, integrator=name, step=self.settings.step, method=method)

    # ------------------------------------------------------------------ changes

    def change(self, **settings: Any) -> None:
        """Other settings; the state is kept.  InputError: nothing has changed then."""
        for key in settings:
            require_name("setting", key, KEYS)
        new = replace(self.settings, **settings)
        if new == self.settings:
            return
        scene = None
        if any(getattr(new, key) != getattr(self.settings, key) for key in OF_THE_BODY):
            scene = new.adjusted(self.scene)
        with quiet():
            lanes = self._changed(new, scene)
        self._adjusted, self.settings = scene or self._adjusted, new
        self._take(lanes)

    def _changed(self, new: Settings, scene: Scene | None) -> list[Lane]:
        """A lane keeps its method where that is still wanted; the others get what is left over."""
        left, sources = list(self.lanes), []
        for name in new.integrators:
            same = next((lane for lane in left if lane.name == name), None)
            sources.append(same)
            if same is not None:
                left.remove(same)
        for i, source in enumerate(sources):
            if source is None and left:
                sources[i] = left.pop(0)
        pairs = zip(sources, new.integrators, strict=True)
        return [self._changed_lane(lane, name, new, scene) for lane, name in pairs]

    def _changed_lane(
        self, lane: Lane | None, name: str, new: Settings, scene: Scene | None
    ) -> Lane:
        """A lane that stopped joins one that went on: its own shape is of another time."""
        if lane is not None and replace(new, speed=self.settings.speed) == self.settings:
            return lane
        healthy = next((one for one in self.lanes if one.failure is None), None)
        if lane is None or (lane.failure is not None and healthy is not None):
            source = healthy or self.lanes[0]
            body, _, method = started(scene or self._adjusted, name, new, self.device)
            return source.branched(self.t, method, name, body)
        method, body, same = new.method(name), None, scene is None and name == lane.name
        if scene is not None or self.device != "cpu":  # who computes may be another, too
            body, _, method = started(scene or self._adjusted, name, new, self.device)
        if same and method == lane.stepper.method and lane.failure is None:
            return lane
        return lane.continued(self.t, method, name, body)

    # ------------------------------------------------------------------ the hand

    def grab(self, vertex: int) -> None:
        """Take hold of what is near that vertex, in all lanes."""
        grip = self._hand.grip(self.lanes[0].body, vertex, self.settings)
        self.drop()
        self._grip = grip
        for lane in self.lanes:
            lane.grab(grip)

    def drag(self, offset: Any) -> None:
        """The hand is that far (3,) [m] from where it took hold: the same in every lane."""
        if self._grip is not None:  # a reset may have come between
            offset = self._grip.moved(offset)
            for lane in self.lanes:
                lane.drag(offset)

    def drop(self) -> None:
        """Let go."""
        self._grip = None
        for lane in self.lanes:
            lane.drop()
