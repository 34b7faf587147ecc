"""The bench an experiment works at: how much to do, who watches, and what is finished already.

    found = bench.row("exprb42, step 0.01", job)       # job() -> numbers, as JSON can hold them

A row is measured once: it goes into a journal beside the results, line by line and onto the disk,
so that an experiment that was cut short goes on where it stopped.  Once its results are written the
journal goes, and the next run measures everything again.  A journal of another kind of run (quick
or full, another version) is not used.  Values come back as JSON holds them whether they were
measured or read, so that both kinds of run print the same digits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from stiffly.errors import InputError
from stiffly.recording.provenance import as_json, versions

Row = dict[str, Any]  # what one job finds, as JSON can hold it
Progress = Callable[[float, float, str], None]  # rows done, rows in all, what is running
JOURNAL, RESULT = "rows.jsonl", "result.json"


def silent(done: float, total: float, text: str) -> None:
    """Progress for nobody."""


class Bench:
    """quick: the reduced variant; folder: of the results, where the journal lies; None: nothing is
    kept.  again: words of the names of rows; where there are some, only such rows are measured, and
    the others are those of the results in the folder."""

    def __init__(
        self,
        quick: bool = False,
        progress: Progress = silent,
        folder: Path | None = None,
        again: Sequence[str] = (),
    ) -> None:
        self.quick, self.folder, self._again = quick, folder, again
        self._progress, self._done, self._total = progress, 0, 0
        self._journal = None if folder is None else Journal(folder / JOURNAL, quick)

    @property
    def resumed(self) -> int:
        """Rows that an earlier, unfinished run has left."""
        return 0 if self._journal is None else self._journal.found

    def plan(self, rows: int) -> None:
        """So many more rows will be asked for: the progress bar wants to know."""
        self._total += rows

    def under_way(self, done: float, total: float, text: str) -> None:
        """How far one long job is, in units of its own."""
        self._progress(done, total, text)

    def row(self, name: str, job: Callable[[], Mapping[str, Any]]) -> Row:
        """What job() finds, or found before; `name` is its own within the experiment."""
        self._total = max(self._total, self._done + 1)
        self._progress(self._done, self._total, name)
        known = None if self._journal is None else self._journal.get(name)
        if known is None:
            known = json.loads(json.dumps(as_json(job())))
            if self._journal is not None:
                self._journal.add(name, known)
        self._done += 1
        self._progress(self._done, self._total, name)
        return known

    def rows(
        self, name: str, job: Callable[..., Mapping[str, Any]], plan: Iterable[tuple]
    ) -> list[Row]:
        """What job(*given) finds for each `given` of the plan, under name.format(*given)."""
        plan = list(plan)
        self.plan(len(plan))
        return [self.row(name.format(*given), partial(job, *given)) for given in plan]

    def kept(self, key: str) -> dict[str, Row]:
        """Rows that are not to be measured again, by name; key: of the data that holds them."""
        if not self._again or self.folder is None:
            return {}
        try:
            found = json.loads((self.folder / RESULT).read_text())
        except (OSError, ValueError):
            found: Row = {"quick": None}
        if found["quick"] is not self.quick:
            raise InputError(f"{self.folder} has no results of such a run: leave out --again")
        rows = found["data"][key]
        unknown = [word for word in self._again if not any(word in name for name in rows)]
        if unknown:
            raise InputError(
                f"--again {unknown[0]}: no row is called so; one is {next(iter(rows))}"
            )
        return {n: row for n, row in rows.items() if not any(word in n for word in self._again)}

    def finished(self) -> None:
        """The results are written: what the journal holds is in them."""
        if self._journal is not None:
            self._journal.remove()


class Journal:
    """One line of JSON per row; the first line says what kind of run it belongs to."""

    def __init__(self, path: Path, quick: bool) -> None:
        self._path, self._kind = path, {"quick": quick, "versions": versions("scikit-sundae")}
        self._rows = self._read()
        self.found = len(self._rows)

    def _read(self) -> dict[str, Row]:
        try:
            first, *lines = self._path.read_text().splitlines()
            if json.loads(first) != self._kind:
                return {}
        except (OSError, ValueError):
            return {}
        rows = {}
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:  # the line that was being written
                break
            rows[entry["name"]] = entry["row"]
        return rows

    def get(self, name: str) -> Row | None:
        return self._rows.get(name)

    def add(self, name: str, row: Row) -> None:
        if not self._rows or not self._path.exists():
            self._write("w", [json.dumps(self._kind)])
        elif len(self._rows) == self.found:  # the first new row: drop a line cut in half
            kept = [json.dumps({"name": n, "row": r}) for n, r in self._rows.items()]
            self._write("w", [json.dumps(self._kind), *kept])
        self._rows[name] = row
        self._write("a", [json.dumps({"name": name, "row": row})])

    def _write(self, mode: str, lines: list[str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open(mode) as file:
            file.writelines(line + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
