"""What browsers may send, tried with a client that speaks the page's own format."""

import asyncio
import contextlib
import gzip
import http.client
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser.raw_client import RawClient, encoded
from websockets.exceptions import ConnectionClosed, InvalidStatus

from stiffly.view.page.base import Clients
from stiffly.view.page.client import SCRIPT
from stiffly.view.page.controls import listen
from stiffly.view.page.door import BURST, PICTURE, PNG, RATE, SMALL, Door, is_pull, picture_fault
from stiffly.view.page.guard import MOST, WANTED, Flow, Guard, is_fitting, message_kind
from stiffly.view.page.server import Server

HERE = "127.0.0.1"


def control(value, low=None, high=None, options=()):
    props = SimpleNamespace(min=low, max=high, options=options)
    return SimpleNamespace(_impl=SimpleNamespace(value=value, props=props))


@pytest.mark.parametrize(
    ("handle", "good", "bad"),
    [
        (control(1.0, 0.0, 2.0), [0.0, 2.0, 1, 0.3], [2.1, -1e-3, math.nan, math.inf, "1", True]),
        (control(3, 1, None), [1, 10**9], [0, math.inf, None, [3]]),
        (control(True), [True, False], [1, "true", None]),
        (control("a", options=("a", "b")), ["a", "b"], ["c", "", 0, None, ["a"]]),
        (control(None), [], [None, 1, "a"]),
    ],
)
def test_values_must_be_of_the_controls_kind_and_within_its_limits(handle, good, bad):
    assert all(is_fitting(handle, value) for value in good)
    assert not any(is_fitting(handle, value) for value in bad)


class Small:
    """A page with one slider, one dropdown and a button that is switched off."""

    def __init__(self):
        self.server = Server(HERE, None)
        self.clients = Clients(self.server.viser, lambda _: None)
        Guard(self.server, HERE, Flow(), self.clients)
        gui = self.server.viser.gui
        self.slider = gui.add_slider("Slider", 0.0, 1.0, 0.1, 0.5)
        self.off = gui.add_slider("Off", 0.0, 1.0, 0.1, 0.5, disabled=True)
        self.turned = []
        for handle in (self.slider, self.off):
            listen(handle, self.turned.append)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()

    def client(self, **options):
        client = RawClient(self.server.url, close_timeout=0.2, **options)
        client.until(lambda: "Slider" in client.controls, "the slider")
        wait_for(lambda: len(self.clients) > 0)
        return client


