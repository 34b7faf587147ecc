"""phi_action on random problems: the tolerance is met, or an error with a name comes.

    python tests/attack/trials_phi.py --count 20000 --processes 2

h omega from 1e-3 to 1e7 (either sign of h where that is no overflow), sizes 1 to 5,000, tolerances
1e-3 to 1e-10, phi_0 to phi_5, as array (up to 600 rows), sparse matrix or LinearOperator: second
order with A definite, singular or indefinite, undamped, Rayleigh-damped or damped by any matrix;
first order symmetric, skew, or far from normal.  Half of the trials ask for up to four times of the
flow at once (taus), and half of those with a general J for incomplete orthogonalisation (window).
References: see phi_problems.

The rule, for every half (position, velocity) of a second-order result and for the whole of a
first-order one, in the 2-norm:

    |error| <= tol |exact| + 1e-13 sum_i sup|f_i| |v_i| + doubt of the reference + 1e-290

where the middle term stands for second order alone (matfun/tolerance.py: no method does better than
rounding of what it sums up; sup over the interval of the spectrum, lam >= 0).  Rounding of J
itself, eps h omega and more, is NOT allowed for: where it spoils the tolerance the evaluator has to
say so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import phi_problems as problems
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from trials import Outcome, main

from stiffly.contracts import Rayleigh
from stiffly.errors import NotConverged
from stiffly.matfun import SecondOrderOperator, phi_action

ROUNDING, TINY = 1e-13, 1e-290  # below TINY numbers lose their digits
FULL = 600  # rows of the largest array


@np.errstate(all="ignore")  # references overflow where the truth does
def trial(seed: int, most: int = 5000, method: str = "auto") -> Outcome:
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(0.0, np.log(most + 1.0))))
    phase = 10.0 ** rng.uniform(-3.0, 7.0)
    tol = 10.0 ** -float(rng.integers(3, 11))
    kind = str(rng.choice(["undamped", "undamped", "rayleigh", "damped", "first order"]))
    if kind == "first order":
        name, J, h, vectors, answer_of = _first_order(rng, n, phase)
    else:
        name, J, h, vectors, answer_of = _second_order(rng, n, phase, kind)
    taus, window = _several(np.random.default_rng([seed, 1]), J)
    story = f"{name}, n {n}, h omega {phase:.1e}, tol {tol:.0e}, {len(vectors)} vectors, "
    story += f"{type(J).__name__}, taus {taus}, window {window}"
    answers = [_at(tau, h, vectors, answer_of) for tau in taus or [1.0]]
    # beyond any floating-point number only an error is right
    finite = all(np.all(np.isfinite(answer.value)) for answer in answers)
    try:
        action = phi_action(J, h, vectors, tol=tol, method=method, taus=taus, window=window)
    except NotConverged as failure:
        return Outcome(f"{kind}: {_cause(str(failure))}", False, f"{story}: {failure}")
    if not finite:
        return Outcome(f"{kind}: overflow unnoticed", True, f"{story}; {action}")
    rows = action.value if taus else action.value[None]
    excess = max(_excess(row, answer, tol) for row, answer in zip(rows, answers, strict=True))
    if not excess <= 1.0:
        return Outcome(f"{kind}: wrong in silence", True, f"{story}: {excess:.1e} x; {action}")
    return Outcome(f"{kind}: met", False, f"{story}; {action}")


def _several(rng: np.random.Generator, J: Any) -> tuple[list[float] | None, int | None]:
    """taus and window, None where they are not asked for."""
    taus = [float(tau) for tau in rng.choice([1.0, 0.75, 0.5, 0.125], rng.integers(1, 5))]
    general = not isinstance(J, SecondOrderOperator)
    window = int(rng.integers(1, 5)) if general and rng.random() < 0.5 else None
    return (taus, window) if rng.random() < 0.5 else (None, None)


def _at(tau: float, h: float, vectors: list[Any], answer_of: Any) -> problems.Answer:
    """u(tau), whose vectors are tau^k v_k."""
    powers = [problems.LONG(tau) ** k for k in range(len(vectors))]
    data = [None if v is None else p * v for p, v in zip(powers, vectors, strict=True)]
    return answer_of(tau * h, data)


def _cause(message: str) -> str:
    for word in ("overflow", "rounding", "max_products", "finite"):
        if word in message:
            return f"refused, {word}"
    return f"refused: {message}"


def _excess(value: Any, answer: problems.Answer, tol: float) -> float:
    """Largest error over what is allowed."""
    parts = value.reshape(answer.value.shape)
    error = np.linalg.norm((parts - answer.value).astype(np.longdouble), axis=1)
    size = np.linalg.norm(answer.value.astype(np.longdouble), axis=1)
    allowed = tol * size + ROUNDING * answer.floor + answer.doubt + TINY
    return float(np.max(error / allowed))


def _symmetric(rng: np.random.Generator, n: int) -> problems.Symmetric:
    make = rng.choice([problems.chain, problems.walsh, problems.bodies])
    return make(rng, n)


def _omega(rng: np.random.Generator) -> float:
    return 10.0 ** rng.uniform(-3.0, 6.0)


def _vector(rng: np.random.Generator, problem: Any, size: int) -> Any:
    """Rough, smooth, one entry, one mode, or mostly one of them."""
    modes = problem.modes
    low = modes.back(1.0 / (1.0 + np.arange(size)) ** 2).astype(float)
    mode = np.zeros(size)
    mode[rng.integers(size)] = 1.0
    shapes = [
        rng.standard_normal(size),
        low,
        mode,
        modes.back(mode).astype(float),
        low + 10.0 ** rng.uniform(-12, -1) * rng.standard_normal(size),
    ]
    return shapes[rng.integers(len(shapes))] * 10.0 ** rng.uniform(-3, 3)


def _vectors(rng: np.random.Generator, draw: Any) -> list[Any]:
    count = int(rng.integers(1, 7))
    vectors = [draw() if rng.random() < 0.6 else None for _ in range(count)]
    if all(v is None for v in vectors):
        vectors[-1] = draw()
    return vectors


def _wrapped(rng: np.random.Generator, A: Any) -> Any:
    choice = rng.integers(3)
    if choice == 0 and A.shape[0] <= FULL:
        return A.toarray()
    if choice == 1:
        return LinearOperator(A.shape, matvec=lambda b: A @ b, dtype=np.float64)
    return A


def _second_order(rng: np.random.Generator, n: int, phase: float, kind: str):
    problem, omega = problems.scaled_to(_symmetric(rng, n), _omega(rng))
    n, h = problem.size, phase / omega
    m = problem.blocks.shape[1]

    def draw() -> Any:
        x, v = (_vector(rng, problem, n) * rng.integers(0, 5, 2).clip(0, 1)[0] for _ in range(2))
        return np.concatenate([x, omega ** rng.choice([0.0, 1.0]) * v])

    vectors = _vectors(rng, draw)
    if kind == "undamped":
        h *= rng.choice([1.0, -1.0])
        J = SecondOrderOperator(_wrapped(rng, problem.A))
        return kind, J, h, vectors, _halves(problem, None, 0.0, 0.0)
    if kind == "rayleigh":
        alpha, beta = omega * 10.0 ** rng.uniform(-6, 2), 10.0 ** rng.uniform(-6, 2) / omega
        alpha, beta = np.array([alpha, beta]) * rng.permutation([1.0, rng.integers(2)])
        D = alpha * np.eye(m, dtype=problems.LONG) + problems.LONG(beta) * problem.blocks
        J = SecondOrderOperator(_wrapped(rng, problem.A), Rayleigh(float(alpha), float(beta)))
        return kind, J, h, vectors, _halves(problem, D, alpha, beta)
    G = rng.standard_normal((m, m))
    size = omega * 10.0 ** rng.uniform(-4, 1)
    D = np.round(2.0**20 * (G @ G.T) / m) / 2.0**20  # the same in every block, exact
    D = D * problems._power_of_two(size)
    zero = np.zeros_like(problem.blocks)
    big = _full(problem, D)
    J = sp.bmat([[None, sp.identity(n)], [-problem.A, -big]], format="csr")

    def whole(h: float, vectors: list[Any]) -> problems.Answer:
        answer = problems.second_order_answer(problem, zero + D, h, vectors)
        doubt = np.array([answer.doubt.max()])
        return problems.Answer(answer.value.reshape(1, -1), doubt, np.zeros(1))

    return kind, _wrapped(rng, J), h, vectors, whole


def _halves(problem: problems.Symmetric, D: Any, alpha: float, beta: float) -> Any:
    def answer_of(h: float, vectors: list[Any]) -> problems.Answer:
        answer = problems.second_order_answer(problem, D, h, vectors)
        return replace(answer, floor=problems.summands(problem, alpha, beta, h, vectors))

    return answer_of


def _full(problem: problems.Symmetric, D: Any) -> Any:
    """The matrix whose blocks are all D: exact where blocks are numbers or a permutation."""
    n, m = problem.size, len(D)
    if m == 1:
        return D[0, 0] * sp.identity(n)
    place = np.rint(problem.modes.forward(np.arange(n)).astype(float)).astype(int)
    own = sp.csr_matrix(sp.block_diag([D] * (n // m)))
    back = np.argsort(place)
    return own[back][:, back]


def _first_order(rng: np.random.Generator, n: int, phase: float):
    shape = str(rng.choice(["heat", "scaled", "blocks", "oscillators"]))
    rate = _omega(rng)
    h = phase / rate
    if shape in ("heat", "scaled"):
        problem, root = problems.scaled_to(_symmetric(rng, n), np.sqrt(rate))
        h = phase / root**2
        n, d = problem.size, np.ones(problem.size)
        if shape == "scaled":
            d = 2.0 ** rng.integers(-8, 9, n)
        A = -sp.csr_matrix(sp.diags(d) @ problem.A @ sp.diags(1.0 / d))
        modes = problems.Modes(
            lambda b: problem.modes.forward(b / d), lambda c: problem.modes.back(c) * d
        )
        blocks, source = -problem.blocks, problem
    else:
        m = int(rng.integers(1, min(6, n) + 1))
        make = _oscillators if shape == "oscillators" else _far_from_normal
        kinds = [make(rng, m) for _ in range(3)]
        stack = np.array([kinds[i] for i in rng.integers(3, size=max(1, n // m))])
        stack *= problems._power_of_two(rate / max(np.linalg.norm(stack[0], 2), 1e-300))
        A, blocks, modes = problems._shuffled(rng, stack)
        n = A.shape[0]
        source = problems.Symmetric(A, blocks, modes)
    vectors = _vectors(rng, lambda: _vector(rng, source, n))

    def answer_of(h: float, vectors: list[Any]) -> problems.Answer:
        return problems.first_order_answer(blocks, modes, h, vectors)

    return f"first order, {shape}", _wrapped(rng, A), h, vectors, answer_of


def _oscillators(rng: np.random.Generator, m: int) -> Any:
    G = rng.standard_normal((m, m))
    return G - G.T if m > 1 else -np.abs(G)


def _far_from_normal(rng: np.random.Generator, m: int) -> Any:
    """Upper triangular with entries far larger than its eigenvalues; some grow."""
    J = np.triu(rng.standard_normal((m, m)) * 10.0 ** rng.uniform(-1, 2), 1)
    return J + np.diag(-(10.0 ** rng.uniform(-3, 1, m)) * rng.choice([1.0, 1.0, -0.1], m))


if __name__ == "__main__":
    main(trial, count=20_000, seconds=20.0)
