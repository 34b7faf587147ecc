"""Work in a process of its own, which may die of it; and what came of many trials."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from stiffly.errors import StiffError

HANGS = 600  # seconds after which a child counts as one that hangs


def forked(work: Callable[[], Any]) -> Any:
    """What work() gives, through JSON; ["said", text] for an error of ours in one line, ["raised",
    ...] for another, ["died", signal] where the child did."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(HANGS)
        try:
            found = work()
        except BaseException as problem:
            found = judged(problem)
        with os.fdopen(writer, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return ["died", os.WTERMSIG(status)] if os.WIFSIGNALED(status) else json.loads(text)


def judged(problem: BaseException) -> list[str]:
    text = str(problem)
    if isinstance(problem, (StiffError, KeyboardInterrupt)) and "\n" not in text:
        return ["said", f"{type(problem).__name__}: {text}"]
    return ["raised", "".join(traceback.format_exception(problem)[-3:])]


class Tally:
    """How often what came of it, and every violation with the words to try it again."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.violations: list[str] = []

    def add(self, kind: str, outcome: str) -> None:
        self.counts[kind, outcome] += 1

    def violated(self, text: str) -> None:
        self.violations.append(text)
        print(f"VIOLATION {text}", flush=True)

    def show(self) -> int:
        """The exit code."""
        for (kind, outcome), count in sorted(self.counts.items()):
            print(f"{count:6d}  {kind:28s} {outcome}")
        print(f"{sum(self.counts.values())} trials, {len(self.violations)} violations", flush=True)
        return 1 if self.violations else 0
