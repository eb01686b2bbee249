"""Runs snippets: the setup, the parts in order, then turns for what is timed often.

In this thread, or in a child process, where JAX can have another number of devices.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import math
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import partial
from time import perf_counter
from typing import Any, cast

import jax
import msgspec
import numpy as np

from jaxtui.core.engine.workers import Child, end_with_input, sender, signal_with_parent
from jaxtui.core.model import (
    SNIPPET_IMPORTS,
    Case,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Shown,
    Snippet,
    SnippetShown,
    SnippetTimed,
    Timing,
    Value,
    WorkFailed,
)
from jaxtui.features.bench.measure import notes
from jaxtui.machine import malloc, messages
from jaxtui.tasks import devices
from jaxtui.tasks.errors import RefusedError, full_text, headline
from jaxtui.tasks.settings import enable_x64
from jaxtui.tasks.workload import Scope, Workload
from jaxtui.timing.runner import Runner
from jaxtui.timing.runtime import Queue
from jaxtui.timing.turns import ROUNDS_WANTED, Turns, is_due, never, take_turns

SPREAD_SECONDS = 2.0
"""The shortest span of the rounds, in seconds, unless the budget is shorter."""

TEXT_CHARACTERS = 2000
NUMBERS_AT_MOST = 1000

NO_VALUE = object()
"""The value of a statement."""


class _Part:
    """A timed expression and its turns.

    It is timed until it returns, as a stopwatch around it would; what it left to do is
    waited for afterwards.
    """

    def __init__(
        self, name: str, call: Callable[[], object], queue: Queue, scope: Scope
    ) -> None:
        self.name = name
        case = Case(op=name, size=0, dtype="", device="", mode="jit", inputs="host")
        workload = Workload(
            case=case, call=call, wait=queue.drain, on_return=True, scope=scope
        )
        self.turns = Turns(workload, rests=True)
        self.reported = 0
        """Rounds that are in the last summary."""

    @property
    def is_narrow(self) -> bool:
        """Return whether there are enough rounds, and their interval is narrow."""
        enough = len(self.turns.medians) >= ROUNDS_WANTED
        return enough and self.turns.interval.half_width <= 0.03

    def timing(self, *, once: bool = False) -> Timing:
        """The timing as it stands, after one turn at least."""
        self.reported = len(self.turns.rounds)
        summary, _ = self.turns.summaries()
        return Timing(
            name=self.name,
            seconds=summary,
            once=once,
            disturbed=notes.contention(self.turns.meter.usage),
        )


def run_snippet(
    snippet: Snippet, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run a snippet in the calling thread, or in a process of its own if it asks.

    The snippet's default device, its 64-bit types and the place of its output never
    hold for what consumes the events.
    """
    return _SnippetRun(snippet, stop).events()


