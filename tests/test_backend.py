"""Physics computes through its backend: every kernel is seen there, a missing one is named."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import stiffly
from stiffly import bodies, collisions, meshes
from stiffly.backends.cpu import CPU, CpuBackend
from stiffly.errors import InputError
from stiffly.kernels import cpu

ROOT = Path(stiffly.__file__).parent


class Kernels:
    """Those of the CPU as they were, each call counted, some of them missing."""

    def __init__(self, lacks=()):
        self.calls, self.real = Counter(), {n: f for n, f in vars(cpu).items() if callable(f)}
        for name in lacks:
            del self.real[name]

    def __getattr__(self, name):
        if name not in self.real:
            raise AttributeError(name)

        def counted(*given):
            self.calls[name] += 1
            return self.real[name](*given)

        return counted


class Other(CpuBackend):
    name = "other"

    def __init__(self, lacks=()):
        self.kernels = Kernels(lacks)


def poison(monkeypatch):
    """Nobody reaches a kernel on the CPU's own ways, but for scalar functions, factors and the
    sums of matrices that are factorised on the host."""
    algebra = [(ROOT / path).read_text() for path in ("matfun/scalar.py", "solvers/linear.py")]
    algebra.append("column_dot")
    for name, kernel in list(vars(cpu).items()):
        if callable(kernel) and not any(re.search(rf"\b{name}\b", text) for text in algebra):

            def refuse(*given, name=name):
                raise AssertionError(f"{name} was called past the backend")

            monkeypatch.setattr(CPU.kernels, name, refuse)  # first: it looks at cpu
            monkeypatch.setattr(cpu, name, refuse)


def cloth(backend=CPU):
    mesh = meshes.cloth(4, 4, spacing=0.3)
    springs = bodies.Springs(mesh.edges, 50.0, yield_strain=0.01)
    wind = bodies.Wind(mesh.triangles, (0.0, 1.0, 2.0))
    parts = [springs, bodies.Gravity(), wind, bodies.Dashpots(mesh.edges[:3], 0.1)]
    system = bodies.System(0.1, parts, [0, 1], mesh.positions, backend=backend)
    return system, mesh.positions


def block(backend=CPU):
    mesh = meshes.beam(3, (2, 2), length=2.0, width=1.0, height=1.0)
    parts = [bodies.Tetrahedra(mesh.tets, 1e4, 0.3), bodies.FaceSprings(mesh.tets, 10.0)]
    system = bodies.System(0.3, parts, [0], mesh.positions, backend=backend)
    return system, 1.05 * mesh.positions


def landing(backend=CPU):
    mesh = meshes.cloth(4, 4, spacing=0.3)
    floor = collisions.Plane((0, 0, -0.001), (0, 0, 1))
    parts = [
        bodies.Springs(mesh.edges, 50.0),
        bodies.Gravity(),
        collisions.Contact(floor, 200.0, friction=0.2),
        collisions.Repulsion(mesh.triangles, thickness=0.02, stiffness=10.0, friction=0.1),
    ]
    system = bodies.System(0.1, parts, (), mesh.positions, backend=backend)
    return system, mesh.positions


SEEN = {  # kernels that a run must have asked for, among others
    cloth: {"spring_gradient", "spring_blocks", "spring_energy", "spring_yield", "wind_forces",
            "wind_tangents", "dashpot_force", "dashpot_tangents", "column_dot"},
    block: {"tet_energy", "tet_states", "tet_mean_gradient", "tet_mean_blocks",
            "face_spring_energy", "face_spring_mean_gradient", "face_spring_mean_blocks"},
    landing: {"contact_energy", "contact_mean_gradient", "contact_mean_blocks",
              "surface_distances", "surface_normals", "barrier_mean_gradient", "patch_pairs",
              "run_boxes", "near_pairs", "stays_clear", "barrier_contacts", "pair_friction"},
}  # fmt: skip


@pytest.mark.parametrize(
    "scene, integrator",
    [(cloth, "exprb42"), (block, "energy-momentum"), (landing, "energy-momentum")],
)
def test_every_kernel_call_goes_through_the_backend(scene, integrator, monkeypatch):
    asked = {"integrator": integrator, "step": 0.02, "duration": 0.06}
    system, x0 = scene()
    expected = stiffly.simulate(system, x0=x0, **asked)
    backend = Other()
    poison(monkeypatch)
    system, x0 = scene(backend)
    run = stiffly.simulate(system, x0=x0, **asked)
    np.testing.assert_array_equal(run.positions, expected.positions)
    assert np.abs(run.positions[-1] - x0).max() > 0.0
    np.testing.assert_array_equal(run.energy.total, expected.energy.total)
    assert set(backend.kernels.calls) >= SEEN[scene]


def test_the_poison_works(monkeypatch):
    """A system on the CPU does not run where the CPU's kernels are refused."""
    poison(monkeypatch)
    system, x0 = cloth()
    with pytest.raises(AssertionError, match="past the backend"):
        system.force(system.bind(x0)[1])


