"""The keys on the last line: as many as there is room for, each of them whole."""

from __future__ import annotations

from typing import Any

import pytest
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen

from jaxtui.ui.widgets.keys_line import Key, KeysLine, fitting
from jaxtui.ui.widgets.panel import Hint, Panel, hint
from tests.fake_engine import FakeEngine, begun
from tests.ui.app.driving import app_on, opened, plain, until, until_ready

NARROW, NARROWEST = (80, 24), (60, 15)


def key(name: str, action: str, enabled: bool = True) -> Key:
    """Four columns and a gap."""
    return Key(name, "ab", Binding(name, action, "ab"), enabled)


KEYS = (
    key("a", "one"),
    key("b", "two", enabled=False),
    key("c", "three"),
    key("d", "app.help"),
    key("e", "quit"),
)


@pytest.mark.parametrize(
    ("columns", "left"),
    [
        (24, "abcde"),
        (23, "acde"),
        (18, "ade"),
        (13, "de"),
        (8, "d"),
        (3, ""),
    ],
)
def test_what_does_nothing_goes_first_and_the_ways_on_go_last(
    columns: int, left: str
) -> None:
    shown = fitting(KEYS, columns)
    assert "".join(key.name for key in shown) == left
    assert sum(key.columns for key in shown) <= columns + 1


def test_wide_characters_take_two_columns() -> None:
    wide = Key("⏎", "計", Binding("enter", "run", "計"))
    assert wide.columns == 5


def line(screen: Screen[object]) -> KeysLine:
    return screen.query_one(KeysLine)


def enabled(screen: Screen[object]) -> dict[str, bool]:
    return {key.binding.action: key.enabled for key in line(screen).keys}


async def test_keys_follow_what_can_be_done_and_are_never_cut() -> None:
    async with opened(FakeEngine(begun), size=NARROWEST) as (pilot, app):
        await until(pilot, lambda: enabled(app.screen).get("run"))
        # What does nothing now has no room.
        assert "stop" not in enabled(app.screen)
        assert len(plain(app, KeysLine)) <= NARROWEST[0]
        assert plain(app, KeysLine).endswith("? Help q Quit")
        await pilot.press("enter")
        await until(pilot, lambda: enabled(app.screen).get("stop"))
        assert not enabled(app.screen).get("run")
        await pilot.press("s")
        await until(pilot, lambda: enabled(app.screen).get("run"))


async def test_pointing_explains_a_key_a_click_is_the_key_and_changes_are_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = app_on(FakeEngine())
    asked = 0
    real: Any = vars(Screen)["active_bindings"].fget

    def counted(screen: Screen[object]) -> object:
        nonlocal asked
        asked += 1
        return real(screen)

    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await until(pilot, lambda: enabled(app.screen).get("run"))
        await pilot.pause()
        with monkeypatch.context() as patch:
            patch.setattr(Screen, "active_bindings", property(counted))
            for _ in range(6):
                app.screen.refresh_bindings()
            await pilot.pause()
            assert asked == 1
        pane = app.panes["devices"]
        assert hint(pane, "check('quick')") == Hint("c", "check", "c")
        assert hint(pane, "stop", "end it") == Hint("s", "end it", "s")
        with pytest.raises(ValueError, match="no key"):
            hint(pane, "fly")
        keys = line(app.screen)
        at = plain(app, KeysLine).index("e Edit")
        assert await pilot.hover(KeysLine, offset=(at + 3, 0))
        assert keys.tooltip == "Take the case to the form."
        assert await pilot.hover(KeysLine, offset=(NARROW[0] - 1, 0))
        assert keys.tooltip is None
        assert await pilot.click(KeysLine, offset=(at, 0))
        await until(pilot, lambda: app.tab == "bench")


def test_a_hint_is_the_key_of_a_binding_and_a_click_presses_it() -> None:
    hints = (
        Hint("Enter", "notes", "enter", "f 100 jit"),
        Hint("a", "calls", "a"),
        Hint("", "b"),
    )
    panel = Panel("results", hints)
    panel._fit_hints()
    words = Content.from_markup(panel.border_subtitle or "")
    assert words.plain == "f 100 jit: Enter notes · a calls · b"
    drawn = [(words.plain[span.start : span.end], span.style) for span in words.spans]
    pressed = {text: str(style) for text, style in drawn if "@click" in str(style)}
    assert list(pressed) == ["Enter notes", "a calls"]
    for style, key in zip(pressed.values(), ("enter", "a"), strict=True):
        assert f"simulate_key('{key}')" in style
    names = [text for text, style in drawn if "footer-key" in str(style)]
    assert names == ["Enter", "a"]
