"""What acts inside a body cannot push or turn it: every internal part, random configurations."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from thinned import drawn

from stiffly.bodies import Dashpots, FaceSprings, LennardJones, Springs, System, Tetrahedra, fiber
from stiffly.meshes.grids import grid_tets
from stiffly.meshes.mesh import tet_edges

GRID = np.indices((3, 3, 3)).reshape(3, -1).T.astype(float)
TETS = grid_tets((3, 3, 3))
EDGES = tet_edges(TETS)
LINE = np.linspace([0, 0, 0], [0, 0, 4.0], 5)
FIBER = fiber(LINE, thickness=0.4, young=1e3, torsional=4e2, density=1.0)
PARTS = {
    "linear springs": (GRID, lambda: Springs(EDGES, 100.0)),
    "cubic springs": (GRID, lambda: Springs(EDGES, 100.0, law="cubic")),
    "plastic springs": (GRID, lambda: Springs(EDGES, 100.0, yield_strain=0.1)),
    "face springs": (GRID, lambda: FaceSprings(TETS, 100.0)),
    "corotated": (GRID, lambda: Tetrahedra(TETS, 100.0, 0.3)),
    "stvk": (GRID, lambda: Tetrahedra(TETS, 100.0, 0.3, material="stvk")),
    "neo-hookean": (GRID, lambda: Tetrahedra(TETS, 100.0, 0.45, material="neo-hookean")),
    "dashpots": (GRID, lambda: Dashpots(EDGES, 3.0)),
    "lennard-jones": (GRID, lambda: LennardJones(1.0, 0.9)),
    "lennard-jones, cut off": (GRID, lambda: LennardJones(1.0, 0.9, cutoff=1.8)),
    "fiber": (FIBER.positions, lambda: FIBER.part),
}


@pytest.mark.parametrize("name", PARTS)
@drawn(12)
@given(seed=st.integers(0, 10**6), size=st.floats(0.01, 0.3))
def test_no_net_force_and_no_net_torque(name, seed, size):
    rest, make = PARTS[name]
    rng = np.random.default_rng(seed)
    x = rest + size * rng.standard_normal(rest.shape) + rng.standard_normal(3)
    if name.startswith("lennard"):  # atoms on top of each other are refused
        assume(pdist(x).min() > 0.3)
    system, s = System(np.ones(len(rest)), [make()], rest=rest).bind(x)
    v = rng.standard_normal(s.v.size)
    f = system.force(s.moved(0.0, s.x, v)).reshape(-1, 3)
    scale = np.abs(f).sum()
    assert scale > 0.0
    rounding = 1e-13 * scale * (1.0 + np.abs(x).max())
    assert np.abs(f.sum(axis=0)).max() <= rounding
    assert np.abs(np.cross(x, f).sum(axis=0)).max() <= 10.0 * rounding
