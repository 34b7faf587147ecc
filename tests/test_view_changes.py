"""A body that is changed while it moves: the books balance, and nothing jumps that should not."""

import numpy as np
import pytest
from live_scenes import frames, little_cloth, made_up, pendulum, staged, state

from stiffly import Gravity, Springs, System, scenes
from stiffly.bodies import Keyframes, Rotation
from stiffly.collisions import Held, Plane
from stiffly.parts.attachments import Attachments


def part(stage, name, lane=0):
    parts = stage.lanes[lane].body.at(state(stage, lane)).parts
    return next(p for n, p in parts if n == name)


def test_energy_is_booked_while_everything_changes_and_a_hand_pulls():
    """Energy-momentum keeps the energy to the accuracy of its solver, whatever happens between."""
    stage = staged(little_cloth(), "energy-momentum")
    frames(stage, 5)
    stage.change(stiffness=3.0)
    frames(stage, 5)
    stage.change(gravity=2.0)
    stage.grab(24)
    for i in range(8):
        stage.drag([0.05 * i, 0.1 * i, 0.05 * i])
        frames(stage, 1)
    stage.change(damping=2e-3, stiffness=0.5)
    frames(stage, 4)
    stage.drop()
    frames(stage, 3)
    stage.change(gravity=0.0, damping=0.0)
    seen = frames(stage, 5)[-1].lanes[0]
    assert seen.added > 1.0 and seen.dissipated > 0.1  # [J]: something did happen
    assert abs(seen.numerical) < 1e-7 * seen.added


def test_what_a_stiffer_body_stores_is_added():
    """Exactly (c - 1) times its elastic energy, and heavier: (g' - g) m times its height."""
    stage = staged(pendulum(mass=2.0, g=9.81))
    seen = frames(stage, 20)[-1].lanes[0]
    stage.change(stiffness=2.5)
    stiffer = stage.look().lanes[0]
    stored = seen.energies["elastic"]
    assert stored > 1e-3
    assert stiffer.added == pytest.approx(1.5 * stored, rel=1e-12)
    assert stiffer.energies["elastic"] == pytest.approx(2.5 * stored, rel=1e-12)
    assert stiffer.numerical == pytest.approx(seen.numerical, abs=1e-12)
    height = state(stage).x[2]
    stage.change(gravity=1.62)
    heavier = stage.look().lanes[0]
    assert heavier.added - stiffer.added == pytest.approx(2.0 * (1.62 - 9.81) * height, rel=1e-12)


def test_positions_velocities_and_time_go_on():
    stage = staged(little_cloth(), "realtime", "eti")
    frames(stage, 4)
    before = [state(stage, lane) for lane in (0, 1)]
    stage.change(stiffness=0.5, damping=1e-3, gravity=3.0)
    for lane in (0, 1):
        now, then = state(stage, lane), before[lane]
        assert now.t == then.t and now.x is then.x and now.v is then.v
        assert all(np.array_equal(now.parts[name], then.parts[name]) for name in then.parts)
    assert stage.advance().t == pytest.approx(5 * 0.033)


def test_another_system_acts_from_then_on():
    """Weightless, a mass that nothing else pulls at goes straight on."""
    system = System(np.ones(1), [Gravity()])
    stage = staged(made_up(system, np.zeros((1, 3)), [[1.0, 0.0, 0.0]]), "verlet")
    frames(stage, 5)
    stage.change(gravity=0.0)
    v, x, t = state(stage).v.copy(), state(stage).x.copy(), state(stage).t
    frames(stage, 5)
    np.testing.assert_allclose(state(stage).v, v, rtol=1e-12)
    np.testing.assert_allclose(state(stage).x, x + v * (state(stage).t - t), rtol=1e-12)


def test_supports_stay_where_they_are_at_that_time():
    turning = Rotation([0], axis=(0, 0, 1), centre=(1, 0, 0), rate=2.0)
    parts = [Springs([[0, 1]], 50.0, 1.0), Gravity((0.0, 0.0, 0.0))]
    scene = made_up(System(np.ones(2), parts, supports=[turning]), [[0, 0, 0], [0, 1, 0]])
    stage = staged(scene)
    before = frames(stage, 10)[-1]
    stage.change(stiffness=2.0)
    now = stage.look()
    assert np.array_equal(before.lanes[0].positions[0], now.lanes[0].positions[0])
    later = stage.advance()
    angle = 2.0 * later.t
    np.testing.assert_allclose(
        later.lanes[0].positions[0], [1.0 - np.cos(angle), -np.sin(angle), 0.0], atol=1e-6
    )


