"""The hand: what it takes hold of, how hard, and what the books say of it."""

import numpy as np
import pytest
from live_scenes import drifting, frames, little_cloth, made_up, pendulum, staged, state

from stiffly import Gravity, InputError, Springs, System, scenes
from stiffly.meshes import Mesh
from stiffly.view import hand as hands


def test_a_mass_on_the_hand_swings_at_the_frequency_of_its_spring():
    """Nothing else acts: x = d (1 - cos wt), w^2 = k/m, and k/2 d^2 is what the hand puts in."""
    stage = staged(drifting(mass=2.0, step=0.001), "verlet")
    stage.grab(0)
    stage.drag([0.3, 0.0, 0.0])
    w = 2.0 * np.pi / (hands.FOLLOW * stage.settings.frame_time)
    added = stage.look().lanes[0].added
    assert added == pytest.approx(0.5 * 2.0 * w**2 * 0.09, rel=1e-12)
    seen = frames(stage, 8)[-1]
    assert state(stage).x[0] == pytest.approx(0.3 * (1.0 - np.cos(w * seen.t)), rel=1e-5)
    lane = seen.lanes[0]
    assert lane.added == added and lane.energies["hand"] > 0.0
    assert lane.hand[0] == pytest.approx([0.3, 0.0, 0.0])


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_a_drag_is_seen_in_the_very_next_frame(share):
    """What is held goes half of the hand's way at least, in shares of the body's size."""
    scene = scenes.load("cloth", resolution=31)
    dragged, held = (staged(scene, "realtime") for _ in range(2))
    for stage in (dragged, held):
        frames(stage, 3)
        stage.grab(480)
    way = share * np.linalg.norm(np.ptp(scene.x0, axis=0)) * np.array([0.0, 1.0, 0.0])
    dragged.drag(way)
    with_it, without = (stage.advance().lanes[0].positions[480] for stage in (dragged, held))
    assert (with_it - without) @ way > 0.5 * way @ way


def test_what_the_springs_store_is_dissipated_when_it_lets_go():
    stage = staged(little_cloth(damping=0.0), "energy-momentum")
    stage.grab(24)
    stage.drag([0.4, 0.2, 0.0])
    held = frames(stage, 3)[-1].lanes[0]
    assert held.energies["hand"] > 0.0 and held.dissipated == 0.0
    stage.drop()
    free = stage.look().lanes[0]
    assert free.energies["hand"] == 0.0
    assert free.dissipated == pytest.approx(held.energies["hand"], rel=1e-12)
    assert free.numerical == pytest.approx(held.numerical, abs=1e-12)


def test_a_hand_that_only_touches_does_nothing():
    """To take hold and let go between two frames leaves no trace, to the last digit."""
    touched, left_alone = (staged(little_cloth(), "realtime", "eti") for _ in range(2))
    for stage in (touched, left_alone):
        frames(stage, 3)
        body = stage.lanes[0].body
        if stage is touched:
            stage.grab(24)
            stage.drag([1.0, 1.0, 1.0])
            stage.drag([0.0, 0.0, 0.0])
            stage.drop()
            assert stage.lanes[0].stepper.system is body  # no part of the hand stays behind
    for lane in (0, 1):
        np.testing.assert_allclose(
            frames(touched, 2)[-1].lanes[lane].positions,
            frames(left_alone, 2)[-1].lanes[lane].positions,
            atol=1e-6,
        )


def test_constant_tangents_and_free_bodies_stay_so_while_nothing_is_held():
    stage = staged(scenes.load("pylon", small=True), "exprb42")
    system = stage.lanes[0].stepper.system
    assert system.assembly.linear and system.conservative and not system.settles
    stage.grab(90)
    held = stage.lanes[0].stepper.system
    K, alone = (s.tangent(state(stage)).matrix(0.0, 1.0, 0.0) for s in (held, system))
    assert abs(K - alone).sum() == pytest.approx(
        3 * stage._grip.particles.size * stage._grip.stiffness, rel=1e-6
    )  # the tangent knows of the hand
    stage.drop()
    back = stage.lanes[0].stepper.system
    assert back.tangent(state(stage)) is system.tangent(state(stage))  # and its caches are there
    free = staged(scenes.load("spinning-cube", small=True), "stabilised")
    assert free.lanes[0].stepper.system.free_bodies is not None
    free.grab(0)
    assert free.lanes[0].stepper.system.free_bodies is None  # it is turned from outside
    free.drop()
    assert free.lanes[0].stepper.system.free_bodies is not None


def test_a_hand_that_swings_slowly_leaves_the_linear_part_alone():
    """eti goes on with what it has; a hand too quick for the step is part of what it linearises."""
    slow = staged(scenes.load("coil-spring", small=True), "eti")
    quick = staged(scenes.load("cloth", resolution=31), "eti")
    for stage, same in ((slow, True), (quick, False)):
        stage.grab(len(stage.scene.x0) - 1)
        lane = stage.lanes[0]
        w = np.sqrt(stage._grip.stiffness / stage.scene.system.particle_mass[-1])
        assert bool(w * stage.settings.step <= 1.0 + 1e-9) is same
        assert (lane.stepper.system.linear_part() is lane.body.linear_part()) is same


def test_no_matrix_is_factorised_anew_for_it():
    stage = staged(little_cloth(), "realtime")
    frames(stage, 5)

    def factorizations():
        return stage.lanes[0].stepper.work.factorizations

    before = factorizations()
    stage.grab(24)
    stage.drag([0.3, 0.0, 0.0])
    frames(stage, 3)
    stage.drop()
    frames(stage, 3)
    assert factorizations() == before


