"""Pictures and films of a run: shaded, with colliders, a floor, and a scale for the colours."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import real_number, truth
from ..contracts import Array
from ..errors import Advice, InputError, levels_up
from .colors import coat, coloring, usual
from .exports import replacing
from .exports.frames import Motion, Progress, motion, solids, typical_interval, unheard
from .limits import require_within
from .plots.style import describe
from .render_body import OTHER_RADIUS
from .render_floor import find_floor
from .render_labels import BAR, Words, draw_bar, join, letters, write_words
from .render_scenery import Scenery, library
from .render_time import Schedule, clock, schedule
from .render_view import Camera, View, look_at, points_of, sampled, sunlight
from .render_walls import wall_normals
from .words import MOST_PICTURES

NARROWEST = 30  # pixels of a panel
MOST_PIXELS = 7680 * 4320
LARGER = 3.0  # colliders up to this many times the body's size are brought into the picture
BY_THE_FLOOR = 0.5  # of the size: a floor as near as this has the shadow in the picture


def render(
    recording: Any,
    out: str | Path,
    *,
    color: str | None = None,
    system: Any = None,
    frame: int | None = None,
    size: tuple[int, int] = (1280, 720),
    fps: float = 30,
    speed: float | None = None,
    camera: tuple[float, float] | None = None,
    turntable: float = 0.0,
    follow: bool = False,
    soft: bool | None = None,
    max_pictures: float = MOST_PICTURES,
    progress: Progress = unheard,
) -> Path:
    """A film (.mp4) of a recording, or a still (.png, or when a frame is given).

    color: "speed", "strain" (mean elongation of the edges at a vertex), "stress" (the most that
    springs [N] or tets [Pa] bear there; lines have their own; `system`, or a scene, is what moved)
    or "none": every body in its own colour, and the scale that of the plaque, where there is some
    (its colours are there with any).  default: none where there are several bodies, else speed.
    frame: number of the frame, counted from the end where negative; a .png without: the last.
    size: width, height [pixels].  fps: pictures per second; only recorded frames are shown, each
    as often as needed.  speed: of the film against the motion; default 1, and slower where the
    whole motion takes less than two seconds, as far as the frames are dense enough.  camera:
    azimuth and elevation from which the body is seen [degrees]; default: a corner that no wall
    hides.  turntable: degrees by which the camera goes round in a film; follow: it stays with the
    body; a still then sees its own moment instead of the whole motion.  soft: corners and what
    touches are darker (ambient occlusion), which takes a few times as long; default: in stills.
    max_pictures: of a film; more are refused.  What exists is replaced.
    """
    return side_by_side(
        [recording], out, color=color, systems=None if system is None else [system], frame=frame,
        size=size, fps=fps, speed=speed, camera=camera, turntable=turntable, follow=follow,
        soft=soft, max_pictures=max_pictures, progress=progress,
    )  # fmt: skip


def side_by_side(
    recordings: Sequence[Any],
    out: str | Path,
    *,
    labels: Sequence[str] | None = None,
    color: str | None = None,
    systems: Sequence[Any] | None = None,
    frame: int | None = None,
    size: tuple[int, int] = (1280, 720),
    fps: float = 30,
    speed: float | None = None,
    camera: tuple[float, float] | None = None,
    turntable: float = 0.0,
    follow: bool = False,
    soft: bool | None = None,
    max_pictures: float = MOST_PICTURES,
    progress: Progress = unheard,
) -> Path:
    """Runs next to each other in one film or still: same time, same camera, same colour scale.

    labels: one for each; default: the method and its step.  A run that stopped early stays at its
    last frame, and its time says so.  frame: of the run with most frames.  The rest as in `render`.
    """
    path, still = _checked(out, frame, size, fps, speed)
    asked = Camera.asked(camera, turntable, follow)
    soft = still if soft is None else truth("soft", soft)
    library()
    if not recordings:
        raise InputError("there is nothing to draw: give at least one recording")
    motions = [motion(recording) for recording in recordings]
    color = usual(motions) if color is None else color
    longest = max(motions, key=len)
    moment = float(longest.times[_frame_number(longest, frame)]) if still else None
    studio = Studio(recordings, motions, color, size, labels, asked, systems, soft, moment)
    with closing(studio), replacing(path, force=True) as partial:
        if moment is not None:
            _save(studio.picture(moment), partial)
        else:
            plan = schedule(longest.times, fps, speed)
            count = f"a film of {len(plan.times):,} pictures"
            remedy = "choose a larger speed, or a smaller fps"
            require_within("max_pictures", max_pictures, len(plan.times), count, remedy)
            if plan.advice:
                warnings.warn(plan.advice, Advice, stacklevel=levels_up())
            _film(studio, partial, plan, progress)
    return path


def thumbnail(recording: Any, path: str | Path, size: tuple[int, int] = (480, 320)) -> Path:
    """A small still without words, from where the body is deformed or has moved the most."""
    target, _ = _checked(path, 0, size, 30, None)
    shown = motion(recording)
    number = _telling(shown)
    walls = wall_normals(shown.colliders)
    points = _in_picture(shown, np.array([number]))
    view = _framed([shown], points, size[0] / size[1], walls=walls)
    view = view._replace(low=points.min(axis=0), high=points.max(axis=0))
    scenery = Scenery(shown, None, view, size, soft=True)
    with closing(scenery), replacing(target, force=True) as partial:
        _save(scenery.picture(number), partial)
    return target


class Studio:
    """The panels of a picture, one for each run; moment [s]: of a still."""

    def __init__(
        self,
        recordings: Sequence[Any],
        motions: list[Motion],
        color: str,
        size: tuple[int, int],
        labels: Any,
        camera: Camera,
        systems: Sequence[Any] | None = None,
        soft: bool = False,
        moment: float | None = None,
    ) -> None:
        if labels is not None and len(labels) != len(recordings):
            raise InputError(f"{len(labels)} labels for {len(recordings)} runs: give one for each")
        self.motions = motions
        self.colorings = coloring(list(recordings), self.motions, color, systems)
        self._titles = [_title(r, len(recordings) > 1) for r in recordings]
        if labels is not None:
            self._titles = [(label, "") for label in labels]
        # a single picture has room for the scale beside the body; several get a strip of their own
        self._scale = self.colorings[0] or coat(self.motions[0])
        bar = round(BAR * letters(size)) if self._scale is not None else 0
        self._size, self._strip = size, bar if len(recordings) > 1 else 0
        edges = np.linspace(0, size[0] - self._strip, len(recordings) + 1).round().astype(int)
        narrow = int(np.diff(edges).min())
        if len(recordings) > 1 and narrow < NARROWEST:  # VTK aborts on a picture of no width
            count = len(recordings)
            raise InputError(
                f"size {size[0]} x {size[1]} is too narrow for {count} runs: give {200 * count} "
                "pixels or more"
            )
        seen = [sampled(m) for m in self.motions]
        if camera.follow and moment is not None:  # it stands where it sees that moment
            camera = camera._replace(follow=False)
            seen = [np.array([_nearest(m, moment)]) for m in self.motions]
        every = np.concatenate(
            [_in_picture(*each) for each in zip(self.motions, seen, strict=True)]
        )
        points = every
        if camera.follow:
            points = np.concatenate([_about_itself(m) for m in self.motions])
        free = (bar - self._strip) / narrow
        walls = wall_normals(self.motions[0].colliders)
        asked = {"words": True, "bar": free, "walls": walls, "camera": camera}
        aspect = narrow / size[1]
        self._camera, self._view = camera, _framed(self.motions, points, aspect, **asked)
        # the floor reaches under all of the way
        view = self._view._replace(low=every.min(axis=0), high=every.max(axis=0))
        self._sceneries = [
            Scenery(m, c, view, (int(width), size[1]), soft)
            for m, c, width in zip(self.motions, self.colorings, np.diff(edges), strict=True)
        ]
        self.note = ""

    def picture(self, t: float) -> np.ndarray:
        """All panels at time t [s], each at the frame nearest to it."""
        panels = []
        for scenery, shown, title in zip(self._sceneries, self.motions, self._titles, strict=True):
            number = _nearest(shown, t)
            corner = clock(float(shown.times[number]), float(shown.times[-1]))
            stopped = t > shown.times[-1] + 1.5 * typical_interval(shown.times)
            words = Words(*title, corner, "stopped here" if stopped else self.note)
            pixels = scenery.picture(number, self._now(shown, number))
            panels.append(write_words(pixels, words, letters(self._size)))
        joined, scale = join(panels, self._strip), self._scale
        return joined if scale is None else draw_bar(joined, scale)

    def _now(self, shown: Motion, number: int) -> View | None:
        """Where a camera that moves is, None for one that stands."""
        camera, view = self._camera, self._view
        if not (camera.turn or camera.follow):
            return None
        if camera.turn:
            way = shown.times - shown.times[0]
            view = view.turned(camera.turn * float(way[number] / max(way[-1], 1e-300)))
        if camera.follow:
            moved = _middle(shown, number) - _middle(shown, 0)
            view = view._replace(**{k: getattr(view, k) + moved for k in ("eye", "low", "high")})
        return view

    def close(self) -> None:
        for scenery in self._sceneries:
            scenery.close()


# ------------------------------------------------------------------ films


def _film(studio: Studio, path: Path, plan: Schedule, progress: Progress) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise InputError('films need imageio-ffmpeg: pip install "stiffly[render]"') from None
    studio.note = plan.note
    shape = _even(studio.picture(float(plan.times[0]))).shape
    options: dict[str, Any] = {
        "fps": plan.rate,
        "codec": "libx264",
        "quality": None,  # given below
        "macro_block_size": 2,
        "output_params": ["-crf", "18", "-r", f"{plan.shown_at:.10g}", "-movflags", "+faststart"],
    }
    writer = imageio_ffmpeg.write_frames(str(path), (shape[1], shape[0]), **options)
    writer.send(None)
    try:
        for k, t in enumerate(plan.times):
            writer.send(np.ascontiguousarray(_even(studio.picture(float(t)))))
            progress(k + 1, len(plan.times))
    finally:
        writer.close()


def _even(pixels: np.ndarray) -> np.ndarray:
    """Players ask for even sides: the last row or column is left out if there is an odd one."""
    return pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2]


# ------------------------------------------------------------------ what is asked, what is shown


def _checked(
    out: str | Path, frame: int | None, size: Any, fps: float, speed: float | None
) -> tuple[Path, bool]:
    """The path, and whether a still is asked for."""
    path = Path(out)
    still = frame is not None or path.suffix.lower() == ".png"
    if path.suffix.lower() not in ((".png",) if frame is not None else (".png", ".mp4")):
        raise InputError(f"cannot draw {path}: stills end in .png, films in .mp4 (without frame)")
    _check_size(size)
    if not 0.0 < real_number("fps", fps, "try 30") < np.inf:
        raise InputError(f"fps must be positive, got {fps}: try 30")
    if speed is not None and not 0.0 < real_number("speed", speed, "1 is real time") < np.inf:
        raise InputError(f"speed must be positive, got {speed}: 1 is real time")
    return path, still


def _check_size(size: Any) -> None:
    pair = isinstance(size, (tuple, list)) and len(size) == 2
    if not pair or not all(isinstance(side, Integral) and int(side) >= 16 for side in size):
        raise InputError("size must be two numbers of pixels, 16 or more: try (1280, 720)")
    if int(size[0]) * int(size[1]) > MOST_PIXELS:
        raise InputError("size is more than 7680 x 4320 pixels: try (1280, 720)")


def _frame_number(shown: Motion, frame: int | None) -> int:
    last = len(shown) - 1
    number = last if frame is None else frame + last + 1 if frame < 0 else frame
    if not 0 <= number <= last:
        raise InputError(f"frame {frame} is not there: the recording has frames 0 to {last}")
    return number


def _nearest(shown: Motion, t: float) -> int:
    """The frame at time t [s]."""
    return int(np.abs(shown.times - t).argmin())


def _save(pixels: np.ndarray, path: Path) -> None:
    from PIL import Image

    Image.fromarray(pixels).save(path, optimize=True)


def _title(recording: Any, several: bool) -> tuple[str, str]:
    name = str(getattr(recording, "name", "") or "")
    method = describe(recording)
    return (method, "") if several or not name else (name, method)


def _in_picture(shown: Motion, frames: np.ndarray) -> Array:
    """Points of the body, and of colliders that are not much larger than its motion."""
    points = points_of(shown, frames)
    if shown.elements is not None:  # atoms are large
        points = np.concatenate(
            [points + OTHER_RADIUS * side for side in (*np.eye(3), *-np.eye(3))]
        )
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float(np.linalg.norm(high - low))
    found = [points]
    for solid in solids(shown.colliders, low, high):
        if solid.flat:
            continue
        times = shown.times[frames[:: 1 + len(frames) // 8]]
        at = np.concatenate([solid.at(float(t)) for t in times])
        if np.linalg.norm(np.ptp(at, axis=0)) <= LARGER * extent:
            found.append(at)
    return np.concatenate(found)


def _framed(motions: Sequence[Motion], points: Array, aspect: float, **asked: Any) -> View:
    """The view on points (k, 3), and on their shadows where the floor is near."""
    view, every = look_at(points, aspect, **asked), [points]
    for shown in motions:
        shapes = solids(shown.colliders, view.low, view.high)
        floor = find_floor(shapes, view, sunlight(view))
        if floor is not None and float(np.min((points - floor.point) @ floor.normal)) < (
            BY_THE_FLOOR * view.size
        ):
            every.append(floor.shadow(points))
    return look_at(np.concatenate(every), aspect, **asked)


def _middle(shown: Motion, number: int) -> Array:
    """Of the body at a frame, where it is finite; else of the first one."""
    at = np.asarray(shown.frame(number), dtype=np.float64).mean(axis=0)
    return at if np.isfinite(at).all() else shown.frame(0).mean(axis=0)


def _about_itself(shown: Motion) -> Array:
    """Points of the body as one sees them who moves along with it."""
    start = _middle(shown, 0)
    frames = (int(i) for i in sampled(shown))
    return np.concatenate([points_of(shown, [i]) - _middle(shown, i) + start for i in frames])


def _telling(shown: Motion) -> int:
    """The frame farthest from the start, each compared about its own centre."""
    frames = sampled(shown)
    start = shown.frame(0) - shown.frame(0).mean(axis=0)
    moved = [np.abs(x - x.mean(axis=0) - start).max() for x in map(shown.frame, map(int, frames))]
    return int(frames[int(np.argmax(moved))])
