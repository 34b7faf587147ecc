"""Many small systems: `simulate` one by one against `simulate_many`, in processor seconds; and how
far apart the same runs end.

python benchmarks/many.py [--count 1000] [--alone 50]
python benchmarks/many.py --device gpu [--count 10000]   # wall seconds: a card against the CPU

--alone: so many are taken one by one, and their time is multiplied.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import table

import stiffly
from stiffly import Gravity, Rayleigh, Springs, System

STEPS = {"integrator": "verlet", "step": 1e-3, "duration": 2.0}


def oscillator(rng):
    """A mass on a spring, damped."""
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    springs = Springs([[0, 1]], rng.uniform(50.0, 500.0), rest=0.8)
    damping = Rayleigh(alpha=rng.uniform(0.0, 1.0))
    return System([1.0, 1.0], [springs], fixed=[0], damping=damping), x


def pendulum(rng):
    """Let go from the side."""
    length = rng.uniform(0.5, 1.5)
    x = np.array([[0.0, 0.0, 0.0], [length, 0.0, 0.0]])
    return System([1.0, 1.0], [Springs([[0, 1]], 1e4, rest=length), Gravity()], fixed=[0]), x


def rope(rng):
    """Twenty particles, held at one end."""
    x = np.zeros((20, 3))
    x[:, 0] = np.linspace(0.0, rng.uniform(0.5, 1.5), 20)
    edges = np.stack([np.arange(19), np.arange(1, 20)], axis=1)
    springs = Springs(edges, rng.uniform(1e3, 5e3), rest_positions=x)
    return System(np.full(20, 0.05), [springs, Gravity()], fixed=[0]), x


def spent(job):
    begun = time.process_time()
    found = job()
    return time.process_time() - begun, found


def row(make, count: int, alone: int) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    systems, places = zip(*(make(rng) for _ in range(count)), strict=True)
    stiffly.simulate(systems[0], places[0], **STEPS)  # loads the loops
    stiffly.simulate_many(list(systems[:2]), list(places[:2]), **STEPS)
    some = range(0, count, max(1, count // alone))
    single, wanted = spent(lambda: [stiffly.simulate(systems[k], places[k], **STEPS) for k in some])
    single *= count / len(some)
    together, found = spent(lambda: stiffly.simulate_many(list(systems), list(places), **STEPS))
    apart = max(
        np.abs(found[k].positions - own.positions).max()
        for k, own in zip(some, wanted, strict=True)
    )
    times = f"{single:.3g}", f"{together:.3g}", f"{single / together:.0f}x"
    return make.__name__, f"{count:,}", *times, f"{apart:.1e}"


def there(make, count: int, device: str) -> tuple[str, ...]:
    """All of them in one call, on either side; the second time, frames and energies included."""
    rng = np.random.default_rng(0)
    systems, places = zip(*(make(rng) for _ in range(count)), strict=True)
    told, runs = [], []
    for where in ("cpu", device):
        for _ in range(2):
            begun = time.perf_counter()
            found = stiffly.simulate_many(list(systems), list(places), device=where, **STEPS)
            seconds = time.perf_counter() - begun
        told.append(seconds)
        runs.append(found)
    pairs = zip(*runs, strict=True)
    apart = max(np.abs(a.positions - b.positions).max() for a, b in pairs)
    ratio = f"{told[0] / told[1]:.1f}x"
    return make.__name__, f"{count:,}", *(f"{s:.3g}" for s in told), ratio, f"{apart:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="another device, against the CPU")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=50)
    given = parser.parse_args()
    made = (oscillator, pendulum, rope)
    if given.device:
        rows = [there(make, given.count, given.device) for make in made]
        head = ("system", "runs", "CPU [s]", f"{given.device} [s]", "ratio", "apart [m]")
        print(table(head, rows))
        return
    rows = [row(make, given.count, given.alone) for make in made]
    head = ("system", "runs", "one by one [s]", "together [s]", "ratio", "largest difference [m]")
    print(table(head, rows))


if __name__ == "__main__":
    main()
