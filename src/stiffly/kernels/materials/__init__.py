"""Materials, one file each: MATERIAL in the module of that name.  A new one is a line in NAMES."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .material import Material

NAMES = ("corotated", "stvk", "neo-hookean")  # light: scene files ask for the names alone


def load(name: str) -> Material:
    return import_module(f".{name.replace('-', '_')}", __name__).MATERIAL
