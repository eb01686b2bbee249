"""The tests of the health check: they measure, and judge nothing.

One module per test, named after it. Its ``test`` yields ``CheckDoing``, ``CheckRead``
and ``CheckDone`` of every device that takes part.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from time import perf_counter

from jaxtui.machine.survey import Survey
from jaxtui.measure.check.base import Context
from jaxtui.measure.errors import full_text
from jaxtui.measure.snippets.values import headline
from jaxtui.measure.turns import never, quiet_collector
from jaxtui.model import Check, CheckStarted, RunEvent, RunFinished, WorkFailed


def run_check(
    check: Check, seen: Survey | None = None, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run one test on its devices.

    The first event is ``CheckStarted``, the last ``RunFinished``. Every device of the
    test ends in ``CheckDone`` unless the test was stopped or ``WorkFailed`` says why
    not. Nothing happens until the first event is taken.

    Args:
        check: The test.
        seen: The machine from outside, for the test ``present``.
        stop: Called between turns; once true, the run ends as ``cancelled``.
    """
    start = perf_counter()
    yield CheckStarted(check=check)
    module = importlib.import_module(f"jaxtui.measure.check.{check.test}")
    try:
        with quiet_collector():
            yield from module.test(Context(check, seen or Survey(), stop))
    # Whatever goes wrong in a test that is not one device's affair ends this test only.
    except Exception as error:
        yield WorkFailed(
            error=f"The test {check.test} broke off: {headline(error)}",
            hint="The original text has the details.",
            detail=full_text(error),
        )
    yield RunFinished(
        outcome="cancelled" if stop() else "complete",
        elapsed_seconds=perf_counter() - start,
    )
