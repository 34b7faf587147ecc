"""Linear systems on a card, and implicit steps by them, against dense algebra and the host: asked
of a real one, and of one made of loops."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
import test_stretch as cases
from cuda_matrix_checks import agree
from scipy.spatial import KDTree

import stiffly
from stiffly import scenes
from stiffly.integrators import integrator
from stiffly.integrators.energy_momentum import EnergyMomentum
from stiffly.integrators.stage import Bdf1, Bdf2, Midpoint, Newmark
from stiffly.kernels.cuda import tree
from stiffly.kernels.cuda.local import Iterations
from stiffly.solvers import card as card_solver
from stiffly.solvers.card import RESIDUAL, CardFactor, CardTree
from stiffly.solvers.failures import NotPositiveDefinite
from stiffly.solvers.newton import Newton
from stiffly.solvers.shifted_newton import ShiftedNewton

ROWS = 500  # more than one block of threads has, with several threads a row
TIGHT = 1e-12
NEWTON = Newton(tolerance=TIGHT)
METHODS = {
    "energy-momentum": EnergyMomentum(solver=ShiftedNewton(tolerance=TIGHT)),
    "bdf1": Bdf1(NEWTON),
    "bdf2": Bdf2(NEWTON),
    "midpoint": Midpoint(NEWTON),
    "newmark": Newmark(solver=NEWTON),
}
LOCAL_GLOBAL = (
    *("projective", "projective-bdf2", "projective-midpoint", "projective-energy-momentum"),
    *("stabilised:projective-midpoint", "realtime-midpoint", "realtime"),
)
# what touches, is held, led by hand, made of springs, of tets, of several bodies
LOCAL_GLOBAL_SCENES = (
    *("cloth", "bar", "spinning-cube", "swinging-bunny", "falling-cube", "hippo"),
    *("sliding-bunny", "bunny", "coil-spring", "textile", "dog"),
)
SCENES = ("coil-spring", "dragon", "bunny", "swinging-bunny", "flag", "crash")


def random_matrix(symmetric, seed=0):
    """SciPy csc (3 ROWS, 3 ROWS), its diagonal as large as what is beside it."""
    rng = np.random.default_rng(seed)
    pattern = sp.random(ROWS, ROWS, 8 / ROWS, rng=rng) + sp.identity(ROWS)
    matrix = sp.bsr_matrix(sp.kron(pattern + pattern.T, np.ones((3, 3))), blocksize=(3, 3))
    matrix.data = rng.standard_normal(matrix.data.shape)
    matrix = sp.csc_matrix(matrix)
    matrix = 0.5 * (matrix + matrix.T) if symmetric else matrix
    return sp.csc_matrix(matrix + sp.diags(np.asarray(abs(matrix).sum(axis=0)).ravel()))


def springs_matrix(near, far, along, count):
    """K (3 count, 3 count) of springs of 1 N/m between particles near, far (m,), along (m, 3)."""
    springs = np.arange(near.size)
    ends = sp.csr_matrix((np.ones(near.size), (springs, near)), shape=(near.size, count))
    ends = ends - sp.csr_matrix((np.ones(near.size), (springs, far)), shape=(near.size, count))
    wide = sp.kron(ends, np.ones((1, 3))).tocsr().multiply(np.tile(along, (1, count)))
    return sp.csc_matrix(wide.T @ wide)


def stiff_matrix(ratio):
    """M + h^2 K of random springs, (h omega_max)^2 being about the ratio."""
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, ROWS, (2, 6 * ROWS))
    i, j = i[i != j], j[i != j]
    e = rng.standard_normal((i.size, 3))
    K = springs_matrix(i, j, e / np.linalg.norm(e, axis=1)[:, None], ROWS)
    return sp.csc_matrix(sp.identity(3 * ROWS) + ratio / 30.0 * K)


def same_solution(matrix, symmetric, backend):
    """As LAPACK's, for one right-hand side and for several; the same bits twice."""
    b = np.random.default_rng(2).standard_normal((3 * ROWS, 2))
    first, second = (CardFactor(backend, matrix, symmetric) for _ in range(2))
    x = first.solve(b)
    for column, found in zip(b.T, x.T, strict=True):
        residual = np.linalg.norm(column - matrix @ found)
        assert residual <= 2.0 * RESIDUAL * np.linalg.norm(column)
        assert np.array_equal(found, second.solve(column.copy()))
    wanted = np.linalg.solve(matrix.toarray(), b)
    agree(x, wanted, 1e-5)
    assert first.products > 1
    assert not CardFactor(backend, matrix, symmetric).solve(np.zeros(3 * ROWS)).any()


def fewer_products(symmetric, backend):
    """A long bar takes far fewer with its coarse level than without, wherever it has turned to."""
    side, long = 3, 120
    points = np.stack(np.meshgrid(*map(np.arange, (long, side, side)), indexing="ij"), axis=-1)
    points = points.reshape(-1, 3).astype(float)
    near, far = np.array([p for p in KDTree(points).query_pairs(1.8)]).T
    turned = points @ np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    e = turned[far] - turned[near]
    K = springs_matrix(near, far, e / np.linalg.norm(e, axis=1)[:, None], len(points))
    matrix, b = sp.csc_matrix(sp.identity(3 * len(points)) + 1e4 * K), turned.ravel().copy()
    counts = []
    for known in (None, points):
        placed = backend.alone()
        placed.points = known
        factor = CardFactor(placed, matrix, symmetric)
        assert np.linalg.norm(b - matrix @ factor.solve(b)) <= 2 * RESIDUAL * np.linalg.norm(b)
        counts.append(factor.products)
    assert counts[1] < 0.5 * counts[0]


