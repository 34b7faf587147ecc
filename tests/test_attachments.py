"""Particles tied to points in space: pins, leads, and a hand that drags during a run."""

import threading

import numpy as np
import pytest

from stiffly import Gravity, InputError, Springs, System, simulate
from stiffly.bodies import Keyframes, Rotation
from stiffly.collisions import keyframes, path
from stiffly.parts.attachments import Attachments
from stiffly.parts.part import SettlingPart

G = 9.81


def part_of(system, s):
    return next(p for name, p in system.at(s).parts if name == "attachment")


def bound(attachments, x0, count=3, **options):
    return System(np.ones(count), [attachments], **options).bind(x0)


# ---------------------------------------------------------------------- points that stand still


def test_an_attachment_is_a_spring_of_length_zero():
    rng = np.random.default_rng(0)
    x0, points = rng.standard_normal((3, 3)), rng.standard_normal((2, 3))
    system, s = bound(Attachments([2, 0], 7.0, points), x0)
    d = x0[[2, 0]] - points
    assert system.energy(s)["attachment"] == pytest.approx(3.5 * (d**2).sum())
    force = system.force(s).reshape(3, 3)
    np.testing.assert_allclose(force[[2, 0]], -7.0 * d)
    assert not force[1].any()
    K = system.tangent(s).matrix(0.0, 1.0, 0.0).toarray()
    np.testing.assert_allclose(K, np.diag(np.repeat([7.0, 0.0, 7.0], 3)))
    assert system.conservative and system.assembly.linear  # the tangent is computed once
    assert system.tangent(s) is system.tangent(s)


def test_by_default_particles_are_held_where_they_start():
    x0 = np.random.default_rng(1).standard_normal((3, 3))
    system, s = bound(Attachments([1], 5.0), x0)
    assert system.energy(s)["attachment"] == 0.0 and system.assembly.linear
    np.testing.assert_array_equal(part_of(system, s).points, x0[[1]])
    again, later = system.bind(x0 + 1.0)
    np.testing.assert_array_equal(part_of(again, later).points, x0[[1]] + 1.0)
    np.testing.assert_array_equal(part_of(system, s).points, x0[[1]])


def test_a_pinned_mass_swings_at_the_frequency_of_its_spring():
    run = simulate(
        System(np.full(1, 2.0), [Attachments([0], 50.0, [[0, 0, 0]])]), [[0.3, 0, 0]],
        integrator="exprb42", step=0.1, duration=2 * np.pi / 5.0, every=2 * np.pi / 5.0,
    )  # fmt: skip
    np.testing.assert_allclose(run.positions[-1, 0], [0.3, 0, 0], atol=1e-9)
    assert not run.energy.added.any()


@pytest.mark.parametrize("options", [{}, {"live": True}])
def test_discrete_gradient_and_laplacian(options):
    rng = np.random.default_rng(2)
    x0, x1 = rng.standard_normal((2, 3, 3))
    attachments = Attachments([0, 2], 11.0, rng.standard_normal((2, 3)), **options)
    system, s = bound(attachments, x0, fixed=[2])
    part = part_of(system, s)
    g = np.zeros((3, 3))
    part.add_mean_gradient(x0, x1, g)
    assert np.vdot(g, x1 - x0) == pytest.approx(part.energy(x1) - part.energy(x0), rel=1e-12)
    blocks = np.zeros((system.pattern.nnz, 3, 3))
    part.add_mean_blocks(x0, x1, blocks)
    np.testing.assert_allclose(blocks, [5.5 * np.eye(3), np.zeros((3, 3))])  # 2 is fixed
    rows, columns, values = part.laplacian()
    assert list(rows) == list(columns) == [0, 2] and list(values) == [11.0, 11.0]


# ---------------------------------------------------------------------- points that move


