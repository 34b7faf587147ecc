"""Many explicit steps in one call: against the same steps one by one, and against plain NumPy."""

import os
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import permutations, product

import numba
import numpy as np
import pytest
import reference

import stiffly
from stiffly.backends.cpu import CPU
from stiffly.bodies import (
    Attachments,
    Dashpots,
    Drag,
    FaceSprings,
    Field,
    Force,
    Gravity,
    Keyframes,
    LinearSprings,
    Moving,
    Potential,
    Rayleigh,
    Rotation,
    Springs,
    System,
    Tetrahedra,
    Wind,
)
from stiffly.collisions import Contact, Hemisphere, Plane, Sphere, keyframes, rotation
from stiffly.collisions.shapes import RigidShape
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.integrators.dop853 import DormandPrince853
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.rkn86 import Nystrom86
from stiffly.integrators.runge_kutta import RungeKutta4
from stiffly.integrators.splitting import BlanesMoan6
from stiffly.kernels import cpu
from stiffly.parts.fields import PreparedGravity
from stiffly.parts.terms import ACTS
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper
from stiffly.system import groups
from stiffly.system import stretch as grouping

H, COUNT = 2e-3, 12
LATTICE = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)


def body(rng, copies=1):
    """Particles (copies * 27, 3) of lattices side by side, and their edges."""
    pairs = np.array([(i, j) for i in range(27) for j in range(i)])
    near = pairs[np.linalg.norm(np.subtract(*LATTICE[pairs.T]), axis=1) < 1.5]
    shift = np.arange(copies)[:, None, None]
    rest = (LATTICE + [4.0, 0.0, 0.0] * shift).reshape(-1, 3)
    edges = (near + 27 * shift).reshape(-1, 2)
    return rest, edges, rest + 0.05 * rng.standard_normal(rest.shape)


def tets(copies=1):
    found = [(0, 1, 3, 9), (4, 5, 7, 13), (13, 14, 16, 22), (1, 4, 10, 3)]
    return np.array([np.array(found) + 27 * k for k in range(copies)]).reshape(-1, 4)


def solid(copies=1):
    """The cells of the lattices, each cut into six tets round one of its diagonals."""
    number = {tuple(corner): k for k, corner in enumerate(LATTICE.astype(int).tolist())}
    found = []
    for cell in product(range(2), repeat=3):
        for way in permutations(np.eye(3, dtype=int)):
            path = np.cumsum([cell, *way], axis=0)
            found.append([number[tuple(p)] for p in path])
    found = np.array(found)
    edges = LATTICE[found[:, 1:]] - LATTICE[found[:, :1]]
    turned = np.linalg.det(edges) < 0.0
    found[turned] = found[turned][:, [0, 2, 1, 3]]
    return np.concatenate([found + 27 * k for k in range(copies)])


TURN = {"axis": (0.0, 0.0, 1.0), "centre": (0.5, 0.3, 0.0), "rate": 3.0}
FLOOR = Plane((0.0, 0.0, -0.1), (0.0, 0.0, 1.0))
BALL = Sphere((1.0, 1.0, -1.0), 1.2, motion=rotation(**TURN))
BOWL = Hemisphere(
    (1.0, 1.0, -0.4), 0.7, motion=keyframes((0.0, 1.0), [(0.0,) * 3, (0.0, 0.5, 9.0)])
)


def swelling(t, start):
    """Each on a way of its own."""
    return start * (1.0 + 0.3 * np.sin(20.0 * t)) + [0.0, t * t, 0.0]


def swelling_rate(t, start):
    return 6.0 * np.cos(20.0 * t) * start + [0.0, 2.0 * t, 0.0]


