"""`stiffly` on one rank of several, with something wrong: python as_rank.py WHAT [words ...]

pids: writes its process id beside the run.  other-file: ranks but the first read another scene.
late: rank 1 is never ready to start, and the others wait for five seconds.  fails: rank 1 meets an
error of its own after a few halos.  hours: `--max-hours` are over when rank 0 has asked twelve
times, and for the others when they have asked once.  collects: a second run after one whose objects
rank 0 alone has collected.
"""

import gc
import os
import sys
import time
from pathlib import Path

from stiffly.backends import petsc
from stiffly.cli import main
from stiffly.recording.sinks import Interrupt

what, *words = sys.argv[1:]
rank = os.environ["OMPI_COMM_WORLD_RANK"]
if what == "pids":
    Path(words.pop(0), f"pid-{rank}").write_text(str(os.getpid()))
if what == "other-file" and rank != "0":
    words[1] = words[1].replace("first", "second")
if what == "late":
    petsc.PATIENCE = 5.0
    if rank == "1":
        petsc.World.together = lambda self, job: time.sleep(1e6)
if what == "fails" and rank == "1":
    halo, calls = petsc.PetscBackend.halo, []

    def failing(self, x):
        calls.append(0)
        if len(calls) > 40:
            raise ZeroDivisionError("of this rank alone")
        return halo(self, x)

    petsc.PetscBackend.halo = failing
if what == "hours":
    asked: list[int] = []

    def due(self):
        asked.append(0)
        return self._hours is not None and len(asked) > (12 if rank == "0" else 0)

    Interrupt.due = property(due)
if what == "collects":
    gc.disable()
    assert main([*words, "--force"]) == 0
    if rank == "0":
        gc.collect()
    words += ["--force"]
sys.exit(main(words))
