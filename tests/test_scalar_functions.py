"""Stumpff and phi functions against their definitions in 60 to 80 digits."""

import mpmath as mp
import numpy as np
import pytest
import reference
from hypothesis import example, given
from hypothesis import strategies as st
from thinned import drawn

from stiffly.errors import InputError
from stiffly.kernels import cpu
from stiffly.matfun import phi, stumpff

KS = range(7)
TINY = 5e-324  # the smallest subnormal
TOLERANCE = 1e-14


def exact_stumpff(k, s):
    """sum_j (-s)^j / (2j + k)!: the series where it is short, cos and sinc of sqrt(s) elsewhere."""
    with mp.workdps(80):
        s = mp.mpf(float(s))
        if abs(s) < 1:
            return mp.fsum((-s) ** j / mp.factorial(2 * j + k) for j in range(30))
        root = mp.sqrt(abs(s))
        if k % 2 == 0:
            value = mp.cos(root) if s > 0 else mp.cosh(root)
        else:
            value = (mp.sin(root) if s > 0 else mp.sinh(root)) / root
        for j in range(k % 2, k, 2):
            value = (1 / mp.factorial(j) - value) / s
        return value


def exact_phi(k, z):
    """sum_j z^j / (j + k)!: the series where it is short, the recurrence from exp elsewhere."""
    with mp.workdps(80):
        z = mp.mpmathify(complex(z))
        if abs(z) < 1:
            return mp.fsum(z**j / mp.factorial(j + k) for j in range(50))
        value = mp.exp(z)
        for j in range(k):
            value = (value - 1 / mp.factorial(j)) / z
        return value


def relative_errors(values, exact):
    """|value - exact| / |exact|, computed in many digits; a NaN counts as infinitely wrong."""
    return [
        float(abs(mp.mpmathify(complex(v)) - e) / abs(e)) if np.isfinite(v) else np.inf
        for v, e in zip(np.ravel(values), exact, strict=True)
    ]


def spread(low, high, count, seed=0):
    """Numbers with logarithms evenly spread over [low, high], slightly shaken."""
    jitter = np.random.default_rng(seed).uniform(0.9, 1.1, count)
    return np.geomspace(low, high, count) * jitter


POINTS = {
    "small": np.concatenate([spread(1e-300, 1.0, 60), -spread(1e-300, 1.0, 60)]),
    "moderate": np.linspace(-25.0, 250.0, 300),
    "large": spread(10.0, 1e12, 200),
    "negative": -spread(1.0, 1e5, 150),
    "zeros of cos": ((np.concatenate([np.arange(99), [999, 318309]]) + 0.5) * np.pi) ** 2,
    "zeros of sinc": (np.concatenate([np.arange(1, 99), [999, 318309]]) * np.pi) ** 2,
    "where Taylor ends": np.array([16.0, np.nextafter(16, 17), -16.0, np.nextafter(-16, -17)]),
    "zero and subnormal": np.array([0.0, -0.0, TINY, -TINY, 4 * TINY, 1e-310, 2.3e-308]),
}


@pytest.mark.parametrize("kernel", [cpu, reference], ids=["compiled", "reference"])
@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS.keys())
@pytest.mark.parametrize("k", KS)
def test_stumpff_to_14_digits(k, points, kernel):
    values = kernel.stumpff_values(k, points)
    worst = max(relative_errors(values, [exact_stumpff(k, s) for s in points]))
    assert worst <= TOLERANCE


@drawn(150)
@given(st.integers(0, 6), st.floats(-1e5, 1e12))
@example(0, 43645.858062717416)
@example(2, 45637.050750637194)
def test_stumpff_anywhere(k, s):
    assert relative_errors(stumpff(k, s), [exact_stumpff(k, s)])[0] <= TOLERANCE


@pytest.mark.parametrize("s", [1e18, 3e24, 7e30])
@pytest.mark.parametrize("k", KS)
def test_stumpff_of_huge_arguments_keeps_its_digits(k, s):
    # relative to the envelope s^(-k/2): at a random phase the value itself is of that size
    error = abs(mp.mpf(float(stumpff(k, s))) - exact_stumpff(k, s))
    assert float(error * mp.mpf(s) ** (min(k, 2) / mp.mpf(2))) <= TOLERANCE


@pytest.mark.parametrize("s", [1e40, 1e100, 1e300])
def test_stumpff_stays_bounded_however_large_the_argument(s):
    """|c_0| <= 1, |c_1| <= s^-1/2, 0 <= c_2 <= 2/s whatever the phase."""
    assert abs(stumpff(0, s)) <= 1.0
    assert abs(stumpff(1, s)) <= s**-0.5 * (1 + 1e-12)
    assert 0.0 <= stumpff(2, s) <= 2.0 / s * (1 + 1e-12)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("r", [700.0, 712.0, 716.0, 1000.0, 1e5])