class _SnippetRun(Runner):
    def __init__(self, snippet: Snippet, stop: Callable[[], bool]) -> None:
        super().__init__(snippet.budget, stop)
        self._snippet = snippet
        self._rounds_end = 0.0
        self._names = Namespace(snippet.title)
        self._device: jax.Device | None = None

    def failure(self, error: BaseException) -> WorkFailed:
        return WorkFailed(remark=failure("", error).remark)

    @property
    def remaining(self) -> float:
        return max(super().remaining, self._rounds_end - perf_counter())

    def work(self) -> Iterator[RunEvent]:
        snippet = self._snippet
        if snippet.cpu_devices is not None:
            yield from self._in_child(snippet.cpu_devices)
            return
        if snippet.device is not None:
            self._device = devices.find_own(snippet.device)
        yield self.progress("setup")
        try:
            # What it prints belongs in the log, not in the engine's own output.
            with self._scope(), redirect_stdout(sys.stderr):
                queue = Queue(self._device)
                self._names.set_up(snippet.setup)
                queue.drain()
        except Exception as error:
            raise failure("setup", error) from error
        parts = yield from self._in_order(queue)
        yield from self._rounds(parts)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        with ExitStack() as stack:
            wide = "float64" if self._snippet.x64 else "float32"
            stack.enter_context(enable_x64(wide))
            if self._device is not None:
                stack.enter_context(jax.default_device(self._device))
            yield

    def _in_order(self, queue: Queue) -> Generator[RunEvent, None, list[_Part]]:
        """Run the parts that run once; return those that take turns."""
        repeated: list[_Part] = []
        for part in self._snippet.parts:
            if self.stop():
                break
            if isinstance(part, Shown):
                yield self.progress("part", part.name)
                with self._scope():
                    value = show(part.name, partial(self._value, part, queue))
                yield SnippetShown(value=value)
                continue
            try:
                call = self._names.function(part.code, part.name)
                timed = _Part(part.name, call, queue, self._quietly)
                if not part.once:
                    repeated.append(timed)
                    continue
                yield self.progress("part", part.name)
                timed.turns.turn("latency", 0.0)
            except Exception as error:
                raise failure(part.name, error) from error
            yield SnippetTimed(timing=timed.timing(once=True))
        return repeated

    def _value(self, part: Shown, queue: Queue) -> object:
        value = self._names.run(part.code, part.name)
        queue.drain(value)
        return value

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Discard the output of code that runs again and again."""
        with redirect_stdout(io.StringIO()), self._scope():
            yield

    def _rounds(self, parts: Sequence[_Part]) -> Iterator[RunEvent]:
        begin = perf_counter()
        # A budget is time for measuring, however long compiling took.
        self._rounds_end = end = begin + self.budget
        spread = begin + min(SPREAD_SECONDS, self.budget)
        by_turns = {part.turns: part for part in parts}
        turns = [part.turns for part in parts]
        for part_turns in take_turns(
            turns, self.budget, stop=self.stop, faults=(Exception,)
        ):
            part = by_turns[part_turns]
            if isinstance(part_turns.fault, Exception):
                raise failure(part.name, part_turns.fault)
            if is_due(len(part_turns.rounds)):
                yield SnippetTimed(timing=part.timing())
            yield self.progress("part", part.name)
            if len({len(timed.rounds) for timed in turns}) > 1:
                continue  # each has as many turns
            now = perf_counter()
            over = now + sum(timed.call_seconds for timed in turns) > end
            narrow = now >= spread and all(timed.is_narrow for timed in parts)
            if over or narrow:
                break
        for part in parts:
            if part.turns.rounds and part.reported < len(part.turns.rounds):
                yield SnippetTimed(timing=part.timing())

    def _in_child(self, count: int) -> Iterator[RunEvent]:
        """Run in a process with ``count`` CPU devices; it ends with this run."""
        yield self.progress("cpu-devices", str(count))
        end = self._snippet.malloc
        child = Child(
            __name__,
            {
                "JAX_PLATFORMS": "cpu",
                "JAX_NUM_CPU_DEVICES": str(count),
                "JAX_ENABLE_COMPILATION_CACHE": "0",
                **(malloc.environment(end) if end else {}),
            },
        )
        with contextlib.closing(child):
            child.send(msgspec.structs.replace(self._snippet, cpu_devices=None))
            for line in child.answers(self.stop):
                event = msgspec.json.decode(line, type=RunEvent)
                if isinstance(event, RunFinished):
                    return
                # Those that every run begins and ends with are the parent's.
                if not isinstance(event, RunStarted):
                    yield event
            if not self.stop():
                raise RefusedError.of(
                    "process-ended", devices=count, status=child.ending()
                )


def failure(part: str, error: BaseException) -> RefusedError:
    """Return the failure of a snippet's part; without a name, of the whole."""
    text = full_text(error)
    if (remark := messages.find(text, "case")) is not None:
        facts = {**remark.facts, "phase": "snippet"}
        return RefusedError(msgspec.structs.replace(remark, facts=facts))
    facts = {"part": part, "error": headline(error)}
    return RefusedError(Remark("program-failed", facts, "error", text))


# The code of a snippet, and what came out of it.


