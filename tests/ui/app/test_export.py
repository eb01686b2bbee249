"""Writing files: what each tab offers, which file is meant, and the screen."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from jaxtui import cli
from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.format import bytes_text
from jaxtui.core.history.store import History, HistoryError
from jaxtui.core.model import Case, Experiment, Plan, Remark
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.history.screen import HistoryPane, Past
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.screen import LearnPane
from jaxtui.ui import words
from jaxtui.ui.app import export
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen, Question
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.export import ExportError
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine, tpu_devices, up
from tests.features.lessons.lessons_to_try import LESSONS
from tests.ui.app.driving import app_on, message, opened, until, until_done

NARROW, WIDE = (80, 24), (120, 40)

JIT = Case(op="matmul", size=256, dtype="float32", device="tpu:0", mode="jit")
NUMPY = replace(JIT, device="host", mode="numpy", inputs="host")
CASES = tuple(replace(one, size=size) for size in (256, 512) for one in (JIT, NUMPY))
"""What ``jaxtui bench matmul --size 256,512 --mode jit,numpy`` times on a TPU."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory, and a history of its own beside it."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))


def course(app: JaxtuiApp) -> Any:
    pane = app.pane(LearnPane)
    assert pane
    return pane.course


@asynccontextmanager
async def after_a_run(
    engine: FakeEngine | None = None,
    size: tuple[int, int] = NARROW,
    cases: Sequence[Case] = CASES,
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp]]:
    """The tab Bench, with results."""
    engine = engine or FakeEngine(devices=tpu_devices())
    async with opened(engine, size=size) as (pilot, app):
        await pilot.press("2")
        await until(pilot, lambda: app.pane(BenchPane))
        await app.session.run(Experiment(cases=tuple(cases)))
        await until_done(pilot, app)
        await pilot.pause()
        yield pilot, app


async def asked(pilot: Pilot[None], app: JaxtuiApp) -> ExportScreen:
    await pilot.press("u")
    await until(pilot, lambda: isinstance(app.screen, ExportScreen))
    screen = app.screen
    assert isinstance(screen, ExportScreen)
    await until(pilot, lambda: isinstance(app.focused, Input))
    return screen


def refusal(screen: ExportScreen) -> str:
    return str(screen.query_one("#line-says", Static).content)


def name_in(screen: ExportScreen) -> Input:
    return screen.query_one(Input)


async def written(pilot: Pilot[None], app: JaxtuiApp, *keys: str) -> tuple[str, str]:
    """Name and text of the only file that there is then; it is not left there."""
    app.session.say("")
    await pilot.press(*keys, "enter")
    await until(pilot, lambda: message(app).startswith("Wrote"))
    assert not isinstance(app.screen, ExportScreen)
    (name,) = os.listdir()
    text = Path(name).read_text()
    Path(name).unlink()
    return name, text


async def taken(pilot: Pilot[None], app: JaxtuiApp, *keys: str) -> tuple[str, str]:
    await asked(pilot, app)
    return await written(pilot, app, *keys)


def test_json_is_what_the_command_prints_and_compare_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked_for = ("matmul", "--size", "256,512", "--mode", "jit,numpy")
    options = ("--device", "tpu:0", "--json", "--no-history")
    devices = tpu_devices()
    done = cli.main(
        ["bench", *asked_for, *options], engine=lambda _: FakeEngine(devices=devices)
    )
    printed = capsys.readouterr().out
    document = msgspec.json.decode(printed, type=Results)
    cases = [one.case for one in document.measurements]
    assert (done, set(cases)) == (0, set(CASES))

    async def drive() -> tuple[str, str]:
        async with after_a_run(cases=cases) as (pilot, app):
            name, text = await taken(pilot, app)
            size = bytes_text(len(text.encode()))
            assert app.state.message == f"Wrote {size} to {Path(name).absolute()}."
            return name, text

    name, text = asyncio.run(drive())
    assert re.fullmatch(r"matmul-256-512-float32-\d{8}-\d{6}\.json", name)
    assert text == printed
    Path(name).write_text(text)
    assert cli.main(["compare", name, name]) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in ("matmul", "512", "tpu:0"))


async def test_the_ending_says_what_is_written() -> None:
    async with after_a_run(size=WIDE) as (pilot, app):
        for keys, beginning, words in (
            (["down"], "op,size,dtype", "numpy"),
            (["down"] * 2, "**jit: ", "matmul"),
            # The panel's title is not in the file, so the plot says what it shows.
            (["down"] * 3, "<svg", "FLOP/s"),
        ):
            if words == "FLOP/s":
                await pilot.press("m")
            name, text = await taken(pilot, app, *keys)
            assert text.startswith(beginning)
            assert words in text
        assert name.startswith("matmul-256-512-float32-")
        screen = await asked(pilot, app)
        name_in(screen).value = "mine.MD"
        name, text = await written(pilot, app)
        assert (name, text[:4]) == ("mine.MD", "**ji")
        # Of one case there is a script.
        await app.session.run(Experiment(cases=CASES[:1]))
        await until_done(pilot, app)
        _, text = await taken(pilot, app, "up")
        assert text.startswith("# matmul 256 float32 jit on tpu:0\n")
        ast.parse(text)


CLOSED = Remark("engine-gone")


class Gone(FakeEngine):
    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        if recipes:
            raise EngineUnavailableError(CLOSED)
        return await super().plan(experiment)


