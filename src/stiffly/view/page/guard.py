"""What browsers may send: values of controls, within their limits, from pages of this server.

viser trusts its clients: a message may set any attribute of a control, upload files, open a tunnel
to the internet, and come from a page of any web site that the user has open.  Here each of these
is closed.  A refused client loses its connection, or gets the value that holds sent back.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from .server import LOCAL, Server, log

MOST = 64  # browsers at once
WANTED = (  # what a browser may say; everything else falls on deaf ears
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "CommandTriggerMessage",
    "SceneNodeDragMessage",
    "GetRenderResponseMessage",
)
IDLE = 1.0  # seconds between two frames that nobody watches: who comes then sees something at once
FRESH = 0.1  # weight of the newest in the mean time of transport


class Guard:
    """Stands between the sockets and viser's own handlers; who is let in is paced by the flow.

    clients: know who may turn the shared controls, and tell who may not.
    """

    def __init__(self, server: Server, host: str, flow: Flow, clients: Any) -> None:
        self._viser, self._host, self._flow, self._clients = server.viser, host, flow, clients
        self._door = server.door
        self._sockets = server.viser._websock_server
        self._fence(self._sockets, shared=True)
        self._open: dict[int, Any] = {}
        self._sockets.on_client_connect(self._connected)
        self._sockets.on_client_disconnect(self._disconnected)

    async def _connected(self, connection: Any) -> None:
        """Runs before the first message of a new client is read."""
        socket_of = self._sockets._live_connections[connection.client_id]
        reason = self._refusal(socket_of)
        if reason is not None:
            log.debug("refused a client: %s", reason)
            await socket_of.close(1008, reason)
            return
        self._fence(connection, shared=False)
        self._flow.pace(socket_of)
        self._door.watch(socket_of)
        self._open[connection.client_id] = socket_of

    async def _disconnected(self, connection: Any) -> None:
        self._flow.forget(self._open.pop(connection.client_id, None))

    def _refusal(self, socket_of: Any) -> str | None:
        if len(self._sockets._live_connections) > MOST:
            return f"{MOST} browsers are the most"
        headers = socket_of.request.headers
        host, origin = headers.get("Host", ""), headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "the page comes from another server"
        name = urlsplit(f"//{host}").hostname or ""
        if self._host in LOCAL and name not in LOCAL:  # a name that somebody else resolves to us
            return f"{name} is not a name of this server"
        return None

    # ------------------------------------------------------------------ controls

    def _fence(self, endpoint: Any, *, shared: bool) -> None:
        """shared: controls of all clients, not of this one alone."""
        handlers = endpoint._incoming_handlers
        wanted = {message_kind(name) for name in WANTED}
        for kind in [kind for kind in handlers if kind not in wanted]:
            del handlers[kind]
        updates = handlers[message_kind("GuiUpdateMessage")]
        updates[:] = [self._checked(handle, shared) for handle in updates]

    def _checked(self, handle: Any, shared: bool) -> Any:
        gui = handle.__self__

        async def checked(client_id: Any, message: Any) -> None:
            control = gui._gui_input_handle_from_uuid.get(message.uuid)
            if control is None or control._impl.removed:
                return
            updates = message.updates
            good = set(updates) == {"value"} and is_fitting(control, updates["value"])
            allowed = not shared or self._clients.drives(client_id)
            if good and allowed and not control._impl.props.disabled:
                await handle(client_id, message)
                return
            if not allowed:
                self._clients.refuse(client_id)
            self._send_back(client_id, control)

        return checked

    def _send_back(self, client_id: Any, control: Any) -> None:
        """The browser has moved the control already: tell it the value that holds."""
        client = self._viser.get_clients().get(client_id)
        if client is not None and not control._impl.is_button:
            update = message_kind("GuiUpdateMessage")(control._impl.uuid, {"value": control.value})
            client._websock_connection.queue_message(update)


def is_fitting(control: Any, value: Any) -> bool:
    """Of the control's kind and within its limits."""
    props, now = control._impl.props, control._impl.value
    if isinstance(now, bool):
        return isinstance(value, bool)
    if isinstance(now, str):
        return isinstance(value, str) and value in getattr(props, "options", ())
    if isinstance(now, int | float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        low = -math.inf if props.min is None else props.min
        high = math.inf if props.max is None else props.max
        slack = 1e-9 * max(abs(low), abs(high), 1.0) if math.isfinite(low + high) else 0.0
        return math.isfinite(value) and low - slack <= value <= high + slack
    return False


def message_kind(name: str) -> Any:
    from viser import _messages

    return getattr(_messages, name)


# ------------------------------------------------------------------ how fast


class Flow:
    """How fast a browser is sent frames: as fast as it takes them, and always the newest.

    Behind everything that is sent goes a ping, which is answered when all before it has been read;
    the next is sent only then.  What becomes old meanwhile is replaced, not queued: viser keeps the
    last value of each property for who has not got it yet.  Without this, the buffers of the system
    would hold seconds of frames for a slow browser.

    ready() before a frame; seconds: mean time from sending to having been read.
    """

    def __init__(self) -> None:
        self._busy: dict[Any, int] = {}  # by connection: what is on its way
        self._news = threading.Condition()
        self._last = 0.0
        self.seconds: float | None = None

    def pace(self, connection: Any) -> None:
        """From now on this connection (of websockets) waits for its pong after every message."""
        send = connection.send
        with self._news:
            self._busy[connection] = 0
            self._news.notify_all()

        async def paced(data: bytes) -> None:
            began = time.monotonic()
            self._count(connection, 1)
            try:
                await send(data)
                await (await connection.ping())
                took = time.monotonic() - began
                old = took if self.seconds is None else self.seconds
                self.seconds = old + FRESH * (took - old)
            finally:
                self._count(connection, -1)

        connection.send = paced

    def forget(self, connection: Any) -> None:
        with self._news:
            self._busy.pop(connection, None)

    def ready(self, timeout: float) -> bool:
        """True when somebody can take a frame; waits for that up to timeout [s]."""
        with self._news:
            if self._busy:
                return self._news.wait_for(lambda: 0 in self._busy.values(), timeout)
            if time.monotonic() - self._last < IDLE:
                self._news.wait(timeout)
                return False
            self._last = time.monotonic()
            return True

    def _count(self, connection: Any, change: int) -> None:
        with self._news:
            if connection in self._busy:
                self._busy[connection] += change
                self._news.notify_all()
