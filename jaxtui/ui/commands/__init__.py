"""The commands, one file each with its options and its body, and their exit codes."""

FINE = 0
"""Everything that was asked for was done."""

CASE_FAILED = 1
"""Some case of a bench run, or some step of a lesson, has no result; or the engine was
lost, and the answer is incomplete; or a question was answered with no. The codes of a
check are in ``features.check.judge``."""

CANNOT_RUN = 3
"""The engine, the terminal or JAX is not to be had, or a file cannot be written."""

SLOWER = 4
"""``compare --fail-if-slower``: some case is slower by more than that."""

UNDECIDED = 5
"""``compare --fail-if-slower``: no case is, but of some it cannot be told."""

USAGE = 64
"""The exit code of a typing mistake."""

INTERNAL = 70
"""A mistake of jaxtui's own."""

INTERRUPTED = 130
"""Ctrl-C; 128 and its number for every signal."""


class Declined(Exception):  # noqa: N818  (not an error)
    """A question was answered with no; the text is what has not happened."""


class CannotRun(Exception):  # noqa: N818  (not an error)
    """The engine cannot serve; the text is what to tell the user."""
