"""Lines of progress, terminals of ASCII, completion, and what an option makes known."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from msgspec.structs import replace

from jaxtui import cli
from jaxtui.core.engine.process import engine_command
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    CaseStarted,
    Event,
    Experiment,
    Inspection,
    PhaseStarted,
    Progress,
    Snippet,
    Work,
)
from jaxtui.core.state import EMPTY, State, begin_run, reduce
from jaxtui.core.text import PLAIN
from jaxtui.ui.commands.output import Exports, close
from jaxtui.ui.commands.progress import live_line
from jaxtui.ui.commands.terminal import print_stdout, say
from tests.fake_engine import FakeEngine, up
from tests.ui.commands.fakes import complete, run


def told(*events: Event, work: Work | None = None) -> State:
    state = begin_run(EMPTY, 1, "bench", work) if work else EMPTY
    for event in events:
        number = None if event in up() else 1
        state = reduce(state, Envelope(generation=1, run=number, event=event))
    return state


CASE = Case(op="a", size=1, dtype="d", device="cpu:0", mode="jit")
HALF = Progress(elapsed_seconds=2.0, remaining_seconds=8.0, doing="compiling a")
SPENT = Progress(elapsed_seconds=2.0, remaining_seconds=0.0, doing="compiling a")
COMPILES = (
    CaseStarted(index=0, case=CASE),
    HALF,
    PhaseStarted(index=0, phase="compile"),
)
EXPERIMENT = Experiment(cases=(CASE,))


LINES = {
    "jax starts": (EMPTY, 0.0),
    "ready": (told(*up()), 0.0),
    "a snippet": (told(*up(), work=Snippet(title="a", setup="", parts=())), 0.0),
    "between events": (told(HALF, work=EXPERIMENT), 3.0),
    # A full bar, or nothing left, would say that it is done.
    "overdue": (told(HALF, work=EXPERIMENT), 99.0),
    "a compile has a clock": (told(*COMPILES, work=EXPERIMENT), 30.0),
    "a budget waits for it": (
        told(*COMPILES, work=replace(EXPERIMENT, budget_seconds=10.0)),
        30.0,
    ),
    "without a budget": (told(SPENT, work=Inspection(case=CASE)), 88.0),
}
"""A state, and the seconds since its last event."""


def test_a_terminal_of_ascii_reads_well(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {}
    for name in ("stdout", "stderr"):
        raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=PLAIN)
        streams[name] = raw
        monkeypatch.setattr(f"sys.{name}", raw)
    say("██░░ 12 µs ± 3 % × 2")
    print_stdout("box · jax 0.12.0 — a…b ≥ 2, 0.65–1.63 ms ╭─╮ ⣿")
    for raw in streams.values():
        raw.flush()
    assert streams["stderr"].buffer.getvalue() == b"##-- 12 us ? 3 % x 2\n"
    printed = streams["stdout"].buffer.getvalue()
    assert printed == b"box - jax 0.12.0 - a.b ? 2, 0.65-1.63 ms +-+ *\n"


@pytest.mark.parametrize(
    ("words", "incomplete", "offered"),
    [
        ([], "be", {"bench"}),
        (["bench", "matmul", "--dtype"], "bf", {"bfloat16"}),
        (["bench", "matmul", "--mode"], "jit,nu", {"jit,numpy"}),
        (["bench", "matmul", "--device"], "t", {"tpu"}),
        (["check", "--level"], "", {"quick", "full"}),
        (["devices", "--topology"], "2x", {"2x-v5litepod-8"}),
        (["learn"], "clo", {"clock"}),
        (["hlo", "selu", "--stage"], "s", {"stablehlo"}),
    ],
)
def test_a_shell_completes(
    words: list[str], incomplete: str, offered: set[str]
) -> None:
    shell = ShellComplete(cli.cli, {}, "jaxtui", "_JAXTUI_COMPLETE")
    found = {one.value for one in shell.get_completions(words, incomplete)}
    assert found == offered


def test_options_before_or_after_a_command_reach_the_engine() -> None:
    engine = FakeEngine(complete)
    python = "ssh 'a box' python3"
    assert run(engine, "--cpu-devices", "2", "devices", "--python", python) == 0
    assert engine.options is not None
    assert engine.options.command == engine_command(("ssh", "a box", "python3"))
    assert engine.options.cpu_devices == 2
    assert engine.options.start_limit_seconds == 180
    assert run(engine, "--start-limit", "9", "devices", "--start-limit", "0") == 0
    assert engine.options.start_limit_seconds == 0
    assert run(engine, "bench", "selu", "--memory", "fresh", "--no-history") == 0
    assert engine.options.environment


@pytest.mark.parametrize(
    ("code", "lost", "files", "ended"),
    [
        (0, False, (), 0),
        (1, False, (), 1),
        (0, True, (), 1),
        # What was found out before the engine was lost stays.
        (2, True, (), 2),
        (0, False, ("a.csv", "b.csv"), 0),
        # One that cannot be written does not keep the next from being written.
        (0, False, ("no folder/a.csv", "b.csv"), 3),
        (2, True, ("no folder/a.csv", "b.csv"), 3),
    ],
)
def test_the_exit_code_is_that_of_the_worst_and_every_file_is_tried(
    tmp_path: Path, code: int, lost: bool, files: tuple[str, ...], ended: int
) -> None:
    paths = tuple(tmp_path / file for file in files)
    assert ended == close(
        document=None,
        text=lambda: "text",
        as_json=False,
        code=code,
        lost=lost,
        contents=lambda: {".csv": lambda: "a,b"},
        exports=Exports(paths),
    )
    assert [path.exists() for path in paths] == [
        path.parent == tmp_path for path in paths
    ]


async def test_what_is_too_wide_for_the_terminal_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = io.StringIO()
    stderr.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", stderr)
    monkeypatch.setattr("jaxtui.ui.commands.progress.REDRAW_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "9")
    for terminal, written in (("xterm", "\r0\\x1bxxx\x1b[K\r\x1b[K"), ("dumb", "")):
        monkeypatch.setenv("TERM", terminal)
        stderr.truncate(0)
        stderr.seek(0)
        async with live_line(lambda _: f"0\x1b{'x' * 99}"):
            for _ in range(3):
                await asyncio.sleep(0)
        say("done")
        text = stderr.getvalue()
        assert text.endswith(f"{written[-4:]}done\n")
        assert ("\r0\\x1bxxx\x1b[K" in text) == bool(written)
        assert set(text) <= set(f"{written}done\n")
