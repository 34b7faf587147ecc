"""Sweeps whose client, scheduler and workers are killed: no run is lost, and none comes twice.

    python tests/attack/sweeps.py --runs 200 --kills 40 --seed 0

A kill comes when so many results more are stored, drawn from the seed: no clock decides.  Who dies
is drawn, too: a process of the local cluster, the command itself (which is then given again), and,
with --remote, the processes of `dask scheduler`, of which another then comes at the same address,
and `dask worker`.  In the end the table is held against the same runs made in this process, one
after the other; the command may have said nothing but one line each time that it gave up.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

import stiffly

SCENE, STEP = "two-springs", 0.02
LATE = 600.0  # seconds without a result: it hangs
COUNTS = ("steps", "force_evaluations", "newton_iterations")


def stored(folder: Path) -> int:
    return len(list((folder / "runs").glob("*.json")))


class Trial:
    """A sweep under attack; `killed`: how many of each kind died; `gave_up`: with which codes the
    command ended by itself before its end."""

    def __init__(self, folder: Path, runs: int, rng: random.Random, remote: bool) -> None:
        self.out, self.logs, self.runs, self.rng = folder / "sweep", folder, runs, rng
        self.remote, self.killed = remote, {"client": 0, "worker": 0, "scheduler": 0}
        self.gave_up: list[int] = []
        self.address = "tcp://127.0.0.1:0"
        self.scheduler: subprocess.Popen | None = None
        self.workers: subprocess.Popen | None = None
        self.client: subprocess.Popen | None = None

    def start(self, *command: str, log: str = "log.txt") -> subprocess.Popen:
        with (self.logs / log).open("a") as log:
            return subprocess.Popen([sys.executable, *command], stdout=log, stderr=log)

    def start_cluster(self) -> None:
        """`dask scheduler` and `dask worker`, as somebody else would have started them: at any
        address, and again there."""
        note = self.logs / "scheduler.json"
        note.unlink(missing_ok=True)
        port = self.address.rpartition(":")[2]
        where = ("--host", "127.0.0.1", "--port", port, "--no-dashboard")
        self.scheduler = self.start(
            "-m", "distributed.cli.dask_scheduler", *where, "--scheduler-file", str(note)
        )
        while not note.exists() or not note.read_text():
            time.sleep(0.05)
        self.address = json.loads(note.read_text())["address"]
        self.workers = self.start(
            "-m", "distributed.cli.dask_worker", self.address, "--nworkers", "2", "--nthreads", "1",
            "--no-dashboard",
        )  # fmt: skip

    def start_client(self) -> None:
        if self.remote and (self.scheduler is None or self.scheduler.poll() is not None):
            if self.workers is not None:
                end(self.workers)
            self.start_cluster()
        where = ("--on", self.address) if self.remote else ("--jobs", "2")
        self.client = self.start(
            "-m", "stiffly", "sweep", SCENE, "--small", "--step", str(STEP), "--out", str(self.out),
            "--over", f"stiffness=1:100:log:{self.runs}", *where, log="client.txt",
        )  # fmt: skip

    def kill_somebody(self, kinds: list[str]) -> bool:
        """Whether anybody died: workers may be on their way back."""
        kind = self.rng.choice(kinds)
        if kind == "worker":
            parent = self.workers if self.remote else self.client
            with suppress(psutil.NoSuchProcess):
                found = [p for p in psutil.Process(parent.pid).children(True) if is_worker(p)]
                if found:
                    os.kill(self.rng.choice(found).pid, signal.SIGKILL)
                    self.killed[kind] += 1
                return bool(found)
            return False
        victim = self.client if kind == "client" else self.scheduler
        if victim.poll() is not None:  # dead, and nobody has noticed yet
            return False
        victim.kill()
        victim.wait()
        self.killed[kind] += 1
        return True

    def run(self, kills: int, kinds: list[str]) -> None:
        """To the end; the command is given again as often as it needs."""
        marks = sorted(self.rng.randrange(1, self.runs) for _ in range(kills))
        seen, since = -1, time.monotonic()
        self.start_client()
        try:
            while True:
                count = stored(self.out)
                if count > seen:
                    seen, since = count, time.monotonic()
                assert time.monotonic() < since + LATE, (self.logs / "log.txt").read_text()[-2000:]
                if marks and count >= marks[0] and self.kill_somebody(kinds):
                    marks.pop(0)
                if self.client.poll() is not None:
                    if self.client.returncode == 0:
                        return
                    if self.client.returncode > 0:  # not killed
                        self.gave_up.append(self.client.returncode)
                    self.start_client()
                time.sleep(0.02)
        finally:
            for process in (self.client, self.workers, self.scheduler):
                if process is not None:
                    end(process)


def is_worker(process: psutil.Process) -> bool:
    """A process that computes; beside it multiprocessing has one that counts semaphores."""
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def end(process: subprocess.Popen) -> None:
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()


def faults(out: Path, runs: int) -> list[str]:
    """What is wrong with the table; the expected rows are computed here, without any cluster."""
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [f"{len(rows)} rows, not {runs}"] * (len(rows) != runs)
    found += ["ids come twice"] * (len({row["id"] for row in rows}) != runs)
    found += [f"{stored(out)} results are stored"] * (stored(out) != runs)
    for k, row in enumerate(rows):
        stiffness = 10.0 ** (2.0 * k / (runs - 1))
        if row["status"] != "ok" or abs(float(row["stiffness"]) / stiffness - 1.0) > 1e-9:
            found.append(f"row {k}: stiffness {row['stiffness']}, {row['status']}: {row['error']}")
            continue
        scene = stiffly.scenes.load(SCENE, small=True, stiffness=float(row["stiffness"]))
        alone = stiffly.simulate(scene, step=STEP)
        same = all(int(row[name]) == alone.stats[name] for name in COUNTS)
        if not same or float(row["energy_numerical"]) != alone.energy.numerical[-1]:
            found.append(f"row {k}: other numbers than a run alone")
    return found


def attack(
    runs: int, kills: int, seed: int, remote: bool, kinds: list[str] | None = None
) -> tuple[list[str], Trial]:
    """What is wrong, and the trial; kinds: that may die, as often as drawn."""
    kinds = kinds or ["worker"] * 6 + ["client"] + ["scheduler"] * remote
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), runs, random.Random(seed), remote)
        trial.run(kills, kinds)
        said = (trial.logs / "client.txt").read_text()
        lines = [line for line in said.splitlines() if line.startswith("error:")]
        wrong = ["the command left a traceback"] * ("Traceback" in said)
        if len(lines) != len(trial.gave_up) or not set(trial.gave_up) <= {1, 2}:
            wrong.append(f"the command gave up with {trial.gave_up}, and said {lines}")
        return wrong + faults(trial.out, runs), trial


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option, default in (("--runs", 200), ("--kills", 40), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--remote", action="store_true")
    given = parser.parse_args()
    wrong, trial = attack(given.runs, given.kills, given.seed, given.remote)
    print(*wrong, sep="\n")
    print(f"{given.runs} runs, killed: {trial.killed}, {len(wrong)} faults")
    sys.exit(bool(wrong))