X = meshes.cloth(3, 3, spacing=0.5)
SOLID = meshes.beam(2, (2, 2), width=1.0, height=1.0)
BALL = collisions.Sphere((0, 0, -3), 1.0)
PARTS = [  # part, what it is called, one of its kernels, its rest shape
    (bodies.Springs(X.edges, 1.0), "Springs", "spring_product", X),
    (bodies.Springs(X.edges, 1.0, yield_strain=0.1), "Springs", "spring_yield", X),
    (bodies.FaceSprings(SOLID.tets, 1.0), "FaceSprings", "face_spring_mean_blocks", SOLID),
    (bodies.Tetrahedra(SOLID.tets, 1.0, 0.3), "Tetrahedra", "tet_mean_blocks", SOLID),
    (bodies.Gravity(), "Gravity", "column_dot", X),
    (bodies.Dashpots(X.edges, 1.0), "Dashpots", "dashpot_tangents", X),
    (bodies.Wind(X.triangles, (1, 0, 0)), "Wind", "wind_tangents", X),
    (bodies.LennardJones(1.0, 0.1), "LennardJones", "lj_energy", X),
    (bodies.LennardJones(1.0, 0.1, cutoff=0.6), "LennardJones", "neighbour_list", X),
    (bodies.StokesFluid(1.0, 0.5), "StokesFluid", "stokeslet_rates", X),
    (collisions.Contact(BALL, 1.0), "Contact", "contact_blocks", X),
    (collisions.ProjectedContact(BALL), "ProjectedContact", "surface_normals", X),
    (collisions.Held(BALL, 1.0), "Held", "surface_distances", X),
    (collisions.Repulsion(X.triangles, thickness=0.01, stiffness=1.0), "Repulsion",
     "barrier_mean_blocks", X),
    (collisions.Repulsion(X.triangles, thickness=0.01, stiffness=1.0), "Repulsion",
     "patch_pairs", None),
]  # fmt: skip


@pytest.mark.parametrize("part, name, kernel, mesh", PARTS, ids=[f"{p[1]}-{p[2]}" for p in PARTS])
def test_a_missing_kernel_is_named_when_the_part_is_prepared(part, name, kernel, mesh):
    rest = None if mesh is None else mesh.positions
    mass = np.ones(len(X.positions) if rest is None else len(rest))
    bodies.System(mass, [part], rest=rest, backend=Other())  # with all of them it is fine
    with pytest.raises(InputError) as refused:
        bodies.System(mass, [part], rest=rest, backend=Other({kernel}))
    told = str(refused.value)
    assert told == (
        f"{name} needs the kernel {kernel}, which the backend other lacks: "
        "add it, or compute on the CPU"
    )


def test_a_mass_needs_its_sum():
    for mass in (2.0, np.array([[2.0, 1.0], [1.0, 2.0]])):
        with pytest.raises(InputError, match="the mass needs the kernel column_dot, which the b"):
            bodies.SecondOrder(stiffness=np.eye(2), mass=mass, backend=Other({"column_dot"}))


def test_users_own_equations_compute_on_their_backend():
    backend = Other()
    system = bodies.SecondOrder(stiffness=np.eye(2), mass=2.0, backend=backend)
    state = system.bind([1.0, 2.0], [3.0, 4.0])[1]
    assert system.backend is backend
    assert system.energy(state)["kinetic"] == 25.0
    assert backend.kernels.calls["column_dot"] == 1


def test_an_adjusted_system_stays_on_its_backend():
    system, _ = cloth(backend := Other())
    again = bodies.System(*system.given._replace(damping=None))
    assert again.backend is backend