def test_stumpff_overflows_only_where_the_true_value_does(k, r):
    truth = exact_stumpff(k, -(r**2))
    value = float(stumpff(k, -(r**2)))
    if truth > mp.mpf(np.finfo(float).max):
        assert value == np.inf
    else:
        assert relative_errors(value, [truth])[0] <= TOLERANCE


def test_stumpff_at_zero_is_the_inverse_factorial():
    for k, value in enumerate([1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720]):
        assert stumpff(k, 0.0) == value
        assert stumpff(k, -0.0) == value


# ------------------------------------------------------------------ phi


@drawn(150)
@given(st.integers(0, 6), st.floats(-40.0, 40.0))
@example(6, 6.0)
@example(6, -6.0)
@example(3, -3.0)
@example(1, -np.nextafter(3.0, 4.0))
@example(5, 0.0)
@example(5, -0.0)
@example(2, TINY)
def test_phi_real(k, z):
    assert relative_errors(phi(k, z), [exact_phi(k, z)])[0] <= TOLERANCE


@pytest.mark.parametrize("k", range(1, 7))
def test_phi_of_large_negative_numbers(k):
    z = -spread(1.0, 1e15, 80)
    assert max(relative_errors(phi(k, z), [exact_phi(k, x) for x in z])) <= TOLERANCE


@drawn(150)
@given(st.integers(0, 6), st.floats(-60.0, 0.0), st.floats(-300.0, 300.0))
def test_phi_complex_in_the_left_half_plane(k, real, imaginary):
    z = complex(real, imaginary)
    assert relative_errors(phi(k, z), [exact_phi(k, z)])[0] <= TOLERANCE


@drawn(150)
@given(st.integers(0, 6), st.floats(0.0, 30.0), st.floats(-100.0, 100.0))
def test_phi_complex_in_the_right_half_plane(k, real, imaginary):
    """phi_k has zeros here, so errors count against |phi_k| + |z phi_k'|: what z's own rounding
    would do, with phi_k' = phi_k - k phi_(k+1)."""
    z = complex(real, imaginary)
    exact = exact_phi(k, z)
    slope = exact - k * exact_phi(k + 1, z)
    error = abs(mp.mpmathify(complex(phi(k, z))) - exact)
    assert float(error / (abs(exact) + abs(mp.mpmathify(z) * slope))) <= TOLERANCE


@pytest.mark.parametrize("k", KS)
def test_phi_on_the_imaginary_axis_is_a_pair_of_stumpff_functions(k):
    """phi_k(i w) = c_k(w^2) + i w c_(k+1)(w^2): the half-size form for one oscillator."""
    w = np.linspace(-50.0, 50.0, 41)
    exact = [exact_stumpff(k, x * x) + 1j * mp.mpf(x) * exact_stumpff(k + 1, x * x) for x in w]
    assert np.abs(phi(k, 1j * w) - np.array(exact, dtype=complex)).max() <= TOLERANCE


# ------------------------------------------------------------------ interface


@pytest.mark.parametrize("function", [stumpff, phi])
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 2), (2, 0, 4)])
def test_shapes_are_kept_and_entries_are_independent(function, k, shape):
    z = np.random.default_rng(1).uniform(-30.0, 30.0, shape)
    value = function(k, z)
    assert value.shape == shape
    flat = [float(function(k, x)) for x in z.ravel()]
    assert np.array_equal(np.ravel(value), flat)


@pytest.mark.parametrize("function", [stumpff, phi])
def test_input_arrays_are_left_alone_and_integers_are_welcome(function):
    z = np.arange(-3, 4)
    before = z.copy()
    assert np.array_equal(function(2, z), function(2, z.astype(float)))
    assert np.array_equal(function(2, z[::2]), function(2, z)[::2])  # not contiguous
    assert np.array_equal(z, before)


@pytest.mark.parametrize("function", [stumpff, phi])
@pytest.mark.parametrize("k", [-1, 7, 2.5, float("nan")])
def test_unknown_index_is_refused_in_one_line(function, k):
    with pytest.raises(InputError, match=r"k = 0\.\.6") as caught:
        function(k, 1.0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [stumpff, phi])
def test_not_a_number_stays_not_a_number(function):
    for k in KS:
        assert np.isnan(function(k, np.nan))
