"""What a file of the user's own may do to the engine: it costs its own case alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.core.engine import active

BUDGET = "1"
"""Enough to prepare each of two on a busy machine, in two engines if need be."""

FINE = """
    def f(x):
        return x + 1
"""

PRINTS = """
    import sys
    import threading

    def chatter():
        while True:
            print("x" * 3000)

    threading.Thread(target=chatter, daemon=True).start()

    def f(x):
        print('{"event": {"type": "RunFinished"}}', file=sys.__stdout__)
        sys.stderr.write("no end of this line")
        return x + 1
"""

CLOSES = """
    import os
    import sys

    sys.stdout.close()
    sys.stderr = sys.stdin = None
    sys.argv.clear()
    sys.path.clear()
    os.environ.clear()
    os.chdir("/")

    def f(x):
        return x + 1
"""

EXITS = """
    import sys

    calls = 0

    def f(x):
        global calls
        calls += 1
        if calls > 9:
            sys.exit("enough")
        return x + 1
"""

REPLACES_JAX = """
    import time

    import jax
    import jax.numpy as jnp
    import numpy as np

    jnp.dot = jnp.matmul = None
    np.median = np.quantile = None
    time.perf_counter = time.perf_counter_ns = time.monotonic = lambda: 0

    def f(x):
        return x + 1
"""

ENDS = """
    import sys

    sys.exit('no')
"""

HANGS = """
    import time

    while True:
        print('still here', flush=True)
        time.sleep(0.05)
"""

TRACES_FOR_EVER = """
    import time

    def f(x):
        while True:
            time.sleep(0.05)
"""

CLOSES_PIPES = """
    import os

    os.closerange(3, 100)

    def f(x):
        return x + 1
"""

LIMIT = """
    import resource

    import numpy as np

    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + {room}
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    kept = []
"""

LEAKS = (
    LIMIT.format(room=4 << 30)
    + """
    def f(x):
        kept.append(np.empty(128 << 20, np.uint8))
        return x + 1
"""
)

LEAKS_EVERYTHING = (
    LIMIT.format(room=1 << 28)
    + """
    def f(x):
        size = 1 << 20
        while size > 8:
            try:
                kept.append(np.empty(size, np.uint8))
            except MemoryError:
                size //= 2
        return x + 1
"""
)

STAYS = """
    import time

    calls = 0

    def f(x):
        global calls
        calls += 1
        while calls > 9:
            time.sleep(0.05)
        return x + 1
"""


@pytest.fixture
def write(write: Callable[..., str]) -> Callable[[str, str], str]:
    return lambda text, name: f"{write(text, f'{name}.py')}:f"


def bench(
    capsys: pytest.CaptureFixture[str], *functions: str, budget: str
) -> tuple[set[str], dict[str, dict[str, Any]]]:
    """The functions that were measured, and the failures of the others."""
    options = ("--arg", "f32[8]", "--mode", "eager", "--budget", budget)
    code = cli.main(["bench", *functions, *options, "--cpu-devices", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == (1 if found["failures"] else 0)
    measured = {one["case"]["op"] for one in found["measurements"]}
    return measured, {one["case"]["op"]: one for one in found["failures"]}


def test_what_the_engine_survives_costs_one_case_at_most(
    write: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    exits, ends, leaks = (
        write(EXITS, "exits"),
        write(ENDS, "ends"),
        write(LEAKS, "leaks"),
    )
    harmless = [
        write(text, f"odd{number}")
        for number, text in enumerate((PRINTS, REPLACES_JAX, FINE))
    ]
    missing = harmless[-1].replace(":f", ":nope")
    # What has no memory left cannot import a file.
    functions = (exits, ends, missing, *harmless, leaks)
    measured, failed = bench(capsys, *functions, budget="2")
    assert measured == {*harmless}, failed
    assert {*failed} == {leaks, exits, ends, missing}
    assert (failed[exits]["code"], failed[exits]["facts"]["line"]) == (
        "exit-called",
        10,
    )
    assert "exits.py" in failed[exits]["detail"]
    assert "jaxtui" not in failed[exits]["detail"]
    assert (failed[ends]["code"], failed[ends]["facts"]["line"]) == ("exit-called", 4)
    assert failed[missing]["code"] != "function-raised"
    facts = {"found_by": "host", "own": True}
    assert failed[leaks]["code"] == "out-of-memory"
    assert facts.items() <= failed[leaks]["facts"].items()
    assert "MemoryError" in failed[leaks]["detail"]


def test_what_ends_the_engine_costs_one_case(
    write: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    bad, fine = write(CLOSES_PIPES, "bad"), write(FINE, "fine")
    closes = write(CLOSES, "closes")
    measured, failed = bench(capsys, bad, closes, fine, budget=BUDGET)
    assert measured == {closes, fine}, failed
    assert list(failed) == [bad]
    assert failed[bad]["code"] == "engine-died"
    assert "status" in failed[bad]["facts"]


def test_without_any_memory_left_every_case_still_ends(
    write: Callable[[str, str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # An engine that cannot even say that it has no memory is given up.
    monkeypatch.setattr(active, "PATIENCE_SECONDS", 5.0)
    leaks, fine = write(LEAKS_EVERYTHING, "leaks"), write(FINE, "fine")
    measured, failed = bench(capsys, leaks, fine, budget=BUDGET)
    assert {*measured, *failed} == {leaks, fine}
    assert all(one["error"] for one in failed.values())
    assert leaks in failed


def test_an_inspection_that_never_ends_is_given_up(
    write: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    hangs = write(TRACES_FOR_EVER, "endless")
    options = ("--arg", "f32[8]", "--limit", "1", "--cpu-devices", "1", "--json")
    assert cli.main(["hlo", hangs, *options]) == 1
    failure = json.loads(capsys.readouterr().out)["failure"]
    facts = {"seconds": 1.0, "phase": "trace", "work": "inspection"}
    assert (failure["code"], failure["facts"]) == ("overdue", facts)


def test_what_never_comes_back_is_given_up(
    write: Callable[[str, str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Long enough for what the other case does on a busy machine.
    monkeypatch.setattr(active, "PATIENCE_SECONDS", 1.0)
    hangs, stays = write(HANGS, "hangs"), write(STAYS, "stays")
    fine = write(FINE, "fine")
    measured, failed = bench(capsys, hangs, stays, fine, budget="1")
    assert measured == {fine}
    assert {*failed} == {hangs, stays}
    for one in failed.values():
        assert (one["code"], one["facts"]["work"]) == ("overdue", "experiment")
    assert failed[hangs]["facts"]["phase"] == "import"
    assert failed[hangs]["facts"]["seconds"] == 2.0