class Namespace:
    """The global names of one run of a snippet."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._names: dict[str, Any] = {"__name__": "snippet"}

    def set_up(self, setup: str) -> None:
        """Run the imports of every snippet, then ``setup``."""
        self._execute(SNIPPET_IMPORTS, "imports")
        self._execute(setup, "setup")

    def function(self, code: str, name: str) -> Callable[[], object]:
        """A function without arguments that evaluates the expression ``code``.

        Raises:
            SyntaxError: It is no expression.
        """
        file = self._file(code, name)
        tree = ast.parse(code, file, mode="eval")
        # ``lambda: …`` around the expression, without moving its lines.
        none = ast.arguments(
            posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        tree.body = ast.Lambda(args=none, body=tree.body)
        compiled = compile(
            ast.fix_missing_locations(tree), file, "eval", dont_inherit=True
        )
        return cast("Callable[[], object]", eval(compiled, self._names))

    def run(self, code: str, name: str) -> object:
        """The value of an expression; ``NO_VALUE`` of a statement, which is run."""
        file = self._file(code, name)
        try:
            tree = ast.parse(code, file, mode="eval")
        except SyntaxError:
            self._execute(code, name)
            return NO_VALUE
        return eval(compile(tree, file, "eval", dont_inherit=True), self._names)

    def _execute(self, code: str, name: str) -> None:
        file = self._file(code, name)
        exec(compile(code, file, "exec", dont_inherit=True), self._names)

    def _file(self, code: str, name: str) -> str:
        """The file name of a text, under which ``linecache`` finds its lines."""
        file, lines = f"<{self._title}: {name}>", code.splitlines(keepends=True)
        # Without a time of change the entry is never taken for outdated.
        linecache.cache[file] = len(code), None, lines, file
        return file


def show(name: str, run: Callable[[], object]) -> Value:
    """Run something, and say what came out: its value, its output or its error."""
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(printed):
                value = run()
                # What jax.debug.print has to say is part of the output.
                jax.effects_barrier()
            # That a call of print gives None is not what it was written for.
            silent = value is NO_VALUE or (value is None and printed.getvalue())
            text = f"{printed.getvalue()}{'' if silent else value}".rstrip("\n")
            if len(text) > TEXT_CHARACTERS:
                text = f"{text[: TEXT_CHARACTERS - 1]}…"
            shown = Value(name=name, text=text, numbers=numbers(value))
        except Exception as error:
            shown = Value(
                name=name, text="", error=headline(error), detail=full_text(error)
            )
    messages = dict.fromkeys(str(warning.message) for warning in caught)
    return msgspec.structs.replace(shown, warnings=tuple(messages))


def numbers(value: object) -> tuple[float, ...]:
    """A number, an array or a list of them as floats.

    Empty for everything else, for more than 1000, and where one is not finite, for
    which JSON has no number.
    """
    try:
        floats = _floats(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return ()
    return tuple(floats) if all(map(math.isfinite, floats)) else ()


def _floats(value: object) -> list[float]:
    floats: list[float] = []
    if isinstance(value, (bool, int, float)):
        floats = [float(value)]
    elif isinstance(value, (list, tuple)) and len(value) <= NUMBERS_AT_MOST:
        floats = [number for item in value for number in _floats(item)]
    elif isinstance(value, (complex, np.ndarray, np.generic, jax.Array)):
        if np.size(value) > NUMBERS_AT_MOST:
            raise ValueError("too many")
        array = np.asarray(value).ravel()
        kind = array.dtype.kind
        if kind in "USOMm" or (kind == "c" and array.imag.any()):
            raise TypeError("no real numbers")
        # Also of bfloat16 and its like, which NumPy does not know by itself.
        floats = array.real.astype(np.float64).tolist()
    else:
        raise TypeError("no numbers")
    if len(floats) > NUMBERS_AT_MOST:
        raise ValueError("too many")
    return floats


# The child process.


def main() -> None:
    """Run the snippet on standard input in the child process.

    It reads the snippet, one line of JSON, and writes its events, a line each. It ends
    when the pipe that it reads from is closed.
    """
    signal_with_parent()
    send = sender()
    line = sys.stdin.buffer.readline()
    end_with_input()
    for event in run_snippet(msgspec.json.decode(line, type=Snippet)):
        send(event)
    os._exit(0)
