"""What of a run's folder is whole, and whether a checkpoint belongs to its recording."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from .checkpoint import Checkpoint
from .folder import CHECKPOINT
from .recording import Recording, read_summary
from .sums import NoRecording


class Finding(NamedTuple):
    """what: frames, checkpoint or summary; text: of it, in one line."""

    what: str
    whole: bool
    text: str


def check(folder: str | Path) -> list[Finding]:
    """Every frame, the checkpoint and the summary; NoRecording where there is no run."""
    folder, found = Path(folder), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is told below
            found = Recording(folder)
        frames = _frames(found)
    except NoRecording:
        raise
    except InputError as problem:
        frames = Finding("frames", False, str(problem))
    return [frames, _checkpoint(folder, found), _summary(folder)]


def _frames(found: Recording) -> Finding:
    count = f"{found.counted} of {found.of_frames} recorded"
    if not found.checked:
        return Finding("frames", True, f"{count}, without checksums: by an older stiffly")
    damaged = found.damaged()
    if damaged:
        return Finding("frames", False, f"{count}; {listed(damaged)} damaged")
    if not found.shown_well():
        return Finding("frames", False, f"{count}, whole; but ParaView is told another number")
    return Finding("frames", True, f"{count}, all whole")


def _checkpoint(folder: Path, found: Recording | None) -> Finding:
    if not (folder / CHECKPOINT).exists():
        return Finding("checkpoint", True, "none: this run cannot be resumed")
    try:
        saved = Checkpoint.read(folder)
        if found is not None:
            require_same_run(found, saved)
    except InputError as problem:
        return Finding("checkpoint", False, str(problem))
    return Finding("checkpoint", True, f"whole, after {saved.header['frames']} frames")


def _summary(folder: Path) -> Finding:
    try:
        told = read_summary(folder)
    except InputError as problem:
        return Finding("summary", False, str(problem))
    if told is None:
        return Finding("summary", True, "none: the run goes on, or was killed")
    return Finding("summary", True, f"whole, {'complete' if told['complete'] else 'not complete'}")


def require_same_run(found: Recording, saved: Checkpoint) -> None:
    """The checkpoint belongs to the recording, which has all frames before it, whole."""
    if saved.header["run"] != found.provenance.get("run"):
        raise InputError(
            f"{found.folder} holds the recording of one run and the checkpoint of another: put "
            "back the checkpoint that belongs to it"
        )
    frames = saved.header["frames"]
    if found.counted < frames:
        raise InputError(
            f"{found.folder} holds {found.counted} frames, but its checkpoint goes on after "
            f"{frames}: it was copied while the run went on; copy it again when that has stopped"
        )
    damaged = found.damaged(frames)
    if damaged:
        raise InputError(
            f"{found.folder}: {listed(damaged)} damaged, and before the checkpoint, which cannot "
            "mend that: put a copy of the recording there, or run the scene again"
        )


def listed(frames: list[int]) -> str:
    """'frames 3, 7 to 9 are'."""
    spans: list[list[int]] = []
    for k in frames:
        if spans and spans[-1][-1] == k - 1:
            spans[-1][1:] = [k]
        else:
            spans.append([k])
    words = ", ".join(" to ".join(map(str, span)) for span in spans)
    return f"frame {words} is" if len(frames) == 1 else f"frames {words} are"
