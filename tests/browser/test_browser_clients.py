"""Clients that are slow, many, gone, or from elsewhere: the simulation goes on."""

from __future__ import annotations

import random
import re
import socket
from urllib.parse import urlsplit

import pytest
from nonsense import BODY
from raw_client import RawClient, camera, goes_on
from served import wait_for
from site_page import joules
from websockets.exceptions import ConnectionClosed, InvalidStatus

from stiffly.view.page.guard import MOST

ROUNDS = 40


def test_a_watcher_cannot_drive(swing):
    with RawClient(swing.url) as driver, RawClient(swing.url) as watcher:
        driver.until_driving()
        watcher.until_loaded()
        watcher.turn("Time", "Pause")
        watcher.until(lambda: "Another browser drives" in watcher.notes, "a note")
        before = driver.seconds()
        driver.until(lambda: driver.seconds() > before + 0.2, "time to go on")


def test_a_slow_reader_gets_new_frames_not_a_queue_of_old_ones(swing):
    """One message of six: a queue would grow by five in every round, and who reads on would have
    200 messages before it.  Here it is behind by what is on its way, and is told of now after a
    few."""
    with RawClient(swing.url) as fast, RawClient(swing.url, max_queue=1) as slow:
        fast.until_loaded()
        slow.until_loaded()
        for _ in range(ROUNDS):
            for _ in range(6):
                fast.read()
            slow.read()
        now, behind = fast.seconds(), 0
        while slow.seconds() < now:
            slow.read()
            behind += 1
        assert behind < ROUNDS  # of 5 ROUNDS, if it were a queue


def test_who_comes_and_goes_leaves_nothing_behind(swing):
    goes_on(swing.url)
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
    goes_on(swing.url)
    wait_for(lambda: swing.status("Threads") <= threads, "threads to end")


def test_a_crowd_is_turned_away_at_the_door(swing):
    crowd = [RawClient(swing.url, greet=False) for _ in range(MOST + 14)]
    outcomes = [_is_open(client) for client in crowd]
    for client in crowd:
        client.close()
    assert 1 <= sum(outcomes) <= MOST and not outcomes[-1]
    assert goes_on(swing.url) > 0.0


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
        client.until_driving()
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
    return joules(found[1]) if found else float("nan")


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
    assert not refused(swing.url, origin=f"http://{host}:{port}")
    # a name of theirs that leads to this machine
    with socket.create_connection(swing.address) as rebound:
        assert refused(swing.url.replace(host, "evil.example"), sock=rebound)
    with socket.create_connection(swing.address) as own:
        assert not refused(swing.url.replace(host, "localhost"), sock=own)
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
        path += f"?{urlsplit(swing.url).query}"
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {swing.address[0]}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer and (more := raw.recv(4096)):
            answer += more
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"root:" not in answer and b"live page" not in answer
