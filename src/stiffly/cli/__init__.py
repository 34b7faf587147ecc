"""The command line: arguments to function calls, a file for each family of commands.

Exit codes: 0 good, 1 a simulation failed (what it recorded is still there), 2 the input is wrong
(one line says why, nothing is written), 75 --max-hours are over (`stiffly resume` goes on), 130
interrupted, 143 and 129 after SIGTERM and SIGHUP.

Commands import what they need when they run: `stiffly --help` loads none of it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from ..errors import InputError, OutOfTime, SimulationFailure, in_words, one_line
from . import demo, doctor, lab, methods, results, run, scenes, sweep, view
from .run import Interrupted

INTERRUPTED = 130  # what shells expect after Ctrl-C, and what some versions of typer return
OUT_OF_TIME = 75  # "try again later" in sysexits.h
READER_LEFT = 141  # what shells show for a program whose reader closed the pipe, as in `| head`
_UsageError: Any = typer.BadParameter.__base__  # click's, wherever this typer keeps click

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
for command in (demo.demo, scenes.scenes, run.run, run.resume, results.plot, results.render):
    app.command()(command)
for command in (
    sweep.sweep,
    results.check,
    methods.methods,
    results.export,
    view.view,
    lab.lab,
    doctor.doctor,
):
    app.command()(command)
app.add_typer(scenes.app, name="scene")


@app.callback(invoke_without_command=True)
def stiffly(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.")
    ] = False,
) -> None:
    """Simulate stiff elastic things with large steps and an account of every joule."""
    if show_version:
        from importlib.metadata import version

        print(f"stiffly {version('stiffly')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):  # names of files need not be texts
        sys.stdout.reconfigure(errors="backslashreplace")
    code = 2
    try:
        try:
            _require_words(sys.argv[1:] if arguments is None else arguments)
            code = int(app(args=arguments, standalone_mode=False, prog_name="stiffly") or 0)
            code = _stop("interrupted", code) if code == INTERRUPTED else code
        except (Exception, KeyboardInterrupt) as failure:
            code = _told(failure)
            _leave(failure)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):  # typer and rich exit when nobody reads any more
        _drop_output()
        return READER_LEFT
    except OSError as failure:  # the disk that stdout goes to is full
        _drop_output()
        if failure.errno == errno.EIO:  # the terminal is gone: what was done is done
            return code
        return _stop(f"cannot print the results: {failure.strerror}; make room", 2)


def _leave(failure: BaseException) -> None:
    """Of many ranks none goes before the first one has told what is wrong."""
    ranks: Any = sys.modules.get("stiffly.backends.petsc")
    if ranks is not None:
        ranks.leave_together(failure)


def _require_words(arguments: Sequence[str]) -> None:
    """An empty text would be the folder one is in: a variable of a shell that was not set."""
    for before, word in zip(("stiffly", *arguments), arguments, strict=False):
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            raise InputError(
                f"{before} {word!r}: a word is missing there; name a scene, a folder or a value"
            )


def _told(failure: BaseException) -> int:
    """The exit code of what stopped a command, after a line about it."""
    match failure:
        case _UsageError():
            return _stop(_with_remedy(failure), 2)
        case OutOfTime():
            return _stop(str(failure), OUT_OF_TIME)
        case Interrupted():
            return _stop(str(failure), 128 + failure.signal)
        case KeyboardInterrupt() | typer.Abort():
            return _stop("interrupted", INTERRUPTED)
        case BrokenPipeError():
            raise failure
        case InputError() | SimulationFailure() | MemoryError() | OSError():
            return _stop(*in_words(failure))
    raise failure


def _with_remedy(failure: Any) -> str:
    """What click says of a wrong command line, and where to look it up."""
    context = getattr(failure, "ctx", None)
    command = context.command_path if context is not None else "stiffly"
    text = failure.format_message()
    return text if text.endswith("?") else f"{text.rstrip('.')}; see {command} --help"


def _stop(text: str, code: int) -> int:
    with suppress(OSError):  # the terminal may be gone: the code remains
        print(f"error: {one_line(text)}", file=sys.stderr, flush=True)
    return code


def _drop_output() -> None:
    """Python would complain once more, when it exits, about what cannot be printed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
