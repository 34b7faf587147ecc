"""How far the making of a mesh has come, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int, str], None]  # done, in all, what is under way

_listener: ContextVar[Progress | None] = ContextVar("meshes_listener", default=None)


@contextmanager
def listening(progress: Progress) -> Iterator[None]:
    """Within the block, meshes that take long to make report to `progress`.

    A scene builds its meshes deep inside: this spares every builder an argument.
    """
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: int, total: int, text: str) -> None:
    progress = _listener.get()
    if progress is not None:
        progress(done, total, text)
