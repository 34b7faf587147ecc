"""What fibers are built of, and what they refuse; tests/test_fiber_theory.py measures them."""

import numpy as np
import pytest

import stiffly
from stiffly.bodies import Gravity, System, fiber, fibers
from stiffly.errors import InputError

BRUSH = {"thickness": 0.12e-3, "young": 3.2e10, "torsional": 1e9, "density": 1150.0}
HAIR = {"thickness": 0.07e-3, "young": 3.6e9, "torsional": 1e9, "density": 1300.0}
TAPERED = {**HAIR, "thickness": (0.09e-3, 0.04e-3)}


def straight(length, n):
    points = np.zeros((n + 1, 3))
    points[:, 0] = np.linspace(0.0, length, n + 1)
    return points


def test_twenty_particles_make_a_bristle():
    body = fiber(straight(0.01, 4), **BRUSH)
    assert len(body.positions) == 20 and len(body.edges) == 5 * 6 + 4 * 16
    np.testing.assert_array_equal(body.root, [0, 1, 2, 3])
    np.testing.assert_allclose(body.centrelines(body.positions), straight(0.01, 4), atol=1e-18)
    volume = np.pi / 4 * BRUSH["thickness"] ** 2 * 0.01
    assert body.mass.sum() == pytest.approx(BRUSH["density"] * volume)
    assert np.all(body.stiffness > 0.0)
    corners = body.positions.reshape(5, 4, 3)
    np.testing.assert_allclose(
        np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), body.width[0]
    )
    np.testing.assert_allclose(np.ptp(corners[..., 0], axis=1), 0.0, atol=1e-15)


def test_cones_weigh_what_cones_weigh():
    body = fiber(straight(0.1, 3), **TAPERED)
    d0, d1 = TAPERED["thickness"]
    volume = np.pi / 12 * 0.1 * (d0**2 + d0 * d1 + d1**2)
    assert body.mass.sum() == pytest.approx(1300.0 * volume)
    middle = body.mass @ body.positions[:, 0] / body.mass.sum()  # a cone's centre of gravity
    expected = 0.1 / 4 * (d0**2 + 2 * d0 * d1 + 3 * d1**2) / (d0**2 + d0 * d1 + d1**2)
    assert middle == pytest.approx(expected)


def test_many_fibers_are_the_single_ones():
    rng = np.random.default_rng(0)
    lines = [
        np.cumsum(rng.uniform(-0.3, 1.0, (n, 3)), axis=0) * 0.01 + rng.standard_normal(3)
        for n in (4, 2, 7)
    ]
    together = fibers(lines, **TAPERED)
    single = [fiber(line, **TAPERED) for line in lines]
    np.testing.assert_array_equal(together.start, [0, 4, 6, 13])
    np.testing.assert_array_equal(
        together.root, np.concatenate([4 * p + np.arange(4) for p in (0, 4, 6)])
    )
    for name in ("positions", "mass", "width", "stretch_ratio", "torsion_ratio"):
        alone = np.concatenate([getattr(body, name) for body in single])
        np.testing.assert_allclose(getattr(together, name), alone, rtol=1e-12)
    ours = dict(zip(map(tuple, together.edges.tolist()), together.stiffness, strict=True))
    for first, body in zip(together.start, single, strict=False):
        for (i, j), k in zip((body.edges + 4 * first).tolist(), body.stiffness, strict=True):
            assert ours.pop((i, j)) == pytest.approx(k, rel=1e-12)
    assert not ours
    system = System(together.mass, [together.part], fixed=together.root, rest=together.positions)
    labels = system.linear_part().tangent.stiffness.components()
    assert labels.max() == 2  # three bodies, tied to nothing but their roots
    array = fibers(np.stack([lines[0], lines[0] + 1.0]), **BRUSH)
    np.testing.assert_allclose(array.positions[16:], array.positions[:16] + 1.0, rtol=1e-12)


def test_squares_do_not_twist_along_a_curved_fiber():
    """A helix's frames turn with the curve only: neighbouring sides differ by the bend angle."""
    t = np.linspace(0.0, 4 * np.pi, 60)
    body = fiber(np.stack([np.cos(t), np.sin(t), 0.2 * t], axis=1) * 0.01, **HAIR)
    corners = body.positions.reshape(-1, 4, 3)
    side = (corners[:, 0] - corners[:, 1]) / body.width[0]
    normal = np.cross(side, (corners[:, 1] - corners[:, 2]) / body.width[0])
    axis = np.cross(normal[:-1], normal[1:])
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    along = np.sum(side[:-1] * axis, axis=1)  # a rotation about `axis` leaves this alone
    np.testing.assert_allclose(np.sum(side[1:] * axis, axis=1), along, atol=1e-12)


def test_a_hanging_hair_swings_and_keeps_its_energy():
    points = np.zeros((5, 3))
    points[:, 0] = np.linspace(0.0, 0.05, 5)
    body = fiber(points, **HAIR)
    system = System(body.mass, [body.part, Gravity()], fixed=body.root, rest=body.positions)
    run = stiffly.simulate(
        system, x0=body.positions, integrator="exprb42", step=2.5e-4, duration=0.05
    )
    assert body.centrelines(run.positions[-1])[-1, 2] < -1e-3
    assert abs(run.energy.numerical).max() < 1e-6 * run.energy.exchanged


# ---------------------------------------------------------------------- refusals

LINE = straight(0.01, 2)


def changed(**options):
    return lambda: fiber(LINE, **{**BRUSH, **options})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fibers([LINE, LINE[:1]], **BRUSH), "fiber 1 has 1 point"),
        (lambda: fibers([], **BRUSH), "no fibers"),
        (lambda: fibers(5, **BRUSH), "list of centrelines"),
        (lambda: fibers(None, **BRUSH), "list of centrelines"),
        (lambda: fiber([[0, 0, 0], [1]], **BRUSH), "fiber 0 points .*different lengths"),
        (changed(density="a"), "density must hold numbers"),
        (lambda: fiber(LINE[:, :2], **BRUSH), "fiber 0 has points of shape"),
        (lambda: fibers([LINE, LINE[[0, 1, 1]]], **BRUSH), "fiber 1: points 1 and 2 coincide"),
        (lambda: fibers([LINE, LINE[[0, 2, 0]]], **BRUSH), "fiber 1: it turns back .*point 1"),
        (lambda: fiber(LINE * np.nan, **BRUSH), r"fiber 0 points\[0, 0\] is nan"),
        (changed(thickness=0.0), "thickness = 0.0: it must be positive"),
        (changed(thickness=(1e-4, -1e-4)), "thickness .*positive"),
        (changed(thickness=[1e-4] * 3), "thickness has shape .*root, tip"),
        (changed(thickness=np.nan), "thickness is nan"),
        (changed(young=0.0), "young = 0.0: it must be positive"),
        (changed(torsional=-1.0), "torsional = -1.0: it must be positive"),
        (changed(young=np.inf), "young is inf"),
        (changed(density=0.0), "density = 0.0"),
        (changed(width=0.0), "width = 0.0"),
        (changed(stretch=1.5), "stretch = 1.5: .*between 0 and 1"),
        (changed(stretch=np.nan), "stretch is nan"),
        (changed(normal=(2.0, 0, 0)), "fiber 0: normal points along it"),
        (changed(normal=(0, 0)), "normal has shape"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
