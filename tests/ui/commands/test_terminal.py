"""The app in a real shell on a real pty: however it ends, the terminal is as it was.

A shell with job control is the parent, as on a real machine; what it sees is read
back with pyte, what the terminal was told is read from the bytes, and what its driver
was set to is asked of ``stty``.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import FAKE_PYTHON, Shell, alive, children, wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

APP = f"{sys.executable} -m jaxtui"
WITHOUT_JAX = f"{APP} --python '{FAKE_PYTHON}'"
ENDLESS = f"FAKE_OPS=long {WITHOUT_JAX}"
"""A run of it goes on until it is stopped."""

BROKEN = """
from jaxtui.ui.app.app import JaxtuiApp
def broken(self): raise RuntimeError("the planted fault")
JaxtuiApp.action_theme = broken
from jaxtui.cli import main
import sys; sys.exit(main())
"""


class RunningApp:
    """The app in a shell, with the devices on screen."""

    def __init__(self, shell: Shell, command: str = WITHOUT_JAX) -> None:
        self.shell = shell
        shell.shows("ready>")
        shell.run(f"{command}; echo rc=$?")
        shell.shows("cpu:0")
        shell.shows("Enter run")
        (self.pid,) = children(shell.child.pid)
        (self.engine,) = children(self.pid)

    def engine_is_gone(self) -> None:
        self.shell.until(lambda: not alive(self.engine), "the end of the engine")


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell()
    yield shell
    shell.close()


@pytest.fixture
def app(shell: Shell) -> RunningApp:
    return RunningApp(shell)


@pytest.fixture
def measuring(shell: Shell) -> RunningApp:
    """One with a run that goes on."""
    app = RunningApp(shell, ENDLESS)
    shell.type("\r")
    shell.shows(" left")
    return app


def assert_restored(shell: Shell) -> None:
    """The driver's settings and the emulator's modes are those of a shell."""
    shell.type("\r")
    before = len(shell.written)
    shell.run("stty -a; echo stty-$((1))-done")
    shell.until(lambda: b"stty-1-done" in shell.written[before:], "stty")
    settings = shell.written[before:].decode(errors="replace")
    for name in ("icanon", "echo", "isig", "iexten", "icrnl", "opost"):
        assert re.search(rf"(?<![-\w]){name}\b", settings), f"{name} is off"
    assert shell.last_mode(1049) == "l", "still on the alternate screen"
    assert shell.last_mode(25) == "h", "the cursor is hidden"
    for mode in (1000, 1002, 1003, 1006, 1015, 2004, 1004):
        assert shell.last_mode(mode) in ("", "l"), f"mode {mode} is on"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_signals_leave_the_terminal_as_it_was_and_no_engine(
    app: RunningApp, number: signal.Signals, code: int
) -> None:
    os.kill(app.pid, number)
    app.engine_is_gone()
    app.shell.writes(f"rc={code}")
    assert_restored(app.shell)


def test_quitting_in_the_middle_of_a_run(measuring: RunningApp) -> None:
    measuring.shell.type("\x03")
    measuring.shell.writes("rc=130")
    measuring.engine_is_gone()
    assert_restored(measuring.shell)


def test_a_crash_of_the_ui_says_so_and_restores_the_terminal(
    shell: Shell, tmp_path: Path
) -> None:
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    app = RunningApp(shell, WITHOUT_JAX.replace("-m jaxtui", str(script)))
    shell.type("t")
    shell.writes("rc=70")
    app.engine_is_gone()
    assert b"the planted fault" in shell.written
    assert_restored(shell)


def test_ctrl_z_suspends_and_fg_comes_back(app: RunningApp) -> None:
    shell = app.shell
    shell.type("\x1a")
    shell.until(lambda: b"topped" in shell.written, "the shell's word that it stopped")
    assert_restored(shell)
    shell.run("fg; echo rc=$?")
    shell.shows("Enter run")
    shell.type("q")
    shell.writes("rc=0")
    app.engine_is_gone()
    assert_restored(shell)


def test_an_app_that_is_killed_leaves_no_engine(measuring: RunningApp) -> None:
    os.kill(measuring.pid, signal.SIGKILL)
    measuring.engine_is_gone()


def test_a_dropped_connection_leaves_nothing_behind(measuring: RunningApp) -> None:
    measuring.shell.close()
    both = measuring.pid, measuring.engine
    wait_until(lambda: not any(map(alive, both)), "the end of both")


def test_too_small_says_so_and_comes_back(shell: Shell) -> None:
    # What a shell has exported of its size is not the terminal's.
    RunningApp(shell, f"COLUMNS=80 LINES=24 {WITHOUT_JAX}")
    shell.resize(8, 30)
    shell.shows("small")
    shell.resize(24, 80)
    shell.shows("Enter run")


@pytest.mark.parametrize(
    ("redirect", "name"), [("</dev/null", "stdin"), ("2>no", "stderr")]
)
def test_without_a_terminal_the_app_says_what_to_use(
    shell: Shell, tmp_path: Path, redirect: str, name: str
) -> None:
    shell.shows("ready>")
    shell.run(f"cd {tmp_path}; {sys.executable} -m jaxtui {redirect}; echo rc=$?")
    shell.writes("rc=3")
    file = tmp_path / "no"
    said = shell.text + (file.read_text() if file.exists() else "")
    assert name in said
    assert "jaxtui bench" in said
    assert b"\x1b[?1049h" not in shell.written
