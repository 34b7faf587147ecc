"""What a card has to do as the host does it: asked of a real one, and of one made of loops."""

import numpy as np
import test_stretch as cases

import stiffly
from stiffly import scenes
from stiffly.backends.cpu import CPU
from stiffly.bodies import Attachments
from stiffly.contracts import Away
from stiffly.integrators.auto import stiffest
from stiffly.integrators.explicit import Verlet
from stiffly.kernels.cuda import layout
from stiffly.recording import writer
from stiffly.recording.notes import StepLog
from stiffly.run.ledger import Balance
from stiffly.run.stepper import Stepper
from stiffly.system.groups import NoStretch

KINDS, CARD_KINDS = cases.KINDS, cases.CARD_KINDS
# scenes whose parts all have loops of explicit steps
SCENES = (
    *("bar", "brush", "bunny", "cloth", "coil-spring", "crash", "dog", "dragon", "falling-cube"),
    *("flag", "dome", "pylon", "squats", "steel-sphere"),
    *("foil", "hair", "hippo", "rope", "sliding-bunny", "spinning-cube", "swinging-bunny", "tower"),
    *("twisting-beam", "two-springs", "cactus", "tori", "textile", "molecule"),
)
MIXED = (
    *("coil-spring", "hair", "crash", "bunny", "twisting-beam", "dog", "hippo", "cloth", "pylon"),
)
RECORDED = ("hair", "crash")  # with supports and contact; with springs that yield
LEDGER = ("added_now", "dissipated_now", "invented_now")
TANGLED = 0.9  # of an edge of the lattice: tets are turned inside out


def same_forces_inside_out(kind, backend):
    """Accelerations of tets of which many are turned inside out, where corotated ones have to find
    their rotation by singular values; against the gradients of the parts."""
    system, state = cases.bound(kind)
    rng = np.random.default_rng(7)
    x = state.x + TANGLED * rng.standard_normal(state.x.size)
    state = state.moved(state.t, x, np.zeros_like(x))
    corners = system.positions(state)[cases.solid()]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    assert 5 < np.count_nonzero(volumes < 0.0) < len(volumes)
    there, wanted = system.on(backend), system.acceleration(state)
    cases.agree(there.stretcher.acceleration(state), wanted, np.abs(wanted).max())


def same_frames_in_a_file(name, folder, monkeypatch):
    """What a run leaves in a file, written beside its steps or at once, is what it has in memory;
    and it goes on from a checkpoint to the same bits."""
    scene = scenes.load(name, small=True)
    h = 0.25 * scene.step
    options = {"integrator": "verlet", "step": h, "every": 20 * h, "device": "gpu"}
    memory = stiffly.simulate(scene, duration=100 * h, **options)
    for at_once in (0, 10**12):
        monkeypatch.setattr(writer, "AT_ONCE", at_once)
        out = {"out": folder / str(at_once), "dtype": "float64", "checkpoint": 0}
        stiffly.simulate(scene, duration=60 * h, **options, **out)
        file = stiffly.resume(out["out"], scene, duration=100 * h, device="gpu")
        for line in ("positions", "velocities"):
            assert np.array_equal(getattr(file, line), getattr(memory, line))
        assert file.fields.keys() == memory.fields.keys()
        for field, values in memory.fields.items():
            assert np.array_equal(file.fields[field], values)
        assert np.array_equal(file.energy.total, memory.energy.total)
    rounded = {"out": folder / "rounded", "dtype": "float32"}
    file = stiffly.simulate(scene, duration=100 * h, **options, **rounded)
    for line in ("positions", "velocities"):
        assert np.array_equal(getattr(file, line), getattr(memory, line).astype(np.float32))


def begun(name):
    """A small scene that moves, and a stable step."""
    scene = scenes.load(name, small=True)
    v0 = np.zeros_like(scene.x0) if scene.v0 is None else scene.v0
    if not v0.any():  # some begin at rest
        v0 = np.full_like(scene.x0, 0.01)
        v0[scene.system.fixed] = 0.0
    bound, state = scene.system.bind(scene.x0, v0)
    return scene, v0, min(0.5 * stiffest(bound, state).limit, scene.step)


def mixed_is_near_double(name):
    """A hundred steps of a small scene on a card, elements in either precision."""
    scene, v0, h = begun(name)
    options = {"integrator": "verlet", "step": h, "duration": 100 * h, "every": 50 * h}
    mixed, double = (
        stiffly.simulate(scene.system, scene.x0, v0, device="gpu", precision=precision, **options)
        for precision in ("mixed", "double")
    )
    error = np.abs(mixed.positions - double.positions).max()
    assert 0.0 < error <= 1e-6 * np.abs(double.positions).max()


def same_hundred_steps(name):
    """Of a small scene, on both sides: positions, every line of the ledger, and the same bits
    twice."""
    scene, v0, h = begun(name)
    options = {"integrator": "verlet", "step": h, "duration": 100 * h, "every": 50 * h}
    host, card, again = (
        stiffly.simulate(scene.system, scene.x0, v0, device=device, **options)
        for device in ("cpu", "gpu", "gpu")
    )
    size = np.abs(host.positions).max()
    assert np.abs(card.positions - host.positions).max() <= 1e-10 * size
    assert np.array_equal(card.positions, again.positions)
    lines, found = (
        {**run.energy.parts, "added": run.energy.added, "dissipated": run.energy.dissipated}
        for run in (host, card)
    )
    assert found.keys() == lines.keys()
    most = max(host.energy.exchanged, *(np.abs(line).max() for line in lines.values()))
    for line, wanted in lines.items():
        assert np.abs(found[line] - wanted).max() <= 1e-9 * most, line


