"""Fibers against the theory of beams: bending, twisting, stretching, the first frequency.

    python -m pytest -s tests/test_fiber_theory.py

prints the table of docs/fibers.md.
"""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg as spla

from stiffly.bodies import System, fiber
from stiffly.contracts import State

BRUSH = {"thickness": 0.12e-3, "young": 3.2e10, "torsional": 1e9, "density": 1150.0}
HAIR = {"thickness": 0.07e-3, "young": 3.6e9, "torsional": 1e9, "density": 1300.0}
TAPERED = {**HAIR, "thickness": (0.09e-3, 0.04e-3)}
LENGTH = {"bristle": 0.01, "hair": 0.1, "tapered hair": 0.1}
RODS = {"bristle": BRUSH, "hair": HAIR, "tapered hair": TAPERED}


def straight(length, n):
    points = np.zeros((n + 1, 3))
    points[:, 0] = np.linspace(0.0, length, n + 1)
    return points


def clamped(body):
    return System(body.mass, [body.part], fixed=body.root, rest=body.positions)


def response(body, load):
    """Displacements (N, 3) under loads (N, 3) [N], root held, from the tangent at rest."""
    system = clamped(body)
    K = system.linear_part().tangent.stiffness.tosparse().tocsc()
    moved = np.zeros_like(body.positions)
    moved[system.free] = spla.spsolve(K, load[system.free].ravel()).reshape(-1, 3)
    return moved


def pushed(body, direction):
    """Mean displacement of the tip along `direction` under 1 N on it."""
    load = np.zeros_like(body.positions)
    load[-4:] = np.asarray(direction) / 4.0
    return float(response(body, load)[-4:].mean(axis=0) @ direction)


def twisted(body):
    """Angle of the tip about x under a torque of 1 N m."""
    arm = np.zeros((4, 3))
    tip = body.positions[-4:] - body.positions[-4:].mean(axis=0)
    arm[:, 1], arm[:, 2] = -tip[:, 2], tip[:, 1]
    load = np.zeros_like(body.positions)
    load[-4:] = arm / np.sum(arm**2)
    return float(np.sum(response(body, load)[-4:] * arm) / np.sum(arm**2))


def frequencies(body):
    system = clamped(body)
    return np.sqrt(system.linear_part().tangent.stiffness.eigenbasis()[0])


def _integral(function, length):
    return scipy.integrate.quad(function, 0.0, length, epsrel=1e-12)[0]


class Theory:
    """Euler-Bernoulli beam of linearly varying diameter."""

    def __init__(self, length, thickness, young, torsional, density, cells=100):
        root, tip = np.broadcast_to(thickness, 2)
        self.dx = length / cells
        self.x = (np.arange(cells) + 0.5) * self.dx

        def diameter(x):
            return root + (tip - root) * x / length

        def flexibility(x):  # 1/I
            return 64 / np.pi / diameter(x) ** 4

        self.EI = young / flexibility(self.x)
        self.line = density * np.pi * diameter(self.x) ** 2 / 4
        self.deflection = _integral(lambda x: (length - x) ** 2 * flexibility(x) / young, length)
        self.twist = _integral(lambda x: 0.5 * flexibility(x) / torsional, length)
        self.stretch = _integral(lambda x: 4 / np.pi / (diameter(x) ** 2 * young), length)

    def frequency(self):
        """Lowest of a clamped beam of Hermite elements, consistent mass."""
        h, n = self.dx, len(self.x)
        k = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
        m = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])
        K, M = np.zeros((2, 2 * n + 2, 2 * n + 2))
        for i in range(n):  # rotations scaled by h: all entries alike
            at = slice(2 * i, 2 * i + 4)
            K[at, at] += self.EI[i] / h**3 * k
            M[at, at] += self.line[i] * h / 420 * m
        # 1/lam of M and K, since rounding hides the smallest lam behind the largest
        top = [2 * n - 1, 2 * n - 1]
        slow = scipy.linalg.eigh(M[2:, 2:], K[2:, 2:], eigvals_only=True, subset_by_index=top)
        return 1.0 / np.sqrt(slow[0])


