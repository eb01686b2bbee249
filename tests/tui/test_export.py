"""Writing files: what each tab offers, which file is meant, and the screen."""

from __future__ import annotations

import ast
import asyncio
import csv
import io
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from xml.dom import minidom

import msgspec
import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from jaxtui import cli, lessons
from jaxtui.document import Results, encode
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.protocol import Envelope
from jaxtui.export import DARK, ExportError
from jaxtui.history.store import History, HistoryError
from jaxtui.model import Case, Event, Experiment, Plan, RunFinished, RunStarted
from jaxtui.state import begin_run, reduce
from jaxtui.tui import export, themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.bench import BenchPane
from jaxtui.tui.export import (
    CLIPBOARD_BYTES,
    ExportScreen,
    Format,
    Offer,
    formats,
    preview,
    renamed,
    target,
)
from jaxtui.tui.history import HistoryPane
from jaxtui.tui.history_panels import Past
from jaxtui.tui.learn import LearnPane
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.bench import collect
from tests.history.making import DEVICE, HOST, measurement
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import HOST as VM
from tests.tui.fake_engine import FakeEngine, cpu_devices, sampled, tpu_devices
from tests.tui.lessons_to_try import LESSONS

NARROW, WIDE = (80, 24), (120, 40)

CASES = tuple(
    case
    for size in (256, 512)
    for case in (
        Case(op="matmul", size=size, dtype="float32", device="tpu:0", mode="jit"),
        Case(
            op="matmul",
            size=size,
            dtype="float32",
            device="host",
            mode="numpy",
            inputs="host",
        ),
    )
)
"""What ``jaxtui bench matmul --size 256,512 --mode jit,numpy`` times on a TPU."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory, and a history of its own beside it."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))


# Which file is meant.

HERE = Path("/here")


def made(ending: str) -> Format:
    return formats("run-1", (ending, "", lambda: "text"))[0]


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("a.json", "/here/a.json"),
        ("a", "/here/a.json"),
        ("v1.2", "/here/v1.2.json"),
        ("a.CSV", "/here/a.CSV"),
        (" a.json ", "/here/a.json"),
        ("/there/a", "/there/a.json"),
        ("sub/", "/here/sub/run-1.json"),
        ("..", "/here/../run-1.json"),
        ("~/a.json", "/home/ada/a.json"),
        ("~", "/home/ada/run-1.json"),
    ],
)
def test_the_file_that_is_meant(
    typed: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert target(typed, made(".json"), HERE) == Path(path)


def test_a_folder_that_exists_takes_the_file(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    found = preview("results", made(".txt"), [made(".txt")], tmp_path)
    assert found.text == f"Enter writes {tmp_path}/results/run-1.txt"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (" ", "Type the name of a file."),
        ("nowhere/a.json", "The folder {}/nowhere does not exist."),
        ("folder.json", "{}/folder.json is a folder: name a file in it."),
        ("old.json", "{}/old.json exists already. Enter asks before it is replaced."),
        ("a" * 300 + ".json", "cannot be written: File name too long."),
        ("a.svg", "There is no .svg of this: .json, .py can be written."),
    ],
)
def test_what_would_come_of_it(typed: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "old.json").touch()
    offered = [made(".json"), made(".py"), made(".py")]
    found = preview(typed, offered[0], offered, tmp_path)
    assert said.format(tmp_path) in found.text
    assert found.bad


@pytest.mark.parametrize(
    ("typed", "new"),
    [("a.csv", "a.svg"), ("a.b.TXT", "a.b.svg"), ("a", "a"), ("a.b", "a.b"), ("", "")],
)
def test_the_ending_follows_the_format(typed: str, new: str) -> None:
    assert renamed(typed, ".svg") == new


# What there is of a run.


def after(*happened: Event) -> State:
    state = replace(EMPTY, engine="ready", host=VM, devices=cpu_devices())
    state = begin_run(state, 1, "bench", Experiment(cases=SELU))
    for event in happened:
        state = reduce(state, Envelope(generation=0, run=1, event=event))
    return state


SELU = tuple(
    Case(op="selu", size=64, dtype="float32", device=device, mode=mode)
    for device, mode in (("cpu:0", "jit"), ("host", "numpy"))
)
STARTED = RunStarted(cases=SELU, budget_seconds=1.0)


async def no_plan(experiment: Experiment) -> Plan:
    raise ExportError("JAX is not there.")


def offered(state: State) -> Offer:
    assert state.run is not None
    return export.of_run(state, state.run, None, DARK, no_plan)


def content(offer: Offer, ending: str) -> str:
    found = next(one for one in offer.formats if one.ending == ending)
    return asyncio.run(found.content())  # type: ignore[arg-type]


def test_a_run_that_goes_on_is_what_has_arrived_one_that_ended_what_is_printed() -> (
    None
):
    arrived = (STARTED, sampled(0, SELU[0], 0))
    offer = offered(after(*arrived))
    assert offer.what == "selu, 2 cases, what has arrived so far"
    kept = msgspec.json.decode(content(offer, ".json"), type=Results)
    assert [one.case for one in kept.measurements] == [SELU[0]]
    assert kept.failures == ()
    finished = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
    state = after(*arrived, finished)
    offer = offered(state)
    assert offer.what == "selu, 2 cases"
    printed = encode(collect(VM, SELU, state.run)).decode()
    assert content(offer, ".json") == printed
    assert [one["case"]["mode"] for one in json.loads(printed)["failures"]] == ["numpy"]


def test_without_a_plot_the_picture_is_the_table_and_a_script_needs_the_engine() -> (
    None
):
    offer = offered(after(STARTED))
    holds = {one.ending: one.holds for one in offer.formats}
    assert holds[".svg"] == "the table: there is no plot yet, as a picture"
    assert "<svg" in content(offer, ".svg")
    assert all(0 < len(one.holds) <= 60 for one in offer.formats)
    with pytest.raises(ExportError, match="JAX is not there"):
        content(offer, ".py")


# The screen.


async def ran(
    pilot: Pilot[None], app: JaxtuiApp, cases: Sequence[Case] = CASES
) -> None:
    """The tab Bench, after a run."""
    await until_ready(pilot, app)
    await pilot.press("2")
    await until(pilot, lambda: app.pane(BenchPane))
    await app.session.run(Experiment(cases=tuple(cases)))
    await until_done(pilot, app)
    await pilot.pause()


async def asked(pilot: Pilot[None], app: JaxtuiApp) -> ExportScreen:
    """The screen, once it has said what would come of it."""
    await pilot.press("u")
    await until(pilot, lambda: isinstance(app.screen, ExportScreen))
    screen = app.screen
    assert isinstance(screen, ExportScreen)
    await until(pilot, lambda: said(screen))
    return screen


def said(screen: ExportScreen) -> str:
    return str(screen.query_one("#where", Static).content)


def name_in(screen: ExportScreen) -> Input:
    return screen.query_one("#path", Input)


def listed(screen: ExportScreen) -> list[str]:
    listing = screen.query_one(OptionList)
    return [str(option.prompt) for option in listing.options]


async def typed(pilot: Pilot[None], screen: ExportScreen, name: str) -> None:
    """Another name in the place of the one that is suggested."""
    name_in(screen).focus()
    name_in(screen).value = name
    await pilot.pause()


async def written(pilot: Pilot[None], app: JaxtuiApp, *keys: str) -> Path:
    """The only file that there is after these keys and Enter."""
    app.session.say("")
    await pilot.press(*keys, "enter")
    await until(pilot, lambda: app.state.message.startswith("Wrote"))
    assert not isinstance(app.screen, ExportScreen)
    (name,) = os.listdir()
    return Path(name)


async def taken(pilot: Pilot[None], app: JaxtuiApp, *keys: str) -> tuple[str, str]:
    """The name and the text of a file, which is not left there."""
    await asked(pilot, app)
    path = await written(pilot, app, *keys)
    text = path.read_text()
    path.unlink()
    return path.name, text


# A run.


def test_json_is_what_the_command_prints_and_compare_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    devices = tpu_devices()
    asked_for = ("matmul", "--size", "256,512", "--mode", "jit,numpy")
    options = ("--device", "tpu:0", "--json", "--no-history")
    assert cli.main(["bench", *asked_for, *options], engine=_engine(devices)) == 0
    printed = capsys.readouterr().out
    document = msgspec.json.decode(printed, type=Results)
    cases = [one.case for one in document.measurements]
    assert set(cases) == set(CASES)

    async def drive() -> Path:
        app = app_on(FakeEngine(devices))
        async with app.run_test(size=NARROW) as pilot:
            await ran(pilot, app, cases)
            await asked(pilot, app)
            path = await written(pilot, app)
            size = f"{path.stat().st_size / 1024:.3g} KiB"
            assert app.state.message == f"Wrote {size} to {path.absolute()}."
            return path

    path = asyncio.run(drive())
    assert re.fullmatch(r"matmul-256-512-float32-\d{8}-\d{6}\.json", path.name)
    assert path.read_text() == printed
    assert cli.main(["compare", str(path), str(path)]) == 0
    assert "matmul 512 float32 jit on tpu:0" in capsys.readouterr().out


def _engine(devices: tuple) -> Callable[[object], FakeEngine]:
    return lambda _: FakeEngine(devices)


async def test_the_picture_is_the_plot_that_is_shown_in_the_colours_of_the_theme() -> (
    None
):
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=WIDE) as pilot:
        await ran(pilot, app)
        app.theme = themes.LIGHT
        app.redraw()
        await pilot.press("m")
        await pilot.pause()
        await asked(pilot, app)
        path = await written(pilot, app, "down", "down", "down")
        document = path.read_text()
        nodes = minidom.parseString(document).getElementsByTagName("text")
        texts = [node.firstChild.data for node in nodes if node.firstChild]
        # The panel's title is not in the file, so the plot says what it shows.
        assert "FLOP/s" in " ".join(texts)
        theme = next(one for one in themes.THEMES if one.name == themes.LIGHT)
        assert f'fill="{theme.background}"' in document
        assert theme.variables["plot-1"] in document


async def test_every_other_format_its_name_and_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=NARROW) as pilot:
        await ran(pilot, app)
        name, text = await taken(pilot, app, "down")
        assert name.endswith(".csv")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["mode"] for row in rows] == ["jit", "numpy"] * 2
        _, text = await taken(pilot, app, "down", "down")
        assert text.startswith("| op | size |")
        assert sum("matmul" in line for line in text.splitlines()) == len(CASES)
        _, text = await taken(pilot, app, *["down"] * 4)
        assert "over size" in text.split("\n")[0]
        assert "host-bound: The host hands calls over too slowly." in text
        assert "vm, jax 0.12.0" in text
        assert "\x1b" not in text
        _, text = await taken(pilot, app, "up")
        ast.parse(text)
        assert text.startswith("# 4 cases of matmul, taking turns")
        app.session.update(picked=(app.session.state.run.number, 2))
        name, text = await taken(pilot, app, *["down"] * 5)
        assert text.startswith("# matmul 512 float32 jit on tpu:0\n")
        assert name.startswith("matmul-512-float32-jit-")

        # The ending follows the format, and the format the ending.
        screen = await asked(pilot, app)
        await typed(pilot, screen, "mine.json")
        await pilot.press("down")
        await until(pilot, lambda: name_in(screen).value == "mine.csv")
        await typed(pilot, screen, "mine.md")
        await until(pilot, lambda: said(screen).endswith("mine.md"))
        assert screen.query_one(OptionList).highlighted == 2
        path = await written(pilot, app)
        assert path.name == "mine.md"
        assert path.read_text().startswith("| op")
        path.unlink()

        # It can be copied as well, unless it is too long.
        app.copy_to_clipboard("")
        _, text = await taken(pilot, app, "a")
        assert app.clipboard == text
        assert "copied if the terminal allows it" in app.state.message
        assert CLIPBOARD_BYTES * 4 / 3 < 100_000
        monkeypatch.setattr(export, "CLIPBOARD_BYTES", 10)
        app.copy_to_clipboard("")
        await taken(pilot, app, "a")
        assert "too long for the clipboard" in app.state.message
        assert app.clipboard == ""

        # One case has one script.
        await app.session.run(Experiment(cases=CASES[:1]))
        await until(pilot, lambda: app.state.run.number == 2 and not app.state.running)
        screen = await asked(pilot, app)
        assert sum(line.startswith("Script") for line in listed(screen)) == 1


async def test_without_an_engine_a_script_is_a_sentence_and_nothing_is_lost() -> None:
    class Gone(FakeEngine):
        async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
            raise EngineUnavailableError("The engine is not there.")

    app = app_on(Gone(tpu_devices()))
    async with app.run_test(size=NARROW) as pilot:
        await ran(pilot, app)
        screen = await asked(pilot, app)
        await pilot.press("up", "enter")
        # The form asks the engine as well, and may have found out before.
        gone = ("engine is not there", "JAX is not ready yet")
        await until(pilot, lambda: any(one in said(screen) for one in gone))
        assert app.screen is screen
        await pilot.press("up", "up", "enter")
        await until(pilot, lambda: app.state.message.startswith("Wrote"))


async def test_no_file_is_replaced_unasked_and_nothing_holds_the_app_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=NARROW) as pilot:
        await ran(pilot, app)
        screen = await asked(pilot, app)
        # A file that came meanwhile.
        theirs = Path(name_in(screen).value)
        theirs.write_text("theirs")
        await pilot.press("enter")
        await until(pilot, lambda: "Enter once more replaces it" in said(screen))
        assert theirs.read_text() == "theirs"
        theirs.unlink()

        # What cannot be written is a sentence, and stays one.
        await typed(pilot, screen, "nowhere/a.json")
        await until(pilot, lambda: "nowhere does not exist." in said(screen))
        await pilot.press("enter")
        await until(pilot, lambda: "nowhere does not exist." in said(screen))
        assert app.screen is screen
        assert os.listdir() == []

        # Esc writes nothing.
        name_in(screen).focus()
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert os.listdir() == []

        # Keys that come at once mean the same.
        for key in ("u", "down", "enter"):
            app.post_message(events.Key(key, "u" if key == "u" else None))
        await until(pilot, lambda: app.state.message.startswith("Wrote"))
        (name,) = os.listdir()
        assert name.endswith(".csv")
        Path(name).unlink()

        # An existing file is said beforehand and needs a second Enter.
        Path("old.json").write_text("old")
        screen = await asked(pilot, app)
        # Another name takes the question back.
        for name in ("old.json", "olds.json", "old.json"):
            await typed(pilot, screen, name)
            if name == "olds.json":
                continue
            await until(pilot, lambda: "exists already. Enter asks" in said(screen))
            await pilot.press("enter")
            await until(pilot, lambda: "Enter once more replaces it" in said(screen))
            assert Path("old.json").read_text() == "old"
        path = await written(pilot, app)
        assert msgspec.json.decode(path.read_bytes(), type=Results).measurements

        # A disk that hangs.
        release = threading.Event()
        monkeypatch.setattr(export, "write", lambda *_, **__: release.wait())
        try:
            screen = await asked(pilot, app)
            await pilot.press("enter")
            await until(pilot, lambda: said(screen) == "Writing…")
            await pilot.press("enter", "escape")
            await until(pilot, lambda: "it may still appear" in app.state.message)
            assert not isinstance(app.screen, ExportScreen)
        finally:
            release.set()


# The other tabs.


async def test_devices_and_the_health_check() -> None:
    app = app_on(FakeEngine(tpu_devices()))
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        await until(pilot, lambda: app.pane(BenchPane))
        app.pane(BenchPane).perform("export")
        await until(pilot, lambda: app.state.message == "There is no result yet.")

        await pilot.press("1")
        await until(pilot, lambda: app.tab == "devices")
        name, text = await taken(pilot, app)
        assert len(json.loads(text)["devices"]) == 8
        assert name.startswith("devices-vm-")

        await pilot.press("c")
        await until(pilot, lambda: app.state.check.exam and not app.state.check.going)
        name, text = await taken(pilot, app, "down")
        assert name.endswith(".txt")
        assert "Do not rely on tpu:3" in text
        name, text = await taken(pilot, app)
        assert name.endswith(".json")
        document = json.loads(text)
        assert document["verdict"] == "fail"
        assert document["complete"] is True
        assert document["level"] == "quick"
        tests = [row["test"] for row in document["tests"]]
        assert tests[0] == "present"
        assert "together" in tests


@pytest.fixture
def _two_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)


@pytest.mark.usefixtures("_two_lessons")
async def test_the_step_of_a_lesson() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        app.pane(LearnPane).perform("export")
        await until(pilot, lambda: "Open a lesson first" in app.state.message)
        await pilot.press("enter")
        await until(pilot, lambda: app.pane(LearnPane).learn.place)
        await pilot.press("r")
        await until(pilot, lambda: app.pane(LearnPane).learn.at((0, 0)).complete)
        await pilot.pause()
        for downs, (ending, words) in enumerate(
            (
                (".txt", "✓ Holds here"),
                (".py", "# The snippet first"),
                (".svg", "What comes first?: Two works"),
            )
        ):
            name, text = await taken(pilot, app, *["down"] * downs)
            assert name.endswith(ending)
            assert words in text


@pytest.fixture
def history() -> History:
    """Ids 1 to 3, the last one the newest."""
    kept = History()
    kept.add(HOST, DEVICE, measurement(median=0.004), 1.0)
    kept.add(HOST, DEVICE, measurement("selu", 1000, median=0.001), 2.0)
    kept.add(HOST, DEVICE, measurement(dtype="bfloat16"), 3.0)
    return kept


def past(app: JaxtuiApp) -> Past:
    found = app.pane(HistoryPane)
    return found.past if found else Past()


async def in_history(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until_ready(pilot, app)
    await pilot.press("4")
    await until(pilot, lambda: past(app).entry)
    await pilot.pause()


async def test_all_that_the_words_mean(
    history: History,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Also what is not on the list yet.
    monkeypatch.setattr("jaxtui.tui.history.PAGE", 1)
    app = app_on(FakeEngine())
    found = {}
    async with app.run_test(size=NARROW) as pilot:
        await in_history(pilot, app)
        await pilot.press("slash", *"matmul", "enter")
        await until(pilot, lambda: past(app).count == 2)
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


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_one_at_the_cursor_and_the_two_that_are_marked(
    size: tuple[int, int],
    history: History,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise HistoryError("The history is on the moon.")

    app = app_on(FakeEngine())
    async with app.run_test(size=size) as pilot:
        await in_history(pilot, app)
        # A history that cannot be read is a sentence.
        screen = await asked(pilot, app)
        with monkeypatch.context() as patch:
            patch.setattr(History, "page", fail)
            await pilot.press("enter")
            await until(pilot, lambda: said(screen) == "The history is on the moon.")
        assert os.listdir() == []
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))

        name, text = await taken(pilot, app, "down", "down", "down")
        kept = msgspec.json.decode(text, type=Results)
        assert kept.measurements == (history.entry(3).measurement,)
        assert kept.host == HOST
        await pilot.press("space", "down", "down", "space")
        await until(pilot, lambda: past(app).pair)
        _, words = await taken(pilot, app, "down")
        assert "dtype: bfloat16 and float32" in words
        _, document = await taken(pilot, app)

        # Nothing is wider than the screen.
        screen = await asked(pilot, app)
        assert len(listed(screen)) == 8
        box = screen.query_one("#export")
        assert box.virtual_size.height <= box.size.height
        for widget in screen.query("#export *"):
            assert widget.region.right <= size[0]
            assert widget.region.bottom <= size[1]

    assert cli.main(["compare", "3", "1", "--json"]) == 0
    assert document == capsys.readouterr().out
    Path(name).write_text(text)
    assert cli.main(["compare", "1", name]) == 0
    assert "a ratio" in capsys.readouterr().out.lower()
