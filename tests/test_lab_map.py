"""The family has the spectrum, energy and rotation it promises; the map names honest winners."""

import time

import numpy as np
import pytest

from stiffly.contracts import State
from stiffly.errors import InputError
from stiffly_lab import equal_error, map_cells, parallel
from stiffly_lab.bench import Bench
from stiffly_lab.family import OUTLIER, PERIOD, Member, build, network, velocities
from stiffly_lab.family_reference import SEGMENTS, composed, reference
from stiffly_lab.harness import Record, first_order
from stiffly_lab.map_reading import Found, Win, read, stump
from stiffly_lab.methods import IntegratorMethod
from stiffly_lab.registry import experiment


def dense_stiffness(member):
    """K at the start, by differences of the force: nothing of the package's tangents in it."""
    system, start = build(member).system.bind(build(member).x0)
    n, e = start.x.size, 1e-6
    K = np.empty((n, n))
    for i in range(n):
        ahead, behind = start.x.copy(), start.x.copy()
        ahead[i] += e
        behind[i] -= e
        f = [system.force(State(0.0, x, start.v)) for x in (ahead, behind)]
        K[:, i] = (f[1] - f[0]) / (2.0 * e)
    return 0.5 * (K + K.T)


# ------------------------------------------------------------------ the family


@pytest.mark.parametrize("ratio", [1e2, 1e4])
def test_one_stiff_mode_per_pair_at_twice_the_ratio(ratio):
    member = Member(ratio=ratio)
    lam = np.linalg.eigvalsh(dense_stiffness(member))
    stiff, soft = lam[-member.pairs :], lam[: -member.pairs]
    # a mass 1 and a mass 1 on a spring k swing at 2 k; soft springs shift that by a few units
    assert np.all(np.abs(stiff - 2.0 * ratio) < 20.0)
    assert soft.max() < 20.0
    assert soft.min() > -1e-4 * ratio  # differences of the force are good to that
    assert lam[-1] < member.omega_max**2


def test_rigid_motions_feel_the_pull_alone():
    lam = np.linalg.eigvalsh(dense_stiffness(Member(ratio=1.0, rotation=0.1)))
    assert lam[:6] == pytest.approx(0.1**2, abs=1e-6)
    assert lam[6] > 0.1


def test_outliers_are_separate_and_as_many_as_asked_for():
    member = Member(ratio=10.0, outliers=3)
    lam = np.linalg.eigvalsh(dense_stiffness(member))
    assert lam[-3:] == pytest.approx(2.0 * 10.0 * OUTLIER, rel=1e-3)
    assert lam[-4] < 60.0


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.3])
def test_the_stiff_modes_hold_the_share_of_the_vibration(share):
    member = Member(ratio=1e6, share=share, rotation=0.1)
    net = network(member)
    v = velocities(member, net)
    vibration = v - np.cross([0.0, 0.0, member.spin], net.positions)
    _, modes = np.linalg.eigh(dense_stiffness(member))
    amounts = (modes.T @ vibration.ravel()) ** 2
    # modes and springs differ by the soft springs' 1e-6, in amplitude
    assert amounts[-member.pairs :].sum() / amounts.sum() == pytest.approx(share, abs=1e-4)
    assert np.sqrt(np.mean(np.sum(vibration**2, axis=1))) == pytest.approx(member.amplitude)


def test_it_turns_as_a_whole_at_the_rate_asked_for():
    member = Member(rotation=0.25)
    net = network(member)
    v = velocities(member, net)
    x = net.positions
    inertia = np.sum(x**2) * np.eye(3) - x.T @ x
    rate = np.linalg.solve(inertia, np.cross(x, v).sum(axis=0))
    assert rate == pytest.approx([0.0, 0.0, 2.0 * np.pi * 0.25 / PERIOD])
    assert v.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_costly_members_have_the_same_forces():
    plain, costly = (build(Member(shape=(2, 2, 2), cost=c)) for c in (1, 7))
    f, g = (first_order(*one.system.bind(one.x0, one.v0))[0] for one in (plain, costly))
    u = np.random.default_rng(1).standard_normal(48)
    assert f(0.0, u) == pytest.approx(g(0.0, u))
    springs = [len(p.edges) for _, p in costly.system.assembly.parts]
    assert springs[-1] == 6 * springs[0]


@pytest.mark.parametrize("wrong", [{"shape": (3, 2, 2)}, {"share": 2.0}, {"outliers": 99}])
def test_members_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError):
        Member(**wrong)


# ------------------------------------------------------------------ references


def test_without_vibration_the_reference_turns_rigidly():
    """The pull to the axis balances the spin, so the exact motion is a rotation by 0.3 turns."""
    member = Member(ratio=1e4, rotation=0.3, amplitude=0.0)
    net = network(member)
    end = composed(net, velocities(member, net), PERIOD, 0.5 / member.omega_max)
    c, s = np.cos(0.6 * np.pi), np.sin(0.6 * np.pi)
    turned = net.positions @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T
    assert np.abs(end.x - turned).max() < 1e-8


