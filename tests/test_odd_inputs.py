"""Inputs that once ended in a traceback, a hang, or a result that nobody asked for."""

import dataclasses
import os

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from broken_input import BODY, refused
from scipy.integrate import solve_ivp

import stiffly
from stiffly import InputError, cli, matfun
from stiffly.arrays import real_array, real_number
from stiffly.meshes import lattice, read_mesh
from stiffly.recording.layout import WITHOUT_SUMS
from stiffly.recording.plots import plot_momentum
from stiffly.scenes.schema.source import MOST_VALUES
from stiffly.scipy import ExponentialRosenbrock

J = np.diag([-1.0, -2.0])
MESH = lattice(2, 2, 2, spacing=0.1)


def run(**options):
    system = stiffly.System(
        mass=np.full(8, 0.01), parts=[stiffly.Springs(MESH.edges, 1e3)], rest=MESH.positions
    )
    usual = {"x0": MESH.positions, "integrator": "bdf1", "step": 0.01, "duration": 0.05}
    return stiffly.simulate(system, **(usual | options))


@pytest.mark.parametrize("option", ["--duration", "--step", "--every"])
@pytest.mark.parametrize("value", ["1e-320", "1e-300", "1e-151"])
def test_times_that_are_none(option, value, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "1e-150 s" in refused(capfd, "run", "bar", "--small", "--quiet", option, value)


@pytest.mark.parametrize(
    "value",
    [
        MESH.positions + 1j,
        np.ma.masked_array(MESH.positions, MESH.positions > 0.05),
        MESH.positions.astype(str),
        [[1.0, 2.0], [1.0]],
        "abc",
        np.zeros(3, dtype="M8[s]"),
    ],
)
def test_arrays_of_other_kinds_than_real_numbers(value):
    """Every array that users hand in is read there."""
    with pytest.raises(InputError, match=r"masked|must hold numbers"):
        real_array("x0", value)
    with pytest.raises(InputError, match="x0"):
        run(x0=value)


def test_arrays_that_hold_the_same_numbers_are_taken():
    for value in ([[1, 2], [3, 4]], np.ma.masked_array([1.0, 2.0]), np.float32([1.5]), True):
        assert np.array_equal(real_array("a", value), np.array(value, dtype=float))


@pytest.mark.parametrize("value", ["1.5", 1j, np.complex128(1.0), [1.0], None, 10**400, b"1"])
def test_numbers_of_other_kinds(value):
    with pytest.raises(InputError, match="rtol must be one number"):
        real_number("rtol", value)


@pytest.mark.parametrize("vectors", [None, 3.0, "v", iter([])])
def test_vectors_that_are_no_list(vectors):
    with pytest.raises(InputError, match="must be a list"):
        matfun.phi_action(J, 1.0, vectors)


def test_complex_sparse_matrices():
    with pytest.raises(InputError, match="complex"):
        matfun.SecondOrderOperator(sp.csr_matrix(-J + 0j))


@pytest.mark.parametrize("h", [1e-300, -1e-300, 1e-40])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix])
def test_tiny_times_have_the_value_at_zero(h, wrap):
    """sum_k phi_k(0) v_k = sum_k v_k / k!"""
    v = np.array([1.0, 3.0])
    found = matfun.phi_action(wrap(J), h, [v, v, v, v]).value
    assert found == pytest.approx((1.0 + 1.0 + 1.0 / 2.0 + 1.0 / 6.0) * v, rel=1e-14)


def test_huge_times_have_the_value_at_infinity():
    """phi_1(z) -> -1 / z: h phi_1(h J) v -> -J^-1 v."""
    v = np.array([1.0, 3.0])
    found = 1e40 * matfun.phi_action(J, 1e40, [None, v], 1e-9).value
    assert found == pytest.approx(-np.linalg.solve(J, v), rel=1e-6)
    with pytest.raises(InputError, match="overflows"):
        matfun.phi_action(1e200 * J, 1e200, [v])


# ------------------------------------------------------------------ SciPy's door


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": "a"}, {"atol": "a"}, {"rtol": 1j}, {"atol": [1j, 1.0]}, {"max_step": "a"},
        {"first_step": "a"}, {"max_steps": 0}, {"max_steps": None}, {"max_step": 1e-300},
        {"jac": [["a", "b"], ["c", "d"]]},
    ],
)  # fmt: skip
def test_options_of_the_door(options):
    with pytest.raises(InputError):
        solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0, 1.0], ExponentialRosenbrock, **options)


@pytest.mark.parametrize("span", [(0.0, 1e110), (0.0, 1e-110), (0.0, np.nan), (-np.inf, 0.0)])
def test_spans_whose_powers_are_no_numbers(span):
    with pytest.raises(InputError, match="t_span"):
        solve_ivp(lambda t, y: -y, span, [1.0, 1.0], ExponentialRosenbrock)


