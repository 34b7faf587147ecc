"""The energy-momentum method: its equations, what it conserves, its order, and how it fails."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from systems import march, reference
from thinned import drawn, thinned

import stiffly
from stiffly.bodies import FaceSprings, Field, Gravity, Rayleigh, Springs, System, Tetrahedra
from stiffly.contracts import Settled, State
from stiffly.errors import NotConverged
from stiffly.integrators.energy_momentum import EnergyMomentum
from stiffly.integrators.halving import HALVINGS
from stiffly.integrators.stage import Midpoint
from stiffly.meshes import rope
from stiffly.meshes.grids import grid_tets
from stiffly.meshes.mesh import tet_edges
from stiffly.solvers.local_global import LocalGlobal
from stiffly.solvers.newton import Newton
from stiffly.solvers.shifted_newton import ShiftedNewton

METHOD = EnergyMomentum()
GRID = np.indices((3, 2, 2)).reshape(3, -1).T.astype(float)
TETS = grid_tets((3, 2, 2))
EDGES = tet_edges(TETS)
MASS = np.linspace(0.8, 1.3, len(GRID))
BODIES = {
    "springs": lambda: [Springs(EDGES, 2e3)],
    "cubic springs": lambda: [Springs(EDGES, 1e3, law="cubic")],
    "face springs": lambda: [Springs(EDGES, 1e3), FaceSprings(TETS, 1e3)],
    "corotated": lambda: [Tetrahedra(TETS, 2e3, 0.3)],
    "stvk": lambda: [Tetrahedra(TETS, 2e3, 0.3, material="stvk")],
    "neo-hookean": lambda: [Tetrahedra(TETS, 2e3, 0.4, material="neo-hookean")],
    "mixed": lambda: [Springs(EDGES, 1e3), Tetrahedra(TETS, 1e3, 0.2)],
}


def total(system, s):
    return sum(system.energy(s).values())


def momenta(s, mass):
    x, v = s.x.reshape(-1, 3), s.v.reshape(-1, 3)
    return mass @ v, mass @ np.cross(x, v)


def thrown(parts, seed, spin, shake=0.3):
    """A body that flies, turns and vibrates."""
    rng = np.random.default_rng(seed)
    v = np.cross(spin * rng.standard_normal(3), GRID) + shake * rng.standard_normal(GRID.shape)
    return System(MASS, parts, rest=GRID).bind(GRID, v + rng.standard_normal(3))


def hung_rope(strain, links=20):
    """1 m, 1 kg, held at one end, which its own weight would stretch by `strain`; horizontal."""
    mesh = rope(links + 1, length=1.0)
    mass = 1.0 / links
    stiffness = links * mass * 9.81 / (strain / links)
    parts = [Springs(mesh.edges, stiffness), Gravity()]
    return System(np.full(links + 1, mass), parts, fixed=[0], rest=mesh.positions), mesh.positions


# ------------------------------------------------------------------ the equations


def test_a_step_solves_the_equations_with_the_springs_own_formula():
    """fbar = k ((L0 + L1)/2 - l) (d0 + d1)/(L0 + L1), written out here once more."""
    system, x0 = hung_rope(1e-2, links=5)
    bound, s0 = system.bind(x0)
    h, mass, links = 0.02, 0.2, 5
    s0 = march(METHOD, bound, s0, [h] * 20)[0][-1]
    s1 = METHOD.step(bound, s0, h, METHOD.start(bound, s0)).state
    d0, d1 = (np.diff(bound.positions(s), axis=0) for s in (s0, s1))
    L0, L1 = (np.linalg.norm(d, axis=1)[:, None] for d in (d0, d1))
    assert np.abs(L0 - L1).max() > 1e-4  # the springs do something
    k, rest = links * mass * 9.81 / (1e-2 / links), 1.0 / links
    pull = k * (0.5 * (L0 + L1) - rest) * (d0 + d1) / (L0 + L1)
    force = np.array([0.0, 0.0, -9.81 * mass]) - pull
    force[:-1] += pull[1:]
    v0, v1 = s0.v.reshape(-1, 3), s1.v.reshape(-1, 3)
    assert mass * (v1 - v0) == pytest.approx(h * force, abs=1e-10)
    assert s1.x == pytest.approx(s0.x + 0.5 * h * (s0.v + s1.v), abs=1e-14)


def test_linear_forces_give_the_implicit_midpoint_rule():
    """Springs of zero length: the energy is quadratic, and the force at the middle is the mean."""
    parts = [Springs(EDGES, 50.0, rest=0.0), Gravity()]
    system, s = thrown(parts, 1, 1.0)
    ours, work, _ = march(METHOD, system, s, [0.1] * 8)
    theirs = march(Midpoint(solver=Newton(1e-12)), system, s, [0.1] * 8)[0]
    assert ours[-1].x == pytest.approx(theirs[-1].x, abs=1e-9)
    assert ours[-1].v == pytest.approx(theirs[-1].v, abs=1e-9)
    assert work.factorizations == 1  # the tangent never changes, and is never made again


# ------------------------------------------------------------------ what is conserved


@pytest.mark.parametrize("name", BODIES)
@drawn(5)
@given(seed=st.integers(0, 10**6), spin=st.floats(0.0, 2.0))
def test_energy_and_both_momenta_are_conserved(name, seed, spin):
    """h omega is 3 to 10 here, and explicit methods explode at 2."""
    system, s = thrown(BODIES[name](), seed, spin)
    start, (linear, angular) = total(system, s), momenta(s, MASS)
    states = march(METHOD, system, s, [0.05] * 8)[0]
    size = np.abs(linear).sum() + np.abs(angular).sum()
    for state in states[1:]:
        assert total(system, state) == pytest.approx(start, rel=1e-10)
        now = momenta(state, MASS)
        assert now[0] == pytest.approx(linear, abs=1e-10 * size)
        assert now[1] == pytest.approx(angular, abs=1e-9 * size)
    moved = [system.energy(state)["kinetic"] for state in states]
    assert np.ptp(moved) > 1e-4 * start  # there was something to conserve


@drawn(40)
@given(name=st.sampled_from(sorted(BODIES)), seed=st.integers(0, 10**6), step=st.floats(-4.0, 0.0))
def test_energy_and_both_momenta_stay_at_any_step(name, seed, step):
    """Steps of 0.1 ms to 1 s: h omega from a hundredth to some hundreds."""
    system, s = thrown(BODIES[name](), seed, 1.0)
    start, (linear, angular) = total(system, s), momenta(s, MASS)
    size = np.abs(linear).sum() + np.abs(angular).sum()
    for state in march(METHOD, system, s, [10.0**step] * 3)[0][1:]:
        now = momenta(state, MASS)
        assert total(system, state) == pytest.approx(start, rel=1e-10)
        assert now[0] == pytest.approx(linear, abs=1e-10 * size)
        assert now[1] == pytest.approx(angular, abs=1e-9 * size)


@pytest.mark.parametrize("strain", thinned([1e-2, 1e-4]))
def test_the_rope_at_thirty_steps_a_second(strain):
    system, x0 = hung_rope(strain)
    run = stiffly.simulate(system, x0, integrator=METHOD, step=1 / 30, duration=3.0)
    assert run.energy.exchanged > 4.0
    assert np.abs(run.energy.numerical).max() <= 1e-8 * run.energy.exchanged
    assert run.stats["rejected_steps"] == run.diagnostics["halvings"].sum()


@pytest.mark.slow
@pytest.mark.parametrize("strain", [1e-2, 1e-4])
def test_the_rope_for_twenty_seconds(strain):
    system, x0 = hung_rope(strain)
    run = stiffly.simulate(system, x0, integrator=METHOD, step=1 / 30, duration=20.0)
    assert run.stats["steps"] == 600
    assert np.abs(run.energy.numerical).max() <= 1e-8 * run.energy.exchanged


def test_yielding_springs_lose_exactly_what_the_ledger_says():
    springs = Springs(EDGES, 2e3, yield_strain=0.02)
    system = System(MASS, [springs], rest=GRID)
    v = 2.0 * np.random.default_rng(3).standard_normal(GRID.shape)
    run = stiffly.simulate(system, GRID, v, integrator=METHOD, step=0.02, duration=0.4)
    assert run.energy.dissipated[-1] > 1.0
    assert np.abs(run.energy.numerical).max() <= 1e-9 * run.energy.dissipated[-1]


# ------------------------------------------------------------------ order and symmetry


def slopes(make, duration, counts):
    system, s = make()
    x, v = reference(system, s, [duration])
    ends = [march(METHOD, system, s, [duration / n] * n)[0][-1] for n in counts]
    errors = np.array([[np.abs(e.x - x).max(), np.abs(e.v - v).max()] for e in ends])
    return np.log(errors[0] / errors[-1]) / np.log(counts[-1] / counts[0])


ORDER = {
    "soft": (lambda: thrown([Springs(EDGES, 20.0)], 2, 1.0), 0.6, (20, 40)),
    "stiff": (lambda: thrown([Springs(EDGES, 2e4)], 2, 1.0), 0.1, (200, 400)),
    "soft solid": (lambda: thrown([Tetrahedra(TETS, 20.0, 0.3)], 2, 1.0), 0.6, (20, 40)),
    "driven": (
        lambda: thrown([Springs(EDGES, 20.0), Field(lambda t: (np.cos(4 * t), 0, t))], 2, 1.0),
        0.6,
        (20, 40),
    ),
    "damped": (
        lambda: System(MASS, [Springs(EDGES, 20.0)], rest=GRID, damping=Rayleigh(0.5, 0.01)).bind(
            1.1 * GRID
        ),
        0.6,
        (20, 40),
    ),
}


@pytest.mark.parametrize("name", ORDER)
def test_second_order(name):
    assert slopes(*ORDER[name]) == pytest.approx([2.0, 2.0], abs=0.2)


def test_damping_takes_as_much_from_what_a_step_does_not_resolve():
    """exp(-a t) of the energy is left, whatever omega h; at the middle of a step it would be
    exp(-a t/(1 + (omega h/2)^2)).  Stretched, a spring holds energy that braking does not see: a
    mean over its slow beat."""
    rate, h = 4.0, 0.01
    for omega_h in (0.1, 10.0, 40.0):
        stiffness = (omega_h / h) ** 2
        system = System(np.ones(2), [Springs([[0, 1]], stiffness, rest=[1.0])], fixed=[0],
                        damping=Rayleigh(rate))  # fmt: skip
        v = np.array([[0.0, 0.0, 0.0], [1e-3, 0.0, 0.0]])
        system, state = system.bind([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], v)
        first, memory = total(system, state), METHOD.start(system, state)
        for _ in range(100):
            taken = METHOD.step(system, state, h, memory)
            state, memory = taken.state, taken.memory
        assert np.log(total(system, state) / first) == pytest.approx(-rate, rel=0.1)


def test_strong_damping_balances_the_weight():
    """A body sinks by g/a a second where a step outlasts the decay of its velocity many times."""
    rate, h = 200.0, 0.05
    system = System(np.ones(1), [Gravity()], damping=Rayleigh(rate))
    system, state = system.bind(np.zeros((1, 3)))
    memory, heights = METHOD.start(system, state), []
    for _ in range(40):
        taken = METHOD.step(system, state, h, memory)
        state, memory = taken.state, taken.memory
        heights.append(state.x[2])
    sunk = (heights[19] - heights[39]) / (20 * h)
    assert sunk == pytest.approx(9.81 / rate, rel=0.05)


def test_time_can_be_turned_round():
    """Symmetric: a step of -h undoes a step of h; and so does the same step with -v."""
    system, s = thrown(BODIES["springs"](), 5, 1.5)
    there = march(METHOD, system, s, [0.05] * 6)[0][-1]
    assert np.abs(there.x - s.x).max() > 0.1
    back = march(METHOD, system, there, [-0.05] * 6)[0][-1]
    turned = march(METHOD, system, State(0.0, there.x, -there.v), [0.05] * 6)[0][-1]
    for x, v in ((back.x, back.v), (turned.x, -turned.v)):
        assert x == pytest.approx(s.x, abs=1e-8)
        assert v == pytest.approx(s.v, abs=1e-7)


# ------------------------------------------------------------------ halving and failing


def test_a_solve_that_fails_is_halved_and_says_so():
    impatient = EnergyMomentum(solver=ShiftedNewton(max_iterations=6))
    system, x0 = hung_rope(1e-3)
    run = stiffly.simulate(system, x0, integrator=impatient, step=1 / 30, duration=0.5)
    halvings = run.diagnostics["halvings"]
    assert halvings.max() >= 1
    assert 0 < run.stats["rejected_steps"] <= halvings.sum()  # not every piece is tried whole
    assert np.abs(run.energy.numerical).max() <= 1e-8 * run.energy.exchanged
    assert run.times[-1] == 0.5


class Broken:
    """Another system whose mean force fails beyond a step size."""

    def __init__(self, system, longest):
        self._system, self._longest = system, longest
        self.tried = []

    def __getattr__(self, name):
        return getattr(self._system, name)

    def mean_force(self, s0, s1):
        h = s1.t - s0.t
        if not self.tried or self.tried[-1] != h:
            self.tried.append(h)
        return self._system.mean_force(s0, s1) * (np.nan if h > self._longest else 1.0)


def test_halves_of_halves_end_where_the_step_would_have():
    system, s = thrown(BODIES["springs"](), 5, 1.5)
    broken = Broken(system, 0.021)
    step = METHOD.step(broken, s, 0.04, METHOD.start(broken, s))
    assert broken.tried == [0.04, 0.02]
    assert step.notes["halvings"] == 1 == step.work.rejected_steps
    twice = march(METHOD, system, s, [0.02, 0.02])[0][-1]
    assert step.state.t == 0.04
    assert step.state.x == pytest.approx(twice.x, abs=1e-12)
    assert METHOD.step(Broken(system, 0.011), s, 0.04, METHOD.start(system, s)).notes == {
        "residual": pytest.approx(0.0, abs=1e-11),
        "rounding": False,
        "halvings": 3,
    }


def test_a_step_without_a_solution_is_named():
    system, s = thrown(BODIES["springs"](), 5, 1.5)
    broken = Broken(system, 0.0)
    with pytest.raises(NotConverged, match=r"energy-momentum found no solution at t = 0 s.*: try"):
        METHOD.step(broken, s, 0.04, METHOD.start(broken, s))
    assert broken.tried == pytest.approx([0.04 / 2**i for i in range(HALVINGS + 1)])


# ------------------------------------------------------------------ local/global


def test_local_global_iterations_reach_the_same_step_with_one_factorisation():
    system, s = thrown([Springs(EDGES, 2e3), Gravity()], 7, 0.5)
    method = EnergyMomentum(solver=LocalGlobal(400))
    states, work, memory = march(method, system, s, [0.03] * 3)
    exact = march(METHOD, system, s, [0.03] * 3)[0]
    assert states[-1].x == pytest.approx(exact[-1].x, abs=1e-8)
    assert work.factorizations == 1
    resumed = method.resume(system, states[-1], memory, Settled(states[-1]))
    assert method.step(system, states[-1], 0.03, resumed).work.factorizations == 0


def test_few_iterations_lose_little_where_plain_midpoint_explodes():
    """The local step of a discrete gradient, p = l (d0 + d1)/(|d0| + |d1|), costs nothing more."""
    system, x0 = hung_rope(1e-2)

    def run(method):
        return stiffly.simulate(system, x0, integrator=method, step=1 / 30, duration=4.0)

    with pytest.raises(stiffly.Diverged):
        run(Midpoint(solver=LocalGlobal(10)))
    with pytest.warns(stiffly.StiffWarning):
        kept = run(EnergyMomentum(solver=LocalGlobal(10)))
    assert np.abs(kept.energy.numerical).max() < kept.energy.exchanged


def test_names():
    assert METHOD.name == "energy-momentum"
    assert EnergyMomentum(solver=LocalGlobal()).name == "projective-energy-momentum"
