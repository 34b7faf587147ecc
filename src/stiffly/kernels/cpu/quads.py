"""Four numbers in one register, as a type that numba compiles: a row (x, y, z, 0) of an array
(n, 4), or four consecutive numbers.

numba vectorises a loop only where it can prove that its arrays do not overlap, which it cannot for
springs that add to both of their ends.  With these the vector instructions are written down:
`load`, `store`, `fill`, + - * / between quads, `root`, and `sums`, four at once.  A machine without
registers of that width gets the same digits from narrower ones.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.extending import models, overload, register_model

intrinsic: Any = extending.intrinsic  # what it makes has one parameter less

LANES = 4
DOUBLE, INT = ir.DoubleType(), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, LANES)


class Quad(types.Type):
    def __init__(self):
        super().__init__(name="quad")


quad = Quad()


@register_model(Quad)
class _QuadModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def _address(context, builder, kind, array, first):
    """Of four numbers from the one numbered `first` on, of an array without gaps."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [first]), ir.PointerType(VECTOR))


def _first(builder, kind, index):
    """Rows have four numbers each."""
    return builder.mul(index, ir.Constant(index.type, LANES)) if kind.ndim > 1 else index


@intrinsic
def load(typing, array, index):
    """Row `index` of an array (.., 4), or the four numbers from there on of one (n,)."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        where = _first(builder, kind, arguments[1])
        return builder.load(_address(context, builder, kind, arguments[0], where), align=8)

    return quad(array, index), generate


@intrinsic
def store(typing, array, index, value):
    """The inverse of `load`."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        where = _first(builder, kind, arguments[1])
        builder.store(arguments[2], _address(context, builder, kind, arguments[0], where), align=8)
        return context.get_dummy_value()

    return types.void(array, index, quad), generate


def _shuffled(builder, a, b, order):
    mask = ir.Constant(ir.VectorType(INT, LANES), [ir.Constant(INT, k) for k in order])
    return builder.shuffle_vector(a, b, mask)


@intrinsic
def fill(typing, number):
    """The same number four times."""

    def generate(context, builder, signature, arguments):
        empty = ir.Constant(VECTOR, ir.Undefined)
        one = builder.insert_element(empty, arguments[0], ir.Constant(INT, 0))
        return _shuffled(builder, one, empty, [0] * LANES)

    return quad(types.float64), generate


def _spread(lane):
    def declared(typing, a):
        def generate(context, builder, signature, arguments):
            return _shuffled(builder, arguments[0], arguments[0], [lane] * LANES)

        return quad(quad), generate

    return intrinsic(declared)


# number k of a quad, four times
spread0, spread1, spread2, spread3 = (_spread(lane) for lane in range(LANES))


def _picked(lane):
    def declared(typing, a):
        def generate(context, builder, signature, arguments):
            return builder.extract_element(arguments[0], ir.Constant(INT, lane))

        return types.float64(quad), generate

    return intrinsic(declared)


first, second, third, fourth = (_picked(lane) for lane in range(LANES))  # the numbers themselves


@intrinsic
def row(typing, x, y, z):
    """(x, y, z, 0)."""

    def generate(context, builder, signature, arguments):
        made = ir.Constant(VECTOR, [0.0] * LANES)
        for lane, number in enumerate(arguments):
            made = builder.insert_element(made, number, ir.Constant(INT, lane))
        return made

    number = types.float64
    return quad(number, number, number), generate


@intrinsic
def root(typing, a):
    """Square roots."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        name = f"llvm.sqrt.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

    return quad(quad), generate


@intrinsic
def at_least(typing, a, b):
    """The larger one, number by number; b where a is NaN."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return quad(quad, quad), generate


@intrinsic
def any_above(typing, a, b):
    """Whether any number of a exceeds that of b."""

    def generate(context, builder, signature, arguments):
        above = builder.zext(builder.fcmp_ordered(">", *arguments), ir.VectorType(INT, LANES))
        found = builder.extract_element(above, ir.Constant(INT, 0))
        for lane in range(1, LANES):
            found = builder.or_(found, builder.extract_element(above, ir.Constant(INT, lane)))
        return builder.icmp_unsigned("!=", found, ir.Constant(INT, 0))

    return types.boolean(quad, quad), generate


@intrinsic
def sums(typing, a, b, c, d):
    """The sums of the numbers of four quads."""

    def generate(context, builder, signature, arguments):
        a, b, c, d = arguments
        halves = []
        for one, two in ((a, b), (c, d)):
            low = _shuffled(builder, one, two, [0, 4, 2, 6])
            high = _shuffled(builder, one, two, [1, 5, 3, 7])
            halves.append(builder.fadd(low, high))
        left = _shuffled(builder, halves[0], halves[1], [0, 1, 4, 5])
        return builder.fadd(left, _shuffled(builder, halves[0], halves[1], [2, 3, 6, 7]))

    return quad(quad, quad, quad, quad), generate


def _operation(name):
    def declared(typing, a, b):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return quad(quad, quad), generate

    return intrinsic(declared)


_add, _sub, _mul, _div = (_operation(name) for name in ("fadd", "fsub", "fmul", "fdiv"))


def _both(a, b):
    return isinstance(a, Quad) and isinstance(b, Quad)


@overload(operator.add)
def _quad_add(a, b):
    if _both(a, b):
        return lambda a, b: _add(a, b)
    return None


@overload(operator.sub)
def _quad_sub(a, b):
    if _both(a, b):
        return lambda a, b: _sub(a, b)
    return None


@overload(operator.mul)
def _quad_mul(a, b):
    if _both(a, b):
        return lambda a, b: _mul(a, b)
    return None


@overload(operator.truediv)
def _quad_div(a, b):
    if _both(a, b):
        return lambda a, b: _div(a, b)
    return None


@intrinsic
def cross(typing, a, b):
    """The vector product of two rows."""

    def generate(context, builder, signature, arguments):
        def turned(one, order):
            return _shuffled(builder, one, one, order)

        (a, b), left = arguments, [1, 2, 0, 3]
        forth, back = builder.fmul(a, turned(b, left)), builder.fmul(turned(a, left), b)
        return turned(builder.fsub(forth, back), left)  # so far (z, x, y)

    return quad(quad, quad), generate


@intrinsic
def total(typing, a):
    """The sum of a quad's numbers: (0 + 2) + (1 + 3)."""

    def generate(context, builder, signature, arguments):
        one = arguments[0]
        pairs = builder.fadd(one, _shuffled(builder, one, one, [2, 3, 0, 1]))
        both = builder.fadd(pairs, _shuffled(builder, pairs, pairs, [1, 0, 3, 2]))
        return builder.extract_element(both, ir.Constant(INT, 0))

    return types.float64(quad), generate
