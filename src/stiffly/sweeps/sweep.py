"""`stiffly.sweep`: a scene with many values of its parameters, and the table of what came out.

The folder of a sweep: sweep.json says what is swept; runs/ID.json is the result of one run, written
in one go under an id that follows from its inputs, so that who repeats a sweep goes on where it
stopped; results.csv (results.parquet) and sweep.png are made of those.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..arrays import real_number
from ..errors import InputError
from ..paths import real_path
from ..recording.folder import ELSEWHERE, Lock, check_writable, file_name
from ..recording.provenance import as_json, write_json
from ..scenes.request import check
from ..scenes.schema.write import toml_value
from . import table
from .axes import OPTIONS, axes, require
from .cluster import Outcome, cluster, cores, outcomes, packages, require_alike, require_dask
from .one_run import digests, identity, one_run, require_same

MOST_RUNS = 10_000
HEAD, RUNS = "sweep.json", "runs"
UNFINISHED = ".part"  # a recording whose result is not stored yet
GOOD = "ok"

Progress = Callable[[float, float, str], None]  # runs done, runs in all, what is under way


@dataclass(frozen=True)
class Sweep:
    """over: values by parameter.  rows: of the table, one for every run, by column."""

    folder: Path
    over: dict[str, list[Any]]
    rows: list[dict[str, Any]]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Rows of runs that ended before their time; `status` and `error` say why."""
        return [row for row in self.rows if row["status"] not in (GOOD, table.MISSING)]

    @property
    def files(self) -> list[Path]:
        """What was written, where there is such a thing: a plot is over one or two parameters."""
        names = (table.CSV, table.PARQUET, table.PLOT)
        return [path for path in map(self.folder.joinpath, names) if path.exists()]


def sweep(
    scene: str | PathLike[str],
    over: Mapping[str, Any],
    *,
    parameters: Mapping[str, Any] | None = None,
    small: bool = False,
    variant: str | None = None,
    integrator: str | None = None,
    step: float | None = None,
    duration: float | None = None,
    rtol: float | None = None,
    every: float | None = None,
    out: str | PathLike[str] | None = None,
    keep: bool = False,
    on: str | None = None,
    jobs: int | None = None,
    max_runs: int = MOST_RUNS,
    progress: Progress | None = None,
) -> Sweep:
    """Run a scene with every combination of values; returns the table, which is also in `out`.

    scene: a built-in name or a scene file.  over: values by name, as lists or as texts of the
    command line ("1e3:1e7:log:20"): parameters of the scene, `step`, `duration`, `integrator`,
    `rtol`.  parameters: others than the scene's own for all runs.
    out: a folder, default SCENE-sweep; the same call again goes on where it was stopped.
    keep: record every run, into runs/ID; else only its summary is kept.
    on: address of a Dask scheduler; else `jobs` processes of this machine, one per core.
    A run that fails is tried once more, and then named in the table.
    progress: called with runs done, runs in all, and words.

    A program that calls this does so under `if __name__ == "__main__":`, since processes that are
    started load it too.  Raises InputError before work begins, SimulationFailure where the
    scheduler goes away.
    """
    fixed = {
        "integrator": integrator,
        "step": step,
        "duration": duration,
        "rtol": rtol,
        "every": every,
    }
    options = {key: value for key, value in fixed.items() if value is not None}
    for key, value in options.items():
        require(key, f"{key}={value}", value)
    plan = _planned(
        scene, over, {} if parameters is None else parameters, options, (small, variant), max_runs
    )
    require_dask()
    _require_jobs(jobs, on)
    stem = file_name(Path(plan["scene"]).stem)
    folder = Path(f"{stem}-sweep") if out is None else real_path("out", out)
    _require_place(folder, head := {**plan, "keep": keep})
    cases = {identity(case): (values, case) for values, case in _cases(plan)}
    left = [name for name in cases if _stored(folder, name) is None]
    with ExitStack() as held:
        client = None
        if left:
            count = min(jobs or cores(), len(left)) if on is None else None
            client = held.enter_context(cluster(on, count))
            require_alike(client, "stiffly", require_same, plan["files"], plan["versions"])
        _begin(folder, head)
        held.callback(Lock(folder).release)
        try:
            if client is not None:
                _run(client, folder, {n: cases[n][1] for n in left}, len(cases), keep, progress)
        finally:
            rows = [table.row(n, v, _stored(folder, n)) for n, (v, _) in cases.items()]
            table.write(folder, rows, plan["over"], stem)
    return Sweep(folder, plan["over"], rows)


# ------------------------------------------------------------------ what is asked for


