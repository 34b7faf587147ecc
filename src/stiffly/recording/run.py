"""What a simulation leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts import Array
from ..errors import InputError
from ..paths import real_path
from .folder import file_name
from .words import gain_or_loss

TOLD = ("plaque_removed",)  # of the diagnostics: where they end is a result of the run


@dataclass(repr=False)
class Run:
    """What a simulation leaves behind; frames are at `times` [s].

    diagnostics: (steps,) arrays with one value per step, by name: `t` [s] at its end; and, where
    the method or the system has them, `residual` (of the solve, relative), `alpha` (of a
    stabiliser), `energy_error` [J], `halvings`, `under_solved`, `penetration` [m], `contacts`,
    `plaque_removed` (a share).
    fields: (frames, m) arrays by name that parts have recorded: `contact-force` [N] on every
    particle, where there is contact; `plaque` [m], the thickness of a coat at the vertices of the
    mesh collider that carries it.
    """

    integrator: str
    step: float | None
    times: Array
    positions: Array  # (frames, particles, 3), or (frames, n) for SecondOrder
    velocities: Array
    energy: EnergyHistory
    stats: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Array] = field(default_factory=dict)
    wall_seconds: float = 0.0
    fields: dict[str, Array] = field(default_factory=dict)
    name: str = ""
    mesh: Any = None  # the shape at rest, where one is known
    colliders: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """Frames recorded."""
        return len(self.times)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._facts()})"

    def _facts(self) -> str:
        numerical = float(self.energy.numerical[-1]) if len(self.times) else 0.0
        return (
            f"{self.integrator}, {len(self.times)} frames of shape {self.positions.shape[1:]}, "
            f"{self.stats.get('steps', 0)} steps, {self.wall_seconds:.3g} s; "
            f"numerical {numerical:.3g} of {self.energy.exchanged:.3g} J exchanged"
        )

    def render(self, path: str | Path | None = None, **options: Any) -> Path:
        """A still, NAME.png, of the last frame; options: frame, color, system, size, camera,
        follow, soft, as `stiffly.recording.render.render` has them."""
        from .render import render

        return render(self, self._file(path, ".png"), **options)

    def film(self, path: str | Path | None = None, **options: Any) -> Path:
        """A film, NAME.mp4; options: color, system, size, fps, speed, camera, turntable, follow,
        soft, max_pictures, progress, as `stiffly.recording.render.render` has them."""
        from .render import render

        return render(self, self._file(path, ".mp4"), **options)

    def export(self, to: str, path: str | Path | None = None, **options: Any) -> list[Path]:
        """Files for other programs; to: usd, blend (by Blender, which has to be there), gltf,
        vtkhdf, ply, obj, npz or html; options: force, fields, system, max_points, progress, as
        `stiffly.recording.exports.export` has them."""
        from .exports import export

        return export(self, to, self._file(path, ""), **options)

    def view(self, path: str | Path | None = None, *, show: bool = True) -> Path:
        """The motion as a page to turn and play, NAME.html, which needs nothing but a browser;
        show: open it there."""
        import webbrowser

        [page] = self.export("html", self._file(path, ".html"), force=True)
        if show:
            webbrowser.open(page.resolve().as_uri())
        return page

    def _file(self, path: str | Path | None, ending: str) -> Path:
        """What was named, or one of the run's own name where it lies."""
        if path is not None:
            return real_path("path", path)
        folder = Path(getattr(self, "folder", ""))
        return folder / f"{file_name(self.name or 'run')}{ending}" if ending else folder

    def _repr_html_(self) -> str:
        """The motion in 3D and the ledger as a small table, for notebooks."""
        return self._inline() + self._ledger()

    def _inline(self) -> str:
        from .exports.html import INLINE, page

        try:
            text = page(self, INLINE)
        except InputError:  # nothing in space, or too much for a notebook
            return ""
        frame = 'style="width:100%;height:420px;border:0"'
        return f'<iframe {frame} srcdoc="{escape(text, quote=True)}"></iframe>'

    def _ledger(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{start:.4g}</td><td>{end:.4g}</td></tr>"
            for name, start, end in self.energy.rows()
        )
        head = "<tr><th>energy [J]</th><th>start</th><th>end</th></tr>"
        return f"<div><p>{escape(self._facts())}</p><table>{head}{cells}</table></div>"

    def plot_energy(self, path: str | None = None) -> Any:
        """Figure of the ledger over time; written to `path` when given."""
        from .plots import plot_energy

        return plot_energy(self, path)

    def summary(self) -> dict[str, Any]:
        return {
            "integrator": self.integrator,
            "step": self.step,
            "steps": self.stats.get("steps", 0),
            "duration": float(self.times[-1]) if len(self.times) else 0.0,
            "wall_seconds": self.wall_seconds,
            "energy": self.energy.summary(),
            "stats": self.stats,
            **{name: float(self.diagnostics[name][-1]) for name in TOLD if self._has(name)},
        }

    def _has(self, name: str) -> bool:
        return len(self.diagnostics.get(name, ())) > 0


