"""Run by a Python that has bpy, or by Blender: what it makes of a USD or Blender file, as JSON.

python blender_import.py FILE.usdc
python blender_import.py FILE.blend PICTURE.png      also draws its middle frame
"""

import json
import sys

import bpy


def opened(path):
    if path.endswith(".blend"):
        bpy.ops.wm.open_mainfile(filepath=path)
    else:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.wm.usd_import(filepath=path)
    return bpy.context.scene


def color_of(material):
    """What the principled shader is given; a packed picture's name where it is one."""
    surface = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    base = surface.inputs["Base Color"]
    if base.links:
        image = base.links[0].from_node.image
        return [image.name, list(image.size), image.packed_file is not None]
    return list(base.default_value)[:3]


def main(path, picture=None):
    scene = opened(path)
    told = {"range": [scene.frame_start, scene.frame_end], "bodies": {}, "fps": scene.render.fps}
    told["camera"] = scene.camera and scene.camera.name
    told["lights"] = [thing.name for thing in bpy.data.objects if thing.type == "LIGHT"]
    told["places"] = {thing.name: [] for thing in bpy.data.objects}
    told["colors"] = {m.name: color_of(m) for m in bpy.data.materials}
    if picture:
        draw(scene, picture)
    drawn = [thing for thing in bpy.data.objects if any(m.type == "NODES" for m in thing.modifiers)]
    thick = told["thick"] = {thing.name: 0 for thing in drawn}
    for seen in bpy.context.evaluated_depsgraph_get().object_instances:
        if seen.object.type == "MESH" and seen.object.original.name in thick:
            thick[seen.object.original.name] += len(seen.object.data.vertices)
    for thing in drawn:  # tubes and balls; below are the particles
        thing.modifiers.clear()
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in bpy.data.objects:
            told["places"][thing.name].append([list(row) for row in thing.matrix_world])
            if thing.type == "MESH":
                own = told["bodies"].setdefault(thing.name, {"points": []})
                seen = thing.evaluated_get(graph)
                mesh = seen.to_mesh()
                own["points"].append([list(seen.matrix_world @ v.co) for v in mesh.vertices])
                own["uv"] = [[list(c.uv) for c in layer.data] for layer in mesh.uv_layers]
                own["materials"] = [m.name for m in mesh.materials if m]
    print("BLENDER " + json.dumps(told))


def draw(scene, picture):
    scene.frame_set((scene.frame_start + scene.frame_end) // 2)
    scene.render.engine, scene.cycles.samples = "CYCLES", 16
    scene.render.resolution_percentage = 40
    scene.render.filepath = picture
    bpy.ops.render.render(write_still=True)


given = [a for a in sys.argv[1:] if a.endswith((".usdc", ".blend", ".png"))]
main(*given)
