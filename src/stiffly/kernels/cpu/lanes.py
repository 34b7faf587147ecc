"""Eight numbers that are worked on at once: the vector unit's type, for bodies side by side.

numba does not vectorise a loop over eight bodies by itself: it cannot promise that arrays do not
overlap, and asks anew in every short loop.  So lanes are a type of their own, an LLVM vector, with
the operators of numbers.  A function that is written with `load`, `store` and arithmetic serves
both: of an array (n,) `load(a, i)` is the number a[i], of an array (n, LANES) the lanes of row i.
Arrays are C-contiguous, indices unsigned, and nothing tests them.

Multiply-adds may be fused; sums are never reordered, so a lane has the same bits whatever lies in
the others.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as made_by
from numba.extending import models, overload, register_model

from ..names import LANES

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract",)
intrinsic: Any = made_by  # its functions are called without their first argument


class Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _entry(array: Any) -> Any:
    """What one index reads."""
    return types.float64 if array.ndim == 1 else lanes


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    if kind.ndim == 1:
        return builder.gep(data, [index])
    first = builder.gep(data, [builder.mul(index, ir.Constant(ir.IntType(64), LANES))])
    return builder.bitcast(first, _VECTOR.as_pointer())


@intrinsic
def load(_context: Any, array: Any, index: Any) -> Any:
    """array[index], (n,) or (n, LANES)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_pointer(context, builder, signature.args[0], *arguments))
        found.align = 8
        return found

    return _entry(array)(array, types.uint64), code


@intrinsic
def store(_context: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = value."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], where).align = 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, _entry(array)), code


# ------------------------------------------------------------------ arithmetic


def _spread(builder: Any, kind: Any, value: Any) -> Any:
    """A number in all lanes."""
    if kind == lanes:
        return value
    empty, zeros = ir.Constant(_VECTOR, ir.Undefined), ir.VectorType(ir.IntType(32), LANES)
    one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, empty, ir.Constant(zeros, [0] * LANES))


def _operation(name: str) -> Any:
    @intrinsic
    def both(_context: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pair = zip(signature.args, arguments, strict=True)
            return getattr(builder, name)(*(_spread(builder, *p) for p in pair), flags=_FLAGS)

        own = (kind if kind == lanes else types.float64 for kind in (a, b))
        return lanes(*own), code

    return both


def _overload(of: Any, name: str) -> None:
    operation = _operation(name)

    def implement(a, b):
        return (lambda a, b: operation(a, b)) if lanes in (a, b) else None

    overload(of)(implement)


_overload(operator.add, "fadd")
_overload(operator.sub, "fsub")
_overload(operator.mul, "fmul")
_overload(operator.truediv, "fdiv")


def _function(name: str) -> Any:
    @intrinsic
    def one(_context: Any, a: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shape = ir.FunctionType(_VECTOR, [_VECTOR])
            full = f"llvm.{name}.v{LANES}f64"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, shape, full), arguments
            )

        return lanes(lanes), code

    return one


_sqrt, _fabs = _function("sqrt"), _function("fabs")


@overload(math.sqrt)
def _lanes_sqrt(a):
    return (lambda a: _sqrt(a)) if a == lanes else None


@overload(abs)
def _lanes_abs(a):
    return (lambda a: _fabs(a)) if a == lanes else None


@intrinsic
def where(_context: Any, test: Any, a: Any, b: Any) -> Any:
    """a where test > 0, else b; a NaN is not."""
    kind = lanes if lanes in (test, a, b) else types.float64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(context.get_value_type(kind), None if kind == lanes else 0.0)
        positive = builder.fcmp_ordered(">", arguments[0], zero)
        return builder.select(positive, arguments[1], arguments[2])

    return kind(kind, kind, kind), code


@intrinsic
def spread(_context: Any, like: Any, value: Any) -> Any:
    """The number `value`, in all lanes where `like` is lanes."""
    kind = lanes if like == lanes else types.float64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, types.float64, arguments[1]) if kind == lanes else arguments[1]

    return kind(kind, types.float64), code


@intrinsic
def out_of_line(_context: Any) -> Any:
    """Said by a function that is never put into its callers: else the compiler would decide, by
    what else there is to compile, and bits with it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), code
