"""Controls of viser: hearing of them, setting them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
