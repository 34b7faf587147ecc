"""Every filter in every form of eti, ceti and neti, against the paper's formulas written out.

Independent of the integrators: matrix functions by eigh of M^-1/2 K M^-1/2, filters as in the
textbook, and every formula about its reference r, the point where the linearised force vanishes:
for eti that of the rest shape under its weight, found by solving for it (or the rest shape, as
printed); for ceti and neti that of the state.
"""

import numpy as np
import pytest
import scipy.linalg
from systems import march

from stiffly.bodies import Gravity, Rayleigh, Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.integrators import FILTERS, Gautschi, Neti
from stiffly.meshes import lattice

H, STEPS = 0.05, 5


def sinc(x):
    return np.sinc(x / np.pi)


def one(x):
    return np.ones_like(x)


# psi, phi, and psi_1 = psi / sinc where that has no poles
TEXTBOOK = {
    "gautschi": (lambda x: sinc(x / 2) ** 2, one, None),
    "deuflhard": (sinc, one, one),
    "garcia-archilla": (lambda x: sinc(x) ** 2, sinc, sinc),
    "hairer-lubich": (lambda x: sinc(x) ** 2, one, sinc),
    "hochbruck-lubich": (
        lambda x: sinc(x / 2) ** 2, lambda x: sinc(x) * (1 + np.sin(x / 2) ** 2 / 3), None,
    ),
    "grimm-hochbruck": (lambda x: sinc(x) ** 3, sinc, lambda x: sinc(x) ** 2),
}  # fmt: skip
METHODS = {
    "eti": Gautschi,
    "eti, rest": lambda **options: Gautschi(reference="rest", **options),
    "ceti": lambda **options: Neti(linearisation="corotated", **options),
    "neti": Neti,
    "neti, argument": lambda **options: Neti(argument_filter=True, **options),
}
ETI = ("eti", "eti, rest")
REFUSED = {(name, "one-step", f) for name in ETI for f in ("gautschi", "hochbruck-lubich")}
REFUSED |= {("neti, argument", "one-step", f) for f in TEXTBOOK}
REFUSED |= {("neti, argument", "two-step", "gautschi")}  # as phi = 1: nothing is filtered
REFUSED |= {(name, form, f) for name in ("ceti", "neti", "neti, argument") for form, f in (
    ("one-step", "gautschi"), ("one-step", "hochbruck-lubich"),  # poles
    ("two-step", "deuflhard"), ("two-step", "hairer-lubich"),  # no remainder where phi = 1
)}  # fmt: skip
ALL = [(n, form, f) for n in METHODS for form in ("one-step", "two-step") for f in TEXTBOOK]


def column(damping):
    """A column of springs, held at its foot, bent, twisted and moving; h omega up to 6."""
    mesh = lattice(2, 2, 3)
    rng = np.random.default_rng(3)
    X, x = mesh.positions, mesh.positions.copy()
    foot = np.flatnonzero(X[:, 2] == X[:, 2].min())
    height = X[:, 2] - X[:, 2].min()
    x[:, 0] += 0.15 * height**2
    x[:, 1] += 0.1 * height * X[:, 0]
    x += 0.03 * rng.standard_normal(x.shape) * height[:, None]
    mass = rng.uniform(0.5, 2.0, len(X))
    parts = [Springs(mesh.edges, 900.0), Gravity((0.5, -1.0, -9.81))]
    system = System(mass, parts, rest=X, fixed=foot, damping=damping)
    bound, state = system.bind(x, rng.standard_normal(x.shape) * height[:, None])
    return bound, state, np.repeat(np.delete(mass, foot), 3), np.delete(X, foot, axis=0).ravel()


