"""Reads a trace of JAX's profiler, an ``XSpace`` of protocol buffers.

``jax.profiler.ProfileData`` hides what a TPU keeps with the name of an event (category,
flops, bytes, source) and the programs in the trace, and JAX up to 0.6.2 has none. The
numbers of the fields are those of ``xplane.proto`` in openxla/xla; a field that this
does not know is skipped. JAX is not needed, so a trace of any machine can be read.

``load`` takes a file or the folder of a trace, ``read`` bytes. A space has planes (the
host, a device), these have lines (a thread, a stream, the programs), and these have
events. Events are decoded each time that a line is walked, so what is held is the file
and little more; a trace that is damaged may say so only then, with ``ValueError``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from jaxtui.measure.wire import Value, fields, signed
from jaxtui.places import read_whole

MOST_BYTES = 256 * 2**20
"""Of a file. Some 10 MB are read in a second; XProf itself fails beyond 2 GB, and a
trace of a few steps has a few MB."""

MOST_TEXT = 256 * 2**20
"""Of all texts of a trace that are kept compressed."""

ENDING = ".xplane.pb"

Stat = int | float | str | bytes


class Event(NamedTuple):
    metadata: EventMetadata
    start_ps: int
    """Picoseconds; 0 is the epoch, or the start of the trace on a CPU."""
    duration_ps: int
    occurrences: int
    """More than 1 where the profiler has added up."""
    parts: tuple[bytes, ...]
    """Of its own stats, as they lie in the file."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.duration_ps

    @property
    def stats(self) -> tuple[tuple[str, Stat], ...]:
        """Its own: a name may come twice."""
        names = self.metadata.stat_names
        return tuple(_stat(part, names) for part in self.parts)


@dataclass
class EventMetadata:
    """What events of one name share."""

    stat_names: dict[int, str]
    name: str = ""
    display_name: str = ""
    parts: tuple[bytes, ...] = ()

    @cached_property
    def stats(self) -> dict[str, Stat]:
        return dict(_stat(part, self.stat_names) for part in self.parts)


@dataclass
class Line:
    """A thread, a stream, or one kind of what a device did."""

    name: str
    display_name: str
    start_ns: int
    parts: list[bytes] = field(repr=False)
    metadata: dict[int, EventMetadata] = field(repr=False)
    unnamed: EventMetadata = field(repr=False)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def events(self) -> Iterator[Event]:
        """In the order of the file.

        Raises:
            ValueError: One of them is damaged.
        """
        start, metadata, unnamed = self.start_ns * 1000, self.metadata, self.unnamed
        for part in self.parts:
            known, offset, duration, times, stats = unnamed, 0, 0, 1, []
            for number, value in fields(part):
                if isinstance(value, int):
                    if number == 1:
                        known = metadata.get(value, unnamed)
                    elif number == 2:
                        offset = signed(value)
                    elif number == 3:
                        duration = signed(value)
                    elif number == 5:
                        times = value
                elif number == 4 and isinstance(value, bytes):
                    stats.append(value)
            yield Event(known, start + offset, max(duration, 0), times, tuple(stats))


@dataclass
class Plane:
    """The host, a device, or what is known of the programs (``/host:metadata``)."""

    name: str
    lines: tuple[Line, ...]
    metadata: dict[int, EventMetadata] = field(repr=False)
    """Of events, whether or not there are any."""
    stats: dict[str, Stat]
    """Of a TPU or a GPU among them the peaks of the chip."""


@dataclass
class Space:
    planes: tuple[Plane, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the profiler says itself: that it dropped events, say."""
    hosts: tuple[str, ...] = ()

    def programs(self) -> Iterator[tuple[str, bytes]]:
        """Name and serialised ``HloProto`` of each program that the trace holds."""
        for plane in self.planes:
            if plane.name == PROGRAMS:
                for known in plane.metadata.values():
                    proto = known.stats.get("Hlo Proto", known.stats.get("hlo_proto"))
                    if isinstance(proto, bytes):
                        yield known.name, proto


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
    found = sorted(path.rglob(f"*{ENDING}"))
    latest = max((file.parent for file in found), default=None, key=_written)
    return [file for file in found if file.parent == latest]


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
    planes: list[Plane] = []
    texts: dict[int, list[str]] = {2: [], 3: [], 4: []}
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            planes.append(_plane(value))
        elif number in texts:
            texts[number].append(_text(value))
    return Space(tuple(planes), *map(tuple, texts.values()))


def _plane(data: bytes) -> Plane:
    name, lines, stats = "", [], []
    named: list[bytes] = []
    stat_names: dict[int, str] = {}
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 2:
            name = _text(value)
        elif number == 3:
            lines.append(value)
        elif number == 4:
            named.append(value)
        elif number == 5:
            key, entry = _entry(value)
            # Its description, field 3, is for people who read the profiler's source.
            texts = (part for place, part in fields(entry) if place == 2)
            stat_names[key] = next(map(_text, texts), "")
        elif number == 6:
            stats.append(value)
    metadata = {}
    for part in named:
        key, entry = _entry(part)
        metadata[key] = _metadata(entry, stat_names)
    unnamed = EventMetadata(stat_names)
    return Plane(
        name,
        tuple(_line(part, metadata, unnamed) for part in lines),
        metadata,
        dict(_stat(part, stat_names) for part in stats),
    )


def _entry(data: bytes) -> tuple[int, bytes]:
    """Key and value of one entry of a map."""
    key, entry = 0, b""
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            key = value
        elif number == 2 and isinstance(value, bytes):
            entry = value
    return key, entry


def _metadata(data: bytes, stat_names: dict[int, str]) -> EventMetadata:
    found, stats = EventMetadata(stat_names), []
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 2:
            found.name = _text(value)
        elif number == 4:
            found.display_name = _text(value)
        elif number == 5:
            stats.append(value)
    found.parts = tuple(stats)
    return found


def _line(
    data: bytes, metadata: dict[int, EventMetadata], unnamed: EventMetadata
) -> Line:
    line = Line("", "", 0, [], metadata, unnamed)
    for number, value in fields(data):
        if isinstance(value, bytes):
            if number == 2:
                line.name = _text(value)
            elif number == 4:
                line.parts.append(value)
            elif number == 11:
                line.display_name = _text(value)
        elif number == 3 and isinstance(value, int):
            line.start_ns = signed(value)
    return line


def _stat(data: bytes, names: dict[int, str]) -> tuple[str, Stat]:
    name: str = ""
    found: Stat = ""
    for number, value in fields(data):
        if isinstance(value, bytes):
            if number == 5:
                found = _text(value)
            elif number == 6:
                found = value
            elif number == 8:
                found = _texts.inflated(value)
        elif isinstance(value, float):
            found = value if number == 2 else found
        elif number == 1:
            name = names.get(value, "")
        elif number == 3:
            found = value
        elif number == 4:
            found = signed(value)
        elif number == 7:
            found = names.get(value, "")
    return name, found


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
        """What ``gzip`` has compressed.

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
        text = self._known[data] = _text(content)
        return text


_texts = _Texts()


def _text(value: Value) -> str:
    """A text; a name of C++ may be cut inside of a character."""
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