MOTIONS = {
    "keyframes": Keyframes((), [0.0, 0.5], [[0, 0, 0], [0.4, 0.1, 0]]),
    "rotation": Rotation((), axis=(0, 0, 1), centre=(0.5, 0, 0), rate=2.0),
    "path": path(lambda t, start: np.add(start, [0.1 * np.sin(3 * t), 0.0, t**2])),
    "for shapes": keyframes([0.1, 0.4], [[0, 0, 0], [0, 0.2, 0]]),
}


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
@pytest.mark.parametrize("method", ["midpoint", "exprb42"])
def test_what_a_lead_does_is_added_exactly(motion, method):
    """The energy is quadratic, so these methods close the ledger to rounding."""
    system = System(np.ones(1), [Gravity(), Attachments([0], 200.0, motion=motion)])
    run = simulate(system, [[0.2, 0.3, 0.1]], integrator=method, step=0.01, duration=0.6)
    assert np.ptp(run.energy.added) > 0.01
    assert not run.energy.dissipated.any()
    assert abs(run.energy.numerical).max() < 1e-11
    end = motion.place(0.6, np.array([[0.2, 0.3, 0.1]]))[0]
    assert np.linalg.norm(run.positions[-1] - end) < 0.3


def test_a_lead_is_followed_to_second_order():
    lead = path(lambda t, start: np.add(start, [np.sin(3 * t), 0.0, 0.0]))
    system = System(np.ones(1), [Attachments([0], 400.0, motion=lead)])
    ends = [
        simulate(system, [[0, 0, 0.0]], integrator="midpoint", step=h, duration=0.4).positions[-1]
        for h in (8e-3, 4e-3, 2e-3)
    ]
    first, second = ends[0] - ends[1], ends[1] - ends[2]
    assert np.linalg.norm(first) / np.linalg.norm(second) == pytest.approx(4.0, rel=0.25)


# ---------------------------------------------------------------------- a hand


def dragged(attachments, orders, method="midpoint", count=2, size=0.01, **options):
    """orders: frame number -> what the hand does after that frame."""
    edges = [[i, i + 1] for i in range(count - 1)]
    parts = [Springs(edges, 100.0), attachments]
    x0 = np.column_stack([np.arange(float(count)), np.zeros((count, 2))])
    system, to_do = System(np.ones(count), parts, rest=x0), dict(orders)

    def follow(report):  # may come more than once for a frame
        to_do.pop(report.frames - 1, lambda: None)()

    return simulate(
        system, x0, integrator=method, step=size, duration=1.0, every=0.1,
        progress=follow, **options,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["midpoint", "verlet", "exprb42"])
def test_a_drag_begins_moves_and_ends_during_a_run(method):
    hand = Attachments([], 50.0, live=True)
    orders = {
        2: lambda: hand.attach([1], [[1.0, 0.5, 0.0]]),
        4: lambda: hand.move([[1.0, 1.5, 0.0]]),
        7: hand.release,
    }
    run = dragged(hand, orders, method)
    added, lost = run.energy.added, run.energy.dissipated
    assert not run.energy.kinetic[:3].any() and not added[:3].any()
    assert added[3] == pytest.approx(0.5 * 50.0 * 0.5**2)  # what attaching stored
    assert added[5] > added[3] and np.ptp(added[5:]) == 0.0
    assert not lost[:8].any() and lost[8] > 0.0 and np.ptp(lost[8:]) == 0.0
    assert not run.energy.attachment[8:].any() and run.energy.kinetic[-1] > 0.1
    # the spring between the particles is not linear: second order in h omega = 0.14
    error = 1e-4 if method == "exprb42" else 2e-2
    assert abs(run.energy.numerical).max() < error * added[-1]


def test_a_drag_of_a_run_in_compiled_stretches():
    """Orders are obeyed before the steps to the next frame; every joule of them is in the books."""
    hand, ends = Attachments([0], 50.0, live=True), []
    orders = {
        1: lambda: hand.attach([1], [[1.0, 0.5, 0.0]]),
        2: lambda: (hand.move([[0.1, 0.0, 0.0], [1.0, 1.5, 0.0]]), hand.attach([2])),
        5: lambda: hand.release([0, 2]),
    }
    for step in (0.01, 0.005):
        run = dragged(hand, orders, "verlet", count=4, size=step)
        assert run.stats["loop"].startswith("compiled stretches")
        ends.append(abs(run.energy.numerical).max())
    assert run.energy.dissipated[-1] > 0.0 and ends[0] < 0.02 * run.energy.added[-1]
    assert ends[0] / ends[1] == pytest.approx(4.0, rel=0.3)  # of the method alone


