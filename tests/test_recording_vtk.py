"""ParaView's own reader opens a recording: finished, growing, and after a kill."""

import time

import numpy as np
import pytest
from runs_to_record import LONG, in_process, jelly, kill_after, pendulums, simulate, wait_for

import stiffly
from stiffly import meshes
from stiffly.scenes import Scene

# `import vtk` would load all of it, in every process that collects tests
hdf = pytest.importorskip("vtkmodules.vtkIOHDF")
pipeline = pytest.importorskip("vtkmodules.vtkCommonExecutionModel")
numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")

TET, TRIANGLE, LINE, VERTEX = 10, 5, 3, 1


class Reader:
    """A vtkHDFReader: times [s], and a frame's points, velocities and cells."""

    def __init__(self, folder):
        self.reader = hdf.vtkHDFReader()
        self.reader.SetFileName(str(folder / "recording.vtkhdf"))
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
