"""A whole page, simulation and server, with a client that is no browser."""

import os
import shutil
import threading
import time
import urllib.request
from types import SimpleNamespace

import numpy as np
import own_loop
import pytest
from browser.raw_client import RawClient
from live_scenes import little_cloth

from stiffly import Recording, scenes, simulate
from stiffly.errors import InputError
from stiffly.integrators import options
from stiffly.scenes.adjust import adjustable
from stiffly.view import FLAT, lessons, serve
from stiffly.view.page import live
from stiffly.view.page.controls import Controls, entry, named
from stiffly.view.page.live import menu
from stiffly.view.page.server import free_port
from stiffly.view.settings import Settings

BODY = "/lane-0/body-0"


def opened(view):
    return RawClient(view.url, close_timeout=0.2).until_loaded()


def wait_for(client, look, what="it"):
    """Read on, as a browser does, until it is so."""
    return client.until(look, what)


def worker(view):
    return view._page._worker


def test_a_page_shows_the_body_where_the_simulation_has_it(capfd):
    before = set(threading.enumerate())
    with serve(little_cloth()) as view, opened(view) as client:
        first = client.vertices[BODY]
        wait_for(client, lambda: not np.array_equal(client.vertices[BODY], first), "a motion")
        worker(view).pause()
        wait_for(client, lambda: "paused" in client.clock(), "the pause")
        place, now = view._page._figures.place, worker(view).latest.lanes[0].positions
        expected = place.on_page(now)  # every particle of this cloth is on its surface
        wait_for(client, lambda: np.allclose(client.vertices[BODY], expected, atol=1e-6), "rest")
        port = view._page.server.port
    assert free_port("127.0.0.1", port) == port
    deadline = time.monotonic() + 300.0
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left and capfd.readouterr() == ("", "")


def test_controls_change_the_running_simulation():
    with serve(little_cloth()) as view, opened(view) as client:
        stage = worker(view).stage
        client.turn("Gravity [m/s²]", 3.0)
        wait_for(client, lambda: stage.settings.gravity == 3.0)
        client.turn("Stiffness ×1", 1.0)
        wait_for(client, lambda: stage.settings.stiffness == pytest.approx(10.0))
        client.turn("Step [ms]", 5.0)
        wait_for(client, lambda: stage.settings.step == pytest.approx(0.005))
        client.choose("Beside it (2)", "bdf1")
        wait_for(client, lambda: stage.settings.integrators == ("realtime", "bdf1"))
        wait_for(client, lambda: "/lane-1/body-0" in client.vertices, "the second body")
        client.choose("Integrator", "verlet")
        wait_for(client, lambda: stage.settings.integrators == ("verlet", "bdf1"))
        assert stage.settings.gravity == 3.0 and worker(view).stage is stage
        client.turn("Time", "Pause")
        wait_for(client, lambda: not worker(view).playing)
        serial = worker(view).latest.serial
        client.turn("Time", "Step")
        wait_for(client, lambda: worker(view).latest.serial > serial)
        client.turn("Time", "Reset")
        wait_for(client, lambda: worker(view).latest.t == 0.0)


def test_what_cannot_be_is_refused_with_a_note_and_the_control_goes_back():
    with serve(little_cloth()) as view, opened(view) as client:
        stage = worker(view).stage
        client.turn("Step [ms]", 1e-6)  # millions of steps in a frame
        notes, back = [], []

        def told():
            for message in client.read():
                if message["type"] == "NotificationShowMessage":
                    notes.append(message["props"])
                if message.get("updates") == {"value": 33.0}:
                    back.append(message)
            return notes and back

        deadline = time.monotonic() + 300.0
        while not told():
            assert time.monotonic() < deadline
        assert "steps in a frame" in notes[0]["body"] and stage.settings.step == 0.033


def test_pulling_puts_energy_in_and_letting_go_ends_it():
    with serve(little_cloth()) as view, opened(view) as client:
        start = client.vertices[BODY][40] + view._page._figures.place.offsets[0]
        client.pull("start", BODY, start, start)
        wait_for(client, lambda: len(worker(view).latest.lanes[0].hand))
        client.pull("update", BODY, start, start + np.array([0.0, 1.0, 0.0]))
        wait_for(client, lambda: worker(view).latest.lanes[0].energies.get("hand", 0.0) > 0.0)
        client.pull("end", BODY, start, start)
        wait_for(client, lambda: not len(worker(view).latest.lanes[0].hand))


