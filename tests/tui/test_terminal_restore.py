from __future__ import annotations

import os
import termios
import threading
import tty

import pytest

from jaxtui.tui.terminal import RESETS, restore, restored_if_killed


@pytest.fixture
def pty():
    controller, terminal = os.openpty()
    yield controller, terminal
    os.close(controller)
    os.close(terminal)


def test_attributes_and_modes_are_restored(pty):
    controller, fd = pty
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    restore(fd, before)
    assert termios.tcgetattr(fd) == before
    assert os.read(controller, 1 << 16) == RESETS


def test_what_is_no_terminal_is_left_alone():
    read, write = os.pipe()
    with restored_if_killed(read):
        pass
    os.close(read)
    os.close(write)


def test_a_terminal_that_the_shell_has_taken_back_keeps_its_attributes(pty):
    _, fd = pty
    before = termios.tcgetattr(fd)
    prompt = termios.tcgetattr(fd)
    prompt[3] &= ~(termios.ECHO | termios.ICANON)  # as line editors do
    termios.tcsetattr(fd, termios.TCSANOW, prompt)
    prompt = termios.tcgetattr(fd)
    restore(fd, before)
    assert termios.tcgetattr(fd) == prompt


def test_a_terminal_that_is_gone_is_left_alone():
    controller, fd = os.openpty()
    before = termios.tcgetattr(fd)
    os.close(controller)
    restore(fd, before)
    os.close(fd)


def test_a_terminal_that_nobody_reads_is_given_up_when_it_hangs_up():
    controller, fd = os.openpty()
    before = termios.tcgetattr(fd)
    os.set_blocking(fd, False)
    with pytest.raises(BlockingIOError):
        fill(fd)
    restoring = threading.Thread(target=restore, args=(fd, before))
    restoring.start()
    os.close(controller)
    restoring.join(30)
    assert not restoring.is_alive()
    os.close(fd)


def fill(fd):
    while True:
        os.write(fd, b"x" * 4096)


def test_the_resets_undo_what_textual_switches_on():
    for mode in (b"1000", b"1003", b"1015", b"1006", b"1004", b"2004", b"1049"):
        assert b"\x1b[?" + mode + b"l" in RESETS
    assert b"\x1b[<u" in RESETS
    assert RESETS.index(b"\x1b[<u") < RESETS.index(b"\x1b[?1049l")
    assert RESETS.endswith(b"\x1b[?25h")
