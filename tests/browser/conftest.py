"""Chromium for the tests of the live page, and scenes small enough to be drawn in software.

Without Chromium they are skipped; STIFFLY_BROWSER=required makes its absence a failure, and
STIFFLY_CHROMIUM names a program that is not found by itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest import FixtureRequest as Request
from served import ARTEFACTS, Served

HERE = Path(__file__).parent
Visit = Callable[[str], Any]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (  # nothing goes out, nothing is asked
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # no graphics card: 3D in software, and the rest of the page without 3D (ten times as fast)
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
)
# a cube of jelly that hangs from its top, at rest: nothing moves and no energy comes or goes
# until somebody pulls; undamped, so it goes on wobbling afterwards
JELLY = """\
duration = 1.0
step = 0.02
integrator = "realtime"

[[body]]
shape = { kind = "cube", cells = 5, side = 0.2 }
elasticity = "tetrahedra"
young = 2e4
poisson = 0.3
density = 1000
pins = ["top"]
"""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    missing = _missing()
    if missing:
        if os.environ.get("STIFFLY_BROWSER") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_program(), args=list(QUIET), headless=True
        )
        yield browser
        browser.close()


def _program() -> str | None:
    named = os.environ.get("STIFFLY_CHROMIUM")
    return next(filter(None, map(shutil.which, (named,) if named else PROGRAMS)), None)


def _missing() -> str | None:
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is missing: pip install 'stiffly[test]'"
    if _program() is None:
        return "Chromium is missing: apt-get install chromium, or set STIFFLY_CHROMIUM=/path/to/it"
    return None


@pytest.fixture(scope="module")
def windows() -> Iterator[dict[str, Any]]:
    """Those of `window`, by address."""
    opened: dict[str, Any] = {}
    yield opened
    for page in opened.values():
        page.close()


@pytest.fixture
def window(chromium: Any, windows: dict[str, Any], request: Request) -> Iterator[Visit]:
    """window(url): the browser's window on that page, the same for all tests of a module.

    A window of its own for every test would spend most of the time on starting to draw.
    """
    from site_page import SitePage

    def visit(url: str) -> Any:
        if url not in windows:
            windows[url] = SitePage(chromium, url)
        return windows[url]

    yield visit
    for page in windows.values():
        page.keep(ARTEFACTS / f"{request.node.name}.png")


@pytest.fixture
def another(chromium: Any, request: Request) -> Iterator[Visit]:
    """another(url): one more window, which is closed after the test."""
    from site_page import SitePage

    opened: list[Any] = []

    def visit(url: str) -> Any:
        opened.append(SitePage(chromium, url))
        return opened[-1]

    yield visit
    for number, page in enumerate(opened, 1):
        page.keep(ARTEFACTS / f"{request.node.name}-{number}.png")
        page.close()


@pytest.fixture(scope="module")
def jelly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The jelly on a page that all tests of a module use, one after the other."""
    folder = tmp_path_factory.mktemp("jelly")
    (folder / "jelly.toml").write_text(JELLY)
    with Served("jelly.toml", "--out", "kept", folder=folder) as served:
        yield served


@pytest.fixture(scope="module")
def swing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A bar that bounces for ever: time and energies change all the while."""
    with Served("bar", "--small", folder=tmp_path_factory.mktemp("swing")) as served:
        yield served
