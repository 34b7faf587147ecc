"""Potentials written by users: differences stand in for what is not given."""

import numpy as np
import pytest

import stiffly
from stiffly.bodies import Potential, Springs, System
from stiffly.errors import Diverged, InputError, NotConverged, StiffWarning
from stiffly.meshes import rope

ROPE = rope(5)
X = ROPE.positions + 0.1 * np.random.default_rng(0).standard_normal((5, 3))


def coulomb(x):
    d = x[:, None] - x[None]
    r = np.sqrt((d**2).sum(axis=-1) + 0.01)
    return 0.5 * float((1.0 / r).sum())


def coulomb_gradient(x):
    d = x[:, None] - x[None]
    r = np.sqrt((d**2).sum(axis=-1) + 0.01)
    return -(d / r[..., None] ** 3).sum(axis=1)


def bowl(x):
    return float((x**2).sum() + 0.1 * (x**4).sum())


def bowl_gradient(x):
    return 2.0 * x + 0.4 * x**3


def system(potential, **options):
    return System(np.ones(5), [potential], rest=ROPE.positions, **options)


def tangent_at(system, x):
    bound, s = system.bind(x)
    return bound.tangent(s).matrix(0, 1, 0).toarray(), bound, s


@pytest.mark.parametrize("fixed", [(), (0, 3)], ids=["free", "two fixed"])
def test_tangent_of_an_all_pairs_potential(fixed):
    K, bound, s = tangent_at(system(Potential(coulomb, coulomb_gradient), fixed=fixed), X)
    e = 1e-5
    columns = []
    for j in range(s.x.size):
        d = np.zeros_like(s.x)
        d[j] = e
        f = [bound.force(stiffly.State(0.0, s.x + sign * d, s.v)) for sign in (1, -1)]
        columns.append((f[1] - f[0]) / (2 * e))
    np.testing.assert_allclose(K, np.stack(columns, axis=1), atol=1e-6)


def test_tangent_of_an_external_field_is_diagonal():
    K, _, _ = tangent_at(system(Potential(bowl, bowl_gradient, couples=())), X)
    np.testing.assert_allclose(K, np.diag(2.0 + 1.2 * X.ravel() ** 2), atol=1e-8)


def test_couples_name_the_pairs():
    """A chain of quartic bonds on 300 particles: neighbours only."""
    n = 300
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)

    def energy(x):
        return float((((x[1:] - x[:-1]) ** 2).sum(axis=1) ** 2).sum())

    def gradient(x):
        d = x[1:] - x[:-1]
        g = 4.0 * (d**2).sum(axis=1)[:, None] * d
        out = np.zeros_like(x)
        out[1:] += g
        out[:-1] -= g
        return out

    line = rope(n, length=30.0).positions
    x = line + 0.01 * np.random.default_rng(1).standard_normal(line.shape)
    bound, s = System(np.ones(n), [Potential(energy, gradient, couples=pairs)], rest=line).bind(x)
    K = bound.tangent(s).stiffness
    b = np.random.default_rng(2).standard_normal(s.x.size)
    e = 1e-6
    difference = (gradient(x + e * b.reshape(-1, 3)) - gradient(x - e * b.reshape(-1, 3))) / (2 * e)
    np.testing.assert_allclose(K.apply(b), difference.ravel(), atol=1e-6)
    assert K.tosparse().nnz == 9 * (3 * n - 2)


def test_without_gradient_it_warns_and_works():
    with pytest.warns(StiffWarning, match="no gradient: differences of the energy cost 30"):
        plain = system(Potential(bowl, couples=()))
    exact = system(Potential(bowl, bowl_gradient, couples=()))
    (_, a, s), (_, b, _) = tangent_at(plain, X), tangent_at(exact, X)
    np.testing.assert_allclose(a.force(s), b.force(s), atol=1e-8)
    runs = [
        stiffly.simulate(m, X, integrator="exprb42", step=0.02, duration=0.5)
        for m in (plain, exact)
    ]
    np.testing.assert_allclose(runs[0].positions[-1], runs[1].positions[-1], atol=1e-6)


