"""The clocks of a program, and the lines that read them.

The clocks of ``time`` and ``timeit`` return numbers that know when they were read, so
that a subtraction names its two lines. ``install`` puts them in place.
"""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol

from jaxtui.features.audit.messages import Place

CLOCKS = ("perf_counter", "time", "monotonic", "process_time", "thread_time")
"""The clocks of ``time``, each with its variant in nanoseconds."""
CPU_CLOCKS = ("time.process_time", "time.thread_time")

LIBRARIES = tuple(
    os.path.join(path, "")
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib")),
        str(Path(__file__).parents[3]),
    )
)
PACKAGES = ("/site-packages/", "/dist-packages/")
"""Folders of libraries; a reading there counts only if a timer makes it."""

TIMERS = ("timeit", "tqdm", "pytest_benchmark")
"""Libraries that read a clock for the line that calls them."""

TIMEIT = "<timeit-src>"
"""The file of what ``timeit`` runs."""


class Watcher(Protocol):
    """The receiver of the readings."""

    lines: Lines

    def mark(self) -> float:
        """The time, which is written into the trace as well."""

    def span(self, begin: Reading, end: Reading) -> None:
        """Take the difference of two readings."""


class Lines:
    """Tells the program's own code from a library's."""

    def __init__(self) -> None:
        self._codes: dict[CodeType, bool] = {}

    def reader(self, frame: FrameType | None) -> tuple[Place, str] | None:
        """The line of the program that reads a clock, and the timer that does it for
        that line, if one does; ``None`` if another library reads it.
        """
        timer = ""
        while frame is not None:
            code = frame.f_code
            if self.is_program(code):
                return Place(code.co_filename, frame.f_lineno), timer
            # What ``timeit`` is given as a text has the globals of the program.
            module = "timeit" if code.co_filename == TIMEIT else _module(frame)
            if module not in TIMERS:
                return None
            timer = module
            frame = frame.f_back
        return None

    def line_of(self, frame: FrameType | None) -> Place | None:
        """The innermost line of the program."""
        while frame is not None and not self.is_program(frame.f_code):
            frame = frame.f_back
        return frame and Place(frame.f_code.co_filename, frame.f_lineno)

    def is_program(self, code: CodeType) -> bool:
        is_own = self._codes.get(code)
        if is_own is None:
            file = code.co_filename
            library = file.startswith(LIBRARIES) or any(p in file for p in PACKAGES)
            own = os.path.isabs(file) and not library
            is_own = self._codes[code] = own
        return is_own


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


class Reading:
    """A reading of a clock by the program."""

    __slots__ = ("clock", "place", "seconds", "thread", "timer", "value")

    def __init__(
        self, clock: Clock, place: Place, timer: str, seconds: float, value: float
    ) -> None:
        self.clock = clock
        self.place = place
        self.timer = timer
        self.seconds = seconds
        """The ``perf_counter`` time, whatever the clock."""
        self.value = value
        """Seconds by the clock itself."""
        self.thread = threading.get_ident()


class Clock:
    """A clock of the program, and the numbers that it returns."""

    def __init__(self, name: str, watch: Watcher) -> None:
        self.name, self.watch = name, watch

    def wrapped(self, read: Callable[[], Any]) -> Callable[[], Any]:
        """The clock in place of ``read``."""
        nanoseconds = read.__name__.endswith("_ns")
        moment: Any = _Nanoseconds if nanoseconds else _Seconds
        unit = 1e-9 if nanoseconds else 1.0
        watch = self.watch

        @wraps(read)
        def clock() -> Any:
            reader = watch.lines.reader(sys._getframe(1))
            if reader is None:
                return read()
            seconds = watch.mark()
            value = moment(read())
            value.reading = Reading(self, *reader, seconds, unit * value)
            return value

        return clock


class Moment:
    """A number that was read from a clock; a difference of two is a span."""

    reading: Reading

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Moment) and other.reading.clock is self.reading.clock:
            self.reading.clock.watch.span(other.reading, self.reading)
        return super().__sub__(other)  # type: ignore[misc]

    def __reduce__(self) -> Any:
        base: Any = int if isinstance(self, int) else float
        return base, (base(self),)


class _Seconds(Moment, float):
    pass


class _Nanoseconds(Moment, int):
    pass


def install(watch: Watcher) -> None:
    """Take the place of the clocks."""
    for name in CLOCKS:
        clock = Clock(f"time.{name}", watch)
        for attribute in (name, f"{name}_ns"):
            if hasattr(time, attribute):
                setattr(time, attribute, clock.wrapped(getattr(time, attribute)))
    # It keeps a clock of its own from the moment of its import.
    if "timeit" in sys.modules:
        importlib.reload(sys.modules["timeit"])
