"""What a recording holds: the frames of a run in memory, its ledger, its origin, for any reader."""

import json
import struct

import h5py
import numpy as np
import pytest
from runs_to_record import CASES, assert_same, block, cloth, jelly, pendulums, simulate, spinner

import stiffly
from stiffly import meshes
from stiffly.cli import main
from stiffly.collisions import Hemisphere, Plane, Sphere, TriangleMesh, rotation
from stiffly.errors import Diverged, InputError
from stiffly.recording import writer
from stiffly.recording.exports import export
from stiffly.recording.notes import FrameLog
from stiffly.scenes import Scene

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")  # rough steps


def scene(case, mesh=None, **more):
    system, x0, v0, options = case
    v0 = np.zeros(np.shape(x0)) if v0 is None else v0
    return Scene(
        "trial", "a trial", "nowhere", system, x0, v0, options["step"], options["duration"],
        options.get("integrator", "exprb42"), mesh, options["every"], **more,
    )  # fmt: skip


# ------------------------------------------------------------------ the same as in memory


@pytest.mark.parametrize("name", ["exprb42", "stabilised", "second order", "bdf2 contact friction"])
def test_holds_what_a_run_in_memory_holds(name, tmp_path):
    run = simulate(CASES[name]())
    recording = simulate(CASES[name](), out=tmp_path / "run", dtype="float64")
    assert isinstance(recording, stiffly.Recording)
    again = stiffly.Recording(tmp_path / "run")
    for found in (recording, again):
        assert_same(found, run)
        assert (found.integrator, found.step) == (run.integrator, run.step)
        assert found.energy.summary() == run.energy.summary()
        assert found.complete and found.failure is None
        assert len(found) == len(run.times)
        assert found.positions.flags.aligned


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["verlet", "second order", "bdf2 contact friction"])
def test_large_frames_are_written_beside_the_steps_and_hold_the_same(
    name, dtype, tmp_path, monkeypatch
):
    """As if all of them were large."""
    at_once = simulate(CASES[name](), out=tmp_path / "one", dtype=dtype)
    monkeypatch.setattr(writer, "AT_ONCE", 0)
    beside = simulate(CASES[name](), out=tmp_path / "two", dtype=dtype)
    assert_same(beside, at_once)
    assert [p for p in beside.fields] == [p for p in at_once.fields]
    for field, values in at_once.fields.items():
        np.testing.assert_array_equal(beside.fields[field], values)
    assert main(["check", str(tmp_path / "two")]) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_are_rounded_once(dtype, tmp_path):
    run = simulate(block())
    recording = simulate(block(), out=tmp_path / "run", dtype=dtype)
    assert recording.positions.dtype == recording.velocities.dtype == dtype
    np.testing.assert_array_equal(recording.positions, run.positions.astype(dtype))
    np.testing.assert_array_equal(recording.velocities, run.velocities.astype(dtype))
    np.testing.assert_array_equal(recording.energy.total, run.energy.total)


def test_velocities_can_be_left_out(tmp_path):
    sizes = []
    for keep in (True, False):
        recording = simulate(block(), out=tmp_path / str(keep), keep_velocities=keep)
        assert (recording.velocities is not None) == keep
        sizes.append((tmp_path / str(keep) / "recording.vtkhdf").stat().st_size)
    frames, particles = recording.positions.shape[:2]
    assert sizes[0] - sizes[1] > frames * particles * 12


def test_frames_are_read_only(tmp_path):
    recording = simulate(pendulums(), out=tmp_path / "run")
    for frames in (recording.positions, recording.positions[0], recording.positions[:]):
        with pytest.raises(ValueError, match="read-only"):
            frames[0] = 1.0


def test_default_frames_are_the_scene_s(tmp_path):
    told = scene(pendulums())
    assert len(stiffly.simulate(told).times) == 11
    assert len(stiffly.simulate(told, out=tmp_path / "run").times) == 11
    assert len(stiffly.simulate(told, every=0.25).times) == 5


# ------------------------------------------------------------------ numbers per frame


def test_diagnostics_sum_up_the_steps_of_each_frame(tmp_path):
    """Against those of the same run in memory, which has one value for every step."""
    case = spinner(integrator="stabilised")
    run = simulate(case)
    found = simulate(case, out=tmp_path / "run").diagnostics
    np.testing.assert_array_equal(found["t"], run.times)
    steps = run.diagnostics
    h = np.diff(steps["t"], prepend=0.0)
    assert set(steps) <= set(found)
    assert np.isnan(found["alpha"][0]) and found["steps"][0] == 0
    for k in range(1, len(run.times)):
        these = (steps["t"] > run.times[k - 1]) & (steps["t"] <= run.times[k])
        assert these.any()
        assert found["steps"][k] - found["steps"][k - 1] == these.sum()
        assert found["largest_step"][k] == pytest.approx(h[these].max(), rel=1e-12)
        assert found["smallest_step"][k] == pytest.approx(h[these].min(), rel=1e-12)
        assert found["alpha"][k] == pytest.approx(steps["alpha"][these].mean(), rel=1e-12)
        error = steps["energy_error"][these]
        assert found["energy_error"][k] == error[np.abs(error).argmax()]
    for count in ("force_evaluations", "factorizations", "newton_iterations"):
        assert found[count][-1] == run.stats[count] > 0
        assert (np.diff(found[count]) >= 0).all()


