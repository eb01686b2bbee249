"""Runs snippets: the setup, the parts in order, then turns for what is timed often."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import msgspec

from jaxtui.format import bytes_text
from jaxtui.measure import devices
from jaxtui.measure.children import end_with_input, signal_with_parent
from jaxtui.measure.errors import full_text, headline
from jaxtui.measure.failures import RefusedError
from jaxtui.measure.planning import Supply
from jaxtui.measure.runner import Runner
from jaxtui.measure.settings import enable_x64
from jaxtui.measure.snippets.apart import run_apart
from jaxtui.measure.snippets.values import Namespace, show
from jaxtui.measure.turns import (
    ROUNDS_WANTED,
    Turns,
    never,
    take_turns,
)
from jaxtui.measure.workload import Scope, Workload
from jaxtui.model import (
    Case,
    RunEvent,
    Shown,
    Snippet,
    SnippetShown,
    SnippetStarted,
    SnippetTimed,
    Timed,
    Timing,
    WorkFailed,
)
from jaxtui.stats import Pool

ROUNDS_SHARE = 0.3
"""Share of the budget that the rounds have in any case, however long compiling took."""

SPREAD_SECONDS = 2.0
"""How long the rounds last at least, unless the budget is shorter."""

TARGET_HALF_WIDTH = 0.03

SMALLER = "Choose a smaller size, or free memory."


@jax.jit
def _step(x: jax.Array) -> jax.Array:
    return x + 1


class Queue:
    """The queues of the devices that a snippet may use.

    What was dropped cannot be waited for, and ``jax.effects_barrier`` waits for side
    effects alone. But a device works in order: when a computation that was dispatched
    last is done, so is everything before it.
    """

    def __init__(self, device: jax.Device | None) -> None:
        """Take the device that is the snippet's default, if it has chosen one."""
        every = dict.fromkeys([*jax.local_devices(), *([device] if device else [])])
        self._places = [jax.device_put(jnp.zeros(8), each) for each in every]
        self.drain()

    def drain(self, value: object = None) -> None:
        """Wait for a value, and for whatever was dispatched until now.

        Raises:
            Exception: Whatever the computation of the value ended in.
        """
        jax.block_until_ready((value, [_step(place) for place in self._places]))


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
        made = Workload(
            case=case, call=call, wait=queue.drain, on_return=True, scope=scope
        )
        self.turns = Turns(made, rests=True)
        self.told = 0
        """Rounds that are in the last summary."""
        self._pool = Pool()

    @property
    def is_narrow(self) -> bool:
        """Whether there are rounds enough, and their interval is narrow."""
        enough = len(self.turns.medians) >= ROUNDS_WANTED
        return enough and self.turns.interval.half_width <= TARGET_HALF_WIDTH

    @property
    def is_due(self) -> bool:
        """Whether a summary is due again: of a million calls it takes a while."""
        rounds = len(self.turns.rounds)
        return rounds % (1 << max(0, rounds.bit_length() - 4)) == 0

    def timing(self, *, once: bool = False) -> Timing:
        """The timing as it stands, after one turn at least."""
        for block in self.turns.rounds[self.told :]:
            self._pool.add(block.ready)
        self.told = len(self.turns.rounds)
        summary = self._pool.summary(self.turns.medians)
        return Timing(name=self.name, seconds=summary, once=once)


