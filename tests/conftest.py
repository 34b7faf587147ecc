"""Which tests run in the same process where several processes share them (--dist loadgroup).

Those of a file do: what they share, runs and reference solutions, is computed once.  Files that
take long come first, so that none is left to one process at the end.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import settings
from thinned import PROFILE

# The same examples on every machine and every day: a test that fails, fails for whoever changed
# something.  HYPOTHESIS_PROFILE=all draws more of them (see thinned.py), =search draws others.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("all", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=500, deadline=None)
settings.load_profile(PROFILE)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is computed in tests is not taken from, nor left in, the user's folder for caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STIFFLY_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("STIFFLY_LAB_UNLIMITED", "1")  # no test depends on how fast the machine is
        yield


@pytest.fixture(autouse=True, scope="session")
def heard() -> Iterator[None]:
    """Signals are, also where the tests run in the background: shells have those ignore Ctrl-C."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the lab's time limits themselves."""
    monkeypatch.delenv("STIFFLY_LAB_UNLIMITED")


# A fresh clone compiles its kernels, minutes of it, and the first to need one compiles it.  Groups
# of many tests are run first: two processes compile a half each, instead of both of them the same.
COMPILING = {
    "kernels of solids and contact": (
        "test_closest",
        "test_discrete_gradient",
        "test_discrete_gradient_tets",
        "test_kernels_tets",
        "test_local_global",
        "test_stokes",
        "test_tetrahedra",
    ),
    "kernels of springs and atoms": (
        "test_discrete_gradient_atoms",
        "test_discrete_gradient_springs",
        "test_face_springs",
        "test_kernels_blocks",
        "test_kernels_bodies",
        "test_kernels_springs",
        "test_lennard_jones",
        "test_springs",
    ),
}
GROUPS = {name: group for group, names in COMPILING.items() for name in names}
LONG = (  # ten seconds of a processor and more, and those that wait for a browser
    "browser",
    "test_examples",
    "test_order",
    "test_cli_process",
    "test_tetrahedralise",
    "test_supports",
    "test_demo",
    "test_lab_gautschi",
    "test_scenes_cloth",
)
FIRST = {name: place for place, name in enumerate((*COMPILING, *LONG))}
APART = {  # minutes in the slow run, of tests that share nothing
    "test_attack_recordings",
    "test_contact_passive",
    "test_energy_momentum",
    "test_kernel_cache",
    "test_never_explodes",
    "test_resume_killed",
    "test_scene_files",
    "test_stabilised_random",
    "test_stable_scenes",
}


def file_of(nodeid: str) -> str:
    path = PurePosixPath(nodeid.partition("::")[0])
    return "browser" if "browser" in path.parts else path.stem  # it fills a machine by drawing


def group(nodeid: str) -> str:
    """The group of a test: its file, a few files, all that need a browser, or itself."""
    file = file_of(nodeid)
    return nodeid if file in APART else GROUPS.get(file, file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> tuple[int, bool]:
        return FIRST.get(group(item.nodeid), len(FIRST)), file_of(item.nodeid) not in APART

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)  # only where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # the order is that of FIRST

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return ByFile(config, log)
