"""The experiments, by name. Each lives in a module of its own, which is imported when it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module

from stiffly.errors import unknown_name

from .bench import Bench
from .report import Report


@dataclass(frozen=True)
class Experiment:
    """items: what of the papers it answers for (see items.py), none where it goes beyond them;
    module: within this package, with `run(bench) -> Report`."""

    name: str
    description: str
    items: tuple[str, ...]
    module: str

    def run(self, bench: Bench | None = None) -> Report:
        found = import_module(f".{self.module}", __package__).run(bench or Bench())
        only = self.items[0] if len(self.items) == 1 else ""
        claims = [c if c.item is not None else replace(c, item=only) for c in found.claims]
        return replace(found, name=self.name, claims=claims)


def _of(name: str, description: str, *items: str, module: str = "") -> Experiment:
    return Experiment(name, description, items, module or name.replace("-", "_"))


_ALL = (
    _of(
        "fput-order", "order of convergence of the exponential methods and RK4", "Luan 2021, Fig. 1"
    ),
    _of(
        "fput-work",
        "time and force evaluations against error, with outside solvers",
        "Luan 2021, Fig. 2",
    ),
    _of(
        "fput-energy",
        "energy error over time, and how small RK4's step must be",
        "Luan 2021, Fig. 3",
        "Luan 2021, Fig. 4",
    ),
    _of(
        "bunny-precision",
        "error over step on bunnies of three stiffnesses",
        "Michels 2017, Fig. 3a",
    ),
    _of(
        "bunny-energy",
        "energy of bunnies of three stiffnesses over three minutes",
        "Michels 2017, Fig. 3b",
    ),
    _of(
        "bunny-size",
        "time of the stiffly accurate integrator over the number of unknowns",
        "Michels 2017, Fig. 3c",
    ),
    _of(
        "rosenbrock-table",
        "run times of all methods at equal error, row by row of three tables",
        "Michels 2017, Table 1",
        "Luan 2018, Table 2",
        "Luan 2021, Table 2",
    ),
    _of(
        "flag-area",
        "a flag's area and motion with the stiffly accurate integrator and backward Euler",
        "Michels 2017, Fig. 2",
    ),
    _of("map", "who wins where: methods over stiffness, rotation, energy share, size and cost"),
    _of(
        "filters",
        "error over step of all six filter pairs on a bouncing sphere",
        "Michels 2014, Fig. 5",
    ),
    _of(
        "krylov-error",
        "error over the length of a Krylov basis and of a Taylor sum",
        "Michels 2014, Fig. 6",
    ),
    _of("tower-energy", "energy of a swinging tower, undamped and damped", "Michels 2014, Fig. 9"),
    _of(
        "foil-strain",
        "what a foil costs over the strain that is permitted",
        "Michels 2014, Fig. 10",
    ),
    _of(
        "gautschi-table",
        "all test cases of 2014: the price of a step, and of the same error",
        "Michels 2014, Table II",
    ),
    _of(
        "equal-error",
        "what the same error costs: every scene, every method, Verlet, SciPy and SUNDIALS",
        module="equal_error_all",
    ),
    _of(
        "auto",
        "auto against the best method and step: seconds over scenes and accuracies",
        module="auto_check",
    ),
    _of(
        "oscillator-pair",
        "V-IMEX and eti near resonance against the exact motion",
        "Michels 2014, Fig. 11",
    ),
    _of(
        "pylon-energy",
        "energy of a stiff truss over 400 s, by exponential, implicit and explicit methods",
        "Michels 2014, Fig. 22a",
    ),
    _of(
        "coil-error",
        "error over step for a coil spring, linear and with true springs",
        "Michels 2014, Fig. 22b",
    ),
    _of(
        "dome-step",
        "largest step over the stiffness ratio of a dome, as far as doubles carry it",
        "Michels 2014, Fig. 22c",
    ),
    _of(
        "squats-energy",
        "energy of squatting bodies, and whether their shape comes back",
        "Michels 2014, Fig. 22d",
    ),
    _of("beam-step", "largest step over the stiffness of a twisted beam", "Michels 2014, Fig. 22e"),
    _of(
        "dragon-step",
        "largest step over the stiffness of a dragon, at an error of 1e-2",
        "Michels 2014, Fig. 22f",
    ),
    _of(
        "dragon-size",
        "seconds and products of a step over the size of the model",
        "Michels 2014, Fig. 23a",
    ),
    _of(
        "rope-cost",
        "a second of a stiff rope over strain and resolution, against fast projection",
        "Michels 2014, Fig. 23c",
        "Michels 2014, Fig. 23d",
    ),
    _of(
        "tori-bounce",
        "three bouncing tori: the order of their bounces, and the energy",
        "Michels 2014, Fig. 23b",
    ),
    _of(
        "sphere-bounce",
        "a steel sphere on a floor of 1e15 N/m: what the bounces restore",
        "Michels 2014, Fig. 23e",
    ),
    _of(
        "molecule-energy",
        "energy of a molecule of stiff bonds, with Verlet as a rival",
        "Michels 2014, Fig. 23f",
    ),
    _of(
        "single-spring",
        "one mass on a stiff spring: midpoint explodes, stabilised does not",
        "Dinev 2018, Fig. 2",
        "Dinev 2018, Fig. 3",
    ),
    _of(
        "spinning-cube",
        "energy, angular momentum and alpha of a soft cube that spins freely",
        "Dinev 2018, Fig. 4",
        "Dinev 2018, Fig. 5",
        "Dinev 2018, Fig. 6",
    ),
    _of(
        "cactus",
        "a cactus recovers its shape from random positions, or does not",
        "Dinev 2018, Fig. 7",
    ),
    _of(
        "cloth",
        "wrinkles that survive, and Lagrange multipliers that get stuck",
        "Dinev 2018, Fig. 1",
        "Dinev 2018, Fig. 10",
    ),
    _of(
        "stabiliser-table",
        "milliseconds a frame: Newton, local/global, and midpoint in substeps",
        "Dinev 2018, Table 1",
        "Dinev 2018, Table 2",
    ),
    _of(
        "two-springs",
        "backward Euler gains energy, and stays below the proven bound",
        "Dinev 2018, Fig. 18",
    ),
)
EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in _ALL}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
