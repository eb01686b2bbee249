from __future__ import annotations

import os
import termios
import tty

import pytest

from jaxtui.engine.terminal import RESETS, Terminal


@pytest.fixture
def pty():
    controller, terminal = os.openpty()
    yield controller, terminal
    os.close(controller)
    os.close(terminal)


def test_attributes_survive_the_command_line(pty):
    controller, fd = pty
    captured = Terminal.capture(fd)
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    Terminal(os.dup(fd), captured.attributes).restore()
    assert termios.tcgetattr(fd) == before
    assert os.read(controller, 1 << 16) == RESETS


def test_what_is_no_terminal_is_not_captured():
    read, write = os.pipe()
    assert Terminal.capture(read) is None
    os.close(read)
    os.close(write)


def test_a_terminal_that_the_shell_has_taken_back_keeps_its_attributes(pty):
    _, fd = pty
    captured = Terminal.capture(fd)
    prompt = termios.tcgetattr(fd)
    prompt[3] &= ~(termios.ECHO | termios.ICANON)  # as line editors do
    termios.tcsetattr(fd, termios.TCSANOW, prompt)
    prompt = termios.tcgetattr(fd)
    captured.restore()
    assert termios.tcgetattr(fd) == prompt


def test_a_terminal_that_is_gone_is_left_alone():
    controller, fd = os.openpty()
    captured = Terminal.capture(fd)
    os.close(controller)
    os.close(fd)
    captured.restore()


def test_a_terminal_that_nobody_reads_does_not_block(pty):
    _, fd = pty
    captured = Terminal.capture(fd)
    tty.setraw(fd)
    os.set_blocking(fd, False)
    with pytest.raises(BlockingIOError):
        fill(fd)
    os.set_blocking(fd, True)
    captured.restore()
    assert termios.tcgetattr(fd)[3] & termios.ICANON


def fill(fd):
    while True:
        os.write(fd, b"x" * 4096)


def test_the_resets_undo_what_textual_switches_on():
    for mode in (b"1000", b"1003", b"1015", b"1006", b"1004", b"2004", b"1049"):
        assert b"\x1b[?" + mode + b"l" in RESETS
    assert b"\x1b[<u" in RESETS
    assert RESETS.index(b"\x1b[<u") < RESETS.index(b"\x1b[?1049l")
    assert RESETS.endswith(b"\x1b[?25h")
