"""The papers' experiments, run again: one module each, over one work-precision harness."""

from __future__ import annotations

from . import page
from .bench import Bench
from .harness import Method, Outcome, Record, reference, slopes, work_precision
from .methods import CvodeMethod, IntegratorMethod, ScipyMethod
from .registry import EXPERIMENTS, ITEMS, LONG, PAPERS, Experiment, experiment
from .report import Claim, Report

__all__ = [
    "EXPERIMENTS",
    "ITEMS",
    "LONG",
    "PAPERS",
    "Bench",
    "Claim",
    "CvodeMethod",
    "Experiment",
    "IntegratorMethod",
    "Method",
    "Outcome",
    "Record",
    "Report",
    "ScipyMethod",
    "experiment",
    "page",
    "reference",
    "slopes",
    "work_precision",
]
