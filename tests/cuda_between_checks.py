"""What acts between two steps, on a card: against single steps, each settled, on the host."""

import numpy as np
import test_stretch as cases

import stiffly
from stiffly import scenes
from stiffly.bodies import (
    Attachments,
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
from stiffly.collisions import Contact, Held, Hemisphere, Plane, ProjectedContact, Sphere
from stiffly.integrators.auto import stiffest

ENERGIES = ("added", "dissipated", "invented")
LEDGER = ("added_now", "dissipated_now", "invented_now")
CALM, SLOW = MomentumDamping(rate=40.0), MomentumDamping(rate=4.0)
GROUND = Plane((0.0, 0.0, -0.06), (0.02, 0.0, 1.0))
DEEP = Plane((0.0, 0.0, 0.4), (0.0, 0.0, 1.0))  # what is put back stores more than it loses
BOWL, ROOM = Hemisphere((1.0, 1.0, 0.3), 0.68), Sphere((3.0, 1.0, 1.0), 3.4, inside=True)


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
        "caught": ([springs, Gravity(), Held(GROUND, 4e4)], {"fixed": roots[1::3]}),
        "caught-airy": (
            [springs, *air, Held([GROUND, BOWL, ROOM], 4e4, range(1, len(rest)), margin=0.01)],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "stuck": ([springs, Gravity(), Held(GROUND, None)], {}),
        "stuck-airy": (
            [springs, *air, floor, Held([GROUND, BOWL, ROOM], None, margin=0.01)],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "put-back": ([springs, Gravity(), ProjectedContact(GROUND, 0.3)], {}),
        "put-back-deep": ([springs, ProjectedContact(DEEP, 0.3)], {}),
        "put-back-led": (
            [
                *(Springs(edges[::2], 300.0), Springs(edges[1::2], 200.0, law="cubic"), solid),
                *(FaceSprings(cases.tets(copies), 900.0), Attachments([5, 30], 40.0)),
                *(Contact(cases.BALL, 900.0, friction=0.5), Gravity()),
                ProjectedContact([GROUND, BOWL, ROOM], 0.3),
            ],
            {"damping": Rayleigh(alpha=2.0), "supports": shaken, "fixed": [25]},
        ),
        "all": (
            [
                *(Springs(edges, 400.0, yield_strain=0.02), Gravity()),
                *(Held(BOWL, 4e4), ProjectedContact([GROUND, ROOM]), CALM),
            ],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "all-stuck": (
            [
                *(springs, Gravity(), Attachments([5, 30], 40.0)),
                *(Held(BOWL, None), ProjectedContact([GROUND, ROOM], 0.1), SLOW),
            ],
            {},
        ),
        "calm-yielding": ([Springs(edges, 400.0, yield_strain=0.02), CALM], {}),
        # bodies of one, two and three particles in a line beside the lattices
        "calm-thin": ([Springs([[0, 1], [1, 2], [3, 4]], 40.0, 0.5), CALM], {}),
    }[kind]


KINDS = (
    *("calm", "calm-solid", "calm-rubbing", "calm-airy", "calm-led", "calm-yielding", "calm-thin"),
    *("caught", "caught-airy", "stuck", "stuck-airy", "put-back", "put-back-deep"),
    *("put-back-led", "all", "all-stuck"),
)
STEPS = 40
FALL = 1.5  # [m/s]


def bound(kind, copies=2):
    rng = np.random.default_rng(KINDS.index(kind))
    rest, edges, x0 = cases.body(rng, copies)
    v0 = rng.standard_normal(rest.shape)
    if kind == "calm-thin":
        x0[:, 1:] = 0.0
    if "calm" not in kind:
        v0[:, 2] -= FALL
    parts, options = parts_of(kind, rest, edges, copies)
    system = System(rng.uniform(0.5, 2.0, len(rest)), parts, rest=rest, **options)
    x0[system.fixed], v0[system.fixed] = rest[system.fixed], 0.0
    return system.bind(x0, v0)


def same_as_single_steps(kind, method, backend):
    system, state = bound(kind)
    here = cases.one_by_one(system, state, method, count=STEPS)
    there = cases.at_once(system.on(backend), state, method, cuts=(5, STEPS))
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
        size = 1e5 if kind.endswith("led") else 10.0
        cases.agree(getattr(there.ledger, line), getattr(here.ledger, line), size * energy)
    assert here.ledger.dissipated_now > 1e-3 * energy
    assert (here.ledger.invented_now > 0.01 * energy) == (kind == "put-back-deep")
    known, wanted = there.system.energy(there.state), here.system.energy(here.state)
    assert list(known) == list(wanted)
    for name, value in known.items():
        cases.agree(value, wanted[name], 10.0 * max(energy, abs(wanted[name])))
    told = here.system.diagnostics(here.state)
    assert there.notes.keys() == told.keys()
    if told:
        assert there.notes["contacts"] == told["contacts"]
        deepest = max(here.log.series["penetration"][5:])
        if kind != "put-back-led":  # where a ball looks at particles that are put back later
            cases.agree(there.notes["penetration"], deepest)
    fields = here.system.fields(here.state)
    for name, values in there.system.fields(there.state).items():
        cases.agree(values, fields[name], 100.0 * np.abs(fields[name]).max())
    a = here.system.acceleration(here.state)
    cases.agree(there.system.stretcher.acceleration(here.state), a, 10.0 * np.abs(a).max())
    if "calm" not in kind:  # shapes catch particles, or put them back, and let them go
        contacts = np.array(here.log.series["contacts"])
        assert contacts.max() > 2.0, contacts
        assert np.diff(contacts).min() < 0.0 < np.diff(contacts).max(), contacts


SCENES = ("cactus", "tori", "tori-fixed", "textile")
COUNT = 300


def touching(name):
    """A small scene that is about to touch what it falls onto, which it does in COUNT steps."""
    name, *fixed = name.split("-")
    scene = scenes.load(name, small=True, **({"hold": "fixed"} if fixed else {}))
    above, speed = {"cactus": (0.0, 0.0), "tori": (0.298, 2.4), "textile": (0.048, 1.0)}[name]
    x0, v0 = scene.x0 - [0.0, 0.0, above], np.zeros_like(scene.x0)
    v0[:, 2] = -speed
    bound, state = scene.system.bind(x0, v0)
    h = min(0.2 * stiffest(bound, state).limit, scene.step)
    options = {"integrator": "verlet", "step": h, "duration": COUNT * h, "every": 50 * h}
    return scene.system, x0, v0, options


def same_scene(name, device):
    """Positions, every line of the ledger, and the same bits twice, while it touches."""
    *scene, options = touching(name)
    host, card, again = (
        stiffly.simulate(*scene, device=where, **options) for where in ("cpu", device, device)
    )
    assert "on cards alone" in host.stats["loop"] and "stretches" in card.stats["loop"]
    size = np.abs(host.positions).max()
    assert np.abs(card.positions - host.positions).max() <= 1e-10 * size
    assert np.array_equal(card.positions, again.positions)
    lines, found = (
        {**run.energy.parts, **{n: getattr(run.energy, n) for n in ENERGIES}}
        for run in (host, card)
    )
    assert found.keys() == lines.keys()
    most = max(host.energy.exchanged, *(np.abs(line).max() for line in lines.values()))
    for line, wanted in lines.items():
        assert np.abs(found[line] - wanted).max() <= 1e-9 * most, line
    if name != "cactus":
        held = host.diagnostics["contacts"]
        assert held.max() > 5.0 and np.count_nonzero(np.diff(held)) > 1
        told = card.diagnostics["penetration"]
        np.testing.assert_allclose(
            np.nanmax(told), host.diagnostics["penetration"].max(), rtol=1e-9, atol=1e-12
        )
    assert host.energy.dissipated[-1] > 1e-4 * host.energy.exchanged


def same_bits_from_a_file(name, folder, device):
    """A run that is cut in the middle goes on with the same bits on the same side, and to rounding
    on the other one."""
    system, x0, v0, options = touching(name)
    whole = stiffly.simulate(system, x0, v0, device=device, **options)
    half = {**options, "duration": 0.5 * options["duration"], "dtype": "float64", "checkpoint": 0.0}
    for first, then in ((device, device), (device, "cpu"), ("cpu", device)):
        out = folder / f"{first}-{then}"
        stiffly.simulate(system, x0, v0, device=first, out=out, **half)
        found = stiffly.resume(out, system, device=then, duration=options["duration"])
        if first == then:
            assert np.array_equal(found.positions[:], whole.positions)
            assert np.array_equal(found.energy.total, whole.energy.total)
            assert np.array_equal(found.energy.dissipated, whole.energy.dissipated)
        else:
            size = np.abs(whole.positions).max()
            np.testing.assert_allclose(found.positions[:], whole.positions, atol=1e-9 * size)
