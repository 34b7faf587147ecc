"""CUDA kernels, compiled as C++ where a compiler is: against the loops of the CPU; and refusals.

tests/gpu asks a real card for the same (`make test-gpu`).
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import test_stretch as cases
from cuda_checks import (
    CARD_KINDS,
    KINDS,
    RECORDED,
    SCENES,
    apart,
    same_bits_when_fetched,
    same_drag,
    same_forces_inside_out,
    same_frames_in_a_file,
    same_hundred_steps,
    same_steps,
)
from cuda_shim import COMPILER, NVCC, HostBackend, Loaded, compiles

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.cli import main
from stiffly.collisions import Held, Plane, keyframes
from stiffly.errors import InputError
from stiffly.integrators.explicit import SymplecticEuler, Verlet
from stiffly.integrators.rkn86 import Nystrom86
from stiffly.integrators.runge_kutta import ForwardEuler, RungeKutta4
from stiffly.integrators.splitting import BlanesMoan6
from stiffly.kernels.cuda import layout, stretch
from stiffly.matfun.bounds import largest_ritz_value
from stiffly.run import limit

compiled = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@compiled
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_a_card_takes_the_steps_of_the_host(kind, method, lanes, card, monkeypatch):
    monkeypatch.setattr(layout, "LANES_OF_STEPS", ((10**9, lanes),))
    same_steps(kind, method, card)


@compiled
@pytest.mark.parametrize("kind", (*KINDS, *CARD_KINDS))
def test_bodies_that_fit_no_block(kind, card, monkeypatch):
    apart(monkeypatch)
    same_steps(kind, Verlet(), card)


@compiled
@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
@pytest.mark.parametrize("kind", ["shaken", "yielding", "wound", "led", "airy", "tied-led"])
def test_a_state_that_stays_is_the_one_that_is_fetched(kind, method, card):
    same_bits_when_fetched(kind, method, card)


@compiled
def test_a_hand_pulls_between_stretches(card):
    same_drag(card)


@compiled
@pytest.mark.parametrize(
    "method", [SymplecticEuler(), BlanesMoan6(), ForwardEuler(), Nystrom86()], ids=lambda m: m.name
)
@pytest.mark.parametrize("kind", ["springs", "cubic", "faces", "inside", "solid"])
def test_methods_of_kicks_and_of_stages(kind, method, card):
    same_steps(kind, method, card)


@compiled
@pytest.mark.parametrize("kind", ["solid", "materials"])
def test_tets_turned_inside_out(kind, card):
    same_forces_inside_out(kind, card)


@compiled
@pytest.mark.parametrize("name", SCENES)
def test_a_hundred_steps_of_a_small_scene(name, card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_hundred_steps(name)


@compiled
@pytest.mark.parametrize("method", [Verlet(), RungeKutta4()], ids=lambda m: m.name)
def test_what_is_recorded_once_is_every_step(method, card, monkeypatch):
    """More steps than are recorded at once, and some that are left over."""
    monkeypatch.setattr(stretch, "UNIT", 4)
    same_steps("airy", method, card)


@compiled
@pytest.mark.parametrize("copies", [1, 70])
def test_many_bodies_lie_behind_one_another(copies, card):
    system, state = cases.bound("shaken", copies)
    here, there = (cases.at_once(own, state) for own in (system, system.on(card)))
    cases.agree(there.state.x, here.state.x, 10.0)
    assert there.way == "compiled stretches: one call"


@compiled
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", ["hair", "brush", "pylon", "twisting-beam"])
def test_bodies_that_fit_blocks(name, lanes, card, monkeypatch):
    """Springs of as many stiffnesses as there are, held particles, supports; one body of several
    hundred rows."""
    monkeypatch.setattr(door, "gpu", lambda number: card)
    monkeypatch.setattr(layout, "LANES_IN_BLOCKS", ((10**9, lanes),))
    used, launch = set(), Loaded.blocks

    def told(self, name, *given, **more):
        used.add(name)
        launch(self, name, *given, **more)

    monkeypatch.setattr(Loaded, "blocks", told)
    same_hundred_steps(name)
    assert used == {"bodies"}


@compiled
@pytest.mark.parametrize("integrator", ["verlet", "rk4"])
def test_a_run_begun_on_one_goes_on_on_the_other(integrator, card, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    scene = scenes.load("flag", small=True, duration=0.02, every=0.005)
    options = {"integrator": integrator, "step": 1e-4, "dtype": "float64", "checkpoint": 0.0}
    whole = stiffly.simulate(scene, device="gpu", **options, out=tmp_path / "whole")
    half = {**options, "duration": 0.01}
    for first, then in (("gpu", "cpu"), ("cpu", "gpu"), ("gpu", "gpu")):
        folder = tmp_path / f"{first}-{then}"
        stiffly.simulate(scene, device=first, **half, out=folder)
        found = stiffly.resume(folder, scene, device=then, duration=0.02)
        np.testing.assert_allclose(found.positions[:], whole.positions[:], rtol=0.0, atol=1e-12)
        if first == then:
            assert np.array_equal(found.positions[:], whole.positions[:])
        assert found.provenance["device"] == {"gpu": "shim"}.get(first, first)


@compiled
def test_runs_of_two_threads_at_once(tmp_path, monkeypatch):
    card = HostBackend(tmp_path)
    monkeypatch.setattr(door, "gpu", lambda number: card)
    names = ("rope", "coil-spring")

    def run(name, device="gpu"):
        scene = scenes.load(name, small=True)
        options = {"integrator": "verlet", "step": 1e-5, "duration": 2e-3, "every": 1e-4}
        return stiffly.simulate(scene, device=device, **options).positions

    wanted = [run(name, "cpu") for name in names]
    with ThreadPoolExecutor(2) as pool:  # each thread has a card of its own
        for _ in range(3):
            for found, positions in zip(pool.map(run, names), wanted, strict=True):
                np.testing.assert_allclose(found, positions, rtol=0.0, atol=1e-10)
    assert card.here() is card
    with ThreadPoolExecutor(1) as pool:
        mine, again = pool.submit(card.here).result(), pool.submit(card.here).result()
    assert mine is again and mine is not card and mine._card is not card._card


@compiled
def test_energies_are_those_of_the_body_that_is_asked(card):
    """Two runs of one system by turns: the card holds one of them at a time, and has told of the
    other what it had."""
    scene = scenes.load("rope", small=True)
    system, moves = scene.system.on(card), np.ones((len(scene.x0), 1))
    moves[scene.system.fixed] = 0.0
    runs = [system.bind(scene.x0, speed * moves * np.ones(3)) for speed in (0.0, 1.0)]
    ends, times = [], np.array([1e-5])
    for bound, state in runs:
        a = bound.acceleration(state)
        done = bound.stretcher.steps(Verlet.splitting, state, a, 1e-5, times)
        assert bound.stretcher.energies(state) is None
        ends.append(done.state)
    for (bound, _), end in zip(runs, ends, strict=True):
        assert bound.stretcher.energies(end) is not None
        assert bound.energy(end) == pytest.approx(scene.system.bind(scene.x0)[0].energy(end))


@compiled
@pytest.mark.parametrize("name", ["bunny", "dog"])
def test_energies_of_elements_between_held_particles(name, card):
    """Which are no group's: held particles alone are stretched, by as much from first to last."""
    scene = scenes.load(name, small=True)
    x = scene.x0.copy()
    x[scene.system.fixed] *= 1.01
    bound, state = scene.system.on(card).bind(x, scene.v0)
    a = bound.acceleration(state)
    end = bound.stretcher.steps(Verlet.splitting, state, a, 1e-6, np.array([1e-6])).state
    told, plain = bound.stretcher.energies(end), scene.system.bind(x, scene.v0)[0].energy(end)
    assert told == pytest.approx(plain, rel=1e-9)
    assert bound.stretcher._held_and_led().stored.keys() >= {"faces" if name == "bunny" else "tets"}


