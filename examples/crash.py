"""A car hits a wall at two speeds, and keeps its dents.

python examples/crash.py

After Luan, Michels 2018 (Sec. 5.3), who compute the motion of the car as a whole with a rigid body
and the deformation with springs: stiffness 1e4 N/m, bending 1/100 of that, rest lengths that follow
past a threshold.  Here the car is a shell of 10 kg (the paper prints no masses).  The frame flies
with the rigid body; in it, the wall comes towards the car.  The faster crash without a frame
follows as a check: dents of a shell that buckles differ by some ten percent from run to run,
energies less.
The frame is no gain in run time here: its Coriolis force rules out the half-size form of exprb42.
"""

import numpy as np

import stiffly
from stiffly.bodies import shell_springs
from stiffly.collisions import Contact, Plane
from stiffly.meshes import car
from stiffly.parts.rigid_body import RigidBody, RigidFrame, Seen, bounce

MASS, YIELD, DURATION, STEP = 10.0, 0.02, 0.3, 1e-3
mesh = car(300)
count = len(mesh.positions)
body, shape = RigidBody.of(mesh.positions, MASS / count)
# an oblique wall, which turns the car as well
normal = np.array([-np.cos(0.3), np.sin(0.3), 0.0])
touching = shape[np.argmin(shape @ normal)]
edges = mesh.edges
lengths = np.linalg.norm(shape[edges[:, 1]] - shape[edges[:, 0]], axis=1)


def dent(positions):
    """Largest distance [m] of a particle from where a rigid car would have it (best fit)."""
    moved = positions - positions.mean(axis=0)
    U, _, Vt = np.linalg.svd(shape.T @ moved)
    rotation = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    return np.linalg.norm(moved - shape @ rotation, axis=1).max()


def yielded(positions):
    """Share of springs past twice the yield strain: at most one of the two can be elastic."""
    now = np.linalg.norm(positions[edges[:, 1]] - positions[edges[:, 0]], axis=1)
    return np.mean(np.abs(now / lengths - 1.0) > 2.0 * YIELD)


def crash(speed, split=True):
    springs = shell_springs(mesh, 1e4, yield_strain=YIELD)
    if split:
        motion = bounce(body, [(touching, normal)], centre=(0, 0, 0), velocity=(speed, 0, 0),
                        stiffness=40.0, restitution=0.2, duration=2 * DURATION)  # fmt: skip
        wall = Plane(touching, normal, motion=Seen(motion))
        parts, v0 = [*springs, Contact(wall, 1e4), RigidFrame(motion)], None
    else:
        motion = None
        parts = [*springs, Contact(Plane(touching, normal), 1e4)]
        v0 = np.tile([speed, 0.0, 0.0], (count, 1))
    system = stiffly.System(MASS / count, parts, rest=shape)
    run = stiffly.simulate(system, shape, v0, integrator="exprb42", step=STEP, duration=DURATION)
    end = run.positions[-1]
    if motion is not None:
        end = motion(DURATION).world(end)
    return run, dent(end), yielded(end), end.mean(axis=0)


dents = {}
for speed in (2.0, 4.0):
    run, dents[speed], share, centre = crash(speed)
    lost, numerical = run.energy.dissipated[-1], np.abs(run.energy.numerical).max()
    energy = 0.5 * MASS * speed**2
    print(
        f"{speed:g} m/s, {energy:.0f} J: dent {dents[speed]:.2f} m, {share:.0%} of the springs "
        f"yielded, {lost:.1f} J dissipated, numerical error {numerical:.2g} J"
    )
    assert share > 0.01
    assert 0.3 * energy < lost < energy
    assert numerical < 0.01 * lost
assert dents[4.0] > 1.3 * dents[2.0]

plain, other, _, place = crash(4.0, split=False)
print(
    f"4 m/s without the frame: dent {other:.2f} m, {plain.energy.dissipated[-1]:.1f} J dissipated, "
    f"centre of mass {np.linalg.norm(centre - place):.3f} m away"
)
assert abs(plain.energy.dissipated[-1] - lost) < 0.1 * lost
