"""The pictures of docs/building.md, from its own programs.

python docs/images/building.py
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import stiffly
from stiffly.meshes import creature_surface, write_mesh

HERE = Path(__file__).parent.resolve()
PAGE = HERE.parent / "building.md"
LOOK: dict[str, Any] = {"size": (960, 540)}
SHOWN: dict[str, tuple[float, dict[str, Any]]] = {  # seconds that make the point, where from
    "tent": (0.75, {}),
    "arm": (0.5, {"camera": (-75, 12), "follow": True}),
    "bridge": (2.5, {"camera": (-78, 14), "follow": True}),
}


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    for program in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        found: dict[str, Any] = {}
        exec(compile(program, PAGE.name, "exec"), found)
        run = found["run"]
        if run.name in SHOWN:
            moment, look = SHOWN[run.name]
            frame = int(abs(run.times - moment).argmin())
            out = HERE / f"building-{run.name}.png"
            run.render(out, frame=frame, **LOOK | look)
    write_mesh("scan.obj", creature_surface(3000, shape="rabbit", height=0.15))
    run = stiffly.simulate("scan.obj")
    run.render(HERE / "building-scan.png", frame=len(run.times) // 8, **LOOK)


if __name__ == "__main__":
    main()