def indefinite_is_told(backend):
    """By a diagonal block, or by a curvature where these look well."""
    matrix = random_matrix(True)
    for shift in (abs(matrix).sum(axis=0).max(), 0.0):
        wrong = matrix - shift * sp.identity(3 * ROWS)
        if not shift:
            # two particles whose blocks are definite, and whose sum or difference has a negative
            # stiffness
            wrong = sp.lil_matrix(matrix)
            wrong[0, 3] = wrong[3, 0] = 2.0 * max(matrix[0, 0], matrix[3, 3])
        with pytest.raises(NotPositiveDefinite):
            CardFactor(backend, sp.csc_matrix(wrong), True).solve(np.eye(3 * ROWS)[0])


def graphs():
    """SciPy csr patterns: a solid, a chain, many bodies, one that is alone."""

    def grid(*sides):
        points = np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), axis=-1)
        points = points.reshape(-1, len(sides))
        i, j = np.array([*KDTree(points).query_pairs(1.5)]).T
        count = len(points)
        return sp.csr_matrix((np.ones(i.size), (i, j)), (count, count))

    return {
        "solid": grid(9, 8, 7),
        "chain": grid(700, 1),
        "bodies": sp.block_diag([grid(3, 3, 3)] * 20 + [sp.csr_matrix((1, 1))]).tocsr(),
        "one": sp.csr_matrix((1, 1)),
    }


def same_solution_by_fronts(graph, leaf, top, backend):
    """As LAPACK's; the same bits twice."""
    rng = np.random.default_rng(4)
    graph = graphs()[graph]
    rows = rng.permutation(graph.shape[0])
    graph = graph[rows][:, rows]
    near, far = graph.nonzero()
    k = rng.uniform(0.1, 10.0, near.size)
    count = graph.shape[0]
    couples = sp.csr_matrix((k, (near, far)), (count, count))
    couples = couples + couples.T
    total = np.asarray(couples.sum(axis=0)).ravel()
    matrix = sp.csc_matrix(sp.diags(rng.uniform(0.1, 1.0, count) + total) - couples)
    b = rng.standard_normal((count, 3))
    with patch.object(card_solver, "LEAF", leaf), patch.object(tree, "TOP", top):
        first, second = (CardTree(backend, matrix) for _ in range(2))
    x = first.solve(b)
    agree(x, np.linalg.solve(matrix.toarray(), b), 1e-12)
    assert np.array_equal(x, second.solve(b))
    assert np.array_equal(x, first.solve(b))


def same_local_global_run(name, method, steps):
    """As same_implicit_run, of a method by its name; with as many solves as the host makes, the
    first with the factor on the card; of each of the others whether the card made it all."""
    solved, sailed = [], []

    def counted(self, b):
        solved.append(self)
        return solve(self, b)

    def noted(self, *given):
        sailed.append(sail(self, *given))
        return sailed[-1]

    solve, sail = CardTree.solve, Iterations.sail
    with patch.object(CardTree, "solve", counted), patch.object(Iterations, "sail", noted):
        host, card = _same_run(name, method, steps)
    assert solved
    for key in ("linear_solves", "factorizations"):
        assert host.stats[key] == card.stats[key]
    return [done.over for done in sailed]


def same_local_global_steps(kind, method, h, backend):
    """Steps of a body of test_stretch.py, with the same ledger: as long as those of its explicit
    methods, and some that stretch it far."""
    system, state = cases.bound(kind)
    there = system.on(backend.alone())
    ends = [
        cases.one_by_one(bound, state, integrator(method), h=h, count=5)
        for bound in (system, there, there)
    ]
    host, card, again = ends
    agree(card.state.x, host.state.x, 1e-10)
    assert np.array_equal(card.state.x, again.state.x)
    energy = system.energy(host.state)
    size = max(abs(value) for value in energy.values())
    for line in ("added_now", "dissipated_now"):
        assert abs(getattr(card.ledger, line) - getattr(host.ledger, line)) <= 1e-9 * size
    for name, value in there.energy(card.state).items():
        assert abs(value - energy[name]) <= 1e-9 * size


def same_implicit_run(name, method, steps):
    """Positions and ledger after so many steps of a small scene; the same bits twice; and that the
    card was what solved it."""
    _, card = _same_run(name, METHODS[method], steps)
    assert card.stats["operator_products"] > 0


def _same_run(name, method, steps):
    """On the host and on the card."""
    scene = scenes.load(name, small=True)
    options = {"integrator": method, "step": scene.step, "every": steps * scene.step}
    options["duration"] = steps * scene.step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stiffly.StiffWarning)
        host, card, again = (
            stiffly.simulate(scene.system, scene.x0, scene.v0, device=device, **options)
            for device in ("cpu", "gpu", "gpu")
        )
    agree(card.positions[-1], host.positions[-1], 1e-10)
    assert np.array_equal(card.positions, again.positions)
    size = max(np.abs(host.energy.total).max(), host.energy.summary()["exchanged"])
    for line in ("total", "added", "dissipated"):
        mine, its = getattr(host.energy, line)[-1], getattr(card.energy, line)[-1]
        assert abs(mine - its) <= 1e-9 * size
    return host, card
