"""Tables, warnings and curves of the page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from stiffly.view.page import plots as plots_module
from stiffly.view.page.plots import (
    LATE,
    MOST,
    History,
    Notice,
    Plots,
    Shelf,
    banner,
    clock,
    energy_curves,
    from_start,
    ledger,
    seconds,
)


def lane(name="verlet", **given):
    fields = {
        "energies": {"kinetic": 3.0, "elastic": 4.0},
        "added": 2.0,
        "dissipated": 1.0,
        "numerical": 0.5,
        "angular_momentum": 7.0,
        "alpha": None,
        "seconds": 0.01,
    }
    return SimpleNamespace(name=name, **{**fields, **given})


def cells(html):
    """Rows of a table: name, values."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    return [[re.sub(r"<[^>]+>", "", c) for c in re.findall(r"<t[dh].*?</t[dh]>", r)] for r in rows]


def test_the_ledger_has_a_row_for_every_part_and_a_column_for_every_lane():
    other = lane("bdf1", energies={"kinetic": 1.0, "hand": 0.25})
    rows = {row[0]: row[1:] for row in cells(ledger([lane(), other]))}
    assert rows[""] == ["verlet", "bdf1"]
    assert rows["kinetic"] == ["3 J", "1 J"] and rows["hand"] == ["0 J", "0.25 J"]
    assert rows["total"] == ["7 J", "1.25 J"]
    assert rows["added"][0] == "2 J" and rows["numerical"][0] == "0.5 J"


@pytest.mark.parametrize(
    "text",
    [
        lambda bad: ledger([lane(bad, energies={bad: 1.0})]),
        lambda bad: banner([Notice("bad", bad)]),
        lambda bad: clock([(bad, bad)]),
    ],
)
def test_names_from_scene_files_cannot_bring_markup(text):
    html = text("<img src=x onerror=alert(1)>")
    assert "<img" not in html and "&lt;img" in html


def test_a_banner_with_nothing_to_say_is_nothing():
    assert banner([]) == ""
    assert banner([Notice("warn", "slow"), Notice("bad", "stopped")]).count('role="alert"') == 2


# ------------------------------------------------------------------ curves


def test_a_history_keeps_the_last_rows_only():
    history = History(most=10)
    for k in range(1000):
        history.add(0.1 * k, {"a": float(k)})
    assert len(history) == 10
    np.testing.assert_allclose(history.times, 0.1 * np.arange(990, 1000))
    np.testing.assert_allclose(history.column("a"), np.arange(990, 1000))


def test_time_that_runs_back_begins_anew_and_the_same_time_replaces():
    history = History()
    for t in (0.0, 1.0, 2.0):
        history.add(t, {"a": t})
    history.add(2.0, {"a": 5.0})
    np.testing.assert_allclose(history.column("a"), [0.0, 1.0, 5.0])
    history.add(0.5, {"b": 1.0})
    assert len(history) == 1 and np.isnan(history.column("a")).all()


def test_gravity_begins_at_zero_and_nothing_else_does():
    values = np.array([-90.0, -89.0, -91.0])
    np.testing.assert_allclose(from_start("gravity", values), [0.0, 1.0, -1.0])
    np.testing.assert_allclose(from_start("elastic", values), values)


def test_curves_have_colours_of_their_own():
    parts = ["kinetic", "elastic", "gravity", "contact", "hand", "attachment"]
    curves = energy_curves(parts)
    assert [name for name, _ in curves] == [*parts, "added", "dissipated"]
    assert len({color for _, color in curves}) == len(curves)


class Gui:
    """Counts the plots that are there."""

    def __init__(self):
        self.made = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_uplot(self, data, series, **options):
        plot = SimpleNamespace(data=data, series=series, visible=True, **options)
        plot.remove = lambda: self.made.remove(plot)
        self.made.append(plot)
        return plot

    @property
    def plots(self):
        return [plot for plot in self.made if plot.visible]

    def titled(self, start):
        return next(plot for plot in self.plots if plot.title.startswith(start))


