"""The steps that a learner has done, in a small file next to the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from jaxtui.core.places import (
    NoHomeError,
    data_folder,
    make_private,
    read_whole,
    write_whole,
)
from jaxtui.core.text import ended
from jaxtui.features.lessons.trial import Lesson

NAME = "lessons.json"


class Progress(msgspec.Struct, frozen=True):
    """The titles of the steps that have a conclusion, by the name of their lesson.

    Titles and not numbers: a lesson may get a step between two others.
    """

    done: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)

    def steps(self, lesson: Lesson) -> tuple[bool, ...]:
        """Return for each step of a lesson whether it is done."""
        titles = self.done.get(lesson.name, frozenset())
        return tuple(step.title in titles for step in lesson.steps)

    def with_step(self, lesson: str, title: str) -> Progress:
        titles = self.done.get(lesson, frozenset()) | {title}
        return Progress({**self.done, lesson: titles})


def path() -> Path:
    return data_folder() / NAME


def read() -> Progress:
    """Read the progress; empty where there is no file, or none that can be read."""
    try:
        return _load() or Progress()
    except OSError:
        return Progress()


_TOLD: set[Path | None] = set()
"""Files that cannot be written, of which this process has told; none without a home."""


def add(lesson: str, title: str) -> str:
    """Keep that a step is done.

    A damaged file is renamed first, so that nothing of it is lost; and none is ever
    half written.

    Returns:
        Why it cannot be kept, the first time; else an empty text.
    """
    file: Path | None = None
    try:
        file = path()
        make_private(file.parent)
        before = _load()
        if before is None:
            file.replace(file.with_name(f"{NAME}.broken"))
            before = Progress()
        after = before.with_step(lesson, title)
        if after == before:
            return ""
        titles_by_lesson = {name: sorted(titles) for name, titles in after.done.items()}
        write_whole(file, f"{json.dumps(titles_by_lesson, indent=1)}\n".encode())
    except OSError as error:
        if file in _TOLD:
            return ""
        _TOLD.add(file)
        if isinstance(error, NoHomeError):
            return str(error)
        reason = ended(error.strerror or type(error).__name__)
        return (
            f"Cannot save your progress in {file}: {reason} JAXTUI_DATA names another"
            " folder."
        )
    return ""


def _load() -> Progress | None:
    """Read the file; return ``None`` where it is damaged."""
    try:
        return Progress(
            msgspec.json.decode(read_whole(path()), type=dict[str, frozenset[str]])
        )
    except FileNotFoundError:
        return Progress()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
