"""jaxtui as processes of its own: run to their end, watched, and on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

from jaxtui import cli
from tests import warm

LIMIT_SECONDS = 120.0
"""For anything to happen; JAX starts meanwhile, on a machine that may be busy."""

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "jaxtui")

FAKE_PYTHON = f"{sys.executable} {ROOT}/tests/core/engine/fake_core.py"
"""For ``--python``: an engine that is up at once, where no time is spent on JAX."""


def environment(data: Path | None = None, **variables: object) -> dict[str, str]:
    """Of a process with its data in a folder."""
    more = {"PYTHONPATH": ROOT, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    more |= {"JAXTUI_DATA": data} if data else {}
    return {
        **os.environ,
        **{name: str(one) for name, one in (more | variables).items()},
    }


def python(
    *command: object,
    data: Path | None = None,
    cwd: Path | None = None,
    **variables: Any,
) -> subprocess.CompletedProcess[str]:
    """A Python process that has ended."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment(data, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_SECONDS,
    )


def jaxtui(
    *arguments: object,
    data: Path | None = None,
    cwd: Path | None = None,
    **variables: Any,
) -> subprocess.CompletedProcess[str]:
    """A command that has ended."""
    return python("-m", "jaxtui", *arguments, data=data, cwd=cwd, **variables)


def ended(
    *arguments: object,
    data: Path | None = None,
    cwd: Path | None = None,
    **variables: Any,
) -> subprocess.CompletedProcess[str]:
    """As ``jaxtui``, for a command that needs no process of its own."""
    words = [one if isinstance(one, bytes) else str(one) for one in arguments]
    texts = []
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment(data, **variables).items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        # What the command starts inherits them.
        for number, file in enumerate(files, 1):
            stack.callback(os.close, before := os.dup(number))
            stack.callback(os.dup2, before, number)
            os.dup2(file.fileno(), number)
        with (
            open(1, "w", encoding="utf-8", closefd=False) as out,
            open(2, "w", encoding="utf-8", closefd=False) as err,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = cli.main([*map(os.fsdecode, words)])
        for file in files:
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([*map(str, arguments)], code, *texts)


def documents(text: str) -> list[Any]:
    """Every JSON document of a text that holds nothing else."""
    found, rest = [], text.lstrip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].lstrip()
    return found


# Processes by number.


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [int(child) for child in text.split() if alive(int(child))]


def alive(pid: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z"


def marked(text: str) -> list[int]:
    """The processes that have this in their environment."""
    found = {pid for pid in warm.copies(text) if alive(pid)}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (place / "environ").read_bytes().split(b"\0"):
                found.add(int(place.name))
    return sorted(found)


def wait_until(done: Callable[[], object], what: object) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not done():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.01)


class Running:
    """A command whose stderr is a terminal, so that it says how far it is."""

    def __init__(self, *arguments: str, **options: Any) -> None:
        self._terminal, end = os.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        self.process = subprocess.Popen([*PROGRAM, *arguments], stderr=end, **options)
        os.close(end)
        self.said = ""
        self._read = 0
        """Where on stderr the next text is looked for."""

    def until(self, seen: str | Callable[[], object]) -> None:
        """Wait for a pattern on stderr behind the last one, or for anything else."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (self._find(seen) if isinstance(seen, str) else seen()):
            lasts = self._listen(0.02) or self.process.poll() is None
            self._expect(lasts and time.monotonic() < deadline, f"{seen} never came")

    def kill_engine(self, doing: str, then: str, by: int = signal.SIGKILL) -> None:
        """End the engine as soon as it does this, and wait for what is said of it."""
        self.until(doing)
        (engine,) = children(self.process.pid)
        os.kill(engine, by)
        self.until(then)

    def signal(self, *numbers: int) -> None:
        for number in numbers:
            self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal, and tell the process as the kernel would."""
        os.close(self._terminal)
        self.process.send_signal(signal.SIGHUP)

    def ended(self) -> tuple[int, str]:
        """The exit code and what is on stdout."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self._listen(1.0):
            self._expect(time.monotonic() < deadline, "it does not end")
        out, _ = self.process.communicate(timeout=LIMIT_SECONDS)
        os.close(self._terminal)
        return self.process.returncode, (out or b"").decode()

    def _find(self, pattern: str) -> bool:
        found = re.compile(pattern).search(self.said, self._read)
        self._read = found.end() if found else self._read
        return found is not None

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.process.kill()
        assert holds, f"{otherwise}: {self.said[-2000:]}"

    def _listen(self, seconds: float) -> bool:
        """Whether stderr is still open; takes in what is there."""
        if select.select([self._terminal], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                data = os.read(self._terminal, 1 << 16)
                self.said += data.decode(errors="replace")
                return bool(data)
            return False
        return True


class Shell:
    """``sh`` on a pty, and the screen that a person would see."""

    def __init__(
        self,
        lines: int = 24,
        columns: int = 80,
        *,
        script: str = "",
        cwd: Path | None = None,
        data: Path | None = None,
    ) -> None:
        """Start it: interactive, or for a script alone."""
        variables = environment(
            data, COLORTERM="truecolor", PS1="ready> ", JAX_PLATFORMS="cpu"
        )
        # pytest-xdist sets COLUMNS, which is no terminal's doing.
        for name in ("NO_COLOR", "ENV", "COLUMNS", "LINES"):
            variables.pop(name, None)
        self.child = pexpect.spawn(
            "/bin/sh",
            ["-c", script] if script else ["-i"],
            env=variables,
            dimensions=(lines, columns),
            timeout=1,
            cwd=str(cwd) if cwd else None,
        )
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def type(self, text: str) -> None:
        self.child.send(text)

    def run(self, command: str) -> None:
        self.type(command + "\r")

    def read(self) -> None:
        """Take in what has been written, waiting a little for it."""
        try:
            data = self.child.read_nonblocking(65536, timeout=0.1)
        except pexpect.TIMEOUT:
            return
        self.written += data
        # pyte takes "CSI < u", the end of kitty's keys, for "restore the cursor".
        known = re.sub(rb"\x1b\[[<>=?][0-9;]*[upq]|\x1b\[\?[0-9;]*\$p", b"", data)
        for piece in re.split(rb"(?=\x1b)", known):
            # A kill may leave the ends of two sequences as one, with parameters that
            # are too many: a terminal passes over it, pyte raises.
            with contextlib.suppress(TypeError):
                self._stream.feed(piece)

    def until(self, seen: Callable[..., object], what: str) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while not seen():
            assert time.monotonic() < end, f"{what} never came:\n{self.text}"
            self.read()

    def shows(self, *texts: str) -> None:
        for text in texts:
            self.until(lambda text=text: text in self.text, repr(text))

    def writes(self, text: str) -> None:
        self.until(lambda: text.encode() in self.written, text)

    def last_mode(self, mode: int) -> str:
        """``h`` or ``l``, whichever a private mode was set to last."""
        one = rb"\x1b\[\?(?:[0-9;]*;)?%d(?:;[0-9;]*)?([hl])" % mode
        found = re.findall(one, self.written)
        return found[-1].decode() if found else ""

    def resize(self, lines: int, columns: int) -> None:
        self.child.setwinsize(lines, columns)
        self.screen.resize(lines, columns)

    def close(self) -> None:
        self.child.close(force=True)
