"""The text of a lesson, read from its ``.md`` file.

The page begins with a title, a summary, and the lines ``Size:`` and ``Needs:`` where
there is something to say. Each ``##`` is a step: what must be known to predict; the
program that is run; the question in bold with its numbered choices; ``**Claim:**`` and
``**Source:**``; a table of figures; the sentences of the takeaway as a list; and the
explanation. Nothing above the claim holds the answer. Table and sentences have figures
in braces, which ``jaxtui.lessons.trial`` fills in; a published time stands in braces,
too, ``{269 µs}``, so that a table can write it in its unit.

A program is a block of Python. Its first line is its title; what follows a line such
as ``# time: plain call`` is a part of this name (``time``, ``once``, ``show``,
``raises``), and what precedes them all is run before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxtui.lessons.base import LessonText, Question, Sentence, StepText
from jaxtui.model import Part, Shown, Snippet, Timed

_PROGRAM = re.compile(r"^```python\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^# (time|once|show|raises): (.+)\n", re.MULTILINE)
_FACTS = {"Size": "size_means", "Needs": "needs"}


def read(name: str) -> tuple[LessonText, tuple[StepText, ...]]:
    """The text of a lesson.

    Raises:
        ValueError: if a part of it is not what it should be.
    """
    path = Path(__file__).with_name(f"{name.replace('-', '_')}.md")
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> tuple[LessonText, tuple[StepText, ...]]:
    """What the text of a file says.

    Raises:
        ValueError: as for ``read``.
    """
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, summary, *facts = map(_line, _blocks(head))
    found = {}
    for fact in facts:
        name, _, value = fact.partition(": ")
        if name not in _FACTS:
            raise ValueError(f"A lesson has no {name}.")
        found[_FACTS[name]] = value
    lesson = LessonText(title=title.removeprefix("# "), summary=summary, **found)
    return lesson, tuple(map(_step, sections))


def _blocks(text: str) -> list[str]:
    """What is parted by empty lines; the indent of code stays."""
    parts = re.split(r"\n(?:[ \t]*\n)+", text.rstrip())
    return [part.strip("\n") for part in parts if part.strip()]


def _line(text: str) -> str:
    return " ".join(text.split())


def _step(section: str) -> StepText:
    title, _, rest = section.partition("\n")
    setup, explanation, asked = list[str](), list[str](), ""
    found: dict[str, Any] = {}
    for block in _blocks(_PROGRAM.sub("", rest)):
        line = _line(block)
        if line.startswith("**Claim:** "):
            found["claim"] = line.removeprefix("**Claim:** ")
        elif line.startswith("**Source:** "):
            found["source"] = line.removeprefix("**Source:** ")
        elif block.startswith("**"):
            asked = line.strip("*")
        elif asked and "question" not in found:
            choices = re.split(r"^\d\. ", block, flags=re.MULTILINE)[1:]
            found["question"] = Question(text=asked, choices=tuple(map(_line, choices)))
        elif block.startswith("|"):
            found["rows"] = tuple(map(_row, block.split("\n")[2:]))
        elif block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            found["sentences"] = tuple(
                one for item in items for one in _sentences(item)
            )
        else:
            (explanation if "claim" in found else setup).append(block)
    return StepText(
        title=title,
        setup="\n\n".join(setup),
        explanation="\n\n".join(explanation),
        programs=tuple(map(_program, _PROGRAM.findall(rest))),
        **found,
    )


def _program(block: str) -> Snippet:
    setup, *parts = _PART.split(block)
    title, _, setup = setup.partition("\n")
    if not title.startswith("# "):
        raise ValueError(
            f"A program begins with a comment, its title, and not with {title!r}."
        )
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return Snippet(
        title=title.removeprefix("# "),
        setup=f"{setup.rstrip()}\n" if setup.strip() else "",
        parts=tuple(_part(kind, name, code.strip("\n")) for kind, name, code in found),
    )


def _part(kind: str, name: str, code: str) -> Part:
    if kind in ("time", "once"):
        return Timed(name=name, code=code, once=kind == "once")
    return Shown(name=name, code=code, raises=kind == "raises")


def _row(line: str) -> tuple[str, str, str, str]:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    what, yours, published, remark = (*cells, "", "")[:4]
    # An entry of another one begins with two blanks, which a table cannot show.
    return re.sub("^· ", "  ", what), yours, published, remark


def _sentences(item: str) -> Iterator[Sentence]:
    """The first sentence of an item, and the rest; each has its conditions."""
    item = _line(item)
    found = re.match(r"\[([^\]]+)\] ", item)
    conditions, text = (found[1], item[found.end() :]) if found else ("", item)
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if not depth and re.match(r"[.!?] [A-Z{]", text[place:]):
            yield Sentence(text=text[: place + 1], conditions=conditions)
            text = text[place + 2 :]
            break
    yield Sentence(text=text, conditions=conditions)
