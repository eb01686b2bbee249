"""What a learner has done is kept between sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons import progress


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "lessons.json"


def test_what_is_done_is_there_in_the_next_session(file: Path) -> None:
    clock = lessons.load("clock")
    assert progress.read().steps(clock) == (False, False, False)
    for title in (clock.steps[1].title, clock.steps[1].title, "Of a newer jaxtui"):
        assert progress.add("clock", title) == ""
    progress.add("ahead", "x")
    assert progress.read().steps(clock) == (False, True, False)
    assert file.stat().st_mode & 0o077 == 0
    assert [one.name for one in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("text", ["{ not JSON", "[1, 2]", '{"clock": 3}', "\0"])
def test_a_damaged_file_is_put_aside_and_nothing_is_lost(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert progress.read().done == {}
    assert file.read_text() == text
    progress.add("clock", "x")
    assert progress.read().done == {"clock": {"x"}}
    assert file.with_name("lessons.json.broken").read_text() == text


def test_a_file_that_cannot_be_written_costs_one_sentence(file: Path) -> None:
    file.parent.write_text("no folder")
    assert progress.read().done == {}
    assert f"Cannot save your progress in {file}" in progress.add("clock", "x")
    assert progress.add("clock", "y") == ""
