"""The tab History on a file of its own: what a person lists, compares and deletes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static

from jaxtui.history.store import Filter, History
from jaxtui.model import Device, Experiment, Failure, Note, Plan
from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.aside import Latest
from jaxtui.tui.history_state import PAGE, HistoryState
from jaxtui.tui.history_text import below, listing, words
from jaxtui.tui.run import Recorder
from jaxtui.tui.screens.code import CodeScreen
from jaxtui.tui.screens.question import Question
from jaxtui.tui.widgets.history_table import HistoryTable
from jaxtui.view.history import short_when
from tests.history.making import DEVICE, HOST, measurement
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine

NARROW, WIDE = (80, 24), (120, 40)
NOON = 1_790_000_000.0
"""Some moment of 2026."""

TPU = Device(id=0, platform="tpu", device_kind="TPU v5 lite", process_index=0)
OTHER = msgspec.structs.replace(HOST, hostname="vm-7", jax="0.10.2")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    return History()


@pytest.fixture
def three(history: History) -> History:
    """Ids 1 to 3, the last one the newest."""
    history.add(HOST, DEVICE, measurement(median=0.004), NOON)
    history.add(HOST, DEVICE, measurement("selu", 1000, median=0.001), NOON + 60)
    slow = measurement(dtype="bfloat16", device="tpu:0", median=0.002)
    note = Note(flag="drift", text="It became slower.")
    slow = msgspec.structs.replace(slow, notes=(note,))
    history.add(OTHER, TPU, slow, NOON + 120)
    return history


async def shown(pilot: Pilot[None], app: JaxtuiApp) -> HistoryTable:
    """The table, once it is filled and has the focus."""
    await until_ready(pilot, app)
    await pilot.press("4")
    await until(pilot, lambda: app.state.history.detail)
    table = app.query_one(HistoryTable)
    await until(pilot, lambda: table.has_focus)
    return table


def ids(app: JaxtuiApp) -> list[int]:
    return [row.id for row in app.state.history.rows]


def said_below(app: JaxtuiApp) -> str:
    assert app.history is not None
    return app.history.text


async def test_the_newest_come_first_and_two_that_are_marked_are_compared(
    three: History,
) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=WIDE) as pilot:
        table = await shown(pilot, app)
        assert ids(app) == [3, 2, 1]
        row = [str(cell).strip() for cell in table.get_row_at(0)]
        case = ["matmul", "256", "bfloat16", "tpu:0", "jit"]
        assert row[2:] == [*case, "2.00 ms", "1.00 TFLOP/s", "vm-7"]
        text = said_below(app)
        assert "TPU v5 lite  on  vm-7" in text
        assert "jax 0.10.2" in text
        assert "first call 10.0 ms" in text
        assert "drift   It became slower." in text
        await pilot.press("down")
        await until(pilot, lambda: "selu 1000" in said_below(app))

        await pilot.press("up", "space")
        await until(pilot, lambda: "Space on another row" in said_below(app))
        assert str(table.get_row_at(0)[0]).strip() == "A"
        await pilot.press("down", "down", "space")
        await until(pilot, lambda: app.state.history.comparison)
        text = said_below(app)
        assert "B is really slower, 2 times" in text
        assert "jax: 0.10.2 and 0.12" in text
        assert "chip: TPU v5 lite and cpu" in text
        assert str(table.get_row_at(2)[0]).strip() == "B"
        await pilot.press("up", "space")
        await until(pilot, lambda: "Two are marked" in app.state.message)
        assert app.state.history.marked == (3, 1)
        await pilot.press("escape")
        await until(pilot, lambda: app.state.history.marked == ())
        await until(pilot, lambda: "selu 1000" in said_below(app))
        assert str(table.get_row_at(0)[0]).strip() == ""


async def test_a_low_screen_words_that_filter_and_what_is_done_with_one(
    three: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        table = await shown(pilot, app)
        # One line of detail, and room for two that are compared.
        line = said_below(app)
        assert line.startswith("matmul 256 bfloat16 jit on tpu:0: 2.0 ms")
        assert "\n" not in line
        when = str(table.get_row_at(0)[1]).strip()
        assert when == short_when(NOON + 120)
        # Keys that come at once mean the same.
        for key in ("down", "space", "down", "space"):
            app.post_message(events.Key(key, " " if key == "space" else None))
        await until(pilot, lambda: app.state.history.comparison)
        assert app.state.history.marked == (2, 1)
        assert "B are not comparable: " in said_below(app)
        assert "Not the same: op: selu and matmul; " in said_below(app)
        assert max(map(len, said_below(app).split("\n"))) <= 78
        await pilot.press("escape")
        await until(pilot, lambda: app.state.history.marked == ())

        # Typing filters.
        await pilot.press("slash", *"BF16")
        await until(pilot, lambda: ids(app) == [3])
        await pilot.press("space", *"vm")
        await until(pilot, lambda: app.state.history.text == "BF16 vm")
        await pilot.press("space", *"zz")
        await until(pilot, lambda: app.state.history.count == 0)
        empty = app.query_one("#history-empty", Static)
        assert "all of the words “BF16 vm zz”" in str(empty.content)
        await pilot.press("escape")
        await until(pilot, lambda: table.has_focus)
        # Once more gives up the words.
        await pilot.press("escape")
        await until(pilot, lambda: ids(app) == [3, 2, 1])
        assert table.has_focus
        await pilot.press("slash", *"selu", "enter")
        await until(pilot, lambda: ids(app) == [2] and table.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: ids(app) == [3, 2, 1])
        assert app.query_one("#history-words", Input).value == ""

        # Copied, shown as code, taken to the form.
        await pilot.press("y")
        await until(pilot, lambda: "written to" in app.state.message)
        (path,) = tmp_path.glob("jaxtui-*-history.md")
        assert path.read_text() == app.clipboard == listing(app.state.history)
        lines = path.read_text().splitlines()
        assert len(lines) == 5
        assert "| 2 |" in lines[3]
        assert "selu" in lines[3]
        await pilot.press("home", "down")
        await until(pilot, lambda: "selu" in said_below(app))
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        assert "selu 1000" in str(app.screen.query_one("#title", Static).content)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CodeScreen))
        await pilot.press("enter")
        await until(pilot, lambda: app.tab == "bench")
        await until(pilot, lambda: app.query_one("#sizes", Input).value == "1000")

        # Another tab reads no history.
        monkeypatch.setattr(app, "look", pytest.fail)
        app.look_again()


async def test_a_narrow_table_names_hosts_only_where_they_differ(
    history: History,
) -> None:
    own = measurement("/home/somebody/models/training.py:train_step")
    history.add(HOST, DEVICE, own, NOON)
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        table = await shown(pilot, app)
        row = [str(cell).strip() for cell in table.get_row_at(0)]
        assert HOST.hostname not in row
        assert table.virtual_size.width <= table.size.width
        # Of a function of one's own the end tells most.
        assert row[2].startswith("…")
        assert row[2].endswith(":train_step")
        history.add(OTHER, DEVICE, measurement(), NOON + 60)
        await pilot.press("1", "4")
        await until(pilot, lambda: len(app.state.history.rows) == 2)
        hosts = [str(table.get_row_at(i)[-1]).strip() for i in range(2)]
        assert hosts == [OTHER.hostname, HOST.hostname]


async def test_deleting_asks_first(three: History) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, app)
        await pilot.press("space", "down", "delete")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Question))
        assert three.count() == 3
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Question))
        asked = str(app.screen.query("Label").first(Static).content)
        assert asked.startswith("Delete selu 1000 float32 cpu:0 jit (1.00 ms) of 20")
        await pilot.press("y")
        await until(pilot, lambda: ids(app) == [3, 1])
        assert [row.id for row in three.rows()] == [3, 1]
        await until(pilot, lambda: app.state.history.cursor == 1)
        assert app.state.history.marked == (3,)
        # The marked one takes its mark along.
        await pilot.press("up", "delete")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: ids(app) == [1])
        assert app.state.history.marked == ()


async def test_a_measurement_of_another_machine_has_no_code_here(
    three: History,
) -> None:
    class Elsewhere(FakeEngine):
        async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
            plan = await super().plan(experiment)
            error = "There is no device 'tpu:0'."
            cases = (
                msgspec.structs.replace(
                    one, problem=Failure(case=one.case, error=error, hint="")
                )
                for one in plan.cases
            )
            return msgspec.structs.replace(plan, cases=tuple(cases))

    app = app_on(Elsewhere())
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, app)
        await pilot.press("v")
        await until(pilot, lambda: "There is no device 'tpu:0'" in app.state.message)


async def test_more_is_read_when_the_cursor_comes_near_the_end(
    history: History,
) -> None:
    one = measurement()
    history.add_all((HOST, DEVICE, one, NOON + i) for i in range(2 * PAGE + 10))
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        table = await shown(pilot, app)
        assert len(ids(app)) == PAGE
        count = app.query_one("#history-count", Static)
        assert str(count.content) == "410 measurements"
        await pilot.press("ctrl+end")
        await until(pilot, lambda: table.row_count == 2 * PAGE)
        assert table.cursor_row == PAGE - 1
        # Another process adds one: nothing is listed twice.
        history.add(HOST, DEVICE, one, NOON + 1000)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: len(ids(app)) == 2 * PAGE + 10)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: not app.state.history.has_more)
        assert len(set(ids(app))) == len(ids(app)) == 2 * PAGE + 10
        assert min(ids(app)) == 1


async def test_what_is_measured_is_listed_as_soon_as_it_is_written(
    three: History,
) -> None:
    app = app_on(FakeEngine())
    keeping = Recorder(app)
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, app)
        await pilot.press("down")
        await until(pilot, lambda: app.state.history.cursor == 2)
        app.action_first()
        await until(pilot, lambda: ids(app) == [5, 4, 3, 2, 1])
        assert app.state.history.cursor == 2
        assert app.query_one(HistoryTable).cursor_row == 3
    assert keeping.close() == []


async def test_an_empty_a_damaged_and_an_unreadable_history(
    history: History, tmp_path: Path
) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("4")
        await until(pilot, lambda: app.state.history.count == 0)
        await pilot.pause()
        empty = app.query_one("#history-empty", Static)
        assert empty.display
        assert str(empty.content).startswith("Nothing is in the history yet.")
        assert app.why_not("history_mark") == "No measurement is listed."
        assert list(tmp_path.iterdir()) == []

        # A damaged file is put aside, and that is said.
        history.path.parent.mkdir(exist_ok=True)
        history.path.write_bytes(b"this is no database, but it is long enough" * 100)
        await pilot.press("1", "4")
        await until(pilot, lambda: "it was kept as" in app.state.message)
        assert app.state.history.count == 0

        # What cannot be read says why.
        for left in tmp_path.glob("**/" + history.path.name + "*"):
            left.unlink()
        history.path.mkdir(parents=True)
        await pilot.press("1", "4")
        await until(pilot, lambda: app.state.history.trouble)
        assert f"The history {history.path} cannot be used" in app.state.message
        await pilot.pause()
        assert "cannot be used" in str(empty.content)
        history.path.rmdir()
        history.add(HOST, DEVICE, measurement())
        await pilot.press("f2", "ctrl+s")
        await until(pilot, lambda: ids(app) == [1])
        assert app.state.history.trouble == ""


async def test_what_another_process_deleted_is_said(three: History) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await shown(pilot, app)
        assert three.delete(Filter(op="selu")) == 1
        await pilot.press("down")
        await until(pilot, lambda: "no measurement 2" in app.state.message)


async def test_a_locked_file_keeps_nobody_from_leaving(three: History) -> None:
    lock = sqlite3.connect(three.path, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        app = app_on(FakeEngine())
        async with app.run_test(size=NARROW) as pilot:
            await until_ready(pilot, app)
            await pilot.press("4")
            await until(pilot, lambda: app.history is not None)
            assert app.state.history.count is None
            await pilot.press("slash", *"mat", "escape", "q")
    finally:
        lock.close()


async def test_only_the_newest_question_is_answered() -> None:
    latest, go, asked, answers = Latest(), threading.Event(), [], []

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


async def test_a_question_that_fails_leaves_the_next_one_alone() -> None:
    latest, answers = Latest(), []
    with pytest.raises(ZeroDivisionError):
        await latest.ask(lambda: 1 // 0, answers.append)
    await latest.ask(lambda: 1, answers.append)
    assert answers == [1]


def test_words_take_the_short_names_of_dtypes() -> None:
    assert words(" Matmul  BF16 ") == "matmul bfloat16"


def test_nothing_is_below_a_list_that_was_not_read() -> None:
    assert below(HistoryState(), 80, brief=True).plain == ""


def test_a_history_on_screen(
    three: History, monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool]
) -> None:
    def moment(seconds: float, *_: object) -> str:
        return f"2026-09-21 12:{int(seconds - NOON) // 60:02}"

    monkeypatch.setattr("jaxtui.view.history.when", moment)
    app = app_on(FakeEngine(), clock=lambda: 0.0)

    async def drive(pilot: Pilot[None]) -> None:
        app.theme = themes.DARK
        await shown(pilot, app)
        await pilot.press("space", "down", "down", "space")
        await until(pilot, lambda: app.state.history.comparison)
        await pilot.pause()

    assert snap_compare(app, terminal_size=WIDE, run_before=drive)