def run_snippet(
    snippet: Snippet, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run a snippet in the calling thread, or in a process of its own if it asks.

    The first event is ``SnippetStarted``, the last ``RunFinished``; ``WorkFailed``
    comes before it where something is wrong as a whole. Nothing happens until the first
    event is asked for, and closing the generator ends the run. The snippet's default
    device, its 64-bit types and the place of its output never hold for what
    consumes the events.

    Args:
        snippet: What to run.
        stop: Asked between turns and parts; once true, the run ends as ``cancelled``.
    """
    return _Run(snippet, stop).events()


class _Run(Runner):
    """A snippet in this process and thread."""

    def __init__(self, snippet: Snippet, stop: Callable[[], bool]) -> None:
        super().__init__(SnippetStarted(snippet=snippet), snippet.budget, stop)
        self._snippet = snippet
        self._rounds_end = 0.0
        self._names = Namespace(snippet.title)
        self._device: jax.Device | None = None

    def failure(self, error: BaseException) -> WorkFailed:
        return failure("The snippet", error).failed

    @property
    def remaining(self) -> float:
        return max(super().remaining, self._rounds_end - perf_counter())

    def work(self) -> Iterator[RunEvent]:
        if self._snippet.cpu_devices is not None:
            yield from run_apart(self._snippet, self.stop)
            return
        self._check()
        yield self.progress("setting up")
        try:
            queue = self._set_up()
        except Exception as error:
            raise failure("The setup", error) from error
        parts = yield from self._in_order(queue)
        yield from self._rounds(parts)

    def _check(self) -> None:
        if self._snippet.device is not None:
            try:
                self._device = devices.find(self._snippet.device)
            except ValueError as error:
                raise RefusedError(str(error), "`jaxtui devices` lists them.") from None
        with self._scope():
            (device,) = jnp.zeros(()).devices()
        check_memory(self._snippet.memory_bytes, device)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What holds wherever code of the snippet runs."""
        with ExitStack() as stack:
            wide = "float64" if self._snippet.x64 else "float32"
            stack.enter_context(enable_x64(wide))
            if self._device is not None:
                stack.enter_context(jax.default_device(self._device))
            yield

    def _set_up(self) -> Queue:
        # What the setup prints belongs in the log, not in the engine's own output.
        with self._scope(), redirect_stdout(sys.stderr):
            queue = Queue(self._device)
            self._names.set_up(self._snippet.setup)
            queue.drain()
            return queue

    def _in_order(self, queue: Queue) -> Generator[RunEvent, None, list[_Part]]:
        """What happens once; returns what is left to take turns."""
        repeated: list[_Part] = []
        for part in self._snippet.parts:
            if self.stop():
                break
            if isinstance(part, Shown):
                yield self.progress(part.name)
                yield self._shown(part, queue)
                continue
            timed = self._part(part, queue)
            if part.once:
                yield self.progress(part.name)
                try:
                    timed.turns.turn("latency", 0.0)
                except Exception as error:
                    raise failure(repr(part.name), error) from error
                yield SnippetTimed(timing=timed.timing(once=True))
            else:
                repeated.append(timed)
        return repeated

    def _shown(self, part: Shown, queue: Queue) -> SnippetShown:
        def run() -> object:
            value = self._names.run(part.code, part.name)
            queue.drain(value)
            return value

        with self._scope():
            return SnippetShown(value=show(part.name, run))

    def _part(self, part: Timed, queue: Queue) -> _Part:
        try:
            call = self._names.function(part.code, part.name)
        except SyntaxError as error:
            raise failure(repr(part.name), error) from error
        return _Part(part.name, call, queue, self._quietly)

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """What is printed again and again goes nowhere."""
        with redirect_stdout(io.StringIO()), self._scope():
            yield

    def _rounds(self, parts: Sequence[_Part]) -> Iterator[RunEvent]:
        begin = perf_counter()
        available = max(self.remaining, ROUNDS_SHARE * self.budget)
        self._rounds_end = end = begin + available
        spread = begin + min(SPREAD_SECONDS, available)
        by_turns = {part.turns: part for part in parts}
        turns = [part.turns for part in parts]
        for one in take_turns(turns, available, stop=self.stop, faults=(Exception,)):
            part = by_turns[one]
            if isinstance(one.fault, Exception):
                raise failure(repr(part.name), one.fault)
            if part.is_due:
                yield SnippetTimed(timing=part.timing())
            yield self.progress(part.name)
            if len({len(each.rounds) for each in turns}) > 1:
                continue  # each has as many turns
            now = perf_counter()
            over = now + sum(each.call_seconds for each in turns) > end
            narrow = now >= spread and all(each.is_narrow for each in parts)
            if over or narrow:
                break
        for part in parts:
            if part.turns.rounds and part.told < len(part.turns.rounds):
                yield SnippetTimed(timing=part.timing())


def check_memory(memory_bytes: int, device: Any) -> None:
    """Count what a snippet needs.

    Raises:
        RefusedError: So much cannot be had on that JAX device.
    """
    described = devices.describe_device(device, process_index=device.process_index)
    free = Supply().free_bytes(described)
    if free is None or memory_bytes <= free:
        return
    where = "this machine" if device.platform == "cpu" else described.name
    raise RefusedError(
        f"This needs {bytes_text(memory_bytes)} of memory;"
        f" {where} has {bytes_text(free)} free.",
        SMALLER,
        f"Asked for: {memory_bytes} bytes. Free on {described.name}: {free}.",
    )


def failure(what: str, error: BaseException) -> RefusedError:
    """What raised, and its text.

    Args:
        what: The beginning of the sentence.
        error: What was raised.
    """
    memory = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
    return RefusedError(
        f"{what} failed: {headline(error)}",
        SMALLER if memory else "The original text has the details.",
        full_text(error),
    )


def main() -> None:
    """Run the snippet on standard input in the process that ``apart`` started.

    It reads the snippet, one line of JSON, and writes its events, a line each. It ends
    when the pipe that it reads from is closed.
    """
    signal_with_parent()
    # Whatever C code or a snippet writes to fd 1 must not come between the events.
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    end_with_input()
    for event in run_snippet(msgspec.json.decode(line, type=Snippet)):
        events.write(msgspec.json.encode(event) + b"\n")
        events.flush()
    os._exit(0)
