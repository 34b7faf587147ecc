"""Bodies cut into shares, without MPI: what ranks hold adds up to the whole."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import stiffly
from stiffly import Gravity, Springs, System
from stiffly.backends import petsc
from stiffly.backends.petsc import usable
from stiffly.bodies import Dashpots, Drag, Force
from stiffly.collisions import Contact, Plane
from stiffly.errors import InputError
from stiffly.integrators import integrator
from stiffly.meshes import lattice
from stiffly.run.engines import mapped, unfit
from stiffly.system.shares import bisected, owners, refusal, share_of


def block(fixed=(0, 1, 2), **more):
    mesh = lattice(5, 4, 3, spacing=0.1)
    n = len(mesh.positions)
    parts = [
        Springs(mesh.edges, np.linspace(50.0, 80.0, len(mesh.edges))),
        Gravity(),
        Dashpots(mesh.edges, 0.1),
        Drag(np.linspace(0.1, 0.2, n)),
        Contact(Plane((0, 0, 0.05), (0, 0, 1)), 90.0, particles=np.arange(3, n)),
    ]
    body = System(np.linspace(0.1, 0.3, n), parts, fixed, mesh.positions, **more)
    return body, mesh.positions


def shares(body, x, ranks):
    owner = owners(body, x, ranks)
    return [share_of(body, owner, rank) for rank in range(ranks)]


def local(body, share, count):
    """The share as a system of its own; count: for sums alone."""
    free = np.zeros(body.particles, dtype=bool)
    free[body.free] = True
    fixed = share.place[np.intersect1d(body.fixed, share.particles)]
    parts = [share.part(part, free, count) for part in body.given.parts]
    rest = body.rest[share.particles]
    return System(body.given.mass[share.particles], parts, fixed, rest)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_own_rows_have_the_forces_of_the_whole_and_energies_add_up(ranks):
    body, x0 = block()
    rng = np.random.default_rng(0)
    x, v = x0 + 0.02 * rng.standard_normal(x0.shape), rng.standard_normal(x0.shape)
    v[body.fixed] = 0.0
    whole, state = body.bind(x, v)
    force = np.zeros((body.particles, 3))
    force[body.free] = whole.force(state).reshape(-1, 3)
    energies, powers = dict.fromkeys(whole.energy(state), 0.0), np.zeros(2)
    seen = np.zeros(body.particles, dtype=int)
    for share in shares(body, x, ranks):
        here = share.particles
        part, local_state = local(body, share, False).bind(x[here], v[here])
        own = here[: share.own]
        seen[own] += 1
        ours = part.force(local_state).reshape(-1, 3)[: share.own]
        assert np.abs(ours - force[own]).max() <= 1e-12 * np.abs(force).max()
        counted, local_state = local(body, share, True).bind(x[here], v[here])
        for name, value in counted.energy(local_state).items():
            if name not in ("kinetic", "gravity"):  # those go by masses, see ranks.py
                energies[name] += value
        power = counted.power(local_state)
        powers += power.added, power.dissipated
    assert (seen[body.free] == 1).all() and seen.sum() == body.free.size
    for name in ("elastic", "contact"):
        assert energies[name] == pytest.approx(whole.energy(state)[name], rel=1e-12)
    power = whole.power(state)
    assert powers == pytest.approx([power.added, power.dissipated], rel=1e-12)


@given(count=some.integers(1, 60), ranks=some.integers(1, 9), seed=some.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_bisection_gives_equal_shares(count, ranks, seed):
    x = np.random.default_rng(seed).integers(0, 4, (count, 3)).astype(float)  # many alike
    sizes = np.bincount(bisected(x, ranks), minlength=ranks)
    assert sizes.sum() == count and sizes.max() - sizes.min() <= ranks.bit_length()
    assert count < ranks or sizes.min() > 0


@given(sizes=some.lists(some.integers(1, 9), min_size=1, max_size=12), ranks=some.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_no_cut_leaves_a_rank_without_a_particle(sizes, ranks):
    """Ropes of so many particles, next to each other."""
    if sum(sizes) < ranks:
        return
    labels = np.repeat(np.arange(len(sizes)), sizes)
    first = np.flatnonzero(labels[1:] == labels[:-1])
    x = np.random.default_rng(sum(sizes)).random((labels.size, 3))
    parts = [Springs(np.stack([first, first + 1], axis=1), 1.0)] if first.size else [Gravity()]
    owner = owners(System(1.0, parts, rest=x), x, ranks)
    assert set(owner) == set(range(ranks))


def test_independent_bodies_stay_whole():
    scene = stiffly.scenes.load("hair", small=True)
    body = scene.system
    owner = owners(body, scene.x0, 3)
    labels = body.pattern.bodies.labels
    for label in np.unique(labels):
        assert len(set(owner[body.free[labels == label]])) == 1
    assert set(owner) == {0, 1, 2}
    assert all(share.ghosts == 0 for share in shares(body, scene.x0, 3))


def test_more_ranks_than_particles():
    mesh = lattice(2, 1, 1, spacing=0.1)
    body = System(1.0, [Springs(mesh.edges, 1.0)], rest=mesh.positions)
    with pytest.raises(InputError, match=r"2 free particles for 3 ranks: start fewer"):
        owners(body, mesh.positions, 3)


def test_parts_that_ranks_cannot_share_are_named():
    mesh = lattice(2, 2, 1, spacing=0.1)
    springs = Springs(mesh.edges, 1.0, yield_strain=0.1)
    each = Force([0, 1], [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    pulled = Force([0], lambda t, x: -x)
    for part, name in ((each, "forces"), (pulled, "forces"), (springs, "springs that yield")):
        body = System(1.0, [part], rest=mesh.positions)
        assert name in refusal(body)
    assert refusal(System(1.0, [Force([0], lambda t: (t, 0.0, 0.0))], rest=mesh.positions)) is None
    assert refusal(block()[0]) is None
    assert "SecondOrder" in refusal(stiffly.SecondOrder(stiffness=np.eye(2)))


@pytest.mark.parametrize("name", ["realtime", "neti", "ceti", "exprb54", "newmark", "vimex"])
def test_methods_that_ranks_cannot_take_are_named(name):
    assert name in unfit(integrator(name), name)


def test_methods_that_they_can():
    explicit = ("verlet", "symplectic-euler", "forward-euler", "rk4", "rkn6", "rkn86", "dop853")
    for name in (*explicit, "exprb42", "pexprb43", "eti", "bdf2", "stabilised"):
        assert unfit(integrator(name), name) is None
    assert "rtol" in unfit(integrator("exprb42"), "exprb42", 1e-3)


ALONE = {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}  # a batch script, salloc


@pytest.fixture
def launcher(monkeypatch):
    """Sets what a launcher tells, and nothing that another one has."""
    for name in (*petsc.RANKS, *petsc.SIZES):
        monkeypatch.delenv(name, raising=False)
    return lambda told: [monkeypatch.setenv(name, value) for name, value in told.items()]


@pytest.mark.parametrize(
    ("told", "rank", "size"),
    [
        ({}, 0, 1),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}, 2, 4),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, 1, 2),
        ({**ALONE, "SLURM_STEP_NUM_TASKS": "8", "PMIX_RANK": "0"}, 0, 8),  # srun --mpi=pmix
        ({**ALONE, "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8"}, 5, 8),
        ({"PMIX_RANK": "3"}, 3, 4),  # at least
        (ALONE, 0, 1),
        ({**ALONE, "SLURM_STEP_NUM_TASKS": "1"}, 0, 1),  # a shell that srun has started
        ({**ALONE, "SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_SIZE": "8"}, 0, 8),
        ({"PMI_RANK": "", "PMI_SIZE": "many"}, 0, 1),
    ],
)
def test_which_of_how_many_processes_a_launcher_has_started(told, rank, size, launcher):
    launcher(told)
    assert petsc.launched() == (rank, size)


def test_a_petsc_of_no_use_is_refused(launcher):
    world = SimpleNamespace(getSize=lambda: 1)
    with pytest.raises(InputError, match="complex128: use one configured with real double"):
        usable(SimpleNamespace(ScalarType=np.complex128, COMM_WORLD=world))
    usable(SimpleNamespace(ScalarType=np.float64, COMM_WORLD=world))
    launcher({"OMPI_COMM_WORLD_SIZE": "4"})
    with pytest.raises(InputError, match="4 processes were started, but this PETSc sees one"):
        usable(SimpleNamespace(ScalarType=np.float64, COMM_WORLD=world))


PLAYED = {  # by packages of the same names, without MPI: what a program is told by them
    "petsc4py/__init__.py": "def init(*_, **__): pass",
    "petsc4py/PETSc.py": """
