"""``jaxtui profile`` of real functions, programs and traces."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import msgspec
import pytest

from jaxtui.features.profile.report.document import ProfileDocument
from tests.processes import ROOT, Running
from tests.processes import ended as jaxtui
from tests.tasks.spaces import Line, Plane, event, space

MINE = """
import jax, jax.numpy as jnp

def dense(x, w):
    return jnp.tanh(x @ w)

def step(x, w):
    return dense(dense(x, w), w).sum()

def step_args():
    return jnp.ones((512, 512)), jnp.ones((512, 512))
"""

PROGRAM = """
import sys
import mine
import jax

f, args = jax.jit(mine.step), mine.step_args()
for _ in range(20):
    f(*args).block_until_ready()
print("arguments", *sys.argv[1:], __name__, sys.path[0].rpartition("/")[2])
sys.exit(7)
"""

WITHOUT_JAX = "print('hello')"
RAISES = "import jax.numpy as jnp\njnp.ones(3).block_until_ready()\n1 / 0\n"
LOST = (
    "import os, jax.numpy as jnp\njnp.ones(3).block_until_ready()\n"
    "os.kill(os.getpid(), 9)\n"
)
TRACES_ITSELF = """
import jax, jax.numpy as jnp, sys
f = jax.jit(lambda x: x @ x)
x = jnp.ones((64, 64))
f(x).block_until_ready()
import time; time.sleep(0.3)
with jax.profiler.trace(sys.argv[1]):
    f(x).block_until_ready()
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    return folder


def profile(tmp_path: Path, *typed: object) -> Any:
    return jaxtui("profile", *typed, data=tmp_path / "data")


def test_a_function_by_its_lines(mine: Path, tmp_path: Path) -> None:
    done = profile(tmp_path, f"{mine}/mine.py:step", "--steps", 3, "--json")
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode(done.stdout, type=ProfileDocument)
    assert document.steps == 3
    spent = sum(row.self_seconds for row in document.rows)
    assert spent + (document.idle_seconds or 0) == pytest.approx(document.step_seconds)
    assert document.unprofiled_seconds
    lines = {one for row in document.rows for one in row.lines}
    assert {Path(one.file).name for one in lines} == {"mine.py"}
    assert 5 in {one.line for one in lines}
    if jax.__version_info__ >= (0, 8, 3):
        assert "dense" in {one.function for one in lines if one.line == 5}


