"""Particles are kept in rows, free ones first, and nobody outside sees it: a body whose particles
are numbered otherwise moves alike, and whoever is named is named as the user does."""

from functools import cache

import numpy as np
import pytest

import stiffly
from stiffly import Gravity, Springs, System, simulate
from stiffly.bodies import (
    Attachments,
    Dashpots,
    Drag,
    FaceSprings,
    Field,
    Force,
    Keyframes,
    LennardJones,
    LinearSprings,
    MomentumDamping,
    MotorTorque,
    Potential,
    Rayleigh,
    Rotation,
    StokesFluid,
    Tetrahedra,
    Wind,
    consistent_mass,
)
from stiffly.collisions import Contact, Held, Plane, ProjectedContact, Repulsion, Sphere, keyframes
from stiffly.errors import InputError
from stiffly.meshes import lattice
from stiffly.meshes.grids import grid_tets
from stiffly.parts.pattern import free_first
from stiffly.parts.rigid_body import Pose, RigidFrame

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # rough starts

SHAPE = (3, 2, 2)
X = np.indices(SHAPE).reshape(3, -1).T + 0.05 * np.random.default_rng(0).standard_normal((12, 3))
V = 0.3 * np.random.default_rng(1).standard_normal((12, 3))
TETS = grid_tets(SHAPE)
EDGES = lattice(*SHAPE, diagonals=True).edges
SKIN = np.array([[0, 1, 3], [0, 3, 2], [4, 5, 7], [4, 7, 6]])
EACH = np.random.default_rng(2).uniform(0.5, 2.0, 12)  # a number of each particle's own
LAST = np.array([10, 11])
SPRINGS = np.random.default_rng(3).uniform(100.0, 300.0, len(EDGES))
RISING = keyframes([0.0, 1.0], [[0, 0, 0], [0, 0, 0.5]])
FLOOR = Plane((0, 0, 0.1), (0, 0, 1))
SPUN = Pose(
    *(np.zeros(3), np.eye(3), np.zeros(3), np.array([0.1, 0.4, 0.2])),
    *(np.array([0.0, 0.2, -0.3]), np.array([0.0, 0.0, 3.0])),
)


class Names:
    """Particles given other numbers: `i` of indices, `a` of arrays that have one entry for each."""

    def __init__(self, new):
        self.new, self.old = np.asarray(new), np.argsort(new)

    def i(self, particles):
        return self.new[np.asarray(particles)]

    def a(self, values):
        return values[self.old]


AS_GIVEN = Names(np.arange(12))
OTHERS = {
    "first": Names(np.arange(12)[::-1]),  # those that are held come first
    "middle": Names(np.roll(np.arange(12), 5)),
    "anywhere": Names(np.random.default_rng(4).permutation(12)),
}


def springs(n):
    return Springs(n.i(EDGES), SPRINGS, rest_positions=n.a(X))


def tied(n, *parts):
    return [springs(n), *parts]


def own_potential(n):
    """Of two particles that the user knows by number."""
    a, b = n.i([3, 7])

    def gradient(x):
        g = np.zeros_like(x)
        g[a], g[b] = 40.0 * (x[a] - x[b]), 40.0 * (x[b] - x[a])
        return g

    return Potential(lambda x: 20.0 * np.sum((x[a] - x[b]) ** 2), gradient, couples=[[a, b]])


