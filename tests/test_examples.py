"""Every example runs and asserts its own number; so does every Python block in the documents."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GUIDES = (
    "bodies",
    "contact",
    "contact-pairs",
    "extending",
    "fibers",
    "pictures",
    "recordings",
    "scene-files",
    "stability",
)
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in GUIDES)]


def run(code: list[str], folder) -> None:
    result = subprocess.run(
        [sys.executable, *code], capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert result.returncode == 0, result.stderr[-2000:]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    run([str(path)], tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_of_the_documents(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    assert blocks
    for block in blocks:
        run(["-c", block], tmp_path)
