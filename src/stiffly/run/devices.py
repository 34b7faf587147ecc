"""Where a run is computed: on the host, or its explicit steps on a card."""

from __future__ import annotations

import logging
from typing import Any

from ..contracts import State
from ..errors import InputError, require_name
from ..integrators.explicit import scheme_of

DEVICES = ("cpu", "gpu", "auto")
ON_THE_CPU = "or compute on the CPU (--device cpu)"

log = logging.getLogger("stiffly")


def check_device(device: Any) -> None:
    """cpu, gpu, auto, or gpu:1 for the second card."""
    name, _, number = str(device).partition(":")
    require_name("device", name, DEVICES)
    if number and not (name == "gpu" and number.isdigit()):
        raise InputError(f"device {device}: give gpu:0, gpu:1, ... for one of several cards")


def bound_on(
    device: str, system: Any, x0: Any, v0: Any, method: Any, name: str
) -> tuple[Any, State]:
    """`system.bind(x0, v0)` where the device computes; auto: on the CPU where a card cannot."""
    check_device(device)
    if device != "cpu":
        try:
            return _on_card(device, system, x0, v0, method, name)
        except InputError as lack:
            if device != "auto":
                raise
            log.warning(f"device auto: on the CPU, since {lack}")
    return system.bind(x0, v0)


def _on_card(
    device: str, system: Any, x0: Any, v0: Any, method: Any, name: str
) -> tuple[Any, State]:
    if scheme_of(method) is None or method.adaptive:
        raise InputError(
            f"{name} has no loop on a card: use verlet, symplectic-euler, rkn6, rk4 or "
            f"forward-euler, {ON_THE_CPU}"
        )
    if not hasattr(system, "on"):
        raise InputError(f"{type(system).__name__} has no kernels on a card: use a stiffly.System")
    from ..backends.gpu import gpu

    number = device.partition(":")[2]
    bound, state = system.on(gpu(int(number or 0))).bind(x0, v0)
    if not hasattr(bound.stretcher, "steps"):
        raise InputError(f"{bound.stretcher}, so a card cannot take it: compute on the CPU")
    return bound, state
