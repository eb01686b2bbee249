"""Meshes of devices: how they are typed, what they divide, and which would fit.

A case that runs over a mesh holds it in its parameters: ``{"mesh": "2x4"}``, and with
``"axes": "y"`` a collective runs over those axes alone, in several groups at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

MESH, AXES = "mesh", "axes"
"""The parameters of a case that hold them."""

NAMES = ("x", "y", "z")
"""Of the axes, in order: a slice of TPUs has no more than three."""

_MESH = re.compile(r"([1-9]\d{0,8}(?:x[1-9]\d{0,8}){0,2})(?:@([\w,\s]*))?", re.ASCII)


class MeshError(ValueError):
    """A text describes no mesh.

    Args:
        lacks: what it has not: any sense (``mesh``), or a known ``axis``.
        typed: the text, or the name that is no axis.
        known: the axes that there are.
    """

    def __init__(
        self, lacks: Literal["mesh", "axis"], typed: str, known: tuple[str, ...] = ()
    ) -> None:
        super().__init__(lacks, typed)
        self.lacks, self.typed, self.known = lacks, typed, known


class Mesh(NamedTuple):
    """Devices in rows and columns."""

    shape: tuple[int, ...]
    over: tuple[str, ...]
    """The axes over which a collective runs; all of them unless some were named."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its axes."""
        return NAMES[: len(self.shape)]

    @property
    def sizes(self) -> dict[str, int]:
        """Devices along each axis."""
        return dict(zip(self.names, self.shape, strict=True))

    @property
    def devices(self) -> int:
        """How many it has."""
        return math.prod(self.shape)

    @property
    def participants(self) -> int:
        """Devices of each group that a collective runs in."""
        return math.prod(self.sizes[axis] for axis in self.over)

    @property
    def params(self) -> dict[str, int | float | str]:
        """As a case holds it."""
        shape = "x".join(map(str, self.shape))
        axes = {} if self.over == self.names else {AXES: ",".join(self.over)}
        return {MESH: shape, **axes}

    @property
    def text(self) -> str:
        """As it is typed: ``2x4@y``."""
        return "@".join(map(str, self.params.values()))


def parse_mesh(text: str) -> Mesh:
    """The mesh that a text such as ``2x4`` or ``2x4@y`` describes.

    Raises:
        MeshError: It describes none, or names an axis that it has not.
    """
    match = _MESH.fullmatch(text.strip().lower())
    if match is None:
        raise MeshError("mesh", text)
    shape = tuple(map(int, match[1].split("x")))
    whole = Mesh(shape, NAMES[: len(shape)])
    if match[2] is None:
        return whole
    named = [name.strip() for name in match[2].split(",")]
    for name in named:
        if name not in whole.names:
            raise MeshError("axis", name, whole.names)
    return whole._replace(over=tuple(axis for axis in whole.names if axis in named))


def mesh_of(params: Mapping[str, int | float | str] | None, devices: int) -> Mesh:
    """The mesh of a case on so many devices: one axis over all unless it was typed.

    Raises:
        MeshError: Its parameters describe none.
    """
    typed = mesh_text(params)
    return parse_mesh(typed) if typed else Mesh((devices,), NAMES[:1])


def mesh_text(params: Mapping[str, int | float | str] | None) -> str:
    """The mesh of a case as it was typed: ``2x4@y``; empty where none was."""
    held = params or {}
    return "@".join(str(held[name]) for name in (MESH, AXES) if name in held)


def fitting(devices: int) -> Iterator[str]:
    """The meshes of so many devices, those of fewer axes first."""
    yield str(devices)
    divisors = [size for size in range(2, devices // 2 + 1) if devices % size == 0]
    yield from (f"{size}x{devices // size}" for size in divisors)
    for first in divisors:
        rest = devices // first
        inner = [size for size in divisors if rest % size == 0 and size < rest]
        yield from (f"{first}x{size}x{rest // size}" for size in inner)
