"""Controls of viser: hearing of them, setting them, and a slider over powers of ten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log10
from typing import Any

FINE = 0.05  # of a power of ten


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
        self._name(value)

    @property
    def disabled(self) -> bool:
        return self.handle.disabled

    @disabled.setter
    def disabled(self, value: bool) -> None:
        self.handle.disabled = value

    def _turned(self, power: float) -> None:
        value = self._base * 10.0**power
        self._name(value)
        self._act(value)

    def _name(self, value: float) -> None:
        self.handle.label = self._label(value)

    def _label(self, value: float) -> str:
        return f"{self._word}{value:,.0f}" if value >= 100.0 else f"{self._word}{value:.2g}"
