"""INT, TERM and HUP: what had arrived is printed, exported and kept."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from jaxtui.core.history.store import History
from tests.processes import (
    FAKE_PYTHON,
    LIMIT_SECONDS,
    Running,
    alive,
    children,
    documents,
    wait_until,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes of a size")

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


BENCH = ("bench", "long", "--size", "1..8", "--mode", "jit", "--python", FAKE_PYTHON)
"""Four cases, and no end."""


def test_a_closed_connection_leaves_a_bench_its_file_and_a_history_that_stays() -> None:
    bench = Running(*BENCH, "--export", "out.json")
    bench.until("turns")
    bench.hang_up()
    assert bench.process.wait(LIMIT_SECONDS) == 129
    found = json.loads(Path("out.json").read_text())
    assert not found["complete"]
    kept = History().count()
    assert kept == len(found["measurements"]) > 0

    asked = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "history", "long", "--delete"],
        timeout=LIMIT_SECONDS,
    )
    asked.expect(r"for good. Go on\?")
    asked.sendintr()
    asked.expect("Nothing was deleted")
    asked.expect(pexpect.EOF)
    asked.close()
    assert asked.exitstatus == 130
    assert History().count() == kept


def test_a_terminated_bench_prints_and_writes_what_had_arrived() -> None:
    bench = Running(*BENCH, "--no-history", "--json", "--export", "out.csv")
    bench.until("turns")
    bench.signal(TERM)
    code, out = bench.ended()
    assert code == 143
    (document,) = documents(out)
    ended = document["measurements"] + document["failures"]
    assert len(ended) == 4
    assert "Interrupted: these are the results so far." in bench.said
    assert Path("out.csv").read_text().count("long") >= 4


@pytest.mark.parametrize(
    ("arguments", "began", "number", "ends"),
    [
        (("learn", "clock"), "at most", TERM, ""),
        (("check",), r"[2-9] of \d+ ", HUP, "Interrupted"),
    ],
)
def test_a_signal_in_any_run_leaves_one_document(
    arguments: tuple[str, ...], began: str, number: int, ends: str
) -> None:
    command = Running(*arguments, "--json")
    command.until(began)
    command.signal(number)
    code, out = command.ended()
    assert code == 128 + number
    assert re.search(ends, command.said)
    (document,) = documents(out)
    assert document["host"]["hostname"]


@pytest.mark.parametrize(
    ("command", "ignored", "numbers", "code"),
    [
        ("bench matmul", (), (INT, TERM), 130),
        ("crossover matmul", (), (TERM,), 143),
        ("devices", (), (INT,), 130),
        ("check", (), (INT,), 130),
        ("learn clock", (), (INT,), 130),
        ("hlo matmul", (), (HUP,), 129),
        # A hangup that is ignored from the start stays ignored.
        ("ops", (HUP,), (HUP, TERM), 143),
    ],
)
def test_a_signal_before_jax_is_up_leaves_one_document_and_no_engine(
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    ignored: tuple[int, ...],
    numbers: tuple[int, ...],
    code: int,
) -> None:
    def ignore() -> None:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    monkeypatch.setenv("FAKE_START", "silent")
    words = (*command.split(), "--json", "--python", FAKE_PYTHON)
    running = Running(*words, preexec_fn=ignore)
    running.until(lambda: children(running.process.pid))
    (engine,) = children(running.process.pid)
    running.signal(*numbers)
    ended, out = running.ended()
    assert ended == code
    (document,) = documents(out)
    assert document.get("host") is None
    assert "Traceback" not in running.said
    wait_until(lambda: not alive(engine), "the end of the engine")


@pytest.fixture
def stuffed() -> Iterator[tuple[Running, int]]:
    """A command that prints more than its pipe holds, and the end that is not read."""
    read, write = os.pipe()
    room = fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    running = Running("ops", "--json", "--python", FAKE_PYTHON, stdout=write)
    os.close(write)

    def is_full() -> bool:
        waiting = fcntl.ioctl(read, termios.FIONREAD, bytes(4))
        return int.from_bytes(waiting, sys.byteorder) == room

    running.until(is_full)
    yield running, read
    os.close(read)


def test_ctrl_c_while_a_document_is_printed_leaves_it_whole(
    stuffed: tuple[Running, int],
) -> None:
    running, read = stuffed
    running.signal(INT)
    with open(read, encoding="utf-8", closefd=False) as pipe:
        (document,) = documents(pipe.read())
    assert running.ended()[0] == 130
    assert document["ops"]


def test_a_second_signal_ends_what_nobody_reads(stuffed: tuple[Running, int]) -> None:
    running, _ = stuffed
    running.signal(HUP, TERM)
    assert running.process.wait(LIMIT_SECONDS) == 129
