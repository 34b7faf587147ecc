"""`stiffly view` that tells what it holds: SIGUSR1 writes held.json into the folder it runs in.

    {"asked": 3, "bytes": 812345, "lines": {"lane.py:12": 7200, ...}, "kinds": {"Frame": 300, ...}}

Bytes are those of Python's own allocations, arrays included, since the first signal: what is held,
wherever the allocator has put it, not what the system has lent.  What may be kept is cut short, so
that it is soon full: a second of frames, curves of 20 points, no plots that wait to be removed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tracemalloc
from collections import Counter
from math import inf
from pathlib import Path
from typing import Any

HELD = "held.json"


class Teller:
    def __init__(self) -> None:
        self.asked = 0

    def tell(self, *_: Any) -> None:
        if self.asked == 0:
            tracemalloc.start()
        self.asked += 1
        gc.collect()
        held = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(False, __file__), tracemalloc.Filter(False, tracemalloc.__file__)]
        )
        lines = {str(s.traceback): s.size for s in held.statistics("lineno")}
        kinds = Counter(f"{type(o).__module__}.{type(o).__qualname__}" for o in gc.get_objects())
        found = {"asked": self.asked, "bytes": sum(lines.values()), "lines": lines, "kinds": kinds}
        Path("new.json").write_text(json.dumps(found))
        os.replace("new.json", HELD)


def plant(leak: str) -> None:
    """A leak for the test to find: of frames, or of visits."""
    from stiffly.view.page.base import Clients
    from stiffly.view.stage import Stage

    kept: list[Any] = []
    advance, leaves = Stage.advance, Clients._leaves

    def advanced(self: Any, patience: float = inf) -> Any:
        snapshot = advance(self, patience)
        kept.append(snapshot.lanes[0].positions)
        return snapshot

    async def left(self: Any, client: Any) -> None:
        kept.append(self._seats[client.client_id])
        await leaves(self, client)

    if leak == "frames":
        setattr(Stage, "advance", advanced)  # noqa: B010 - pyright would have it the same
    elif leak == "visits":
        setattr(Clients, "_leaves", left)  # noqa: B010


if __name__ == "__main__":
    from stiffly.cli import main
    from stiffly.view import recent
    from stiffly.view.page import plots

    recent.SECONDS, plots.LATE = 1.0, 0.0
    plots.History.__init__.__defaults__ = (20,)
    plant(os.environ.get("STIFFLY_PLANTED", ""))
    signal.signal(signal.SIGUSR1, Teller().tell)
    sys.exit(main(["view", *sys.argv[1:]]))
