"""Mesh files in the papers' scenes: whichever axis points upwards in them, z does in the scene."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stiffly import InputError, cli, scenes
from stiffly.meshes import creature, creature_surface, write_mesh

WITH_MESH = [name for name in scenes.NAMES if "mesh" in scenes.entry(name).parameters]
# what a program with that axis upwards would have saved, from positions with z upwards
SAVED = {
    "z": lambda x: x,
    "y": lambda x: np.stack([x[:, 0], x[:, 2], -x[:, 1]], axis=1),
    "x": lambda x: np.stack([x[:, 2], x[:, 0], x[:, 1]], axis=1),
}


@pytest.fixture(scope="module")
def model():
    """A closed surface that no turn maps onto itself."""
    return creature_surface(600, shape="rabbit")


def saved(mesh, up, folder, kind="obj"):
    path = folder / f"{up}.{kind}"
    write_mesh(path, replace(mesh, positions=SAVED[up](mesh.positions)))
    return str(path)


def test_there_are_scenes_with_meshes():
    assert {"bunny", "crash", "dragon", "hair", "statue"} <= set(WITH_MESH)


@pytest.mark.parametrize("name", WITH_MESH)
def test_every_scene_that_takes_a_mesh_knows_up(name, model, tmp_path):
    assert "up" in scenes.entry(name).parameters
    with pytest.raises(InputError, match="up = 'w': give the axis"):
        scenes.load(name, small=True, up="w", mesh=saved(model, "z", tmp_path))
    with pytest.raises(InputError, match="there is none: give mesh="):
        scenes.load(name, small=True, up="y")


@pytest.mark.parametrize("up", ["x", "y"])
@pytest.mark.parametrize("name", ["crash", "hair"])  # triangles, kept as they are
def test_the_scene_is_the_same_whichever_axis_points_upwards(name, up, model, tmp_path):
    options = {"crash": {"vertices": 1000}, "hair": {"fibers": 20}}[name]
    expected = scenes.load(name, mesh=saved(model, "z", tmp_path), **options)
    turned = scenes.load(name, mesh=saved(model, up, tmp_path), up=up, **options)
    assert turned.x0 == pytest.approx(expected.x0, abs=1e-9)
    wrong = scenes.load(name, mesh=saved(model, up, tmp_path), **options)
    assert wrong.x0.shape != expected.x0.shape or np.abs(wrong.x0 - expected.x0).max() > 1e-3


@pytest.mark.parametrize("up", ["x", "y"])
@pytest.mark.parametrize("name", ["squats", "dog"])
def test_solids_are_turned_too(name, up, tmp_path):
    body = creature(400, shape="hippo")
    expected = scenes.load(name, mesh=saved(body, "z", tmp_path, "vtk"))
    turned = scenes.load(name, mesh=saved(body, up, tmp_path, "vtk"), up=up)
    assert turned.x0 == pytest.approx(expected.x0, abs=1e-9)


def test_up_on_the_command_line(model, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    path = saved(model, "y", tmp_path)
    run = ["run", "crash", "--small", "--duration", "0.01", "--set", f"mesh={path}"]
    assert cli.main([*run, "--set", "up=y", "--quiet", "--out", "good"]) == 0
    assert cli.main([*run, "--set", "up=up", "--out", "bad"]) == 2
    assert not (tmp_path / "bad").exists()
    assert "up = 'up'" in capfd.readouterr().err
