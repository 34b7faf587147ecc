"""Meshes as shapes on a card: what a particle meets, and a hundred steps, as the host has them;
asked of a real card, and of one made of loops."""

import numpy as np
import test_stretch as cases

import stiffly
from stiffly.bodies import Dashpots, Gravity, Rayleigh, Rotation, Springs, System
from stiffly.collisions import Contact, Plane, TriangleMesh, keyframes, rotation
from stiffly.kernels.cuda import stretch
from stiffly.meshes import creature_surface

TURN = {"axis": (0.3, 0.5, 1.0), "centre": (0.1, -0.2, 0.3)}
K = 100.0


def box(low, high):
    """Corners and triangles of a box."""
    x = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]) * 1.0
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [(q[0], q[j], q[j + 1]) for q in quads for j in (1, 2)]
    return np.array(low) + x * np.subtract(high, low), np.array(faces)


def figure():
    made = creature_surface(600, shape="biped", height=1.0)
    return made.positions, made.triangles


def two():
    (x, faces), (y, more) = box((0.0,) * 3, (0.4,) * 3), box((0.6,) * 3, (1.0,) * 3)
    return np.concatenate([x, y]), np.concatenate([faces, more + len(x)])


MESHES = {
    "box": box((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)),
    "thin": box((-0.5, -0.5, 0.0), (0.5, 0.5, 1e-3)),
    "creature": figure(),
    "two": two(),
}
MOTIONS = {
    "still": None,
    "turned": rotation(**TURN, times=(-0.1, 0.1), angles=(0.0, 2.0)),
    "shifted": keyframes((-0.1, 0.1), [(0.0,) * 3, (0.2, 0.3, -0.4)]),
}


def asked(x, faces):
    """Points (700, 3) in and around a mesh: anywhere, then on it, its edges and corners, then off
    it by a thousandth."""
    rng = np.random.default_rng(5)
    low, high = x.min(axis=0), x.max(axis=0)
    around = low + (high - low) * rng.uniform(-0.6, 1.6, (300, 3))
    weights = rng.dirichlet((1.0,) * 3, 200)
    weights[:40] = np.eye(3)[rng.integers(0, 3, 40)]
    weights[40:80, 0] = 0.0
    weights /= weights.sum(axis=1)[:, None]
    on = np.einsum("kc,kca->ka", weights, x[faces[rng.integers(0, len(faces), 200)]])
    return np.concatenate([around, on, on + 1e-3 * rng.standard_normal(on.shape)])


def slenderness(corners):
    """The longest edge of any triangle (m, 3, 3) over its height."""
    edges = corners - np.roll(corners, 1, axis=1)
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    return float((np.square(edges).sum(axis=2).max(axis=1) / area).max())


def same_pushes(name, motion, backend):
    """What shapes push particles with that are inside, near and on a mesh."""
    x, faces = MESHES[name]
    shape = TriangleMesh(x, faces, MOTIONS[motion])
    points = shape.frame(0.0).points(asked(x, faces))
    margin = 0.2 * float(np.ptp(x, axis=0).max())
    bound, state = System(1.0, [Contact(shape, K, margin=margin)], rest=points).bind(points)
    there = bound.on(backend)
    wanted, found = (own.acceleration(state).reshape(-1, 3) for own in (bound, there.stretcher))
    push = np.linalg.norm(wanted, axis=1)
    assert 400 < np.count_nonzero(push) < len(points)
    assert np.count_nonzero(push > K * margin) > 20  # inside
    # on the surface itself rounding says where a normal points, and how far a sliver is
    off = np.r_[:300, 500:700]
    # near it, too: a direction is the difference of two points, each rounded, over their distance,
    # and where the closest one lies on a sliver is known as well as the sliver is wide
    away = np.abs(margin - push[off] / K)[:, None]
    error = 16.0 * np.finfo(float).eps * np.abs(points).max() * slenderness(x[faces])
    allowed = 1e-10 * push.max() + push[off, None] * error / np.maximum(away, 1e-300)
    assert np.all(np.abs(found - wanted)[off] <= allowed)
    assert np.median(allowed) < 1e-7 * push.max()
    assert np.abs(np.linalg.norm(found, axis=1) - push).max() <= 1e-9 * push.max()