def parts_of(kind, rest, edges, copies):
    """Parts, and further arguments of System."""
    springs = Springs(edges, 400.0, rest_positions=rest)
    roots = np.flatnonzero(np.arange(len(rest)) % 27 < 3)
    triangles, cells = tets(copies)[:, :3], solid(copies)
    three = [
        Tetrahedra(cells[k::3], 900.0, 0.3, material)
        for k, material in enumerate(("corotated", "stvk", "neo-hookean"))
    ]
    return {
        "springs": ([springs], {}),
        "cubic": ([Springs(edges, 400.0, rest_positions=rest, law="cubic"), Gravity()], {}),
        "both": ([Springs(edges[::2], 300.0), Springs(edges[1::2], 200.0, law="cubic")], {}),
        "faces": ([springs, FaceSprings(tets(copies), 900.0)], {}),
        "solid": ([Tetrahedra(cells, 900.0, 0.3), Gravity()], {"fixed": roots}),
        "materials": (
            [*three, springs, Gravity(), Contact(FLOOR, 2e3, margin=0.1, friction=0.3)],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "wound": (
            [*three, springs, Contact(BALL, 900.0, friction=0.5), Dashpots(edges[:40], 3.0)],
            {"supports": Rotation(roots, **TURN)},
        ),
        "damped": ([springs, Gravity()], {"damping": Rayleigh(alpha=3.0)}),
        "held": ([springs, Gravity()], {"fixed": roots, "damping": Rayleigh(alpha=3.0)}),
        "yielding": (
            [Springs(edges, 400.0, yield_strain=0.02), Springs(tets()[:, [0, 3]], 50.0, name="b")],
            {},
        ),
        "yielding-cubic": ([Springs(edges, 400.0, yield_strain=0.02, law="cubic")], {}),
        "floor": ([springs, Gravity(), Contact(FLOOR, 2e3, margin=0.1, friction=0.3)], {}),
        "shapes": (
            [springs, Contact([BALL, BOWL], 900.0, friction=0.5), Contact(FLOOR, 99.0)],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "inside": ([springs, Contact(Sphere((1.0,) * 3, 2.0, inside=True), 900.0)], {}),
        "turned": ([springs, Gravity()], {"supports": Rotation(roots, **TURN)}),
        "shaken": (
            [springs, Contact(BALL, 900.0, friction=0.5)],
            {
                "supports": Keyframes(roots, (0.0, 0.1), [(0.0,) * 3, (0.1, 0.0, 0.2)]),
                "damping": Rayleigh(alpha=2.0),
            },
        ),
        "led": (
            [springs, Contact(FLOOR, 2e3, margin=0.1, friction=0.3)],
            {
                "supports": [
                    Moving(roots[roots % 27 != 1], swelling),
                    Moving(roots[::3] + 18, swelling, swelling_rate),
                    Keyframes(roots[::3] + 20, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.5)]),
                ],
                "damping": Rayleigh(alpha=2.0),
            },
        ),
        "wind": ([springs, Wind(triangles, lambda t: (90.0 * np.cos(t), 1.0, 0.0))], {}),
        "airy": (
            [
                *(springs, Wind(triangles, (9.0, 1.0, 0.0)), Dashpots(edges[:40], 3.0)),
                *(Drag(0.4, wind=(1.0, 2.0, 0.0)), Drag(0.1, power=2)),
                *(Field(lambda t: (0.0, 0.0, np.sin(30.0 * t))), Force([5, 7], (0.0, 3.0, 0.0))),
                Contact(FLOOR, 2e3, margin=0.1, friction=0.3),
            ],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "lifted": (
            [springs, FaceSprings(tets(copies), 900.0), Gravity((1.0, 0.0, -9.0))],
            {"supports": Keyframes(roots, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.5)])},
        ),
        "tied": (
            [
                *(springs, Gravity(), Attachments(roots + 9, 90.0, rest[roots + 9] + 0.1)),
                *(Attachments([20, 5], 40.0), Attachments([5], 30.0, live=True)),
            ],
            {"damping": Rayleigh(alpha=2.0)},
        ),
        "tied-led": (
            [
                *(springs, Contact(BALL, 900.0, friction=0.5), Drag(0.4, wind=(1.0, 2.0, 0.0))),
                Attachments(roots, 90.0, motion=rotation(**TURN)),
                Attachments([20, 5], 40.0, motion=Moving((), swelling)),
                Attachments(
                    [5, 26], 60.0, motion=keyframes((0.0, 0.03), [(0.0,) * 3, (0.1, 0, 1.0)])
                ),
            ],
            {},
        ),
        "tied-held": (
            [
                *(springs, Attachments([0, 26, 5], 40.0, rest[[5, 6, 7]])),
                Attachments([1, 26, 12], 60.0, motion=rotation(**TURN)),
            ],
            {
                "supports": Keyframes(roots, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.5)]),
                "fixed": [26],
            },
        ),
        "blown": (
            [springs, Wind(triangles, (9.0, 1.0, 0.0)), Dashpots(edges[:40], 3.0), Gravity()],
            {"supports": Rotation(roots, **TURN)},
        ),
        "viscous": (
            [springs, Gravity(), Contact(FLOOR, 2e3, margin=0.1, friction=0.3)],
            {"fixed": roots, "damping": Rayleigh(alpha=2.0, beta=1e-3)},
        ),
        "viscous-both": (
            [
                *(Springs(edges[::2], 300.0), Springs(edges[1::2], 200.0, law="cubic")),
                *(FaceSprings(tets(copies), 900.0), Attachments([20, 5], 40.0), springs),
                Attachments(roots, 90.0, motion=rotation(**TURN)),
            ],
            {"damping": Rayleigh(beta=1e-3)},
        ),
        "viscous-solid": (
            [*three, springs, Gravity(), Contact(BALL, 900.0, friction=0.5)],
            {"fixed": roots, "damping": Rayleigh(beta=1e-3)},
        ),
        "viscous-yielding": (
            [Springs(edges, 400.0, yield_strain=0.02), Drag(0.4, wind=(1.0, 2.0, 0.0))],
            {"damping": Rayleigh(beta=1e-3)},
        ),
        "viscous-led": (
            [springs, Contact(BALL, 900.0, friction=0.5), Dashpots(edges[:40], 3.0)],
            {
                "supports": Keyframes(roots, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.2)]),
                "fixed": [26],
                "damping": Rayleigh(alpha=2.0, beta=1e-3),
            },
        ),
        "steady": (
            [
                *(LinearSprings(edges, 400.0, across=0.3), Gravity()),
                *(LinearSprings(edges[::3], 99.0), Contact(BALL, 900.0, friction=0.5)),
            ],
            {"fixed": roots},
        ),
        "steady-led": (
            [LinearSprings(edges, 400.0, across=0.3), springs, Attachments([20, 5], 40.0)],
            {"supports": Keyframes(roots, (0.0, 0.03), [(0.0,) * 3, (0.1, 0.0, 0.5)])},
        ),
        "steady-viscous": (
            [
                *(LinearSprings(edges, 400.0, across=1.0), Gravity()),
                Attachments(roots, 90.0, motion=rotation(**TURN)),
            ],
            {"damping": Rayleigh(alpha=2.0, beta=1e-3)},
        ),
    }[kind]


