"""Clients that are slow, gone, or send nonsense: the simulation goes on, and nothing is let in."""

from __future__ import annotations

import os
import random
import re
import socket
import time

import msgspec
import pytest
from raw_client import RawClient, camera, encoded
from served import Served, wait_for
from site_page import joules
from websockets.exceptions import ConnectionClosed, InvalidStatus

NAN = float("nan")
BODY = "/lane-0/body-0"


@pytest.fixture(scope="module")
def swing(tmp_path_factory):
    """A bar that bounces for ever: time and energies change all the while."""
    with Served("bar", "--small", folder=tmp_path_factory.mktemp("swing")) as served:
        yield served


def goes_on(served: Served) -> float:
    """Wait until a newcomer has seen the time go on by five frames; the time then [s]."""
    with RawClient(served.url) as client:
        client.until_loaded()
        begin = client.seconds()
        client.until(lambda: client.seconds() > begin + 0.15, "time to go on")
        return client.seconds()


def pull(**fields):
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


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_costs_its_sender_the_connection_at_most(swing, name):
    before = goes_on(swing)
    with RawClient(swing.url) as client:
        client.until_loaded()
        try:
            client.socket.send(NONSENSE[name])
            for _ in range(5):
                client.read()
        except ConnectionClosed:
            pass
    assert goes_on(swing) > before


@pytest.mark.parametrize(
    "fields",
    [
        dict(start_position=(NAN, 0.0, 0.0)),
        dict(start_position=(1e300, 0.0, 0.0), end_position=(-1e300, 0.0, 0.0)),
        dict(phase="dance"),
        dict(phase="update", end_position=(NAN, float("inf"), 0.0)),
        dict(phase="end"),
        dict(button="tail", modifier="moon"),
    ],
    ids=str,
)
def test_a_pull_that_cannot_be_leaves_the_body_whole(swing, fields):
    with RawClient(swing.url) as client:
        client.until_loaded()
        client.socket.send(pull())
        client.socket.send(pull(**fields))
        begin = client.seconds()
        client.until(lambda: client.seconds() > begin + 0.3, "time to go on")
        client.socket.send(pull(phase="end"))
        assert "stopped" not in "".join(client.texts.values())
        positions = client.vertices[BODY]
        assert abs(positions).max() < 100.0  # it is four units large


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Integrator", "nonsense"),
        ("Integrator", 7),
        ("Scene", "../../etc/passwd"),
        ("Step [ms]", NAN),
        ("Step [ms]", "1"),
        ("Step [ms]", -1.0),
        ("Gravity [m/s²]", float("inf")),
        ("Gravity [m/s²]", 1e9),
        ("Iterations", [1, 2]),
        ("Limit the time", "yes"),
    ],
)
def test_a_value_that_cannot_be_is_sent_back(swing, label, value):
    with RawClient(swing.url) as client:
        client.until_loaded()
        good = client.value(label)
        client.values.clear()
        client.turn(label, value)
        client.until(lambda: client.controls[label] in client.values, "the value that holds")
        assert client.value(label) == good
    with RawClient(swing.url) as later:
        assert later.until_loaded().value(label) == good


@pytest.mark.parametrize("attribute", ["props", "removed", "update_cb", "disabled", "label"])
def test_nothing_but_values_can_be_set(swing, attribute):
    with RawClient(swing.url) as client:
        client.until_loaded()
        uuid = client.controls["Iterations"]
        client.values.clear()
        changes = {attribute: ["boom"]}
        client.socket.send(encoded("GuiUpdateMessage", uuid=uuid, updates=changes))
        client.until(lambda: uuid in client.values, "the value that holds")
    with RawClient(swing.url) as later:
        later.until_loaded()
        wanted = 11 if later.value("Iterations") != 11 else 12
        later.turn("Iterations", wanted)  # it is still a control, for whoever comes next
        with RawClient(swing.url) as watcher:
            watcher.until_loaded()
            watcher.until(lambda: watcher.value("Iterations") == wanted, "the new value")


def test_a_watcher_cannot_drive(swing):
    with RawClient(swing.url) as driver, RawClient(swing.url) as watcher:
        driver.until_loaded()
        watcher.until_loaded()
        watcher.turn("Time", "Pause")
        watcher.until(lambda: "Another browser drives" in watcher.notes, "a note")
        before = driver.seconds()
        driver.until(lambda: driver.seconds() > before + 0.2, "time to go on")


def test_no_tunnel_is_opened_and_no_file_is_taken(swing):
    with RawClient(swing.url) as client:
        client.until_loaded()
        before = swing.status("Threads")
        client.socket.send(encoded("ShareUrlRequest"))
        upload = dict(transfer_uuid="t", filename="../../x", mime_type="a", part_count=10**9)
        for source in client.controls.values():
            upload |= {"source_component_uuid": source, "size_bytes": 10**12}
            client.socket.send(encoded("FileTransferStartUpload", **upload))
        begin = client.seconds()
        client.until(lambda: client.seconds() > begin + 0.5, "time to go on")
        assert swing.status("Threads") <= before  # a tunnel would wait in a thread of its own
        assert "ShareUrlUpdated" not in client.kinds


