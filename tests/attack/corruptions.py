"""Recordings that are damaged: read correctly up to the damage, or named; no frame is wrong without
a word, nothing but our own errors, no crash.

    python tests/attack/corruptions.py --count 10000 --seed 0

Folders are damaged in one place each, a number drawn from the seed says how; --only K tries one of
them again.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import runs_to_record
from forks import Tally, forked
from kills import contents, same

import stiffly
from stiffly.errors import InputError
from stiffly.recording.check import check
from stiffly.recording.layout import describe_colliders, find, open_file
from stiffly.recording.sums import NoRecording

RECORDING, CHECKPOINT = "recording.vtkhdf", "checkpoint.npz"
SUMMARY, SCENE = "summary.json", "scene.toml"
BATCH = 100  # damaged folders that one child looks at
RESUMED = 0.05  # of the damaged recordings: it takes longer than all the rest


class Base(NamedTuple):
    """A folder before it is damaged: files by name, what reading it gives, and where what lies."""

    name: str
    files: dict[str, bytes]
    system: Any
    content: dict[str, Any]
    shape: list[Any]
    failure: str | None
    complete: dict[str, Any]  # content of the whole run
    regions: dict[str, tuple[int, int]]
    frames: list[tuple[int, int, int]]  # place, stride, count


def made(space: Path) -> list[Base]:
    """A scene with its mesh and what it touches; a run that was killed; one of coordinates; one
    that was stopped."""
    scene = stiffly.scenes.load("cloth", resolution=5, duration=0.33, integrator="bdf1")
    toml = 'scene = "cloth"\nduration = 0.33\n[parameters]\nresolution = 5\n'
    given = {"toml": toml, "dtype": "float32"}
    stiffly.simulate(scene, out=space / "scene", provenance=given)
    bases = [_base(space / "scene", None, "complete")]
    block = runs_to_record.block(integrator="exprb42")
    bases.append(_stopped(space, "killed", block, dtype="float64"))
    flat = runs_to_record.pendulums(integrator="neti")
    bases.append(_stopped(space, "coordinates", flat, keep_velocities=False))
    cube = runs_to_record.spinner(integrator="stabilised")
    bases.append(_stopped(space, "stopped", cube, interrupted=True))
    return bases


def _stopped(space: Path, name: str, case: Any, interrupted: bool = False, **options: Any) -> Base:
    """After two thirds of its frames; the last of them after its checkpoint."""
    folder, kept = space / name, space / f"{name} kept"

    def stop(report: Any) -> None:
        if report.frames == 2 * report.of_frames // 3 and not kept.exists():
            if interrupted:
                raise KeyboardInterrupt
            shutil.copytree(folder, kept)

    try:
        how = {"checkpoint": 0, "progress": stop, **options}
        runs_to_record.simulate(case, out=folder, **how)
    except KeyboardInterrupt:
        shutil.copytree(folder, kept)
        stiffly.resume(folder, case[0])
    return _base(kept, case[0], name, contents_of(stiffly.Recording(folder)))


def _base(folder: Path, system: Any, name: str, whole: dict[str, Any] | None = None) -> Base:
    found = stiffly.Recording(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with open_file(folder / RECORDING) as file:
        places = find(file)
    count, size = len(found), len(files[RECORDING])
    regions = {n: (at, at + count * one) for n, (at, one) in places.pieces.items()}
    first = min(at for at, _ in regions.values())
    regions |= {"sums": (places.sums, places.sums + 4 * count * len(places.pieces))}
    regions |= {"counter": (places.frames, places.frames + 16), "head": (0, first)}
    regions |= {"names": (places.columns, places.columns + 60 * 256), "all": (0, size)}
    regions |= {"link": (places.link, places.link + 1), "end": (size - 400, size)}
    regions |= {f"told {k}": (at, at + 8) for k, at in enumerate(places.counts)}
    frames = [(at, one, count) for at, one in places.pieces.values()]
    frames.append((places.sums, 4 * len(places.pieces), count))
    content = contents_of(found)
    shape = shape_of(found)
    return Base(
        name, files, system, content, shape, found.failure, whole or content, regions, frames
    )


def contents_of(run: Any) -> dict[str, Any]:
    """Velocities may not be kept."""
    if run.velocities is None:
        run.velocities = np.zeros(len(run))
    return contents(run)


def shape_of(run: Any) -> list[Any]:
    """What is not by frame."""
    told: dict[str, Any] = describe_colliders(run.colliders, run.planned)
    mesh = run.mesh
    if mesh is not None:
        for name in ("positions", "edges", "tets", "triangles"):
            told[name] = getattr(mesh, name)
        told |= {f"set {k}": v for k, v in {**mesh.vertex_sets, **mesh.edge_groups}.items()}
    arrays = {name: np.asarray(value).tolist() for name, value in told.items()}
    mass = None if run.mass is None else run.mass.tolist()
    return [run.provenance, run.integrator, run.step, mass, run.planned.tolist(), arrays]


# ------------------------------------------------------------------ damage


def damaged(base: Base, rng: random.Random) -> tuple[str, str, bytes]:
    """How, which file, and what it holds then."""
    names = [n for n in (RECORDING, CHECKPOINT, SUMMARY, SCENE) if n in base.files]
    name = rng.choices(names, [16, 5, 2, 1][: len(names)])[0]
    data = bytearray(base.files[name])
    region, (low, high) = "all", (0, len(data))
    if name == RECORDING:
        region, (low, high) = rng.choice(sorted(base.regions.items()))
    at = rng.randrange(low, high)
    size = min(rng.choice([1, 2, 8, 64, 512, 4096]), high - at)
    other = rng.randrange(low, max(low + 1, high - size))
    kinds = ["bit", "bit", "bit", "bits", "zeros", "ones", "noise", "cut", "longer", "swap", "lost"]
    kind = rng.choice([*kinds, "frames", "frames", "copied frame"] if name == RECORDING else kinds)
    match kind:
        case "bit":
            data[at] ^= 1 << rng.randrange(8)
        case "bits":
            for _ in range(rng.randrange(2, 9)):
                data[rng.randrange(low, high)] ^= 1 << rng.randrange(8)
        case "zeros" | "ones":
            data[at : at + size] = (b"\0" if kind == "zeros" else b"\xff") * size
        case "noise":
            data[at : at + size] = rng.randbytes(size)
        case "cut":
            del data[at:]
        case "longer":
            data += rng.randbytes(size)
        case "swap":
            one, two = data[at : at + size], data[other : other + size]
            data[at : at + size], data[other : other + size] = two, one
        case "lost":
            del data[at : at + size]
        case "frames" | "copied frame":
            _exchange(data, base, kind == "frames", rng)
    return f"{kind} in {region}", name, bytes(data)


def _exchange(data: bytearray, base: Base, both: bool, rng: random.Random) -> None:
    """Two frames change places, or one is put over another: with their sums or without."""
    first, second = rng.sample(range(base.frames[0][2]), 2)
    for place, stride, _ in base.frames if rng.random() < 0.5 else [rng.choice(base.frames)]:
        a, b = place + first * stride, place + second * stride
        one, two = data[a : a + stride], data[b : b + stride]
        data[a : a + stride] = two
        if both:
            data[b : b + stride] = one


# ------------------------------------------------------------------ what is made of it


def looked_at(folder: Path, base: Base) -> Iterator[str]:
    """'named' for every word that was said, 'WRONG ...' for what should not be; in the end all of
    it was read."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = stiffly.Recording(folder)
        except InputError as problem:
            yield "WRONG: two lines" if "\n" in str(problem) else "named when opened"
            return
    for _ in said:
        yield "named by a warning"
    count, expected = len(found), base.content
    if count < len(expected["times"]) and not said:
        yield "WRONG: fewer frames without a word"
    if found.failure != base.failure and not said:
        yield "WRONG: another end without a word"
    if shape_of(found) != base.shape:
        yield "WRONG: mesh, colliders or origin"
    yield from _frames(found, expected)