class Dense:
    """A = M^-1 K at one state: K of the tangent, of the rest shape, or that turned."""

    def __init__(self, name, system, s, rest, mass):
        if name.startswith("neti"):
            K = system.tangent(s).matrix(0.0, 1.0, 0.0)
        else:
            K = system.tangent(State(0.0, rest, 0 * rest)).matrix(0.0, 1.0, 0.0)
        K = K.toarray()
        if name == "ceti":
            R = scipy.linalg.block_diag(*system.rotations(s))
            root = np.sqrt(mass)
            inner = R @ (K / root[:, None] / root) @ R.T  # rotations and lumped masses commute
            K = root[:, None] * inner * root
        self.A = K / mass[:, None]
        self.lam, self.U = scipy.linalg.eigh(0.5 * (K + K.T), np.diag(mass))
        self.W = self.U.T * mass

    def __call__(self, f, b):
        values = f(H * np.sqrt(self.lam + 0j)).real  # hyperbolic where lam < 0
        return self.U @ (values * (self.W @ b))


def dense_step(name, form, filters, system, rest, mass, s, before):
    """One step of the paper's formulas, about r."""
    psi, phi, psi1 = filters
    eti = name in ETI
    F = Dense(name, system, s, rest, mass)
    vd = s.v if before is None else (s.x - before.x) / H

    def a(t, x, v):
        return system.acceleration(State(t, x, v))

    def resting(x, v):
        return x + np.linalg.solve(F.A, a(s.t, x, v))

    r = resting(rest, 0 * rest) if name == "eti" else rest if eti else resting(s.x, vd)
    if name == "neti, argument":  # lines 3 to 5 of Algorithm 2
        F = Dense(name, system, State(s.t, r + F(phi, s.x - r), s.v), rest, mass)
        r = resting(s.x, vd)

    def g(t, x, v):
        return a(t, x, v) + F.A @ (x - r)

    y = s.x - r
    g0 = g(s.t, r + F(phi, y), vd)
    if not eti and form == "one-step":  # the argument is filtered from x_n on: g(x_n) = 0
        g0 = 0.0 * g0
    if form == "two-step" and before is not None:
        x = 2 * r + 2 * F(np.cos, y) - before.x + H * H * F(psi, g0)
        if not eti or psi1 is None:
            return State(s.t + H, x, before.v + 2 * H * F(sinc, g0 - F.A @ y))
    else:
        x = r + F(np.cos, y) + H * F(sinc, s.v) + H * H / 2 * F(psi, g0)
    v = -H * F.A @ F(sinc, y) + F(np.cos, s.v)
    if psi1 is None or (not eti and form == "two-step"):  # the very first step
        return State(s.t + H, x, v + H * F(sinc, g0))
    centre = r if eti else s.x
    g1 = g(s.t + H, centre + F(phi, x - centre), (x - s.x) / H)
    v = v + H / 2 * (F(np.cos, F(psi1, g0)) + F(psi1, g1))
    return State(s.t + H, x, v)


@pytest.mark.parametrize("damping", [None, Rayleigh(0.4, 0.0)], ids=["undamped", "damped"])
@pytest.mark.parametrize("name, form, filter", ALL)
def test_filters_act_as_the_formulas_say_or_are_refused(name, form, filter, damping):
    if (name, form, filter) in REFUSED:
        with pytest.raises(InputError, match=f"(filter {filter}|argument filter) .*use (f|n)"):
            METHODS[name](filter=filter, form=form)
        return
    method = METHODS[name](filter=filter, form=form, tol=1e-12)
    system, state, mass, rest = column(damping)
    ours = march(method, system, state, [H] * STEPS)[0]
    before, s = None, state
    for found in ours[1:]:
        before, s = s, dense_step(name, form, TEXTBOOK[filter], system, rest, mass, s, before)
        assert np.abs(found.x - s.x).max() <= 1e-10 * np.abs(s.x - rest).max()
        assert np.abs(found.v - s.v).max() <= 1e-10 * np.abs(s.v).max()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("form", ["one-step", "two-step"])
def test_no_two_filters_give_the_same_motion(name, form):
    system, state, _, rest = column(None)
    ends = {
        f: march(METHODS[name](filter=f, form=form), system, state, [H] * STEPS)[0][-1].x
        for f in FILTERS
        if (name, form, f) not in REFUSED
    }
    for f in ends:
        for g in ends:
            if f < g:
                assert np.abs(ends[f] - ends[g]).max() > 1e-6 * np.abs(ends[f] - rest).max(), (f, g)
