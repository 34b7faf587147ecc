"""Draws docs/images/films/NAME.mp4 and NAME.jpg, and notes how long the runs took.

python docs/images/films.py [NAME...] [--runs FOLDER]

Runs that are in FOLDER already (stiffly run NAME ... --out FOLDER/NAME) are not made again.
`python docs/images/gallery.py` puts them on the page.
"""

import argparse
import json
import os
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import stiffly
from stiffly.recording.render import render

HERE = Path(__file__).parent / "films"
SIZE = (640, 360)
# scene: options of `stiffly run`, of `render`, the moment of the still [s]
FILMS = {
    "flag": ("--fps 30", {"color": "none"}, 4.0),
    "coil-spring": ("--duration 8", {}, 2.0),
    "tower": ("--fps 30", {}, 3.0),
    "bunny": ("--duration 8 --fps 30", {}, 1.0),
    "squats": ("--duration 6", {}, 2.0),
    "cloth": ("", {}, 1.5),
    "textile": ("", {}, 0.9),
    "foil": ("", {}, 1.0),
    "twisting-beam": ("", {}, 1.5),
    "tori": ("", {}, 0.5),
    "hippo": ("", {}, 1.0),
    "falling-cube": ("", {}, 0.4),
    "bar": ("", {"color": "strain"}, 1.0),
    "pylon": ("--set stiffness=1e4 --duration 10 --fps 30", {}, 2.0),
    "dome": ("", {}, 1.0),
    "rope": ("--duration 5", {}, 1.0),
    "bacterium": ("", {}, 1.0),
    "steel-sphere": ("--duration 1", {}, 0.2),
    "molecule": ("", {"color": "none"}, 0.5),
    "single-spring": ("--duration 4 --fps 30", {}, 1.0),
    "two-springs": ("--duration 8 --fps 30", {}, 1.0),
    "spinning-cube": ("--duration 5", {}, 1.0),
    "cactus": ("--duration 6", {}, 1.0),
}


def film(name, runs):
    options, look, moment = FILMS[name]
    folder = runs / name
    spent = None
    if not folder.exists():
        before = os.times().children_user
        command = ["stiffly", "run", name, *options.split(), "--out", str(folder), "--quiet"]
        subprocess.run(command, check=True)
        spent = os.times().children_user - before
    recording = stiffly.Recording(folder)
    with TemporaryDirectory() as scratch:
        drawn = render(recording, Path(scratch) / "film.mp4", size=SIZE, **look)
        compress(drawn, HERE / f"{name}.mp4")
        frame = int(abs(recording.times - moment).argmin())
        still = render(recording, Path(scratch) / "still.png", frame=frame, size=SIZE, **look)
        as_jpeg(still, HERE / f"{name}.jpg")
    return told(name, recording, spent)


def told(name, recording, spent):
    """What the page says of it; spent: processor time, where the run was made here."""
    options, look, _ = FILMS[name]
    shown = " ".join(f"--{key} {value}" for key, value in look.items())
    return {
        "run": f"stiffly run {name} {options}".strip(),
        "render": f"stiffly render {name}-run --size 640x360 {shown}".strip(),
        "simulated": float(recording.times[-1]),
        "seconds": recording.wall_seconds,
        "processor": spent,
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
    notes = HERE / "films.json"
    with TemporaryDirectory() as scratch:
        for name in given.names or FILMS:
            print(name, flush=True)
            new = film(name, given.runs or Path(scratch))
            known = json.loads(notes.read_text()) if notes.exists() else {}
            known = {n: {**known, name: new}[n] for n in FILMS if n in {*known, name}}
            notes.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
