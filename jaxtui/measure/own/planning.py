"""What is wrong with a case of the user's own before any of their code has run."""

from __future__ import annotations

import os

from jaxtui.measure.own.arguments import specs
from jaxtui.model import Case
from jaxtui.model.own import is_own, parts, short_name

MODES = ("jit", "eager", "numpy")

Wrong = tuple[str, str]
"""What is wrong, and what to do about it."""


def check(case: Case) -> Wrong | None:
    """What is wrong with a case wherever it runs, or ``None``.

    The file is not imported: that is left to the run, which can be stopped.
    """
    name = short_name(case.op)
    if is_own(case.op) and not os.path.isfile(parts(case.op)[0]):
        return (
            f"There is no file {parts(case.op)[0]}.",
            "Name a Python file and a function of it, as in train.py:step.",
        )
    if case.mode not in MODES:
        return f"{name} has no mode {case.mode}.", f"It has {', '.join(MODES)}."
    if case.precision != "default":
        return (
            f"{name} takes no precision.",
            "Set it in the function itself, as with jax.default_matmul_precision.",
        )
    try:
        typed = specs(case)
    except ValueError as error:
        return str(error), "Arguments are typed as --arg f32[1024,1024]."
    if typed and case.size:
        return (
            f"{name} has no size: its arguments were typed.",
            "Leave --size out, or the --arg.",
        )
    return None


def input_bytes(case: Case) -> int:
    """Bytes of the arguments, as far as they are known before any code has run."""
    return sum(spec.nbytes for spec in specs(case))
