"""Measuring fills the history, unless it is told not to or cannot."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui import cli
from jaxtui.core.history.recording import Past, Recording
from jaxtui.core.history.store import Filter, History
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Ending,
    Event,
    Failure,
    Measurement,
    RunFinished,
)
from jaxtui.ui.app.run import Recorder
from tests import fake_engine, records
from tests.core.figures import sampled
from tests.core.history.making import DEVICE, HOST, READY, held, insert, measurement
from tests.fake_engine import FakeEngine
from tests.records import case
from tests.ui.app.driving import app_on, message, until, until_done, until_ready
from tests.ui.commands.fakes import complete


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    return folder


def measured(one: Measurement) -> CaseMeasured:
    return CaseMeasured(index=0, measurement=one)


def keep(
    *ones: Measurement, written: Callable[[], object] = lambda: None
) -> tuple[History, list[str]]:
    """What is in the history then, and the remarks on it."""
    remarks: list[str] = []
    keeper = Recording(remarks.append, written)  # type: ignore[arg-type]
    keeper.observe(READY)
    for one in ones:
        keeper.observe(measured(one))
    missing = keeper.close()
    return History(), [*remarks, *filter(None, [missing])]


def test_finished_measurements_are_kept_and_told_when_others_can_read_them(
    data: Path,
) -> None:
    found: list[int] = []
    history, remarks = keep(
        measurement(size=1),
        measurement(size=2, mode="numpy", device="host"),
        written=lambda: found.append(History().count()),
    )
    assert [row.size for row in history.page().rows] == [2, 1]
    assert [row.device_kind for row in history.page().rows] == ["", "cpu"]
    assert not remarks
    assert found == [1, 2]


def test_what_an_engine_was_measuring_when_it_died_is_not(data: Path) -> None:
    history, _ = keep(msgspec.structs.replace(measurement(), stopped="crashed"))
    assert history.count() == 0
    assert not history.path.exists()


def ended(outcome: Ending) -> RunFinished:
    return RunFinished(outcome=outcome, elapsed_seconds=1.0)


SEEN = measurement()
SAMPLED = sampled(0, 1, msgspec.structs.replace(SEEN, stopped=None), 1.0)
LINK = records.measurement(case("eager", op="copy_to", params={"to": "cpu:1"}))
NOTHING = sampled(0, 1, msgspec.structs.replace(SEEN, ready=None), 1.0)
FAILED = CaseFailed(index=0, failure=Failure(case=SEEN.case, remark=records.told()))


@pytest.mark.parametrize(
    ("events", "stopped"),
    [
        ((SAMPLED, ended("cancelled")), ["cancelled"]),
        ((SAMPLED,), ["cancelled"]),
        ((SAMPLED, measured(SEEN), ended("complete")), ["target"]),
        ((NOTHING, ended("cancelled")), []),
        ((SAMPLED, FAILED, ended("cancelled")), []),
        # A death is never evidence.
        ((SAMPLED, ended("crashed")), []),
        # Links have a page of their own.
        ((sampled(0, 1, LINK, 1.0), measured(LINK)), []),
    ],
)
def test_of_a_case_that_only_its_run_has_ended_what_there_is_is_kept(
    data: Path, events: tuple[Event, ...], stopped: list[str]
) -> None:
    keeper = Recording(pytest.fail)
    for event in (READY, *events):
        keeper.observe(event)
    assert not keeper.close()
    history = History()
    rows = history.page().rows
    assert [history.entry(row.id).measurement.stopped for row in rows] == stopped


def test_a_measurement_has_the_device_of_its_case(data: Path) -> None:
    second = msgspec.structs.replace(DEVICE, id=1, device_kind="another")
    keeper = Recording(pytest.fail)
    keeper.observe(msgspec.structs.replace(READY, devices=(DEVICE, second)))
    for device in ("cpu:0", "cpu:1", "host"):
        keeper.observe(measured(measurement(device=device)))
    assert not keeper.close()
    rows = History().page().rows
    assert [row.device_kind for row in rows] == ["", "another", "cpu"]


def test_what_cannot_be_written_is_said_once_and_not_told(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.write_text("a file, where a folder should be")
    _, remarks = keep(measurement(), measurement(), written=pytest.fail)
    assert remarks[0].startswith("Cannot use the history")
    assert remarks[1] == "Could not save 2 measurements in the history."
    monkeypatch.setattr("jaxtui.core.history.store.sqlite3", None)
    _, (why, _) = keep(measurement(), measurement(), written=pytest.fail)
    assert "without SQLite" in why


# What was measured before.


@pytest.fixture
def let_go(data: Path) -> Iterator[Callable[[], object]]:
    """Has it let go of a history with one measurement."""
    insert(History(), HOST, DEVICE, measurement(size=1))
    with held(data / "history.db") as release:
        yield release


def test_the_past_of_a_run_is_all_that_was_kept_before_it(data: Path) -> None:
    found: list[Past] = []
    keeper = Recording(pytest.fail, know=found.append)
    old, new, other = measurement(median=1.0), measurement(median=2.0), case(size=3)
    keeper.observe(READY)
    keeper.look_back([old.case])
    keeper.observe(measured(old))
    keeper.look_back([old.case, other, case(op="/a/mine.py:f")])
    keeper.observe(measured(new))
    assert not keeper.close()
    assert [[one.measurement for one in past.get(old.case, ())] for past in found] == [
        [],
        [old],
    ]
    assert found[1].keys() == {old.case, other}
    assert not found[1][other]


def test_a_history_that_is_locked_has_no_past_and_delays_nobody(
    let_go: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxtui.core.history.store.WAIT_SECONDS", 0.0)
    fail: Any = pytest.fail
    keeper = Recording(fail, know=fail)
    keeper.observe(READY)
    keeper.look_back([measurement().case])
    assert not keeper.close()
    let_go()


@pytest.mark.parametrize(
    ("number", "why"), [(None, "Another process"), (errno.ENOLCK, "has no locks")]
)
def test_it_is_said_why_nothing_can_be_written(
    let_go: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
    number: int | None,
    why: str,
) -> None:
    def lock(*_: object) -> None:
        if number is not None:
            raise OSError(number, "no locks")

    monkeypatch.setattr("jaxtui.core.history.store.fcntl.lockf", lock)
    warned: list[str] = []
    keeper = Recording(warned.append)
    keeper.observe(READY)
    keeper.observe(measured(measurement()))
    assert keeper.close(0.1)
    (warning,) = warned
    assert why in warning
    let_go()


# Commands and the app.


def keep_earlier(of: Case, **changes: Any) -> None:
    """What the fake engine's machine has measured: 5 s for a call."""
    host = msgspec.structs.replace(fake_engine.HOST, **changes)
    insert(History(), host, DEVICE, records.measurement(of, 5.0))


