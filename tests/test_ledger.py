"""The books of a run: what they add up, and when they say that a motion is lost."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from stiffly import simulate
from stiffly.accounting import work
from stiffly.backends.cpu import CPU
from stiffly.bodies import SecondOrder, Springs, System
from stiffly.contracts import Power, State
from stiffly.run.ledger import Balance, Ledger


def booked(rows, kind=Balance):
    """The books after frames with these energies; and the growth at each."""
    books = kind(SimpleNamespace(energy=lambda state: rows[int(state.t)], backend=CPU))
    at = [State(float(k), np.zeros(1), np.zeros(1)) for k in range(len(rows))]
    return books, [books.frame(state) for state in at]


def test_numerical_is_what_nothing_else_explains():
    books, _ = booked([{"kinetic": 1.0, "elastic": 2.0}, {"kinetic": 4.0, "elastic": 1.0}])
    books.settle(Power(added=2.5, dissipated=1.0))
    assert books.numerical == 5.0 - 3.0 - 2.5 + 1.0


def test_parts_may_come_and_go():
    rows = [
        {"kinetic": 1.0, "elastic": 2.0},
        {"kinetic": 1.0, "elastic": 2.0, "hand": 3.0},
        {"kinetic": 3.0, "elastic": 1.0},
    ]
    books, _ = booked(rows[:2])
    books.settle(Power(added=3.0))
    assert books.numerical == 0.0
    books, _ = booked(rows)
    books.settle(Power(added=3.0, dissipated=2.0))
    assert books.numerical == 0.0 and books.scale == 3.0


def test_a_balance_does_not_grow_and_a_ledger_keeps_its_frames():
    rows = [{"kinetic": 1.0 + k, "elastic": 2.0 - k} for k in range(5)]
    books, _ = booked(rows)
    assert books.now == rows[-1] and books.start == rows[0]
    ledger, _ = booked(rows, Ledger)
    assert ledger.history().kinetic.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert ledger.history().numerical.tolist() == [0.0] * 5


@pytest.mark.parametrize("size", [1e3, 1e12, 1e25, 1e200])
def test_energy_out_of_nothing_is_noticed_however_much_it_is(size):
    """In one frame, or in two: by then it must not have become the yardstick."""
    rows = [{"kinetic": 0.0, "elastic": 5.0}, {"kinetic": 3.0, "elastic": 2.0}]
    _, growth = booked([*rows, {"kinetic": size, "elastic": size}])
    assert growth[1] == 0.0 and growth[2] == pytest.approx(2.0 * size / 5.0, rel=0.02)


def test_rounding_of_a_body_at_rest_is_not_taken_for_a_motion():
    """A megajoule of height, whose last digits flicker."""
    high = {"kinetic": 0.0, "gravity": 1e6, "elastic": 0.0}
    rows = [high, *({**high, "gravity": 1e6 + e} for e in (1e-10, 3e-9, 2e-8, 1e-7))]
    _, growth = booked(rows)
    assert max(growth) == 0.0


def test_what_is_not_finite_is_lost():
    _, growth = booked([{"kinetic": 1.0}, {"kinetic": np.nan}])
    assert growth[1] == np.inf
    _, growth = booked([{"kinetic": 1.0}, {"kinetic": np.inf}])
    assert growth[1] == np.inf


def test_the_power_at_the_end_of_a_step_is_that_at_the_start_of_the_next():
    system = SecondOrder(stiffness=np.diag([2.0, 3.0]), damping=np.array([0.5, 0.1]))
    rng = np.random.default_rng(0)
    states = [State(0.1 * k, *rng.standard_normal((2, 2))) for k in range(4)]
    asked = []
    watched = SimpleNamespace(power=lambda s: asked.append(s) or system.power(s))
    books = Balance(watched)
    taken = 0.0
    for pair in pairwise(states[:3]):
        books.step(*pair)
        taken += work(system, *pair).dissipated
    assert books.dissipated_now == taken > 0.0
    assert len(asked) == 5  # three states, two middles
    books.settle(Power())  # what happened may have changed the forces: asked again
    books.step(*states[2:])
    assert len(asked) == 8 and sum(s is states[2] for s in asked) == 2
    books.system = SimpleNamespace(power=system.power)
    books.step(states[3], states[0])  # another system: nothing is known of it
    assert len(asked) == 8


def test_parts_of_one_name_share_a_line_of_the_ledger():
    x = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]])

    def energies(*names):
        parts = [Springs([[0, 1]], 4.0, 1.0, name=name) for name in names]
        return simulate(System(np.ones(2), parts), x, step=0.1, duration=0.1).energy.parts

    both, apart = energies("a", "a"), energies("a", "b")
    assert list(both) == ["kinetic", "a"] and list(apart) == ["kinetic", "a", "b"]
    assert both["a"][0] == apart["a"][0] + apart["b"][0] == 1.0


def test_a_ledger_that_is_printed_is_one_line():
    spring = SecondOrder(stiffness=[[4.0]])
    energy = simulate(spring, [1.0], integrator="rk4", step=0.1, duration=1.0).energy
    said = repr(energy)
    assert "\n" not in said and f"{len(energy.times)} frames to 1 s" in said
    assert all(part in said for part in energy.parts)
