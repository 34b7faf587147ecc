"""What a page may be sent and should not be harmed by."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from raw_client import encoded

BODY = "/lane-0/body-0"


def pull(**fields: Any) -> bytes:
    """A message about pulling at the body; these fields instead of good ones."""
    whole = dict(
        phase="start", name=BODY, instance_index=None, start_position=(0.0, 0.0, 0.0),
        start_screen_pos=(0.0, 0.0), end_position=(0.0, 0.0, 0.0), end_screen_pos=(0.0, 0.0),
        button="left", modifier=None,
    )  # fmt: skip
    return encoded("SceneNodeDragMessage", **(whole | fields))


NONSENSE = {
    "noise": os.urandom(1000),
    "text": "hello",
    "nothing": b"",
    "a number": msgspec.msgpack.encode(3),
    "no type": msgspec.msgpack.encode({"a": 1}),
    "unknown type": encoded("Nope"),
    "for browsers only": encoded("MeshMessage", name="/x", props={}),
    "deep": b"\x91" * 100_000 + b"\x01",
    "large": os.urandom(30_000_000),
    "too large": bytes(60_000_000),
    "pull without fields": encoded("SceneNodeDragMessage", phase="start"),
    "pull of words": pull(start_position=["a", "b", "c"]),
    "pull of a list": pull(name=["/a"]),
    "update of nothing": encoded("GuiUpdateMessage", uuid=["x"], updates=3),
}
