"""Draws the films/NAME.mp4 and stills films/NAME.jpg of films.toml, notes how long the runs took.

python docs/images/films.py [NAME...] [--runs FOLDER]

Runs that are in FOLDER already are not made again, so that a film can be tried from several sides.
`python docs/images/gallery.py` puts them on the page.
"""

import argparse
import json
import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import stiffly

HERE = Path(__file__).parent / "films"
NOTES = HERE / "films.json"
SIZE, STILL = "640x360", "1280x720"


class Film(NamedTuple):
    """What films.toml says of one."""

    moment: float
    worth: str
    run: str = ""
    look: str = ""
    pace: str = ""
    still: str = ""
    against: str = ""


TABLES = tomllib.loads(HERE.with_suffix(".toml").read_text())
FILMS = {name: Film(**table) for name, table in TABLES.items()}


def film(name, runs):
    shown, folder, spent = FILMS[name], runs / name, runs / f"{name}.seconds"
    folders = [folder]
    if not spent.exists():
        before = processor()
        stiffly_("run", name, *shlex.split(shown.run), "--out", folder, "--quiet", "--force")
        spent.write_text(f"{processor() - before:.3g}")
    if shown.against:
        folders.append(runs / f"{name}-other")
        options = shlex.split(f"{shown.run} {shown.against}")
        stiffly_("run", name, *options, "--out", folders[1], "--quiet", "--force")
    recording = stiffly.Recording(folder)
    frame = int(abs(recording.times - shown.moment).argmin())
    look, pace, near = map(shlex.split, (shown.look, shown.pace, shown.still))
    with TemporaryDirectory() as scratch:
        film, still = Path(scratch) / "film.mp4", Path(scratch) / "still.png"
        stiffly_("render", *folders, "--size", SIZE, *look, *pace, "--out", film)
        compress(film, HERE / f"{name}.mp4")
        stiffly_(
            "render", *folders, "--size", STILL, *look, *near, "--frame", frame, "--out", still
        )
        as_jpeg(still, HERE / f"{name}.jpg")
    return told(name, recording, frame, float(spent.read_text()))


def stiffly_(*words):
    subprocess.run(["stiffly", *map(str, words)], check=True)


def processor():
    """Seconds of it that the commands took so far."""
    times = os.times()
    return times.children_user + times.children_system


def told(name, recording, frame, spent):
    """What the page says of it; spent: processor time of the run [s]."""
    shown = FILMS[name]
    run, other = f"stiffly run {name} {shown.run}".strip(), f"{name}-other"
    second = {"second": f"{run} {shown.against} --out {other}"} if shown.against else {}
    drawn = f"stiffly render {name}-run {f'{other} ' if shown.against else ''}--size"
    return {
        "run": run,
        **second,
        "film": " ".join([drawn, SIZE, *shown.look.split(), *shown.pace.split()]),
        "still": " ".join(
            [drawn, STILL, *shown.look.split(), *shown.still.split(), "--frame", str(frame)]
        ),
        "simulated": float(recording.times[-1]),
        "took": f"{spent:.0f} s of processor time",
        "integrator": recording.integrator,
        "particles": int(recording.positions.shape[1]),
    }


def compress(drawn, path):
    """As small as a page wants it."""
    import imageio_ffmpeg

    how = "-y -loglevel error -c:v libx264 -crf 28 -preset veryslow -pix_fmt yuv420p"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(drawn), *shlex.split(how)]
    subprocess.run([*command, "-movflags", "+faststart", str(path)], check=True)


def as_jpeg(picture, path):
    from PIL import Image

    Image.open(picture).convert("RGB").save(path, quality=86, optimize=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=Path)
    given = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        for name in given.names or FILMS:
            print(name, flush=True)
            new = film(name, given.runs or Path(scratch))
            known = json.loads(NOTES.read_text()) if NOTES.exists() else {}
            known = {n: {**known, name: new}[n] for n in FILMS if n in {*known, name}}
            NOTES.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