def test_who_goes_away_in_the_middle_of_a_pull_lets_go():
    with serve(little_cloth()) as view, opened(view) as watcher:
        with opened(view) as client:
            wait_for(watcher, lambda: len(view._page.clients) == 2)
            view._page.clients.give(1)
            start = client.vertices[BODY][40]
            client.pull("start", BODY, start, start)
            wait_for(watcher, lambda: len(worker(view).latest.lanes[0].hand))
        wait_for(watcher, lambda: not len(worker(view).latest.lanes[0].hand))
        wait_for(watcher, lambda: view._page.clients.drives(0))


def test_who_loses_the_wheel_lets_go():
    with serve(little_cloth()) as view, opened(view) as first, opened(view) as second:
        wait_for(first, lambda: len(view._page.clients) == 2)
        start = first.vertices[BODY][40]
        first.pull("start", BODY, start, start)
        wait_for(first, lambda: len(worker(view).latest.lanes[0].hand))
        wait_for(second, lambda: "Take the wheel" in second.controls)
        second.turn("Take the wheel", True)
        wait_for(second, lambda: not len(worker(view).latest.lanes[0].hand))
        assert view._page.clients.drives(1)


def test_another_scene_is_built_aside_and_takes_over():
    with serve(little_cloth(), small=True) as view, opened(view) as client:
        client.choose("Beside it (2)", "bdf1")
        wait_for(client, lambda: len(worker(view).stage.lanes) == 2)
        client.turn("Scene", "rope")
        wait_for(client, lambda: worker(view).stage.scene.name == "rope", "the rope")
        names = worker(view).stage.settings.integrators
        assert names == (scenes.load("rope", small=True).integrator, "bdf1")
        wait_for(client, lambda: len(client.vertices[BODY]) == 19 * 2 * 8, "its tubes")


def test_a_scene_that_cannot_be_built_leaves_the_old_one_running(monkeypatch):
    def failing(page, name, small):
        raise InputError(f"{name} is too heavy today: take a smaller one")

    monkeypatch.setattr(live.LivePage, "_built", failing)
    with serve(little_cloth()) as view, opened(view) as client:
        client.turn("Scene", "rope")
        notes = []
        deadline = time.monotonic() + 300.0
        while not notes:
            assert time.monotonic() < deadline
            notes += [m for m in client.read() if m["type"] == "NotificationShowMessage"]
        assert "too heavy today" in notes[0]["props"]["body"]
        serial = worker(view).latest.serial
        wait_for(client, lambda: worker(view).latest.serial > serial + 3)
        assert worker(view).stage.scene.name == "cloth"
        wait_for(client, lambda: view._page.controls.scene.value == "cloth")


def test_saving_writes_to_the_folder_that_was_named(tmp_path):
    with serve(little_cloth(), out=tmp_path / "kept") as view, opened(view) as client:
        wait_for(client, lambda: worker(view).latest.serial > 5)
        client.turn("Save", "Scene file")
        file = tmp_path / "kept" / "cloth.toml"
        wait_for(client, file.exists, "the scene file")
        client.turn("Save", "Last seconds")
        folder = tmp_path / "kept" / "cloth-realtime"
        wait_for(client, (folder / "summary.json").exists, "the recording")
    assert len(Recording(folder)) > 2 and Recording(folder).complete
    assert sorted(p.name for p in tmp_path.rglob("*") if p.parent == tmp_path) == ["kept"]


# ------------------------------------------------------------------ recordings


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "cloth"
    scene = scenes.load("cloth", resolution=7, duration=1.32, integrator="bdf1")
    simulate(scene, out=folder)
    return folder


def shown_frame(recording, client, view):
    """Which frame the client sees."""
    page = view._page._figures.place.on_page
    seen = client.vertices[BODY]
    fits = [np.allclose(page(np.asarray(x)), seen, atol=1e-6) for x in recording.positions]
    return fits.index(True) if True in fits else None


def test_a_recording_is_played_and_its_slider_leads_anywhere(recorded):
    recording = Recording(recorded)
    with serve(recording) as view, RawClient(view.url, close_timeout=0.2) as client:
        wait_for(client, lambda: "Frame" in client.controls and BODY in client.vertices)
        client.turn("Time", "Pause")
        for frame in (30, 3, len(recording) - 1):
            client.turn("Frame", frame)
            wait_for(client, lambda n=frame: shown_frame(recording, client, view) == n, "a frame")
        client.turn("Time", "To the start")
        wait_for(client, lambda: shown_frame(recording, client, view) == 0)
        client.turn("Time", "Play")
        wait_for(client, lambda: (shown_frame(recording, client, view) or 0) > 5)


