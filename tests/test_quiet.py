"""What keeps malloc out of timed windows."""

import re
import subprocess
import sys

import pytest

from jaxtui.scripts.allocator import SETTINGS, SETTLED

FAULTS = """
import ctypes, resource, sys, threading

{settle}

def calls():
    bytes(2**25 - 2**16)  # by default malloc maps nothing smaller by itself then
    held = [b"x" * {size} for _ in range(3)]  # one more needs a heap of its own
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        b"x" * {size}
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 50)

thread = threading.Thread(target=calls)
thread.start()
thread.join()
"""
"""Prints the page faults for each block that a thread allocates and frees."""

ENGINE = "from jaxtui.measure.quiet import settle_allocator\nsettle_allocator()"


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc only")
@pytest.mark.parametrize("settle", [SETTLED, ENGINE])
@pytest.mark.parametrize("size", [2**24, 2**26])
def test_a_thread_reuses_what_it_freed(settle: str, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(settle=settle, size=size)],
        capture_output=True,
        text=True,
        check=True,
    )
    pages = size / 4096
    assert float(done.stdout) < pages / 4  # all of them without it


def test_the_script_sets_what_the_engine_sets() -> None:
    found = re.findall(r"mallopt\((-\d+), (-?\d+)\)", SETTLED)
    assert {int(name): int(value) for name, value in found} == SETTINGS


GIVING = """
import pathlib
from jaxtui.measure.quiet import give_back, settle_allocator

def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

settle_allocator()
before = resident()
block, last = b"x" * 2**28, b"x" * 2**20
del block
kept = resident() - before
give_back()
print(kept, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc only")
def test_what_is_kept_can_be_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GIVING], capture_output=True, text=True, check=True
    )
    kept, left = map(int, done.stdout.split())
    assert kept >= 2**28
    assert left < 2**24
