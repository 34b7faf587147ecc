"""Fields beside positions in exports, read back by the libraries of the formats."""

import numpy as np
import pytest
from recorded import dust, sheet, wobbling

import stiffly
from stiffly import InputError, Springs, System
from stiffly.meshes import cube, rope
from stiffly.recording.exports import export


def stretched(factor=1.5):
    """A rope whose last link is longer by half in the last of two frames."""
    made = wobbling(rope(4, length=3.0), frames=2)
    made.positions = np.stack([made.mesh.positions] * 2)
    along = made.mesh.positions[-1] - made.mesh.positions[-2]
    made.positions[1, -1] += (factor - 1.0) * along
    made.velocities = np.zeros_like(made.positions)
    return made


def by_hand(made):
    """Mean strain of the links at each particle: the last link's only, halved where two meet."""
    values = np.zeros(len(made.mesh.positions))
    values[-2:] = 0.25, 0.5
    return values


def test_strain_and_stress_in_npz(tmp_path):
    made = stretched()
    edges, rest = made.mesh.edges, made.mesh.positions
    stiffness = 8.0
    system = System(1.0, [Springs(edges, stiffness)], rest=rest)
    named = {"fields": ["strain", "stress"], "system": system}
    (path,) = export(made, "npz", tmp_path / "a.npz", **named)
    read = np.load(path)
    np.testing.assert_allclose(read["field_strain"], [np.zeros(len(rest)), by_hand(made)])
    link = np.linalg.norm(rest[-1] - rest[-2])
    tension = stiffness * 0.5 * link  # k times the elongation, at both ends of the link
    np.testing.assert_allclose(read["field_stress"][1][-2:], tension, rtol=1e-12)
    assert not read["field_stress"][0].any() and not read["field_stress"][1][:-2].any()


def test_stress_of_what_a_scene_in_the_making_makes(tmp_path):
    scene = stiffly.Scene("hung", duration=0.1, step=0.01)
    scene.add(stiffly.shapes.rope(2, length=1.0), stiffness=50.0, pins=[0])
    run = scene.simulate()
    (path,) = export(run, "npz", tmp_path / "a.npz", fields=["stress"], system=scene)
    longer = np.linalg.norm(run.positions[:, 1] - run.positions[:, 0], axis=1) - 1.0
    assert longer[-1] > 1e-4
    tension = np.stack([50.0 * longer] * 2, axis=1)  # at both ends
    np.testing.assert_allclose(np.load(path)["field_stress"], tension, rtol=1e-6, atol=1e-9)
    still = run.render(tmp_path / "a.png", color="stress", system=scene, size=(64, 48))
    assert still.exists()


def test_strain_in_usd_by_body(tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    made = stretched()
    (path,) = export(made, "usd", tmp_path / "a.usda", fields=["strain"])
    stage = Usd.Stage.Open(str(path))
    lines = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/World/Lines"))
    which = np.array(lines.GetPrimvar("particle").Get())
    strain = lines.GetPrimvar("strain")
    assert strain.GetInterpolation() == "vertex"
    np.testing.assert_allclose(np.array(strain.Get(1)), by_hand(made)[which], rtol=1e-6)
    assert not np.array(strain.Get(0)).any()


def test_strain_in_vtkhdf_and_ply(tmp_path):
    hdf = pytest.importorskip("vtkmodules.vtkIOHDF")
    to_numpy = pytest.importorskip("vtkmodules.util.numpy_support").vtk_to_numpy
    made = stretched()
    (path,) = export(made, "vtkhdf", tmp_path / "a.vtkhdf", fields=["strain"])
    reader = hdf.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.SetStep(1)
    reader.Update()
    values = to_numpy(reader.GetOutput().GetPointData().GetArray("strain"))
    np.testing.assert_allclose(values, by_hand(made), rtol=1e-6, atol=1e-12)
    ply = export(made, "ply", tmp_path / "frames", fields=["strain"])[1].read_bytes()
    header, body = ply.split(b"end_header\n", 1)
    columns = header.count(b"property float")
    count = len(made.mesh.positions)
    rows = np.frombuffer(body, "<f4", columns * count).reshape(count, columns)
    assert b"property float strain\n" in header
    np.testing.assert_allclose(rows[:, -1], by_hand(made), rtol=1e-6, atol=1e-12)


def test_contact_force_as_it_was_recorded(tmp_path):
    from stiffly import shapes

    scene = stiffly.Scene("drop", duration=0.2, step=0.005)
    scene.add(shapes.cube(2, side=0.5), young=1e5, position=(0, 0, 0.0))
    scene.floor()
    run = scene.simulate(out=tmp_path / "run")
    (path,) = run.export("npz", tmp_path / "a.npz", fields=["contact-force"])
    force = np.load(path)["field_contact-force"]
    assert force.shape == run.positions.shape[:2]
    np.testing.assert_allclose(force, run.fields["contact-force"][:])
    assert force.max() > 0.0


@pytest.mark.parametrize(
    "make, to, options, words",
    [
        (sheet, "npz", {"fields": ["strian"]}, "unknown field strian: did you mean strain"),
        (sheet, "gltf", {"fields": ["strain"]}, "gltf files hold no fields: export to usd"),
        (sheet, "npz", {"fields": ["stress"]}, "stress needs what moved"),
        (sheet, "npz", {"fields": ["contact-force"]}, "nothing was touched in this run"),
        (dust, "npz", {"fields": ["strain"]}, "strain needs the edges of a mesh"),
    ],
)
def test_fields_that_are_not_there(make, to, options, words, tmp_path):
    with pytest.raises(InputError, match=words):
        export(make(), to, tmp_path / f"a.{to}", **options)
    assert list(tmp_path.iterdir()) == []


def test_solids_have_strain_at_every_vertex(tmp_path):
    """A cube that grows by a tenth has that strain all over."""
    made = wobbling(cube(2), frames=2)
    made.positions = np.stack([made.mesh.positions, 1.1 * made.mesh.positions])
    (path,) = export(made, "npz", tmp_path / "a.npz", fields=["strain"])
    np.testing.assert_allclose(np.load(path)["field_strain"][1], 0.1, rtol=1e-9)
