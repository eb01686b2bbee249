"""Watches how a program times itself: its clocks, the device, compiles and transfers.

The program runs unchanged in this process. The clocks of ``time``, ``timeit`` and
``datetime`` return numbers that know when they were read, so that a subtraction names
its two lines. ``jax.profiler`` is the witness of what the device did meanwhile: it sees
results that were dropped, too. JAX's monitoring events tell of compiles.

What watching costs: a microsecond for each reading of a clock, and what the profiler
takes. ``view.audit`` says so.
"""

from __future__ import annotations

import datetime
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import logging
import os
import platform
import re
import signal
import sys
import sysconfig
import threading
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from jaxtui.measure import script, xspace
from jaxtui.measure.kernels import DEVICES, HOST, Launch, launches, start_of
from jaxtui.measure.xspace import Event, Space
from jaxtui.model import Remark
from jaxtui.model.audit import (
    Compile,
    Execution,
    Place,
    Span,
    Transfer,
    Wait,
    Witness,
)

if TYPE_CHECKING:
    from jaxtui.measure.trace import Part

TRACE_SECONDS = 60.0
"""How long kernels are watched. Tracing costs some 50 bytes an event, and reading them
some 10 µs: a minute of calls of 100 µs is read in a minute."""

MOST_SPANS = 20_000
MOST_EVENTS = 2_000_000
"""Of a trace: reading them takes some 20 s."""

MARK = "jaxtui clock"
"""Begins the names of events that tell the time in a trace."""
REST_SECONDS, RESTS = 0.005, 4
"""No thread computes, as often as it is looked at. The runtime writes that a kernel
ended some 30 µs after its result is ready."""

DRAIN_SECONDS = 60.0
"""For work that nobody waited for, before the trace is ended."""

CALL = "PjitFunction("
"""Begins the name of the event of a call of a jitted function."""

PUT = "DevicePut"
"""Begins the name of the event of an array that such a call sends to its device."""

ASKS = (signal.SIGTERM, signal.SIGHUP)
"""What would end the program before it could be told what was seen."""

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
        str(Path(__file__).parents[1]),
    )
)
PACKAGES = ("/site-packages/", "/dist-packages/")
"""What is read there is no affair of the program, unless ``timeit`` does it."""

_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}

_NAME = re.compile(r"[A-Za-z_]\w*")

_CACHE_MISS = "TRACING CACHE MISS"
"""Begins the message of ``jax_explain_cache_misses``."""


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

    def __init__(self, name: str, grain: float, watch: Watch) -> None:
        self.name, self.grain, self.watch = name, grain, watch

    def wrapped(self, read: Callable[[], Any]) -> Callable[[], Any]:
        """The clock in place of ``read``."""
        moment = _Nanoseconds if read.__name__.endswith("_ns") else _Seconds
        watch = self.watch

        @wraps(read)
        def clock() -> Any:
            place = watch.place_of(sys._getframe(1))
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
            other.reading.clock.watch.span(other.reading, self.reading)
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


class _Seconds(_Moment, float):
    pass


class _Nanoseconds(_Moment, int):
    pass


class _Owed(_Moment):
    """A total from which a reading was taken, to which a later one is to be added."""

    def __add__(self, other: Any) -> Any:
        if isinstance(other, _Moment) and not isinstance(other, _Owed):
            self.reading.clock.watch.span(self.reading, other.reading)
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
                clock.watch.span(begun, self.reading)
            return super().__sub__(other)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return real, super().__reduce_ex__(protocol)[1]

    def dated(value: Any) -> Any:
        if (place := clock.watch.place_of(sys._getframe(2))) is not None:
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
            return own if value is real and clock.watch.is_program(asks) else value

        @datetime.setter
        def datetime(self, value: Any) -> None:
            self.__dict__["datetime"] = value

    datetime.__class__ = Module