def apart(monkeypatch):
    """No body fits a block: every kernel is launched for all rows."""
    monkeypatch.setattr(layout, "THREADS", (32, 0))


def same_bits_when_fetched(kind, method, backend):
    """Steps from a state that has stayed where it was made, and from what a checkpoint keeps."""
    system, state = cases.bound(kind)
    stayed = cases.at_once(system.on(backend), state, method)
    fetched = Stepper(system.on(backend), method, "", state, Balance(system), StepLog())
    fetched.take_all(cases.H, cases.H * np.arange(1, 6))
    away, memory = fetched.state, fetched.memory
    assert isinstance(away, Away)
    fetched.state, fetched.memory = away.as_saved(), memory.as_saved()
    fetched.memory = fetched.memory._replace(state=fetched.state)
    fetched.take_all(cases.H, cases.H * np.arange(6, cases.COUNT + 1))
    assert np.array_equal(stayed.state.x, fetched.state.x)
    assert np.array_equal(stayed.state.v, fetched.state.v)
    assert stayed.state.parts.keys() == fetched.state.parts.keys()
    for name, array in stayed.state.parts.items():
        assert np.array_equal(array, fetched.state.parts[name])
    assert np.array_equal(memory.acceleration, memory.as_saved().acceleration)


def same_drag(backend):
    """A hand that takes hold, pulls and lets go between stretches; what it does on both sides."""
    rest, edges, x0 = cases.body(np.random.default_rng(3))
    ends = []
    for device in (CPU, backend):
        hand = Attachments([2], 30.0, live=True)
        system = stiffly.System(1.0, [stiffly.Springs(edges, 400.0), hand], rest=rest)
        bound, state = system.on(device).bind(x0)
        stepper = Stepper(bound, Verlet(), "", state, Balance(bound), StepLog())
        orders = (
            lambda hand=hand: hand.attach([20, 7], rest[[20, 7]] + 0.5),
            lambda hand=hand: hand.move(rest[[2, 20, 7]] + 1.0),
            lambda hand=hand: (hand.release([20]), hand.attach([4])),
            lambda: None,
            hand.release,
        )
        lines = []
        for k, order in enumerate(orders):
            order()
            stepper.take_all(cases.H, cases.H * np.arange(6 * k + 1, 6 * k + 7))
            moved = [getattr(stepper.ledger, line) for line in LEDGER]
            lines.append([*bound.energy(stepper.state).values(), *moved])
        ends.append((stepper.state.x, np.array(lines), stepper.state.parts))
    (here, books, parts), (there, told, kept) = ends
    cases.agree(there, here, 10.0)
    cases.agree(told, books, 10.0 * np.abs(books).max())
    assert np.ptp(books[:, 3]) > 1.0 and books[-1, 4] > 0.0  # added, dissipated
    for name, array in parts.items():
        cases.agree(kept[name], array)


def same_steps(kind, method, backend):
    """The same steps, ledger, memory and notes of a body of test_stretch.py on both sides; the
    host's one by one where cards alone have a loop."""
    system, state = cases.bound(kind)
    steps = cases.one_by_one if kind in CARD_KINDS else cases.at_once
    assert isinstance(system.stretcher, NoStretch) == (kind in CARD_KINDS)
    here, there = steps(system, state, method), cases.at_once(system.on(backend), state, method)
    scale = np.abs(here.state.v).max()
    cases.agree(there.state.x, here.state.x, scale)
    cases.agree(there.state.v, here.state.v, 100.0 * scale)
    for name, array in here.state.parts.items():
        cases.agree(there.state.parts[name], array)
    energy = 0.5 * float(system.mass.dot(here.state.v, here.state.v))
    for line in LEDGER:
        cases.agree(getattr(there.ledger, line), getattr(here.ledger, line), 10.0 * energy)
    for name in ("positions", "velocities"):
        (told,), plain = there.system.stretcher.shown(there.state, [name]), there.state.as_saved()
        assert told is not None
        cases.agree(told, getattr(there.system, name)(plain), 100.0 * scale)
    for name, values in here.system.fields(here.state).items():
        cases.agree(there.system.fields(there.state)[name], values, np.abs(values).max())
    known = there.system.stretcher.energies(there.state)
    wanted = here.system.energy(here.state)
    assert (known is None) == (kind == "yielding")  # whose two kinds of springs have two names
    for name, value in (known or {}).items():
        cases.agree(value, wanted[name], 10.0 * max(energy, abs(wanted[name])))
    assert list(known or wanted) == list(wanted)
    if kind in KINDS:  # single steps note contact elsewhere
        assert there.notes.keys() == here.notes.keys()
        for name, value in here.notes.items():
            cases.agree(there.notes[name], value)
    assert there.way == here.way or "one call" in there.way
