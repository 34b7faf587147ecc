"""A molecule of stiff bonds and Lennard-Jones forces, released at rest.

Michels, Sobottka, Weber 2014, Sec. 5.6, Figs. 20, 23f: three structures of the Protein Data Bank
(3gbi with 1372 atoms, 1nso with 1732, 3tnu with 2994), springs along covalent bonds, Lennard-Jones
forces between all other pairs, velocities zero.  Any PDB or mmCIF file can be given as pdb=; one
whose amino acids lack atoms is refused unless incomplete=True.  Without a file a bundle of seven
alpha helices of alanine stands in, 1732 atoms made by formulas.  Pictures show atoms as balls of
their van der Waals radii.

    units: angstrom, dalton, picosecond; energies come out in 0.01 kJ/mol, not in joules
    bonds 450 N/m; radii and depth of Lennard-Jones as in the usual force fields (bodies.molecules)
    angles [Da/ps^2] are not held, as in the paper; 5e4 is the value of force fields
    step 0.005 ps, 1 ps (the paper's 30 ms cannot be meant: bonds vibrate in 0.03 ps)

Energy is kept to 1e-4 of what is exchanged in 1 ps, bond lengths to 0.5 %.  That atoms only jitter
by far less than a bond length, as the paper has it, is not seen: without hydrogen bonds and water,
helices attract each other and move by 3 angstrom within 1 ps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InputError
from ..meshes import Mesh
from ..meshes.mesh import ELEMENT
from ..parts.molecules import (
    BOND_STIFFNESS,
    Molecule,
    helix_molecule,
    missing_atoms,
    molecule_parts,
    read_molecule,
)
from .builder import Setup, at_rest, plain, positive, scene

SUMMARY = "a molecule of 1732 atoms, stiff bonds and Lennard-Jones forces"
SOURCE = "Michels, Sobottka, Weber 2014, Sec. 5.6, Figs. 20, 23f"
SHOWS = "energy flat while bonds vibrate; BDF-1 cools the molecule"
SMALL = {"atoms": 120, "chains": 3, "duration": 0.4}
RUN = {"step": 5e-3, "duration": 1.0}
PAPER = {"step": 0.005, "duration": 1.0, "integrator": "neti"}
PAPER_HOLDS = (
    "the energy is kept, but the paper's 30 ms cannot be meant, and atoms move by 3 angstrom "
    "within 1 ps, more than jitter"
)
UNITS = "units: angstrom, dalton, picosecond; energies in 0.01 kJ/mol"


@scene
def molecule(
    atoms: int = plain(1732, "of the stand-in"),
    chains: int = plain(7, "helices of the stand-in"),
    bonds: float = positive(BOND_STIFFNESS, "stiffness of covalent bonds [Da/ps^2]"),
    angles: float = plain(0.0, "stiffness between the ends of each angle [Da/ps^2]; 0: none"),
    pdb: str = plain("", "a PDB or mmCIF file to use instead"),
    incomplete: bool = plain(False, "take a file whose amino acids lack atoms as it is"),
) -> Setup:
    found = read_molecule(pdb) if pdb else helix_molecule(atoms, chains)
    if pdb and not incomplete:
        _require_complete(found, pdb)
    parts = molecule_parts(found, bond_stiffness=bonds, angle_stiffness=angles)
    model = "a bundle of helices stands in; or give pdb="
    if pdb:
        model = f"the molecule is {Path(pdb).name}"
    elements = np.array(found.elements)
    sets = {f"{ELEMENT}{e}": np.flatnonzero(elements == e) for e in np.unique(elements)}
    mesh = Mesh(found.positions, found.bonds, vertex_sets=sets)
    return at_rest(mesh, found.mass, parts, f"{model}; {UNITS}")


def _require_complete(molecule: Molecule, pdb: str) -> None:
    missing = missing_atoms(molecule)
    if missing:
        residue, atoms = next(iter(missing.items()))
        others = f" (and {len(missing) - 1} others lack some)" if len(missing) > 1 else ""
        raise InputError(
            f"{Path(pdb).name}: {residue} lacks {', '.join(atoms)}{others}: complete the file, or "
            "give incomplete=true to take it as it is"
        )
