"""Many runs in one call: each is the run that it would be alone, whatever becomes of the others."""

import re
from pathlib import Path

import numpy as np
import pytest
import test_stretch as cases
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly import Gravity, Rayleigh, Springs, System
from stiffly.backends import gpu as door
from stiffly.bodies import Drag, Force, SecondOrder
from stiffly.collisions import Contact, Plane
from stiffly.errors import Advice, Diverged, InputError, StiffWarning
from stiffly.run import together

STEPS = {"integrator": "verlet", "step": 2e-3, "duration": 0.06, "every": 0.01}
KINDS = (
    *("springs", "cubic", "both", "faces", "damped", "held", "floor", "inside"),
    *("wind", "airy", "solid", "materials"),
)


def pendulum(stiffness=1e3, length=1.0, alpha=0.0, g=9.81, parts=()):
    """A ball on a spring, held aside; and where it begins."""
    x = np.array([[0.0, 0.0, 0.0], [length, 0.0, 0.0]])
    own = [Springs([[0, 1]], stiffness, rest=length), Gravity((0.0, 0.0, -g)), *parts]
    return System([1.0, 2.0], own, fixed=[0], damping=Rayleigh(alpha=alpha)), x


def of_kind(kind, seed):
    """One of the bodies of test_stretch.py, by the seed; x0 and v0."""
    rng = np.random.default_rng(seed)
    rest, edges, x0 = cases.body(rng)
    parts, options = cases.parts_of(kind, rest, edges, 1)
    system = System(rng.uniform(0.5, 2.0, len(rest)), parts, rest=rest, **options)
    v0 = rng.standard_normal(rest.shape)
    x0[system.fixed], v0[system.fixed] = rest[system.fixed], 0.0
    return system, x0, v0


def together_with(given, **options):
    return stiffly.simulate_many(*map(list, zip(*given, strict=True)), **options)


def same_run(found, alone):
    """To rounding: frames, ledger, notes, counts."""
    assert np.array_equal(found.times, alone.times)
    size = np.abs(alone.velocities).max()
    cases.agree(found.positions, alone.positions, 10.0 * size)
    cases.agree(found.velocities, alone.velocities, 1e3 * size)
    energy = 100.0 * max(1.0, alone.energy.kinetic.max())
    assert list(found.energy.parts) == list(alone.energy.parts)
    for name, line in alone.energy.parts.items():
        cases.agree(found.energy.parts[name], line, energy)
    for line in ("added", "dissipated", "invented"):
        cases.agree(getattr(found.energy, line), getattr(alone.energy, line), energy)
    for own, other in ((found.diagnostics, alone.diagnostics), (found.fields, alone.fields)):
        assert own.keys() == other.keys()
        for name, values in other.items():
            cases.agree(own[name], values, 1e4)
    loops = {"loop": ""}
    assert found.stats | loops == alone.stats | loops
    assert np.array_equal(found.mesh.edges, alone.mesh.edges)


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_the_run_that_it_is_alone(kind):
    given = [of_kind(kind, seed) for seed in range(3)]
    for run, own in zip(together_with(given, **STEPS), given, strict=True):
        assert run.stats["loop"] == "compiled stretches: 3 runs one after the other"
        same_run(run, stiffly.simulate(*own, **STEPS))


def test_bodies_of_different_kinds_go_together():
    """Each with parts, particles, gravity, damping and names of its own."""
    kinds = ("springs", "cubic", "airy", "materials", "held", "floor", "both")
    given = [of_kind(kind, 7) for kind in kinds]
    for run, own in zip(together_with(given, **STEPS), given, strict=True):
        same_run(run, stiffly.simulate(*own, **STEPS))


@pytest.mark.parametrize("integrator", ["symplectic-euler", "rk4", "rkn6", "forward-euler"])
def test_methods(integrator):
    given = [of_kind(kind, 3) for kind in ("springs", "cubic", "both")]
    options = {**STEPS, "integrator": integrator, "step": 2e-4}
    for run, own in zip(together_with(given, **options), given, strict=True):
        same_run(run, stiffly.simulate(*own, **options))


