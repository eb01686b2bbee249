"""The end of a command that measures: what it prints, its files, its exit code."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtui.core.model import SelectionError
from jaxtui.core.signals import interrupt
from jaxtui.core.text import wrap
from jaxtui.ui import words
from jaxtui.ui.commands import CANNOT_RUN, CASE_FAILED, FINE
from jaxtui.ui.commands.common import Decorator, composed, flag, valued
from jaxtui.ui.commands.terminal import (
    in_colour,
    is_secondary_process,
    print_stdout,
    put_bytes,
    say,
    width_of,
)
from jaxtui.ui.documents import encode
from jaxtui.ui.export import FORMATS, Contents, ExistsError, ExportError, check, write
from jaxtui.ui.plot import HEIGHT, WIDEST, Picture
from jaxtui.ui.report import Report, terminal


@dataclass(frozen=True, slots=True)
class Exports:
    """The files to write, checked as far as that can be known beforehand."""

    paths: tuple[Path, ...] = ()
    replace: bool = False

    @classmethod
    def typed(
        cls,
        paths: Sequence[str],
        *,
        force: bool,
        endings: Collection[str] = FORMATS,
    ) -> Exports:
        """Read the options of a command line.

        Raises:
            SelectionError: if one of them cannot be written.
        """
        files = tuple(map(Path, paths))
        try:
            for path in files:
                check(path, endings, replace=force)
        except ExistsError as error:
            raise SelectionError(
                f"{path} already exists: add --force to replace it."
            ) from error
        except ExportError as error:
            raise SelectionError(str(error)) from error
        return cls(files, force)

    def wants(self, ending: str) -> bool:
        return any(path.suffix.lower() == ending for path in self.paths)

    def write(self, contents: Contents) -> bool:
        """Write every file and say so; return whether all of them are there."""
        # A list: the next one is tried even where one cannot be written.
        written = [
            self._write(path, contents[path.suffix.lower()]) for path in self.paths
        ]
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


def export_flags(what: str, endings: Sequence[str]) -> Decorator:
    """``--export``, as often as it is typed, and ``--force``: ``exports`` has both."""
    *most, last = endings
    endings_text = f"{', '.join(most)} or {last}"

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def called(
            *positional: Any, export: tuple[str, ...], force: bool, **options: Any
        ) -> Any:
            exports = Exports.typed(export, force=force, endings=endings)
            return command(*positional, exports=exports, **options)

        return composed(
            valued(
                "--export",
                "FILE",
                f"Also write {what} to a file: {endings_text}.",
                multiple=True,
            ),
            flag("--force", "Let --export replace files that exist."),
        )(called)

    return decorate


def rendered(report: Report, *, notes: bool | None = None) -> str:
    """A report as stdout shows it: on a terminal of its width, else as a whole.

    Args:
        report: what to say.
        notes: the answer comes last, after notes in full or each in a line.
    """
    return terminal(
        report,
        width_of(sys.stdout),
        colour=in_colour(),
        full=notes,
        hint="--notes prints every note in full.",
    )


NOTES = flag("--notes", "Print every note in full.")


def folded(text: str) -> str:
    """A program: on a terminal, its lines are broken between words."""
    if (width := width_of(sys.stdout)) is None:
        return text
    return "\n".join(wrap(line, width, "    ") for line in text.split("\n"))


def plot(picture: Picture | None, elsewhere: int) -> str:
    """A plot as the terminal at stdout shows it; ``elsewhere`` is its width in a file
    or a pipe.
    """
    if picture is None:
        return ""
    width = width_of(sys.stdout) or elsewhere
    return picture.draw(min(width, WIDEST), HEIGHT, color=in_colour())


def close(
    *,
    document: object,
    text: Callable[[], str] | None,
    as_json: bool,
    code: int = FINE,
    lost: bool = False,
    interrupted: str = "",
    contents: Callable[[], Contents] | None = None,
    exports: Exports = NO_EXPORTS,
) -> int:
    """Write the files, print what came of a command, and return the exit code.

    The files come first: the reader of stdout may stop reading. What had arrived is
    written and printed even if the command was interrupted.

    Args:
        document: a record; there is one even if nothing has arrived.
        text: what people read; empty if it was printed on the way, and ``None`` if
            nothing has arrived.
        as_json: print the document.
        code: what comes of it if nothing is missing.
        lost: something is missing because an engine died.
        interrupted: where a signal has broken it off, as a sentence.
        contents: what can be written to files; ``None`` if nothing has arrived.
        exports: the files to write.
    """
    written, shown = True, ""
    try:
        if exports.paths and not is_secondary_process():
            if contents is None:
                say("There are no results yet, so jaxtui wrote no file.")
            else:
                written = exports.write(contents())
    finally:
        if as_json:
            put_bytes(encode(document))
        elif text is not None and (shown := text()):
            print_stdout(shown)
    if interrupt.happened:
        first = "Interrupted before the run began."
        so_far = "Interrupted: these are the results so far."
        say(interrupted or (so_far if text else first))
    elif lost and not shown:
        say(f"Incomplete. {words.LOST}")  # what is shown says so itself
    if not written:
        return CANNOT_RUN
    return max(code, CASE_FAILED) if lost else code
