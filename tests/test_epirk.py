"""Exponential methods from tables: order conditions, other forms of the same method, bad input."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from systems import march
from test_order import PROBLEMS

import stiffly
from stiffly.bodies import SecondOrder
from stiffly.errors import InputError
from stiffly.integrators import (
    Epirk,
    ExponentialRosenbrock,
    ExponentialTable,
    epirk_table,
    exponential_table,
    integrator,
)
from stiffly.integrators.exponential_table import Entry
from stiffly.integrators.order_conditions import trees

NAMED = {name: integrator(name).table for name in ("exprb53", "exprb54", "epirk5p1", "exprk4")}
# Michels, Luan & Tokman 2017, Eq. 20, in the words of Eq. 11
EPIRK4S3 = {
    "a": ([1 / 8], [1 / 9, 0]),
    "b": (1, 1, 1),
    "g": ([1 / 8], [1 / 9, 1], [1, 1, 1]),
    "p": ([{1: 1}], [{1: 1}, {1: 1}], [{1: 1}, {3: 1892, 4: -42336}, {3: 1458, 4: -34992}]),
}
PEXPRB43 = {"nodes": (1 / 2, 1), "a": ([], [0]), "b": ({3: 16, 4: -48}, {3: -2, 4: 12})}
EXPRB42 = {"nodes": (3 / 4,), "a": ([],), "b": ({3: 32 / 9},)}


def pexprb43(**changed):
    return exponential_table(**{**PEXPRB43, "order": 4, **changed})


# ------------------------------------------------------------------ other forms of the same method

SAME = {
    "exprb2": (exponential_table((), (), (), order=2), ExponentialRosenbrock(())),
    "exprb42": (
        exponential_table(**EXPRB42, order=4, conditions="weakened"),
        ExponentialRosenbrock((3 / 4,)),
    ),
    "pexprb43(1/2, 1)": (pexprb43(), ExponentialRosenbrock((1 / 2, 1.0))),
    "epirk4s3": (epirk_table(**EPIRK4S3, order=4), ExponentialRosenbrock((1 / 8, 1 / 9))),
}


@pytest.mark.parametrize("problem", ["smooth, driven", "stiff", "smooth, any damping", "soft body"])
@pytest.mark.parametrize("name", SAME)
def test_tables_are_the_methods_that_have_names(name, problem):
    table, other = SAME[name]
    ours = march(Epirk(table, tol=1e-12), *PROBLEMS[problem](), [0.05] * 10)[0][-1]
    theirs = march(replace(other, tol=1e-12), *PROBLEMS[problem](), [0.05] * 10)[0][-1]
    assert ours.x == pytest.approx(theirs.x, abs=1e-9)
    assert ours.v == pytest.approx(theirs.v, abs=1e-8)


def test_exprb53_follows_from_its_conditions():
    """c_2 free; conditions 1 and 2 give b_i(Z), 3 at Z = 0 gives c_3, 4 at b_i(0) gives a_32."""
    c2 = Fraction(1, 2)
    c3 = (Fraction(1, 5) - c2 / 4) / (Fraction(1, 4) - c2 / 3)
    scales = c2**2 * (c3 - c2), c3**2 * (c2 - c3)
    b2, b3 = ({3: 2 * c / s, 4: -6 / s} for c, s in zip((c3, c2), scales, strict=True))
    at_zero = [b[3] / 6 + b[4] / 24 for b in (b2, b3)]
    beta = 2 * c3**3 / c2**2  # psi_33 keeps phi_3(c_2 Z) alone, like psi_32
    alpha = 2 * at_zero[0] * c2**2 / (at_zero[1] * c3)
    table = NAMED["exprb53"]
    assert table.nodes == (c2, float(c3))
    found = [e.weight for row in (*table.b, table.a[1][0]) for e in row]
    derived = [*b2.values(), *b3.values(), alpha, beta]
    assert found == pytest.approx([float(x) for x in derived], rel=1e-15)
    assert [(e.k, e.g) for e in table.a[1][0]] == [(3, c2), (3, float(c3))]


def test_there_are_as_many_trees_as_there_should_be():
    assert [len(trees(n, False)) for n in range(1, 6)] == [1, 1, 2, 4, 9]
    # A u and g; then one child under A (any tree) or any forest under g
    assert [len(trees(n, True)) for n in (1, 2, 3)] == [2, 4, 4 + 4 + 3]


@pytest.mark.parametrize("name", [*NAMED, "rk4", "exprb42"])
def test_linear_systems_are_solved_exactly(name):
    """x'' = -A x + b: with the tangent, or a fixed A, nothing remains (rk4 would not do so)."""
    A, b, h = np.array([[900.0, 30.0], [30.0, 4.0]]), np.array([1.0, 2.0]), 0.7
    system = SecondOrder(
        stiffness=A, force=lambda x: b, jacobian=lambda x: 0 * A, potential=lambda x: -b @ x
    )
    x, v = np.array([0.3, -0.2]), np.array([5.0, 1.0])
    state = march(integrator(name), *system.bind(x, v), [h] * 3)[0][-1]
    lam, U = np.linalg.eigh(A)
    w, rest = np.sqrt(lam), np.linalg.solve(A, b)
    y, u = U.T @ (x - rest), U.T @ v
    exact = U @ (np.cos(3 * h * w) * y + np.sin(3 * h * w) / w * u) + rest
    assert (np.abs(state.x - exact).max() <= 1e-9) == (name != "rk4")


@pytest.mark.parametrize("name", ["exprb53", "exprb54"])
def test_steps_follow_the_embedded_error(name):
    scene = stiffly.scenes.load("fput")
    run = stiffly.simulate(scene, integrator=name, rtol=1e-6, duration=1.0)
    fine = stiffly.simulate(scene, integrator="pexprb43", step=1e-3, duration=1.0)
    assert 5 <= run.stats["steps"] <= 1000
    assert np.abs(run.positions[-1] - fine.positions[-1]).max() <= 1e-4


# ------------------------------------------------------------------ tables that are refused

GIVEN = {"nodes": (1 / 2, 1), "a": ([], [0]), "b": ({3: 16, 4: -48}, {3: -2, 4: 12})}


@pytest.mark.parametrize(
    "wrong", [{"nodes": 0.5}, {"nodes": ("1/2", 1)}, {"a": 0}, {"a": (0, 0)}, {"b": {3: 16}}]
)
def test_what_is_no_list_of_rows_is_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        exponential_table(**{**GIVEN, **wrong}, order=4)


@pytest.mark.parametrize("which", "abgp")
def test_what_is_no_list_of_epirk_rows_is_named(which):
    rows = {"a": ([1 / 2],), "b": [1.0, 1.0], "g": ([1.0], [1.0, 1.0]), "p": ([{1: 1.0}], [{}, {}])}
    with pytest.raises(InputError, match=f"{which} = .*give lists"):
        epirk_table(**{**rows, which: 1.0}, order=2)


def weights(table):
    """Every place of a weight in alpha, a and b, and the same table without what is embedded."""
    plain = replace(table, embedded=None)
    for name in ("alpha", "b"):
        for i, row in enumerate(getattr(plain, name)):
            yield from ((plain, name, (i, j)) for j in range(len(row)))
    for i, row in enumerate(plain.a):
        for j, entries in enumerate(row):
            yield from ((plain, "a", (i, j, k)) for k in range(len(entries)))


def shifted(rows, place, by):
    first, *rest = place
    rows = list(rows)
    if rest:
        rows[first] = shifted(rows[first], rest, by)
    else:
        k, g, weight = rows[first]
        rows[first] = Entry(k, g, weight + by)
    return tuple(rows)


@pytest.mark.parametrize("name", NAMED)
def test_no_coefficient_can_be_off(name):
    for table, where, place in weights(NAMED[name]):
        with pytest.raises(InputError, match="not of order"):
            replace(table, **{where: shifted(getattr(table, where), place, 1e-5)})


def third(**changed):
    """Hochbruck & Ostermann's family of order 3 with c = (1/2, 2/3): conditions 1 to 3 at b(0)."""
    given = {
        "nodes": (1 / 2, 2 / 3),
        "a": ([], [{2: 8 / 9}]),
        "b": (0, {2: 3 / 2}),
        "order": 3,
        "conditions": "weakened",
        "fixed": True,
    }
    return exponential_table(**{**given, **changed})