def test_gravity_and_damping_of_each_are_its_own():
    """Against the formulas: a ball that falls without and with air."""
    rates, g = (0.0, 0.5, 2.0), (1.0, 5.0, 9.0)
    systems = [
        System([1.0], [Gravity((0.0, 0.0, -own))], damping=Rayleigh(alpha=rate))
        for rate, own in zip(rates, g, strict=True)
    ]
    options = {"integrator": "rk4", "step": 1e-2, "duration": 1.0}
    runs = stiffly.simulate_many(systems, [np.zeros((1, 3))] * 3, **options)
    for run, rate, own in zip(runs, rates, g, strict=True):
        t = run.times
        fallen = 0.5 * own * t**2
        if rate:
            fallen = own / rate * (t - (1.0 - np.exp(-rate * t)) / rate)
        np.testing.assert_allclose(run.positions[:, 0, 2], -fallen, atol=1e-7)
        assert abs(run.energy.numerical[-1]) < 1e-7 * own


def test_one_system_from_many_places():
    system, x = pendulum()
    places = [x @ np.diag([1.0 + 0.01 * k, 1.0, 1.0]) for k in range(70)]
    runs = stiffly.simulate_many([system] * 70, places, **STEPS)
    for k in (0, 33, 69):
        same_run(runs[k], stiffly.simulate(system, places[k], **STEPS))


def test_scenes_bring_what_they_know():
    scene = stiffly.Scene("fall", duration=0.1, step=1e-3)
    scene.add(
        stiffly.shapes.rope(8, length=0.5, start=(0, 0, 1)), stiffness=2e3, mass=0.1, pins=[0]
    )
    runs = stiffly.simulate_many([scene, scene], integrator="verlet")
    alone = stiffly.simulate(scene, integrator="verlet")
    for run in runs:
        same_run(run, alone)
    assert runs[0].name == "fall"


# ------------------------------------------------------------------ what goes wrong


LONG = {"integrator": "verlet", "step": 0.01, "duration": 2.0, "every": 0.1}


def alone_and_together(stiffness, **options):
    """Runs of which some diverge, by themselves (run, words of the failure) and together."""
    given = [pendulum(stiffness=k, alpha=0.1) for k in stiffness]
    options = {**LONG, **options}
    alone = []
    with pytest.warns(Advice):
        for own in given:
            try:
                alone.append((stiffly.simulate(*own, **options), None))
            except Diverged as failure:
                alone.append((failure.run, str(failure)))
        return alone, given, options


@pytest.mark.parametrize("every", [0.1, 2.0])
def test_a_run_that_diverges_ends_alone(every):
    """As it does by itself, at the same frame and with the same words, which frames do not
    decide; the others are what they would be."""
    alone, given, options = alone_and_together([1e3, 1e5, 4e2, 3e7, 1e3], every=every)
    assert [words is None for _, words in alone] == [True, False, True, False, True]
    with pytest.warns((StiffWarning, Advice)) as told:
        found = together_with(given, **options)
    told = [str(one.message) for one in told]
    assert any("2 of 5 runs ended early (runs 1, 3)" in line for line in told)
    for run, (wanted, words) in zip(found, alone, strict=True):
        assert run.stats.get("failure") == words
        assert np.array_equal(run.times, wanted.times)
        if words is None:
            same_run(run, wanted)


def test_forces_that_are_no_numbers_end_one_run_alone():
    rest, edges, _ = cases.body(np.random.default_rng(0))
    sound = System(1.0, [Springs(edges, 400.0)], rest=rest)
    wild = System(1.0, [Springs(edges, 1e300)], rest=rest)
    x = rest + 0.01
    x[0] += 0.1
    with pytest.warns((StiffWarning, Advice)):
        good, bad, other = stiffly.simulate_many([sound, wild, sound], [x] * 3, **STEPS)
    assert "diverged" in bad.stats["failure"] and len(bad.times) < len(good.times)
    for run in (good, other):
        same_run(run, stiffly.simulate(sound, x, **STEPS))


