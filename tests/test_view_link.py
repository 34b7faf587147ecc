"""Settings in an address, and as a command: what was set comes back."""

from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stiffly import InputError
from stiffly.view.link import command, query, wish
from stiffly.view.settings import Settings

OWN = Settings(integrators=("realtime",), step=0.033)
METHODS = ("bdf1", "eti:gautschi:two-step", "stabilised:no-spin", "verlet")
number = st.floats(1e-3, 1e3)
SETTINGS = st.builds(
    Settings,
    integrators=st.lists(st.sampled_from(METHODS), min_size=1, max_size=3).map(tuple),
    step=st.floats(1e-3, 1.0),
    speed=st.floats(0.01, 10.0),
    stiffness=number,
    damping=number,
    gravity=number,
    wind=number,
    tolerance=st.floats(1e-5, 1.0),
    iterations=st.integers(1, 100),
    budget=st.none() | st.floats(1e-3, 1.0),
)


def pairs(text):
    return {key: values[-1] for key, values in parse_qs(text).items()}


@given(now=SETTINGS, own=SETTINGS, small=st.booleans())
def test_what_an_address_says_is_what_was_set(now, own, small):
    found = wish(pairs("token=t&" + query("cloth", small, now, own)))
    assert found is not None and (found.scene, found.small) == ("cloth", small)
    assert found.settings(own) == now


def test_only_what_is_other_than_the_scenes_own_is_said():
    assert query("cloth", True, OWN, OWN) == "scene=cloth&small=1"
    two = replace(OWN, integrators=("realtime", "bdf1"), stiffness=10.0)
    assert query("bar", False, two, OWN) == (
        "scene=bar&small=0&integrators=realtime,bdf1&stiffness=10.0"
    )
    assert wish({"token": "t"}) is None


@pytest.mark.parametrize(
    "text, said",
    [
        ("scene=cloth&stifness=2", "did you mean stiffness?"),
        ("scene=cloth&step=fast", "step=fast in the link: give a number"),
        ("scene=cloth&small=yes", "small=yes in the link: give 1 or 0"),
        ("scene=cloth&iterations=2.5", "iterations=2.5 in the link"),
    ],
)
def test_what_cannot_be_meant_is_said(text, said):
    with pytest.raises(InputError) as found:
        wish(pairs(text))
    assert said in str(found.value)


@pytest.mark.parametrize("text", ["scene=cloth&step=-1", "scene=cloth&gravity=nan"])
def test_numbers_that_no_control_would_take_are_refused(text):
    found = wish(pairs(text))
    with pytest.raises(InputError):
        found.settings(OWN)


def test_a_command_begins_with_the_same_settings():
    """The page that it starts has them: read by the command line's own way in."""
    from stiffly.cli.view import _scene

    own = _scene("cloth", options(["--small"]))[1]
    now = replace(own, integrators=("realtime", "bdf1"), step=0.02, gravity=3.0, wind=4.0)
    now = replace(now, tolerance=0.1, budget=0.02)
    text = command("cloth", True, now, own)
    words = text.split()
    assert words[:4] == ["stiffly", "view", "cloth", "--small"]
    scene, settings = _scene("cloth", options(words[3:]))
    assert settings == now and scene.adjust == {"gravity": 3.0, "wind": 4.0}


def options(words):
    """As `stiffly view` hands them on."""
    given = {"--integrator": (), "--step": None, "--small": False, "--variant": None}
    given |= {"--set": None, "--budget": None}
    words = iter(words)
    for word in words:
        if word == "--small":
            given[word] = True
        elif word in ("--step", "--budget"):
            given[word] = float(next(words))
        elif word == "--integrator":
            given[word] += (next(words),)
        else:
            given[word] = [*(given[word] or []), next(words)]
    return given
