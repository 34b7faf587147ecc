"""docs/extending.md runs as it is printed, and what an extension lacks is named with its line."""

import re
from pathlib import Path

import numpy as np
import pytest

import stiffly
from stiffly.contracts import ErrorEstimate, Power, State, Step, Work
from stiffly.errors import InputError
from stiffly.integrators.own import step_of
from stiffly.matfun import EVALUATORS

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), flags=re.M | re.S))
PROGRAMS = {
    title: "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S))
    for title, text in SECTIONS.items()
}
SPRING = stiffly.SecondOrder(stiffness=[[4.0]])


@pytest.fixture
def evaluators():
    """The table as it was."""
    before = dict(EVALUATORS)
    yield
    EVALUATORS.clear()
    EVALUATORS.update(before)


@pytest.mark.parametrize("title", [title for title, code in PROGRAMS.items() if code])
def test_a_section_runs_as_printed(title, evaluators):
    assert "assert " in PROGRAMS[title]
    exec(compile(PROGRAMS[title], f"{PAGE.name}: {title}", "exec"), {"__name__": "__main__"})


def test_every_extension_has_its_section():
    wanted = {
        "A time integrator",
        "A time integrator that chooses its steps",
        "A part",
        "A matrix-function evaluator",
        "A backend",
        "A scene",
    }
    assert wanted <= {title for title, code in PROGRAMS.items() if code}


class Whole:
    """Explicit midpoint, with all that an integrator needs."""

    order, adaptive = 2, True

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        a = system.acceleration(state)
        middle = State(state.t + 0.5 * h, state.x + 0.5 * h * state.v, state.v + 0.5 * h * a)
        x, v = state.x + h * middle.v, state.v + h * system.acceleration(middle)
        error = self.estimate(x - state.x - h * state.v, v - state.v - h * a)
        return Step(State(state.t + h, x, v), None, Work(force_evaluations=2), error=error)

    def estimate(self, x, v):
        return ErrorEstimate(x, v)


def without(name):
    """The same class without one of its members."""
    members = {key: value for key, value in vars(Whole).items() if key not in ("__dict__", name)}
    return type("Lacking", (), members)()


@pytest.mark.parametrize(
    "name, line",
    [
        ("order", "order: int"),
        ("adaptive", "adaptive: bool"),
        ("start", "def start(self, system: System, state: State) -> Any"),
        ("step", "def step(self, system: System, state: State, h: float, memory: Any) -> Step"),
    ],
)
def test_an_integrator_that_lacks_something_is_told_the_line(name, line):
    for use in (
        lambda method: stiffly.simulate(SPRING, [1.0], integrator=method, step=0.1, duration=1.0),
        stiffly.integrators.Stabilised,
    ):
        with pytest.raises(InputError) as caught:
            use(without(name))
        said = str(caught.value)
        assert f"Lacking lacks {name}: add `{line}`, as stiffly.contracts.Integrator" in said
        assert "\n" not in said


def test_an_integrator_that_lacks_everything_and_what_is_none():
    class Empty:
        pass

    with pytest.raises(InputError, match="integrator Empty lacks order: add `order: int`"):
        stiffly.simulate(SPRING, [1.0], integrator=Empty(), step=0.1, duration=1.0)
    with pytest.raises(InputError, match="integrator 3 is neither a name nor an integrator"):
        stiffly.simulate(SPRING, [1.0], integrator=3, step=0.1, duration=1.0)


def test_a_class_in_place_of_an_object():
    with pytest.raises(InputError, match=r"Whole is a class: give an object, Whole\(\.\.\.\)"):
        stiffly.simulate(SPRING, [1.0], integrator=Whole, step=0.1, duration=1.0)


class InPlace:
    """Symplectic Euler, which writes into the arrays that it is given."""

    order, adaptive = 1, False

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        state.v[:] += h * system.acceleration(state)
        state.x[:] += h * state.v
        return Step(state.moved(state.t + h, state.x, state.v), None, Work(force_evaluations=1))


class Anew(InPlace):
    """The same method with arrays of its own."""

    def step(self, system, state, h, memory):
        v = state.v + h * system.acceleration(state)
        return Step(state.moved(state.t + h, state.x + h * v, v), None, Work(force_evaluations=1))


