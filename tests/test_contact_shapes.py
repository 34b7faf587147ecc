"""Signed distances of shapes, their derivatives, and how shapes move."""

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import surfaces as plain
from thinned import drawn

from stiffly.bodies import Keyframes
from stiffly.collisions import Hemisphere, Plane, Sphere, keyframes, path, planes, rotation
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.kernels.cpu import contact as compiled

AXIS = np.array([1.0, -2.0, 2.0]) / 3.0
SHAPES = {
    "plane": Plane((0.1, 0.2, 0.3), (1.0, 2.0, -2.0)),
    "ball": Sphere((0.5, -0.2, 0.1), 1.3),
    "room": Sphere((0.5, -0.2, 0.1), 1.3, inside=True),
    "half ball": Hemisphere((0.2, 0.1, -0.3), 1.1, AXIS),
}
seeds = st.integers(0, 2**32 - 1)
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def surface_of(shape, t=0.0):
    return shape.surface(t, np.empty((0, 3)))


def points(seed, count=40):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (count, 3))


def row_and_kind(shape):
    surface = surface_of(shape)
    return surface.kind, surface.numbers[0]


def half_ball_distance(x, centre, radius, axis):
    """The nearer of cap and disc, each by its own formula; negative inside."""
    y = x - centre
    z = y @ axis
    rho = np.linalg.norm(y - np.outer(z, axis), axis=1)
    rim = np.hypot(rho - radius, z)
    cap = np.where(z >= 0.0, np.abs(np.linalg.norm(y, axis=1) - radius), rim)
    disc = np.where(rho <= radius, np.abs(z), rim)
    inside = (np.linalg.norm(y, axis=1) < radius) & (z > 0.0)
    return np.where(inside, -1.0, 1.0) * np.minimum(cap, disc)


@drawn(30)
@given(seed=seeds)
def test_distances_are_those_of_geometry(seed):
    x = points(seed)
    n = np.array([1.0, 2.0, -2.0]) / 3.0
    length = np.linalg.norm(x - SHAPES["ball"].centre, axis=1)
    half = SHAPES["half ball"]
    expected = {
        "plane": (x - [0.1, 0.2, 0.3]) @ n,
        "ball": length - 1.3,
        "room": 1.3 - length,
        "half ball": half_ball_distance(x, half.centre, half.radius, half.axis),
    }
    for name, shape in SHAPES.items():
        np.testing.assert_allclose(surface_of(shape).distances(x), expected[name], atol=1e-14)