def test_who_is_not_judged_would_not_be_found_guilty(monkeypatch):
    """Runs that nothing is suspected of, judged all the same."""
    alone, given, options = alone_and_together(np.geomspace(1e2, 2e5, 24))
    with pytest.warns((StiffWarning, Advice)):
        found = together_with(given, **options)
    everybody = together.Ledgers._sift

    def suspicious(self, look):
        everybody(self, look)
        self.suspect[:] = True

    monkeypatch.setattr(together.Ledgers, "_sift", suspicious)
    with pytest.warns((StiffWarning, Advice)):
        again = together_with(given, **options)
    words = [words for _, words in alone]
    assert 0 < words.count(None) < len(words)
    for runs in (found, again):
        assert [run.stats.get("failure") for run in runs] == words


def test_a_bad_energy_error_is_told_of_its_runs():
    given = [(system, 1.02 * x) for system, x in map(pendulum, (1e3, 1e4, 1e3))]
    options = {"integrator": "forward-euler", "step": 2e-4, "duration": 0.3, "every": 0.02}
    with pytest.warns(StiffWarning, match=r"numerical error up to .* 7% of the energy exchanged"):
        stiffly.simulate(*given[1], **options)
    with pytest.warns(StiffWarning, match=r"up to 7% .* in 1 of 3 runs \(run 1\); try"):
        together_with(given, **options)


GOOD, PLACE = pendulum()
YIELDING = System([1.0, 1.0], [Springs([[0, 1]], 1.0, rest=1.0, yield_strain=0.1)])
CROWD = [pendulum(parts=[Force([1], lambda t, k=k: (k, 0, 0))])[0] for k in range(40)]
FLOORS = [pendulum(parts=[Contact(Plane((0, 0, -k), (0, 0, 1)), 1e3)])[0] for k in range(40)]
SIMPLE = SecondOrder(mass=[1.0], force=lambda x: -x)


