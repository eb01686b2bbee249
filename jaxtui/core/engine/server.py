"""The engine process: a control thread that listens, a timing thread that measures.

The main thread is the timing thread; all of JAX happens in it. The control thread
sits in a blocking read, which costs the timing nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import io
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from jaxtui.core.engine.active import Ledger
from jaxtui.core.engine.core import CannotServeError, Core
from jaxtui.core.engine.outbox import Outbox
from jaxtui.core.engine.protocol import (
    GoodbyeRequest,
    MemoryRequest,
    PlanRequest,
    Request,
    RunRequest,
    StopRequest,
    decode_request,
)
from jaxtui.core.engine.workers import signal_with_parent
from jaxtui.core.model import (
    CaseFailed,
    EngineFailed,
    Event,
    Experiment,
    Failure,
    Hello,
    Logged,
    Memory,
    OpInfo,
    Place,
    Plan,
    Planned,
    PlannedCase,
    Ready,
    Remark,
    RunEvent,
    RunFinished,
    Work,
    WorkFailed,
)
from jaxtui.core.model.remark import Fact
from jaxtui.machine import causes, hardware, topologies

EXIT_CANNOT_SERVE = 3
"""The exit status after ``EngineFailed``."""

LIBTPU_DEFAULTS = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""Answers that libtpu would otherwise ask of a metadata server (half a minute per
question where there is none), and settings against its warnings and its lock."""

_END_SECONDS = 1.0
"""Seconds that an ending may take, JAX's own clean-up included."""


def main(arguments: Sequence[str] | None = None, core: Core | None = None) -> int:
    """Serve until the UI ends; returns the exit status.

    Args:
        arguments: The command line; ``sys.argv`` by default.
        core: What to serve; the real measuring core by default.
    """
    parser = argparse.ArgumentParser(description="jaxtui's engine")
    parser.add_argument("--requests", type=int, required=True, metavar="FD")
    parser.add_argument("--events", type=int, required=True, metavar="FD")
    parser.add_argument("--cpu-devices", type=int, metavar="N")
    parser.add_argument("--topology", metavar="NAME")
    parser.add_argument("--generation", type=int, default=1, metavar="N")
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--coordinator", default="", metavar="HOST:PORT")
    parser.add_argument("--num-processes", type=int, default=0, metavar="N")
    parser.add_argument("--process-id", type=int, default=0, metavar="I")
    parser.add_argument("--this-host", action="store_true")
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args(arguments)
    # jax reads all of this when it is imported, so it comes first.
    topology = options.topology
    place: Place | None = None
    if options.num_processes:
        place = Place(options.coordinator, options.num_processes, options.process_id)
    changed = engine_environment(
        os.environ,
        options.cpu_devices,
        topology,
        this_host=options.this_host,
    )
    os.environ.update(changed)
    _die_with_parent()
    faulthandler.enable()
    # A start that hangs is asked where it is before it is ended.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    # A KeyboardInterrupt in the middle of a case would be one more way to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    for fd in (options.requests, options.events):
        # A child of the engine must not keep its pipes open when it is gone.
        os.set_inheritable(fd, False)
    outbox = Outbox(options.events, options.generation)
    waits = options.wait
    alone = options.this_host or options.alone
    core = core or Core(topology=topology, place=place, alone=alone)
    return Server(core, options.requests, outbox, waits=waits).serve()


def engine_environment(
    base: Mapping[str, str],
    cpu_devices: int | None = None,
    topology: str | None = None,
    *,
    this_host: bool = False,
) -> dict[str, str]:
    """The environment of an engine process; pure, so it can be shown and tested.

    Args:
        base: The environment that the engine would have otherwise; what it says about
            platforms and logging stays as it is.
        cpu_devices: Simulate this many CPU devices and use no accelerator.
        topology: Compile for this TPU, and leave the machine's own to others.
        this_host: Use the chips of this host alone, though they are part of a slice.
    """
    changed = dict(base)
    if this_host:
        chips = [chip for chip in hardware.chips() if chip.maker == "tpu"]
        changed |= topologies.alone(len(chips))
    if topology is not None:
        changed = {**LIBTPU_DEFAULTS, **changed, "JAX_PLATFORMS": "cpu"}
    # A warm persistent cache would be read as a compile of a few milliseconds.
    changed["JAX_ENABLE_COMPILATION_CACHE"] = "0"
    # JAX takes 75 % of a GPU at its first op; whoever shares the GPU would mind.
    changed.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if cpu_devices is not None:
        changed["JAX_PLATFORMS"] = "cpu"
        changed["JAX_NUM_CPU_DEVICES"] = str(cpu_devices)
    return changed


