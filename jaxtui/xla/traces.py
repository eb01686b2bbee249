"""Reads a trace of JAX's profiler, an ``XSpace`` of protocol buffers.

``jax.profiler.ProfileData`` hides what a TPU keeps with the name of an event (category,
flops, bytes, source) and the programs in the trace, and JAX up to 0.6.2 has none. The
numbers of the fields are those of ``xplane.proto`` in openxla/xla; a field that this
does not know is skipped. JAX is not needed, so a trace of any machine can be read.

``load`` takes a file, ``read`` bytes. A space has planes (the host, a device), these
have lines (a thread, a stream, the programs), and these have events. Events are decoded
each time that a line is walked, so what is held is the file and little more; a trace
that is damaged may say so only then, with ``ValueError``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from jaxtui.core.places import read_whole
from jaxtui.xla.proto import Proto, entry

MOST_BYTES = 256 * 2**20
"""Bytes of the largest file. Some 10 MB are read in a second; XProf itself fails beyond
2 GB, and a trace of a few steps has a few MB."""

MOST_TEXT = 256 * 2**20
"""Bytes of all texts of a trace that are kept compressed."""

ENDING = ".xplane.pb"

Stat = int | float | str | bytes


class Event(NamedTuple):
    metadata: EventMetadata
    start_ps: int
    """Picoseconds; 0 is the epoch, or the start of the trace on a CPU."""
    duration_ps: int
    parts: Sequence[bytes]
    """Its own stats, as they lie in the file."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps

    @property
    def stats(self) -> tuple[tuple[str, Stat], ...]:
        """Its own stats: a name may come twice."""
        names = self.metadata.stat_names
        return tuple(_stat(part, names) for part in self.parts)


@dataclass
class EventMetadata:
    """The facts that events of one name share."""

    stat_names: dict[int, str]
    name: str = ""
    display_name: str = ""
    parts: Sequence[bytes] = ()

    @cached_property
    def stats(self) -> dict[str, Stat]:
        return dict(_stat(part, self.stat_names) for part in self.parts)


@dataclass
class Line:
    """A thread, a stream, or one kind of what a device did."""

    metadata: dict[int, EventMetadata] = field(repr=False)
    unnamed: EventMetadata = field(repr=False)
    name: str
    start_ns: int
    parts: Sequence[bytes] = field(repr=False)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def events(self) -> Iterator[Event]:
        """Yield the events in the order of the file.

        Raises:
            ValueError: One of them is damaged.
        """
        start, named, unnamed = self.start_ns * 1000, self.metadata, self.unnamed
        for part in self.parts:
            name, offset, duration, stats = _EVENT.decode(part)
            metadata = named.get(name, unnamed)
            yield Event(metadata, start + offset, max(duration, 0), stats)


@dataclass
class Plane:
    """The host, a device, or what is known of the programs (``/host:metadata``)."""

    name: str
    lines: tuple[Line, ...]
    metadata: dict[int, EventMetadata] = field(repr=False)
    """The metadata of events, whether or not there are any."""
    stats: dict[str, Stat]
    """The stats of the plane; for a TPU or a GPU with the peaks of the chip."""


@dataclass
class Space:
    planes: Sequence[Plane]
    errors: Sequence[str]
    warnings: Sequence[str]
    """The profiler's own warnings, such as dropped events."""

    def programs(self) -> Iterator[tuple[str, bytes]]:
        """Name and serialised ``HloProto`` of each program that the trace holds."""
        for plane in self.planes:
            if plane.name == PROGRAMS:
                for module in plane.metadata.values():
                    proto = module.stats.get("Hlo Proto", module.stats.get("hlo_proto"))
                    if isinstance(proto, bytes):
                        yield module.name, proto


PROGRAMS = "/host:metadata"


