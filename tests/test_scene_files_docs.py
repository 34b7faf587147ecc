"""The examples run, and the manual and the JSON schema say what the code does."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from stiffly import InputError, simulate
from stiffly.scenes import files
from stiffly.scenes.adjust import own_gravity
from stiffly.scenes.schema import SceneFile
from stiffly.scenes.schema.errors import members, tag

ROOT = Path(__file__).parent.parent
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples" / "scenes").glob("*.toml"))}
PAGE = ROOT / "docs" / "scene-files.md"
# largest numerical error of some steps, as a part of the energy exchanged
ERRORS = {
    "cloth_over_ball": 1e-9,  # energy-momentum: the accuracy of its solver
    "jelly": 1e-9,
    "own_mesh": 1e-9,
    "two_cloths": 1e-9,
    "rope": 1e-2,  # the work of a support is integrated along each step
    "hair": 1e-2,
}


@pytest.fixture(scope="module")
def manual():
    """docs/scene_files.py as a module."""
    spec = importlib.util.spec_from_file_location("scene_files", ROOT / "docs" / "scene_files.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------ examples


def test_there_are_examples_of_everything():
    assert set(EXAMPLES) == set(ERRORS)
    bodies = [b for path in EXAMPLES.values() for b in files.parse(path).body or ()]
    elastic = {body.elasticity for body in bodies}
    assert {"cloth", "tetrahedra", "springs", "shell", "fibers"} <= elastic


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    """Forty steps from the start; its energy is accounted for."""
    scene = files.check(EXAMPLES[name])
    run = simulate(scene, duration=40 * scene.step, every=10 * scene.step)
    assert len(run.times) == 5 and np.isfinite(run.positions).all()
    moved = np.linalg.norm(run.positions[-1] - run.positions[0], axis=1).max()
    assert moved > 1e-3  # metres
    assert np.abs(run.energy.numerical).max() < ERRORS[name] * run.energy.exchanged


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_in_full(name):
    run = simulate(files.read(EXAMPLES[name]))
    assert np.abs(run.energy.numerical).max() < ERRORS[name] * run.energy.exchanged


# ------------------------------------------------------------------ manual and schema


def test_the_tables_of_the_manual_are_those_of_the_schema(manual):
    """Otherwise: python docs/scene_files.py"""
    text = PAGE.read_text(encoding="utf-8")
    assert manual.page(text) == text


def test_the_published_json_schema_is_that_of_the_code(manual):
    """Otherwise: python docs/scene_files.py"""
    published = (ROOT / "docs" / "scene.schema.json").read_text(encoding="utf-8")
    assert published == manual.schema()
    assert json.loads(published) == files.json_schema()


def every_table(model=SceneFile, seen=None):
    seen = {} if seen is None else seen
    if model not in seen:
        seen[model] = True
        for field in model.model_fields.values():
            for inner in members(field.annotation):
                every_table(inner, seen)
    return list(seen)


def test_every_key_has_a_meaning_and_every_table_is_in_the_manual():
    tables = every_table()
    assert len(tables) > 45
    text = PAGE.read_text(encoding="utf-8")
    for model in tables:
        for key, field in model.model_fields.items():
            selects = tag(model)
            if selects is not None and key == selects[0]:
                assert selects[1] in text
                continue
            assert field.description, f"{model.__name__}.{key} has no description"
            assert re.search(rf"`\W*{key}\b", text), f"{model.__name__}.{key} is not in {PAGE.name}"


def test_keys_with_units_say_them():
    """Lengths, masses, moduli, ...: every meaning of a physical quantity ends in its unit."""
    plain = "scale stretch poisson friction coefficient rtol axis normal yield_strain per_step "
    plain += "fiber_stretch direction amplitude turns tolerance shine"
    for model in every_table():
        for key, field in model.model_fields.items():
            number = re.search(r"\bfloat\b", str(field.annotation))  # and not the text float32
            if number and key not in plain.split():
                assert re.search(r"\[[^]]+\]", field.description), f"{model.__name__}.{key}"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


def test_the_files_of_the_manual_work(tmp_path):
    first, built_in, changed, comment = blocks("toml")
    path = tmp_path / "jelly.toml"
    path.write_text(first)
    scene = files.check(path)
    run = simulate(scene, duration=0.4)
    assert np.abs(run.energy.numerical).max() < 1e-8 * run.energy.exchanged
    assert run.positions[:, :, 2].min() < 0.0 < run.positions[-1, :, 2].max()  # it has landed
    path.write_text(comment + built_in)
    assert len(files.check(path).x0) == 1600
    path.write_text(changed)
    cloth = files.read(path, resolution=11)
    assert own_gravity(cloth) == 1.62 and cloth.method["iterations"] == 20


def test_the_error_of_the_manual_is_the_real_one(tmp_path):
    path = tmp_path / "jelly.toml"
    path.write_text(blocks("toml")[0].replace("young", "yong"))
    with pytest.raises(InputError) as caught:
        files.check(path)
    assert f"    {caught.value}\n" in PAGE.read_text(encoding="utf-8")
