"""Rotations of neighbourhoods from the rest shape: ropes, cloth, solids."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from stiffly.bodies import Springs, System
from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly.meshes import lattice, rope

SHAPES = {"rope": rope(6), "cloth": lattice(4, 3), "solid": lattice(3, 3, 3)}


@pytest.mark.parametrize("degrees", [0.0, 30.0, 90.0, 179.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_rigid_rotations_are_found(shape, degrees):
    mesh = SHAPES[shape]
    n = len(mesh.positions)
    system = System(np.ones(n), [Springs(mesh.edges, 1.0)], fixed=[1], rest=mesh.positions)
    for axis in ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 2.0, 3.0]):
        axis = np.array(axis) / np.linalg.norm(axis)
        turn = Rotation.from_rotvec(np.deg2rad(degrees) * axis).as_matrix()
        bound, s = system.bind(mesh.positions @ turn.T + [1.0, 2.0, 3.0])
        R = bound.rotations(s)
        assert R.shape == (n - 1, 3, 3)
        np.testing.assert_allclose(np.linalg.det(R), 1.0)
        np.testing.assert_allclose(
            R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (n - 1, 1, 1)), atol=1e-12
        )
        for row, i in enumerate(bound.free):  # the rest star becomes the current one
            ends = mesh.edges[(mesh.edges == i).any(axis=1)]
            star = np.diff(mesh.positions[ends], axis=1)[:, 0]
            np.testing.assert_allclose(star @ R[row].T, star @ turn.T, atol=1e-9)
        if shape != "rope":
            np.testing.assert_allclose(R, np.tile(turn, (n - 1, 1, 1)), atol=1e-9)


def test_rope_takes_the_smallest_rotation_even_when_reversed():
    mesh = rope(4)
    system = System(np.ones(4), [Springs(mesh.edges, 1.0)], rest=mesh.positions)
    quarter = mesh.positions[:, [1, 0, 2]]
    R = system.rotations(State(0.0, quarter.ravel(), np.zeros(12)))
    np.testing.assert_allclose(np.trace(R, axis1=1, axis2=2), 1.0, atol=1e-12)
    R = system.rotations(State(0.0, -mesh.positions.ravel(), np.zeros(12)))
    np.testing.assert_allclose(R @ [1.0, 0, 0], np.tile([-1.0, 0, 0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_mirrored_and_collapsed_stars_still_give_rotations():
    mesh = SHAPES["solid"]
    system = System(1.0, [Springs(mesh.edges, 1.0)], rest=mesh.positions)
    for x in (mesh.positions * [1.0, 1.0, -1.0], 0.0 * mesh.positions):
        R = system.rotations(State(0.0, x.ravel(), np.zeros(system.size)))
        np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_rotations_need_a_rest_shape():
    system, s = System(np.ones(2), [Springs([[0, 1]], 1.0, 1.0)]).bind(np.eye(2, 3))
    with pytest.raises(InputError, match="rest"):
        system.rotations(s)
