"""Where a run is computed: on the host, or on a card: explicit steps there, products of the
tangents of exponential ones, linear systems of implicit ones."""

from __future__ import annotations

import logging
import re
import warnings
from typing import Any

from ..contracts import State
from ..errors import InputError, StiffWarning, levels_up, require_name
from ..integrators.epirk import Epirk
from ..integrators.explicit import scheme_of
from ..integrators.exponential_rosenbrock import ExponentialRosenbrock, half_size
from ..integrators.gautschi import Gautschi, Neti
from ..integrators.stabilised import Stabilised
from ..integrators.stage import Implicit, bodies_of
from ..matfun.chooser import OTHER
from ..matfun.operators import BarOperator, BlockOperator, SparseOperator
from ..solvers.local_global import LocalGlobal
from ..solvers.newton import Newton

DEVICES = ("cpu", "gpu", "auto")
PRECISIONS = ("double", "mixed")
ON_THE_CPU = "or compute on the CPU (--device cpu)"
FLOWS = ExponentialRosenbrock, Epirk  # of the linearised system, damping and all
EXPONENTIAL = (*FLOWS, Gautschi, Neti)
BY_PRODUCTS = ("auto", *OTHER)  # evaluators

log = logging.getLogger("stiffly")


def check_device(device: Any) -> None:
    """cpu, gpu, auto, or gpu:1 for the second card."""
    name, _, number = str(device).partition(":")
    if name in ("cuda", "nvidia"):
        raise InputError(f"unknown device {name}: did you mean gpu?")
    require_name("device", name, DEVICES)
    if number and not (name == "gpu" and re.fullmatch("[0-9]{1,4}", number)):
        raise InputError(f"device {device}: give gpu:0, gpu:1, ... for one of several cards")


def check_precision(precision: Any, device: Any) -> None:
    """double, or mixed on a card."""
    require_name("precision", precision, PRECISIONS)
    if precision == "mixed" and str(device).partition(":")[0] != "gpu":
        raise InputError(
            f"precision mixed is for a card, not for device {device}: give --device gpu, or "
            "--precision double"
        )


def bound_on(
    device: str,
    system: Any,
    x0: Any,
    v0: Any,
    method: Any,
    name: str,
    precision: str = "double",
) -> tuple[Any, State]:
    """`system.bind(x0, v0)` where the device computes; auto: on the CPU where a card cannot."""
    check_device(device)
    check_precision(precision, device)
    if device != "cpu":
        try:
            return on_card(device, system, x0, v0, method, name, precision)
        except InputError as lack:
            if device != "auto":
                raise
            log.warning(f"device auto: on the CPU, since {lack}")
    return system.bind(x0, v0)


def on_card(
    device: str,
    system: Any,
    x0: Any,
    v0: Any,
    method: Any,
    name: str,
    precision: str = "double",
) -> tuple[Any, State]:
    """The same, on a card; InputError where one cannot, and with auto where it does not pay."""
    exponential, implicit = isinstance(method, EXPONENTIAL), bool(_solvers(method))
    explicit = scheme_of(method) is not None and not method.adaptive
    if not (exponential or implicit or explicit):
        raise InputError(
            f"{name} has no loop on a card: use verlet, symplectic-euler, rkn6, rk4, "
            "forward-euler, an exponential method (exprb42), or an implicit one (energy-momentum, "
            f"bdf1, bdf2, midpoint, newmark, projective), {ON_THE_CPU}"
        )
    mixed = precision == "mixed"
    if mixed and not explicit:
        raise InputError(f"{name} knows no mixed precision: use verlet, or --precision double")
    if exponential:
        _require_products(method, name)
    if not hasattr(system, "on"):
        raise InputError(f"{type(system).__name__} has no kernels on a card: use a stiffly.System")
    from ..backends.gpu import gpu

    number = device.partition(":")[2]
    card = gpu(int(number or 0)).here()
    # a system keeps what it has laid out for a backend, from one run to the next
    backend = card.alone() if implicit else card.mixed if mixed else card
    bound, state = system.on(backend).bind(x0, v0)
    if exponential:
        _require_known(bound, state, method, name)
        return bound, state
    if implicit:
        if any(isinstance(solver, Newton) for solver in _solvers(method)):
            _require_systems(bound, state, name)
        backend.points = state.x.reshape(-1, 3).copy()
        return bound, state
    if not hasattr(bound.stretcher, "steps"):
        raise InputError(f"{bound.stretcher}, so a card cannot take it: compute on the CPU")
    if bound.stretcher.guests is not None:
        _tell_of_guests(bound.stretcher.guests, device)
    return bound, state


