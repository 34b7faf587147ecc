"""Loops that lay bodies out, against their plain twins."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.kernels import cpu

SEEDS = st.integers(0, 2**32 - 1)


def same(kernel, *arguments):
    """Both, and that nobody writes to what it is given."""
    found, expected = (getattr(room, kernel)(*arguments) for room in (cpu, reference))
    found, expected = ((x,) if isinstance(x, np.ndarray) else x for x in (found, expected))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return found


@drawn(40)
@given(seed=SEEDS)
def test_bodies_are_numbered_by_their_first_rows(seed):
    rng = np.random.default_rng(seed)
    particles = int(rng.integers(1, 30))
    free = rng.random(particles) < 0.8
    row = np.where(free, np.cumsum(free) - 1, -1)
    couples = rng.integers(0, particles, (int(rng.integers(0, particles)), 2))
    (labels,) = same("body_labels", couples, row, int(free.sum()))
    first = [int(np.argmax(labels == body)) for body in range(labels.max(initial=-1) + 1)]
    assert first == sorted(first)


@drawn(40)
@given(seed=SEEDS, corners=st.integers(2, 4), shared=st.booleans())
def test_every_group_finds_the_corners_of_its_elements(seed, corners, shared):
    rng = np.random.default_rng(seed)
    rows, groups = int(rng.integers(4, 25)), 3
    group_of_row = rng.integers(-1, groups, rows).astype(np.int32)
    elements = rng.integers(0, rows, (int(rng.integers(0, 40)), corners)).astype(np.uint32)
    if not shared:  # then all that is free of an element belongs to one body
        owner = group_of_row[elements].max(axis=1, initial=-1)
        free = group_of_row[elements] >= 0
        elements = elements[(~free | (group_of_row[elements] == owner[:, None])).all(axis=1)]
    instances = same("element_groups", elements, group_of_row, shared)
    (borrowed,) = same("borrowed_keys", elements, *instances, group_of_row)
    keys = np.unique(borrowed)
    own_at = rng.permutation(rows).astype(np.int32)
    borrowed_at = rows + rng.permutation(keys.size)
    where = (group_of_row, own_at, keys, borrowed_at)
    same("corner_places", elements, *instances, *where)


@drawn(40)
@given(seed=SEEDS)
def test_springs_are_turned_and_put_into_rows(seed):
    rng = np.random.default_rng(seed)
    places = int(rng.integers(2, 40))
    led = rng.random(places) < 0.1
    ends = rng.integers(0, places, (int(rng.integers(0, 150)), 2)).astype(np.int32)
    ends = ends[ends[:, 0] != ends[:, 1]]
    gives = rng.random((5, places)) < 0.5
    turned = [ends.copy(), ends.copy()]
    counts = cpu.turn_springs(turned[0], led, gives)
    np.testing.assert_array_equal(counts, reference.turn_springs(turned[1], led, gives))
    np.testing.assert_array_equal(*turned)
    np.testing.assert_array_equal(np.sort(turned[0], axis=1), np.sort(ends, axis=1))
    np.testing.assert_array_equal(counts, np.bincount(turned[0][:, 0], minlength=places))
    start = np.concatenate([[0], np.cumsum(-(-counts // 4) * 4)])
    (slots,) = same("slots_in_rows", turned[0][:, 0], start)
    assert np.unique(slots).size == slots.size


def test_turning_springs_fills_fours():
    """On a ring with chords, four springs a place in the mean: few rows are left unfilled."""
    n = 400
    i = np.arange(n)
    ends = np.concatenate([np.stack([i, (i + d) % n], axis=1) for d in (1, 2, 3, 7)])
    ends = ends[np.random.default_rng(0).permutation(len(ends))].astype(np.int32)
    ends[::3] = ends[::3, ::-1]
    before = -(-np.bincount(ends.min(axis=1), minlength=n) // 4).sum() * 4
    gives = np.random.default_rng(1).random((12, n)) < 0.5
    after = (-(-cpu.turn_springs(ends, np.zeros(n, dtype=bool), gives) // 4) * 4).sum()
    assert len(ends) <= after <= 1.1 * len(ends)
    assert after <= before


@drawn(40)
@given(seed=SEEDS, lanes=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_springs_as_a_card_has_them(seed, lanes):
    """Both ends of each, in slices of rows; and values there and back."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 90))
    start = np.concatenate([[0], np.cumsum(4 * rng.integers(0, 4, rows))]).astype(np.uint32)
    other = rng.integers(0, rows, start[-1]).astype(np.uint32)
    stiffness = rng.random(start[-1]) * (rng.random(start[-1]) < 0.6)
    used, ends = same("both_ends", start, other, stiffness)
    begin, slots = same("slots_in_slices", ends.ravel(), rows, lanes)
    assert np.unique(slots).size == slots.size <= begin[-1]
    for own in (slots[: used.size], slots[used.size :]):
        made = np.full((2, begin[-1]), -1.0)
        cpu.into_slots(stiffness, used, own, made[0])
        reference.into_slots(stiffness, used, own, made[1])
        np.testing.assert_array_equal(*made)
        back = np.zeros_like(stiffness)
        cpu.into_slots(made[0], own, used, back)
        np.testing.assert_array_equal(back, stiffness)


def test_values_into_slots_by_threads():
    rng = np.random.default_rng(0)
    slots = rng.permutation(40_000).astype(np.uint32)
    values, chosen = rng.random(1000), rng.integers(0, 1000, 40_000).astype(np.uint32)
    made = np.empty((2, 40_000))
    cpu.into_slots(values, chosen, slots, made[0])
    reference.into_slots(values, chosen, slots, made[1])
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("shared", [False, True])
def test_nothing_to_lay_out(shared):
    none = np.empty((0, 2), dtype=np.uint32)
    element, group = same("element_groups", none, np.zeros(3, dtype=np.int32), shared)
    assert element.size == group.size == 0