def errors(name, n, **options):
    """Relative errors of deflection, twist, stretch and first frequency, and the body."""
    rod = RODS[name]
    body = fiber(straight(LENGTH[name], n), normal=(0, 1, 0), **rod, **options)
    theory = Theory(LENGTH[name], **rod)
    return body, np.array(
        [
            pushed(body, [0.0, 1, 0]) / theory.deflection,
            twisted(body) / theory.twist,
            pushed(body, [1.0, 0, 0]) / theory.stretch,
            frequencies(body)[0] / theory.frequency(),
        ]
    ) - 1.0


def test_the_theory_itself():
    """The integrals and the elements against the closed forms of a uniform beam."""
    theory = Theory(LENGTH["bristle"], **BRUSH)
    E, d, L = BRUSH["young"], BRUSH["thickness"], LENGTH["bristle"]
    assert theory.deflection == pytest.approx(L**3 / (3 * E * np.pi * d**4 / 64), rel=1e-9)
    first = 1.87510407**2 * np.sqrt(E * d**2 / 16 / BRUSH["density"] / L**4)
    assert theory.frequency() == pytest.approx(first, rel=1e-6)


# |error| of deflection, stretch and frequency that docs/fibers.md promises, by segments
UNIFORM = {4: (0.016, 0.02, 0.035), 8: (0.005, 0.01, 0.01), 16: (0.0025, 0.006, 0.002)}
CONE = {4: (0.07, 0.02, 0.1), 8: (0.02, 0.02, 0.03), 16: (0.004, 0.02, 0.007)}


@pytest.mark.parametrize("stretch", [0.0, 1.0])
@pytest.mark.parametrize(("name", "n"), [(name, n) for name in RODS for n in (4, 8, 16)])
def test_theory(name, n, stretch):
    body, found = errors(name, n, stretch=stretch)
    kept = body.stretch_ratio
    bend, twist, pull, frequency = found
    d = np.linspace(*np.broadcast_to(RODS[name]["thickness"], 2), n + 1)
    compliance = 1.0 / (d[1:] * d[:-1])  # of cones in a row, of which each keeps its share
    pull = (1.0 + pull) * np.sum(compliance) / np.sum(compliance / kept) - 1.0
    print(
        f"\n| {name} | {n} | {stretch:.0f} | {1e3 * body.width[0]:.2f} | {kept.mean():.2g} "
        f"| {bend:+.2%} | {twist:+.0e} | {pull:+.2%} | {frequency:+.2%} |",
        end="",
    )
    assert np.all(body.torsion_ratio == pytest.approx(1.0))
    assert abs(twist) < 1e-6
    limits = CONE[n] if name == "tapered hair" else UNIFORM[n]
    assert abs(bend) < limits[0] and abs(pull) < limits[1] and abs(frequency) < limits[2]
    if stretch == 1.0:
        assert np.all(body.stretch_ratio == pytest.approx(1.0))
    elif name != "tapered hair":
        assert kept == pytest.approx((RODS[name]["thickness"] / body.width[0]) ** 2)


def test_errors_fall_with_the_square_of_the_segments():
    found = np.abs([errors("hair", n, stretch=1.0)[1] for n in (4, 8, 16)])
    np.testing.assert_allclose(found[:, 0], [1 / (4 * n**2) for n in (4, 8, 16)], rtol=0.02)
    ratios = found[:-1, 3] / found[1:, 3]
    assert np.all((ratios > 3.5) & (ratios < 4.5))


def test_short_segments_are_as_thick_as_the_fiber():
    body = fiber(straight(0.01, 40), **BRUSH)
    assert body.width[0] == BRUSH["thickness"]
    assert np.allclose(body.stretch_ratio, 1.0) and np.allclose(body.torsion_ratio, 1.0)


