"""Every table and figure of the papers, and the experiment that answers for it."""

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

ANSWERS = {
    "Michels 2014, Table II": "gautschi-table",
    "Michels 2014, Fig. 5": "filters",
    "Michels 2014, Fig. 6": "krylov-error",
    "Michels 2014, Fig. 9": "tower-energy",
    "Michels 2014, Fig. 10": "foil-strain",
    "Michels 2014, Fig. 11": "oscillator-pair",
    "Michels 2014, Fig. 22a": "pylon-energy",
    "Michels 2014, Fig. 22b": "coil-error",
    "Michels 2014, Fig. 22c": "dome-step",
    "Michels 2014, Fig. 22d": "squats-energy",
    "Michels 2014, Fig. 22e": "beam-step",
    "Michels 2014, Fig. 22f": "dragon-step",
    "Michels 2014, Fig. 23a": "dragon-size",
    "Michels 2014, Fig. 23b": "tori-bounce",
    "Michels 2014, Fig. 23c": "rope-cost",
    "Michels 2014, Fig. 23d": "rope-cost",
    "Michels 2014, Fig. 23e": "sphere-bounce",
    "Michels 2014, Fig. 23f": "molecule-energy",
    "Luan 2018, Table 2": "rosenbrock-table",
    "Michels 2017, Table 1": "rosenbrock-table",
    "Michels 2017, Fig. 2": "flag-area",
    "Michels 2017, Fig. 3a": "bunny-precision",
    "Michels 2017, Fig. 3b": "bunny-energy",
    "Michels 2017, Fig. 3c": "bunny-size",
    "Luan 2021, Fig. 1": "fput-order",
    "Luan 2021, Fig. 2": "fput-work",
    "Luan 2021, Fig. 3": "fput-energy",
    "Luan 2021, Fig. 4": "fput-energy",
    "Luan 2021, Table 2": "rosenbrock-table",
    "Dinev 2018, Table 1": "stabiliser-table",
    "Dinev 2018, Table 2": "stabiliser-table",
    "Dinev 2018, Fig. 1": "cloth",
    "Dinev 2018, Fig. 2": "single-spring",
    "Dinev 2018, Fig. 3": "single-spring",
    "Dinev 2018, Fig. 4": "spinning-cube",
    "Dinev 2018, Fig. 5": "spinning-cube",
    "Dinev 2018, Fig. 6": "spinning-cube",
    "Dinev 2018, Fig. 7": "cactus",
    "Dinev 2018, Fig. 10": "cloth",
    "Dinev 2018, Fig. 18": "two-springs",
}
ITEMS = tuple(ANSWERS)
