"""Frames for browsers that read slowly: the newest, not a queue; without one, hardly any."""

import asyncio
import contextlib
import threading
import time
from types import SimpleNamespace

import numpy as np
import own_loop
from browser.raw_client import RawClient

from stiffly.view.page.guard import Flow, Guard
from stiffly.view.page.server import Server

HERE = "127.0.0.1"
LARGE = 40_000  # vertices: half a megabyte a frame


class Counter:
    """A page whose one mesh shows how many frames have been sent so far."""

    def __init__(self):
        self.server, self.flow = Server(HERE, None), Flow()
        Guard(self.server, HERE, self.flow, SimpleNamespace(drives=lambda _: True))
        self._x = np.zeros((LARGE, 3), dtype=np.float32)
        faces = np.array([[0, 1, 2]])
        self._mesh = self.server.viser.scene.add_mesh_simple("/mesh", self._x, faces)
        self.count, self.last, self._over = 0, np.inf, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        """A frame after the other, up to the one that is the last for now."""
        while not self._over.wait(0.01):
            if self.count >= self.last:
                continue
            self.count += 1
            self._x[0, 0] = self.count
            self._mesh.vertices = self._x

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self.server.close()


def counted(client):
    """Read on until a frame comes; which one it is."""
    client.vertices.clear()
    client.until(lambda: "/mesh" in client.vertices, "a frame")
    return int(client.vertices["/mesh"][0, 0])


def test_who_does_not_read_for_a_while_gets_the_newest_frame_then():
    with Counter() as page, RawClient(page.server.url, max_queue=1, close_timeout=0.2) as client:
        counted(client)
        before = page.count
        while page.count < before + 200:  # a hundred megabytes that nobody reads
            time.sleep(0.01)
        now = page.count
        frames = [counted(client) for _ in range(6)]
        # what was on its way and what the client itself had taken in, then no old one any more
        assert min(frames[4:]) > now
        assert frames == sorted(frames)


def test_nothing_is_kept_for_who_reads_slowly():
    with Counter() as page, RawClient(page.server.url, max_queue=1, close_timeout=0.2) as client:
        counted(client)
        kept = page.server.viser._websock_server._broadcast_buffer.message_from_id
        before, size = page.count, len(kept)
        while page.count < before + 100:
            time.sleep(0.01)
        assert len(kept) <= size + 2
        transports = [
            socket.transport.get_write_buffer_size()
            for socket in page.server.viser._websock_server._live_connections.values()
        ]
        assert max(transports) < 3 * 12 * LARGE  # of 100 frames


def test_who_reads_fast_is_not_held_back_by_who_does_not():
    with (
        Counter() as page,
        RawClient(page.server.url, max_queue=1, close_timeout=0.2) as slow,
        RawClient(page.server.url, close_timeout=0.2) as fast,
    ):
        counted(slow)
        for last in range(200, 500, 10):  # of which the one who does not read has few
            page.last = last
            while counted(fast) < last:
                pass


class Connection:
    """Of websockets, as far as a flow knows it; the pong comes when the test says so."""

    def __init__(self):
        self.sent, self.pong = [], None

    async def send(self, data):
        self.sent.append(data)

    async def ping(self):
        self.pong = asyncio.get_running_loop().create_future()
        return self.pong


def test_a_connection_waits_for_its_pong():
    async def story():
        flow, connection = Flow(), Connection()
        flow.pace(connection)
        assert flow.ready(0.0)
        task = asyncio.create_task(connection.send(b"frame"))
        await asyncio.sleep(0)
        assert connection.sent == [b"frame"] and not task.done() and not flow.ready(0.0)
        connection.pong.set_result(None)
        await task
        assert flow.ready(0.0) and flow.seconds is not None
        flow.forget(connection)
        assert flow.ready(0.0) and not flow.ready(0.0)  # nobody: one now, and none for a while

    own_loop.run(story())


def test_a_connection_that_breaks_is_not_waited_for():
    async def story():
        flow, connection = Flow(), Connection()
        flow.pace(connection)
        task = asyncio.create_task(connection.send(b"frame"))
        await asyncio.sleep(0)
        connection.pong.set_exception(ConnectionError())
        with contextlib.suppress(ConnectionError):
            await task
        assert flow.ready(0.0)

    own_loop.run(story())
