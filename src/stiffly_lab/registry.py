"""The experiments, by name, and every table and figure of the papers that they answer for.

An experiment lives in a module of its own, which is imported when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from stiffly.errors import unknown_name

from .bench import Bench
from .report import Report

PAPERS = {
    "Michels 2014": "Michels, Sobottka & Weber: Exponential Integrators for Stiff Elastodynamic "
    "Problems (ACM TOG, 2014)",
    "Michels 2017": "Michels, Luan & Tokman: A Stiffly Accurate Integrator for Elastodynamic "
    "Problems (ACM TOG, 2017)",
    "Luan 2018": "Luan & Michels: Explicit Exponential Rosenbrock Methods and their Application in "
    "Visual Computing (2018)",
    "Dinev 2018": "Dinev, Liu & Kavan: Stabilizing Integrators for Real-Time Physics "
    "(ACM TOG, 2018)",
    "Luan 2021": "Luan & Michels: Efficient Exponential Time Integration for Simulating Nonlinear "
    "Coupled Oscillators (2021)",
}

ANSWERS = {
    "Michels 2014, Table II": "gautschi-table",
    "Michels 2014, Fig. 5": "filters",
    "Michels 2014, Fig. 6": "krylov-error",
    "Michels 2014, Fig. 9": "tower-energy",
    "Michels 2014, Fig. 10": "foil-strain",
    "Michels 2014, Fig. 11": "oscillator-pair",
    "Michels 2014, Fig. 22a": "pylon-energy",
    "Michels 2014, Fig. 22b": "coil-error",
    "Michels 2014, Fig. 22c": "dome-step",
    "Michels 2014, Fig. 22d": "squats-energy",
    "Michels 2014, Fig. 22e": "beam-step",
    "Michels 2014, Fig. 22f": "dragon-step",
    "Michels 2014, Fig. 23a": "dragon-size",
    "Michels 2014, Fig. 23b": "tori-bounce",
    "Michels 2014, Fig. 23c": "rope-cost",
    "Michels 2014, Fig. 23d": "rope-cost",
    "Michels 2014, Fig. 23e": "sphere-bounce",
    "Michels 2014, Fig. 23f": "molecule-energy",
    "Luan 2018, Fig. 1": "coil-minute",
    "Luan 2018, Table 2": "rosenbrock-table",
    "Michels 2017, Table 1": "rosenbrock-table",
    "Michels 2017, Fig. 2": "flag-area",
    "Michels 2017, Fig. 3a": "bunny-precision",
    "Michels 2017, Fig. 3b": "bunny-energy",
    "Michels 2017, Fig. 3c": "bunny-size",
    "Luan 2021, Theorem 3.1": "order-stiffness",
    "Luan 2021, Fig. 1": "fput-order",
    "Luan 2021, Fig. 2": "fput-work",
    "Luan 2021, Fig. 3": "fput-energy",
    "Luan 2021, Fig. 4": "fput-energy",
    "Luan 2021, Fig. 5": "coil-minute",
    "Luan 2021, Table 2": "rosenbrock-table",
    "Dinev 2018, Table 1": "stabiliser-table",
    "Dinev 2018, Table 2": "stabiliser-table",
    "Dinev 2018, Fig. 1": "cloth",
    "Dinev 2018, Fig. 2": "single-spring",
    "Dinev 2018, Fig. 3": "single-spring",
    "Dinev 2018, Fig. 4": "spinning-cube",
    "Dinev 2018, Fig. 5": "spinning-cube",
    "Dinev 2018, Fig. 6": "spinning-cube",
    "Dinev 2018, Fig. 7": "cactus",
    "Dinev 2018, Fig. 8": "stable-figures",
    "Dinev 2018, Fig. 9": "stable-figures",
    "Dinev 2018, Fig. 10": "cloth",
    **{f"Dinev 2018, Fig. {k}": "stable-figures" for k in range(11, 17)},
    "Dinev 2018, Fig. 18": "two-springs",
}
ITEMS = tuple(ANSWERS)


DESCRIPTIONS = {
    "fput-order": "order of convergence of the exponential methods and RK4",
    "order-stiffness": "order of the exponential methods over stiffness, and on bodies that turn",
    "fput-work": "time and force evaluations against error, with outside solvers",
    "fput-energy": "energy error over time, and how small RK4's step must be",
    "bunny-precision": "error over step on bunnies of three stiffnesses",
    "bunny-energy": "energy of bunnies of three stiffnesses over three minutes",
    "bunny-size": "time of the stiffly accurate integrator over the number of unknowns",
    "rosenbrock-table": "run times of all methods at equal error, row by row of three tables",
    "flag-area": "a flag's area and motion with the stiffly accurate integrator and backward Euler",
    "map": "who wins where: methods over stiffness, rotation, energy share, size and cost",
    "filters": "error over step of all six filter pairs on a bouncing sphere",
    "krylov-error": "error over the length of a Krylov basis and of a Taylor sum",
    "tower-energy": "energy of a swinging tower, undamped and damped",
    "foil-strain": "what a foil costs over the strain that is permitted",
    "gautschi-table": "all test cases of 2014: the price of a step, and of the same error",
    "equal-error": "what the same error costs: every scene, every method, Verlet, SciPy "
    "and SUNDIALS",
    "auto": "auto against the best method and step: seconds over scenes and accuracies",
    "oscillator-pair": "V-IMEX and eti near resonance against the exact motion",
    "pylon-energy": "energy of a stiff truss over 400 s, by exponential, implicit and "
    "explicit methods",
    "coil-error": "error over step for a coil spring, linear and with true springs",
    "coil-minute": "a minute of the coil spring at h = 0.05 s: error, and energy lost",
    "dome-step": "largest step over the stiffness ratio of a dome, as far as doubles carry it",
    "squats-energy": "energy of squatting bodies, and whether their shape comes back",
    "beam-step": "largest step over the stiffness of a twisted beam",
    "dragon-step": "largest step over the stiffness of a dragon, at an error of 1e-2",
    "dragon-size": "seconds and products of a step over the size of the model",
    "rope-cost": "a second of a stiff rope over strain and resolution, against fast projection",
    "tori-bounce": "three bouncing tori: the order of their bounces, and the energy",
    "sphere-bounce": "a steel sphere on a floor of 1e15 N/m: what the bounces restore",
    "molecule-energy": "energy of a molecule of stiff bonds, with Verlet as a rival",
    "single-spring": "one mass on a stiff spring: midpoint explodes, stabilised does not",
    "spinning-cube": "energy, angular momentum and alpha of a soft cube that spins freely",
    "cactus": "a cactus recovers its shape from random positions, or does not",
    "stable-figures": "bar, bunnies, dog, hippo, cube, dragon: stabilised against its rivals",
    "cloth": "wrinkles that survive, and Lagrange multipliers that get stuck",
    "stabiliser-table": "milliseconds a frame: Newton, local/global, and midpoint in substeps",
    "two-springs": "backward Euler gains energy, and stays below the proven bound",
    "paper-steps": "every scene with the authors' own method and step: where it holds, and why not",
    "full-size": "the papers' eight headline scenes at full size, each to its end",
}
LONG = ("full-size",)  # hours: not among `all`, unless quick
WHERE = {  # module: function; others: the name with _, `run`
    "equal-error": "equal_error_all:run",
    "auto": "auto_check:run",
    "beam-step": "largest_step:beam",
    "dragon-step": "largest_step:dragon",
}


@dataclass(frozen=True)
class Experiment:
    """items: what of the papers it answers for (see ITEMS), none where it goes beyond them."""

    name: str
    description: str
    items: tuple[str, ...]

    def run(self, bench: Bench | None = None, **options: Any) -> Report:
        """What its function finds; options: those that it has."""
        bench = bench or Bench()
        module, _, function = WHERE.get(self.name, self.name.replace("-", "_")).partition(":")
        found = getattr(import_module(f".{module}", __package__), function or "run")(
            bench, **options
        )
        only = self.items[0] if len(self.items) == 1 else ""
        claims = [c if c.item is not None else replace(c, item=only) for c in found.claims]
        cut = f"--quick: {found.reduced}" if bench.quick and found.reduced else found.reduced
        return replace(found, name=self.name, claims=claims, reduced=cut)


EXPERIMENTS: dict[str, Experiment] = {
    name: Experiment(name, words, tuple(item for item, by in ANSWERS.items() if by == name))
    for name, words in DESCRIPTIONS.items()
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
