"""Files that are damaged, cut short, or no files at all: named, and never taken for the run."""

import gzip
import json
import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
from runs_to_record import assert_same, block, pendulums, simulate

import stiffly
from stiffly import Gravity, Springs, System, cli, meshes
from stiffly.errors import InputError, StiffWarning
from stiffly.recording.check import check
from stiffly.recording.layout import counter, find, open_file
from stiffly.scenes import Scene

RECORDING = "recording.vtkhdf"
OLD = Path(__file__).parent / "recording_of_format_1.vtkhdf.gz"
pytestmark = pytest.mark.filterwarnings("ignore:.*numerical error:stiffly.errors.StiffWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Eleven frames, complete."""
    folder = tmp_path_factory.mktemp("made") / "run"
    simulate(block(), out=folder, dtype="float64")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def halfway(tmp_path):
    """Five frames of eleven, as a kill leaves them; the checkpoint is of the fourth."""
    folder, kept = tmp_path / "whole", tmp_path / "halfway"

    def keep(report):
        if report.frames == 5:
            shutil.copytree(folder, kept)

    simulate(block(), out=folder, dtype="float64", checkpoint=0, progress=keep)
    return kept


def places(folder):
    with open_file(folder / RECORDING) as file:
        return find(file)


def overwrite(folder, place, data):
    with open(folder / RECORDING, "r+b") as file:
        file.seek(place)
        file.write(data)


def flip(folder, piece, frame):
    place, size = places(folder).pieces[piece]
    at = place + frame * size + 3
    overwrite(folder, at, bytes([(folder / RECORDING).read_bytes()[at] ^ 1]))


def one_line(problem):
    assert "\n" not in str(problem.value)
    return str(problem.value)


# ------------------------------------------------------------------ frames


@pytest.mark.parametrize("piece", ["points", "velocity"])
def test_a_frame_that_is_damaged_is_named_and_the_others_are_read(folder, made, piece):
    flip(folder, piece, 3)
    found, whole = stiffly.Recording(folder), stiffly.Recording(made)
    frames, expected = (
        (run.positions, run.velocities)[piece == "velocity"] for run in (found, whole)
    )
    np.testing.assert_array_equal(frames[:3], expected[:3])
    np.testing.assert_array_equal(frames[4:], expected[4:])
    for looked in (lambda: frames[3], lambda: frames[:], lambda: frames + 1, lambda: frames.max()):
        with pytest.raises(InputError, match=r"frame 3 in .* is damaged") as caught:
            looked()
        one_line(caught)
    assert found.damaged() == [3]
    assert [one.whole for one in check(folder)] == [False, False, True]


def test_frames_that_have_changed_places_are_named(folder):
    """With their checksums, which know where they belong."""
    found = places(folder)
    strides = [*found.pieces.values(), (found.sums, 4 * len(found.pieces))]
    data = (folder / RECORDING).read_bytes()
    for place, size in strides:
        for a, b in ((2, 7), (7, 2)):
            overwrite(folder, place + a * size, data[place + b * size : place + (b + 1) * size])
    with pytest.warns(StiffWarning, match="frame 2 of 11 is damaged"):
        assert stiffly.Recording(folder).damaged() == [2, 7]


def test_a_damaged_ledger_ends_the_recording_before_it(folder, made):
    flip(folder, "row", 6)
    with pytest.warns(StiffWarning, match="frame 6 of 11 is damaged"):
        found = stiffly.Recording(folder)
    assert len(found) == 6 and not found.complete and "frame 6" in found.failure
    whole = stiffly.Recording(made)
    np.testing.assert_array_equal(found.energy.total, whole.energy.total[:6])
    np.testing.assert_array_equal(found.positions, whole.positions[:6])


def test_a_damaged_counter_and_a_damaged_header_are_named(folder):
    found = places(folder)
    run = stiffly.Recording(folder).provenance["run"]
    good = (folder / RECORDING).read_bytes()
    for place, data, words in (
        (found.frames, (7).to_bytes(8, "little"), "the number of its frames"),
        (found.frames, counter(12, run), "the number of its frames"),
        (found.frames, counter(7, "another"), "the number of its frames"),
        (100, b"\xff", "its header has changed"),
        (len(good) - 30, b"\0" * 30, "its end is missing"),
    ):
        (folder / RECORDING).write_bytes(good)
        overwrite(folder, place, data)
        with pytest.raises(InputError, match=words) as caught:
            stiffly.Recording(folder)
        one_line(caught)


def test_names_of_columns_are_vouched_for_by_the_rows(folder):
    """One letter of a name that came while the run went on, and says something in every row."""
    told = stiffly.Recording(folder).diagnostics
    name = min(name for name, row in told.items() if name != "t" and not np.isnan(row).any())
    data = (folder / RECORDING).read_bytes()
    overwrite(folder, data.index(name.encode() + b"\0"), name[:1].upper().encode())
    with pytest.raises(InputError, match="damaged"):
        stiffly.Recording(folder)


def test_a_file_cut_short_behind_an_open_recording_is_an_error_of_ours(folder):
    """With mapped memory this would be the end of the process."""
    found = stiffly.Recording(folder)
    first = found.positions[0]
    os.truncate(folder / RECORDING, places(folder).pieces["points"][0] + first.nbytes)
    np.testing.assert_array_equal(found.positions[0], first)
    with pytest.raises(InputError, match=r"frame 10 in .* is damaged, or gone"):
        found.positions[-1]


def test_frames_are_arrays(folder):
    found = stiffly.Recording(folder).positions
    plain = np.array(found)
    assert found.shape == plain.shape and found.dtype == plain.dtype and len(found) == 11
    for key in (3, -1, slice(2, 9, 3), (slice(None), 0), (-1, 5), (4, slice(2), 1), [1, 3], ...):
        np.testing.assert_array_equal(found[key], plain[key])
    np.testing.assert_array_equal(found[found[:, 0, 0] == 0.0], plain)
    np.testing.assert_array_equal(found - plain, np.zeros_like(plain))
    np.testing.assert_array_equal(2.0 * found, 2.0 * plain)
    np.testing.assert_array_equal([frame.sum() for frame in found], plain.sum(axis=(1, 2)))
    assert found.max() == plain.max() and found.astype("float32").dtype == "float32"
    for index in (11, -12):
        with pytest.raises(IndexError):
            found[index]


# ------------------------------------------------------------------ summary, checkpoint, resume


def test_a_damaged_summary_is_told_and_left_aside(folder):
    path = folder / "summary.json"
    path.write_text(path.read_text().replace('"failure": null', '"failure": "none"'))
    with pytest.warns(StiffWarning, match=r"summary.json is damaged"):
        assert stiffly.Recording(folder).failure is None
    path.write_text(json.dumps(json.loads(path.read_text()) | {"failure": None}))  # laid out anew
    assert stiffly.Recording(folder).complete
    for text in ("", "[1, 2]", "{", '{"checksum": 1}'):
        path.write_text(text)
        with pytest.warns(StiffWarning, match=r"summary.json is damaged"):
            stiffly.Recording(folder)


def test_frames_after_the_checkpoint_may_be_damaged_those_before_may_not(halfway):
    flip(halfway, "points", 4)
    kept = shutil.copytree(halfway, halfway.parent / "kept")
    assert_same(stiffly.resume(halfway, block()[0]), simulate(block()))
    flip(kept, "velocity", 2)
    before = {path: path.read_bytes() for path in kept.iterdir()}
    with pytest.raises(InputError, match="frame 2 is damaged, and before the checkpoint") as caught:
        stiffly.resume(kept, block()[0])
    one_line(caught)
    assert {path: path.read_bytes() for path in kept.iterdir()} == before


def test_check_on_the_command_line(folder, halfway, capfd):
    assert cli.main(["check", str(folder)]) == 0
    said = capfd.readouterr().out
    assert "11 of 11 recorded, all whole" in said and "whole, after 11 frames" in said
    assert cli.main(["check", str(halfway)]) == 0
    said = capfd.readouterr().out
    assert "5 of 11 recorded, all whole" in said and "none: the run goes on" in said
    flip(folder, "points", 3)
    flip(folder, "points", 4)
    flip(folder, "velocity", 9)
    assert cli.main(["check", str(folder)]) == 1
    assert "frames 3 to 4, 9 are damaged" in capfd.readouterr().out
    shutil.copy(folder / "checkpoint.npz", halfway)
    assert cli.main(["check", str(halfway)]) == 1
    assert "checkpoint of another" in capfd.readouterr().out
    overwrite(halfway, places(halfway).link, b"7")
    assert cli.main(["check", str(halfway)]) == 1
    assert "ParaView is told another number" in capfd.readouterr().out
    (folder / RECORDING).unlink()
    assert cli.main(["check", str(folder)]) == 2
    said = capfd.readouterr()
    assert said.out == "" and "holds no recording" in said.err and said.err.count("\n") == 1


def test_a_damaged_run_can_be_replaced(folder):
    overwrite(folder, 100, b"\xff")
    assert simulate(pendulums(), out=folder, force=True).complete


def test_recordings_without_checksums_are_read_and_not_resumed(tmp_path):
    """Of the pendulums, stopped after six frames, written before recordings had any."""
    (tmp_path / RECORDING).write_bytes(gzip.decompress(OLD.read_bytes()))
    found, expected = stiffly.Recording(tmp_path), simulate(pendulums())
    assert len(found) == 6 and not found.checked and not found.complete
    np.testing.assert_allclose(found.positions[:], expected.positions[:6], atol=1e-12)
    np.testing.assert_allclose(found.energy.total, expected.energy.total[:6], atol=1e-12)
    assert "without checksums: by an older stiffly" in check(tmp_path)[0].text
    with pytest.raises(InputError, match="was begun with an older stiffly"):
        stiffly.resume(tmp_path, pendulums()[0])


# ------------------------------------------------------------------ what is no file


def no_file(path, kind):
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # its names are short
        socket.socket(socket.AF_UNIX).bind(path.name)
        os.chdir(here)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.skipif(os.name == "nt", reason="files of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_what_is_no_file_is_refused_and_not_waited_for(halfway, kind):
    system, whole = block()[0], shutil.copytree(halfway, halfway.parent / "kept")
    others = ["checkpoint.npz", "summary.json", "scene.toml", "checkpoint.npz.part"]
    for name in (RECORDING, *others):
        folder = shutil.copytree(whole, halfway.parent / f"{kind} {name}")
        no_file(folder / name, kind)
        with pytest.raises(InputError) as caught, pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            stiffly.resume(folder, system)
        assert name in one_line(caught)
    assert_same(stiffly.resume(halfway, system), simulate(block()))


# ------------------------------------------------------------------ names


def parts_named(*names):
    mesh = meshes.lattice(3, 3, 3, spacing=0.1)
    springs = [Springs(mesh.edges, 100.0 * (k + 1), name=name) for k, name in enumerate(names)]
    x = mesh.positions
    system = System(np.full(len(x), 0.01), [*springs, Gravity()], fixed=x[:, 0] == 0.0, rest=x)
    return system, x, None, {"step": 0.005, "duration": 0.05, "integrator": "midpoint"}


@pytest.mark.parametrize("a, b", [("s" * 90 + "1", "s" * 90 + "2"), ("Fäden " * 12, "布/%.\n")])
def test_names_of_parts_come_back_as_they_are(a, b, tmp_path):
    """Every joule of every part, to the last bit."""
    case = parts_named(a, b)
    found, expected = simulate(case, out=tmp_path / "run"), simulate(case)
    assert list(found.energy.parts) == list(expected.energy.parts) == ["kinetic", a, b, "gravity"]
    for name, energies in expected.energy.parts.items():
        np.testing.assert_array_equal(found.energy.parts[name], energies)
    np.testing.assert_array_equal(found.energy.numerical, expected.energy.numerical)


@pytest.mark.parametrize("name", ["x" * 250, "布" * 90, "\ud800", "a\0b"])
def test_names_that_no_file_can_hold_are_refused_before_the_first_step(name, tmp_path):
    with pytest.raises(InputError, match="give the part"):
        simulate(parts_named(name), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_of_vertex_sets_come_back_as_they_are(tmp_path):
    mesh = meshes.cloth(4, 4, spacing=0.1)
    sets = {name: np.arange(k + 1) for k, name in enumerate(["left/right", ".", "", "Rücken", "a"])}
    mesh = meshes.Mesh(mesh.positions, mesh.edges, vertex_sets=sets)
    system = System(1e-3, [Springs(mesh.edges, 10.0)], rest=mesh.positions)
    x = mesh.positions
    scene = Scene("sets", "", "", system, x, np.zeros_like(x), 1e-3, 3e-3, "bdf1", mesh)
    found = stiffly.simulate(scene, out=tmp_path / "run").mesh
    assert list(found.vertex_sets) == list(sets)
    for name, vertices in sets.items():
        np.testing.assert_array_equal(found.vertex_sets[name], vertices)