@pytest.mark.parametrize(("changes", "said"), [({}, True), ({"jax": "0.6.2"}, False)])
def test_a_command_says_where_earlier_runs_lie_outside_of_an_interval(
    data: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str], said: bool
) -> None:
    keep_earlier(case(size=10**6), **changes)
    cli.main(("bench", "selu", "--json"), engine=FakeEngine(complete))
    (found,) = msgspec.json.decode(capsys.readouterr().out)["measurements"]
    texts = {note["flag"]: note["text"] for note in found["notes"]}
    assert ("earlier-runs" in texts) == said
    if said:
        assert "5.00 s" in texts["earlier-runs"]
    # It is said of the moment, and not kept.
    kept = History().entry(2).measurement
    assert not kept.has("earlier-runs")


def test_commands_keep_nothing_if_they_are_told_so(data: Path) -> None:
    lesson = ("learn", "numpy-or-jax", "--step", "1", "--size", "64", "--json")
    words: tuple[str, ...]
    for words in (
        ("bench", "selu", "--no-history"),
        ("--no-history", "bench", "selu"),
        (*lesson, "--no-history"),
    ):
        cli.main(words, engine=FakeEngine(complete))
    assert not History().path.exists()
    for words in (("bench", "selu"), lesson):
        cli.main(words, engine=FakeEngine(complete))
    assert {row.op for row in History().page().rows} == {"selu", "gram"}


