"""Scenes of Michels, Sobottka, Weber 2014: sizes against the paper, files, wrong input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stiffly import InputError, scenes
from stiffly.meshes import creature, write_mesh
from stiffly.parts.molecules import helix_molecule

NAMES = (
    "pylon", "dome", "squats", "dragon", "twisting-beam", "tori", "rope", "foil", "steel-sphere",
    "tower", "molecule",
)  # fmt: skip
# particles and springs of the papers; None: not printed
PAPER = {
    "pylon": (278, 680),
    "dome": (930, 4488),
    "squats": (14038, None),
    "twisting-beam": (650, 3481),
    "tori": (3 * 689, 3 * 2500),
    "rope": (80, 79),
    "foil": (100, 502),
    "steel-sphere": (954, 2000),
    "tower": (5000, None),
    "molecule": (1732, None),
}


@pytest.mark.parametrize("name", PAPER)
def test_full_size_is_near_the_papers(name):
    scene = scenes.load(name)
    particles, springs = PAPER[name]
    assert scene.mesh is not None
    assert len(scene.x0) == pytest.approx(particles, rel=0.01)
    assert springs is None or len(scene.mesh.edges) == pytest.approx(springs, rel=0.04)
    assert len(scene.mesh.positions) == len(scene.x0)
    system, start = scene.system.bind(scene.x0, scene.v0)
    assert np.isfinite(system.force(start)).all()


@pytest.mark.slow
def test_the_full_dragon_is_near_the_papers():
    scene = scenes.load("dragon")
    assert len(scene.x0) == pytest.approx(150_000, rel=0.03)
    system, start = scene.system.bind(scene.x0, scene.v0)
    assert np.isfinite(system.force(start)).all()


@pytest.mark.parametrize("name", ["squats", "dragon"])
def test_a_mesh_file_takes_the_place_of_the_scan(name, tmp_path):
    path = tmp_path / "statue.vtk"
    body = creature(400, shape="hippo", height=2.0)
    write_mesh(path, body)
    scene = scenes.load(name, mesh=str(path))
    assert len(scene.x0) == len(body.positions) and "statue.vtk" in scene.note
    assert len(scene.system.fixed) > 0 and np.all(scene.x0[scene.system.fixed, 2] < 1.0)
    assert "stands in" in scenes.load(name, small=True).note


def test_a_pdb_file_takes_the_place_of_the_helices(tmp_path):
    found = helix_molecule(40, 1)
    lines = [
        f"ATOM  {i + 1:5d}  {name.split('/')[-1]:<3s} ALA A{i // 5 + 1:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {element}"
        for i, (name, element, (x, y, z)) in enumerate(
            zip(found.names, found.elements, found.positions, strict=True)
        )
    ]
    path = tmp_path / "helix.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    scene = scenes.load("molecule", pdb=str(path))
    assert scene.mesh is not None
    assert np.allclose(scene.x0, found.positions, atol=1e-3) and "helix.pdb" in scene.note
    assert np.array_equal(scene.mesh.edges, np.unique(np.sort(found.bonds, axis=1), axis=0))


SAMPLE = Path(__file__).parents[1] / "examples" / "helix.pdb"


def test_the_sample_molecule_is_whole_and_its_atoms_have_elements():
    scene = scenes.load("molecule", pdb=str(SAMPLE))
    assert len(scene.x0) == 60 and "helix.pdb" in scene.note
    sets = scene.mesh.vertex_sets
    # twelve alanines: three carbons, a nitrogen, an oxygen each
    assert {name: len(rows) for name, rows in sets.items()} == {
        "element C": 36, "element N": 12, "element O": 12,
    }  # fmt: skip
    bonds = np.linalg.norm(np.diff(scene.x0[scene.mesh.edges], axis=1)[:, 0], axis=1)
    assert len(bonds) == 59 and bonds.min() > 1.2 and bonds.max() < 1.6


def test_missing_atoms_are_named_in_one_line(tmp_path):
    lines = SAMPLE.read_text().splitlines()
    path = tmp_path / "part.pdb"
    gone = {("CB", "3"), ("O", "7")}
    kept = [line for line in lines if (line[12:16].strip(), line[22:26].strip()) not in gone]
    path.write_text("\n".join(kept))
    with pytest.raises(InputError, match=r"A/ALA 3 lacks CB \(and 1 others") as caught:
        scenes.load("molecule", pdb=str(path))
    assert "\n" not in str(caught.value) and "incomplete=true" in str(caught.value)
    assert len(scenes.load("molecule", pdb=str(path), incomplete=True).x0) == 58


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("pylon", {"stiffness": -1.0}, "pylon stiffness = -1.0: it must be positive"),
        ("pylon", {"panels": 2}, "panels = 2"),
        ("dome", {"border": 0.0}, "dome border"),
        ("squats", {"shape": "armadillo"}, "unknown creature"),
        ("squats", {"vertices": 1.5}, "whole number"),
        ("squats", {"mesh": "nowhere.obj"}, "nowhere.obj"),
        ("dragon", {"law": "quadratic", "vertices": 1500}, "law 'quadratic'"),
        ("dragon", {"vertices": 500}, "too coarse"),
        ("twisting-beam", {"turn": 1e4}, "turn"),
        ("twisting-beam", {"across": 1}, "across"),
        ("tori", {"stiffness": [1e5, -1.0]}, "list of positive numbers"),
        ("tori", {"stiffness": 1e5}, "list of positive numbers"),
        ("tori", {"hold": "glue"}, "ties"),
        ("rope", {"strain": 0.0}, "rope strain"),
        ("rope", {"angle": 120.0}, "angle"),
        ("foil", {"resolution": 1}, "foil resolution = 1"),
        ("steel-sphere", {"drop": -0.1}, "drop"),
        ("tower", {"model": "linaer"}, "did you mean linear"),
        ("tower", {"damping": -1.0}, "damping"),
        ("molecule", {"atoms": 0}, "atoms"),
        ("molecule", {"pdb": "nowhere.pdb"}, "no such file"),
        ("molecule", {"angles": -5.0}, "angle"),
        ("rope", {"particles": 1}, "rope particles = 1"),
        ("dome", {"around": 2.5}, "dome around = 2.5"),
        ("rope", {"links": 3}, "unknown parameter of rope"),
    ],
)
def test_wrong_parameters_are_named(name, wrong, says):
    with pytest.raises(InputError) as caught:
        scenes.load(name, **wrong)
    message = str(caught.value)
    assert says in message and "\n" not in message
