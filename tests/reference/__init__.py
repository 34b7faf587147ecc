"""Plain NumPy twins of the compiled kernels: slow, short, and what the tests trust."""

# ruff: noqa: F401

from .barrier import (
    barrier_blocks,
    barrier_contacts,
    barrier_energy,
    barrier_gradient,
    barrier_mean_blocks,
    barrier_mean_gradient,
    clear_share,
    near_pairs,
    pair_distances,
    stays_clear,
)
from .blocks import (
    add_scaled,
    bar_apply,
    bar_blocks,
    bar_chebyshev,
    bar_gershgorin,
    block_apply,
    block_chebyshev,
    block_gershgorin,
    column_dot,
    recurrence_columns,
    recurrence_rows,
    recurrence_start,
)
from .bodies import body_apply, body_eigenbases, body_stumpff_apply
from .body_newton import body_newton
from .contact import (
    contact_blocks,
    contact_energy,
    contact_gradient,
    contact_mean_blocks,
    contact_mean_gradient,
)
from .csr import csr_apply, csr_asymmetry, csr_blocks, csr_chebyshev
from .dashpots import dashpot_force, dashpot_tangents
from .face_springs import face_spring_blocks, face_spring_energy, face_spring_gradient
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
from .listed_pairs import lj_blocks, lj_list_energy, lj_list_gradient, lj_list_product
from .mean_face_springs import face_spring_mean_blocks, face_spring_mean_gradient
from .mean_pairs import lj_mean_blocks, lj_mean_gradient
from .mean_springs import spring_mean_blocks, spring_mean_gradient
from .mean_tets import tet_mean_blocks, tet_mean_gradient, tet_states
from .mesh_distance import nearest_points, tree_boxes
from .neighbours import neighbour_list
from .pair_candidates import (
    edge_edge_pairs,
    element_boxes,
    patch_pairs,
    run_boxes,
    vertex_element_pairs,
)
from .pair_contacts import pair_friction, pair_impulses, stop_crossings
from .pairs import lj_energy, lj_gradient, lj_product
from .polar import signed_svd
from .small_steps import rosenbrock_steps
from .spectral import (
    stumpff_apply,
    stumpff_eigh_apply,
    stumpff_terms,
    stumpff_values,
)
from .springs import (
    spring_bars,
    spring_blocks,
    spring_energy,
    spring_gradient,
    spring_product,
    spring_yield,
)
from .stokes import stokeslet_matrix, stokeslet_rate_matrix, stokeslet_rates, stokeslet_velocities
from .stretch import explicit_stages, explicit_steps, nystrom_steps
from .surfaces import surface_distances, surface_normals
from .tets import tet_blocks, tet_energy, tet_frames, tet_gradient, tet_product
from .triangular import ldl_solve
from .wind import wind_forces, wind_tangents
from .winding import winding_numbers