def _frames(found: Any, expected: dict[str, Any]) -> Iterator[str]:
    series = {"x": found.positions, "v": found.velocities, **found.fields}
    for name, frames in series.items():
        for k in () if frames is None else range(len(frames)):
            try:
                if not np.array_equal(frames[k], expected[name][k]):
                    yield f"WRONG: {name} of frame {k}"
            except InputError as problem:
                one_line = "\n" not in str(problem) and f"frame {k} " in str(problem)
                yield "named when looked at" if one_line else "WRONG: words"
    rest = {n: np.zeros((len(found), 0)) for n in series}  # compared above
    small = contents_of(_Without(found, rest))
    if not same({n: v for n, v in small.items() if n not in rest}, expected, whole=False):
        yield "WRONG: the ledger, or numbers per frame"


class _Without:
    """A recording with other arrays in place of its frames."""

    def __init__(self, found: Any, rest: dict[str, Any]) -> None:
        self._found, self.positions, self.velocities = found, rest["x"], rest["v"]
        self.fields = {name: rest[name] for name in found.fields}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


def checked(folder: Path) -> str:
    try:
        return "whole" if all(one.whole for one in check(folder)) else "damaged"
    except NoRecording:
        return "none"


def resumed(folder: Path, base: Base) -> str:
    try:
        run = stiffly.resume(folder, base.system)
        content = contents_of(run)
    except InputError as problem:
        return "WRONG: two lines" if "\n" in str(problem) else "said why not"
    good = same(content, base.complete, whole=True)
    return "same bits" if good else "WRONG: resumed to other bits"


