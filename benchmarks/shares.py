"""In how many cells of the map and small scenes is the best of ours at least as fast as the best of
SciPy and SUNDIALS?  From the stored results of `stiffly lab map` and `stiffly lab equal-error`.

    python benchmarks/shares.py                     # those in docs/lab
    python benchmarks/shares.py --results stiffly-lab
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from common import table

from stiffly_lab.equal_error import counted, winners
from stiffly_lab.equal_error_all import records
from stiffly_lab.map_reading import read

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "lab"
LEVELS = (0.1, 0.01, 1e-4)
GOAL = (0.01, 1e-4)  # the errors that are counted together


def data(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name / "result.json").read_text())["data"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of both experiments")
    folder = parser.parse_args().results
    cells, scenes = data(folder, "map")["cells"], data(folder, "equal-error")["scenes"]
    found = {
        (name, level): counted(seconds)
        for level in LEVELS
        for name, seconds in (
            ("map", [read(row, level).seconds for row in cells.values()]),
            ("scenes", [dict(winners(records(row), level)) for row in scenes.values()]),
        )
    }
    rows = [
        (n, f"{100 * e:g} %", f"{a} of {b}", f"{a / b:.0%}") for (n, e), (a, b) in found.items()
    ]
    own = [count for (_, level), count in found.items() if level in GOAL]
    first, of = (sum(column) for column in zip(*own, strict=True))
    rows.append(("both", "1 % and 0.01 %", f"{first} of {of}", f"{first / of:.1%}"))
    print(table(("cells", "error", "ours at least as fast", "share"), rows))


if __name__ == "__main__":
    main()