KINDS = (
    *("springs", "cubic", "both", "faces", "damped", "held", "yielding", "yielding-cubic", "floor"),
    *("shapes", "inside", "turned", "shaken", "wind", "airy", "lifted", "blown"),
    *("solid", "materials", "wound", "led", "tied", "tied-led", "tied-held"),
)
# which have loops on cards alone
CARD_KINDS = (
    *("viscous", "viscous-both", "viscous-solid", "viscous-yielding", "viscous-led"),
    *("steady", "steady-led", "steady-viscous"),
)


def bound(kind, copies=1):
    rng = np.random.default_rng((*KINDS, *CARD_KINDS).index(kind))
    rest, edges, x0 = body(rng, copies)
    parts, options = parts_of(kind, rest, edges, copies)
    system = System(rng.uniform(0.5, 2.0, len(rest)), parts, rest=rest, **options)
    held = system.fixed
    v0 = rng.standard_normal(rest.shape)
    x0[held], v0[held] = rest[held], 0.0
    return system.bind(x0, v0)


VERLET = Verlet()


def one_by_one(system, state, method=VERLET, h=H, count=COUNT):
    stepper = Stepper(system, method, "method", state, Balance(system), StepLog())
    for k in range(count):
        stepper.take(h, (k + 1) * h)
    return stepper


def at_once(system, state, method=VERLET, h=H, cuts=(5, COUNT)):
    """The same with a cut in between: what one call remembers the next one goes on with."""
    stepper = Stepper(system, method, "method", state, Balance(system), StepLog())
    for first, last in zip((0, *cuts[:-1]), cuts, strict=True):
        stepper.take_all(h, h * np.arange(first + 1, last + 1))
    return stepper


def pieces(monkeypatch):
    """Connected bodies in pieces as small as this."""
    monkeypatch.setattr(groups, "PIECE_ROWS", 6)


def agree(a, b, size=1.0):
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11 * size)


