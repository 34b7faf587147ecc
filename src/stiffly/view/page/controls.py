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
MOST_WIND = 40.0  # [m/s]: a hurricane
BETWEEN = ": "  # a method and what it is
FINE = 0.05  # of a power of ten: the step of a slider over decades


class Controls:
    """Turned by whoever drives.

    methods: by name what each of them is, in a few words.  on_time(word): PLAY, PAUSE, STEP or
    RESET; on_change(**settings), values as in Settings; on_scene(name, small): build another.
    """

    def __init__(
        self,
        gui: Any,
        scenes: Sequence[str],
        methods: Mapping[str, str],
        on_time: Callable[[str], None],
        on_change: Callable[..., None],
        on_scene: Callable[[str, bool], None],
    ) -> None:
        self._gui, self._order, self._turned, self._second = gui, on_change, 0.0, 1.0
        hint = "Run, hold, go on by one picture, begin again. Keys: Space, S, R."
        self.time = gui.add_button_group("Time", (PLAY, PAUSE, STEP, RESET), hint=hint)
        listen(self.time, on_time)
        with gui.add_folder("Scene"):
            hint = "What is simulated. Pictures of all of them are under Scenes, at the left."
            self.scene = gui.add_dropdown("Scene", tuple(scenes), hint=hint)
            hint = "The same with fewer particles: it runs faster."
            self.small = gui.add_checkbox("Small variant", True, hint=hint)
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

    def _add_methods(self, methods: Mapping[str, str]) -> None:
        entries = tuple(entry(name, what) for name, what in methods.items())
        hint = "How the motion is computed from one step to the next. Type to search."
        first = self._gui.add_dropdown("Integrator", entries, hint=hint)
        hint = "Another method on the same body, beside the first, to compare."
        others = [
            self._gui.add_dropdown(f"Beside it ({k})", (NONE, *entries), initial_value=NONE,
                                   hint=hint)
            for k in (2, 3)
        ]  # fmt: skip
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
        return tuple(named(handle.value) for handle in self.methods if handle.value != NONE)

    def _add_physics(self) -> None:
        gui = self._gui
        hint = "Simulated time from one position to the next: longer is cheaper, and less accurate."
        self.step = gui.add_number("Step [ms]", 10.0, min=1e-6, max=1e6, step=1e-6, hint=hint)
        listen(self.step, lambda value: self._on_change(step=value / self._second))
        self.speed = self._decades("Speed ×", SPEEDS, "speed", "How fast time runs.")
        hint = "Of everything elastic; ×1 is as the scene has it, ×10 swings three times as fast."
        self.stiffness = self._decades("Stiffness ×", STIFFNESSES, "stiffness", hint)
        hint = "Friction inside the body: what it takes is dissipated. 0: it swings for ever."
        self.damping = gui.add_number("Damping [ms]", 0.0, min=0.0, max=1e5, step=0.01, hint=hint)
        listen(self.damping, lambda value: self._on_change(damping=1e-3 * value))
        hint = "9.81 on earth, 1.62 on the moon."
        self.gravity = gui.add_slider("Gravity [m/s²]", 0.0, 30.0, 0.01, 9.81, hint=hint)
        listen(self.gravity, lambda value: self._on_change(gravity=value))
        hint = "Air that blows against the surface: 10 m/s moves branches, 30 m/s is a hurricane."
        self.wind = gui.add_slider("Wind [m/s]", 0.0, MOST_WIND, 0.1, 0.0, hint=hint)
        listen(self.wind, lambda value: self._on_change(wind=value))

    def _add_solver(self) -> None:
        gui = self._gui
        hint = "How far stabilised methods let the energy go before they correct it."
        self.tolerance = self._decades("Tolerance ", TOLERANCES, "tolerance", hint)
        hint = "Rounds in which each step's equations are solved: more is slower and more accurate."
        self.iterations = gui.add_slider("Iterations", 1, 100, 1, 10, hint=hint)
        listen(self.iterations, lambda value: self._on_change(iterations=int(value)))
        hint = "Keep to a time for the physics of each picture, and say what that costs."
        self.budgeted = gui.add_checkbox("Limit the time", False, hint=hint)
        hint = "Time for the physics of one picture; 30 pictures a second leave 33 ms."
        self.budget = gui.add_slider(
            "Budget [ms]", 1.0, MOST_BUDGET, 0.5, 25.0, disabled=True, hint=hint
        )
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
        set_value(self.wind, settings.wind)
        self.tolerance.show(settings.tolerance)
        set_value(self.iterations, settings.iterations)
        set_value(self.budgeted, settings.budget is not None)
        if settings.budget is not None:
            set_value(self.budget, 1e3 * settings.budget)
        for i, handle in enumerate(self.methods):
            name = settings.integrators[i] if i < len(settings.integrators) else NONE
            shown = next((one for one in handle.options if named(one) == name), None)
            if shown is None:
                shown, handle.options = name, (*handle.options, name)
            set_value(handle, shown)
        turned = {"tolerance": self.tolerance.handle, "stiffness": self.stiffness.handle}
        turned |= {"iterations": self.iterations, "damping": self.damping, "gravity": self.gravity}
        turned |= {"wind": self.wind}
        for name, handle in {**turned, "budget": self.budgeted}.items():
            handle.disabled = name not in known
        self.budget.disabled = settings.budget is None or "budget" not in known

    def named(self, scene: str, small: bool) -> None:
        """Show which scene runs."""
        if scene not in self.scene.options:
            self.scene.options = (scene, *self.scene.options)
        set_value(self.scene, scene)
        set_value(self.small, small)


def entry(name: str, what: str) -> str:
    """A method in a menu: 'bdf1: backward Euler'; its own name may hold a colon."""
    return f"{name}{BETWEEN}{what}" if what else name


def named(entry: str) -> str:
    """The method of an entry."""
    return entry.partition(BETWEEN)[0]


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
        self.handle = gui.add_slider(
            self._label(1.0), min(marks), max(marks), FINE, 0.0,
            marks=tuple(marks.items()), hint=hint,
        )  # fmt: skip
        # the box at its end and the bubble above it would show the power of ten
        uuid = self.handle._impl.uuid
        box, bubble = f'[id="{uuid}"] + *', f'[id="{uuid}"] .mantine-Slider-label'
        gui.add_html(f"<style>{box}, {bubble} {{ display: none }}</style>")
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
