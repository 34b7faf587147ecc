"""Order conditions as trees: what weights b of stages (c, A) must sum up to.

A tree is (leaves, subtrees).  For u' = f(u) it has no leaves, and a subtree stands for A times its
own values; for x'' = a(x) a leaf stands for v, of order 1, and a subtree is one order higher, for
it is integrated twice (Hairer, Norsett, Wanner, Solving ODEs I, Secs. II.2 and II.14).
"""

from fractions import Fraction
from functools import cache

import numpy as np


@cache
def trees(order, second):
    """All of that order; second: of x'' = a(x)."""
    found = set()

    def grow(left, largest, subtrees):
        if second or left == 0:
            found.add((left, tuple(sorted(subtrees))))
        for own in range(1, min(largest, left - second) + 1):
            for tree in trees(own, second):
                grow(left - own - second, own, [*subtrees, tree])

    grow(order - 1, order - 1, [])
    return sorted(found)


def order(tree, second):
    return 1 + tree[0] + sum(order(t, second) + second for t in tree[1])


def density(tree, second):
    """1 / the exact solution's value."""
    value = Fraction(order(tree, second))
    for t in tree[1]:
        value *= density(t, second) * (order(t, second) + 1 if second else 1)
    return value


def values(tree, c, A):
    """Of the stages."""
    product = c ** tree[0]
    for t in tree[1]:
        product = product * A.dot(values(t, c, A))
    return product


def defects(c, A, b, up_to, *, second=False, bbar=None):
    """Of all conditions on b, and on bbar where it is given, up to that order."""
    c, A = np.asarray(c), np.asarray(A)
    found = []
    for p in range(1, up_to + 1):
        for tree in trees(p, second):
            own, exact = values(tree, c, A), 1 / density(tree, second)
            found.append(np.asarray(b).dot(own) - exact)
            if bbar is not None and p < up_to:
                found.append(np.asarray(bbar).dot(own) - exact / (p + 1))
    return found
