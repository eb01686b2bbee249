"""Functions of the user's own, as far as the text of their file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui.model.own import Spec

UNKNOWN = "(…)"
"""The parameters of a function whose text does not say them."""


@dataclass(frozen=True, slots=True)
class Takes:
    """What a function takes by position."""

    names: tuple[str, ...]
    """Of those without a default."""
    most: int | None
    """How many at most; ``None`` for any number."""
    by_keyword: tuple[str, ...] = ()
    """What must be given by keyword, which no case does."""


@dataclass(frozen=True, slots=True)
class Factory:
    """What makes the arguments of a function."""

    name: str
    text: str
    """As it is called: ``make_args(size=256)``."""
    needs_size: bool = False
    """There is no default."""


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function of a file, as far as its text says."""

    name: str
    signature: str
    """``(params, batch)``, or ``(…)`` where the text does not say."""
    summary: str = ""
    """The first line of its docstring."""
    line: int = 0
    takes: Takes | None = None
    """``None`` where the text does not say."""
    factory: Factory | None = None
    has_numpy: bool = False
    """There is ``NAME_numpy`` beside it."""
    problem: str = ""
    """Why it cannot be timed, as the end of a sentence that begins with its name."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The functions of a file."""

    path: str
    """Absolute."""
    functions: tuple[OwnFunction, ...]
    helpers: tuple[OwnFunction, ...] = ()
    """Those that are not offered, because they are private or make arguments."""

    def find(self, name: str) -> OwnFunction:
        """The function of this name; one that the text does not define may exist."""
        for function in (*self.functions, *self.helpers):
            if function.name == name:
                return function
        return OwnFunction(
            name, UNKNOWN, "Not written in this file; it may be imported into it."
        )


def wrong_with(function: OwnFunction, typed: Sequence[Spec]) -> str:
    """Why a function cannot be timed with these arguments; empty if it may.

    Args:
        function: as ``listing`` has it.
        typed: the arguments that were typed, none for those of its factory.
    """
    if function.problem:
        return f"{function.name} {function.problem}"
    takes = function.takes
    if not typed:
        if function.factory is not None or takes is None:
            return ""
        names = ", ".join(takes.names) or function.signature
        return (
            f"{function.name} takes {names}, and nothing says what to give it: type "
            "shapes such as f32[1024,1024]."
        )
    if takes is None:
        return ""
    count, least = len(typed), len(takes.names)
    if count >= least and (takes.most is None or count <= takes.most):
        return ""
    return f"{function.name}{function.signature} takes {_count(takes)}; {count} typed."


def _count(takes: Takes) -> str:
    least = len(takes.names)
    words = "1 argument" if least == 1 else f"{least} arguments"
    if takes.most == least:
        return words
    return f"{words} or more" if takes.most is None else f"{least} to {takes.most}"
