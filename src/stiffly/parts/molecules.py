"""Molecules: from files of the Protein Data Bank, or built here; their bonds and forces.

Units: lengths in angstrom (1e-10 m), masses in daltons (1.66054e-27 kg), times in picoseconds.
The unit of energy is then 1 Da A^2/ps^2 = 0.01 kJ/mol = 1.66054e-23 J, of stiffness 1 Da/ps^2 =
1.66054e-3 N/m, of velocity 100 m/s.  Energies of a run come out in this unit, not in joules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from ..contracts import Array
from ..errors import InputError
from ..meshes.mesh import MOST_MB, require_counts, require_small
from .checks import as_elements, as_indices, as_number
from .lennard_jones import LennardJones
from .springs import Springs

BOND_STIFFNESS = 2.7e5  # Da/ps^2: 450 N/m, a single bond between carbons
ANGLE_STIFFNESS = 5.0e4  # Da/ps^2: 120 kcal/mol/A^2, between the ends of an angle (Urey-Bradley)
WELL_DEPTH = 42.0  # Da A^2/ps^2: 0.1 kcal/mol, as for carbon in the usual force fields
COINCIDENT = 0.4  # A: no bond is shorter than 0.74 (hydrogen molecule)


@dataclass(frozen=True, slots=True)
class Molecule:
    """Atoms and bonds in angstrom and daltons (see the module).

    positions (N, 3), elements (N) as symbols, mass (N,), radius (N,): van der Waals radii,
    bonds (m, 2), names (N): chain, residue and atom.
    """

    positions: Array = field(repr=False)
    elements: list[str] = field(repr=False)
    mass: Array = field(repr=False)
    radius: Array = field(repr=False)
    bonds: np.ndarray = field(repr=False)
    names: list[str] = field(repr=False)


# ---------------------------------------------------------------------- reading


def read_molecule(
    path: str | Path,
    *,
    hetero: bool = True,
    water: bool = False,
    tolerance: float = 1.2,
    max_mb: float = MOST_MB,
) -> Molecule:
    """A PDB or mmCIF file (.pdb, .ent, .cif, also .gz): first model, first alternate locations.

    hetero, water: keep ligands and ions, and water. Bonds are those the file names (CONECT,
    struct_conn) and all pairs closer than tolerance (r_i + r_j), r the covalent radii (Cordero et
    al. 2008): files name only unusual bonds.  Metals have only the bonds that the file names: ions
    come as near to their neighbours without one.  A file larger than max_mb [1e6 bytes] is refused.
    """
    tolerance = as_number("tolerance", tolerance, above=0.0)
    if not isinstance(path, (str, Path)):
        raise InputError(f"path must be the name of a file, got {path!r}")
    structure = _read_structure(Path(path), max_mb)
    structure.remove_alternative_conformations()
    if not hetero:
        structure.remove_ligands_and_waters()
    elif not water:
        structure.remove_waters()
    atoms = list(structure[0].all()) if len(structure) else []
    if not atoms:
        raise InputError(
            f"{path}: found no atoms (hetero={hetero}, water={water}); is it a PDB or mmCIF file?"
        )
    names = [f"{a.chain.name}/{a.residue.name} {a.residue.seqid}/{a.atom.name}" for a in atoms]
    elements = [a.atom.element for a in atoms]
    unknown = [i for i, e in enumerate(elements) if e.atomic_number == 0]
    if unknown:
        raise InputError(
            f"{path}: atom {unknown[0]} ({names[unknown[0]]}) is of no known element; correct it"
        )
    x = np.array([a.atom.pos.tolist() for a in atoms], dtype=np.float64)
    _require_places(x, names, path)
    reach = np.array([-np.inf if e.is_metal else e.covalent_r for e in elements])
    bonds = np.concatenate([_bonds_by_distance(x, reach, tolerance), _bonds_of(structure, atoms)])
    return Molecule(
        positions=x,
        elements=[e.name for e in elements],
        mass=np.array([e.weight for e in elements]),
        radius=np.array([e.vdw_r for e in elements]),
        bonds=np.unique(np.sort(bonds, axis=1), axis=0),
        names=names,
    )


def _read_structure(path: Path, max_mb: Any) -> Any:
    try:
        import gemmi
    except ImportError:
        raise InputError(
            "reading molecules needs the library gemmi: pip install 'stiffly[molecules]'"
        ) from None
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")
    require_small(path, max_mb)
    try:
        structure = gemmi.read_structure(str(path), format=gemmi.CoorFormat.Detect)
        structure.setup_entities()  # marks water and ligands
    except (RuntimeError, ValueError, OSError) as error:  # also what is no text (UnicodeError)
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: this is no PDB or mmCIF file ({reason})") from None
    return structure


def _require_places(x: Array, names: list[str], path: Any) -> None:
    for i in np.flatnonzero(~np.isfinite(x).all(axis=1)):
        raise InputError(f"{path}: atom {i} ({names[i]}) has no position: give it one or remove it")
    pairs = KDTree(x).query_pairs(COINCIDENT, output_type="ndarray")
    if len(pairs):
        i, j = sorted(pairs[0].tolist())
        distance = np.linalg.norm(x[i] - x[j])
        raise InputError(
            f"{path}: atoms {i} ({names[i]}) and {j} ({names[j]}) are {distance:.2f} A apart: "
            "remove one of them"
        )


def _bonds_by_distance(x: Array, radius: Array, tolerance: float) -> np.ndarray:
    """radius (N,): -inf for atoms that have no bonds by distance."""
    pairs = KDTree(x).query_pairs(max(2.0 * tolerance * radius.max(), 0.0), output_type="ndarray")
    distance = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    return pairs[distance < tolerance * radius[pairs].sum(axis=1)].astype(np.int64)


def _bonds_of(structure: Any, atoms: list[Any]) -> np.ndarray:
    """The bonds the file names between atoms that were kept; hydrogen bonds are none."""
    import gemmi

    by_serial = {a.atom.serial: i for i, a in enumerate(atoms)}
    pairs = [
        (by_serial[a], by_serial[b])
        for a, others in structure.conect_map.items()
        for b in others
        if a != b and a in by_serial and b in by_serial
    ]
    by_name = {(a.chain.name, str(a.residue.seqid), a.atom.name): i for i, a in enumerate(atoms)}
    for link in structure.connections:
        if link.type == gemmi.ConnectionType.Hydrog or link.asu == gemmi.Asu.Different:
            continue  # the second: a bond to an image of the molecule in the crystal
        i, j = (
            by_name.get((p.chain_name, str(p.res_id.seqid), p.atom_name))
            for p in (link.partner1, link.partner2)
        )
        if i is not None and j is not None and i != j:
            pairs.append((i, j))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


# Atoms that every amino acid has, and those of its side chain, without hydrogens (IUPAC names).
BACKBONE = ("N", "CA", "C", "O")
SIDE_CHAINS = {
    "ALA": "CB",
    "ARG": "CB CG CD NE CZ NH1 NH2",
    "ASN": "CB CG OD1 ND2",
    "ASP": "CB CG OD1 OD2",
    "CYS": "CB SG",
    "GLN": "CB CG CD OE1 NE2",
    "GLU": "CB CG CD OE1 OE2",
    "GLY": "",
    "HIS": "CB CG ND1 CD2 CE1 NE2",
    "ILE": "CB CG1 CG2 CD1",
    "LEU": "CB CG CD1 CD2",
    "LYS": "CB CG CD CE NZ",
    "MET": "CB CG SD CE",
    "PHE": "CB CG CD1 CD2 CE1 CE2 CZ",
    "PRO": "CB CG CD",
    "SER": "CB OG",
    "THR": "CB OG1 CG2",
    "TRP": "CB CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2",
    "TYR": "CB CG CD1 CD2 CE1 CE2 CZ OH",
    "VAL": "CB CG1 CG2",
}


def missing_atoms(molecule: Molecule) -> dict[str, list[str]]:
    """Atoms that amino acids of the molecule lack, by residue ('A/LYS 23'), in its order: those
    that were not seen in a crystal are left out of many files.  Hydrogens are not asked for."""
    found: dict[str, set[str]] = {}
    for name in molecule.names:
        residue, atom = name.rsplit("/", 1)
        found.setdefault(residue, set()).add(atom)
    missing = {}
    for residue, atoms in found.items():
        kind = residue.split("/")[1].split()[0]
        if kind in SIDE_CHAINS:
            lacks = [a for a in (*BACKBONE, *SIDE_CHAINS[kind].split()) if a not in atoms]
            if lacks:
                missing[residue] = lacks
    return missing


# ---------------------------------------------------------------------- building

# Backbone of an ideal alpha helix of alanine, without hydrogens: for each atom the three it is
# placed from (how many atoms back, counted in the chain N CA C O CB N ...), the bond length [A],
# the angle and the dihedral [degrees]; Engh and Huber 1991, phi = -57, psi = -47, omega = 180.
_RESIDUE = (
    # name, element, bonded to, angle at, dihedral from, length, angle, dihedral
    ("N", "N", 3, 4, 5, 1.329, 116.2, -47.0),
    ("CA", "C", 1, 4, 5, 1.458, 121.7, 180.0),
    ("C", "C", 1, 2, 5, 1.525, 111.2, -57.0),
    ("O", "O", 1, 2, 3, 1.231, 120.8, 133.0),
    ("CB", "C", 3, 2, 4, 1.530, 110.1, 122.6),
)
_MASS = {"C": 12.011, "N": 14.007, "O": 15.999}  # Da
_RADIUS = {"C": 1.70, "N": 1.55, "O": 1.52}  # A, Bondi 1964


def helix_molecule(atoms: int = 1732, chains: int = 7) -> Molecule:
    """A bundle of alpha helices of alanine with as many atoms as asked: realistic bond lengths
    and angles without any file. Chains stand side by side, 9.5 A apart, along z."""
    require_counts("helix", 1, atoms=atoms, chains=chains)
    if chains > atoms:
        raise InputError(f"{chains} chains of {atoms} atoms together: give each at least one atom")
    lengths = [atoms // chains + (k < atoms % chains) for k in range(chains)]
    longest = _alpha_helix(lengths[0])
    places = 9.5 * _hexagonal(chains)
    positions = [longest[:n] + place for n, place in zip(lengths, places, strict=True)]
    starts = np.cumsum([0, *lengths[:-1]])
    kinds = [_RESIDUE[i % 5] for n in lengths for i in range(n)]
    elements = [kind[1] for kind in kinds]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return Molecule(
        positions=np.concatenate(positions),
        elements=elements,
        mass=np.array([_MASS[e] for e in elements]),
        radius=np.array([_RADIUS[e] for e in elements]),
        bonds=np.concatenate([s + _chain_bonds(n) for s, n in zip(starts, lengths, strict=True)]),
        names=[
            f"{letters[c % 26]}/ALA {i // 5 + 1}/{_RESIDUE[i % 5][0]}"
            for c, n in enumerate(lengths)
            for i in range(n)
        ],
    )


def _chain_bonds(atoms: int) -> np.ndarray:
    bonds = [(i - _RESIDUE[i % 5][2], i) for i in range(1, atoms)]
    return np.array(bonds, dtype=np.int64).reshape(-1, 2)


def _hexagonal(count: int) -> Array:
    """The `count` points (count, 3) of a triangular lattice of spacing 1 nearest to the origin."""
    reach = int(np.sqrt(count)) + 2
    a, b = np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1))
    points = np.stack([a + 0.5 * b, np.sqrt(0.75) * b, 0.0 * a], axis=2).reshape(-1, 3)
    return points[np.argsort(np.linalg.norm(points, axis=1).round(9), kind="stable")[:count]]


def _alpha_helix(count: int) -> Array:
    """Atoms (count, 3) placed one after the other from bond length, angle and dihedral, centred,
    with the axis of the helix along z."""
    total = max(count, 40)  # a few turns at least: a shorter piece would have no clear axis
    x = np.zeros((total, 3))
    x[1] = (1.458, 0.0, 0.0)
    angle = np.radians(111.2)
    x[2] = x[1] + 1.525 * np.array([-np.cos(angle), np.sin(angle), 0.0])
    for i in range(3, total):
        _, _, bonded, at, away, length, angle, dihedral = _RESIDUE[i % 5]
        x[i] = _place(x[i - away], x[i - at], x[i - bonded], length, angle, dihedral)
    alphas = x[1::5]
    centred = x - alphas.mean(axis=0)
    _, _, axes = np.linalg.svd(alphas - alphas.mean(axis=0))
    axes = axes[::-1]  # the longest direction becomes z
    axes[0] *= np.sign(np.linalg.det(axes))  # a rotation: a mirror image would be left-handed
    turned = (centred @ axes.T)[:count]
    return turned - turned.mean(axis=0) * np.array([0.0, 0.0, 1.0])


def _place(a: Array, b: Array, c: Array, length: float, angle: float, dihedral: float) -> Array:
    """The point d at a distance from c, with the angle b-c-d and the dihedral a-b-c-d."""
    angle, dihedral = np.radians(angle), np.radians(dihedral)
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    side = np.cross(normal, along)
    swing = np.cos(dihedral) * side + np.sin(dihedral) * normal
    return c + length * (-np.cos(angle) * along + np.sin(angle) * swing)


# ---------------------------------------------------------------------- forces


def bonded_pairs(bonds: Any, count: int, separation: int = 2) -> np.ndarray:
    """Pairs (m, 2), i < j, of the `count` atoms that at most `separation` bonds keep apart."""
    require_counts("bonded_pairs", 1, count=count, separation=separation)
    bonds = as_elements("bond", bonds, 2)
    as_indices("bonds: one", bonds.ravel(), count)  # refuses atoms that there are not
    ones = np.ones(2 * len(bonds))
    ends = np.concatenate([bonds, bonds[:, ::-1]])
    step = sp.csr_matrix((ones, tuple(ends.T)), shape=(count, count)) + sp.identity(count)
    near = step
    for _ in range(separation - 1):
        near = near @ step
    upper = sp.triu(near, 1).tocoo()
    return np.stack([upper.row, upper.col], axis=1).astype(np.int64)


def molecule_parts(
    molecule: Molecule,
    *,
    bond_stiffness: float = BOND_STIFFNESS,
    angle_stiffness: float = ANGLE_STIFFNESS,
    epsilon: Any = WELL_DEPTH,
    sigma: Any = None,
    cutoff: float | None = None,
) -> list[Any]:
    """[Springs, LennardJones] for System(molecule.mass, parts, rest=molecule.positions).

    bond_stiffness, angle_stiffness [Da/ps^2]: springs along the bonds, and between the two ends
    of each angle (0: none, as Michels, Sobottka and Weber 2014, Sec. 5.6, have it); rest lengths
    are the molecule's own.
    epsilon [Da A^2/ps^2]; sigma [A]: by default so that the well lies at the sum of the van der
    Waals radii. Atoms one or two bonds apart have no Lennard-Jones force. cutoff [A].
    """
    if not isinstance(molecule, Molecule):
        raise InputError(f"give a Molecule (see read_molecule), not {type(molecule).__name__}")
    bond_stiffness = as_number("bond_stiffness", bond_stiffness, least=0.0)
    angle_stiffness = as_number("angle_stiffness", angle_stiffness, least=0.0)
    count = len(molecule.positions)
    near = bonded_pairs(molecule.bonds, count)
    bonds = np.sort(molecule.bonds, axis=1)
    is_bond = np.isin(near @ [count, 1], bonds @ [count, 1])
    angles = near[~is_bond] if angle_stiffness > 0.0 else near[:0]
    stiffness = np.repeat([bond_stiffness, angle_stiffness], [len(bonds), len(angles)])
    springs = Springs(
        np.concatenate([bonds, angles]), stiffness, rest_positions=molecule.positions
    )  # fmt: skip
    if sigma is None:
        sigma = 2.0 ** (5.0 / 6.0) * molecule.radius
    return [springs, LennardJones(epsilon, sigma, exclude=near, cutoff=cutoff)]
