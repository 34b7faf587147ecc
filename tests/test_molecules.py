"""Molecules: files, bonds, the built-in helix, and the forces made for them."""

import sys

import numpy as np
import pytest
from scipy.spatial import KDTree

import stiffly
from stiffly.bodies import LennardJones, Springs, System
from stiffly.errors import InputError
from stiffly.parts.molecules import bonded_pairs, helix_molecule, molecule_parts, read_molecule

pytest.importorskip("gemmi")


def pdb_line(serial, name, residue, number, place, element, *, het=False, alt=" ", occupancy=1.0):
    x, y, z = place
    record = "HETATM" if het else "ATOM  "
    return (
        f"{record}{serial:5d} {name:<4}{alt}{residue:>3} A{number:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}{occupancy:6.2f}{0.0:6.2f}          {element:>2}"
    )


def ring(radius, count=6):
    angle = 2 * np.pi * np.arange(count) / count
    return radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)


BENZENE = "\n".join(
    [
        pdb_line(i + 1, f" {e}{i % 6 + 1}", "BNZ", 1, place, e, het=True)
        for i, (e, place) in enumerate(
            [("C", p) for p in ring(1.39)] + [("H", p) for p in ring(2.48)]
        )
    ]
    + ["END", ""]
)

GLYCINE = "\n".join(
    [
        "MODEL        1",
        pdb_line(1, " N", "GLY", 1, (0, 0, 0), "N"),
        pdb_line(2, " CA", "GLY", 1, (1.46, 0, 0), "C", alt="A", occupancy=0.6),
        pdb_line(3, " CA", "GLY", 1, (1.46, 0.3, 0), "C", alt="B", occupancy=0.4),
        pdb_line(4, " C", "GLY", 1, (2.0, 1.42, 0), "C"),
        pdb_line(5, " O", "GLY", 1, (1.25, 2.4, 0), "O"),
        "TER       6      GLY A   1",
        pdb_line(7, "ZN", "ZN", 50, (5.0, 3.0, 0), "ZN", het=True),
        pdb_line(8, " O", "HOH", 90, (9.0, 0, 0), "O", het=True),
        "CONECT    5    7",
        "ENDMDL",
        "MODEL        2",
        pdb_line(1, " N", "GLY", 1, (0, 0, 5), "N"),
        "ENDMDL",
        "END",
        "",
    ]
)

