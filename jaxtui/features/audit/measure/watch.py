"""Watches how a program times itself: its clocks, the device, compiles and transfers.

JAX's monitoring events tell of compiles; conversions and waits are wrapped. What
watching costs: a microsecond for each reading of a clock, and what the profiler takes.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import logging
import os
import platform
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import msgspec

from jaxtui.core.model import Remark
from jaxtui.features.audit.measure import clocks
from jaxtui.features.audit.measure.clocks import CPU_CLOCKS, Lines, Moment, Reading
from jaxtui.features.audit.measure.recording import (
    Recording,
    Seen,
    function_name,
    module_name,
    read,
)
from jaxtui.features.audit.messages import (
    TRANSFER_BYTES,
    Compile,
    Span,
    Transfer,
    Wait,
    Witness,
)
from jaxtui.xla.traces import Space

OWN = os.path.join(str(Path(__file__).parent), "")
"""Waits here, where a trace ends, are not the program's."""

TRACE_SECONDS = 60.0
"""Seconds for which kernels are watched. Tracing costs some 50 bytes an event, and
reading them some 10 µs: a minute of calls of 100 µs is read in a minute."""

MOST_SPANS = 20_000

_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}

_CACHE_MISS = "TRACING CACHE MISS"
"""Begins the message of ``jax_explain_cache_misses``."""


