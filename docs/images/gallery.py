"""Draws a thumbnail of every built-in scene and writes docs/gallery.md.

python docs/images/gallery.py [NAME...]     (without names: those that have no picture yet)
"""

import json
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import stiffly
from stiffly.errors import SimulationFailure, StiffWarning
from stiffly.recording.render import thumbnail

PICTURES = Path(__file__).parent / "scenes"
PAGE = Path(__file__).parent.parent / "gallery.md"
FILMS = Path(__file__).parent / "films"
HEAD = """# Gallery

## Films

At life speed, unless the film says otherwise. Below each: the commands, and what the run took on
two cores of an AMD EPYC server that had other work to do. `python docs/images/films.py` makes them
anew.

"""
FULL_SIZE = """## Full size

Runs of minutes; the times are those of a quiet machine ([all eight](lab/full-size/result.md)).

| | |
| --- | --- |
"""
STILLS = {
    "crash": "356,820 degrees of freedom; the dents stay: `stiffly run crash`, 56 s",
    "hair": "60,000 hairs, calm again after the shake of the head: `stiffly run hair`, 177 s",
    "dragon": "442,650 degrees of freedom, nodding: `stiffly run dragon`, 29 s",
}
TABLE = """## The built-in scenes

Each with the numbers of its paper as defaults; `stiffly run NAME` runs it, `--small` in seconds,
`stiffly scene show NAME` prints it as a file to change. The pictures show the small variants
(`python docs/images/gallery.py` draws them).

| | scene | what a run must show | from |
| --- | --- | --- | --- |
"""


def draw(name, path):
    scene = stiffly.scenes.load(name, small=True)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffWarning)
        try:
            run = stiffly.simulate(scene, out=Path(folder) / "run")
        except SimulationFailure as failure:
            run = failure.run
            print(f"{name}: {failure}", file=sys.stderr)
        if scene.x0.ndim == 1:
            graph(run, path)
        else:
            thumbnail(run, path)


def graph(run, path):
    """Coordinates over time, where there is no shape."""
    figure, axes = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    axes.plot(run.times, run.positions[:], lw=1)
    axes.set(xlabel="time [s]", ylabel="coordinates")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def film(name, told):
    """A video that plays by itself and again; its still where nothing plays."""
    place = f"images/films/{name}"
    scene = stiffly.scenes.entry(name)
    spent, processor = told["seconds"], told.get("processor")
    took = f"{spent:.2g} s" if processor is None else f"{processor:.2g} s of processor time"
    return (
        f'<video src="{place}.mp4" poster="{place}.jpg" width="640" autoplay loop muted '
        f'playsinline controls title="{name}"></video>\n\n'
        f"**{name}**: {scene.summary}. {told['particles']:,} particles, {told['integrator']}; "
        f"{told['simulated']:.3g} s in {took} ([video]({place}.mp4)).\n\n"
        f"    {told['run']}\n    {told['render']}\n\n"
    )


def still(name, words):
    picture = f'<img src="lab/full-size/{name}/last.png" width="480" alt="{name}">'
    return f"| {picture} | **{name}**, {words} |\n"


def row(name):
    scene = stiffly.scenes.entry(name)
    picture = f'<img src="images/scenes/{name}.png" width="240" alt="{name}">'
    return f"| {picture} | **{name}**<br>{scene.summary} | {scene.shows} | {scene.source} |\n"


def main():
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or stiffly.scenes.NAMES:
        path = PICTURES / f"{name}.png"
        if name in sys.argv or not path.exists():
            print(name, flush=True)
            draw(name, path)
    films = json.loads((FILMS / "films.json").read_text())
    shown = "".join(film(name, told) for name, told in films.items())
    table = TABLE + "".join(row(name) for name in stiffly.scenes.NAMES)
    large = FULL_SIZE + "".join(still(*each) for each in STILLS.items()) + "\n"
    PAGE.write_text(HEAD + shown + large + table)


if __name__ == "__main__":
    main()
