"""The holders of device memory, by line of the source:
``device_memory_profile`` read.

That is a compressed profile of pprof, whose fields have the numbers of
``profile.proto`` in google/pprof.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from jaxtui.core.model.profile import Frame, Holding
from jaxtui.features.profile.measure.programs import HIDDEN
from jaxtui.tasks.devices import probe
from jaxtui.xla.proto import Proto

MOST_BYTES = 64 * 2**20
"""Bytes of the largest profile, inflated: it has a stack for each place that made a
buffer."""

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


def _samples(
    samples: Sequence[Any],
    locations: Sequence[Any],
    functions: Sequence[tuple[int, int, int]],
    texts: Sequence[str],
) -> list[tuple[int, int, list[Frame]]]:
    """Number and bytes of the buffers of each stack, the innermost line first."""
    names = {key: (texts[name], texts[file]) for key, name, file in functions}
    lines: dict[int, list[Frame]] = {}
    for key, inlined in locations:
        frames = lines[key] = []
        for function, number in inlined:
            name, file = names.get(function, ("", ""))
            frames.append(Frame(file=file, line=number, function=name))
    return [
        (count, size, [frame for at in places for frame in lines.get(at, ())])
        for places, (count, size) in samples
    ]


_SAMPLE = Proto({1: ("places", ["int"]), 2: ("values", ["int"])})
_LINE = Proto({1: ("function", "int"), 2: ("number", "int")})
_FUNCTION = Proto({1: ("id", "int"), 2: ("name", "int"), 4: ("file", "int")})
_PROFILE = Proto(
    {
        2: ("samples", [_SAMPLE]),
        4: ("locations", [Proto({1: ("id", "int"), 4: ("lines", [_LINE])})]),
        5: ("functions", [_FUNCTION]),
        6: ("texts", ["text"]),
    },
    _samples,
)
