"""`stiffly` on one rank of several, with something wrong: python as_rank.py WHAT [words ...]

pids: writes its process id beside the run.  codes: writes its exit code beside the run, and waits
for the others to have done so.  other-file: where rank 0 has "first" in its words,
others have "second".  broken=MODULE:NAME=ERROR: on rank 1 that function of a module, or method of a
class there, raises an ERROR; broken0=...: on rank 0.  late: rank 1 is never ready to start, and the
others wait for five seconds.  fails: rank 1 meets an error of its own after a few halos; hangs: it
never returns from the last one, and process ids are written as by pids.  hours:
`--max-hours` are over when rank 0 has asked twelve times, and for the others when they have asked
once.  collects: a second run after one whose objects rank 0 alone has collected.
"""

import builtins
import gc
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from stiffly import errors
from stiffly.backends import petsc
from stiffly.cli import main
from stiffly.recording.sinks import Interrupt

what, *words = sys.argv[1:]
rank = os.environ["OMPI_COMM_WORLD_RANK"]
beside = Path(words.pop(0)) if what in ("pids", "codes", "hangs") else Path()
if what in ("pids", "hangs"):
    Path(beside, f"pid-{rank}").write_text(str(os.getpid()))
if what == "other-file" and rank != "0":
    words = [word.replace("first", "second") for word in words]
if what.startswith(("broken", "fails")):
    petsc.LAST_WORDS = 2.0  # nobody is going to join
if what.startswith("broken"):
    on, place, kind = what.split("=")
    if rank == (on.removeprefix("broken") or "1"):
        module, _, name = place.partition(":")
        owner = import_module(module)
        *classes, name = name.split(".")
        for each in classes:
            owner = getattr(owner, each)
        error = getattr(errors, kind, None) or getattr(builtins, kind)

        def broken(*_, **__):
            raise error("of this rank alone")

        setattr(owner, name, broken)
if what == "late":
    petsc.PATIENCE = 5.0
    if rank == "1":
        petsc.World.together = lambda self, job: time.sleep(1e6)
if what in ("fails", "hangs") and rank == "1":
    halo, calls = petsc.PetscBackend.halo, []

    def failing(self, x):
        calls.append(0)
        if len(calls) > 40:
            while what == "hangs":
                pass
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
code = main(words)
if what == "codes":
    Path(beside, f"code-{rank}").write_text(str(code))
    petsc.world().meet("one of them has left")  # mpiexec ends who is left behind
sys.exit(code)
