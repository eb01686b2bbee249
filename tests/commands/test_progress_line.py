"""The line that says how far a run is."""

from __future__ import annotations

from jaxtui.commands.terminal import progress_line
from jaxtui.engine.protocol import Envelope
from jaxtui.model import Case, Experiment, Progress
from jaxtui.state import EMPTY, reduce
from tests.commands.fakes import began


def test_the_progress_line_counts_on_between_events() -> None:
    state = EMPTY
    assert progress_line(state, 0.0, 80, ascii_only=True) == "starting JAX, 0 s"
    experiment = Experiment(
        cases=(Case(op="a", size=1, dtype="d", device="cpu:0", mode="jit"),)
    )
    doing = Progress(elapsed_seconds=2.0, remaining_seconds=8.0, doing="compiling a")
    for event in (*began(experiment), doing):
        state = reduce(state, Envelope(generation=1, run=1, event=event))
    line = progress_line(state, 3.0, 80, ascii_only=True)
    assert line == "##########---------- 5 s, at most 5 s left  compiling a"
    assert progress_line(state, 99.0, 80, ascii_only=True).startswith("#" * 20)
    assert len(progress_line(state, 3.0, 30, ascii_only=False)) <= 30
