"""A progress bar in notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any

from .sinks import Progress, ProgressReport
from .words import percent

EVERY = 0.2  # seconds between two looks of the bar


def notebook_bar() -> Progress | None:
    """A bar under the cell that is running; None outside of notebooks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found]  # only there

    handle: Any = display(HTML(""), display_id=True)
    seen = 0.0

    def progress(report: ProgressReport) -> None:
        nonlocal seen
        now, over = time.monotonic(), report.t >= report.end
        if over or now - seen >= EVERY:
            seen = now
            handle.update(HTML("" if over else bar(report)))

    return progress


def bar(report: ProgressReport) -> str:
    error = percent(report.numerical, report.exchanged)
    return (
        f'<progress value="{report.t:.6g}" max="{report.end:.6g}"></progress> '
        f"{report.t:.3g} of {report.end:.4g} s, frame {report.frames} of {report.of_frames}, "
        f"energy error {error}"
    )