@every_shape
def test_normals_and_curvatures_are_the_derivatives(shape):
    """Away from the surface inside a half ball where cap and flat side are equally near."""
    x, e = points(3, 300), 1e-5
    surface, (kind, q) = surface_of(shape), row_and_kind(shape)
    n = surface.normals(x, np.arange(len(x)))
    steps = e * np.eye(3)
    slopes = [(surface.distances(x + s) - surface.distances(x - s)) / (2 * e) for s in steps]
    smooth = np.abs(np.stack(slopes, axis=1) - n).max(axis=1) < 1e-8
    assert smooth.mean() > 0.98
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-14)
    for p in x[smooth]:
        upper, largest = compiled.curvature(kind, q, tuple(p))
        H = np.array(upper)[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
        ahead = [compiled.normal(kind, q, tuple(p + s)) for s in steps]
        expected = np.subtract(ahead, [compiled.normal(kind, q, tuple(p - s)) for s in steps])
        np.testing.assert_allclose(H, expected / (2 * e), atol=2e-7)
        assert largest == pytest.approx(max(0.0, np.linalg.eigvalsh(H)[-1]), abs=1e-12)


def close_pair(seed):
    """Two points at a distance between 1e-9 and 1."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, 3), 10.0 ** rng.uniform(-9, 0) * rng.standard_normal(3)


@drawn(200)
@given(seed=seeds, name=st.sampled_from(sorted(SHAPES)))
def test_the_mean_normal_closes_the_distance(seed, name):
    """m.(x1 - x0) = d1 - d0, the same both ways, and the normal where both are one point."""
    kind, q = row_and_kind(SHAPES[name])
    x0, step = close_pair(seed)
    p0, p1 = tuple(x0), tuple(x0 + step)
    m = np.array(compiled.mean_normal(kind, q, p0, p1))
    gap = compiled.distance(kind, q, p1) - compiled.distance(kind, q, p0)
    assert m @ np.subtract(p1, p0) == pytest.approx(gap, abs=4e-15)
    np.testing.assert_allclose(compiled.mean_normal(kind, q, p1, p0), m, atol=1e-14)
    n = compiled.normal(kind, q, p0)
    np.testing.assert_allclose(compiled.mean_normal(kind, q, p0, p0), n, atol=1e-15)


@drawn(150)
@given(seed=seeds, name=st.sampled_from(sorted(SHAPES)))
def test_the_slope_of_the_mean_normal(seed, name):
    kind, q = row_and_kind(SHAPES[name])
    rng = np.random.default_rng(seed)
    x0, x1 = rng.uniform(-2, 2, (2, 3))
    e = 1e-6
    assume(not near_a_kink(kind, q, x0, x1, e))
    columns = [
        np.subtract(
            compiled.mean_normal(kind, q, tuple(x0), tuple(x1 + s)),
            compiled.mean_normal(kind, q, tuple(x0), tuple(x1 - s)),
        ) / (2 * e)
        for s in e * np.eye(3)
    ]  # fmt: skip
    S = np.reshape(compiled.mean_slope(kind, q, tuple(x0), tuple(x1)), (3, 3))
    expected = np.stack(columns, axis=1)
    np.testing.assert_allclose(S, expected, atol=1e-5 * (1.0 + np.abs(expected).max()))


def near_a_kink(kind, q, x0, x1, e):
    """A step of e changes the part of the half ball that the end or the middle is next to."""
    if kind != cpu.HEMISPHERE:
        return False
    around = [np.zeros(3), *(2 * e * np.eye(3)), *(-2 * e * np.eye(3))]
    for centre in (x1, 0.5 * (x0 + x1)):
        if len({plain._half_ball(q, centre + s)[0] for s in around}) > 1:
            return True
    return False


@drawn(40)
@given(seed=seeds, name=st.sampled_from(sorted(SHAPES)))
def test_kernels_equal_reference(seed, name):
    kind, q = row_and_kind(SHAPES[name])
    x = points(seed, 6)
    x[0] = q[:3]  # the centre of a sphere
    d, n = np.empty((2, 6)), np.empty((2, 3, 3))
    rows = np.array([4, 0, 2], dtype=np.uint32)
    for out, normals, kernels in zip(d, n, (cpu, reference), strict=True):
        kernels.surface_distances(x, kind, q[None], out)
        kernels.surface_normals(x, rows, kind, q[None], normals)
    np.testing.assert_allclose(d[0], d[1], atol=1e-14)
    np.testing.assert_allclose(n[0], n[1], atol=1e-14)
    for p0, p1 in zip(x, x[::-1], strict=True):
        m, S = plain.mean_surface(kind, q, p0, p1)
        pair = (tuple(p0), tuple(p1))
        np.testing.assert_allclose(compiled.mean_normal(kind, q, *pair), m, atol=1e-13)
        slope = np.reshape(compiled.mean_slope(kind, q, *pair), (3, 3))
        np.testing.assert_allclose(slope, S, atol=1e-12 * (1.0 + np.abs(S).max()))


def test_a_plane_for_each_particle():
    """Rows of numbers belong to particles; what is far away is infinitely far."""
    x = points(0, 3)
    surface = planes(np.zeros((3, 3)), np.eye(3), far=np.array([False, True, False]))
    np.testing.assert_array_equal(surface.distances(x), [x[0, 0], np.inf, x[2, 2]])
    np.testing.assert_array_equal(surface.normals(x, np.array([2, 0])), np.eye(3)[[2, 0]])


# ---------------------------------------------------------------------- motion


MOTIONS = {
    "keyframes": keyframes([0.0, 2.0], [[0, 0, 0], [1.0, -2.0, 0.5]]),
    "rotation": rotation(axis=(1, 1, 0), centre=(0.3, 0.0, -0.2), rate=1.7),
    "angles": rotation(axis=(0, 0, 1), times=[0.0, 2.0], angles=[0.0, 3.0]),
    "path": path(lambda t, start: np.add(start, [np.sin(t), 0.0, t * t])),
}


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
@pytest.mark.parametrize("kind", ["plane", "ball", "half ball"])
def test_a_moving_shape_is_the_shape_seen_from_its_frame(motion, kind):
    """The distance of a point carried along stays what it was, and velocities are derivatives."""
    still = SHAPES[kind]
    names = {"plane": ("point", "normal"), "ball": ("centre", "radius")}
    given = names.get(kind, ("centre", "radius", "axis"))
    moving = type(still)(*(getattr(still, name) for name in given), motion=motion)
    assert moving.moving and not still.moving
    x, t, e = points(1), 0.8, 1e-5
    carried, speed = motion.place(t, x)
    surface = surface_of(moving, t)
    before = surface_of(still).distances(x)
    np.testing.assert_allclose(surface.distances(carried), before, atol=1e-12)
    np.testing.assert_allclose(surface.velocities(carried, np.arange(len(x))), speed, atol=1e-8)
    np.testing.assert_allclose(moving.frame(t).home(carried), x, atol=1e-12)
    ahead, behind = moving.frame(t + e).points(x), moving.frame(t - e).points(x)
    np.testing.assert_allclose((ahead - behind) / (2 * e), speed, atol=1e-7)


def test_supports_are_motions_too():
    lead = Keyframes([3], [0.0, 1.0], [[0, 0, 0], [0, 0, 1.0]])
    assert surface_of(Sphere((0, 0, 0), 1.0, motion=lead), 1.0).numbers[0, 2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Plane((0, 0, 0), (0, 0, 0)), "plane normal is zero"),
        (lambda: Plane((0, 0), (0, 0, 1)), "plane point has shape"),
        (lambda: Plane((0, 0, np.nan), (0, 0, 1)), "plane point"),
        (lambda: Sphere((0, 0, 0), 0.0), "sphere radius = 0"),
        (lambda: Sphere((0, 0, 0), -1.0), "sphere radius = -1"),
        (lambda: Sphere((0, 0, 0), np.nan), "sphere radius is nan"),
        (lambda: Hemisphere((0, 0, 0), 1.0, (0, 0, 0)), "hemisphere axis is zero"),
        (lambda: Hemisphere((0, 0, 0), np.inf), "hemisphere radius"),
        (lambda: Sphere((0, 0, 0), 1.0, motion=lambda t: t), "motion must be"),
        (
            lambda: surface_of(Sphere((0, 0, 0), 1.0, motion=path(lambda t, s: 2.0 * s))),
            "not rigid at t = 0",
        ),
        (
            lambda: surface_of(Sphere((0, 0, 0), 1.0, motion=path(lambda t, s: -s)), 1.0),
            "not rigid at t = 1",
        ),
        (
            lambda: surface_of(Plane((0, 0, 0), (0, 0, 1), path(lambda t, s: s + np.inf))),
            "NaN or infinite",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
