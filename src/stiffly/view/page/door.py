"""The door of a page: who comes in, and how much they may say, before viser reads any of it.

viser lets everybody in who reaches the port, takes 50 MB at a time and unpacks whatever they hold.
Here a request needs the token of the link, a message is small, a picture is one that was asked
for, no larger than asked, and nobody talks faster than a hand does.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from ..link import Wish, wish
from .client import mended

SMALL = 65_536  # bytes of a message: a camera, a drag, a value
WAITING = 4  # messages of a browser that are read ahead
RATE, BURST = 500.0, 500  # messages a second of one browser in the long run, and at once
LARGEST = 3840, 2160  # pixels of a picture
PICTURE, PULL = "GetRenderResponseMessage", "SceneNodeDragMessage"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
FORBIDDEN = "This page needs its whole link, with the token that `stiffly view` has printed.\n"
HEADERS = {
    # viser's page is one file with scripts, styles and pictures in it; it makes workers of them,
    # and evaluates strings when something is pulled
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' "
    "'unsafe-eval' blob:; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_starting = threading.Lock()
log = logging.getLogger("stiffly.view")


class Door:
    """token: part of the link; whoever came with it has it in a cookie from then on."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(16)
        self._cookie = f"stiffly-{secrets.token_hex(4)}"  # two pages of a machine share cookies
        self._asked: dict[Any, tuple[int, int]] = {}  # pictures, by connection: pixels
        self._address = ""  # of the page that was asked for last

    @contextmanager
    def hung(self) -> Iterator[None]:
        """A server that viser starts inside has this door."""
        import websockets.asyncio.server as sockets

        serve = sockets.serve

        def guarded(*arguments: Any, process_request: Any, **options: Any) -> Any:
            own: dict[str, Any] = {"max_size": SMALL, "max_queue": WAITING}
            own["process_request"] = self._answering(process_request)
            return serve(*arguments, **(options | own))

        with _starting:
            sockets.serve = guarded  # type: ignore[assignment]
            try:
                yield
            finally:
                sockets.serve = serve

    # ------------------------------------------------------------------ who

    def _answering(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def answered(connection: Any, request: Any) -> Any:
            if self.admits(request):
                if "Upgrade" not in request.headers:
                    self._address = request.path
                response = answer(connection, request)
            else:
                log.info("a request without the token was turned away")
                response = connection.respond(HTTPStatus.FORBIDDEN, FORBIDDEN)
            if response is not None:
                for name, value in HEADERS.items():
                    response.headers[name] = value
            if response is not None and response.status_code == HTTPStatus.OK:
                mended(response)
                kept = f"{self._cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                response.headers["Set-Cookie"] = kept
            return response

        return answered

    def admits(self, request: Any) -> bool:
        """The token is in the address or in a cookie."""
        found = parse_qs(urlsplit(request.path).query).get("token", [])
        for header in request.headers.get_all("Cookie"):
            for pair in header.split(";"):
                name, _, value = pair.strip().partition("=")
                found += [value] if name == self._cookie else []
        own = self.token.encode()
        return any(secrets.compare_digest(own, one.encode()) for one in found)

    def wished(self) -> Wish | None:
        """The settings in the address of the page that was asked for last, once; InputError where
        they cannot be read."""
        address, self._address = self._address, ""
        pairs = parse_qs(urlsplit(address).query)
        return wish({key: values[-1] for key, values in pairs.items()})

    # ------------------------------------------------------------------ how much

    def watch(self, connection: Any) -> None:
        """From now on this connection (of websockets) gives only what may be read."""
        receive, due = connection.recv, 0.0
        clock = asyncio.get_running_loop().time

        async def checked() -> Any:
            data = await paced()
            while isinstance(data, bytes) and PULL.encode() in data and not is_pull(data):
                log.info("a drag that made no sense was left out")
                data = await paced()
            if isinstance(data, bytes) and (len(data) > SMALL or PICTURE.encode() in data):
                reason = picture_fault(data, self._asked.pop(connection, None))
                if reason is not None:
                    log.info("a client was turned away: %s", reason)
                    await connection.close(1008, reason)
                    return await receive()  # which says that it is closed
                connection.protocol.max_message_size = SMALL
            return data

        async def paced() -> Any:
            nonlocal due
            data = await receive()
            due = max(due, clock()) + 1.0 / RATE
            if (ahead := due - clock() - BURST / RATE) > 0.0:
                await asyncio.sleep(ahead)  # nothing is read meanwhile: the sender has to wait
            return data

        connection.recv = checked

    @contextmanager
    def asking(self, connection: Any, width: int, height: int) -> Iterator[None]:
        """A picture of so many pixels may come over this connection."""
        self._asked[connection] = width, height
        connection.protocol.max_message_size = SMALL + 5 * width * height
        try:
            yield
        finally:
            self._asked.pop(connection, None)
            connection.protocol.max_message_size = SMALL


def is_pull(data: bytes) -> bool:
    """A drag of a node that has a name, from and to points in space."""
    import msgspec

    try:
        return msgspec.msgpack.decode(data, type=_kinds()[0]) is not None
    except msgspec.MsgspecError:
        return False


def picture_fault(data: bytes, asked: tuple[int, int] | None) -> str | None:
    """What is wrong with a message that should be a picture; nothing of it is unpacked for that."""
    import msgspec

    if asked is None:
        return "nobody has asked for a picture"
    try:
        payload = msgspec.msgpack.decode(data, type=_kinds()[1]).payload
    except msgspec.MsgspecError:
        return "a large message that is no picture"
    head, size = payload[:16], payload[16:24]
    if head != PNG or len(size) < 8:
        return "a picture that is no PNG"
    width, height = int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big")
    if not (0 < width <= asked[0] and 0 < height <= asked[1]):
        return f"a picture of {width} x {height} pixels, larger than asked"
    return None


@cache
def _kinds() -> tuple[Any, Any]:
    """Fields of a pull, and of a picture, which has no others: what else is in it is refused."""
    import msgspec

    point = tuple[float, float, float]
    pull = [("phase", Literal["start", "update", "end"]), ("name", str)]
    pull += [("start_position", point), ("end_position", point)]
    picture = [("type", str), ("payload", bytes), ("render_uuid", str)]
    strict = msgspec.defstruct("Picture", picture, forbid_unknown_fields=True)
    return msgspec.defstruct("Pull", pull), strict
