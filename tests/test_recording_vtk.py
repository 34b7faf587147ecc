"""ParaView's own reader opens a recording: finished, growing, and after a kill."""

import gzip
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from runs_to_record import LONG, in_process, jelly, kill_after, pendulums, simulate, wait_for

import stiffly
from stiffly import meshes, shapes
from stiffly.recording.exports import export
from stiffly.recording.layout import Plan, create, extend, named, open_file
from stiffly.scenes import Scene

# `import vtk` would load all of it, in every process that collects tests
hdf = pytest.importorskip("vtkmodules.vtkIOHDF")
pipeline = pytest.importorskip("vtkmodules.vtkCommonExecutionModel")
numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")

TET, TRIANGLE, LINE, VERTEX = 10, 5, 3, 1
OLDER = Path(__file__).parent / "recording_of_format_2.vtkhdf.gz"


class Reader:
    """A vtkHDFReader of a recording or a file: times [s], a frame's points, velocities, cells."""

    def __init__(self, folder):
        self.reader = hdf.vtkHDFReader()
        path = folder / "recording.vtkhdf" if folder.is_dir() else folder
        self.reader.SetFileName(str(path))
        self.reader.UpdateInformation()
        key = pipeline.vtkStreamingDemandDrivenPipeline.TIME_STEPS()
        # a file of one step is not one that changes with time, for VTK
        self.times = self.reader.GetOutputInformation(0).Get(key) or (0.0,)

    def frame(self, k):
        self.reader.SetStep(k)
        self.reader.Update()
        grid = self.reader.GetOutput()
        to_numpy = numpy_support.vtk_to_numpy
        points = to_numpy(grid.GetPoints().GetData())
        velocity = grid.GetPointData().GetArray("velocity")
        kinds = {grid.GetCellType(i) for i in range(grid.GetNumberOfCells())}
        cells = to_numpy(grid.GetCells().GetConnectivityArray())
        return points, None if velocity is None else to_numpy(velocity), kinds, cells


def counted(grid):
    """How many cells there are of each kind and body, or None without bodies."""
    body = grid.GetCellData().GetArray("body")
    count = grid.GetNumberOfCells()
    of = [None] * count if body is None else [int(body.GetValue(i)) for i in range(count)]
    return Counter((grid.GetCellType(i), of[i]) for i in range(count))


