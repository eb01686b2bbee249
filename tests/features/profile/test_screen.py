"""The screen of a profile: lines with heat, their kernels, and a trace from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from jaxtui.core.model import Remark, RunEvent, RunFinished, WorkFailed
from jaxtui.core.model.profile import Frame, Profiling
from jaxtui.features.profile.screen import (
    ProfileScreen,
    RowList,
    SourceList,
    open_trace,
)
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.status import MessageLine
from jaxtui.ui.sheet import Sheet
from tests.fake_engine import FakeEngine
from tests.records import kernel, profiled
from tests.tasks.spaces import Line, Plane, event, space
from tests.ui.app.driving import app_on, until, until_ready

ENDED = RunFinished(outcome="complete", elapsed_seconds=1.0)
SOURCE = "import jax\n\ndef f(x):\n    y = x @ x\n    return jax.numpy.tanh(y)\n"


def screen(app: JaxtuiApp) -> ProfileScreen:
    assert isinstance(app.screen, ProfileScreen)
    return app.screen


def shown(app: JaxtuiApp, kind: type[SourceList] | type[RowList]) -> list[str]:
    found = screen(app).query_one(kind)
    return [str(option.prompt).strip() for option in found.options]


def head(app: JaxtuiApp) -> str:
    return " ".join(sheet.text for sheet in screen(app).query(Sheet))


def answers(*events: RunEvent) -> FakeEngine:
    engine = FakeEngine()

    def answer(work: Any) -> Sequence[RunEvent]:
        return [*events, ENDED] if isinstance(work, Profiling) else [ENDED]

    engine.answer_others(answer)
    return engine


@pytest.fixture
def found(tmp_path: Path) -> Any:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    frames = tuple(Frame(file=str(file), line=n, function="f") for n in (4, 5))
    dot = kernel("dot.1", 6e-3, 6e-3, stacks=((0,),))
    tanh = kernel("tanh.2", 2e-3, 2e-3, stacks=((1,),))
    both = kernel("fusion.3", 1e-3, 1e-3, stacks=((0,), (1,)))
    return profiled(dot, tanh, both, frames=frames)


async def opened(app: JaxtuiApp, pilot: Pilot[None]) -> None:
    await until_ready(pilot, app)
    await pilot.press("2")
    await until(pilot, lambda: app.tab == "bench" and "bench" in app.panes)
    await pilot.press("escape", "P")
    await until(pilot, lambda: isinstance(app.screen, ProfileScreen))


async def test_a_line_shows_its_kernels_and_a_kernel_its_lines(found: Any) -> None:
    app = app_on(answers(found))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: app.screen.query(SourceList) and shown(app, RowList))
        source, rows = shown(app, SourceList), shown(app, RowList)
        assert source[0].endswith("mine.py")
        assert [line.split()[-1] for line in source[3:5]] == ["x", "jax.numpy.tanh(y)"]
        assert [name for row in rows for name in row.split() if "." in name and row]
        # The cursor is on the dearest line.
        listed = screen(app).query_one(SourceList)
        assert source[listed.highlighted or 0].endswith("y = x @ x")
        await pilot.press("enter")
        await until(pilot, lambda: len(shown(app, RowList)) == 2)
        assert {"dot.1", "fusion.3"} <= set(" ".join(shown(app, RowList)).split())
        await pilot.press("escape")
        await until(pilot, lambda: len(shown(app, RowList)) == 3)
        # A line without kernels leaves the list as it is, and says so.
        listed.focus()
        listed.highlighted = next(
            place for place, line in enumerate(source) if "%" not in line and place
        )
        await pilot.press("enter")
        await until(pilot, lambda: screen(app).query_one(MessageLine).line)
        assert len(shown(app, RowList)) == 3
        rows_list = screen(app).query_one(RowList)
        rows_list.focus()
        rows_list.highlighted = 1
        await pilot.press("enter")
        await until(pilot, lambda: len(shown(app, SourceList)) < len(source))
        assert any("tanh(y)" in line for line in shown(app, SourceList))
        await pilot.press("escape")
        titles = []
        for _ in range(5):
            titles.append(str(screen(app).query_one("#rows").border_title))
            await pilot.press("g")
            await pilot.pause()
        assert len(set(titles)) == 5
        assert titles[0] == str(screen(app).query_one("#rows").border_title)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ProfileScreen))


async def test_a_failure_is_said(found: Any) -> None:
    failed = WorkFailed(remark=Remark("profiler-failed", {}, "error", "no CUPTI"))
    app = app_on(answers(failed))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: "no CUPTI" in head(app))
        await pilot.press("g", "y", "escape")
        await until(pilot, lambda: not isinstance(app.screen, ProfileScreen))


async def test_a_trace_is_opened(tmp_path: Path) -> None:
    known = {"hlo_op": "dot.1", "hlo_module": "jit_f", "program_id": 1, "run_id": 1}
    ran = Line("a thread", (event("dot.1", 0, 10**9, **known),))
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(space(Plane("/host:CPU", (ran,))))
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        app.push_screen(ProfileScreen(trace=tmp_path / "nothing.xplane.pb"))
        await until(pilot, lambda: isinstance(app.screen, ProfileScreen))
        # A path may be broken anywhere.
        await until(pilot, lambda: "nothing.xplane.pb" in "".join(head(app).split()))
        await pilot.press("escape")
        open_trace(app)
        await pilot.pause()
        await pilot.press(*"/nowhere", "enter")
        await until(pilot, lambda: app.screen.has_class("-refused"))
        for _ in "/nowhere":
            await pilot.press("backspace")
        await pilot.press(*str(file), "enter")
        await until(pilot, lambda: isinstance(app.screen, ProfileScreen))
        await until(pilot, lambda: bool(shown(app, RowList)))
        assert "dot.1" in shown(app, RowList)[0]
        assert shown(app, SourceList) == []
        # A kernel without lines leaves the list as it is, and says so.
        await pilot.press("enter")
        await until(pilot, lambda: screen(app).query_one(MessageLine).line)
        assert screen(app).query_one(RowList).has_focus
