"""Measuring fills the history, unless it is told not to or cannot."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui import cli
from jaxtui.history.recording import Recording
from jaxtui.history.store import NO_SQLITE, History
from jaxtui.model import CaseMeasured, Experiment, Measurement, Ready
from jaxtui.tui.run import UNFINISHED, Recorder
from tests.commands.fakes import FakeEngine, complete
from tests.commands.fakes import measured as measured_by
from tests.history.making import DEVICE, HOST, measurement
from tests.tui import fake_engine
from tests.tui.driving import app_on, until, until_done, until_ready

READY = Ready(host=HOST, devices=(DEVICE,), ops=())
MEASURED = CaseMeasured(index=0, measurement=measurement())


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    return folder


def run(*arguments: str, engine: FakeEngine | None = None) -> int:
    return cli.main(arguments, engine=engine or FakeEngine())


# What is kept.


def measured(one: Measurement) -> CaseMeasured:
    return CaseMeasured(index=0, measurement=one)


def kept(path: Path, *ones: Measurement) -> tuple[History, list[str]]:
    history, said = History(path), []
    keeper = Recording(said.append, history=history)
    keeper.observe(READY)
    for one in ones:
        keeper.observe(measured(one))
    keeper.close()
    return history, said


def test_finished_measurements_are_kept(tmp_path: Path) -> None:
    ones = [measurement(size=1), measurement(size=2, mode="numpy", device="host")]
    history, said = kept(tmp_path / "history.db", *ones)
    assert [row.size for row in history.page().rows] == [2, 1]
    assert [row.device_kind for row in history.page().rows] == ["", "cpu"]
    assert not said


@pytest.mark.parametrize("stopped", ["cancelled", "crashed", None])
def test_what_was_broken_off_is_not(tmp_path: Path, stopped: str | None) -> None:
    one = msgspec.structs.replace(measurement(), stopped=stopped)
    history, _ = kept(tmp_path / "history.db", one)
    assert history.count() == 0
    assert not history.path.exists()


def test_a_damaged_history_is_said_and_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("nonsense " * 200)
    history, said = kept(tmp_path / "history.db", measurement(), measurement())
    (sentence,) = said
    assert "history.db.broken-1" in sentence
    assert history.count() == 2


def test_each_that_others_can_read_is_told(tmp_path: Path) -> None:
    history, found = History(tmp_path / "history.db"), []
    written = lambda: found.append(history.count())  # noqa: E731
    keeper = Recording(pytest.fail, written, history)
    for event in (READY, measured(measurement()), measured(measurement())):
        keeper.observe(event)
    keeper.close()
    assert found == [1, 2]


def test_what_could_not_be_written_is_said_once_and_not_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    history = History(tmp_path / "file" / "history.db")
    keeper = Recording(said.append, pytest.fail, history)
    for event in (READY, MEASURED, MEASURED):
        keeper.observe(event)
    keeper.close()
    (sentence,) = said
    assert "Measuring goes on" in sentence


# Commands.


def test_bench_keeps_nothing_if_it_is_told_so(data: Path) -> None:
    assert run("bench", "selu", "--no-history") == 0
    assert run("--no-history", "bench", "selu") == 0
    assert not data.exists()
    assert run("bench", "selu") == 0
    assert History().count() == 1


def test_what_was_broken_off_is_not_kept(data: Path) -> None:
    def cancelled(experiment: Experiment) -> list[Any]:
        events = complete(experiment)
        events[4] = CaseMeasured(
            index=1,
            measurement=measured_by(
                experiment.cases[1], experiment, stopped="cancelled"
            ),
        )
        return events

    assert run("bench", "selu", "matmul", engine=FakeEngine(answer=cancelled)) == 0
    assert [row.op for row in History().page().rows] == ["selu"]


def test_lessons_are_kept_too(data: Path) -> None:
    lesson = ("learn", "numpy-or-jax", "--step", "1", "--size", "64", "--json")
    run(*lesson, "--no-history")
    assert not History().path.exists()
    run(*lesson)
    assert {row.op for row in History().page().rows} == {"gram"}


def test_a_python_without_sqlite_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxtui.history.store.sqlite3", None)
    said: list[str] = []
    recording = Recording(said.append)
    for event in (READY, MEASURED, MEASURED):
        recording.observe(event)
    assert recording.close()
    assert said == [f"{NO_SQLITE} Measuring goes on; nothing more is kept."]


# The app.


async def test_the_app_keeps_what_it_measures(data: Path) -> None:
    engine = fake_engine.FakeEngine()
    app = app_on(engine)
    keeping = Recorder(app)
    async with app.run_test() as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until_done(pilot, app)
    assert keeping.close() == []
    assert {row.mode for row in History().page().rows} == {"jit", "numpy"}


async def test_the_app_says_on_its_message_line_what_is_wrong(data: Path) -> None:
    data.write_text("a file, where a folder should be")
    app = app_on(fake_engine.FakeEngine())
    keeping = Recorder(app)
    async with app.run_test() as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: "Measuring goes on" in app.session.state.message)
        await until_done(pilot, app)
    assert keeping.close() == []


async def test_leaving_does_not_wait_for_a_history_that_is_locked(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    History().add(HOST, DEVICE, measurement())
    monkeypatch.setattr("jaxtui.tui.run.PATIENCE_SECONDS", 0.01)
    app = app_on(fake_engine.FakeEngine())
    keeping = Recorder(app)
    other = sqlite3.connect(data / "history.db", isolation_level=None)
    async with app.run_test() as pilot:
        await until_ready(pilot, app)
        other.execute("BEGIN EXCLUSIVE")
        for observe in app.session.observers:
            observe(MEASURED)
        app.exit()
    assert keeping.close() == [UNFINISHED]
    other.close()
