"""The rows of three tables of run times, and our scenes for them.

Michels, Luan & Tokman 2017, Table 1; Luan & Michels 2018, Table 2; Luan & Michels 2021, Table 2
(the rows of 2018 and one more).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stiffly import scenes
from stiffly.scenes import Scene

TABLE_2017, TABLE_2018, TABLE_2021 = (
    "Michels 2017, Table 1",
    "Luan 2018, Table 2",
    "Luan 2021, Table 2",
)
MINUTE, HOUR = 60.0, 3600.0
FINE = 0.057 / 64  # [s]
LARGER = {"vertices": 200, "duration": 1.14}  # of bunnies


@dataclass(frozen=True, eq=False)
class RosenbrockCase:
    """A row: who it belongs to, what the paper measured [s], and the body we can afford.

    methods: the paper's columns by our names, the paper's own method first; level: the relative
    error that all have to meet; N: the paper's unknowns; small: parameters beside those of the
    scene's small variant; larger: instead of those and of `duration` in the full experiment;
    fine: step of a reference by exprb42 where outside solvers have none; settled_s: seconds for a
    run of one by Verlet, where contact or a motion acts between the steps.
    """

    name: str
    items: tuple[str, ...]
    N: int
    methods: Mapping[str, float]
    scene: str
    duration: float
    level: float
    small: Mapping[str, Any] = field(default_factory=dict)
    larger: Mapping[str, Any] = field(default_factory=dict)
    fine: float | None = None
    settled_s: float = 10.0
    remark: str = ""

    @property
    def leader(self) -> str:
        return next(iter(self.methods))

    def build(self, quick: bool) -> Scene:
        given = {**self.small, "duration": self.duration, **({} if quick else self.larger)}
        return scenes.load(self.scene, small=True, **given)


def _stiff(
    name: str,
    N: int,
    seconds: tuple[float, float, float],
    scene: str,
    duration: float,
    gautschi: str = "eti",
    level: float = 0.1,
    **more: Any,
) -> RosenbrockCase:
    """A row of 2017: stiffly accurate, Gautschi-type, Newton-Raphson (BDF-1)."""
    methods = dict(zip(("epirk4s3", gautschi, "bdf1"), seconds, strict=True))
    return RosenbrockCase(name, (TABLE_2017,), N, methods, scene, duration, level, **more)


def _rosenbrock(
    name: str,
    items: tuple[str, ...],
    N: int,
    seconds: tuple[float, ...],
    scene: str,
    duration: float,
    **more: Any,
) -> RosenbrockCase:
    """A row of 2018 and 2021.  Their only number for an error is 2 %, of the coil spring."""
    names = ("exprb42", "pexprb43", "vimex", "rk4", "bdf1")
    return RosenbrockCase(
        name, items, N, dict(zip(names, seconds, strict=True)), scene, duration, 0.02, **more
    )


BOTH = (TABLE_2018, TABLE_2021)
HEAD_SHAKE = (
    "the paper's Gautschi time is 31 h in the table and about 6 h in the text; 31 h is used"
)

CASES = (
    _stiff("0a bunny, k_d = 1e8", 24_000, (126, 523, HOUR), "bunny", 0.57,
           small={"vertices": 100, "diagonal": 1e8}, larger=LARGER),
    _stiff("0b bunny, k_d = 1e10", 24_000, (127, 728, 1.5 * HOUR), "bunny", 0.57,
           small={"vertices": 100, "diagonal": 1e10}, larger=LARGER),
    _stiff("0c bunny, k_d = 1e12", 24_000, (127, 946, 2.3 * HOUR), "bunny", 0.57,
           small={"vertices": 100, "diagonal": 1e12}, fine=FINE),
    _stiff("1a bunny, k_d = 1e11", 3_000, (8, 56, 7 * MINUTE), "bunny", 0.57,
           small={"vertices": 60, "diagonal": 1e11}, fine=FINE),
    _stiff("1b bunny, k_d = 1e11", 12_000, (58, 269, 43 * MINUTE), "bunny", 0.57,
           small={"vertices": 120, "diagonal": 1e11}, fine=FINE),
    _stiff("1c bunny, k_d = 1e11", 24_000, (127, 861, 2 * HOUR), "bunny", 0.57,
           small={"vertices": 240, "diagonal": 1e11}, fine=FINE),
    _stiff("2 flag", 10_500, (1, 8, 72), "flag", 0.3, small={"resolution": 6}),
    _stiff("3a tower, 1e2 N/m above", 15_000, (3, 26, 5 * MINUTE), "tower", 0.1, "ceti",
           small={"upper": 1e2, "speed": 30.0}),
    _stiff("3b tower, 1e4 N/m above", 15_000, (3, 33, 7 * MINUTE), "tower", 0.1, "ceti"),
    _stiff("4 head shake", 6_480_000, (54 * MINUTE, 31 * HOUR, 80 * HOUR), "hair", 0.1,
           small={"fibers": 2}, remark=HEAD_SHAKE),
    _stiff("5 tooth brushing, 3 min", 90_000, (16 * MINUTE, 6 * HOUR, 18 * HOUR), "brush", 0.01,
           level=0.05, small={"bristles": 2}, settled_s=25.0),
    _stiff("6 bacterium", 360, (1, 4, 23), "bacterium", 0.05),
    _rosenbrock("1 coil spring", BOTH, 24_000, (55, 47, 12 * MINUTE, 46 * MINUTE, 62 * MINUTE),
                "coil-spring", 2.0, larger={"vertices": 400, "duration": 3.0}),
    _rosenbrock("dragon", (TABLE_2021,), 450_000, (272, 243, 72 * MINUTE, 4 * HOUR, 5 * HOUR),
                "dragon", 0.2),
    _rosenbrock("2 brushing, 15 s", BOTH, 90_000, (52, 51, 11 * MINUTE, 53 * MINUTE, 72 * MINUTE),
                "brush", 0.01, small={"bristles": 2}, settled_s=25.0),
    _rosenbrock("3 crash, moderate", BOTH, 360_000, (44, 44, 9 * MINUTE, 47 * MINUTE, 58 * MINUTE),
                "crash", 0.05, small={"vertices": 200, "speed": 2.0}),
    _rosenbrock("4 crash, fast", BOTH, 360_000, (47, 46, 9 * MINUTE, 47 * MINUTE, 59 * MINUTE),
                "crash", 0.05, small={"vertices": 200, "speed": 4.0}),
)  # fmt: skip