def test_messages_that_would_be_kept_are_not(swing):
    with RawClient(swing.url) as client:
        client.until_loaded()
        for i in range(2000):
            client.socket.send(encoded("GuiFormDirtyMessage", uuid=str(i)))
        begin = client.seconds()
        client.until(lambda: client.seconds() > begin + 0.3, "time to go on")
    with RawClient(swing.url) as later:
        later.until_loaded()
        assert "GuiFormDirtyMessage" not in later.kinds


def refused(url: str, **options) -> bool:
    try:
        with RawClient(url, **options) as client:
            client.read()
            client.read()
    except (ConnectionClosed, InvalidStatus):
        return True
    return False


def test_pages_of_other_sites_are_refused(swing):
    host, port = swing.address
    assert refused(swing.url, origin="http://evil.example")
    assert refused(swing.url, origin=f"http://{host}:{port + 1}")
    assert refused(swing.url, origin="null")
    assert not refused(swing.url, origin=swing.url)
    # a name of theirs that leads to this machine
    with socket.create_connection(swing.address) as rebound:
        assert refused(f"http://evil.example:{port}", sock=rebound)
    with socket.create_connection(swing.address) as own:
        assert not refused(f"http://localhost:{port}", sock=own)
    assert refused(swing.url, subprotocols=["viser-v0.0.1"])


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/..\\..\\..\\..\\..\\etc\\passwd",
        "/%00",
        "/view.log",
    ],
)
def test_no_file_of_this_machine_can_be_read(swing, path):
    with socket.create_connection(swing.address, 60.0) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {swing.address[0]}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer and (more := raw.recv(4096)):
            answer += more
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"root:" not in answer and b"live page" not in answer


def test_a_slow_reader_gets_new_frames_not_a_queue_of_old_ones(swing):
    """Five messages a second, thirty frames a second: a queue would be eight seconds long by the
    end of ten.  Here it may be behind by what is on its way: two messages, and one it reads."""
    with RawClient(swing.url) as fast, RawClient(swing.url, max_queue=1) as slow:
        fast.until_loaded()
        slow.until_loaded()
        end = time.monotonic() + 10.0
        reads = 0
        while time.monotonic() < end:
            turn = time.monotonic() + 0.2
            while time.monotonic() < turn:
                fast.read()
            slow.read()
            reads += 1
        assert reads > 5
        behind = fast.seconds() - slow.seconds()
        assert behind < 8.0 * 10.0 / reads  # reads may be rarer than planned: so many of them


def test_who_comes_and_goes_leaves_nothing_behind(swing):
    goes_on(swing)
    threads = swing.status("Threads")
    chance = random.Random(0)
    for _ in range(15):
        crowd = [RawClient(swing.url, greet=chance.random() < 0.8) for _ in range(4)]
        for client in crowd:
            client.read()
            if chance.random() < 0.3:  # without a word of goodbye
                client.socket.socket.close()
            else:
                client.close()
    goes_on(swing)
    wait_for(lambda: swing.status("Threads") <= threads, "threads to end")


def test_a_crowd_is_turned_away_at_the_door(swing):
    crowd = [RawClient(swing.url, greet=False) for _ in range(30)]
    outcomes = [_is_open(client) for client in crowd]
    for client in crowd:
        client.close()
    assert 1 <= sum(outcomes) <= 16 and not outcomes[-1]
    assert goes_on(swing) > 0.0


def _is_open(client: RawClient) -> bool:
    try:
        client.socket.send(camera())
        for _ in range(3):
            client.read()
    except ConnectionClosed:
        return False
    return True


def test_one_who_pulls_and_vanishes_lets_go(swing):
    with RawClient(swing.url) as client:
        client.until_loaded()
        start = client.vertices[BODY].mean(axis=0)
        client.pull("start", BODY, start, start)
        client.pull("update", BODY, start, start + 1.0)
        client.until(lambda: _hand(client) > 0.0, "the hand")
    with RawClient(swing.url) as later:
        later.until_loaded()
        later.until(lambda: _hand(later) == 0.0, "the hand to let go")


def _hand(client: RawClient) -> float:
    """Energy in the hand [J]."""
    found = re.search(r"<td>hand</td><td[^>]*>([^<]+)<", "".join(client.texts.values()))
    return joules(found[1]) if found else NAN


def test_greetings_without_sense(swing):
    with RawClient(swing.url, greet=False) as client:
        client.read()
        client.socket.send(camera().replace(b"ViewerCamera", b"ViewerCanary"))
        with pytest.raises(ConnectionClosed):
            while True:
                client.read()
    assert goes_on(swing) > 0.0