def test_the_energy_of_every_order_is_exact():
    """Settle by settle, against the energies of the springs before and after."""
    hand = Attachments([0], 10.0, live=True)
    x0 = np.random.default_rng(3).standard_normal((3, 3))
    system, start = bound(hand, x0)

    def stored(s):
        return system.energy(s)["attachment"]

    def layout(s, old=None):
        return system.global_layout(s, s, old, True)

    assert stored(start) == 0.0 and not part_of(system, start).linear
    hand.attach([2, 1], [[1.0, 0, 0], [0, 1.0, 0]])
    one = system.settle(start, 0.1)
    first, tied = layout(one.state), part_of(system, one.state).particles
    assert one.added == pytest.approx(stored(one.state)) and stored(one.state) > 0.0
    assert list(tied) == [0, 2, 1] and stored(start) == 0.0  # the state before is what it was
    hand.move([[0, 0, 1.0], [0, 2.0, 0], [3.0, 0, 0]])
    two = system.settle(one.state, 0.1)
    assert two.added == pytest.approx(stored(two.state) - one.added) and two.dissipated == 0.0
    assert layout(two.state, first) is first  # the same particles
    before, gone = stored(two.state), part_of(system, two.state).energies(x0)[1]
    hand.release([2])
    hand.attach([0], [[0, 0, 5.0]])  # two orders before one settle
    three = system.settle(two.state, 0.1)
    assert three.dissipated == pytest.approx(gone)
    assert three.added == pytest.approx(stored(three.state) - (before - gone))
    assert list(part_of(system, three.state).particles) == [1, 0]
    assert layout(three.state, first) is not first
    assert system.settle(three.state, 0.1).added == 0.0


def test_a_particle_is_grabbed_where_it_is():
    """Without points nothing is stored; a second grab leaves the first where it was."""
    hand = Attachments([], 10.0, live=True)
    system, s = bound(hand, np.eye(3))
    hand.attach(1)
    settled = system.settle(s, 0.1)
    assert settled.added == 0.0
    hand.attach([2])
    end = system.settle(settled.state.moved(0.1, s.x + 0.5, s.v), 0.1).state
    np.testing.assert_array_equal(part_of(system, end).points, [[0, 1.0, 0], [0.5, 0.5, 1.5]])


def test_every_run_begins_as_it_was_written_down():
    hand = Attachments([], 50.0, live=True)
    one = dragged(hand, {3: lambda: hand.attach([1], [[0.0, 2.0, 0.0]])})
    two = dragged(hand, {3: lambda: hand.attach([0], [[0.0, 2.0, 0.0]])})
    np.testing.assert_array_equal(one.positions[:4], two.positions[:4])
    assert abs(two.positions[4, 1] - [1.0, 0, 0]).max() < abs(two.positions[4, 0]).max()
    assert two.energy.attachment[3] == 0.0


