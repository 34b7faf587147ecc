"""`stiffly doctor`: what it finds, and the commands that add what it does not."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from stiffly import cli
from stiffly.backends import gpu
from stiffly.cli import doctor
from stiffly.recording.exports import blend

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
# collections of the others, and tools
FOR_DEVELOPERS = {"cluster", "demo", "test", "check", "bench", "docs", "audit"}


def lines(capsys) -> dict[str, str]:
    """What `stiffly doctor` prints: the rest of each line by its first two spaces."""
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    return {first: rest for first, _, rest in (line.partition("  ") for line in out.splitlines())}


def test_doctor_names_versions_threads_and_kernels(capsys):
    found = lines(capsys)
    for package in ("numpy", "numba", "h5py"):
        assert found[package].split() == [version(package)]
    assert int(found["threads"].split()[0]) >= 1
    assert found["kernel cache"].split()[0] in ("warm,", "cold")
    assert "GPU" in found and found["python"].split()[0] == sys.version.split()[0]


def test_every_extra_of_the_package_is_looked_at():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) == set(extras) - FOR_DEVELOPERS
    for extra, (_, modules) in doctor.EXTRAS.items():
        bounds = [need for need in extras[extra] if need.startswith("websockets")]  # viser's own
        assert len(modules) == len(extras[extra]) - len(bounds)


@pytest.mark.parametrize("extra", doctor.EXTRAS)
def test_a_missing_part_comes_with_its_command(extra, capsys, monkeypatch):
    for module in doctor.EXTRAS[extra][1]:
        monkeypatch.setitem(sys.modules, module, None)  # importing it now fails
    found = lines(capsys)
    assert f'pip install "stiffly[{extra}]"' in found[f"stiffly[{extra}]"]


def test_a_cold_cache_is_named(capsys, monkeypatch, tmp_path):
    from stiffly.kernels.cpu import compiled

    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    found = lines(capsys)["kernel cache"]
    assert found.split()[0] == "cold" and str(tmp_path) in found


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo 'Some Card, 80 GB'", "found: Some Card"), ("exit 9", "none"), ("echo", "none")],
)
def test_a_gpu_is_found_by_its_driver(script, words, capsys, monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = lines(capsys)["GPU"]
    assert found.strip().startswith(words) and "CPU" in found
    monkeypatch.setattr(gpu, "cards", lambda: ["Other Card"])  # CuPy is there, and sees one
    found = lines(capsys)["GPU"]
    told = "Some Card, 80 GB" if "Some" in words else "Other Card"
    assert found.split()[0] == "ok" and told in found


def test_blender_is_what_writes_its_files(capsys, monkeypatch, tmp_path):
    """Whichever `export --to blend` asks; else how to get one."""
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.delenv("STIFFLY_BPY", raising=False)
    monkeypatch.setattr(blend, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    found = lines(capsys)["Blender"]
    assert found.split()[0] == "none" and "pip install bpy" in found and "STIFFLY_BPY" in found
    monkeypatch.setenv("STIFFLY_BPY", str(own))
    assert lines(capsys)["Blender"].split()[:2] == ["ok", f"{own}:"]
    monkeypatch.setenv("STIFFLY_BPY", str(tmp_path / "gone"))
    found = lines(capsys)["Blender"]
    assert found.split()[0] == "none" and "is no program: name a Python that has bpy" in found