def snapshot(t, *lanes):
    return SimpleNamespace(t=t, lanes=lanes)


def test_plots_show_every_lane_and_stay_bounded():
    gui = Gui()
    plots = Plots(gui, gui)
    for k in range(3 * MOST):
        plots.add(snapshot(0.1 * k, lane(numerical=2e-3 * k), lane("bdf1", numerical=-1.0)), 0.02)
    plots.show()
    error = gui.titled("numerical error")
    assert error.title == "numerical error [J]"
    *named, _ = error.series[1:]
    assert [s["label"] for s in named] == ["verlet", "bdf1"]
    times, first, second, _ = error.data
    assert len(times) == MOST and first[-1] == pytest.approx(2e-3 * (3 * MOST - 1))
    assert (second == -1.0).all()
    assert "transport" in [s["label"] for s in gui.titled("time per frame").series]
    assert not any(plot.title.startswith("alpha") for plot in gui.plots)


def test_plots_follow_the_unit_and_what_comes_and_goes():
    gui = Gui()
    plots = Plots(gui, gui)
    for k in range(3):
        plots.add(snapshot(0.1 * k, lane(numerical=1e-6)), None)
    plots.show()
    assert gui.titled("numerical error").title == "numerical error [µJ]"
    count = len(gui.plots)
    held = {"kinetic": 1.0, "elastic": 1.0, "hand": 3.0}
    plots.add(snapshot(0.4, lane(numerical=5e3, energies=held, alpha=0.5)), None)
    plots.show()
    plots.add(snapshot(0.5, lane(numerical=5e3)), None)
    plots.show()
    assert gui.titled("numerical error").title == "numerical error [kJ]"
    labels = [s["label"] for s in gui.titled("energy").series]
    assert "hand" in labels and len(gui.plots) == count + 1  # alpha, and it stays
    assert gui.titled("alpha").data[1][3] == 0.5


def test_a_plot_that_is_taken_down_is_hidden_and_removed_when_nothing_can_be_on_its_way(
    monkeypatch,
):
    gui, now = Gui(), [0.0]
    monkeypatch.setattr(plots_module.time, "monotonic", lambda: now[0])
    shelf = Shelf(gui, gui)
    first, second = shelf.put((), ()), shelf.put((), ())
    shelf.take_down(first)
    assert not first.visible and first in gui.made
    now[0] = LATE + 1.0
    shelf.take_down(second)
    assert gui.made == [second] and gui.plots == []


def test_a_lane_that_joins_late_begins_there_and_the_axis_has_room_for_it():
    gui = Gui()
    plots = Plots(gui, gui)
    for k in range(4):
        plots.add(snapshot(0.1 * k, lane(numerical=1.0)), None)
    for k in range(4, 7):
        plots.add(snapshot(0.1 * k, lane(numerical=2.0), lane("bdf1", numerical=-9.0)), None)
    plots.show()
    error = gui.titled("numerical error")
    _, first, second, room = error.data
    assert np.isfinite(first).all()
    assert np.isnan(second[:4]).all() and (second[4:] == -9.0).all()
    # NaN has no range: the axis is made for a curve without one, which is not seen
    *drawn, unseen = error.series[1:]
    assert [s.get("auto", True) for s in drawn] == [False, False] and unseen.get("auto", True)
    assert unseen["stroke"] == "transparent" and (room.min(), room.max()) == (-9.0, 2.0)


def test_gravity_that_is_turned_on_late_begins_at_zero_too():
    np.testing.assert_array_equal(
        from_start("gravity", np.array([np.nan, 5.0, 7.0])), [np.nan, 0.0, 2.0]
    )


def test_the_clock_goes_on_counting_after_hours():
    assert [seconds(t) for t in (0.0333333, 17.93, 7200.5, 7200.6)] == [
        "0.0333", "17.9", "7200.5", "7200.6",
    ]  # fmt: skip
