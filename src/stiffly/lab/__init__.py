"""The papers' experiments, run again: one function each, over one work-precision harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import unknown_name
from .fput_energy import fput_energy
from .fput_order import fput_order
from .fput_work import fput_work
from .harness import Method, Outcome, Progress, Record, reference, slopes, work_precision
from .methods import CvodeMethod, IntegratorMethod, ScipyMethod
from .oscillator_pair import oscillator_pair
from .report import Claim, Report, save


class Experiment(NamedTuple):
    """run(quick=..., progress=...) -> Report; what it shows; the figure it repeats."""

    run: Callable[..., Report]
    description: str
    figure: str


EXPERIMENTS: dict[str, Experiment] = {
    "fput-order": Experiment(
        fput_order, "order of convergence of the exponential methods and RK4", "2021, Fig. 1"
    ),
    "fput-work": Experiment(
        fput_work, "time and force evaluations against error, with outside solvers", "2021, Fig. 2"
    ),
    "fput-energy": Experiment(
        fput_energy, "energy error over time, and how small RK4's step must be", "2021, Figs. 3-4"
    ),
    "oscillator-pair": Experiment(
        oscillator_pair, "V-IMEX and eti near resonance against the exact motion", "2014, Fig. 11"
    ),
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


__all__ = [
    "EXPERIMENTS",
    "Claim",
    "CvodeMethod",
    "Experiment",
    "IntegratorMethod",
    "Method",
    "Outcome",
    "Progress",
    "Record",
    "Report",
    "ScipyMethod",
    "experiment",
    "reference",
    "save",
    "slopes",
    "work_precision",
]
