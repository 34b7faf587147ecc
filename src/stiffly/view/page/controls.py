"""The controls of a live simulation: from what is turned to orders, and back from what holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...recording.plots.style import unit
from .handles import Decades, listen, set_value

NONE = "none"
PLAY, PAUSE, STEP, RESET = "Play", "Pause", "Step", "Reset"
SPEEDS = {-3.0: "1/1000", 0.0: "own", 1.0: "10"}  # of the scene's own
STIFFNESSES = {-3.0: "1/1000", 0.0: "own", 3.0: "1000"}
TOLERANCES = {-5.0: "1e-5", -2.0: "0.01", 0.0: "1"}
SETTLED = 0.6  # seconds after the last turn
MOST_BUDGET = 200.0  # [ms]


class Controls:
    """Turned by whoever drives.

    on_time(word): PLAY, PAUSE, STEP or RESET; on_change(**settings), values as in Settings;
    on_scene(name, small): build another.
    """

    def __init__(
        self,
        gui: Any,
        scenes: Sequence[str],
        methods: Sequence[str],
        on_time: Callable[[str], None],
        on_change: Callable[..., None],
        on_scene: Callable[[str, bool], None],
    ) -> None:
        self._gui, self._order, self._turned = gui, on_change, 0.0
        self._second = 1.0
        self.time = gui.add_button_group("Time", (PLAY, PAUSE, STEP, RESET))
        listen(self.time, lambda value: on_time(value))
        with gui.add_folder("Scene"):
            self.scene = gui.add_dropdown("Scene", tuple(scenes))
            self.small = gui.add_checkbox("Small variant", True, hint="Fewer particles: faster.")
        chosen = lambda _: on_scene(self.scene.value, self.small.value)  # noqa: E731
        listen(self.scene, chosen)
        listen(self.small, chosen)
        with gui.add_folder("Method"):
            self._add_methods(methods)
        with gui.add_folder("Physics"):
            self._add_physics()
        with gui.add_folder("Solver"):
            self._add_solver()

    # ------------------------------------------------------------------ what there is

    def _add_methods(self, names: Sequence[str]) -> None:
        first = self._gui.add_dropdown("Integrator", tuple(names))
        others = [
            self._gui.add_dropdown(f"Beside it ({k})", (NONE, *names), initial_value=NONE)
            for k in (2, 3)
        ]
        self.methods = [first, *others]
        for handle in self.methods:
            listen(handle, lambda _: self._on_change(integrators=self._chosen()))

    def _on_change(self, **settings: Any) -> None:
        self._turned = time.monotonic()
        self._order(**settings)

    @property
    def in_hand(self) -> bool:
        """Something is being turned right now: what holds would jump under the hand."""
        return time.monotonic() - self._turned < SETTLED

    def _chosen(self) -> tuple[str, ...]:
        return tuple(handle.value for handle in self.methods if handle.value != NONE)

    def _add_physics(self) -> None:
        gui = self._gui
        self.step = gui.add_number("Step [ms]", 10.0, min=1e-6, max=1e6, step=1e-6)
        listen(self.step, lambda value: self._on_change(step=value / self._second))
        self.speed = self._decades("Speed ×", SPEEDS, "speed", "Of real time.")
        self.stiffness = self._decades(
            "Stiffness ×", STIFFNESSES, "stiffness", "Times the scene's own."
        )
        self.damping = gui.add_number(
            "Damping [ms]", 0.0, min=0.0, max=1e5, step=0.01, hint="Rayleigh's beta."
        )
        listen(self.damping, lambda value: self._on_change(damping=1e-3 * value))
        self.gravity = gui.add_slider("Gravity [m/s²]", 0.0, 30.0, 0.01, 9.81)
        listen(self.gravity, lambda value: self._on_change(gravity=value))

    def _add_solver(self) -> None:
        gui = self._gui
        self.tolerance = self._decades(
            "Tolerance ", TOLERANCES, "tolerance", "Of stabilised methods."
        )
        self.iterations = gui.add_slider("Iterations", 1, 100, 1, 10, hint="Local/global solves.")
        listen(self.iterations, lambda value: self._on_change(iterations=int(value)))
        self.budgeted = gui.add_checkbox("Limit the time", False, hint="Of physics per frame.")
        self.budget = gui.add_slider("Budget [ms]", 1.0, MOST_BUDGET, 0.5, 25.0, disabled=True)
        for handle in (self.budgeted, self.budget):
            listen(handle, lambda _: self._on_change(budget=self._budget()))

    def _budget(self) -> float | None:
        return 1e-3 * self.budget.value if self.budgeted.value else None

    def _decades(self, word: str, marks: dict[float, str], key: str, hint: str) -> Decades:
        return Decades(self._gui, word, marks, hint, lambda x: self._on_change(**{key: x}))

    # ------------------------------------------------------------------ what holds

    def adopt(self, settings: Any, known: Collection[str], own_speed: float) -> None:
        """Show these settings; known: those that mean something to the scene and its methods."""
        scale = unit("s", settings.step)
        self._second = scale.factor
        self.step.label = f"Step [{scale.name}]"
        set_value(self.step, settings.step * scale.factor)
        self.speed.show(settings.speed, own_speed)
        self.stiffness.show(settings.stiffness)
        set_value(self.damping, 1e3 * settings.damping)
        set_value(self.gravity, settings.gravity)
        self.tolerance.show(settings.tolerance)
        set_value(self.iterations, settings.iterations)
        set_value(self.budgeted, settings.budget is not None)
        if settings.budget is not None:
            set_value(self.budget, 1e3 * settings.budget)
        for i, handle in enumerate(self.methods):
            name = settings.integrators[i] if i < len(settings.integrators) else NONE
            if name not in handle.options:
                handle.options = (*handle.options, name)
            set_value(handle, name)
        for name in ("tolerance", "iterations", "damping", "gravity", "stiffness"):
            getattr(self, name).disabled = name not in known
        self.budgeted.disabled = "budget" not in known
        self.budget.disabled = settings.budget is None or "budget" not in known

    def named(self, scene: str, small: bool) -> None:
        """Show which scene runs."""
        if scene not in self.scene.options:
            self.scene.options = (scene, *self.scene.options)
        set_value(self.scene, scene)
        set_value(self.small, small)
