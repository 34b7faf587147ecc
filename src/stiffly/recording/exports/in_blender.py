"""Run by Blender, or by a Python that has bpy: a .blend file from what `blend.py` laid down.

python in_blender.py -- FOLDER FILE.blend

It is a program by itself and imports nothing of ours: Blender's Python knows no stiffly.
Each frame is a shape key of its object; the keys are absolute ones, run through by one curve
(eval_time), so that Blender moves linearly from frame to frame and needs no add-on.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from math import radians
from pathlib import Path
from typing import Any

import numpy as np

SHARP = 40.0  # degrees between triangles of an edge that is not smoothed over
SKY = (0.75, 0.82, 0.9, 1.0)


class Made:
    """The file as it grows; told: scene.json, arrays: what it names."""

    def __init__(self, folder: Path) -> None:
        self.bpy: Any = import_module("bpy")
        self.told = json.loads((folder / "scene.json").read_text())
        self.arrays: Any = np.load(folder / "arrays.npz")
        self.positions = np.load(folder / "positions.npy", mmap_mode="r")
        self.codes = self.told["codes"]

    def fill(self) -> None:
        self.bpy.ops.wm.read_factory_settings(use_empty=True)
        scene = self.bpy.context.scene
        scene.name = self.told["name"]
        scene.render.fps = int(self.told["rate"])
        scene.frame_start, scene.frame_end = 0, int(np.ceil(self.codes[-1]))
        scene.render.resolution_x, scene.render.resolution_y = self.told["picture"]
        scene.view_settings.view_transform = "Standard"  # colours as they were given
        for thing in self.told["things"]:
            self._body(thing)
        for thing in self.told["colliders"]:
            self._collider(thing)
        self._light_and_camera(scene)
        scene.frame_set(0)

    def _body(self, thing: Any) -> None:
        which = self.arrays[thing["points"]]
        made = self._object(thing, self.positions[0][which], thing["kind"])
        if len(self.codes) > 1:
            self._move(made, which)
        if thing["kind"] != "surface":
            self._thicken(made, thing)

    def _object(self, thing: Any, points: Any, kind: str) -> Any:
        mesh = self.bpy.data.meshes.new(thing["name"])
        rows = self.arrays[thing["rows"]].tolist() if "rows" in thing else []
        edges, faces = (rows, []) if kind == "lines" else ([], rows)
        mesh.from_pydata(points.tolist(), edges, faces)
        if "uv" in thing:
            layer = mesh.uv_layers.new(name="UVMap")
            layer.data.foreach_set("uv", self.arrays[thing["uv"]].ravel())
        if faces:
            mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), dtype=bool))
            if hasattr(mesh, "set_sharp_from_angle"):  # from Blender 4.1 on
                mesh.set_sharp_from_angle(angle=radians(SHARP))
        mesh.materials.append(self._material(thing))
        made = self.bpy.data.objects.new(thing["name"], mesh)
        self.bpy.context.scene.collection.objects.link(made)
        return made

    def _move(self, made: Any, which: Any) -> None:
        blocks = []
        for i, x in enumerate(self.positions):
            block = made.shape_key_add(name=f"frame {i:04d}", from_mix=False)
            block.data.foreach_set("co", np.ascontiguousarray(x[which]).ravel())
            blocks.append(block)
        keys = made.data.shape_keys
        keys.use_relative = False
        for code, block in zip(self.codes, blocks, strict=True):
            keys.eval_time = block.frame
            keys.keyframe_insert("eval_time", frame=code)
        _straighten(keys)

    def _thicken(self, made: Any, thing: Any) -> None:
        """Lines become tubes and points balls, by nodes that every Blender has."""
        group = self.bpy.data.node_groups.new(
            f"{thing['name']} {thing['kind']}", "GeometryNodeTree"
        )
        for way in ("INPUT", "OUTPUT"):
            group.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
        first, last = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
        painted = group.nodes.new("GeometryNodeSetMaterial")
        painted.inputs["Material"].default_value = made.data.materials[0]
        if thing["kind"] == "lines":
            ends = self._tube(group, thing["radius"])
        else:
            ends = self._balls(group, thing["radius"])
        group.links.new(first.outputs[0], ends[0])
        group.links.new(ends[1], painted.inputs["Geometry"])
        group.links.new(painted.outputs[0], last.inputs[0])
        made.modifiers.new("Thickness", "NODES").node_group = group

    def _tube(self, group: Any, radius: float) -> tuple[Any, Any]:
        along = group.nodes.new("GeometryNodeMeshToCurve")
        around = group.nodes.new("GeometryNodeCurvePrimitiveCircle")
        tube = group.nodes.new("GeometryNodeCurveToMesh")
        around.inputs["Resolution"].default_value = 8
        around.inputs["Radius"].default_value = radius
        group.links.new(along.outputs[0], tube.inputs["Curve"])
        group.links.new(around.outputs["Curve"], tube.inputs["Profile Curve"])
        return along.inputs["Mesh"], tube.outputs[0]

    def _balls(self, group: Any, radius: float) -> tuple[Any, Any]:
        put = group.nodes.new("GeometryNodeInstanceOnPoints")
        ball = group.nodes.new("GeometryNodeMeshIcoSphere")
        ball.inputs["Radius"].default_value = radius
        ball.inputs["Subdivisions"].default_value = 2
        group.links.new(ball.outputs["Mesh"], put.inputs["Instance"])
        return put.inputs["Points"], put.outputs[0]

    def _material(self, thing: Any) -> Any:
        material = self.bpy.data.materials.new(thing["name"])
        material.use_nodes = True
        material.diffuse_color = (*thing["color"], 1.0)  # in the viewport
        nodes, links = material.node_tree.nodes, material.node_tree.links
        surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
        surface.inputs["Base Color"].default_value = (*thing["color"], 1.0)
        surface.inputs["Roughness"].default_value = thing["roughness"]
        if thing["texture"]:
            picture = nodes.new("ShaderNodeTexImage")
            picture.image = self.bpy.data.images.load(thing["texture"], check_existing=True)
            picture.image.pack()  # the file can be taken elsewhere
            links.new(picture.outputs["Color"], surface.inputs["Base Color"])
        return material

    def _collider(self, thing: Any) -> None:
        made = self._object(thing, self.arrays[thing["points"]], "surface")
        if thing["hollow"]:  # a room hides what is in it
            made.hide_render, made.display_type = True, "WIRE"
        if "places" not in thing:
            return
        turned = import_module("mathutils").Matrix
        made.rotation_mode, before = "QUATERNION", None
        for code, place in zip(self.codes, self.arrays[thing["places"]], strict=True):
            made.location, turn = place[:3, 3].tolist(), turned(place[:3, :3].tolist())
            made.rotation_quaternion = turn.to_quaternion()
            if before is not None and made.rotation_quaternion.dot(before) < 0.0:
                made.rotation_quaternion.negate()  # the same turn, without a way round
            before = made.rotation_quaternion.copy()
            for name in ("location", "rotation_quaternion"):
                made.keyframe_insert(name, frame=code)
        _straighten(made)

    def _light_and_camera(self, scene: Any) -> None:
        data = self.bpy.data
        lens = data.cameras.new("Camera")
        lens.sensor_fit = "VERTICAL"
        lens.angle_y = radians(self.told["opening"])
        lens.clip_start, lens.clip_end = 1e-4 * self.told["far"], self.told["far"]
        sun = data.lights.new("Sun", "SUN")
        sun.energy, sun.angle = 3.0, radians(5.0)
        for name, what in (("camera", lens), ("sun", sun)):
            made = data.objects.new(what.name, what)
            made.matrix_world = import_module("mathutils").Matrix(self.told[name])
            scene.collection.objects.link(made)
            if name == "camera":
                scene.camera = made
        scene.world = data.worlds.new("Sky")
        scene.world.use_nodes = True
        sky = next(node for node in scene.world.node_tree.nodes if node.type == "BACKGROUND")
        sky.inputs["Color"].default_value = SKY
        sky.inputs["Strength"].default_value = 0.6


def _straighten(animated: Any) -> None:
    """Linear from key to key, as the recording says no more than its frames."""
    data = animated.animation_data
    if hasattr(data.action, "fcurves"):
        curves = data.action.fcurves
    else:  # from Blender 5 on
        curves = data.action.layers[0].strips[0].channelbag(data.action_slot).fcurves
    for curve in curves:
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"


def main(folder: str, path: str) -> None:
    made = Made(Path(folder))
    made.fill()
    made.bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    made.bpy.ops.wm.save_as_mainfile(filepath=path, compress=True)


if __name__ == "__main__":
    main(*sys.argv[-2:])
