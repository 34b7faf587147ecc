"""What is published: one version everywhere, files that belong to it, a release that refuses."""

import importlib.util
import subprocess
import sys
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def release():
    path = ROOT / ".ci" / "release"
    spec = importlib.util.spec_from_loader("release", SourceFileLoader("release", str(path)))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(release, tmp_path):
    """Only what has the version in it, in a repository of its own."""
    for name in [*release.PLACES, "CHANGELOG.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    for command in (
        "init -q",
        "config user.name tester",
        "config user.email tester@localhost",
        "add .",
        "commit -qm all",
    ):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    return tmp_path


def test_one_version_everywhere(release):
    found = release.versions(ROOT)
    assert all(found.values()) and len(set().union(*found.values())) == 1, found


def test_a_release_is_one_version_a_commit_and_a_tag(release, project):
    assert release.main(project, "9.8.7") == 0
    assert set().union(*release.versions(project).values()) == {"9.8.7"}
    assert "## 9.8.7 (" in (project / "CHANGELOG.md").read_text()
    tags = subprocess.run(["git", "tag"], cwd=project, capture_output=True, text=True)
    assert tags.stdout.split() == ["v9.8.7"]


def test_nothing_new_is_not_released(release, project, capsys):
    """Not even right after a release that was one."""
    assert release.main(project, "9.8.7") == 0
    assert release.main(project, "9.8.8") == 2
    assert "nothing under '## Unreleased'" in capsys.readouterr().err
    assert set().union(*release.versions(project).values()) == {"9.8.7"}


def test_a_tag_that_is_there_is_not_given_twice(release, project, capsys):
    subprocess.run(["git", "tag", "v9.8.7"], cwd=project, check=True)
    assert release.main(project, "9.8.7") == 2
    assert "v9.8.7 is there" in capsys.readouterr().err


def test_a_git_that_knows_nobody_is_told_before_anything_is_written(
    release, project, capsys, monkeypatch
):
    subprocess.run(["git", "config", "--unset", "user.email"], cwd=project, check=True)
    subprocess.run(["git", "config", "user.useConfigOnly", "true"], cwd=project, check=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("EMAIL", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    before = (project / "pyproject.toml").read_text()
    assert release.main(project, "9.8.7") == 2
    assert "no name to commit as" in capsys.readouterr().err
    assert (project / "pyproject.toml").read_text() == before


@pytest.mark.parametrize(
    "version, words", [("", "which version?"), ("1.2", "no version"), ("0.0.1", "is not above")]
)
def test_what_is_no_release(release, project, version, words, capsys):
    assert release.main(project, version) == 2
    assert words in capsys.readouterr().err


def test_a_tree_with_changes_is_not_released(release, project, capsys):
    (project / "CITATION.cff").write_text((project / "CITATION.cff").read_text() + "# more\n")
    assert release.main(project, "9.8.7") == 2
    assert "has changes" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wheel_holds_what_the_library_needs(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("stiffly-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    here = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src" / "stiffly").rglob("*.py")}
    assert here <= names
    assert {"stiffly/py.typed", "stiffly/kernels/cuda/shim.h"} <= names
    assert not any(name.startswith(("stiffly_lab/", "tests/")) for name in names)
