"""However the UI ends, two seconds later no engine is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from jaxtui.engine.terminal import RESETS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")


@pytest.fixture
def pty():
    controller, terminal = os.openpty()
    yield controller, terminal
    os.close(controller)
    os.close(terminal)


@pytest.fixture
def start_ui(pty):
    """Start a UI; returns its process and the pid of its engine."""
    started = []

    def start_ui(op, *arguments):
        ui = subprocess.Popen(
            [sys.executable, str(HERE / "fake_ui.py"), str(pty[1]), op, *arguments],
            stdout=subprocess.PIPE,
            pass_fds=(pty[1],),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(ui)
        assert ui.stdout is not None
        return ui, int(ui.stdout.readline())

    yield start_ui
    for ui in started:
        ui.kill()
        ui.wait()
        ui.stdout.close()


def written(controller):
    """What has been drawn so far."""
    data = b""
    while select.select((controller,), (), (), 0)[0]:
        data += os.read(controller, 1 << 16)
    return data


@pytest.mark.parametrize("op", ["-", "stuck", "long"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_engine_ends_and_restores_the_terminal(pty, start_ui, ends_within, op, how):
    controller, terminal = pty
    before = termios.tcgetattr(terminal)
    ui, engine = start_ui(op)
    assert termios.tcgetattr(terminal) != before
    ui.send_signal(how)
    assert ends_within(engine, 2.0)
    assert termios.tcgetattr(terminal) == before
    assert written(controller).endswith(RESETS)


def test_an_engine_that_is_stuck_in_c_code_ends_too(start_ui, ends_within):
    ui, engine = start_ui("gil")
    ui.kill()
    assert ends_within(engine, 2.0)


def test_an_orderly_end_leaves_the_terminal_alone(pty, start_ui, ends_within):
    ui, engine = start_ui("-", "--close")
    assert ui.wait(30) == 0
    assert ends_within(engine, 0)
    assert RESETS not in written(pty[0])


def test_a_terminal_that_is_gone_too_is_no_obstacle(ends_within, tmp_path):
    controller, terminal = os.openpty()
    ui = subprocess.Popen(
        [sys.executable, str(HERE / "fake_ui.py"), str(terminal), "stuck"],
        stdout=subprocess.PIPE,
        pass_fds=(terminal,),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(terminal)
    with ui:
        engine = int(ui.stdout.readline())
        os.close(controller)
        ui.kill()
        assert ends_within(engine, 2.0)
