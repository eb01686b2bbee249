"""The health check as the app has it: how far it has come, and whether it is shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxtui.model import CHECK_TESTS, CheckLevel, CheckTest, Event, RunFinished

if TYPE_CHECKING:
    from jaxtui.analysis.examination import Examination

# The examination is imported by the first event of a check: the first frame has none.


@dataclass(frozen=True, slots=True)
class CheckState:
    """The last health check, going on or ended."""

    level: CheckLevel = "quick"
    exam: Examination | None = None
    """What was read so far; ``None`` before the first check."""
    asked: bool = False
    """The next test was given to the engine, which has not begun it yet."""
    stopping: bool = False
    """The user wants it to end: no further test begins."""
    shown: bool = False
    """Whether it is on screen, in the place of the first minute."""
    elapsed_seconds: float = 0.0
    """What the tests that have ended took, compiling included."""

    @property
    def going(self) -> bool:
        """Whether there is more to do."""
        return self.exam is not None and self.exam.outcome is None

    @property
    def test(self) -> CheckTest | None:
        """The test that goes on or comes next."""
        if self.exam is None:
            return None
        check = self.exam.check or self.exam.next_check
        return None if check is None else check.test

    @property
    def place(self) -> int:
        """The number of that test, from 1 on; 0 without one."""
        return 0 if self.test is None else CHECK_TESTS.index(self.test) + 1


NO_CHECK = CheckState()


def check_event(state: CheckState, event: Event) -> CheckState:
    """The state after one event of the run of a test."""
    if state.exam is None:
        return state
    from jaxtui.analysis.examination import observe

    state = replace(state, exam=observe(state.exam, event))
    if not isinstance(event, RunFinished):
        return state
    elapsed = state.elapsed_seconds + event.elapsed_seconds
    return replace(state, asked=False, elapsed_seconds=elapsed)