@pytest.mark.parametrize(
    "around",
    [
        lambda own: own,
        lambda own: stiffly.integrators.Stabilised(own, tolerance=1e-3),
        lambda own: stiffly.integrators.Stabilised("bdf1", inject=own, tolerance=1e-3),
        lambda own: stiffly.integrators.Stabilised("forward-euler", dissipate=own, tolerance=1e-3),
        lambda own: stiffly.integrators.Substeps(own, 3),
    ],
)
def test_a_step_may_write_into_the_state_that_it_is_given(around):
    scene = stiffly.Scene("pushed", duration=0.5, step=0.001)
    body = scene.add(stiffly.shapes.rope(5, length=1.0), stiffness=200.0, pins=[0])
    scene.force(body, lambda t, x, v: (0.0, 5.0 * np.sin(9.0 * t), 0.0) - 0.3 * v)
    runs = [scene.simulate(integrator=around(own)) for own in (InPlace(), Anew())]
    a, b = (run.energy for run in runs)
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)
    np.testing.assert_array_equal(a.added, b.added)
    np.testing.assert_array_equal(a.numerical, b.numerical)
    assert abs(a.added).max() > 0.1  # there was work to be booked


def test_an_adaptive_method_whose_steps_carry_no_error():
    class Silent(Whole):
        def estimate(self, x, v):
            return None

    run = stiffly.simulate(SPRING, [1.0], integrator=Silent(), step=0.001, duration=1.0)
    assert abs(run.positions[-1, 0] - np.cos(2.0)) < 1e-5
    with pytest.raises(InputError, match="Silent is adaptive, but its steps carry no error"):
        stiffly.simulate(SPRING, [1.0], integrator=Silent(), rtol=1e-3, duration=1.0)


@pytest.mark.parametrize(
    "given, words",
    [
        (lambda s, h: (s.x, s.v), r"Odd.step returned tuple: return stiffly.contracts.Step\(state"),
        (lambda s, h: None, "Odd.step returned NoneType: return stiffly.contracts.Step"),
        (
            lambda s, h: Step(s.moved(s.t + h, s.x[:0], s.v), None, Work()),
            r"Odd.step returned x of shape \(0,\), but \(1,\) went in: keep it",
        ),
        (
            lambda s, h: Step(s.moved(s.t + h, s.x, 0.0), None, Work()),
            r"Odd.step returned v of shape \(\), but \(1,\) went in",
        ),
        (lambda s, h: Step((s.t + h, s.x, s.v), None, Work()), "a Step whose state is tuple"),
        (lambda s, h: Step(s.moved(s.t + h, s.x, s.v), None, 2), "whose work is int: count it, "),
        (
            lambda s, h: Step(s.moved(s.t + h, s.x, s.v), None, Work(), exchanged=0.1),
            r"whose exchanged is float: give stiffly.contracts.Power\(added, dissipated\), in J",
        ),
        (
            lambda s, h: Step(s.moved(s.t, s.x, s.v), None, Work()),
            "a state 0 s after its start, at",
        ),
        (
            lambda s, h: Step(s.moved(h * 2, s.x, s.v), None, Work()),
            r"return state.moved\(state.t ",
        ),
    ],
)
@pytest.mark.parametrize("how", [{"step": 0.1}, {"rtol": 1e-3}], ids=["fixed", "adaptive"])
def test_a_step_that_is_none(given, words, how):
    class Odd(Whole):
        def step(self, system, state, h, memory):
            return given(state, h)

    with pytest.raises(InputError, match=words):
        stiffly.simulate(SPRING, [1.0], integrator=Odd(), duration=1.0, **how)


def test_error_order_and_controlled_are_used():
    seen = []

    class Careful(Whole):
        error_order = 1

        def controlled(self, rtol):
            seen.append(rtol)
            return self

    stiffly.simulate(SPRING, [1.0], integrator=Careful(), step=0.01, duration=1.0)
    assert seen == []
    careful = stiffly.simulate(SPRING, [1.0], integrator=Careful(), rtol=1e-3, duration=1.0)
    plain = stiffly.simulate(SPRING, [1.0], integrator=Whole(), rtol=1e-3, duration=1.0)
    assert seen == [1e-3]
    assert np.array_equal(careful.positions, plain.positions)  # order - 1 is the default

    class Other(Whole):
        error_order = 3

    other = stiffly.simulate(SPRING, [1.0], integrator=Other(), rtol=1e-3, duration=1.0)
    assert other.stats["steps"] != plain.stats["steps"]


