"""What is kept of a run, and what is said when it cannot be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from jaxtui.history.recording import Recording
from jaxtui.history.store import History
from jaxtui.model import CaseMeasured, Measurement, Ready
from tests.history.making import DEVICE, HOST, measurement

READY = Ready(host=HOST, devices=(DEVICE,), ops=())


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
    assert [row.size for row in history.rows()] == [2, 1]
    assert [row.device_kind for row in history.rows()] == ["", "cpu"]
    assert not said


@pytest.mark.parametrize("stopped", ["cancelled", "crashed", None])
def test_what_was_broken_off_is_not(tmp_path: Path, stopped: str | None) -> None:
    one = msgspec.structs.replace(measurement(), stopped=stopped)
    history, _ = kept(tmp_path / "history.db", one)
    assert history.count() == 0
    assert not history.path.exists()


def test_before_the_machine_is_known_nothing_is_kept(tmp_path: Path) -> None:
    keeper = Recording(pytest.fail, history=History(tmp_path / "history.db"))
    keeper.observe(measured(measurement()))
    keeper.close()
    assert not (tmp_path / "history.db").exists()


def test_a_history_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, said = kept(tmp_path / "file" / "history.db", measurement(), measurement())
    (sentence,) = said
    assert "Measuring goes on" in sentence


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


def test_what_could_not_be_written_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    keeper = Recording(
        said.append, pytest.fail, History(tmp_path / "file" / "history.db")
    )
    for event in (READY, measured(measurement())):
        keeper.observe(event)
    keeper.close()
    assert said
