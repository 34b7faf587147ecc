"""Bodies that touch themselves, on a card: a hundred steps as the host takes them one by one."""

from functools import cache

import numpy as np
from cuda_mesh_checks import same_frames

import stiffly
from stiffly import scenes
from stiffly.bodies import Gravity, Rayleigh, System, cloth_springs
from stiffly.collisions import Contact, Plane, Repulsion
from stiffly.kernels.cuda import crowd
from stiffly.meshes import textile
from stiffly.run.stepper import Stepper

H = 2e-4
KINDS = ("statue", "stack", "slippery", "airy")


@cache
def begun(kind):
    """A system, and where it is when cloth touches cloth."""
    if kind == "statue":  # from when it has slid off the statue and lies on itself
        scene = scenes.load("statue", small=True)
        options = {"integrator": "verlet", "step": H, "duration": 0.4, "every": 0.4}
        run = stiffly.simulate(scene.system, scene.x0, **options)
        return scene.system, run.positions[-1], run.velocities[-1]
    sheet = textile(7, 7, spacing=0.1)
    count, rng = len(sheet.positions), np.random.default_rng(4)
    over = sheet.positions @ np.diag([0.7, 0.7, 1.0]) + [0.05, 0.02, 0.05]
    x0 = np.concatenate([sheet.positions, over + 0.004 * rng.standard_normal(over.shape)])
    faces = np.concatenate([sheet.triangles, count + sheet.triangles])
    rough = 0.0 if kind == "slippery" else 0.4
    parts = [
        *cloth_springs(sheet, 300.0, 30.0, law="cubic"),
        Gravity(),
        Repulsion(faces, thickness=0.06, stiffness=200.0, friction=rough),
    ]
    if kind == "airy":
        parts.insert(2, Contact(Plane((0, 0, -0.01), (0, 0, 1)), 500.0, margin=0.02, friction=0.3))
    damping = Rayleigh(alpha=2.0) if kind == "airy" else None
    system = System(0.01, parts, rest=x0, damping=damping)
    v0 = np.concatenate([np.zeros((count, 3)), np.tile([0.5, 0.2, -1.0], (count, 1))])
    return system, x0, v0


def same_run(kind):
    """Positions, ledger, frames of contact; the same bits twice."""
    system, x0, v0 = begun(kind)
    options = {"integrator": "verlet", "step": H, "duration": 100 * H, "every": 25 * H}
    host, card, again = (
        stiffly.simulate(system, x0, v0, device=device, **options)
        for device in ("cpu", "gpu", "gpu")
    )
    assert "one call" in card.stats["loop"]
    same_frames(host, card)
    assert host.diagnostics["contacts"][-1] > 5
    assert card.diagnostics["contacts"][-1] == host.diagnostics["contacts"][-1]
    assert np.array_equal(card.positions, again.positions)
    assert np.array_equal(card.energy.total, again.energy.total)


def same_bits_with_other_lists(monkeypatch):
    """Lists that are too short at first, that serve for other numbers of steps, and from which
    particles stray: none of them changes a bit."""
    system, x0, v0 = begun("stack")
    options = {"integrator": "verlet", "step": H, "duration": 80 * H, "every": 40 * H}
    runs = []
    for name, value in ((None, 0), ("ROOM", 1), ("STRAY", 0.01), ("STRAY", 0.4)):
        with monkeypatch.context() as other:
            if name is not None:
                other.setattr(crowd, name, value)
            runs.append(stiffly.simulate(system, x0, v0, device="gpu", **options))
        assert "one call" in runs[-1].stats["loop"]
    for run in runs[1:]:
        assert np.array_equal(run.positions, runs[0].positions)
        assert np.array_equal(run.velocities, runs[0].velocities)


def same_cut_steps(monkeypatch):
    """Steps so long that cloth might pass through cloth: single ones are taken, and cut."""
    system, x0, v0 = begun("stack")
    v0, taken = v0 * np.array([1.0, 1.0, 30.0]), []
    alone = Stepper._one_by_one

    def counted(self, h, ends):
        taken.append(len(ends))
        alone(self, h, ends)

    monkeypatch.setattr(Stepper, "_one_by_one", counted)
    options = {"integrator": "verlet", "step": 2 * H, "duration": 24 * H, "every": 4 * H}
    host, card = (
        stiffly.simulate(system, x0, v0, device=device, **options) for device in ("cpu", "gpu")
    )
    assert 0 < sum(taken) < 12
    same_frames(host, card)


def same_when_resumed(folder):
    """Half of it here and half there, either way."""
    system, x0, v0 = begun("airy")
    options = {"integrator": "verlet", "step": H, "every": 20 * H}
    whole = stiffly.simulate(system, x0, v0, duration=60 * H, **options)
    for begin, end in (("cpu", "gpu"), ("gpu", "cpu")):
        out = folder / begin
        half = {"out": out, "dtype": "float64", "checkpoint": 0, "device": begin}
        stiffly.simulate(system, x0, v0, duration=40 * H, **options, **half)
        there = stiffly.resume(out, system, duration=60 * H, device=end)
        error = np.abs(there.positions[-1] - whole.positions[-1]).max()
        assert error <= 1e-10 * np.abs(whole.positions).max()
