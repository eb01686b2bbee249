"""The files that a command was asked to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtui.commands.terminal import say
from jaxtui.export import (
    FORMATS,
    Contents,
    ExistsError,
    ExportError,
    check,
    here,
    write,
)
from jaxtui.selection import SelectionError


@dataclass(frozen=True, slots=True)
class Exports:
    """Where to write to, checked as far as that can be known beforehand."""

    paths: tuple[Path, ...] = ()
    replace: bool = False

    @classmethod
    def typed(
        cls,
        paths: Sequence[str],
        *,
        force: bool,
        endings: Collection[str] = tuple(FORMATS),
    ) -> Exports:
        """Reads the options of a command line.

        Args:
            paths: the files.
            force: whether files that exist may be replaced.
            endings: what this command can write.

        Raises:
            SelectionError: if one of them cannot be written.
        """
        if force and not paths:
            raise SelectionError("--force belongs to --export: leave it out without.")
        found = tuple(Path(path) for path in paths)
        for index, path in enumerate(found):
            _check(path, endings, replace=force)
            if _absolute(path) in map(_absolute, found[:index]):
                raise SelectionError(f"{path} is named twice: once is enough.")
        return cls(found, force)

    def wants(self, ending: str) -> bool:
        """Whether one of the files has this ending."""
        return any(_ending(path) == ending for path in self.paths)

    def write(self, contents: Contents) -> bool:
        """Writes every file and says so; returns whether all of them are there."""
        # A list: the next one is tried even where one cannot be written.
        written = [self._write(path, contents[_ending(path)]) for path in self.paths]
        return all(written)

    def _write(self, path: Path, content: Callable[[], str]) -> bool:
        try:
            write(path, content(), replace=self.replace)
        except ExportError as error:
            say(f"jaxtui: {error} {path} was not written.")
            return False
        say(f"Wrote {path}.")
        return True


NO_EXPORTS = Exports()
"""What was not asked for."""


def _check(path: Path, endings: Collection[str], *, replace: bool) -> None:
    try:
        check(path, replace=replace)
    except ExportError as error:
        exists = isinstance(error, ExistsError)
        hint = " Add --force to replace it." if exists else ""
        raise SelectionError(f"{error}{hint}") from error
    if _ending(path) not in endings:
        known = ", ".join(endings)
        raise SelectionError(
            f'"{path}" cannot be written by this command: it writes {known}.'
        )


def _ending(path: Path) -> str:
    return path.suffix.lower()


def _absolute(path: Path) -> str:
    return os.path.normpath(here() / path)