def _planned(
    scene: Any,
    over: Mapping[str, Any],
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    which: tuple[bool, str | None],
    most: int,
) -> dict[str, Any]:
    """What is swept, as JSON can hold it; every name and value is looked at, nothing is built."""
    if not isinstance(scene, str | PathLike):
        raise InputError("sweeps take a scene's name or file: save yours, scene.save('mine.toml')")
    text = fspath(scene)
    text = str(Path(text).absolute()) if text.endswith(".toml") else text
    if not real_number("max_runs", most, "try 10000") >= 1.0:
        raise InputError(f"max_runs must be 1 or more, got {most}: try 10000")
    if not isinstance(parameters, Mapping):
        raise InputError(
            f"parameters must be a mapping, not {type(parameters).__name__}: try {{'cells': 4}}"
        )
    found, given = axes(over, most), {key: _text(value) for key, value in parameters.items()}
    twice = {*given, *options} & {*found}
    if twice:
        raise InputError(f"{min(twice)} is fixed and swept over: keep one of them")
    how = {"small": which[0], "variant": which[1]}
    check(text, given=given, options=options, **how)
    for key, values in found.items():
        for value in values:
            own = {"given": {**given}, "options": {**options}}
            own["options" if key in OPTIONS else "given"][key] = _own(key, value)
            check(text, **own, **how, option="--over")
    named = {**given, **{k: _text(v[0]) for k, v in found.items()}}
    return as_json(
        {
            "scene": text,
            **how,
            "given": given,
            "options": dict(options),
            "over": found,
            "files": digests(text, named),
            "versions": packages(),
        }
    )


def _cases(plan: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Values by parameter, and the case that `one_run` takes, for every combination."""
    over = plan["over"]
    for chosen in product(*over.values()):
        values = dict(zip(over, chosen, strict=True))
        options = {k: v for k, v in values.items() if k in OPTIONS}
        given = {k: _text(v) for k, v in values.items() if k not in OPTIONS}
        case = {key: plan[key] for key in ("scene", "small", "variant", "files", "versions")}
        case["given"] = {**plan["given"], **given}
        case["options"] = {**plan["options"], **options}
        yield values, case


def _own(key: str, value: Any) -> Any:
    return value if key in OPTIONS else _text(value)


def _text(value: Any) -> str:
    """As --set has it; files by their whole name, since workers may be elsewhere."""
    if isinstance(value, str):
        return str(Path(value).absolute()) if value and Path(value).is_file() else value
    return toml_value(as_json(value))


def _require_jobs(jobs: Any, on: str | None) -> None:
    if jobs is None:
        return
    if on is not None:
        raise InputError("jobs are processes of this machine, and on names another: give one")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs must be a whole number, 1 or more, got {jobs}: leave it out")


# ------------------------------------------------------------------ the folder


def _require_place(folder: Path, head: Mapping[str, Any]) -> None:
    """New, empty, or of the same sweep."""
    if check_writable(folder, "out") != folder or not any(folder.iterdir()):
        return
    try:
        there = json.loads((folder / HEAD).read_text())
        other = [key for key in head if there[key] != head[key]]
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"out {folder} holds something else than a sweep: {ELSEWHERE}") from None
    if other:
        key = other[0]
        raise InputError(
            f"out {folder} holds another sweep ({key} was {there[key]}, now {head[key]}): "
            f"{ELSEWHERE}"
        )


def _begin(folder: Path, head: Mapping[str, Any]) -> None:
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    if not (folder / HEAD).exists():
        write_json(folder / HEAD, head)


def _stored(folder: Path, name: str) -> dict[str, Any] | None:
    """The result of that run; None where there is none that could be read."""
    try:
        found = json.loads((folder / RUNS / f"{name}.json").read_text())
        return found if found["id"] == name else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _run(
    client: Any,
    folder: Path,
    cases: Mapping[str, dict[str, Any]],
    total: int,
    keep: bool,
    progress: Progress | None,
) -> None:
    """Every case once; results are stored as they come."""
    runs, done, failed = (folder / RUNS).absolute(), total - len(cases), 0
    for left in runs.glob(f"*{UNFINISHED}"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    # a run that is begun again after a death does not meet what its first try has left
    places = {n: str(runs / f"{n}-{uuid4().hex[:8]}{UNFINISHED}") if keep else None for n in cases}
    tell = progress or (lambda done, total, text: None)
    tell(done, total, f"{done}/{total} runs")
    jobs = {name: (one_run, (case, places[name])) for name, case in cases.items()}
    for name, outcome in outcomes(client, jobs):
        _store(runs, name, outcome, places[name])
        done, failed = done + 1, failed + bool(outcome.failure)
        tell(done, total, f"{done}/{total} runs" + (f", {failed} failed" if failed else ""))


def _store(runs: Path, name: str, outcome: Outcome, place: str | None) -> None:
    if place is not None and Path(place).exists():
        shutil.rmtree(runs / name, ignore_errors=True)
        Path(place).rename(runs / name)
    status = {"status": outcome.failure or GOOD, "error": outcome.text, "tries": outcome.tries}
    write_json(runs / f"{name}.json", {"id": name, **status, **(outcome.value or {})})
