"""`stiffly view SCENE_OR_DIR`: the live page."""

from __future__ import annotations

import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError, unknown_name
from ..recording.folder import check_writable
from . import inputs


def view(
    what: Annotated[
        str | None,
        typer.Argument(metavar="SCENE|DIR", help="A scene to simulate, or the folder of a run."),
    ] = None,
    integrators: Annotated[
        list[str] | None,
        typer.Option(
            "--integrator",
            metavar="NAME",
            help="Method (see: stiffly methods); up to three, side by side. [default: scene's]",
        ),
    ] = None,
    step: inputs.Step = None,
    small: inputs.Small = False,
    variant: inputs.Variant = None,
    assignments: inputs.Set = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="H", help="Address to serve at; 0.0.0.0: for everybody who reaches you."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(metavar="P", help="Port. [default: the first free one from 8080 on]"),
    ] = None,
    device: inputs.Device = "cpu",
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    budget: Annotated[
        float | None, typer.Option(metavar="MS", help="Milliseconds of physics per frame, at most.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for what is saved from the page.")
    ] = Path("."),
    lesson: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A guided lesson of two minutes; --lesson list names them."
        ),
    ] = None,
) -> None:
    """Simulate in the browser, or play a recording.

    Drag the body, change the method while it runs, watch the energy; Ctrl-C ends it.

    For example: stiffly view cloth --small --integrator realtime --integrator bdf1
    """
    names = tuple(integrators or ())
    if lesson == "list":
        return _list_lessons()
    if lesson is not None:
        own = {"--integrator": names, "--step": step, "--variant": variant, "--set": assignments}
        what, small = _taught(lesson, {"SCENE|DIR": what, **own}, no_open), True
    if not what:
        raise InputError("SCENE|DIR is empty: name a scene, such as cloth, or the folder of a run")
    _check_methods(names)
    inputs.check_positive("--step", step, "0.01")
    _check_budget(budget)
    inputs.check_device(device)
    check_writable(out, "--out")
    from .. import terminal
    from ..view.page.server import free_port, library

    library()
    free_port(host, port)  # before a scene is built for it
    given = {"--integrator": names, "--step": step, "--small": small}
    given |= {"--variant": variant, "--set": assignments, "--budget": budget}
    given["--device"] = None if device == "cpu" else device
    from ..scenes import NAMES
    from ..view import serve

    if what not in NAMES and Path(what).is_dir():
        shown, settings = _recording(Path(what), given), None
    else:
        shown, settings = _scene(what, given)

    with terminal.notices():
        with terminal.passing.status(f"preparing {shown.name} ..."):
            where: Any = {"host": host, "port": port, "out": out, "device": device}
            served = serve(shown, settings=settings, small=small, lesson=lesson, **where)
        _watch(served, host, not no_open)


def _list_lessons() -> None:
    from .. import terminal
    from ..view.lessons import NAMES, lesson

    rows = [(name, lesson(name).title, lesson(name).summary) for name in NAMES]
    terminal.show_listing(("lesson", "title", "what"), rows)
    terminal.out.print(f"Next: stiffly view --lesson {NAMES[0]}")


def _taught(name: str, given: dict[str, Any], no_open: bool) -> str:
    """The scene of that lesson; given: what it brings itself."""
    from ..view.lessons import lesson

    scene = lesson(name).scene
    for option, value in given.items():
        if value:
            raise InputError(f"--lesson {name} brings its own {option}: leave {option} out")
    if not (no_open or _has_display()):
        raise InputError(
            f"--lesson {name} needs a browser, and there is no screen here: add --no-open, and "
            "open the link that it prints elsewhere"
        )
    return scene


def _check_methods(given: tuple[str, ...]) -> None:
    from ..integrators import integrator
    from ..view.settings import MOST_LANES

    if len(given) > MOST_LANES:
        raise InputError(f"{len(given)} integrators are too many to see: give at most {MOST_LANES}")
    for name in given:
        integrator(name)


def _check_budget(milliseconds: float | None) -> None:
    from ..view.settings import BUDGETS

    inputs.check_positive("--budget", milliseconds, "20")
    least, most = (1e3 * limit for limit in BUDGETS)
    if milliseconds is not None and not least <= milliseconds <= most:
        raise InputError(
            f"--budget {milliseconds:g}: give {least:g} to {most:g} milliseconds, such as 20"
        )


def _recording(folder: Path, given: dict[str, Any]) -> Any:
    """Options of a simulation mean nothing to what is played."""
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is for scenes; {folder} is played as it was recorded")
    recording = inputs.open_run(folder)
    if recording.positions.ndim != 3:
        raise InputError(f"{folder} holds no body in space to show; use: stiffly plot {folder}")
    if not recording.complete:
        from .. import terminal

        there = f"{len(recording)} of {recording.of_frames} frames"
        terminal.passing.print(f"{folder} is not complete: {there} are played", markup=False)
    return recording


def _scene(text: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """A scene, and how it is to be run; given: options that say so."""
    from dataclasses import replace

    from .. import terminal
    from ..scenes.request import request
    from ..view.settings import Settings

    sets, names, budget = inputs.pairs(given["--set"]), given["--integrator"], given["--budget"]
    options = {"step": given["--step"]} if given["--step"] is not None else {}
    options |= {"integrator": names[0]} if names else {}
    tuned = {key: sets.pop(key) for key in [*sets] if key.startswith("method.")}
    with terminal.notices(), terminal.passing.status(f"building {text} ..."):
        which = {"small": given["--small"], "variant": given["--variant"]}
        scene = request(text, **which, given=sets, options=options).scene
        own = _tuned(tuned, names or (scene.integrator,))
        scene = replace(scene, **options, method={**scene.method, **own})
        if scene.x0.ndim != 2:
            raise InputError(
                f"{scene.name} has no body in space to show; use: stiffly run {text}, then "
                "stiffly plot"
            )
        settings = replace(Settings.of(scene), **({"integrators": names} if names else {}))
        if budget is not None:
            settings = replace(settings, budget=1e-3 * budget)
    return scene, settings


def _tuned(given: dict[str, str], lanes: tuple[str, ...]) -> dict[str, Any]:
    """Options of methods, which lanes share: it is enough that one of them has each."""
    from ..integrators import integrator, options
    from ..scenes.files import as_value
    from ..scenes.schema.scene_file import Method

    found = {key.removeprefix("method."): as_value(text) for key, text in given.items()}
    for key in found:
        if key not in Method.model_fields:
            raise unknown_name("option of methods:", key, Method.model_fields)
        if not any(key in options(name) for name in lanes):
            integrator(lanes[0], **{key: 0})  # says what it has instead
    return found


def _watch(served: Any, host: str, open_browser: bool) -> None:
    """Until Ctrl-C, which is how a page ends: no failure."""
    import signal

    from .. import terminal

    with served:
        # also for who was started in the background, where shells have Ctrl-C ignored
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: served.end())
        terminal.out.print(f"live page: {served.url}")
        sys.stdout.flush()
        if not _is_local(host):
            terminal.passing.print(
                "[yellow]warning:[/] everybody who has this link and reaches this machine can "
                "drive the page, and nothing is encrypted on the way",
                soft_wrap=True,
            )
        if open_browser and _has_display():
            import webbrowser

            webbrowser.open(served.url)
        terminal.passing.print("Ctrl-C ends it.")
        served.wait()


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _has_display() -> bool:
    on_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(on_screen) or sys.platform in ("darwin", "win32")