@compiled
def test_the_limit_of_the_step_is_that_of_a_few_bodies(card):
    scene = scenes.load("hair", small=True, fibers=150)
    found = []
    for system in (scene.system, scene.system.on(card)):
        bound, state = system.bind(scene.x0, scene.v0)
        assert bound.stretcher.few(state) is not None
        few = limit._of_few(bound, state)
        b = np.random.default_rng(0).standard_normal(few.size)
        found.append((few.x, few.apply(b), largest_ritz_value(few, 8)))
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-6, atol=1e-6 * np.abs(here).max())
    assert found[0][0].size < scene.x0.size / 2


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="no nvcc here")
@pytest.mark.parametrize("precision", [(), ("-DMIXED",)], ids=["double", "mixed"])
@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_the_text_is_cuda(lanes, precision, tmp_path):
    compiles(stretch.source(), tmp_path, lanes, *precision)


# ------------------------------------------------------------------ refusals


def rope(**options):
    scene = scenes.load("rope", small=True)
    chosen = {"integrator": "verlet", "step": 1e-5, "duration": 1e-4, **options}
    return stiffly.simulate(scene.system, scene.x0, **chosen)


def test_without_cupy_a_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    door.gpu.cache_clear()
    with pytest.raises(InputError, match=r"pip install \"stiffly\[gpu\]\""):
        rope(device="gpu")


