"""Scenes with a constant stiffness (Michels, Sobottka, Weber 2014, Sec. 5.2 and 5.5)."""

from __future__ import annotations

import numpy as np
import pytest
from scene_measures import girder_strains, mast_height

from stiffly import Diverged, scenes, simulate
from stiffly.bodies import Gravity, LinearSprings, Springs, System
from stiffly.meshes import lattice
from stiffly.scenes.pylon import HEIGHT
from stiffly_lab.measures import deformation, sphere_height

RK4_LIMIT = 2.0 * np.sqrt(2.0)  # omega h, on the imaginary axis


def modes(scene):
    """Eigenvalues [1/s^2] and the energy [J] of each mode about the equilibrium, at the start."""
    system, start = scene.system.bind(scene.x0, scene.v0)
    lam, _, W = system.tangent(start).stiffness.eigenbasis()
    return lam, 0.5 * (W @ system.acceleration(start)) ** 2 / lam


def euler_loss(scene):
    """Energy [J] that backward Euler takes: each mode keeps 1/(1 + omega^2 h^2) in every step."""
    lam, energy = modes(scene)
    steps = round(scene.duration / scene.step)
    return float(energy @ (1.0 - (1.0 + lam * scene.step**2) ** -steps))


def returns(distance):
    """The smallest distance after the first swing out, relative to the largest of that swing."""
    out = int(np.argmax(np.diff(distance) < 0.0))
    return distance[out:].min() / distance[out]


# ------------------------------------------------------------------ linear springs


@pytest.mark.parametrize("across", [0.0, 0.3, 1.0])
def test_linear_springs_have_one_energy_force_and_tangent(across):
    mesh = lattice(3, 2, 2, spacing=1.0)
    rest, (i, j), k = mesh.positions, mesh.edges.T, np.linspace(1.0, 2.0, len(mesh.edges))
    body = System(1.0, [LinearSprings(mesh.edges, k, across)], fixed=[0], rest=rest)
    x = rest + np.random.default_rng(1).normal(size=rest.shape)
    x[0] = rest[0]
    body, state = body.bind(x)
    n = (rest[j] - rest[i]) / np.linalg.norm(rest[j] - rest[i], axis=1, keepdims=True)
    w = (x - rest)[j] - (x - rest)[i]
    along = np.einsum("mk,mk->m", n, w)
    energy = 0.5 * k @ ((1.0 - across) * along**2 + across * (w**2).sum(axis=1))
    assert body.energy(state)["elastic"] == pytest.approx(energy)
    K, u = body.tangent(state).matrix(0, 1, 0).toarray(), (x - rest)[1:].ravel()
    assert 0.5 * u @ K @ u == pytest.approx(energy)
    assert np.allclose(body.force(state), -K @ u)
    if across == 0.0:  # hinged bars: the tangent of true springs at rest
        springs, start = System(1.0, [Springs(mesh.edges, k)], fixed=[0], rest=rest).bind(rest)
        assert np.allclose(K, springs.tangent(start).matrix(0, 1, 0).toarray())


# ------------------------------------------------------------------ pylon


def test_pylon_collapses_and_stands_up_again():
    scene = scenes.load("pylon", small=True)
    run = simulate(scene, every=scene.step)
    height = mast_height(run.positions, scene)
    assert HEIGHT - height.min() > 0.1 * HEIGHT
    assert returns(HEIGHT - height) < 0.05  # 97 % of the energy is in one mode
    assert abs(run.energy.numerical).max() < 1e-7 * run.energy.exchanged


def test_pylon_bdf1_loses_what_theory_says():
    scene = scenes.load("pylon", small=True)
    run = simulate(scene, integrator="bdf1")
    lost = -run.energy.numerical[-1]
    assert lost == pytest.approx(euler_loss(scene), rel=1e-3)
    assert lost > 0.2 * run.energy.exchanged


def test_pylon_rk4_needs_steps_below_its_limit():
    scene = scenes.load("pylon", small=True)
    limit = RK4_LIMIT / np.sqrt(modes(scene)[0][-1])
    run = simulate(scene, integrator="rk4", step=0.95 * limit, every=0.95 * limit)
    assert abs(run.energy.numerical).max() < 0.05 * run.energy.exchanged
    with pytest.raises(Diverged):
        simulate(scene, integrator="rk4", step=1.05 * limit, every=1.05 * limit)


# ------------------------------------------------------------------ dome