@pytest.mark.parametrize(
    "method", [Verlet(), SymplecticEuler(), RungeKutta4()], ids=lambda m: m.name
)
@pytest.mark.parametrize("kind", KINDS)
def test_stretches_are_the_steps_one_by_one(kind, method):
    system, state = bound(kind)
    steps, stretch = one_by_one(system, state, method), at_once(system, state, method)
    scale = np.abs(steps.state.v).max()
    agree(steps.state.x, stretch.state.x, scale)
    agree(steps.state.v, stretch.state.v, 100.0 * scale)
    assert steps.state.t == stretch.state.t
    assert steps.steps == stretch.steps == COUNT
    for name, array in steps.state.parts.items():
        agree(array, stretch.state.parts[name])
    energy = 0.5 * float(system.mass.dot(steps.state.v, steps.state.v))
    for line in ("added_now", "dissipated_now", "invented_now"):
        # single steps sum the work of lifting by Simpson's rule
        size = {"lifted": 1e4, "tied-held": 1e5}.get(kind, 10.0)
        agree(getattr(steps.ledger, line), getattr(stretch.ledger, line), size * energy)


@pytest.mark.parametrize("method", [BlanesMoan6(), Nystrom86(), DormandPrince853()])
@pytest.mark.parametrize("kind", ["springs", "cubic", "both", "faces", "inside", "solid"])
def test_methods_of_high_order_go_through_the_same_loops(kind, method, monkeypatch):
    system, state = bound(kind)
    assert system.conservative
    steps = step_by_step(system, state, method, monkeypatch)
    for _ in range(2):
        stretch = at_once(system, state, method)
        agree(steps.state.x, stretch.state.x, np.abs(steps.state.v).max())
        assert steps.work == stretch.work
        pieces(monkeypatch)
        system, state = bound(kind)


@pytest.mark.parametrize("kind", [k for k in KINDS if "yielding" not in k])
def test_stages_of_one_step_in_one_call(kind, monkeypatch):
    system, state = bound(kind)
    plain = step_by_step(system, state, DormandPrince853(), monkeypatch, count=3)
    done = one_by_one(system, state, DormandPrince853(), count=3)
    scale = np.abs(done.state.v).max()
    agree(plain.state.x, done.state.x, scale)
    agree(plain.state.v, done.state.v, 100.0 * scale)


def step_by_step(system, state, method, monkeypatch, count=COUNT):
    """Nothing compiled but the forces."""
    with monkeypatch.context() as patched:
        patched.setattr(System, "stretcher", None)
        patched.setattr(System, "laid_out", None)
        return one_by_one(system, state, method, count=count)


def test_the_cases_do_what_they_are_for():
    """Contact touches, springs yield, supports and wind do work: else nothing was compared."""
    for kind, line in (
        *(("yielding", "dissipated_now"), ("floor", "dissipated_now"), ("turned", "added_now")),
        *(("shapes", "added_now"), ("wind", "added_now"), ("damped", "dissipated_now")),
        *(("lifted", "added_now"), ("blown", "added_now"), ("airy", "dissipated_now")),
        *(("materials", "dissipated_now"), ("wound", "added_now"), ("led", "added_now")),
        *(("tied-led", "added_now"), ("tied-held", "added_now")),
    ):
        stepper = one_by_one(*bound(kind))
        energy = 0.5 * float(stepper.system.mass.dot(stepper.state.v, stepper.state.v))
        assert abs(getattr(stepper.ledger, line)) > 1e-4 * energy, kind


WHOLE = ("wind", "airy", "lifted", "blown", "wound")  # never cut


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in WHOLE])
def test_pieces_of_a_body_go_as_the_whole(kind, monkeypatch):
    system, state = bound(kind)
    whole = at_once(system, state)
    pieces(monkeypatch)
    system, state = bound(kind)
    parted = at_once(system, state)
    assert "pieces" in system.stretcher.words
    scale = np.abs(whole.state.v).max()
    agree(whole.state.x, parted.state.x, scale)
    energy = 0.5 * float(system.mass.dot(whole.state.v, whole.state.v))
    for line in ("added_now", "dissipated_now"):
        agree(getattr(whole.ledger, line), getattr(parted.ledger, line), 10.0 * energy)
    for name, array in whole.state.parts.items():
        agree(array, parted.state.parts[name])


@pytest.mark.parametrize("kind", ["springs", "held", "shaken", "airy", "materials"])
def test_many_bodies_go_one_after_the_other(kind):
    system, state = bound(kind, copies=64)
    steps, stretch = one_by_one(system, state), at_once(system, state)
    assert system.stretcher.words == "64 bodies one after the other"
    scale = np.abs(steps.state.v).max()
    agree(steps.state.x, stretch.state.x, scale)


