"""A family of small bodies with one knob for everything that decides between integrators.

A box lattice of particles (mass 1, spacing 1, springs of stiffness 1 along edges and face
diagonals), in which every particle shares ONE stiff spring with its neighbour along x:

    ratio      stiffness of the stiff springs over the soft ones
    rotation   turns of the whole body in one soft period 2 pi
    share      of the vibration's energy that starts in the stiff springs' stretching
    shape      particles along x (even), y, z
    outliers   so many of the stiff springs are OUTLIER times stiffer still
    cost       so many times the work per force: zero-stiffness copies of every spring, evaluated
               in full and multiplied by zero (forces and tangents cost more, matrix products do
               not)

Stiff springs have no particle in common, so their stretchings are orthogonal: one stiff mode per
stiff spring, at the frequency sqrt(2 ratio) up to a relative 1/ratio, and a gap below it.  The
body starts unstretched, with velocities alone.  A pull Omega^2 r of every particle towards the axis
(springs of rest length zero to a fixed particle on the axis, one for each layer in z) balances the
spin exactly, so that the rotation can be as fast as one likes without tearing the body: without
vibration it turns rigidly for ever.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import log10, pi, prod

import numpy as np

from stiffly.bodies import Springs, System
from stiffly.contracts import Array
from stiffly.errors import InputError
from stiffly.meshes import Mesh, lattice
from stiffly.scenes import Scene

OUTLIER = 1e4
PERIOD = 2.0 * pi  # of a mass 1 on a spring 1: the soft period, and the length of every run
AMPLITUDE = 0.1  # rms speed of the vibration: a spring turns and stretches by about this much
SEED = 2014


@dataclass(frozen=True)
class Member:
    """One body of the family; the defaults are the base point of the sweeps."""

    ratio: float = 1e4
    rotation: float = 0.1
    share: float = 1e-3
    shape: tuple[int, int, int] = (4, 2, 2)
    outliers: int = 0
    cost: int = 1
    amplitude: float = AMPLITUDE

    def __post_init__(self) -> None:
        if len(self.shape) != 3 or min(self.shape) < 2 or self.shape[0] % 2:
            raise InputError(f"shape {self.shape}: give three numbers from 2 on, the first even")
        if not 0 <= self.outliers <= self.pairs:
            raise InputError(f"{self.outliers} outliers: there are {self.pairs} stiff springs")
        if not (self.ratio > 0.0 and 0.0 <= self.share <= 1.0 and self.cost >= 1):
            raise InputError("a family member needs ratio > 0, 0 <= share <= 1 and cost >= 1")

    @property
    def dof(self) -> int:
        return 3 * prod(self.shape)

    @property
    def pairs(self) -> int:
        """How many stiff springs there are."""
        return prod(self.shape) // 2

    @property
    def stiffest(self) -> float:
        return self.ratio * (OUTLIER if self.outliers else 1.0)

    @property
    def omega_max(self) -> float:
        """Bound of the frequencies: the stiff springs, and 18 soft neighbours, and the pull."""
        return float(np.sqrt(2.0 * (self.stiffest + 18.0) + self.spin**2))

    @property
    def spin(self) -> float:
        """Angular velocity about z [rad per unit of time]."""
        return 2.0 * pi * self.rotation / PERIOD

    @property
    def name(self) -> str:
        return (
            f"ratio 1e{log10(self.ratio):g}, {self.rotation:g} turns, share {self.share:g}, "
            f"{self.dof} dof, {self.outliers} outliers, cost {self.cost}"
        )

    def but(self, **changes) -> Member:
        return replace(self, **changes)


@dataclass(frozen=True)
class Network:
    """The springs of a member as plain arrays: what an independent code needs of it.

    positions (N, 3) at rest, centred; edges (m, 2), stiffness and rest (m,); stiff (p, 2): the
    pairs of particles that share a stiff spring; centres (N, 3): the points of the axis
    beside them, towards which they are pulled by pull = Omega^2."""

    positions: Array
    edges: Array
    stiffness: Array
    rest: Array
    stiff: Array
    centres: Array
    pull: float


def network(member: Member) -> Network:
    mesh = lattice(*member.shape)
    positions = mesh.positions - mesh.positions.mean(axis=0)
    number = np.arange(prod(member.shape)).reshape(member.shape)
    stiff = np.stack([number[0::2].ravel(), number[1::2].ravel()], axis=1)
    edges = np.asarray(mesh.edges)
    key = len(positions)
    stiff_keys = stiff[:, 0] * key + stiff[:, 1]
    where = np.searchsorted(edges[:, 0] * key + edges[:, 1], stiff_keys)  # lattice sorts its edges
    stiffness = np.ones(len(edges))
    stiffness[where] = member.ratio
    stiffness[where[: member.outliers]] *= OUTLIER
    d = positions[edges[:, 1]] - positions[edges[:, 0]]
    rest = np.linalg.norm(d, axis=1)
    centres = positions * [0.0, 0.0, 1.0]
    return Network(positions, edges, stiffness, rest, stiff, centres, member.spin**2)


def build(member: Member) -> Scene:
    """The member as a scene of one soft period."""
    net = network(member)
    count = len(net.positions)
    parts = [Springs(net.edges, net.stiffness, net.rest)]
    rest, fixed = net.positions, []
    v0 = velocities(member, net)
    if net.pull > 0.0:
        hubs, layer = np.unique(net.centres, axis=0, return_inverse=True)
        spokes = np.stack([np.arange(count), count + layer.ravel()], axis=1)
        parts.append(Springs(spokes, net.pull, 0.0, name="pull"))
        rest, fixed = np.vstack([rest, hubs]), np.arange(count, count + len(hubs))
        v0 = np.vstack([v0, np.zeros_like(hubs)])
    if member.cost > 1:
        parts.append(_payload(net, member.cost - 1))
    return Scene(
        name=member.name,
        summary="a lattice with stiff pairs",
        source="lab",
        system=System(np.ones(len(rest)), parts, fixed=fixed, rest=rest),
        x0=rest,
        v0=v0,
        step=0.1,
        duration=PERIOD,
        mesh=Mesh(rest, net.edges),
        parameters=asdict(member),
    )


def _payload(net: Network, copies: int) -> Springs:
    """Every spring `copies` times over, without stiffness: work that changes nothing."""
    springs = Springs(net.edges, 0.0, net.rest, name="payload")  # which refuses repeated ones
    springs.edges, springs.rest = np.tile(springs.edges, (copies, 1)), np.tile(net.rest, copies)
    springs.stiffness = np.zeros(len(springs.edges))
    return springs


def stretchings(net: Network) -> Array:
    """(p, 3): unit vectors of the stiff pairs at rest; a pair stretches by (n, -n)/sqrt 2."""
    d = net.positions[net.stiff[:, 0]] - net.positions[net.stiff[:, 1]]
    return d / np.linalg.norm(d, axis=1)[:, None]


def velocities(member: Member, net: Network) -> Array:
    """(N, 3): spin about z, and noise of rms speed `amplitude` without momentum or further spin,
    `share` of its energy in the stretching of stiff springs."""
    x = net.positions
    rng = np.random.default_rng(SEED)
    soft = _without_rigid_motion(x, rng.standard_normal(x.shape))
    i, j = net.stiff.T
    n = stretchings(net)
    rate = np.einsum("pk,pk->p", soft[i] - soft[j], n)[:, None] / 2.0
    soft[i] -= rate * n  # a rigid motion stretches nothing, so this brings none back
    soft[j] += rate * n
    stiff = np.zeros_like(x)
    phases = rng.standard_normal((len(n), 1))
    stiff[i], stiff[j] = phases * n, -phases * n
    energy = len(x) * member.amplitude**2
    vibration = sum(
        np.sqrt(part * energy / np.vdot(v, v)) * v
        for part, v in ((1.0 - member.share, soft), (member.share, stiff))
    )
    return np.cross([0.0, 0.0, member.spin], x) + vibration


def _without_rigid_motion(x: Array, v: Array) -> Array:
    """v less its projection on the six rigid motions of x."""
    axes = np.eye(3)
    rigid = [np.broadcast_to(e, x.shape) for e in axes] + [np.cross(e, x) for e in axes]
    basis, _ = np.linalg.qr(np.stack([r.ravel() for r in rigid], axis=1))
    flat = v.ravel()
    return (flat - basis @ (basis.T @ flat)).reshape(x.shape)
