"""What browsers may send: values of controls, within their limits, from pages of this server.

viser trusts its clients: a message may set any attribute of a control, upload files, open a tunnel
to the internet, and come from a page of any web site that the user has open.  Here each of these
is closed.  A refused client loses its connection, or gets the value that holds sent back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from .flow import Flow
from .server import LOCAL, Server, log

MOST = 16  # browsers at once
WANTED = (  # what a browser may say; everything else falls on deaf ears
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "CommandTriggerMessage",
    "SceneNodeDragMessage",
    "GetRenderResponseMessage",
)

May = Callable[[int], bool]  # may this client turn the shared controls?


class Guard:
    """Stands between the sockets and viser's own handlers; who is let in is paced by the flow."""

    def __init__(
        self, server: Server, host: str, flow: Flow, may: May, refused: Callable[[int], None]
    ) -> None:
        self._viser, self._host, self._flow = server.viser, host, flow
        self._may, self._refused = may, refused
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
            good = set(message.updates) == {"value"} and is_fitting(
                control, message.updates["value"]
            )
            allowed = not shared or self._may(client_id)
            if good and allowed and not control._impl.props.disabled:
                await handle(client_id, message)
                return
            if not allowed:
                self._refused(client_id)
            self._send_back(client_id, control)

        return checked

    def _send_back(self, client_id: Any, control: Any) -> None:
        """The browser has moved the control already: tell it the value that holds."""
        client = self._viser.get_clients().get(client_id)
        if client is not None and not control._impl.is_button:
            value = {"value": control.value}
            client._websock_connection.queue_message(
                message_kind("GuiUpdateMessage")(control._impl.uuid, value)
            )


def is_fitting(control: Any, value: Any) -> bool:
    """Of the control's kind and within its limits."""
    props, now = control._impl.props, control._impl.value
    if isinstance(now, bool):
        return isinstance(value, bool)
    if isinstance(now, str):
        options = getattr(props, "options", ())
        return isinstance(value, str) and value in options
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
