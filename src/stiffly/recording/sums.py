"""Checksums of a recording, and its bytes: what was written is what is read, or it is named.

Every piece of a frame (points, velocity, row of the table, fields) has a CRC-32 that also knows the
run, the piece and the number of the frame: one that was cut, flipped or put in the place of another
does not pass.  All other bytes of the file, but for the few that change while it grows, have one
together.  That one stands behind the end of what HDF5 knows, as JSON with the places of all that
may change, and is looked at before HDF5's library is given anything to read.
"""

from __future__ import annotations

import io
import json
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any
from zlib import crc32

from ..errors import InputError

TAIL = struct.Struct("<II8s")  # CRC of the JSON before it, its length, what this is
MARK = b"stiffly\n"
PAGE = 1 << 16
CHUNK = 1 << 20
Ranges = list[tuple[int, int]]  # begin, end


class NoRecording(InputError):
    """There is none; one that is damaged is an InputError too, but not this one."""


def piece_sum(run: str, piece: str, index: int, data: Any) -> int:
    return crc32(data, crc32(f"{run} {piece} {index}".encode()))


def text_sum(content: Mapping[str, Any]) -> int:
    """Of what JSON can hold, however it is laid out."""
    return crc32(json.dumps(content, sort_keys=True).encode())


# ------------------------------------------------------------------ files


def open_regular(path: Path) -> int:
    """A file to read from; FileNotFoundError where there is none; a pipe or a device in its place
    is refused, not waited for."""
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return os.open(path, os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError) as problem:
        raise FileNotFoundError(*problem.args) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        said = getattr(problem, "strerror", None) or problem
        raise InputError(f"{path} cannot be read: {said}") from None
    raise InputError(f"{path} is no file that can be read: put the run's own back there")


def read_regular(path: Path) -> bytes:
    handle = open_regular(path)
    try:
        return b"".join(iter(lambda: os.read(handle, CHUNK), b""))
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}") from None
    finally:
        os.close(handle)


# Windows has no pwrite and no pread: the place is sought first; and bytes are no text there
BINARY = getattr(os, "O_BINARY", 0)
SEEKING = Lock()  # threads share the place of a file


def read_at(file: int, size: int, place: int) -> bytes:
    """Up to `size` bytes from there on."""
    if hasattr(os, "pread"):
        return os.pread(file, size, place)
    with SEEKING:
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, size)


def write_at(file: int, data: Any, place: int) -> None:
    at_once = getattr(os, "pwrite", None)
    while len(data):  # a disk that is nearly full takes a part first
        if at_once is None:
            with SEEKING:
                os.lseek(file, place, os.SEEK_SET)
                written = os.write(file, data)
        else:
            written = at_once(file, data, place)
        data, place = data[written:], place + written


def renamed(old: Path, new: Path) -> None:
    """In place of what was called so; a power cut does not take that back."""
    os.replace(old, new)
    if hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        folder = os.open(new.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def copy_bytes(source: int, begin: int, size: int, target: int, place: int) -> None:
    for at in range(0, size, CHUNK):
        write_at(target, read_at(source, min(CHUNK, size - at), begin + at), place + at)


# ------------------------------------------------------------------ what does not change


class Image(io.RawIOBase):
    """A file in memory that HDF5 writes to: only the pages that it has written are there.  So the
    library never sees a disk, which may be full."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._at = self.size = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self.size = self._at if size is None else size
        return self.size

    def write(self, data: Any) -> int:
        data = memoryview(data).cast("B")
        for place, begin, count in self._parts(len(data)):
            page = self._pages.setdefault(place // PAGE, bytearray(PAGE))
            page[place % PAGE : place % PAGE + count] = data[begin : begin + count]
        self._at += len(data)
        self.size = max(self.size, self._at)
        return len(data)

    def readinto(self, into: Any) -> int:
        into = memoryview(into).cast("B")
        for place, begin, count in self._parts(len(into)):
            page = self._pages.get(place // PAGE, bytes(PAGE))
            into[begin : begin + count] = page[place % PAGE : place % PAGE + count]
        self._at += len(into)
        return len(into)

    def _parts(self, size: int) -> Iterator[tuple[int, int, int]]:
        """(place in the file, place in the data, bytes), none of them over the end of a page."""
        done = 0
        while done < size:
            place = self._at + done
            count = min(size - done, PAGE - place % PAGE)
            yield place, done, count
            done += count

    def at(self, begin: int, size: int) -> bytearray:
        data = bytearray(size)
        self.seek(begin)
        self.readinto(data)
        return data

    def write_to(self, path: Path, changing: Ranges) -> None:
        """Onto the disk, with the sum of all that is not in `changing`; OSError where it has no
        room."""
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | BINARY, 0o666)
        try:
            os.ftruncate(file, self.size)
            for number, page in self._pages.items():
                place = number * PAGE
                write_at(file, memoryview(page)[: self.size - place], place)
            told = {"changing": changing, "sum": _sum_around(file, changing, self.size)}
            text = json.dumps(told).encode()
            write_at(file, text + TAIL.pack(crc32(text), len(text), MARK), self.size)
        finally:
            os.close(file)


def _sum_around(file: int, changing: Ranges, size: int) -> int:
    """CRC-32 of the bytes up to `size` that are in none of the ranges."""
    found, at = 0, 0
    for begin, end in [*sorted(changing), (size, size)]:
        while at < begin:
            data = read_at(file, min(CHUNK, begin - at), at)
            if not data:
                return -1
            found, at = crc32(data, found), at + len(data)
        at = end
    return found


def unchanged(file: int) -> bool | None:
    """Whether all that should not change is as it was written; None: the file does not say."""
    size = os.fstat(file).st_size
    tail = read_at(file, TAIL.size, max(0, size - TAIL.size))
    if len(tail) < TAIL.size:
        return None
    expected, length, mark = TAIL.unpack(tail)
    begin = size - TAIL.size - length
    if mark != MARK or begin < 0:
        return None
    text = read_at(file, length, begin)
    if crc32(text) != expected:
        return None
    told = json.loads(text)
    return told["sum"] == _sum_around(file, [tuple(pair) for pair in told["changing"]], begin)