def test_hands_of_many_threads_lose_no_order():
    hand = Attachments([], 1.0, live=True)
    bound(hand, np.zeros((40, 3)), count=40)
    threads = [threading.Thread(target=hand.attach, args=([i], [[i, 0, 0]])) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(hand.wanted.particles) == list(range(40))
    np.testing.assert_array_equal(hand.wanted.points[:, 0], hand.wanted.particles)


def test_only_what_can_move_settles():
    x0 = np.zeros((3, 3))
    pinned, led = Attachments([0], 1.0, [[0, 0, 0]]), Attachments([0], 1.0, motion=MOTIONS["path"])
    live = Attachments([0], 1.0, [[0, 0, 0]], live=True)
    kinds = [isinstance(part_of(*bound(a, x0)), SettlingPart) for a in (pinned, led, live)]
    assert kinds == [False, True, True]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Attachments([], 1.0), "ties no particle"),
        (lambda: Attachments([0], 0.0), "stiffness = 0"),
        (lambda: Attachments([0], np.nan), "stiffness is nan"),
        (lambda: Attachments([0, 0], 1.0), "names a particle twice"),
        (lambda: Attachments([-1], 1.0), "particle -1"),
        (lambda: Attachments([0.5], 1.0), "indices"),
        (lambda: Attachments([0], 1.0, [[0, 0]]), "points has shape"),
        (lambda: Attachments([0], 1.0, [[0, 0, np.inf]]), "points"),
        (lambda: Attachments([0], 1.0, motion=3.0), "motion must be"),
        (lambda: Attachments([0], 1.0, name=[]), "name must be a text"),
        (lambda: Attachments([0], 1.0, name=""), "name must be a text"),
        (lambda: Attachments([0], 1.0, live="x"), "live must be True or False"),
        (lambda: Attachments([0], 1.0, live=1), "live must be True or False"),
        (lambda: path(None), "path must be a function"),
        (lambda: Attachments([0], 1.0, motion=MOTIONS["path"], live=True), "not both"),
        (lambda: Attachments([0], 1.0).move([[0, 0, 0]]), "not live"),
        (lambda: Attachments([0], 1.0).attach([1]), "not live"),
        (lambda: Attachments([0], 1.0, live=True).release([1]), "particle 1 is not attached"),
        (lambda: Attachments([0], 1.0, live=True).move([[0, 0, np.nan]]), "points"),
        (lambda: Attachments([0], 1.0, live=True).move([[0, 0, 0], [0, 0, 0]]), "points has shape"),
        (lambda: System(np.ones(3), [Attachments([3], 1.0)]), "attachment names particle 3"),
        (lambda: missing_while_live(), "attachment names particle 7"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def missing_while_live():
    hand = Attachments([], 1.0, live=True)
    bound(hand, np.zeros((3, 3)))
    hand.attach([7])


def test_a_motion_that_returns_nonsense_is_named():
    lead = path(lambda t, start: start if t < 0.2 else start * np.nan)
    system = System(np.ones(1), [Attachments([0], 1.0, motion=lead)])
    with pytest.raises(InputError, match="path returned NaN"):
        simulate(system, [[0, 0, 0.0]], integrator="verlet", step=0.1, duration=1.0)


def test_a_motion_of_the_users_own_is_checked_too():
    class Wrong:
        def place(self, t, start):
            return (start if t == 0.0 else start[0]), start

    system = System(np.ones(1), [Attachments([0], 1.0, motion=Wrong())])
    with pytest.raises(InputError, match="attachment motion has shape"):
        simulate(system, [[0, 0, 0.0]], integrator="verlet", step=0.1, duration=1.0)


def test_a_hand_holds_one_body_at_a_time():
    """One run after another may have it; one that began earlier is refused, not misled."""
    hand = Attachments([], 10.0, live=True)
    first, s = bound(hand, np.eye(3))
    first.settle(s, 0.1)
    second, z = bound(hand, np.zeros((8, 3)), count=8)
    hand.attach([7], [[0, 0, 1.0]])
    z = second.settle(z, 0.1).state
    assert list(part_of(second, z).particles) == [7]
    with pytest.raises(InputError, match="live in two runs at once"):
        first.settle(s, 0.1)
    again, s = first.bind(np.eye(3))
    again.settle(s, 0.1)
    with pytest.raises(InputError, match="attachment names particle 7"):
        hand.attach([7])  # of the body that has it now


def test_leads_may_be_shared():
    """Attachments that nobody steers know nothing of each other."""
    lead = Attachments([0], 1.0, motion=MOTIONS["path"])
    first, s = bound(lead, np.eye(3))
    bound(lead, np.zeros((3, 3)))
    s = first.settle(s, 0.1).state
    np.testing.assert_array_equal(
        part_of(first, s).points[0], MOTIONS["path"].place(0.05, np.eye(3))[0][0]
    )


def test_gravity_stretches_the_tie():
    """At rest k d = m g: a check of signs that needs no dynamics."""
    system = System(np.ones(1), [Gravity(), Attachments([0], 50.0, [[0, 0, 0]])])
    bound_system, s = system.bind([[0, 0, -G / 50.0]])
    np.testing.assert_allclose(bound_system.force(s), 0.0, atol=1e-14)