def fake_cupy(count, failure=None):
    class CUDARuntimeError(Exception):
        pass

    def device_count():
        if failure:
            raise CUDARuntimeError(failure)
        return count

    names = {"getDeviceProperties": lambda number: {"name": b"card"}}
    runtime = SimpleNamespace(
        getDeviceCount=device_count, CUDARuntimeError=CUDARuntimeError, **names
    )
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


def test_a_driver_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(0, "no CUDA-capable device is detected"))
    door.gpu.cache_clear()
    with pytest.raises(InputError, match=r"no CUDA-capable device.*nvidia-smi"):
        rope(device="gpu")


def test_a_card_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(2))
    door.gpu.cache_clear()
    with pytest.raises(InputError, match=r"no card 3: choose one of gpu:0 \(card\), gpu:1"):
        rope(device="gpu:3")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"integrator": "vimex"}, "vimex has no loop on a card: use verlet.*exprb42"),
        ({"integrator": "dop853"}, "dop853 has no loop on a card: use verlet.*rk4.*midpoint"),
        ({"integrator": "auto", "step": None}, "auto has no loop on a card"),
        ({"device": "gpx"}, "did you mean gpu"),
        ({"device": "cuda"}, "unknown device cuda: did you mean gpu"),
        ({"device": "cuda:0"}, "unknown device cuda: did you mean gpu"),
        ({"device": "cpu:1"}, "give gpu:0, gpu:1"),
        ({"device": "gpu:\u00b2"}, "give gpu:0, gpu:1"),
        ({"device": "gpu:" + "9" * 5000}, "give gpu:0, gpu:1"),
    ],
)
def test_what_a_card_cannot_do_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        rope(**{"device": "gpu", **options})


@compiled
@pytest.mark.parametrize("name", RECORDED)
def test_frames_in_a_file_are_those_in_memory(name, card, tmp_path, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    same_frames_in_a_file(name, tmp_path, monkeypatch)


@compiled
def test_a_part_without_a_kernel_is_named_before_the_first_step(card, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: card)
    plate = Plane((0, 0, 0), (0, 0, 1), keyframes([0.0, 1.0], [(0.0,) * 3, (0.3, 0.0, 0.0)]))
    system = stiffly.System(1.0, [Held(plate, 1e4)], rest=np.eye(3))
    options = {"integrator": "verlet", "step": 1e-5, "duration": 1e-4}
    with pytest.raises(InputError, match=r"contact .* has no compiled loop.*on the CPU"):
        stiffly.simulate(system, system.rest, device="gpu", **options)


@compiled
def test_a_body_too_large_for_the_card_is_refused_before_the_first_step(
    tmp_path, monkeypatch, caplog
):
    small = HostBackend(tmp_path)
    small.kernels.explicit_steps._card.room = 1000
    monkeypatch.setattr(door, "gpu", lambda number: small)
    said = r"needs about 0\.0\d GB on a card that has 0\.00 GB free .*--set.*compute on the CPU"
    scene = scenes.load("coil-spring")
    options = {"integrator": "verlet", "step": 1e-5, "duration": 1e-5}
    with pytest.raises(InputError, match=said):
        stiffly.simulate(scene.system, scene.x0, device="gpu", **options)
    run = rope(device="auto")
    assert "needs about" in caplog.text and np.isfinite(run.positions).all()


@compiled
def test_what_a_card_is_thought_to_need_covers_what_it_is_given(tmp_path):
    """By counting the bytes of every array that is put there."""
    given = HostBackend(tmp_path)
    card, taken = given.kernels.explicit_steps._card, []
    for name in ("put", "zeros"):
        make = getattr(card, name)

        def counted(arguments, make=make):
            made = make(arguments)
            taken.append(made.nbytes)
            return made

        setattr(card, name, counted)
    for name in ("coil-spring", "bunny", "cloth", "squats"):
        scene = scenes.load(name, small=True)
        bound, state = scene.system.on(given).bind(scene.x0)
        taken.clear()
        bound.stretcher.steps(Verlet.splitting, state, np.zeros(bound.size), 1e-6, np.array([1e-6]))
        share = sum(taken) / layout.bytes_for(bound.stretcher._body)
        assert 0.3 < share < 1.0, (name, share)


def test_auto_falls_back_and_says_so(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "cupy", None)
    door.gpu.cache_clear()
    run = rope(device="auto")
    assert "on the CPU, since device gpu needs CuPy" in caplog.text
    assert np.isfinite(run.positions).all()


def test_the_command_line_refuses_in_one_line(monkeypatch, capfd, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.chdir(tmp_path)
    door.gpu.cache_clear()
    code = main(["run", "rope", "--small", "--integrator", "verlet", "--device", "gpu"])
    out, err = capfd.readouterr()
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
