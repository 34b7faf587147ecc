"""Runs that show themselves: pictures, films, pages, and prims by body."""

import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import stiffly
from stiffly import cli, meshes, shapes
from stiffly.errors import InputError
from stiffly.recording import notebook
from stiffly.recording.exports import export
from stiffly.recording.exports.frames import frame_rate, motion
from stiffly.recording.exports.html import page

SIZE = {"size": (96, 64)}


def net(**system):
    """Springs in a square, and a floor that they do not reach."""
    mesh = meshes.cloth(3, 3, spacing=0.1)
    floor = stiffly.collisions.Contact(stiffly.collisions.Plane((0, 0, -1), (0, 0, 1)), 1e3)
    parts = [stiffly.Springs(mesh.edges, 1e3), stiffly.Gravity(), floor]
    system = stiffly.System(0.1, parts, rest=mesh.positions, fixed=[0], **system)
    return mesh, system


@pytest.fixture(scope="module")
def two_bodies(tmp_path_factory):
    """A cloth with a rope, a textured box and a joint, recorded at 30 frames a second."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "skin.png").write_bytes(b"\x89PNG")
    (folder / "box.obj").write_text(BOX)
    scene = stiffly.Scene("both", duration=0.1, step=0.01)
    cloth = scene.add(shapes.cloth(3, 3, spacing=0.1), "the cloth", color=(1, 0, 0))
    rope = scene.add(shapes.rope(4, length=0.3, start=(0, 0, 0.2)), mass=0.1, color="grey")
    texture = {"texture": str(folder / "skin.png"), "tetrahedralise": 30}
    box = scene.add(folder / "box.obj", **texture, position=(0, 0, 1))
    scene.spring(rope, cloth, at=0)
    scene.ball_joint(box, cloth, at=(0.1, 0.1, 0.5))
    scene.floor(-2.0)
    return scene.simulate(out=folder / "run")


BOX = """
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
f 1/1 4/2 3/3 2/4
f 5/1 6/2 7/3 8/4
f 1/1 2/2 6/3 5/4
f 2/-4 3/-3 7/-2 6/-1
f 3/1 4/2 8/3 7/4
f 4/1 1/2 5/3 8/4
"""


def test_parts_of_a_system_are_what_is_drawn(tmp_path):
    mesh, system = net()
    run = stiffly.simulate(system, mesh.positions, integrator="rk4", step=1e-3, duration=0.01)
    assert sorted(map(tuple, run.mesh.edges)) == sorted(map(tuple, np.sort(mesh.edges, axis=1)))
    assert len(motion(run).lines) == len(mesh.edges) and not len(motion(run).dots)
    assert len(run.colliders) == 1
    kept = stiffly.simulate(
        system, mesh.positions, integrator="rk4", step=1e-3, duration=0.01, out=tmp_path / "run"
    )
    assert len(kept.mesh.edges) == len(mesh.edges) and len(kept.colliders) == 1


def test_solids_and_sails_are_drawn_as_surfaces():
    mesh = meshes.cube(1)
    solid = stiffly.Tetrahedra(mesh.tets, 1e4, 0.3)
    system = stiffly.System(1.0, [solid], rest=mesh.positions)
    run = stiffly.simulate(system, mesh.positions, integrator="rk4", step=1e-3, duration=2e-3)
    assert len(motion(run).triangles) == 12
    alone = stiffly.System([1.0], [stiffly.Gravity()])
    run = stiffly.simulate(alone, [[0, 0, 0]], integrator="rk4", step=1e-3, duration=2e-3)
    assert run.mesh is None and len(motion(run).dots) == len(run.positions[0])


def test_bodies_are_drawn_in_their_colours(two_bodies):
    shown = motion(two_bodies)
    names = list(shown.looks)
    assert names == ["the cloth", "rope", "box", "joint 1"]
    assert (shown.paint[shown.owner == 0] == (255, 0, 0)).all()
    assert (shown.paint[shown.owner == 1] == 150).all()
    assert (shown.owner == 2).sum() == 8  # the file's own vertices, not those of its tets
    assert any({0, 9} == set(line) for line in shown.lines.tolist())  # the spring is drawn


def test_prims_by_body_with_colours_and_texture_coordinates(two_bodies, tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom, UsdShade

    [path] = two_bodies.export("usd", tmp_path / "both.usda")
    stage = Usd.Stage.Open(str(path))
    cloth, box = (stage.GetPrimAtPath(f"/World/{name}") for name in ("the_cloth", "box"))
    assert [p.GetTypeName() for p in (cloth, box)] == ["Mesh", "Mesh"]
    assert stage.GetPrimAtPath("/World/rope_lines").GetTypeName() == "BasisCurves"
    assert len(UsdGeom.Mesh(cloth).GetPointsAttr().Get(0)) == 9
    assert len(UsdGeom.Mesh(box).GetPointsAttr().Get(0)) == 8
    assert tuple(UsdGeom.Mesh(cloth).GetDisplayColorAttr().Get()[0]) == (1.0, 0.0, 0.0)
    st = UsdGeom.PrimvarsAPI(box).GetPrimvar("st")
    assert st.GetInterpolation() == "faceVarying" and len(st.Get()) == 3 * 12
    # quads are cut from their first corner: the fourth face counts from the end, -4 is vt 1
    np.testing.assert_allclose(st.Get()[18:21], [[0, 0], [1, 0], [1, 1]])
    assert not UsdGeom.PrimvarsAPI(cloth).GetPrimvar("st").HasValue()
    material, _ = UsdShade.MaterialBindingAPI(box).ComputeBoundMaterial()
    texture = UsdShade.Shader(stage.GetPrimAtPath(f"{material.GetPath()}/Texture"))
    assert texture.GetInput("file").Get().path.endswith("skin.png")
    for name in ("the_cloth", "box"):  # frames 0 to 3 of a tenth of a second
        samples = UsdGeom.Mesh(stage.GetPrimAtPath(f"/World/{name}")).GetPointsAttr()
        assert samples.GetTimeSamples() == [0.0, 1.0, 2.0, 3.0]
    assert stage.GetFramesPerSecond() == 30.0 and stage.GetEndTimeCode() == 3.0


def test_textures_move_with_the_folder_of_a_usd_file(tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdShade

    scene = stiffly.Scene("boxes", duration=0.02, step=0.01)
    for name in ("a", "b"):  # two pictures of one name
        home = tmp_path / "work" / name
        home.mkdir(parents=True)
        (home / "skin.png").write_bytes(b"\x89PNG" + name.encode())
        (home / "box.obj").write_text(BOX)
        scene.add(home / "box.obj", name, texture=str(home / "skin.png"), elasticity="rigid")
    run = scene.simulate()
    for place, copies in (("work/files", ["skin-.png", "skin.png"]), ("work", [])):
        folder = tmp_path / place
        run.export("usd", folder / "boxes.usda")
        run.export("usd", folder / "boxes.usda", force=True)  # with the same copies
        found = sorted(path.name for path in (folder / "textures").glob("*"))
        assert found == copies
        moved = folder.rename(tmp_path / f"moved {folder.name}")
        assert str(tmp_path) not in (moved / "boxes.usda").read_text()
        stage = Usd.Stage.Open(str(moved / "boxes.usda"))
        for name in ("a", "b"):
            sampler = UsdShade.Shader(stage.GetPrimAtPath(f"/World/Materials/{name}/Texture"))
            file = Path(sampler.GetInput("file").Get().resolvedPath)
            assert file.is_relative_to(moved) and file.read_bytes()[4:] == name.encode()


def test_frame_rates_are_whole_where_they_were_meant_to_be():
    assert frame_rate(np.arange(5) / 30.0) == 30.0 and frame_rate(np.arange(5) / 24.0) == 24.0
    assert frame_rate(np.arange(9) * 0.013) == 77.0  # 76.9: Blender takes whole ones


def numbers(text, key, dtype):
    data = json.loads(re.search(r"const D = (\{.*?\});\n", text)[1])
    return data, np.frombuffer(base64.b64decode(data[key]), dtype)


def test_a_page_holds_the_motion_and_asks_for_nothing(two_bodies, tmp_path):
    path = two_bodies.view(tmp_path / "both.html", show=False)
    text = path.read_text()
    assert "http" not in re.sub(r"const D = .*", "", text) and "src=" not in text
    data, frames = numbers(text, "frames", np.uint16)
    shown = motion(two_bodies)
    frames = frames.reshape(len(shown), -1, 3) / 65535.0 * data["size"] + np.array(data["low"])
    for i in range(len(shown)):
        assert np.abs(frames[i] - shown.frame(i)).max() <= 0.51 * max(data["size"]) / 65535.0
    _, triangles = numbers(text, "triangles", np.uint32)
    np.testing.assert_array_equal(triangles.reshape(-1, 3), shown.triangles)
    assert len(data["solids"]) == 1 and data["solids"][0]["flat"]


def test_a_page_leaves_frames_out_and_refuses_what_is_too_large(two_bodies):
    points = len(motion(two_bodies).rest)
    assert len(numbers(page(two_bodies, 24 * points), "frames", np.uint8)[0]["times"]) == 4
    with pytest.raises(InputError, match="too many for a page: export to usd or vtkhdf instead"):
        page(two_bodies, 12 * points)


def test_in_a_notebook_a_run_shows_itself(two_bodies):
    text = two_bodies._repr_html_()
    assert "<iframe" in text and "srcdoc" in text and "numerical error" in text
    spring = stiffly.SecondOrder(stiffness=[[4.0]])
    run = stiffly.simulate(spring, x0=[1.0], integrator="rk4", step=0.01, duration=0.1)
    assert "<iframe" not in run._repr_html_() and "kinetic" in run._repr_html_()


def test_a_notebook_has_a_progress_bar(monkeypatch):
    seen = []
    handle = SimpleNamespace(update=lambda html: seen.append(html.data))
    html = lambda data: SimpleNamespace(data=data)  # noqa: E731
    display = SimpleNamespace(HTML=html, display=lambda html, display_id: handle)
    shell = SimpleNamespace(kernel=None)
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=display)
    assert notebook.notebook_bar() is None  # no notebook
    monkeypatch.setitem(notebook.sys.modules, "IPython", ipython)
    monkeypatch.setitem(notebook.sys.modules, "IPython.display", display)
    mesh, system = net()
    stiffly.simulate(system, mesh.positions, integrator="rk4", step=1e-3, duration=0.01)
    assert "<progress" in seen[0] and "energy error" in seen[0] and seen[-1] == ""


def test_runs_in_memory_and_on_disk_have_as_many_frames_as_times(tmp_path):
    mesh, system = net()
    for out in (None, tmp_path / "run"):
        run = stiffly.simulate(
            system, mesh.positions, step=0.01, duration=0.05, every=0.01, out=out
        )
        assert len(run) == 6 == len(run.positions)


def test_pictures_and_films_of_a_run_in_memory(tmp_path, monkeypatch):
    pytest.importorskip("pyvista")
    monkeypatch.chdir(tmp_path)
    mesh, system = net()
    run = stiffly.simulate(system, mesh.positions, integrator="rk4", step=1e-3, duration=0.01)
    assert run.render(**SIZE).name == "run.png"
    assert run.render("strain.png", color="contact-force", **SIZE).exists()
    assert [p.name for p in run.export("npz")] == ["recording.npz"]


@pytest.mark.slow
def test_a_film_of_a_run(two_bodies, tmp_path):
    pytest.importorskip("pyvista")
    assert two_bodies.film(tmp_path / "a.mp4", **SIZE).stat().st_size > 0
    assert two_bodies.render(**SIZE) == two_bodies.folder / "both.png"


def test_a_film_of_an_empty_recording(tmp_path):
    empty = stiffly.Run("rk4", 0.1, *[np.empty((0, 1, 3))] * 3, None)
    empty.times = np.empty(0)
    for use in (empty.film, empty.render, lambda path: empty.export("usd", path)):
        with pytest.raises(InputError, match="holds no frame yet: resume it, or run it again"):
            use(
                tmp_path
                / ("a.mp4" if use == empty.film else "a.png" if use == empty.render else "a.usd")
            )
    assert list(tmp_path.iterdir()) == []


def test_what_no_contact_has_pushed_cannot_be_coloured_by_it(tmp_path):
    pytest.importorskip("pyvista")
    mesh = meshes.rope(3)
    system = stiffly.System(1.0, [stiffly.Springs(mesh.edges, 1.0)], rest=mesh.positions)
    run = stiffly.simulate(system, mesh.positions, integrator="rk4", step=0.1, duration=0.2)
    with pytest.raises(InputError, match="nothing was touched in this run"):
        run.render(tmp_path / "a.png", color="contact-force", **SIZE)


def test_a_file_is_run_into_a_folder_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = stiffly.Scene("x", duration=0.02, step=0.01)
    scene.add(shapes.rope(3))
    scene.save("mine.toml")
    assert cli.main(["run", "mine.toml", "--quiet"]) == 0
    assert (tmp_path / "mine-run" / "recording.vtkhdf").exists()


def test_texture_coordinates_outlive_repair_where_faces_do(tmp_path):
    path = tmp_path / "box.obj"
    path.write_text(BOX + "v 9 9 9\n")
    with pytest.warns(stiffly.StiffWarning, match="dropped 1 unused vertex"):
        kept = meshes.read_mesh(path, repair=True)
    assert kept.uv.shape == (12, 3, 2) and len(kept.positions) == 8
    path.write_text(BOX.replace("f 1/1 4/2 3/3 2/4", "f 1 4 3 2"))
    mixed = meshes.read_mesh(path)
    assert np.isnan(mixed.uv[:2]).all() and np.isfinite(mixed.uv[2:]).all()
    path.write_text(re.sub(r"/-?\d", "", BOX).replace("vt", "# vt"))
    assert meshes.read_mesh(path).uv is None


def test_exports_need_no_folder_but_a_name(tmp_path):
    mesh, system = net()
    run = stiffly.simulate(system, mesh.positions, integrator="rk4", step=1e-3, duration=2e-3)
    assert export(run, "html", tmp_path)[0].name == "recording.html"
