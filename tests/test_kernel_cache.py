"""The cache of compiled kernels is emptied when any of their files changes."""

from pathlib import Path

from stiffly.kernels.cpu import compiled


def test_a_changed_kernel_file_empties_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    compiled.discard_stale()  # as after this version was first imported
    kept, other = tmp_path / "tets.kernel-1.py311.nbi", tmp_path / "notes.txt"
    kept.touch(), other.touch()
    compiled.discard_stale()
    assert kept.exists()
    mark = next(tmp_path.glob("*.sha256"))
    mark.write_text("another version of the files")
    compiled.discard_stale()
    assert not kept.exists()
    assert other.exists()


def test_a_cache_that_cannot_be_written_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path / "missing")
    compiled.discard_stale()
    assert not Path(tmp_path / "missing").exists()


def test_slow_kernels_are_announced_by_themselves(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(compiled.log, "warning", lambda text, *what: said.append(text % what))
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    (tmp_path / "springs.kernel-1.py311.nbi").touch()
    compiled.announce.cache_clear()
    compiled.announce()
    assert not said
    compiled.announce("tets")
    assert len(said) == 1 and "compiling kernels of tets" in said[0]
    compiled.announce.cache_clear()
