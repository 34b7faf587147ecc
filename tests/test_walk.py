"""The way from a command to its first kernel is short, and docs/architecture.md names its hops."""

import importlib.util
from pathlib import Path

FILE = Path(__file__).parent.parent / "docs" / "images" / "walk.py"
MOST = 18


def load():
    spec = importlib.util.spec_from_file_location("walk", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_walk_is_short_and_as_the_page_has_it():
    walk = load()
    hops = walk.walk()
    assert hops[0] == "cli/__init__.py: main" and hops[-1].startswith("kernels")
    assert sum(hop.startswith("kernels") for hop in hops) == 1  # the first one
    assert len(hops) - 1 <= MOST
    said = "run: python docs/images/walk.py"
    assert walk.listed(walk.PAGE.read_text()) == hops, said
    for room in ("run", "integrators", "solvers", "system", "parts"):  # none is left out
        assert any(hop.startswith(f"{room}/") for hop in hops)


def test_a_detour_would_be_counted():
    """The count is of calls under way, whoever makes them."""
    walk = load()
    plain = walk.main

    def main(command):
        return plain(command)

    main.__code__ = main.__code__.replace(
        co_filename=str(walk.ROOT / "cli" / "__init__.py"), co_qualname="main"
    )
    short = walk.walk()
    walk.main = main
    assert len(walk.walk()) == len(short) + 1
