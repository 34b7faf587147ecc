"""Checkpoints: everything that a run needs to go on, in one file that is whole or not there.

An .npz archive: `tree` is JSON (run, versions, counters, and a tree of plain data), the arrays that
it refers to lie beside it; behind its end stands the checksum of all.  Reading one runs no code:
nothing in a file is ever called.

Plain are None, truth values, numbers, texts, arrays, sparse matrices, and tuples, lists and
mappings of plain things.  So are stiffly's own records: NamedTuples, dataclasses, and classes that
say which of their attributes are `unsaved`.  They are found by name, in this package only, and
filled attribute by attribute; one that has to make something of them does so in `rebuilt`.
A function that is the default of its field (a clock) is left to the class.

What a method or a system makes anew when it starts (linear parts, rods) is no data: such types are
`made_anew`, and taken from the same place of a tree that has just been made.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from ..contracts import Array
from ..errors import InputError
from ..memory import limited
from .folder import CHECKPOINT, old_checkpoints
from .provenance import replacing, versions
from .sums import CHUNK, MARK, read_regular

FORMAT = 3
SEAL = struct.Struct("<I8s")
AGAIN = "run the scene again"
FRAMES = "plot, export and view still read its frames"
PACKAGE = __name__.split(".")[0] + "."
Code = Any  # what JSON can hold


def write(folder: Path, content: dict[str, Any], **header: Any) -> None:
    """Replaces the last checkpoint in one go; NotPlain leaves it alone.

    content: trees by name, which are read back one by one.
    """
    packed = Packed(content)
    head = {**header, "format": FORMAT, "versions": versions(), "tree": packed.code["mapping"]}
    arrays: dict[str, Any] = {f"array-{k}": array for k, array in enumerate(packed.arrays)}
    with replacing(folder / CHECKPOINT) as file:  # not in memory first: of hair it is 0.2 GB
        np.savez(file, tree=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
        file.seek(0)
        found = 0
        while data := file.read(CHUNK):
            found = crc32(data, found)
        file.write(SEAL.pack(found, MARK))


def sealed(data: bytes) -> tuple[bytes, bytes]:
    """An archive, and what stands behind it."""
    return data, SEAL.pack(crc32(data), MARK)


def _unsealed(data: bytes) -> bytes | None:
    """The archive; None where it is not the one that was sealed."""
    archive, seal = data[: -SEAL.size], data[-SEAL.size :]
    return archive if sealed(archive)[1] == seal else None


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds; header: run, versions, frames, seconds between two, ..."""

    path: Path
    header: dict[str, Any]
    arrays: list[Array]

    @staticmethod
    def read(folder: Path) -> Checkpoint:
        path = folder / CHECKPOINT
        with limited(f"the checkpoint {path}"):
            return Checkpoint._read(folder, path)

    @staticmethod
    def _read(folder: Path, path: Path) -> Checkpoint:
        try:
            archive = _unsealed(read_regular(path))
        except FileNotFoundError:
            raise InputError(_missing(folder)) from None
        if archive is None:
            raise InputError(f"{path} is damaged: {AGAIN} ({FRAMES})")
        with np.load(io.BytesIO(archive)) as found:
            header = json.loads(found["tree"].tobytes())
            arrays = [found[f"array-{k}"] for k in range(len(found.files) - 1)]
        if header["format"] != FORMAT:
            raise InputError(f"{path} was written by a newer stiffly: update it, or {AGAIN}")
        return Checkpoint(path, header, arrays)

    def tree(self, name: str, like: Any = None) -> Any:
        """One of the trees; like: one that has just been made, for what is made anew."""
        try:
            return unpacked(self.header["tree"][name], self.arrays, like)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError) as cause:
            raise InputError(
                f"{self.path}: {name} cannot be rebuilt ({type(cause).__name__}: {cause}): use the "
                f"stiffly that wrote it, or {AGAIN}"
            ) from None


def _missing(folder: Path) -> str:
    if old_checkpoints(folder):
        return (
            f"{folder} was begun with an older stiffly, whose checkpoints are not read any more: "
            f"finish it with that version, or {AGAIN} ({FRAMES})"
        )
    return f"{folder} has no checkpoint to go on from: {AGAIN} ({FRAMES})"


# ------------------------------------------------------------------ trees


class NotPlain(Exception):
    """Something in a tree is no plain data; the message names it."""


def plain(tree: Any) -> bool:
    """Whether it can be saved."""
    try:
        Packed(tree)
    except NotPlain:
        return False
    return True


