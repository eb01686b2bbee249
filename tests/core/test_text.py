"""What colours, JSON and terminals of ASCII make of texts; hostile ones: ``faults``."""

from __future__ import annotations

from jaxtui.core.text import PLAIN, Painted, join_painted, visible, visible_json


def test_colours_of_jaxtui_s_own_stay_and_those_of_others_are_shown() -> None:
    red = Painted("\x1b[31mred\x1b[0m")
    assert visible(red) is red
    joined = join_painted([red, "\x1b[31m"], " ")
    assert joined == f"{red} \\x1b[31m"
    assert visible(joined) is joined


def test_what_ascii_lacks_is_drawn_in_ascii() -> None:
    assert "⣿█┈┤┃ 2 µs ä".encode("ascii", PLAIN) == b"*#-+| 2 us ?"


def test_delete_is_no_character_of_a_document() -> None:
    assert visible_json(b'"a\x7f"') == b'"a\\u007f"'