def _tell_of_guests(guests: Any, device: str) -> None:
    """Which parts the host computes beside the card, and what that costs."""
    names, (here, there) = ", ".join(guests.names), guests.bytes
    if device == "auto":
        raise InputError(f"{names} would be computed by the host beside a card that waits")
    warnings.warn(
        f"no kernel on a card for {names}: the host computes that at every evaluation of forces, "
        f"for which {here:,} bytes go to the host, {there:,} come back, and the card waits; a part "
        "of stiffly's own, or --device cpu, may be faster",
        StiffWarning,
        stacklevel=levels_up(),
    )


def _solvers(method: Any) -> list[Any]:
    """Of an implicit method, each with linear systems that a card solves; none of any other."""
    if isinstance(method, Stabilised):
        base, dissipate = _solvers(method.base), _solvers(method.dissipate)
        return base + dissipate if base and dissipate else []
    known = isinstance(method, Implicit) and isinstance(method.solver, Newton | LocalGlobal)
    return [method.solver] if known else []


def _require_systems(system: Any, state: State, name: str) -> None:
    """That there are linear systems, and room for them on the card."""
    if bodies_of(system, state) is not None:
        raise InputError(
            f"{name} solves these bodies one by one, which a card has no loop for: use verlet, "
            f"{ON_THE_CPU}"
        )
    matrix = system.tangent(state).matrix(1.0, 1.0, 0.0)
    lack = system.backend.kernels.matrices.lacks(matrix.data, state.x.size)
    if lack:
        raise InputError(f"{lack}, so a card cannot take it: {ON_THE_CPU[3:]}")


def _require_products(method: Any, name: str) -> None:
    if method.method not in BY_PRODUCTS:
        raise InputError(
            f"{name} with method {method.method} has no loop on a card: use method "
            f"{', '.join(BY_PRODUCTS[:-1])} or {BY_PRODUCTS[-1]}, {ON_THE_CPU}"
        )
    if getattr(method, "budget", None) is not None:
        raise InputError(f"{name} with a budget has no loop on a card: leave it out, {ON_THE_CPU}")


def _require_known(system: Any, state: State, method: Any, name: str) -> None:
    """That the tangent has a form which a card multiplies: asked of the first one."""
    flows = isinstance(method, FLOWS)
    tangent = system.linear_part().tangent if _fixed(method) else system.tangent(state)
    form = tangent.stiffness
    if not (flows or _fixed(method)):  # of neti, which leaves loads to its remainder
        form = system.elastic(state)
    if form.lumped is None:
        raise InputError(
            f"{name} on a card needs a lumped mass: give mass=M.sum(axis=1), {ON_THE_CPU}"
        )
    if not isinstance(form, BlockOperator | SparseOperator):
        raise InputError(
            f"{name} on a card needs the entries of the tangent, and some parts of this system are "
            f"known by their products alone: {ON_THE_CPU[3:]}"
        )
    lack = system.backend.kernels.matrices.lacks(_entries(form), form.size)
    if lack:
        raise InputError(f"{lack}, so a card cannot take it: {ON_THE_CPU[3:]}")
    if flows and not half_size(tangent):
        raise InputError(
            f"{name} on a card knows no drag, wind or dashpots, and of damping alpha alone (beta, "
            f"too, where the stiffness never changes): use eti or neti, {ON_THE_CPU}"
        )


def _entries(operator: Any) -> Any:
    """As they are stored."""
    if isinstance(operator, SparseOperator):
        return operator.K.data
    return operator.bars if isinstance(operator, BarOperator) else operator.blocks


def _fixed(method: Any) -> bool:
    """Its linear part is that of the rest shape."""
    if isinstance(method, Epirk):
        return method.table.fixed
    return isinstance(method, Gautschi) or getattr(method, "linearisation", "") == "corotated"