import numpy, types
ScalarType = numpy.{kind}
COMM_WORLD = types.SimpleNamespace(getSize=lambda: 1)
""",
    "mpi4py/__init__.py": "",
    "mpi4py/MPI.py": """
import types
COMM_WORLD = types.SimpleNamespace(rank=0, size=1)
""",
}
NO_MPI = "raise ImportError('no MPI')"


def played(folder, kind, other=()):
    """The environment of a program that finds them there."""
    for name, text in {**PLAYED, **dict(other)}.items():
        path = folder / "played" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{kind}", kind))
    return {**os.environ, "PYTHONPATH": str(folder / "played")}


MANY = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}


@pytest.mark.parametrize(
    ("kind", "told", "cause"),
    [
        ("complex128", {}, "this PETSc computes with complex128"),
        ("float32", {}, "this PETSc computes with float32"),
        ("float64", MANY, "4 processes were started, but this PETSc sees one"),
        ("complex128", MANY, "this PETSc computes with complex128"),
    ],
)
@pytest.mark.parametrize("command", ["run dragon --small --out run", "resume run"])
def test_a_petsc_of_no_use_is_one_line_of_rank_0(kind, told, cause, command, launcher, tmp_path):
    (tmp_path / "begun").mkdir()
    launcher(told)
    done = subprocess.run(
        [sys.executable, "-m", "stiffly", *command.split(), "--engine", "petsc"],
        cwd=tmp_path / "begun", env=played(tmp_path, kind),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"error: {cause}") and len(done.stderr.splitlines()) == 1
    assert not list((tmp_path / "begun").iterdir())


WITHOUT_MPI = """
import os, sys, time
time.sleep = lambda seconds: (sys.stderr.flush(), os._exit(99))  # the launcher ends this rank here
from stiffly.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("rank", "told"),
    [
        (0, {**ALONE, "SLURM_STEP_NUM_TASKS": "4"}),
        (2, {**ALONE, "SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}),
        (2, {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}),
        (2, {"PMI_RANK": "2", "PMI_SIZE": "4"}),
        (2, {"PMIX_RANK": "2"}),
    ],
)
def test_processes_without_mpi4py_say_one_line_by_the_first(told, rank, launcher, tmp_path):
    """Others say nothing until the launcher has had time to end them."""
    launcher(told)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MPI, "run", "dragon", "--small", "--engine", "petsc"],
        cwd=tmp_path, env=played(tmp_path, "float64", {"mpi4py/__init__.py": NO_MPI}),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "" and [path.name for path in tmp_path.iterdir()] == ["played"]
    if rank:
        assert (done.returncode, done.stderr) == (99, "")
    else:
        lack = "error: engine petsc needs petsc4py and mpi4py, which do not load (no MPI): install"
        assert done.returncode == 2 and done.stderr.startswith(lack)
        assert len(done.stderr.splitlines()) == 1