def test_a_number_that_comes_late_is_not_a_number_before():
    log = FrameLog()
    log.add(0.1, {"residual": 1.0, "method": "lanczos"}, 0.1)
    assert log.frame() == {"largest_step": 0.1, "smallest_step": 0.1, "residual": 1.0}
    log.add(0.2, {"alpha": 0.5, "energy_error": -3.0, "under_solved": True}, 0.1)
    log.add(0.3, {"alpha": 0.0, "energy_error": 2.0, "residual": 0.25}, 0.2)
    found = log.frame()
    assert found == {
        "largest_step": 0.2, "smallest_step": 0.1, "alpha": 0.25, "energy_error": -3.0,
        "under_solved": 1.0, "residual": 0.25,
    }  # fmt: skip
    assert log.unsolved() == (1, 1.0)


def test_adaptive_steps_are_counted(tmp_path):
    recording = simulate(CASES["pexprb43 adaptive"](), out=tmp_path / "run")
    assert recording.provenance["rtol"] == 1e-3
    assert recording.step is None
    assert recording.diagnostics["steps"][-1] == recording.stats["steps"] > 10


# ------------------------------------------------------------------ where it comes from


def test_origin_of_a_scene(tmp_path):
    told = stiffly.scenes.load("spinning-cube", cells=2, duration=0.33)
    given = {"command": ["stiffly", "run"], "toml": "# a scene\n"}
    recording = stiffly.simulate(told, out=tmp_path / "run", provenance=given)
    assert recording.name == "spinning-cube"
    origin = recording.provenance
    assert origin["parameters"] == {"cells": 2, "young": 1e5, "rate": 10.0}
    assert (origin["integrator"], origin["step"]) == ("stabilised", 0.033)
    assert origin["command"] == ["stiffly", "run"]
    assert {"python", "stiffly", "numpy", "scipy", "numba"} <= set(origin["versions"])
    assert origin["platform"] and origin["started"]
    assert "Stabilised" in origin["method"]
    assert (tmp_path / "run" / "scene.toml").read_text() == "# a scene\n"


def test_seed_and_name(tmp_path):
    told = scene(pendulums(), parameters={"seed": 7, "size": np.float64(2.0)})
    recording = stiffly.simulate(told, out=tmp_path / "run")
    assert recording.summary()["seed"] == 7
    assert recording.provenance["parameters"] == {"seed": 7, "size": 2.0}
    assert simulate(pendulums(), out=tmp_path / "other").name == "other"


def test_summary_file(tmp_path):
    recording = simulate(block(), out=tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary.pop("checksum") > 0
    assert summary == json.loads(json.dumps(recording.summary()))
    assert (summary["scene"], summary["integrator"], summary["step"]) == ("run", "midpoint", 0.005)
    assert (summary["steps"], summary["duration"], summary["frames"]) == (40, 0.2, 11)
    assert (summary["complete"], summary["failure"], summary["seed"]) == (True, None, None)
    assert {"initial", "final", "added", "dissipated", "numerical", "max_abs_drift"} <= set(
        summary["energy"]
    )
    assert {"force_evaluations", "operator_products", "factorizations"} <= set(summary["stats"])
    assert summary["versions"]["stiffly"] == stiffly.__version__
    assert summary["wall_seconds"] > 0.0
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "checkpoint.npz", "recording.vtkhdf", "summary.json",
    ]  # fmt: skip


def test_a_failure_is_told_and_its_frames_are_kept(tmp_path):
    case = block(integrator="forward-euler")
    with pytest.raises(Diverged) as caught:
        simulate(case, out=tmp_path / "run", dtype="float64")
    with pytest.raises(Diverged) as plain:
        simulate(case)
    recording, run = caught.value.run, plain.value.run
    assert isinstance(recording, stiffly.Recording)
    assert recording.failure == str(caught.value) == str(plain.value)
    assert not recording.complete
    np.testing.assert_array_equal(recording.positions, run.positions)
    assert stiffly.Recording(tmp_path / "run").failure == recording.failure
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["complete"] is False


