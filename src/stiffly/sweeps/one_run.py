"""One run of a sweep: what it is, as plain data, and how a worker does it."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from ..errors import InputError
from ..recording.provenance import versions
from ..run.simulate import simulate
from ..scenes.request import request
from .cluster import require_versions

_ALONE = Lock()  # a worker with several threads: compiled loops and warnings are the process's


def identity(case: Mapping[str, Any]) -> str:
    """A name that follows from the inputs: scene and its files, parameters, options, versions."""
    text = json.dumps(case, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(scene: str, given: Mapping[str, str]) -> dict[str, str]:
    """Of the scene file and of the files that it, or a parameter, names."""
    named = [Path(text) for text in given.values()]
    if scene.endswith(".toml"):
        from ..scenes.schema.source import read_source

        source = read_source(scene)
        folder = source.path.parent / str(source.data.get("folder", ""))
        named += [source.path, *(folder / text for text in _texts(source.data))]
    files = sorted({path.absolute() for path in named if _is_file(path)})
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for item in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(item)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that no file can be called
        return False


def require_same(files: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """The files and versions that a run was named by are those that are here."""
    require_versions(wanted)
    for name, digest in files.items():
        path = Path(name)
        if not _is_file(path) or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise InputError(
                f"{name} is missing where the run is computed, or is another file there: put it "
                "where all machines see it, and leave it alone while a sweep runs"
            )


def one_run(case: Mapping[str, Any], out: str | None) -> dict[str, Any]:
    """The summary of a run.  out: where to record it, which this machine may not see."""
    with _ALONE, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        require_same(case["files"], case["versions"])
        if out is not None and not Path(out).parent.is_dir():
            raise InputError(
                f"{out} cannot be recorded: the worker does not see that folder; leave --keep out, "
                "or name a folder that all machines share"
            )
        keys = ("small", "given", "options", "variant")
        asked = request(case["scene"], **{key: case[key] for key in keys})
        where: Any = {} if out is None else {"out": out, "provenance": {"toml": asked.toml}}
        found = simulate(asked.scene, **asked.options, **where).summary()
    told = [" ".join(str(warning.message).split()) for warning in said]
    return {**found, "warnings": list(dict.fromkeys(told)), "versions": versions()}
