"""Every table and figure of the papers that the lab has to answer for."""

from __future__ import annotations

PAPERS = {
    "Michels 2014": "Michels, Sobottka & Weber: Exponential Integrators for Stiff Elastodynamic "
    "Problems (ACM TOG, 2014)",
    "Michels 2017": "Michels, Luan & Tokman: A Stiffly Accurate Integrator for Elastodynamic "
    "Problems (ACM TOG, 2017)",
    "Luan 2018": "Luan & Michels: Explicit Exponential Rosenbrock Methods and their Application in "
    "Visual Computing (2018)",
    "Dinev 2018": "Dinev, Liu & Kavan: Stabilizing Integrators for Real-Time Physics "
    "(ACM TOG, 2018)",
    "Luan 2021": "Luan & Michels: Efficient Exponential Time Integration for Simulating Nonlinear "
    "Coupled Oscillators (2021)",
}


def _figures(paper: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{paper}, Fig. {name}" for name in names)


def _panels(paper: str, figure: str, letters: str) -> tuple[str, ...]:
    return _figures(paper, *(figure + letter for letter in letters))


ITEMS = (
    "Michels 2014, Table II",
    *_figures("Michels 2014", "5", "6", "9", "10", "11"),
    *_panels("Michels 2014", "22", "abcdef"),
    *_panels("Michels 2014", "23", "abcdef"),
    "Luan 2018, Table 2",
    "Michels 2017, Table 1",
    *_figures("Michels 2017", "2"),
    *_panels("Michels 2017", "3", "abc"),
    *_figures("Luan 2021", "1", "2", "3", "4"),
    "Luan 2021, Table 2",
    "Dinev 2018, Table 1",
    "Dinev 2018, Table 2",
    *_figures("Dinev 2018", "1", "2", "3", "4", "5", "6", "7", "10", "18"),
)
