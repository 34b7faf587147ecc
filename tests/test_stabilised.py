"""Energy tracking around any integrator: Dinev, Liu, Kavan 2018, Algorithm 1."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn, thinned

from stiffly import Gravity, InputError, SecondOrder, Springs, State, System, simulate
from stiffly.bodies import MomentumDamping
from stiffly.contracts import Step, Work
from stiffly.errors import NotConverged, SimulationFailure
from stiffly.integrators import NAMES, Midpoint, Stabilised, integrator
from stiffly.integrators.blend import Candidate, search

H = 0.033


def single_spring():
    """Figs. 2-3 of the paper: E = k/2 (x.x - 1)^2, half a kilogram; 25 kJ at the start."""
    k = 2 * (25e3 - 0.25 * 100.0) / (1.5**2 - 1.0) ** 2
    return SecondOrder(
        mass=0.5 * np.eye(3),
        force=lambda x: -2.0 * k * (x @ x - 1.0) * x,
        jacobian=lambda x: -2.0 * k * ((x @ x - 1.0) * np.eye(3) + 2.0 * np.outer(x, x)),
        potential=lambda x: 0.5 * k * (x @ x - 1.0) ** 2,
    )


def rope(strain=1e-2, links=10):
    """Released from horizontal."""
    x = np.zeros((links + 1, 3))
    x[:, 0] = np.linspace(0.0, 1.0, links + 1)
    edges = np.stack([np.arange(links), np.arange(1, links + 1)], axis=1)
    mass = 1.0 / (links + 1)
    stiffness = 9.81 * links / strain
    return System(np.full(links + 1, mass), [Springs(edges, stiffness), Gravity()],
                  fixed=[0], rest=x), x  # fmt: skip


@dataclass(frozen=True)
class Canned:
    """Always ends in the same state."""

    end: tuple
    order = 1
    adaptive = False
    name = "canned"

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory, guess=None):
        x, v = (np.array([value]) for value in self.end)
        return Step(State(state.t + h, x, v), None, Work())


OSCILLATOR = SecondOrder(stiffness=np.eye(1))  # energy (x^2 + v^2)/2


def one_step(method, x=1.0, v=0.0, system=OSCILLATOR):
    bound, state = system.bind([x], [v])
    return method.step(bound, state, 0.1, method.start(bound, state))


# ---------------------------------------------------------------------- what it must reach


def test_the_papers_single_spring():
    x0, v0 = [1.5, 0.0, 0.0], [0.0, 10.0, 0.0]
    with pytest.raises(SimulationFailure):
        simulate(single_spring(), x0, v0, integrator="midpoint", step=H, duration=500 * H)
    run = simulate(single_spring(), x0, v0, integrator="stabilised", step=H, duration=500 * H)
    assert run.energy.total[0] == pytest.approx(25e3)
    assert np.abs(run.energy.numerical).max() <= 0.0101 * 25e3
    assert np.abs(run.diagnostics["alpha"]).max() > 0.0


@pytest.mark.parametrize(
    "base", thinned(["verlet", "eti", "midpoint", "exprb42", "newmark"], keep=2)
)
def test_it_survives_where_its_base_explodes(base):
    system, x = rope()
    options = dict(step=1 / 30, duration=5.0)
    with pytest.raises(SimulationFailure):
        simulate(system, x, integrator=base, **options)
    run = simulate(system, x, integrator=f"stabilised:{base}", **options)
    assert run.integrator == f"stabilised:{base}"
    assert run.energy.numerical.max() <= 0.02 * run.energy.exchanged


def test_where_the_base_is_good_it_changes_nothing():
    """Midpoint keeps quadratic energies: no digit may differ."""
    x0, v0 = [1.0], [0.5]
    plain = simulate(OSCILLATOR, x0, v0, integrator="midpoint", step=0.3, duration=30.0)
    ours = simulate(OSCILLATOR, x0, v0, integrator="stabilised", step=0.3, duration=30.0)
    np.testing.assert_array_equal(plain.positions, ours.positions)
    assert not ours.diagnostics["alpha"].any()


def test_energy_that_the_base_loses_is_put_back():
    """Backward Euler loses almost all in ten periods; forward Euler gives it back."""
    swing = dict(step=0.1, duration=60.0)
    lossy = simulate(OSCILLATOR, [1.0], [0.0], integrator="bdf1", **swing)
    ours = simulate(OSCILLATOR, [1.0], [0.0], integrator="stabilised:bdf1", **swing)
    assert lossy.energy.total[-1] < 0.1 * lossy.energy.total[0]
    assert np.abs(ours.energy.numerical).max() <= 0.0101 * 0.5
    assert (ours.diagnostics["alpha"] < 0.0).any() and not (ours.diagnostics["alpha"] > 0.0).any()


def test_damping_lowers_the_target():
    """What a filter takes after each step is dissipated, not an error to be mended."""
    x = np.array([[0.0, 0.0, 0.0], [1.3, 0.0, 0.0], [0.2, 0.8, 0.0]])
    springs = Springs([[0, 1], [1, 2], [0, 2]], 100.0, 1.0)
    system = System(1.0, [springs, MomentumDamping(rate=1.0)], rest=x)
    run = simulate(system, x, integrator="stabilised", step=H, duration=10.0)
    energy = run.energy
    assert energy.total[-1] < 0.01 * energy.total[0]
    assert energy.dissipated[-1] > 0.98 * energy.total[0]
    assert np.abs(energy.numerical).max() <= 0.02 * energy.total[0]


def test_work_of_a_load_raises_the_target():
    """A constant push on a free mass, nothing stored: the energy is its work."""
    system = SecondOrder(size=1, force=lambda t, x: np.array([2.0]), jacobian=0)
    run = simulate(system, [0.0], [0.0], integrator="stabilised", step=0.1, duration=3.0)
    assert run.energy.added[-1] == pytest.approx(0.5 * (2.0 * 3.0) ** 2)
    assert np.abs(run.energy.numerical).max() <= 1e-9


# ---------------------------------------------------------------------- the algorithm


def test_too_high_blends_with_the_first():
    """Energy 2 from the base, 0 from the other, 1/2 wanted: (1 - a)^2 2 = 1/2, a = 1/2."""
    taken = one_step(Stabilised(Canned((2.0, 0.0)), Canned((0.0, 0.0)), tolerance=1e-9))
    assert taken.notes["alpha"] == pytest.approx(0.5, abs=1e-8)
    assert taken.state.x[0] == pytest.approx(1.0, abs=1e-8)
    assert abs(taken.notes["energy_error"]) <= 0.5e-9


def test_too_low_blends_with_the_second():
    """0 from the base, 2 from the other: a^2 2 = 1/2."""
    method = Stabilised(Canned((0.0, 0.0)), inject=Canned((2.0, 0.0)), tolerance=1e-9)
    taken = one_step(method)
    assert taken.notes["alpha"] == pytest.approx(-0.5, abs=1e-8)


@pytest.mark.parametrize(("base", "other"), [(3.0, 2.0), (3.0, 4.0)])
def test_where_both_overshoot_the_energy_stays_and_the_motion_goes_on(base, other):
    """From rest at 1 both lead uphill; the force leads down."""
    taken = one_step(Stabilised(Canned((base, 0.0)), Canned((other, 0.0))))
    x, v = taken.state.x[0], taken.state.v[0]
    assert 0.9 < x < 1.0 and v < 0.0
    assert 0.5 * (x**2 + v**2) <= 0.5 * (1.0 + 1e-12)
    assert taken.notes["energy_error"] <= 1e-12 and taken.notes["share"] <= 1.0


def test_where_neither_has_enough_the_higher_is_taken():
    taken = one_step(Stabilised(Canned((0.1, 0.0)), inject=Canned((0.2, 0.0))))
    assert taken.state.x[0] == 0.2 and taken.notes["alpha"] == -1.0


@pytest.mark.parametrize("end", [(np.nan, 0.0), (np.inf, 1.0)])
def test_a_base_that_is_lost_is_replaced(end):
    taken = one_step(Stabilised(Canned(end), Canned((0.5, 0.0))))
    assert taken.state.x[0] == 0.5
    assert taken.notes["alpha"] == 1.0 and taken.notes["base_failed"]


def test_a_step_that_nobody_can_take_is_halved():
    @dataclass(frozen=True)
    class Short(Midpoint):
        """Refuses steps above 0.03."""

        def step(self, system, state, h, memory, guess=None):
            if h > 0.03:
                raise NotConverged("too long")
            return super().step(system, state, h, memory)

    taken = one_step(Stabilised(Short(), Short()))
    assert taken.notes["halvings"] == 3  # 0.1 into four of 0.025
    assert taken.work.rejected_steps == 3
    assert taken.state.t == pytest.approx(0.1)
    expected = np.array([np.cos(0.1), -np.sin(0.1)])
    np.testing.assert_allclose([*taken.state.x, *taken.state.v], expected, atol=1e-4)


def test_a_step_that_all_refuse_is_taken_all_the_same():
    taken = one_step(Stabilised(Refusing(), Refusing(), Refusing()))
    assert taken.state.t == pytest.approx(0.1) and taken.notes["base_failed"]
    assert taken.state.x[0] < 1.0 and taken.notes["energy_error"] <= taken.notes["energy_band"]


class Refusing(Canned):
    def __init__(self):
        super().__init__((0.0, 0.0))

    def step(self, system, state, h, memory, guess=None):
        raise NotConverged("never")


def test_the_yardstick_does_not_know_where_height_begins():
    """The same rope a kilometre higher: a share of the potential energy would be a kilojoule."""
    system, x = rope()
    runs = [
        simulate(
            system, x + np.array([0, 0, z]), integrator="stabilised", step=1 / 30, duration=1.0
        )
        for z in (0.0, 1000.0)
    ]
    low, high = (run.positions - run.positions[0, 0] for run in runs)
    np.testing.assert_allclose(low, high, atol=1e-6)


@drawn(200)
@given(
    low=st.floats(1e-3, 1e3),
    high=st.floats(1e-3, 1e12),
    power=st.sampled_from([1, 2, 4]),
    sign=st.sampled_from([1.0, -1.0]),
)
def test_the_search_finds_the_band(low, high, power, sign):
    """Errors from -low to high, rising as share^power, or the mirror image."""
    calls = []

    def at(share):
        calls.append(share)
        return Candidate(None, {}, sign * (-low + (low + high) * share**power))

    band = 0.01 * low
    best, share = search(at, at(0.0), at(1.0), band)
    assert abs(best.error) <= band
    assert 0.0 <= share <= 1.0 and at(share).error == best.error
    if power <= 2 and high <= 1e3 * low:
        assert len(calls) <= 8  # ends, middle, at most four tries, and the check above


# ---------------------------------------------------------------------- names and bad input


def test_names():
    assert "stabilised" in NAMES
    assert integrator("stabilised").name == "stabilised:midpoint"
    assert integrator("stabilised:exprb42").base == integrator("exprb42")
    assert integrator("stabilised:rk4").order == 4
    assert Stabilised("newmark").base.name == "newmark"


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (lambda: integrator("stabilised:midpiont"), "did you mean midpoint"),
        (lambda: integrator("stabilised:stabilised"), "stabilised already"),
        (lambda: Stabilised(3.0), "no integrator"),
        (lambda: Stabilised(inject=None), "no integrator"),
        (lambda: Stabilised(tolerance=0.0), "outside"),
        (lambda: Stabilised(tolerance=float("nan")), "outside"),
    ],
)
def test_bad_input(make, cause):
    with pytest.raises(InputError, match=cause):
        make()


def test_a_force_without_potential_is_refused():
    system = SecondOrder(size=1, force=lambda x: -x, jacobian=lambda x: -np.eye(1))
    with pytest.raises(InputError, match="potential=U"):
        simulate(system, [1.0], integrator="stabilised", step=0.1, duration=1.0)


def test_an_infinite_energy_is_refused():
    system = SecondOrder(
        size=1,
        force=lambda x: 1.0 / x**2,
        jacobian=lambda x: np.diag(-2.0 / x**3),
        potential=lambda x: float(1.0 / x[0] if x[0] > 0.0 else np.inf),
    )
    bound, _ = system.bind([2.0])
    with pytest.raises(InputError, match="not finite"):
        integrator("stabilised").start(bound, State(0.0, np.zeros(1), np.zeros(1)))