@dataclass(frozen=True)
class EnergyHistory:
    """Energies [J] at the recorded frames; parts by name: `energy.kinetic`, `energy.gravity`..."""

    times: Array
    parts: dict[str, Array]
    added: Array
    dissipated: Array
    invented: Array  # by contact between the steps: the part of `numerical` whose cause is known

    def __repr__(self) -> str:
        parts, end = ", ".join(self.parts), f"{self.times[-1]:.4g} s" if len(self.times) else "0 s"
        return f"EnergyHistory({len(self.times)} frames to {end}: {parts}, added, dissipated)"

    def __str__(self) -> str:
        """The ledger as a table."""
        if not len(self.times):
            return repr(self)
        rows = [("energy [J]", "start", "end")]
        rows += [(name, f"{start:.4g}", f"{end:.4g}") for name, start, end in self.rows()]
        error = gain_or_loss(float(self.numerical[-1]), self.exchanged)
        rows.append(("error, share of energy exchanged", "", error))
        first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
        aligned = [(f"{a:<{first}}", f"{b:>{others[0]}}", f"{c:>{others[1]}}") for a, b, c in rows]
        return "\n".join(map("  ".join, aligned))

    def __getattr__(self, name: str) -> Array:
        parts = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"no energy named {name}: this system has {', '.join(parts)}")

    @property
    def total(self) -> Array:
        return np.sum(list(self.parts.values()), axis=0)

    @property
    def numerical(self) -> Array:
        """What the integrator lost (-) or invented (+) since the start."""
        return self.total - (self.total[0] + self.added - self.dissipated)

    @property
    def exchanged(self) -> float:
        """The largest amount that moved between the parts: the yardstick for `numerical`."""
        moved = [np.ptp(part) for part in self.parts.values()]
        return float(max([*moved, np.ptp(self.added), np.ptp(self.dissipated)]))

    def summary(self) -> dict[str, float]:
        """Energies [J]; contact: what of `numerical` the responses to contact invented (what is
        stored in it is in `parts`)."""
        return {
            "initial": float(self.total[0]),
            "final": float(self.total[-1]),
            "added": float(self.added[-1]),
            "dissipated": float(self.dissipated[-1]),
            "numerical": float(self.numerical[-1]),
            "contact": float(self.invented[-1]),
            "max_abs_drift": float(np.abs(self.numerical).max()),
            "exchanged": self.exchanged,
        }

    def rows(self) -> Iterator[tuple[str, float, float]]:
        """(name, first frame, last frame) for every line of the ledger, for printing."""
        for name, part in self.parts.items():
            yield name, float(part[0]), float(part[-1])
        yield "total", float(self.total[0]), float(self.total[-1])
        yield "added", 0.0, float(self.added[-1])
        yield "dissipated", 0.0, float(self.dissipated[-1])
        yield "numerical error", 0.0, float(self.numerical[-1])
        if self.invented[-1] != 0.0:
            yield "of it contact", 0.0, float(self.invented[-1])