def wait_for(look, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def forget_peak():
    """What other tests in this process have taken says nothing about this one."""
    Path("/proc/self/clear_refs").write_text("5")


def resident():
    """Bytes of memory that this process has taken, at most since then."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def test_a_driver_turns_controls_and_nothing_else():
    with Small() as page, page.client() as client:
        wait_for(lambda: page.clients.driver is not None)
        uuid = client.controls["Slider"]
        for updates in (
            {"removed": True},
            {"props": {}},
            {"value": 0.7, "update_cb": []},
            {"value": math.nan},
            {"value": 7.0},
            {},
        ):
            client.socket.send(encoded("GuiUpdateMessage", uuid=uuid, updates=updates))
        client.turn("Off", 0.9)
        client.socket.send(encoded("GuiUpdateMessage", uuid="nobody", updates={"value": 1.0}))
        client.turn("Slider", 0.7)
        wait_for(lambda: page.turned)
        assert page.turned == [0.7] and page.slider.value == 0.7 and page.off.value == 0.5


def test_a_refused_value_is_sent_back():
    with Small() as page, page.client() as client:
        wait_for(lambda: page.clients.driver is not None)
        client.turn("Slider", 7.0)
        uuid = client.controls["Slider"]
        sent = []

        def back():
            sent.extend(m for m in client.read() if m.get("uuid") == uuid)
            return any(m.get("updates") == {"value": 0.5} for m in sent)

        while not back():
            pass


def test_watchers_turn_nothing_until_they_take_the_wheel():
    with Small() as page, page.client() as first, page.client() as second:
        wait_for(lambda: len(page.clients) == 2)
        second.turn("Slider", 0.2)
        notes = []

        def told():
            notes.extend(m for m in second.read() if m["type"] == "NotificationShowMessage")
            return notes

        while not told():
            pass
        assert page.turned == [] and "drives" in notes[0]["props"]["title"]
        second.until(lambda: "Take the wheel" in second.controls, "the button")
        second.turn("Take the wheel", True)
        wait_for(lambda: page.clients.drives(1))
        second.turn("Slider", 0.2)
        wait_for(lambda: page.turned)
        first.turn("Slider", 0.9)
        second.close()
        wait_for(lambda: page.clients.drives(0))  # who leaves hands it to the next
        first.turn("Slider", 0.4)
        wait_for(lambda: len(page.turned) == 2)
        assert page.turned == [0.2, 0.4]


def test_pages_of_other_servers_and_foreign_names_are_turned_away():
    with Small() as page:
        address = f"{HERE}:{page.server.port}"
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            with pytest.raises((ConnectionClosed, AssertionError)):
                client = RawClient(page.server.url, close_timeout=0.2, additional_headers=headers)
                while True:
                    client.read(300.0)
        with page.client(additional_headers={"Origin": f"http://{address}"}):
            pass
        assert page.turned == []


def test_only_so_many_browsers_come_in():
    with Small() as page:
        inside = [page.client() for _ in range(MOST)]
        with pytest.raises(ConnectionClosed):
            extra = RawClient(page.server.url, close_timeout=0.2)
            while True:
                extra.read(300.0)
        for client in inside:
            client.close()


def test_garbage_ends_a_connection_and_nothing_more(capfd):
    with Small() as page, page.client() as good:
        wait_for(lambda: page.clients.driver is not None)
        for data in (b"\x00\xff", "text", encoded("NoSuchMessage"), b"\x81\xa4type\xc0"):
            bad = RawClient(page.server.url, close_timeout=0.2)
            bad.socket.send(data)
            with pytest.raises(ConnectionClosed):
                while True:
                    bad.read(300.0)
        good.turn("Slider", 0.3)
        wait_for(lambda: page.turned == [0.3])
    assert capfd.readouterr() == ("", "")


def test_no_tunnel_no_uploads_no_other_way_in():
    with Small() as page:
        handlers = page.server.viser._websock_server._incoming_handlers
        assert set(handlers) <= {message_kind(name) for name in WANTED}
        with page.client() as client:
            for kind in ("ShareUrlRequest", "ShareUrlDisconnect"):
                client.socket.send(encoded(kind))
            for k in range(50):
                client.socket.send(encoded("GuiFormDirtyMessage", uuid=f"made-up-{k}"))
            wait_for(lambda: page.clients.driver is not None)
            client.turn("Slider", 0.1)
            wait_for(lambda: page.turned == [0.1])
            kept = page.server.viser._websock_server._broadcast_buffer.message_from_id.values()
            assert not any("made-up" in str(vars(message)) for message in kept)
            assert page.server.viser._share_tunnel is None


# ------------------------------------------------------------------ the door


def answer(page, path="/", **headers):
    connection = http.client.HTTPConnection(HERE, page.server.port, timeout=300.0)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.said = response.read()
    return response


@pytest.mark.parametrize("packed", ["gzip", "identity"])
def test_the_script_that_mends_the_page_comes_before_its_own(packed):
    with Small() as page:
        path = f"/?token={page.server.door.token}"
        for _ in range(2):  # the second one is kept from the first
            response = answer(page, path, **{"Accept-Encoding": packed})
            assert response.headers.get_all("Content-Length") == [str(len(response.said))]
            text = gzip.decompress(response.said) if packed == "gzip" else response.said
            assert text.count(SCRIPT) == 1 and text.index(SCRIPT) == text.index(b"<script")
            assert b"viser" in text.replace(SCRIPT, b"")


def test_without_the_token_of_the_link_nobody_comes_in():
    with Small() as page:
        token = page.server.door.token
        for path in ("/", "/?token=", "/?token=wrong", f"/?token={token}x", f"/?other={token}"):
            assert answer(page, path).status == 403
            with pytest.raises(InvalidStatus):
                RawClient(f"http://{HERE}:{page.server.port}{path}")
        first = answer(page, f"/?token={token}")
        assert first.status == 200
        cookie = first.headers["Set-Cookie"].partition(";")[0]
        assert answer(page, "/", Cookie=f"theme=dark; {cookie}").status == 200
        assert answer(page, "/", Cookie=cookie.replace(token, "wrong")).status == 403
        url = f"http://{HERE}:{page.server.port}"
        with RawClient(url, additional_headers={"Cookie": cookie}) as client:
            client.read()


def test_the_page_may_not_be_framed_nor_load_from_elsewhere():
    with Small() as page:
        for path in ("/", page.server.url.partition(str(page.server.port))[2]):
            headers = answer(page, path).headers
            assert headers["X-Frame-Options"] == "DENY"
            policy = headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in policy and "default-src 'self'" in policy
            assert "http:" not in policy and "*" not in policy


def closed_by(client, data):
    """Why the server ends the connection after this message."""
    with contextlib.suppress(ConnectionClosed):
        client.socket.send(data)
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            client.read(300.0)
    return closed.value.rcvd.code


def test_large_messages_are_refused_before_they_are_read():
    """What is counted is memory: 45 MB of empty lists would take gigabytes once unpacked."""
    with Small() as page, page.client() as good:
        forget_peak()
        before = resident()
        for size in (SMALL + 1, 45_000_000):
            bad = RawClient(page.server.url, close_timeout=0.2)
            assert closed_by(bad, b"\xdd" + size.to_bytes(4, "big") + b"\x90" * size) == 1009
        bad = RawClient(page.server.url, close_timeout=0.2)
        pieces = [b"\x90" * 10_000] * 100  # one message in many frames
        assert closed_by(bad, pieces) == 1009
        assert resident() - before < 200e6
        good.turn("Slider", 0.3)
        wait_for(lambda: page.turned == [0.3])


def png(width, height):
    return PNG + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x06\0\0\0"


def picture(payload=b"", **more):
    return encoded(PICTURE, payload=payload, render_uuid="a", **more)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (picture(png(30_000, 30_000)), "larger than asked"),
        (picture(png(301, 200)), "larger than asked"),
        (picture(png(0, 200)), "larger than asked"),
        (picture(b"GIF89a"), "no PNG"),
        (picture(PNG), "no PNG"),
        (picture(png(300, 200), more=[[]] * 1000), "no picture"),
        (encoded("ViewerCameraMessage", payload=[[]] * 100_000), "no picture"),
        (b"\x90" * 100_000, "no picture"),
    ],
)
def test_pictures_are_looked_at_before_they_are_unpacked(data, words):
    assert words in picture_fault(data, (300, 200))


def test_a_good_picture_passes_where_it_was_asked_for():
    assert picture_fault(picture(png(300, 200)), (300, 200)) is None
    assert "asked" in picture_fault(picture(png(300, 200)), None)
    with Small() as page:
        assert closed_by(page.client(), picture(png(300, 200))) == 1008


def test_who_asks_for_a_picture_lets_in_one_and_no_more():
    with Small() as page, page.client() as client:
        wait_for(lambda: page.clients.driver is not None)
        (connection,) = page.server.viser._websock_server._live_connections.values()
        data = picture(png(300, 200) + bytes(200_000))
        with page.server.door.asking(connection, 300, 200):
            client.socket.send(data)
            client.turn("Slider", 0.3)
            wait_for(lambda: page.turned == [0.3])
        assert closed_by(client, data) in (1008, 1009)


def test_nobody_talks_faster_than_a_hand(monkeypatch):
    """The clock is the test's own: 3 BURSTs at one instant are slept off at RATE."""
    slept = []

    async def noted(seconds):
        slept.append(seconds)

    class Talker:
        def __init__(self):
            self.recv = self.says

        async def says(self):
            return b"hello"

    async def listen(talker):
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 100.0)
        Door().watch(talker)
        for _ in range(3 * BURST):
            assert await talker.recv() == b"hello"

    monkeypatch.setattr("stiffly.view.page.door.asyncio.sleep", noted)
    with ThreadPoolExecutor(1) as apart:  # a browser of another test may have a loop running here
        apart.submit(asyncio.run, listen(Talker())).result()
    assert len(slept) == 2 * BURST
    assert slept[-1] == pytest.approx(2 * BURST / RATE)