def trial(base: Base, rng: random.Random, folder: Path) -> list[str]:
    """Kind of damage, then what was wrong (nothing, if all is well) and what came of it."""
    how, name, data = damaged(base, rng)
    for path, content in base.files.items():
        (folder / path).write_bytes(data if path == name else content)
    words = sorted(set(looked_at(folder, base)))
    verdict = checked(folder)
    said = [w for w in words if not w.startswith("WRONG")]
    if verdict == "whole" and (said or (name == CHECKPOINT and data != base.files[name])):
        words.append("WRONG: check says whole")
    if name in (CHECKPOINT, SCENE) or rng.random() < RESUMED:
        words.append(f"resume: {resumed(folder, base)}")
    return [f"{name}: {how.split()[0]}", f"{how}; check: {verdict}", *words]


def batch(bases: list[Base], seed: int, numbers: range, space: Path) -> list[Any]:
    warnings.simplefilter("ignore")
    folder, found = Path(tempfile.mkdtemp(dir=space)), []
    for k in numbers:
        rng = random.Random(f"{seed} {k}")
        found.append([k, *trial(bases[k % len(bases)], rng, folder)])
        for path in folder.iterdir():
            path.unlink()
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", type=int, default=None, help="one trial by its number")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    first, last = (0, given.count) if given.only is None else (given.only, given.only + 1)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="corruptions-") as name:
        space = Path(name)
        bases = made(space)
        pending = [range(k, min(k + BATCH, last)) for k in range(first, last, BATCH)]
        while pending:
            numbers = pending.pop(0)
            found = forked(partial(batch, bases, given.seed, numbers, space))
            if found and isinstance(found[0], str):  # died, or raised: in which trial?
                if len(numbers) > 1:
                    pending[:0] = [range(k, k + 1) for k in numbers]
                else:
                    tally.violated(f"trial {numbers[0]}: {found}")
                continue
            for k, kind, how, *words in found:
                wrong = [word for word in words if "WRONG" in word]
                if wrong:
                    tally.violated(f"trial {k}: {kind}, {how}: {wrong}")
                tally.add(kind, "wrong" if wrong else outcome(words))
    return tally.show()


def outcome(words: list[str]) -> str:
    named = [word for word in words if word.startswith("named")]
    return named[0] if named else "all of it read"


if __name__ == "__main__":
    sys.exit(main())