def test_a_noisy_right_hand_side_ends_after_counted_steps():
    """Its differences are noise divided by nothing; SciPy's Radau takes as long as one lets it."""
    rng = np.random.default_rng(0)
    found = solve_ivp(
        lambda t, y: -y + 1e-3 * rng.standard_normal(2), (0.0, 10.0), [1.0, 1.0],
        ExponentialRosenbrock,
    )  # fmt: skip
    assert not found.success and "max_steps" in found.message and found.nfev < 10_000


def test_the_limit_is_an_option():
    asked = solve_ivp(
        lambda t, y: [y[1], -1e4 * y[0] - y[0] ** 3], (0.0, 10.0), [1.0, 0.0],
        ExponentialRosenbrock, max_steps=50, rtol=1e-8,
    )  # fmt: skip
    assert not asked.success and "max_steps = 50" in asked.message and len(asked.t) <= 51


# ------------------------------------------------------------------ runs and recordings


@pytest.mark.parametrize("value", [[1, 2], "abc", 3])
def test_provenance_that_is_no_mapping(value, tmp_path):
    with pytest.raises(InputError, match="provenance must be a mapping"):
        run(out=tmp_path / "run", provenance=value)


@pytest.mark.parametrize("name", ["", " ", "a\0b", b"run", 3])
def test_names_of_no_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="out"):
        run(out=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["run bar --out |", "run bar --out=", "plot |", "view |"])
