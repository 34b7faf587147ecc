"""Every example runs and asserts its own number; so does every Python block in the documents.

They run in one process, each as a program of its own: in a folder and a namespace of its own, and
with the package imported afresh, so that none finds what another one has imported.  Only compiled
kernels stay, which import nothing else of it: loading them takes longer than most programs.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# in the slow run: what they show has quick tests of its own
LONG = ("compare_integrators", "crash", "own_potential", "swimmer")
GUIDES = (
    "bodies",
    "contact",
    "contact-pairs",
    "fibers",
    "pictures",
    "recordings",
    "scene-files",
    "stability",
)
LONG_GUIDES = ("building",)  # in the slow run: tests/test_python_scenes.py is the quick one
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in GUIDES)]

# argv: a file with {name: [program, ...]} and one for {name: what went wrong, or null}
RUNNER = """
import json, os, sys, tempfile, traceback
from pathlib import Path

def failure(name, code):
    for module in [m for m in sys.modules if m.partition(".")[0] == "stiffly"]:
        if not module.startswith("stiffly.kernels"):
            del sys.modules[module]
    os.chdir(tempfile.mkdtemp(dir=here))
    sys.argv = [name]
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except BaseException:  # also those that exit
        return traceback.format_exc()

programs, results = map(Path, sys.argv[1:])
here, found = results.parent, {}
for name, codes in json.loads(programs.read_text()).items():
    found[name] = next(filter(None, (failure(name, code) for code in codes)), None)
results.write_text(json.dumps(found))
"""


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)


def program(notebook: Path) -> str:
    """Its cells, one after the other; of each the last value is shown as a notebook shows it."""
    told = json.loads(notebook.read_text())
    assert (told["nbformat"], told["nbformat_minor"]) == (4, 5)
    lines = []
    for cell in told["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            body = ast.parse("".join(cell["source"])).body
            if isinstance(body[-1], ast.Expr):
                show = ast.parse("lambda value: getattr(value, '_repr_html_', value.__repr__)()")
                call = ast.Call(show.body[0].value, [body[-1].value], [])  # type: ignore[attr-defined]
                body[-1] = ast.fix_missing_locations(ast.Expr(call))
            lines.append(ast.unparse(ast.Module(body, [])))
    return "\n".join(lines)


def run(programs: dict[str, list[str]], folder: Path) -> dict[str, str | None]:
    """What went wrong with each program, by name."""
    given, results = folder / "programs.json", folder / "results.json"
    given.write_text(json.dumps(programs))
    command = [sys.executable, "-c", RUNNER, str(given), str(results)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(results.read_text())


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    programs = {path.name: [path.read_text()] for path in EXAMPLES if path.stem not in LONG}
    programs |= {page.name: blocks(page) for page in PAGES}
    programs |= {path.name: [program(path)] for path in NOTEBOOKS}
    return run(programs, tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem not in LONG], ids=lambda p: p.stem)
def test_example(path, failures):
    assert failures[path.name] is None, failures[path.name]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, failures):
    assert failures[path.name] is None, failures[path.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_example(name, tmp_path):
    found = run({name: [(ROOT / "examples" / f"{name}.py").read_text()]}, tmp_path)
    assert found[name] is None, found[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_of_the_documents(page, failures):
    assert blocks(page)
    assert failures[page.name] is None, failures[page.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_GUIDES)
def test_python_blocks_of_long_documents(name, tmp_path):
    found = run({name: blocks(ROOT / "docs" / f"{name}.md")}, tmp_path)
    assert found[name] is None, found[name]


def test_what_is_wrong_with_a_program_is_seen(tmp_path):
    """What only another one has imported, left behind or named is missing, exits are failures."""
    programs = {
        "fine": ["import stiffly.meshes\nleft = 1\nopen('file', 'w')", "import stiffly"],
        "import": ["import sys, stiffly\nassert 'stiffly.meshes' not in sys.modules, 'imported'"],
        "name": ["print(left)"],
        "file": ["open('file')"],
        "second": ["", "assert False, 'wrong'"],
        "exit": ["raise SystemExit(3)"],
    }
    found = run(programs, tmp_path)
    assert found.pop("fine") is None and found.pop("import") is None
    for words in ("NameError", "FileNotFoundError", "AssertionError: wrong", "SystemExit: 3"):
        assert words in found.pop(next(iter(found)))
