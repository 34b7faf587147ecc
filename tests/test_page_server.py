"""The server of a page: where it listens, what it says, and that nothing of it is left."""

import socket
import sys
import threading

import pytest
from websockets.exceptions import ConnectionClosed

from stiffly import scenes
from stiffly.errors import InputError
from stiffly.view import serve
from stiffly.view.page.server import FIRST, TRIED, Server, free_port, library

HERE = "127.0.0.1"


def test_a_server_is_silent_and_leaves_nothing_behind(capfd):
    before = threading.active_count()
    server = Server(HERE, None)
    assert server.url == f"http://{HERE}:{server.port}/?token={server.door.token}"
    with socket.create_connection((HERE, server.port)):
        pass
    server.close()
    assert capfd.readouterr() == ("", "")
    assert threading.active_count() == before
    assert free_port(HERE, server.port) == server.port


def test_strangers_are_turned_away_without_a_word_and_others_may_print(capfd):
    import rich
    from websockets.sync.client import connect

    server = Server(HERE, None)
    stranger = connect(server.url.replace("http", "ws"), subprotocols=["viser-v0.0.0"])
    with stranger, pytest.raises(ConnectionClosed):
        stranger.recv(10.0)
    rich.print("somebody else's line")
    server.close()
    assert capfd.readouterr() == ("somebody else's line\n", "")


def test_a_port_that_is_taken_is_refused():
    with socket.create_server((HERE, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--port {port} is taken"):
            Server(HERE, port)


def test_without_a_port_the_first_free_one_is_taken():
    first = free_port(HERE, None)
    with socket.create_server((HERE, first)):
        assert free_port(HERE, None) > first


def test_where_all_known_ports_are_taken_any_will_do(monkeypatch):
    real = socket.create_server

    def crowded(address, **options):
        if FIRST <= address[1] < FIRST + TRIED:
            raise OSError("taken")
        return real(address, **options)

    monkeypatch.setattr(socket, "create_server", crowded)
    port = free_port(HERE, None)
    assert port >= 1024 and not FIRST <= port < FIRST + TRIED


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("no.such.host.invalid", None, "no address of this machine"),
        ("203.0.113.7", None, "no address of this machine"),  # reserved for documents
        (HERE, 0, "from 1 to 65535"),
        (HERE, 65536, "from 1 to 65535"),
        (HERE, -1, "from 1 to 65535"),
    ],
)
def test_addresses_that_cannot_be(host, port, said):
    with pytest.raises(InputError, match=said) as caught:
        free_port(host, port)
    assert "\n" not in str(caught.value)


def test_without_viser_a_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"pip install 'stiffly\[view\]'"):
        library()


def test_a_page_that_cannot_be_made_leaves_nothing_behind(monkeypatch):
    from live_scenes import little_cloth

    from stiffly.view import serve
    from stiffly.view.page import live

    def broken(*_, **__):
        raise ZeroDivisionError("no controls today")

    before = set(threading.enumerate())
    port = free_port(HERE, None)
    monkeypatch.setattr(live, "Controls", broken)
    with pytest.raises(ZeroDivisionError):
        serve(little_cloth(), port=port)
    assert free_port(HERE, port) == port
    assert [t.name for t in set(threading.enumerate()) - before if t.name == "stiffly-view"] == []


def test_a_bare_system_is_told_how_to_become_a_scene():
    scene = scenes.load("rope", small=True)
    with pytest.raises(InputError, match="serve takes a Scene or a Recording, not System"):
        serve(scene.system)
