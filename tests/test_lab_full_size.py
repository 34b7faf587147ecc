"""`stiffly lab full-size` on small variants: what it runs, goes on with, and says."""

import json
from datetime import datetime
from functools import partial

import pytest

import stiffly
from stiffly import InputError, Recording, cli
from stiffly.errors import Diverged
from stiffly.terminal import Pace, ending
from stiffly_lab import Bench, experiment, full_size

SCENES = ["coil-spring", "flag"]
run = partial(experiment("full-size").run, chosen=SCENES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where two scenes have run to their end."""
    out = tmp_path_factory.mktemp("lab")
    assert cli.main(["lab", "full-size", *SCENES, "--quick", "--out", str(out)]) == 0
    return out / "full-size"


@pytest.fixture
def simulated(monkeypatch):
    """Scenes that are simulated from the start, and those that are gone on with."""
    began, gone_on = [], []
    monkeypatch.setattr(full_size, "simulate", lambda s, **_: began.append(s.name))
    monkeypatch.setattr(full_size, "resume", lambda where, s, **_: gone_on.append(s.name))
    return began, gone_on


def test_the_table_has_what_was_printed_and_what_was_measured(folder):
    page = (folder / "result.md").read_text()
    head, _, coil, flag = [line for line in page.splitlines() if line.count("|") > 10]
    assert [cell.strip() for cell in head.strip("|").split("|")][3:5] == ["printed", "here"]
    assert " 47 s " in coil and " exprb42 " in coil and " 1 s " in flag
    rows = {
        row["scene"]: row
        for row in json.loads((folder / "result.json").read_text())["data"]["rows"]
    }
    found = Recording(folder / "coil-spring-small")
    assert found.complete and rows["coil-spring"]["seconds"] == found.wall_seconds
    moving = (found.positions[-1] != found.positions[0]).any(axis=1)
    assert rows["coil-spring"]["dof"] == 3 * moving.sum() < found.positions[0].size
    error = abs(found.energy.numerical).max() / found.energy.exchanged
    assert rows["coil-spring"]["energy_error"] == pytest.approx(error)
    assert rows["coil-spring"]["forces"] == found.stats["force_evaluations"]
    assert rows["coil-spring"]["products"] == found.stats["operator_products"] > 100


def test_pictures_of_the_last_frames_are_there(folder):
    pytest.importorskip("pyvista")
    page = (folder / "result.md").read_text()
    for name in SCENES:
        assert f"![{name}, the last frame]({name}-small/last.png)" in page
        assert (folder / f"{name}-small" / "last.png").stat().st_size > 3000


def test_what_is_complete_is_read_and_forced_it_runs_again(folder, simulated):
    bench = Bench(quick=True, folder=folder)
    assert [row["scene"] for row in run(bench).data["rows"]] == SCENES
    assert simulated == ([], [])
    run(bench, force=True)
    assert simulated == (SCENES, [])


def test_scenes_of_earlier_calls_stay_in_the_table(folder, simulated):
    found = run(Bench(quick=True, folder=folder), chosen=["flag"])
    assert [row["scene"] for row in found.data["rows"]] == SCENES and simulated == ([], [])


def test_one_that_was_cut_short_goes_on_to_the_same_result(folder, tmp_path):
    """Stopped by what it reports to, half way."""

    def stop(done, total, text):
        if "coil-spring" in text and done > 0.5 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Bench(quick=True, progress=stop, folder=tmp_path), chosen=["coil-spring"])
    half = Recording(tmp_path / "coil-spring-small")
    assert 1 < len(half) < half.of_frames
    said = []
    bench = Bench(True, lambda done, total, text: said.append(text), tmp_path)
    (row,) = run(bench, chosen=["coil-spring"]).data["rows"]
    whole, again = (
        Recording(folder / "coil-spring-small"),
        Recording(tmp_path / "coil-spring-small"),
    )
    assert again.complete and (again.positions == whole.positions).all()
    assert row["steps"] == whole.stats["steps"]


def test_a_run_that_fails_is_a_row_and_others_follow(tmp_path, monkeypatch):
    real = stiffly.simulate

    def failing(scene, **options):
        if scene.name == "coil-spring":
            real(scene, **{**options, "integrator": "verlet"})  # far above its limit
        return real(scene, **options)

    monkeypatch.setattr(full_size, "simulate", failing)
    with pytest.warns(stiffly.errors.Advice, match="verlet"):
        found = run(Bench(quick=True, folder=tmp_path))
    coil, flag = found.data["rows"]
    assert "diverged" in coil["failure"] and flag["failure"] is None
    assert "then: step" in full_size.table([coil])
    with pytest.raises(Diverged), pytest.warns(stiffly.errors.Advice):
        failing(stiffly.scenes.load("coil-spring", small=True))


def test_a_run_with_other_settings_is_not_taken_for_this_one(folder, monkeypatch, simulated):
    entry = stiffly.scenes.entry("flag")
    changed = entry._replace(small={**entry.small, "step": 1e-3})
    monkeypatch.setattr(full_size.scenes, "entry", lambda name: changed)
    with pytest.raises(InputError, match=r"realtime and steps of 0\.00666667 s .* give --force"):
        run(Bench(quick=True, folder=folder), chosen=["flag"])
    assert simulated == ([], [])


@pytest.mark.parametrize("name", ["coil-spring", "flag", "tower", "brush"])
def test_a_run_at_full_size_is_known_again(name):
    """By what the scene says of itself before it is built."""
    scene = stiffly.scenes.load(name)
    now = {"integrator": scene.integrator, "step": scene.step, "duration": scene.duration}
    assert full_size._as_run(name, quick=False) == now


@pytest.mark.parametrize(
    "line, words",
    [
        (
            ["full-size", "coilspring"],
            "unknown full-size scene coilspring: did you mean coil-spring",
        ),
        (["fput-order", "--force"], "--force belongs to `stiffly lab full-size`"),
    ],
)
def test_what_is_asked_for_wrongly(line, words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", *line]) == 2
    assert words in capfd.readouterr().err and not list(tmp_path.iterdir())


# ------------------------------------------------------------------ when it ends


def test_the_pace_of_a_run_tells_how_long_it_still_takes():
    pace = Pace()
    assert pace.left(0.0, 4.0, now=100.0) is None
    assert pace.left(0.5, 4.0, now=200.0) == pytest.approx(700.0)
    assert pace.left(1.0, 4.0, now=400.0) == pytest.approx(900.0)
    assert pace.left(0.1, 2.0, now=500.0) is None  # the next scene
    assert pace.left(0.2, 2.0, now=600.0) == pytest.approx(1800.0)
    resumed = Pace()
    assert resumed.left(3.0, 4.0, now=0.0) is None
    assert resumed.left(3.5, 4.0, now=60.0) == pytest.approx(60.0)


def test_the_end_is_told_as_a_time_of_the_day():
    now = datetime(2026, 11, 17, 17, 28)
    assert ending(4320.0, now) == "ends in 1 h 12 min, 18:40"
    assert ending(600.0, now) == "ends in 10 min, 17:38"
    assert ending(36_000.0, now) == "ends in 10 h 0 min, Wed 18 Nov 03:28"
