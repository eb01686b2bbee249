"""The clocks of a program, and the lines that read them.

The clocks of ``time``, ``timeit`` and ``datetime`` return numbers that know when they
were read, so that a subtraction names its two lines. ``install`` puts them in place.
"""

from __future__ import annotations

import datetime
import importlib
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from types import CodeType, FrameType, ModuleType
from typing import Any, Literal, Protocol

from jaxtui.model.audit import Place

CLOCKS: tuple[Literal["perf_counter", "time", "monotonic"], ...] = (
    "perf_counter",
    "time",
    "monotonic",
)
"""Of ``time``, with those in nanoseconds."""

LIBRARIES = tuple(
    os.path.join(path, "")
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib")),
        str(Path(__file__).parents[2]),
    )
)
PACKAGES = ("/site-packages/", "/dist-packages/")
"""What is read there is no affair of the program, unless ``timeit`` does it."""


TIMEIT = "<timeit-src>"
"""The file of what ``timeit`` runs."""


class Watcher(Protocol):
    """Who is told of the readings."""

    lines: Lines

    def mark(self) -> float:
        """The time, which is written into the trace as well."""

    def span(self, begin: Reading, end: Reading, frame: FrameType) -> None:
        """One reading was subtracted from another, by what ``frame`` called."""


