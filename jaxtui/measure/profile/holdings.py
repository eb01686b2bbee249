"""Who holds device memory, by line of the source: ``device_memory_profile`` read.

That is a compressed profile of pprof, whose fields have the numbers of
``profile.proto`` in google/pprof.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jax

from jaxtui.measure.devices import probe
from jaxtui.measure.profile.programs import HIDDEN
from jaxtui.model.profile import Frame, Holding
from jaxtui.xla.proto import Message

MOST_BYTES = 64 * 2**20
"""Of a profile, inflated: it has a stack for each place that made a buffer."""

_JAX = str(Path(jax.__file__).parent)


def now() -> tuple[Holding, ...]:
    """The lines whose buffers are alive, the largest first; empty where this backend
    does not say.
    """
    data = probe(jax.profiler.device_memory_profile)
    return read(data) if isinstance(data, bytes) else ()


def read(data: bytes) -> tuple[Holding, ...]:
    """The lines of a memory profile."""
    try:
        text = zlib.decompressobj(wbits=31).decompress(data, MOST_BYTES)
        samples = _PROFILE.decode(text)
    except (zlib.error, ValueError, IndexError):  # of a later format
        return ()
    sizes, counts = Counter[Frame](), Counter[Frame]()
    for count, size, stack in samples:
        line = next((f for f in stack if not f.file.startswith((_JAX, *HIDDEN))), None)
        if line is not None and size:
            sizes[line] += size
            counts[line] += count
    return tuple(
        Holding(frame=frame, count=counts[frame], bytes=size)
        for frame, size in sizes.most_common()
    )


class _Sample(NamedTuple):
    places: Sequence[int] = ()
    values: Sequence[int] = (0, 0)
    """Number and bytes."""


class _Line(NamedTuple):
    function: int = 0
    number: int = 0


class _Location(NamedTuple):
    id: int = 0
    lines: Sequence[_Line] = ()
    """The innermost first."""


class _Function(NamedTuple):
    id: int = 0
    name: int = 0
    file: int = 0


def _samples(
    samples: Sequence[_Sample] = (),
    locations: Sequence[_Location] = (),
    functions: Sequence[_Function] = (),
    texts: Sequence[str] = (),
) -> list[tuple[int, int, list[Frame]]]:
    """Number and bytes of the buffers of each stack, the innermost line first."""
    names = {each.id: (texts[each.name], texts[each.file]) for each in functions}
    lines: dict[int, list[Frame]] = {}
    for location in locations:
        frames = lines[location.id] = []
        for function, number in location.lines:
            name, file = names.get(function, ("", ""))
            frames.append(Frame(file=file, line=number, function=name))
    return [
        (count, size, [frame for at in places for frame in lines.get(at, ())])
        for places, (count, size) in samples
    ]


_SAMPLE = Message(_Sample, {1: ("places", ["int"]), 2: ("values", ["int"])})
_LINE = Message(_Line, {1: ("function", "int"), 2: ("number", "int")})
_LOCATION = Message(_Location, {1: ("id", "int"), 4: ("lines", [_LINE])})
_FUNCTION = Message(
    _Function, {1: ("id", "int"), 2: ("name", "int"), 4: ("file", "int")}
)
_PROFILE = Message(
    _samples,
    {
        2: ("samples", [_SAMPLE]),
        4: ("locations", [_LOCATION]),
        5: ("functions", [_FUNCTION]),
        6: ("texts", ["text"]),
    },
)
