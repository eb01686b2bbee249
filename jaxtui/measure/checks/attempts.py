"""One figure that a device is asked for: what goes wrong costs that figure alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax

from jaxtui.measure import errors
from jaxtui.measure.checks.base import Context, TroubleError, name, troubled
from jaxtui.model import Case, Reading

UNSUPPORTED = re.compile(r"UNIMPLEMENTED|NotImplementedError")
"""What compilers and runtimes say about what they cannot do: no fault of a device."""

NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|^MemoryError")

MEMORY_HINT = "Something else holds memory of the device; the test `memory` says more."
"""The sizes were chosen to fit, so a smaller one is no advice here."""


class UnsupportedError(TroubleError):
    """The compiler or the runtime of the device does not do this at all."""


@contextmanager
def explained(case: Case, what: str, phase: str) -> Iterator[None]:
    """Give whatever is raised within a sentence.

    Args:
        case: What was computed.
        what: What the reading would be called.
        phase: Where it surfaces, as in ``errors.translate``.

    Raises:
        UnsupportedError: It cannot be done on this kind of device.
        TroubleError: It failed; both carry the original text.
    """
    try:
        yield
    except TroubleError:
        raise
    except Exception as error:
        failure = errors.translate(error, case, phase)
        if UNSUPPORTED.search(failure.detail):
            raise UnsupportedError(what, failure.error, failure.detail) from error
        hint = MEMORY_HINT if NO_MEMORY.search(failure.detail) else failure.hint
        sentence = f"{failure.error} {hint}".strip()
        raise TroubleError(what, sentence, failure.detail) from error


def attempt(
    context: Context, device: jax.Device, measure: Callable[[], Reading | None]
) -> Iterator[Reading]:
    """What a measurement gives: its reading, one with a fault, or a skipped one.

    Nothing where it gives ``None``, which means that the test was stopped.
    """
    try:
        reading = measure()
        if reading is not None:
            yield reading
    except UnsupportedError as refused:
        yield Reading(
            test=context.check.test,
            device=name(device),
            what=refused.what,
            skipped=refused.sentence,
            detail=refused.detail,
        )
    except TroubleError as trouble:
        yield troubled(context, device, trouble)
