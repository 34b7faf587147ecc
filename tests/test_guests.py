"""Parts in NumPy beside a card: the steps are those of the host, and what they cost is said."""

import warnings

import numpy as np
import pytest
import test_stretch as cases
from cuda_checks import same_hundred_steps
from cuda_shim import COMPILER, HostBackend
from guest_checks import DAMPED, KINDS, WITH, Whirl, bound, own_potential, same_beside

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.bodies import Potential
from stiffly.errors import Diverged, InputError, StiffWarning
from stiffly.integrators.explicit import Verlet
from stiffly.integrators.rkn86 import Nystrom86
from stiffly.integrators.runge_kutta import RungeKutta4
from stiffly.kernels.cuda import stretch
from stiffly.kernels.materials import load
from stiffly.kernels.materials.material import Material

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here"),
    pytest.mark.filterwarnings("ignore:no kernel on a card:stiffly.StiffWarning"),
]


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def chosen(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)


@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("guests", WITH)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_with_guests_are_those_of_the_host(kind, guests, method, card):
    same_beside(kind, guests, method, card)


@pytest.mark.parametrize("guests", WITH)
@pytest.mark.parametrize("kind", DAMPED)
def test_bodies_are_damped_beside_guests(kind, guests, card):
    """Velocities are others after it, and so is the power of loads as the next step begins."""
    same_beside(kind, guests, Verlet(), card, damped=True)


def test_more_steps_than_kernels_number_at_once(card, monkeypatch):
    monkeypatch.setattr(stretch, "UNIT", 4)
    for method in (Verlet(), RungeKutta4()):
        same_beside("blown", "both", method, card)


def test_the_cases_do_what_they_are_for():
    for kind in ("springs", "turned", "floor"):
        plain = cases.one_by_one(*cases.bound(kind))
        for guests in WITH:
            stepper = cases.one_by_one(*bound(kind, guests))
            energy = 0.5 * float(stepper.system.mass.dot(stepper.state.v, stepper.state.v))
            assert np.abs(stepper.state.x - plain.state.x).max() > 1e-4
            if guests != "potential":
                assert stepper.ledger.dissipated_now > 1e-4 * energy
                assert abs(stepper.ledger.added_now) > 1e-4 * energy
            elif kind == "turned":  # the support works against the well, too
                assert abs(stepper.ledger.added_now - plain.ledger.added_now) > 1e-4 * energy


def rope(own, **options):
    scene = scenes.load("rope", small=True)
    system = scene.system
    parts = [*system.given.parts, *own]
    system = stiffly.System(system.given.mass, parts, fixed=system.fixed, rest=system.rest)
    chosen = {"integrator": "verlet", "step": 1e-5, "duration": 1e-3, "every": 2e-4, **options}
    return stiffly.simulate(system, scene.x0, **chosen)


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("integrator", ["verlet", "rk4", "rkn6", "symplectic-euler"])
def test_a_run_has_the_frames_and_the_ledger_of_the_host(integrator, chosen):
    host, card = (
        rope([own_potential()], integrator=integrator, device=device) for device in ("cpu", "gpu")
    )
    assert card.stats["loop"] == "compiled stretches: one call, well by the host"
    assert "PreparedPotential" in host.stats["loop"]
    near(card.positions, host.positions)
    assert card.energy.parts.keys() == host.energy.parts.keys()
    for name, line in host.energy.parts.items():
        near(card.energy.parts[name], line)
    for line in ("added", "dissipated"):
        most = max(host.energy.exchanged, *(np.abs(e).max() for e in host.energy.parts.values()))
        found, wanted = getattr(card.energy, line), getattr(host.energy, line)
        assert np.abs(found - wanted).max() <= 1e-9 * most


def test_loads_beside_a_method_of_high_order(chosen):
    """Its steps are taken one by one, since work is summed within each of them."""
    runs = [rope([Whirl()], integrator="rk4", device=device) for device in ("cpu", "gpu")]
    near(runs[1].positions, runs[0].positions)
    system, state = bound("springs", "potential")
    steps = cases.one_by_one(system, state, Nystrom86())
    cases.agree(cases.at_once(system.on(door.gpu(0)), state, Nystrom86()).state.x, steps.state.x, 5)


def test_a_run_with_guests_goes_on_to_the_same_bits(chosen, tmp_path):
    out = {"device": "gpu", "dtype": "float64", "checkpoint": 0.0}
    whole = rope([own_potential(), Whirl()], **out, out=tmp_path / "whole")
    rope([own_potential(), Whirl()], **out, duration=4e-4, out=tmp_path / "half")
    scene = scenes.load("rope", small=True)
    given = scene.system.given
    parts = [*given.parts, own_potential(), Whirl()]
    system = stiffly.System(given.mass, parts, fixed=scene.system.fixed, rest=given.rest)
    with pytest.warns(StiffWarning, match="well, whirl"):
        done = stiffly.resume(tmp_path / "half", system, device="gpu", duration=1e-3)
    assert np.array_equal(done.positions[:], whole.positions[:])
    assert np.array_equal(done.energy.total, whole.energy.total)


