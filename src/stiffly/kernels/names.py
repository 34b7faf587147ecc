"""The contract of kernels: what rooms may call, on every backend, with these parameters.

`kernels.cpu` and the plain versions in tests/reference have each of these functions and no others
(a test compares them); the docstrings of `kernels.cpu` say the shapes of arrays.  "Adds" and
"writes" go to the arguments named last.  E is an energy [J], g a discrete gradient:
g.(x1 - x0) = E(x1) - E(x0).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# ------------------------------------------------------------------ constants

NO_WEIGHT = np.empty(0)  # rows of a matrix as they are
NO_SLOT = np.uint32(0xFFFFFFFF)  # in a slot array: this block is not stored (a fixed end)
# which matrix blocks are: d2E/dx2; K(x) with dE/dx = K(x) x; d2E/dx2 without the negative
# stiffness across compressed springs, which is positive semidefinite
TANGENT, SECANT, CONVEX = 0, 1, 2
PLANE, SPHERE, HEMISPHERE = 0, 1, 2  # kinds of surfaces with a formula
MESH = 3  # and of those that card kernels know besides
VERTEX_FACE, VERTEX_EDGE, EDGE_EDGE = np.uint8(0), np.uint8(1), np.uint8(2)  # kinds of pairs
LEAF = 4  # triangles in a leaf of `tree_boxes`
BLOCK_CHUNK = 8192  # tets whose blocks are kept at a time; 720 bytes each: 6 MB, within a cache
MEAN_CHUNK = 4096  # the same for their mean blocks; 1152 bytes each: 5 MB
LANES = 8  # bodies that are solved side by side: numbers in the widest vector register
# columns of what `body_newton` reports of a body, and of what it counts
BODY_RESIDUAL, BODY_CHANGE, BODY_COVERED, BODY_DISSIPATED = range(4)
BODY_EVALUATIONS, BODY_TANGENTS, BODY_FACTORIZATIONS, BODY_SOLVES = range(4)
BODY_HALVINGS, BODY_FAILED = 4, 5
BODY_NUMBERS, BODY_COUNTS = 4, 6

# ------------------------------------------------------------------ vectors and matrices


# out += factor a
def add_scaled(out, factor, a): ...
# a^T diag(weight) b, column by column
def column_dot(a, b, weight=None) -> Any: ...
# products with matrices of 3x3 blocks, of bars (-(a I + e e^T) beside the diagonal), and of numbers
def block_apply(indptr, indices, blocks, b, weight=NO_WEIGHT) -> Any: ...
def bar_apply(indptr, indices, bars, own, b, weight=NO_WEIGHT) -> Any: ...
def csr_apply(indptr, indices, data, b) -> Any: ...
# z <- s A x + t x - z, out += z c^T, for every c: Chebyshev's recurrence; its last two terms
def block_chebyshev(
    indptr, indices, blocks, s, t, x, z, coefficients, out, weight=NO_WEIGHT
) -> Any: ...
def bar_chebyshev(
    indptr, indices, bars, own, s, t, x, z, coefficients, out, weight=NO_WEIGHT
) -> Any: ...
def csr_chebyshev(indptr, indices, data, s, t, x, z, coefficients, out) -> Any: ...
# what it goes from and to, which lies where the loops run: x (n, p) of vectors (n,); z = 0 and
# out = x c^T (n, n_out); the rows (n_out, n) of out, added to those that are given
def recurrence_columns(vectors) -> Any: ...
def recurrence_start(x, c) -> Any: ...
def recurrence_rows(out, rows=None) -> Any: ...
# the largest |A - A^T|; 3x3 blocks, unless too few of their entries are stored
def csr_asymmetry(indptr, indices, data) -> Any: ...
def csr_blocks(indptr, indices, data, least) -> Any: ...
# an interval around the spectrum, and the largest eigenvalue of a diagonal block
def block_gershgorin(indptr, indices, blocks, weight=NO_WEIGHT) -> Any: ...
def bar_gershgorin(indptr, bars, own, weight=NO_WEIGHT) -> Any: ...
# bars as blocks
def bar_blocks(indptr, indices, bars, own) -> Any: ...
# parts of a graph that are eliminated together: their order, beginnings and parents; in each of
# them entries of the matrix, what its children leave, columns of L.  Solves with P^T L D L^T P
def dissected(indptr, indices, leaf) -> Any: ...
def front_entries(own, below, indptr, indices, data, first, place): ...
def front_join(own, below, rest, update, at): ...
def front_columns(own, below, first, rows, indptr, indices, data, inverse): ...
def ldl_solve(indptr, indices, data, starts, inverse, order, b) -> Any: ...
# F = U diag(sigma) V^T of many 3x3 matrices, U and V rotations
def signed_svd(F) -> Any: ...


# ------------------------------------------------------------------ matrix functions


# c_k(s)
def stumpff_values(k, s) -> Any: ...
# out[row, column] += factor lam^power c_k(tau^2 lam), term by term
def stumpff_terms(lam, rows, columns, ks, taus, powers, factors, out): ...
# sum_i U f_ji(lam) W b_i: from terms, and from K itself
def stumpff_apply(U, W, lam, rows, columns, ks, taus, powers, factors, n_out, B) -> Any: ...
def stumpff_eigh_apply(K, rows, columns, ks, taus, powers, factors, n_out, B) -> Any: ...
# exponential Rosenbrock steps of M x'' = force - A x, functions compiled; how many were taken
def rosenbrock_steps(force, jacobian, A, root, nodes, weights, h, count, x, v) -> Any: ...
# the same for many small bodies at once: their eigenbases, and functions of them
def body_eigenbases(indptr, indices, blocks, root, start, members, place, first, lam, Q): ...
def body_apply(F, root, start, members, first, Q, B, out): ...
def body_stumpff_apply(terms, lam, root, start, members, first, Q, B, out): ...


# ------------------------------------------------------------------ implicit steps


# Newton's iteration of every body: from d to d; writes X, V and a report, adds to counts
def body_newton(order, layout, springs, touches, motion, numbers, d, X, V, report, counts): ...


# ------------------------------------------------------------------ springs and dashpots


# E; adds dE/dx; adds (d2E/dx2) b; adds blocks, or writes bars, and adds the negative stiffness
def spring_energy(x, edges, stiffness, rest, cubic=False) -> Any: ...
def spring_gradient(x, start, neighbour, spring, stiffness, rest, out, cubic=False): ...
def spring_product(x, start, neighbour, spring, stiffness, rest, b, out, cubic=False): ...
def spring_blocks(
    x,
    start,
    neighbour,
    spring,
    stiffness,
    rest,
    diagonal,
    slot,
    blocks,
    pressed,
    cubic=False,
    form=TANGENT,
): ...
def spring_bars(
    x, start, neighbour, spring, stiffness, rest, slot, bars, own, pressed, cubic=False
): ...
# adds g; adds dg/dx1
def spring_mean_gradient(x0, x1, start, neighbour, spring, stiffness, rest, out, cubic=False): ...
def spring_mean_blocks(
    x0, x1, start, neighbour, spring, stiffness, rest, diagonal, slot, blocks, cubic=False
): ...
# rest lengths give way beyond a strain; the energy lost
def spring_yield(x, edges, stiffness, rest, limit, cubic=False) -> Any: ...
# springs from the vertices of tets to the centres of the opposite faces
def face_spring_energy(x, tets, stiffness, rest) -> Any: ...
def face_spring_gradient(x, tets, stiffness, rest, start, corner, out): ...
def face_spring_blocks(
    x, tets, stiffness, rest, start, corner, diagonal, slot, blocks, pressed, form=TANGENT
): ...
def face_spring_mean_gradient(x0, x1, tets, stiffness, rest, start, corner, out): ...
def face_spring_mean_blocks(
    x0, x1, tets, stiffness, rest, start, corner, diagonal, slot, blocks
): ...
# add the force, and the tangents -df/dx and -df/dv
def dashpot_force(x, v, edges, coefficient, out): ...
def dashpot_tangents(x, v, edges, coefficient, slots, stiffness, damping): ...
def wind_forces(x, v, triangles, wind, pressure, out): ...
def wind_tangents(x, v, triangles, wind, pressure, slots, stiffness, damping): ...


# ------------------------------------------------------------------ tetrahedra
# material: a materials.material.Material


# E; adds dE/dx; adds blocks, without negative eigenvalues where `project`
def tet_energy(x, tets, shape, moduli, material) -> Any: ...
def tet_gradient(x, tets, shape, moduli, material, start, corner, out): ...
def tet_blocks(
    x, tets, shape, moduli, material, project, chunks, slot, mirror, start, source, blocks
): ...
# what a product needs of the tangent at x; adds (d2E/dx2) b
def tet_frames(x, tets, shape, moduli, material, project) -> Any: ...
def tet_product(frames, tets, start, corner, b, out): ...
# what a discrete gradient needs of each state; adds g; adds dg/dx1
def tet_states(x, tets, shape, material) -> Any: ...
def tet_mean_gradient(before, after, tets, shape, moduli, material, start, corner, out): ...
def tet_mean_blocks(
    before, after, tets, shape, moduli, material, chunks, slot, start, source, blocks
): ...


# ------------------------------------------------------------------ atoms and fluids


# for each particle, the others closer than reach, less those that are left out
def neighbour_list(x, reach, skip_start, skip) -> Any: ...
# Lennard-Jones between all pairs: E; adds dE/dx; adds (d2E/dx2) b
def lj_energy(x, radius, root, start, low, high) -> Any: ...
def lj_gradient(x, radius, root, start, low, high, out): ...
def lj_product(x, b, radius, root, start, low, high, out): ...
# between listed pairs, switched off before a cutoff; writes the tangent; adds g; writes dg/dx1
def lj_list_energy(x, radius, root, start, neighbour, inner, slope) -> Any: ...
def lj_list_gradient(x, radius, root, start, neighbour, inner, slope, out): ...
def lj_list_product(x, b, radius, root, start, neighbour, inner, slope, out): ...
def lj_blocks(x, radius, root, start, neighbour, inner, slope, coupling, own): ...
def lj_mean_gradient(x0, x1, radius, root, start, neighbour, inner, slope, out): ...
def lj_mean_blocks(x0, x1, radius, root, start, neighbour, inner, slope, coupling, own): ...
# regularised Stokeslets: write velocities, their change along b, and both as matrices
def stokeslet_velocities(targets, sources, forces, eps, mu, out): ...
def stokeslet_rates(x, b, forces, eps, mu, out): ...
def stokeslet_matrix(x, eps, mu, out): ...
def stokeslet_rate_matrix(x, forces, eps, mu, out): ...


# ------------------------------------------------------------------ contact with things


# write signed distances and normals of surfaces with a formula
def surface_distances(x, kind, numbers, out): ...
def surface_normals(x, rows, kind, numbers, out): ...
# their penalty: E; adds dE/dx; adds blocks; adds g; adds dg/dx1
def contact_energy(x, own, kind, numbers, stiffness, margin) -> Any: ...
def contact_gradient(x, own, kind, numbers, stiffness, margin, out): ...
def contact_blocks(
    x, own, kind, numbers, stiffness, margin, diagonal, blocks, pressed, form=TANGENT
): ...
def contact_mean_gradient(x0, x1, own, kind, numbers, stiffness, margin, out): ...
def contact_mean_blocks(x0, x1, own, kind, numbers, stiffness, margin, diagonal, blocks): ...
# triangle meshes: boxes of a tree; writes closest points, normals, signed distances; how often
# a surface winds round points
def tree_boxes(low, high) -> Any: ...
def nearest_points(p, x, faces, boxes, pseudonormals, reach, points, normals, distances): ...
def winding_numbers(p, x, faces, low, cell, start, members, out): ...


# ------------------------------------------------------------------ contact of bodies


# boxes of elements, of runs of them; pairs of patches, then of elements, whose boxes overlap
def element_boxes(boxes, corners, out): ...
def run_boxes(boxes, start, out): ...
def patch_pairs(blocks, size, boxes) -> Any: ...
def vertex_element_pairs(pairs, patches, vertices, elements, room) -> Any: ...
def edge_edge_pairs(pairs, patches, edges, room) -> Any: ...
# of candidates, those that may come within reach; writes reach and soft
def near_pairs(
    x, move, rest, piece, kinds, stencil, thickness, room, parallel, reach, soft
) -> Any: ...
# writes distances; the share of a way on which all pairs stay apart; whether they do
def pair_distances(x, kinds, stencil, out): ...
def clear_share(x, move, kinds, stencil) -> Any: ...
def stays_clear(x0, x1, kinds, stencil) -> Any: ...
# pairs that repel: E; adds dE/dx; writes blocks; writes contacts; adds g; writes dg/dx1
def barrier_energy(x, kinds, stencil, reach, soft, stiffness) -> Any: ...
def barrier_gradient(x, kinds, stencil, reach, soft, stiffness, out): ...
def barrier_blocks(x, kinds, stencil, reach, soft, stiffness, out): ...
def barrier_contacts(x, kinds, stencil, reach, soft, stiffness, weights, normals, forces): ...
def barrier_mean_gradient(x0, x1, kinds, stencil, reach, soft, stiffness, out): ...
def barrier_mean_blocks(x0, x1, kinds, stencil, reach, soft, stiffness, out): ...
# slows the sliding of contacts, v in place
def pair_friction(v, inverse_mass, stencil, weights, normals, most): ...
# impulses: on moves that would lead through something; on velocities of contacts
def stop_crossings(x, move, inverse_mass, kinds, stencil, reach, restitution, shares): ...
def pair_impulses(v, inverse_mass, stencil, weights, normals, least): ...


# ------------------------------------------------------------------ laying bodies out


# which rows hang together
def body_labels(couples, row, count) -> Any: ...
# which groups of rows have which elements; what they borrow of others; where their corners are
def element_groups(corners, group_of_row, shared) -> Any: ...
def borrowed_keys(corners, element, group, group_of_row) -> Any: ...
def corner_places(corners, element, group, group_of_row, own_at, keys, borrowed_at) -> Any: ...
# turns springs so that most rows have fours of them; places in rows
def turn_springs(ends, led, gives) -> Any: ...
def slots_in_rows(near, start) -> Any: ...
# the same for a card: ends of springs, places in slices of rows, and values in these
def both_ends(start, other, stiffness) -> Any: ...
def slots_in_slices(near, rows, lanes) -> Any: ...
def into_slots(values, chosen, slots, made) -> Any: ...


# ------------------------------------------------------------------ explicit steps, many at once
# A body as groups of rows (see kernels/cpu/stretch.py): R rows in G groups.  Corners of elements
# are rows counted from the first of their group.

ADDED, DISSIPATED, DEEPEST, TOUCHING = 0, 1, 2, 3  # columns of what `explicit_steps` returns
INVENTED = 4  # one more, where a card puts particles elsewhere


class Groups(NamedTuple):
    """first (G + 1,): the rows of each group; own, led (G,): how many of them it moves, and how
    many of the next ones supports lead; place (R,): row of the system; source (R,): of a particle
    that another group moves, its row there, else -1; support (R,) and home (R, 3): of led ones;
    inverse (R,): 1/mass, zero where the group does not move it; mass (R,)."""

    first: Any
    own: Any
    led: Any
    place: Any
    source: Any
    support: Any
    home: Any
    inverse: Any
    mass: Any


class GroupedSprings(NamedTuple):
    """start (R + 1,): the springs of each row, filled up to fours with such that do not pull;
    other (P,): the far end; stiffness, rest (P,); limit (P,): strains at which they yield, (0,)
    where none does; share (P,): 1/2 of a spring that two groups have; common: the limit that all
    springs have, < 0 where they differ or do not yield."""

    start: Any
    other: Any
    stiffness: Any
    rest: Any
    limit: Any
    share: Any
    common: Any


class GroupedFaces(NamedTuple):
    """start (G + 1,); corners (m, 4), stiffness (m,), rest (m, 4): see `face_spring_energy`."""

    start: Any
    corners: Any
    stiffness: Any
    rest: Any


class GroupedTets(NamedTuple):
    """materials (M,) of kernels/materials; start, led, end (M, G): the tets of each material in
    each group, those with a corner that supports lead first; corners (m, 4); shape (m, 9), moduli
    (m, 2) as in `tet_energy`.  lent (R + 1,), place (p,): where else the particle of a row is
    borrowed; (1,), (0,) where groups are not connected."""

    materials: Any
    start: Any
    led: Any
    end: Any
    corners: Any
    shape: Any
    moduli: Any
    lent: Any
    place: Any


class GroupedTriangles(NamedTuple):
    """start (G + 1,); corners (m, 3), pressure (m,) as in `wind_forces`, wind (m,): which one;
    filled up to fours in each group with such that feel none."""

    start: Any
    corners: Any
    pressure: Any
    wind: Any


class GroupedDashpots(NamedTuple):
    """start (G + 1,); corners (m, 2), coefficient (m,)."""

    start: Any
    corners: Any
    coefficient: Any


class GroupedAtoms(NamedTuple):
    """radius, root (R,): sigma / 2 and sqrt(epsilon) of each row; start (R + 1,), partner (m,): the
    rows that each has no such force with, itself among them, sorted; cutoff, extent [m]: of the
    force, infinite where there is none, and about of the body."""

    radius: Any
    root: Any
    start: Any
    partner: Any
    cutoff: float
    extent: float


class RowDrags(NamedTuple):
    """coefficient (d, R); power, wind (d,)."""

    coefficient: Any
    power: Any
    wind: Any


class Touches(NamedTuple):
    """stiffness (c, R), zero where a shape is not felt; margin, friction, kind, moving (c,)."""

    stiffness: Any
    margin: Any
    friction: Any
    kind: Any
    moving: Any


class Solid(NamedTuple):
    """A closed mesh in its own frame: see `nearest_points`.  positions (V, 3), faces (f, 3), boxes
    of `tree_boxes`, pseudonormals; middles (a, b, c): signed distances of the middles of cells of
    that side, which fill its box from low (3,) to high (3,)."""

    positions: Any
    faces: Any
    boxes: Any
    flat: Any
    side: Any
    corner: Any
    low: Any
    high: Any
    cell: float
    middles: Any


class Ties(NamedTuple):
    """Springs of length zero from rows to points in space.  start (R + 1,): those of each row that
    a group moves; row, stiffness (k,); here (k, 4): points as they stand to begin with; motion (k,)
    leads a point from home (k, 4) later on, -1 where it stands still."""

    start: Any
    row: Any
    stiffness: Any
    here: Any
    home: Any
    motion: Any


class GroupedPairs(NamedTuple):
    """Pairs of rows with a block each that never changes.  corners (m, 2); blocks (m, 3, 3): the
    first is drawn by blocks @ (u_2 - u_1), the second by blocks.T @ (u_1 - u_2); u: displacements
    from rest (R, 3), or velocities, where it is None."""

    corners: Any
    blocks: Any
    rest: Any


class Momentum(NamedTuple):
    """Damping that leaves the rigid motions of bodies alone.  rows (n,): those that move, body by
    body; start (C + 1,): where chunks of them begin, of one body each; body (C,); first (B + 1,):
    the chunks of each body; total (B,) [kg]; share(h): of other velocities, that a step takes."""

    rows: Any
    start: Any
    body: Any
    first: Any
    total: Any
    share: Any


class Sides(NamedTuple):
    """Shapes that stand still and act between two steps.  rows (m,): of the particles they act on;
    kind (c,), numbers (c, 7): see `surface_distances`; margin [m].  stiffness [N/m]: of ties to
    where particles have touched; zero: these stay right there.  friction: share per step.

    state (m, 6), which steps change: where a particle is held, and by which shape, -1 where it is
    free; how deep it was in the last step; how many shapes it was put back onto then."""

    rows: Any
    kind: Any
    numbers: Any
    margin: Any
    stiffness: Any
    friction: Any
    state: Any


class Between(NamedTuple):
    """What acts between two steps, on cards alone, in the order in which it acts; None of what
    there is not.  held: catches particles and lets them go; projected: puts them back onto shapes.
    asleep: nothing acts, in a step that only asks for forces."""

    held: Sides | None
    projected: Sides | None
    momentum: Momentum | None
    asleep: bool = False


class GroupedBody(NamedTuple):
    """weights (f, R): of forces that vary with time; field (F, 4), alpha (F,) [1/s]: acceleration
    of all particles and damping, once, or for each of many runs; run (R,): of those the one that a
    row belongs to, (0,) where there is one alone; powers: whether the ledger has anything to sum;
    tied: whether tables may have ties, which come and go with a user's hand; solids: of every touch
    its Solid, None where it has a formula; None where no shape is a mesh; halo: None, or what is
    called with positions (R, 4) whenever particles have moved, and fills the rows of those that
    other ranks move; between: see Between.

    On cards alone, else None: steady, springs that are linear about a rest shape; viscous, what
    damps by a constant matrix; atoms, what there is of Lennard-Jones forces; guests, a
    system.guests.Guests: parts that the host computes beside.

    Of many runs each is a group, or all are one; books are of each run then."""

    groups: Groups
    linear: GroupedSprings
    cubic: GroupedSprings
    faces: GroupedFaces
    tets: GroupedTets
    triangles: GroupedTriangles
    dashpots: GroupedDashpots
    drags: RowDrags
    weights: Any
    touches: Touches
    field: Any
    alpha: Any
    run: Any
    powers: Any
    tied: Any
    halo: Any = None
    between: Any = None
    steady: Any = None
    viscous: Any = None
    solids: Any = None
    guests: Any = None
    atoms: Any = None


class TimeTables(NamedTuple):
    """What depends on time.  Entry 0 is the start; each step then has its middle and its drifts.

    supports (s, entries, 24): A, b, A', b' of x = A home + b; winds, forces (., entries, 4);
    surfaces (c, steps + 1, 16): seven numbers, origin, velocity and spin of shapes during a step;
    leads (m, steps + 1, 12): A, b of A home + b, where points of ties are led to; not the first.
    """

    supports: Any
    surfaces: Any
    winds: Any
    forces: Any
    ties: Ties
    leads: Any


class EnergyLines(NamedTuple):
    """What a card tells of the energies [J] of a body where its steps have ended: of motion,
    springs of both laws, face springs, tets, contact, fields, ties, linear springs and atoms."""

    kinetic: float
    linear: float
    cubic: float
    faces: float
    tets: float
    touched: float
    field: float
    tied: float
    steady: float
    atoms: float


# takes `count` steps of h: x, v (N, 3), a (n, 3) in place, writes ahead (n, 3), the velocities of
# a; kicks (s + 1,), drifts (s,) in parts of h; connected: groups share springs; books (groups, 4)
def explicit_steps(body, tables, kicks, drifts, h, count, x, v, a, ahead, connected) -> Any: ...
# writes a (m, n, 3), accelerations of the stages first .. last of a Nyström method; entry i of the
# tables is the time of stage i
def explicit_stages(body, tables, c, Abar, A, h, first, last, x, v, a, connected): ...
# `count` steps of such a method, as explicit_steps; entries of a step: its stages, its middle
def nystrom_steps(body, tables, c, Abar, A, h, end, count, x, v, a, ahead, connected) -> Any: ...
