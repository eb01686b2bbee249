"""What the form knows of functions of the user's own: files and choices so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui.model.own import parts

MOST = 8
"""Files, and choices, that are offered again."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Functions of one file that were chosen to run against each other."""

    op: str
    """``/path/to/file.py:one,two``."""
    arguments: str = ""
    """What was typed for them; empty where they have a factory."""
    sizes: str = ""
    """What the form begins with; empty where a factory has a size of its own."""
    modes: tuple[str, ...] = ("jit",)
    """What all of them have."""


@dataclass(frozen=True, slots=True)
class OpenedState:
    """What was opened in this session, the last one first."""

    picks: tuple[Picked, ...] = ()
    files: tuple[str, ...] = ()

    def with_file(self, path: str) -> OpenedState:
        """After a file was opened, whatever became of it."""
        others = (one for one in self.files if one != path)
        return replace(self, files=(path, *others)[:MOST])

    def with_pick(self, pick: Picked) -> OpenedState:
        """After functions were chosen."""
        others = (one for one in self.picks if one.op != pick.op)
        picks = (pick, *others)[:MOST]
        return replace(self.with_file(parts(pick.op)[0]), picks=picks)

    def pick(self, op: str) -> Picked | None:
        """The choice with these functions."""
        return next((one for one in self.picks if one.op == op), None)


NOTHING_OPENED = OpenedState()
