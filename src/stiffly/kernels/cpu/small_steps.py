"""Exponential Rosenbrock steps of a few coordinates, one after the other, without Python.

M x'' = g(x) - A x with g and its jacobian compiled by numba.  They come as pointers to functions of
one signature, so that one version of this loop, kept in numba's cache, serves all of them.  On the
Fermi-Pasta-Ulam chain (6 coordinates) a step of exprb42 takes 3.1 us; calls of g and its jacobian
are 0.8 us of it; entering the loop takes 20 us, and a step that goes through Python 55.

Formulas: integrators/exponential_rosenbrock.py, in the eigenbasis of M^-1/2 K M^-1/2 (rows of z).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import float64, int64, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from .bodies import eigenbasis
from .jit import strict
from .spectral import stumpff_value

_EPS = float(np.finfo(float).eps)
_V, _M = float64[::1], float64[:, ::1]
_FUNCTIONS: tuple[Any, Any] = types.FunctionType(_V(_V)), types.FunctionType(_M(_V))


@strict(forceinline=True)
def _acceleration(g, A, root, x, out):
    """M^-1 (g - A x)."""
    for i in range(x.size):
        total = g[i]
        for k in range(x.size):
            total -= A[i, k] * x[k]
        out[i] = total / (root[i] * root[i])


@strict(forceinline=True)
def _stiffness(A, jacobian, root, K):
    """M^-1/2 (A - dg/dx) M^-1/2; returns its largest entry, infinity where it has NaN."""
    top = 0.0
    for i in range(root.size):
        for k in range(root.size):
            entry = (A[i, k] - jacobian[i, k]) / (root[i] * root[k])
            K[i, k] = entry
            if not abs(entry) <= top:
                top = abs(entry) if math.isfinite(entry) else math.inf
    return top


@strict(forceinline=True)
def _to_modes(z, root, b, out):
    for k in range(b.size):
        total = 0.0
        for i in range(b.size):
            total += z[k, i] * root[i] * b[i]
        out[k] = total


@strict(forceinline=True)
def _add_modes(z, root, w, out):
    for i in range(w.size):
        total = 0.0
        for k in range(w.size):
            total += z[k, i] * w[k]
        out[i] += total / root[i]


def _steps(force, jacobian, A, root, nodes, weights, h, count, x, v):
    n, stages = x.size, nodes.size
    K, z = np.empty((n, n)), np.empty((n, n))
    lam, a, w, dv = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    there, d = np.empty(n), np.empty(n)
    wv, wa, wd = np.empty(n), np.empty(n), np.empty((stages, n))
    for done in range(count):
        _acceleration(force(x), A, root, x, a)
        eigenbasis(K, _stiffness(A, jacobian(x), root, K), lam, z)
        _to_modes(z, root, v, wv)
        _to_modes(z, root, a, wa)
        # 1. the stages, and what the force has there beyond its linear part
        for stage in range(stages):
            tau = nodes[stage] * h
            for k in range(n):
                s = tau * tau * lam[k]
                w[k] = tau * (stumpff_value(1, s) * wv[k] + tau * stumpff_value(2, s) * wa[k])
            there[:] = x
            _add_modes(z, root, w, there)
            _acceleration(force(there), A, root, there, d)
            for i in range(n):
                d[i] -= a[i]
            _to_modes(z, root, d, wd[stage])
            for k in range(n):
                wd[stage, k] += lam[k] * w[k]
        # 2. the step: w for x, dv for v
        for k in range(n):
            s = h * h * lam[k]
            if not 0.5 * _EPS * abs(s) <= 1.0:  # rounding of K is as large as the motion, or NaN
                return done
            c1, c2 = stumpff_value(1, s), stumpff_value(2, s)
            w[k] = h * (c1 * wv[k] + h * c2 * wa[k])
            dv[k] = h * (c1 * wa[k] - h * lam[k] * c2 * wv[k])
            for stage in range(stages):
                for order in range(weights.shape[1]):
                    weight = weights[stage, order] * wd[stage, k]
                    if weight != 0.0:
                        w[k] += h * h * weight * stumpff_value(order + 4, s)
                        dv[k] += h * weight * stumpff_value(order + 3, s)
        there[:] = x
        d[:] = v
        _add_modes(z, root, w, there)
        _add_modes(z, root, dv, d)
        for i in range(n):
            if not (math.isfinite(there[i]) and math.isfinite(d[i])):
                return done
        x[:] = there
        v[:] = d
    return count


@cache
def _compiled():
    """Of one signature, when it is first asked for."""
    signature = int64(*_FUNCTIONS, _M, _V, _V, _M, float64, int64, _V, _V)
    return strict(signature)(_steps)


class _Pointer(types.WrapperAddressProtocol):
    """To a compiled function of one signature, which numba would look for in every call: 40 us."""

    def __init__(self, function: Any, signature: Any) -> None:
        found = function.get_compile_result(signature)
        name = found.fndesc.llvm_cfunc_wrapper_name
        self._address = found.library.get_pointer_to_function(name)
        self._signature, self._function = signature, function  # which must outlive its address

    def __wrapper_address__(self) -> int:
        return self._address

    def signature(self) -> Any:
        return self._signature


@cache
def _pointers(force: Any, jacobian: Any) -> tuple[_Pointer, _Pointer] | None:
    """None unless numba has compiled both, as functions of arrays (n,) alone."""
    for function, wanted in ((force, _V(_V)), (jacobian, _M(_V))):
        if not isinstance(function, Dispatcher):
            return None
        try:
            function.compile(wanted.args)
        except NumbaError:
            return None
        if function.overloads[wanted.args].signature != wanted:
            return None
    return _Pointer(force, _V(_V)), _Pointer(jacobian, _M(_V))


def rosenbrock_steps(force, jacobian, A, root, nodes, weights, h, count, x, v):
    """Steps of h from x, v (n,), in place; returns how many of `count` were taken: none where the
    functions are not compiled, fewer where the next one would not be finite.

    force (n,) -> (n,), jacobian (n,) -> (n, n), symmetric; A (n, n), root (n,): square roots of the
    masses; nodes (s,), weights (s, 2): of phi_3 and phi_4 in b_i.
    """
    pointers = _pointers(force, jacobian)
    if pointers is None:
        return 0
    return int(_compiled()(*pointers, A, root, nodes, weights, h, count, x, v))
