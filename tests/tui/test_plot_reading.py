"""Keys, cursor and mouse on the plot of the tab Bench."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.widgets.plot_reader import PlotReader
from jaxtui.tui.widgets.results_table import ResultsTable
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import FakeEngine, tpu_devices

NARROW, WIDE = (80, 24), (120, 40)

Ran = tuple[JaxtuiApp, "Pilot[None]", PlotReader]


@asynccontextmanager
async def ran(size: tuple[int, int] = NARROW) -> AsyncIterator[Ran]:
    """The app after a run of the form as it comes: 256 to 2048, NumPy and jit."""
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "r")
        await until_done(pilot, app)
        plot = app.query_one(PlotReader)
        await until(pilot, lambda: "over size" in plot.text)
        yield app, pilot, plot


def top(plot: PlotReader) -> str:
    return plot.text.split("\n")[0].rstrip()


def cursor_columns(plot: PlotReader) -> set[int]:
    """The columns in which nearly every line has the cursor's character."""
    _, *lines = plot.text.split("\n")
    found = [{i for i, char in enumerate(line) if char == "│"} for line in lines]
    counted = [column for line in found for column in line]
    return {one for one in counted if counted.count(one) >= len(lines) // 2}


async def test_clocks_and_views_go_round() -> None:
    async with ran() as (app, pilot, plot):
        titles = []
        for clock in ("dispatch", "pipelined", "ready"):
            await pilot.press("k")
            await until(pilot, lambda clock=clock: app.state.clock == clock)
            titles.append(top(plot))
        assert [title.split()[0].strip(",") for title in titles] == [
            "dispatch",
            "pipelined",
            "ready",
        ]
        assert ["numpy" in title for title in titles] == [False, True, True]
        assert app.session.state.run is not None
        assert app.session.state.run.number == 1

        seen = []
        for view in ("histogram", "roofline", "live", "sweep"):
            await pilot.press("g")
            await until(pilot, lambda view=view: app.state.view == view)
            await pilot.pause()
            seen.append(plot.text)
        for words, text in zip(
            ("median", "roof", "calls, in order", "over size"), seen, strict=True
        ):
            assert words in text

        # Rates have one clock.
        await pilot.press("m")
        await until(pilot, lambda: "FLOP/s" in top(plot))
        assert app.check_action("clock", ()) is None
        app.perform("clock")
        await until(pilot, lambda: "Rates have one clock" in app.state.message)
        assert "pipelined" in top(plot)

        # The second keys work from an input.
        app.session.update(metric="time")
        app.query_one("#sizes").focus()
        await pilot.press("ctrl+backslash")
        await until(pilot, lambda: app.state.clock == "dispatch")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: app.state.view == "histogram")


async def test_keys_and_mouse_read_the_curve_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ran() as (app, pilot, plot):
        plot.focus()
        await until(pilot, lambda: plot.place is not None)
        await pilot.press("home")
        assert top(plot).startswith("256 ready:")
        (first,) = cursor_columns(plot) - {5}
        await pilot.press("right", "right")
        assert top(plot).startswith("1024 ready:")
        (third,) = cursor_columns(plot) - {5}
        assert third > first
        await pilot.press("end", "right")
        assert top(plot).startswith("2048 ready:")
        await pilot.press("left", "pageup")
        assert top(plot).startswith("512 ready:")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, ResultsTable))
        assert plot.place is None
        assert "over size" in top(plot)

        # Reading begins at the selected size, and Enter picks another.
        assert app.state.run is not None
        cases = [one.case for one in app.state.run.cases]
        before = next(one for one in cases if one.size == 512 and not one.on_host)
        app.session.update(picked=(app.session.state.run.number, cases.index(before)))
        app.query_one(ResultsTable).focus()
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.focused is plot)
        await until(pilot, lambda: top(plot).startswith("512 ready:"))
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.state.case and app.state.case.case.size == 2048)
        assert app.state.case is not None
        assert app.state.case.case.mode == before.mode
        assert app.focused is plot

        # The mouse reads off, and leaves title and legend behind.
        app.query_one(ResultsTable).focus()
        await pilot.hover(PlotReader, offset=(plot.size.width - 2, 4))
        await until(pilot, lambda: top(plot).startswith("2048 ready:"))
        await pilot.hover(PlotReader, offset=(7, 4))
        await until(pilot, lambda: top(plot).startswith("256 ready:"))
        await pilot.hover(ResultsTable, offset=(3, 1))
        await until(pilot, lambda: "over size" in top(plot))
        # A terminal that is behind is not sent every move.
        with monkeypatch.context() as patch:
            later: list[Callable[[], None]] = []
            calm: list[bool] = []
            patch.setattr(plot, "_calm", lambda: bool(calm))
            patch.setattr(plot, "set_timer", lambda _, then: later.append(then))
            for column in (7, 30, plot.size.width - 2):
                await pilot.hover(PlotReader, offset=(column, 4))
            assert plot.place is None
            (then,) = later
            then()
            assert plot.place is None
            calm.append(True)
            later[-1]()
            assert top(plot).startswith("2048 ready:")
        await pilot.click(PlotReader, offset=(plot.size.width - 2, 4))
        await until(pilot, lambda: app.focused is plot)
        assert top(plot).startswith("2048 ready:")

        # Another view begins its own reading.
        await pilot.press("g")
        await until(pilot, lambda: app.state.view == "histogram")
        await until(pilot, lambda: "calls" in top(plot))
        assert "ready" in top(plot)


async def test_a_move_repaints_little_and_calls_and_bins_are_read_off_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ran(WIDE) as (app, pilot, plot):
        plot.focus()
        await until(pilot, lambda: plot.place is not None)
        asked: list[Region] = []
        refresh = plot.refresh

        def recording(*regions: Region, **options: object) -> PlotReader:
            asked.extend(regions)
            return refresh(*regions, **options)  # type: ignore[arg-type,return-value]

        # Two columns and the readout.
        with monkeypatch.context() as patch:
            patch.setattr(plot, "refresh", recording)
            await pilot.press("right")
        cells = sum(region.area for region in asked)
        assert 0 < cells < 3 * plot.size.height + 3 * plot.size.width
        assert max(region.width for region in asked if region.y > 2) <= 2

        await pilot.press("escape")
        for view, words in (("live", "call"), ("histogram", "ready ")):
            app.session.update(view=view)
            plot.focus()
            await until(pilot, lambda words=words: top(plot).find(words) >= 0)
            await pilot.press("home", "pagedown", "right")
            assert plot.place is not None
            assert plot.place > 1
            await pilot.press("enter", "escape")
            await until(pilot, lambda: isinstance(app.focused, ResultsTable))
