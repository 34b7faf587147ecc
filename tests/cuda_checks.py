"""What a card has to do as the host does it: asked of a real one, and of one made of loops."""

import numpy as np
import test_stretch as cases

KINDS = cases.KINDS
LEDGER = ("added_now", "dissipated_now", "invented_now")
TANGLED = 0.9  # of an edge of the lattice: tets are turned inside out


def same_forces_inside_out(kind, backend):
    """Accelerations of tets of which many are turned inside out, where corotated ones have to find
    their rotation by singular values; against the gradients of the parts."""
    system, state = cases.bound(kind)
    rng = np.random.default_rng(7)
    x = state.x + TANGLED * rng.standard_normal(state.x.size)
    state = state.moved(state.t, x, np.zeros_like(x))
    corners = system.positions(state)[cases.solid()]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    assert 5 < np.count_nonzero(volumes < 0.0) < len(volumes)
    there, wanted = system.on(backend), system.acceleration(state)
    cases.agree(there.stretcher.acceleration(state), wanted, np.abs(wanted).max())


def same_steps(kind, method, backend):
    """The same steps, ledger, memory and notes of a body of test_stretch.py on both sides."""
    system, state = cases.bound(kind)
    here, there = (cases.at_once(own, state, method) for own in (system, system.on(backend)))
    scale = np.abs(here.state.v).max()
    cases.agree(there.state.x, here.state.x, scale)
    cases.agree(there.state.v, here.state.v, 100.0 * scale)
    for name, array in here.state.parts.items():
        cases.agree(there.state.parts[name], array)
    energy = 0.5 * float(system.mass.dot(here.state.v, here.state.v))
    for line in LEDGER:
        cases.agree(getattr(there.ledger, line), getattr(here.ledger, line), 10.0 * energy)
    known = there.system.stretcher.energies(there.state)
    wanted = here.system.energy(here.state)
    assert (known is None) == (kind == "yielding")  # whose two kinds of springs have two names
    for name, value in (known or {}).items():
        cases.agree(value, wanted[name], 10.0 * max(energy, abs(wanted[name])))
    assert list(known or wanted) == list(wanted)
    assert there.notes.keys() == here.notes.keys()
    for name, value in here.notes.items():
        cases.agree(there.notes[name], value)
    assert there.way == here.way or "one call" in there.way
