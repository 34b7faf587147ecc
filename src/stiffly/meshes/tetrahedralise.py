"""Filling a surface with tetrahedra, the same ones every time."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np

from ..contracts import Array
from ..errors import InputError, StiffWarning
from . import cache
from .grids import turned_positive
from .mesh import Mesh, mesh_of_tets, used_only
from .progress import tell
from .quality import enclosed_volume
from .signed_distance import SignedDistance
from .sizing import TRIES, follow
from .skin import Skin, embedded
from .thin import filled
from .topology import Closed, closed
from .validate import validate

FEWEST = 15  # particles: a vertex of the lattice and its neighbours, 24 tets
MOST = 2_000_000  # particles: some 10 GB while they are made
TETS = 5  # for every particle, in bodies that are not thin
CLOSE = 0.05  # relative difference from the wanted count that ends the search
TOO_FAR = 0.5  # relative difference that is refused
DEFAULT = 2000  # particles
OPEN = 0.1  # share of the area that holes may have: more than that is a guess, not a repair


def tetrahedralise(
    surface: Mesh,
    particles: int | None = None,
    *,
    tets: int | None = None,
    target: int | None = None,
    name: str = "surface",
    close_holes: bool = False,
) -> Mesh:
    """Tets inside the triangle surface of a mesh; the surface stays, embedded in them as `skin`.

    particles, or tets: how many are wanted (2000 particles if neither); the result is within 5 %
    as a rule, and InputError says so where it would be off by half.  target: particles, by its
    older name.  The tets are those of a lattice cut near the surface (stuffing.py): dihedral
    angles between 9 and 162 degrees, whatever the surface; parts thinner than a cell are
    thickened, not lost (thin.py).  `quality` tells how well they fill it.

    The surface may cross itself; an open one is refused, or with close_holes filled as if cones
    closed its holes, a tenth of its area at most.  The same surface gives the same bits, whatever
    the number of threads, and is computed once: see cache.py.
    """
    wanted, count = _wanted(particles if target is None else target, tets)
    validate(surface, name=name)
    if len(surface.triangles) == 0:
        raise InputError(f"{name} has no triangles: give a closed surface")
    x, triangles = used_only(np.asarray(surface.positions), surface.triangles)
    whole = _closed(x, triangles, name, close_holes)
    entry = cache.key(f"tetrahedralise {count} {wanted}", (x, triangles))
    found = cache.load(entry, name)
    if found is None:
        found = _computed(x, triangles, whole, wanted, count, name)
        cache.save(entry, found)
    every = np.arange(len(found["positions"]))
    skin = Skin(found["corners"], found["weights"], triangles, every, surface.uv)
    return mesh_of_tets(found["positions"], found["tets"], skin=skin)


def _wanted(particles: int | None, tets: int | None) -> tuple[int, str]:
    """How many, and of what; InputError where that cannot be."""
    if particles is not None and tets is not None:
        raise InputError(f"{particles} particles and {tets} tets wanted: give one of them")
    if particles is None and tets is None:
        return DEFAULT, "particles"
    count, given = ("particles", particles) if tets is None else ("tets", tets)
    least, most = (FEWEST, MOST) if tets is None else (24, TETS * MOST)
    if not isinstance(given, Integral) or not least <= given <= most:
        raise InputError(f"{given} {count} wanted: give a whole number from {least} to {most:,}")
    return int(given), count


def _closed(x: Array, triangles: np.ndarray, name: str, close_holes: bool) -> Closed:
    whole = closed(x, triangles)
    if whole.holes:
        holes = f"{whole.holes:,} hole" + "s" * (whole.holes > 1)
        what = f"{holes} along {whole.edges:,} edges, {100.0 * whole.share:.2g} % of its area"
        if whole.share > OPEN:
            raise InputError(
                f"{name} is open: {what}: too much to tell inside from outside; close it in a "
                "modelling program, or simulate it as a shell"
            )
        if not close_holes:
            raise InputError(
                f"{name} is open: {what}: close them, or have them closed with repair = true "
                "(close_holes=True in Python)"
            )
        warnings.warn(f"{name}: closed {what}", StiffWarning, stacklevel=3)
    if not enclosed_volume(whole.positions, whole.triangles) > 0.0:
        raise InputError(f"{name} encloses no volume: are its triangles facing outwards?")
    return whole


def _computed(
    x: Array, triangles: np.ndarray, whole: Closed, wanted: int, count: str, name: str
) -> dict[str, Array]:
    """positions, tets, and the surface's corners and weights in them."""
    field = SignedDistance(whole.positions, whole.triangles)
    tries = 0

    def build(spacing: float) -> tuple[Array, np.ndarray]:
        nonlocal tries
        tell(tries, TRIES + 1, f"{name}: filling it, try {tries + 1}")
        tries += 1
        return filled(field, whole.positions, whole.triangles, spacing)

    number = {"particles": lambda mesh: len(mesh[0]), "tets": lambda mesh: len(mesh[1])}[count]
    volume = enclosed_volume(whole.positions, whole.triangles)
    cells = wanted / (2.0 if count == "particles" else 12.0)  # of a lattice without a surface
    start = (volume / cells) ** (1.0 / 3.0)
    best = follow(wanted, build, start, 3.0, CLOSE, number)[-1][0]
    if abs(number(best) / wanted - 1.0) > TOO_FAR:
        raise InputError(
            f"{name} cannot be filled with {wanted:,} {count}: the closest was {number(best):,}; "
            "give more, or a surface without thin parts"
        )
    tell(TRIES, TRIES + 1, f"{name}: embedding its surface")
    positions, tets = best[0], turned_positive(*best)
    skin = embedded(x, triangles, positions, tets)
    tell(TRIES + 1, TRIES + 1, f"{name}: {len(positions):,} particles, {len(tets):,} tets")
    return {"positions": positions, "tets": tets, "corners": skin.corners, "weights": skin.weights}
