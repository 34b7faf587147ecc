"""A browser without a screen: speaks the page's wire format, reads as slowly as it is told to."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect

PATIENCE = 600.0  # seconds: more is a hang, less may be a busy machine
PROTOCOL = f"viser-v{viser.__version__}"
Message = dict[str, Any]


def encoded(kind: str, **fields: Any) -> bytes:
    return msgspec.msgpack.encode({"type": kind, **fields})


def decoded(data: bytes) -> list[Message]:
    """Sizes of a compressed header, the header, then the arrays, each at a multiple of 8 bytes."""
    whole, packed = (int.from_bytes(data[i : i + 8], "little") for i in (0, 8))
    header = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], whole)
    content = msgspec.msgpack.decode(header)
    arrays, at = [], 16 + packed
    for length in content["binaryBufferLengths"]:
        at += -at % 8
        arrays.append(data[at : at + length])
        at += length
    return [_with_arrays(message, arrays) for message in content["messages"]]


def _with_arrays(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(arrays[value["__binary_index"]], value["dtype"])
        return {key: _with_arrays(entry, arrays) for key, entry in value.items()}
    return value


def camera() -> bytes:
    """What makes the server count us among its browsers."""
    return encoded(
        "ViewerCameraMessage", wxyz=(1.0, 0.0, 0.0, 0.0), position=(3.0, 3.0, 3.0), fov=1.0,
        near=0.01, far=100.0, image_height=300, image_width=300, look_at=(0.0, 0.0, 0.0),
        up_direction=(0.0, 0.0, 1.0),
    )  # fmt: skip


class RawClient:
    """What it has been told so far.

    controls: their ids by label; values: of controls, by id; texts: HTML on the page, by id;
    vertices: of nodes, by name; notes: titles of notes that popped up; kinds: of all messages.
    """

    def __init__(self, url: str, *, greet: bool = True, **options: Any) -> None:
        usual = {"subprotocols": [PROTOCOL], "max_queue": None, "close_timeout": 1.0}
        usual |= {"ping_interval": None, "compression": None, "max_size": None}
        self.socket: ClientConnection = connect(url.replace("http", "ws", 1), **(usual | options))
        self.controls: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.vertices: dict[str, np.ndarray] = {}
        self.notes: list[str] = []
        self.kinds: set[str] = set()
        self.bytes = 0
        if greet:
            self.socket.send(camera())

    def read(self, timeout: float = PATIENCE) -> list[Message]:
        data = self.socket.recv(timeout)
        assert isinstance(data, bytes)
        self.bytes += len(data)
        found = decoded(data)
        for message in found:
            self._take(message)
        return found

    def _take(self, message: Message) -> None:
        self.kinds.add(message["type"])
        props = message.get("props") or message.get("updates") or {}
        if message["type"] == "NotificationShowMessage":
            self.notes.append(props["title"])
        for source in (message, props):
            if "value" in source and "uuid" in message:
                self.values[message["uuid"]] = source["value"]
        if "label" in props and "uuid" in message:
            self.controls[props["label"]] = message["uuid"]
        if "options" in props:
            self.options[message["uuid"]] = props["options"]
        if "content" in props:
            self.texts[message["uuid"]] = props["content"]
        if "vertices" in props:
            self.vertices[message["name"]] = props["vertices"].reshape(-1, 3)

    def until(self, look: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Read on until `look` finds something true."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
            self.read()
        return found

    def until_loaded(self) -> RawClient:
        """The controls, the ledger and a body are there."""
        self.until(
            lambda: "Integrator" in self.controls and self.clock() and self.vertices, "the page"
        )
        return self

    def until_driving(self) -> RawClient:
        """The one before us may still be on its way out."""
        self.until_loaded()
        self.until(lambda: "You drive." in "".join(self.texts.values()), "the wheel")
        return self

    def clock(self) -> str | None:
        """The line with the time, the state and the rates; None before it has come."""
        plain = (re.sub(r"<[^>]+>", "", text) for text in self.texts.values())
        return next((text for text in plain if "playing" in text or "paused" in text), None)

    def seconds(self) -> float:
        """The simulated time that the page shows [s]."""
        found = re.search(r"\bt (\S+) s", self.clock() or "")
        return float(found[1]) if found else float("nan")

    def value(self, label: str) -> Any:
        return self.values[self.controls[label]]

    def turn(self, label: str, value: Any) -> None:
        self.socket.send(
            encoded("GuiUpdateMessage", uuid=self.controls[label], updates={"value": value})
        )

    def choose(self, label: str, name: str) -> None:
        """The entry of a menu that begins with that name."""
        entries = self.options[self.controls[label]]
        self.turn(label, next(e for e in entries if e == name or e.startswith(f"{name}: ")))

    def pull(self, phase: str, node: str, start: Any, end: Any) -> None:
        message = encoded(
            "SceneNodeDragMessage", phase=phase, name=node, instance_index=None,
            start_position=list(map(float, start)), start_screen_pos=(0.5, 0.5),
            end_position=list(map(float, end)), end_screen_pos=(0.5, 0.5), button="left",
            modifier=None,
        )  # fmt: skip
        self.socket.send(message)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def goes_on(url: str) -> float:
    """Wait until a newcomer has seen the time go on by five frames; the time then [s]."""
    with RawClient(url) as client:
        client.until_loaded()
        begin = client.seconds()
        client.until(lambda: client.seconds() > begin + 0.15, "time to go on")
        return client.seconds()
