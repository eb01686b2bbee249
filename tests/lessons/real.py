"""What JAX really answers to the parts of a step that are shown and not timed."""

from __future__ import annotations

from functools import cache

import msgspec

from jaxtui import api, lessons
from jaxtui.lessons.base import Setting, setting
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.measure.host import host
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import Shown, Snippet


@cache
def machine(name: str, size: int | None = None) -> Setting:
    """The first device of this machine, and a lesson's size."""
    return setting(lessons.load(name), api.devices(), host(), api.ops(), size)


@cache
def shown_values(name: str, step: int, size: int | None = None) -> Outcome:
    """The values of a step, counted from 0, without its timings."""
    here = machine(name, size)
    outcome = NOTHING
    for work in lessons.load(name).steps[step].works(here):
        assert isinstance(work, Snippet)
        parts = tuple(part for part in work.parts if isinstance(part, Shown))
        for event in run_snippet(msgspec.structs.replace(work, parts=parts)):
            outcome = collect(outcome, event)
    return outcome
