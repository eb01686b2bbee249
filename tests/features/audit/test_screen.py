"""The page of an audit: a program runs, and its source says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.command import CommandList
from textual.pilot import Pilot
from textual.widgets import Input, Log

from jaxtui.features.audit import child as audits
from jaxtui.features.audit.messages import Place, Witness
from jaxtui.features.audit.screen import AuditScreen, Lines, OpenProgram, open_audit
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.status import MessageLine
from jaxtui.ui.sheet import Sheet
from tests.fake_engine import FakeEngine
from tests.features.audit.test_judge import run, span
from tests.ui.app.driving import app_on, until, until_ready

SOURCE = """import time
start = time.perf_counter()
y = f(x)
end = time.perf_counter()
print(end - start)
"""


def witness(file: Path, late: float) -> Witness:
    begin, end = (Place(str(file), line) for line in (2, 4))
    timed = span(1.0, 1.1, begin=begin, end=end)
    runs = tuple(run(called, 1.1 + late) for called in (1.01, 1.02))
    seen = {"spans": (timed,), "executions": runs, "traced_seconds": (0.0, 2.0)}
    return Witness(python="3", jax="0", seconds=2.0, **seen)  # type: ignore[arg-type]


def page(app: JaxtuiApp) -> AuditScreen:
    assert isinstance(app.screen, AuditScreen)
    return app.screen


async def opened(app: JaxtuiApp, pilot: Pilot[None], typed: str) -> None:
    await until_ready(pilot, app)
    open_audit(app)
    await until(pilot, lambda: app.screen.query(Input))
    app.screen.query_one(Input).value = typed
    await pilot.press("enter")


async def test_the_cursor_is_at_the_first_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SOURCE)

    async def watch(typed: Sequence[str], **_: object) -> tuple[int, Witness]:
        return 0, witness(program, 0.5)

    monkeypatch.setattr(audits, "watch", watch)
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot, f"{program} --steps 3")
        await until(pilot, lambda: isinstance(app.screen, AuditScreen))
        await until(pilot, lambda: page(app).query_one(Lines).highlighted == 3)
        assert page(app).query_one(Lines).option_count == 5
        await until(
            pilot,
            lambda: (
                "+jax.block_until_ready(y)"
                in page(app).query_one("#audit-about").query_one(Sheet).text
            ),
        )
        # Above the source every finding by its line; what a key did is said.
        verdict = page(app).query_one("#audit-verdict").query_one(Sheet).text
        assert re.search(r"^4 \w+", verdict, re.M)
        await pilot.press("y")
        await until(pilot, lambda: page(app).query_one(MessageLine).line)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, AuditScreen))


async def test_what_it_prints_stays_where_nothing_was_timed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "program.py"
    path.write_text("print('\\x1b[31mred'); raise SystemExit(3)")
    app = app_on(FakeEngine())
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot, str(path))
        await until(pilot, lambda: isinstance(app.screen, AuditScreen))
        log = page(app).query_one(Log)
        await until(pilot, lambda: log.lines[:1] == ["\\x1b[31mred"])
        await until(pilot, lambda: page(app).why_not("again") is None)
        assert log.display
        assert page(app).why_not("next") is not None


async def test_it_is_in_the_palette_and_what_is_no_program_stays_to_be_mended() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("ctrl+p", *"audit a program")
        hits = app.screen.query_one(CommandList)
        await until(pilot, lambda: hits.option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, OpenProgram))
        for typed in ("", "nowhere.py", "'"):
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, OpenProgram))
            await opened(app, pilot, typed)
            await until(pilot, lambda: app.screen.has_class("-refused"))
