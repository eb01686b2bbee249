"""Facts cross the pipe: no room below the view composes a sentence.

A sentence is four words in a row, small letters between blanks, in a literal that is
neither a docstring nor the pattern of a foreign text. What only a programmer can see is
left out: the texts of ``ValueError`` and its like. So is the catalogue of ops, where
each entry has its one line of documentation.
"""

import ast
import re
from pathlib import Path

import pytest

import jaxtui

HOUSE = Path(jaxtui.__file__).parent
ROOMS = ("analysis", "engine", "history", "machine", "measure", "model")

WORDS = re.compile(r"(?<![\w-])[A-Za-z][a-z']*,?( [a-z']+,?){3,}(?![\w-])")

FOR_PROGRAMMERS = {
    "AssertionError",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
}

FOREIGN = {"compile", "match", "search", "fullmatch", "startswith", "Pattern"}
"""Calls that take a text of others."""

TEXTS_OF_OTHERS = (
    "Traceback (most recent call last)",
    "--------------------\nFor simplicity, JAX has removed its internal frames",
)
"""Of Python and of JAX, in a traceback that is cut to a file of the user's."""


def sentences(source: str) -> list[tuple[int, str]]:
    """The line and the text of each sentence of a module."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))  # a docstring, of an attribute too
        name = None
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in FOR_PROGRAMMERS or name in FOREIGN:
            skipped.update(map(id, ast.walk(node)))
        if name == "Message":  # its pattern
            skipped.update(map(id, ast.walk(node.args[2])))
        if isinstance(node, ast.Compare):  # with a text of others
            skipped.update(map(id, ast.walk(node.left)))
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in skipped
        and WORDS.search(node.value)
        and not node.value.startswith(TEXTS_OF_OTHERS)
        and not is_code(node.value)
    ]


def is_code(text: str) -> bool:
    """Whether a text is a program, as the imports of a snippet are."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def modules() -> list[str]:
    every = (path for room in ROOMS for path in (HOUSE / room).rglob("*.py"))
    return sorted(
        str(path.relative_to(HOUSE)) for path in every if "measure/ops" not in str(path)
    )


@pytest.mark.parametrize("module", modules())
def test_has_no_sentence(module):
    assert not sentences((HOUSE / module).read_text())


def test_sentences_are_seen():
    source = (
        'x = "The host blocks until it is done."\ny = f"Only {n} of them fit in."\n'
    )
    assert [line for line, _ in sentences(source)] == [1, 2]
