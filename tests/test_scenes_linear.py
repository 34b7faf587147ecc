"""rope, textile and foil with constant stiffness: what they are, what they cost, who has no such
form."""

import numpy as np
import pytest
import scipy.linalg

import stiffly
from stiffly import cli
from stiffly.errors import InputError
from stiffly.scenes import files

LINEAR = ("rope", "textile", "foil")


@pytest.mark.parametrize("name", LINEAR)
def test_the_stiffness_is_constant_and_that_of_the_graph(name):
    """K = L (x) I of the springs, built here, wherever the body has gone."""
    given = {"particles": 6} if name == "rope" else {"resolution": 4}
    scene = stiffly.scenes.load(name, linear=True, **given)
    springs = stiffly.scenes.load(name, **given).system.given.parts[0]
    L = np.zeros((len(scene.x0),) * 2)
    for (i, j), k in zip(springs.edges, springs.stiffness, strict=True):
        L[[i, j], [i, j]] += k
        L[[i, j], [j, i]] -= k
    free = np.setdiff1d(np.arange(len(L)), scene.system.fixed)
    K = np.kron(L[np.ix_(free, free)], np.eye(3))
    bent = scene.x0 + 0.3 * np.random.default_rng(0).standard_normal(scene.x0.shape)
    bent[scene.system.fixed] = scene.x0[scene.system.fixed]
    for x in (scene.x0, bent):
        bound, state = scene.system.bind(x)
        found = bound.tangent(state).matrix(0.0, 1.0, 0.0).toarray()
        np.testing.assert_allclose(found, K, atol=1e-9 * np.abs(K).max())


def test_a_linear_rope_moves_as_its_modes_do_and_its_tip_does_not_fall():
    scene = stiffly.scenes.load("rope", small=True, linear=True)
    n, strain = len(scene.x0) - 1, 1e-3
    k = 3.0 * 9.81 / (strain / n)  # its docstring: three times the weight strains a link so much
    L = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    L[-1, -1] = k
    lam, U = np.linalg.eigh(L * (n + 1))  # masses are 1/(n + 1) kg
    rest = np.linspace(0.0, 1.0, n + 1)[1:, None] * (scene.x0[-1] / np.linalg.norm(scene.x0[-1]))
    sag = scipy.linalg.solve(L, np.full((n, 1), -9.81 / (n + 1))) * [0.0, 0.0, 1.0]
    y = U.T @ (scene.x0[1:] - rest - sag)
    run = stiffly.simulate(scene, integrator="eti", duration=1.0, every=0.05)
    for t, x in zip(run.times, run.positions, strict=True):
        exact = rest + sag + U @ (np.cos(np.sqrt(lam) * t)[:, None] * y)
        np.testing.assert_allclose(x[1:], exact, atol=1e-10)
    away = np.linalg.norm(run.positions[:, -1] - run.positions[0, -1], axis=1)
    assert 0.0 < away.max() < strain  # a rope of 1 m that swings falls by 0.5 m


@pytest.mark.parametrize("name", ["cloth", "pylon", "hippo"])
def test_scenes_without_a_linear_form_say_so_in_one_line(name, tmp_path, capfd):
    said = f"{name} has no linear form to choose: leave linear out (rope, textile, foil have one)"
    with pytest.raises(InputError) as caught:
        stiffly.scenes.load(name, linear=True)
    assert str(caught.value) == said
    assert cli.main(["run", name, "--small", "--set", "linear=true"]) == 2
    assert capfd.readouterr().err.strip() == f"error: {said}"
    file = tmp_path / "scene.toml"
    file.write_text(f'scene = "{name}"\n[parameters]\nlinear = true\n')
    with pytest.raises(InputError, match=r"line 3: .*has no linear form") as caught:
        files.read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["linear", "frozen"])
def test_switches_are_true_or_false(key, capfd):
    name = "rope" if key == "linear" else "falling-cube"
    with pytest.raises(InputError, match=f"{name} {key} = 'yes': give true or false"):
        stiffly.scenes.load(name, **{key: "yes"})
    assert cli.main(["run", name, "--small", "--set", f"{key}=3"]) == 2
    assert "give true or false" in capfd.readouterr().err
