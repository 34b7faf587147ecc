"""50 clients of which ten are hostile; the command in page_clients.py goes on for longer."""

import pytest
from page_clients import attack


@pytest.mark.slow
def test_a_page_with_hostile_clients_keeps_its_memory_and_sends_frames():
    found = attack(iter(range(60)))
    assert found.end - found.start < 200.0, found
    assert found.most - found.start < 200.0, found
    assert found.frames > 0
