"""What parts remember is in the state: forces are functions of it, and only settle changes it."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stiffly
from stiffly import Gravity, InputError, Springs, System, simulate
from stiffly.bodies import Rayleigh
from stiffly.collisions import Contact, Held, Plane, ProjectedContact, Sphere, keyframes
from stiffly.contracts import State, Step, Work
from stiffly.parts.attachments import Attachments

SOURCE = Path(stiffly.__file__).parent
EDGES = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]
X = np.array([[0, 0, 0.3], [1, 0, 0.3], [1, 1, 0.3], [0, 1, 0.3]], dtype=float)
RISING = keyframes([0.0, 1.0], [[0, 0, 0], [0, 0, 0.5]])


def everything():
    """Every kind of part that remembers."""
    parts = [
        Springs(EDGES[:3], 300.0, yield_strain=0.01),
        Springs(EDGES[3:], 100.0, yield_strain=0.02),
        Gravity(),
        Contact(Sphere((0, 0, -0.3), 0.3, motion=RISING), 500.0, friction=0.2),
        Held(Plane((0, 0, 0), (0, 0, 1)), 400.0, margin=0.02),
        ProjectedContact(Plane((0, 0, -0.05), (0, 0, 1))),
        Attachments([2], 50.0, motion=RISING),
    ]
    return System(np.ones(4), parts, rest=X, damping=Rayleigh(0.1, 0.001))


def states(system, state, count, method="verlet", h=0.01):
    """Of a run: after every step, settled."""
    method = stiffly.integrator(method)
    found, memory = [state], method.start(system, state)
    for _ in range(count):
        taken = method.step(system, found[-1], h, memory)
        found.append(system.settle(taken.state, h).state)
        memory = method.start(system, found[-1])
    return found


def looks(system, s):
    """All that can be asked of a state, as numbers."""
    later = s.moved(s.t + 0.01, s.x + 0.01 * s.v, s.v)
    numbers = [*system.energy(s).values(), *system.diagnostics(s).values()]
    settled = system.settle(later, 0.01)
    moved = [settled.added, settled.dissipated, settled.invented, float(settled.changed)]
    arrays = [
        system.force(s),
        system.tangent(s).stiffness.apply(s.x),
        system.mean_force(s, later),
        settled.state.x,
        settled.state.v,
        *(np.ravel(a) for a in settled.state.parts.values()),
    ]
    return np.concatenate([numbers, moved, *arrays])


def test_every_part_here_remembers_something_that_changes():
    system, start = everything().bind(X)
    end = states(system, start, 60)[-1]
    wanted = {
        "elastic/rest",
        "elastic 2/rest",
        "contact/t",
        "contact 2/holder",
        "attachment/points",
    }
    assert wanted | {"projection/touched"} <= set(start.parts) == set(end.parts)
    for name in wanted:
        assert not np.array_equal(start.parts[name], end.parts[name]), name


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(0, 61, 10)))
def test_answers_depend_on_the_state_alone(order):
    """Asked in any order, of a system that has just been bound or of one that has run, the answers
    are the same to the bit, and asking changes no state."""
    system, start = everything().bind(X)
    way = states(system, start, 60)
    kept = [{k: a.copy() for k, a in s.parts.items()} for s in way]
    fresh, _ = everything().bind(X)
    for k in order:
        np.testing.assert_array_equal(looks(system, way[k]), looks(fresh, way[k]))
    for s, before in zip(way, kept, strict=True):
        for name, array in before.items():
            np.testing.assert_array_equal(s.parts[name], array)


def test_a_run_goes_on_from_any_of_its_states():
    """From a state in the middle, with a system of one's own: the same end, to the bit."""
    system, start = everything().bind(X)
    way = states(system, start, 40)
    other, _ = everything().bind(X)
    for s, end in ((way[15], way[40]), (way[3], way[28])):
        again = states(other, s, 25)[-1]
        np.testing.assert_array_equal(again.x, end.x)
        np.testing.assert_array_equal(again.v, end.v)
        assert all(np.array_equal(again.parts[k], end.parts[k]) for k in end.parts)


def test_what_does_not_change_is_the_same_mapping():
    system, s = System(np.ones(4), [Springs(EDGES, 10.0, yield_strain=0.5)], rest=X).bind(X)
    assert system.settle(s, 0.1).state.parts is s.parts
    stretched = s.moved(0.1, 2.0 * s.x, s.v)
    settled = system.settle(stretched, 0.1)
    assert settled.state.parts is not s.parts and settled.dissipated > 0.0
    np.testing.assert_array_equal(system.at(s).parts[0][1].rest, s.parts["elastic/rest"])


class Forgetful:
    """A user's method that makes states of its own."""

    order, adaptive = 1, False

    def __init__(self, within):
        self.within = within

    def start(self, system, state):
        return None

    def step(self, system, state, h, memory):
        seen = State(state.t, state.x, state.v) if self.within else state
        v = state.v + h * system.acceleration(seen)
        return Step(State(state.t + h, state.x + h * v, v), None, Work(force_evaluations=1))


def test_a_method_that_forgets_what_parts_remember():
    """What it returns without them gets them back; asking for forces without them is refused."""
    system, options = everything(), {"step": 0.005, "duration": 0.4}
    run = simulate(system, X, integrator=Forgetful(within=False), **options)
    ours = simulate(system, X, integrator="symplectic-euler", **options)
    np.testing.assert_array_equal(run.positions, ours.positions)
    bound, start = system.bind(X)
    with pytest.raises(InputError, match=r"state\.moved"):
        bound.energy(State(0.0, start.x, start.v))
    with pytest.raises(InputError, match=r"state\.moved"):
        simulate(system, X, integrator=Forgetful(within=True), **options)


def test_our_methods_make_states_from_states():
    """Nothing in src makes a State of its own but systems, and the page for its recordings."""
    allowed = {"contracts.py", "system/system.py", "system/second_order.py", "system/settling.py"}
    allowed |= {f"system/{name}.py" for name in ("stretch", "ranks", "joined", "guests")}
    allowed.add("view/recent.py")  # a state of no body: the time of the last frame
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name in allowed:
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
        made = [c.lineno for c in calls if getattr(c.func, "id", "") == "State"]
        assert not made, f"{name}:{made[0]} makes a State: use state.moved(t, x, v)"