def test_the_reference_converges_with_order_eight():
    member = Member(ratio=1e2, share=0.3)
    net = network(member)
    v0 = velocities(member, net)
    steps = [PERIOD / SEGMENTS / n for n in (4, 8, 32)]  # whole steps: their ratio is exact
    coarse, fine, exact = (composed(net, v0, PERIOD, h) for h in steps)
    errors = [np.linalg.norm(m.v - exact.v) for m in (coarse, fine)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(8.0, abs=0.7)


def test_the_reference_and_dop853_agree():
    """Two methods on two codes of the force; the reference's error includes their difference."""
    member = Member(ratio=1e2)
    found = reference(member, build(member))
    assert "DOP853" in found.how
    assert found.error < 1e-5


# ------------------------------------------------------------------ the map


@pytest.fixture(scope="module")
def report():
    return experiment("map").run(Bench(quick=True))


@pytest.mark.slow
def test_every_cell_has_a_winner_that_meets_the_accuracy(report):
    wins = report.data["wins"]
    assert len(wins) == 6 * len(map_cells.levels(True))
    for win in wins:
        assert win["winner"] is not None, win
        assert win["relative"] <= win["level"]


@pytest.mark.slow
def test_winners_are_the_fastest_of_those_that_meet_it(report):
    for cell in report.data["cells"].values():
        for level in map_cells.levels(True):
            win = read(cell, level).win
            assert win is not None
            met = [r for r in cell["records"][f"{level:g}"] if r["failure"] is None]
            assert win.record.seconds == min(r["seconds"] for r in met)
            assert win.factor is None or win.factor >= 1.0


@pytest.mark.slow
def test_the_page_has_rules_for_every_accuracy(report):
    page = report.markdown(True)
    assert "## Error 10 %" in page and "## Error 1 %" in page
    assert page.count("Cells won, of 6") == 2
    assert report.reduced.startswith("--quick: ")


def test_full_cells_are_addressable():
    cells = map_cells.cells()
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)
    assert {c.member.ratio for c in cells} == set(map_cells.RATIOS)
    assert {c.member.dof for c in cells} >= {24, 98_304}


def test_a_level_that_was_met_counts_though_no_time_was_left_to_repeat_it(monkeypatch):
    """The clock stands still until the first timing with repeats, and then the time is over."""
    member = Member(shape=(2, 2, 2), ratio=1.0)
    problem = build(member)
    exact = reference(member, problem)
    real = equal_error.measure
    clock = [0.0]

    def measure(problem, method, setting, known, repeats):
        if repeats > 1:
            clock[0] = 1e3
        return real(problem, method, setting, known, repeats)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(map_cells, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(equal_error, "measure", measure)
    own = map_cells._costs(problem, IntegratorMethod("exprb42"), exact, False, 10.0, 10.0)
    assert own[0.1].failure is None
    assert own[0.1].relative <= 0.1


def test_a_stump_finds_the_threshold():
    def found(ratio, method):
        record = Record(method, 0.1, seconds=1.0, relative=0.0)
        return Found(Member(ratio=ratio), 0.1, Win(record, None, None, None, record))

    cells = [found(1.0, "verlet"), found(1e2, "verlet"), found(1e4, "exprb42")]
    best = stump(cells, lambda f: f.win.kind == "explicit")
    assert best.right == best.of == 3
    assert "below" in best.text
    assert stump(cells[:2], lambda f: f.win.kind == "explicit") is None  # always true
    mixed = [*cells, found(1e4, "verlet")]  # no threshold beats 'always explicit'
    assert stump(mixed, lambda f: f.win.kind == "explicit") is None


@pytest.mark.slow
def test_processes_give_the_same_errors_and_counts(monkeypatch, report):
    cells = map_cells.cells(True)[-2:]  # the cheapest
    monkeypatch.setenv(parallel.PROCESSES, "2")
    rows = parallel.rows(Bench(quick=True), {c.name: (map_cells.measure, (c,)) for c in cells})
    for cell in cells:
        alone, pooled = report.data["cells"][cell.name], rows[cell.name]
        assert alone["reference"]["error"] == pooled["reference"]["error"]
        for level, records in alone["records"].items():
            for one, other in zip(records, pooled["records"][level], strict=True):
                same = ("method", "step", "relative", "force_evaluations", "operator_products")
                assert [one[k] for k in same] == [other[k] for k in same]


def test_a_wrong_number_of_processes_is_refused(monkeypatch):
    monkeypatch.setenv(parallel.PROCESSES, "many")
    with pytest.raises(InputError, match="STIFFLY_LAB_PROCESSES"):
        parallel.rows(Bench(quick=True), {})
