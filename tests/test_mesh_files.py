"""Mesh files: round trips, what is refused by name, and repairs."""

import sys

import numpy as np
import pytest

from stiffly.errors import InputError, StiffWarning
from stiffly.meshes import (
    Mesh,
    beam,
    cloth,
    pylon,
    read_mesh,
    repaired,
    rope,
    sphere,
    validate,
    write_mesh,
)
from stiffly.meshes.mesh import tet_surface
from stiffly.meshes.topology import triangle_edges

TET = np.array([[0, 1, 2, 3]])
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def tet_mesh(tets=TET, positions=CORNERS, **more):
    return Mesh(np.asarray(positions, float), np.empty((0, 2), int), np.asarray(tets), **more)


def triangle_mesh(triangles, positions=CORNERS):
    empty = np.empty((0, 2), int)
    return Mesh(np.asarray(positions, float), empty, triangles=np.asarray(triangles))


def as_set(rows):
    return {tuple(sorted(row)) for row in rows.tolist()}


@pytest.mark.parametrize("ending", ["vtk", "vtu", "msh", "mesh", "xdmf"])
def test_solids_survive_a_file(tmp_path, ending):
    if ending == "xdmf":
        pytest.importorskip("h5py")
    mesh = beam(4, (2, 3))
    write_mesh(tmp_path / f"beam.{ending}", mesh)
    read = read_mesh(tmp_path / f"beam.{ending}")
    np.testing.assert_allclose(read.positions, mesh.positions, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(read.tets, mesh.tets)
    np.testing.assert_array_equal(read.edges, mesh.edges)
    assert as_set(read.triangles) == as_set(mesh.triangles)


@pytest.mark.parametrize("ending", ["obj", "off", "ply", "stl", "vtk", "msh", "OBJ"])
def test_surfaces_survive_a_file(tmp_path, ending):
    """Vertices may come back in another order (stl has none): compare the corners."""
    mesh = sphere(3, 5, diagonals=True)
    write_mesh(tmp_path / f"sphere.{ending}", mesh)
    read = read_mesh(tmp_path / f"sphere.{ending}")
    assert len(read.positions) == len(mesh.positions)
    corners = read.positions[read.triangles].reshape(-1, 9)
    expected = mesh.positions[mesh.triangles].reshape(-1, 9)
    np.testing.assert_allclose(corners, expected, rtol=1e-6, atol=1e-8)
    assert len(read.edges) == len(mesh.edges)


@pytest.mark.parametrize("make", [rope, pylon])
def test_trusses_survive_a_file(tmp_path, make):
    mesh = make()
    write_mesh(tmp_path / "truss.vtk", mesh)
    read = read_mesh(tmp_path / "truss.vtk")
    np.testing.assert_allclose(read.positions, mesh.positions)
    assert as_set(read.edges) == as_set(mesh.edges)


def test_surface_formats_hold_the_surface_of_a_solid(tmp_path):
    mesh = beam(4, (3, 3))
    write_mesh(tmp_path / "beam.obj", mesh)
    read = read_mesh(tmp_path / "beam.obj")
    assert len(read.triangles) == len(mesh.triangles)
    assert len(read.positions) == len(np.unique(mesh.triangles)) < len(mesh.positions)
    assert len(read.tets) == 0


def obj(tmp_path, *lines, name="x.obj"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


SQUARE = ["v 0 0 0", "v 1 0 0", "v 1 1 0", "v 0 1 0"]


def test_quads_are_cut_in_two(tmp_path):
    mesh = read_mesh(obj(tmp_path, *SQUARE, "f 1 2 3 4"))
    np.testing.assert_array_equal(mesh.triangles, [[0, 1, 2], [0, 2, 3]])
    assert len(mesh.edges) == 5


def test_textures_normals_and_colours_of_obj_files_are_passed_over(tmp_path):
    corners = [f"{line} 0.5 0.5 0.5" for line in SQUARE]
    lines = [*corners, "vt 0 0", "vn 0 0 1", "vn 0 0 1", "o thing", "s off", "f 1/1/1 2/1/2 3/1/1"]
    mesh = read_mesh(obj(tmp_path, *lines, "f 1/1/1 3/1/1 4/1/1"))
    np.testing.assert_array_equal(mesh.positions[2], [1.0, 1.0, 0.0])
    assert len(mesh.triangles) == 2


def test_negative_numbers_count_back_from_the_last_vertex_above(tmp_path):
    """The same square twice, with numbers that are right only where they stand."""
    moved = ["v 0 0 5", "v 1 0 5", "v 1 1 5", "v 0 1 5"]
    back = "f -4/1 -3/1 -2/1 -1/1"
    relative = read_mesh(obj(tmp_path, *SQUARE, back, *moved, back))
    absolute = read_mesh(obj(tmp_path, *SQUARE, *moved, "f 1 2 3 4", "f 5 6 7 8"))
    np.testing.assert_array_equal(relative.positions, absolute.positions)
    np.testing.assert_array_equal(relative.triangles, absolute.triangles)


def test_lines_of_obj_files_become_edges(tmp_path):
    mesh = read_mesh(obj(tmp_path, *SQUARE, "l 1 2 3 -1"))
    np.testing.assert_array_equal(mesh.edges, [[0, 1], [1, 2], [2, 3]])
    mesh = read_mesh(obj(tmp_path, *SQUARE, "f 1 2 3", "l 3/1 4/2"))
    assert as_set(mesh.edges) == {(0, 1), (1, 2), (0, 2), (2, 3)}
    assert len(mesh.triangles) == 1


def test_stl_files_that_are_none_say_why(tmp_path):
    import meshio

    ball = sphere(3, 5)
    path = tmp_path / "ball.stl"
    meshio.Mesh(ball.positions, [("triangle", ball.triangles)]).write(path, "stl", binary=True)
    assert len(read_mesh(path).triangles) == 30
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(
        InputError, match="its 30 triangles take 1584 bytes, and it has 1000; it is "
    ):
        read_mesh(path)
    path.write_text("this is not a mesh\n" * 20)
    with pytest.raises(InputError, match=r"not a readable \.stl mesh: it is text without a facet"):
        read_mesh(path)
    path.write_text("solid x\nfacet normal 0 0 one\nouter loop\n")
    with pytest.raises(InputError, match="damaged, cut short") as caught:
        read_mesh(path)
    assert "float" not in str(caught.value)


def test_planar_meshes_lie_in_z_0(tmp_path):
    path = tmp_path / "plane.off"
    path.write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    assert read_mesh(path).positions.shape == (3, 3)
    import meshio

    meshio.Mesh(CORNERS[:3, :2], [("triangle", [[0, 1, 2]])]).write(tmp_path / "plane.xml")
    np.testing.assert_array_equal(read_mesh(tmp_path / "plane.xml").positions[:, 2], 0.0)


def test_loose_triangles_beside_tets_are_kept(tmp_path):
    positions = np.concatenate([CORNERS, [[3.0, 0, 0]]])
    mesh = tet_mesh(TET, positions, triangles=np.array([[0, 1, 2], [1, 2, 4]]))
    write_mesh(tmp_path / "both.vtk", mesh)
    read = read_mesh(tmp_path / "both.vtk")
    assert as_set(read.triangles) == as_set(tet_surface(TET)) | {(1, 2, 4)}


BAD_FILES = {
    "polygons": (
        [*SQUARE, "v 0.5 2 0", "f 1 2 3 5 4"],
        r"x.obj, line 6 \(f 1 2 3 5 4\): a polygon with 5 corners: triangulate it first",
    ),
    "out of range": (
        [*SQUARE, "f 1 2 3", "f 1 2 9"],
        r"line 6 \(f 1 2 9\): there is no vertex 9, the file has 4: correct the number",
    ),
    "index zero": (
        [*SQUARE, "f 0 1 2"],
        r"line 5 \(f 0 1 2\): there is no vertex 0, obj .* from 1",
    ),
    "too far back": (
        [*SQUARE, "f -1 -2 -5"],
        r"line 5 \(f -1 -2 -5\): -5 counts back further than the 4 vertices above",
    ),
    "two coordinates": (["v 0 0 0", "v 1 1", "f 1 2 1"], r"line 2 \(v 1 1\): .* three coordinates"),
    "no coordinate": (["v 0 0 x"], r"line 1 \(v 0 0 x\): a vertex has three coordinates"),
    "two corners": ([*SQUARE, "f 1 2"], r"line 5 \(f 1 2\): a face lists three vertex numbers"),
    "one end": ([*SQUARE, "l 1"], r"line 5 \(l 1\): a line lists two vertex numbers"),
    "twice the same corner": (
        [*SQUARE, "f 1 2 2"],
        r"triangle 0 \(0-1-1\), counted from 0, names a vertex twice: .*repair=True",
    ),
    "repeated triangle": (
        [*SQUARE, "f 1 2 3", "f 3 4 1", "f 2 3 1"],
        r"triangle 2 \(1-2-0\), counted from 0, has the vertices of triangle 0: .* repair=True",
    ),
    "unused vertex": ([*SQUARE, "f 1 2 3"], r"vertex 3, counted from 0, .* \(1 such\)"),
    "not a number": (
        ["v 0 0 nan", *SQUARE, "f 1 2 3", "f 3 4 5"],
        r"vertex 0, counted from 0, lies at \(0, 0, nan",
    ),
    "no faces": (SQUARE, "4 vertices but no edge, triangle or tet"),
    "nonsense": (["f one two three"], r"line 1 \(f one two three\): a face lists"),
    "no vertices": (["# nothing"], "has no vertices: it is empty, cut short, or"),
    "no vertices for its faces": (["f 1 2 3"], "has no vertices"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_refused_in_one_line(tmp_path, kind):
    lines, message = BAD_FILES[kind]
    with pytest.raises(InputError, match=message) as caught:
        read_mesh(obj(tmp_path, *lines))
    assert "\n" not in str(caught.value)
    assert "x.obj" in str(caught.value)


def test_what_is_no_mesh_file_is_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="does not exist"):
        read_mesh(tmp_path / "none.obj")
    with pytest.raises(InputError, match="is a folder"):
        read_mesh(tmp_path)
    (tmp_path / "empty.ply").touch()
    with pytest.raises(InputError, match=r"empty\.ply is empty"):
        read_mesh(tmp_path / "empty.ply")
    (tmp_path / "a.xyz").write_text("0 0 0")
    with pytest.raises(InputError, match=r"has \.xyz: known mesh formats are .*\.obj .*\.vtk"):
        read_mesh(tmp_path / "a.xyz")
    for ending in ("vtk", "msh", "ply", "stl", "off", "vtu", "mesh"):
        (tmp_path / f"a.{ending}").write_bytes(b"this is no mesh\n\x00\xff" * 20)
        with pytest.raises(InputError, match=rf"a\.{ending} is not a readable \.{ending} mesh"):
            read_mesh(tmp_path / f"a.{ending}")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind, corners", [("hexahedron", 8), ("tetra10", 10), ("wedge", 6)])
def test_other_elements_are_refused_by_name(tmp_path, kind, corners):
    import meshio

    points = np.random.default_rng(0).random((corners, 3))
    meshio.Mesh(points, [(kind, [list(range(corners))])]).write(tmp_path / "x.vtk")
    with pytest.raises(InputError, match=f"1 elements of type {kind} .*split them first"):
        read_mesh(tmp_path / "x.vtk")


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.obj holds triangles, and the mesh has none"):
        write_mesh(tmp_path / "rope.obj", rope())
    with pytest.raises(InputError, match="known mesh formats"):
        write_mesh(tmp_path / "rope.doc", rope())
    with pytest.raises(InputError, match="cannot be written"):
        write_mesh(tmp_path / "nowhere" / "rope.vtk", rope())


@pytest.mark.parametrize(
    "mesh, message",
    [
        (
            tet_mesh([[0, 2, 1, 3]]),
            r"tet 0 \(0-2-1-3\), counted from 0, is inverted \(volume -0.167 m\^3\)",
        ),
        (tet_mesh(TET, CORNERS * [1, 1, 0]), r"tet 0 \(0-1-2-3\), counted from 0, is flat"),
        (tet_mesh([[0, 1, 2, 3], [1, 2, 0, 3]]), "tet 1 .* has the vertices of tet 0"),
        (
            tet_mesh([[0, 1, 2, 4]]),
            r"tet 0 \(0-1-2-4\), counted from 0, names a vertex that does not exist",
        ),
        (tet_mesh(TET, np.zeros((0, 3))), "has no vertices"),
        (tet_mesh(TET, np.zeros((4, 2))), r"positions have shape \(4, 2\)"),
        (tet_mesh(TET.astype(float)), "integers"),
        (
            Mesh(CORNERS, np.array([[0, 1], [2, 3], [1, 0]])),
            r"edge 2 \(1-0\), .* has the vertices of",
        ),
        (Mesh(CORNERS, np.array([[0, 0]])), "edge 0 .* names a vertex twice"),
        (triangle_mesh([[0, 1, 2]]), "vertex 3, .* belongs to no edge"),
    ],
)
def test_bad_meshes_are_refused_in_one_line(mesh, message):
    with pytest.raises(InputError, match=message) as caught:
        validate(mesh)
    assert "\n" not in str(caught.value)


def test_repair_says_what_it_did(tmp_path):
    positions = np.concatenate([[[9.0, 9, 9]], CORNERS])
    tets = np.array([[1, 3, 2, 4], [2, 1, 3, 4]])
    edges = np.array([[1, 2], [2, 1], [3, 4]])
    mesh = Mesh(
        positions,
        edges,
        tets,
        edge_groups={"a": np.array([1, 2]), "b": np.array([0])},
        vertex_sets={"s": np.array([0, 4])},
    )
    expected = (
        "1 repeated edge, dropped 1 repeated tet, turned 1 inverted tet, dropped 1 unused ver"
    )
    with pytest.warns(StiffWarning, match=expected):
        fixed = repaired(mesh)
    validate(fixed)
    np.testing.assert_array_equal(fixed.positions, CORNERS)
    assert as_set(fixed.tets) == {(0, 1, 2, 3)}
    np.testing.assert_array_equal(fixed.edges, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(fixed.edge_groups["a"], [1])
    np.testing.assert_array_equal(fixed.edge_groups["b"], [0])
    np.testing.assert_array_equal(fixed.vertex_sets["s"], [3])


def test_repair_on_reading(tmp_path):
    path = obj(tmp_path, *SQUARE, "v 5 5 5", "f 1 2 3", "f 3 4 1", "f 2 3 1")
    with pytest.warns(StiffWarning, match=r"x\.obj: dropped 1 repeated triangle, dropped 1 unused"):
        mesh = read_mesh(path, repair=True)
    assert len(mesh.positions) == 4 and len(mesh.triangles) == 2
    np.testing.assert_array_equal(mesh.edges, triangle_edges(mesh.triangles))


def test_repair_leaves_a_sound_mesh_alone():
    mesh = cloth(4, 4)
    fixed = repaired(mesh)  # a warning would be an error
    np.testing.assert_array_equal(fixed.edges, mesh.edges)
    assert fixed.edge_groups.keys() == mesh.edge_groups.keys()


def test_repair_does_not_guess():
    with pytest.raises(InputError, match="is flat"):
        repaired(tet_mesh(TET, CORNERS * [1, 1, 0]))


def test_importing_the_room_does_not_import_meshio():
    import subprocess

    code = "import sys, stiffly.meshes; sys.exit('meshio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
