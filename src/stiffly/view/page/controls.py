"""The controls of a live simulation: from what is turned to orders, and back from what holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from math import log10
from typing import Any

from ...recording.plots.style import unit

NONE = "none"
PLAY, PAUSE, STEP, RESET = "Play", "Pause", "Step", "Reset"
SPEEDS = {-3.0: "1/1000", 0.0: "own", 1.0: "10"}  # of the scene's own
STIFFNESSES = {-3.0: "1/1000", 0.0: "own", 3.0: "1000"}
TOLERANCES = {-5.0: "1e-5", -2.0: "0.01", 0.0: "1"}
SETTLED = 0.6  # seconds after the last turn
MOST_BUDGET = 200.0  # [ms]
FINE = 0.05  # of a power of ten: the step of a slider over decades


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
        self._gui, self._order, self._turned, self._second = gui, on_change, 0.0, 1.0
        self.time = gui.add_button_group("Time", (PLAY, PAUSE, STEP, RESET))
        listen(self.time, on_time)
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
        hint = "Times the scene's own."
        self.stiffness = self._decades("Stiffness ×", STIFFNESSES, "stiffness", hint)
        beta = "Rayleigh's beta."
        self.damping = gui.add_number("Damping [ms]", 0.0, min=0.0, max=1e5, step=0.01, hint=beta)
        listen(self.damping, lambda value: self._on_change(damping=1e-3 * value))
        self.gravity = gui.add_slider("Gravity [m/s²]", 0.0, 30.0, 0.01, 9.81)
        listen(self.gravity, lambda value: self._on_change(gravity=value))

    def _add_solver(self) -> None:
        gui = self._gui
        hint = "Of stabilised methods."
        self.tolerance = self._decades("Tolerance ", TOLERANCES, "tolerance", hint)
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
        turned = {"tolerance": self.tolerance.handle, "stiffness": self.stiffness.handle}
        turned |= {"iterations": self.iterations, "damping": self.damping, "gravity": self.gravity}
        for name, handle in {**turned, "budget": self.budgeted}.items():
            handle.disabled = name not in known
        self.budget.disabled = settings.budget is None or "budget" not in known

    def named(self, scene: str, small: bool) -> None:
        """Show which scene runs."""
        if scene not in self.scene.options:
            self.scene.options = (scene, *self.scene.options)
        set_value(self.scene, scene)
        set_value(self.small, small)


# ------------------------------------------------------------------ handles


def listen(handle: Any, act: Callable[[Any], None]) -> None:
    """Call act(value) when a browser turns this; not when it is set here."""

    async def turned(event: Any) -> None:
        if event.client is not None:
            act(event.target.value)

    on = handle.on_click if hasattr(handle, "on_click") else handle.on_update
    on(turned)


def set_value(handle: Any, value: Any) -> None:
    """Rounding must not move what a hand is turning; nor may a value leave its slider."""
    now = handle.value
    if isinstance(value, float) and not isinstance(now, bool):
        low, high = getattr(handle, "min", None), getattr(handle, "max", None)
        value = max(value, low) if low is not None else value
        value = min(value, high) if high is not None else value
        if abs(now - value) <= 1e-6 * max(abs(value), 1e-3):
            return
    if now != value:
        handle.value = value


class Decades:
    """Labelled with `word` and the value now: "Stiffness ×2.2"; act(value) when it is turned.

    marks: what is written below it at some powers, from the first to the last.
    """

    def __init__(
        self, gui: Any, word: str, marks: Mapping[float, str], hint: str,
        act: Callable[[float], None],
    ) -> None:  # fmt: skip
        self._word, self._act, self._base = word, act, 1.0
        hint = f"{hint} The box holds the power of ten."
        self.handle = gui.add_slider(
            self._label(1.0), min(marks), max(marks), FINE, 0.0,
            marks=tuple(marks.items()), hint=hint,
        )  # fmt: skip
        listen(self.handle, self._turned)

    def show(self, value: float, base: float = 1.0) -> None:
        """This value holds; base: what the power of ten is counted from."""
        self._base = base
        set_value(self.handle, log10(value / base))
        self.handle.label = self._label(value)

    def _turned(self, power: float) -> None:
        value = self._base * 10.0**power
        self.handle.label = self._label(value)
        self._act(value)

    def _label(self, value: float) -> str:
        return f"{self._word}{value:,.0f}" if value >= 100.0 else f"{self._word}{value:.2g}"
