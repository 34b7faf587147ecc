"""dop853, rkn86 and rkn6: coefficients, step control, and what lies within their steps."""

import numpy as np
import pytest
import systems
from order_trees import defects, trees
from scipy.integrate import solve_ivp

import stiffly
from stiffly.bodies import Gravity, Rayleigh, Springs, System
from stiffly.collisions import Contact, Plane
from stiffly.contracts import ErrorEstimate, State
from stiffly.errors import InputError
from stiffly.integrators import BlanesMoan6, DormandPrince853, rkn86
from stiffly.integrators import integrator as by_name
from stiffly.run.control import Controller, Tolerance

PAIRS = ("dop853", "rkn86")
METHODS = (*PAIRS, "rkn6")


# ------------------------------------------------------------------ coefficients


def test_the_trees_are_all_there():
    """As many as the books count (HNW, Tables II.2.1 and II.14.3)."""
    assert [len(trees(p, False)) for p in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert [len(trees(p, True)) for p in range(1, 9)] == [1, 1, 2, 3, 6, 10, 20, 36]


def test_dop853_satisfies_its_order_conditions():
    table, s = DormandPrince853.tableau, slice(0, DormandPrince853.tableau.end)
    stages, b = (table.c[s], table.A[s, s]), table.A[table.end, s]
    fifth, third = b - table.errors[:, 1, s]
    for weights, order in ((b, 8), (fifth, 5), (third, 3)):
        own = np.abs(np.array(defects(*stages, weights, order), dtype=float))
        more = np.abs(np.array(defects(*stages, weights, order + 1), dtype=float))
        assert own.max() < 1e-13 < 1e-9 < more.max()


def test_rkn86_satisfies_its_order_conditions_exactly():
    rows = np.array([rkn86.exact(row) for row in rkn86.ABAR])
    stages = np.array(rkn86.exact(rkn86.NODES)), rows
    sixth = rkn86.exact(rkn86.SIXTH_B), rkn86.exact(rkn86.SIXTH_BBAR)
    for (b, bbar), order in (((rkn86.exact(rkn86.B), rows[-1]), 8), (sixth, 6)):
        assert not any(defects(*stages, b, order, second=True, bbar=bbar))
        assert any(defects(*stages, b, order + 1, second=True, bbar=bbar))


def test_rkn6_satisfies_its_order_conditions():
    """As a Nyström method: c_i = a_1 + ... + a_(i-1), bbar_j = b_j (1 - c_j), and so on."""
    b, drifts = BlanesMoan6.splitting
    c = np.concatenate([[0.0], np.cumsum(drifts)])
    A = np.tril(b * (c[:, None] - c), -1)
    found = np.abs(np.array(defects(c, A, b, 6, second=True, bbar=b * (1.0 - c)), dtype=float))
    more = np.abs(np.array(defects(c, A, b, 7, second=True, bbar=b * (1.0 - c)), dtype=float))
    assert found.max() < 1e-14 < 1e-6 < more.max()


@pytest.mark.parametrize("name", PAIRS)
def test_tableaux_are_consistent(name):
    table = by_name(name).tableau
    assert table.c[table.end] == 1.0
    sums = table.Abar[table.end].sum(), table.A[table.end].sum()
    np.testing.assert_allclose(sums, (0.5, 1.0), atol=1e-14)
    assert np.triu(table.Abar).any() == np.triu(table.A).any() == 0
    np.testing.assert_allclose(table.errors.sum(axis=2), 0.0, atol=1e-14)
    assert table.errors[:, :, table.end + 1 :].any() == 0  # known at the end of the step


def test_dop853_is_scipys():
    """One step of SciPy's on the pendulums, with damping."""
    from scipy.integrate import DOP853

    system, state = systems.chain(9.0, damping=Rayleigh(0.2, 0.02))
    n, h = system.size, 0.3

    def rate(t, u):
        return np.concatenate([u[n:], system.acceleration(State(t, u[:n], u[n:]))])

    other = DOP853(rate, 0.0, np.concatenate([state.x, state.v]), h, first_step=h, rtol=1, atol=1e9)
    other.step()
    taken = DormandPrince853().step(system, state, h, None)
    np.testing.assert_allclose(np.concatenate([taken.state.x, taken.state.v]), other.y, atol=1e-14)
    within, dense = taken.between().state(0.1), other.dense_output()
    np.testing.assert_allclose(np.concatenate([within.x, within.v]), dense(0.1), atol=1e-12)


# ------------------------------------------------------------------ steps


def test_forces_are_counted():
    system, state = systems.chain()
    work = {m: systems.march(by_name(m), system, state, [0.1] * 10)[1] for m in METHODS}
    counts = {name: own.force_evaluations for name, own in work.items()}
    assert counts == {"dop853": 121, "rkn86": 81, "rkn6": 111}


@pytest.mark.parametrize("name", ["rkn86", "rkn6"])
def test_forces_of_velocities_are_refused_by_name(name):
    system, x0 = stiffly.SecondOrder(stiffness=np.eye(2), damping=Rayleigh(0.1, 0.0)), np.ones(2)
    with pytest.raises(InputError, match=f"^{name} is for forces of time .* use dop853") as caught:
        stiffly.simulate(system, x0, integrator=name, step=0.1, duration=1.0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name, limit", [("dop853", 5.9), ("rkn86", 3.2), ("rkn6", 9.0)])
def test_stable_up_to_the_limit_they_name(name, limit):
    """By the matrix that takes (x, v) of an oscillator of frequency 1 through a step."""
    assert f"h omega < {limit:g}" in type(by_name(name)).__doc__

    def growth(h):
        system, _ = stiffly.SecondOrder(stiffness=np.eye(1)).bind(np.zeros(1))
        starts = [State(0.0, np.array([x]), np.array([v])) for x, v in ((1.0, 0.0), (0.0, 1.0))]
        ends = [by_name(name).step(system, s, h, None).state for s in starts]
        return np.abs(np.linalg.eigvals([[s.x[0] for s in ends], [s.v[0] for s in ends]])).max()

    assert max(growth(h) for h in np.linspace(0.05, limit, 119)) <= 1.0 + 1e-9
    assert growth(limit + 0.5) > 1.001


def test_rkn6_keeps_the_energy_for_ever():
    """Its error stays where it is; that of a method of order 8 grows, however small it is."""
    system, state = systems.chain(9.0)
    drift = {}
    for name in ("rkn6", "rkn86"):
        states = systems.march(by_name(name), system, state, [0.25] * 4000)[0]
        energy = np.array([sum(system.energy(s).values()) for s in states])
        early, late = (np.abs(part - energy[0]).max() for part in (energy[:400], energy[-400:]))
        drift[name] = late / early
    assert drift["rkn6"] < 1.5 < 5.0 < drift["rkn86"]


@pytest.mark.parametrize(
    "name, orders, steps",
    [
        ("dop853", (8, 8), (0.3, 0.2)),
        ("rkn86", (7, 6), (0.05, 0.035)),  # in longer ones terms of order 8 are the larger
        ("rkn6", (6, 5), (0.3, 0.2)),
    ],
)
def test_order_within_a_step(name, orders, steps):
    """The largest errors of x and v within a step, over steps that begin at eight times."""
    system, first = systems.chain(4.0, drive=1.0)
    begin = 0.4 * np.arange(1, 9)
    starts = [State(*s) for s in zip(begin, *systems.reference(system, first, begin), strict=True)]
    errors = np.zeros((2, len(steps)))
    for state in starts:
        for k, h in enumerate(steps):
            times = h * np.linspace(0.1, 0.9, 9)
            within = by_name(name).step(system, state, h, None).between().state
            found = [within(state.t + t) for t in times]
            exact = shifted_reference(system, state, times)
            for i, rows in enumerate(([s.x for s in found], [s.v for s in found])):
                errors[i, k] = max(errors[i, k], np.abs(np.array(rows) - exact[i]).max())
    slopes = np.log(errors[:, 0] / errors[:, 1]) / np.log(steps[0] / steps[1])
    assert slopes == pytest.approx(orders, abs=0.2)


def shifted_reference(system, state, times):
    """x and v at so many seconds after the state's time."""
    n = system.size

    def rate(t, u):
        return np.concatenate([u[n:], system.acceleration(State(state.t + t, u[:n], u[n:]))])

    u0 = np.concatenate([state.x, state.v])
    u = solve_ivp(rate, (0, times[-1]), u0, "DOP853", t_eval=times, rtol=1e-13, atol=1e-14).y
    return u[:n].T, u[n:].T


@pytest.mark.parametrize("name", METHODS)
def test_within_a_step_begins_and_ends_as_the_step(name):
    system, state = systems.chain(4.0)
    taken = by_name(name).step(system, state, 0.2, None)
    for end, t in ((state, 0.0), (taken.state, 0.2)):
        found = taken.between().state(t)
        assert found.t == t
        np.testing.assert_allclose(found.x, end.x, atol=1e-14)
        np.testing.assert_allclose(found.v, end.v, atol=1e-13)


# ------------------------------------------------------------------ runs


def pendulums(drive=0.0, damping=None):
    """Unbound, as `simulate` takes it."""
    mass = systems.CHAIN_MASS
    A = 9.0 * (np.diag([1.0, 2.0, 2.0, 1.0]) - np.eye(4, k=1) - np.eye(4, k=-1))

    def force(t, x):
        return -mass * np.sin(x) + drive * np.cos(3.0 * t)

    system = stiffly.SecondOrder(
        stiffness=A,
        mass=mass,
        damping=damping,
        force=force if drive else lambda x: -mass * np.sin(x),
        potential=lambda x: float(mass @ (1.0 - np.cos(x))),
    )
    return system, np.array([0.9, -0.4, 0.3, 1.1]), np.array([0.2, 0.5, -0.7, 0.1])


KINDS = {
    "free": {},
    "driven": {"drive": 2.0},
    "driven and damped": {"drive": 2.0, "damping": Rayleigh(0.2, 0.02)},
}


def with_work(problem, times):
    """x, v, and the energies added and dissipated, by an independent solver."""
    system, state = problem[0].bind(*problem[1:])
    n = system.size

    def rate(t, u):
        s = State(t, u[:n], u[n : 2 * n])
        power = system.power(s)
        return np.concatenate([s.v, system.acceleration(s), [power.added, power.dissipated]])

    u0 = np.concatenate([state.x, state.v, [0.0, 0.0]])
    u = solve_ivp(rate, (0, times[-1]), u0, "DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y
    return u[:n].T, u[n : 2 * n].T, u[2 * n], u[2 * n + 1]


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    "name, kind",
    [(n, k) for n in PAIRS for k in KINDS if not (n == "rkn86" and "damped" in k)],
)
def test_frames_and_ledger_meet_the_tolerance(name, kind, rtol):
    """Ten seconds of about four radians each, in which the errors of steps add up."""
    problem = pendulums(**KINDS[kind])
    run = stiffly.simulate(*problem, integrator=name, rtol=rtol, duration=10.0, every=0.07)
    assert run.stats["largest_step"] > 0.07 or rtol < 1e-6
    x, v, added, dissipated = with_work(problem, run.times)
    speed, joules = np.abs(v).max(), run.energy.exchanged
    assert np.abs(run.positions - x).max() < 5.0 * rtol * np.abs(x).max()
    assert np.abs(run.velocities - v).max() < 5.0 * rtol * speed
    assert np.abs(run.energy.numerical).max() < 5.0 * rtol * joules
    assert np.abs(run.energy.added - added).max() < 5.0 * rtol * joules
    assert np.abs(run.energy.dissipated - dissipated).max() < 5.0 * rtol * joules


@pytest.mark.parametrize("name, extra", [("dop853", 3), ("rkn86", 1)])
def test_frames_cost_no_steps(name, extra):
    few, many = (
        stiffly.simulate(*pendulums(), integrator=name, rtol=1e-4, duration=10.0, every=every)
        for every in (10.0, 0.01)
    )
    assert len(many.times) == 1001
    steps = few.stats["steps"]
    assert many.stats["steps"] == steps < 200
    assert np.array_equal(many.positions[-1], few.positions[-1])
    forces = many.stats["force_evaluations"] - few.stats["force_evaluations"]
    assert forces == extra * steps  # every step has a frame within it


@pytest.mark.parametrize("name", PAIRS)
def test_steps_land_on_frames_where_something_happens_between_them(name):
    """A block that falls on the floor and rests on it by friction."""
    x = np.array([[0, 0, 0.1], [1, 0, 0.1], [0, 1, 0.1], [0, 0, 1.1]])
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    floor = Contact(Plane((0, 0, 0), (0, 0, 1)), 1e3, friction=0.3)
    system = System(np.ones(4), [Springs(edges, 100.0), Gravity(), floor], rest=x)
    assert system.settles
    run = stiffly.simulate(system, x, integrator=name, rtol=1e-3, duration=0.5, every=0.05)
    assert run.stats["largest_step"] <= 0.05 * (1 + 1e-9)
    assert set(run.times[1:]) <= set(run.diagnostics["t"])


@pytest.mark.parametrize("order", [2, 3, 6, 7])
def test_steps_settle_at_a_tenth_of_the_error_allowed(order):
    """Of a method whose error is h^(order + 1), from a first step far too short."""
    still, moving = (State(0.0, np.array([-1.0, 1.0]), np.full(2, v)) for v in (0.0, 1.0))
    control = Controller.begin(Tolerance(1e-6), order, still.x, still.x, 1.0)
    h = 1e-3
    for count in range(100):
        error = ErrorEstimate(np.full(2, h ** (order + 1)), np.zeros(2))
        good, factor, control = control.judge(still, moving, error)
        assert good
        ratio, h = h ** (order + 1) / 1e-6, factor * h
        if count == 8:
            assert ratio > 1e-4  # it is soon there
    assert ratio == pytest.approx(0.1, rel=1e-3)


def test_the_first_step_is_found():
    """Two forces, and no climb from a thousandth of the run."""
    run = stiffly.simulate(*pendulums(), integrator="dop853", rtol=1e-6, duration=100.0, every=100)
    steps = np.diff(run.diagnostics["t"], prepend=0.0)
    assert 0.2 * np.median(steps) < steps[0] < 2.0 * np.median(steps)
    spent = 12 * (run.stats["steps"] + run.stats["rejected_steps"]) + 1 + 2
    assert spent <= run.stats["force_evaluations"] <= spent + 1  # where the first is rejected


@pytest.mark.parametrize("name", PAIRS)
def test_a_body_at_rest_has_a_first_step(name):
    system = stiffly.SecondOrder(stiffness=np.eye(2), force=lambda t, x: np.full(2, t), jacobian=0)
    run = stiffly.simulate(system, np.zeros(2), integrator=name, rtol=1e-6, duration=3.0, every=0.5)
    exact = run.times - np.sin(run.times)
    assert np.abs(run.positions - exact[:, None]).max() < 1e-5


class Silent:
    """Says that its steps tell what is between, and they do not."""

    order, adaptive, dense, name, error_order = 8, True, True, "silent", 7

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        from dataclasses import replace

        own = DormandPrince853(estimate=True).step(system, state, h, None)
        return replace(own, between=None, memory=None)


def test_a_method_that_does_not_keep_its_word_is_told():
    with pytest.raises(InputError, match=r"silent is dense, .* set dense = False"):
        stiffly.simulate(*pendulums(), integrator=Silent(), rtol=1e-4, duration=1.0, every=0.01)


@pytest.mark.parametrize("kind", ["driven"])
def test_rkn6_books_what_a_force_adds(kind):
    problem = pendulums(**KINDS[kind])
    run = stiffly.simulate(*problem, integrator="rkn6", step=0.2, duration=10.0)
    _, _, added, _ = with_work(problem, run.times)
    assert np.abs(run.energy.added - added).max() < 1e-3 * run.energy.exchanged
