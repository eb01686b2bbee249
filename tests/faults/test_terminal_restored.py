"""The app killed while it has no engine: the terminal is given back all the same."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 40.0

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)


class Terminal:
    """A pty on which a shell runs the app with an engine that cannot be started."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"JAXTUI_DATA={folder}"
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "JAXTUI_DATA": str(folder),
        }
        command = f"{sys.executable} -m jaxtui --python false; echo rc=$?; read end"
        self.child = pexpect.spawn("/bin/sh", ["-c", command], env=environment)
        self.saved = termios.tcgetattr(self.child.child_fd)
        self.written = b""
        self.until(lambda: b"not started again" in self.written, "the end of engines")
        shell = self.child.pid
        (app,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        self.app = int(app)

    def read(self) -> None:
        try:
            self.written += self.child.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return

    def until(self, seen: Callable[[], bool], what: str, reading: bool = True) -> None:
        end = time.monotonic() + SECONDS
        while not seen():
            assert time.monotonic() < end, f"{what} never came: {self.written[-500:]!r}"
            if reading:
                self.read()
            else:
                time.sleep(0.01)

    def fill(self) -> None:
        """Write until the terminal takes no more, as one that nobody reads."""
        fd = os.open(f"/proc/{self.child.pid}/fd/0", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(fd, b"x" * 4096)
        except BlockingIOError:
            return
        finally:
            os.close(fd)

    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.child.child_fd) == self.saved

    def last(self, mode: int) -> str:
        """``h`` or ``l``, whichever a private mode was set to last."""
        found = re.findall(rb"\x1b\[\?%d([hl])" % mode, self.written)
        return found[-1].decode() if found else ""

    def left(self) -> list[int]:
        """The processes that have the environment of this terminal."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                variables = (place / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if self.mark.encode() in variables:
                found.append(int(place.name))
        return sorted(found)

    def only_the_shell(self) -> bool:
        return self.left() == [self.child.pid]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.child.close(force=True)
    terminal.until(lambda: not terminal.left(), "the end of all", reading=False)


def test_a_terminal_that_was_not_read_is_restored_after_a_kill(
    terminal: Terminal,
) -> None:
    assert not terminal.is_as_before()
    terminal.fill()
    os.kill(terminal.app, signal.SIGKILL)
    terminal.until(terminal.is_as_before, "the saved attributes", reading=False)
    terminal.until(lambda: terminal.last(1049) == "l", "the end of the screen")
    terminal.until(lambda: terminal.last(25) == "h", "the cursor")
    for mode in (1000, 1003, 1006, 1015, 2004, 1004):
        assert terminal.last(mode) == "l"
    terminal.until(lambda: b"rc=137" in terminal.written, "the shell")
    terminal.until(terminal.only_the_shell, "the end of the rest")


def test_nothing_is_written_after_an_orderly_end(terminal: Terminal) -> None:
    terminal.child.send("q")
    terminal.until(lambda: b"rc=0" in terminal.written, "rc=0")
    assert terminal.only_the_shell()
    terminal.read()
    assert terminal.written.rstrip().endswith(b"rc=0")
    assert terminal.is_as_before()
