"""Pulling at the body: which vertex, how far, and who may."""

from types import SimpleNamespace

import numpy as np
import own_loop
import pytest

from stiffly.view.page.drag import Drag
from stiffly.view.page.place import place_lanes

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.5]])
PLACE = place_lanes(X, 2)


class Node:
    def on_drag(self, button):
        assert button == "left"
        return lambda callback: setattr(self, "callback", callback)


class Hand:
    """What was asked of the worker."""

    def __init__(self):
        self.orders = []

    def grab(self, vertex):
        self.orders.append(("grab", vertex))

    def drag(self, offset):
        self.orders.append(("drag", tuple(np.round(offset, 9))))

    def drop(self):
        self.orders.append(("drop",))


class Pull:
    def __init__(self, driver=1):
        self.hand, self.node, self.refused = Hand(), Node(), []
        self.driver = driver
        who = {"drives": lambda client: client == self.driver, "refuse": self.refused.append}
        self.drag = Drag(SimpleNamespace(**who), self.hand)
        self.drag.listen(self.node, 1, PLACE, lambda lane: X.astype(np.float32))

    def event(self, phase, start, end, client=1):
        event = SimpleNamespace(
            phase=phase, start_position=start, end_position=end, client_id=client
        )
        own_loop.run(self.node.callback(event))


def on_page(point):
    """Where a point of the scene is seen in the second lane."""
    return tuple(PLACE.on_page(np.array([point]))[0] + PLACE.offsets[1])


def test_the_nearest_vertex_is_pulled_as_far_as_the_pointer_goes():
    pull, start = Pull(), on_page([1.1, 0.0, 0.1])
    pull.event("start", start, start)
    end = on_page([1.1, 0.0, 0.6])
    pull.event("update", start, end)
    pull.event("end", start, end)
    kinds = [order[0] for order in pull.hand.orders]
    assert kinds == ["grab", "drag", "drop"] and pull.hand.orders[0] == ("grab", 1)
    np.testing.assert_allclose(pull.hand.orders[1][1], [0.0, 0.0, 0.5], atol=1e-6)


def test_watchers_pull_nothing():
    pull, start = Pull(), on_page([0.0, 0.0, 0.0])
    for phase in ("start", "update", "end"):
        pull.event(phase, start, start, client=2)
    assert pull.hand.orders == [] and pull.refused == [2]


def test_another_browser_cannot_end_a_pull_and_who_leaves_lets_go():
    pull, start = Pull(), on_page([0.0, 0.0, 0.0])
    pull.event("start", start, start)
    pull.event("end", start, start, client=2)
    pull.drag.lets_go(2)
    assert pull.hand.orders == [("grab", 0)]
    pull.drag.lets_go(1)
    pull.drag.lets_go(1)
    assert pull.hand.orders == [("grab", 0), ("drop",)]


def test_who_has_lost_the_wheel_pulls_no_longer():
    pull, start = Pull(), on_page([0.0, 0.0, 0.0])
    pull.event("start", start, start)
    pull.driver = 2
    for phase in ("update", "update", "end"):
        pull.event(phase, start, on_page([0.0, 0.0, 1.0]))
    assert pull.hand.orders == [("grab", 0), ("drop",)]


@pytest.mark.parametrize("bad", [(np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0)])
def test_positions_that_are_no_numbers_are_left_out(bad):
    pull, start = Pull(), on_page([0.0, 0.0, 0.0])
    pull.event("start", bad, bad)
    assert pull.hand.orders == []
    pull.event("start", start, start)
    pull.event("update", start, bad)
    pull.event("dance", start, start)
    assert pull.hand.orders == [("grab", 0)]