@pytest.mark.parametrize("scheme", [Verlet.splitting, RungeKutta4.tableau], ids=["verlet", "rk4"])
@pytest.mark.parametrize("where", ["alone", "pieces", "bodies"])
@pytest.mark.parametrize(
    "kind", ["yielding", "shaken", "faces", "airy", "materials", "wound", "tied-led", "tied-held"]
)
def test_the_kernel_is_its_plain_twin(kind, where, scheme, monkeypatch):
    if where == "pieces":
        pieces(monkeypatch)
    if where == "bodies":
        monkeypatch.setattr(groups, "MANY_BODIES", 2)
    system, state = bound(kind, copies=2 if where == "bodies" else 1)
    a, results = system.acceleration(state), []
    for kernels in (cpu, reference):
        stretcher = grouping.Stretcher(system)
        stretcher._kernels = kernels
        done = stretcher.steps(scheme, state, a, H, H * np.arange(1, 5))
        results.append([done.state.x, done.state.v, done.acceleration, *done.state.parts.values()])
        results[-1].append(np.array([done.exchanged.added, done.exchanged.dissipated]))
    for compiled, plain in zip(*results, strict=True):
        agree(compiled, plain, 1e3 * max(1.0, np.abs(plain).max()))


def sway(stretcher, asked):
    """Particles that are held go where all others, which lie lower, take them."""
    groups = stretcher._body.groups
    moved, held = groups.mass > 0.0, groups.place >= stretcher._system.numbering.free
    home = np.pad(stretcher._system.reference(), ((0, 0), (0, 1)))[groups.place[held]]

    def fill(rows):
        asked.append(rows[:, :3].sum())
        rows[held] = home + 0.3 * np.sin(rows[moved].mean(axis=0))

    stretcher.over(lambda places, own: fill if (own == moved).all() else None)


@pytest.mark.parametrize("scheme", [Verlet.splitting, RungeKutta4.tableau], ids=["verlet", "rk4"])
@pytest.mark.parametrize("where", ["alone", "pieces", "threads"])
@pytest.mark.parametrize("kind", ["held", "solid"])
def test_rows_that_somebody_else_moves_are_asked_for_whenever_particles_have_moved(
    kind, where, scheme, monkeypatch
):
    if where != "alone":
        pieces(monkeypatch)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2 if where == "threads" else 1)
    system, state = bound(kind)
    a, results, count = system.acceleration(state), [], 4
    for kernels in (cpu, reference):
        stretcher, asked = grouping.Stretcher(system), []
        stretcher._kernels = kernels
        sway(stretcher, asked)
        done = stretcher.steps(scheme, state, a, H, H * np.arange(1, 1 + count))
        results.append([done.state.x, done.state.v, done.acceleration])
        if kernels is cpu:
            stages = len(scheme.drifts) if scheme is Verlet.splitting else scheme.end
            assert len(asked) == count * stages
    for compiled, plain in zip(*results, strict=True):
        agree(compiled, plain, 1e3 * max(1.0, np.abs(plain).max()))
    still = grouping.Stretcher(system).steps(scheme, state, a, H, H * np.arange(1, 1 + count))
    assert np.abs(still.state.x - done.state.x).max() > 1e-5


def test_what_goes_wrong_while_others_are_asked_is_told_at_the_end():
    system, state = bound("springs")
    stretcher, asked = grouping.Stretcher(system), []

    def fails(rows):
        asked.append(rows)
        raise KeyError("lost")

    stretcher.over(lambda places, moved: fails)
    with pytest.raises(KeyError, match="lost"):
        stretcher.steps(Verlet.splitting, state, np.zeros(system.size), H, H * np.arange(1, 4))
    assert len(asked) == 3  # others wait for each


@pytest.mark.parametrize("kind", ["shaken", "yielding", "materials"])
@pytest.mark.parametrize("copies", [1, 64])
def test_the_bits_do_not_depend_on_threads(kind, copies, monkeypatch):
    pieces(monkeypatch)
    system, state = bound(kind, copies)
    ends = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        ends.append(at_once(system, state))
    for other in ends[1:]:
        assert np.array_equal(ends[0].state.x, other.state.x)
        assert np.array_equal(ends[0].state.v, other.state.v)
        assert ends[0].ledger.dissipated_now == other.ledger.dissipated_now