async def test_what_cannot_be_written_is_refused_and_the_line_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with after_a_run(Gone(devices=tpu_devices())) as (pilot, app):
        Path("old.json").write_text("theirs")
        screen = await asked(pilot, app)
        # What exists is replaced by y alone.
        name_in(screen).value = "old.json"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("n")
        await until(pilot, lambda: "old.json already exists." in refusal(screen))
        assert Path("old.json").read_text() == "theirs"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: not isinstance(app.screen, (Question, ExportScreen)))
        theirs = json.loads(Path("old.json").read_text())
        screen = await asked(pilot, app)
        for typed, why in (
            ("nowhere/a.json", "nowhere does not exist."),
            ("a.zip", "needs one of these endings"),
            ("a.py", words.text(CLOSED)),
        ):
            name_in(screen).value = typed
            await pilot.press("enter")
            await until(pilot, lambda why=why: why in refusal(screen))
            assert app.screen is screen
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert os.listdir() == ["old.json"]
        assert json.loads(Path("old.json").read_text()) == theirs

        # A disk that hangs holds nothing up.
        release = threading.Event()
        monkeypatch.setattr(export, "write", lambda *_, **__: release.wait())
        try:
            await asked(pilot, app)
            await pilot.press("enter", "enter", "escape")
            await until(pilot, lambda: "is not finished yet" in message(app))
            assert not isinstance(app.screen, ExportScreen)
        finally:
            release.set()


async def test_before_jax_is_up_there_is_no_script() -> None:
    app = app_on(FakeEngine(opening=up()[:1]))
    async with app.run_test(size=NARROW):
        with pytest.raises(ExportError, match="not ready"):
            await app.recipes(Experiment(cases=CASES))


async def test_devices_and_the_step_of_a_lesson(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)
    async with opened(FakeEngine(devices=tpu_devices())) as (pilot, app):
        name, text = await taken(pilot, app)
        assert len(json.loads(text)["devices"]) == 8
        assert name.startswith("devices-vm-")

        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        await pilot.press("enter")
        await until(pilot, lambda: course(app).place)
        await pilot.press("r")
        await until(pilot, lambda: course(app).attempt_at((0, 0)).complete)
        for keys, ending, words in (
            # As `jaxtui learn` prints it, with what ran.
            ((), ".md", ("✓ Holds here", "# time: first", "1/2 Two works")),
            (("down",), ".svg", ("What comes first?: Two works",)),
        ):
            name, text = await taken(pilot, app, *keys)
            assert name.endswith(ending)
            text = text.replace("&#160;", " ")
            assert [one for one in words if one not in text] == []


@asynccontextmanager
async def in_history() -> AsyncIterator[tuple[Pilot[None], JaxtuiApp]]:
    """On measurements 1 to 3, the last one the newest."""
    kept = History()
    insert(kept, HOST, DEVICE, measurement(median=0.004), 1.0)
    insert(kept, HOST, DEVICE, measurement("selu", 1000, median=0.001), 2.0)
    insert(kept, HOST, DEVICE, measurement(dtype="bfloat16"), 3.0)
    async with opened(FakeEngine()) as (pilot, app):
        await pilot.press("4")
        await until(pilot, lambda: past(app).entry)
        await pilot.pause()
        yield pilot, app


def past(app: JaxtuiApp) -> Past:
    found = app.pane(HistoryPane)
    return found.past if found else Past()


async def test_all_that_the_words_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    # Also what is not on the list yet.
    monkeypatch.setattr("jaxtui.features.history.screen.LISTED", 1)
    found = {}
    async with in_history() as (pilot, app):
        await pilot.press("slash", *"matmul", "enter")
        await until(pilot, lambda: (page := past(app).page) and page.count == 2)
        await until(pilot, lambda: past(app).entry)
        for downs in range(3):
            name, text = await taken(pilot, app, *["down"] * downs)
            assert name.startswith("history-matmul-")
            found[Path(name).suffix] = text
    assert set(found) == {".csv", ".md", ".json"}
    for ending, text in found.items():
        same = Path(f"command{ending}")
        assert cli.main(["history", "matmul", "--export", str(same)]) == 0
        assert text == same.read_text()


async def test_the_two_that_are_marked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise HistoryError("no SQLite")

    async with in_history() as (pilot, app):
        screen = await asked(pilot, app)
        with monkeypatch.context() as patch:
            patch.setattr(History, "page", fail)
            await pilot.press("enter")
            await until(pilot, lambda: "no SQLite" in refusal(screen))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        await pilot.press("space", "down", "down", "space")
        await until(pilot, lambda: past(app).pair)
        _, document = await taken(pilot, app)
    assert cli.main(["compare", "3", "1", "--json"]) == 0
    assert document == capsys.readouterr().out


async def test_a_copy_is_a_file_outside_of_the_working_directory(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(data))
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await app.push_screen(CodeScreen("case", "x = 1\n" * 60))
        await pilot.press("y")
        # It can be seen over a long text.
        answer, page = (app.screen.query_one(x) for x in ("#page-file", "#page"))
        await until(pilot, lambda: page.region.contains_region(answer.region))
        for text in ("first", "second"):
            app.copy_to_file(text, "results.txt")
            assert app.clipboard == text
        path = data / "copied" / "results.txt"
        assert path.read_text() == "second"
        assert str(path) in message(app)
        # The next key does not take away where it is.
        app.session.end_answer()
        assert str(path) in message(app)
        # Where there is no room for it, nor on the way to the clipboard.
        monkeypatch.setenv("JAXTUI_DATA", str(path))
        app.copy_to_file("third", "results.txt")
        assert "no file" in message(app)
    assert os.listdir() == []
