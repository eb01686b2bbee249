"""Facts cross the pipe: what measures composes no sentence, ``words`` have them.

A sentence is four words in a row in a literal, three of them ours: what an f-string
puts in is a word, too. None are docstrings, patterns of messages of others and what is
compared with them, and programs. Left out is what describes a thing where it stands:
the lines of documentation of an op in its entry, what an ``OSError`` says in place of
the system, and ``ValueError`` and its like, which only a programmer sees.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import jaxtui

HOUSE = Path(jaxtui.__file__).parent
ROOMS = (
    *("core/engine", "core/model", "features/bench/measure"),
    *("machine", "tasks", "timing"),
)

WORD = r"[A-Za-z][A-Za-z']*"
WORDS = re.compile(rf"(?<![\w.'-]){WORD}(?:[,:;.]? {WORD}){{3,}}(?![\w-])")

FOR_PROGRAMMERS = {
    "AssertionError",
    "AttributeError",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "OSError",
    "RuntimeError",
    "TypeError",
    "ValueError",
}

FOREIGN = {"compile", "match", "search", "fullmatch", "startswith", "Pattern"}
"""Calls that take a text of others."""

CATALOGUE = {"summary", "size_means", "flops_formula", "bytes_formula"}
"""What the entry of an op says of it, by keyword."""

TEXTS_OF_OTHERS = (
    "Traceback (most recent call last)",
    "--------------------\nFor simplicity, JAX has removed its internal frames",
)
"""Of Python and of JAX, in a traceback that is cut to a file of the user's."""

PUT_IN = "it"


def sentences(source: str) -> list[tuple[int, str]]:
    """The line and the text of each sentence of a module."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    nodes: list[Any] = [*ast.walk(tree)]
    for node in nodes:
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
        if isinstance(node, ast.keyword) and node.arg in CATALOGUE:
            skipped.update(map(id, ast.walk(node.value)))
        if isinstance(node, ast.Assert) and node.msg is not None:
            skipped.update(map(id, ast.walk(node.msg)))
        if isinstance(node, ast.JoinedStr):  # read as a whole
            skipped.update(map(id, node.values))
    return [
        (node.lineno, text)
        for node in nodes
        if id(node) not in skipped
        and (text := read(node))
        and any(map(is_ours, WORDS.findall(text)))
        and not text.startswith(TEXTS_OF_OTHERS)
        and not is_code(text)
    ]


def read(node: ast.AST) -> str:
    """The text of a literal, in which each thing put in is a word."""
    if isinstance(node, ast.JoinedStr):
        return "".join(read(part) or PUT_IN for part in node.values)
    text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) else ""


def is_ours(words: str) -> bool:
    found: list[str] = re.findall(WORD, words)
    return sum(word != PUT_IN for word in found) >= 3


def is_code(text: str) -> bool:
    """Whether a text is a program, as the imports of a snippet are, or a template."""
    if text.startswith(("def ", "try:")):
        return True
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def modules() -> list[str]:
    paths = (path for room in ROOMS for path in (HOUSE / room).rglob("*.py"))
    return sorted(
        str(path.relative_to(HOUSE))
        for path in paths
        if not path.name.endswith("words.py")
    )


@pytest.mark.parametrize("module", modules())
def test_has_no_sentence(module: Any) -> None:
    assert not sentences((HOUSE / module).read_text())


def test_sentences_are_seen() -> None:
    source = (
        'x = "The host blocks until it is done."\n'
        'y = f"Only {n} of them fit in."\n'
        'z = f"{path} is a folder: {why}."\n'
        'a = f"Cannot read the {path}: {why}"\n'
    )
    assert [line for line, _ in sentences(source)] == [1, 2, 3, 4]
    source = (
        'matmul = Op(summary="The product of two matrices.", limit="no more than that")'
    )
    assert [text for _, text in sentences(source)] == ["no more than that"]
