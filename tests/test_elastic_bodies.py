"""Meshes turned into springs."""

import numpy as np
import pytest

from stiffly import meshes
from stiffly.bodies import FaceSprings, Springs, System, cloth_springs, shell_springs, tet_springs
from stiffly.errors import InputError


def energy(parts, mesh, x):
    system, s = System(1.0, parts, rest=mesh.positions).bind(x)
    return system.energy(s)["elastic"]


def test_cloth_gives_each_group_its_stiffness():
    mesh = meshes.cloth(5, 4)
    (springs,) = cloth_springs(mesh, 1e4, 1e3, 1e2, law="cubic", yield_strain=0.2)
    assert springs.law == "cubic" and springs.yield_strain[0] == 0.2
    for name, k in (("structural", 1e4), ("shear", 1e3), ("bending", 1e2)):
        pairs = {tuple(e) for e in mesh.edges[mesh.edge_groups[name]]}
        assert pairs and pairs == {tuple(e) for e in springs.edges[springs.stiffness == k]}
    assert len(cloth_springs(mesh, None)[0].edges) == 0
    (plain,) = cloth_springs(mesh, 1e4)
    assert len(plain.edges) == len(mesh.edge_groups["structural"])
    x = mesh.positions + 0.001 * np.random.default_rng(0).standard_normal(mesh.positions.shape)
    assert energy([plain], mesh, mesh.positions) == 0.0
    assert energy([springs], mesh, x) > energy([plain], mesh, x) > 0.0


def test_shell_resists_folding_along_an_inner_edge():
    """Two triangles folded along their common side: only the spring across it is strained."""
    positions = np.array([[0.0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]])
    mesh = meshes.Mesh(positions, np.array([[0, 1]]), triangles=np.array([[0, 1, 2], [1, 0, 3]]))
    folded = positions.copy()
    folded[3] = [0, 0, 1]  # by a right angle
    expected = 0.5 * (np.sqrt(2) - 2) ** 2
    assert energy(shell_springs(mesh, 1.0, 1.0), mesh, folded) == pytest.approx(expected)
    assert energy(shell_springs(mesh, 500.0), mesh, folded) == pytest.approx(5 * expected)
    (springs,) = shell_springs(mesh, 500.0)
    assert len(springs.edges) == 6


def test_tet_springs_with_and_without_faces():
    mesh = meshes.cube(2)
    (edges,) = tet_springs(mesh, 1e2, law="cubic")
    assert isinstance(edges, Springs) and len(edges.edges) == len(mesh.edges)
    _, faces = tet_springs(mesh, 1e2, 1e8)
    assert isinstance(faces, FaceSprings) and len(faces.tets) == len(mesh.tets)
    assert energy([faces], mesh, 1.01 * mesh.positions) > 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cloth_springs(meshes.rope(3), 1.0), "no structural edges.*meshes.cloth"),
        (
            lambda: cloth_springs(meshes.textile(3, 3), 1.0, 1.0, 1.0),
            "no bending edges.*structural, shear",
        ),
        (lambda: cloth_springs(meshes.cloth(3, 3), np.nan), "structural is nan"),
        (lambda: cloth_springs(meshes.cloth(3, 3), "a"), "structural must be one number"),
        (lambda: cloth_springs(5, 1.0), "must be a Mesh, got int"),
        (lambda: shell_springs(None, 1.0), "must be a Mesh, got NoneType"),
        (lambda: tet_springs(np.ones((4, 3)), 1.0), "must be a Mesh, got ndarray"),
        (
            lambda: cloth_springs(meshes.cloth(3, 3), 1.0, lawx=1),
            "unknown spring option lawx: did you mean law?",
        ),
        (
            lambda: shell_springs(meshes.sphere(), 1.0, yieldstrain=0.1),
            "option yieldstrain: did you mean yield_strain?",
        ),
        (lambda: tet_springs(meshes.cube(2), 1.0, rest=1.0), "unknown spring option rest"),
        (lambda: shell_springs(meshes.rope(3), 1.0), "no triangles"),
        (lambda: tet_springs(meshes.cloth(3, 3), 1.0), "no tets"),
        (lambda: tet_springs(meshes.cube(2), 1.0, -1.0), "tet 0 .*negative"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
