"""A few lines of plain Python in which expressions are timed and values are shown.

Lessons are made of these where no op of the catalogue says it: the very text that a
learner reads is what runs.
"""

from __future__ import annotations

from typing import Literal, Union

from jaxtui.core.model.base import Record, WithBudget
from jaxtui.core.model.measurement import Summary
from jaxtui.core.model.remark import Remark

SNIPPET_IMPORTS = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""
"""The lines above the setup of every snippet."""


class Timed(Record, frozen=True, kw_only=True, tag=True):
    """An expression whose evaluation is timed, from entering it to having its value.

    A JAX value is waited for *after* the clock stopped, unless the expression itself
    waits, so that the figure is what ``%timeit`` would have read.
    """

    name: str
    code: str
    """A Python expression in the names of the setup."""
    once: bool = False
    """Evaluated a single time, in its place among the parts: for what is cold."""


class Shown(Record, frozen=True, kw_only=True, tag=True):
    """An expression or a statement that is run once, in its place among the parts."""

    name: str
    code: str
    raises: bool = False
    """An error is what the lesson wants to show."""


Part = Union[Timed, Shown]  # noqa: UP007


class Snippet(WithBudget, frozen=True, kw_only=True, tag=True):
    """Setup, then the parts in order, then turns for everything timed repeatedly."""

    title: str
    setup: str
    """Python statements; ``SNIPPET_IMPORTS`` has been run before them."""
    parts: tuple[Part, ...] = ()
    budget_seconds: float = 5.0
    device: str | None = None
    """JAX's default device meanwhile, e.g. ``cpu:0``; ``None`` leaves it."""
    x64: bool = False
    """True to run with ``jax_enable_x64``."""
    cpu_devices: int | None = None
    """Run in a process of its own with this many simulated CPU devices."""
    malloc: Literal["fresh", "reused"] | None = None
    """The memory that results get in that process; ``None`` leaves malloc as it is."""


class Timing(Record, frozen=True, kw_only=True):
    """The time of a ``Timed`` expression, seconds."""

    name: str
    seconds: Summary
    """A single observation (``n`` 1, ``rounds`` 1) if it was timed once."""
    once: bool = False
    disturbed: Remark | None = None
    """A remark if others used the cores meanwhile."""


class Value(Record, frozen=True, kw_only=True):
    """The value of a ``Shown`` expression."""

    name: str
    text: str
    """``str`` of the value; what was printed, for a statement; empty after an error."""
    numbers: tuple[float, ...] = ()
    """The value as floats (a number, a bool, or an array of at most 1000 elements)."""
    error: str | None = None
    """``TypeError: …``, the first line of the exception."""
    detail: str = ""
    """The exception's whole text."""
    warnings: tuple[str, ...] = ()


class SnippetTimed(Record, frozen=True, kw_only=True, tag=True):
    """A timing as it stands: sent after each turn, and after a single observation."""

    timing: Timing


class SnippetShown(Record, frozen=True, kw_only=True, tag=True):
    """A value."""

    value: Value
