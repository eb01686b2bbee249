"""However the UI ends, no engine is left."""

from __future__ import annotations

import os
import select
import signal
import sys

import pytest

from tests.processes import FAKE_PYTHON, LIMIT_SECONDS, ROOT, Running, children

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")


@pytest.mark.parametrize("op", ["stuck", "gil"])
def test_the_engine_of_a_ui_that_was_killed_ends(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FAKE_OPS", op)
    # Its second turn comes right after the first.
    ui = Running("bench", f"{op}:2", "--mode", "jit", "--python", FAKE_PYTHON)
    ui.until("turns")
    (engine,) = children(ui.process.pid)
    watch = os.pidfd_open(engine)
    ui.signal(signal.SIGKILL)
    gone = bool(select.select((watch,), (), (), LIMIT_SECONDS)[0])
    os.close(watch)
    if not gone:
        os.kill(engine, signal.SIGKILL)
    ui.ended()
    assert gone