@pytest.mark.parametrize(
    ("systems", "options", "said"),
    [
        ([], {}, "nothing to simulate: give a list"),
        (GOOD, {}, r"must be a list, not System: write simulate_many\(\["),
        ([GOOD] * 2, {"x0": [PLACE]}, "x0 has 1 entries for 2 systems: give a list"),
        ([GOOD] * 2, {"x0": 3.0}, "x0 must be a list, one for each system, not float"),
        ([GOOD] * 2, {"x0": None}, "run 0: x0 is missing"),
        ([GOOD] * 2, {"step": [1e-3, 1e-3]}, "run 0: step must be one number, got 'list'"),
        ([GOOD] * 2, {"v0": [None]}, "v0 has 1 entries"),
        ([GOOD] * 2, {"x0": [PLACE, PLACE[:1]]}, "run 1: x0 has shape"),
        ([GOOD, 3], {}, "run 1: int cannot be stepped with others"),
        ([GOOD, SIMPLE], {}, "run 1: SecondOrder cannot be stepped with others"),
        ([GOOD, YIELDING], {}, "run 1: springs that yield .* simulate it by itself"),
        (
            [GOOD, System([1.0], [Gravity()], damping=Rayleigh(beta=1e-3), rest=[[0.0] * 3])],
            {},
            "run 1: Rayleigh damping with beta",
        ),
        ([GOOD] * 2, {"integrator": "exprb42"}, "exprb42 has no loop .* use verlet"),
        ([GOOD] * 2, {"integrator": "auto"}, "auto has no loop"),
        ([GOOD] * 2, {"integrator": "verle"}, "verlet"),
        ([GOOD] * 2, {"step": None}, "run 0: step is missing"),
        ([GOOD] * 2, {"step": -1.0}, "run 0: step must be positive"),
        ([GOOD] * 2, {"duration": None}, "run 0: duration is missing"),
        ([GOOD] * 2, {"device": "gpx"}, "did you mean gpu"),
        ([GOOD] * 2, {"progress": 3}, "progress must be a function"),
        (CROWD, {}, "40 different forces of time.*32 can be joined"),
        (FLOORS, {}, "40 different forces of time.*32 can be joined"),
        ([pendulum(alpha=1.0)[0]] * 2, {"integrator": "rkn6"}, "velocit"),
    ],
)
def test_bad_input_is_one_line(systems, options, said):
    count = len(systems) if isinstance(systems, list) else 1
    with pytest.raises(InputError, match=said) as refused:
        stiffly.simulate_many(systems, **{"x0": [PLACE] * count, **STEPS, **options})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "values"), [("step", (1e-3, 2e-3)), ("duration", (0.1, 0.2)), ("every", (0.01, 0.02))]
)
def test_scenes_that_differ_in_their_steps_are_refused(name, values):
    made = []
    for value in values:
        scene = stiffly.Scene("s", **{"duration": 0.1, "step": 1e-3, "every": 0.01, name: value})
        scene.add(stiffly.shapes.rope(4, length=0.5), stiffness=2e3, mass=0.1, pins=[0])
        made.append(scene)
    with pytest.raises(InputError, match=f"run 1 has the {name} {values[1]}, run 0 {values[0]}"):
        stiffly.simulate_many(made, integrator="verlet")
    given = {name: values[0]}
    assert len(stiffly.simulate_many(made, integrator="verlet", **given)) == 2


def test_methods_that_differ_are_refused():
    made = []
    for integrator in ("verlet", "rk4"):
        scene = stiffly.Scene("s", duration=0.1, step=1e-3, integrator=integrator)
        scene.add(stiffly.shapes.rope(4, length=0.5), stiffness=2e3, mass=0.1, pins=[0])
        made.append(scene)
    with pytest.raises(InputError, match=r"run 1 has the integrator RungeKutta4.*run 0 Verlet"):
        stiffly.simulate_many(made)


def test_forces_that_runs_share_are_joined():
    """By the same function, or the same vector."""

    def push(t):
        return (np.sin(9.0 * t), 0.0, 0.0)

    given = [
        pendulum(stiffness=500.0 + k, parts=[Force([1], push), Drag(0.1 * k), Drag(0.1, power=2)])
        for k in range(40)
    ]
    runs = together_with(given, **STEPS)
    for k in (0, 17, 39):
        same_run(runs[k], stiffly.simulate(*given[k], **STEPS))


# ------------------------------------------------------------------ on a card


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
@pytest.mark.parametrize("kind", KINDS)
def test_a_card_takes_the_same_door(kind, tmp_path_factory, monkeypatch):
    card = HostBackend(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(door, "gpu", lambda number: card)
    given = [of_kind(kind, seed) for seed in range(3)]
    given += [(*pendulum(alpha=0.5, g=3.0), None), (*pendulum(alpha=0.1), None)]
    here, there = (together_with(given, device=device, **STEPS) for device in ("cpu", "gpu"))
    for run, wanted in zip(there, here, strict=True):
        same_run(run, wanted)
        assert run.stats["loop"] == "compiled stretches: one call"


# ------------------------------------------------------------------ the guide


def test_the_guide_is_as_it_says():
    page = (Path(__file__).parents[1] / "docs" / "many.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 1
    names = {}
    exec(blocks[0], names)
    assert len(names["runs"]) == 300
    # a swing of small angle: the longer the rope, the slower
    slow, fast = np.argmax(names["lengths"]), np.argmin(names["lengths"])
    assert names["periods"][slow] > names["periods"][fast]