def test_substeps_that_are_added_up_late_in_a_run_end_where_they_should():
    class Many(Whole):
        def step(self, system, state, h, memory):
            t = state.t
            for _ in range(50):
                t += h / 50
            return Step(state.moved(t, state.x, state.v), None, Work())

    for start, h in ((100.0, 1e-4), (20.0, 1e-5)):
        state = State(start, np.zeros(1), np.zeros(1))
        assert step_of(Many())(SPRING, state, h, None).state.t == pytest.approx(start + h)


class Dragged(InPlace):
    """It damps by itself, which the system knows nothing of, and says what it took."""

    rate = 0.5

    def step(self, system, state, h, memory):
        v = state.v + h * system.acceleration(state)
        before, v = v, v * np.exp(-self.rate * h)
        lost = 0.5 * float(np.vdot(before, before) - np.vdot(v, v))  # its mass is 1
        moved = state.moved(state.t + h, state.x + h * v, v)
        return Step(moved, None, Work(force_evaluations=1), exchanged=Power(0.0, lost))


@pytest.mark.parametrize(
    "around", [lambda own: own, lambda own: stiffly.integrators.Substeps(own, 3)]
)
def test_damping_of_a_method_of_ones_own_is_booked(around):
    ends = {"step": 1e-3, "duration": 4.0}
    plain = stiffly.simulate(SPRING, [1.0], integrator=InPlace(), **ends).energy
    told = stiffly.simulate(SPRING, [1.0], integrator=around(Dragged()), **ends).energy
    # x'' + rate x' + 4 x = 0, and energy falls as exp(-rate t): an eighth of it is left
    assert told.dissipated[-1] == pytest.approx(2.0 * (1.0 - np.exp(-2.0)), rel=0.02)
    assert plain.dissipated[-1] == 0.0
    assert abs(told.numerical).max() < 2.0 * abs(plain.numerical).max()


@pytest.mark.parametrize(
    "members, line",
    [
        ({"step": lambda self, state, h: None}, "step takes other arguments: write `def step(self"),
        ({"start": lambda self: None}, "start takes other arguments: write `def start(self, sys"),
    ],
)
def test_a_method_with_other_arguments_is_told_the_line(members, line):
    own = type(
        "Other", (), {**{k: v for k, v in vars(Whole).items() if k != "__dict__"}, **members}
    )
    with pytest.raises(InputError) as caught:
        stiffly.simulate(SPRING, [1.0], integrator=own(), step=0.1, duration=1.0)
    assert f"integrator Other: {line}" in str(caught.value)


def settled(self, t, h, x, v):
    """As it has to be called."""


class Nothing:
    name = "nothing"

    def couples(self, particles):
        return np.empty((0, 2), dtype=np.int64)

    def prepare(self, particles):
        return object()


@pytest.mark.parametrize(
    "members, words",
    [
        ({"couples": None}, "part Lacking lacks couples: add `def couples(self, particles: "),
        ({"prepare": None}, "part Lacking lacks prepare: add `def prepare(self, particles: "),
        ({"name": None}, "part Lacking lacks name: add `name: str`"),
        ({}, "Lacking made object, which has none of add_gradient, add_force, settle"),
    ],
)
def test_a_part_that_lacks_something_is_told_the_line(members, words):
    own = {k: v for k, v in vars(Nothing).items() if k != "__dict__" and k not in members}
    with pytest.raises(InputError) as caught:
        stiffly.System(mass=[1.0, 1.0], parts=[type("Lacking", (), own)()])
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "made, line",
    [
        ({"add_gradient": 0}, "def energy(self, x: Array) -> float"),
        ({"add_gradient": 0, "energy": 0, "add_product": 0}, "def triplets(self, x: Array)"),
        ({"add_force": 0}, "time_dependent: bool"),
        ({"settle": settled, "memory": 0}, "def having(self, memory: Mapping[str, Array]) -> Any"),
        ({"settle": settled, "having": 0}, "def memory(self) -> Mapping[str, Array]"),
    ],
)
def test_what_prepare_makes_is_checked_too(made, line):
    class Part(Nothing):
        def prepare(self, particles):
            return type("Made", (), made)()

    with pytest.raises(InputError) as caught:
        stiffly.System(mass=[1.0, 1.0], parts=[Part()])
    assert "prepared part nothing: Made lacks" in str(caught.value) and line in str(caught.value)
