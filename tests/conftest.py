"""Which tests run in the same process where several processes share them (--dist loadgroup).

pytest-xdist 3.8 cannot see its own marks, xdist_group, with pytest 9.2, and says nothing: set-ups
of a module would be made in every process.  So files are grouped here, by their names.
"""

from __future__ import annotations

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
TOGETHER = ("test_demo", "test_examples", "test_lab")  # beginnings of names: a group for each file


def group(nodeid: str) -> str:
    """The group of a test; the test itself where it may run anywhere."""
    path = PurePosixPath(nodeid.partition("::")[0])
    if "browser" in path.parts:  # a browser that draws in software fills a machine
        return "browser"
    return path.stem if path.stem.startswith(TOGETHER) else GROUPS.get(path.stem, nodeid)


@pytest.hookimpl(optionalhook=True)  # only where pytest-xdist is installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return ByFile(config, log)
