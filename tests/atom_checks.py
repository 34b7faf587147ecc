"""Lennard-Jones forces on a card: asked of a real one, and of one made of loops."""

import numpy as np
import test_stretch as cases

from stiffly.bodies import Gravity, Keyframes, LennardJones, Springs, System
from stiffly.contracts import Away
from stiffly.integrators.explicit import Verlet
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper

LEDGER = ("added_now", "dissipated_now", "invented_now")


BOND = 50.0


def gas(seed, count=150, cutoff=None, spread=1.2, kind="free", away=0.0, speed=2.0):
    """Atoms of several sizes on a jittered grid, some of them bonded, fast enough to wander."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*3 * [np.arange(side)], indexing="ij"), axis=3).reshape(-1, 3)
    x = (
        away
        + spread * grid[rng.permutation(len(grid))[:count]]
        + rng.uniform(-0.1, 0.1, (count, 3))
    )
    bonds = np.arange(0, count - 1, 3)[:, None] + [0, 1]
    atoms = LennardJones(
        rng.uniform(0.5, 2.0, count), rng.uniform(0.8, 1.1, count), exclude=bonds, cutoff=cutoff
    )
    parts, options = [Springs(bonds, BOND, rest_positions=x), atoms], {}
    some = np.arange(0, count, 7)
    if kind == "held":
        options["fixed"] = some
    if kind == "led":
        options["supports"] = Keyframes(some, (0.0, 1.0), [(0.0,) * 3, (2.0, 0.0, 0.0)])
    if kind == "falling":
        parts.append(Gravity())
    system = System(rng.uniform(0.5, 2.0, count), parts, rest=x, **options)
    v = speed * rng.standard_normal(x.shape)
    v[system.fixed] = 0.0
    return system.bind(x, v)


def same_forces(system, state, backend):
    """Accelerations, and energies, of this state on both sides."""
    there, wanted = system.on(backend), system.acceleration(state)
    size = max(BOND, np.abs(wanted).max())
    cases.agree(there.stretcher.acceleration(state), wanted, size)
    told, energies = energies_there(there, state), system.energy(state)
    for name, value in energies.items():
        cases.agree(told[name], value, max(BOND, *map(abs, energies.values())))


def energies_there(system, state):
    """By a step that is too short to go anywhere."""
    end = system.stretcher.steps(
        Verlet.splitting, state, np.zeros(state.x.size), 1e-300, np.array([1e-300])
    ).state
    return system.stretcher.energies(end)


def forces_are_slopes(system, state, backend, e=1e-6):
    """Of the energy there, along some ways."""
    there, rng = system.on(backend), np.random.default_rng(1)
    force = system.mass.apply(there.stretcher.acceleration(state))
    for _ in range(4):
        b, still = rng.standard_normal(state.x.size), np.zeros(state.x.size)
        ahead, back = (
            sum(energies_there(there, state.moved(0.0, state.x + s * b, still)).values())
            for s in (e, -e)
        )
        slope = (ahead - back) / (2.0 * e)
        assert abs(slope + force @ b) < 1e-6 * (np.abs(force) @ np.abs(b))


def took(system, state, h, count, every):
    stepper = Stepper(system, Verlet(), "", state, Balance(system), StepLog())
    for k in range(0, count, every):
        ends = h * np.arange(k + 1, k + every + 1)
        if hasattr(system.stretcher, "steps"):
            stepper.take_all(h, ends)
        else:
            for end in ends:
                stepper.take(h, end)
    return stepper


def same_wandering(backend, cutoff, kind, h=2e-3, every=25, guests=(), **how):
    """Many steps: states, ledger, energies; the same bits twice; where they end on the card."""
    system, state = gas(5, cutoff=cutoff, kind=kind, **how)
    count = 100
    here = took(system, state, h, count, every)
    there, again = (took(system.on(backend), state, h, count, every) for _ in range(2))
    assert ("by the host" in there.way) == bool(guests) and isinstance(there.state, Away)
    size = np.abs(here.state.x).max()
    assert np.abs(there.state.x - here.state.x).max() <= 1e-10 * size
    assert np.array_equal(there.state.x, again.state.x)
    assert np.array_equal(there.state.v, again.state.v)
    told, wanted = there.system.energy(there.state), here.system.energy(here.state)
    assert there.system.stretcher.energies(there.state) is not None
    assert list(told) == list(wanted)
    most = max(map(abs, wanted.values()))
    for name, value in wanted.items():
        assert abs(told[name] - value) <= 1e-9 * most, name
    for line in LEDGER:
        assert abs(getattr(there.ledger, line) - getattr(here.ledger, line)) <= 1e-9 * most
    return there
