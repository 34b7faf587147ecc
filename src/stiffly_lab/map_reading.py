"""Reading the map: who wins a cell, by how much, and which plain rule says so best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Any

from .family import PERIOD, Member
from .harness import Record
from .map_cells import EXPLICIT, EXPONENTIAL

KINDS = ("explicit", "exponential", "implicit")
NOISE = 1.3  # factors of seconds below this are not worth a word


@dataclass(frozen=True)
class Win:
    """The fastest method that meets a level in a cell.

    runner_up, factor: the next one, and how many times longer it takes; over_verlet: the same of
    Verlet; None where nobody (or not Verlet) met the level in the time given.
    fewest: who needs the fewest force evaluations.
    """

    record: Record
    runner_up: str | None
    factor: float | None
    over_verlet: float | None
    fewest: Record

    @property
    def method(self) -> str:
        return self.record.method

    @property
    def kind(self) -> str:
        return kind(self.method)


@dataclass(frozen=True)
class Found:
    """A measured cell and a level, with the winner if there is one."""

    member: Member
    level: float
    win: Win | None
    why: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)  # of all that met the level

    @property
    def swings(self) -> float:
        """Radians that the stiffest spring swings during the run."""
        return self.member.omega_max * PERIOD


def kind(method: str) -> str:
    if method in EXPLICIT:
        return KINDS[0]
    return KINDS[1] if method in EXPONENTIAL else KINDS[2]


def read(row: Mapping[str, Any], level: float) -> Found:
    """The winner of a cell's row, as `map_cells.measure` made it."""
    given = dict(row["member"])
    member = Member(**{**given, "shape": tuple(given["shape"])})
    records = [Record(**r) for r in row["records"].get(f"{level:g}", [])]
    met = [r for r in records if r.failure is None and r.relative is not None and r.seconds]
    met.sort(key=lambda r: r.seconds or 0.0)
    if not met:
        why = row.get("no_reference") or _why_nobody(row, level)
        return Found(member, level, None, why)
    best, second = met[0], met[1] if len(met) > 1 else None
    verlet = next((r for r in met if r.method == "verlet"), None)
    fewest = min(met, key=lambda r: r.force_evaluations)
    ahead = [None if r is None else r.seconds / best.seconds for r in (second, verlet)]  # type: ignore[operator]  # both have seconds
    name = None if second is None else second.method
    seconds = {r.method: r.seconds or 0.0 for r in met}
    return Found(member, level, Win(best, name, ahead[0], ahead[1], fewest), seconds=seconds)


def _why_nobody(row: Mapping[str, Any], level: float) -> str:
    error = row.get("reference", {}).get("error")
    if error is None or error > level / 3.0:
        return "the reference is not good enough"
    return "no method in the time given"


# ------------------------------------------------------------------ rules

FEATURES: dict[str, Callable[[Found], float]] = {
    "the stiffest spring swings {} radians in the run": lambda f: f.swings,
    "the stiffness ratio is {}": lambda f: f.member.ratio,
    "the body makes {} turns per soft period": lambda f: f.member.rotation,
    "the share of energy in stiff modes is {}": lambda f: f.member.share,
    "there are {} coordinates": lambda f: float(f.member.dof),
    "a force is {} times the work": lambda f: float(f.member.cost),
}


@dataclass(frozen=True)
class Stump:
    """One threshold on one feature: what it says, and in how many cells it is right.

    guess: cells in which the commoner answer is right, without any threshold."""

    text: str
    right: int
    of: int
    guess: int


def stump(cells: Sequence[Found], wanted: Callable[[Found], bool]) -> Stump | None:
    """The single threshold that tells best where `wanted` is true; None where no threshold is
    right more often than always saying yes, or always no."""
    truth = [wanted(f) for f in cells]
    guess = max(sum(truth), len(truth) - sum(truth))
    best = Stump("", guess, len(cells), guess)
    for words, feature in FEATURES.items():
        values = [feature(f) for f in cells]
        steps = sorted(set(values))
        for low, high in pairwise(steps):
            cut = sqrt(low * high) if low > 0.0 else 0.5 * high
            right = sum((v > cut) == t for v, t in zip(values, truth, strict=True))
            for count, side in ((right, "above"), (len(cells) - right, "below")):
                if count > best.right:
                    best = Stump(words.format(f"{side} {cut:.2g}"), count, len(cells), guess)
    return best if best.text else None


def rules(cells: Sequence[Found]) -> list[str]:
    """What the cells of one level say, a sentence each."""
    won = [f for f in cells if f.win is not None]
    if not won:
        return ["Nobody met this accuracy in the time given."]
    wins = Counter(f.win.method for f in won if f.win)
    text = [f"Cells won, of {len(won)}: " + ", ".join(f"{m} {n}" for m, n in wins.most_common())]
    first = stump(won, lambda f: _of(f, "explicit"))
    if first is not None:
        text.append(
            f"An explicit method wins where {first.text}: right in {first.right} of {first.of} "
            f"cells (the best single threshold; the commoner answer alone: {first.guess})"
        )
    rest = [f for f in won if not _of(f, "explicit")]
    second = stump(rest, lambda f: _of(f, "exponential"))
    if second is not None:
        text.append(
            f"Where no explicit method wins, an exponential one does (before an implicit one) "
            f"where {second.text}: right in {second.right} of {second.of} (commoner answer: "
            f"{second.guess})"
        )
    text += [line for name in KINDS if (line := _steps_of(won, name))]
    return [f"{line}." for line in text]


def _of(found: Found, name: str) -> bool:
    return found.win is not None and found.win.kind == name


def _steps_of(won: Sequence[Found], name: str) -> str:
    """The winners' h omega_max and lead, by kind of method."""
    own = [f for f in won if _of(f, name)]
    leads = [f.win.factor for f in own if f.win and f.win.factor]
    if not leads:
        return ""
    text = f"Winning {name} methods lead the next one by {median(leads):.2g}x (median)"
    angles = [
        f.win.record.step * f.member.omega_max for f in own if f.win and f.win.record.kind == "step"
    ]
    if angles:
        text += f", at h omega_max from {min(angles):.2g} to {max(angles):.2g}"
    over = [f.win.over_verlet for f in own if f.win and f.win.over_verlet]
    if over and name != "explicit":
        text += f"; Verlet takes {min(over):.2g}x to {max(over):.2g}x as long where it arrives"
    return text


def by_count(cells: Sequence[Found]) -> str:
    """Who needs the fewest forces, however long these take."""
    fewest = Counter(f.win.fewest.method for f in cells if f.win)
    return ", ".join(f"{m} {n}" for m, n in fewest.most_common())
