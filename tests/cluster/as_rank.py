"""`stiffly` on one rank of several, with something wrong: python as_rank.py WHAT [words ...]

pids: writes its process id beside the run.  other-file: ranks but the first read another scene.
fails: rank 1 meets an error of its own after a few forces.  collects: a second run after one whose
objects rank 0 alone has collected.
"""

import gc
import os
import sys
from pathlib import Path

from stiffly.cli import main
from stiffly.system.ranks import RankSystem

what, *words = sys.argv[1:]
rank = os.environ["OMPI_COMM_WORLD_RANK"]
if what == "pids":
    Path(words.pop(0), f"pid-{rank}").write_text(str(os.getpid()))
if what == "other-file" and rank != "0":
    words[1] = words[1].replace("first", "second")
if what == "fails" and rank == "1":
    force, calls = RankSystem.force, []

    def failing(self, s):
        calls.append(0)
        if len(calls) > 40:
            raise ZeroDivisionError("of this rank alone")
        return force(self, s)

    RankSystem.force = failing
if what == "collects":
    gc.disable()
    assert main([*words, "--force"]) == 0
    if rank == "0":
        gc.collect()
    words += ["--force"]
sys.exit(main(words))
