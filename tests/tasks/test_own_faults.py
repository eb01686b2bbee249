"""What a file of the user's own may do to the engine: it costs its own case alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.core.engine import active

FINE = "def f(x):\n    return x + 1\n"

FILES = {
    "fine": FINE,
    "prints": """\
import sys, threading
def chatter():
    while True:
        print("x" * 3000)
threading.Thread(target=chatter, daemon=True).start()
def f(x):
    print('{"event": {"type": "RunFinished"}}', file=sys.__stdout__)
    sys.stderr.write("no end of this line")
    return x + 1
""",
    "closes": f"""\
import os, sys
sys.stdout.close()
sys.stderr = sys.stdin = None
sys.argv.clear()
sys.path.clear()
os.environ.clear()
os.chdir("/")
{FINE}""",
    "exits": """\
import sys
calls = []
def f(x):
    calls.append(1)
    if len(calls) > 9:
        sys.exit("enough")
    return x + 1
""",
    "replaces": f"""\
import time, jax, jax.numpy as jnp, numpy as np
jnp.dot = jnp.matmul = None
np.median = np.quantile = None
time.perf_counter = time.perf_counter_ns = time.monotonic = lambda: 0
{FINE}""",
    "ends": "import sys\nsys.exit('no')\n",
    "hangs": """\
import time
while True:
    print('still here', flush=True)
    time.sleep(0.05)
""",
    "traces": """\
import time
def f(x):
    while True:
        time.sleep(0.05)
""",
    "pipes": f"import os\nos.closerange(3, 100)\n{FINE}",
    "stays": """\
import time
calls = []
def f(x):
    calls.append(1)
    while len(calls) > 9:
        time.sleep(0.05)
    return x + 1
""",
}
LIMIT = """\
import resource
import numpy as np
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + {room}
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
kept = []
def f(x):
"""
FILES["leaks"] = f"""{LIMIT.format(room=4 << 30)}\
    kept.append(np.empty(128 << 20, np.uint8))
    return x + 1
"""
FILES["leaks_everything"] = f"""{LIMIT.format(room=1 << 28)}\
    size = 1 << 20
    while size > 8:
        try:
            kept.append(np.empty(size, np.uint8))
        except MemoryError:
            size //= 2
    return x + 1
"""

Bench = Callable[..., tuple[set[str], dict[str, dict[str, Any]]]]
FAILED = {"code", "facts", "detail"}


@pytest.fixture
def bench(write: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> Bench:
    """Names of the files that were measured, and the failures of the others."""

    def bench(
        *names: str, budget: str = "1"
    ) -> tuple[set[str], dict[str, dict[str, Any]]]:
        functions = [
            f"{write(FILES.get(name, FINE), f'{name}.py')}:"
            f"{'nope' if name == 'missing' else 'f'}"
            for name in names
        ]
        options = ("--arg", "f32[8]", "--mode", "eager", "--budget", budget)
        code = cli.main(["bench", *functions, *options, "--cpu-devices", "1", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert code == (1 if found["failures"] else 0)
        named = dict(zip(functions, names, strict=True))
        return {named[one["case"]["op"]] for one in found["measurements"]}, {
            named[one["case"]["op"]]: one for one in found["failures"]
        }

    return bench


def test_what_the_engine_survives_costs_one_case_at_most(bench: Bench) -> None:
    harmless = ("prints", "replaces", "fine")
    # What has no memory left cannot import a file.
    bad = ("exits", "ends", "missing")
    measured, failed = bench(*bad, *harmless, "leaks", budget="2")
    assert measured == {*harmless}, failed
    assert {*failed} == {*bad, "leaks"}
    lines = [(failed[x]["code"], failed[x]["facts"]["line"]) for x in bad[:2]]
    assert lines == [("exit-called", 6), ("exit-called", 2)]
    assert "exits.py" in failed["exits"]["detail"]
    assert "jaxtui" not in failed["exits"]["detail"]
    assert failed["missing"]["code"] == "function-missing"
    leaks = failed["leaks"]
    assert leaks["code"] == "out-of-memory"
    assert {"found_by": "host", "own": True}.items() <= leaks["facts"].items()
    assert "MemoryError" in leaks["detail"]


def test_what_ends_the_engine_costs_one_case(bench: Bench) -> None:
    measured, failed = bench("pipes", "closes", "fine")
    assert measured == {"closes", "fine"}, failed
    assert [*failed] == ["pipes"]
    assert failed["pipes"]["code"] == "engine-died"
    assert "status" in failed["pipes"]["facts"]


def test_without_any_memory_left_every_case_still_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An engine that cannot even say that it has no memory is given up.
    monkeypatch.setattr(active, "PATIENCE_SECONDS", 5.0)
    measured, failed = bench("leaks_everything", "fine")
    assert {*measured, *failed} == {"leaks_everything", "fine"}
    assert failed["leaks_everything"]["error"]


def test_an_inspection_that_never_ends_is_given_up(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--arg", "f32[8]", "--limit", "1", "--cpu-devices", "1", "--json")
    assert cli.main(["hlo", f"{write(FILES['traces'])}:f", *options]) == 1
    failure = json.loads(capsys.readouterr().out)["failure"]
    facts = {"seconds": 1.0, "phase": "trace", "work": "inspection"}
    assert (failure["code"], failure["facts"]) == ("overdue", facts)


def test_what_never_comes_back_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for what the other case does on a busy machine.
    monkeypatch.setattr(active, "PATIENCE_SECONDS", 1.0)
    measured, failed = bench("hangs", "stays", "fine")
    assert measured == {"fine"}
    assert {*failed} == {"hangs", "stays"}
    for one in failed.values():
        assert (one["code"], one["facts"]["work"]) == ("overdue", "experiment")
    facts = {"seconds": 2.0, "phase": "import"}
    assert facts.items() <= failed["hangs"]["facts"].items()
