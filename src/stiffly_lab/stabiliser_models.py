"""The rows of Tables 1 and 2 of Dinev, Liu & Kavan (2018), and the scenes that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Model(NamedTuple):
    """A row of the paper's tables; milliseconds as printed.

    The scene itself has the paper's size; small: of --quick; tested: where substeps are tried for
    stability, and for how many frames.  after: frames before the clock starts, for something to
    happen.
    newton, fast: backward Euler, our method, its alpha search.  midpoint: 1, 5, 10, 20, 100
    substeps.  stand_in: where Newton is timed, and local/global beside it, if a factorisation of
    the full size takes longer than an experiment can afford.
    """

    name: str
    scene: str
    small: dict[str, Any]
    tested: tuple[dict[str, Any], int]
    step: float
    after: int
    newton: tuple[float, float, float]
    fast: tuple[float, float, float]
    midpoint: tuple[float, float, float, float, float]
    stand_in: Mapping[str, Any] = MappingProxyType({})


MODELS = (
    Model(
        "Bar", "bar", {"cells": 2}, ({}, 100), 0.033, 10,
        (148, 231, 3.27), (3.62, 5.73, 1.85), (3.79, 18.22, 36.42, 72.73, 361),
    ),
    Model(
        "Cube (Fig. 5)", "spinning-cube", {"cells": 3}, ({}, 400), 0.033, 10,
        (277, 505, 1.86), (5.84, 8.41, 1.66), (6.03, 29.86, 54.95, 111, 541),
    ),
    Model(
        "Cube (Fig. 15)", "falling-cube", {"cells": 3}, ({}, 100), 0.01, 14,
        (365, 597, 0.76), (6.93, 9.50, 0.93), (7.16, 56.85, 122, 245, 1232),
    ),
    Model(
        "Hippo", "hippo", {"vertices": 300, "contact": 3e4}, ({}, 70), 0.01, 24,
        (3985, 6296, 5.0), (66.4, 73.3, 4.93), (68.4, 312, 666, 1230, 6615),
    ),
    Model(
        "Bunny (Fig. 14)", "sliding-bunny", {"vertices": 600, "contact": 500.0},
        ({"vertices": 600, "contact": 500.0}, 60), 0.033, 5,
        (6288, 10720, 13.8), (194, 212, 9.62), (184, 830, 2014, 3568, 18907),
        {"vertices": 1000, "contact": 330.0},
    ),
    Model(
        "Cactus", "cactus", {"vertices": 300}, ({"vertices": 300}, 300), 0.033, 0,
        (5050, 7577, 41.6), (115, 174, 39.9), (120, 590, 1242, 2442, 13849),
        {"vertices": 600},
    ),
    Model(
        "Cloth", "cloth", {"resolution": 15}, ({"resolution": 31}, 100), 0.033, 0,
        (24958, 42758, 6.11), (110, 127, 7.58), (109, 478, 997, 1976, 8388),
        {"resolution": 41},
    ),
    Model(
        "Dog", "dog", {"vertices": 500}, ({"vertices": 500}, 160), 0.033, 2,
        (39101, 99138, 212), (916, 1205, 193), (904, 4413, 9079, 16660, 79369),
        {"vertices": 2000},
    ),
    Model(
        "Bunny (Fig. 9)", "swinging-bunny", {"vertices": 600}, ({"vertices": 600}, 145), 0.033, 10,
        (31624, 64037, 227), (1181, 1510, 215), (1101, 5616, 11293, 22577, 120631),
        {"vertices": 2000},
    ),
)  # fmt: skip
