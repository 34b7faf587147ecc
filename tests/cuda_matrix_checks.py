"""What a card has to do with matrices as the host does it: asked of a real one, and of one made of
loops."""

import warnings

import numpy as np
from test_kernels_blocks import random_bars, random_blocks, random_csr, weights

import stiffly
from stiffly import scenes
from stiffly.kernels import cpu

METHODS = ("exprb2", "exprb32", "exprb42", "pexprb43", "epirk4s3", "exprk4", "eti", "ceti", "neti")
SCENES = ("coil-spring", "dragon", "bunny", "swinging-bunny")
KINDS = ("block", "bar", "csr", "alike")
PRODUCT = 1e-12  # relative, of sums over a row
MAKE = {"block": random_blocks, "bar": random_bars, "csr": random_csr, "alike": random_csr}
ROWS = 700  # more than one block of threads has


def agree(found, wanted, tolerance=PRODUCT):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0.0) <= tolerance * np.abs(wanted).max(initial=1e-300)


def problem(kind, seed=0):
    """The name of its kernels, a matrix, weights, how many rows its vectors have; and numbers."""
    rng = np.random.default_rng(seed)
    matrix = MAKE[kind](rng, ROWS, 12 / ROWS, np.int32)
    weight = (weights(rng, ROWS),) if kind in ("block", "bar") else ()
    name, rows = "csr" if kind == "alike" else kind, ROWS if kind == "csr" else 3 * ROWS
    return name, matrix, weight, rows, rng


def same_products(kind, backend):
    """Of vectors that lie here, and there, one or two, with and without weights."""
    name, matrix, weight, rows, rng = problem(kind)
    ours, theirs = (getattr(k, f"{name}_apply") for k in (backend.kernels, cpu))
    for shape in ((rows,), (rows, 1), (rows, 2), (rows, 3)):
        for by in ((), weight) if weight else ((),):
            b = rng.standard_normal(shape)
            wanted = theirs(*matrix, b, *by)
            agree(ours(*matrix, b, *by), wanted)
            if len(shape) == 1 or shape[1] < 3:
                agree(backend.host(ours(*matrix, backend.put(b), *by)), wanted)


def same_recurrence(kind, columns, terms, backend):
    """Chebyshev's; twice, from the same numbers, for the same bits."""
    name, matrix, weight, rows, rng = problem(kind, columns)
    x, z = rng.standard_normal((2, rows, columns))
    out, c = rng.standard_normal((rows, 3)), rng.standard_normal((terms, 3, columns))
    size = np.abs(theirs_of(name, matrix, weight)).max()
    numbers = 1.0 / size, -0.3
    there = []
    for _ in range(2):
        put = [backend.put(a.copy()) for a in (x, z, out)]
        run = getattr(backend.kernels, f"{name}_chebyshev")
        newer, older = run(*matrix, *numbers, put[0], put[1], c, put[2], *weight)
        there.append([backend.host(a).copy() for a in (newer, older, put[2])])
    run = getattr(cpu, f"{name}_chebyshev")
    here = *run(*matrix, *numbers, x, z, c, out, *weight), out
    for mine, its, again in zip(here, *there, strict=True):
        agree(its, mine, 1e-12 * (terms + 1) ** 2)
        assert np.array_equal(its, again)


def theirs_of(name, matrix, weight):
    """Something as large as the matrix: its product with ones."""
    rows = 3 * ROWS
    b = np.ones(rows if name != "csr" else ROWS)
    return getattr(cpu, f"{name}_apply")(*matrix, b, *weight)


def weighed(a, by):
    return a if by is None else (a.T * by).T


def same_sums(backend):
    rng = np.random.default_rng(5)
    weight = rng.random(3 * ROWS)
    for by in (None, weight):
        pairs = [rng.standard_normal((2, 3 * ROWS, n)) for n in (1, 2, 5)]
        pairs.append(rng.standard_normal((2, 3 * ROWS)))
        put = [tuple(map(backend.put, pair)) for pair in pairs]
        wanted = [(weighed(a, by) * b) for a, b in pairs]
        for found, terms in zip(backend.dots(put, by), wanted, strict=True):
            assert np.all(np.abs(found - terms.sum(axis=0)) <= PRODUCT * np.abs(terms).sum(axis=0))
            assert isinstance(found, float) == (terms.ndim == 1)


def same_ends(columns, backend):
    """What a recurrence begins with, and what comes back to the host."""
    rng = np.random.default_rng(columns)
    vectors, c = list(rng.standard_normal((columns, ROWS))), rng.standard_normal((4, columns))
    there, here = backend.kernels, cpu
    x = there.recurrence_columns(vectors)
    assert np.array_equal(backend.host(x), here.recurrence_columns(vectors))
    z, out = there.recurrence_start(x, c)
    agree(backend.host(out), here.recurrence_start(here.recurrence_columns(vectors), c)[1])
    assert not backend.host(z).any()
    rows = there.recurrence_rows(out)
    assert np.array_equal(rows, backend.host(out).T)
    assert np.array_equal(there.recurrence_rows(out, rows.copy()), 2.0 * rows)


def same_run(name, integrator, steps):
    """Positions of a small scene after so many of its steps, and the same bits twice."""
    scene = scenes.load(name, small=True)
    h = scene.step
    options = {"integrator": integrator, "step": h, "duration": steps * h, "every": steps * h}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stiffly.StiffWarning)
        host, card, again = (
            stiffly.simulate(scene.system, scene.x0, scene.v0, device=device, **options)
            for device in ("cpu", "gpu", "gpu")
        )
    agree(card.positions[-1], host.positions[-1], 1e-10)
    assert np.array_equal(card.positions, again.positions)
