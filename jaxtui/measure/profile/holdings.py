"""Who holds device memory, by line of the source: ``device_memory_profile`` read.

That is a compressed profile of pprof, whose fields have the numbers of
``profile.proto`` in google/pprof.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax

from jaxtui.measure.devices import probe
from jaxtui.measure.profile.programs import HIDDEN
from jaxtui.measure.wire import Value, fields, integers
from jaxtui.model.profile import Frame, Holding

MOST_BYTES = 64 * 2**20
"""Of a profile, inflated: it has a stack for each place that made a buffer."""

_JAX = tuple(str(Path(one).parent) for one in (jax.__file__,))


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
        samples = list(_samples(text))
    except (zlib.error, ValueError, IndexError):  # of a later format
        return ()
    sizes, counts = Counter[Frame](), Counter[Frame]()
    for count, size, stack in samples:
        line = next((f for f in stack if not f.file.startswith((*_JAX, *HIDDEN))), None)
        if line is not None and size:
            sizes[line] += size
            counts[line] += count
    return tuple(
        Holding(frame=frame, count=counts[frame], bytes=size)
        for frame, size in sizes.most_common()
    )


def _samples(data: bytes) -> Iterator[tuple[int, int, Sequence[Frame]]]:
    """Number and bytes of the buffers of each stack, the innermost first."""
    texts = [
        value.decode(errors="replace")
        for number, value in fields(data)
        if number == 6 and isinstance(value, bytes)
    ]
    functions: dict[Value, tuple[str, str]] = {}
    lines: dict[Value, list[Frame]] = {}
    for number, value in fields(data):
        if number == 5 and isinstance(value, bytes):
            known = dict(fields(value))
            name, file = (texts[_whole(known.get(place, 0))] for place in (2, 4))
            functions[known.get(1, 0)] = name, file
    for number, value in fields(data):
        if number == 4 and isinstance(value, bytes):
            parts = list(fields(value))
            lines[dict(parts).get(1, 0)] = [
                _frame(part, functions)
                for place, part in parts
                if place == 4 and isinstance(part, bytes)
            ]
    for number, value in fields(data):
        if number != 2 or not isinstance(value, bytes):
            continue
        places, values = list[int](), list[int]()
        for field, part in fields(value):
            if field == 1:
                places += integers(part)
            elif field == 2:
                values += integers(part)
        if len(values) == 2:
            count, size = values
            yield count, size, [f for at in places for f in lines.get(at, ())]


def _frame(data: bytes, functions: dict[Value, tuple[str, str]]) -> Frame:
    known = dict(fields(data))
    name, file = functions.get(known.get(1, 0), ("", ""))
    return Frame(file=file, line=_whole(known.get(2, 0)), function=name)


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0
