"""Forces of the tets of a group of rows, inside of explicit steps (stretch.py).

They are compiled for each material apart and called by their address: the loop of steps is compiled
once for all bodies, and nothing of this for a body that has no tets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc
from numba.core import types
from numba.np.numpy_support import carray

from .for_material import for_material
from .jit import inlined
from .polar import LANES, column
from .quads import intrinsic
from .tets import FORCE_ROW, ROWS, deform, load_lane, tile_forces

_INT, _NUMBERS = types.int64, types.CPointer(types.float64)
_ARRAYS = (types.CPointer(types.uint32), *(_NUMBERS,) * 4)  # corners, shape, moduli, x, f
SIGNATURE = types.void(_INT, _INT, _INT, _INT, *_ARRAYS)


def _addressed(**options: Any) -> Any:
    return cfunc(SIGNATURE, **options)


@inlined
def _scatter(lane, e, first, tets, w, f):
    """Takes dE/dx of one lane from f; vertex 0 balances the others."""
    t = tets[e]
    i, j, k, m = f[first + t[0]], f[first + t[1]], f[first + t[2]], f[first + t[3]]
    for a in range(3):
        p, q, r = column(w, FORCE_ROW + a, lane)
        i[a] += p + q + r
        j[a] -= p
        k[a] -= q
        m[a] -= r


@for_material(_addressed)
def _add_forces(low, high, first, rows, corners, shapes, constants, positions, forces):
    """Of the tets low .. high, whose vertices are counted from the row `first` on."""
    tets, shape = carray(corners, (high, 4)), carray(shapes, (high, 9))
    moduli = carray(constants, (high, 2))
    x, f, at = carray(positions, (rows, 4)), carray(forces, (rows, 4)), np.uint64(first)
    w = np.empty(ROWS * LANES)
    for begin in range(low, high, LANES):
        for lane in range(LANES):
            e = np.uint64(min(begin + lane, high - 1))
            load_lane(lane, e, at, x, tets, shape, moduli, w)
        deform(w)
        tile_forces(w)
        for lane in range(min(LANES, high - begin)):
            _scatter(lane, np.uint64(begin + lane), at, tets, w, f)


def addresses(materials):
    """(M,) of what `add_tet_forces` calls."""
    return np.array([_add_forces[material].address for material in materials], dtype=np.int64)


@intrinsic
def add_tet_forces(typing, address, low, high, first, corners, shape, moduli, x, f):
    """Adds -dE/dx of the tets low .. high at x (R, 4) to f (R, 4); the rest as `GroupedTets`."""

    def generate(context, builder, signature, arguments):
        kinds = signature.args[4:]
        arrays = [
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(kinds, arguments[4:], strict=True)
        ]
        rows = builder.extract_value(arrays[3].shape, 0)
        numbers = [*arguments[1:4], rows, *(array.data for array in arrays)]
        nothing = ir.PointerType(ir.IntType(8))  # is what numba's functions of no value return
        kind = ir.FunctionType(nothing, [number.type for number in numbers])
        function = builder.inttoptr(arguments[0], ir.PointerType(kind))
        builder.call(function, numbers)
        return context.get_dummy_value()

    return types.void(_INT, _INT, _INT, _INT, corners, shape, moduli, x, f), generate