class TooLargeError(ValueError):
    """A file is larger than ``MOST_BYTES``."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes")
        self.size = size


def files(path: Path) -> list[Path]:
    """The traces of a folder that ``jax.profiler.trace`` wrote, the latest run of it;
    a file is itself.

    Raises:
        OSError: It cannot be looked at.
    """
    if not path.is_dir():
        return [path]
    paths = sorted(path.rglob(f"*{ENDING}"))
    latest = max((file.parent for file in paths), default=None, key=_written)
    return [file for file in paths if file.parent == latest]


def runs(path: Path) -> list[str]:
    """The runs whose traces a folder has; a file is none."""
    return sorted({file.parent.name for file in path.rglob(f"*{ENDING}")})


def _written(folder: Path) -> tuple[str, float]:
    """A run is named after its time; the clock of a copy may say anything."""
    return folder.name, folder.stat().st_mtime


def load(file: Path) -> Space:
    """The trace of a file.

    Raises:
        OSError: It cannot be read.
        TooLargeError: It is larger than what is read.
        ValueError: It is damaged, or no trace.
    """
    if (size := file.stat().st_size) > MOST_BYTES:
        raise TooLargeError(size)
    return read(read_whole(file, MOST_BYTES))


def read(data: bytes) -> Space:
    """The planes of a serialised ``XSpace``.

    Raises:
        ValueError: It is cut off, or none.
    """
    _texts.clear()
    space: Space = _SPACE.decode(data)
    return space


def _plane(
    name: str,
    lines: Sequence[tuple[str, int, Sequence[bytes]]],
    metadata: Sequence[tuple[int, tuple[str, str, Sequence[bytes]]]],
    stat_names: Sequence[tuple[int, str]],
    stats: Sequence[bytes],
) -> Plane:
    names = dict(stat_names)
    by_key = {key: EventMetadata(names, *shared) for key, shared in metadata}
    unnamed = EventMetadata(names)
    return Plane(
        name,
        tuple(Line(by_key, unnamed, *line) for line in lines),
        by_key,
        dict(_stat(part, names) for part in stats),
    )


def _stat(data: bytes, names: dict[int, str]) -> tuple[str, Stat]:
    name, value, reference, compressed = _STAT.decode(data)
    if compressed:
        value = _texts.inflated(compressed)
    elif reference:
        value = names.get(reference, "")
    return names.get(name, ""), value


_STAT = Proto(
    {
        1: ("name", "int"),
        5: ("value", "text"),
        2: ("value", "double"),
        3: ("value", "uint"),
        4: ("value", "int"),
        6: ("value", "bytes"),
        7: ("reference", "int"),
        8: ("compressed", "bytes"),
    }
)
_EVENT = Proto(
    {
        1: ("metadata", "int"),
        2: ("offset_ps", "int"),
        3: ("duration_ps", "int"),
        4: ("stats", ["bytes"]),
    }
)
_LINE = Proto({2: ("name", "text"), 3: ("start_ns", "int"), 4: ("parts", ["bytes"])})
_METADATA = Proto(
    {2: ("name", "text"), 4: ("display_name", "text"), 5: ("parts", ["bytes"])}
)
# The description of a stat, field 3, is for people who read the profiler's source.
_PLANE = Proto(
    {
        2: ("name", "text"),
        3: ("lines", [_LINE]),
        4: ("metadata", [entry(_METADATA)]),
        5: ("stat_names", [entry(Proto({2: ("name", "text")}))]),
        6: ("stats", ["bytes"]),
    },
    _plane,
)
_SPACE = Proto(
    {1: ("planes", [_PLANE]), 2: ("errors", ["text"]), 3: ("warnings", ["text"])}, Space
)


class _Texts:
    """The compressed ones of the trace that is being read.

    A few bytes may stand for megabytes, and the same ones stand in it many times.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}
        self._bytes = 0

    def clear(self) -> None:
        self._known.clear()
        self._bytes = 0

    def inflated(self, data: bytes) -> str:
        """Return the text that ``gzip`` has compressed.

        Raises:
            ValueError: It is not that, or the texts of this trace are larger than any.
        """
        if (text := self._known.get(data)) is not None:
            return text
        reader = zlib.decompressobj(wbits=31)
        try:
            content = reader.decompress(data, max(1, MOST_TEXT - self._bytes))
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if not reader.eof:
            raise ValueError("a compressed text is cut off or too long")
        self._bytes += len(content)
        text = self._known[data] = content.decode(errors="replace")
        return text


_texts = _Texts()
