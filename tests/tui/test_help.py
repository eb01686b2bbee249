"""The help and the palette: what comes first, and words for what stands in tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from jaxtui.history.store import History
from jaxtui.tui.app import JaxtuiApp, Palette
from jaxtui.tui.help import EVERYWHERE, SAID, WORDS, HelpScreen, sections, words
from jaxtui.tui.history import HistoryPane
from jaxtui.tui.widgets.panel import Panel
from jaxtui.view.history import HEAD
from tests.history.making import DEVICE, HOST, measurement
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine


def test_the_words_of_a_place_come_first_and_none_is_missing() -> None:
    assert set(HEAD) - {"id"} <= set(SAID[HistoryPane.HELP])
    for place in (*SAID, "elsewhere"):
        found = words(place)
        assert [word for word, _ in found["Words here"]] == list(SAID.get(place, ()))
        every = [word for rows in found.values() for word, _ in rows]
        assert sorted(every) == sorted(WORDS)
    assert max(map(len, WORDS.values())) <= 80


def test_keys_of_the_place_come_before_those_of_every_tab() -> None:
    assert list(sections(HistoryPane.HELP, JaxtuiApp.BINDINGS))[:2] == [
        HistoryPane.HELP,
        EVERYWHERE,
    ]


async def test_palette_and_help_begin_with_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    History().add(HOST, DEVICE, measurement())
    app = app_on(FakeEngine())
    async with app.run_test(size=(60, 15)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("4")
        await until(pilot, lambda: (at := app.pane(HistoryPane)) and at.past.entry)
        palette = Palette(app.screen)
        shown = [hit.text async for hit in palette.discover()]
        assert shown[:3] == ["To form", "Filter", "Mark"]
        assert "Commands" not in shown
        assert len(set(shown)) > 10
        # What a sentence says is found too.
        found = [hit.text async for hit in palette.search("two that are marked")]
        assert "Mark" in found

        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: app.screen.query(Static))
        titles = [panel.border_title for panel in app.screen.query(Panel)]
        assert titles[:3] == [HistoryPane.HELP, "Words here", EVERYWHERE]
        assert app.screen.query_one("VerticalScroll").virtual_size.width <= 60