def test_a_fixed_linear_part_has_its_own_conditions():
    assert third().order == 3
    with pytest.raises(InputError, match="condition 2, "):
        third(conditions="stiff")
    with pytest.raises(InputError, match="condition 3, "):
        third(a=([], [{2: 1}]))
    with pytest.raises(InputError, match="condition 1, "):  # with the tangent this is order 4
        exponential_table(**EXPRB42, order=3, conditions="weakened", fixed=True)


NAN = float("nan")
WRONG = {
    "condition 1, sum b_i(Z) c_i^2 = 2 phi_3(Z)": lambda: pexprb43(b=({3: 16}, {3: -1})),
    "condition 2, sum b_i(Z) c_i^3 = 6 phi_4(Z)": lambda: exponential_table(**EXPRB42, order=4),
    "condition 2, sum b_i(Z) c_i^3 = 6 phi_4(Z) at Z = 0": lambda: exponential_table(
        (1 / 2,), ([],), ({3: 8},), order=4, conditions="weakened"
    ),
    "condition 3, sum b_i(Z) c_i^4 = 24 phi_5(Z)": lambda: pexprb43(order=5),
    "condition 4, sum b_i(Z) c_i K psi_3i(Z) = 0": lambda: exponential_table(
        (1 / 2, 9 / 10),
        ([], [{3: 1}]),
        ({3: 18, 4: -60}, {3: -250 / 81, 4: 500 / 27}),
        order=5,
        conditions="weakened",
    ),
    "condition of f''(f, f) (order 3) has 0, not 1/3": lambda: exponential_table(
        (), (), (), order=3, conditions="classical"
    ),
    "the embedded table is not of order 3": lambda: pexprb43(embedded=({3: 7}, 0)),
    "stage 2 must be c phi_1(c Z) F": lambda: epirk_table(
        **{**EPIRK4S3, "g": ([1 / 2], [1 / 9, 1], [1, 1, 1])}, order=4
    ),
    "the step must be": lambda: epirk_table(
        **{**EPIRK4S3, "g": ([1 / 8], [1 / 9, 1], [1 / 2, 1, 1])}, order=4
    ),
    "rows of [1, 2, 3] coefficients": lambda: epirk_table(
        **{**EPIRK4S3, "g": ([1 / 8], [1 / 9, 1])}, order=4
    ),
    "orders 2 to 5": lambda: pexprb43(order=6),
    "orders 2 to 4": lambda: pexprb43(order=5, fixed=True),
    "must lie in (0, 1]": lambda: pexprb43(nodes=(1 / 2, 1.5)),
    "must lie in (0, 1] ": lambda: pexprb43(nodes=(0.0, 1.0)),
    "as many rows of a": lambda: pexprb43(a=([],)),
    "stage i with i - 2 a_ij": lambda: pexprb43(a=([], [])),
    "embedded has 1 weights": lambda: pexprb43(embedded=({3: 8},)),
    "phi_0": lambda: pexprb43(b=({0: 1}, 0)),
    "phi_7": lambda: pexprb43(b=({7: 1}, 0)),
    "its weight a number": lambda: pexprb43(b=({3: NAN}, 0)),
    "a positive part of hJ": lambda: pexprb43(a=([], [{(2, -1.0): 1}])),
    "a function is": lambda: pexprb43(b=(16, 0)),
    "did you mean stiff": lambda: pexprb43(conditions="stif"),
    "table must come from": lambda: Epirk({"c": (1 / 2,)}),
    "evaluator": lambda: Epirk(pexprb43(), method="lancos"),
    "tolerance": lambda: Epirk(pexprb43(), tol=0.0),
}


@pytest.mark.parametrize("cause", WRONG)
def test_wrong_tables_are_named_in_one_line(cause):
    with pytest.raises(InputError) as caught:
        WRONG[cause]()
    assert cause.strip() in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tables_are_plain_data():
    """So that a run of one can be resumed: equal, hashable, numbers in tuples."""
    table = pexprb43()
    assert table == pexprb43() and hash(table) == hash(pexprb43())
    assert isinstance(table, ExponentialTable)
    assert Epirk(table) == Epirk(pexprb43())
