"""`stiffly check`, `plot`, `render` and `export`: what becomes of a run that is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..recording.folder import check_writable, file_name
from ..recording.words import COLORS, FIELDS, FORMATS, MOST_PICTURES, MOST_POINTS
from .inputs import Folder, check_choice, check_positive, open_run, picture_size, require_folder

MaxPoints = Annotated[
    float, typer.Option(metavar="N", help="Most points to read and write, of all frames together.")
]


def check(folder: Folder) -> None:
    """Check that the files of a run are undamaged.

    Every frame by its checksum, the checkpoint, the summary. Exit code 1: something is damaged.
    """
    from .. import terminal
    from ..recording.check import check as look

    found = look(folder)
    terminal.show_lines([(one.what, "" if one.whole else "DAMAGED", one.text) for one in found])
    if not all(one.whole for one in found):
        raise typer.Exit(1)


def plot(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the pictures. [default: DIR]")
    ] = None,
    max_points: MaxPoints = MOST_POINTS,
) -> None:
    """Plot energy, momentum and steps of a run as PNG."""
    from .. import terminal

    recording = open_run(folder)
    if out is not None:
        require_folder(out)
    from ..recording.plots import plot as draw

    with terminal.notices():
        terminal.show_files(draw(recording, out, max_points=max_points))


def render(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The folder of the run; several to compare."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An .mp4 or .png file. [default: in DIR]")
    ] = None,
    color: Annotated[
        str | None,
        typer.Option(
            metavar="speed|strain|stress|contact-force|none",
            help="What the colours show. [default: speed; none, which is each body in its own "
            "colour, where there are several]",
        ),
    ] = None,
    frame: Annotated[
        int | None, typer.Option(metavar="N", help="One frame as PNG; -1 is the last.")
    ] = None,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height of the picture, in pixels.")
    ] = "1280x720",
    fps: Annotated[float, typer.Option(metavar="N", help="Pictures per second of film.")] = 30.0,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Of the film against the motion: 0.1 is slow motion, 10 fast forward. "
            "[default: 1, slower if short]",
        ),
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="AZ,EL",
            help="Where the camera stands: azimuth, elevation [degrees]. "
            "[default: a corner that no wall hides]",
        ),
    ] = None,
    turntable: Annotated[
        float, typer.Option(metavar="DEG", help="Degrees that the camera goes round in a film.")
    ] = 0.0,
    follow: Annotated[
        bool, typer.Option("--follow", help="The camera stays with the body; near it in a still.")
    ] = False,
    soft: Annotated[
        bool,
        typer.Option(
            "--soft",
            help="Darker corners (ambient occlusion) in films, as stills have them: slower.",
        ),
    ] = False,
    max_pictures: Annotated[
        float, typer.Option(metavar="N", help="Most pictures of a film; more are refused.")
    ] = MOST_PICTURES,
) -> None:
    """Draw a run as a film or a still.

    An MP4 of all frames, or one frame as PNG. Several runs stand side by side, at the same time,
    seen from the same place, with the same colours.
    """
    from .. import terminal

    if color is not None:
        check_choice("--color", color, COLORS)
    pixels = picture_size(size)
    check_positive("--fps", fps, "30")
    check_positive("--speed", speed, "0.1")
    if speed is not None and (frame is not None or (out and out.suffix.lower() == ".png")):
        raise InputError("a still has no speed: leave --speed out, or ask for an .mp4")
    recordings = [open_run(folder) for folder in folders]
    longest = max(len(recording.times) for recording in recordings)
    still = None if frame is None else frame if frame >= 0 else longest + frame
    path = out or folders[0] / _name(folders, recordings[0].name, still)
    check_writable(path.parent, "--out")
    from ..recording.render import side_by_side

    stress = color == "stress"
    with terminal.notices(), terminal.counting_bar("render") as progress:
        look = {
            "color": color,
            "systems": [_moved(each, True) for each in recordings] if stress else None,
            "frame": frame,
            "size": pixels,
            "fps": fps,
            "speed": speed,
            "max_pictures": max_pictures,
        }
        place = None if camera is None else tuple(camera.split(","))
        where = {"camera": place, "turntable": turntable, "follow": follow, "soft": soft or None}
        written = side_by_side(recordings, path, **look, **where, progress=progress)
    terminal.show_files([written])


def _name(folders: list[Path], run: str, frame: int | None) -> str:
    """Of the film or still that is drawn of these; of several another one than of the first."""
    others = "".join(f"-and-{folder.resolve().name}" for folder in folders[1:])
    return f"{file_name(run)}{others}.mp4" if frame is None else f"frame-{frame}{others}.png"


def _moved(recording: Any, wanted: bool) -> Any:
    """The scene of a recording, built anew: positions do not tell what is borne."""
    if not wanted:
        return None
    from ..scenes.recorded import scene_of

    return scene_of(recording, "take strain, or system= in Python")


def export(
    folder: Folder,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File or folder to write.")
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help=f"Values at every vertex, too: {', '.join(FIELDS)}."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    max_points: MaxPoints = MOST_POINTS,
) -> None:
    """Write a run for other programs.

    Files for Blender, Houdini, ParaView and others.
    """
    from .. import terminal
    from ..recording import exports

    check_choice("--to", to, FORMATS)
    named = fields.split(",") if fields else []
    for name in named:
        check_choice("--fields", name, FIELDS)
    recording = open_run(folder)
    options: Any = {"fields": named, "system": _moved(recording, "stress" in named), "force": force}
    options |= {"max_points": max_points}
    with terminal.notices(), terminal.counting_bar(f"export to {to}") as progress:
        paths = exports.export(recording, to, out, **options, progress=progress)
    terminal.show_files(paths)