PARTS = {
    "springs": lambda n: [springs(n)],
    "cubic": lambda n: [Springs(n.i(EDGES), SPRINGS, law="cubic"), Gravity()],
    "yielding": lambda n: [Springs(n.i(EDGES), SPRINGS, yield_strain=0.01)],
    "linear springs": lambda n: [LinearSprings(n.i(EDGES), SPRINGS, across=0.2)],
    "face springs": lambda n: tied(n, FaceSprings(n.i(TETS), 50.0)),
    "tets": lambda n: [Tetrahedra(n.i(TETS), 300.0, 0.3), Gravity()],
    "stvk": lambda n: [Tetrahedra(n.i(TETS), 300.0, 0.3, "stvk"), Gravity()],
    "dashpots": lambda n: tied(n, Dashpots(n.i(EDGES), 0.5)),
    "drag": lambda n: tied(n, Drag(n.a(EACH), power=2, wind=(1.0, 0.5, 0.0))),
    "wind": lambda n: tied(n, Wind(n.i(SKIN), (3.0, 1.0, 0.5))),
    "fields": lambda n: tied(n, Field((0, 1, 2)), Force(n.i([2, 5]), lambda t: (t, 1.0, 0.0))),
    "momentum damping": lambda n: tied(n, MomentumDamping(rate=3.0)),
    "rigid frame": lambda n: tied(n, RigidFrame(lambda t: SPUN)),
    "motor": lambda n: tied(n, MotorTorque(0.5, n.i([0, 1, 2, 3]), n.i([8, 9, 11]))),
    "potential": lambda n: tied(n, own_potential(n)),
    "atoms": lambda n: [LennardJones(n.a(EACH), 0.4 + 0.2 * n.a(EACH), exclude=n.i(EDGES[::2]))],
    "atoms, cut": lambda n: [LennardJones(5.0, 0.7, exclude=n.i(EDGES[::3]), cutoff=1.6)],
    "fluid": lambda n: tied(n, StokesFluid(0.3, 0.2, n.i([0, 2, 5, 7, 10]))),
    "attachments": lambda n: tied(n, Attachments(n.i([5, 1, 11]), 60.0, motion=RISING)),
    "pins": lambda n: tied(n, Attachments(n.i([5, 1]), 60.0, points=X[[5, 1]] + 0.1)),
    "contact": lambda n: tied(
        n, Contact(Sphere((0, 0, -0.5), 0.7, motion=RISING), 200.0 * n.a(EACH), friction=0.3)
    ),
    "contact of some": lambda n: tied(n, Contact(FLOOR, 500.0, n.i([0, 2, 4, 10]))),
    "held": lambda n: tied(n, Gravity(), Held(FLOOR, 400.0)),
    "projection": lambda n: tied(n, Gravity(), ProjectedContact(Plane((0, 0, 0), (0, 0, 1)))),
    "repulsion": lambda n: tied(
        n, Repulsion(n.i(SKIN), n.i([[8, 9]]), thickness=0.9, stiffness=30.0, friction=0.2)
    ),
}
CASES = [("free", "anywhere"), *((held, other) for held in ("fixed", "led") for other in OTHERS)]


def body(parts, held, n=AS_GIVEN, **options):
    """The System, its start and its velocities."""
    last, v = n.i(LAST), V.copy()
    if held != "free":
        v[LAST] = 0.0
    if held == "fixed":
        options["fixed"] = last
    elif held == "led":
        options["fixed"] = last[:1]
        options["supports"] = [Rotation(last[1:], axis=(0, 0, 1), rate=0.5)]
    mass = options.pop("mass", EACH)
    mass = mass[n.old][:, n.old] if mass.ndim == 2 else n.a(mass)
    return System(mass, PARTS[parts](n), rest=n.a(X), **options), n.a(X), n.a(v)


def moved(system, x0, v0, n, method):
    run = simulate(system, x0, v0, integrator=method, step=2e-3, duration=0.02)
    book = np.array([run.energy.total, run.energy.added, run.energy.dissipated])
    return run.positions[:, n.new], run.velocities[:, n.new], book


@cache
def as_given(parts, held, method):
    return moved(*body(parts, held), AS_GIVEN, method)


