"""The experiments, by name. Each lives in a module of its own, which is imported when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from stiffly.errors import unknown_name

from .bench import Bench
from .report import Report


class Experiment(NamedTuple):
    """module: within this package, with `run(bench) -> Report`; items: what of the papers it
    answers for (see items.py), none where it goes beyond them."""

    module: str
    description: str
    items: tuple[str, ...]

    def run(self, bench: Bench | None = None) -> Report:
        return import_module(f".{self.module}", __package__).run(bench or Bench())


EXPERIMENTS: dict[str, Experiment] = {
    "fput-order": Experiment(
        "fput_order",
        "order of convergence of the exponential methods and RK4",
        ("Luan 2021, Fig. 1",),
    ),
    "fput-work": Experiment(
        "fput_work",
        "time and force evaluations against error, with outside solvers",
        ("Luan 2021, Fig. 2",),
    ),
    "fput-energy": Experiment(
        "fput_energy",
        "energy error over time, and how small RK4's step must be",
        ("Luan 2021, Fig. 3", "Luan 2021, Fig. 4"),
    ),
    "bunny-precision": Experiment(
        "bunny_precision",
        "error over step on bunnies of three stiffnesses",
        ("Michels 2017, Fig. 3a",),
    ),
    "bunny-energy": Experiment(
        "bunny_energy",
        "energy of bunnies of three stiffnesses over three minutes",
        ("Michels 2017, Fig. 3b",),
    ),
    "bunny-size": Experiment(
        "bunny_size",
        "time of the stiffly accurate integrator over the number of unknowns",
        ("Michels 2017, Fig. 3c",),
    ),
    "rosenbrock-table": Experiment(
        "rosenbrock_table",
        "run times of all methods at equal error, row by row of three tables",
        ("Michels 2017, Table 1", "Luan 2018, Table 2", "Luan 2021, Table 2"),
    ),
    "flag-area": Experiment(
        "flag_area",
        "a flag's area and motion with the stiffly accurate integrator and backward Euler",
        ("Michels 2017, Fig. 2",),
    ),
    "map": Experiment(
        "map_sweep",
        "who wins where: methods over stiffness, rotation, energy share, size and cost",
        (),
    ),
    "filters": Experiment(
        "filters",
        "error over step of all six filter pairs on a bouncing sphere",
        ("Michels 2014, Fig. 5",),
    ),
    "krylov-error": Experiment(
        "krylov_error",
        "error over the length of a Krylov basis and of a Taylor sum",
        ("Michels 2014, Fig. 6",),
    ),
    "tower-energy": Experiment(
        "tower_energy",
        "energy of a swinging tower, undamped and damped",
        ("Michels 2014, Fig. 9",),
    ),
    "foil-strain": Experiment(
        "foil_strain",
        "what a foil costs over the strain that is permitted",
        ("Michels 2014, Fig. 10",),
    ),
    "gautschi-table": Experiment(
        "gautschi_table",
        "all test cases of 2014: the price of a step, and of the same error",
        ("Michels 2014, Table II",),
    ),
    "equal-error": Experiment(
        "equal_error_all",
        "what the same error costs: every scene, every method, Verlet, SciPy and SUNDIALS",
        (),
    ),
    "auto": Experiment(
        "auto_check",
        "auto against the best method and step: seconds over scenes and accuracies",
        (),
    ),
    "oscillator-pair": Experiment(
        "oscillator_pair",
        "V-IMEX and eti near resonance against the exact motion",
        ("Michels 2014, Fig. 11",),
    ),
    "pylon-energy": Experiment(
        "pylon_energy",
        "energy of a stiff truss over 400 s, by exponential, implicit and explicit methods",
        ("Michels 2014, Fig. 22a",),
    ),
    "coil-error": Experiment(
        "coil_error",
        "error over step for a coil spring, linear and with true springs",
        ("Michels 2014, Fig. 22b",),
    ),
    "dome-step": Experiment(
        "dome_step",
        "largest step over the stiffness ratio of a dome, as far as doubles carry it",
        ("Michels 2014, Fig. 22c",),
    ),
    "squats-energy": Experiment(
        "squats_energy",
        "energy of squatting bodies, and whether their shape comes back",
        ("Michels 2014, Fig. 22d",),
    ),
    "beam-step": Experiment(
        "beam_step",
        "largest step over the stiffness of a twisted beam",
        ("Michels 2014, Fig. 22e",),
    ),
    "dragon-step": Experiment(
        "dragon_step",
        "largest step over the stiffness of a dragon, at an error of 1e-2",
        ("Michels 2014, Fig. 22f",),
    ),
    "dragon-size": Experiment(
        "dragon_size",
        "seconds and products of a step over the size of the model",
        ("Michels 2014, Fig. 23a",),
    ),
    "rope-cost": Experiment(
        "rope_cost",
        "a second of a stiff rope over strain and resolution, against fast projection",
        ("Michels 2014, Fig. 23c", "Michels 2014, Fig. 23d"),
    ),
    "tori-bounce": Experiment(
        "tori_bounce",
        "three bouncing tori: the order of their bounces, and the energy",
        ("Michels 2014, Fig. 23b",),
    ),
    "sphere-bounce": Experiment(
        "sphere_bounce",
        "a steel sphere on a floor of 1e15 N/m: what the bounces restore",
        ("Michels 2014, Fig. 23e",),
    ),
    "molecule-energy": Experiment(
        "molecule_energy",
        "energy of a molecule of stiff bonds, with Verlet as a rival",
        ("Michels 2014, Fig. 23f",),
    ),
    "single-spring": Experiment(
        "single_spring",
        "one mass on a stiff spring: midpoint explodes, stabilised does not",
        ("Dinev 2018, Fig. 2", "Dinev 2018, Fig. 3"),
    ),
    "spinning-cube": Experiment(
        "spinning_cube",
        "energy, angular momentum and alpha of a soft cube that spins freely",
        ("Dinev 2018, Fig. 4", "Dinev 2018, Fig. 5", "Dinev 2018, Fig. 6"),
    ),
    "cactus": Experiment(
        "cactus_rest",
        "a cactus recovers its shape from random positions, or does not",
        ("Dinev 2018, Fig. 7",),
    ),
    "cloth": Experiment(
        "cloth_wrinkles",
        "wrinkles that survive, and Lagrange multipliers that get stuck",
        ("Dinev 2018, Fig. 1", "Dinev 2018, Fig. 10"),
    ),
    "stabiliser-table": Experiment(
        "stabiliser_table",
        "milliseconds a frame: Newton, local/global, and midpoint in substeps",
        ("Dinev 2018, Table 1", "Dinev 2018, Table 2"),
    ),
    "two-springs": Experiment(
        "two_springs",
        "backward Euler gains energy, and stays below the proven bound",
        ("Dinev 2018, Fig. 18",),
    ),
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