CYSTINE = """data_cystine
loop_
_struct_conn.id
_struct_conn.conn_type_id
_struct_conn.ptnr1_label_asym_id
_struct_conn.ptnr1_label_comp_id
_struct_conn.ptnr1_label_seq_id
_struct_conn.ptnr1_label_atom_id
_struct_conn.ptnr2_label_asym_id
_struct_conn.ptnr2_label_comp_id
_struct_conn.ptnr2_label_seq_id
_struct_conn.ptnr2_label_atom_id
_struct_conn.ptnr1_auth_asym_id
_struct_conn.ptnr1_auth_comp_id
_struct_conn.ptnr1_auth_seq_id
_struct_conn.ptnr2_auth_asym_id
_struct_conn.ptnr2_auth_comp_id
_struct_conn.ptnr2_auth_seq_id
disulf1 disulf A CYS 1 SG A CYS 2 SG A CYS 1 A CYS 2
hydrog1 hydrog A CYS 1 CB A CYS 2 CB A CYS 1 A CYS 2
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_seq_id
_atom_site.auth_seq_id
_atom_site.auth_asym_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
ATOM 1 C CB . CYS A 1 1 A 0.0 0.0 0.0
ATOM 2 S SG . CYS A 1 1 A 1.8 0.0 0.0
ATOM 3 S SG . CYS A 2 2 A 1.8 2.9 0.0
ATOM 4 C CB . CYS A 2 2 A 0.0 2.9 0.0
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="molecule.pdb"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


# ---------------------------------------------------------------------- reading


def test_benzene_has_its_twelve_bonds(file):
    molecule = read_molecule(file(BENZENE))
    assert molecule.elements == ["C"] * 6 + ["H"] * 6
    ring_bonds = [tuple(sorted((i, (i + 1) % 6))) for i in range(6)]
    expected = sorted(ring_bonds + [(i, i + 6) for i in range(6)])
    assert [tuple(b) for b in molecule.bonds.tolist()] == expected
    assert molecule.mass.sum() == pytest.approx(78.11, abs=0.01)  # C6H6 [Da]
    np.testing.assert_allclose(np.linalg.norm(molecule.positions[:6], axis=1), 1.39, atol=1e-3)


def test_first_model_first_location_and_named_bonds(file):
    molecule = read_molecule(file(GLYCINE))
    names = ["A/GLY 1/N", "A/GLY 1/CA", "A/GLY 1/C", "A/GLY 1/O", "A/ZN 50/ZN"]
    assert molecule.names == names
    np.testing.assert_allclose(molecule.positions[1], [1.46, 0.0, 0.0])
    assert molecule.bonds.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]  # the last by CONECT
    distance = np.linalg.norm(molecule.positions[4] - molecule.positions[3])
    assert distance > 3.0  # far beyond covalent radii: only the file knows this bond


def test_water_and_ligands_by_choice(file):
    path = file(GLYCINE)
    assert read_molecule(path, water=True).names[-1] == "A/HOH 90/O"
    assert read_molecule(path, hetero=False).names[-1] == "A/GLY 1/O"


def test_mmcif_links_are_bonds_and_hydrogen_bonds_are_not(file):
    molecule = read_molecule(file(CYSTINE, "cystine.cif"))
    assert molecule.bonds.tolist() == [[0, 1], [1, 2], [2, 3]]


ON_TOP = "\n".join(
    [
        pdb_line(1, " N", "GLY", 1, (0, 0, 0), "N"),
        pdb_line(2, " CA", "GLY", 1, (0, 0, 0.02), "C"),
        "END",
        "",
    ]
)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (ON_TOP, "m.pdb", r"atoms 0 \(A/GLY 1/N\) and 1 \(A/GLY 1/CA\) are 0.02 A apart"),
        ("hello\n", "m.cif", "no PDB or mmCIF file"),
        ("data_nothing\n_cell.length_a 1\n", "m.cif", "found no atoms"),
        ("", "m.pdb", "empty"),
        (ON_TOP.replace("  C\n", "  X\n"), "m.pdb", "no known element"),
    ],
)
def test_bad_files_are_refused_in_one_line(file, text, name, words):
    with pytest.raises(InputError, match=words) as caught:
        read_molecule(file(text, name))
    assert "\n" not in str(caught.value)


def test_atoms_without_a_position_are_named(file):
    line = pdb_line(2, " CA", "GLY", 1, (0, 0, 9.0), "C")
    text = ON_TOP.replace(ON_TOP.splitlines()[1], line[:30] + "     nan" + line[38:])
    with pytest.raises(InputError, match=r"atom 1 \(A/GLY 1/CA\) has no position"):
        read_molecule(file(text))
    text = CYSTINE.replace("CYS A 2 2 A 1.8", "CYS A 2 2 A ?")
    with pytest.raises(InputError, match=r"atom 2 \(A/CYS 2/SG\) has no position"):
        read_molecule(file(text, "cystine.cif"))


def ions(*named):
    """Na and Cl at their distance in rock salt, two Cs 5 A apart, and water's O and H."""
    atoms = [
        ("NA", (0, 0, 0)),
        ("CL", (2.8, 0, 0)),
        ("CS", (20, 0, 0)),
        ("CS", (25, 0, 0)),
        ("O", (40, 0, 0)),
        ("H", (40.96, 0, 0)),
    ]
    lines = [pdb_line(i, e, e, i, place, e, het=True) for i, (e, place) in enumerate(atoms, 1)]
    return "\n".join([*lines, *named, "END", ""])


def test_ions_are_bonded_only_if_the_file_says_so(file):
    assert read_molecule(file(ions())).bonds.tolist() == [[4, 5]]
    named = read_molecule(file(ions("CONECT    1    2")))
    assert named.bonds.tolist() == [[0, 1], [4, 5]]
    cesium = "\n".join(line for line in ions().splitlines() if "CS" in line or line == "END")
    assert len(read_molecule(file(cesium)).bonds) == 0


def test_missing_file_and_missing_library(file, monkeypatch):
    with pytest.raises(InputError, match="no such file"):
        read_molecule("nowhere.pdb")
    with pytest.raises(InputError, match=r"tolerance = -1: .*greater than 0"):
        read_molecule(file(BENZENE), tolerance=-1.0)
    monkeypatch.setitem(sys.modules, "gemmi", None)
    with pytest.raises(InputError, match=r"stiffly\[molecules\]"):
        read_molecule(file(BENZENE))


# ---------------------------------------------------------------------- the built-in helix


@pytest.mark.parametrize(("atoms", "chains"), [(1732, 7), (1, 1), (7, 3), (123, 2)])
def test_helix_has_the_atoms_asked_for_all_bonded(atoms, chains):
    molecule = helix_molecule(atoms, chains)
    assert len(molecule.positions) == len(molecule.mass) == len(molecule.names) == atoms
    assert len(molecule.bonds) == atoms - chains  # a tree for each chain
    x, bonds = molecule.positions, molecule.bonds
    lengths = np.linalg.norm(x[bonds[:, 1]] - x[bonds[:, 0]], axis=1)
    assert np.all((lengths > 1.2) & (lengths < 1.54))
    near = {tuple(p) for p in bonded_pairs(bonds, atoms).tolist()}
    assert all(p in near for p in KDTree(x).query_pairs(2.6))  # only neighbours are that close