@pytest.mark.parametrize(
    "fields",
    [
        {"start_position": ["a", "b", "c"]},
        {"end_position": (1.0, 2.0)},
        {"start_position": None},
        {"name": ["/a"]},
        {"phase": "tear"},
    ],
)
def test_a_malformed_drag_is_one_line_in_the_log(fields, caplog, capfd):
    usual = {"phase": "start", "name": "/body", "start_position": (0.0, 0, 0.0)}
    usual |= {"end_position": (0.0, 0.0, 0.0)}
    assert is_pull(encoded("SceneNodeDragMessage", **usual))
    others = {"instance_index": None, "start_screen_pos": (0.5, 0.5), "end_screen_pos": (0.5, 0.5)}
    others |= {"button": "left", "modifier": None}
    with Small() as page, page.client() as client, caplog.at_level("INFO", "stiffly.view"):
        wait_for(lambda: page.clients.driver is not None)
        client.socket.send(encoded("SceneNodeDragMessage", **(usual | others | fields)))
        client.turn("Slider", 0.3)
        wait_for(lambda: page.turned == [0.3])
        told = [record for record in caplog.records if record.name == "stiffly.view"]
        assert len(told) == 1 and told[0].exc_info is None and "\n" not in told[0].getMessage()
    assert capfd.readouterr() == ("", "")
