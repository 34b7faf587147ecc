"""Imports point one way, heavy libraries stay where they belong, and exported names exist."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import stiffly

ROOT = Path(stiffly.__file__).parent
# A room may import from its own rank and from lower ones; no two rooms import each other.
RANKS = [
    {"arrays", "contracts", "errors", "paths"},
    {"kernels", "backends", "accounting", "memory"},
    {"matfun", "solvers"},
    {"integrators"},
    {"parts", "meshes"},
    {"system"},
    {"bodies", "collisions"},
    {"recording"},
    {"run", "scipy"},
    {"scenes"},
    {"sweeps"},
    {"cli", "terminal", "view"},
    {"__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def room_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def without_type_checking(tree):
    """The tree less `if TYPE_CHECKING:` blocks: those are never executed."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                kept = [n for n in block if not (isinstance(n, ast.If) and "TYPE_CHECKING" in
                                                 ast.unparse(n.test))]  # fmt: skip
                setattr(node, name, kept)
    return tree


@cache  # most of the tests below walk over all files
def imports(path):
    """(module imported, as a dotted absolute name; names taken from it) for every import."""
    return tuple(_imports(path))


def _imports(path):
    package = ("stiffly", *path.relative_to(ROOT).with_suffix("").parts[:-1])
    if path.name == "__init__.py":
        package = ("stiffly", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(without_type_checking(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module, tuple(alias.name for alias in node.names)


def rooms_imported(path):
    for module, names in imports(path):
        parts = module.split(".")
        if parts[0] != "stiffly":
            continue
        yield from [parts[1]] if len(parts) > 1 else names


def libraries_imported(path):
    return {module.split(".")[0] for module, _ in imports(path)}


def label(path):
    return str(path.relative_to(ROOT))


def test_imports_point_towards_lower_ranks():
    faults = []
    for path in FILES:
        room = room_of(path)
        assert room in RANK, f"room {room} has no rank yet: add it to RANKS where it belongs"
        for other in rooms_imported(path):
            if RANK.get(other, len(RANKS)) > RANK[room]:
                faults.append(f"{label(path)} ({room}) imports {other}, which is not below it")
    assert faults == []


def test_nothing_is_stored_as_python_objects():
    """Reading such files runs whatever they name."""
    assert [label(p) for p in FILES if "pickle" in p.read_text()] == []


def test_no_two_rooms_import_each_other():
    graph = {}
    for path in FILES:
        room = room_of(path)
        graph.setdefault(room, set()).update(set(rooms_imported(path)) - {room})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(f"rooms import each other in a circle: {' <- '.join(cycle.args[1])}")


@pytest.mark.parametrize(
    "room, never",
    [
        ("integrators", {"parts", "system", "bodies", "meshes"}),
        ("matfun", {"parts", "system", "bodies", "integrators", "solvers"}),
        ("solvers", {"parts", "system", "bodies", "integrators", "matfun"}),
        ("kernels", {"backends", "matfun"}),
    ],
)
def test_algebra_knows_nothing_of_physics(room, never):
    for path in FILES:
        if room_of(path) == room:
            assert not never & set(rooms_imported(path)), label(path)


WAYS_AROUND = ("np.dot", "linalg.norm", "column_dot", "kernels.cpu", "kernels import")


def ways_around(path):
    """Sums and kernels that a file takes past the backend."""
    return [way for way in WAYS_AROUND if way in path.read_text()]


def test_algebra_sums_through_the_backend():
    """A sum made here would be a synchronisation on a device, and wrong on one rank of many."""
    rooms = {"integrators", "solvers", "matfun"}
    own = [p for p in FILES if room_of(p) in rooms]
    assert len(own) > 50
    assert {label(p): ways_around(p) for p in own if ways_around(p)} == {}
    assert ways_around(ROOT / "backends" / "cpu.py")  # the search finds what is known to be there


@pytest.mark.parametrize(
    "library, rooms",
    [
        ("typer", {"cli", "terminal"}),
        ("rich", {"cli", "terminal", "view"}),  # what viser prints with
        ("click", {"cli", "terminal"}),
        ("matplotlib", {"recording"}),
        ("numba", {"kernels", "scenes", "cli"}),  # own forces; what the doctor reports
        ("h5py", {"recording", "cli"}),
        ("pydantic", {"scenes"}),
        ("pyvista", {"recording", "meshes", "cli"}),
        ("viser", {"view"}),
        ("distributed", {"sweeps"}),
    ],
)
def test_libraries_stay_in_their_rooms(library, rooms):
    users = {room_of(p) for p in FILES if library in libraries_imported(p)}
    assert users <= rooms


MASKS = (
    "movable",
    "[self.free]",
    "[system.free]",
    "system.fixed]",
)  # of free particles: a gather in every step


def test_no_step_picks_particles_by_a_mask():
    """Free particles are the first rows (docs/architecture.md, rule 2)."""
    rooms = {"system", "parts", "collisions", "integrators", "solvers", "matfun"}
    own = [p for p in FILES if room_of(p) in rooms]
    found = {label(p): [m for m in MASKS if m in p.read_text()] for p in own}
    assert {where: masks for where, masks in found.items() if masks} == {}
    given = (ROOT / "scenes" / "dog.py").read_text()  # in the user's numbers, before a run
    assert "system.fixed]" in given  # the search finds what is known to be there


OWN_WAYS = {"kernels", "backends"}
ON_CPU = {  # by nature: meshing, scalar functions, sparse factors
    *("meshes/signed_distance.py", "collisions/triangle_mesh.py"),
    *("matfun/scalar.py", "solvers/dissection.py", "solvers/linear.py"),
}


def test_kernels_are_reached_through_a_backend():
    for path in FILES:
        for module, names in imports(path):
            compiled = f"{module}.".startswith("stiffly.kernels.cpu.") or (
                module == "stiffly.kernels" and "cpu" in names
            )
            assert not compiled or room_of(path) in OWN_WAYS, label(path)
            inner = module == "stiffly.backends.cpu" and "compiled" in names
            assert not inner or room_of(path) == "cli", label(path)  # what the doctor reports
        if room_of(path) not in OWN_WAYS and label(path) not in ON_CPU:
            assert "CPU.kernels" not in path.read_text(), label(path)


def test_the_walk_sees_the_imports():
    """The parser above finds what is known to be there: an empty walk would pass every test."""
    found = set(rooms_imported(ROOT / "integrators" / "gautschi.py"))
    assert {"contracts", "errors", "matfun", "integrators"} <= found
    assert "run" not in set(rooms_imported(ROOT / "errors.py"))  # only for type checkers
    assert "numpy" in libraries_imported(ROOT / "run" / "simulate.py")
    assert len(FILES) > 50


def loaded_by(code):
    """Names of all modules that are loaded after running code in a fresh interpreter."""
    script = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_importing_the_library_stays_light():
    """`import stiffly` loads nothing heavy; what is asked for comes when it is asked for."""
    loaded = loaded_by("import stiffly")
    assert not {"numpy", "numba", "h5py", "pydantic", "stiffly.run.simulate"} & loaded
    loaded = loaded_by("import stiffly; stiffly.simulate")
    assert "stiffly.run.simulate" in loaded
    heavy = {"matplotlib", "typer", "rich", "pyvista", "pxr", "sksundae", "h5py", "pydantic"}
    assert not (heavy | {"stiffly.cli", "stiffly_lab"}) & loaded


MODULES = sorted(m.name for m in pkgutil.walk_packages(stiffly.__path__, "stiffly."))


def test_exported_names_exist_and_are_listed_once():
    for name in ["stiffly", *MODULES]:
        module = importlib.import_module(name)
        names = getattr(module, "__all__", [])
        assert len(names) == len(set(names)), name
        assert [n for n in names if not hasattr(module, n)] == [], name


def test_documented_entry_points():
    """What the documentation promises after a plain `import stiffly`."""
    code = "; ".join(
        f"assert hasattr(stiffly{owner}, {name!r}), 'stiffly{owner}.{name} is missing'"
        for owner, name in [
            ("", "simulate"), ("", "System"), ("", "SecondOrder"), ("", "Springs"),
            ("", "Gravity"), ("", "integrator"), (".integrators", "NAMES"),
            (".integrators", "ExponentialRosenbrock"), (".matfun", "stumpff"), (".matfun", "phi"),
            (".matfun", "phi_action"), (".matfun", "SecondOrderOperator"), ("", "scenes"),
            (".scenes", "load"), ("", "scipy"), (".scipy", "ExponentialRosenbrock"),
        ]
    )  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", f"import stiffly; {code}"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1]


def test_no_matrix_square_root_is_formed():
    """But in the file that has the papers' own, which is reached by method='root' alone."""
    users = {label(p) for p in FILES if any(m.endswith("square_root") for m, _ in imports(p))}
    assert users == {"matfun/__init__.py", "matfun/action.py"}
    for path in FILES:
        assert "sqrtm" not in path.read_text(), label(path)
