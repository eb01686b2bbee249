"""The links on the screen: what is timed, what is selected, what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from textual.coordinate import Coordinate
from textual.pilot import Pilot

from jaxtui.core.model import Event, Experiment, RunStarted
from jaxtui.features.links.screen import SIZES, LinksScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceTable
from tests.fake_engine import FakeEngine, tpu_devices
from tests.features.links.linking import answer, told
from tests.ui.app.driving import app_on, message, opened, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)


def said(work: Experiment) -> Sequence[Event]:
    return answer(work, {("tpu:0", "tpu:1"): 2.0})


def machine(answers: Any = said, count: int = 4) -> FakeEngine:
    """A row of chips, or two of four."""
    return FakeEngine(answers, devices=tpu_devices()[:count])


def works(app: JaxtuiApp) -> list[Experiment]:
    engine: FakeEngine = app.session.engine  # type: ignore[assignment]
    return [work for work in engine.works if isinstance(work, Experiment)]


async def open_links(pilot: Pilot[None], app: JaxtuiApp) -> LinksScreen:
    await until_ready(pilot, app)
    await pilot.press("l")
    await until(pilot, lambda: isinstance(app.screen, LinksScreen))
    await until(pilot, lambda: works(app) and not app.session.state.busy)
    await pilot.pause()
    screen = app.screen
    assert isinstance(screen, LinksScreen)
    return screen


def cells(screen: LinksScreen) -> list[str]:
    table = screen.table
    rows = (table.get_row_at(row) for row in range(table.row_count))
    return [str(cell).strip() for row in rows for cell in row]


async def test_it_times_all_pairs_once() -> None:
    app = app_on(machine(count=8))
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        (work,) = works(app)
        assert len(work.cases) == 2 * 56
        await until(pilot, lambda: cells(screen).count("40") == 55)
        # Closing it leaves the figures: it is not timed again.
        await pilot.press("escape", "l")
        await until(pilot, lambda: isinstance(app.screen, LinksScreen))
        await pilot.pause()
        assert len(works(app)) == 1


async def test_a_pair_another_figure_and_another_theme() -> None:
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        table = screen.table
        assert table.cursor_coordinate == (0, 1)
        await pilot.press("down", "down", "right")
        assert table.cursor_coordinate == (2, 2)
        await pilot.press(*["right"] * 4, *["down"] * 4)
        assert table.cursor_coordinate == (3, 3)
        # On the map: where the copy goes.
        screen.query_one(ChipMap).focus()
        await pilot.press("left")
        await until(pilot, lambda: table.cursor_coordinate == (3, 2))
        # The selected cell is drawn in the colours of the cursor alone.
        assert not table.get_cell_at(Coordinate(3, 2)).spans  # type: ignore[attr-defined]
        assert table.get_cell_at(Coordinate(3, 1)).spans  # type: ignore[attr-defined]

        await pilot.press("g")
        await until(pilot, lambda: cells(screen).count("30") == 12)
        await pilot.press("g")
        await until(pilot, lambda: cells(screen).count("40") == 11)

        sheet = screen.query_one("#links-words", Sheet)

        def colour() -> str:
            lines = sheet.render_lines(sheet.size.region)
            (part,) = (x for line in lines for x in line if "slow link" in x.text)
            assert part.style
            assert part.style.color
            return part.style.color.name

        before = colour()
        await pilot.press("t")
        await until(pilot, lambda: colour() != before)


async def test_other_sizes() -> None:
    app = app_on(machine())
    async with app.run_test(size=WIDE) as pilot:
        screen = await open_links(pilot, app)
        for key, nbytes in (("plus", 2**28), ("minus", 2**26), ("minus", 2**24)):
            before = len(works(app))
            await pilot.press(key)
            await until(pilot, lambda n=before: len(works(app)) == n + 1)
            await until(pilot, lambda: not app.session.state.busy)
            assert works(app)[-1].cases[1].size == nbytes
        screen._nbytes = SIZES[-1]
        await pilot.press("plus")
        await until(pilot, lambda: "largest copy" in str(app.session.state.message))
        assert len(works(app)) == 4


async def test_leaving_ends_the_run() -> None:
    def begins(work: Experiment) -> Iterator[Event]:
        yield RunStarted(cases=work.cases)
        yield from [*told(work)][:4]

    async with opened(machine(begins), size=WIDE) as (pilot, app):
        await pilot.press("l")
        await until(pilot, lambda: app.session.state.running)
        screen = app.screen
        assert isinstance(screen, LinksScreen)
        await until(pilot, lambda: "40" in cells(screen))
        assert screen.why_not("again")
        await pilot.press("escape")
        engine: FakeEngine = app.session.engine  # type: ignore[assignment]
        await until(pilot, lambda: "stop" in engine.calls)
        await until(pilot, lambda: not app.session.state.busy)


async def test_one_device_has_no_link() -> None:
    async with opened(machine(count=1)) as (pilot, app):
        app.query_one(DeviceTable).focus()
        await pilot.press("l")
        await until(pilot, lambda: "there is only tpu:0" in message(app))
        assert not isinstance(app.screen, LinksScreen)
