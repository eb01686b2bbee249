"""The text of a lesson, read from its ``.md`` file.

The page begins with a title, a summary, and the lines ``Size:`` and ``Needs:`` where
there is something to say. Each ``##`` is a step: what must be known to predict; the
program that is run; the question in bold with its numbered choices, and ``**Answer:**``
with the number of the right one where no figure decides; ``**Claim:**``,
what is said where it ``**Holds:**`` or ``**Fails:**``, ``**Source:**``; and the
explanation. Nothing above the claim holds the answer. The figures stand in the module
of the same name.

A program is a block of Python. Its first line is its title; what follows a line such
as ``# time: plain call`` is a part of this name (``time``, ``once``, ``show``,
``raises``), and what precedes them all is run before them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from jaxtui.core.model import Part, Shown, Snippet, Timed
from jaxtui.features.lessons.base import Question

_PROGRAM = re.compile(r"^```python\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^# (time|once|show|raises): (.+)\n", re.MULTILINE)
_LABEL = re.compile(r"\*\*(Answer|Claim|Source|Holds|Fails):\*\* ")
_FACTS = {"Size": "size_means", "Needs": "needs"}


Sections = tuple[dict[str, Any], list[dict[str, Any]]]
"""The fields of a lesson, and those of each of its steps."""


def read(name: str) -> Sections:
    """The text of a lesson.

    Raises:
        ValueError: if a part of it is not what it should be.
    """
    path = Path(__file__).parent / "content" / f"{name.replace('-', '_')}.md"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Sections:
    """Parse the text of a file.

    Raises:
        ValueError: as for ``read``.
    """
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, summary, *facts = map(_line, _blocks(head))
    lesson = {"title": title.removeprefix("# "), "summary": summary}
    for fact in facts:
        name, _, value = fact.partition(": ")
        if name not in _FACTS:
            raise ValueError(f"A lesson has no {name}.")
        lesson[_FACTS[name]] = value
    return lesson, list(map(_step, sections))


def _blocks(text: str) -> list[str]:
    """Split at empty lines; the indent of code stays."""
    parts = re.split(r"\n(?:[ \t]*\n)+", text.rstrip())
    return [part.strip("\n") for part in parts if part.strip()]


def _line(text: str) -> str:
    return " ".join(text.split())


def _step(section: str) -> dict[str, Any]:
    title, _, body = section.partition("\n")
    setup, explanation, asks = list[str](), list[str](), ""
    parts: dict[str, Any] = {}
    for block in _blocks(_PROGRAM.sub("", body)):
        line = _line(block)
        if (label := _LABEL.match(line)) is not None:
            parts[label[1].lower()] = line[label.end() :]
        elif block.startswith("**"):
            asks = line.strip("*")
        elif asks and "question" not in parts:
            choices = re.split(r"^\d\. ", block, flags=re.MULTILINE)[1:]
            parts["question"] = Question(text=asks, choices=tuple(map(_line, choices)))
        else:
            (explanation if "claim" in parts else setup).append(block)
    if (answer := parts.pop("answer", None)) is not None:
        parts["question"] = replace(parts["question"], right=int(answer) - 1)
    return parts | {
        "title": title,
        "setup": "\n\n".join(setup),
        "explanation": "\n\n".join(explanation),
        "programs": tuple(map(_program, _PROGRAM.findall(body))),
    }


def _program(block: str) -> Snippet:
    setup, *parts = _PART.split(block)
    title, _, setup = setup.partition("\n")
    if not title.startswith("# "):
        raise ValueError(
            f"A program begins with a comment, its title, and not with {title!r}."
        )
    blocks = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return Snippet(
        title=title.removeprefix("# "),
        setup=f"{setup.rstrip()}\n" if setup.strip() else "",
        parts=tuple(_part(kind, name, code.strip("\n")) for kind, name, code in blocks),
    )


def _part(kind: str, name: str, code: str) -> Part:
    if kind in ("time", "once"):
        return Timed(name=name, code=code, once=kind == "once")
    return Shown(name=name, code=code, raises=kind == "raises")
