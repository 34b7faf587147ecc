"""The Gautschi family: filters, exactness, symplecticity, symmetry, and co-rotation."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from systems import march

import stiffly
from stiffly.backends.cpu import CPU
from stiffly.bodies import Rayleigh, SecondOrder, Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.integrators import FILTERS, Gautschi, Neti
from stiffly.matfun import operators, stumpff
from stiffly.meshes import lattice

ONE_STEP = [name for name, pair in FILTERS.items() if pair.psi1 is not None]
SYMPLECTIC = ["deuflhard", "garcia-archilla"]
METHODS = {
    **{f"{name}, one-step": Gautschi(filter=name) for name in ONE_STEP},
    **{f"{name}, two-step": Gautschi(filter=name, form="two-step") for name in FILTERS},
}
AVERAGING = [name for name in FILTERS if name not in ("deuflhard", "hairer-lubich")]
NETI = {
    "neti": Neti(),
    **{f"neti, {name}, two-step": Neti(filter=name, form="two-step") for name in AVERAGING},
}
MASS = np.array([1.0, 2.0, 0.5])
STIFFNESS = np.array([[60.0, -20.0, 0.0], [-20.0, 900.0, -10.0], [0.0, -10.0, 25.0]])


def pendulums(damping=None):
    """Three coupled pendulums, one of them stiff (omega = 21), with unequal masses."""
    system = SecondOrder(
        stiffness=STIFFNESS,
        mass=MASS,
        damping=damping,
        force=lambda x: -5.0 * np.sin(x) - np.array([x[1], x[0], 0.0]),
        jacobian=lambda x: -np.diag(5.0 * np.cos(x)) - np.eye(3)[[1, 0, 2]] * [1, 1, 0],
        potential=lambda x: float(5.0 * np.sum(1.0 - np.cos(x)) + x[0] * x[1]),
    )
    return system.bind([0.8, 0.1, -1.1], [0.3, -2.0, 0.5])


def one_step(method, system, u, h):
    """The map (x, v) -> (x+, v+) of a step that starts afresh."""
    s = State(0.0, u[:3].copy(), u[3:].copy())
    new = method.step(system, s, h, method.start(system, s)).state
    return np.concatenate([new.x, new.v])


# ------------------------------------------------------------------ filters


def sinc(x):
    return np.sinc(x / np.pi)


TEXTBOOK = {
    "gautschi": (lambda x: sinc(x / 2) ** 2, lambda x: 1.0 + 0 * x),
    "deuflhard": (sinc, lambda x: 1.0 + 0 * x),
    "garcia-archilla": (lambda x: sinc(x) ** 2, sinc),
    "hairer-lubich": (lambda x: sinc(x) ** 2, lambda x: 1.0 + 0 * x),
    "hochbruck-lubich": (
        lambda x: sinc(x / 2) ** 2,
        lambda x: sinc(x) * (1 + np.sin(x / 2) ** 2 / 3),
    ),
    "grimm-hochbruck": (lambda x: sinc(x) ** 3, sinc),
}
PHASES = np.concatenate([[0.0, 1e-8, 1e-3], np.linspace(0.05, 40.0, 400)])


def as_function(filter_sum, x):
    return sum(factor * stumpff(k, (m * x) ** 2) for factor, k, m in filter_sum)


def test_there_are_six_filters():
    assert set(FILTERS) == set(TEXTBOOK)


@pytest.mark.parametrize("name", TEXTBOOK)
def test_filters_are_the_textbook_ones(name):
    pair, (psi, phi) = FILTERS[name], TEXTBOOK[name]
    assert as_function(pair.psi, PHASES) == pytest.approx(psi(PHASES), abs=1e-14)
    assert as_function(pair.phi, PHASES) == pytest.approx(phi(PHASES), abs=1e-14)
    if pair.psi1 is not None:  # symmetry: psi = sinc psi_1, psi_0 = cos psi_1
        psi1, psi0 = as_function(pair.psi1, PHASES), as_function(pair.psi0, PHASES)
        assert sinc(PHASES) * psi1 == pytest.approx(psi(PHASES), abs=1e-14)
        assert np.cos(PHASES) * psi1 == pytest.approx(psi0, abs=1e-14)


@pytest.mark.parametrize("name", TEXTBOOK)
def test_symplectic_is_declared_where_psi_is_sinc_phi(name):
    psi, phi = TEXTBOOK[name]
    holds = np.abs(psi(PHASES) - sinc(PHASES) * phi(PHASES)).max() < 1e-12
    assert FILTERS[name].symplectic == holds == (name in SYMPLECTIC)


# ------------------------------------------------------------------ structure


@pytest.mark.parametrize("h", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("method", (METHODS | NETI).values(), ids=(METHODS | NETI).keys())
def test_linear_motion_is_exact_at_any_step(method, h):
    system, state = SecondOrder(stiffness=STIFFNESS, mass=MASS).bind([0.8, 0.1, -1.1], [0.3, -2, 1])
    lam, U = scipy.linalg.eigh(STIFFNESS, np.diag(MASS))
    y, p = U.T @ (MASS * state.x), U.T @ (MASS * state.v)
    states = march(method, system, state, [h] * 20)[0]
    for n, s in enumerate(states):
        w = np.sqrt(lam)
        x = U @ (np.cos(w * n * h) * y + np.sin(w * n * h) / w * p)
        v = U @ (np.cos(w * n * h) * p - np.sin(w * n * h) * w * y)
        # a two-step recurrence adds up n^2/2 rounding errors
        assert np.abs(s.x - x).max() <= 1e-12
        assert np.abs(s.v - v).max() <= 1e-10


LOAD = np.array([3.0, -40.0, 7.0])


@pytest.mark.parametrize("h", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("stiffness", ["all held", "one adrift"])
@pytest.mark.parametrize("method", (METHODS | NETI).values(), ids=(METHODS | NETI).keys())
def test_a_constant_load_is_exact_at_any_step(method, stiffness, h):
    """x = d + cos (x0 - d) + ... in modes that are held, free fall in one that is not."""
    K = STIFFNESS if stiffness == "all held" else np.diag([0.0, 900.0, 25.0])
    zero = lambda x: np.zeros((3, 3))  # noqa: E731
    weight = {"force": lambda x: LOAD, "jacobian": zero, "potential": lambda x: float(-LOAD @ x)}
    system, state = SecondOrder(stiffness=K, mass=MASS, **weight).bind([0.8, 0.1, -1.1])
    lam, U = scipy.linalg.eigh(K, np.diag(MASS))
    y, b = U.T @ (MASS * state.x), U.T @ LOAD
    for n, s in enumerate(march(method, system, state, [h] * 10)[0]):
        t, w = n * h, np.sqrt(np.maximum(lam, 1e-30))
        held = lam > 1e-6
        hanging = np.where(held, b / np.where(held, lam, 1.0), 0.0)
        swings = hanging + (y - hanging) * np.cos(w * t)
        x = U @ np.where(held, swings, y + 0.5 * b * t * t)
        assert np.abs(s.x - x).max() <= 1e-11 * max(1.0, np.abs(x).max())


def test_about_the_rest_shape_filters_weaken_a_load():
    """As the paper has it: a mass at rest under its weight does not stay there."""
    one = {"stiffness": np.array([[900.0]]), "force": lambda x: np.array([9.0]), "jacobian": 0}
    system, state = SecondOrder(**one, potential=lambda x: float(-9.0 * x[0])).bind([0.01])
    moved = {}
    for reference in ("loaded", "rest"):
        states = march(Gautschi(reference=reference), system, state, [0.1] * 20)[0]
        moved[reference] = max(abs(float(s.x[0]) - 0.01) for s in states)
    assert moved["loaded"] < 1e-15 < 1e-3 < moved["rest"]


@pytest.mark.parametrize(
    "force",
    [
        lambda x: -1.0 / x,
        lambda x: np.array([-1.0 / float(x[0])]),
        lambda x: np.array([math.log(float(x[0]))]),
    ],
)
def test_a_force_without_a_value_at_zero_is_no_load(force):
    system, state = SecondOrder(stiffness=[[4.0]], force=force, jacobian=0).bind([1.0])
    assert not system.rest_load().any()
    assert np.isfinite(march(Gautschi(), system, state, [0.01] * 3)[0][-1].x).all()


@pytest.mark.parametrize("name", ONE_STEP)
@pytest.mark.parametrize("h", [0.05, 0.2])
def test_symplectic_exactly_where_declared(name, h):
    system, state = pendulums()
    u, eps = np.concatenate([state.x, state.v]), 1e-5
    method = Gautschi(filter=name)
    J = np.stack(
        [
            (one_step(method, system, u + e, h) - one_step(method, system, u - e, h)) / (2 * eps)
            for e in eps * np.eye(6)
        ],
        axis=1,
    )
    M, zero = np.diag(MASS), np.zeros((3, 3))
    omega = np.block([[zero, M], [-M, zero]])
    defect = np.abs(J.T @ omega @ J - omega).max()
    assert defect < 1e-8 if name in SYMPLECTIC else defect > 1e-5


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_step_form_is_time_reversible(name):
    method, (system, state) = Gautschi(filter=name), pendulums()
    turn = march(method, system, state, [0.1] * 50)[0][-1]
    back = march(method, system, State(0.0, turn.x, -turn.v), [0.1] * 50)[0][-1]
    assert np.abs(back.x - state.x).max() < 1e-10
    assert np.abs(back.v + state.v).max() < 1e-9


@pytest.mark.parametrize("name", FILTERS)
def test_two_step_form_is_symmetric(name):
    """x_(n-1) comes back from x_n and x_(n+1) with the roles of past and future exchanged."""
    method, (system, state) = Gautschi(filter=name, form="two-step"), pendulums()
    first, second, third = march(method, system, state, [0.1] * 2)[0]
    now = State(0.0, second.x, -second.v)
    memory = replace(method.start(system, state), state=now, before=(third.x, -third.v, 0.1))
    back = method.step(system, now, 0.1, memory).state
    assert np.abs(back.x - first.x).max() < 1e-13


@pytest.mark.parametrize("name", ONE_STEP)
@pytest.mark.parametrize("h", [0.02, 0.2])
def test_one_step_and_two_step_forms_agree(name, h):
    system, state = pendulums()
    first = march(Gautschi(filter=name), system, state, [h] * 100)[0]
    second = march(Gautschi(filter=name, form="two-step"), system, state, [h] * 100)[0]
    for a, b in zip(first, second, strict=True):
        assert np.abs(a.x - b.x).max() < 1e-10
        assert np.abs(a.v - b.v).max() < 1e-9


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("method", (METHODS | NETI).values(), ids=(METHODS | NETI).keys())
@pytest.mark.parametrize("damping", [None, Rayleigh(0.5, 0.0)], ids=["undamped", "damped"])
def test_memory_of_another_state_is_not_used(method, damping):
    """Contact, dragging or a user may move the state between two steps."""
    system, state = pendulums(damping)
    states, _, memory = march(method, system, state, [0.05] * 4)
    moved = State(states[-1].t, states[-1].x + 0.1, states[-1].v - 1.0)
    with_old = method.step(system, moved, 0.05, memory).state
    fresh = method.step(system, moved, 0.05, method.start(system, moved)).state
    assert np.abs(with_old.x - fresh.x).max() < 1e-13
    assert np.abs(with_old.v - fresh.v).max() < 1e-12


@pytest.mark.parametrize("method", (METHODS | NETI).values(), ids=(METHODS | NETI).keys())
def test_no_trace_of_a_rejected_step(method):
    system, state = pendulums()
    states, _, memory = march(method, system, state, [0.05] * 3)
    method.step(system, states[-1], 0.4, memory)
    once = method.step(system, states[-1], 0.05, memory).state
    again = method.step(system, states[-1], 0.05, memory).state
    assert np.array_equal(once.x, again.x) and np.array_equal(once.v, again.v)


def test_one_force_evaluation_per_step():
    system, state = pendulums()
    for name in ONE_STEP:
        work = march(Gautschi(filter=name), system, state, [0.05] * 30)[1]
        assert work.force_evaluations == 31


# ------------------------------------------------------------------ co-rotation


def spinning_block(omega=100.0):
    """A free block of springs, its highest frequency omega, spinning at 2 rad/s about z."""
    mesh = lattice(2, 2, 2)
    unit, state = System(1.0, [Springs(mesh.edges, 1.0)], rest=mesh.positions).bind(mesh.positions)
    top = np.linalg.eigvalsh(unit.tangent(state).matrix(0.0, 1.0, 0.0).toarray())[-1]
    springs = Springs(mesh.edges, omega**2 / top)
    velocities = np.cross([0.0, 0.0, 2.0], mesh.positions - mesh.positions.mean(axis=0))
    return System(1.0, [springs], rest=mesh.positions), mesh, velocities


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # eti invents energy here
def test_corotation_keeps_shape_and_energy_where_a_fixed_frame_distorts():
    """h omega = 1.25. The true motion is a rigid rotation by 2 t, but for strains of 1e-3."""
    system, mesh, v0 = spinning_block()
    turn = np.array([[np.cos(2.0), -np.sin(2.0), 0], [np.sin(2.0), np.cos(2.0), 0], [0, 0, 1]])
    centre = mesh.positions.mean(axis=0)
    end = (mesh.positions - centre) @ turn.T + centre
    strain, drift, error = {}, {}, {}
    for name in ("ceti", "eti"):
        run = stiffly.simulate(
            system, mesh.positions, v0, integrator=name, step=0.0125, duration=1.0, every=0.0125
        )
        ends = run.positions[:, mesh.edges]
        length = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2)
        strain[name] = np.abs(length / length[0] - 1.0).max()
        drift[name] = np.abs(run.energy.numerical).max() / run.energy.total[0]
        error[name] = np.abs(run.positions[-1] - end).max()
    assert strain["ceti"] < 0.002 < 0.005 < strain["eti"]
    assert drift["ceti"] < 0.02 < 0.5 < drift["eti"]
    assert error["ceti"] < 0.02 < 0.5 < error["eti"]


@pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # the same
@pytest.mark.parametrize("name", ["eti", "ceti"])
def test_one_eigenbasis_serves_the_whole_run(name, monkeypatch):
    calls = []
    plain = operators._eigh
    monkeypatch.setattr(operators, "_eigh", lambda K: calls.append(1) or plain(K))
    fused = CPU.kernels.stumpff_eigh_apply  # small systems have theirs from here
    counted = lambda *a: calls.append(1) or fused(*a)  # noqa: E731
    monkeypatch.setattr(CPU.kernels, "stumpff_eigh_apply", counted)
    system, mesh, v0 = spinning_block()
    run = stiffly.simulate(
        system, mesh.positions, v0, integrator=name, step=0.01, duration=0.2, every=0.07
    )
    assert run.stats["steps"] >= 20
    assert len(calls) == 1


# ------------------------------------------------------------------ bad configuration


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: Gautschi(filter="deuflhart"), "did you mean deuflhard"),
        (lambda: Neti(filter="deuflhart"), "did you mean deuflhard"),
        (lambda: Neti(filter="deuflhart", form="two-step"), "did you mean deuflhard"),
        (lambda: Gautschi(form="three-step"), "one-step"),
        (lambda: Neti(form="three-step"), "one-step"),
        (lambda: Neti(linearisation="turned"), "corotated"),
        (lambda: Gautschi(filter="gautschi"), "two-step"),
        (lambda: Gautschi(filter="hochbruck-lubich"), "two-step"),
        (lambda: Neti(filter="gautschi"), "two-step"),
        (lambda: Neti(filter="deuflhard", form="two-step"), "nothing to act on"),
        (lambda: Gautschi(reference="hanging"), "'loaded' or 'rest'"),
        (lambda: Gautschi(reference=[1.0]), "'loaded' or 'rest'"),
        (lambda: Gautschi(form=np.ones(3)), "one-step"),
        (lambda: Gautschi(tol=None), "tolerance must be one number"),
        (lambda: Gautschi(method=["auto"]), "evaluator must be a name"),
        (lambda: Neti(linearisation=np.ones(3)), "linearisation must be a name"),
        (lambda: Neti(argument_filter=np.ones(3)), "argument_filter must be True or False"),
        (lambda: Neti(argument_filter=True), "neti:two-step:argument-filter"),
        (lambda: Neti("gautschi", "two-step", argument_filter=True), "phi other than 1"),
    ],
)
def test_impossible_configurations_are_named(wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        wrong()
    assert "\n" not in str(caught.value)


def test_corotation_needs_a_rest_shape():
    with pytest.raises(InputError, match="rest shape"):
        Neti(linearisation="corotated").start(*pendulums())