def assert_alike(parts, held, other, method, **options):
    x, v, book = (
        moved(*body(parts, held, **options), AS_GIVEN, method)
        if options
        else as_given(parts, held, method)
    )
    y, w, books = moved(*body(parts, held, other, **options), other, method)
    assert np.abs(x - x[0]).max() > 1e-4  # there is something to see
    np.testing.assert_allclose(y, x, rtol=0.0, atol=1e-10 * np.abs(x).max())
    np.testing.assert_allclose(w, v, rtol=0.0, atol=1e-9 * np.abs(v).max())
    np.testing.assert_allclose(books, book, rtol=0.0, atol=1e-9 * (1.0 + np.abs(book).max()))


@pytest.mark.parametrize("held, other", CASES)
@pytest.mark.parametrize("parts", PARTS)
def test_numbers_of_particles_do_not_matter(parts, held, other):
    """Every part, explicit and implicit; what is held or led comes last in the one, and first, in
    the middle or anywhere in the other."""
    for method in ("verlet", "energy-momentum"):
        assert_alike(parts, held, OTHERS[other], method)


METHODS = ["exprb42", "eti", "ceti", "projective", "stabilised", "bdf2", "midpoint"]


SOME = ["springs", "tets", "contact of some", "attachments"]
PAIRS = [*((p, m) for p in SOME for m in METHODS), *(("atoms", m) for m in ("exprb42", "bdf2"))]


@pytest.mark.parametrize("parts, method", PAIRS)
def test_nor_do_they_for_other_methods(parts, method):
    assert_alike(parts, "fixed", OTHERS["anywhere"], method)


@pytest.mark.parametrize("method", ["exprb42", "energy-momentum"])
@pytest.mark.parametrize("parts", ["springs", "drag", "fluid"])
def test_nor_for_damping_that_is_proportional_to_stiffness(parts, method):
    assert_alike(parts, "led", OTHERS["anywhere"], method, damping=Rayleigh(0.2, 1e-3))


@pytest.mark.parametrize("parts", ["springs", "stvk"])
def test_nor_for_a_consistent_mass(parts):
    mass = consistent_mass(X, TETS, 3.0)
    for method in ("exprb42", "energy-momentum"):
        assert_alike(parts, "fixed", OTHERS["anywhere"], method, mass=mass)


def test_nor_for_rods():
    chain = np.stack([np.arange(11), np.arange(1, 12)], axis=1)
    ends = []
    for n in (AS_GIVEN, OTHERS["anywhere"]):
        parts = [Springs(n.i(chain), 100.0), Gravity()]
        system = System(n.a(EACH), parts, rest=n.a(X), fixed=n.i([0]))
        run = simulate(system, n.a(X), integrator="fast-projection", step=2e-3, duration=0.02)
        ends.append(run.positions[:, n.new])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-10)


# ------------------------------------------------------------------ what rows are


def test_free_particles_come_first():
    system, x0, v0 = body("springs", "fixed", OTHERS["middle"])
    bound, s = system.bind(x0, v0)
    n = len(system.free)
    assert np.array_equal(system.fixed, np.sort(OTHERS["middle"].i(LAST)))
    np.testing.assert_array_equal(s.x.reshape(-1, 3), x0[system.free])
    np.testing.assert_array_equal(bound.row_positions(s)[:n].ravel(), s.x)
    np.testing.assert_array_equal(bound.row_positions(s)[n:], x0[system.fixed])
    np.testing.assert_array_equal(bound.positions(s), x0)
    np.testing.assert_array_equal(bound.velocities(s), v0)


@pytest.mark.parametrize("held", [[], [10, 11]])
def test_what_is_numbered_so_already_stays(held):
    numbering = free_first(12, held)
    assert np.array_equal(numbering.order, np.arange(12)) and numbering.free == 12 - len(held)
    assert numbering.given(X) is X


def test_forces_on_the_free_are_a_part_of_all_forces():
    """No copy, no mask."""
    system, x0, v0 = body("springs", "fixed", OTHERS["anywhere"])
    bound, s = system.bind(x0, v0)
    assert bound.force(s).base is not None and bound.force(s).base.size == X.size


