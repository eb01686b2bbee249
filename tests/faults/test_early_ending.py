"""Ctrl-C before jaxtui has its handlers: it ends without a word."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.processes import python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks as it imports")

COPIED = """
import itertools, json, os, signal, sys
from jaxtui.__main__ import main
# Whoever starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
codes, program, moments = [], os.getpid(), itertools.count()

def copy(event, arguments):
    if event != "import" or os.getpid() != program or next(moments) % 3:
        return
    if child := os.fork():
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        signal.raise_signal(signal.SIGINT)

sys.addaudithook(copy)
sys.argv[1:] = ["--version"]
code = main()
if os.getpid() != program:
    os._exit(code)
with open("codes.json", "w") as file:
    json.dump(codes, file)
"""
"""A start of which a copy is interrupted at every third import."""


def test_ctrl_c_at_an_import_ends_it_without_a_word() -> None:
    ended = python("-c", COPIED)
    codes = json.loads(Path("codes.json").read_text())
    assert len(codes) > 20
    assert set(codes) == {130}
    assert ended.stderr == ""
