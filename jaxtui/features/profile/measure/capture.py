"""Runs someone's program as it is, with JAX's profiler on for a while.

A thread waits until the program itself has started JAX's backend, because the profiler
would start it too early, and profiles from then on. Where it stands is told by files of
the folder: ``done`` once the trace is written, ``failed`` with a remark.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from jaxtui.core.model.base import encoded
from jaxtui.core.model.profile import Script
from jaxtui.core.model.remark import Remark
from jaxtui.tasks.script import drain, run

DONE, FAILED = "done", "failed"
"""Files in the folder of the trace."""

POLL_SECONDS = 0.005
"""Between two looks whether the program has started JAX: a millionth of a core."""


class Watch:
    """Profiles this process for a while, from a thread.

    Args:
        script: what to profile of it.
        folder: for the trace.
    """

    def __init__(self, script: Script, folder: Path) -> None:
        self._script, self._folder = script, folder
        self._began = time.monotonic()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._profiler: Any = None
        self._trace: Any = None
        """Modules that load JAX, once the program has."""
        self._leave: Callable[[], None] = lambda: None
        self._running = False
        self._end = 0.0
        """The latest end of the trace, on the clock of ``_began``."""
        self._told = False
        self._process = os.getpid()
        self._steps = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """The program is over: write what there is."""
        if os.getpid() != self._process:  # a child that it has forked
            return
        self._drain()
        self._over.set()
        self._thread.join()
        self._stop()
        if not self._told:
            started = self._backend() is not None
            self._fail(Remark("program-early" if started else "program-without-jax"))

    def _run(self) -> None:
        while self._backend() is None:
            if self._over.wait(POLL_SECONDS):
                return
        remaining = self._began + self._script.after_seconds - time.monotonic()
        if remaining > 0 and self._over.wait(remaining):
            return
        if self._script.after_steps and not self._await_steps():
            return
        if self._start() and not self._over.wait(self._script.seconds):
            self._stop()

    def _drain(self) -> None:
        """Wait for what the program has queued, but no longer than a profile lasts."""
        with self._lock:
            running = self._running
        if running:
            jax = sys.modules["jax"]
            draining = threading.Thread(target=drain, args=(jax,), daemon=True)
            draining.start()
            draining.join(max(0.0, self._end - time.monotonic()))

    @staticmethod
    def _backend() -> Any:
        """JAX's backends, once the program has started them."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        return getattr(bridge, "_backends", None) or None

    def _await_steps(self) -> bool:
        """Wait for so many annotated steps; whether they came."""
        import jax

        annotation: Any = jax.profiler.StepTraceAnnotation
        enter = annotation.__enter__

        def entered(step: Any) -> Any:
            self._steps += 1
            return enter(step)

        annotation.__enter__ = entered
        try:
            while self._steps <= self._script.after_steps:
                if self._over.wait(POLL_SECONDS):
                    facts = {"steps": self._steps, "asked": self._script.after_steps}
                    self._fail(Remark("program-steps", {**facts}))
                    return False
        finally:
            annotation.__enter__ = enter
        return True

    def _start(self) -> bool:
        from jax._src import profiler

        from jaxtui.timing import profiler as trace

        self._profiler, self._trace = profiler, trace
        with self._lock:
            try:
                profiler.start_trace(
                    str(self._folder), profiler_options=trace.options()
                )
            except Exception as error:  # it profiles itself, say
                self._fail(trace.failed(error))
                return False
            self._running = True
            self._end = time.monotonic() + self._script.seconds
            # A program that begins to profile itself does so: there is one at a time.
            self._leave = trace.before_start(self._stop)
        return True

    def _stop(self) -> None:
        with self._lock:
            if not self._running:
                return
            self._running = False
            self._leave()
            time.sleep(self._trace.LINGER_SECONDS)
            try:
                self._profiler.stop_trace()
            except Exception as error:
                self._fail(self._trace.failed(error))
            else:
                self._tell(DONE, b"")

    def _fail(self, remark: Remark) -> None:
        self._tell(FAILED, encoded(remark))

    def _tell(self, name: str, content: bytes) -> None:
        self._told = True
        hidden = self._folder / f".{name}"
        hidden.write_bytes(content)
        hidden.replace(self._folder / name)


def main() -> int:
    """Run a program: a folder, a ``Script``, its path and its own arguments."""
    _, folder, options, *program = sys.argv
    script = msgspec.json.decode(options, type=Script)
    watch = Watch(script, Path(folder))
    watch.start()
    module = ("-m",) if script.module else ()
    return run([*module, *program], watch.finish)
