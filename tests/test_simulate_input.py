"""What simulate refuses before any work, and what it counts while it works."""

import numpy as np
import pytest

import stiffly
from stiffly import Gravity, Rayleigh, SecondOrder, Springs, System
from stiffly.errors import InputError, StiffWarning
from stiffly.integrators import ExponentialRosenbrock, Gautschi, Neti
from stiffly.meshes import lattice

NAN = float("nan")
GOOD = {"x0": [1.0, 0.5], "integrator": "exprb42", "step": 0.1, "duration": 1.0}
WRONG = {
    "step zero": {"step": 0.0},
    "step negative": {"step": -0.1},
    "step NaN": {"step": NAN},
    "step infinite": {"step": np.inf},
    "step a word": {"step": "fast"},
    "step missing": {"step": None},
    "duration zero": {"duration": 0.0},
    "duration negative": {"duration": -1.0},
    "duration NaN": {"duration": NAN},
    "duration missing": {"duration": None},
    "every zero": {"every": 0.0},
    "every negative": {"every": -0.1},
    "every NaN": {"every": NAN},
    "x0 NaN": {"x0": [1.0, NAN]},
    "x0 infinite": {"x0": [1.0, np.inf]},
    "x0 too short": {"x0": [1.0]},
    "x0 a column": {"x0": [[1.0], [0.5]]},
    "x0 words": {"x0": ["a", "b"]},
    "x0 missing": {"x0": None},
    "v0 NaN": {"v0": [NAN, 0.0]},
    "v0 too long": {"v0": [1.0, 2.0, 3.0]},
    "integrator unknown": {"integrator": "exprb43"},
    "integrator a number": {"integrator": 42},
    "rtol zero": {"rtol": 0.0},
    "rtol negative": {"rtol": -1e-3},
    "rtol NaN": {"rtol": NAN},
    "rtol a word": {"rtol": "tight"},
    "atol negative": {"rtol": 1e-3, "atol": -1.0},
    "atol without rtol": {"atol": 1e-6},
    "atol with auto": {"integrator": "auto", "rtol": 1e-2, "atol": 1e-6},
    "rtol with verlet": {"integrator": "verlet", "rtol": 1e-3},
    "rtol with exprb2": {"integrator": "exprb2", "rtol": 1e-3},
    "rtol with eti": {"integrator": "eti", "rtol": 1e-3},
}