class Lines:
    """Which code is the program's own, and not a library's."""

    def __init__(self) -> None:
        self._codes: dict[CodeType, bool] = {}

    def place_of(self, frame: FrameType | None) -> Place | None:
        """The line of the program that reads a clock; ``None`` if a library does."""
        while frame is not None:
            code = frame.f_code
            if self.is_program(code):
                return Place(code.co_filename, frame.f_lineno)
            # What it is given as a text has the globals of the program.
            if code.co_filename != TIMEIT and (
                frame.f_globals.get("__name__") != "timeit"
            ):
                return None
            frame = frame.f_back
        return None

    def line_of(self, frame: FrameType | None) -> Place | None:
        """The innermost line of the program."""
        own = self.frame(frame)
        return Place(own.f_code.co_filename, own.f_lineno) if own else None

    def is_program(self, code: CodeType) -> bool:
        known = self._codes.get(code)
        if known is None:
            file = code.co_filename
            library = file.startswith(LIBRARIES) or any(p in file for p in PACKAGES)
            own = os.path.isabs(file) and not library
            known = self._codes[code] = own
        return known

    def frame(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the program."""
        while frame is not None and not self.is_program(frame.f_code):
            frame = frame.f_back
        return frame


class Reading:
    """One reading of a clock by the program."""

    __slots__ = ("clock", "place", "seconds", "thread")

    def __init__(self, clock: Clock, place: Place, seconds: float) -> None:
        self.clock = clock
        self.place = place
        self.seconds = seconds
        """By ``perf_counter``, whatever the clock."""
        self.thread = threading.get_ident()


class Clock:
    """One clock of the program, and the numbers that it returns."""

    def __init__(self, name: str, grain: float, watch: Watcher) -> None:
        self.name, self.grain, self.watch = name, grain, watch

    def wrapped(self, read: Callable[[], Any]) -> Callable[[], Any]:
        """The clock in place of ``read``."""
        moment = _Nanoseconds if read.__name__.endswith("_ns") else _Seconds
        watch = self.watch

        @wraps(read)
        def clock() -> Any:
            place = watch.lines.place_of(sys._getframe(1))
            if place is None:
                return read()
            seconds = watch.mark()
            return moment.of(read(), Reading(self, place, seconds))

        return clock


class _Moment:
    """A number that was read from a clock; a difference of two is a span."""

    reading: Reading

    @classmethod
    def of(cls, value: Any, reading: Reading) -> Any:
        moment = cls.__new__(cls, value)  # type: ignore[call-arg]
        moment.reading = reading
        return moment

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, _Moment):
            _subtracted(other.reading, self.reading)
        return super().__sub__(other)  # type: ignore[misc]

    def __rsub__(self, other: Any) -> Any:
        # total = 0.0; total -= perf_counter(); …; total += perf_counter()
        return self._owed(super().__rsub__(other))  # type: ignore[misc]

    def __neg__(self) -> Any:
        return self._owed(super().__neg__())  # type: ignore[misc]

    def _owed(self, value: Any) -> Any:
        kind = _OwedNanoseconds if isinstance(value, int) else _OwedSeconds
        return kind.of(value, self.reading)

    def __reduce__(self) -> Any:
        base: Any = int if isinstance(self, int) else float
        return base, (base(self),)


def _subtracted(begin: Reading, end: Reading) -> None:
    if begin.clock is end.clock:
        end.clock.watch.span(begin, end, sys._getframe(2))


class _Seconds(_Moment, float):
    pass


class _Nanoseconds(_Moment, int):
    pass


class _Owed(_Moment):
    """A total from which a reading was taken, to which a later one is to be added."""

    def __add__(self, other: Any) -> Any:
        if isinstance(other, _Moment) and not isinstance(other, _Owed):
            _subtracted(self.reading, other.reading)
        return super().__add__(other)  # type: ignore[misc]


class _OwedSeconds(_Owed, float):
    pass


class _OwedNanoseconds(_Owed, int):
    pass


def _datetime(clock: Clock) -> Any:
    """``datetime.datetime`` whose readings know when they were taken."""
    real: Any = datetime.datetime

    class Instances(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, real)

    class Datetime(real, metaclass=Instances):  # type: ignore[misc]
        reading: Reading | None = None

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return dated(super().now(tz))

        @classmethod
        def utcnow(cls) -> Any:
            return dated(super().utcnow())

        def __sub__(self, other: Any) -> Any:
            begun = getattr(other, "reading", None)
            if begun is not None and self.reading is not None:
                _subtracted(begun, self.reading)
            return super().__sub__(other)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return real, super().__reduce_ex__(protocol)[1]

    def dated(value: Any) -> Any:
        if (place := clock.watch.lines.place_of(sys._getframe(2))) is not None:
            value.reading = Reading(clock, place, clock.watch.mark())
        return value

    Datetime.__name__ = Datetime.__qualname__ = "datetime"
    Datetime.__module__ = "datetime"
    return Datetime


def _watch_datetime(clock: Clock) -> None:
    """Give the program, and nobody else, a ``datetime.datetime`` that is watched.

    Libraries in C know how large the real one is, and crash on another.
    """
    real, own = datetime.datetime, _datetime(clock)

    class Module(ModuleType):
        @property
        def datetime(self) -> Any:
            value = self.__dict__["datetime"]
            asks = sys._getframe(1).f_code
            return (
                own if value is real and clock.watch.lines.is_program(asks) else value
            )

        @datetime.setter
        def datetime(self, value: Any) -> None:
            self.__dict__["datetime"] = value

    datetime.__class__ = Module


def install(watch: Watcher) -> None:
    """Take the place of the clocks."""
    for name in CLOCKS:
        grain = max(time.get_clock_info(name).resolution, _cost(name))
        clock = Clock(f"time.{name}", grain, watch)
        for attribute in (name, f"{name}_ns"):
            setattr(time, attribute, clock.wrapped(getattr(time, attribute)))
    # It keeps a clock of its own from the moment of its import.
    if "timeit" in sys.modules:
        importlib.reload(sys.modules["timeit"])
    _watch_datetime(Clock("datetime.datetime", 1e-6, watch))


def _cost(clock: str) -> float:
    """Seconds that it takes to read a clock of ``time``, at best."""
    read = getattr(time, clock)
    times = []
    for _ in range(20):
        begin = perf_counter_ns()
        for _ in range(10):
            read()
        times.append(perf_counter_ns() - begin)
    return 1e-10 * min(times)