def test_two_runs_at_once_do_not_wait_for_each_others_threads(monkeypatch):
    """A team of three shared by two callers: each would wait for one whose place the other has."""
    pieces(monkeypatch)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    alone = at_once(*bound("shaken")).state.x
    with ThreadPoolExecutor(4) as callers:
        ends = [callers.submit(at_once, *bound("shaken")) for _ in range(12)]
        for end in ends:
            assert np.array_equal(end.result(timeout=600).state.x, alone)


# ------------------------------------------------------------------ runs


def run(system, state_or_x, **options):
    return stiffly.simulate(system, state_or_x, step=H, duration=20 * H, **options)


def test_a_run_says_how_its_steps_were_taken():
    rest, edges, x0 = body(np.random.default_rng(0))
    system = System(1.0, [Springs(edges, 400.0)], rest=rest)
    assert run(system, x0, integrator="verlet").stats["loop"] == "compiled stretches: one call"
    assert run(system, x0, integrator="exprb2").stats["loop"] == "step by step"


def unsupported():
    rest, edges, x0 = body(np.random.default_rng(0), copies=3)
    springs = Springs(edges, 400.0)
    own = Potential(lambda x: float(np.sum(x**4)), lambda x: 4.0 * x**3)
    every = Moving(np.arange(65), lambda t, start: start + np.sin(t))
    two = [Keyframes([k], (0.0, 1.0), [(0.0,) * 3, (k, 0.0, 0.0)]) for k in edges[0]]
    return (
        {
            "Potential": ([springs, own], {}),
            "beta": ([springs], {"damping": Rayleigh(alpha=1.0, beta=1e-3)}),
            "Moving": ([springs], {"supports": every}),
            "along a path": ([springs], {"supports": Moving(edges[0], swelling)}),
            "two supports": ([springs], {"supports": two}),
            "drag": ([springs, Drag(0.1, wind=(1.0, 0.0, 0.0))], {"fixed": [0]}),
        },
        rest,
        x0,
    )


@pytest.mark.parametrize(
    "word", ["Potential", "beta", "Moving", "along a path", "two supports", "drag"]
)
def test_what_the_loop_lacks_goes_step_by_step_and_says_why(word):
    cases, rest, x0 = unsupported()
    parts, options = cases[word]
    system = System(1.0, parts, rest=rest, **options)
    x0[system.fixed] = rest[system.fixed]
    loop = run(system, x0, integrator="verlet").stats["loop"]
    assert loop.startswith("step by step: ")
    assert word in loop


def test_springs_between_held_particles_keep_their_rest_lengths():
    """They yield to nothing, and no group has them."""
    rest, edges, x0 = body(np.random.default_rng(0))
    springs = Springs(edges, 400.0, yield_strain=0.01, rest_positions=rest)
    system, state = System(1.0, [springs], rest=rest, fixed=np.arange(9)).bind(
        np.where(np.arange(27)[:, None] < 9, rest, x0)
    )
    held = (edges < 9).all(axis=1)
    assert held.any()
    end = at_once(system, state).state
    lengths = np.linalg.norm(np.subtract(*rest[edges[held].T]), axis=1)
    assert np.array_equal(end.parts["elastic/rest"][held], lengths)


class HalfGravity(Gravity):
    """Says what it does in its own way."""

    def prepare(self, particles):
        return PreparedHalf(self.g, particles)


class PreparedHalf(PreparedGravity):
    def energy(self, x):
        return 0.5 * super().energy(x)

    def add_gradient(self, x, out):
        out += 0.5 * self._weight


class Shaken(Keyframes):
    def place(self, t, start):
        x, v = super().place(t, start)
        return x + 0.01 * np.sin(100.0 * t), v + np.cos(100.0 * t)


class OwnFloor(RigidShape):
    """A shape that knows `surface` alone."""

    def surface(self, t, x, ahead=0.0):
        return FLOOR.surface(t, x, ahead)


def test_what_a_class_of_ones_own_does_otherwise_is_seen():
    rest, edges, x0 = body(np.random.default_rng(0))
    springs = Springs(edges, 400.0)
    for parts in ([springs, HalfGravity()], [springs, Contact(OwnFloor(), 100.0)]):
        loop = run(System(1.0, parts, rest=rest), x0, integrator="verlet").stats["loop"]
        assert loop.startswith("step by step: ")