def test_an_op_and_its_files(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    files = [tmp_path / f"found.{ending}" for ending in ("json", "csv", "md", "svg")]
    exports = [word for file in files for word in ("--export", file)]
    code, out, err = run("profile", "selu:100000", "--by", "op", *exports)
    assert (code, all(file.stat().st_size for file in files)) == (0, True), err
    assert "idle" in out
    trace = ROOT / "tests/golden/kept/trace.xplane.pb"
    code, out, _ = run("profile", "--load", trace, "--diff", files[0], "--by", "op")
    assert code == 0
    assert re.search(r"[+−]", out)


def test_a_program_is_run_as_it_is(mine: Path, tmp_path: Path) -> None:
    (mine / "train.py").write_text(PROGRAM)
    done = profile(
        tmp_path, "--by", "function", mine / "train.py", "--lr", "0.1", "--json"
    )
    assert done.returncode == 3, done.stderr
    assert "train.py ended with exit status 7." in done.stderr
    assert "arguments --lr 0.1 --json __main__ work\n" in done.stdout
    assert "mine.py:dense" in done.stdout
    assert "script.py" not in done.stdout


def test_a_program_that_awaits_nothing_has_a_profile(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text((ROOT / "tests/golden/kept/train.py").read_text())
    done = profile(tmp_path, "--json", program)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["steps"] == 3
    # Its output leaves stdout to the document.
    assert done.stderr.count("step ") == 3
    assert any(row["lines"] for row in found["rows"])


@pytest.mark.parametrize(
    ("program", "status", "reason"),
    [
        (WITHOUT_JAX, 0, "program-without-jax"),
        (
            "import jax\njax.config.update('jax_platforms', 'no')\njax.devices()",
            1,
            "program-failed",
        ),
        (RAISES, 1, "no-kernels"),
        (LOST, 137, "program-lost"),
    ],
)
def test_a_program_that_shows_nothing(
    program: str, status: int, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "program.py"
    file.write_text(program)
    done = profile(tmp_path, "--json", file)
    assert done.returncode == (3 if status else 1), done.stderr
    assert (f"ended with exit status {status}." in done.stderr) == bool(status)
    found = json.loads(done.stdout)
    failure = found["failure"]
    if reason == "no-kernels" and failure is None:
        assert found["rows"]  # the array itself was computed
    else:
        assert failure["code"] == reason
    assert "jaxtui" not in re.sub(r"jaxtui(-\w+|: )", "", done.stderr)


@pytest.mark.skipif(
    jax.__version_info__ < (0, 7),
    reason="a trace of this jax says neither devices nor, as it is by default, kernels",
)
def test_a_program_that_profiles_itself_does(mine: Path, tmp_path: Path) -> None:
    (mine / "own.py").write_text(TRACES_ITSELF)
    done = profile(tmp_path, "--json", mine / "own.py", tmp_path / "theirs")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]
    theirs = profile(tmp_path, "--load", tmp_path / "theirs", "--json")
    assert theirs.returncode == 0
    assert json.loads(theirs.stdout)["rows"]


def test_a_program_that_never_ends_is_shown_and_interrupted(
    mine: Path, tmp_path: Path
) -> None:
    (mine / "ever.py").write_text(PROGRAM.replace("range(20)", "iter(int, 1)"))
    printed = tmp_path / "printed"
    with printed.open("w") as stdout:
        ever = Running("profile", "--for", "1", str(mine / "ever.py"), stdout=stdout)
        ever.until(lambda: "mine.py:5" in printed.read_text())
        ever.signal(signal.SIGINT)
        assert ever.process.wait(60) == 130


# Traces of others.


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello, this is no trace", "trace-damaged"),
        (b"", "no-kernels"),
        (space(Plane("/host:CPU", (Line("python", ()),))), "no-kernels"),
        (space(Plane("/device:TPU:0"))[:-3], "trace-damaged"),
    ],
)
def test_a_trace_that_shows_nothing(
    content: bytes,
    reason: str,
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(content)
    code, out, _ = run("profile", "--load", file, "--json")
    assert (code, json.loads(out)["failure"]["code"]) == (1, reason)


def test_a_trace_without_programs_has_ops(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    hostile = "dot.1\x1b[2J"
    known = {"hlo_op": hostile, "hlo_module": "jit_f", "program_id": 1, "run_id": 1}
    ran = Line("a thread", (event(hostile, 0, 10**9, **known),))
    (tmp_path / "run").mkdir()
    for host in ("a", "b"):
        file = tmp_path / "run" / f"{host}.xplane.pb"
        file.write_bytes(space(Plane("/host:CPU", (ran,))))
    code, out, _ = run("profile", "--load", tmp_path)
    assert code == 0
    assert "\x1b" not in out
    code, out, _ = run("profile", "--load", tmp_path, "--json")
    codes = {note["flag"] for note in json.loads(out)["notes"]}
    assert {"trace-of-several-hosts", "no-lines", "one-step"} <= codes


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "matmul selu",
        "matmul --load x",
        "matmul --after 3",
        "matmul --for 3",
        "matmul --by colour",
        "matmul --steps 0",
        "--steps 3 nothing.py",
        "nothing.py",
        "matmul --diff /nowhere.json",
        "--load x --steps 3",
        "--load /nowhere",
        "--json --load /nowhere.xplane.pb",
        "matmul --export a.py",
    ],
)
def test_what_makes_no_sense(
    typed: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, err = run("profile", *typed.split())
    assert (code, out) == (64, "")
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(
    jax.__version_info__ < (0, 7),
    reason="a trace of this jax says neither devices nor, as it is by default, kernels",
)
def test_what_runs_on_several_devices_is_profiled_on_all(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def total(x):\n    return x.sum()\n")
    typed = "--mesh 2 --arg f32[64,64]@x,- --cpu-devices 2 --json"
    done = profile(tmp_path, f"{own}:total", *typed.split())
    assert done.returncode == 0, done.stderr
    document = msgspec.json.decode(done.stdout, type=ProfileDocument)
    assert document.devices == ("cpu:0", "cpu:1")
    exchanges = [row.count for row in document.rows if row.kind == "collective"]
    assert sum(exchanges) == 2


def test_a_program_needs_a_python_that_starts(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    done = profile(tmp_path, "--python", tmp_path / "no-python", script)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
