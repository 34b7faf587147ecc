"""What browsers may send, tried with a client that speaks the page's own format."""

import math
import time
from types import SimpleNamespace

import pytest
from browser.raw_client import RawClient, encoded
from websockets.exceptions import ConnectionClosed

from stiffly.view.page.base import Clients
from stiffly.view.page.controls import listen
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


def wait_for(look, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
        address = page.server.url.removeprefix("http://")
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            with pytest.raises((ConnectionClosed, AssertionError)):
                client = RawClient(page.server.url, close_timeout=0.2, additional_headers=headers)
                while True:
                    client.read(10.0)
        with page.client(additional_headers={"Origin": f"http://{address}"}):
            pass
        assert page.turned == []


def test_only_so_many_browsers_come_in():
    with Small() as page:
        inside = [page.client() for _ in range(MOST)]
        with pytest.raises(ConnectionClosed):
            extra = RawClient(page.server.url, close_timeout=0.2)
            while True:
                extra.read(10.0)
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
                    bad.read(10.0)
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