def test_a_support_of_ones_own_goes_where_its_place_says():
    """Not where the class that it is derived from would go."""
    rest, edges, x0 = body(np.random.default_rng(0))
    moved = Shaken([0], (0.0, 1.0), [(0.0,) * 3, (1.0, 0.0, 0.0)])
    system = System(1.0, [Springs(edges, 400.0)], rest=rest, supports=moved)
    x0[0] = rest[0]
    system, state = system.bind(x0)
    steps, stretch = one_by_one(system, state), at_once(system, state)
    scale = np.abs(steps.state.v).max()
    agree(steps.state.x, stretch.state.x, scale)
    agree(steps.state.v, stretch.state.v, 100.0 * scale)
    agree(steps.ledger.added_now, stretch.ledger.added_now, 10.0 * scale**2 * len(rest))
    assert abs(stretch.ledger.added_now) > 0.1


def test_a_method_of_ones_own_may_call_anything_a_tableau():
    class Own(RungeKutta4):
        tableau = np.eye(2)

        def step(self, system, state, h, memory):
            return Verlet().step(system, state, h, None)

    rest, edges, x0 = body(np.random.default_rng(0))
    system = System(1.0, [Springs(edges, 400.0)], rest=rest)
    assert run(system, x0, integrator=Own()).stats["loop"] == "step by step"


def test_a_system_that_is_not_bound_can_be_moved():
    system = System(np.ones(2), [Springs([[0, 1]], 10.0, rest=1.0)])
    state = State(0.0, np.array([0.0, 0.0, 0.0, 1.5, 0.0, 0.0]), np.zeros(6))
    assert Verlet().step(system, state, 0.01, None).state.x[0] == pytest.approx(10 * 0.5 * 5e-5)


def test_long_steps_sum_their_work_themselves():
    rest, edges, x0 = body(np.random.default_rng(0))
    parts = [Springs(edges, 400.0), Field(lambda t: (0.0, 0.0, 50.0 * np.sin(40.0 * t)))]
    system = System(1.0, parts, rest=rest)
    found = run(system, x0, integrator="rkn6")
    assert found.stats["loop"].startswith("compiled steps")
    assert np.abs(found.energy.numerical).max() < 1e-8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    pieces(monkeypatch)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    system, state = bound("springs")
    here = at_once(system, state).state.x
    child = os.fork()
    if child == 0:
        same = np.array_equal(at_once(system, state).state.x, here)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_backend_without_these_loops_goes_step_by_step():
    class Fewer:
        def __getattr__(self, name):
            if name in grouping.KERNELS:
                raise InputError(f"no kernel {name}")
            return getattr(CPU.kernels, name)

    class Backend:
        name, kernels = "fewer", Fewer()

        def __getattr__(self, name):
            return getattr(CPU, name)

    rest, edges, x0 = body(np.random.default_rng(0))
    system = System(1.0, [Springs(edges, 400.0)], rest=rest, backend=Backend())
    assert run(system, x0, integrator="verlet").stats["loop"].startswith("step by step: ")


def test_a_method_of_ones_own_that_began_as_verlet_is_asked_for_its_steps():
    class Slower(Verlet):
        def step(self, system, state, h, memory):
            half = super().step(system, state, 0.5 * h, memory)
            return super().step(system, half.state, 0.5 * h, half.memory)

    rest, edges, x0 = body(np.random.default_rng(0))
    system = System(1.0, [Springs(edges, 400.0)], rest=rest)
    assert run(system, x0, integrator=Slower()).stats["loop"] == "step by step"


@pytest.mark.parametrize("kind", ["shaken", "yielding", "materials"])
def test_a_run_that_is_resumed_has_the_same_bits(kind, tmp_path):
    system, state = bound(kind)
    x0, v0 = system.positions(state), system.velocities(state)
    v0[system.fixed] = 0.0
    options = {"integrator": "verlet", "step": H, "every": 4 * H, "dtype": "float64"}
    whole = stiffly.simulate(system, x0, v0, duration=16 * H, out=tmp_path / "a", **options)
    half = stiffly.simulate(
        system, x0, v0, duration=8 * H, out=tmp_path / "b", checkpoint=0.0, **options
    )
    assert half.times[-1] < whole.times[-1]
    longer = stiffly.resume(tmp_path / "b", system, duration=16 * H)
    assert np.array_equal(whole.positions[-1], longer.positions[-1])
    assert whole.energy.dissipated[-1] == longer.energy.dissipated[-1]


