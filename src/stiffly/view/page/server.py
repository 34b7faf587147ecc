"""The web server of a page: viser, started and stopped without a word, on a port that is free."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from .door import Door, log

if TYPE_CHECKING:
    from viser import ViserServer

FIRST = 8080  # the ports that are tried when none is asked for, and then any
TRIED = 20
LOCAL = ("127.0.0.1", "localhost", "::1")
VISER = re.compile(r"\[[a-z ]+\]\(viser\)")  # how its lines begin


def library() -> Any:
    """viser, or an InputError that says how to get it."""
    try:
        import viser
    except ImportError:
        raise InputError("the live page needs viser: pip install 'stiffly[view]'") from None
    return viser


class Server:
    """viser listening at host and port behind a door; url: its address, with the door's token.

    viser would take the next port when one is busy, wait for ever for a host that does not exist,
    and print a table: ports are tried here first, and it is kept quiet.
    """

    def __init__(self, host: str, port: int | None) -> None:
        viser = library()
        chosen = free_port(host, port)
        _hush()
        self.door = Door()
        with _quietly(), self.door.hung():
            self.viser: ViserServer = viser.ViserServer(host, chosen, "stiffly", verbose=False)
        self.port = self.viser.get_port()
        if port is not None and self.port != port:  # somebody was faster
            self.close()
            raise _busy(port)
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        where = f"{f'[{name}]' if ':' in name else name}:{self.port}"
        self.url = f"http://{where}/?token={self.door.token}"
        logging.getLogger("websockets").setLevel(logging.CRITICAL)  # of strangers' messages
        loop = self.viser.get_event_loop()
        loop.call_soon_threadsafe(loop.set_exception_handler, _log_only)

    def close(self) -> None:
        """Ends its threads; the port is free again."""
        self.viser.stop()


def free_port(host: str, port: int | None) -> int:
    """That port, or, without one, the first that is free; InputError where there is none."""
    if port is not None:
        if not 1 <= port <= 65535:
            raise InputError(f"--port {port}: give a number from 1 to 65535")
        if not _is_free(host, port):
            raise _busy(port)
        return port
    found = next((p for p in range(FIRST, FIRST + TRIED) if _is_free(host, p)), None)
    if found is None:
        with _bound(host, 0) as any_port:
            return int(any_port.getsockname()[1])
    return found


def _busy(port: int) -> InputError:
    return InputError(f"--port {port} is taken by another program; leave it out, or name another")


def _is_free(host: str, port: int) -> bool:
    try:
        with _bound(host, port):
            return True
    except PermissionError:
        raise InputError(f"--port {port} is not for everybody; name one above 1023") from None
    except OSError:
        return False


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        with socket.create_server(("" if host == "" else address[0], 0), family=family):
            pass  # the host is one of this machine's
    except (OSError, UnicodeError):
        raise InputError(
            f"--host {host} is no address of this machine; give 127.0.0.1, or 0.0.0.0 for all"
        ) from None
    with socket.create_server((address[0], port), family=family) as bound:
        yield bound


def _hush() -> None:
    """viser prints a line for every stranger that knocks, and when it stops, through a console that
    a user's own program may print with: only lines of viser are left out."""
    import rich

    console = rich.get_console()
    say = console.print

    def only_others(*objects: Any, **options: Any) -> None:
        if not (objects and isinstance(objects[0], str) and VISER.match(objects[0])):
            say(*objects, **options)

    if say.__name__ != only_others.__name__:
        console.print = only_others


@contextmanager
def _quietly() -> Iterator[None]:
    """While it starts, viser prints a table."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def _log_only(_: Any, context: dict[str, Any]) -> None:
    """What a browser sent could not be handled: nobody at the terminal can help it."""
    problem = context.get("exception")
    log.debug("%s (%s: %s)", context.get("message"), type(problem).__name__, problem)
