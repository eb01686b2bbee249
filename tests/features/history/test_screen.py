"""The tab History on a file of its own: what a person lists, compares and deletes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static

from jaxtui.core.history.store import Filter, History
from jaxtui.core.model import Case, Device, Experiment, Mode, Remark
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.history.screen import LISTED, HistoryPane, HistoryTable, Past
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import Question
from jaxtui.ui.app.run import Recorder
from jaxtui.ui.app.threads import Latest
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.panel import Panel
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine
from tests.ui.app.driving import app_on, message, opened, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)
NOON = 1_790_000_000.0
"""Some moment of 2026."""

PLACES: tuple[tuple[str, Mode], ...] = (("cpu:0", "jit"), ("host", "numpy"))
TWO = tuple(
    Case(op="matmul", size=64, dtype="float32", device=device, mode=mode)
    for device, mode in PLACES
)

TPU = Device(id=0, platform="tpu", device_kind="TPU v5 lite", process_index=0)
OTHER = msgspec.structs.replace(HOST, hostname="vm-7", jax="0.10.2")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    return History()


@pytest.fixture
def three(history: History) -> History:
    """Ids 1 to 3, the last one the newest."""
    insert(history, HOST, DEVICE, measurement(median=0.004), NOON)
    insert(history, HOST, DEVICE, measurement("selu", 1000, median=0.001), NOON + 60)
    slow = measurement(dtype="bfloat16", device="tpu:0", median=0.002)
    note = Remark("drift", text="It became slower.")
    slow = msgspec.structs.replace(slow, notes=(note,))
    insert(history, OTHER, TPU, slow, NOON + 120)
    return history


def pane(app: JaxtuiApp) -> HistoryPane:
    found = app.pane(HistoryPane)
    assert found is not None
    return found


def past(app: JaxtuiApp) -> Past:
    found = app.pane(HistoryPane)
    return found.past if found else Past()


@asynccontextmanager
async def on_list(
    size: tuple[int, int] = NARROW, engine: FakeEngine | None = None
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp, HistoryTable]]:
    app = app_on(engine or FakeEngine())
    async with app.run_test(size=size) as pilot:
        yield pilot, app, await shown(pilot, app)


async def shown(pilot: Pilot[None], app: JaxtuiApp) -> HistoryTable:
    """The table, once it is filled and has the focus."""
    await until_ready(pilot, app)
    await pilot.press("4")
    await until(pilot, lambda: past(app).entry)
    table = app.query_one(HistoryTable)
    await until(pilot, lambda: table.has_focus)
    return table


def ids(app: JaxtuiApp) -> list[int]:
    return [row.id for row in past(app).rows]


def detail(app: JaxtuiApp) -> str:
    """Title and text of the measurement, or of the two."""
    panel = app.query_one("#history-detail", Panel)
    return f"{panel.border_title or ''}\n{panel.query_one(Sheet).text}"


def instead(app: JaxtuiApp) -> str:
    return str(app.query_one("#history-empty", Static).content)


async def test_rows_are_clicked_and_two_are_marked(three: History) -> None:
    async with on_list(WIDE) as (pilot, app, _):
        # A click on another row goes there; one on the row takes it.
        await pilot.click(HistoryTable, offset=(6, 2))
        await until(pilot, lambda: "selu 1000" in detail(app))
        assert app.tab == "history"
        await pilot.press("up", "space", "down", "down", "space")
        await until(pilot, lambda: "B is 2.0× slower than A" in detail(app))
        await pilot.press("up", "space")
        await until(pilot, lambda: "already marked" in message(app))
        assert past(app).marked == (3, 1)
        await pilot.press("escape")
        await until(pilot, lambda: "selu 1000" in detail(app))
        assert past(app).marked == ()
        await pilot.click(HistoryTable, offset=(6, 2))
        await until(pilot, lambda: app.tab == "bench")


async def test_words_filter_and_keys_that_come_at_once_mean_the_same(
    three: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_list() as (pilot, app, table):
        for key in ("down", "space", "down", "space"):
            app.post_message(events.Key(key, " " if key == "space" else None))
        await until(pilot, lambda: past(app).pair)
        assert past(app).marked == (2, 1)
        await until(pilot, lambda: "not comparable" in detail(app))
        await pilot.press("escape")
        await until(pilot, lambda: past(app).marked == ())

        # Typing filters.
        await pilot.press("slash", *"BF16")
        await until(pilot, lambda: ids(app) == [3])
        await pilot.press("space", *"vm")
        await until(pilot, lambda: past(app).text == "BF16 vm")
        await pilot.press("space", *"[z]")
        await until(pilot, lambda: "all of these words: BF16 vm [z]" in instead(app))
        await pilot.press("escape")
        await until(pilot, lambda: ids(app) == [3, 2, 1])
        assert table.has_focus
        for letter in "/se/lu":
            app.post_message(events.Key("slash" if letter == "/" else letter, letter))
        await until(pilot, lambda: past(app).text == "se/lu")
        await pilot.press("left", "left", "backspace", "enter")
        await until(pilot, lambda: ids(app) == [2] and table.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: ids(app) == [3, 2, 1])
        assert app.query_one("#history-words", Input).value == ""

        # Another tab reads no history.
        await pilot.press("1")
        await until(pilot, lambda: app.tab == "devices")
        monkeypatch.setattr(pane(app), "refresh_list", pytest.fail)
        app.list_again()


async def test_a_name_is_no_markup(history: History) -> None:
    insert(history, HOST, DEVICE, measurement("/home/me/[old]/training.py:step"), NOON)
    async with on_list() as (_, app, _):
        assert "[old]" in detail(app).replace("\\[", "[")


async def test_a_case_is_taken_to_the_form_with_its_mesh_and_arguments(
    history: History,
) -> None:
    params = {"mesh": "2x4", "axes": "y", "args": "f32[8,128]"}
    whole = measurement("selu", 1000)
    case = msgspec.structs.replace(whole.case, op="/p/a.py:step", params=params)
    whole = msgspec.structs.replace(whole, case=case)
    insert(history, HOST, DEVICE, whole, NOON)
    async with on_list() as (pilot, app, _):
        await pilot.press("enter")
        await until(pilot, lambda: app.tab == "bench" and app.query(CaseForm))
        values = app.query_one(CaseForm).values
        assert (values.mesh, values.arguments) == ("2x4@y", "f32[8,128]")


async def test_deleting_asks_first(three: History) -> None:
    async with on_list((60, 15)) as (pilot, app, table):
        assert table.virtual_size.width <= table.size.width
        await pilot.press("space", "down")
        for answer, left, marked in (
            ("enter", [3, 2, 1], (3,)),
            ("y", [3, 1], (3,)),
            # The marked one takes its mark along.
            ("up y", [1], ()),
        ):
            *before, answer = answer.split()
            await pilot.press(*before, "delete")
            await until(pilot, lambda: isinstance(app.screen, Question))
            await pilot.press(answer)
            await until(pilot, lambda: not isinstance(app.screen, Question))
            await until(pilot, lambda left=left: ids(app) == left)
            assert [row.id for row in three.page().rows] == left
            assert past(app).marked == marked
            assert past(app).cursor in left
        # What another process deletes is said.
        insert(three, HOST, DEVICE, measurement(), NOON + 300)
        await pilot.press("1", "4")
        await until(pilot, lambda: ids(app) == [4, 1])
        assert three.delete(Filter(text="matmul")) == 2
        await pilot.press("up")
        await until(pilot, lambda: "no measurement 4" in message(app))


async def test_a_list_that_arrives_does_not_undo_the_key_before_it(
    three: History,
) -> None:
    async with on_list() as (pilot, app, table):
        await pilot.press("down")
        await until(pilot, lambda: past(app).cursor == 2)
        pane = app.pane(HistoryPane)
        assert pane is not None
        table.move_cursor(row=0)  # its message is still on the way
        three.delete(Filter(id=1))
        pane._show_page((past(app).text, three.page()))
        await pilot.pause()
        assert (table.number, past(app).cursor) == (3, 3)


async def test_the_newest_are_listed_and_the_title_counts_the_others(
    history: History,
) -> None:
    history.add((HOST, DEVICE, measurement(), NOON + i) for i in range(LISTED + 10))
    async with on_list() as (_, app, _):
        assert len(ids(app)) == LISTED
        title = app.query_one("#history-list", Panel).border_title
        assert title == "newest 200 of 210 measurements"


async def test_what_is_measured_is_listed_as_soon_as_it_is_written(
    three: History,
) -> None:
    app = app_on(FakeEngine())
    keeping = Recorder(app)
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, app)
        await pilot.press("down")
        await until(pilot, lambda: past(app).cursor == 2)
        await app.session.run(Experiment(cases=TWO))
        await until(pilot, lambda: ids(app) == [5, 4, 3, 2, 1])
        assert past(app).cursor == 2
        assert app.query_one(HistoryTable).cursor_row == 3
    assert keeping.close() == []


async def test_an_empty_and_an_unreadable_history(
    history: History, tmp_path: Path
) -> None:
    async with opened(FakeEngine()) as (pilot, app):
        await pilot.press("4")
        await until(pilot, lambda: "Nothing measured yet" in instead(app))
        assert "jaxtui bench" in instead(app)
        assert list(tmp_path.iterdir()) == []
        # Every key that needs a measurement says so; the others do what they say.
        keys = ("enter", "space", "delete", "escape", "up", "down", "home", "pagedown")
        await pilot.press(*keys)
        assert not app.screen.is_modal
        for action in ("take", "mark", "delete", "export"):
            assert pane(app).why_not(action)

        # What cannot be read says why.
        history.path.mkdir(parents=True)
        await pilot.press("1", "4")
        await until(pilot, lambda: past(app).trouble)
        assert str(history.path) in message(app)
        await until(pilot, lambda: str(history.path) in instead(app))
        history.path.rmdir()
        insert(history, HOST, DEVICE, measurement())
        await pilot.press("1", "4")
        await until(pilot, lambda: ids(app) == [1])
        assert past(app).trouble == ""


async def test_a_locked_file_keeps_nobody_from_leaving(three: History) -> None:
    lock = sqlite3.connect(three.path, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        app = app_on(FakeEngine())
        async with app.run_test(size=NARROW) as pilot:
            await until_ready(pilot, app)
            await pilot.press("4")
            await until(pilot, lambda: app.pane(HistoryPane))
            assert past(app).page is None
            await pilot.press("slash", *"mat", "escape", "q")
    finally:
        lock.close()


async def test_only_the_newest_question_is_answered() -> None:
    latest, go = Latest(), threading.Event()
    asked: list[str] = []
    answers: list[str | None] = []

    def question(name: str) -> str:
        asked.append(name)
        go.wait()
        return name

    def ask(name: str) -> asyncio.Task[None]:
        wait = latest.ask(lambda: question(name), answers.append)
        return asyncio.create_task(wait)

    tasks = [ask("first")]
    while not asked:
        await asyncio.sleep(0)
    tasks += [ask("second"), ask("third")]
    await asyncio.gather(*tasks[1:])
    go.set()
    await tasks[0]
    assert asked == ["first", "third"]
    assert answers == ["third"]


async def test_the_runs_before_say_how_far_two_may_be_off(history: History) -> None:
    for at, median in enumerate((0.001, 0.004, 0.002, 0.005)):
        one = measurement(median=median, width=1e-5)
        insert(history, HOST, DEVICE, one, NOON + at)
    async with on_list(WIDE) as (pilot, app, _):
        # What was measured before the third and the fourth differs by more.
        await pilot.press("down", "space", "up", "space")
        await until(pilot, lambda: "Cannot tell" in detail(app))
        assert past(app).marked == (3, 4)
