"""What ``jaxtui learn NAME`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from jaxtui import lessons
from jaxtui.commands.ghost import NO_GHOST, Ghost, read_ghost
from jaxtui.lessons.base import Lesson, Setting, Step, setting
from jaxtui.selection import SelectionError, parse_sizes
from jaxtui.state import State


@dataclass(frozen=True, kw_only=True)
class Request:
    """A lesson to be run; its device waits for the engine's list."""

    lesson: Lesson
    indices: tuple[int, ...]
    """Of the steps, in order."""
    size: int | None = None
    device: str | None = None
    ghost: Ghost = NO_GHOST

    @classmethod
    def typed(
        cls,
        name: str,
        *,
        size: str | None,
        device: str | None,
        step: int | None,
        ghost: str | None,
    ) -> Request:
        """Reads the texts of a command line; ``step`` counts from 1.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        lesson = _lesson(name)
        number = None if size is None else _size(size)
        if number is not None:
            lesson.check_size(number)
        return cls(
            lesson=lesson,
            indices=_indices(lesson, step),
            size=number,
            device=device,
            ghost=NO_GHOST if ghost is None else read_ghost(ghost),
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that were asked for."""
        return tuple(self.lesson.steps[index] for index in self.indices)

    def setting(self, state: State) -> Setting:
        """Where the lesson is run, once it is known what there is.

        Raises:
            SelectionError: if the device does not exist.
        """
        return setting(
            self.lesson,
            state.devices,
            state.host,
            state.ops,
            self.size,
            self.device,
            ghosts=self.ghost.measurements,
            ghost_label=self.ghost.label,
        )


def _lesson(name: str) -> Lesson:
    """The lesson of a name, whatever its case."""
    known = list(lessons.NAMES)
    if name.lower() in known:
        return lessons.load(name.lower())
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise SelectionError(
        f'There is no lesson "{name}": there is {", ".join(known)}.{hint}'
    )


def _size(text: str) -> int:
    sizes = parse_sizes(text)
    if len(sizes) > 1:
        raise SelectionError(
            f'A lesson takes one size, and "{text.strip()}" names {len(sizes)}: '
            f"choose one, such as {sizes[0]}."
        )
    return sizes[0]


def _indices(lesson: Lesson, step: int | None) -> tuple[int, ...]:
    count = len(lesson.steps)
    if step is None:
        return tuple(range(count))
    if not 1 <= step <= count:
        raise SelectionError(
            f"The lesson {lesson.name} has no step {step}: it has {count}."
        )
    return (step - 1,)
