"""The command line: what goes wrong with an engine, and processes of its own."""

from __future__ import annotations

import errno
import json
import os
import sys

import pexpect
import pytest

from jaxtui import cli
from jaxtui.core.model import EngineFailed, Event, Experiment
from tests.fake_engine import FakeEngine
from tests.processes import (
    FAKE_PYTHON,
    LIMIT_SECONDS,
    alive,
    children,
    jaxtui,
    wait_until,
)
from tests.records import told
from tests.ui.commands.fakes import run


def test_an_engine_that_dies_at_the_start_gives_its_last_words_with_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "F0000 Check failed"
    died = EngineFailed(remark=told("It crashed.", "", words))
    engine = FakeEngine(opening=[died])
    assert run(engine, "bench", "matmul", "--json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "F0000 Check failed" in err


def test_a_mistake_of_our_own_gives_70_and_its_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def wrong(experiment: Experiment) -> list[Event]:
        raise ZeroDivisionError

    engine = FakeEngine(wrong)
    assert run(engine, "bench", "matmul") == 70
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert err.splitlines()[-1].startswith("jaxtui: ")
    assert "close" in engine.calls


@pytest.mark.parametrize("typed", ["devices --topology v5e:4x8", "hlo selu"])
def test_a_python_that_is_not_there_gives_3(
    capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    assert cli.main([*typed.split(), "--python", "/no/such/python -x"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("jaxtui: ")
    assert "/no/such/python" in line
    assert os.strerror(errno.ENOENT) in line


def test_ascii_output_has_no_traceback() -> None:
    done = jaxtui("learn", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "jaxtui learn clock" in done.stdout


def test_real_bench_ends_every_case_as_a_measurement_or_a_named_failure() -> None:
    done = jaxtui(
        *("bench", "matmul:64", "sigmoid:1e3", "--dtype", "float32,int32"),
        *("--mode", "jit,numpy", "--budget", "0.5", "--json"),
    )
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert len(document["measurements"]) == 6
    assert all(one["ready"]["median"] > 0 for one in document["measurements"])
    assert [
        (one["case"]["op"], one["case"]["dtype"], bool(one["error"]))
        for one in document["failures"]
    ] == [("sigmoid", "int32", True)] * 2


def test_in_a_terminal_there_is_progress_and_ctrl_c_leaves_a_plot_and_no_engine() -> (
    None
):
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "bench", "long", "--python", FAKE_PYTHON],
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=LIMIT_SECONDS,
    )
    child.expect("at most")
    engines = children(child.pid)
    child.sendintr()
    child.expect("time per call")
    child.expect("long .*float32")
    child.expect("Interrupted: ")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert engines
    wait_until(lambda: not any(map(alive, engines)), "the end of the engine")
