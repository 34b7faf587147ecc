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
from films import FILMS, NOTES

import stiffly
from stiffly.errors import SimulationFailure, StiffWarning
from stiffly.recording.render import thumbnail

PICTURES = Path(__file__).parent / "scenes"
PAGE = Path(__file__).parent.parent / "gallery.md"
HEAD = """# Gallery

## Films

At life speed, unless the film says otherwise; at full size, unless the command says otherwise.
Below each: why it is worth showing, what the run took on two cores of an AMD EPYC server that had
other work to do, and the commands. `python docs/images/films.py` makes them anew. What the largest
take on a quiet machine: [full size](lab/full-size/result.md).

"""
PLOTS = {
    "single-spring": "midpoint leaves the circle within two steps; the stabilised method stays "
    "inside and keeps the energy, at the price of the spin.",
    "two-springs": "backward Euler, which is known to lose energy, gains some at each pass over a "
    "hill of the potential (orange), and stays below the proven bound.",
    "oscillator-pair": "driven at resonance less 1e-10 rad/s, the swing grows as long as one "
    "looks: with the exponential method as in the analytic solution, with V-IMEX for a while.",
    "fput-energy": "seven springs, three of them stiff: RK4 keeps the energy as well as exprb42 "
    "with steps forty times smaller.",
}
MEASURED = """## Plots instead of films

Systems of a few particles say more in a plot. Each is drawn by the experiment that measures it.

"""
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
    commands = "".join(
        f"    {told[key]}\n" for key in ("run", "second", "film", "still") if key in told
    )
    return (
        f'<video src="{place}.mp4" poster="{place}.jpg" width="640" autoplay loop muted '
        f'playsinline controls title="{name}"></video>\n\n'
        f"**{name}**: {FILMS[name].worth} {told['particles']:,} particles, {told['integrator']}; "
        f"{told['simulated']:.3g} s in {told['took']} ([video]({place}.mp4), "
        f"[still]({place}.jpg)).\n\n"
        f"{commands}\n"
    )


def plot(name, worth):
    return f"**{name}**: {worth}\n\n    stiffly lab {name}\n\n![{name}](lab/{name}/figure.png)\n\n"


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
    films = json.loads(NOTES.read_text())
    shown = "".join(film(name, told) for name, told in films.items())
    table = TABLE + "".join(row(name) for name in stiffly.scenes.NAMES)
    plots = MEASURED + "".join(plot(*each) for each in PLOTS.items())
    PAGE.write_text(HEAD + shown + plots + table)


if __name__ == "__main__":
    main()
