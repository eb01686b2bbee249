"""The lessons: described without JAX, run by the engine."""

from __future__ import annotations

import importlib

from jaxtui.lessons.base import Lesson

MODULES: dict[str, str] = {
    "clock": "clock",
    "ahead": "ahead",
    "first-call": "first_call",
    "numpy-or-jax": "numpy_or_jax",
    "small-work": "small_work",
    "fusion": "fusion",
    "memory": "memory",
    "digits": "digits",
    "devices": "which_device",
    "updates": "updates",
    "gradients": "gradients",
    "sparse": "sparse",
    "batching": "batching",
    "kernel": "kernel",
    "old-code": "old_code",
}
"""The module of each lesson by the lesson's name, in the order of the course."""


def load(name: str) -> Lesson:
    """One lesson.

    Raises:
        KeyError: There is none of this name.
    """
    module = importlib.import_module(f"jaxtui.lessons.{MODULES[name]}")
    lesson: Lesson = module.LESSON
    return lesson


def load_all() -> tuple[Lesson, ...]:
    """All lessons, in order."""
    return tuple(load(name) for name in MODULES)
