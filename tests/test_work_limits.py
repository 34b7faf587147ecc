"""What can take long has a limit with a name: counted, refused in one line, and nothing written."""

import signal

import numpy as np
import pytest

import stiffly
from stiffly import InputError, SecondOrder, meshes
from stiffly.errors import Advice, OutOfTime, Terminated
from stiffly.integrators import Auto, integrator
from stiffly.parts.molecules import read_molecule
from stiffly.recording.exports import export
from stiffly.recording.plots import plot
from stiffly.recording.words import FORMATS
from stiffly.run.auto import Ladder

FRAMES, PARTICLES = 5, 4


@pytest.fixture(scope="module")
def run():
    """A rope of four particles, five frames."""
    mesh = meshes.rope(PARTICLES)
    parts = [stiffly.Springs(mesh.edges, 100.0), stiffly.Gravity()]
    system = stiffly.System(1.0, parts, fixed=[0], rest=mesh.positions)
    return stiffly.simulate(
        system, mesh.positions, integrator="verlet", step=0.01, duration=0.04, every=0.01
    )


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_of_too_many_points_is_refused_before_anything_is_written(run, to, tmp_path):
    most = FRAMES * PARTICLES - 1
    with pytest.raises(InputError, match=r"5 frames of 4 .* max_points = 19; .*--max-points") as e:
        export(run, to, tmp_path / "new", max_points=most)
    assert "\n" not in str(e.value)
    assert not list(tmp_path.iterdir())


def test_as_many_points_as_allowed_are_exported(run, tmp_path):
    assert len(export(run, "ply", tmp_path / "ply", max_points=FRAMES * PARTICLES)) == FRAMES


def test_a_plot_of_too_many_points_leaves_momentum_out_and_says_so(run, tmp_path):
    with pytest.warns(Advice, match="momentum is left out: 20 points .* max_points = 19"):
        files = plot(run, tmp_path, max_points=19)
    assert "energy.png" in {path.name for path in files}
    assert not (tmp_path / "momentum.png").exists()


@pytest.mark.parametrize("most", [0, -1, float("nan"), "many"])
def test_limits_that_are_none_are_refused(run, most, tmp_path):
    for call in (
        lambda: export(run, "ply", tmp_path / "ply", max_points=most),
        lambda: plot(run, tmp_path / "plots", max_points=most),
        lambda: run.film(tmp_path / "film.mp4", max_pictures=most, size=(64, 48)),
        lambda: integrator("auto", max_steps=most),
    ):
        with pytest.raises(InputError, match="max_"):
            call()
    assert not list(tmp_path.iterdir())


def test_a_film_of_too_many_pictures_is_refused_and_nothing_is_written(run, tmp_path):
    with pytest.raises(InputError, match=r"5 pictures: more than max_pictures = 4; .*speed"):
        run.film(tmp_path / "film.mp4", size=(64, 48), fps=100, speed=1.0, max_pictures=4)
    assert not list(tmp_path.iterdir())
    film = run.film(tmp_path / "film.mp4", size=(64, 48), fps=100, speed=1.0, max_pictures=5)
    assert film.stat().st_size > 0


def test_files_of_bodies_that_are_too_large_are_refused_before_they_are_parsed(tmp_path):
    body, atoms = tmp_path / "body.obj", tmp_path / "atoms.pdb"
    for path in (body, atoms):
        path.write_bytes(b"no line of this can be read\n" * 100)
    for call in (lambda most: meshes.read_mesh(body, max_mb=most),
                 lambda most: read_molecule(atoms, max_mb=most)):  # fmt: skip
        with pytest.raises(InputError, match=r"0.0028 MB, more than max_mb = 0.0027"):
            call(0.0027)
        with pytest.raises(InputError, match="max_mb"):
            call(0.0)
        with pytest.raises(InputError) as parsed:
            call(0.0029)
        assert "max_mb" not in str(parsed.value)


# ------------------------------------------------------------------ auto


def spring(stiffness):
    """x'' = -k x - x^3: not linear."""
    return SecondOrder(
        size=1,
        force=lambda x: -stiffness * x - x**3,
        jacobian=lambda x: np.array([[-stiffness - 3.0 * x[0] ** 2]]),
        potential=lambda x: 0.5 * stiffness * float(x[0] ** 2) + 0.25 * float(x[0] ** 4),
    )


def by_auto(stiffness, **options):
    method = options.pop("method", "auto")
    return stiffly.simulate(spring(stiffness), [1.0], integrator=method, duration=1.0, **options)


@pytest.fixture
def explicit(monkeypatch):
    """Methods that bear any step are not tried: the ladder begins with its probe."""
    monkeypatch.setattr(Ladder, "_any_step", lambda self: False)


def test_auto_refuses_what_needs_more_steps_than_it_may_take(explicit, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(
        InputError, match=r"auto: 5.3e\+10 steps .* max_steps = 1e\+09.*1.59e\+10 H"
    ):
        by_auto(1e22, out=out)  # 2 / omega is 2e-11 s, of which it takes 95 %
    assert not out.exists()
    with pytest.raises(InputError, match="max_steps = 100"):
        by_auto(1e6, method=Auto(max_steps=100))


def test_auto_keeps_to_its_steps_and_warns_where_they_are_too_few(explicit):
    free = by_auto(1e4, rtol=1e-6)
    most = free.stats["steps"] - 1
    with pytest.warns(stiffly.StiffWarning, match="rtol = 1e-06 was not met"):
        kept = by_auto(1e4, method=integrator("auto", max_steps=most), rtol=1e-6)
    assert kept.stats["steps"] <= most


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_signals_end_autos_probe(number, raised, explicit, monkeypatch, tmp_path):
    begun, probe = [], Ladder._probe

    def probed(self):
        begun.append(self)
        signal.raise_signal(number)  # which only makes it due
        probe(self)
        raise AssertionError("the probe went on")

    monkeypatch.setattr(Ladder, "_probe", probed)
    before = signal.signal(
        number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    )
    try:
        with pytest.raises(raised):
            by_auto(1e6, out=tmp_path / "run")
    finally:
        signal.signal(number, before)
    assert begun and not (tmp_path / "run").exists()


def test_hours_that_are_over_end_autos_probe(explicit, tmp_path):
    with pytest.raises(OutOfTime, match="no checkpoint"):
        by_auto(1e6, out=tmp_path / "run", max_hours=1e-12)
    assert not (tmp_path / "run").exists()
