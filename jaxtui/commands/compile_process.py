"""The process that compiles ahead of time, as the commands use it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from jaxtui import child
from jaxtui.commands import CannotRun
from jaxtui.commands.common import not_started
from jaxtui.engine.connection import log_lines
from jaxtui.engine.process import how_ended
from jaxtui.engine.protocol import MAX_LINE_BYTES
from jaxtui.machine.topologies import INSTALL
from jaxtui.model import SelectionError
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadDoing,
    AheadHello,
    AheadRefused,
    AheadRequest,
    AheadUnavailable,
    Stage,
)
from jaxtui.model.base import Record

MODULE = "jaxtui.measure.ahead_process"

KEPT_LINES = 200
"""Of what libtpu printed; a crash prints some fifty."""

SHOWN_LINES = 3
"""In a sentence."""

DETAIL_LINES = 20
"""Under a report; the JSON document has all of them."""

DOING: dict[Stage, tuple[str, str]] = {
    "start": ("starting JAX", "while JAX started"),
    "topology": ("describing the topology", "while it described the topology"),
    "inputs": ("importing the file", "while its file and its arguments were made"),
    "warm-up": ("warming the compiler up", "while it compiled a small program first"),
    "trace": ("tracing", "while JAX traced the op"),
    "lower": ("lowering", "while JAX lowered the op"),
    "compile": ("compiling", "while XLA compiled the op"),
}
"""For the line that says how far it is, and for what is said of its end."""

_Answer = TypeVar("_Answer", bound=Record)

_DECODER = msgspec.json.Decoder(AheadAnswer)

_FATAL = re.compile(r"^F\d{4} [\d:.]+ +\d+ (\S+:\d+\] .*)")
_CRASH_NOISE = re.compile(
    r"^\s*@ |^https://symbolize|^[EWIF]\d{4} .*RAW: |^PC: |^\s+r\w+=|^\s*$"
)


class AheadProcess:
    """A running process and what it has said; ``ahead_process`` makes one."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        answers: asyncio.StreamReader,
        limit_seconds: float,
        needs_libtpu: bool,
    ) -> None:
        self._process = process
        self._answers = answers
        self._limit_seconds = limit_seconds
        self._limit = asyncio.get_running_loop().call_later(
            limit_seconds, self._give_up
        )
        self._given_up = False
        self._needs_libtpu = needs_libtpu
        self._logging = asyncio.ensure_future(self._keep_log())
        self.log: deque[str] = deque(maxlen=KEPT_LINES)
        """The last lines that it printed."""
        self.stage: Stage = "start"
        self._since = time.monotonic()

    async def ask(self, request: AheadRequest) -> None:
        """Send the request; one to a process that is gone is lost."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(msgspec.json.encode(request) + b"\n")
            await self._process.stdin.drain()

    async def answers(self, *last: type[Record]) -> AsyncIterator[AheadAnswer]:
        """Every answer, up to the first of the kinds that are the last.

        Raises:
            NoAnswer: the process has ended before, or its time is over.
            CannotRun: libtpu or JAX cannot be used, or an answer makes no sense.
            SelectionError: there is no such topology or case.
        """
        while line := await self._line():
            try:
                answer = _DECODER.decode(line)
            except msgspec.DecodeError as error:
                raise CannotRun(
                    "What the process that compiles said cannot be read."
                ) from error
            match answer:
                case AheadHello(libtpu=None) if self._needs_libtpu:
                    raise LibtpuMissing
                case AheadRefused():
                    parts = (answer.error, answer.detail)
                    raise SelectionError("\n".join(filter(None, parts)))
                case AheadUnavailable(error=sentence):
                    raise CannotRun(sentence)
                case AheadDoing(stage=stage):
                    self.stage, self._since = stage, time.monotonic()
                case _:
                    pass
            yield answer
            if isinstance(answer, last):
                return
        status = await self._process.wait()
        # A grandchild may keep the pipe open.
        await asyncio.wait({self._logging}, timeout=0.5)
        during = DOING[self.stage][1]
        if self._given_up:
            raise NoAnswer(
                "The process that compiles was given up after "
                f"{self._limit_seconds:g} s, {during}.",
                "Give it more time with --limit, or a smaller size.",
            )
        words = last_words(self.log)
        printed = f" It printed: {words}" if words else ""
        raise NoAnswer(
            f"The process that compiles {how_ended(status)} {during}.{printed}",
            "This is a fault of libtpu: another dtype, size or mode, or another "
            "version of libtpu, may work.",
            "\n".join(self.log),
        )

    async def answer(self, kind: type[_Answer]) -> _Answer:
        """The next answer of a kind; raises what ``answers`` does."""
        *_, last = [answer async for answer in self.answers(kind)]
        assert isinstance(last, kind)
        return last

    def line(self, _: float) -> str:
        doing = DOING[self.stage][0]
        return f"{doing}, {time.monotonic() - self._since:.0f} s (Ctrl-C ends it)"

    async def close(self) -> None:
        """End it, if it has not ended."""
        self._limit.cancel()
        self._kill()
        await self._process.wait()
        self._logging.cancel()

    def _give_up(self) -> None:
        self._given_up = True
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _line(self) -> bytes:
        try:
            line = await self._answers.readline()
        except ValueError as error:
            raise CannotRun("The answer is too long to be read.") from error
        # The last line of a process that was killed while it wrote is no answer.
        return line if line.endswith(b"\n") else b""

    async def _keep_log(self) -> None:
        assert self._process.stdout is not None
        async for line in log_lines(self._process.stdout):
            self.log.append(line.rstrip())


class NoAnswer(CannotRun):
    """The process has ended, or was given up, and what it should say is missing."""

    def __init__(self, sentence: str, hint: str, log: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint
        """What to do where it was the op that it failed at."""
        self.log = log
        """What it printed."""


class LibtpuMissing(CannotRun):
    """libtpu is not installed for the Python that would compile."""

    def __init__(self) -> None:
        super().__init__(
            "libtpu, which brings the TPU's compiler, is not installed: "
            f"run `{INSTALL}` (some 200 MB; it needs no TPU)."
        )


@asynccontextmanager
async def ahead_process(
    python: Sequence[str], limit_seconds: float, *, needs_libtpu: bool = True
) -> AsyncIterator[AheadProcess]:
    """A process for the length of a ``with`` block; it is gone afterwards.

    It is in a session of its own, so that a Ctrl-C at the terminal is this side's
    business alone.

    Args:
        python: the interpreter, with arguments if it needs any; this one if empty.
        limit_seconds: until it is given up.
        needs_libtpu: refuse a Python that has none.

    Raises:
        CannotRun: it cannot be started.
    """
    command = child.command(MODULE, tuple(python))
    answers, answers_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            "--answers",
            str(answers_end),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(answers_end,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(answers)
        raise not_started(command, error) from error
    finally:
        os.close(answers_end)
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers, "rb")
    )
    ahead = AheadProcess(process, reader, limit_seconds, needs_libtpu)
    try:
        yield ahead
    finally:
        pipe.close()
        await ahead.close()


def legible(detail: str) -> str:
    """The last lines of an original text, without addresses and registers."""
    lines = [line for line in detail.splitlines() if not _CRASH_NOISE.match(line)]
    return "\n".join(lines[-DETAIL_LINES:])


def last_words(log: Sequence[str]) -> str:
    """The lines that say most about an end: the failed check, or the last ones."""
    fatal = [found[1] for line in log if (found := _FATAL.match(line))]
    lines = fatal or [line.strip() for line in log if not _CRASH_NOISE.match(line)]
    # Every thread that fails the same check says so.
    return " ".join([*dict.fromkeys(lines)][-SHOWN_LINES:])
