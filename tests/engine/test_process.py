from __future__ import annotations

import signal

import pytest

from jaxtui.engine.process import how_ended
from jaxtui.engine.protocol import Envelope, decode_envelope, encode
from jaxtui.engine.server import engine_environment
from jaxtui.model import Logged


def test_the_environment_of_an_engine():
    base = {
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "JAX_PLATFORMS": "cuda",
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "HOME": "/x",
    }
    # A warm cache never leaks in; what the user has set otherwise stays.
    changed = {**base, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    assert engine_environment(base) == changed
    assert engine_environment({})["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert engine_environment(base, cpu_devices=8) == {
        **changed,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "8",
    }


@pytest.mark.parametrize(
    ("returncode", "says"),
    [
        (-signal.SIGABRT, "crashed (SIGABRT)"),
        (-signal.SIGKILL, "was killed (SIGKILL; when memory runs out, the kernel does"),
        (-signal.SIGTERM, "was ended (SIGTERM)"),
        (7, "ended by itself (exit code 7)"),
        (-99, "crashed (signal 99)"),
        (None, "stopped answering"),
    ],
)
def test_an_end_is_told_in_words(returncode, says):
    assert how_ended(returncode).startswith(says)


def test_text_that_is_no_utf8_crosses_the_pipe():
    line = encode(Envelope(generation=1, run=None, event=Logged(line="caf\udce9")))
    assert decode_envelope(line).event.line == "caf?"
