"""Compiled kernels (numba): those of `kernels.names`, tested against tests/reference."""

# ruff: noqa: F401

from ..names import (
    ADDED,
    BLOCK_CHUNK,
    BODY_CHANGE,
    BODY_COUNTS,
    BODY_COVERED,
    BODY_DISSIPATED,
    BODY_EVALUATIONS,
    BODY_FACTORIZATIONS,
    BODY_FAILED,
    BODY_HALVINGS,
    BODY_NUMBERS,
    BODY_RESIDUAL,
    BODY_SOLVES,
    BODY_TANGENTS,
    CONVEX,
    DEEPEST,
    DISSIPATED,
    EDGE_EDGE,
    HEMISPHERE,
    INVENTED,
    LANES,
    LEAF,
    MEAN_CHUNK,
    MESH,
    NO_SLOT,
    NO_WEIGHT,
    PLANE,
    SECANT,
    SPHERE,
    TANGENT,
    TOUCHING,
    VERTEX_EDGE,
    VERTEX_FACE,
)
from .barrier import (
    barrier_blocks,
    barrier_contacts,
    barrier_energy,
    barrier_gradient,
    barrier_mean_blocks,
    barrier_mean_gradient,
    pair_friction,
    pair_impulses,
)
from .bars import bar_apply, bar_blocks, bar_gershgorin
from .blocks import (
    add_scaled,
    block_apply,
    block_gershgorin,
    column_dot,
)
from .bodies import body_apply, body_eigenbases, body_stumpff_apply
from .body_newton import body_newton
from .compiled import discard_stale
from .contact import (
    contact_blocks,
    contact_energy,
    contact_gradient,
    contact_mean_blocks,
    contact_mean_gradient,
    surface_distances,
    surface_normals,
)
from .csr import csr_apply, csr_asymmetry, csr_blocks
from .drag import dashpot_force, dashpot_tangents, wind_forces, wind_tangents
from .face_springs import (
    face_spring_blocks,
    face_spring_energy,
    face_spring_gradient,
    face_spring_mean_blocks,
    face_spring_mean_gradient,
)
from .fronts import dissected, front_columns, front_entries, front_join
from .laying_out import (
    body_labels,
    borrowed_keys,
    both_ends,
    corner_places,
    element_groups,
    into_slots,
    slots_in_rows,
    slots_in_slices,
    turn_springs,
)
from .lennard_jones import (
    lj_blocks,
    lj_energy,
    lj_gradient,
    lj_list_energy,
    lj_list_gradient,
    lj_list_product,
    lj_mean_blocks,
    lj_mean_gradient,
    lj_product,
)
from .mesh_distance import nearest_points, tree_boxes, winding_numbers
from .neighbours import neighbour_list
from .pair_candidates import (
    edge_edge_pairs,
    element_boxes,
    patch_pairs,
    run_boxes,
    vertex_element_pairs,
)
from .pair_distance import clear_share, near_pairs, pair_distances, stays_clear, stop_crossings
from .polar import signed_svd
from .recurrence import (
    bar_chebyshev,
    block_chebyshev,
    csr_chebyshev,
    recurrence_columns,
    recurrence_rows,
    recurrence_start,
)
from .small_steps import rosenbrock_steps
from .spectral import stumpff_apply, stumpff_eigh_apply, stumpff_terms, stumpff_values
from .springs import (
    spring_bars,
    spring_blocks,
    spring_energy,
    spring_gradient,
    spring_mean_blocks,
    spring_mean_gradient,
    spring_product,
    spring_yield,
)
from .stokes import stokeslet_matrix, stokeslet_rate_matrix, stokeslet_rates, stokeslet_velocities
from .stretch import explicit_stages, explicit_steps, nystrom_steps
from .tet_tangents import tet_blocks, tet_frames, tet_product
from .tets import tet_energy, tet_gradient, tet_mean_blocks, tet_mean_gradient, tet_states
from .triangular import ldl_solve

discard_stale()  # before anything is compiled or loaded
