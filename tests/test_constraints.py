"""The versions that `make` installs: all that is needed, each once, and none that is refused."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PINNED = {
    canonicalize_name(line.partition("==")[0]): line.partition("==")[2]
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]
NEEDED += [
    Requirement(text)
    for extra in ("contact", "molecules", "tets", "render", "usd", "view", "sweep", "test", "check")
    for text in EXTRAS[extra]
    if not text.startswith("stiffly[")
]


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: needed.name)
def test_what_the_project_needs_is_pinned_within_its_bounds(needed):
    assert needed.specifier.contains(PINNED[canonicalize_name(needed.name)])


def test_every_line_is_one_version_and_no_name_comes_twice():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in named)
    assert len(named) == len(PINNED)


def test_libraries_used_from_within_have_upper_bounds():
    """viser and its sockets are guarded from within, and kernels are written inside numba: another
    version is another inside."""
    numba = next(needed for needed in NEEDED if needed.name == "numba")
    for needed in (numba, *map(Requirement, EXTRAS["view"])):
        assert any(part.operator == "<" for part in needed.specifier), needed
        assert needed.specifier.contains(version(needed.name))


def test_what_is_locked_by_hash_are_these_versions_of_all_that_tests_need():
    lines = (ROOT / "hashes.txt").read_text().splitlines()
    named = [line for line in lines if not line.startswith("#")]
    form = re.compile(r"([\w.-]+)==([\w.]+) --hash=sha256:[0-9a-f]{64}")
    locked = {canonicalize_name(m[1]): m[2] for line in named if (m := form.fullmatch(line))}
    assert len(locked) == len(named)
    built_with = {"setuptools"}
    assert all(PINNED[name] == locked[name] for name in locked.keys() - built_with)
    not_for_tests = {canonicalize_name(Requirement(text).name) for text in EXTRAS["check"]}
    wanted = {canonicalize_name(needed.name) for needed in NEEDED} | built_with
    assert wanted - not_for_tests <= locked.keys()
