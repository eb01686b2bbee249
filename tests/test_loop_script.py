"""The script of a loop: what it says for each style, and that it runs by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtui.model import LOOP_STYLES, Case, Loop, LoopStyle, PlannedCase
from jaxtui.scripts.loops import loop_script

SETUP = "import time\n\nf = abs\nargs = [-1]\n"


def planned(
    setup: str = SETUP, case: Case | None = None, own: bool = False
) -> PlannedCase:
    """The plan of a case as far as a script needs it."""
    return PlannedCase(
        case=case or loop().case,
        memory_bytes=0,
        host_memory_bytes=0,
        flops=None,
        bytes=None,
        own=own,
        setup=setup,
    )


def loop(**changes: Any) -> Loop:
    case = Case(op="matmul", size=64, dtype="float32", device="cpu:0", mode="jit")
    return Loop(**({"case": case, "calls": 5} | changes))


@pytest.mark.parametrize("style", LOOP_STYLES)
@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_scripts_of_every_style_are_python_and_short(
    style: LoopStyle, chained: bool, own: bool
) -> None:
    text = loop_script(loop(style=style, chained=chained), planned(own=own))
    compile(text, "script", "exec")
    assert SETUP in text
    assert "range(5)" in text
    assert ("f(x, *rest)" in text) == chained
    assert "jaxtui" not in text
    assert len(text.splitlines()) < 36
    assert max(map(len, text.splitlines())) <= 88


def body(style: LoopStyle, own: bool = False) -> str:
    """What stands between the two readings of the stopwatch."""
    text = loop_script(loop(style=style), planned(own=own))
    begin = text.index("start = time")
    return text[begin : text.index("stopwatch = time")]


def test_each_style_waits_where_it_says() -> None:
    assert "block_until_ready" not in body("never")
    assert "asarray" not in body("never")
    assert body("end").rstrip().endswith("    result.block_until_ready()")
    assert "        result.block_until_ready()" in body("each")
    assert "        np.asarray(result)" in body("asarray")
    assert "print(result" in body("print")


def test_results_of_ones_own_may_be_trees() -> None:
    assert "block_until_ready" not in body("never", own=True)
    assert body("end", own=True).rstrip().endswith("jax.block_until_ready(result)")
    assert "        jax.block_until_ready(result)" in body("each", own=True)
    assert "        jax.device_get(result)" in body("asarray", own=True)
    assert "print(min(arrays" in body("print", own=True)


def test_one_call_is_one_call() -> None:
    text = loop_script(loop(calls=1, style="end"), planned())
    assert text.startswith('"""matmul 64 float32 jit on cpu:0: 1 call, waiting once')


@pytest.mark.parametrize(
    ("style", "chained", "changes"),
    [
        ("never", True, {}),
        ("print", False, {"mode": "eager", "inputs": "host", "dtype": "float64"}),
    ],
)
def test_the_script_runs_with_nothing_but_jax_and_numpy(
    tmp_path: Path, style: LoopStyle, chained: bool, changes: dict[str, Any]
) -> None:
    from jaxtui.measure.script import setup

    asked = loop(style=style, chained=chained)
    fields = {name: getattr(asked.case, name) for name in Case.__struct_fields__}
    asked = loop(style=style, chained=chained, case=Case(**(fields | changes)))
    script = loop_script(asked, planned(setup(asked.case), asked.case))
    (tmp_path / "loop.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "loop.py"],
        cwd=tmp_path,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    found = re.fullmatch(r"stopwatch (\S+) s\ntrue (\S+) s\n", done.stdout)
    assert found is not None, done.stdout
    assert 0 < float(found[1]) <= float(found[2])
