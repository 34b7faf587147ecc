"""Scenes as the papers run them, one word away from the defaults."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stiffly import InputError, cli, scenes, simulate
from stiffly.integrators import integrator
from stiffly.recording.recording import Recording
from stiffly.scenes import files

# seconds as they are printed: Michels 2017, Table 1; Luan 2018, Sec. 5.1; Luan 2021, Sec. 5;
# Michels 2014, Sec. 5.4; Dinev 2018, Fig. 4
PRINTED = {
    "bunny": (0.0571, 180.0),
    "flag": (0.2, 6.0),
    "tower": (0.1, 12.0),
    "hair": (0.0493, 4.0),
    "bacterium": (0.1, 2.0),
    "coil-spring": (0.05, 60.0),
    "dragon": (0.05, 10.0),
    "fput": (0.01, 100.0),
    "foil": (1e-3, 5.0),
    "spinning-cube": (0.033, 165.0),
}


@pytest.mark.parametrize("name", scenes.NAMES)
def test_every_scene_knows_how_the_paper_runs_it(name):
    found = scenes.entry(name)
    assert {"step", "duration", "integrator"} <= set(found.paper) <= set(scenes.RUN_OPTIONS)
    assert integrator(found.paper["integrator"]).order >= 1
    assert found.holds and "\n" not in found.holds and len(found.holds) < 200
    assert isinstance(found.measured, str)


@pytest.mark.parametrize("name", PRINTED)
def test_steps_and_durations_are_those_that_are_printed(name):
    paper = scenes.entry(name).paper
    assert (paper["step"], paper["duration"]) == PRINTED[name]


def test_a_variant_is_the_same_body_with_another_method():
    own, paper = (scenes.load("flag", resolution=6, variant=v) for v in (None, "paper"))
    assert paper.variant == "paper" and own.variant is None
    assert (paper.integrator, paper.step) == ("epirk4s3", 0.2)
    assert paper.note.endswith(scenes.entry("flag").holds) and own.note == ""
    assert own.parameters == paper.parameters
    quicker = scenes.load("flag", resolution=6, variant="paper", step=1e-3)
    assert (quicker.integrator, quicker.step) == ("epirk4s3", 1e-3)


def test_a_small_one_ends_when_it_says():
    small, paper = (scenes.load("bunny", small=True, variant=v) for v in (None, "paper"))
    assert paper.duration == small.duration == 5.7
    assert (paper.integrator, paper.step) == ("epirk4s3", 0.0571)


def test_an_unknown_variant_suggests(tmp_path, capsys):
    with pytest.raises(InputError, match=r"^unknown variant papr: did you mean paper"):
        scenes.load("flag", variant="papr")
    assert cli.main(["run", "hair", "--variant", "papr", "--out", str(tmp_path / "run")]) == 2
    assert "unknown variant papr: did you mean paper?" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_says_what_holds_and_writes_a_file_that_does_it_again(tmp_path, capsys):
    out = tmp_path / "run"
    line = ["run", "single-spring", "--small", "--variant", "paper", "--duration", "0.33"]
    assert cli.main([*line, "--out", str(out)]) == 0
    holds = scenes.entry("single-spring").holds
    assert holds in " ".join(capsys.readouterr().out.split())
    summary = json.loads((out / "summary.json").read_text())
    assert summary["variant"] == "paper" and summary["note"].endswith(holds)
    assert (summary["integrator"], summary["step"]) == ("stabilised", 0.033)
    again = files.read(out / "scene.toml")
    assert again.variant == "paper" and again.note.endswith(holds)
    run = simulate(again)
    assert np.array_equal(run.positions.astype(np.float32), Recording(out).positions[:])
    assert run.energy.total[-1] == Recording(out).energy.total[-1]


def test_a_scene_file_may_ask_for_the_paper(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('scene = "bunny"\nvariant = "paper"\n[parameters]\nvertices = 60\n')
    scene = files.read(path)
    assert (scene.integrator, scene.step, scene.variant) == ("epirk4s3", 0.0571, "paper")
    assert files.read(path, step=0.01).step == 0.01
    path.write_text('scene = "bunny"\nvariant = "papre"\n')
    with pytest.raises(InputError, match=r"line 2.*unknown variant papre: did you mean paper"):
        files.read(path)
    jelly = (
        'duration = 1.0\nstep = 0.1\n[[body]]\nshape = { kind = "cube", cells = 2, side = 1.0 }\n'
    )
    elastic = 'elasticity = "tetrahedra"\nyoung = 1e4\npoisson = 0.3\ndensity = 1e3\n'
    path.write_text(f'variant = "paper"\n{jelly}{elastic}')
    with pytest.raises(InputError, match="variant belongs to a built-in scene"):
        files.read(path)


def test_a_scene_as_a_file_keeps_its_variant(tmp_path):
    scene = scenes.load("bunny", small=True, variant="paper")
    path = tmp_path / "bunny.toml"
    path.write_text(files.to_toml(scene))
    again = files.read(path)
    for key in ("variant", "integrator", "step", "duration", "parameters"):
        assert getattr(again, key) == getattr(scene, key)
    assert 'variant = "paper"' not in files.to_toml(replace(scene, variant=None)).replace("# v", "")
    assert '# variant = "paper"' in files.show("bunny")


def test_the_list_of_scenes_has_all_of_it(capsys):
    assert cli.main(["scenes", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["hair"]["paper"]["step"] == 0.0493 and rows["hair"]["paper"]["holds"]
    assert rows["hair"]["run"]["integrator"] == scenes.entry("hair").run["integrator"]
    assert cli.main(["scenes"]) == 0
    assert "--variant paper" in capsys.readouterr().out


def test_a_scene_as_it_stands_takes_the_fastest_method_measured():
    as_it_stands, other = scenes.load("coil-spring"), scenes.load("coil-spring", stiffness=1e7)
    assert as_it_stands.integrator == "verlet" and as_it_stands.step == 5e-4
    assert other.integrator is None or other.integrator != "verlet"  # its limit is another one
    assert other.step == 0.05
    same = scenes.load("coil-spring", **as_it_stands.parameters)
    assert same.integrator == "verlet"  # what was written down of a run


def test_another_method_takes_the_step_that_is_for_others():
    scene = scenes.load("coil-spring")
    run = simulate(scene, integrator="exprb42", duration=0.1)
    assert run.stats["largest_step"] == 0.05
    run = simulate(scene, duration=5e-3)
    assert run.stats["largest_step"] == 5e-4


PAGE = Path(__file__).parent.parent / "docs/lab/full-size/result.md"
TOLD = re.compile(r"(\S+): (\d+) s in ([\d.]+) s, energy (?:off by ([\d.e-]+) %|exact)")


@pytest.mark.parametrize("name", [n for n in scenes.NAMES if scenes.entry(n).measured])
def test_what_was_measured_is_what_the_page_of_full_sizes_has(name):
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    row = next(row for row in rows if row[0] == name)
    found = TOLD.match(scenes.entry(name).measured)
    assert found is not None
    method, simulated, seconds, error = found.groups()
    assert (method, f"{simulated} s") == (row[5], row[2])
    shown, exact = float(row[4].removesuffix(" s")), float(row[-1].removesuffix(" %"))
    assert abs(float(seconds) - shown) <= 0.02 * shown
    assert exact < 1e-9 if error is None else 0.8 * exact < float(error) < 1.2 * exact


@pytest.mark.parametrize("name", scenes.NAMES)
def test_a_default_for_full_size_says_what_was_measured(name):
    found = scenes.entry(name)
    assert bool(found.full) == bool(found.measured)
    assert found.full.keys() <= {"step", "integrator"}
