"""What can go wrong, by name. Every message is one line: the cause, then the remedy."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run.simulate import Run


LONGEST = 500  # letters of a message: what a user has handed in may be an array


def one_line(text: object) -> str:
    """The middle is left out where it is too long: at the end stands the remedy."""
    line = " ".join(str(text).split())
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} ... {line[-half:]}"


def in_words(failure: BaseException) -> tuple[str, int]:
    """What is said of it, and the exit code; of what nobody has foreseen also what kind it is."""
    match failure:
        case InputError():
            return str(failure), 2
        case StiffError():
            return str(failure), 1
        case MemoryError():
            return "not enough memory for this; take a smaller scene or fewer frames", 1
        case OSError() if not isinstance(failure, BrokenPipeError):
            where = f"{failure.filename}: " if failure.filename else ""
            return f"{where}{failure.strerror or failure}; name another file or folder", 2
        case _:
            return one_line(f"{type(failure).__name__}: {failure}".removesuffix(": ")), 1


class StiffError(Exception):
    """Root of every error that stiffly raises on purpose: one line."""

    def __init__(self, text: object = "") -> None:
        super().__init__(one_line(text))


class InputError(StiffError, ValueError):
    """The input is wrong: raised before any work starts; exit code 2 on the command line."""


class SimulationFailure(StiffError, RuntimeError):
    """A run stopped early. `run` holds every frame recorded before the failure."""

    run: Run | None = None


class Diverged(SimulationFailure):
    """The motion stopped being finite or invented far more energy than the system holds."""


class NotConverged(SimulationFailure):
    """An inner solve (Newton, Krylov, Chebyshev) did not reach the accuracy it was asked for."""


class StepTooSmall(SimulationFailure):
    """The step-size controller was driven below the smallest step it may take."""


class NotRecorded(SimulationFailure):
    """The disk is full, or gone, or a quota is used up: frames recorded before are safe."""


class OutOfTime(SimulationFailure):
    """`max_hours` are over; the checkpoint is written, and `resume` goes on."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP has ended a recorded run as Ctrl-C does; `signal`: its number."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


class StiffWarning(UserWarning):
    """Something worth knowing that does not stop the run."""


class Advice(UserWarning):
    """Something that will probably disappoint, seen before the first step."""


def levels_up() -> int:
    """The `stacklevel` of warnings that belong to the line of a user's that called this package."""
    package, level, frame = __name__.partition(".")[0], 1, inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def require_name(kind: str, name: Any, known: Collection[str]) -> None:
    """InputError where it is none of those that are known."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, name, known)


def unknown_name(kind: str, name: Any, known: Iterable[str]) -> InputError:
    """'unknown integrator exprb43: did you mean pexprb43?' and the list of what exists."""
    known = sorted(known)
    if not isinstance(name, str):
        is_no = f"{kind} must be a name, not {type(name).__name__}"
        return InputError(f"{is_no}: choose one of {', '.join(known)}")
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
    return InputError(f"unknown {kind} {name}: {hint}")


def require(thing: Any, protocol: type, what: str) -> None:
    """InputError with the first line of the protocol that `thing` lacks or has otherwise.

    what: it is, and whose: an integrator, a part.
    """
    if isinstance(thing, type):
        raise InputError(
            f"{what} {thing.__name__} is a class: give an object, {thing.__name__}(...)"
        )
    name, origin = type(thing).__name__, f"{protocol.__module__}.{protocol.__name__}"
    members = _members(protocol)
    for member, (line, _) in members.items():
        if not hasattr(thing, member):
            raise InputError(f"{what} {name} lacks {member}: add `{line}`, as {origin} has it")
    for member, (line, arguments) in members.items():
        if arguments is not None and not accepts(getattr(thing, member), arguments):
            raise InputError(
                f"{what} {name}: {member} takes other arguments: write `{line}`, as {origin} has it"
            )


def _members(protocol: type) -> dict[str, tuple[str, int | None]]:
    """Of a protocol and of those that it extends: the line that declares each, and with how many
    arguments it is called (None: it is no method)."""
    found: dict[str, tuple[str, int | None]] = {}
    for kind in reversed(protocol.__mro__):
        members: dict[str, Any] = dict(vars(kind))
        for name, annotation in members.get("__annotations__", {}).items():
            found[name] = f"{name}: {annotation}", None
        for name, member in members.items():
            if isinstance(member, property):
                found[name] = f"{name}: {member.fget.__annotations__['return']}", None
            elif inspect.isfunction(member) and not name.startswith("_"):
                signature = inspect.signature(member)
                line = f"def {name}{signature}".replace("'", "")
                found[name] = line, len(signature.parameters) - 1  # without self
    return found


def accepts(function: Any, arguments: int) -> bool:
    """The function can be called with that many positional arguments."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # builtins without a signature
        return True
    return True
