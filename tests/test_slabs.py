"""Bodies built rank by rank, without MPI: a piece has all that its share of the whole has."""

from contextlib import contextmanager

import numpy as np
import pytest

from stiffly import Springs, System, meshes, scenes, simulate
from stiffly.errors import InputError
from stiffly.meshes import lattice
from stiffly.scenes.adjust import adjusted
from stiffly.scenes.builder import CUT
from stiffly.system.shares import Piece, share_of
from stiffly.system.slabs import Cut

SCENES = {  # its layers, particles in each
    "flag": ({"resolution": 7}, 10, 7),
    "bar": ({"cells": 2}, 12, 9),
}


@contextmanager
def built_for(rank, ranks):
    before = CUT.set(Cut(rank, ranks))
    try:
        yield
    finally:
        CUT.reset(before)


def load(name, rank=0, ranks=1):
    with built_for(rank, ranks):
        return scenes.load(name, **SCENES[name][0])


def elements(system, share, numbers, count):
    """(which, rows) of all parts of a share: particles of each element as the whole numbers them,
    and what else is given for it."""
    free = np.zeros(system.particles, dtype=bool)
    free[system.free] = True
    for part in system.given.parts:
        names, new = part.arrays, share.part(part, free, count)
        if names.elements:
            rows = numbers[share.particles][getattr(new, names.elements[0])]
            others = [np.zeros(len(rows)) + getattr(new, name) for name in names.elements[1:]
                      if isinstance(getattr(new, name), np.ndarray)]  # fmt: skip
            found = np.column_stack([rows, *others])
            yield found[np.lexsort(found.T)]


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
@pytest.mark.parametrize("name", SCENES)
def test_a_piece_has_the_share_of_the_whole(name, ranks):
    whole, every = load(name), []
    _, layers, width = SCENES[name]
    ends = np.array([layers * (rank + 1) // ranks for rank in range(ranks)])
    owner = np.searchsorted(ends, np.arange(layers * width) // width, side="right")
    for rank in range(ranks):
        scene = load(name, rank, ranks)
        piece = scene.system
        assert isinstance(piece, Piece) and piece.total == layers * width
        assert np.array_equal(piece.owner, owner[piece.numbers])
        assert piece.built.particles <= (-(-layers // ranks) + 4) * width  # and no more is built
        assert np.array_equal(scene.x0, whole.x0[piece.numbers])
        cut, ours = share_of(whole.system, owner, rank), share_of(piece.built, piece.owner, rank)
        assert np.array_equal(cut.particles, piece.numbers[ours.particles])
        assert (cut.own, cut.ghosts) == (ours.own, ours.ghosts)
        masses = whole.system.given.mass[cut.particles], piece.built.given.mass[ours.particles]
        assert np.allclose(*masses, rtol=1e-14, atol=0.0)
        held = piece.numbers[piece.built.fixed]
        assert np.array_equal(held, np.intersect1d(whole.system.fixed, piece.numbers))
        for count in (False, True):
            there = elements(whole.system, cut, np.arange(piece.total), count)
            for a, b in zip(there, elements(piece.built, ours, piece.numbers, count), strict=True):
                assert a.shape == b.shape and np.allclose(a, b, rtol=1e-14, atol=0.0)
                every += [b] * count
    counted = np.concatenate([rows[:, :2] for rows in every if rows.shape[1] > 2])
    assert len(counted) == sum(
        len(getattr(part, part.arrays.elements[0]))
        for part in whole.system.given.parts
        if part.arrays.elements
    )


def test_layers_of_a_cloth_and_of_a_bar_are_parts_of_them():
    for make, width in (
        (lambda **some: meshes.cloth(8, 5, spacing=0.1, diagonals=1, **some), 5),
        (lambda **some: meshes.flag(8, 5, spacing=0.1, **some), 5),
        (lambda **some: meshes.bar(8, (3, 2), **some), 6),
    ):
        whole = make()
        for first, last in ((0, 8), (0, 3), (3, 7), (1, 3), (5, 8)):
            part, start = make(layers=(first, last)), first * width
            inside = slice(start, last * width)
            assert np.array_equal(part.positions, whole.positions[inside])
            for kind in ("edges", "tets"):
                rows = getattr(whole, kind) - start
                kept = rows[((rows >= 0) & (rows < len(part.positions))).all(axis=1)]
                assert np.array_equal(getattr(part, kind), kept)
            for name, members in whole.vertex_sets.items():
                here = members[(members >= start) & (members < last * width)] - start
                assert np.array_equal(part.vertex_sets[name], here), name
    for wrong in ((0, 1), (3, 9), (-1, 4), (4, 4)):
        with pytest.raises(InputError, match="layers"):
            meshes.cloth(8, 5, layers=wrong)


def test_adjusted_pieces_are_pieces_of_the_adjusted_whole():
    whole, piece = adjusted(load("bar"), stiffness=2.0), adjusted(load("bar", 1, 3), stiffness=2.0)
    assert piece.system.recipe == piece.recipe == whole.recipe != load("bar").recipe
    young = {float(e) for s in (piece.system.built, whole.system) for e in s.given.parts[0].young}
    assert young == {2.0 * load("bar").parameters["young"]}
    with pytest.raises(InputError, match="wind on bar goes by the shape of the whole"):
        adjusted(load("bar", 1, 3), wind=3.0)
    assert adjusted(load("flag", 1, 3), wind=3.0).adjust == {"wind": 3.0}


def test_recipes_tell_scenes_apart_and_not_how_a_number_is_written():
    assert scenes.load("bar", cells=2, length=4).recipe == scenes.load("bar", cells=2).recipe
    assert scenes.load("bar", cells=2).recipe != scenes.load("bar", cells=1).recipe
    assert scenes.load("coil-spring", small=True).recipe == ""  # built whole on every rank


def test_what_cannot_be_cut():
    with pytest.raises(InputError, match=r"12 layers for 13 ranks: start fewer ranks"):
        load("bar", 0, 13)
    mesh = lattice(4, 2, 1, spacing=0.1)
    body = System(1.0, [Springs(mesh.edges, 1.0)], rest=mesh.positions)
    with pytest.raises(InputError, match=r"layers 6 to 13 of 2 .* are 16, but the system has 8"):
        Cut(1, 2).layers(14, 2, reach=1).of(body)
    with pytest.raises(InputError, match="rank 0 has no free particle"):
        Cut(0, 4).layers(4, 2, reach=3).of(System(1.0, body.given.parts, [0, 1], mesh.positions))
    with pytest.raises(InputError, match="give engine='petsc'"):
        simulate(load("flag", 1, 2), engine="cpu")