def test_narrow_cuboids_twist_more_easily_and_say_so():
    body = fiber(straight(0.1, 8), width=0.5e-3, stretch=1.0, normal=(0, 1, 0), **HAIR)
    theory = Theory(0.1, **HAIR)
    assert 1e-3 < body.torsion_ratio[0] < 0.01
    assert twisted(body) * body.torsion_ratio[0] / theory.twist == pytest.approx(1.0, rel=1e-5)
    assert pushed(body, [0.0, 1, 0]) / theory.deflection == pytest.approx(1.0, rel=0.005)
    assert pushed(body, [1.0, 0, 0]) / theory.stretch == pytest.approx(1.0, rel=0.005)


def quarter_circle(n, **options):
    """In and out of the plane, against Castigliano's theorem: clamped at angle 0, loaded at pi/2.

    pi R^3/(4 E I) along the root's tangent; R^3 (pi/4/(E I) + (3 pi/4 - 2)/(G J)) out of plane.
    """
    R, angle = 0.05, np.linspace(0.0, np.pi / 2, n + 1)
    points = R * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    body = fiber(points, **HAIR, **options)
    EI = HAIR["young"] * np.pi * HAIR["thickness"] ** 4 / 64
    GJ = HAIR["torsional"] * np.pi * HAIR["thickness"] ** 4 / 32
    flat = np.pi * R**3 / (4 * EI)
    above = R**3 * (np.pi / 4 / EI + (0.75 * np.pi - 2) / GJ)
    return pushed(body, [0.0, 1, 0]) / flat - 1.0, pushed(body, [0.0, 0, 1]) / above - 1.0


@pytest.mark.parametrize("n", [8, 16])
def test_theory_of_a_curved_fiber(n):
    flat, above = quarter_circle(n)
    print(
        f"\nquarter circle, {n} segments: in plane {flat:+.2%}, out of plane {above:+.2%}", end=""
    )
    assert abs(flat) < 1 / n**2 and abs(above) < 1 / n**2


def test_theory_of_a_curved_fiber_that_may_not_stretch():
    """The limit that docs/fibers.md writes down: it resists torsion, until segments are short."""
    coarse, fine = quarter_circle(8, stretch=1.0)[1], quarter_circle(32, stretch=1.0)[1]
    print(f"\nwith stretch=1: {coarse:+.1%} at 8 segments, {fine:+.1%} at 32", end="")
    assert -0.2 < coarse < -0.15 and -0.1 < fine < -0.05


def elastica(load):
    """Tip (x, y)/L of a rod pushed sideways by load E I/L^2: theta'' = -load cos theta, shooting
    for the root's curvature at which the tip has none."""

    def tip(curvature):
        def slope(s, y):
            return [y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        start = [0.0, curvature, 0.0, 0.0]
        return scipy.integrate.solve_ivp(slope, (0, 1), start, rtol=1e-10, atol=1e-12).y[:, -1]

    return tip(scipy.optimize.brentq(lambda c: tip(c)[1], 0.0, load))[2:]


@pytest.mark.parametrize("name", ["bristle", "hair"])
def test_theory_of_large_deflections(name):
    """Loaded in steps up to 2 E I/L^2, where the tip has moved by half the length."""
    L, n = LENGTH[name], 8
    body = fiber(straight(L, n), normal=(0, 1, 0), **RODS[name])
    system, s = clamped(body).bind(body.positions)
    x, load = s.x, np.zeros_like(body.positions)
    for share in (0.5, 1.0, 1.5, 2.0):
        load[-4:, 1] = share / (12.0 * Theory(L, **RODS[name]).deflection / L)  # 3 E I/L^3 / 4
        for _ in range(40):  # Newton, no particle farther than a fifth of a segment at once
            force = system.force(State(0.0, x, s.v)) + load[system.free].ravel()
            K = system.tangent(State(0.0, x, s.v)).stiffness.tosparse().tocsc()
            move = spla.spsolve(K, force)
            x = x + move * min(1.0, 0.2 * L / n / np.abs(move).max())
        assert np.abs(force).max() < 1e-9 * load.max()
    tip = body.centrelines(system.positions(State(0.0, x, s.v)))[-1, :2] / L
    error = tip - elastica(2.0)
    print(f"\n{name}, {n} segments, half a length aside: off by {error} lengths", end="")
    assert np.abs(error).max() < 0.005
