"""The table of words: every code has them, and no words are left over."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jaxtui
from jaxtui.core.model import Remark
from jaxtui.core.wording import Words, written
from jaxtui.registry import COMMANDS
from jaxtui.ui import documents as document
from jaxtui.ui import words

MAKES = ("Remark", "Message")
"""What takes a code, beside ``of`` of an exception."""

HOUSE = Path(jaxtui.__file__).parent


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _is_error(function: ast.expr) -> bool:
    return ast.unparse(function).endswith("Error.of")


def codes() -> set[str]:
    """The codes of all remarks that the house makes."""
    found = set()
    for path in HOUSE.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and node.args
                and (ast.unparse(node.func) in MAKES or _is_error(node.func))
            ):
                found |= {
                    part.value
                    for part in ast.walk(node.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    return found


def test_every_code_has_words() -> None:
    assert codes() - words.TABLE.keys() == set()


def test_no_words_are_left_over() -> None:
    texts = {
        node.value
        for path in HOUSE.rglob("*.py")
        if not path.name.endswith("words.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert words.TABLE.keys() - texts == set()


def test_the_commands_that_words_name_are_there() -> None:
    words_of = "".join(path.read_text() for path in HOUSE.rglob("*words.py"))
    named = set(re.findall(r"`jaxtui ([a-z]+)", words_of))
    assert "bench" in named
    assert named <= {*COMMANDS}


def test_a_document_has_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Words("late", "{seconds} s late.", "Wait.")
    monkeypatch.setitem(words.TABLE, "late", late)
    remark = Remark("late", {"seconds": 2})
    assert words.text(remark) == "2 s late. Wait."
    written = msgspec.json.decode(document.encode(remark))
    assert written == {
        "flag": "late",
        "facts": {"seconds": 2},
        "text": "2 s late. Wait.",
    }
    read = msgspec.convert(written, Remark)
    assert read == remark
    # What to do is part of what was written, and is not said again.
    assert (words.text(read), words.advice(read)) == ("2 s late. Wait.", "")
    monkeypatch.delitem(words.TABLE, "late")
    assert words.text(read) == "2 s late. Wait."


def test_a_code_that_is_not_known_says_its_original_text() -> None:
    assert words.text(Remark("later", detail="XLA says so.")) == "XLA says so."
    assert words.label(Remark("later")) == "later"


SHARED = "bench history profile program timeline"
"""The features whose words the app and the commands show alike."""


def test_no_text_of_the_app_names_an_option_of_a_command() -> None:
    named = [
        (path.name, node.value)
        for path in (HOUSE / "features").glob("*/words.py")
        if path.parent.name in SHARED.split()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        # What stands in backticks is typed elsewhere; flags of XLA are no options.
        if re.search(r"(?<![\w`=])--[a-z]", re.sub(r"`[^`]*`?", "", node.value))
    ]
    assert named == []


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{call:s} of {half:%}", "11.7 µs of 50 %"),
        ("{bytes:B} at {rate:B/s}", "1.00 KiB at 2.00 GB/s"),
        ("{rate:FLOP/s}, {half:x}", "2.00 GFLOP/s, 0.50×"),
        ("{n:program}, {m:other process}", "1 program, 2 other processes"),
        ("{names:,}; {names:and}", "a, b; a and b"),
        ("{bytes:,} {odd:,.0f} {name!r}", "1,024 1,234 'x'"),
        ("No: {error:.}", "No: gone."),
    ],
)
def test_units_of_a_template(template: str, text: str) -> None:
    facts: dict[str, Any] = {
        "call": 1.17e-5,
        "half": 0.5,
        "bytes": 1024,
        "rate": 2e9,
        "odd": 1234.5,
    }
    facts |= {"n": 1, "m": 2, "names": ("a", "b"), "name": "x", "error": "gone."}
    assert written(template, facts) == text