def test_its_price_is_said_once_before_the_first_step(chosen):
    count = 3 * (len(scenes.load("rope", small=True).x0) - 1) * 8
    for own, here in (([own_potential()], count), ([own_potential(), Whirl()], 2 * count)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rope(own, device="gpu", duration=1e-4)
        (told,) = [str(w.message) for w in said if issubclass(w.category, StiffWarning)]
        assert f"no kernel on a card for {', '.join(p.name for p in own)}: the host" in told
        assert f"{here:,} bytes go to the host, {count:,} come back" in told


def test_auto_takes_the_cpu_and_says_why(chosen, caplog):
    run = rope([own_potential()], device="auto")
    assert "on the CPU, since well would be computed by the host beside a card" in caplog.text
    assert "step by step" in run.stats["loop"]


def test_a_material_of_ones_own_is_the_hosts(chosen):
    given = load("stvk")
    functions = {"stress": given.stress, "tangent": given.tangent}
    for name in ("mine", "stvk"):  # also where it has the name of ours
        own = Material(name=name, energy=lambda mu, lam, a, b, c: mu * a * b * c, **functions)
        runs = []
        for device in ("cpu", "gpu"):
            rest = np.vstack([np.zeros(3), np.eye(3)])
            solid = stiffly.Tetrahedra([[0, 1, 2, 3]], 1e4, 0.3, material=own)
            system = stiffly.System(1.0, [solid, stiffly.Gravity()], rest=rest)
            options = {"integrator": "verlet", "step": 1e-4, "duration": 1e-2, "every": 2e-3}
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                runs.append(stiffly.simulate(system, 1.1 * rest, device=device, **options))
        assert [w for w in said if "no kernel on a card for elastic" in str(w.message)]
        assert runs[1].stats["loop"] == "compiled stretches: one call, elastic by the host"
        near(runs[1].positions, runs[0].positions)
        for line, energies in runs[0].energy.parts.items():
            near(runs[1].energy.parts[line], energies)


# ------------------------------------------------------------------ what goes wrong


def failing(at, fails):
    """A potential that is well until it has been asked `at` times for its gradient."""
    asked = [0]

    def gradient(x):
        asked[0] += 1
        return pull_or(fails, x) if asked[0] > at else 2.0 * x

    return Potential(lambda x: float(np.sum(x**2)), gradient, couples=(), name="mine")


def pull_or(fails, x):
    if isinstance(fails, Exception):
        raise fails
    return fails(x)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_named_as_on_the_host(value, chosen):
    for device in ("cpu", "gpu"):
        with pytest.raises(Diverged, match=r"diverged at t = .* positions are no longer finite"):
            rope([failing(30, lambda x: np.full_like(x, value))], device=device)


def test_a_function_that_raises_is_not_hidden(chosen):
    for device in ("cpu", "gpu"):
        with pytest.raises(ZeroDivisionError, match="mine own"):
            rope([failing(30, ZeroDivisionError("mine own"))], device=device)
    with pytest.raises(InputError, match=r"potential 'mine': gradient returned shape \(3,\)"):
        rope([failing(30, lambda x: x[0])], device="gpu")
    assert np.isfinite(rope([own_potential()], device="gpu").positions).all()  # and the card works


def test_a_function_is_not_asked_about_a_motion_that_is_lost(chosen):
    def gradient(x):
        assert np.isfinite(x).all()
        return -1e12 * x**3

    wild = Potential(lambda x: -0.25e12 * float(np.sum(x**4)), gradient, couples=(), name="wild")
    with pytest.raises(Diverged, match="positions are no longer finite"):
        rope([wild], device="gpu", step=1e-3, duration=1.0, every=0.1)


def test_parts_that_act_between_steps_are_refused_by_name(chosen):
    class Brake(Whirl):
        name = "brake"

        def settle(self, t, h, x, v):
            raise NotImplementedError

    with pytest.raises(InputError, match=r"brake \(Brake\) has no compiled loop.*on the CPU"):
        rope([Brake()], device="gpu")


def test_beta_beside_what_may_hold_particles_is_refused(chosen):
    """Its matrix is summed by pairs: that of a well is none."""
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    parts = [stiffly.Springs([[0, 1]], 9.0), own_potential()]
    system = stiffly.System(1.0, parts, rest=rest, damping=stiffly.Rayleigh(beta=0.1))
    options = {"integrator": "verlet", "step": 1e-3, "duration": 1e-2}
    with pytest.raises(InputError, match=r"beta beside well \(PreparedPotential\) has no compiled"):
        stiffly.simulate(system, rest, device="gpu", **options)
    stiffly.simulate(system, rest, **options)


def test_a_bacterium_swims_beside_a_card(chosen):
    """Its motor and its fluid are loads of the host."""
    same_hundred_steps("bacterium")


def test_what_displaces_particles_beside_guests_is_refused_by_name(chosen):
    """Their energy where particles were, and are, is nobody's to sum."""
    scene = scenes.load("textile", small=True)
    given = scene.system.given
    parts = [own_potential(), *given.parts]
    system = stiffly.System(given.mass, parts, fixed=scene.system.fixed, rest=given.rest)
    with pytest.raises(InputError, match=r"projection beside well has no compiled loop"):
        stiffly.simulate(
            system, scene.x0, device="gpu", integrator="verlet", step=1e-5, duration=1e-4
        )
