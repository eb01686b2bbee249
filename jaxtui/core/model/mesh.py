"""Meshes of devices: how they are typed, what they divide, and which would fit.

A case that runs over a mesh holds it in its parameters: ``{"mesh": "2x4"}``, and with
``"axes": "y"`` a collective runs over those axes alone, in several groups at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

MESH, AXES = "mesh", "axes"
"""The parameters of a case that hold them."""

NAMES = ("x", "y", "z")
"""The names of the axes, in order: a slice of TPUs has no more than three."""

_MESH = re.compile(r"([1-9]\d{0,8}(?:x[1-9]\d{0,8}){0,2})(?:@([\w,\s]*))?", re.ASCII)


class Mesh(NamedTuple):
    """Devices in rows and columns."""

    shape: tuple[int, ...]
    over: tuple[str, ...]
    """The axes over which a collective runs; all of them unless some were named."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its axes."""
        return NAMES[: len(self.shape)]

    @property
    def sizes(self) -> dict[str, int]:
        """Devices along each axis."""
        return dict(zip(self.names, self.shape, strict=True))

    @property
    def devices(self) -> int:
        """The number of its devices."""
        return math.prod(self.shape)

    @property
    def participants(self) -> int:
        """Devices of each group that a collective runs in."""
        return math.prod(self.sizes[axis] for axis in self.over)

    @property
    def params(self) -> dict[str, int | float | str]:
        """The mesh as params of a case."""
        shape = "x".join(map(str, self.shape))
        axes = {} if self.over == self.names else {AXES: ",".join(self.over)}
        return {MESH: shape, **axes}

    @property
    def text(self) -> str:
        """The mesh as it is typed: ``2x4@y``."""
        return "@".join(map(str, self.params.values()))


def parse_mesh(text: str) -> Mesh:
    """The mesh that a text such as ``2x4`` or ``2x4@y`` describes.

    Raises:
        ValueError: It describes none, or names an axis that it has not.
    """
    match = _MESH.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(text)
    shape = tuple(map(int, match[1].split("x")))
    whole = Mesh(shape, NAMES[: len(shape)])
    if match[2] is None:
        return whole
    names = [name.strip() for name in match[2].split(",")]
    if not {*names} <= {*whole.names}:
        raise ValueError(text)
    return whole._replace(over=tuple(axis for axis in whole.names if axis in names))


def mesh_of(params: Mapping[str, int | float | str] | None, devices: int) -> Mesh:
    """The mesh of a case on so many devices: one axis over all unless it was typed.

    Raises:
        ValueError: Its parameters describe none.
    """
    typed = mesh_text(params)
    return parse_mesh(typed) if typed else Mesh((devices,), NAMES[:1])


def mesh_text(params: Mapping[str, int | float | str] | None) -> str:
    """The mesh of a case as it was typed: ``2x4@y``; empty where none was."""
    held = params or {}
    return "@".join(str(held[name]) for name in (MESH, AXES) if name in held)
