"""Run by a Python that has bpy, or by Blender: what it makes of a USD file, as JSON.

python blender_import.py FILE.usdc
"""

import json
import sys

import bpy


def main(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=path)
    scene = bpy.context.scene
    told = {"range": [scene.frame_start, scene.frame_end], "bodies": {}}
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in bpy.data.objects:
            if thing.type == "MESH":
                own = told["bodies"].setdefault(thing.name, {"points": []})
                seen = thing.evaluated_get(graph)
                mesh = seen.to_mesh()
                own["points"].append([list(seen.matrix_world @ v.co) for v in mesh.vertices])
                own["uv"] = [[list(c.uv) for c in layer.data] for layer in mesh.uv_layers]
                own["materials"] = [m.name for m in mesh.materials if m]
    print("BLENDER " + json.dumps(told))


main(sys.argv[-1])