def test_a_start_without_finite_energy_leaves_nothing(tmp_path):
    system = stiffly.SecondOrder(stiffness=np.eye(2))
    with pytest.raises(InputError, match="not finite"):
        stiffly.simulate(system, [1e300, 0.0], step=0.1, duration=1.0, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_short_forms(tmp_path):
    run = simulate(pendulums())
    recording = simulate(pendulums(), out=tmp_path / "run")
    assert repr(run).startswith("Run(exprb42, 11 frames of shape (2,)")
    assert repr(recording).startswith("Recording(run in ")
    for told in (run._repr_html_(), recording._repr_html_()):
        assert told.count("<tr>") == 1 + len(list(run.energy.rows()))
        assert "numerical error" in told and "11 frames" in told
    lines = str(run.energy).splitlines()
    names = [name for name, *_ in run.energy.rows()]
    assert [line.split("  ")[0] for line in lines] == [
        "energy [J]",
        *names,
        lines[-1].split("  ")[0],
    ]
    assert len({len(line) for line in lines}) == 1  # columns stand below each other
    assert float(lines[1].split()[-1]) == pytest.approx(run.energy.kinetic[-1], rel=1e-3)
    assert lines[-1].split()[0] == "error,"


# ------------------------------------------------------------------ mesh and colliders


def test_mesh_comes_back(tmp_path):
    mesh = meshes.cloth(4, 5, spacing=0.1)
    system = stiffly.System(1e-3, [stiffly.Springs(mesh.edges, 10.0)], rest=mesh.positions)
    case = (system, mesh.positions, None, {"step": 0.01, "duration": 0.02, "every": 0.01})
    found = stiffly.simulate(scene(case, mesh), out=tmp_path / "run").mesh
    for name in ("positions", "edges", "tets", "triangles"):
        np.testing.assert_array_equal(getattr(found, name), getattr(mesh, name))
    for name in ("edge_groups", "vertex_sets"):
        assert set(getattr(found, name)) == set(getattr(mesh, name)) != set()
        for key, rows in getattr(mesh, name).items():
            np.testing.assert_array_equal(getattr(found, name)[key], rows)


def test_a_mesh_of_something_else_is_refused(tmp_path):
    with pytest.raises(InputError, match="the mesh of trial has 8 vertices for 64 particles"):
        stiffly.simulate(scene(block(), meshes.cube(1)), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Own:
    """A shape of the user's: it cannot be described."""

    moving = local = False

    def surface(self, t, x, ahead=0.0):
        raise NotImplementedError


def test_colliders_come_back_where_they_were_at_each_frame(tmp_path):
    box = meshes.cube(1)
    turning = rotation(axis=(0, 0, 1), centre=(1, 0, 0), rate=2.0)
    shapes = (
        Plane((0, 0, -1), (0, 0, 2)),
        Sphere((0, 1, 0), 0.5, inside=True, motion=turning),
        Own(),
        Hemisphere((0, 0, 1), 0.25, (1, 0, 0)),
        TriangleMesh(box.positions, box.triangles, motion=turning),
    )
    recording = stiffly.simulate(scene(pendulums(), colliders=shapes), out=tmp_path / "run")
    found = recording.colliders
    assert [type(s).__name__ for s in found] == ["Plane", "Sphere", "Hemisphere", "TriangleMesh"]
    known = [s for s in shapes if not isinstance(s, Own)]
    for shape, back in zip(known, found, strict=True):
        assert back.moving == shape.moving
        for t in recording.times:
            a, b = shape.frame(t), back.frame(t)
            np.testing.assert_allclose(b.rotation, a.rotation, atol=1e-14)
            np.testing.assert_allclose(b.origin, a.origin, atol=1e-14)
    assert found[1].radius == 0.5 and found[1].inside
    np.testing.assert_array_equal(found[3].triangles, box.triangles)
    assert simulate(pendulums(), out=tmp_path / "none").colliders == ()


# ------------------------------------------------------------------ the file


def test_reading_runs_no_code(tmp_path):
    """Everything in the file is numbers and text: nothing in it is a Python object."""
    simulate(cloth(), out=tmp_path / "run")
    kinds = set()
    with h5py.File(tmp_path / "run" / "recording.vtkhdf") as file:
        file.visititems(lambda name, data: kinds.add(getattr(data, "dtype", np.dtype(int)).kind))
    assert kinds <= set("iufSb")


def test_reading_leaves_the_checkpoint_alone(tmp_path):
    """Nothing but `resume` opens it: a damaged one does no harm."""
    simulate(block(), out=tmp_path / "run")
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"no checkpoint at all")
    read = stiffly.Recording(tmp_path / "run")
    assert len(read.positions) == len(read.energy.total) == len(read)
    read.plot_energy(tmp_path / "ledger.png")
    export(read, "npz", tmp_path / "run.npz")


def test_the_file_has_no_checksums_and_no_marks_of_being_open(tmp_path):
    """HDF5's first superblock: a kill cannot leave it inconsistent."""
    simulate(jelly(), out=tmp_path / "run")
    head = (tmp_path / "run" / "recording.vtkhdf").read_bytes()[:9]
    assert head == b"\x89HDF\r\n\x1a\n" + struct.pack("B", 0)


def test_what_is_no_recording_is_named(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "recording.vtkhdf").write_text("hello")
    with pytest.raises(InputError, match="cannot be read"):
        stiffly.Recording(tmp_path / "text")
    (tmp_path / "other").mkdir()
    with h5py.File(tmp_path / "other" / "recording.vtkhdf", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="was not written by stiffly"):
        stiffly.Recording(tmp_path / "other")
    with pytest.raises(InputError, match="holds no recording"):
        stiffly.Recording(tmp_path)
