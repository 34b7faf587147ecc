"""Messages that no page of ours would send: nothing is let in, and the simulation goes on."""

from __future__ import annotations

import pytest
from nonsense import BODY, NONSENSE, pull
from raw_client import RawClient, camera, encoded, goes_on
from websockets.exceptions import ConnectionClosed

NAN = float("nan")


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_costs_its_sender_the_connection_at_most(swing, name):
    before = goes_on(swing.url)
    with RawClient(swing.url) as client:
        client.until_loaded()
        try:
            client.socket.send(NONSENSE[name])
            for _ in range(5):
                client.read()
        except ConnectionClosed:
            pass
    assert goes_on(swing.url) > before


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
        client.until_driving()
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
        client.until_driving()
        good = client.value(label)
        client.values.clear()
        client.turn(label, value)
        client.until(lambda: client.controls[label] in client.values, "the value that holds")
        assert client.value(label) == good
    with RawClient(swing.url) as later:
        assert later.until_driving().value(label) == good  # all that was there before has come


@pytest.mark.parametrize("attribute", ["props", "removed", "update_cb", "disabled", "label"])
def test_nothing_but_values_can_be_set(swing, attribute):
    with RawClient(swing.url) as client:
        client.until_driving()
        uuid = client.controls["Iterations"]
        client.values.clear()
        changes = {attribute: ["boom"]}
        client.socket.send(encoded("GuiUpdateMessage", uuid=uuid, updates=changes))
        client.until(lambda: uuid in client.values, "the value that holds")
    with RawClient(swing.url) as later:
        later.until_driving()
        wanted = 11 if later.value("Iterations") != 11 else 12
        later.turn("Iterations", wanted)  # it is still a control, for whoever comes next
        with RawClient(swing.url) as watcher:
            watcher.until_loaded()
            watcher.until(lambda: watcher.value("Iterations") == wanted, "the new value")


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


def test_greetings_without_sense(swing):
    with RawClient(swing.url, greet=False) as client:
        client.read()
        client.socket.send(camera().replace(b"ViewerCamera", b"ViewerCanary"))
        with pytest.raises(ConnectionClosed):
            while True:
                client.read()
    assert goes_on(swing.url) > 0.0