def test_empty_words_on_the_command_line(line, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(capfd, *("" if word == "|" else word for word in line.split()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("atol", [-1.0, "x", np.nan, [1.0]])
@pytest.mark.parametrize("integrator", ["auto", "bdf1"])
def test_atol_is_looked_at_whatever_the_method(atol, integrator):
    with pytest.raises(InputError, match="atol"):
        run(integrator=integrator, atol=atol)


@pytest.mark.parametrize("atol", [-1.0, "x", np.nan, [1.0]])
@pytest.mark.parametrize("more", [{}, {"integrator": "auto"}])
def test_atol_is_looked_at_beside_a_scene(atol, more):
    """Which has a step, and no rtol."""
    with pytest.raises(InputError, match="atol"):
        stiffly.simulate(stiffly.scenes.load("bar", small=True), duration=0.02, atol=atol, **more)


def test_a_mesh_of_ones_own_that_names_other_vertices(tmp_path):
    kept = run()
    kept.mesh = dataclasses.replace(MESH, edges=MESH.edges + 5)
    with pytest.raises(InputError, match="edges of the mesh name vertices that are not there"):
        kept.render(tmp_path / "still.png")
    assert not list(tmp_path.iterdir())


def test_provenance_that_is_nested_too_deeply(tmp_path):
    deep = {}
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(InputError, match="nested too deeply"):
        run(out=tmp_path / "run", provenance=deep)
    assert not list(tmp_path.iterdir())


def _spoilt(folder, place, value):
    with h5py.File(folder / "recording.vtkhdf", "r+") as file:
        data = file[place]
        rows = data[()]
        rows[-4:] = value
        data[...] = rows
        file["stiffly"].attrs["format"] = WITHOUT_SUMS


def test_positions_that_are_no_numbers_are_left_out_of_plots(tmp_path):
    """As they are of pictures: what a run that exploded has recorded."""
    run(out=tmp_path / "run")
    recording = stiffly.Recording(tmp_path / "run")
    recording.positions = np.array(recording.positions, copy=True)
    recording.positions[-1] = np.nan
    figure = plot_momentum(recording)
    assert all(np.isfinite(axis.get_ylim()).all() for axis in figure.axes)


@pytest.mark.parametrize("corner", [10**6, -1])
def test_a_recorded_mesh_that_names_other_vertices(corner, tmp_path, capfd):
    assert cli.main(f"run bar --small --duration 0.1 --quiet --out {tmp_path}/run".split()) == 0
    _spoilt(tmp_path / "run", "stiffly/mesh/edges", corner)
    for command in ("plot", "render"):
        assert "not there" in refused(capfd, command, f"{tmp_path}/run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folders_that_are_locked_while_a_run_goes_on_are_not_full(tmp_path):
    def lock(report):
        (tmp_path / "run").chmod(0o500)

    with pytest.raises(stiffly.NotRecorded, match="make the folder writable"):
        run(out=tmp_path / "run", checkpoint=0, progress=lock)


def test_polygons_of_255_corners(tmp_path):
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 3\n" + "".join(
        f"property float {axis}\n" for axis in "xyz"
    )
    head += "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    data = np.arange(9, dtype="<f4").tobytes() + b"\xff" + np.arange(3, dtype="<i4").tobytes()
    (tmp_path / "a.ply").write_bytes(head.encode() + data)
    with pytest.raises(InputError, match="damaged"):
        read_mesh(tmp_path / "a.ply")


# ------------------------------------------------------------------ scene files


@pytest.mark.parametrize(
    "more",
    [
        f"pins = [{'1,' * MOST_VALUES}]",
        "".join(f"k{i} = 1\n" for i in range(MOST_VALUES)),
        f"{'a.' * 100_000}b = 1",
        f"title = '{'a.' * 100}b'\nc{'.a' * 60} = 1",
    ],
)
def test_files_that_hold_too_much_are_refused_before_they_are_parsed(more, capfd, tmp_path):
    """100,000 dots in one key take minutes."""
    (tmp_path / "mine.toml").write_text(BODY + more)
    assert "mine.toml" in refused(capfd, "scene", "check", str(tmp_path / "mine.toml"))


def test_more_particles_than_can_be_are_refused(capfd, tmp_path):
    text = BODY.replace('"cube", cells = 2, side = 1.0', '"creature-surface", vertices = 300')
    (tmp_path / "mine.toml").write_text(text + "tetrahedralise = 1000000000\n")
    assert "tetrahedralise" in refused(capfd, "scene", "check", str(tmp_path / "mine.toml"))


FLAT = stiffly.shapes.cloth(3, 3)
SOLID, BALL = stiffly.meshes.cube(1), stiffly.meshes.sphere(4, 6)


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda: stiffly.meshes.bar(across=4), "across must be a list of 2"),
        (lambda: stiffly.meshes.beam(across=(4, 4, 4)), "across must be a list of 2"),
        (lambda: stiffly.meshes.cloth(layers=[[1.0], [2, 3]]), "layers = .*whole number"),
        (lambda: stiffly.meshes.cloth(diagonals=[[1.0], [2, 3]]), "give 0, 1 or 2"),
        (lambda: stiffly.meshes.cloth(bending=np.ones(3)), "must be True or False"),
        (lambda: stiffly.meshes.coil("much"), "vertices = much: give a whole number"),
        (lambda: stiffly.meshes.brush_roots(tufts=None), "tufts must be a list of 2"),
        (lambda: stiffly.meshes.creature(height=1e-320), "give 1e-150 or more"),
        (lambda: stiffly.meshes.creature_surface(height=1e308), r"give 1e\+100 or less"),
        (lambda: stiffly.meshes.triangle_edges([[0, 1]]), "triangles must be whole numbers"),
        (lambda: stiffly.meshes.bending_pairs(np.full((2, 3), 1j)), "triangles must be whole"),
        (lambda: stiffly.meshes.shell(SOLID.positions, [[0, 1, 8]]), "name vertex 8: there are 8"),
        (lambda: stiffly.meshes.shell(SOLID.positions * np.nan, SOLID.triangles), "finite"),
        (lambda: stiffly.meshes.decimate(BALL, "few"), "particles = few: give a whole number"),
        (lambda: stiffly.meshes.quality("cube"), "must be a Mesh, not str"),
        (lambda: stiffly.meshes.repaired(None), "must be a Mesh, not NoneType"),
        (lambda: stiffly.meshes.write_mesh("cube.obj", [1]), "must be a Mesh, not list"),
        (lambda: stiffly.bodies.lumped_mass(1.0, SOLID.tets, 1.0), "is needed"),
        (lambda: stiffly.bodies.lumped_mass(SOLID.positions, [[0, 1, 2, 9]], 1.0), "9"),
        (lambda: stiffly.bodies.Potential(None), "must be functions"),
        (lambda: stiffly.bodies.ConsistentMass("much"), "must hold numbers, got text"),
        (lambda: stiffly.bodies.ConsistentMass([1.0, 2.0]), r"matrix \(n, n\), got shape \(2,\)"),
        (lambda: stiffly.bodies.ConsistentMass(1j * sp.eye(2)), "got complex numbers"),
        (lambda: stiffly.bodies.ConsistentMass(np.eye(2), copies=1.5), "whole number, 1 or more"),
        (lambda: stiffly.Scene().add(FLAT, position=(1e308, 0, 0)), r"must be below 1e\+150"),
        (lambda: stiffly.Scene().wind((1, 0, 0), (1, 0, 0), period=1e-320), "at least 1e-150"),
    ],
)  # fmt: skip
def test_arguments_of_shapes_and_parts(call, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=told) as caught:
        call()
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def test_names_of_parts_that_are_no_text():
    springs = stiffly.Springs(MESH.edges, 1e3, name=[1])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="name of part Springs must be text, not list"):
        stiffly.System(0.01, [springs], rest=MESH.positions).bind(MESH.positions, MESH.positions)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: stiffly.meshes.cube(n),
        lambda n: stiffly.meshes.cloth(n, n),
        lambda n: stiffly.meshes.bar(n, (n, n)),
        lambda n: stiffly.meshes.sphere(n, n),
        lambda n: stiffly.meshes.torus(n, n),
        lambda n: stiffly.meshes.dome(n, n),
    ],
)
def test_shapes_of_too_many_particles_are_refused_before_they_are_made(make):
    with pytest.raises(InputError, match="give 20,000,000 particles at most"):
        make(10_000)
