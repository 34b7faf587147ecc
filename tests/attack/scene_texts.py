"""Scene files of which bad_inputs.py makes bad ones, a key at a time: what SCENE there lacks."""

MANY_BODIES = """
duration = 0.02
step = 0.01
integrator = "bdf1"
every = 0.01
[[body]]
name = "sheet"
shape = { kind = "cloth", nx = 4, ny = 4, spacing = 0.1, diagonals = 1, bending = true }
elasticity = "cloth"
structural = 100.0
shear = 10.0
bending = 1.0
law = "linear"
yield_strain = 0.5
area_density = 0.1
dashpots = 0.01
color = [0.5, 0.5, 0.5]
shine = 0.3
stretch = [1.0, 1.0, 1.0]
spin = [0.0, 0.0, 1.0]
pins = [{ box = [[-1.0, -1.0, -1.0], [0.01, 1.0, 1.0]] }]
[[body]]
name = "cord"
shape = { kind = "rope", particles = 5, start = [0.0, 0.0, 0.0], direction = [1.0, 0.0, 0.0] }
elasticity = "springs"
stiffness = 100.0
mass = 0.1
position = [0.0, 0.0, 2.0]
[[body]]
name = "block"
shape = { kind = "beam", along = 4, across = [2, 2], length = 1.0, width = 0.2, height = 0.2 }
elasticity = "tetrahedra"
young = 1e5
poisson = 0.3
material = "corotated"
project = true
density = 100.0
position = [0.0, 0.0, 4.0]
[[body]]
name = "lump"
shape = { kind = "cube", cells = 1 }
elasticity = "rigid"
density = 100.0
position = [0.5, 0.5, 5.0]
[[load]]
kind = "wind"
wind = [1.0, 0.0, 0.0]
swing = { amplitude = [0.0, 1.0, 0.0], period = 1.0 }
coefficient = 1.2
density = 1.2
bodies = ["sheet"]
[[load]]
kind = "drag"
coefficient = 0.1
power = 2
wind = [0.0, 0.0, 0.0]
bodies = ["cord"]
[[load]]
kind = "force"
body = "cord"
particles = [1, 2]
force = [0.0, 0.0, 1.0]
[[load]]
kind = "field"
acceleration = [0.0, 0.0, -1.0]
[[attachment]]
body = "cord"
particles = [4]
to = { body = "block", particles = [1] }
stiffness = 100.0
[[spring]]
ends = [{ body = "cord", particles = [3] }, { body = "block", particles = [0] }]
stiffness = 10.0
length = 0.5
[[joint]]
kind = "hinge"
bodies = ["block", "lump"]
at = [0.0, 0.0, 2.0]
axis = [0.0, 1.0, 0.0]
stiffness = 10.0
torque = 0.1
[[support]]
body = "cord"
particles = [2]
motion = { kind = "keyframes", times = [0.0, 1.0], offsets = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]] }
[contact]
thickness = 1e-3
stiffness = 10.0
friction = 0.1
bodies = ["sheet", "cord"]
push_apart = true
[damping]
rate = 0.1
"""
MANY_COLLIDERS = """
duration = 0.02
frames_per_second = 100.0
rtol = 1e-3
atol = 1e-4
integrator = "pexprb43"
summary = "words"
[[body]]
name = "bowl"
shape = { kind = "dome", rings = 3, border = 8, radius = 0.5, thickness = 0.05, opening = 80.0 }
elasticity = "shell"
stiffness = 100.0
bending = 1.0
mass = 1.0
position = [0.0, 0.0, 3.0]
[[body]]
name = "dust"
shape = { kind = "particles", positions = [[0.0, 0.0, 9.0], [1.0, 0.0, 9.0]] }
elasticity = "none"
mass = 0.1
[[collider]]
kind = "sphere"
centre = [0.0, 0.0, -5.0]
radius = 1.0
inside = false
stiffness = 100.0
margin = 0.01
friction = 0.1
frozen = false
bodies = ["bowl"]
motion = { kind = "rotation", axis = [0.0, 0.0, 1.0], centre = [0.0, 0.0, 0.0], rate = 1.0 }
[[collider]]
kind = "hemisphere"
centre = [0.0, 0.0, -9.0]
radius = 1.0
axis = [0.0, 0.0, 1.0]
stiffness = 100.0
[[collider]]
kind = "triangle-mesh"
shape = { kind = "cube", cells = 1 }
position = [0.0, 0.0, -12.0]
scale = 2.0
reach = 0.1
stiffness = 100.0
"""
BUILT_IN = """
scene = "cloth"
variant = "paper"
duration = 0.02
step = 0.01
integrator = "bdf1"
[parameters]
resolution = 4
[adjust]
stiffness = 2.0
damping = 1.0
gravity = 1.0
wind = 1.0
"""
TEXTS = {"bodies": MANY_BODIES, "colliders": MANY_COLLIDERS, "built-in": BUILT_IN}