class Watch:
    """What is seen of one program."""

    def __init__(self) -> None:
        self.started = perf_counter()
        self._spans: list[tuple[Reading, Reading, Place | None, Place | None]] = []
        self._lost_spans = 0
        self._arrays: dict[tuple[Place, Place], int] = {}
        """Bytes of NumPy's arrays that are named between two lines."""
        self._stages: list[tuple[str, Compile]] = []
        self._transfers: list[Transfer] = []
        self._waits: list[Wait] = []
        self._remarks: list[Remark] = []
        self._converts = threading.local()
        self._codes: dict[CodeType, bool] = {}
        self._reasons: list[str] = []
        self._jax: Any = None
        self._trace: _Trace | None = None
        self._traces = True
        """A trace may still be started."""
        self._space: Space | None = None
        self._marks: Sequence[tuple[float, int]] = ()
        self._starting = False
        self._pid = os.getpid()

    # The program's clocks.

    def install(self) -> None:
        """Take the place of the clocks, and wait for JAX to be imported."""
        for name in CLOCKS:
            grain = max(time.get_clock_info(name).resolution, _cost(name))
            clock = Clock(f"time.{name}", grain, self)
            for attribute in (name, f"{name}_ns"):
                setattr(time, attribute, clock.wrapped(getattr(time, attribute)))
        # It keeps a clock of its own from the moment of its import.
        if "timeit" in sys.modules:
            importlib.reload(sys.modules["timeit"])
        _watch_datetime(Clock("datetime.datetime", 1e-6, self))
        sys.meta_path.insert(0, _Importer("jax", self._imported))
        os.register_at_fork(after_in_child=self._stay_out)

    def _stay_out(self) -> None:
        """A process that the program has forked is not watched."""
        self._trace, self._traces = None, False

    def place_of(self, frame: FrameType | None) -> Place | None:
        """The line of the program that reads a clock; ``None`` if a library does."""
        while frame is not None:
            code = frame.f_code
            if self.is_program(code):
                return Place(code.co_filename, frame.f_lineno)
            if frame.f_globals.get("__name__") != "timeit":
                return None
            frame = frame.f_back
        return None

    def line_of(self, frame: FrameType | None) -> Place | None:
        """The innermost line of the program."""
        own = self._frame(frame)
        return Place(own.f_code.co_filename, own.f_lineno) if own else None

    def is_program(self, code: CodeType) -> bool:
        known = self._codes.get(code)
        if known is None:
            file = code.co_filename
            library = file.startswith(LIBRARIES) or any(p in file for p in PACKAGES)
            own = os.path.isabs(file) and not library
            known = self._codes[code] = own
        return known

    def span(self, begin: Reading, end: Reading) -> None:
        if os.getpid() != self._pid or begin.clock is not end.clock:
            return
        if len(self._spans) < MOST_SPANS:
            frame = self._frame(sys._getframe(1))
            outer = self._frame(frame.f_back) if frame is not None else None
            taken, caller = self.line_of(frame), self.line_of(outer)
            self._spans.append((begin, end, taken, caller))
            where = begin.place, end.place
            if where not in self._arrays:
                self._arrays[where] = _arrays(*where, frame)
        else:
            self._lost_spans += 1

    def _frame(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the program."""
        while frame is not None and not self.is_program(frame.f_code):
            frame = frame.f_back
        return frame

    def mark(self) -> float:
        """The time, which is written into the trace as well."""
        trace = self._trace
        return perf_counter() if trace is None else trace.mark()

    # JAX.

    def _imported(self, jax: ModuleType) -> None:
        self._jax = jax
        try:
            self._attach(jax)
        except Exception as error:  # of a version that differs inside
            self._remarks.append(_failed(error))

    def _attach(self, jax: Any) -> None:
        monitoring: Any = importlib.import_module("jax.monitoring")
        monitoring.register_event_duration_secs_listener(self._stage)
        if hasattr(monitoring, "register_scalar_listener"):
            monitoring.register_scalar_listener(self._stage_begins)
        with suppress(Exception):
            if not jax.config.jax_explain_cache_misses:
                jax.config.update("jax_explain_cache_misses", True)
                for name in ("jax._src.pjit", "jax._src.interpreters.partial_eval"):
                    logging.getLogger(name).addFilter(self._explained)
        jax.block_until_ready = self._waiting(jax.block_until_ready)
        numpy: Any = importlib.import_module("numpy")
        array: Any = importlib.import_module("jax._src.array").ArrayImpl
        array.block_until_ready = self._waiting(array.block_until_ready)
        for name in ("asarray", "array"):
            setattr(numpy, name, self._converting(getattr(numpy, name), array))
        self._watch_value(array)
        from jaxtui.measure.trace import before_start

        before_start(self._traced)

    def _explained(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if not message.startswith(_CACHE_MISS):
            return True
        self._reasons.append(message)
        return False

    def _stage_begins(self, event: str, value: float, **more: Any) -> None:
        # By now there is a backend, and the program has said what it wants of it.
        if _STAGES.get(event) == "compile":
            self._start_trace()

    def _stage(self, event: str, seconds: float, **more: Any) -> None:
        if (stage := _STAGES.get(event)) is None or os.getpid() != self._pid:
            return
        end = self._now()
        reason = ""
        if stage == "compile" and self._reasons:
            # Those after it are about what it calls.
            reason = self._reasons[0]
            self._reasons.clear()
        compiled = Compile(
            function=function_name(str(more.get("fun_name", ""))),
            start_seconds=end - seconds,
            end_seconds=end,
            place=self.line_of(sys._getframe(1)),
            reason=reason,
        )
        self._stages.append((stage, compiled))
        if stage == "compile":
            self._start_trace()

    def _waiting(self, wait: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``jax.block_until_ready``, or the method of an array."""
        leaves: Any = importlib.import_module("jax.tree_util").tree_leaves

        @wraps(wait, assigned=("__doc__",))  # a method of C++ lacks others
        def block_until_ready(x: Any) -> Any:
            caller = sys._getframe(1)
            place = self.line_of(caller)
            # Also where a trace ends, something waits.
            own = caller.f_code.co_filename == __file__
            if place is None or own or os.getpid() != self._pid:
                return wait(x)
            has_array = any(hasattr(leaf, "block_until_ready") for leaf in leaves(x))
            started = self._now()
            try:
                return wait(x)
            finally:
                self._waits.append(
                    Wait(
                        place=place,
                        start_seconds=started,
                        end_seconds=self._now(),
                        on="" if has_array else type(x).__name__,
                    )
                )

        return block_until_ready

    def _converting(self, convert: Callable[..., Any], array: type) -> Any:
        @wraps(convert)
        def converted(*args: Any, **options: Any) -> Any:
            if not args or not isinstance(args[0], array):
                return convert(*args, **options)
            return self._transfer(
                args[0], sys._getframe(1), lambda: convert(*args, **options)
            )

        return converted

    def _watch_value(self, array: Any) -> None:
        value = array._value
        if not isinstance(value, property) or value.fget is None:
            return
        get = value.fget

        def watched(this: Any) -> Any:
            if getattr(this, "_npy_value", None) is not None:
                return get(this)
            return self._transfer(this, sys._getframe(1), lambda: get(this))

        array._value = property(watched, value.fset, value.fdel, value.__doc__)

    def _transfer(self, array: Any, frame: Any, convert: Callable[[], Any]) -> Any:
        if getattr(self._converts, "now", False):  # one conversion asks for another
            return convert()
        place = self.line_of(frame)
        started = self._now()
        self._converts.now = True
        try:
            result = convert()
        finally:
            self._converts.now = False
        if place is not None and os.getpid() == self._pid:
            transfer = Transfer(
                direction="to host",
                start_seconds=started,
                end_seconds=self._now(),
                bytes=int(array.nbytes),
                place=place,
            )
            self._transfers.append(transfer)
        return result

    def _now(self) -> float:
        return perf_counter() - self.started

    # The profiler.

    def _traced(self) -> None:
        """The program traces itself: there is one session in a process."""
        if not self._starting:
            self.stop_trace()
            self._remarks.append(Remark("audit-traces-itself", severity="warning"))

    def _start_trace(self) -> None:
        if not self._traces or os.getpid() != self._pid:
            return
        self._traces, self._starting = False, True
        try:
            self._trace = _Trace(self._jax)
        except Exception as error:  # of the profiler, which is optional
            self._remarks.append(_failed(error))
            return
        finally:
            self._starting = False
        timer = threading.Timer(TRACE_SECONDS, self._trace_is_long)
        timer.daemon = True
        timer.start()

    def _trace_is_long(self) -> None:
        if self._trace is not None:
            self.stop_trace()
            facts = {"seconds": TRACE_SECONDS}
            self._remarks.append(Remark("audit-trace-long", {**facts}))

    def stop_trace(self) -> None:
        """End the trace, if there is one."""
        trace, self._trace, self._traces = self._trace, None, False
        if trace is None:
            return
        try:
            self._space = trace.stop()
            self._marks = trace.marks
        except Exception as error:  # of the profiler
            self._remarks.append(_failed(error))

    # What came of it.

    def witness(self) -> Witness:
        """Everything that was seen; called once, when the program is over."""
        ran = self._now()
        self.stop_trace()
        remarks = list(self._remarks)
        if self._lost_spans:
            facts = {"spans": len(self._spans), "lost": self._lost_spans}
            remarks.append(Remark("audit-many-spans", {**facts}, "warning"))
        seen = _Seen()
        if self._space is not None:
            try:
                seen = _read(self._space, self._marks, self.started)
            except (ValueError, OSError) as error:
                remarks.append(Remark("profiler-failed", {}, "warning", str(error)))
        version = getattr(self._jax, "__version__", None)
        return Witness(
            python=platform.python_version(),
            jax=None if version is None else str(version),
            seconds=ran,
            spans=tuple(self._span(*span) for span in self._spans),
            executions=seen.executions,
            compiles=tuple(self._compiles()),
            transfers=(*self._transfers, *seen.puts),
            waits=tuple(self._waits),
            traced_seconds=seen.span,
            remarks=tuple(remarks),
        )

    def _span(
        self, begin: Reading, end: Reading, taken: Place | None, caller: Place | None
    ) -> Span:
        return Span(
            begin=begin.place,
            end=end.place,
            taken=taken,
            caller=caller,
            start_seconds=begin.seconds - self.started,
            stop_seconds=end.seconds - self.started,
            thread=end.thread,
            clock=begin.clock.name,
            grain_seconds=begin.clock.grain,
            host_bytes=self._arrays.get((begin.place, end.place), 0),
        )

    def _compiles(self) -> Iterator[Compile]:
        """Each compile with the tracing and lowering that led to it."""
        waiting: list[Compile] = []
        for stage, compiled in self._stages:
            waiting.append(compiled)
            if stage != "compile":
                continue
            # What it calls was traced for it; what called it is still being traced.
            own = [
                each
                for each in waiting
                if _module(each.function) in ("", _module(compiled.function))
            ]
            begun = min(each.start_seconds for each in own)
            waiting = [each for each in waiting if each.start_seconds < begun]
            yield msgspec.structs.replace(compiled, start_seconds=begun)
        end = 0.0
        for each in sorted(waiting, key=lambda each: each.start_seconds):
            if each.end_seconds > end:  # traced or lowered, and never compiled
                end = each.end_seconds
                yield each


def function_name(name: str) -> str:
    """``f`` of ``jit(f)``, ``jit_f``, ``jit_f(7)``, and ``PjitFunction(f)``.

    What is no letter is an underscore in the name of a module.
    """
    if name.startswith(CALL):
        name = name.removeprefix(CALL).removesuffix(")")
    if name.startswith("jit("):
        return name.removeprefix("jit(").removesuffix(")")
    return name.removeprefix("jit_").partition("(")[0]


def _module(name: str) -> str:
    """How the function of this name is called in the name of a module."""
    return "".join(c if c.isalnum() else "_" for c in function_name(name)).strip("_")


def _failed(error: Exception) -> Remark:
    detail = str(error) or type(error).__name__
    return Remark("profiler-failed", {}, "warning", detail)


def _arrays(begin: Place, end: Place, frame: FrameType | None) -> int:
    """Bytes of the NumPy arrays that the lines from one place to another name."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or frame is None or begin.file != end.file:
        return 0
    lines = linecache.getlines(begin.file)[begin.line - 1 : end.line]
    names = set(_NAME.findall(" ".join(lines)))
    found = {**frame.f_globals, **frame.f_locals}
    arrays = (found.get(name) for name in names)
    return sum(int(a.nbytes) for a in arrays if isinstance(a, numpy.ndarray))


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


class _Importer(importlib.abc.MetaPathFinder):
    """Calls back when a module has been imported for the first time."""

    def __init__(self, name: str, imported: Callable[[ModuleType], None]) -> None:
        self._name, self._imported = name, imported

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        loader, imported = spec.loader, self._imported
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            imported(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class _Trace:
    """A session of the profiler, with the host's clock in it."""

    def __init__(self, jax: Any) -> None:
        from jaxtui.measure.trace import options

        self._jax = jax
        self._folder = TemporaryDirectory(prefix="jaxtui-audit-")
        self.marks: list[tuple[float, int]] = []
        """The time of each, and the thread that wrote it."""
        try:
            jax.profiler.start_trace(self._folder.name, profiler_options=options())
        except BaseException:
            self._folder.cleanup()
            raise
        for _ in range(3):  # the first takes longest
            self.mark()

    def mark(self) -> float:
        """The time, which is written into the trace as well.

        Whether a call came before or after it is seen there, whatever the two clocks
        differ by.
        """
        before = perf_counter()
        # Two threads that write the same number tell the same time.
        with self._jax.profiler.TraceAnnotation(f"{MARK} {len(self.marks)}"):
            pass
        middle = (before + perf_counter()) / 2
        self.marks.append((middle, threading.get_ident()))
        return middle

    def stop(self) -> Space:
        """What was recorded, when all that runs has ended.

        Raises:
            OSError: The profiler wrote nothing.
            ValueError: What it wrote is too large or damaged.
        """
        with self._folder as folder:
            _drain(self._jax)
            self.mark()
            self._jax.profiler.stop_trace()
            files = xspace.files(Path(folder))
            if not files:
                raise FileNotFoundError(folder)
            return xspace.load(files[0])


def _drain(jax: Any) -> None:
    """Wait until the devices are idle, also of work whose results were dropped.

    An accelerator computes in order, so a result of now is its last one. What the CPU
    client still computes has a thread that runs, or would if it had a core.
    """
    with suppress(Exception):  # what the program left behind may be anything
        jax.block_until_ready(jax.live_arrays())
        for device in jax.local_devices():
            if device.platform != "cpu":
                last = jax.jit(lambda x: x + 1)(jax.device_put(0.0, device))
                last.block_until_ready()
    limit, resting = perf_counter() + DRAIN_SECONDS, 0
    while resting < RESTS and perf_counter() < limit:
        before = time.process_time()
        time.sleep(REST_SECONDS)
        used = time.process_time() - before
        resting = 0 if _computes() or used > REST_SECONDS / 2 else resting + 1


def _computes() -> bool:
    """Whether another thread of this process runs or waits for a core; Linux only."""
    own = threading.get_native_id()
    for task in Path("/proc/self/task").glob("*/stat"):
        if task.parent.name != str(own):
            with suppress(OSError):  # it has ended
                if task.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
    return False


class _Seen(NamedTuple):
    """What the trace of the profiler tells; seconds from the start of the watch."""

    span: tuple[float, float] | None = None
    executions: tuple[Execution, ...] = ()
    puts: tuple[Transfer, ...] = ()


class _Clock:
    """Seconds of the host by picoseconds of a trace, between marks on a line."""

    def __init__(self, marks: Mapping[int, int], seconds: Sequence[float]) -> None:
        known = sorted((ps, seconds[number]) for ps, number in marks.items())
        if not known:
            raise ValueError("no marks")
        self._picoseconds = [ps for ps, _ in known]
        self._offsets = [at - 1e-12 * ps for ps, at in known]

    def of(self, ps: int) -> float:
        place = bisect_left(self._picoseconds, ps)
        after = min(place, len(self._offsets) - 1)
        before = max(place - 1, 0)
        return 1e-12 * ps + (self._offsets[before] + self._offsets[after]) / 2


def _read(space: Space, marks: Sequence[tuple[float, int]], started: float) -> _Seen:
    """Executions and implicit transfers of a trace.

    Raises:
        ValueError: It is damaged, too large, or without marks.
    """
    from jaxtui.measure.trace import parts

    runs: dict[Hashable, list[Part]] = defaultdict(list)
    host: list[list[Event]] = []
    launched: dict[object, Launch] = {}
    count = 0
    for plane in sorted(space.planes, key=lambda plane: plane.name != HOST):
        if plane.name != HOST and not plane.name.startswith(DEVICES):
            continue
        count += sum(map(len, plane.lines))
        if count > MOST_EVENTS:
            raise ValueError(f"{count} events")
        lines: dict[str, list[Event]] = defaultdict(list)
        for line in plane.lines:
            events = sorted(line.events, key=start_of)
            lines[line.name] += events
            if plane.name == HOST:
                host.append(events)
        if plane.name != HOST and not launched:
            launched = launches(host)
        for key, part in parts(plane.name, lines, launched, whole=False):
            runs[key].append(part)
    marked = [
        (int(event.name.removeprefix(MARK)), event)
        for events in host
        for event in events
        if event.name.startswith(MARK)
    ]
    clock = _Clock(
        {event.start_ps + event.duration_ps // 2: number for number, event in marked},
        [seconds - started for seconds, _ in marks],
    )
    calls: list[_Asked] = []
    puts: list[Event] = []
    for events in host:
        numbers = (
            int(event.name.removeprefix(MARK))
            for event in events
            if event.name.startswith(MARK)
        )
        number = next(numbers, None)
        thread = None if number is None else marks[number][1]
        calls += _calls(events, thread)
        puts += _puts(events)
    times = [clock.of(event.start_ps) for _, event in marked]
    return _Seen(
        (min(times), max(times)),
        tuple(_executions(list(runs.values()), calls, clock)),
        tuple(
            Transfer(
                direction="to device",
                start_seconds=clock.of(put.start_ps),
                end_seconds=clock.of(put.end_ps),
            )
            for put in puts
        ),
    )


class _Asked(NamedTuple):
    """A call of a jitted function."""

    event: Event
    thread: int | None


def _calls(events: Sequence[Event], thread: int | None) -> Iterator[_Asked]:
    """The calls of one thread. Within one others are traced, which run nothing."""
    end = 0
    for event in events:
        if event.name.startswith(CALL) and event.start_ps >= end:
            yield _Asked(event, thread)
            end = event.end_ps


def _puts(events: Sequence[Event]) -> Iterator[Event]:
    """What the calls of one thread sent to a device."""
    call = end = 0
    for event in events:
        if event.name.startswith(CALL):
            call = max(call, event.end_ps)
        elif event.name.startswith(PUT) and end <= event.start_ps < call:
            yield event
            end = event.end_ps


def _executions(
    runs: Sequence[Sequence[Part]], calls: Sequence[_Asked], clock: _Clock
) -> Iterator[Execution]:
    """Runs of programs with the calls that asked for them.

    The runs of a program come in the order of its calls. Where the trace lacks some of
    these, as of the call that was being compiled when it began, a run was asked for
    when it began, at the latest.
    """
    waiting: dict[str, deque[_Asked]] = defaultdict(deque)
    for call in sorted(calls, key=lambda call: call.event.start_ps):
        waiting[_module(call.event.name)].append(call)
    for run in sorted(runs, key=lambda run: min(part.start for part in run)):
        program, start = run[0].program, min(part.start for part in run)
        queue = waiting[_module(program)]
        name, asked, thread = program, start, None
        if queue and queue[0].event.start_ps <= start:
            event, thread = queue.popleft()
            # Its middle is on the right side of a reading next to it, though the two
            # clocks differ by a microsecond or two.
            name, asked = event.name, event.start_ps + event.duration_ps // 2
        yield Execution(
            function=function_name(name),
            program=program,
            called_seconds=clock.of(asked),
            start_seconds=clock.of(start),
            end_seconds=clock.of(max(part.end for part in run)),
            thread=thread,
        )


def main() -> int:
    """Run a program under watch: ``RESULT script.py [ARGS]…``; returns its status."""
    result, *arguments = sys.argv[1:]
    watch = Watch()
    watch.install()

    def ended() -> None:
        # What was seen is written whole, however often Ctrl-C comes.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in ASKS:
            if signal.getsignal(number) is broken_off:
                signal.signal(number, signal.SIG_DFL)
        record = watch.witness()
        Path(result).write_bytes(msgspec.json.encode(record))

    def broken_off(number: int, frame: object) -> None:
        ended()
        os.kill(os.getpid(), number)

    for number in ASKS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, broken_off)
    return script.run(arguments, ended)
