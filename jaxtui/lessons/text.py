"""The text of a lesson, read from its ``.md`` file.

The page begins with a title, a summary, and the lines ``Size:`` and ``Needs:`` where
there is something to say. Each ``##`` is a step: what must be known to predict; the
program that is run; the question in bold with its numbered choices; ``**Claim:**`` and
``**Source:**``; a table of figures; the sentences of the takeaway as a list; and the
explanation. Nothing above the claim holds the answer. Table and sentences have figures
in braces, which ``jaxtui.lessons.trial`` fills in.

A program is a block of Python. Its first line is its title; what follows a line such
as ``# time: plain call`` is a part of this name (``time``, ``once``, ``show``,
``raises``), and what precedes them all is run before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from jaxtui.lessons.base import Question
from jaxtui.model import Part, Shown, Snippet, Timed

_PROGRAM = re.compile(r"^```python\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^# (time|once|show|raises): (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Sentence:
    """One of a takeaway, told where all of its conditions are met."""

    text: str
    conditions: str = ""
    """Names of figures, or ``holds``, ``fails``, parted by commas; with ``not`` before
    them, the opposite."""


RowText = tuple[str, str, str, str]
"""What, yours, published and a remark."""


@dataclass
class StepText:
    title: str
    setup: str = ""
    explanation: str = ""
    programs: tuple[Snippet, ...] = ()
    """With names in braces that are known when they are run."""
    question: Question | None = None
    claim: str = ""
    source: str = ""
    rows: tuple[RowText, ...] = ()
    sentences: tuple[Sentence, ...] = ()


@dataclass
class LessonText:
    title: str
    summary: str
    size_means: str = ""
    needs: str = ""
    steps: list[StepText] = field(default_factory=list)


def read(name: str) -> LessonText:
    """The text of a lesson.

    Raises:
        ValueError: if a part of it is not what it should be.
    """
    path = Path(__file__).with_name(f"{name.replace('-', '_')}.md")
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> LessonText:
    """What the text of a file says.

    Raises:
        ValueError: as for ``read``.
    """
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, summary, *facts = _blocks(head)
    lesson = LessonText(title.removeprefix("# "), _line(summary))
    for fact in facts:
        name, _, value = _line(fact).partition(": ")
        if name == "Size":
            lesson.size_means = value
        elif name == "Needs":
            lesson.needs = value
        else:
            raise ValueError(f"A lesson has no {name}.")
    lesson.steps = [_step(section) for section in sections]
    return lesson


def _blocks(text: str) -> list[str]:
    """What is parted by empty lines; the indent of code stays."""
    parts = re.split(r"\n(?:[ \t]*\n)+", text.rstrip())
    return [part.strip("\n") for part in parts if part.strip()]


def _line(text: str) -> str:
    return " ".join(text.split())


def _step(section: str) -> StepText:
    title, _, rest = section.partition("\n")
    step = StepText(title)
    step.programs = tuple(map(_program, _PROGRAM.findall(rest)))
    rest = _PROGRAM.sub("", rest)
    setup, explanation, asked = list[str](), list[str](), ""
    for block in _blocks(rest):
        line = _line(block)
        if line.startswith("**Claim:** "):
            step.claim = line.removeprefix("**Claim:** ")
        elif line.startswith("**Source:** "):
            step.source = line.removeprefix("**Source:** ")
        elif block.startswith("**"):
            asked = line.strip("*")
        elif asked and step.question is None:
            choices = re.split(r"^\d\. ", block, flags=re.MULTILINE)[1:]
            step.question = Question(text=asked, choices=tuple(map(_line, choices)))
        elif block.startswith("|"):
            step.rows = tuple(map(_row, block.split("\n")[2:]))
        elif block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            step.sentences = tuple(_sentence(_line(item)) for item in items)
        else:
            (explanation if step.claim else setup).append(block)
    step.setup, step.explanation = "\n\n".join(setup), "\n\n".join(explanation)
    return step


def _program(block: str) -> Snippet:
    setup, *parts = _PART.split(block)
    title, _, setup = setup.partition("\n")
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


def _row(line: str) -> RowText:
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    what, yours, published, remark = (*cells, "", "")[:4]
    # An entry of another one begins with two blanks, which a table cannot show.
    return re.sub("^· ", "  ", what), yours, published, remark


def _sentence(item: str) -> Sentence:
    found = re.fullmatch(r"\[([^\]]+)\] (.+)", item)
    return Sentence(item) if found is None else Sentence(found[2], found[1])
