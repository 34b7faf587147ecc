"""Draws a thumbnail of every built-in scene and writes docs/gallery.md.

python docs/images/gallery.py [NAME...]     (without names: those that have no picture yet)
"""

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
HEAD = """# Gallery: the built-in scenes

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
    PAGE.write_text(HEAD + "".join(row(name) for name in stiffly.scenes.NAMES))


if __name__ == "__main__":
    main()
