"""The command line: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from stiffly import cli, terminal
from stiffly.errors import NotConverged

SMALL = ["--vertices", "320", "--duration", "1"]


@pytest.fixture
def wide(monkeypatch):
    """Tables that are not folded to the width of a test's terminal."""
    monkeypatch.setattr(terminal.out, "_width", 140)


def stiffly(capfd, *arguments):
    """Exit code, stdout, stderr."""
    code = cli.main([str(a) for a in arguments])
    return code, *capfd.readouterr()


def test_version_help_and_tables(wide, capfd):
    code, out, _ = stiffly(capfd, "--version")
    assert code == 0 and out.strip() == "stiffly 0.1.0"
    code, out, _ = stiffly(capfd)
    assert code == 0 and all(word in out for word in ("demo", "lab", "scenes"))
    code, out, _ = stiffly(capfd, "scenes")
    assert code == 0 and all(n in out for n in ("fput", "oscillator-pair", "coil-spring", "2021"))
    for arguments in (["lab"], ["lab", "list"]):
        code, out, _ = stiffly(capfd, *arguments)
        assert code == 0 and "fput-order" in out and "Fig. 11" in out


@pytest.mark.parametrize("command", [[], ["demo"], ["lab"], ["scenes"]])
def test_every_command_has_help(command):
    result = CliRunner().invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0 and "--help" in result.output


@pytest.mark.parametrize("cold", [True, False])
def test_compiling_is_announced_when_nothing_is_cached(monkeypatch, capfd, cold):
    monkeypatch.setattr(terminal, "cold", lambda: cold)
    with terminal.compiling():
        pass
    assert (terminal.COMPILING in capfd.readouterr().err) == cold


def test_demo_prints_both_ledgers_and_writes_its_files(wide, capfd, tmp_path):
    folder = tmp_path / "demo"
    code, out, err = stiffly(capfd, "demo", "--out", folder, *SMALL)
    assert code == 0
    for word in ("exprb42", "bdf1", "kinetic", "elastic", "gravity", "numerical error", "factoriz"):
        assert word in out
    assert "exprb42" in err  # the progress bar
    names = {path.name for path in folder.iterdir()}
    assert names == {"energy.png", "comparison.png", "spring.png", "summary.json"}
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["scene"] == "coil-spring" and summary["integrator"] == "exprb42"
    assert summary["step"] == 0.05 and summary["steps"] == 20 and summary["duration"] == 1.0
    keys = {"initial", "final", "added", "dissipated", "numerical", "max_abs_drift"}
    assert keys <= set(summary["energy"])
    assert summary["energy"]["max_abs_drift"] < 1e-3 * summary["energy"]["exchanged"]
    assert summary["stats"]["operator_products"] > 0 and summary["versions"]["stiffly"]
    rival = summary["compared"][0]
    assert rival["integrator"] == "bdf1" and rival["stats"]["factorizations"] > 0
    assert rival["energy"]["numerical"] < 10.0 * summary["energy"]["numerical"] < 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--step", "-1"], "--step must be positive"),
        (["demo", "--step", "nan"], "--step must be positive"),
        (["demo", "--duration", "0"], "--duration must be positive"),
        (["demo", "--step", "tiny"], "--step"),
        (["demo", "--vertices", "100"], "multiple of 16"),
        (["demo", "--integrator", "exprb43"], "did you mean pexprb43"),
        (["lab", "fput-ordr"], "did you mean fput-order"),
        (["lab", "fput-order", "nothing"], "unknown experiment nothing"),
        (["demoo"], "demoo"),
        (["demo", "--colour", "red"], "--colour"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(arguments, words, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = stiffly(capfd, *arguments)
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1 and words in err
    assert list(tmp_path.iterdir()) == []


def test_out_must_not_be_a_file(capfd, tmp_path):
    (tmp_path / "taken").write_text("")
    for arguments in (["demo"], ["lab", "fput-order"]):
        code, _, err = stiffly(capfd, *arguments, "--out", tmp_path / "taken" / "deep")
        assert code == 2 and "is a file" in err


def test_failed_simulation_still_writes_what_it_has(capfd, tmp_path):
    folder = tmp_path / "broken"
    code, out, err = stiffly(capfd, "demo", "--integrator", "rk4", "--out", folder, *SMALL)
    assert code == 1 and "numerical error" in out
    assert "diverged" in err.splitlines()[-1] and err.splitlines()[-1].startswith("error: ")
    assert (folder / "energy.png").exists() and (folder / "spring.png").exists()
    assert "diverged" in json.loads((folder / "summary.json").read_text())["failure"]


def test_other_ways_to_end(capfd, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    def stuck(*_, **__):
        raise NotConverged("Newton stopped")

    monkeypatch.setattr(cli, "simulate", interrupted)
    code, _, err = stiffly(capfd, "demo", *SMALL)
    assert code == 130 and err.splitlines()[-1] == "error: interrupted"
    monkeypatch.setattr(cli, "simulate", stuck)
    code, _, err = stiffly(capfd, "demo", *SMALL)
    assert code == 1 and err.splitlines()[-1] == "error: Newton stopped"


def test_lab_runs_an_experiment(wide, capfd, tmp_path):
    code, out, _ = stiffly(capfd, "lab", "fput-energy", "--quick", "--out", tmp_path / "lab")
    assert code == 0 and "the paper says" in out
    for ending in ("json", "png", "md"):
        assert (tmp_path / "lab" / f"fput-energy.{ending}").stat().st_size > 500


def test_process_exit_codes(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "stiffly.cli", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    good, bad = run("--version"), run("demo", "--step", "0")
    assert good.returncode == 0 and "stiffly" in good.stdout
    assert bad.returncode == 2 and bad.stderr.count("\n") == 1
    assert not (tmp_path / "stiffly-demo").exists()
