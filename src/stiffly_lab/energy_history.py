"""The energies of one run over time: the row of a diagram of bounces or of conservation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from stiffly import Run
from stiffly.contracts import Array, Integrator
from stiffly.scenes import Scene

from . import figures
from .bench import Row
from .harness import Record
from .trial import attempt, seconds_of

KEPT = 0.01  # of the energy exchanged: what passes for a straight line in a printed diagram
COUNTS = ("steps", "force_evaluations", "operator_products", "factorizations")
COLORS = {
    "kinetic": figures.ORANGE,
    "gravity": figures.GREEN,
    "elastic": figures.BLUE,
    "contact": figures.PURPLE,
    "lennard-jones": figures.PURPLE,
}


def cost(run: Run) -> Row:
    """Those fields of a Record."""
    return {name: run.stats[name] for name in COUNTS} | {"seconds": seconds_of(run)}


def energy_history(
    scene: Scene,
    integrator: str | Integrator,
    step: float,
    *,
    look: Callable[[Run], Mapping[str, Any]] | None = None,
    limit_s: float = inf,
    **options: Any,
) -> Row:
    """Energies [J] at the frames, the ledger's error and a Record's fields; look(run): more.

    A run that failed comes as far as it went, with the reason under 'failure'.
    """
    run, failure = attempt(scene, integrator, step=step, limit_s=limit_s, **options)
    row: Row = {"method": str(integrator), "step": step, "failure": failure}
    if run is None:
        return {**row, "record": dict(row), "times": [], "parts": {}}
    energy = run.energy
    worst, most = float(np.abs(energy.numerical).max()), energy.exchanged
    record = {**row, **cost(run), "energy_drift": worst, "energy_relative": worst / most}
    return {
        **row,
        "times": run.times,
        "parts": energy.parts,
        "numerical": energy.numerical,
        "dissipated": energy.dissipated,
        "exchanged": most,
        "contacts": float(np.nanmax(run.diagnostics.get("contacts", np.zeros(1)), initial=0.0)),
        "record": record,
        **({} if look is None else look(run)),
    }


def total(row: Mapping[str, Any]) -> Array:
    """Kinetic and stored energy [J] at the frames."""
    return np.sum([np.array(part, dtype=float) for part in row["parts"].values()], axis=0)


def error(row: Mapping[str, Any]) -> float:
    """Largest numerical error, as a share of the energy exchanged; inf where the run failed."""
    if row["failure"]:
        return inf
    return float(np.abs(row["numerical"]).max() / row["exchanged"])


def change(row: Mapping[str, Any]) -> float:
    """Largest change of the total, whatever its cause, as a share of the energy exchanged."""
    if row["failure"]:
        return inf
    energy = total(row)
    return float(np.abs(energy - energy[0]).max() / row["exchanged"])


def records(rows: list[Row]) -> list[Record]:
    return [Record(**row["record"]) for row in rows]


def draw_energies(axis: Any, row: Mapping[str, Any], unit: str = "J") -> None:
    """Every part and their sum over time, each from its lowest value: only changes matter."""
    times = row["times"]
    for name, part in row["parts"].items():
        series = np.array(part, dtype=float)
        axis.plot(times, series - series.min(), color=COLORS.get(name), linewidth=1.2, label=name)
    energy = total(row)
    floors = sum(np.min(np.array(part, dtype=float)) for part in row["parts"].values())
    axis.plot(times, energy - floors, color=figures.INK, linewidth=1.6, label="total")
    axis.set(xlabel="time [s]", ylabel=f"energy [{unit}]")


def draw_error(axis: Any, lines: Mapping[str, tuple[Mapping[str, Any], str]]) -> None:
    """|numerical error| over time, as a share of the energy exchanged; lines: label -> row, style.

    Below 1e-15 there is only rounding.
    """
    for label, (row, style) in lines.items():
        color, _ = figures.apart(row["method"])
        share = np.abs(np.array(row["numerical"], dtype=float)) / row["exchanged"]
        share = np.maximum(share, 1e-15)
        axis.semilogy(row["times"], share, style, color=color, linewidth=1.3, label=label)
    axis.set(xlabel="time [s]", ylabel="|energy error| / energy exchanged")