def test_attachments_that_move_stay_where_they_are_at_that_time():
    lifting = Keyframes((), [0.0, 5.0], [[0, 0, 0], [0, 0, 2.0]])
    parts = [Springs([[0, 1]], 50.0, 1.0), Attachments([0], 1e3, motion=lifting)]
    stage = staged(made_up(System(np.ones(2), parts), [[0, 0, 0], [0, 0, -1.0]]))
    frames(stage, 30)
    point = part(stage, "attachment").points.copy()
    assert point[0, 2] > 0.1
    added = stage.look().lanes[0].added
    stage.change(stiffness=4.0)
    assert np.array_equal(part(stage, "attachment").points, point)
    stored = 50.0 / 2 * (np.linalg.norm(state(stage).x[:3] - state(stage).x[3:]) - 1.0) ** 2
    assert stage.look().lanes[0].added - added == pytest.approx(3.0 * stored, rel=1e-9)
    h, t = stage.settings.step, stage.advance().t
    assert part(stage, "attachment").points[0, 2] == pytest.approx(
        lifting.place(t + h / 2, np.zeros((1, 3)))[0][0, 2], rel=1e-12
    )


def test_springs_that_have_yielded_stay_yielded():
    parts = [Springs([[0, 1]], 100.0, 1.0, yield_strain=0.01), Gravity((0.0, 0.0, -30.0))]
    stage = staged(made_up(System(np.ones(2), parts, fixed=[0]), [[0, 0, 0], [0, 0, -1.0]]))
    frames(stage, 10)
    rest = part(stage, "elastic").rest.copy()
    assert rest[0] > 1.05
    stage.change(stiffness=3.0, gravity=1.0)
    assert np.array_equal(part(stage, "elastic").rest, rest)
    stored = 300.0 / 2 * (abs(state(stage).x[2]) - rest[0]) ** 2
    assert stage.look().lanes[0].energies["elastic"] == pytest.approx(stored, rel=1e-9)
    stage.reset()
    assert part(stage, "elastic").rest[0] == 1.0


def test_what_is_held_stays_held_where_it_is():
    floor = Held(Plane((0, 0, 0), (0, 0, 1)), 1e4, margin=0.01)
    parts = [Springs([[0, 1]], 500.0, 1.0), Gravity(), floor]
    start = [[0.0, 0.0, 0.005], [0.3, 0.0, 0.6]]  # the spring presses it down
    stage = staged(made_up(System(np.ones(2), parts), start, step=0.001), speed=0.15)
    frames(stage, 2)  # 10 ms: a third of the time until it is thrown off
    held = part(stage, "contact")
    assert held.particles.tolist() == [0]
    points = held.points.copy()
    assert not np.array_equal(points[0], state(stage).x[:3])  # where it is now is another place
    stage.change(stiffness=1.2)
    assert part(stage, "contact").particles.tolist() == [0]
    assert np.array_equal(part(stage, "contact").points, points)


@pytest.mark.parametrize("method", ["stabilised", "realtime", "energy-lagrange", "energy-budget"])
def test_what_a_method_aims_at_is_the_same_after_every_change(method):
    """Energy from the start, plus added, less dissipated; so it misses by the numerical error."""
    stage = staged(little_cloth(), method, step=0.05)
    for stiffness in (1.0, 1.2, 1.4):
        stage.change(stiffness=stiffness, damping=1e-4 * stiffness, tolerance=0.1 * stiffness)
        seen = frames(stage, 4)[-1].lanes[0]
    stage.change(stiffness=1.5)
    seen = stage.look().lanes[0]
    memory = stage.lanes[0].stepper.memory
    target = getattr(memory, "target", memory).value
    missed = sum(seen.energies.values()) - target
    assert missed == pytest.approx(seen.numerical, abs=1e-9)


def test_a_change_that_is_undone_leaves_the_books_as_they_were():
    stage = staged(little_cloth(), "energy-momentum")
    before = frames(stage, 6)[-1].lanes[0]
    stage.change(stiffness=7.0, gravity=1.0)
    stage.change(stiffness=1.0, gravity=9.81)
    after = stage.look().lanes[0]
    assert after.added == pytest.approx(before.added, abs=1e-9)
    assert after.energies == pytest.approx(before.energies, rel=1e-12)


def test_gravity_comes_to_a_scene_that_has_none():
    stage = staged(scenes.load("spinning-cube", small=True), "energy-momentum")
    before = frames(stage, 3)[-1].lanes[0]
    assert "gravity" not in before.energies
    stage.change(gravity=9.81)
    seen = frames(stage, 3)[-1].lanes[0]
    assert seen.energies["gravity"] != 0.0
    assert seen.numerical == pytest.approx(before.numerical, abs=1e-6 * seen.energies["kinetic"])
