"""How closely a run's error can be told beforehand: what is counted, and where theory knows it."""

import numpy as np
import pytest

from stiffly_lab import Bench, foresight
from stiffly_lab.registry import EXPERIMENTS
from stiffly_lab.report import NOT_REPRODUCED, REPRODUCED


def test_the_best_safety_factor_catches_as_many_as_lie_in_one_interval():
    assert foresight.window([1.0, 1.3, 1.4, 10.0, 12.0], 1.44) == 3
    assert foresight.window([1.0, 1.5, 3.0], 1.44) == 1
    assert foresight.window([0.0, 0.0, 1.0], 2.0) == 1  # no factor helps a forecast of nothing
    assert foresight.window([], 2.0) == 0


def test_claims_count_every_method_by_its_own_width():
    """Forecasts that are 1.9 times apart: good enough for order four, not for order two."""
    flat = {str(k): [value] * len(foresight.SHARES) for k, value in enumerate((1.0, 1.9))}
    claims = foresight._claims({"verlet": flat, "rk4": flat})
    assert {c.measured.split(",")[0] for c in claims} == {"in 3 of 4 cases (75%)"}
    assert {c.verdict for c in claims} == {NOT_REPRODUCED}
    assert foresight._claims({"rk4": flat})[0].verdict == REPRODUCED


@pytest.fixture(scope="module")
def quick():
    return EXPERIMENTS["foresight"].run(Bench(quick=True))


@pytest.mark.slow
def test_the_whole_run_tells_its_error(quick):
    """Two whole runs differ by the error of the longer steps, by Richardson: the control."""
    last = [
        row["forecast"][-1]
        for scene in quick.data["scenes"].values()
        for row in scene["rows"].values()
    ]
    assert len(last) >= 10
    assert np.median(last) == pytest.approx(1.0, abs=0.05)
    assert quick.claims[-1].verdict == REPRODUCED


@pytest.mark.slow
def test_the_beginning_tells_less(quick):
    spread = [
        abs(np.log(row["forecast"][k]))
        for k in (2, -1)
        for scene in quick.data["scenes"].values()
        for row in scene["rows"].values()
    ]
    early, whole = np.split(np.array(spread), 2)
    assert early.mean() > 3.0 * whole.mean()
