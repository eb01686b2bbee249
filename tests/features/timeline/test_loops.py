"""The playback of a loop: where its cursor is, by a clock that is handed in."""

from __future__ import annotations

import pytest

from jaxtui.features.timeline.loops import SECONDS, SLOW_SECONDS, Playback


def test_a_cursor_reaches_the_end_in_its_time() -> None:
    play = Playback(total=0.2, since=10.0)
    assert play.time(10.0) == 0.0
    assert play.time(10.0 + SECONDS / 2) == pytest.approx(0.1)
    assert not play.over(10.0 + 0.99 * SECONDS)
    assert play.over(10.0 + SECONDS)
    assert play.time(1e9) == 0.2


def test_slow_motion_plays_on_from_where_it_was() -> None:
    play = Playback(total=0.2, since=0.0).at_speed(True, SECONDS / 2)
    assert play.time(SECONDS / 2) == pytest.approx(0.1)
    assert play.time(SECONDS / 2 + SLOW_SECONDS / 4) == pytest.approx(0.15)
    assert "100× slower" in play.words
    assert "faster than real time" in Playback(total=40.0, since=0.0).words


def test_a_pause_takes_no_time() -> None:
    paused = Playback(total=0.2, since=0.0).toggled(1.0)
    assert paused.time(50.0) == paused.time(1.0)
    assert not paused.over(50.0)
    assert paused.toggled(50.0).time(50.5) == pytest.approx(0.2 * 1.5 / SECONDS)
