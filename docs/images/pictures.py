"""Draws docs/images/pictures-*.png: a textile, its ledger, a pylon, two methods side by side.

python docs/images/pictures.py
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import stiffly
from stiffly.errors import StiffWarning
from stiffly.recording.plots import plot_energy
from stiffly.recording.render import render, side_by_side

HERE = Path(__file__).parent
SIZE = (840, 440)


def textile(folder):
    scene = stiffly.scenes.load("textile", resolution=40)
    run = stiffly.simulate(scene, duration=1.5, every=0.02, out=folder / "textile")
    render(run, HERE / "pictures-textile.png", frame=28, size=SIZE)
    plot_energy(run, HERE / "pictures-energy.png")


def pylon(folder):
    """Where it has sunk most: its legs bear twice its weight."""
    scene = stiffly.scenes.load("pylon")
    run = stiffly.simulate(scene, step=0.002, duration=0.06, every=0.002, out=folder / "pylon")
    look = {"color": "stress", "system": scene, "frame": 16, "size": (720, 720)}
    render(run, HERE / "pictures-pylon.png", **look)


def cubes(folder):
    """Backward Euler is known to lose the spin: its warning is what the picture shows."""
    scene = stiffly.scenes.load("spinning-cube", cells=4)
    runs = []
    for name in ("stabilised", "bdf1"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StiffWarning)
            runs.append(stiffly.simulate(scene, integrator=name, duration=3.3, out=folder / name))
    side_by_side(runs, HERE / "pictures-cubes.png", frame=-1, size=SIZE)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        textile(Path(folder))
        pylon(Path(folder))
        cubes(Path(folder))