TWICE = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(FakeEngine):
    """Signals come after so many of its events; what is cut short then says so."""

    def __init__(self, moment: int, *numbers: int) -> None:
        super().__init__(self._until_interrupted)
        self._left = moment
        self._numbers = numbers

    async def _until_interrupted(self, work: Any) -> AsyncIterator[Event]:
        async for event in self.turns(work):
            if self.stopping and isinstance(event, CaseMeasured):
                cut = msgspec.structs.replace(event.measurement, stopped="cancelled")
                event = msgspec.structs.replace(event, measurement=cut)
            yield event
            self._left -= 1
            if self._left == 0:
                for number in self._numbers:
                    os.kill(os.getpid(), number)
                await asyncio.sleep(0)


MOMENTS = random.Random(26).sample(range(1, 150), 10)
"""The engine says some 150 things."""


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("bench", "matmul", "--size", "64,128", "--mode", "jit,numpy"), TWICE),
        (("crossover", "matmul", "--size", "16..4k"), (signal.SIGINT,)),
    ],
)
def test_the_history_has_what_the_document_of_an_interrupted_run_shows(
    words: tuple[str, ...],
    numbers: tuple[int, ...],
    data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stopped: set[str | None] = set()
    for moment in MOMENTS:
        code = cli.main((*words, "--json"), engine=Interrupted(moment, *numbers))
        assert code in (128 + numbers[0], 0)
        shown = json.loads(capsys.readouterr().out)["measurements"]
        history = History()
        kept = [history.entry(row.id).measurement for row in history.page().rows]
        facts = {(one.case.label, one.stopped) for one in kept}
        assert {(label(one["case"]), one["stopped"]) for one in shown} <= facts
        stopped |= {how for _, how in facts}
        history.delete(Filter())
    assert "cancelled" in stopped


def label(case: dict[str, Any]) -> str:
    return msgspec.convert(case, Case).label


@pytest.mark.parametrize("broken", [False, True])
async def test_the_app_says_what_was_before_or_what_is_wrong(
    data: Path, broken: bool
) -> None:
    if broken:
        data.write_text("a file, where a folder should be")
    else:
        keep_earlier(case(op="matmul", size=1000))
    app = app_on(FakeEngine(complete))
    keeping = Recorder(app)

    def said() -> bool:
        if broken:
            return str(data) in message(app)
        run = app.session.state.run
        measured = run.cases[0].measurement if run else None
        return measured is not None and measured.has("earlier-runs")

    async with app.run_test() as pilot:
        await until_ready(pilot, app)
        await pilot.press("enter")
        await until(pilot, said)
        await until_done(pilot, app)
    missing = keeping.close()
    assert [text.count("2 measurements") for text in missing] == [1] * broken


async def test_leaving_does_not_wait_for_a_history_that_is_locked(
    let_go: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxtui.ui.app.run.PATIENCE_SECONDS", 0.01)
    app = app_on(FakeEngine(complete))
    keeping = Recorder(app)
    async with app.run_test() as pilot:
        await until_ready(pilot, app)
        for observe in app.session.observers:
            observe(measured(measurement()))
        app.exit()
    why, sentence = keeping.close()
    assert "locked" in why
    assert sentence.count("1 measurement")


def test_a_command_prints_what_it_could_not_keep(
    let_go: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("jaxtui.core.history.store.WAIT_SECONDS", 0.01)
    words = ("bench", "selu", "--mode", "jit,numpy", "--json")
    assert cli.main(words, engine=FakeEngine(complete)) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["measurements"]) == 2
    assert "2 measurements" in err
    let_go()
    assert History().count() == 1
