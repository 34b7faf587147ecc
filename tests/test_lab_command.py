"""`stiffly lab` with names and settings that it has to refuse: one line, and nothing written."""

from __future__ import annotations

import pytest

from stiffly import cli


@pytest.mark.parametrize("word", ["list", "all", "report"])
def test_words_for_all_experiments_stand_alone(word, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", word, "fput-order"]) == 2
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and f"`stiffly lab {word}`" in said[0] and "experiments" in said[0]
    assert not list(tmp_path.iterdir())


def test_a_wrong_number_of_processes_leaves_no_folder(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STIFFLY_LAB_PROCESSES", "many")
    assert cli.main(["lab", "map", "--quick"]) == 2
    assert "give a whole number of processes" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_only_rows_of_results_that_are_there_are_measured_again(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab", "fput-order", "--again", "exprb42"]) == 2
    assert "`stiffly lab map`" in capfd.readouterr().err
    assert cli.main(["lab", "map", "--quick", "--again", "ratio 1e0"]) == 2
    assert "leave out --again" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