def test_helix_is_a_right_handed_alpha_helix():
    """Pauling and Corey 1951: 3.6 residues a turn, 1.5 A a residue, hydrogen bonds O(i)-N(i+4)."""
    x = helix_molecule(500, 1).positions
    alpha = x[1::5]
    turn = np.unwrap(np.arctan2(alpha[:, 1], alpha[:, 0]))
    rise = np.diff(alpha[:, 2]).mean()
    advance = (turn[-1] - turn[0]) / (len(turn) - 1) * np.sign(rise)
    assert 2 * np.pi / advance == pytest.approx(3.6, abs=0.1)
    assert abs(rise) == pytest.approx(1.5, abs=0.1)
    bond = np.linalg.norm(x[3::5][:-4] - x[0::5][4:], axis=1)
    assert np.all((bond > 2.7) & (bond < 3.2))
    n, ca, c, _, cb = (x[50 + k] for k in range(5))
    assert np.dot(np.cross(n - ca, c - ca), cb - ca) > 0.0  # L-alanine


MOLECULE = helix_molecule(10, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: helix_molecule(2, 3), "3 chains of 2 atoms"),
        (lambda: helix_molecule("a"), "helix atoms = a: give a whole number"),
        (lambda: helix_molecule(10.5), "helix atoms = 10.5: give a whole number"),
        (lambda: helix_molecule(10, 0), "helix chains = 0"),
        (lambda: read_molecule(5), "path must be the name of a file, got 5"),
        (lambda: read_molecule("m.pdb", tolerance="a"), "tolerance must be one number"),
        (lambda: read_molecule("m.pdb", tolerance=None), "tolerance must be one number"),
        (lambda: bonded_pairs([[0, 5]], 5), "bonds: one names particle 5: there are 5"),
        (lambda: bonded_pairs([[0, 1], [2]], 5), "bonds has rows of different lengths"),
        (lambda: bonded_pairs([[0, 0]], 5), r"bond 0 \(0, 0\)"),
        (lambda: bonded_pairs([[0, 1]], 5, 0), "separation = 0"),
        (lambda: molecule_parts(5), "give a Molecule .*not int"),
        (lambda: molecule_parts(MOLECULE, angle_stiffness=None), "angle_stiffness must be one"),
        (lambda: molecule_parts(MOLECULE, angle_stiffness=-5), "angle_stiffness = -5"),
        (lambda: molecule_parts(MOLECULE, bond_stiffness="a"), "bond_stiffness must be one number"),
        (lambda: molecule_parts(MOLECULE, bond_stiffness=-1.0), "bond_stiffness = -1"),
        (lambda: molecule_parts(MOLECULE, cutoff="a"), "cutoff must be one number"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------------- forces


def test_bonded_pairs_by_separation():
    chain = [[0, 1], [1, 2], [2, 3]]
    for separation, expected in ((1, 3), (2, 5), (3, 6)):
        pairs = bonded_pairs(chain, 5, separation)
        assert len(pairs) == expected
        assert np.all(np.diff(pairs, axis=1) <= separation)


def test_parts_of_benzene(file):
    molecule = read_molecule(file(BENZENE))
    springs, forces = molecule_parts(molecule)
    assert isinstance(springs, Springs) and isinstance(forces, LennardJones)
    # 12 bonds; angles: 6 C-C-C and 12 C-C-H
    assert len(springs.edges) == 30 and len(forces.exclude) == 30
    assert len(molecule_parts(molecule, angle_stiffness=0.0)[0].edges) == 12
    # the well of two carbons lies at twice their van der Waals radius
    assert forces.sigma[0] * 2 ** (1 / 6) == pytest.approx(2 * 1.7, abs=1e-6)


def test_molecule_without_bonds(file):
    lines = [pdb_line(i, "AR", "AR", i, (4.0 * i, 0, 0), "AR", het=True) for i in (1, 2, 3)]
    molecule = read_molecule(file("\n".join([*lines, "END", ""])))
    system = System(molecule.mass, molecule_parts(molecule), rest=molecule.positions)
    _, s = system.bind(molecule.positions)
    assert len(molecule.bonds) == 0 and system.energy(s)["lennard-jones"] < 0.0


@pytest.mark.parametrize("cutoff", [None, 8.0])
def test_helix_jitters_and_keeps_its_energy(cutoff):
    """Atoms jitter about their places by less than a bond, and no energy is lost (Michels,
    Sobottka and Weber 2014, Sec. 5.6); a femtosecond is a thirtieth of the fastest period."""
    molecule = helix_molecule(120, 2)
    parts = molecule_parts(molecule, cutoff=cutoff)
    system = System(molecule.mass, parts, rest=molecule.positions)
    run = stiffly.simulate(
        system, molecule.positions, integrator="neti", step=0.001, duration=0.1
    )  # fmt: skip
    moved = np.linalg.norm(run.positions - molecule.positions, axis=2)
    assert 0.01 < moved.max() < 1.0
    energy = run.energy
    assert np.ptp(energy.kinetic) > 100.0  # 1 kJ/mol
    assert np.abs(energy.numerical).max() < 0.02 * energy.exchanged
