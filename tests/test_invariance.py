"""Nothing depends on where the origin lies or which way the axes point.

A scene moved by 50 m and turned by 1 rad as a whole, with supports, gravity, planes and velocities,
moves like the one that stayed.  The bound is what rounding the coordinates at 50 m and a method's
own solves (1e-9 and better) leave; a method that works with absolute positions misses it by far.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moved_scenes import AWAY, HERE, SCENES, Pose, cantilever, rods
from thinned import drawn

from stiffly import simulate
from stiffly.errors import Diverged
from stiffly.integrators import NAMES, Neti

pytestmark = pytest.mark.filterwarnings("ignore::stiffly.errors.StiffWarning")

ELASTIC = [n for n in NAMES if n != "fast-projection"]  # which keeps lengths: see the rods below
COMPOUND = [f"stabilised:{n}" for n in ("verlet", "bdf2", "newmark", "energy-momentum", "ceti")]
COMPOUND += [f"stabilised:{n}" for n in ("projective", "projective-energy-momentum", "exprb42")]
NO_VELOCITIES = ("rkn86", "rkn6")  # in forces: these methods refuse them
BRAKED = ("springs, damped", "cloth, windy")
EXPLICIT = ("rk4", "verlet", "symplectic-euler", "forward-euler", "dop853", *NO_VELOCITIES)
QUICK = ("springs, damped", "neo-hookean", "landing, friction")
BOUND = 1e-8  # of the largest excursion and velocity
# steps beyond the limit of explicit methods; epirk4s3's weights of 3e4 magnify rounding there
LARGE_STEPS = [n for n in (*ELASTIC, *COMPOUND) if not n.endswith(EXPLICIT) and n != "epirk4s3"]
LINEARISED_AT_REST = ("eti", "vimex", "exprk4")  # as the rest shape lies


def taken(scenes, names):
    """The scenes that the methods take."""
    pairs = product(scenes, names)
    return [(s, n) for s, n in pairs if not (s in BRAKED and n in NO_VELOCITIES)]


def differences(scene, method, pose, steps, rest_pose=None, **options):
    """Of positions and velocities, relative to the largest excursion and velocity."""
    options = options or {"step": scene.step, "every": scene.step}
    here, away = (
        simulate(*scene.at(p, r), integrator=method, duration=steps * scene.step, **options)
        for p, r in ((HERE, None), (pose, rest_pose))
    )
    assert here.stats["steps"] == away.stats["steps"]
    moved = np.abs(here.positions - here.positions[0]).max()
    x = np.abs(pose.back(away.positions) - here.positions).max() / moved
    v = np.abs(away.velocities @ pose.Q - here.velocities).max() / np.abs(here.velocities).max()
    return max(x, v)


@pytest.mark.parametrize("scene, name", taken(QUICK, [*ELASTIC, *COMPOUND]))
def test_a_scene_moved_and_turned_moves_alike(scene, name):
    assert differences(SCENES[scene], name, AWAY, 8) <= BOUND


def test_the_landing_lands():
    scene = SCENES["landing, friction"]
    run = simulate(*scene.at(HERE), integrator="verlet", step=scene.step, duration=8 * scene.step)
    assert run.positions[..., 2].min() < -1e-3


@pytest.mark.slow
@pytest.mark.parametrize("scene, name", taken(SCENES, [*ELASTIC, *COMPOUND]))
def test_all_scenes_moved_and_turned_move_alike(scene, name):
    steps = 12 if name == "forward-euler" else 24  # which explodes, and magnifies rounding
    # unsymmetric tangents: what Arnoldi leaves (1e-9) is magnified by epirk4s3's weights
    magnified = name == "epirk4s3" and scene == "cloth, windy"
    assert differences(SCENES[scene], name, AWAY, steps) <= (1e-6 if magnified else BOUND)


def test_rods_moved_and_turned_move_alike():
    assert differences(rods(), "fast-projection", AWAY, 30) <= BOUND


ADAPTIVE = ["exprb32", "exprb42", "pexprb43", "dop853", "rkn86"]


@pytest.mark.parametrize("scene, name", taken(QUICK, ADAPTIVE))
def test_adaptive_steps_are_the_same_everywhere(scene, name):
    assert differences(SCENES[scene], name, AWAY, 12, rtol=1e-4, every=0.02) <= BOUND


@pytest.mark.parametrize("name", ELASTIC)
def test_a_free_body_may_be_far_from_its_rest_shape(name):
    """Its rest shape stays where it was; eti, vimex and exprk4 know which way that was turned."""
    turned = AWAY if name not in LINEARISED_AT_REST else Pose(HERE.Q, AWAY.c)
    assert differences(SCENES["springs, free"], name, turned, 8, rest_pose=HERE) <= BOUND


@pytest.mark.parametrize("form, filters", [
    ("one-step", ("deuflhard", "garcia-archilla", "hairer-lubich", "grimm-hochbruck")),
    ("two-step", ("gautschi", "garcia-archilla", "hochbruck-lubich", "grimm-hochbruck")),
])  # fmt: skip
@pytest.mark.parametrize("linearisation", ["corotated", "tangent"])
def test_every_filter_and_form_moves_alike(linearisation, form, filters):
    for filter in filters:
        method = Neti(filter=filter, form=form, linearisation=linearisation)
        assert differences(SCENES["springs"], method, AWAY, 8) <= BOUND


VECTOR = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda a: np.linalg.norm(a) > 0.1)


@drawn(15)
@given(
    name=st.sampled_from(["ceti", "neti", "eti", "pexprb43", "realtime", "bdf2"]),
    scene=st.sampled_from(list(SCENES)),
    axis=VECTOR,
    angle=st.floats(-np.pi, np.pi),
    direction=VECTOR,
    distance=st.floats(0.0, 300.0),
)
def test_wherever_a_scene_is_it_moves_alike(name, scene, axis, angle, direction, distance):
    pose = Pose.of(axis, angle, distance, direction)
    assert differences(SCENES[scene], name, pose, 5) <= BOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE_STEPS)
def test_large_steps_are_the_same_everywhere(name):
    # a stabiliser solves its backward Euler to 1e-6 (integrators/stabilised.LOOSE)
    own = 1e-6 if name.startswith("stabilised") else BOUND
    assert differences(cantilever(), name, AWAY, 24) <= own


@pytest.mark.parametrize("height", [0.0, 5.0, 500.0])
def test_a_cantilever_swings_the_same_at_any_height(height):
    """Absolute positions make ceti diverge."""
    scene = cantilever()
    run = simulate(
        *scene.at(Pose(HERE.Q, np.array([0.0, 0.0, height]))),
        integrator="ceti", step=scene.step, duration=1.0,
    )  # fmt: skip
    assert np.abs(run.energy.numerical).max() <= 0.01 * run.energy.exchanged


def test_the_same_scenes_diverge_everywhere():
    """A judge that took the height of the origin for energy would be more patient there."""
    times = []
    for pose in (HERE, AWAY):
        with pytest.raises(Diverged) as caught:
            scene = SCENES["springs"]
            simulate(*scene.at(pose), integrator="forward-euler", step=scene.step, duration=1.0)
        times.append(caught.value.run.times[-1])
    assert times[0] == times[1]
