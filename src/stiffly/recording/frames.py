"""Frames on the disk: read when they are looked at, and checked against their sums then.

Nothing is mapped into memory: a file that is cut short behind an open recording is an InputError
with the number of the frame, and not the end of the process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..contracts import Array
from ..errors import InputError
from .layout import COUNTER, Places, counter
from .sums import open_regular, piece_sum, read_at

READ_ONLY = "frames of a recording are read-only: change np.array(run.positions)"
LOOKS = 100  # at a counter that another process may be writing


class Source:
    """The open file of a recording; sums: whether frames carry them (older ones do not)."""

    def __init__(self, path: Path, places: Places, run: str, sums: bool) -> None:
        self.folder, self.places, self._run, self.sums = path.parent, places, run, sums
        self._path, self._file = path, os.fdopen(open_regular(path), "rb", buffering=0)
        self._pieces = list(places.pieces)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def __deepcopy__(self, memo: Any) -> Source:
        return self  # nothing of it changes, and two would close one file

    def __reduce__(self) -> Any:
        return Source, (self._path, self.places, self._run, self.sums)

    def read(self, place: int, size: int) -> bytes:
        """Less where the file ends, or the disk does not give it."""
        try:
            return read_at(self._file.fileno(), size, place)
        except OSError:
            return b""

    def frames(self, planned: int) -> int:
        """How many are there."""
        if not self.sums:
            found = int.from_bytes(self.read(self.places.frames, 8), "little", signed=True)
            if 0 <= found <= planned:
                return found
        for _ in range(LOOKS if self.sums else 0):
            data = self.read(self.places.frames, COUNTER.size)
            if len(data) == COUNTER.size:
                found = COUNTER.unpack(data)[0]
                if 0 <= found <= planned and data == counter(found, self._run):
                    return found
        raise InputError(
            f"the recording in {self.folder} is damaged (the number of its frames): take a copy, "
            "or run it again"
        )

    def piece(self, name: str, index: int, columns: Sequence[bytes] = ()) -> bytes | None:
        """The bytes of a piece of a frame; None where they are not those that were written."""
        begin, size = self.places.pieces[name]
        data = self.read(begin + index * size, size)
        if len(data) != size:
            return None
        if self.sums:
            place = 4 * (index * len(self._pieces) + self._pieces.index(name))
            told = self.read(self.places.sums + place, 4)
            found = piece_sum(self._run, name, index, data)
            if name == "row":
                found = row_sum(found, data, columns)
            if told != found.to_bytes(4, "little"):
                return None
        return data

    def whole(self, index: int, columns: Sequence[bytes]) -> bool:
        return all(self.piece(name, index, columns) is not None for name in self._pieces)

    def published(self) -> int | None:
        """The number of frames that ParaView sees; None where it is told two numbers."""
        side = {b"0": 0, b"1": 1}.get(self.read(self.places.link, 1))
        if side is None:
            return None
        places = self.places.counts[side], *(self.places.lengths[side] + at for at in (0, 8))
        found = {self.read(place, 8) for place in places}
        return int.from_bytes(found.pop(), "little", signed=True) if len(found) == 1 else None

    def damaged(self, index: int) -> InputError:
        return InputError(
            f"frame {index} in {self.folder} is damaged, or gone: `stiffly check {self.folder}` "
            "says which ones are whole"
        )


def row_sum(found: int, row: bytes | Array, columns: Sequence[bytes]) -> int:
    """With the names of the columns that say something in this row: some come while a run goes
    on."""
    said = ~np.isnan(np.frombuffer(row))[: len(columns)]
    return crc32(b"\0".join(columns[k] for k in np.flatnonzero(said).tolist()), found)


class Frames(NDArrayOperatorsMixin):
    """A read-only array (frames, ...) on the disk: only the frames that are asked for are read.
    What it is not itself (max, astype, arithmetic), the array of all of them is."""

    def __init__(
        self, source: Source, piece: str, shape: tuple[int, ...], dtype: Any, flat: bool = False
    ) -> None:
        """shape: with the number of frames; flat: points that stand for one coordinate each."""
        self._source, self._piece, self._flat, self._rows = source, piece, flat, shape[1:]
        self.shape, self.dtype = shape[:2] if flat else shape, np.dtype(dtype)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def _frame(self, index: int) -> Array:
        data = self._source.piece(self._piece, index)
        if data is None:
            raise self._source.damaged(index)
        values = np.frombuffer(data, self.dtype).reshape(self._rows)
        return values[:, 1] if self._flat else values

    def _frames(self, which: Any, writeable: bool = False) -> Array:
        found = np.empty((len(which), *self.shape[1:]), self.dtype)
        for k, index in enumerate(which):
            found[k] = self._frame(int(index))
        found.flags.writeable = writeable
        return found

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ValueError(READ_ONLY)

    def __getitem__(self, key: Any) -> Any:
        first, *rest = key if isinstance(key, tuple) and key else (key,)
        if isinstance(first, (int, np.integer)) and not isinstance(first, (bool, np.bool_)):
            index = int(first) + (len(self) if first < 0 else 0)
            if not 0 <= index < len(self):
                raise IndexError(f"frame {first} of {len(self)}")
            # an integer counts among lists, as NumPy has it
            return self._frame(index)[None][(0, *rest)] if rest else self._frame(index)
        if isinstance(first, slice):
            found = self._frames(range(len(self))[first])
            return found[(slice(None), *rest)] if rest else found
        return np.asarray(self)[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self._frames(range(len(self)), writeable=bool(copy))
        return found if dtype is None else found.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(one, Frames) for one in options.get("out", ())):
            raise ValueError(READ_ONLY)
        plain = [np.asarray(one) if isinstance(one, Frames) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"frames have no {name}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        return f"Frames(shape={self.shape}, dtype={self.dtype}, on disk)"