def test_dome_step_does_not_depend_on_the_stiffness_of_its_border():
    """The stiffer the border, the more the dome moves as if its border were rigid; the paper's
    accuracy for a step that is large enough is 1e-4."""
    scene = scenes.load("dome", small=True)
    mesh, every = scene.mesh, scene.step
    assert mesh is not None
    mass = scene.system.mass.diagonal[0]
    parts = [LinearSprings(mesh.edges, 50.0), Gravity()]
    rigid = System(mass, parts, fixed=mesh.vertex_sets["border"], rest=scene.x0)
    exact = simulate(
        rigid, scene.x0, integrator="exprb42", step=every / 8, duration=scene.duration, every=every
    ).positions
    size = np.abs(exact - scene.x0).max()
    assert 0.05 < size < 0.4
    stiffest = []
    for border in (5e9, 1e12):
        scene = scenes.load("dome", small=True, border=border)
        run = simulate(scene, every=every)
        assert np.abs(run.positions - exact).max() < 1e-4 * size
        stiffest.append(modes(scene)[0][-1])
    # RK4 must follow the border: its largest step falls with the root of the stiffness
    assert stiffest[1] / stiffest[0] == pytest.approx(200.0, rel=0.01)
    euler = simulate(scene, integrator="bdf1", every=every)
    assert np.abs(euler.positions - exact).max() > 0.1 * size


# ------------------------------------------------------------------ squats


def test_squats_bring_the_shape_back():
    scene = scenes.load("squats", small=True)
    run = simulate(scene, every=scene.step)
    assert returns(deformation(run.positions, scene)) < 0.1
    assert abs(run.energy.numerical).max() < 1e-7 * run.energy.exchanged
    # all springs are alike in x, y and z: gravity moves nothing sideways
    assert np.abs(run.positions[..., :2] - scene.x0[:, :2]).max() < 1e-9
    euler = simulate(scene, integrator="bdf1", every=scene.step)
    assert returns(deformation(euler.positions, scene)) > 0.3
    assert -euler.energy.numerical[-1] == pytest.approx(euler_loss(scene), rel=1e-3)


# ------------------------------------------------------------------ tower


def test_tower_is_distorted_by_linear_elasticity_only():
    """Girders as long as the linear model has them would store more energy than there is."""
    stored, strain = {}, {}
    for model in ("corotated", "linear"):
        scene = scenes.load("tower", small=True, model=model, duration=1.0)
        run = simulate(scene, every=0.1)
        assert scene.mesh is not None
        edges, x0 = scene.mesh.edges, scene.x0
        soft = np.isin(np.arange(len(edges)), scene.mesh.edge_groups["upper"])
        springs = System(1.0, [Springs(edges[soft], 1e4)], rest=x0)
        energies = [springs.energy(springs.bind(x)[1])["elastic"] for x in run.positions]
        stored[model] = max(energies) / run.energy.kinetic[0]
        strain[model] = np.abs(girder_strains(run.positions, scene)).max()
        assert abs(run.energy.numerical).max() < 1e-8 * run.energy.kinetic[0]
    assert stored["corotated"] < 1.0 < stored["linear"]
    assert strain["corotated"] < 0.1 < strain["linear"]


def test_tower_damping_is_an_exponential_decay():
    scene = scenes.load("tower", small=True, damping=0.5, duration=3.0)
    run = simulate(scene)
    rate = np.log(run.energy.total[0] / run.energy.total[-1]) / run.times[-1]
    assert rate == pytest.approx(0.5, rel=0.1)  # it wavers within each swing
    assert run.energy.dissipated[-1] == pytest.approx(run.energy.total[0] - run.energy.total[-1])


# ------------------------------------------------------------------ steel-sphere


def test_steel_sphere_bounces_restore_the_energy():
    scene = scenes.load("steel-sphere", small=True)
    drop = scene.parameters["drop"]
    run = simulate(scene, every=scene.step)
    height = sphere_height(run.positions)
    fall = np.sqrt(2.0 * drop / 9.81)
    first, second = (height[(run.times > k * fall) & (run.times < (k + 2) * fall)] for k in (1, 3))
    assert min(first.max(), second.max()) > 0.9 * drop
    assert run.diagnostics["contacts"].max() > 0
    assert abs(run.energy.numerical).max() < 1e-8 * run.energy.exchanged
    assert run.energy.contact[-1] == 0.0
    euler = simulate(scene, integrator="bdf1", every=scene.step)
    assert sphere_height(euler.positions)[euler.times > fall + scene.step].max() < 0.1 * drop
