"""`stiffly view` as its own process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import urlsplit

ARTEFACTS = Path(__file__).parent / "artefacts"  # what a test saw last; nobody else gets it
PATIENCE = 600.0  # seconds: busy cores that draw in software are slow, not wrong
Found = TypeVar("Found")


def wait_for(look: Callable[[], Found | None], what: str, seconds: float = PATIENCE) -> Found:
    """The first answer of `look` that is true; AssertionError when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.05)


class Served:
    """A page that is being served; leaving a `with` block presses Ctrl-C and wants a clean end."""

    program: tuple[str, ...] = ("-m", "stiffly", "view")

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.folder = folder
        self.said = folder / "view.log"
        with open(self.said, "w") as said:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, *arguments, "--no-open"],
                cwd=folder,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        try:
            self.url = wait_for(self._address, "the address of the page")
        except BaseException:
            self.process.kill()
            raise

    def _address(self) -> str | None:
        if self.process.poll() is not None:
            raise AssertionError(f"stiffly view ended: {self.said.read_text()}")
        found = re.search(r"live page: (http\S+)\n", self.said.read_text())
        return found and found[1]

    @property
    def address(self) -> tuple[str, int]:
        where = urlsplit(self.url)
        return str(where.hostname), int(where.port or 0)

    def status(self, key: str) -> int:
        """A number of the process that Linux knows: VmRSS [kB], Threads."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1])
        raise KeyError(key)

    def end(self) -> str:
        """Ctrl-C; what the program has said all along."""
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"Ctrl-C did not end it: {self.said.read_text()}") from None
        said = self.said.read_text()
        assert code == 0, said
        assert "Traceback" not in said, said
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.end()
        elif self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def in_background(job: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    return thread
