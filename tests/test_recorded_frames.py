"""Frames on the disk are arrays that are read when they are looked at, and close only their own."""

import copy
import gc
import json
import os
import pickle
import signal

import numpy as np
import pytest

import stiffly
from stiffly import cli
from stiffly.recording import writer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("frames") / "run"
    cube = stiffly.scenes.load("spinning-cube", small=True)
    stiffly.simulate(cube, out=out, duration=0.05, every=0.01)
    return out


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        slice(1, 4),
        slice(None, None, -2),
        [1, 3],
        np.array([True, False] * 3),
        (2, ..., [0, 1]),
        (-1, slice(None), [0, 2]),
        (slice(None), 3, 1),
        ([0, 2], 1),
        ...,
        (2, 5, 1),
    ],
    ids=str,
)
def test_indices_mean_what_they_mean_to_numpy(folder, key):
    frames = stiffly.Recording(folder).positions
    whole = np.array(frames)
    assert whole.flags.writeable and whole.shape == frames.shape == (6, *whole.shape[1:])
    np.testing.assert_array_equal(frames[key], whole[key])
    assert np.shape(frames[key]) == whole[key].shape
    assert (frames.size, frames.nbytes) == (whole.size, whole.nbytes)
    np.testing.assert_array_equal(frames + 1.0, whole + 1.0)


def test_they_are_not_written_to(folder):
    frames = stiffly.Recording(folder).positions
    with pytest.raises(ValueError, match="read-only"):
        frames[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        np.add(frames, 1.0, out=frames)
    assert not hasattr(frames, "offset")


@pytest.mark.parametrize(
    "twin", [copy.deepcopy, copy.copy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_a_copy_that_goes_closes_no_file_of_others(folder, twin):
    run = stiffly.Recording(folder)
    expected = np.array(run.positions)
    other = twin(run.positions)
    np.testing.assert_array_equal(other, expected)
    del other
    gc.collect()
    np.testing.assert_array_equal(run.positions, expected)
    del run
    gc.collect()
    with open(folder / "note.txt", "w") as file:
        gc.collect()
        file.write("still open")


@pytest.mark.parametrize("text", ["{}", '{"complete": 1, "stats": {}}', '{"complete": true}', "[]"])
def test_a_summary_of_another_shape_is_damaged(folder, text, capfd):
    path = folder / "summary.json"
    before = path.read_text()
    assert json.loads(before)["complete"] is True
    path.write_text(text)
    try:
        assert cli.main(["check", str(folder)]) == 1
        assert "damaged" in capfd.readouterr().out
    finally:
        path.write_text(before)


def test_a_signal_that_comes_at_the_very_end_is_not_lost(tmp_path, monkeypatch):
    """The run is whole, and whoever asked to stop is heard."""
    end = writer.Writer._end

    def late(self, *given):
        os.kill(os.getpid(), signal.SIGINT)
        return end(self, *given)

    monkeypatch.setattr(writer.Writer, "_end", late)
    cube = stiffly.scenes.load("spinning-cube", small=True)
    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(cube, out=tmp_path / "run", duration=0.02)
    assert stiffly.Recording(tmp_path / "run").complete


def test_three_tenths_are_the_end_of_a_run_of_three_tenths(tmp_path):
    """0.1 * 3 is more than 0.3 in the last digit: no frame is added for that."""
    cube = stiffly.scenes.load("spinning-cube", small=True)
    options = {"duration": 0.3, "every": 0.1, "step": 0.01, "checkpoint": 0.0}

    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stiffly.simulate(cube, out=tmp_path, progress=stop, **options)
    run = stiffly.resume(tmp_path, duration=np.float64(0.1 * 3))
    assert len(run.times) == 4 and run.complete


def test_the_stress_of_springs_beside_tets():
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0]], dtype=float)
    parts = [stiffly.Tetrahedra([[0, 1, 2, 3]], 1e4, 0.3), stiffly.Springs([[1, 4]], 100.0, 0.5)]
    body = stiffly.System(np.ones(5), parts, rest=x)
    tension, unit = body.stress(x, edges=[[1, 4]])
    assert tension == pytest.approx([50.0]) and unit == "N"
    for wrong in ([[1, 9]], [[1, 4, 2]], [[0.5, 1.0]], [[-1, 2]]):
        with pytest.raises(stiffly.InputError):
            body.stress(x, edges=wrong)
