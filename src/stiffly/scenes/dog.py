"""A dog whose nose was pulled, and which wobbles on when it is let go.

Dinev, Liu, Kavan 2018, Fig. 11: 28,390 vertices, 117,423 tets, corotated, undamped, h = 0.033 s,
with frames up to 159.  Size, material and the pull are not printed; chosen here:

    0.8 m high, 1000 kg/m^3, Young's modulus 1e4 Pa: the nose swings about three times a second
    Poisson's ratio 0, which leaves mu |F - R|^2, the energy that local/global steps are made for
    no gravity, so that the rest shape is at rest; the legs (the lower 40 % of the height) are held
    the foremost 0.3 of the height are pulled forwards, the tip by 0.2, the rest less and less

Without mesh= a dog made by formulas stands in, 28,358 vertices and 140,137 tets.
"""

from __future__ import annotations

import numpy as np

from ..contracts import Array
from ..errors import InputError
from . import models
from .builder import Setup, plain, positive, scene, whole

SUMMARY = "a dog's nose is pulled and let go: it wobbles on"
SOURCE = "Dinev, Liu, Kavan 2018, Fig. 11"
SHOWS = "nose and head wobble on; with backward Euler and BDF2 they come to rest"
SMALL = {"vertices": 500, "duration": 160 * 0.033}
RUN = {"step": 0.033, "duration": 300 * 0.033, "integrator": "realtime-midpoint"}
PAPER = {"step": 0.033, "duration": 9.9, "integrator": "realtime-midpoint"}
PAPER_HOLDS = "holds: nose and head wobble on"
YOUNG, POISSON, DENSITY, HEIGHT, PULL, HELD = 1e4, 0.0, 1000.0, 0.8, 0.2, 0.4
NOSE = 0.3  # of the height


@scene
def dog(
    vertices: int = whole(28_390, "about how many", least=50),
    young: float = positive(YOUNG, "Young's modulus [Pa]"),
    height: float = positive(HEIGHT, "[m]"),
    pull: float = positive(PULL, "of the tip of the nose, in heights"),
    held: float = plain(HELD, "share of the height, from below, that is held"),
    mesh: str = plain("", "a mesh file to use instead, x forwards"),
    up: str = models.UP,
) -> Setup:
    if not 0.0 <= held < 1.0:
        raise InputError(f"dog held = {held}: give a share of the height, 0 to below 1")
    body, note = models.solid(mesh, "dog", vertices=vertices, size=height, up=up)
    rest = body.positions
    legs = rest[:, 2] < held * height
    system = models.elastic(body, young, POISSON, DENSITY, fixed=legs)
    x0 = _pulled(rest, pull * height, NOSE * height)
    x0[system.fixed] = rest[system.fixed]
    return Setup(system, x0, mesh=body, note=note)


def _pulled(rest: Array, pull: float, nose: float) -> Array:
    """The foremost `nose` metres pulled forwards, the tip by `pull` [m]."""
    share = np.clip((rest[:, 0] - rest[:, 0].max()) / nose + 1.0, 0.0, 1.0)
    return rest + np.outer(pull * share**2, [1.0, 0.0, 0.0])