RUNS = ("free", "still", "airy", "led", "yielding")


def scene_of(kind, make=TriangleMesh):
    """A lattice of particles that falls on turning meshes, and its parts beside contact."""
    rest, edges, x0 = cases.body(np.random.default_rng(3))
    roots = np.arange(3)
    parts = [Springs(edges, 400.0), Gravity()]
    turning = TriangleMesh(*MESHES["creature"], rotation(axis=(0.0, 0.0, 1.0), rate=9.0))
    block = make(*box((-1.0, -1.0, -2.0), (3.0, 3.0, -0.2)))
    shapes = [turning, block, Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
    contact = Contact(shapes, 3e3, margin=0.1, friction=0.4)
    turned = Rotation(roots, axis=(0.0, 0.0, 1.0), centre=(0.5, 0.3, 0.0), rate=3.0)
    more, further = {
        "free": ([contact], {}),
        "still": ([Contact(block, 3e3, margin=0.1)], {}),
        "airy": ([contact, Dashpots(edges[:40], 3.0)], {"damping": Rayleigh(alpha=2.0)}),
        "led": ([contact], {"supports": turned}),
        "yielding": ([contact], {"damping": Rayleigh(alpha=2.0)}),
    }[kind]
    if kind == "yielding":
        parts[0] = Springs(edges, 400.0, yield_strain=0.02)
    lift = [-0.4, -0.4, 0.02]
    system = System(1.0, [*parts, *more], rest=0.5 * rest + lift, **further)
    v0 = np.tile([0.1, 0.1, -1.9], (len(x0), 1))
    return system, 0.5 * x0 + lift, v0


def same_run(kind):
    """A hundred steps on both sides, and resumed: positions, velocities, the ledger, frames of
    contact, and the same bits twice."""
    system, x0, v0 = scene_of(kind)
    h = 2e-3
    options = {"integrator": "verlet", "step": h, "duration": 100 * h, "every": 25 * h}
    host, card, again = (
        stiffly.simulate(system, x0, v0, device=device, **options)
        for device in ("cpu", "gpu", "gpu")
    )
    same_frames(host, card)
    assert host.fields["contact-force"].max() > 1.0
    assert host.energy.parts["contact"].max() > 0.01
    assert np.array_equal(card.positions, again.positions)
    assert np.array_equal(card.energy.total, again.energy.total)


def same_frames(host, card):
    size = np.abs(host.positions).max()
    assert np.abs(card.positions - host.positions).max() <= 1e-10 * size
    lines, found = (
        {**run.energy.parts, "added": run.energy.added, "dissipated": run.energy.dissipated}
        for run in (host, card)
    )
    assert found.keys() == lines.keys()
    most = max(host.energy.exchanged, *(np.abs(line).max() for line in lines.values()))
    for line, wanted in lines.items():
        assert np.abs(found[line] - wanted).max() <= 1e-9 * most, line
    for name, wanted in host.fields.items():
        assert np.abs(card.fields[name] - wanted).max() <= 1e-9 * np.abs(wanted).max(), name


def forgetful(monkeypatch):
    """Rows that are never told to look ask the tree in every step."""
    system, x0, v0 = scene_of("free")
    options = {"integrator": "verlet", "step": 2e-3, "duration": 0.16, "device": "gpu"}
    looking = stiffly.simulate(system, x0, v0, **options)
    monkeypatch.setattr(stretch._Order, "_look", lambda self, steps: None)
    asking = stiffly.simulate(system, x0, v0, **options)
    assert np.array_equal(looking.positions, asking.positions)
    assert np.array_equal(looking.velocities, asking.velocities)
