"""What is said of a rank that is gone, told by what comes through its pipe."""

import signal

import pytest

from stiffly.recording import witness

USR1, TERM = bytes([signal.SIGUSR1]), bytes([signal.SIGTERM])
GONE = b""
RESUME = "stopped; go on with: stiffly resume {}\n"
AGAIN = "stopped; it has no checkpoint: start again\n"


@pytest.mark.parametrize(
    "heard, written, said",
    [
        ([witness.DISMISSED], True, None),
        ([GONE], True, RESUME),
        ([GONE], False, AGAIN),
        ([USR1, witness.DISMISSED], True, None),  # the run goes on
        ([USR1, GONE], True, RESUME),
        ([TERM], True, RESUME),  # whoever waits for others cannot obey
        ([TERM, witness.DISMISSED], False, None),  # a checkpoint was under way
        ([TERM, GONE], False, AGAIN),
    ],
)
def test_what_is_said(heard, written, said, tmp_path, monkeypatch):
    if written:
        (tmp_path / "checkpoint.npz").touch()
    left, told = iter(heard), []
    monkeypatch.setattr(witness.os, "read", lambda *_: next(left))
    monkeypatch.setattr(witness.os, "write", lambda _, text: told.append(text.decode()))
    monkeypatch.setattr(witness.select, "select", lambda *_: ([], [], []))  # nothing in time
    witness.watch(str(tmp_path), "checkpoint.npz")
    monkeypatch.undo()
    assert told == ([] if said is None else [said.format(tmp_path)])
