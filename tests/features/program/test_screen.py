"""What XLA did, shown in the app: its texts, the search, and what can go wrong."""

from __future__ import annotations

import re

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Log, Static

from jaxtui.core.model import (
    Case,
    Event,
    Experiment,
    Inspected,
    Inspection,
    Remark,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.model.programs import EagerStep, Fusion, Program, ProgramMemory
from jaxtui.core.state import RUNNING
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.program.screen import ProgramScreen
from jaxtui.ui import words
from jaxtui.ui.app.app import JaxtuiApp
from tests.fake_engine import FakeEngine, begun
from tests.ui.app.driving import app_on, until, until_ready

HLO = """\
HloModule jit_selu

FileNames
1 "/home/somebody/selu.py"

StackFrames
1 {file_location_id=1}


%fused (p: f32[8]) -> f32[8] {
  ROOT %exp.1 = f32[8]{0} exponential(%p), metadata={op_name="jit(selu)/exp"}
}

ENTRY %main.1 (x: f32[8]) -> f32[8] {
  ROOT %fusion.1 = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
}
"""


def inspected(case: Case) -> Inspected:
    fusion = Fusion(name="fusion.1", kind="kLoop", operations={"exponential": 1})
    one = Program(
        kernels=1,
        instructions={"fusion": 1},
        fusions=(fusion,),
        xla_flops=40.0,
        xla_bytes=64.0,
        xla_transcendentals=8.0,
        memory=ProgramMemory(
            arguments_bytes=32,
            output_bytes=32,
            temporaries_bytes=0,
            aliased_bytes=0,
            program_bytes=0,
            peak_bytes=64,
        ),
    )
    return Inspected(
        case=case,
        device_kind="cpu",
        trace_seconds=1e-3,
        lower_seconds=2e-3,
        compile_seconds=3e-2,
        flops=48.0,
        bytes=64.0,
        program=one,
        steps=tuple(EagerStep(name=name, program=one) for name in ("exp", "mul")),
        jaxpr="\n".join(f"v{number} = mul x" for number in range(60)),
        stablehlo="module @jit_selu {\n}",
        hlo=HLO,
    )


def quiet_engine() -> FakeEngine:
    """One that says nothing but what the test emits, once an experiment has begun."""
    return FakeEngine(lambda work: begun(work) if isinstance(work, Experiment) else ())


def asked(engine: FakeEngine) -> Case:
    """The case of the last inspection."""
    work = engine.works[-1]
    assert isinstance(work, Inspection)
    return work.case


def answered(case: Case) -> list[Event]:
    started = RunStarted()
    finished = RunFinished(outcome="complete", elapsed_seconds=0.1)
    return [started, inspected(case), finished]


async def opened(pilot: Pilot[None], app: JaxtuiApp) -> ProgramScreen:
    await until_ready(pilot, app)
    app.panes["devices"].perform("program")
    await until(pilot, lambda: isinstance(app.screen, ProgramScreen))
    await until(pilot, lambda: app.session.state.running)
    screen = app.screen
    assert isinstance(screen, ProgramScreen)
    return screen


def text(screen: ProgramScreen) -> str:
    return "\n".join(screen.query_one(Log).lines)


def said(screen: ProgramScreen) -> str:
    return str(screen.query_one("#program-says", Static).content)


async def test_every_text_can_be_read_searched_and_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[tuple[str, str]] = []
    monkeypatch.setattr(JaxtuiApp, "copy_to_file", lambda _, *what: copied.append(what))
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        engine.emit_run(*answered(asked(engine)))
        await until(pilot, lambda: "kernel" in text(screen))
        assert "Eager: 2 kernels" in " ".join(text(screen).split())
        assert max(map(len, text(screen).splitlines())) <= 76
        await pilot.press("tab")
        assert text(screen).startswith("v0 = mul x")
        await pilot.press("tab")
        assert text(screen).startswith("module @jit_selu")
        await pilot.press("tab")
        assert "ENTRY %main.1" in text(screen)
        assert "metadata" not in text(screen)
        assert text(screen).splitlines()[2].startswith("%fused (p: f32[8])")
        await pilot.press("y")
        assert copied == [(HLO, "optimised.hlo.txt")]

        await pilot.press("shift+tab", "shift+tab", "slash", "V", "5", "enter")
        assert {"6", "60", "1", "11"} <= set(re.findall(r"\d+", said(screen)))
        await pilot.press("n", "n")
        assert {"52", "60", "3", "11"} <= set(re.findall(r"\d+", said(screen)))
        assert screen.query_one(Log).scroll_offset.y > 20
        await pilot.press("slash")
        assert screen.query_one(Input).content_size.height == 1
        assert screen.query_one("#program-says").region.bottom < 24
        screen.query_one(Input).value = "nowhere"
        await pilot.press("enter")
        assert "nowhere" in said(screen)
        await pilot.press("slash", "escape")
        assert app.screen is screen
        # The border names the case in a terminal of another size, too.
        await pilot.resize_terminal(70, 20)
        await pilot.pause()
        border = screen.query_one("#program-panel").border_subtitle
        assert border == asked(engine).label
        await pilot.press("escape")
        assert app.screen is not screen


async def test_what_cannot_be_compiled_is_said_and_leaving_ends_the_compile() -> None:
    engine = quiet_engine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, app)
        case = asked(engine)
        assert text(screen) == f"Compiling {case.label} …"
        remark = Remark("compiled-already", {"name": "step"}, "error", "E1")
        failed = WorkFailed(remark=remark)
        first, _, last = answered(case)
        engine.emit_run(first, failed, last)
        await until(pilot, lambda: "E1" in text(screen))
        assert text(screen) == f"{words.text(remark)}\nE1"
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ProgramScreen))

        await opened(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.session.state.running)
        assert not isinstance(app.screen, ProgramScreen)

        # It waits for the run that goes on.
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        await pilot.press("2", "escape", "h")
        await pilot.pause()
        app.query_one(BenchPane).perform("program")
        running = words.text(RUNNING)
        await until(pilot, lambda: words.to_text(app.session.state.message) == running)
        assert not isinstance(app.screen, ProgramScreen)