class Watch:
    """The record of one program's run."""

    def __init__(self) -> None:
        self.started = perf_counter()
        self.lines = Lines()
        self._spans: list[tuple[Reading, Reading]] = []
        self._lost_spans = 0
        self._stamps: list[Reading] = []
        """Readings that NumPy was given in lists: what it subtracts is not seen."""
        self._stages: list[tuple[str, Compile, int]] = []
        """Compile stages, each with its compile and thread."""
        self._transfers: list[Transfer] = []
        self._waits: list[Wait] = []
        self._remarks: list[Remark] = []
        self._converts = threading.local()
        self._reasons: list[str] = []
        self._jax: Any = None
        self._trace: Recording | None = None
        self._traces = True
        """A trace may still be started."""
        self._space: Space | None = None
        self._marks: Sequence[tuple[float, int]] = ()
        self._starting = False
        self._timer = threading.Timer(TRACE_SECONDS, self._trace_is_long)
        self._pid = os.getpid()

    # The program's clocks.

    def install(self) -> None:
        """Take the place of the clocks, and wait for JAX to be imported."""
        clocks.install(self)
        sys.meta_path.insert(0, _Importer("jax", self._imported))
        os.register_at_fork(after_in_child=self._stay_out)

    def _stay_out(self) -> None:
        """A process that the program has forked is not watched."""
        self._trace, self._traces = None, False

    def span(self, begin: Reading, end: Reading) -> None:
        if os.getpid() != self._pid:
            return
        if len(self._spans) < MOST_SPANS:
            self._spans.append((begin, end))
        else:
            self._lost_spans += 1

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
        for name in ("asarray", "array", "diff"):
            setattr(numpy, name, self._converting(getattr(numpy, name), array))
        self._watch_value(array)
        with suppress(Exception):  # private
            self._watch_arguments(numpy)
        from jaxtui.timing.profiler import before_start

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
            place=self.lines.line_of(sys._getframe(1)),
            reason=reason,
        )
        self._stages.append((stage, compiled, threading.get_ident()))
        if stage == "compile":
            self._start_trace()

    def _waiting(self, wait: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``jax.block_until_ready``, or the method of an array."""
        leaves: Any = importlib.import_module("jax.tree_util").tree_leaves

        @wraps(wait, assigned=("__doc__",))  # a method of C++ lacks others
        def block_until_ready(x: Any) -> Any:
            caller = sys._getframe(1)
            place = self.lines.line_of(caller)
            own = caller.f_code.co_filename.startswith(OWN)
            if place is None or own or os.getpid() != self._pid:
                return wait(x)
            arrays = [leaf for leaf in leaves(x) if hasattr(leaf, "block_until_ready")]
            was_pending = any(map(_is_pending, arrays))
            started = self._now()
            try:
                return wait(x)
            finally:
                self._waits.append(
                    Wait(
                        place=place,
                        start_seconds=started,
                        end_seconds=self._now(),
                        was_pending=was_pending,
                        on="" if arrays else type(x).__name__,
                    )
                )

        return block_until_ready

    def _converting(self, convert: Callable[..., Any], array: type) -> Any:
        @wraps(convert)
        def converted(*args: Any, **options: Any) -> Any:
            if args and isinstance(args[0], (list, tuple)):
                for value in args[0]:
                    if not isinstance(value, Moment):
                        break
                    self._stamps.append(value.reading)
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

    def _watch_arguments(self, numpy: Any) -> None:
        """See what jitted functions are given that they have to send to a device.

        JAX comes by here once for each kind of arguments, and calls in C++ from then
        on; without the data it comes by again, which takes less than it sends.
        """
        pjit: Any = importlib.import_module("jax._src.pjit")
        data = pjit._get_fastpath_data

        def get_fastpath_data(
            executable: Any, tree: Any, arguments: Any, *others: Any
        ) -> Any:
            size = sum(x.nbytes for x in arguments if isinstance(x, numpy.ndarray))
            if executable is None or size < TRANSFER_BYTES:
                return data(executable, tree, arguments, *others)
            now = self._now()
            transfer = Transfer(
                direction="to device", start_seconds=now, end_seconds=now, bytes=size
            )
            self._transfers.append(transfer)
            return None

        pjit._get_fastpath_data = get_fastpath_data

    def _transfer(self, array: Any, frame: Any, convert: Callable[[], Any]) -> Any:
        if getattr(self._converts, "now", False):  # one conversion asks for another
            return convert()
        place = self.lines.line_of(frame)
        was_pending = _is_pending(array)
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
                was_pending=was_pending,
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
            self._trace = Recording(self._jax)
        except Exception as error:  # of the profiler, which is optional
            self._remarks.append(_failed(error))
            return
        finally:
            self._starting = False
        self._timer.daemon = True
        self._timer.start()

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
        self._timer.cancel()
        if self._timer.is_alive():  # it may be ending the trace
            self._timer.join()
        self.stop_trace()
        remarks = list(self._remarks)
        if self._lost_spans:
            facts = {"spans": len(self._spans), "lost": self._lost_spans}
            remarks.append(Remark("audit-many-spans", {**facts}, "warning"))
        trace = Seen()
        if self._space is not None:
            try:
                trace = read(self._space, self._marks, self.started)
            except (ValueError, OSError) as error:
                remarks.append(Remark("profiler-failed", {}, "warning", str(error)))
        version = getattr(self._jax, "__version__", None)
        return Witness(
            python=platform.python_version(),
            jax=None if version is None else str(version),
            seconds=ran,
            spans=tuple(map(self._span, (*self._spans, *_pairs(self._stamps)))),
            executions=trace.executions,
            compiles=tuple(self._compiles()),
            transfers=tuple(self._transfers),
            waits=tuple(self._waits),
            traced_seconds=trace.span,
            remarks=tuple(remarks),
        )

    def _span(self, readings: tuple[Reading, Reading]) -> Span:
        begin, end = readings
        start, stop = (reading.seconds - self.started for reading in readings)
        return Span(
            begin=begin.place,
            end=end.place,
            start_seconds=start,
            stop_seconds=stop,
            thread=end.thread,
            clock=begin.timer or begin.clock.name,
            cpu_seconds=end.value - begin.value
            if begin.clock.name in CPU_CLOCKS
            else None,
            while_tracing=any(
                stage == "trace"
                and thread == end.thread
                and traced.start_seconds <= start
                and stop <= traced.end_seconds
                for stage, traced, thread in self._stages
            ),
        )

    def _compiles(self) -> Iterator[Compile]:
        """Each compile with the tracing and lowering that led to it."""
        waiting: list[Compile] = []
        for stage, compiled, _ in self._stages:
            waiting.append(compiled)
            if stage != "compile":
                continue
            # What it calls was traced for it; what called it is still being traced.
            own = [
                step
                for step in waiting
                if module_name(step.function) in ("", module_name(compiled.function))
            ]
            begun = min(step.start_seconds for step in own)
            waiting = [step for step in waiting if step.start_seconds < begun]
            yield msgspec.structs.replace(compiled, start_seconds=begun)
        end = 0.0
        for step in sorted(waiting, key=lambda step: step.start_seconds):
            if step.end_seconds > end:  # traced or lowered, and never compiled
                end = step.end_seconds
                yield step


def _failed(error: Exception) -> Remark:
    detail = str(error) or type(error).__name__
    return Remark("profiler-failed", {}, "warning", detail)


def _is_pending(array: Any) -> bool:
    try:
        return not array.is_ready()
    except Exception:  # it was deleted, which is said when it is used
        return False


def _pairs(stamps: Sequence[Reading]) -> Iterator[tuple[Reading, Reading]]:
    """Neighbours among the readings in lists, but for the way from the last line of a
    turn to its first.
    """
    by_clock: dict[tuple[object, int], dict[int, Reading]] = defaultdict(dict)
    for stamp in stamps:
        by_clock[stamp.clock, stamp.thread][id(stamp)] = stamp
    for group in by_clock.values():
        ordered = sorted(group.values(), key=lambda stamp: stamp.seconds)
        first = ordered[0].place
        for begin, end in itertools.pairwise(ordered):
            if end.place != first or begin.place == first:
                yield begin, end


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
