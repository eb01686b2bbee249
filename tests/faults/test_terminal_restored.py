"""The app killed while it has no engine: the terminal is given back all the same."""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import Shell, children, marked, wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)


APP = f"{sys.executable} -m jaxtui --python false; echo rc=$?; read end"
"""With an engine that cannot be started."""


class Terminal(Shell):
    def __init__(self, folder: Path) -> None:
        super().__init__(script=APP, data=folder)
        self.mark = f"JAXTUI_DATA={folder}"
        self.saved = termios.tcgetattr(self.child.child_fd)
        self.writes("not started again")
        (self.app,) = children(self.child.pid)

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

    def only_the_shell(self) -> bool:
        return marked(self.mark) == [self.child.pid]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()
    wait_until(lambda: not marked(terminal.mark), "the end of all")


def test_a_terminal_that_was_not_read_is_restored_after_a_kill(
    terminal: Terminal,
) -> None:
    assert not terminal.is_as_before()
    terminal.fill()
    os.kill(terminal.app, signal.SIGKILL)
    wait_until(terminal.is_as_before, "the saved attributes")
    terminal.until(lambda: terminal.last_mode(1049) == "l", "the end of the screen")
    terminal.until(lambda: terminal.last_mode(25) == "h", "the cursor")
    for mode in (1000, 1003, 1006, 1015, 2004, 1004):
        assert terminal.last_mode(mode) == "l"
    terminal.writes("rc=137")
    terminal.until(terminal.only_the_shell, "the end of the rest")


def test_nothing_is_written_after_an_orderly_end(terminal: Terminal) -> None:
    terminal.type("q")
    terminal.writes("rc=0")
    assert terminal.only_the_shell()
    terminal.read()
    assert terminal.written.rstrip().endswith(b"rc=0")
    assert terminal.is_as_before()