def _die_with_parent() -> None:
    """Have the kernel end this process one second after its parent's death.

    The control thread ends it sooner unless a C call holds the GIL. For that case no
    Python code can help, so the kernel is told to send SIGHUP when the parent dies, and
    the handler of SIGHUP, whose number is 1, is libc's ``alarm``: it asks for SIGALRM,
    which kills, in 1 second. Linux only.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    alarm = ctypes.cast(libc.alarm, ctypes.c_void_p)
    libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    libc.signal.restype = ctypes.c_void_p
    libc.signal(int(signal.SIGHUP), alarm)
    signal_with_parent(signal.SIGHUP)


class Server:
    """Serves requests from one pipe with a core until it is told to end."""

    def __init__(
        self, core: Core, requests_fd: int, outbox: Outbox, *, waits: bool = False
    ) -> None:
        self._core = core
        self._waits = waits
        """The backend starts with the first run, after its files."""
        self._ops: tuple[OpInfo, ...] = ()
        self._requests_fd = requests_fd
        self._outbox = outbox
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._run: int | None = None
        self._stop = threading.Event()
        self._idle = False

    def serve(self) -> int:
        """Run until the UI says goodbye; returns the exit status."""
        threading.Thread(target=self._listen, name="control", daemon=True).start()
        try:
            self._start()
        except CannotServeError as error:
            return self._give_up(error.failed)
        # Whatever the reason, the UI is told before the process ends.
        except Exception as error:
            return self._give_up(EngineFailed(remark=_fault(error)))
        while (task := self._next()) is not None:
            task()
        return 0

    # The timing thread.

    def _start(self) -> None:
        with self._harmless():
            self._outbox.send(self._core.look())
        with _no_garbage_collection():
            self._ops = self._core.load()
            hello = Hello(pid=os.getpid(), ops=self._ops)
            # Of several processes whoever refuses what was typed tells the others.
            late = self._waits or self._core.launched
            if not late:
                self._outbox.send(hello)
            self._core.join(self._tell)
            if late:
                self._outbox.send(hello)
            if not self._waits:
                self._start_backend()

    def _start_backend(self) -> None:
        self._waits = False
        hosts, devices = self._core.start()
        of_others = hosts if len(hosts) > 1 else ()
        ready = Ready(host=hosts[0], devices=devices, ops=self._ops, hosts=of_others)
        with self._harmless():
            findings = self._core.compare(devices)
            ready = msgspec.structs.replace(ready, findings=findings)
        self._outbox.send(ready)

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        """Log a fault in code that only informs: it must not end the server."""
        try:
            yield
        except Exception:
            self._log(traceback.format_exc())

    def _tell(self, event: Event) -> None:
        """Send an event of the engine's own; it is written when this returns."""
        self._outbox.send(event)
        self._outbox.drain()

    def _give_up(self, failed: EngineFailed) -> int:
        self._tell(failed)
        if self._core.leave():
            # JAX would wait for the others.
            os._exit(EXIT_CANNOT_SERVE)
        return EXIT_CANNOT_SERVE

    def _next(self) -> Callable[[], None] | None:
        self._idle = True
        self._outbox.drain()
        task = self._work.get()
        self._idle = False
        return task

    def _time(self, request: RunRequest) -> None:
        ledger = Ledger(request.work)
        finished: RunEvent | None = None
        try:
            for event in self._events(request.work):
                ledger.observe(event)
                if isinstance(event, RunFinished):
                    finished = event
                else:
                    self._outbox.send(event, request.run)
        # A fault of the core must not cost the process that holds the accelerator.
        except Exception as error:
            remark = _fault(error)
            self._log(remark.detail)
            *outcomes, finished = ledger.broken_off(remark)
            for event in outcomes:
                self._outbox.send(event, request.run)
        # Before the last event, because the UI may answer it with the next run.
        with self._lock:
            self._run = None
        self._outbox.send(finished or ledger.finished("crashed"), request.run)

    def _events(self, work: Work) -> Iterator[RunEvent]:
        """Yield a run's events, once the first run's files and the backend are
        loaded.
        """
        if (remark := self._core.agree(work)) is not None:
            yield from self._unserved(work, remark)
            return
        if self._waits:
            yield from self._core.imports(work)
            try:
                self._start_backend()
            except CannotServeError as error:
                yield from self._unserved(work, error.failed.remark)
                return
        yield from self._core.run(work, self._stop.is_set)

    def _unserved(self, work: Work, remark: Remark) -> Iterator[RunEvent]:
        """Fail a whole work, before JAX has started."""
        if not isinstance(work, Experiment):
            yield WorkFailed(remark=remark)
            return
        for index, case in enumerate(work.cases):
            failure = Failure(case=case, remark=remark)
            yield CaseFailed(index=index, failure=failure)
        yield RunFinished(outcome="complete", elapsed_seconds=0.0)

    def _plan(self, request: PlanRequest) -> None:
        try:
            plan = self._core.plan(request.experiment, recipes=request.recipes)
        # The UI waits for an answer, also to a question that the core stumbles over.
        except Exception as error:
            self._log(traceback.format_exc())
            plan = _no_plan(request, error)
        self._outbox.send(Planned(request=request.request, plan=plan))

    def _memory(self) -> None:
        with self._harmless():
            self._outbox.send(Memory(devices=self._core.memory()))

    def _log(self, text: str) -> None:
        for line in text.splitlines():
            self._outbox.send(Logged(line=line))

    # The control thread.

    def _listen(self) -> None:
        for line in _lines(self._requests_fd):
            try:
                request = decode_request(line)
            except msgspec.DecodeError as error:
                self._outbox.send(Logged(line=f"request: {error}"))
                continue
            if isinstance(request, GoodbyeRequest):
                self._end()
                return
            self._take(request)
        with contextlib.suppress(Exception):  # the others may be gone, too
            self._core.leave()
        # The UI is gone without goodbye. With all that a user's code has started here:
        os.killpg(0, signal.SIGKILL)

    def _take(self, request: Request) -> None:
        match request:
            case RunRequest():
                with self._lock:
                    self._run = request.run
                    self._stop.clear()
                self._work.put(lambda: self._time(request))
            case StopRequest():
                with self._lock:
                    if request.run == self._run:
                        self._stop.set()
            case PlanRequest():
                self._work.put(lambda: self._plan(request))
            case MemoryRequest():
                self._work.put(self._memory)

    def _end(self) -> None:
        """Goodbye: let an idle timing thread return, so that JAX can clean up."""
        with contextlib.suppress(Exception):  # the others may be gone
            if self._core.leave():
                os._exit(0)
        if not self._idle:
            os._exit(0)
        # SIGALRM ends the process unless it has ended by then.
        signal.setitimer(signal.ITIMER_REAL, _END_SECONDS)
        self._work.put(None)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    # Importing JAX makes a million objects that stay; looking through them for garbage
    # again and again takes a tenth of the time (tests/benchmarks/startup.py).
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _lines(fd: int) -> Iterator[bytes]:
    # Not a buffered file: its lock would be held by this thread when Python ends.
    rest = b""
    while chunk := os.read(fd, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _fault(error: Exception) -> Remark:
    """Return the cause around this process, or else a fault of jaxtui."""
    detail = traceback.format_exc()
    facts: dict[str, Fact] = {"error": f"{type(error).__name__}: {error}"}
    cause = causes.find(detail, os.environ) or Remark("fault", facts, "error")
    return msgspec.structs.replace(cause, detail=detail)


def _no_plan(request: PlanRequest, error: Exception) -> Plan:
    experiment = request.experiment
    remark = _fault(error)
    refused = (PlannedCase.refused(case, remark) for case in experiment.cases)
    return Plan(cases=tuple(refused), budget_seconds=experiment.budget)
