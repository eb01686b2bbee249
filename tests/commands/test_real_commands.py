"""Commands in processes and terminals of their own."""

from __future__ import annotations

import json
import sys

import pexpect

from tests.processes import (
    FAKE_PYTHON,
    LIMIT_SECONDS,
    alive,
    children,
    jaxtui,
    wait_until,
)


def test_real_bench_ends_every_case_as_a_measurement_or_a_named_failure() -> None:
    done = jaxtui(
        *("bench", "matmul:64", "sigmoid:1e3", "--dtype", "float32,int32"),
        *("--mode", "jit,numpy", "--budget", "2", "--json"),
    )
    document = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert len(document["measurements"]) + len(document["failures"]) == 8
    refused = {
        (failure["case"]["op"], failure["case"]["dtype"])
        for failure in document["failures"]
    }
    assert refused == {("sigmoid", "int32")}
    assert all(failure["error"] for failure in document["failures"])
    assert all(one["ready"]["median"] > 0 for one in document["measurements"])
    assert done.stderr == ""


def test_ascii_output_has_no_traceback() -> None:
    done = jaxtui("learn", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "jaxtui learn clock" in done.stdout


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
    child.expect("long +1 +float32")
    child.expect("seconds per call")
    child.expect("Interrupted: this is what had arrived.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert engines
    wait_until(lambda: not any(map(alive, engines)), "the end of the engine")