def as_scene(mesh, **kinds):
    """Springs along a mesh, of which only some kinds of cells are told."""
    told = meshes.Mesh(mesh.positions, mesh.edges, **kinds)
    system = stiffly.System(1e-3, [stiffly.Springs(mesh.edges, 10.0)], rest=mesh.positions)
    v = np.cross([0.0, 0.0, 1.0], mesh.positions)
    return Scene("cells", "", "", system, mesh.positions, v, 1e-4, 5e-4, "verlet", told, every=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_frame_is_read_back(dtype, tmp_path):
    recording = simulate(jelly(integrator="bdf2"), out=tmp_path / "run", dtype=dtype)
    reader = Reader(tmp_path / "run")
    assert reader.times == tuple(recording.times)
    for k in range(len(recording)):
        points, velocity, kinds, cells = reader.frame(k)
        np.testing.assert_array_equal(points, recording.positions[k])
        np.testing.assert_array_equal(velocity, recording.velocities[k])
        assert points.dtype == dtype
        assert kinds == {TET}  # what the parts of a system are made of
        np.testing.assert_array_equal(np.reshape(cells, (-1, 4)), recording.mesh.tets)


CUBE, CLOTH = meshes.cube(2), meshes.cloth(4, 4, spacing=0.1)


@pytest.mark.parametrize(
    "scene, kind, rows",
    [
        (as_scene(CUBE, tets=CUBE.tets, triangles=CUBE.triangles), TET, CUBE.tets),
        (as_scene(CLOTH, triangles=CLOTH.triangles), TRIANGLE, CLOTH.triangles),
        (as_scene(meshes.rope(6)), LINE, meshes.rope(6).edges),
    ],
    ids=["tets", "triangles", "edges"],
)
def test_cells_are_the_largest_kind_that_the_mesh_has(scene, kind, rows, tmp_path):
    recording = stiffly.simulate(scene, out=tmp_path / "run", keep_velocities=False)
    points, velocity, kinds, cells = Reader(tmp_path / "run").frame(3)
    assert kinds == {kind} and velocity is None
    np.testing.assert_array_equal(cells, rows.ravel())
    np.testing.assert_array_equal(points, recording.positions[3])


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A solid, a cloth, a rope and two grains, which fall onto a floor; the run, and its folder."""
    folder = tmp_path_factory.mktemp("several") / "run"
    scene = stiffly.Scene("several", duration=0.06, step=0.005, every=0.01)
    scene.add(shapes.cube(2, side=0.5), young=1e5, name="a box", position=(0, 0, 0.251))
    scene.add(shapes.rope(6, start=(2, 0, 1)), name="röpe", pins=[0])
    scene.add(shapes.cloth(4, 5), name="cloth", position=(0, 3, 1), pins=[0])
    grains = shapes.particles([[5, 0, 1], [6, 0, 1]])
    scene.add(grains, name="grains", elasticity="none", mass=0.1)
    scene.floor()
    return scene.simulate(out=folder, dtype="float64"), folder


# 2 x 2 x 2 cells of five tets each; 5 links; 3 x 4 squares of two triangles; two grains
WITH_TETS = {(TET, 0): 40, (LINE, 1): 5, (TRIANGLE, 2): 24, (VERTEX, 3): 2}
SURFACES = {(TRIANGLE, 0): 48, (LINE, 1): 5, (TRIANGLE, 2): 24, (VERTEX, 3): 2}  # 6 x 4 x 2 outside


def test_every_body_has_its_own_kind_of_cells(several, tmp_path):
    run, folder = several
    (path,) = export(run, "vtkhdf", tmp_path / "several.vtkhdf")
    for reader, cells in ((Reader(folder), WITH_TETS), (Reader(path), SURFACES)):
        for k in (0, len(run) - 1):
            points, velocity, _, _ = reader.frame(k)
            np.testing.assert_array_equal(points, run.positions[k])
            np.testing.assert_array_equal(velocity, run.velocities[k])
            grid = reader.reader.GetOutput()
            assert counted(grid) == cells
            names = grid.GetFieldData().GetAbstractArray("bodies").GetValue(0)
            assert names == "0 a box, 1 röpe, 2 cloth, 3 grains"


def test_the_force_of_contact_lies_on_the_points(several):
    run, folder = several
    reader, forces = Reader(folder), run.fields["contact-force"]
    assert forces.shape == run.positions.shape[:2] and np.max(forces) > 0.0
    for k in range(len(run)):
        reader.frame(k)
        array = reader.reader.GetOutput().GetPointData().GetArray("contact-force")
        np.testing.assert_array_equal(numpy_support.vtk_to_numpy(array), forces[k])


def test_fields_of_any_name_have_a_place(tmp_path):
    """Names that are paths, taken, or alike; one has no number for each of the three particles."""
    names = ("velocity", "a/b", "a-b", "..", "own", "few")
    fields = {name: 2 if name == "few" else 3 for name in names}
    times = np.array([0.0, 0.1])
    create(tmp_path / "a.vtkhdf", Plan(times, (3, 3), "float64", True, (), None, {}, fields))
    with open_file(tmp_path / "a.vtkhdf") as file:
        data, own = file["VTKHDF/PointData"], named(file["stiffly/fields"])
        assert tuple(own) == names
        assert sorted(data) == sorted(["velocity", "velocity'", "a-b", "a-b'", "field", "own"])
        steps = file["VTKHDF/Steps/PointDataOffsets"]
        assert sorted(steps) == sorted(data) and all(steps[n][1] == 3 for n in steps)
        assert data["velocity"].shape == (6, 3) and own["velocity"] == data["velocity'"]


def test_recordings_whose_fields_lay_elsewhere_are_read_and_made_longer(tmp_path):
    """The jelly of one cell, written before fields were data of points."""
    expected, here = simulate(jelly(cells=1, duration=0.1)), tmp_path / "recording.vtkhdf"
    here.write_bytes(gzip.decompress(OLDER.read_bytes()))
    old = stiffly.Recording(tmp_path)
    assert len(old) == old.of_frames == len(expected) and old.damaged() == []
    np.testing.assert_allclose(old.positions[:], expected.positions[:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        old.fields["contact-force"][:], expected.fields["contact-force"][:], rtol=1e-6, atol=1e-6
    )
    plan = planned(old)
    extend(here, plan, len(old), old.provenance["run"])
    longer = stiffly.Recording(tmp_path)
    assert len(longer) == len(old) and longer.of_frames == len(plan.times)
    assert longer.damaged() == []
    np.testing.assert_array_equal(longer.positions[:], old.positions[:])
    force = longer.fields["contact-force"]
    np.testing.assert_array_equal(force[:], old.fields["contact-force"][:])


def planned(old):
    """Of a run twice as long."""
    times = np.linspace(0.0, 2.0 * old.times[-1], 2 * len(old) - 1)
    origin = {"provenance": np.bytes_(json.dumps(old.provenance))}
    fields = {name: values.shape[1] for name, values in old.fields.items()}
    parts = tuple(old.energy.parts)
    return Plan(times, old.positions.shape[1:], "float64", True, parts, old.mesh, origin, fields)


def test_coordinates_are_a_graph(tmp_path):
    recording = simulate(pendulums(), out=tmp_path / "run", dtype="float64")
    points, velocity, kinds, _ = Reader(tmp_path / "run").frame(4)
    np.testing.assert_array_equal(points[:, 0], [0.0, 1.0])
    np.testing.assert_array_equal(points[:, 1], recording.positions[4])
    np.testing.assert_array_equal(velocity[:, 1], recording.velocities[4])
    assert not points[:, 2].any() and not velocity[:, [0, 2]].any()
    assert kinds == {LINE}


def test_a_growing_file_and_a_killed_one(tmp_path):
    """Another process writes; ParaView is told twice a second here, and what it saw stays."""
    folder = tmp_path / "run"
    child = in_process(
        "from stiffly.recording import writer; writer.PUBLISH = 0.5\n"
        f"runs_to_record.begin('exprb42', {str(folder)!r})"
    )
    try:
        wait_for(folder / "recording.vtkhdf", child)
        first = Reader(folder)
        assert len(first.times) >= 1
        while len(growing := Reader(folder).times) < len(first.times) + 5:
            if child.poll() is not None:  # it dies before its end: a slow reader has seen less
                break
            time.sleep(0.05)
        seen = stiffly.Recording(folder)
        assert not seen.complete and len(seen) >= len(growing)
    finally:
        kill_after(child, 0.0)
    left, reader = stiffly.Recording(folder), Reader(folder)
    assert len(growing) <= len(reader.times) <= len(left)
    reference = simulate(LONG["exprb42"](), duration=float(left.times[-1]))
    np.testing.assert_array_equal(left.times, reference.times)
    np.testing.assert_array_equal(left.positions, reference.positions)
    np.testing.assert_array_equal(left.energy.total, reference.energy.total)
    last = len(reader.times) - 1
    np.testing.assert_array_equal(reader.frame(last)[0], reference.positions[last])
    assert reader.times == tuple(reference.times[: last + 1])