def test_what_happens_to_the_file_is_said_on_the_page(recorded, tmp_path):
    folder = shutil.copytree(recorded, tmp_path / "cut")
    with serve(Recording(folder)) as view, RawClient(view.url, close_timeout=0.2) as client:
        wait_for(client, lambda: "Frame" in client.controls and client.clock())
        client.turn("Time", "Pause")
        with open(folder / "recording.vtkhdf", "r+b") as file:
            file.truncate(os.path.getsize(folder / "recording.vtkhdf") // 4)
        client.turn("Frame", 20)
        wait_for(
            client, lambda: any("damaged, or gone" in t for t in client.texts.values()), "a word"
        )


# ------------------------------------------------------------------ what there is to choose


def test_every_scene_of_the_list_has_a_body_in_space_and_the_others_have_none():
    for name in scenes.NAMES:
        small = scenes.entry(name).small
        if name in FLAT:
            assert scenes.load(name, small=True).x0.ndim == 1
        elif name in ("rope", "molecule", "bacterium", "single-spring", "pylon"):
            assert scenes.load(name, small=True).x0.ndim == 2 and small is not None


class Handle(SimpleNamespace):
    def on_update(self, callback):
        self.callback = callback


class ButtonGroup(SimpleNamespace):
    def on_click(self, callback):
        self.callback = callback


class Gui:
    def __init__(self):
        self.styles = []

    def add_folder(self, _):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_button_group(self, label, options, **_):
        return ButtonGroup(label=label, options=options, value=options[0])

    def add_html(self, text):
        self.styles.append(text)

    def add_dropdown(self, label, options, initial_value=None, **_):
        return Handle(label=label, options=options, value=initial_value or options[0])

    def add_checkbox(self, label, value, **_):
        return Handle(label=label, value=value, disabled=False)

    def add_slider(self, label, low, high, step, value, **given):
        impl = SimpleNamespace(uuid=label)
        return Handle(label=label, min=low, max=high, value=value, disabled=False, _impl=impl)

    def add_number(self, label, value, **given):
        return Handle(label=label, value=value, disabled=False, min=given.get("min"),
                      max=given.get("max"))  # fmt: skip


def test_only_controls_that_mean_something_can_be_turned():
    controls = Controls(Gui(), ["cloth"], menu(), print, print, print)
    scene = little_cloth()
    for names in (("realtime",), ("bdf1",), ("projective", "stabilised")):
        known = set(adjustable(scene)).union(*map(options, names))
        settings = Settings(integrators=names, step=2e-5, gravity=100.0)
        controls.adopt(settings, known, 1.0)
        assert controls.tolerance.handle.disabled == ("tolerance" not in known)
        assert controls.iterations.disabled == ("iterations" not in known)
        assert controls.budget.disabled  # no limit is set
    assert controls.step.label == "Step [µs]" and controls.step.value == pytest.approx(20.0)
    assert controls.gravity.value == controls.gravity.max  # the slider ends there
    shown = [handle.value for handle in controls.methods]
    assert [named(value) for value in shown] == ["projective", "stabilised", "none"]
    assert shown[0] == "projective: backward Euler, by ten local/global iterations"
    controls.adopt(Settings(("stabilised:bdf1",), 0.1), set(), 1.0)
    assert controls.methods[0].value == "stabilised:bdf1"  # a name that is not in the list


def test_sliders_over_powers_of_ten_say_the_number_itself():
    turned = []
    gui = Gui()
    controls = Controls(gui, ["cloth"], menu(), print, lambda **s: turned.append(s), print)
    controls.adopt(Settings(("realtime",), 0.01, speed=0.02, stiffness=100.0), set(), 0.2)
    assert controls.speed.handle.label == "Speed ×0.02"
    assert controls.speed.handle.value == pytest.approx(-1.0)  # a tenth of the scene's own
    assert controls.stiffness.handle.label == "Stiffness ×100"
    handle = controls.speed.handle
    handle.value = 1.0
    own_loop.run(handle.callback(SimpleNamespace(client=1, target=handle)))
    assert turned == [{"speed": pytest.approx(2.0)}] and handle.label == "Speed ×2"
    hidden = [style for style in gui.styles if "display: none" in style]
    assert len(hidden) == 3  # boxes that would show powers of ten
    assert '[id="Speed ×1"] + *' in hidden[0]


@pytest.mark.parametrize("name", menu())
def test_every_method_of_the_menu_has_a_few_words_and_is_found_again(name):
    what = menu()[name]
    assert 5 < len(what) < 70 and named(entry(name, what)) == name


# ------------------------------------------------------------------ the beginning


def test_time_begins_when_somebody_looks():
    with serve(little_cloth()) as view:
        page = worker(view)
        for _ in range(9):  # as often as it looks whether to take a frame, which is due all along
            done = threading.Event()
            page.post(lambda stage, done=done: done.set())
            assert done.wait(300.0)
        assert page.latest.t == 0.0 and not page.playing
        with opened(view) as client:
            wait_for(client, lambda: page.latest.t > 0.1, "time to begin")
            client.turn("Time", "Pause")
            wait_for(client, lambda: not page.playing)
        with opened(view) as client:  # only the first of all begins it
            wait_for(client, lambda: "paused" in client.clock(), "the pause")
            assert not page.playing


def test_who_pulls_in_a_pause_is_told_that_time_stands_still():
    with serve(little_cloth()) as view, opened(view) as client:
        client.turn("Time", "Pause")
        wait_for(client, lambda: not worker(view).playing)
        said = lambda: "time stands still" in "".join(client.texts.values())  # noqa: E731
        assert not said()
        start = client.vertices[BODY].mean(axis=0)
        client.pull("start", BODY, start, start)
        wait_for(client, said, "the note")
        client.turn("Time", "Play")
        wait_for(client, lambda: not said(), "the note to go")


# ------------------------------------------------------------------ links and lessons


def text(client):
    return "".join(client.texts.values())


def test_a_link_carries_the_settings():
    with serve(little_cloth()) as view, opened(view) as client:
        wait_for(client, lambda: "While this server runs:" in text(client), "the link")
        link = f"{view.url}&scene=bar&small=1&integrators=bdf1,verlet&step=0.005&gravity=3.5"
        client.close()
        urllib.request.urlopen(link).read()
        with opened(view) as visitor:
            wait_for(visitor, lambda: worker(view).stage.scene.name == "bar", "the bar")
            now = worker(view).stage.settings
            assert now.integrators == ("bdf1", "verlet")
            assert (now.step, now.gravity, now.stiffness) == (0.005, 3.5, 1.0)
            wait_for(visitor, lambda: visitor.value("Scene") == "bar", "its name")
            said = "stiffly view bar --small --integrator bdf1 --integrator verlet --step 0.005"
            wait_for(visitor, lambda: said in text(visitor), "the command")


@pytest.mark.parametrize(
    "asked", ["scene=/etc/passwd", "scene=cloth&step=x", "scene=bar&gravity=nan"]
)
def test_a_link_that_asks_for_what_cannot_be_changes_nothing(asked):
    with serve(little_cloth()) as view:
        urllib.request.urlopen(f"{view.url}&{asked}").read()
        with opened(view) as client:
            stage = worker(view).stage
            wait_for(client, lambda: client.notes, "a note")
            assert worker(view).stage is stage


def test_a_link_of_who_only_watches_changes_nothing():
    with serve(little_cloth()) as view, opened(view) as client:
        urllib.request.urlopen(f"{view.url}&scene=bar&small=1").read()
        with opened(view):
            wait_for(client, lambda: "The settings of this link" in client.notes, "the note")
            assert worker(view).stage.scene.name != "bar"


def test_a_lesson_sets_up_the_page_and_has_next_and_back():
    with serve(scenes.load("pylon", small=True), small=True, lesson="verlet") as view:
        assert not worker(view).playing  # nobody is there yet
        with opened(view) as client:
            pages = lessons.lesson("verlet").pages
            wait_for(client, lambda: pages[0].text[:40] in text(client), "the first page")
            wait_for(client, lambda: worker(view).stage.settings.step == pages[0].settings["step"])
            client.turn("Page", "Next")
            wait_for(client, lambda: "page 2 of 3" in text(client), "the second page")
            wait_for(client, lambda: worker(view).stage.settings.step == 0.05)
            assert worker(view).stage.settings.integrators == ("energy-momentum", "verlet")
            wait_for(client, lambda: "verlet stopped" in text(client), "Verlet to fail")
            client.turn("Page", "Back")
            wait_for(client, lambda: "page 1 of 3" in text(client), "the first page again")
            client.turn("Lesson", "none")
            wait_for(client, lambda: view._page.teacher.menu.value == "none")


def test_colours_follow_speed_and_strain():
    with serve(little_cloth()) as view, opened(view) as client:
        client.turn("Colour by", "strain")
        wait_for(client, lambda: "mean strain" in text(client), "the scale")
        wait_for(client, lambda: f"{BODY}-4" in client.vertices, "levels of colour")
        client.turn("Colour by", "speed")
        wait_for(client, lambda: "m/s" in text(client), "the other scale")
        client.turn("Colour by", "plain")
        wait_for(client, lambda: "m/s" not in text(client), "no scale")


def test_every_scene_has_a_picture_and_a_button():
    with serve(little_cloth()) as view, opened(view) as client:
        shown = [name for name in scenes.NAMES if name not in FLAT]
        assert text(client).count("data:image/jpeg;base64,") == len(shown)
        client.turn("Show bar", True)
        wait_for(client, lambda: worker(view).stage.scene.name == "bar", "the bar")