def test_without_petsc_the_engine_says_what_to_install():
    from importlib.util import find_spec

    if find_spec("petsc4py") is not None:
        pytest.skip("it is there")
    body, x = block()
    with pytest.raises(InputError, match="engine petsc needs petsc4py and mpi4py"):
        stiffly.simulate(body, x, engine="petsc", step=0.01, duration=0.1)
    with pytest.raises(InputError, match="petsc"):
        stiffly.simulate(body, x, engine="petsk", step=0.01, duration=0.1)


def test_trees_are_mapped_with_their_records():
    from stiffly.integrators.stage import Bdf2Memory, StageMemory

    body, x = block()
    _, state = body.bind(x)
    memory = Bdf2Memory(state, None, StageMemory(None, np.arange(3.0)))
    twice = mapped(memory, lambda a: 2.0 * a)
    assert isinstance(twice, Bdf2Memory) and np.array_equal(twice.state.x, 2.0 * state.x)
    assert np.array_equal(twice.stage.acceleration, [0.0, 2.0, 4.0])


def test_a_long_body_is_cut_across_though_it_is_coiled():
    """An axis would cut every winding; the way along the wire cuts few."""
    scene = stiffly.scenes.load("coil-spring", small=True)
    body = scene.system
    free = body.free
    place = np.full(body.particles, -1)
    place[free] = np.arange(free.size)
    pairs = place[body.couples]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    ghosts = []
    for known in (pairs, pairs[:0]):  # with the elements, and by place alone
        owner = bisected(scene.x0[free], 4, known)
        assert np.ptp(np.bincount(owner, minlength=4)) <= 3
        ends = owner[pairs]
        across = np.concatenate([pairs[:, [0]], ends[:, [1]]], axis=1)[ends[:, 0] != ends[:, 1]]
        ghosts.append(len(np.unique(across, axis=0)))
    assert ghosts[0] < 0.5 * ghosts[1]
