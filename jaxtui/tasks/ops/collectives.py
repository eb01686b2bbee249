"""Collectives: what several devices do together.

Their size is that of nccl-tests, the bytes of the largest buffer of one device: what is
reduced, what is gathered, what is scattered, what is exchanged. With it busbw, the size
over the seconds times a factor, is what each link carries, whatever the number of
devices (``doc/PERFORMANCE.md`` of nccl-tests has the factors).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxtui.core.model import ITEMSIZE, Case, OpInfo
from jaxtui.core.model import mesh as meshes
from jaxtui.tasks.ops.arguments import Array

DTYPES = ("float32", "bfloat16", "int32")

EXACT_TO = {"float32": 2**24, "bfloat16": 2**8, "int32": 2**31 - 1}
"""Up to here every whole number is exact: sums are, in whichever order they are made,
so that an element is right or wrong and nothing between."""

READS_AT_MOST = 1 << 27
"""Elements of arguments that a check reads for one device; of more, a sample of the
result is checked."""

CHUNK = 1 << 20

Axes = tuple[str, ...]


class Collective(msgspec.Struct, frozen=True, kw_only=True):
    """A collective: its form inside of ``jax.shard_map``, and the right result."""

    name: str
    summary: str
    form: Callable[[Any, Axes], Any]
    """The function of one device's array, and the axes of the mesh over which
    it runs."""
    bus: Callable[[int], float]
    """The factor from algbw (size over seconds) to busbw, for n participants."""
    bus_formula: str
    takes_share: bool = False
    """Each device brings the n-th part of the size, and not all of it."""
    gives_share: bool = False
    """Each device is left with the n-th part."""
    reduces: bool = False
    """True if its result is a sum of the arguments of all."""
    same_on_all: bool = False
    """Every device of a group has the same result."""
    source: Callable[[Array, int, int, int], tuple[Array | int, Array]]
    """``source(elements, rank, n, length)``: of whose argument, and which elements of
    it, those of the result of a rank are made; an argument has that length. Of a sum
    the rank counts for nothing."""

    lacks: dict[str, tuple[str, ...]] = {}
    """By platform, the dtypes that XLA refuses there."""

    def info(self) -> OpInfo:
        return OpInfo(
            name=self.name,
            summary=self.summary,
            size_means="bytes of a device",
            dtypes=DTYPES,
            flops="0",
            arithmetic="moves",
            bytes=f"busbw: {self.bus_formula} × size",
            minimum=1,
            default=16 << 20,
            maximum=1 << 30,
            modes=("jit",),
            collective=True,
        )

    def input_bytes(self, size: int, dtype: str) -> int:
        """Return the largest argument of one device, in bytes."""
        return size

    def memory_bytes(self, size: int, n: int) -> int:
        """Return the bytes that one device needs: its argument and two results."""
        part = size // n
        argument = part if self.takes_share else size
        return argument + 2 * (part if self.gives_share else size)


def all_reduce(x: Any, axes: Axes) -> Any:
    return lax.psum(x, axes)


def all_gather(x: Any, axes: Axes) -> Any:
    return lax.all_gather(x, axes, tiled=True)


def reduce_scatter(x: Any, axes: Axes) -> Any:
    return lax.psum_scatter(x, axes, tiled=True)


def all_to_all(x: Any, axes: Axes) -> Any:
    return lax.all_to_all(x, axes, split_axis=0, concat_axis=0, tiled=True)


def permute(x: Any, axes: Axes) -> Any:
    n = lax.psum(1, axes)
    return lax.ppermute(x, axes, [(i, (i + 1) % n) for i in range(n)])


COLLECTIVES: dict[str, Collective] = {
    op.name: op
    for op in (
        Collective(
            name="all_reduce",
            summary="Every device gets the sum of the arrays of all: lax.psum.",
            form=all_reduce,
            bus=lambda n: 2 * (n - 1) / n,
            bus_formula="2(n−1)/n",
            reduces=True,
            same_on_all=True,
            source=lambda elements, rank, n, length: (0, elements),
        ),
        Collective(
            name="all_gather",
            summary="Every device gets the arrays of all, end to end: lax.all_gather.",
            form=all_gather,
            bus=lambda n: (n - 1) / n,
            bus_formula="(n−1)/n",
            takes_share=True,
            same_on_all=True,
            source=lambda elements, rank, n, length: (
                elements // length,
                elements % length,
            ),
        ),
        Collective(
            name="reduce_scatter",
            summary="Each device gets its part of the sum of all: lax.psum_scatter.",
            form=reduce_scatter,
            bus=lambda n: (n - 1) / n,
            bus_formula="(n−1)/n",
            gives_share=True,
            reduces=True,
            source=lambda elements, rank, n, length: (
                0,
                elements + rank * (length // n),
            ),
        ),
        Collective(
            name="all_to_all",
            summary="Each device sends a part of its array to each: lax.all_to_all.",
            form=all_to_all,
            bus=lambda n: (n - 1) / n,
            bus_formula="(n−1)/n",
            source=lambda elements, rank, n, length: (
                elements // (length // n),
                elements % (length // n) + rank * (length // n),
            ),
        ),
        Collective(
            name="permute",
            summary="Each device sends its array to the next in a ring: lax.ppermute.",
            form=permute,
            bus=lambda n: 1.0,
            bus_formula="1",
            source=lambda elements, rank, n, length: ((rank - 1) % n, elements),
        ),
    )
}


# What a plain program has: a mesh, a sharded array, a mapped function.


def device_mesh(mesh: meshes.Mesh, devices: tuple[jax.Device, ...]) -> Mesh:
    """The devices as ``jax.make_mesh`` places them, along the links of a TPU.

    What it makes is not taken: since jax 0.9 a function would have to say how each of
    its operations is sharded.
    """
    try:
        placed = jax.make_mesh(mesh.shape, mesh.names, devices=devices).devices
    # Of a part of a slice, or of a shape that its links do not have.
    except (ValueError, NotImplementedError, AssertionError):
        placed = np.array(devices).reshape(mesh.shape)
    return Mesh(placed, mesh.names)


class MeshPosition(NamedTuple):
    """The position of a device in a mesh."""

    rank: int
    """Its number in its group."""
    group: tuple[int, ...]
    """The positions in the mesh of those that it works with, by rank."""


class Exchange:
    """A collective on a mesh: its size, its function, its argument, what is right."""

    def __init__(
        self, op: Collective, case: Case, devices: tuple[jax.Device, ...], seed: int = 0
    ) -> None:
        """Place the devices; nothing is allocated.

        Args:
            op: What they do.
            case: Sound, with a mesh that fits.
            devices: All of them, those of other processes too.
            seed: Of the argument.
        """
        shape = meshes.mesh_of(case.params, len(devices))
        self.op, self.participants = op, shape.participants
        step = self.participants * ITEMSIZE[case.dtype]
        self.asked = case.size
        self.size = case.size // step * step
        """Rounded down to what can be divided, as nccl-tests does."""
        self.wrong: int | None = None
        """Elements of the results of this process, once they were checked."""
        self._length = self.size // ITEMSIZE[case.dtype]
        self._taken = self._length // (self.participants if op.takes_share else 1)
        self._dtype, self._axes, self._seed = case.dtype, shape.over, seed
        self._mesh = device_mesh(shape, devices)
        self._spread = PartitionSpec(self._mesh.axis_names)
        summed = self.participants if op.reduces else 1
        self._bound = max(1, EXACT_TO[case.dtype] // summed)

    @property
    def factor(self) -> float:
        """Between algbw and busbw."""
        return self.op.bus(self.participants)

    def fresh(self) -> Callable[..., Any]:
        """A function that JAX has not seen, of the array that all devices share."""
        form, axes = self.op.form, self._axes

        def bound(x: Any) -> Any:
            return form(x, axes)

        bound.__name__ = bound.__qualname__ = self.op.name
        spread = self._spread
        mapped: Callable[..., Any] = jax.shard_map(
            bound, mesh=self._mesh, in_specs=spread, out_specs=spread
        )
        return mapped

    @property
    def shape(self) -> jax.ShapeDtypeStruct:
        """The shape and sharding of the argument."""
        return jax.ShapeDtypeStruct(
            (self._mesh.size * self._taken,),
            jnp.dtype(self._dtype),
            sharding=NamedSharding(self._mesh, self._spread),
        )

    def argument(self) -> jax.Array:
        """Each process makes the parts of its own devices."""
        elements = np.arange(self._taken, dtype=np.int64)

        def part(index: tuple[slice, ...] | None) -> Array:
            start = index[0].start if index else None
            position = (start or 0) // self._taken
            return self._values(position, elements).astype(self.shape.dtype)

        sharding: Any = self.shape.sharding
        return jax.make_array_from_callback(self.shape.shape, sharding, part)

    def count_wrong(self, result: jax.Array) -> tuple[int, int | None]:
        """Elements of the devices of this process that are not what they should be.

        Returns:
            How many, and how many of each device were looked at; ``None`` for all.
        """
        length = self._length // (self.participants if self.op.gives_share else 1)
        most = READS_AT_MOST // (self.participants if self.op.reduces else 1)
        sampled = length > most
        elements: Array = np.arange(length, dtype=np.int64)
        if sampled:
            chance = np.random.default_rng(self._seed)
            elements = np.sort(chance.integers(0, length, most))
        places, wrong = self._places(), 0
        right: dict[Any, Array] = {}
        for shard in result.addressable_shards:
            place, values = places[shard.device], np.asarray(shard.data)
            if values.shape != (length,):
                wrong += length
                continue
            for start in range(0, len(elements), CHUNK):
                chunk = elements[start : start + CHUNK]
                key = (place.group, start)
                if not self.op.same_on_all or key not in right:
                    right[key] = self._right(place, chunk)
                wrong += int(np.count_nonzero(values[chunk] != right[key]))
        return wrong, most if sampled else None

    def _places(self) -> dict[jax.Device, MeshPosition]:
        """Every device by its place in the mesh."""
        devices = self._mesh.devices
        positions = np.arange(devices.size).reshape(devices.shape)
        names = self._mesh.axis_names
        over = [names.index(axis) for axis in self._axes]
        rest = [axis for axis in range(devices.ndim) if axis not in over]
        groups = positions.transpose(*rest, *over).reshape(-1, self.participants)
        return {
            devices.flat[position]: MeshPosition(rank, tuple(map(int, group)))
            for group in groups
            for rank, position in enumerate(group)
        }

    def _right(self, place: MeshPosition, elements: Array) -> Array:
        """Return the right values of these elements of a device's result, by NumPy."""
        group = np.array(place.group)
        ranks, sources = self.op.source(
            elements, place.rank, self.participants, self._taken
        )
        if self.op.reduces:
            values: Array = np.zeros(len(sources), np.int64)
            for position in place.group:
                values += self._values(position, sources)
        else:
            values = self._values(group[ranks], sources)
        return values.astype(self.shape.dtype)

    def _values(self, position: Any, elements: Array) -> Array:
        """Whole numbers that follow from the seed, the device and the element."""
        mixed = elements.astype(np.uint32) * np.uint32(0x9E3779B1)
        mixed = mixed + np.asarray(position, np.uint32) * np.uint32(0x85EBCA77)
        mixed = mixed ^ np.uint32(self._seed * 0xC2B2AE3D & 0xFFFFFFFF)
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):  # lowbias32
            mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
        mixed ^= mixed >> np.uint32(16)
        span = np.uint32(2 * self._bound + 1)
        values: Array = (mixed % span).astype(np.int64) - self._bound
        return values
