"""What can be said of a contact before the first step: its stiffness against step and mass."""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError

SWINGS = 10.0  # h sqrt(k/m) beyond which a bounce, pi sqrt(m/k) long, is over in a third of a step
RESOLVED = 2.0  # where a bounce takes one and a half steps
SHORTEST = 1e-12  # [s] no run takes steps as short


def bounce(h: float, stiffness: Array, mass: Array) -> str | None:
    """A line where steps of h [s] cannot follow the bounce of a mass (m,) [kg] on k (m,) [N/m]."""
    rates = np.sqrt(stiffness / mass)
    if rates.size == 0 or h * rates.max() <= SWINGS:
        return None
    k = int(np.argmax(rates))
    return (
        f"contact: h sqrt(k/m) = {h * rates[k]:.3g}, a bounce is over within one step: a step of "
        f"{RESOLVED / rates[k]:.2g} s or a stiffness of {mass[k] * (RESOLVED / h) ** 2:.2g} N/m "
        "resolve it"
    )


def require_resolvable(stiffness: Array, mass: Array) -> None:
    """InputError where no step could follow."""
    rates = np.sqrt(stiffness / mass)
    if rates.size and RESOLVED / rates.max() < SHORTEST:
        k = int(np.argmax(rates))
        raise InputError(
            f"contact stiffness {stiffness[k]:.3g} N/m against {mass[k]:.3g} kg: no step resolves "
            f"it; give at most {mass[k] * (RESOLVED / SHORTEST) ** 2:.2g} N/m"
        )
