"""Compiled kernels (numba), same names and signatures as `kernels.reference`, tested equal."""

from .barrier import *  # noqa: F403
from .blocks import *  # noqa: F403
from .bodies import *  # noqa: F403
from .closest import *  # noqa: F403
from .compiled import discard_stale
from .contact import *  # noqa: F403
from .csr import *  # noqa: F403
from .dashpots import *  # noqa: F403
from .face_springs import *  # noqa: F403
from .listed_pairs import *  # noqa: F403
from .mean_face_springs import *  # noqa: F403
from .mean_pairs import *  # noqa: F403
from .mean_springs import *  # noqa: F403
from .mean_tet_blocks import *  # noqa: F403
from .mean_tets import *  # noqa: F403
from .mesh_distance import *  # noqa: F403
from .neighbours import *  # noqa: F403
from .pair_candidates import *  # noqa: F403
from .pair_contacts import *  # noqa: F403
from .pairs import *  # noqa: F403
from .polar import *  # noqa: F403
from .spectral import *  # noqa: F403
from .springs import *  # noqa: F403
from .stokes import *  # noqa: F403
from .surfaces import *  # noqa: F403
from .tet_assembly import *  # noqa: F403
from .tet_tangents import *  # noqa: F403
from .tets import *  # noqa: F403
from .triangular import *  # noqa: F403
from .wind import *  # noqa: F403
from .winding import *  # noqa: F403

discard_stale()  # before anything is compiled or loaded
