"""What the gallery shows is there, and small enough for a page.

Its commands: tests/test_doc_commands.py.
"""

import re
from pathlib import Path

from stiffly import scenes

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "gallery.md").read_text()


def test_films_and_pictures_are_there():
    shown = re.findall(r'(?:src|poster)="([^"]+)"', PAGE)
    assert sum(name.endswith(".mp4") for name in shown) >= 8
    sizes = [(DOCS / name).stat().st_size for name in shown]
    assert min(sizes) > 1000 and sum(sizes) < 15e6
    files = {path.name for path in (DOCS / "images" / "films").iterdir()} - {"films.json"}
    assert files == {Path(name).name for name in shown if "/films/" in name}


def test_every_scene_has_a_film_or_a_plot():
    """Experiments that draw a plot are called after their scene."""
    shown = re.findall(r"^\*\*([\w-]+)\*\*: ", PAGE, flags=re.M)
    assert [name for name in scenes.NAMES if not any(s.startswith(name) for s in shown)] == []