def test_the_patch_is_near_along_the_mesh_and_free():
    """Two sheets lie on each other: the hand holds one of them; what is fixed it cannot hold."""
    grid = np.array([[i, j, 0.0] for i in range(6) for j in range(6)])
    x0 = np.concatenate([grid, grid + np.array([0.0, 0.0, 0.01])])
    right = [[i, i + 1] for i in range(36) if i % 6 < 5] + [[i, i + 6] for i in range(30)]
    edges = np.array(right + (np.array(right) + 36).tolist())
    system = System(np.ones(72), [Springs(edges, 100.0)], rest=x0, fixed=[0, 1, 2])
    stage = staged(made_up(system, x0, mesh=Mesh(x0, edges)))
    stage.grab(0)
    chosen = stage._grip.particles
    assert chosen[0] == 6  # the nearest that can move
    assert chosen.max() < 36 and not np.intersect1d(chosen, [0, 1, 2]).size


@pytest.mark.parametrize("vertex", [-1, 49, 1.5, None, True, "3"])
def test_a_vertex_that_is_not_there_is_refused_and_the_grip_stays(vertex):
    stage = staged(little_cloth(), "realtime")
    stage.grab(24)
    held = stage.look().held
    with pytest.raises(InputError, match="0 to 48"):
        stage.grab(vertex)
    assert np.array_equal(stage.look().held, held)


@pytest.mark.parametrize(
    "offset", [[np.nan, 0, 0], [1, 2], "far", None, [np.inf, 0, 0], [[1, 2, 3]]]
)
def test_an_offset_that_is_none_is_refused(offset):
    stage = staged(little_cloth(), "realtime")
    stage.grab(24)
    points = stage.look().lanes[0].hand
    with pytest.raises(InputError, match="three finite numbers"):
        stage.drag(offset)
    assert np.array_equal(stage.look().lanes[0].hand, points)


def test_a_hand_reaches_only_so_far():
    scene = little_cloth()
    stage = staged(scene, "energy-momentum")
    stage.grab(24)
    start = stage.look().lanes[0].hand
    stage.drag([1e30, 0.0, 0.0])
    size = np.linalg.norm(np.ptp(scene.x0, axis=0))
    assert (stage.look().lanes[0].hand - start)[0] == pytest.approx([hands.REACH * size, 0, 0])


def test_dragging_nothing_is_nothing():
    stage = staged(little_cloth(), "realtime")
    stage.drag([1.0, 0.0, 0.0])
    stage.drop()
    assert stage.look().lanes[0].added == 0.0


def test_all_lanes_are_pulled_alike():
    stage = staged(little_cloth(), "realtime", "energy-momentum")
    frames(stage, 5)
    stage.grab(24)
    origins = [lane.hand for lane in stage.look().lanes]
    stage.drag([0.1, 0.2, 0.3])
    for lane, origin in zip(stage.look().lanes, origins, strict=True):
        np.testing.assert_allclose(lane.hand - origin, np.tile([0.1, 0.2, 0.3], (len(origin), 1)))
    assert not np.array_equal(*origins)  # each from where its own body is
    stage.change(integrators=("realtime", "energy-momentum", "bdf1"), stiffness=2.0)
    seen = stage.look()
    np.testing.assert_array_equal(seen.lanes[2].hand, seen.lanes[0].hand)  # it joins in
    np.testing.assert_allclose(seen.lanes[0].hand - origins[0], seen.lanes[1].hand - origins[1])


def test_explicit_methods_lose_no_more_of_their_step_than_promised():
    """lambda_max with the hand on it <= (1 + SHARE) lambda_max without, from dense matrices."""
    scene = little_cloth()
    system, start = scene.system.bind(scene.x0)
    stage = staged(scene, "realtime", step=0.01)  # far above what explicit methods could take
    alone = np.linalg.eigvalsh(system.tangent(start).matrix(0.0, 1.0, 0.0).toarray()).max()
    for vertex in (0, 3, 24, 48):
        stage.grab(vertex)
        held = stage.lanes[0].stepper.system
        K = held.tangent(start).matrix(0.0, 1.0, 0.0).toarray()  # the masses are all equal
        assert np.linalg.eigvalsh(K).max() <= (1.0 + hands.SHARE) * alone


def test_a_single_vertex_that_nothing_ties_can_be_held():
    system = System(np.array([1.0, 3.0]), [Gravity()])
    stage = staged(made_up(system, [[0, 0, 0], [5.0, 0, 0]], step=0.01), "verlet")
    stage.grab(1)
    assert stage._grip.particles.tolist() == [1]
    w = 2.0 * np.pi / (hands.FOLLOW * 0.03)
    assert stage._grip.stiffness == pytest.approx(3.0 * w**2)  # not the mass of the other
    assert frames(stage, 30)[-1].lanes[0].failure is None


def test_the_hand_lifts_the_body():
    """A cloth of 3.2 kg, pulled up by 1 m in its middle, follows."""
    stage = staged(little_cloth(shake=0.0), "realtime")
    stage.grab(24)
    before = stage.look().lanes[0].positions[24, 2]
    for i in range(30):
        stage.drag([0.0, 0.0, i / 29])
        seen = stage.advance()
    assert seen.lanes[0].positions[24, 2] - before > 0.5
    assert seen.lanes[0].failure is None


def test_a_grip_survives_reset_as_nothing():
    stage = staged(pendulum())
    stage.grab(1)
    stage.reset()
    stage.drag([1.0, 0.0, 0.0])
    assert stage.look().lanes[0].hand.shape == (0, 3)
