"""Triangles that face the wrong way or have no area: named by validate, mended by repaired."""

from dataclasses import replace

import numpy as np
import pytest

from stiffly.errors import InputError, StiffWarning
from stiffly.meshes import Mesh, beam, cloth, read_mesh, repaired, shell, sphere, validate
from stiffly.meshes.mesh import tet_surface
from stiffly.meshes.topology import require_closed
from stiffly.meshes.validate import pieces

NO_EDGES = np.empty((0, 2), int)


def surface(positions, triangles):
    return Mesh(np.asarray(positions, float), NO_EDGES, triangles=np.asarray(triangles))


def volume_inside(mesh):
    a, b, c = (mesh.positions[mesh.triangles[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def ball(radius=1.0, centre=(0.0, 0.0, 0.0)):
    mesh = sphere(4, 6, radius=radius)
    return surface(mesh.positions + centre, mesh.triangles)


def both(one, other):
    triangles = np.concatenate([one.triangles, other.triangles + len(one.positions)])
    return surface(np.concatenate([one.positions, other.positions]), triangles)


def turned(mesh, rows=slice(None)):
    triangles = mesh.triangles.copy()
    triangles[rows] = triangles[rows][:, ::-1]
    return replace(mesh, triangles=triangles)


def test_a_surface_inside_out_is_named_and_turned():
    wrong = turned(ball())
    message = (
        rf"triangle 0 \(.*\), counted from 0, faces inwards \(volume {volume_inside(wrong):.3g}"
    )
    with pytest.raises(InputError, match=message):
        validate(wrong)
    with pytest.warns(StiffWarning, match="turned 1 closed surface outwards"):
        fixed = repaired(wrong)
    assert volume_inside(fixed) == pytest.approx(volume_inside(ball()))


@pytest.mark.parametrize("make", [ball, lambda: cloth(4, 5)], ids=["closed", "open"])
def test_one_flipped_triangle_is_named_and_turned(make):
    mesh = make()
    wrong = turned(mesh, [7])
    with pytest.raises(InputError, match=r"triangle 7 \(.*runs against its neighbours \(1 such\)"):
        validate(wrong)
    with pytest.warns(StiffWarning, match="turned 1 triangle the way of the neighbours"):
        fixed = repaired(wrong)
    np.testing.assert_array_equal(fixed.triangles[7], wrong.triangles[7][::-1])
    np.testing.assert_array_equal(fixed.triangles, mesh.triangles)


def test_random_turns_are_undone():
    rng = np.random.default_rng(4)
    for _ in range(10):
        mesh = both(ball(), ball(0.5, (3.0, 0, 0)))
        wrong = turned(mesh, rng.random(len(mesh.triangles)) < 0.5)
        with pytest.warns(StiffWarning):
            fixed = repaired(wrong)
        require_closed("balls", fixed.triangles)
        assert volume_inside(fixed) == pytest.approx(volume_inside(mesh))


def test_each_separate_body_is_looked_at():
    first = len(ball().triangles)
    with pytest.raises(InputError, match=rf"triangle {first} .* faces inwards"):
        validate(both(ball(), turned(ball(0.5, (3.0, 0, 0)))))


def test_cavities_face_inwards_by_right():
    hollow = both(ball(), turned(ball(0.5)))
    validate(hollow)
    assert volume_inside(hollow) == pytest.approx((1.0 - 0.125) * volume_inside(ball()))
    with pytest.warns(StiffWarning, match="turned 2 closed surfaces"):
        fixed = repaired(turned(hollow))
    assert volume_inside(fixed) == pytest.approx(volume_inside(hollow))


def test_one_sided_strips_are_left_alone():
    """A Moebius strip of ten squares has no way that all its triangles could run."""
    angle = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)
    middle = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    across = np.cos(angle / 2)[:, None] * middle + np.sin(angle / 2)[:, None] * [0.0, 0.0, 1.0]
    k = np.arange(9)
    inner = np.stack([k, k + 10, k + 1, k + 1, k + 10, k + 11], axis=1).reshape(-1, 3)
    strip = surface(
        np.concatenate([middle - 0.2 * across, middle + 0.2 * across]),
        np.concatenate([inner, [[9, 19, 10], [10, 19, 0]]]),
    )
    validate(strip)
    found = pieces(strip.triangles)
    assert not found.against.any() and not found.closed.any() and found.piece.max() == 0


def test_boundary_triangles_of_tets_may_face_anywhere(tmp_path):
    """Mesh generators write them as they come; the tets say where outside is."""
    import meshio

    solid = beam(3, (2, 2))
    triangles = turned(solid, np.arange(0, len(solid.triangles), 2)).triangles
    cells = [("tetra", solid.tets), ("triangle", triangles)]
    meshio.Mesh(solid.positions, cells).write(tmp_path / "beam.vtk")
    read = read_mesh(tmp_path / "beam.vtk")
    np.testing.assert_array_equal(read.triangles, tet_surface(solid.tets))


def test_elements_with_a_vertex_twice_are_dropped():
    mesh = ball()
    a, b, c = mesh.triangles[0]
    more = np.concatenate([[[a, b, b]], mesh.triangles, [[c, c, c]]])
    wrong = Mesh(
        mesh.positions,
        np.array([[0, 0], [0, 1], [2, 2], [1, 2]]),
        triangles=more,
        edge_groups={"x": np.array([0, 1, 3])},
    )
    expected = "dropped 2 edges with a vertex twice, dropped 2 triangles with a vertex twice"
    with pytest.warns(StiffWarning, match=expected):
        fixed = repaired(wrong)
    np.testing.assert_array_equal(fixed.triangles, mesh.triangles)
    np.testing.assert_array_equal(fixed.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(fixed.edge_groups["x"], [0, 1])


def test_nothing_left_is_said():
    with pytest.raises(
        InputError, match=r"nothing is left once repaired \(dropped 1 triangle with"
    ):
        repaired(surface(np.eye(3), [[0, 1, 1]]))


# A square 0-1-2-3 with vertex 4 in the middle of its side 0-1.
POINTS = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0, 0]]
ABOVE = [[4, 1, 2], [4, 2, 3], [4, 3, 0]]


def test_triangles_without_area_on_a_border_are_dropped():
    wrong = surface(POINTS, [*ABOVE, [0, 1, 4]])
    with pytest.raises(InputError, match=r"triangle 3 \(0-1-4\), counted from 0, has no area"):
        validate(wrong)
    with pytest.warns(StiffWarning, match="dropped 1 triangle without area"):
        np.testing.assert_array_equal(repaired(wrong).triangles, ABOVE)


def test_triangles_without_area_that_join_others_stay_and_are_named():
    """Dropping it would tear the lower triangle off."""
    wrong = surface([*POINTS, [0.5, -1.0, 0]], [*ABOVE, [0, 1, 4], [0, 5, 1]])
    with pytest.raises(InputError, match=r"triangle 3 \(0-1-4\).* has no area: merge"):
        repaired(wrong)


def test_shells_of_the_library_pass_as_they_are():
    mesh = shell(ball().positions, ball().triangles)
    fixed = repaired(mesh)  # a warning would be an error
    np.testing.assert_array_equal(fixed.triangles, mesh.triangles)
