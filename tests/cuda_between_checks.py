"""What acts between two steps, on a card: against single steps, each settled, on the host."""

import numpy as np
import test_stretch as cases

import stiffly
from stiffly import scenes
from stiffly.bodies import (
    Dashpots,
    Drag,
    FaceSprings,
    Gravity,
    Keyframes,
    MomentumDamping,
    Rayleigh,
    Springs,
    System,
    Tetrahedra,
    Wind,
)
from stiffly.collisions import Contact

LEDGER = ("added_now", "dissipated_now", "invented_now")
CALM = MomentumDamping(rate=40.0)


def parts_of(kind, rest, edges, copies):
    """Parts, and further arguments of System."""
    springs = Springs(edges, 400.0, rest_positions=rest)
    roots = np.flatnonzero(np.arange(len(rest)) % 27 < 3)
    floor = Contact(cases.FLOOR, 2e3, margin=0.1, friction=0.3)
    air = (
        *(Wind(cases.tets(copies)[:, :3], (9.0, 1.0, 0.0)), Dashpots(edges[:40], 3.0)),
        Drag(0.4, wind=(1.0, 2.0, 0.0)),
    )
    shaken = Keyframes(roots, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.5)])
    solid = Tetrahedra(cases.solid(copies), 900.0, 0.3)
    return {
        "calm": ([springs, CALM], {}),
        "calm-solid": ([solid, Gravity(), CALM], {"damping": Rayleigh(alpha=2.0)}),
        "calm-rubbing": ([springs, Gravity(), floor, CALM], {"damping": Rayleigh(alpha=2.0)}),
        "calm-airy": ([springs, *air, floor, CALM], {"damping": Rayleigh(alpha=2.0)}),
        "calm-led": (
            [springs, FaceSprings(cases.tets(copies), 900.0), *air[:2], CALM],
            {"supports": shaken, "fixed": [25]},
        ),
        "calm-yielding": ([Springs(edges, 400.0, yield_strain=0.02), CALM], {}),
        # bodies of one, two and three particles in a line beside the lattices
        "calm-thin": ([Springs([[0, 1], [1, 2], [3, 4]], 40.0, 0.5), CALM], {}),
    }[kind]


KINDS = (
    *("calm", "calm-solid", "calm-rubbing", "calm-airy", "calm-led", "calm-yielding", "calm-thin"),
)


def bound(kind, copies=2):
    rng = np.random.default_rng(KINDS.index(kind))
    rest, edges, x0 = cases.body(rng, copies)
    v0 = rng.standard_normal(rest.shape)
    if kind == "calm-thin":
        x0[:, 1:] = 0.0
    parts, options = parts_of(kind, rest, edges, copies)
    system = System(rng.uniform(0.5, 2.0, len(rest)), parts, rest=rest, **options)
    x0[system.fixed], v0[system.fixed] = rest[system.fixed], 0.0
    return system.bind(x0, v0)


def same_as_single_steps(kind, method, backend):
    system, state = bound(kind)
    here, there = (
        cases.one_by_one(system, state, method),
        cases.at_once(system.on(backend), state, method),
    )
    assert "compiled stretches" in there.way and "on cards alone" in here.way
    scale = np.abs(here.state.v).max()
    cases.agree(there.state.x, here.state.x, scale)
    cases.agree(there.state.v, here.state.v, 100.0 * scale)
    assert there.state.parts.keys() == here.state.parts.keys()
    for name, array in here.state.parts.items():
        cases.agree(there.state.parts[name], array)
    energy = 0.5 * float(system.mass.dot(here.state.v, here.state.v))
    for line in LEDGER:
        # single steps sum the work of lifting by Simpson's rule
        size = 1e5 if kind == "calm-led" else 10.0
        cases.agree(getattr(there.ledger, line), getattr(here.ledger, line), size * energy)
    assert here.ledger.dissipated_now > 1e-3 * energy
    known, wanted = there.system.energy(there.state), here.system.energy(here.state)
    assert list(known) == list(wanted)
    for name, value in known.items():
        cases.agree(value, wanted[name], 10.0 * max(energy, abs(wanted[name])))
    accelerations = here.system.acceleration(here.state)
    cases.agree(
        there.system.stretcher.acceleration(here.state),
        accelerations,
        10.0 * np.abs(accelerations).max(),
    )
    return here, there


RESUMED = ("cactus",)


def resumed(name):
    """A small scene, and steps of it during which something acts between them."""
    scene = scenes.load(name, small=True)
    h, count = {"cactus": (2e-4, 60)}[name]
    return scene, {"integrator": "verlet", "step": h, "duration": count * h, "every": 10 * h}


def same_bits_from_a_file(scene, options, folder, device):
    """A run that is cut in the middle goes on with the same bits on the same side, and to rounding
    on the other one."""
    whole = stiffly.simulate(scene, device=device, **options)
    half = {**options, "duration": 0.5 * options["duration"], "dtype": "float64", "checkpoint": 0.0}
    for first, then in ((device, device), (device, "cpu"), ("cpu", device)):
        out = folder / f"{first}-{then}"
        stiffly.simulate(scene, device=first, out=out, **half)
        found = stiffly.resume(out, scene, device=then, duration=options["duration"])
        if first == then:
            assert np.array_equal(found.positions[:], whole.positions)
            assert np.array_equal(found.energy.total, whole.energy.total)
            assert np.array_equal(found.energy.dissipated, whole.energy.dissipated)
        else:
            size = np.abs(whole.positions).max()
            np.testing.assert_allclose(found.positions[:], whole.positions, atol=1e-9 * size)