def test_it_joins_springs_and_has_its_own_line_in_the_ledger():
    parts = [Springs(ROPE.edges, 50.0), Potential(bowl, bowl_gradient, couples=(), name="bowl")]
    both = System(np.ones(5), parts, rest=ROPE.positions)
    run = stiffly.simulate(both, X, integrator="pexprb43", step=0.01, duration=2)
    assert set(run.energy.parts) == {"kinetic", "elastic", "bowl"}
    assert np.abs(run.energy.numerical).max() < 1e-4 * run.energy.exchanged


def test_it_may_change_its_argument():
    def centred(x):
        x -= x.mean(axis=0)
        return float((x**2).sum())

    def gradient(x):
        x -= x.mean(axis=0)
        return 2.0 * x

    bound, s = system(Potential(centred, gradient)).bind(X + 5.0)
    before = s.x.copy()
    bound.force(s), bound.energy(s), bound.tangent(s)
    np.testing.assert_array_equal(s.x, before)


def test_differences_do_not_depend_on_where_the_body_is():
    far = 1e3

    def near(x):
        return bowl(100.0 * (x - far))

    with pytest.warns(StiffWarning):
        own = System(np.ones(5), [Potential(near, couples=())], rest=0.01 * X + far)
    bound, s = own.bind(0.01 * X + far)
    np.testing.assert_allclose(bound.force(s), -100.0 * bowl_gradient(X).ravel(), rtol=1e-3)


def test_a_gradient_of_the_wrong_sign_is_noticed():
    with pytest.warns(StiffWarning, match="gradient is not that of energy"):
        system(Potential(bowl, lambda x: -bowl_gradient(x), couples=()))


def test_where_a_wrong_gradient_has_no_solution_the_last_line_names_it():
    centre = np.array([0.0, 0.0, 1.0])
    well = Potential(
        lambda x: 500.0 * float(((x - centre) ** 2).sum()),
        lambda x: -1000.0 * (x - centre),  # the force
        couples=(),
    )
    scene = stiffly.Scene("thrown", duration=0.5, step=0.01)
    scene.add(stiffly.shapes.cube(2, side=0.2), velocity=(0.5, 0, 0))
    scene.part(well)
    wrong = pytest.warns(StiffWarning, match="gradient is not that of energy")
    named = pytest.raises(NotConverged, match=r"gradients of potentials for their sign$")
    with wrong as said, named as caught:
        scene.simulate()
    assert [word.filename for word in said] == [__file__]
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None  # one traceback


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Potential(3.0), "must be functions"),
        (lambda: system(Potential(lambda x: x, lambda x: x)), r"returned \(5, 3\), but one number"),
        (lambda: system(Potential(lambda x: None, lambda x: x)), "returned NoneType"),
        (lambda: system(Potential(lambda x: np.nan, lambda x: x)), "is nan at the rest shape"),
        (lambda: Potential(lambda t, x: 0.0), "must be functions"),
        (lambda: Potential(bowl, couples=5), r"couples have shape \(\)"),
        (lambda: system(Potential(bowl, lambda x: x.ravel())), r"gradient returned shape \(15,\)"),
        (lambda: system(Potential(bowl, couples=[[0, 9]])), "couples particle 9"),
        (
            lambda: System(np.ones(200), [Potential(bowl, bowl_gradient)]),
            r"couples=\(\) for an external field",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_an_energy_that_overflows_is_a_run_that_diverges():
    """Python's own numbers raise where NumPy's become infinite."""
    steep = Potential(lambda x: float(x[0, 0]) ** 4, lambda x: 4.0 * x**3, couples=())
    system, state = System([1.0], [steep]).bind([[1e80, 0.0, 0.0]])
    assert np.isfinite(system.acceleration(state)).all()
    assert system.energy(state)["potential"] == np.inf
    with np.errstate(all="ignore"), pytest.raises(Diverged):
        stiffly.simulate(
            System([1.0], [steep]), [[3.0, 0.0, 0.0]], integrator="verlet", step=0.5, duration=4.0
        )