def test_most_registers_are_full():
    """Of a cloth, whose rows have six springs each at first; every spring has one place."""
    scene = stiffly.scenes.load("flag", resolution=16)
    system, _ = scene.system.bind(scene.x0)
    springs = system.stretcher._body.cubic
    edges = np.concatenate([p.edges for p in scene.system.given.parts if hasattr(p, "edges")])
    moves = (~np.isin(edges, scene.system.fixed)).any(axis=1).sum()
    assert np.count_nonzero(springs.stiffness) == moves
    assert moves <= springs.other.size < 1.15 * moves


def test_a_stretch_that_diverges_is_noticed():
    rest, edges, x0 = body(np.random.default_rng(0))
    system = System(1.0, [Springs(edges, 1e9)], rest=rest)
    with pytest.raises(stiffly.Diverged):
        run(system, x0, integrator="verlet")


def test_frames_do_not_change_where_a_run_ends():
    """Stretches are cut at frames and looks: the same steps, the same bits."""
    system, state = bound("shaken")
    x0, v0 = system.positions(state), system.velocities(state)
    v0[system.fixed] = 0.0
    ends = [
        run(system, x0, v0=v0, integrator="verlet", every=every * H).positions[-1]
        for every in (1, 4, 20)
    ]
    for other in ends[1:]:
        np.testing.assert_allclose(ends[0], other, rtol=0.0, atol=1e-12)


def test_a_state_of_ones_own_without_memory_is_taken():
    system, state = bound("springs")
    done = system.stretcher.steps(
        Verlet.splitting, State(0.0, state.x, state.v), system.acceleration(state), H, np.array([H])
    )
    one = Verlet().step(system, state, H, None)
    agree(done.state.x, one.state.x)


# ------------------------------------------------------------------ laid out once


def block(**more):
    """A function that makes it anew, with a layer of it held unless there is more to it, and x."""
    rest, edges, x = body(np.random.default_rng(5))
    lengths = np.linalg.norm(np.subtract(*rest[edges.T]), axis=1)
    given = more or {"fixed": np.arange(9)}
    return lambda: System(0.3, [Springs(edges, 400.0, lengths), Gravity()], rest=rest, **given), x


def test_a_system_is_laid_out_once(monkeypatch):
    make, x = block()
    made, system, plain = [], make(), groups.Layout.__init__
    monkeypatch.setattr(
        groups.Layout, "__init__", lambda self, *given: made.append(plain(self, *given))
    )
    for name in ("verlet", "rkn6", "verlet"):
        stiffly.simulate(system, x, integrator=name, step=H, duration=COUNT * H)
    assert len(made) == 1


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"damping": Rayleigh(0.4)},
        {"supports": Keyframes([0, 1], (0.0, 0.02), [(0.0,) * 3, (0.1, 0.0, 0.2)])},
    ],
    ids=["held", "damped", "led"],
)
@pytest.mark.parametrize("name", ["verlet", "dop853"])
def test_a_run_finds_nothing_of_the_one_before(name, more):
    make, x = block(**more)
    system, how = make(), {"integrator": name, "step": H, "duration": COUNT * H}
    stiffly.simulate(system, x, **how)
    again, fresh = (stiffly.simulate(s, 1.1 * x, **how) for s in (system, make()))
    np.testing.assert_array_equal(again.positions, fresh.positions)
    np.testing.assert_array_equal(again.energy.numerical, fresh.energy.numerical)


def test_less_damping_is_another_layout():
    (damped, x), (free, _) = block(damping=Rayleigh(0.4)), block(damping=None)
    bound, state = damped().bind(x, x)
    assert bound.stretcher.acceleration(state).any()
    other, _ = free().bind(x, x)
    expected = other.stretcher.acceleration(state)
    calm = bound.less_damped(0.4).stretcher.acceleration(state)
    np.testing.assert_array_equal(calm, expected)
    assert np.abs(bound.stretcher.acceleration(state) - expected).max() > 0.1


def test_loops_know_what_parts_do_between_steps():
    """Terms that a class has from another one say nothing of what it does in its own way."""
    known = {"SettlingContact", "YieldingSprings", "RubbingRepulsion"}  # whose terms tell it
    known.add("PreparedFixed")  # as its own
    found = set()
    for room in (stiffly.parts, stiffly.collisions):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            for kind in vars(import_module(module.name)).values():
                own = isinstance(kind, type) and kind.__module__ == module.name
                if own and hasattr(kind, "terms") and "terms" not in vars(kind):
                    found |= {kind.__name__} if any(act in vars(kind) for act in ACTS) else set()
    assert found == known
