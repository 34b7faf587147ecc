"""What all figures share: colours, quiet frames, units that people write, saving.

Figures are built as objects, never through pyplot's global state: nothing needs a display, and
nothing leaks from one figure into the next.  matplotlib is loaded when a figure is drawn.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...contracts import Array
from ...errors import InputError
from ..run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind readers can tell apart, and two darker tones.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, BROWN, PINK, INK = "#5b3a8c", "#7a5c3e", "#cc79a7", "#222222"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, BROWN, PINK, RED)
GRID = {"color": "#dddddd", "linewidth": 0.6}
PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}


@cache
def _shown() -> type[Figure]:
    """Figures that a notebook draws: it does so by itself only for those of pyplot."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

    return Shown


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inches] whose labels never overlap."""
    return _shown()(figsize=(width, height), layout="constrained")


def plain(axis: Any) -> None:
    """A quiet frame: left and bottom lines, a faint grid behind the data."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(True, **GRID)
    axis.set_axisbelow(True)


def outside_legend(axis: Any, **options: Any) -> None:
    """To the right of the axis, where it hides nothing."""
    place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False, "fontsize": 9}
    axis.legend(**place, **options)


def save_figure(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        known = figure.canvas.get_supported_filetypes()
        if Path(path).suffix.lstrip(".").lower() not in known:
            kinds = ", ".join(sorted(known))
            raise InputError(f"cannot draw {path}: name a file that ends in one of {kinds}")
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=150)
        except OSError as problem:
            raise InputError(f"cannot write {path}: {problem.strerror}") from None
    return figure


# ------------------------------------------------------------------ words and units


def describe(run: Run) -> str:
    """'exprb42, step 0.05 s'; 'steps up to 0.05 s' where some had to be halved."""
    if run.step is None:
        return f"{run.integrator}, adaptive steps"
    taken = run.stats.get("largest_step", run.step)  # frames may have shortened it
    if run.stats.get("rejected_steps"):
        return f"{run.integrator}, steps up to {taken:.4g} s"
    return f"{run.integrator}, step {taken:.4g} s"


def titled(run: Any, title: str, otherwise: str) -> str:
    """'coil-spring  (exprb42, step 0.05 s)'."""
    return f"{title or getattr(run, 'name', '') or otherwise}  ({describe(run)})"


class Unit(NamedTuple):
    """A unit for an axis: values are multiplied by `factor`, e.g. 1000 and 'mJ'."""

    factor: float
    name: str


def unit(base: str, *series: Any) -> Unit:
    """The prefix with which the largest value reads as 1 to 1000; none beyond pico and giga."""
    largest = max((float(np.max(np.abs(a), initial=0.0)) for a in series), default=0.0)
    if not (np.isfinite(largest) and largest > 0.0):
        return Unit(1.0, base)
    power = 3 * int(np.floor(np.log10(largest * (1.0 + 1e-9)) / 3.0))
    if power not in PREFIXES:
        return Unit(1.0, base)
    return Unit(10.0**-power, f"{PREFIXES[power]}{base}")


def joules(energy: float) -> str:
    """'2,081 J', '0.25 J', '30.5 µJ', '1e+40 J': as people write it."""
    size = abs(energy)
    if 100.0 <= size < 1e6:
        return f"{energy:,.0f} J"
    if 0.01 <= size < 100.0 or not np.isfinite(size):
        return f"{energy:.3g} J"
    scaled = unit("J", energy)
    return f"{energy * scaled.factor:.3g} {scaled.name}"


def time_axis(axis: Any, times: Array) -> float:
    """Label a time axis; the factor from seconds to its unit."""
    seconds = unit("s", times) if len(times) and np.max(np.abs(times)) < 0.1 else Unit(1.0, "s")
    axis.set_xlabel(f"time [{seconds.name}]")
    return seconds.factor
