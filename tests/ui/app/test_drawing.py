"""What the terminal was sent bit by bit is what a fresh draw would give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot
from textual.widgets import Input

from jaxtui.core.history.store import History
from jaxtui.core.model import CaseMeasured, CaseStarted, Experiment, RunEvent
from jaxtui.features.devices.load_panel import LoadPanel
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.status import StatusLine
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine, began, begun, sampled, tpu_devices
from tests.fake_engine import measurement as figures
from tests.features.lessons.lessons_to_try import LESSONS
from tests.ui.app.driving import until, until_done, until_ready
from tests.ui.app.test_keys import ENDED, soon_over

NARROW, WIDE = (80, 24), (120, 40)


PIECES = re.compile(
    r"\x1b\][^\a]*\a|\x1b\[(\d+);(\d+)H|\x1b\[([0-9;]*)m|\x1b\[[^a-zA-Z]*[a-zA-Z]|\n|[^\x1b\n]+"
)
"""What a frame consists of: a place, a style, some other code, or text."""


class Terminal(HeadlessDriver):
    """Keeps the character and the style of each cell, as a terminal would."""

    is_headless = False

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._width, self._height = options["size"]
        self._row = self._column = 0
        self._style = ""
        self.sent = 0
        blank = [(" ", "")] * self._width
        self.cells = [list(blank) for _ in range(self._height)]

    def write(self, data: str) -> None:
        self.sent += len(data)
        for piece in PIECES.finditer(data):
            row, column, style = piece.groups()
            if row is not None:
                self._row, self._column = int(row) - 1, int(column) - 1
            elif style is not None:
                self._style = "" if style in ("", "0") else style
            elif piece[0] == "\n":
                self._row, self._column = self._row + 1, 0
            elif not piece[0].startswith("\x1b"):
                self._put(piece[0])

    def _put(self, text: str) -> None:
        cells = [
            (part, self._style)
            for char in text
            for part in ((char,) if char.isascii() else (char, "")[: cell_len(char)])
        ]
        assert self._column + len(cells) <= self._width, "drawn past the edge"
        self.cells[self._row][self._column : self._column + len(cells)] = cells
        self._column += len(cells)


@pytest.fixture(autouse=True)
def _the_terminal_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JaxtuiApp, "end_without_terminal", lambda _: None)


def on_terminal(engine: FakeEngine) -> JaxtuiApp:
    app = JaxtuiApp(engine, fps=4)  # type: ignore[arg-type]
    app.driver_class = Terminal
    return app


async def compare(pilot: Pilot[None], what: str) -> None:
    """Draw all of it anew: the terminal must show what it has shown."""
    differing = await torn(pilot, what)
    assert not differing, "\n".join([f"torn after {what}:", *differing])


async def torn(pilot: Pilot[None], what: str) -> list[str]:
    """The lines that a fresh draw changes."""
    app: Any = pilot.app
    await pilot.pause()
    assert not app.leaving, f"the app ended after {what}: {app.crash}"
    before = list(map(list, app._driver.cells))
    for widget in app.screen.walk_children(with_self=True):
        widget._styles_cache.clear()
    app.screen.refresh(layout=True)
    await pilot.pause()
    return [
        f"{row:3} {_text(old)}\n    {_text(new)}"
        for row, (old, new) in enumerate(zip(before, app._driver.cells, strict=True))
        if old != new
    ]


def _text(line: list[tuple[str, str]]) -> str:
    return "".join(char for char, _ in line)


async def test_a_panel_opens_while_tabs_behind_are_refreshed() -> None:
    app = on_terminal(FakeEngine())
    async with app.run_test(size=WIDE, headless=False) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2", "e", "w")
        await until_done(pilot, app)
        await pilot.pause()
        app.query_one(LoadPanel).refresh()
        await pilot.pause()
        await pilot.press("d")
        await compare(pilot, "d")


async def test_a_prompt_leaves_the_status_line_its_clock() -> None:
    app = on_terminal(FakeEngine(begun))
    async with app.run_test(size=NARROW, headless=False) as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: app.state.running)
        await pilot.press("f")
        await until(pilot, lambda: app.screen.query(Input))
        driver: Any = app._driver
        line = app.screen_stack[0].query_one(StatusLine)
        line._clock = lambda: line._since + 10.0
        await pilot.pause()
        before = driver.sent
        line._show()
        await until(pilot, lambda: "0:10" in _text(driver.cells[0]))
        assert driver.sent - before < 5000


PLACES = {
    NARROW: "1|1 c|1 p|2|2 r|2 h|2 v|2 f|3 enter|4 slash|1 question_mark",
    WIDE: "1 enter|1 o enter|2 r a|2 P|2 u|3|4|4 delete|1 ctrl+p",
}
"""The keys that open each screen, from a tab with no screen over it."""


def over(work: Any) -> Sequence[RunEvent]:
    """All of an experiment at once."""
    if not isinstance(work, Experiment):
        return soon_over(work)
    cases = list(enumerate(work.cases))
    return [
        began(work),
        *(CaseStarted(index=index, case=case) for index, case in cases),
        *(sampled(index, case, turn) for index, case in cases for turn in range(2)),
        *(CaseMeasured(index=i, measurement=figures(case)) for i, case in cases),
        ENDED,
    ]


ENDINGS = {"quit", "quit_now", "interrupt", "suspend_process", "screen.copy_text"}
"""Actions after which nothing is drawn; Ctrl-C is also one that copies."""


async def open_place(pilot: Pilot[None], app: JaxtuiApp, keys: str) -> None:
    while len(app.screen_stack) > 1:
        app.pop_screen()
        await pilot.pause()
    app.screen.set_focus(None)
    for key in keys.split():
        await pilot.press(key)
        await until(pilot, lambda: not app.session.state.busy)


async def uncover(pilot: Pilot[None], app: JaxtuiApp, there: list[Any]) -> None:
    """Take off the screens that lie over those of a place."""
    while app.screen_stack[:-1][: len(there)] == there:
        app.pop_screen()
        await pilot.pause()


@pytest.mark.parametrize("size", PLACES, ids="{0[0]}x{0[1]}".format)
async def test_every_key_draws_what_a_fresh_draw_gives(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)
    monkeypatch.setattr(Input, "cursor_blink", False)
    for n in (64, 128, 256):
        insert(History(), HOST, DEVICE, measurement(size=n), 1_790_000_000.0 + n)
    app = on_terminal(FakeEngine(over, devices=tpu_devices()))
    pressed = set()
    async with app.run_test(size=size, headless=False) as pilot:
        await until_ready(pilot, app)
        for place in PLACES[size].split("|"):
            await open_place(pilot, app, place)
            await compare(pilot, place)
            if place == "4 delete":
                continue  # what a thread has deleted is drawn when it has
            there = [*app.screen_stack], app.tab
            for key, (node, binding, enabled, _) in app.screen.active_bindings.items():
                action = binding.action.partition("(")[0]
                mine = type(node).__module__.startswith("jaxtui.")
                if action in pressed or action.startswith("app.") or not enabled:
                    continue
                if not mine or action in ENDINGS:
                    continue
                pressed.add(action)
                # What a thread has read meanwhile is drawn as well: a tear comes again.
                for _ in range(5):
                    await uncover(pilot, app, there[0])
                    if ([*app.screen_stack], app.tab) != there:
                        await open_place(pilot, app, place)
                        there = [*app.screen_stack], app.tab
                    await pilot.press(key)
                    await until(pilot, lambda: not app.session.state.busy)
                    if not (differing := await torn(pilot, key)):
                        break
                assert not differing, "\n".join([f"{key} on {place}:", *differing])
