"""A material of one's own: the example of docs/extending.md, as printed."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import reference
from systems import prepared_alone

from stiffly.bodies import Tetrahedra
from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.kernels.materials import NAMES
from stiffly.parts.tetrahedra import MATERIALS

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def example():
    section = PAGE.read_text().split("## A material", 1)[1]
    block = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert block
    found = {}
    exec(compile(block[1], str(PAGE), "exec"), found)
    return found


def law(material, a, b, c):
    return material.energy(3.0, 2.0, a, b, c)


@pytest.mark.parametrize("name", [*NAMES, "example"])
def test_stress_and_tangent_are_derivatives_of_the_energy(name, request):
    """Central differences of the plain functions; modes by their definition."""
    if name == "example":
        material = request.getfixturevalue("example")["stiffening"]
    else:
        material = MATERIALS[name]
    s, h = np.array([1.4, 0.9, 0.6]), 1e-5
    steps = h * np.eye(3)
    first = [(law(material, *(s + d)) - law(material, *(s - d))) / (2 * h) for d in steps]
    np.testing.assert_allclose(material.stress(3.0, 2.0, *s), first, rtol=1e-7)
    second = [
        np.subtract(material.stress(3.0, 2.0, *(s + d)), material.stress(3.0, 2.0, *(s - d)))
        / (2 * h)
        for d in steps
    ]
    T, p = material.tangent(3.0, 2.0, *s), material.stress(3.0, 2.0, *s)
    np.testing.assert_allclose(T[:3], np.diag(second), rtol=1e-7)
    for n, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        assert T[3 + n] == pytest.approx(second[i][j], rel=1e-6)
        assert T[6 + n] == pytest.approx((p[i] - p[j]) / (s[i] - s[j]), rel=1e-10)
        assert T[9 + n] == pytest.approx((p[i] + p[j]) / (s[i] + s[j]), rel=1e-10)
    assert law(material, 1.0, 1.0, 1.0) == 0.0
    assert material.stress(3.0, 2.0, 1.0, 1.0, 1.0) == (0.0, 0.0, 0.0)


def test_the_example_runs_in_compiled_kernels(example):
    """Against the plain kernels, which call its functions one by one."""
    X, tets, material = example["X"], example["solid"].tets, example["stiffening"]
    part, pattern = prepared_alone(Tetrahedra(tets, 100.0, 0.3, material), X, rest=X)
    assert not hasattr(part, "add_mean_gradient")
    x = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    both = []
    for kernels in (cpu, reference):
        g, K = np.zeros(X.shape), np.zeros((pattern.nnz, 3, 3))
        kernels.tet_gradient(x, *part._elements, *part._corners, g)
        kernels.tet_blocks(x, *part._elements, False, *part._sums, K)
        both.append((kernels.tet_energy(x, *part._elements), g, K))
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * np.abs(theirs).max())


def test_kernels_of_others_materials_are_not_kept_on_disk(example):
    """Their source may change without the cache's notice."""
    assert not example["stiffening"].built_in
    assert all(material.built_in for material in MATERIALS.values())


def test_a_copy_of_ours_is_itself():
    """Kernels are compiled for the object: a part restored from a checkpoint must not pay again."""
    for material in MATERIALS.values():
        assert pickle.loads(pickle.dumps(material)) is copy.deepcopy(material) is material


def test_an_unknown_material_is_named():
    with pytest.raises(InputError, match="unknown material steel"):
        Tetrahedra([[0, 1, 2, 3]], 1.0, 0.3, material="steel")