class Packed:
    """Arrays, each once however often it is met, and the JSON that refers to them."""

    def __init__(self, tree: Any) -> None:
        self.arrays: list[Array] = []
        self._seen: dict[int, int] = {}
        self.code: Code = self._pack(tree)

    def _array(self, array: Array) -> int:
        if array.dtype.hasobject:
            raise NotPlain("an array of Python objects")
        if id(array) not in self._seen:
            self._seen[id(array)] = len(self.arrays)
            self.arrays.append(array)  # kept alive, so that no other has its id
        return self._seen[id(array)]

    def _pack(self, value: Any) -> Code:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if sp.issparse(value):
            parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [value.format, *parts, *value.shape]}
        if type(value) is list and value and all(type(item) is float for item in value):
            return {"floats": self._array(np.array(value))}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self._pack(item) for item in value]}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"mapping": {key: self._pack(item) for key, item in value.items()}}
        elsewhere: Any = getattr(value, "as_saved", None)  # it lies there
        if elsewhere is not None:
            return self._pack(elsewhere())
        return self._record(value)

    def _record(self, value: Any) -> Code:
        kind = type(value)
        name = f"{kind.__module__}:{kind.__qualname__}"
        if not kind.__module__.startswith(PACKAGE):
            raise NotPlain(f"{kind.__qualname__} of {kind.__module__}")
        if getattr(kind, "made_anew", False):
            return {"anew": name}
        if not _is_record(kind):
            raise NotPlain(f"{kind.__qualname__} of {kind.__module__}")
        unsaved, usual = getattr(kind, "unsaved", ()), _fields(kind)
        given = {key: getattr(value, key) for key in usual or vars(value) if key not in unsaved}
        data = {
            key: self._pack(item)
            for key, item in given.items()
            if not (callable(item) and item is usual.get(key))
        }
        return {"record": name, "data": data}


def unpacked(code: Code, arrays: list[Array], like: Any = None) -> Any:
    """The tree; ValueError where the code is none of ours."""
    if not isinstance(code, dict):
        return code
    if "array" in code:
        return arrays[code["array"]]
    if "floats" in code:
        return arrays[code["floats"]].tolist()
    if "sparse" in code:
        form, data, indices, indptr, *shape = code["sparse"]
        make = {"csc": sp.csc_matrix, "csr": sp.csr_matrix}[form]
        return make((arrays[data], arrays[indices], arrays[indptr]), shape=tuple(shape))
    if "mapping" in code:
        return {k: unpacked(v, arrays, _at(like, k)) for k, v in code["mapping"].items()}
    for kind in (list, tuple):
        if kind.__name__ in code:
            items = code[kind.__name__]
            return kind(unpacked(item, arrays, _at(like, k)) for k, item in enumerate(items))
    if "anew" in code:
        if f"{type(like).__module__}:{type(like).__qualname__}" != code["anew"]:
            raise ValueError(f"no {code['anew']} was made")
        return like
    return _filled(code["record"], code["data"], arrays, like)


def _filled(name: str, data: Mapping[str, Code], arrays: list[Array], like: Any) -> Any:
    module, _, path = name.partition(":")
    kind = getattr(import_module(module), path, None) if module.startswith(PACKAGE) else None
    if not isinstance(kind, type) or not _is_record(kind):
        raise ValueError(f"{name} is none of our records")
    found = {key: unpacked(item, arrays, _at(like, key)) for key, item in data.items()}
    found = {**_fields(kind), **found}
    if issubclass(kind, tuple):
        return kind(**found)
    new: Any = object.__new__(kind)
    for key, item in found.items():
        object.__setattr__(new, key, item)
    if hasattr(kind, "rebuilt"):
        new.rebuilt()
    return new


def _is_record(kind: type) -> bool:
    return bool(_fields(kind)) or is_dataclass(kind) or hasattr(kind, "unsaved")


def _fields(kind: type) -> dict[str, Any]:
    """Names of a record's fields, and their defaults."""
    if is_dataclass(kind):
        return {field.name: field.default for field in fields(kind)}
    names = getattr(kind, "_fields", ()) if issubclass(kind, tuple) else ()
    return {name: getattr(kind, "_field_defaults", {}).get(name) for name in names}


def _at(like: Any, key: Any) -> Any:
    """The same place in a tree that may be none, or another."""
    if isinstance(key, int):
        return like[key] if isinstance(like, (list, tuple)) and key < len(like) else None
    return like.get(key) if isinstance(like, Mapping) else getattr(like, key, None)