class Counter:
    """A force that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return -9.0 * np.sin(x)


def pendulums(force, **options):
    return SecondOrder(
        size=2,
        force=force,
        jacobian=lambda x: np.diag(-9.0 * np.cos(x)),
        potential=lambda x: float(np.sum(9.0 * (1.0 - np.cos(x)))),
        **options,
    )


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_bad_input_is_named_in_one_line_before_any_force_is_evaluated(wrong):
    force = Counter()
    options = GOOD | wrong
    with pytest.raises(InputError) as caught:
        stiffly.simulate(pendulums(force), options.pop("x0"), options.pop("v0", None), **options)
    assert "\n" not in str(caught.value)
    assert force.calls == 0


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"integrator": "exprb43"}, "did you mean pexprb43"),
        ({"integrator": "verlett"}, "did you mean verlet"),
        ({"integrator": "verlet", "rtol": 1e-3}, "verlet has no error estimate.*give step="),
        ({"step": None}, r"step is missing: give step=0\.01"),
        ({"step": -0.1}, "step must be positive and finite, got -0.1"),
        ({"x0": [1.0, NAN]}, r"x0\[1\] is nan"),
        ({"x0": [1.0]}, r"x0 has shape \(1,\), but \(2,\) is needed"),
        ({"rtol": 0.0}, "rtol must be a positive number"),
    ],
)
def test_messages_say_what_to_do(wrong, words):
    options = GOOD | wrong
    with pytest.raises(InputError, match=words):
        stiffly.simulate(pendulums(Counter()), options.pop("x0"), **options)


@pytest.mark.parametrize("kind", [ExponentialRosenbrock, Gautschi, Neti])
@pytest.mark.parametrize("wrong", [{"tol": -1.0}, {"tol": NAN}, {"method": "lancos"}])
def test_wrong_configuration_is_named_at_once(kind, wrong):
    with pytest.raises(InputError) as caught:
        kind(**wrong)
    assert "\n" not in str(caught.value)


def test_something_that_is_no_system_is_named():
    with pytest.raises(InputError):
        stiffly.simulate(None, [1.0], integrator="rk4", step=0.1, duration=1.0)


def test_a_velocity_of_a_fixed_particle_is_named():
    x0 = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    system = System([1.0, 1.0], [Springs([(0, 1)], 10.0), Gravity()], fixed=[0], rest=x0)
    with pytest.raises(InputError, match="particle 0, which is fixed"):
        stiffly.simulate(system, x0, np.ones((2, 3)), integrator="rk4", step=0.1, duration=1.0)


# ------------------------------------------------------------------ stats


def count_forces(system):
    """Calls of system.force from here on, in a list of one number."""
    count, plain = [0], system.force

    def force(state):
        count[0] += 1
        return plain(state)

    system.force = force
    return count


@pytest.mark.parametrize(
    "name, per_step, extra",
    [
        ("rk4", 4, 1),
        ("verlet", 1, 1),
        ("symplectic-euler", 1, 0),
        ("exprb2", 1, 0),
        ("exprb42", 2, 0),
        ("pexprb43", 3, 0),
        ("eti", 1, 1),
        ("neti", 2, 0),
        ("vimex", 1, 1),
    ],
)
@pytest.mark.parametrize("damping", [None, Rayleigh(0.1, 0.0)], ids=["free", "damped"])
def test_force_evaluations_are_the_calls_made(name, per_step, extra, damping):
    system = pendulums(Counter(), damping=damping)
    count = count_forces(system)
    run = stiffly.simulate(system, [1.0, 0.5], integrator=name, step=0.01, duration=1.0, every=0.3)
    assert run.stats["steps"] == 100
    # an explicit method's limit is looked for first: here, and along each of two coordinates
    own = vars(type(stiffly.integrator(name)))
    before = 3 if "splitting" in own or "tableau" in own else 0
    assert run.stats["force_evaluations"] == count[0] - before == 100 * per_step + extra


@pytest.mark.parametrize("name", ["bdf1", "bdf2", "midpoint", "newmark"])
def test_implicit_methods_count_their_forces(name):
    system = pendulums(Counter())
    count = count_forces(system)
    run = stiffly.simulate(system, [1.0, 0.5], integrator=name, step=0.05, duration=1.0)
    assert run.stats["force_evaluations"] == count[0] > 20
    assert run.stats["newton_iterations"] >= 20
    assert run.stats["linear_solves"] >= 20
    assert run.stats["factorizations"] >= 1


@pytest.mark.parametrize("first", [None, 1e9], ids=["usual", "first step overflows"])
def test_rejected_steps_are_counted_with_their_work(first):
    system = pendulums(Counter())
    count = count_forces(system)
    run = stiffly.simulate(
        system, [1.0, 0.5], [1e150, 0.0] if first else None, integrator="pexprb43", rtol=1e-3,
        step=first, duration=1.0 if first is None else 1e-148,
    )  # fmt: skip
    assert run.stats["force_evaluations"] == count[0]
    assert run.stats["tangents"] * 3 == count[0]


def test_operator_products_are_the_products_made():
    """exprb42 with Lanczos on a matrix that is known by its products only."""
    from scipy.sparse.linalg import LinearOperator

    made = [0]

    def product(b):
        made[0] += 1
        return np.arange(1.0, 101.0) * b

    A = LinearOperator((100, 100), matvec=product, dtype=np.float64)
    system = SecondOrder(stiffness=A, force=lambda x: -np.sin(x), jacobian=lambda x: LinearOperator(
        (100, 100), matvec=lambda b: -np.cos(x) * b, dtype=np.float64), potential=lambda x: float(
            np.sum(1 - np.cos(x))))  # fmt: skip
    made[0] = 0
    run = stiffly.simulate(
        system, np.linspace(0.0, 1.0, 100), integrator=ExponentialRosenbrock((3 / 4,)), step=0.1,
        duration=0.5, every=0.5,
    )  # fmt: skip
    # besides: A x in every force, in the energy of every frame and after every step in between, and
    # in two that, beside the first frame's, tell at the start what rounding can store
    besides = run.stats["force_evaluations"] + 1 + run.stats["steps"] + 2
    assert run.stats["operator_products"] == made[0] - besides
    assert "lanczos" in run.stats["matrix_functions"]


def test_summary_holds_what_a_report_needs():
    run = stiffly.simulate(pendulums(Counter()), [1.0, 0.5], step=0.1, duration=1.0)
    summary = run.summary()
    assert summary["integrator"] == "exprb42"
    assert (summary["step"], summary["steps"], summary["duration"]) == (0.1, 10, 1.0)
    assert summary["wall_seconds"] > 0.0
    assert {"initial", "final", "added", "dissipated", "numerical", "max_abs_drift"} <= set(
        summary["energy"]
    )
    assert {"force_evaluations", "operator_products", "factorizations"} <= set(summary["stats"])
    assert summary["energy"]["initial"] == pytest.approx(
        9 * (1 - np.cos(1.0)) + 9 * (1 - np.cos(0.5)), rel=1e-14
    )


# ------------------------------------------------------------------ doubts


def test_a_step_too_large_for_the_linearisation_is_warned_about():
    """Cloth held at two corners: at 5 ms the stiff directions turn too far within a step."""
    mesh = lattice(10, 10, 1, spacing=0.1)
    cloth = System(
        np.full(100, 0.01), [Springs(mesh.edges, 1e4), Gravity()], [0, 9], mesh.positions
    )
    with pytest.warns(StiffWarning, match=r"energy exchanged; try rtol=1e-3"):
        run = stiffly.simulate(
            cloth, mesh.positions, integrator="exprb42", step=0.005, duration=1.0
        )
    assert abs(run.energy.numerical).max() > 0.05 * run.energy.exchanged


def test_more_steps_than_anyone_waits_for():
    with pytest.raises(InputError, match="choose a larger one"):
        stiffly.simulate(pendulums(Counter()), [1.0, 0.5], step=1e-12, duration=1.0)


@pytest.mark.parametrize("parts", [Gravity(), ["gravity"]])
def test_what_is_no_list_of_parts_is_named(parts):
    with pytest.raises(InputError):
        System([1.0, 1.0], parts, rest=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("start", [{"v0": [1e200, 0.0]}, {"x0": [1e300, 0.0]}])
def test_a_start_beyond_all_energy_is_refused(start):
    options = GOOD | start
    with pytest.raises(InputError, match="not finite: check the size of x0 and v0"):
        stiffly.simulate(SecondOrder(stiffness=np.eye(2)), **options)
