"""Beside a rank that records: says how its run goes on when that ends without a word.

A launcher ends all ranks when one dies.  Who is killed says nothing, and who waits for others
within MPI hears no signal.  But what such a signal writes into a pipe, and that nobody holds the
pipe any more, another process sees: this file, run as a program.
"""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

DISMISSED = b"d"
ENDS = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
GRACE = 0.3  # seconds for a signal to be obeyed; launchers kill after one or more


class Witness:
    """Of this process, from now on until it is dismissed."""

    def __init__(self, folder: Path, checkpoint: str) -> None:
        command = [sys.executable, "-I", "-S", __file__, str(folder), checkpoint]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        # a session of its own: what is sent to ranks is not meant for it
        self._process: Any = subprocess.Popen(command, start_new_session=True, bufsize=0, **pipes)
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)
        self._before: int | None = None
        with suppress(ValueError):  # signals are the main thread's
            self._before = signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)

    def dismiss(self) -> None:
        if self._before is not None:
            signal.set_wakeup_fd(self._before)
        with suppress(OSError):  # it has been killed
            self._process.communicate(DISMISSED)


def watch(folder: str, checkpoint: str) -> None:
    written = os.path.join(folder, checkpoint)
    while (told := os.read(0, 1)) not in (b"", DISMISSED):  # the number of a signal
        heard = told[0] not in ENDS or select.select([0], [], [], GRACE)[0]
        if not heard and os.path.exists(written):  # else one may be under way
            break
    if told != DISMISSED:
        remedy = "it has no checkpoint: start again"
        if os.path.exists(written):
            remedy = f"go on with: stiffly resume {folder}"
        os.write(2, f"stopped; {remedy}\n".encode(errors="surrogateescape"))


if __name__ == "__main__":
    watch(*sys.argv[1:])
