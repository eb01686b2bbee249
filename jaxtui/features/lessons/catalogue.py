"""The lessons: described without JAX, run by the engine.

A lesson is a text (``.md``) and a module that says what its steps run and claim.
"""

from __future__ import annotations

import importlib

from jaxtui.features.lessons.trial import Lesson

NAMES = (
    *("clock", "ahead", "first-call", "numpy-or-jax", "small-work", "fusion"),
    *("memory", "digits", "devices", "updates", "gradients", "sparse"),
    *("batching", "kernel", "old-code"),
)
"""The names in the order of the course."""


def load(name: str) -> Lesson:
    """Load a lesson.

    Raises:
        KeyError: There is none of this name.
    """
    if name not in NAMES:
        raise KeyError(name)
    module = importlib.import_module(
        f"jaxtui.features.lessons.content.{name.replace('-', '_')}"
    )
    lesson: Lesson = module.LESSON
    return lesson


def load_all() -> tuple[Lesson, ...]:
    return tuple(map(load, NAMES))