def test_settling_leaves_the_state_as_it_is():
    """A part that puts particles elsewhere gives a new state, where nothing is fixed, too."""
    low = X - [0, 0, 0.3]
    for fixed in ([], [11]):
        system, s = System(EACH, [ProjectedContact(FLOOR)], fixed=fixed).bind(low)
        before, settled = s.x.copy(), system.settle(s, 0.01)
        np.testing.assert_array_equal(s.x, before)
        assert settled.changed and not np.array_equal(settled.state.x, before)


# ------------------------------------------------------------------ what users read and write


def message(build):
    with pytest.raises(InputError) as caught:
        build()
    return str(caught.value)


def test_atoms_are_named_as_the_user_numbers_them():
    near = np.array([[0.0, 0, 0], [3.0, 0, 0], [6.0, 0, 0], [3.01, 0, 0]])

    def bound(**held):
        system, s = System(np.ones(4), [LennardJones(1.0, 1.0)], **held).bind(near)
        system.force(s)

    assert message(lambda: bound(fixed=[0])) == message(bound)
    assert "atoms 1 and 3" in message(bound)


@pytest.mark.parametrize("gap", [0.0, -0.1])
def test_what_touches_is_named_as_the_user_numbers_it(gap):
    one = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    x = np.concatenate([[[9.0, 9, 9]], one, one + np.array([0.2, 0.2, gap])])
    x[5:, 2] += 0.5 * (gap < 0)  # then two edges go through the other triangle
    parts = [Repulsion([[1, 2, 3], [4, 5, 6]], thickness=0.1, stiffness=10.0)]

    def bound(**held):
        System(np.ones(7), parts, **held).bind(x)

    assert message(lambda: bound(fixed=[0])) == message(bound)


def test_a_live_hand_is_told_users_numbers():
    hand = Attachments([], 50.0, live=True)
    system = System(EACH, [Springs(EDGES, 200.0), hand], rest=X, fixed=[0, 1])
    bound, s = system.bind(X)
    hand.attach([11, 2], X[[11, 2]] + 0.1)
    s = bound.settle(s, 0.01).state
    f = np.zeros((12, 3))
    f[system.free] = bound.force(s).reshape(-1, 3)
    np.testing.assert_allclose(f[[11, 2]], 5.0, atol=1e-9)
    assert np.abs(np.delete(f, [2, 11], axis=0)).max() < 1e-9
    bound.recall({"bounds": None}, s)  # a run that goes on tells the hand what it holds
    assert list(hand.wanted.particles) == [11, 2]
    hand.release(11)
    s = bound.settle(s, 0.01).state
    assert np.abs(bound.force(s).reshape(-1, 3)[-1]).max() < 1e-9


def test_a_support_is_handed_its_particles_in_order():
    seen = []

    class Watching(Keyframes):
        def place(self, t, start):
            seen.append(start)
            return super().place(t, start)

    led = [7, 2, 5]
    system = System(
        EACH, [springs(AS_GIVEN)], rest=X, supports=[Watching(led, [0, 1], np.zeros((2, 3)))]
    )
    bound, s = system.bind(X)
    bound.positions(s)
    assert all(np.array_equal(start, X[[2, 5, 7]]) for start in seen)


class Unaware:
    """A part of a time when all saw particles as the user numbers them."""

    name = "unaware"

    def couples(self, particles):
        return np.empty((0, 2), dtype=np.int64)

    def prepare(self, particles, pattern):
        raise AssertionError("it would act on the wrong particles")


@pytest.mark.parametrize("fixed", [[], [0]])
def test_a_part_that_knows_of_no_rows_is_told_the_line(fixed):
    words = message(lambda: stiffly.System(np.ones(3), [Unaware()], fixed=fixed))
    assert "part Unaware: prepare takes other arguments: write `def prepare(self, par" in words
    assert "stiffly.parts.part.Part" in words and "\n" not in words
