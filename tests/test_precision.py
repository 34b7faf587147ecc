"""Elements in single precision on a card, compiled as C++: how far they are from double."""

from types import SimpleNamespace

import numpy as np
import pytest
from cuda_checks import MIXED, mixed_is_near_double
from cuda_shim import COMPILER, HostBackend

import stiffly
from stiffly import scenes
from stiffly.backends import gpu as door
from stiffly.cli import main
from stiffly.errors import InputError
from stiffly.run import resume as resuming

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")

STEPS = 100
ROUNDING = 2.0**-24  # of single precision, relative
# Rounded once each: three differences, the square's five operations count for half of that in the
# root, the root, stiffness, rest length, their two products, the difference.
ROUNDINGS = 12


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    return HostBackend(tmp_path_factory.mktemp("shim"))


@pytest.fixture(autouse=True)
def card(backend, monkeypatch):
    monkeypatch.setattr(door, "gpu", lambda number: backend)


@pytest.mark.parametrize("name", MIXED)
def test_positions_are_those_of_double_precision_to_a_millionth(name):
    mixed_is_near_double(name)


@pytest.mark.parametrize("law", ["linear", "cubic"])
def test_the_ledger_shows_what_single_precision_costs(law):
    """A linear spring's force errs by at most ROUNDINGS roundings of k L, and its ends, moving by
    ds against each other, make at most that, times ds, into energy; twice that for tables which are
    rounded where the first frame's energies, the host's, are not.  Strains of a tenth or two change
    little of this for cubic ones.  The method is of sixth order, so that its own error is less."""
    rng = np.random.default_rng(4)
    rest = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    edges = np.argwhere(np.triu(np.linalg.norm(rest[:, None] - rest, axis=2) < 1.5, 1))
    stiffness = rng.uniform(500.0, 1500.0, len(edges))
    springs = stiffly.Springs(edges, stiffness, rest_positions=rest, law=law)
    system = stiffly.System(1.0, [springs], rest=rest)
    x0, h = rest + 0.05 * rng.standard_normal(rest.shape), 5e-4
    told = {"integrator": "rkn6", "step": h, "duration": STEPS * h, "every": h, "device": "gpu"}
    mixed, double = (
        stiffly.simulate(system, x0, precision=precision, **told)
        for precision in ("mixed", "double")
    )
    far = double.positions[:, edges[:, 0]] - double.positions[:, edges[:, 1]]
    length = np.linalg.norm(far, axis=2).max(axis=0)
    way = np.linalg.norm(np.diff(far, axis=0), axis=2).sum(axis=0)
    most = 2 * ROUNDINGS * ROUNDING * np.sum(stiffness * length * way)
    found, its = (run.energy.summary()["max_abs_drift"] for run in (mixed, double))
    assert its < 0.01 * found and found <= most


def test_a_run_remembers_its_precision(tmp_path):
    scene = scenes.load("coil-spring", small=True)
    h = 0.002  # [s]; the scene has a longer one of another method
    told = {"integrator": "verlet", "step": h, "every": 10 * h, "dtype": "float64"}
    told |= {"device": "gpu", "precision": "mixed", "checkpoint": 0.0}
    whole = stiffly.simulate(scene, duration=60 * h, out=tmp_path / "whole", **told)
    stiffly.simulate(scene, duration=30 * h, out=tmp_path / "half", **told)
    with pytest.raises(InputError, match=r"begun with precision mixed.*--precision double"):
        stiffly.resume(tmp_path / "half", scene, duration=60 * h)
    with pytest.raises(InputError, match=r"begun with precision mixed.*--precision double"):
        stiffly.resume(tmp_path / "half", scene, duration=60 * h, device=0)
    found = stiffly.resume(tmp_path / "half", scene, duration=60 * h, device="gpu")
    assert found.provenance["precision"] == "mixed"
    assert np.array_equal(found.positions[:], whole.positions[:])
    longer = stiffly.resume(tmp_path / "half", scene, duration=70 * h, precision="double")
    assert len(longer.positions) == 8


def test_ranks_go_on_with_no_other_precision_unasked(tmp_path, monkeypatch):
    scene = scenes.load("coil-spring", small=True)
    told = {"integrator": "verlet", "step": 0.002, "every": 0.02, "device": "gpu"}
    run = stiffly.simulate(scene, duration=0.04, out=tmp_path, precision="mixed", **told)
    one = SimpleNamespace(rank=0, together=lambda task: task())
    monkeypatch.setattr(resuming, "world", lambda: one)
    for precision, said in (
        (None, "begun with precision mixed"),
        ("mixed", "is for a card"),
        ("mixd", "did you mean mixed"),
    ):
        with pytest.raises(InputError, match=said):
            resuming.go_on(run, scene, duration=0.1, engine="petsc", precision=precision)


def test_many_runs_in_mixed_precision():
    scene = scenes.load("rope", small=True)
    told = {"integrator": "verlet", "step": 1e-5, "duration": 1e-3, "every": 5e-4, "device": "gpu"}
    mixed, double = (
        stiffly.simulate_many([scene, scene], precision=precision, **told)
        for precision in ("mixed", "double")
    )
    error = np.abs(mixed[1].positions - double[1].positions).max()
    assert 0.0 < error <= 1e-6 * np.abs(double[1].positions).max()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"device": "gpu", "precision": "mixd"}, "unknown precision mixd: did you mean mixed"),
        ({"precision": "mixed"}, "precision mixed is for a card, not for device cpu: give --dev"),
        ({"device": "auto", "precision": "mixed"}, "is for a card, not for device auto"),
        ({"device": "gpu", "precision": "mixed", "integrator": "exprb42"}, "knows no mixed"),
        ({"device": 0, "precision": "mixed"}, "is for a card, not for device 0"),
        ({"device": None, "precision": "mixed"}, "is for a card, not for device None"),
    ],
)
def test_what_has_no_mixed_precision_says_so(options, said):
    chosen = {"integrator": "verlet", "step": 1e-5, "duration": 1e-4, **options}
    with pytest.raises(InputError, match=said):
        stiffly.simulate(scenes.load("rope", small=True), **chosen)


@pytest.mark.parametrize(("device", "precision"), [("cpu", "mixed"), ("gpu", "mixd")])
def test_the_command_line_refuses_in_one_line(device, precision, monkeypatch, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = ["run", "rope", "--small", "--device", device, "--precision", precision]
    code = main([*asked, "--integrator", "verlet"])
    out, err = capfd.readouterr()
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
